// SPDX-License-Identifier: BSD-3-Clause
//
// A window_cover chooses the windows of the source that have the bytes of a part of a pattern.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/moves/pattern_units.hpp>
#include <reblock/detail/simd/wide_lookups.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Siblings are patterns that differ only in where they begin. They are looked up together.
struct sibling_axis {
  static constexpr std::size_t limit = 4;

  std::size_t axis = 0;  ///< axis of the layout that has the siblings
  std::size_t extent = 1;
  std::int32_t source_stride = 0;       ///< bytes, not negative
  std::int64_t destination_stride = 0;  ///< bytes

  friend constexpr bool operator==(const sibling_axis&, const sibling_axis&) = default;
};

/// A window_cover holds windows with some units of the source, and the units' places in them. Each window begins with the
/// first unit that earlier windows do not have. If the source is read backwards, it begins with a later one that lies before.
class window_cover {
 public:
  static constexpr std::size_t most_units = 256;
  [[gnu::visibility("hidden")]] static constexpr std::uint16_t nowhere = 0xffff;

  window_cover() noexcept {}  // NOLINT(modernize-use-equals-default): it is large, see pattern()
  /// Each window lies within one of the `runs`. These are in ascending order and have all units and their siblings. The
  /// units' places in a window are multiples of `step` bytes. `go_back`: units may lie before those that they follow.
  window_cover(std::size_t window_bytes, std::size_t unit, std::size_t step,
               std::span<const source_bytes> runs, const sibling_axis& siblings,
               bool go_back = false) noexcept
      : window_bytes_(static_cast<std::int32_t>(window_bytes)),
        unit_(static_cast<std::int32_t>(unit)),
        step_(static_cast<std::int32_t>(step)),
        runs_(runs),
        siblings_(siblings),
        go_back_(go_back) {
    for (std::size_t w = 0; w < following_.size(); ++w) following_[w] = static_cast<std::uint8_t>(w);
    const auto fits = [this](const source_bytes& run) { return run.end - run.begin >= window_bytes_; };
    const auto first = std::find_if(runs.begin(), runs.end(), fits);
    fits_ = first != runs.end();
    if (fits_) anywhere_ = first->begin;
  }

  /// Tells whether a window fits anywhere.
  bool fits() const noexcept { return fits_; }

  /// Covers more of `units` and their siblings with at most `limit` windows. Returns how many of the units are covered.
  std::size_t extend(std::span<const std::int32_t> units, std::size_t limit) noexcept {
    while (covered_ < units.size()) {
      const std::int32_t first = units[covered_];
      std::size_t count = 1;
      if (first == pattern_units::outside) {
        std::fill_n(places_.data() + covered_ * siblings_.extent, siblings_.extent, nowhere);
      } else {
        while (covered_ + count < units.size() &&
               units[covered_ + count] == first + static_cast<std::int32_t>(count) * unit_) {
          ++count;
        }
        if (go_back_) before_ = find_before(units.subspan(covered_), count);
        if (!cover_run(first, count, limit)) {
          count = 1;
          if (!cover_run(first, count, limit)) return covered_;
        }
      }
      covered_ += count;
    }
    return covered_;
  }

  std::int32_t offset(std::size_t window) const noexcept {
    return window < count_ ? offsets_[window] : anywhere_;
  }
  /// Returns the places of units and their siblings in turn: bytes from the first window, if windows follow each other.
  std::span<const std::uint16_t> places() const noexcept { return places_; }

 private:
  /// Returns how many bytes before the next unit a window begins that has the `count` next units and the lowest of those that
  /// follow near them.
  std::int32_t find_before(std::span<const std::int32_t> units, std::size_t count) const noexcept {
    const std::int32_t first = units.front();
    const std::int32_t most = window_bytes_ - static_cast<std::int32_t>(count) * unit_;
    const auto near = static_cast<std::size_t>(window_bytes_ / unit_);
    std::int32_t before = 0;
    for (const std::int32_t unit : units.first(std::min(units.size(), near))) {
      if (unit != pattern_units::outside && first - unit <= most) before = std::max(before, first - unit);
    }
    return before;
  }

