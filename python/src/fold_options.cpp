// SPDX-License-Identifier: BSD-3-Clause
#include "fold_options.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <reblock/detail/reductions/check_fold_options.hpp>

#include "arguments.hpp"
#include "gate.hpp"

namespace reblock::python {

namespace {

fold_reduction to_reduction(py::handle value) {
  using enum fold_reduction;
  constexpr std::array<std::pair<const char*, fold_reduction>, 4> names = {
      {{"sum", sum}, {"mean", mean}, {"max", max}, {"min", min}}};
  if (!py::isinstance<py::str>(value)) {
    raise_type_error("reduction", "\"sum\", \"mean\", \"max\" or \"min\"", value);
  }
  for (const auto& [name, reduction] : names) {
    if (PyUnicode_CompareWithASCIIString(value.ptr(), name) == 0) return reduction;
  }
  throw py::value_error("reduction must be \"sum\", \"mean\", \"max\" or \"min\", got " + describe(value));
}

py::dtype to_numpy_dtype(py::handle value) {
  try {
    return py::dtype::from_args(py::reinterpret_borrow<py::object>(value));
  } catch (py::error_already_set&) {
    raise_type_error("dtype", "a NumPy dtype", value);
  }
}

/// Any numbers as an array of float64, which may be the array itself. TypeError for what cannot be one.
py::array to_float64(py::handle value) {
  const py::array given = to_input(value, "weights");
  if (py::array_t<double, py::array::c_style>::check_(given)) return given;
  const char kind = given.dtype().kind();
  if (kind == 'c' || kind == 'M' || kind == 'm' || kind == 'S' || kind == 'U') {
    throw py::type_error("weights must be real numbers, got dtype " + std::string(py::str(given.dtype())));
  }
  const auto numbers = py::array_t < double, py::array::c_style | py::array::forcecast > ::ensure(given);
  if (!numbers) {
    PyErr_Clear();
    throw py::type_error("weights must be real numbers, got dtype " + std::string(py::str(given.dtype())));
  }
  return numbers;
}

/// Whether a value has axes, such as an array or a list. Tensors of other libraries are no sequences, but have a length.
bool has_axes(py::handle value) {
  if (py::isinstance<py::array>(value)) return py::reinterpret_borrow<py::array>(value).ndim() != 0;
  if (PySequence_Check(value.ptr()) != 0 || PyObject_Size(value.ptr()) >= 0) return true;
  PyErr_Clear();
  return false;
}

/// Whether a value is a list or tuple with a sequence or an array for each axis, in place of numbers.
bool has_lists(py::handle value) {
  if (!py::isinstance<py::list>(value) && !py::isinstance<py::tuple>(value)) return false;
  for (const py::handle item : py::reinterpret_borrow<py::sequence>(value)) {
    if (!has_axes(item)) return false;
  }
  return true;
}

}  // namespace

weight_arguments::weight_arguments(py::handle weights, py::handle out) {
  constexpr const char* expected = "None, an array, or a sequence with one for each axis";
  const auto read = [&](py::handle value) -> const py::array& {
    const py::array numbers = to_float64(value);
    return arrays_.emplace_back(out.is_none() ? numbers : py::array(numbers.attr("copy")()));
  };
  if (!has_lists(weights)) {
    const py::array& all = read(weights);
    if (all.ndim() == 0) raise_type_error("weights", expected, weights);
    const axis_values extents = extents_of(all);
    values_ = tensor_view<const double>(static_cast<const double*>(all.data()), extents);
    return;
  }
  if (py::len(weights) == 0) {
    throw py::value_error(std::string("weights must be ") + expected + ", got " + describe(weights));
  }
  for (const py::handle item : py::reinterpret_borrow<py::sequence>(weights)) {
    const py::array& axis = read(item);
    if (axis.ndim() != 1) {
      error why;
      why << "weights must have one axis in each array of a sequence, got shape " << extents_of(axis);
      throw py::value_error(why.message());
    }
    values_.push_back({static_cast<const double*>(axis.data()), static_cast<std::size_t>(axis.size())});
  }
}

fold_arguments::fold_arguments(const py::dtype& columns, py::handle accumulate, py::handle reduction,
                               const weight_arguments* weights, py::handle dtype)
    : dtype_(dtype.is_none() ? columns : to_numpy_dtype(dtype)),
      terms_(summation_of(columns, "columns")),
      is_plain_sum_(false) {
  options_.accumulate = to_bool(accumulate, "accumulate");
  options_.reduction = to_reduction(reduction);
  if (weights != nullptr) options_.weights = weights->values();
  is_plain_sum_ = options_.reduction == fold_reduction::sum && weights == nullptr &&
                  (dtype.is_none() || dtype_.equal(columns));
  if (is_plain_sum_) return;
  reducer_ = {{format_of(columns, "columns"), format_of(dtype_, "dtype")},
              options_.reduction,
              options_.weights,
              options_.accumulate};
}

void fold_arguments::check(const axis_values& window_sizes) const {
  if (is_plain_sum_) return;
  const bool compares =
      options_.reduction == fold_reduction::max || options_.reduction == fold_reduction::min;
  const bool loses_part = reducer_.types.terms.is_pair && !reducer_.types.results.is_pair;
  const status fits = detail::check_fold_options(options_, window_sizes, reducer_.types);
  if (fits) return;
  if (loses_part || (compares && reducer_.types.results.is_pair)) throw py::type_error(fits.why().message());
  throw py::value_error(fits.why().message());
}

}  // namespace reblock::python
