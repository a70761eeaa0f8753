// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include <reblock/axis_values.hpp>
#include <reblock/data_type.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/overlap.hpp>
#include <reblock/result.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

namespace detail {

/// Computes the strides, in units of `unit`, of a tensor in C order without gaps. Zero extents count as one, as in NumPy.
template <std::size_t MostAxes = max_rank>
[[gnu::noinline]] constexpr basic_axis_values<MostAxes> packed_strides(
    const basic_axis_values<MostAxes>& extents, std::int64_t unit = 1) noexcept {
  basic_axis_values<MostAxes> strides = extents;
  for (std::size_t i = extents.size(); i-- > 0;) {
    strides[i] = unit;
    unit = wrapping_multiply(unit, extents[i] == 0 ? 1 : extents[i]);
  }
  return strides;
}

/// Checks that there are at most 16 axes, and that a shorter list has dropped none.
constexpr status check_view_rank(const view_values& extents, const char* name) {
  if (extents.size() <= max_view_rank && extents.given() == extents.size()) return success{};
  return error() << name << " must have at most "
                 << (extents.size() > max_view_rank ? max_view_rank : extents.size()) << " axes, got "
                 << extents.given() << ": shape " << extents;
}

}  // namespace detail

/// A tensor_view describes a tensor in memory that the caller owns. It has a pointer to the element with index 0 on every
/// axis. For each axis it has an extent and a stride in elements. A stride may have either sign; a stride of an input may
/// be 0. The constructors check nothing: the functions that take a view check it. If an extent is 0, the pointer is never
/// read.
///
///     tensor_view<const float> packed(data, {1, 8, 2, 3});
///     tensor_view<float> every_other_pixel(data, {1, 3, 4, 4}, {192, 64, 16, 2});
template <class T>
class tensor_view {
 public:
  using element_type = T;

  /// Makes a view of elements in C order without gaps.
  constexpr tensor_view(T* data, const view_values& extents) noexcept
      : tensor_view(data, extents, detail::packed_strides(extents)) {}
  constexpr tensor_view(T* data, const view_values& extents, const view_values& strides) noexcept
      : data_(data), extents_(extents), strides_(strides) {}
  /// Makes a view that reads from a view that writes.
  template <class U>
    requires std::same_as<const U, T>
  constexpr tensor_view(const tensor_view<U>& view) noexcept
      : tensor_view(view.data(), view.extents(), view.strides()) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr const view_values& extents() const noexcept { return extents_; }
  /// The strides count elements.
  constexpr const view_values& strides() const noexcept { return strides_; }

  // The following functions make views of the same elements for copy(). They refuse a view that has more than 16 axes, or
  // not one stride per axis. Negative axes count from the end. The functions without try_ throw std::invalid_argument.
  //
  //     view(data, {2, 3, 4, 6})  .permuted({0, 2, 3, 1})   {2, 4, 6, 3}
  //                               .split(3, {3, 2})         {2, 3, 4, 3, 2}
  //                               .broadcast(1, 5)          {2, 5, 3, 4, 6}

  /// Puts the axes in another order: axis i is this view's axis axes[i]. Errors: `axes` does not have each axis once.
  constexpr result<tensor_view> try_permuted(const view_values& axes) const;
  constexpr tensor_view permuted(const view_values& axes) const { return try_permuted(axes).value(); }

  /// Splits `axis` into several axes. Their index in C order is the index on `axis`. With no extents, an axis of extent 1
  /// is removed. Errors: no such axis; a negative extent; extents whose product is not the axis's extent; more than 16
  /// axes.
  constexpr result<tensor_view> try_split(std::int64_t axis, const view_values& extents) const;
  constexpr tensor_view split(std::int64_t axis, const view_values& extents) const {
    return try_split(axis, extents).value();
  }

