// SPDX-License-Identifier: BSD-3-Clause
#include "axis_names.hpp"

#include <algorithm>
#include <string_view>

#include "arguments.hpp"
#include "register.hpp"

namespace reblock::python {

namespace {

constexpr std::size_t most_spatial_axes = max_rank - 2;
constexpr std::string_view free_letters = "HWDUVX";  // for spatial axes that nobody has named

std::string quoted(const std::string& letters) { return '"' + letters + '"'; }

/// The letters of an array, each there once.
std::string to_letters(py::handle value, const char* name) {
  if (!PyUnicode_Check(value.ptr())) raise_type_error(name, "a str such as \"NHWC\"", value);
  const std::string letters = utf8(value);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] < 'A' || letters[i] > 'Z') {
      throw py::value_error(std::string(name) + " must be upper-case letters, one for each axis, got " +
                            describe(value));
    }
    if (letters.find(letters[i], i + 1) != std::string::npos) {
      throw py::value_error(std::string(name) + " must have each letter once, got " + quoted(letters));
    }
  }
  return letters;
}

axis_names to_image(py::handle value, const char* name) {
  axis_names image(to_letters(value, name));
  const std::size_t axes = image.spatial().size();
  if (axes < 1 || axes > most_spatial_axes) {
    throw py::value_error(std::string(name) +
                          " must have letters for 1 to 6 spatial axes, beside N and C, got " +
                          quoted(image.letters()));
  }
  return image;
}

axis_names to_columns(py::handle value, const char* name) {
  axis_names columns(to_letters(value, name));
  if (columns.spatial() != "L" || !columns.has('C')) {
    throw py::value_error(
        std::string(name) +
        " must have the letters C and L, and N for a batch, since it is that of columns, got " +
        quoted(columns.letters()));
  }
  return columns;
}

}  // namespace

axis_names axis_names::in_order(bool batch, bool channels, std::size_t spatial_axes) {
  std::string letters = batch ? "N" : "";
  if (channels) letters += 'C';
  return axis_names(letters + std::string(free_letters.substr(0, spatial_axes)));
}

std::string axis_names::spatial() const {
  std::string others;
  for (const char letter : letters_) {
    if (letter != 'N' && letter != 'C') others += letter;
  }
  return others;
}

axis_values axis_names::to_operator(const axis_values& values, std::int64_t missing) const {
  if (!given()) return values;
  axis_values ordered;
  for (const char letter : "NC" + spatial()) {
    const std::size_t place = letters_.find(letter);
    ordered.push_back(place == std::string::npos ? missing : values[place]);
  }
  return ordered;
}

axis_values axis_names::to_array(const axis_values& values) const {
  if (!given()) return values;
  const std::string order = "NC" + spatial();
  axis_values placed;
  for (const char letter : letters_) placed.push_back(values[order.find(letter)]);
  return placed;
}

axis_values axis_names::extents_of(const axis_values& extents, const char* name, const char* layout) const {
  if (given() && extents.given() != letters_.size()) {
    error why;
    why << name << " must have " << letters_.size() << " axes for " << layout << " " << quoted(letters_)
        << ", got " << extents.given() << ": shape " << extents;
    throw py::value_error(why.message());
  }
  return to_operator(extents, 1);
}

std::string axis_names::name_in_order(const char* name) const {
  if (!given()) return name;
  const std::string order = "NC" + spatial();
  return letters_ == order ? name : std::string(name) + " (as " + order + ")";
}

axis_values axis_names::shape_of(const axis_values& extents) const {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!given() || has("NC"[i]) || extents[i] == 1) continue;
    error why;
    why << "out_layout must have the letter " << (i == 0 ? "N" : "C") << " for the result's " << extents[i]
        << (i == 0 ? " items of a batch" : " channels") << ", got " << quoted(letters_);
    throw py::value_error(why.message());
  }
  return to_array(extents);
}

std::int64_t call_axes::channel_axis(py::handle channel_axis) const {
  if (channel_axis.is(default_channel_axis())) return 1;
  const std::int64_t axis = to_int(channel_axis, "channel_axis");
  if (!given()) return axis;
  std::string layouts;
  for (const axis_names& names : {input, output}) {
    if (!names.given()) continue;  // the output of fold may not be known yet
    layouts += (layouts.empty() ? "" : " to ") + quoted(names.letters());
  }
  throw py::value_error("channel_axis must not be given beside a layout, which tells it, got " +
                        std::to_string(axis) + " and " + layouts);
}

