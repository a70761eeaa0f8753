// SPDX-License-Identifier: BSD-3-Clause
#include "axes_pattern.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include <reblock/reblock.hpp>

#include "arguments.hpp"

namespace reblock::python {

namespace {

std::string quoted(py::handle value) { return std::string(py::repr(value)); }

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

py::object to_str(std::string_view text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "surrogatepass");
  if (made == nullptr) throw py::error_already_set();
  PyUnicode_InternInPlace(&made);  // as the names of keywords are
  return py::reinterpret_steal<py::object>(made);
}

bool is_number(std::string_view token) {
  return std::all_of(token.begin(), token.end(), [](char c) { return '0' <= c && c <= '9'; });
}

bool is_name(std::string_view token, const py::object& key) {
  return token.front() != '_' && token.back() != '_' && PyUnicode_IsIdentifier(key.ptr()) == 1;
}

/// What to do about names that are parameters of rearrange, so that no length can be given for them; or nothing.
std::string parameter_hint(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (const char* parameter : {"bias", "dtype", "out", "scale", "threads"}) {
      if (name == parameter) return " (" + quoted(name) + " is a parameter: call the axis otherwise)";
    }
  }
  return {};
}

/// The length of an axis. The errors also tell the shape and the pattern.
std::int64_t to_length(py::handle value, const std::string& name, const array_shape& shape,
                       const std::string& pattern) {
  const auto with_pattern = [&](const std::string& message) {
    error why;
    why << message << ": shape " << shape << ", pattern " << pattern;
    return std::string(why.message());
  };
  try {
    const std::int64_t length = to_int(value, name.c_str());
    if (length >= 0) return length;
    throw py::value_error(name + " must be at least 0, got " + std::to_string(length));
  } catch (const py::value_error& why) {
    throw py::value_error(with_pattern(why.what()));
  } catch (const py::type_error& why) {
    throw py::type_error(with_pattern(why.what()));
  }
}

}  // namespace

void axes_pattern::refuse(const std::string& why) const {
  throw py::value_error("pattern must " + why + ", got " + text_);
}

axes_pattern::axes_pattern(py::handle pattern, pattern_use use) : use_(use) {
  if (!PyUnicode_Check(pattern.ptr())) raise_type_error("pattern", "a str", pattern);
  text_ = quoted(pattern);
  const std::string given = utf8(pattern);
  const std::string_view all = given;
  constexpr std::string_view arrow = "->";
  const std::size_t middle = all.find(arrow);
  if (middle == std::string_view::npos || all.find(arrow, middle + 1) != std::string_view::npos) {
    refuse("have -> between its sides, once");
  }
  read_side(all.substr(0, middle), "left");
  read_side(all.substr(middle + arrow.size()), "right");
  check_sides();
}

void axes_pattern::read_side(std::string_view text, const char* side) {
  std::vector<group>& groups = side == std::string_view("left") ? left_ : right_;
  bool in_group = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (c != ' ' && c != '(' && c != ')') continue;
    if (i > begin) add_token(text.substr(begin, i - begin), side, groups, in_group);
    begin = i + 1;
    if (c == ' ') continue;
    if (in_group == (c == '(')) refuse("have ( and ) in turns");
    in_group = !in_group;
    if (in_group) groups.emplace_back();
  }
  if (in_group) refuse("have a ) for each (");
}

void axes_pattern::add_token(std::string_view token, const char* side, std::vector<group>& groups,
                             bool in_group) {
  const bool is_left = &groups == &left_;
  const bool is_ellipsis = token == "...";
  if (!in_group) groups.emplace_back();
  group& into = groups.back();
  const auto refuse_twice = [&] { refuse("have " + quoted(token) + " once on its " + side + " side"); };
  const auto occurs = [&](std::size_t number) {
    return std::any_of(groups.begin(), groups.end(), [&](const group& g) {
      return std::find(g.axes.begin(), g.axes.end(), number) != g.axes.end();
    });
  };
  if (is_ellipsis) {
    if (occurs(ellipsis)) refuse_twice();
    if (is_left && in_group) refuse("not have ... in parentheses on its left side");
    into.axes.push_back(ellipsis);
    into.spreads = !in_group;
    return;
  }
  axis next{std::string(token), py::object(), 0, !is_left};
  std::size_t number = axes_.size();
  if (is_number(token)) {
    if (token == "1") return;  // outside of parentheses, an axis that is made of none
    if (use_ == pattern_use::rearrange || is_left) {
      refuse("have no number but 1" + std::string(use_ == pattern_use::repeat ? " on its left side" : ""));
    }
    const char* const end = token.data() + token.size();
    if (std::from_chars(token.data(), end, next.length).ec != std::errc()) {
      refuse("have numbers that fit in 64 bits");
    }
    if (next.length < 1) refuse("have no number below 1");
  } else {
    next.key = to_str(token);
    if (!is_name(token, next.key)) {
      refuse("have names of axes that are identifiers without an underscore at either end, not " +
             quoted(next.key));
    }
    number = find(next.key);
    if (number < axes_.size() && occurs(number)) refuse_twice();
  }
  if (number == most_axes) refuse("have at most " + std::to_string(most_axes) + " axes");
  if (number == axes_.size()) axes_.push_back(std::move(next));
  into.axes.push_back(number);
}