  /// Adds an axis as axis `axis`. All elements along it are the same, so the view can only be an input. Errors: no such
  /// place for an axis; a negative extent; more than 16 axes.
  constexpr result<tensor_view> try_broadcast(std::int64_t axis, std::int64_t extent) const;
  constexpr tensor_view broadcast(std::int64_t axis, std::int64_t extent) const {
    return try_broadcast(axis, extent).value();
  }

 private:
  constexpr status check_form() const {
    if (const status fits = detail::check_view_rank(extents_, "a view"); !fits) return fits;
    if (strides_.given() != extents_.size()) {
      return error() << "a view must have one stride for each of its " << extents_.size()
                     << " axes, got strides " << strides_;
    }
    return success{};
  }

  T* data_;
  view_values extents_;
  view_values strides_;
};

namespace detail {

/// Checks an axis of `rank` axes; a negative axis counts from the end.
constexpr result<std::size_t> check_axis(std::int64_t axis, std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(rank);
  if (axis >= -axes && axis < axes) return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
  if (axes == 0) return error() << "axis must be an axis of the view, which has none, got " << axis;
  return error() << "axis must be from " << -axes << " to " << axes - 1 << " for " << axes << " axes, got "
                 << axis;
}

}  // namespace detail

template <class T>
constexpr result<tensor_view<T>> tensor_view<T>::try_permuted(const view_values& axes) const {
  if (const status fits = check_form(); !fits) return fits.why();
  const auto refusal = [&] {
    return error() << "axes must have each of the " << extents_.size() << " axes once, got " << axes;
  };
  if (axes.given() != extents_.size()) return refusal();
  view_values extents;
  view_values strides;
  std::uint32_t seen = 0;
  for (const std::int64_t given : axes) {
    const result<std::size_t> axis = detail::check_axis(given, extents_.size());
    if (!axis || (seen >> *axis & 1) != 0) return refusal();
    seen |= std::uint32_t{1} << *axis;
    extents.push_back(extents_[*axis]);
    strides.push_back(strides_[*axis]);
  }
  return tensor_view(data_, extents, strides);
}

template <class T>
constexpr result<tensor_view<T>> tensor_view<T>::try_split(std::int64_t axis,
                                                           const view_values& extents) const {
  if (const status fits = check_form(); !fits) return fits.why();
  const result<std::size_t> at = detail::check_axis(axis, extents_.size());
  if (!at) return at.why();
  bool fits = extents.given() <= max_view_rank;
  for (const std::int64_t extent : extents) fits = fits && extent >= 0;
  const detail::checked_size product = fits ? detail::product(extents) : 0;
  if (!fits || product.overflow() || product.value() != extents_[*at]) {
    return error() << "extents must have the product " << extents_[*at] << " to split axis " << *at
                   << " of shape " << extents_ << ", got " << extents;
  }
  if (extents_.size() - 1 + extents.size() > max_view_rank) {
    return error() << "a view must have at most " << max_view_rank << " axes, got "
                   << extents_.size() - 1 + extents.size();
  }
  const view_values steps = detail::packed_strides(extents, strides_[*at]);
  view_values all_extents;
  view_values all_strides;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    if (i != *at) {
      all_extents.push_back(extents_[i]);
      all_strides.push_back(strides_[i]);
      continue;
    }
    for (const std::int64_t extent : extents) all_extents.push_back(extent);
    for (const std::int64_t step : steps) all_strides.push_back(step);
  }
  return tensor_view(data_, all_extents, all_strides);
}

template <class T>
constexpr result<tensor_view<T>> tensor_view<T>::try_broadcast(std::int64_t axis, std::int64_t extent) const {
  if (const status fits = check_form(); !fits) return fits.why();
  const std::size_t rank = extents_.size() + 1;
  if (rank > max_view_rank) {
    return error() << "a view must have at most " << max_view_rank << " axes, got " << rank;
  }
  const result<std::size_t> at = detail::check_axis(axis, rank);
  if (!at) return at.why();
  if (extent < 0) return error() << "extent must not be negative, got " << extent;
  view_values extents;
  view_values strides;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t from = i < *at ? i : i - 1;
    extents.push_back(i == *at ? extent : extents_[from]);
    strides.push_back(i == *at ? 0 : strides_[from]);
  }
  return tensor_view(data_, extents, strides);
}