call_axes depth_space_axes(py::handle layout, py::handle out_layout,
                           detail::depth_space_direction direction) {
  if (layout.is_none() && out_layout.is_none()) return {};
  call_axes axes;
  if (!out_layout.is_none()) axes.output = to_image(out_layout, "out_layout");
  if (layout.is_none()) {
    const axis_names& output = axes.output;
    axes.input = axis_names((output.has('N') ? "NC" : "C") + output.spatial());
    return axes;
  }
  axes.input = to_image(layout, "layout");
  std::string letters = axes.input.letters();
  if (out_layout.is_none()) {
    const bool makes_channels = direction == detail::depth_space_direction::space_to_depth;
    if (makes_channels && !axes.input.has('C')) letters.insert(letters.find(axes.input.spatial()[0]), "C");
    axes.output = axis_names(letters);
  } else if (axes.input.spatial() != axes.output.spatial()) {
    throw py::value_error("out_layout must have the spatial letters of layout " + quoted(letters) +
                          " in the same order, got " + quoted(axes.output.letters()));
  }
  return axes;
}

call_axes unfold_axes(py::handle layout, py::handle out_layout, std::size_t rank) {
  if (layout.is_none() && out_layout.is_none()) return {};
  call_axes axes;
  if (!out_layout.is_none()) axes.output = to_columns(out_layout, "out_layout");
  if (!layout.is_none()) {
    axes.input = to_image(layout, "layout");
  } else {
    // An array of another number of axes is refused as it is without a layout.
    axes.input = axis_names::in_order(true, true, rank < 3 || rank > max_rank ? 1 : rank - 2);
  }
  if (out_layout.is_none()) axes.output = axis_names(axes.input.has('N') ? "NCL" : "CL");
  return axes;
}

call_axes fold_axes(py::handle layout, py::handle out_layout) {
  if (layout.is_none() && out_layout.is_none()) return {};
  call_axes axes;
  if (!layout.is_none()) axes.input = to_columns(layout, "layout");
  if (!out_layout.is_none()) axes.output = to_image(out_layout, "out_layout");
  if (layout.is_none()) axes.input = axis_names(axes.output.has('N') ? "NCL" : "CL");
  return axes;
}

py::object default_channel_axis() {
  static const PyObject* const given_by_nobody =
      py::module_::import("builtins").attr("object")().release().ptr();
  return py::reinterpret_borrow<py::object>(const_cast<PyObject*>(given_by_nobody));
}

namespace {

constexpr const char* resolve_layouts_doc = R"(_resolve_layouts(operator, layout, out_layout, spatial_axes)
--

Return both layouts of a call with their defaults, or None where neither is given.

`spatial_axes` is how many the image of `unfold` and `fold` has, where no layout tells; any
number where one does.
)";

py::object resolve_layouts(const std::string& name, py::handle layout, py::handle out_layout,
                           py::ssize_t image_axes) {
  const auto spatial_axes = static_cast<std::size_t>(std::max<py::ssize_t>(image_axes, 0));
  using detail::depth_space_direction;
  call_axes axes;
  if (name == "unfold") {
    axes = unfold_axes(layout, out_layout, spatial_axes + 2);
  } else if (name == "fold") {
    axes = fold_axes(layout, out_layout);
  } else {
    axes = depth_space_axes(layout, out_layout,
                            name == "depth_to_space" ? depth_space_direction::depth_to_space
                                                     : depth_space_direction::space_to_depth);
  }
  if (!axes.given()) return py::none();
  if (!axes.output.given()) axes.output = axis_names::in_order(axes.input.has('N'), true, spatial_axes);
  return py::make_tuple(axes.input.letters(), axes.output.letters());
}

}  // namespace

void register_axis_names(py::module_& m) {
  m.def("_resolve_layouts", &resolve_layouts, resolve_layouts_doc, py::arg("operator"), py::arg("layout"),
        py::arg("out_layout"), py::arg("spatial_axes"));
}

}  // namespace reblock::python