  /// Covers contiguous units and their siblings, if for each sibling one window has all units.
  bool cover_run(std::int32_t first, std::size_t count, std::size_t limit) noexcept {
    const std::int32_t bytes = static_cast<std::int32_t>(count) * unit_;
    const std::int32_t last_sibling =
        static_cast<std::int32_t>(siblings_.extent - 1) * siblings_.source_stride;
    const std::size_t guess = following_[recent_];
    if (guess < count_ && has(guess, first, bytes + last_sibling)) {  // most often
      recent_ = guess;
      const std::int32_t place = static_cast<std::int32_t>(guess) * window_bytes_ + first - offsets_[guess];
      std::uint16_t* places = places_.data() + covered_ * siblings_.extent;
      for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t next = place + static_cast<std::int32_t>(i) * unit_;
        for (std::size_t k = 0; k < siblings_.extent; ++k) {
          *places++ =
              static_cast<std::uint16_t>(next + static_cast<std::int32_t>(k) * siblings_.source_stride);
        }
      }
      return true;
    }
    for (std::size_t k = 0; k < siblings_.extent; ++k) {
      const std::int32_t begin = first + static_cast<std::int32_t>(k) * siblings_.source_stride;
      if (!find(begin, bytes, limit)) return false;
      std::int32_t place = static_cast<std::int32_t>(recent_) * window_bytes_ + begin - offsets_[recent_];
      std::uint16_t* const places = places_.data() + covered_ * siblings_.extent + k;
      for (std::size_t i = 0; i < count; ++i, place += unit_) {
        places[i * siblings_.extent] = static_cast<std::uint16_t>(place);
      }
    }
    return true;
  }

  bool has(std::size_t window, std::int32_t begin, std::int32_t bytes) const noexcept {
    const std::int32_t place = begin - offsets_[window];
    return place >= 0 && place + bytes <= window_bytes_ && place % step_ == 0;
  }

  /// Finds a window with the bytes, or adds one, and makes it the recent window. Returns whether there is such a window.
  bool find(std::int32_t begin, std::int32_t bytes, std::size_t limit) noexcept {
    std::size_t window = following_[recent_];
    for (std::size_t tried = 0; tried < count_; ++tried) {
      if (has(window, begin, bytes)) {
        recent_ = following_[recent_] = static_cast<std::uint8_t>(window);
        return true;
      }
      window = window + 1 >= count_ ? 0 : window + 1;
    }
    if (count_ == limit || bytes > window_bytes_) return false;
    const auto is_before = [](std::int32_t place, const source_bytes& run) { return place < run.begin; };
    const source_bytes run = *(std::upper_bound(runs_.begin(), runs_.end(), begin, is_before) - 1);
    if (run.end - run.begin < window_bytes_ || run.end - begin < bytes) return false;
    const std::int32_t beyond = std::max(0, begin + window_bytes_ - run.end);
    const std::int32_t before = std::min({before_, begin - run.begin, window_bytes_ - bytes});
    const std::int32_t place = std::max((beyond + step_ - 1) / step_, before / step_) * step_;
    if (begin - place < run.begin || place + bytes > window_bytes_) return false;
    offsets_[count_] = begin - place;
    recent_ = following_[recent_] = static_cast<std::uint8_t>(count_++);
    return true;
  }

  std::int32_t window_bytes_ = 0;
  std::int32_t unit_ = 0;  ///< bytes
  std::int32_t step_ = 1;  ///< bytes
  std::span<const source_bytes> runs_;
  sibling_axis siblings_;
  bool fits_ = false;
  bool go_back_;
  std::int32_t before_ = 0;    ///< bytes of a new window before the next unit
  std::int32_t anywhere_ = 0;  ///< where a window fits
  std::size_t covered_ = 0;
  std::size_t count_ = 0;
  std::size_t recent_ = 0;  ///< the window of the last unit
  std::array<std::int32_t, lookups::most_windows> offsets_;
  std::array<std::uint8_t, lookups::most_windows>
      following_;  ///< the window that had the next units the last time
  std::array<std::uint16_t, most_units> places_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