/// A tensor_desc describes DirectML's buffer tensor: an element type, sizes and strides, in elements. Without strides the
/// elements are packed in C order. A stride of 0 repeats elements of an input; a larger stride than packed leaves gaps.
///
///     tensor_desc packed{data_type::float32, {1, 8, 2, 3}};
///     tensor_desc broadcast{data_type::float32, {4, 8, 2, 3}, axis_values{0, 6, 3, 1}};
struct tensor_desc {
  data_type type = data_type::unknown;
  axis_values sizes{};
  std::optional<axis_values> strides = std::nullopt;

  /// The strides count elements.
  constexpr axis_values strides_or_packed() const noexcept {
    return strides ? *strides : detail::packed_strides(sizes);
  }

  friend constexpr bool operator==(const tensor_desc&, const tensor_desc&) = default;
};

/// Computes DirectML's TotalTensorSizeInBytes: the bytes of a buffer that holds the tensor, a multiple of 4.
///
///     round_up_to_4((1 + sum((size - 1) * stride)) * element_size)
///
/// Errors: an invalid data type, a rank outside of 1 to 8, a size below 1, more than 2^32 - 1 elements, strides that are
/// negative or not one per size, a tensor that cannot be addressed. `argument` is the tensor's name in the message.
constexpr result<std::uint64_t> try_total_size_in_bytes(const tensor_desc& desc,
                                                        const char* argument = "tensor") {
  constexpr std::int64_t most_elements = std::numeric_limits<std::uint32_t>::max();
  constexpr std::int64_t most_bytes = std::int64_t{std::numeric_limits<std::ptrdiff_t>::max()} / 4;
  const auto refusal = [argument] { return error() << argument << ": "; };
  if (element_size(desc.type) == 0) {
    return refusal()
           << "data_type " << name(desc.type) << " (" << static_cast<std::uint32_t>(desc.type)
           << ") is not one that a tensor can have: FLOAT16 to FLOAT64, INT8 to INT64, UINT8 to UINT64";
  }
  if (desc.sizes.empty() || desc.sizes.size() > max_rank) {
    return refusal() << "sizes must have 1 to 8 values, got " << desc.sizes.given() << ": " << desc.sizes;
  }
  for (const std::int64_t size : desc.sizes) {
    if (size < 1) return refusal() << "sizes must be at least 1, got " << desc.sizes;
  }
  const detail::checked_size elements = detail::product(desc.sizes);
  if (elements.overflow() || elements.value() > most_elements) {
    return refusal() << "sizes " << desc.sizes
                     << " make more than the 2**32 - 1 elements that a tensor can have";
  }
  if (desc.strides && desc.strides->size() != desc.sizes.size()) {
    return refusal() << "strides must have one value for each of the " << desc.sizes.size() << " sizes, got "
                     << *desc.strides;
  }
  const axis_values strides = desc.strides_or_packed();
  detail::checked_size span = 1;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] < 0) return refusal() << "strides must not be negative, got " << strides;
    span += detail::checked_size(desc.sizes[i] - 1) * strides[i];
  }
  span *= static_cast<std::int64_t>(element_size(desc.type));
  if (span.overflow() || span.value() > most_bytes) {
    return refusal() << "sizes " << desc.sizes << " with strides " << strides << " span more than "
                     << most_bytes << " bytes";
  }
  return (static_cast<std::uint64_t>(span.value()) + 3) / 4 * 4;
}

/// Does the same as try_total_size_in_bytes, but throws std::invalid_argument.
constexpr std::uint64_t total_size_in_bytes(const tensor_desc& desc) {
  return try_total_size_in_bytes(desc).value();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE
