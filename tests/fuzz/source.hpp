// SPDX-License-Identifier: BSD-3-Clause
//
// What the fuzz targets share: values drawn from the fuzzer's bytes, memory without a byte to spare, and
// executors that must not matter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include <reblock/axis_values.hpp>
#include <reblock/window.hpp>

namespace reblock::fuzz {

/// Where the condition does not hold, ends the run, so that the fuzzer keeps the input.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::abort();
}

class source {
 public:
  source(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  /// From `low` to `high`, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return bytes_.ConsumeIntegralInRange(low, high);
  }
  bool flip() { return bytes_.ConsumeBool(); }
  bool rarely() { return between(0, 63) == 63; }
  template <class T>
  T any() {
    return bytes_.ConsumeIntegral<T>();
  }

  /// Most often from `low` to `high`, else whatever an integer can be.
  std::int64_t value(std::int64_t low, std::int64_t high) {
    using limits = std::numeric_limits<std::int64_t>;
    switch (between(0, 63)) {
      case 63: return any<std::int64_t>();
      case 62:
        return bytes_.PickValueInArray({limits::min(), limits::min() + 1, std::int64_t{-1}, std::int64_t{0},
                                        std::int64_t{1} << 31, std::int64_t{1} << 32, std::int64_t{1} << 62,
                                        limits::max() - 1, limits::max()});
      default: return between(low, high);
    }
  }
  axis_values values(std::size_t count, std::int64_t low, std::int64_t high) {
    axis_values result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(value(low, high));
    return result;
  }
  /// One value for all axes, one for each, or, rarely, another number of them.
  spatial_values parameter(std::size_t axes, std::int64_t low, std::int64_t high) {
    if (flip()) return value(low, high);
    return values(rarely() ? static_cast<std::size_t>(between(0, 11)) : axes, low, high);
  }
  window window_of(std::size_t axes) {
    return {.sizes = parameter(axes, 1, 3),
            .strides = parameter(axes, 1, 3),
            .dilations = parameter(axes, 1, 2),
            .start_padding = parameter(axes, 0, 2),
            .end_padding = parameter(axes, 0, 2)};
  }
  /// The same, with any mode and order, and a part of the window positions.
  window any_window_of(std::size_t axes) {
    window w = window_of(axes);
    w.padding_mode = static_cast<padding_mode>(rarely() ? any<std::uint32_t>() : between(0, 4));
    w.order = static_cast<depth_space_order>(rarely() ? any<std::uint32_t>() : between(0, 1));
    if (flip()) w.blocks.start = parameter(axes, -1, 2);
    if (flip()) w.blocks.stop = parameter(axes, -2, 4);
    return w;
  }
  /// The given values, of which one is, rarely, replaced, left out or added.
  axis_values disturbed(const axis_values& given) {
    if (!rarely()) return given;
    axis_values result;
    for (const std::int64_t kept : given) result.push_back(kept);
    if (flip() || result.empty())
      result.push_back(value(0, 4));
    else
      result[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(given.size()) - 1))] = value(0, 9);
    return result;
  }
  /// Strides that keep elements apart, the axes in any order, with gaps; with `repeats` some are 0.
  axis_values apart(const axis_values& extents, bool repeats) {
    axis_values strides = extents;
    std::vector<bool> taken(extents.size());
    std::int64_t stride = between(1, 3);
    for (std::size_t i = 0; i < extents.size(); ++i) {
      auto axis = static_cast<std::size_t>(between(0, static_cast<std::int64_t>(extents.size()) - 1));
      while (taken[axis]) axis = (axis + 1) % extents.size();
      taken[axis] = true;
      strides[axis] = repeats && between(0, 7) == 7 ? 0 : stride;
      // Modulo 2^64: extents that are no extents must not stop the drawing.
      stride = static_cast<std::int64_t>(static_cast<std::uint64_t>(stride) *
                                         static_cast<std::uint64_t>(extents[axis] == 0 ? 1 : extents[axis]));
      stride = stride < 0 || stride > (std::int64_t{1} << 60) ? 1 : stride + between(0, 2);
    }
    return strides;
  }

 private:
  FuzzedDataProvider bytes_;
};

/// So many bytes, and not one more that may be touched, at any alignment.
class exact_buffer {
 public:
  exact_buffer(std::size_t size, std::size_t misalignment)
      : size_(size), offset_(misalignment), memory_(new std::byte[size + misalignment]) {}

  std::size_t size() const { return size_; }
  std::byte* data() { return memory_.get() + offset_; }
  const std::byte* data() const { return memory_.get() + offset_; }

  /// Bytes that look random and that hardly repeat.
  void fill(std::uint64_t seed) {
    for (std::size_t i = 0; i < size_; i += sizeof(std::uint64_t)) {
      seed += 0x9e3779b97f4a7c15;
      std::uint64_t mixed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
      mixed ^= mixed >> 31;
      std::memcpy(data() + i, &mixed, std::min(sizeof(mixed), size_ - i));
    }
  }

 private:
  std::size_t size_;
  std::size_t offset_;
  std::unique_ptr<std::byte[]> memory_;
};

/// Runs the last of up to `limit` chunks first.
struct backward_executor {
  std::size_t limit = 1;

  std::size_t concurrency() const { return limit; }

  template <class F>
  void run(std::size_t n, F&& chunk) const {
    while (n-- > 0) chunk(n);
  }
};

}  // namespace reblock::fuzz
