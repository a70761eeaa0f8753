// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a tensor overlaps itself, and whether two tensors share memory. Both ask if a sum of
// strides, each taken a bounded number of times, can land in an interval. That is hard in theory and
// easy for the layouts that occur; a search that does not end soon answers "yes", the safe side.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Sums of `count` or fewer steps of each stride, summed up over the strides.
class stride_sums {
 public:
  /// A zero stride or count adds nothing.
  constexpr void add(std::int64_t stride, std::int64_t count) noexcept {
    if (stride == 0 || count == 0) return;
    std::size_t i = size_++;
    for (; i > 0 && terms_[i - 1].stride < stride; --i) terms_[i] = terms_[i - 1];
    terms_[i] = {stride, count};
  }

  /// Whether a sum lands in [low, high].
  constexpr bool reach(std::int64_t low, std::int64_t high) noexcept {
    tails_[size_] = 0;
    for (std::size_t i = size_; i-- > 0;) tails_[i] = tails_[i + 1] + terms_[i].stride * terms_[i].count;
    budget_ = 10000;
    return search(0, low, high);
  }

 private:
  struct term {
    std::int64_t stride = 0;
    std::int64_t count = 0;
  };

  constexpr bool search(std::size_t i, std::int64_t low, std::int64_t high) noexcept {
    if (high < 0 || low > tails_[i]) return false;
    if (low <= 0) return true;
    if (i == size_) return false;
    const auto [stride, count] = terms_[i];
    const std::int64_t most = std::min(count, high / stride);
    const std::int64_t least = std::max<std::int64_t>(0, low - tails_[i + 1] + stride - 1) / stride;
    for (std::int64_t steps = most; steps >= least; --steps) {
      if (budget_-- == 0) return true;
      if (search(i + 1, low - steps * stride, high - steps * stride)) return true;
      if (budget_ < 0) return true;
    }
    return false;
  }

  std::array<term, 2 * max_rank> terms_{};
  std::array<std::int64_t, 2 * max_rank + 1> tails_{};
  std::size_t size_ = 0;
  std::int64_t budget_ = 0;
};

/// Whether two elements of the tensor (strides in bytes) have a byte in common.
constexpr bool overlaps_itself(const axis_values& extents, const axis_values& strides,
                               std::int64_t element_size) noexcept {
  for (const std::int64_t extent : extents) {
    if (extent == 0 || element_size == 0) return false;
  }
  // Two elements differ first, in the order of the axes, along one axis, by `extent - 1` steps at the
  // most; the later axes add between minus and plus their own reach.
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    const std::int64_t stride = strides[i] < 0 ? -strides[i] : strides[i];
    if (stride == 0) return true;
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
    if (sums.reach(target - (element_size - 1), target + (element_size - 1))) return true;
  }
  return false;
}

/// A tensor's place in memory: the address of element 0, extents, strides and element size in bytes.
struct placement {
  std::int64_t address = 0;
  axis_values extents;
  axis_values strides;
  std::int64_t element_size = 0;
};

/// Whether the elements of the tensors have a byte in common. A byte between elements does not count.
constexpr bool share_memory(const placement& a, const placement& b) noexcept {
  stride_sums sums;
  // a's lowest address plus steps up == b's highest address minus steps down
  std::int64_t distance = b.address - a.address;
  for (std::size_t i = 0; i < a.extents.size(); ++i) {
    if (a.extents[i] == 0) return false;
    if (a.extents[i] == 1) continue;
    const std::int64_t reach = (a.extents[i] - 1) * a.strides[i];
    if (a.strides[i] < 0) distance -= reach;
    sums.add(a.strides[i] < 0 ? -a.strides[i] : a.strides[i], a.extents[i] - 1);
  }
  for (std::size_t i = 0; i < b.extents.size(); ++i) {
    if (b.extents[i] == 0) return false;
    if (b.extents[i] == 1) continue;
    const std::int64_t reach = (b.extents[i] - 1) * b.strides[i];
    if (b.strides[i] > 0) distance += reach;
    sums.add(b.strides[i] < 0 ? -b.strides[i] : b.strides[i], b.extents[i] - 1);
  }
  if (a.element_size == 0 || b.element_size == 0) return false;
  return sums.reach(distance - (a.element_size - 1), distance + (b.element_size - 1));
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
