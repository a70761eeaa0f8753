// SPDX-License-Identifier: BSD-3-Clause
//
// Short rows: a pattern of a few hundred bytes that repeats. Each register of its destination is put
// together from bytes of a few registers of its source, by a table that is worked out once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <reblock/detail/compiler.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::detail {

/// Indices begin <= index < end.
struct index_range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend constexpr bool operator==(const index_range&, const index_range&) = default;
};

class pattern {
 public:
  static constexpr std::size_t most_bytes = 1024;

  /// Holds nothing, not even zeros: it is large, and most plans have none.
  pattern() noexcept {}  // NOLINT(modernize-use-equals-default): a default one would be cleared at times

  /// Works out the table for the pattern of `axes`, whose destination is dense, for registers of `width`
  /// bytes. Elements with an index outside of `inside` on some axis become 0. Any byte between the first
  /// and the last source element inside may be read. Returns whether there is such a table.
  bool make(std::size_t width, std::span<const layout_axis> axes, std::span<const index_range> inside,
            std::int64_t element_size) noexcept;

  /// Moves the pattern for each index of two axes.
  void move(const tile_axis& outer, const tile_axis& inner, const std::byte* source,
            std::byte* destination) const noexcept;

 private:
  /// A register of the destination. Its last bytes may not be right yet: the next one, which writes
  /// over them, has them.
  struct target {
    std::int32_t offset;    ///< bytes from the destination of the pattern
    std::uint32_t windows;  ///< of the source, in the order of the table
  };
  static constexpr std::size_t most_targets = 48;
  static constexpr std::size_t most_windows = 176;

  std::size_t add_windows(target& t, const std::int32_t* bytes, std::int32_t last_window, bool all) noexcept;

  std::size_t width_;
  std::size_t target_count_;
  std::size_t window_count_;
  std::array<target, most_targets> targets_;
  std::array<std::int64_t, most_windows> offsets_;  ///< bytes from the source of the pattern
  std::array<std::array<std::uint8_t, most_lookup_width>, most_windows> places_;
};

/// In the place of a source offset: there is no such byte, and the destination's becomes 0.
inline constexpr std::int32_t outside = std::numeric_limits<std::int32_t>::min();

/// Where the bytes of a pattern are in its source, in the order of its destination. Returns how many,
/// or 0 where they do not fit, are too far apart, or do not go upwards.
inline std::size_t list_bytes(std::span<const layout_axis> axes, std::span<const index_range> inside,
                              std::int64_t element_size, std::span<std::int32_t> bytes) noexcept {
  constexpr std::int64_t far = std::int64_t{1} << 26;
  auto count = static_cast<std::size_t>(element_size);
  if (count > bytes.size()) return 0;
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::int32_t>(i);
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto extent = static_cast<std::size_t>(axes[i].extent);
    const std::int64_t stride = axes[i].source_stride;
    if (extent > bytes.size() / count || stride > far / axes[i].extent || stride < 0) return 0;
    const auto [begin, end] = inside[i];
    for (std::size_t index = extent; index-- > 0;) {
      const auto at = static_cast<std::int64_t>(index);
      const bool is_inside = begin <= at && at < end;
      const auto shift = static_cast<std::int32_t>(at * stride);
      for (std::size_t k = 0; k < count; ++k) {
        bytes[index * count + k] = is_inside && bytes[k] != outside ? bytes[k] + shift : outside;
      }
    }
    count *= extent;
  }
  return count;
}

inline bool pattern::make(std::size_t width, std::span<const layout_axis> axes,
                          std::span<const index_range> inside, std::int64_t element_size) noexcept {
  std::array<std::int32_t, most_bytes> bytes;
  const std::size_t count = list_bytes(axes, inside, element_size, bytes);
  if (count < width) return false;
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  std::int32_t highest = outside;
  for (std::size_t i = 0; i < count; ++i) {
    highest = std::max(highest, bytes[i]);
    lowest = std::min(lowest, bytes[i] == outside ? lowest : bytes[i]);
  }
  const std::int32_t last_window = highest + 1 - static_cast<std::int32_t>(width);
  if (highest == outside || last_window < lowest) return false;
  width_ = width;
  target_count_ = 0;
  window_count_ = 0;
  for (std::size_t done = 0; done < count;) {
    if (target_count_ == most_targets || window_count_ + lookups::most_windows > most_windows) return false;
    const std::size_t first = std::min(done, count - width);
    target& t = targets_[target_count_++];
    t.offset = static_cast<std::int32_t>(first);
    const bool last = first + width == count;
    const std::size_t found = add_windows(t, bytes.data() + first, last_window, last);
    if (last && found < width) return false;
    done = first + found;
  }
  return true;
}

/// Adds the windows for the register that `bytes` fill. Returns how many of its bytes are right: all, if
/// `all` is asked for and possible, or as many as are cheap.
inline std::size_t pattern::add_windows(target& t, const std::int32_t* bytes, std::int32_t last_window,
                                        bool all) noexcept {
  std::uint64_t have = 0;  // a bit for each byte
  for (std::size_t j = 0; j < width_; ++j) have |= std::uint64_t{bytes[j] == outside} << j;
  auto found = static_cast<std::size_t>(std::countr_one(have));
  std::size_t best = 0;
  t.windows = 0;
  for (std::size_t k = 0; k < lookups::most_windows; ++k) {
    // where all bytes are outside, some window that has none of them
    const std::int32_t offset = found < width_ ? std::min(bytes[found], last_window) : last_window;
    offsets_[window_count_ + k] = offset;
    auto& places = places_[window_count_ + k];
    for (std::size_t j = 0; j < width_; ++j) {
      const std::uint32_t place = static_cast<std::uint32_t>(bytes[j]) - static_cast<std::uint32_t>(offset);
      const bool is_here = place < width_;
      places[j] = static_cast<std::uint8_t>(is_here ? place : 255);
      have |= std::uint64_t{is_here} << j;
    }
    found = static_cast<std::size_t>(std::countr_one(have));
    // a register costs as much as a window
    if (all || found * (t.windows + 1) > best * (k + 2)) {
      t.windows = static_cast<std::uint32_t>(k + 1);
      best = found;
    }
    if (found >= width_) break;
  }
  window_count_ += t.windows;
  return best;
}

inline void pattern::move(const tile_axis& outer, const tile_axis& inner, const std::byte* source,
                          std::byte* destination) const noexcept {
  lookups l{offsets_.data(), places_.front().data()};
  for (std::size_t i = 0; i < target_count_; ++i) {
    const target& t = targets_[i];
    std::byte* to = destination + t.offset;
    unrolled<lookups::most_windows>([&](auto k) {
      if (t.windows == k + 1) {
        look_up<k + 1>(width_, l, outer, inner, source, to);
      }
    });
    l.offsets += t.windows;
    l.places += t.windows * most_lookup_width;
  }
}

}  // namespace reblock::detail