void axes_pattern::check_sides() {
  const auto has = [](const std::vector<group>& groups, std::size_t number) {
    return std::any_of(groups.begin(), groups.end(), [&](const group& g) {
      return std::find(g.axes.begin(), g.axes.end(), number) != g.axes.end();
    });
  };
  for (std::size_t i = 0; i <= axes_.size(); ++i) {
    const std::size_t number = i == axes_.size() ? ellipsis : i;
    const std::string name = quoted(number == ellipsis ? "..." : axes_[i].name);
    const bool on_left = has(left_, number);
    const bool on_right = has(right_, number);
    if (on_left && !on_right) refuse("have " + name + " on its right side too");
    const bool may_be_new = use_ == pattern_use::repeat && number != ellipsis;
    if (on_right && !on_left && !may_be_new) refuse("have " + name + " on its left side too");
  }
}

std::size_t axes_pattern::find(py::handle name) const noexcept {
  const auto find_by = [&](auto&& same) {
    return static_cast<std::size_t>(
        std::find_if(axes_.begin(), axes_.end(), [&](const axis& a) { return a.key && same(a.key.ptr()); }) -
        axes_.begin());
  };
  const std::size_t found =
      find_by([&](PyObject* key) { return key == name.ptr(); });  // both are interned, usually
  if (found < axes_.size()) return found;
  return find_by([&](PyObject* key) { return PyUnicode_Compare(key, name.ptr()) == 0; });
}

std::string axes_pattern::text_of(const group& of) const {
  std::string names;
  for (const std::size_t number : of.axes) {
    if (!names.empty()) names += ' ';
    names += number == ellipsis ? "..." : axes_[number].name;
  }
  return of.axes.size() == 1 ? names : "(" + names + ")";
}

axes_pattern::extents axes_pattern::cover(std::size_t rank, const array_shape* shown) const {
  extents of;
  const auto spread = std::find_if(left_.begin(), left_.end(), [](const group& g) { return g.spreads; });
  const bool spreads = spread != left_.end();
  const std::size_t others = left_.size() - (spreads ? 1 : 0);
  if (rank < others || (rank > others && !spreads)) {
    error why;
    why << "x must have " << (spreads ? "at least " : "") << others << (others == 1 ? " axis" : " axes")
        << " for pattern " << text_.c_str() << ", got " << rank;
    if (shown != nullptr) why << ": shape " << *shown;
    throw py::value_error(why.message());
  }
  of.first_covered = static_cast<std::size_t>(spread - left_.begin());
  of.covered = rank - others;
  return of;
}

axes_pattern::extents axes_pattern::fit(const array_shape& shape, const other_keywords& given) const {
  constexpr std::int64_t unknown = -1;
  extents of = cover(shape.size(), &shape);
  for (std::size_t i = 0; i < axes_.size(); ++i) of.lengths[i] = axes_[i].key ? unknown : axes_[i].length;
  for (const auto& [name, value] : given) {
    const std::size_t i = find(name);
    if (i == axes_.size()) {
      throw py::value_error("pattern " + text_ + " has no axis " + quoted(name) +
                            ", for which a length was given");
    }
    of.lengths[i] = to_length(value, axes_[i].name, shape, text_);
  }
  std::size_t at = 0;
  for (const group& g : left_) {
    if (g.spreads) {
      at += of.covered;
      continue;
    }
    const std::int64_t extent = shape[at];
    const auto refuse_axis = [&](const std::string& why) {
      error got;
      got << "x must have an extent along axis " << at << " that " << why.c_str() << ", got " << extent
          << ": shape " << shape << ", pattern " << text_.c_str();
      throw py::value_error(got.message());
    };
    detail::checked_size known = 1;
    std::size_t open = axes_.size();
    for (const std::size_t i : g.axes) {
      if (of.lengths[i] != unknown) {
        known *= of.lengths[i];
      } else if (open == axes_.size()) {
        open = i;
      } else {
        error why;
        why << "the lengths of " << axes_[open].name.c_str() << " and " << axes_[i].name.c_str() << " in "
            << text_of(g).c_str() << " cannot both be found: all but one must be given"
            << parameter_hint({axes_[open].name, axes_[i].name}).c_str() << ": shape " << shape
            << ", pattern " << text_.c_str();
        throw py::value_error(why.message());
      }
    }
    const std::int64_t product = known.value();
    if (open == axes_.size()) {
      if (known.overflow() || product != extent)
        refuse_axis("is " + (g.axes.empty() ? "" : text_of(g) + " = ") + std::to_string(product));
    } else if (known.overflow() || product == 0 || extent % product != 0) {
      refuse_axis(product == 0 ? "tells the length of " + axes_[open].name + " in " + text_of(g)
                               : "is a multiple of " + std::to_string(product) + " for " + text_of(g));
    } else {
      of.lengths[open] = extent / product;
    }
    ++at;
  }
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (of.lengths[i] != unknown) continue;
    throw py::value_error("the length of " + axes_[i].name + " must be given, which is new in pattern " +
                          text_ + parameter_hint({axes_[i].name}));
  }
  return of;
}

