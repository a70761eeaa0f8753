// SPDX-License-Identifier: BSD-3-Clause
//
// The leaves for a few streams: several contiguous rows on one side, one dense row on the other.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <reblock/detail/registers.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::detail {

/// Streams that registers are shuffled for, at least as many as there are.
template <std::size_t Streams>
inline constexpr std::size_t padded_streams = std::bit_ceil(Streams);

/// How often registers are shuffled to interleave streams, and to separate them. Elements that fill a
/// register need no shuffle.
template <std::size_t Size, std::size_t Streams>
inline constexpr int interleaving_shuffles =
    Size == sizeof(register_bytes) ? 0 : log2(padded_streams<Streams>);
template <std::size_t Size>
inline constexpr int separating_shuffles = log2(sizeof(register_bytes) / Size);

/// Registers full of dense groups: position after position of a row, an element of each stream. Where
/// the streams are not a power of two, a register's groups are padded to one; in memory they are not.
/// What is padding there belongs to the next position, so all but the last group of a row can be read and
/// written as wide as in registers.
template <std::size_t Size, std::size_t Streams>
struct groups {
  static constexpr std::size_t count = padded_streams<Streams>;        ///< registers
  static constexpr std::size_t width = sizeof(register_bytes) / Size;  ///< groups in all of them
  static constexpr std::size_t padded = count * Size;                  ///< bytes of a group in registers
  static constexpr std::size_t step = Streams * Size;                  ///< bytes of a group in memory
  static constexpr std::size_t chunk = std::min(padded, sizeof(register_bytes));

  static registers<count> load_all(const std::byte* source, bool last) noexcept {
    registers<count> v;
    if constexpr (padded == step) {
      unrolled<count>([&](auto k) { v[k] = load(source + k * sizeof(register_bytes)); });
    } else if (last) {
      v = load_some(source, width);
    } else if constexpr (chunk == sizeof(register_bytes)) {
      constexpr std::size_t chunks = padded / chunk;
      unrolled<count>([&](auto k) { v[k] = load(source + k / chunks * step + k % chunks * chunk); });
    } else {
      unrolled<count>([&](auto k) {
        const std::byte* first = source + k * (sizeof(register_bytes) / chunk) * step;
        if constexpr (chunk == 8) {
          v[k] = register_of(read<std::uint64_t>(first), read<std::uint64_t>(first + step));
        } else {
          v[k] = register_of(read<std::uint32_t>(first), read<std::uint32_t>(first + step),
                             read<std::uint32_t>(first + 2 * step), read<std::uint32_t>(first + 3 * step));
        }
      });
    }
    return v;
  }

  static void store_all(std::byte* destination, const registers<count>& v, bool last,
                        bool streamed) noexcept {
    if constexpr (padded == step) {
      if (streamed) {
        unrolled<count>([&](auto k) { stream(destination + k * sizeof(register_bytes), v[k]); });
        return;
      }
      unrolled<count>([&](auto k) { store(destination + k * sizeof(register_bytes), v[k]); });
    } else if (last) {
      store_some(destination, v, width);
    } else if constexpr (chunk == sizeof(register_bytes)) {
      constexpr std::size_t chunks = padded / chunk;
      unrolled<count>([&](auto k) { store(destination + k / chunks * step + k % chunks * chunk, v[k]); });
    } else {
      constexpr std::size_t in_register = sizeof(register_bytes) / chunk;
      unrolled<count>([&](auto k) {
        std::byte bytes[sizeof(register_bytes)];
        store(bytes, v[k]);
        unrolled<in_register>([&](auto i) {
          std::memcpy(destination + (k * in_register + i) * step, bytes + i * chunk, chunk);
        });
      });
    }
  }

  /// The first `some` groups, and nothing beyond them in memory.
  static registers<count> load_some(const std::byte* source, std::size_t some) noexcept {
    registers<count> v{};
    if constexpr (padded == step) {
      unrolled<count>([&](auto k) {
        constexpr std::size_t begin = k * sizeof(register_bytes);
        if (begin + sizeof(register_bytes) <= some * step) {
          v[k] = load(source + begin);
        } else if (begin < some * step) {
          v[k] = load_part(source + begin, some * step - begin);
        }
      });
    } else {
      std::byte bytes[sizeof(v)] = {};
      for (std::size_t i = 0; i < some; ++i) std::memcpy(bytes + i * padded, source + i * step, step);
      std::memcpy(v.data(), bytes, sizeof(bytes));
    }
    return v;
  }
  static void store_some(std::byte* destination, const registers<count>& v, std::size_t some) noexcept {
    if constexpr (padded == step) {
      unrolled<count>([&](auto k) {
        constexpr std::size_t begin = k * sizeof(register_bytes);
        if (begin + sizeof(register_bytes) <= some * step) {
          store(destination + begin, v[k]);
        } else if (begin < some * step) {
          store_part(destination + begin, v[k], some * step - begin);
        }
      });
    } else {
      std::byte bytes[sizeof(v)];
      std::memcpy(bytes, v.data(), sizeof(bytes));
      for (std::size_t i = 0; i < some; ++i) std::memcpy(destination + i * step, bytes + i * padded, step);
    }
  }
};

