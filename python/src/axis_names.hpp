// SPDX-License-Identifier: BSD-3-Clause
//
// A layout names the axes of an array, a letter for each axis. Operators have their axes in one order: N, C and the
// spatial axes, or N, C and L for columns. Permuted strides read and write arrays of another order.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <reblock/reblock.hpp>

namespace reblock::python {

namespace py = pybind11;

/// The letters of an array's axes, such as NHWC: N for the batch, C for the channels, any other for a spatial axis. An
/// axis without a letter has an extent of 1. Without letters, the array has its axes in the operator's order.
class axis_names {
 public:
  axis_names() = default;
  explicit axis_names(std::string letters) : letters_(std::move(letters)) {}
  /// N and C, if wanted, then so many spatial axes.
  static axis_names in_order(bool batch, bool channels, std::size_t spatial_axes);

  bool given() const noexcept { return !letters_.empty(); }
  const std::string& letters() const noexcept { return letters_; }
  bool has(char letter) const noexcept { return letters_.find(letter) != std::string::npos; }
  /// Those of the spatial axes, or of columns the L.
  std::string spatial() const;

  /// An array's values in the operator's order, with `missing` for axes that the array does not have.
  axis_values to_operator(const axis_values& values, std::int64_t missing) const;
  /// The other way round.
  axis_values to_array(const axis_values& values) const;

  /// As to_operator() for an array's extents, which are 1 where they are missing. ValueError where their number is not
  /// that of the letters; `name` and `layout` are what the caller calls the array and the layout.
  axis_values extents_of(const axis_values& extents, const char* name, const char* layout) const;
  /// The array's name for messages that show its extents in the operator's order.
  std::string name_in_order(const char* name) const;
  /// An array's extents, for the operator's. ValueError where an axis without a letter has another extent than 1.
  axis_values shape_of(const axis_values& extents) const;

 private:
  std::string letters_;
};

/// Those of an operator's input and output: of both or of neither.
struct call_axes {
  axis_names input;
  axis_names output;

  bool given() const noexcept { return input.given(); }
  /// Where the operator has the channels. ValueError where an axis is given as well as letters.
  std::int64_t channel_axis(py::handle channel_axis) const;
};

/// The letters of `layout` and `out_layout`, which are str or None, and their defaults where one is None. TypeError for
/// anything else, ValueError for letters that are unknown, there twice, or do not agree.
/// @{
call_axes depth_space_axes(py::handle layout, py::handle out_layout, detail::depth_space_direction direction);
call_axes unfold_axes(py::handle layout, py::handle out_layout, std::size_t rank);
/// The output is left without letters where its number of axes is not known yet.
call_axes fold_axes(py::handle layout, py::handle out_layout);
/// @}

/// The default of a parameter channel_axis: it stands for 1, and may stand beside a layout.
py::object default_channel_axis();

}  // namespace reblock::python
