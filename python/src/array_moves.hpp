// SPDX-License-Identifier: BSD-3-Clause
//
// array_moves moves elements between two NumPy arrays of any number of axes. It first merges the axes that can be
// merged.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/reblock.hpp>

namespace reblock::python {

namespace py = pybind11;

class conversion_argument;

/// For each index along some axes, where an element comes from and where it goes to. Strides in bytes.
class array_moves {
 public:
  static constexpr std::size_t unnamed = 64;

  /// A conversion on the way, or null, and the names of the axes that its scale and bias are for.
  struct converted_axes {
    const conversion_argument* conversion = nullptr;
    std::size_t scale = unnamed;
    std::size_t bias = unnamed;
  };

  /// The next axis inwards. An axis with a name, a number below 64, is not merged with others. Requires that the arrays
  /// are not empty: fewer than 64 of their axes have extents of 2 or more then.
  void add(std::int64_t extent, std::int64_t from, std::int64_t to, std::size_t name = unnamed) noexcept;

  /// Merges axes wherever they lie, if there are more than can be moved: returns how many are left.
  std::size_t merge() noexcept;

  /// A plan of the moves. Requires at most 16 axes, arrays that are not empty, and an output that does not overlap itself.
  detail::operation plan(const py::array& input, const converted_axes& converted) const;

  /// ValueError where `output`, which is called `name`, overlaps itself. Requires at most 16 axes.
  void check_output(const py::array& output, const char* name) const;

  /// Moves the elements from `input` to `output`, as if the two shared no memory. ValueError where `output`, which is
  /// called `name` and may be `given` by the caller, overlaps itself. Requires at most 16 axes.
  void run(const py::array& input, py::array& output, const char* name, bool given, std::size_t threads,
           const converted_axes& converted);

 private:
  struct axis {
    std::int64_t extent;
    std::int64_t from;
    std::int64_t to;
    std::size_t name;
  };

  detail::placement source_in(const py::array& input) const;
  detail::placement target_in(const py::array& output) const;
  view_values destination_strides() const;
  /// The place of a named axis, or that of no axis.
  std::size_t find(std::size_t name) const noexcept;
  /// A plan for a source without its repetitions, or with them.
  detail::operation plan_from(const detail::placement& from, const converted_axes& converted) const;

  static constexpr std::size_t most = 64;
  std::array<axis, most> axes_;  // of which there are `rank_`
  std::size_t rank_ = 0;
};

}  // namespace reblock::python
