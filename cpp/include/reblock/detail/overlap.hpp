// SPDX-License-Identifier: BSD-3-Clause
//
// These functions tell whether a tensor overlaps itself, and whether two tensors share memory. Both questions are whether a
// sum of strides, each taken a bounded number of times, can lie in an interval. The problem is hard in theory, but easy for
// usual layouts. A search that takes too long returns `unknown`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The enum tells whether two things have a byte in common.
enum class overlap { none, exists, unknown };

/// Returns the text that a message about an overlap adds for its result.
constexpr const char* doubt(overlap found) noexcept {
  return found == overlap::unknown ? "; for these strides that takes too long to tell" : "";
}

/// stride_sums holds strides. Each sum takes 0 to `count` steps of each stride.
class stride_sums {
 public:
  /// A zero stride or count adds nothing.
  constexpr void add(std::int64_t stride, std::int64_t count) noexcept {
    if (stride == 0 || count == 0) return;
    std::size_t i = 0;
    while (i < size_ && terms_[i].stride > stride) ++i;
    if (i < size_ && terms_[i].stride == stride) {
      terms_[i].count += count;
      return;
    }
    for (std::size_t j = size_++; j > i; --j) terms_[j] = terms_[j - 1];
    terms_[i] = {stride, count};
  }

  /// Tells whether a sum lies in [low, high].
  constexpr overlap reach(std::int64_t low, std::int64_t high) noexcept {
    rest_[size_] = {0, 0};
    for (std::size_t i = size_; i-- > 0;) {
      const auto [stride, count] = terms_[i];
      rest_[i] = {rest_[i + 1].highest + stride * count, std::gcd(rest_[i + 1].unit, stride)};
    }
    budget_ = most_steps;
    return search(0, low, high);
  }

 private:
  /// This many steps take some milliseconds. Layouts made by loops or slices take about ten steps for each axis.
  static constexpr std::int64_t most_steps = 1'000'000;

  struct term {
    std::int64_t stride;
    std::int64_t count;
  };
  /// The sums of a term and those after it are multiples of `unit`, from 0 to `limit`.
  struct bounds {
    std::int64_t highest;
    std::int64_t unit;
  };
  static constexpr std::size_t most_terms = 2 * max_view_rank;  ///< strides of two views

  [[gnu::noinline]] constexpr overlap search(std::size_t i, std::int64_t low, std::int64_t high) noexcept {
    const bounds rest = rest_[i];
    if (high < 0 || low > rest.highest) return overlap::none;
    if (low <= 0 || high >= rest.highest) return overlap::exists;  // no step, or all of them
    if (high / rest.unit * rest.unit < low) return overlap::none;
    const auto [stride, count] = terms_[i];
    const std::int64_t last = std::min(count, high / stride);
    const std::int64_t least = ceil_divide(std::max<std::int64_t>(0, low - rest_[i + 1].highest), stride);
    for (std::int64_t steps = last; steps >= least; --steps) {
      if (budget_-- == 0) return overlap::unknown;
      const overlap found = search(i + 1, low - steps * stride, high - steps * stride);
      if (found != overlap::none) return found;
    }
    return overlap::none;
  }

  std::array<term, most_terms> terms_;  // of which there are `size_`
  std::array<bounds, most_terms + 1> rest_;
  std::size_t size_ = 0;
  std::int64_t budget_ = 0;
};

/// Tells whether two elements of the tensor (strides in bytes) have a byte in common.
constexpr overlap overlaps_itself(const view_values& extents, const view_values& strides,
                                  std::int64_t element_size) noexcept {
  for (const std::int64_t extent : extents) {
    if (extent == 0 || element_size == 0) return overlap::none;
  }
  overlap result = overlap::none;
  // Take the first axis along which two elements differ. They differ by at most `extent - 1` steps along it. Each later
  // axis adds a distance between minus and plus its reach.
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    const std::int64_t stride = strides[i] < 0 ? -strides[i] : strides[i];
    if (stride == 0) return overlap::exists;
    stride_sums sums;
    sums.add(stride, extents[i] - 2);
    std::int64_t reach = 0;
    for (std::size_t j = 0; j < extents.size(); ++j) {
      if (j <= i || extents[j] == 1) continue;
      const std::int64_t other = strides[j] < 0 ? -strides[j] : strides[j];
      reach += other * (extents[j] - 1);
      sums.add(other, 2 * (extents[j] - 1));
    }
    const std::int64_t target = reach - stride;
    const overlap found = sums.reach(target - (element_size - 1), target + (element_size - 1));
    if (found == overlap::exists) return found;
    if (found == overlap::unknown) result = found;
  }
  return result;
}

/// A placement describes a tensor's place in memory: the address of element 0, extents, strides and element size in bytes.
struct placement {
  std::int64_t address = 0;
  view_values extents;
  view_values strides;
  std::int64_t element_size = 0;
};

/// Tells whether the elements of two tensors have a byte in common. Bytes between elements do not count.
constexpr overlap share_memory(const placement& a, const placement& b) noexcept {
  stride_sums sums;
  // a's lowest address plus steps up == b's highest address minus steps down
  std::int64_t distance = b.address - a.address;
  for (const placement* const p : {&a, &b}) {
    for (std::size_t i = 0; i < p->extents.size(); ++i) {
      if (p->extents[i] == 0) return overlap::none;
      if (p->extents[i] == 1) continue;
      const std::int64_t stride = p->strides[i];
      const std::int64_t reach = (p->extents[i] - 1) * stride;
      if (p == &a && stride < 0) distance -= reach;
      if (p == &b && stride > 0) distance += reach;
      sums.add(stride < 0 ? -stride : stride, p->extents[i] - 1);
    }
  }
  if (a.element_size == 0 || b.element_size == 0) return overlap::none;
  return sums.reach(distance - (a.element_size - 1), distance + (b.element_size - 1));
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