array_shape axes_pattern::result_shape(const array_shape& shape, const extents& of,
                                       std::int64_t itemsize) const {
  array_shape result;
  detail::checked_size bytes = std::max<std::int64_t>(itemsize, 1);
  const auto add = [&](const detail::checked_size& extent) {
    if (result.size() == array_shape::most_axes) {
      refuse("give at most " + std::to_string(array_shape::most_axes) + " axes");
    }
    result.push_back(extent.value());
    bytes *= extent.value() == 0 && !extent.overflow() ? detail::checked_size(1) : extent;
  };
  for (const group& g : right_) {
    detail::checked_size extent = 1;
    for (const std::size_t i : g.axes) {
      if (i != ellipsis) {
        extent *= of.lengths[i];
        continue;
      }
      for (std::size_t k = 0; k < of.covered; ++k) {
        const std::int64_t covered = shape[of.first_covered + k];
        if (g.spreads) {
          add(covered);
        } else {
          extent *= covered;
        }
      }
    }
    if (!g.spreads) add(extent);
  }
  if (bytes.overflow()) {
    error why;
    why << "pattern " << text_.c_str() << " makes more of x of shape " << shape << " than can be addressed";
    throw py::value_error(why.message());
  }
  return result;
}

std::size_t axes_pattern::axis_of(py::handle name, const char* argument) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].key && PyUnicode_Compare(axes_[i].key.ptr(), name.ptr()) == 0) return i;
  }
  throw py::value_error(std::string(argument) + " must have the name of an axis of pattern " + text_ +
                        ", got " + std::string(py::repr(name)));
}

array_moves axes_pattern::moves(const py::array& input, const py::array& output, const extents& of,
                                const std::array<std::size_t, 2>& apart) const {
  std::array<std::int64_t, most_axes> from;  // NOLINT(cppcoreguidelines-pro-type-member-init): set where read
  std::size_t at = 0;
  for (const group& g : left_) {
    if (g.spreads) {
      at += of.covered;
      continue;
    }
    std::int64_t stride = input.strides()[at++];
    for (std::size_t k = g.axes.size(); k-- > 0;) {
      from[g.axes[k]] = stride;
      stride = detail::wrapping_multiply(stride, of.lengths[g.axes[k]]);
    }
  }
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].is_new) from[i] = 0;
  }

  array_moves result;
  if (output.size() == 0) return result;
  at = 0;
  for (const group& g : right_) {
    // From the outermost axis on: of what it is the whole
    std::int64_t inner = g.spreads ? 0 : output.shape()[at];
    const auto add = [&](std::int64_t extent, std::int64_t stride, std::size_t name) {
      inner /= extent;
      result.add(extent, stride, detail::wrapping_multiply(inner, output.strides()[at]), name);
    };
    for (const std::size_t i : g.axes) {
      if (i != ellipsis) {
        add(of.lengths[i], from[i], i == apart[0] || i == apart[1] ? i : array_moves::unnamed);
        continue;
      }
      for (std::size_t k = 0; k < of.covered; ++k) {
        const std::size_t covered = of.first_covered + k;
        if (g.spreads) {
          result.add(input.shape()[covered], input.strides()[covered], output.strides()[at++]);
        } else {
          add(input.shape()[covered], input.strides()[covered], array_moves::unnamed);
        }
      }
    }
    if (!g.spreads) ++at;
  }
  if (const std::size_t rank = result.merge(); rank > max_view_rank) {
    error why;
    why << "pattern must leave at most " << max_view_rank << " axes that do not merge, got " << rank
        << ": pattern " << text_.c_str() << ", x of shape " << array_shape(input);
    throw py::value_error(why.message());
  }
  return result;
}

}  // namespace reblock::python
