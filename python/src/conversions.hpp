// SPDX-License-Identifier: BSD-3-Clause
//
// These functions read the arguments dtype, scale and bias: a conversion of the elements while they move.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <reblock/reblock.hpp>

#include "gate.hpp"

namespace reblock::python {

namespace py = pybind11;

/// A scale or a bias: no value, a number, or numbers.
struct factor_argument {
  bool is_given = false;
  std::vector<double> values;
  bool is_number = false;
  py::object axis;  ///< the name of the axis that the numbers are for, where there is one
};

/// What scale and bias may be.
enum class factor_form {
  channels,  ///< a number, or one for each channel
  axes,      ///< a number, or {name of an axis: numbers}
};

/// A scale and a bias that have been read. TypeError and ValueError for what they cannot be.
struct factor_arguments {
  factor_argument scale;
  factor_argument bias;

  factor_arguments(py::handle scale_argument, py::handle bias_argument, factor_form form);

  /// ValueError where they are neither a number nor one for each of the channels.
  void check_channels(std::int64_t channels) const;

  /// Whether a plan has all values in itself.
  bool are_held() const noexcept {
    return scale.values.size() <= std::size_t{detail::most_held_factors} &&
           bias.values.size() <= std::size_t{detail::most_held_factors};
  }
};

inline bool asks_for_conversion(py::handle dtype, py::handle scale, py::handle bias) {
  return !(dtype.is_none() && scale.is_none() && bias.is_none());
}

/// Whether moves can convert elements of one dtype to another one.
bool can_convert(const py::dtype& from, const py::dtype& to);

/// What dtype, scale and bias of a call ask for. TypeError for a dtype that cannot be converted.
class conversion_argument {
 public:
  /// `factors` must outlive the plans.
  conversion_argument(py::handle dtype, const factor_arguments& factors, const py::array& input);

  /// Whether elements change; otherwise moves copy their bytes.
  bool converts() const noexcept { return converts_; }
  /// The dtype of the result.
  const py::dtype& dtype() const noexcept { return dtype_; }
  /// Bytes of an element of `x` or of the result, whichever has more.
  std::int64_t widest() const noexcept { return widest_; }

  /// As factor_arguments.
  void check_channels(std::int64_t channels) const { factors_->check_channels(channels); }

  /// What to do with these moves, of which `scale_axis` and `bias_axis` are axes. Requires that elements change.
  detail::conversion_request request(const detail::layout& moves, std::size_t scale_axis,
                                     std::size_t bias_axis) const;
  /// The same for the moves of an operator.
  detail::conversion_request request(const detail::layout& moves) const {
    return request(moves, detail::channels_of_moves, detail::channels_of_moves);
  }
  /// A plan of an operator's moves, which convert where this was asked for.
  detail::operation plan(const detail::layout& moves, std::int64_t itemsize) const {
    return converts_ ? detail::operation(request(moves))
                     : detail::operation(detail::move_request{moves, itemsize});
  }

 private:
  const factor_arguments* factors_;
  py::dtype dtype_;
  std::int64_t widest_;
  detail::element_type from_ = detail::element_type::none;
  detail::element_type to_ = detail::element_type::none;
  bool swaps_source_ = false;
  bool swaps_destination_ = false;
  bool converts_;
};

/// Nothing where there are no factors, which asks_for_conversion() tells.
inline std::optional<conversion_argument> to_conversion(py::handle dtype,
                                                        const std::optional<factor_arguments>& factors,
                                                        const py::array& input) {
  if (!factors) return std::nullopt;
  return conversion_argument(dtype, *factors, input);
}

}  // namespace reblock::python