/// `Streams` contiguous sources become one contiguous destination, an element from each in turn. The
/// outer axis runs along the streams, the inner one across them.
template <std::size_t Size, std::size_t Streams, class Finish = as_is>
void move_interleaved(const tile& t, const std::byte* source, std::byte* destination) {
  using dense = groups<Size, Streams>;
  const auto length = static_cast<std::size_t>(t.outer.extent);
  const auto offsets = stream_offsets::of_source(t, Streams).template first<Streams>();
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(destination));
  const bool streamed = t.streamed && length % dense::width == 0 &&
                        (address | t.rows.destination_stride | t.slices.destination_stride) %
                                static_cast<std::int64_t>(sizeof(register_bytes)) ==
                            0;
  if (length < dense::width) {
    const auto goes_on = [=](const tile_axis& next) { return run_over<Size>(length, next.source_stride); };
    const auto move_rows = [=](const tile& some, const std::byte* first, std::byte* to_first,
                               const tile_axis& next) {
      const bool wide = goes_on(next);
      for_each_row(some, first, to_first, [=](const std::byte* from, std::byte* to) {
        registers<dense::count> v{};
        unrolled<Streams>([&](auto k) {
          v[k] = wide ? load(from + offsets[k]) : load_part(from + offsets[k], length * Size);
        });
        v = finished<Finish>(shuffle<Size, interleaving_shuffles<Size, Streams>>(v));
        dense::store_some(to, v, length);
      });
    };
    return for_following_rows(t, source, destination, goes_on, move_rows);
  }
  for_each_row(t, source, destination, [=](const std::byte* from, std::byte* to) {
    const auto stream = [&](std::size_t k) { return from + offsets[k]; };
    for_overlapping_steps(length, dense::width, [&](std::size_t i) {
      if constexpr (Streams > dense::width && Streams == dense::count) {
        // a square of streams at a time, which takes fewer shuffles, and fewer registers
        constexpr std::size_t squares = Streams / dense::width;
        unrolled<squares>([&](auto square) {
          registers<dense::width> v;
          unrolled<dense::width>([&](auto k) { v[k] = load(stream(square * dense::width + k) + i * Size); });
          v = finished<Finish>(shuffle<Size, log2(dense::width)>(v));
          unrolled<dense::width>([&](auto k) {
            std::byte* place = to + i * dense::step + (k * squares + square) * sizeof(register_bytes);
            streamed ? detail::stream(place, v[k]) : store(place, v[k]);
          });
        });
        return;
      }
      registers<dense::count> v{};
      unrolled<Streams>([&](auto k) { v[k] = load(stream(k) + i * Size); });
      v = finished<Finish>(shuffle<Size, interleaving_shuffles<Size, Streams>>(v));
      dense::store_all(to + i * dense::step, v, i + dense::width == length, streamed);
    });
  });
}

/// One contiguous source is dealt out to `Streams` contiguous destinations, an element to each in
/// turn. The outer axis runs across the streams, the inner one along them.
template <std::size_t Size, std::size_t Streams>
void move_deinterleaved(const tile& t, const std::byte* source, std::byte* destination) {
  using dense = groups<Size, Streams>;
  const auto length = static_cast<std::size_t>(t.inner.extent);
  const auto offsets = stream_offsets::of_destination(t, Streams).template first<Streams>();
  if (length < dense::width) {
    const auto goes_on = [=](const tile_axis& next) {
      return run_over<Size>(length, next.destination_stride);
    };
    const auto move_rows = [=](const tile& some, const std::byte* first, std::byte* to_first,
                               const tile_axis& next) {
      const bool wide = goes_on(next);
      for_each_row(some, first, to_first, [=](const std::byte* from, std::byte* to) {
        const registers<dense::count> v =
            shuffle<Size, separating_shuffles<Size>>(dense::load_some(from, length));
        unrolled<Streams>([&](auto k) {
          wide ? store(to + offsets[k], v[k]) : store_part(to + offsets[k], v[k], length * Size);
        });
      });
    };
    return for_following_rows(t, source, destination, goes_on, move_rows);
  }
  for_each_row(t, source, destination, [=](const std::byte* from, std::byte* to) {
    const auto stream = [&](std::size_t k) { return to + offsets[k]; };
    for_overlapping_steps(length, dense::width, [&](std::size_t i) {
      registers<dense::count> v = dense::load_all(from + i * dense::step, i + dense::width == length);
      v = shuffle<Size, separating_shuffles<Size>>(v);
      unrolled<Streams>([&](auto k) { store(stream(k) + i * Size, v[k]); });
    });
  });
}

}  // namespace reblock::detail
