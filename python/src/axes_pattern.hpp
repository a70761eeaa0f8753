// SPDX-License-Identifier: BSD-3-Clause
//
// An axes_pattern holds a pattern of rearrange or repeat, in the language of einops: "b (h p) c -> b h (p c)".
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "array_moves.hpp"
#include "function.hpp"
#include "gate.hpp"

namespace reblock::python {

namespace py = pybind11;

/// A pattern of repeat may have new axes, and numbers, on its right side.
enum class pattern_use { rearrange, repeat };

/// A pattern that has been read and checked. Its axes have numbers, in the order in which they first occur.
class axes_pattern {
 public:
  static constexpr std::size_t most_axes = 64;        ///< with a name or a number; arrays have no more
  static constexpr std::size_t ellipsis = most_axes;  ///< stands for all axes that "..." covers

  struct axis {
    std::string name;     ///< or number
    py::object key;       ///< the name as keywords have it; none: anonymous
    std::int64_t length;  ///< of an anonymous axis
    bool is_new;          ///< not on the left side
  };
  /// An axis of an array: the axes that it is made of, the outermost first.
  struct group {
    std::vector<std::size_t> axes;
    bool spreads = false;  ///< "..." outside of parentheses: as many axes of the array as it covers
  };

  /// ValueError for what is no pattern, TypeError for what is no str.
  axes_pattern(py::handle pattern, pattern_use use);

  /// The pattern as Python shows it.
  const std::string& shown() const noexcept { return text_; }
  const std::vector<axis>& axes() const noexcept { return axes_; }
  const std::vector<group>& left() const noexcept { return left_; }
  const std::vector<group>& right() const noexcept { return right_; }

  /// The lengths of the pattern's axes, and the axes of the array that "..." covers.
  struct extents {
    std::array<std::int64_t, most_axes> lengths;  // of which there are as many as axes
    std::size_t first_covered = 0;
    std::size_t covered = 0;
  };
  /// What "..." covers in an `x` of so many axes; nothing of the lengths. ValueError for a rank that does not fit.
  extents cover(std::size_t rank, const array_shape* shown = nullptr) const;
  /// For an `x` of this shape. ValueError where it does not fit, or leaves the length of an axis open.
  extents fit(const array_shape& shape, const other_keywords& given) const;

  /// The shape of the result, of which no element is more than `itemsize` bytes. ValueError where it is too large.
  array_shape result_shape(const array_shape& shape, const extents& of, std::int64_t itemsize) const;
  /// The number of the axis of this name. ValueError for an `argument` with another.
  std::size_t axis_of(py::handle name, const char* argument) const;
  /// ValueError for more than 16 axes that do not merge. Axes with the numbers `apart` keep them as names, and do not merge.
  array_moves moves(const py::array& input, const py::array& output, const extents& of,
                    const std::array<std::size_t, 2>& apart = {array_moves::unnamed,
                                                               array_moves::unnamed}) const;

 private:
  void read_side(std::string_view text, const char* side);
  void add_token(std::string_view token, const char* side, std::vector<group>& groups, bool in_group);
  void check_sides();
  std::size_t find(py::handle name) const noexcept;
  std::string text_of(const group& of) const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string text_;
  pattern_use use_;
  std::vector<axis> axes_;
  std::vector<group> left_;
  std::vector<group> right_;
};

}  // namespace reblock::python
