// SPDX-License-Identifier: BSD-3-Clause
//
// These leaves move a few streams: several contiguous rows on one side, one dense row on the other.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Interleaves three streams of one register each, element by element. Small elements move in pairs: an element with an
/// even place in its stream, and the next element in turn.
template <std::size_t Size>
[[gnu::always_inline]] inline registers<3> interleave_three(const registers<3>& v) noexcept {
  const auto [a, b, c] = v;
  if constexpr (Size == sizeof(register_bytes)) {
    return v;
  } else if constexpr (Size == 8) {
    return {zip<8, false>(a, b), pick_words<0, 1, 6, 7>(c, a), zip<8, true>(b, c)};
  } else if constexpr (Size == 4) {
    const register_bytes even = pick_words<0, 2, 4, 6>(a, b);
    const register_bytes odd = pick_words<1, 3, 5, 7>(b, c);
    const register_bytes both = pick_words<0, 2, 5, 7>(c, a);
    return {pick_words<0, 2, 4, 6>(even, both), pick_words<0, 2, 5, 7>(odd, even),
            pick_words<1, 3, 5, 7>(both, odd)};
  } else {
    return interleave_three<2 * Size>(
        {pair_up<Size, 0, 0>(a, b), pair_up<Size, 0, 1>(c, a), pair_up<Size, 1, 1>(b, c)});
  }
}

/// The way back.
template <std::size_t Size>
[[gnu::always_inline]] inline registers<3> separate_three(const registers<3>& v) noexcept {
  const auto [first, second, third] = v;
  if constexpr (Size == sizeof(register_bytes)) {
    return v;
  } else if constexpr (Size == 8) {
    return {pick_words<0, 1, 6, 7>(first, second), pick_words<2, 3, 4, 5>(first, third),
            pick_words<0, 1, 6, 7>(second, third)};
  } else if constexpr (Size == 4) {
    return {
        pick_words<0, 3, 4, 6>(first, pick_words<2, 2, 5, 5>(second, third)),
        pick_words<0, 2, 4, 6>(pick_words<1, 1, 4, 4>(first, second), pick_words<3, 3, 6, 6>(second, third)),
        pick_words<0, 2, 4, 7>(pick_words<2, 2, 5, 5>(first, second), third)};
  } else {
    const auto [ab, ca, bc] = separate_three<2 * Size>(v);
    return {pair_up<Size, 0, 1>(ab, ca), pair_up<Size, 1, 0>(ab, bc), pair_up<Size, 0, 1>(ca, bc)};
  }
}

/// A group has an element of each stream, for one position of a row. If the number of streams is neither three nor a power
/// of two, groups in registers are padded to a power of two. Groups in memory have no padding: these bytes belong to the
/// next position. So all groups except a row's last can be read and written with the padding.
template <std::size_t Size, std::size_t Streams>
struct groups {
  static constexpr std::size_t width = sizeof(register_bytes) / Size;  ///< groups in all registers
  static constexpr std::size_t count = Streams == 3 || width == 1 ? Streams : std::bit_ceil(Streams);
  static constexpr std::size_t padded = count * Size;  ///< bytes of a group in registers
  static constexpr std::size_t step = Streams * Size;  ///< bytes of a group in memory
  static constexpr std::size_t chunk = std::min(padded, sizeof(register_bytes));

  /// Makes groups of streams.
  [[gnu::always_inline]] static registers<count> interleaved(const registers<count>& v) noexcept {
    if constexpr (Streams == 3) {
      return interleave_three<Size>(v);
    } else {
      return shuffle < Size, width == 1 ? 0 : log2(count) > (v);
    }
  }
  /// Makes streams of groups.
  [[gnu::always_inline]] static registers<count> separated(const registers<count>& v) noexcept {
    if constexpr (Streams == 3) {
      return separate_three<Size>(v);
    } else if constexpr (Streams == 2 && Size == 1) {  // one step instead of four
      return {unzip_bytes<false>(v[0], v[1]), unzip_bytes<true>(v[0], v[1])};
    } else if constexpr (Streams == 2 && Size == 4) {  // one instead of two
      return {pick_words<0, 2, 4, 6>(v[0], v[1]), pick_words<1, 3, 5, 7>(v[0], v[1])};
    } else {
      return shuffle<Size, log2(width)>(v);
    }
  }

  [[gnu::always_inline]] static registers<count> load_all(const std::byte* source, bool last) noexcept {
    registers<count> v;
    if constexpr (padded == step) {
      unrolled<count>([&](auto k) { v[k] = load(source + k * sizeof(register_bytes)); });
    } else if (last) {
      v = load_first(source, width);
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

  [[gnu::always_inline]] static void store_all(std::byte* destination, const registers<count>& v, bool last,
                                               bool streamed) noexcept {
    if constexpr (padded == step) {
      if (streamed) {
        unrolled<count>([&](auto k) { stream(destination + k * sizeof(register_bytes), v[k]); });
        return;
      }
      unrolled<count>([&](auto k) { store(destination + k * sizeof(register_bytes), v[k]); });
    } else if (last) {
      store_first(destination, v, width);
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

  /// Loads the first `used` groups, and reads nothing beyond them.
  [[gnu::always_inline]] static registers<count> load_first(const std::byte* source,
                                                            std::size_t used) noexcept {
    registers<count> v{};
    if constexpr (padded == step) {
      const std::size_t whole = used * step / sizeof(register_bytes);
      const std::size_t rest = used * step % sizeof(register_bytes);
      register_bytes last{};
      if (rest != 0) last = load_part(source + whole * sizeof(register_bytes), rest);
      unrolled<count>([&](auto k) {
        if (k < whole) {
          v[k] = load(source + k * sizeof(register_bytes));
        } else if (k == whole) {
          v[k] = last;
        }
      });
    } else {
      std::byte bytes[sizeof(v)] = {};
      for (std::size_t i = 0; i < used; ++i) std::memcpy(bytes + i * padded, source + i * step, step);
      std::memcpy(v.data(), bytes, sizeof(bytes));
    }
    return v;
  }
  [[gnu::always_inline]] static void store_first(std::byte* destination, const registers<count>& v,
                                                 std::size_t used) noexcept {
    if constexpr (padded == step) {
      const std::size_t whole = used * step / sizeof(register_bytes);
      const std::size_t rest = used * step % sizeof(register_bytes);
      register_bytes last{};
      unrolled<count>([&](auto k) {
        if (k < whole) {
          store(destination + k * sizeof(register_bytes), v[k]);
        } else if (k == whole) {
          last = v[k];
        }
      });
      if (rest != 0) store_part(destination + whole * sizeof(register_bytes), last, rest);
    } else {
      std::byte bytes[sizeof(v)];
      std::memcpy(bytes, v.data(), sizeof(bytes));
      for (std::size_t i = 0; i < used; ++i) std::memcpy(destination + i * step, bytes + i * padded, step);
    }
  }
};

/// Interleaves `Streams` contiguous sources: one contiguous destination takes an element from each in turn. The outer axis
/// runs along the streams, the inner axis across them.
template <std::size_t Size, std::size_t Streams>
void move_interleaved(const tile& t, const std::byte* source, std::byte* destination) {
  using dense = groups<Size, Streams>;
  const auto length = static_cast<std::size_t>(t.outer.extent);
  const auto offsets = stream_offsets::of_source(t, Streams).template first<Streams>();
  const std::int64_t strides = t.rows.destination_stride | t.slices.destination_stride;
  const bool streamed = t.streamed && length % dense::width == 0 &&
                        strides % std::int64_t{sizeof(register_bytes)} == 0 &&
                        address_of(destination) % sizeof(register_bytes) == 0;
  if (length < dense::width) {
    const auto goes_on = [=](const tile_axis& next) { return run_over<Size>(length, next.source_stride); };
    const auto move_rows = [=](const tile& part, const std::byte* first, std::byte* to_first,
                               const tile_axis& next) {
      const bool wide = goes_on(next);
      for_each_row(part, first, to_first, [=](const std::byte* from, std::byte* to) {
        registers<dense::count> v{};
        if (wide) {
          unrolled<Streams>([&](auto k) { v[k] = load(from + offsets[k]); });
        } else {
          registers<Streams> parts;
          load_parts(parts.data(), from, offsets.data(), Streams, length * Size);
          unrolled<Streams>([&](auto k) { v[k] = parts[k]; });
        }
        v = dense::interleaved(v);
        dense::store_first(to, v, length);
      });
    };
    return for_following_rows(t, source, destination, goes_on, move_rows);
  }
  for_each_row(t, source, destination, [=](const std::byte* from, std::byte* to) {
    const auto stream = [&](std::size_t k) { return from + offsets[k]; };
    for_overlapping_steps(length, dense::width, [&](std::size_t i) {
      if constexpr (Streams > dense::width && Streams % dense::width == 0) {
        // a square of streams at a time needs fewer shuffles and fewer registers
        constexpr std::size_t squares = Streams / dense::width;
        unrolled<squares>([&](auto square) {
          registers<dense::width> v;
          unrolled<dense::width>([&](auto k) { v[k] = load(stream(square * dense::width + k) + i * Size); });
          v = shuffle<Size, log2(dense::width)>(v);
          unrolled<dense::width>([&](auto k) {
            std::byte* place = to + i * dense::step + (k * squares + square) * sizeof(register_bytes);
            streamed ? detail::stream(place, v[k]) : store(place, v[k]);
          });
        });
        return;
      }
      registers<dense::count> v{};
      unrolled<Streams>([&](auto k) { v[k] = load(stream(k) + i * Size); });
      v = dense::interleaved(v);
      dense::store_all(to + i * dense::step, v, i + dense::width == length, streamed);
    });
  });
}

/// Tells whether this many separated streams may go past the caches: more would need too many buffers at a time.
constexpr bool may_stream_apart(std::int64_t streams) noexcept { return streams <= 4 || streams == 8; }

/// Tells whether separated streams go past the caches, if the first stream begins at a multiple of 16 bytes.
constexpr bool streams_apart(const tile& t) noexcept {
  constexpr std::int64_t width{sizeof(register_bytes)};
  const std::int64_t row = t.inner.extent * static_cast<std::int64_t>(t.element_size);
  const std::int64_t strides =
      t.outer.destination_stride | t.rows.destination_stride | t.slices.destination_stride;
  return t.streamed && may_stream_apart(t.outer_extent()) && (row | strides) % width == 0;
}

/// Separates one contiguous source: `Streams` contiguous destinations get an element each in turn. The outer axis runs
/// across the streams, the inner axis along them.
template <std::size_t Size, std::size_t Streams>
void move_deinterleaved(const tile& t, const std::byte* source, std::byte* destination) {
  using dense = groups<Size, Streams>;
  const auto length = static_cast<std::size_t>(t.inner.extent);
  const auto offsets = stream_offsets::of_destination(t, Streams).template first<Streams>();
  // a loop for each way to store: a loop that decides for each register takes half as long again
  if (length < dense::width) {
    const auto goes_on = [=](const tile_axis& next) {
      return run_over<Size>(length, next.destination_stride);
    };
    const auto move_rows = [=](const tile& part, const std::byte* first, std::byte* to_first,
                               const tile_axis& next) {
      const bool wide = goes_on(next);
      for_each_row(part, first, to_first, [=](const std::byte* from, std::byte* to) {
        const registers<dense::count> v = dense::separated(dense::load_first(from, length));
        if (wide) {
          unrolled<Streams>([&](auto k) { store(to + offsets[k], v[k]); });
        } else {
          const registers<dense::count> parts = v;
          store_parts(to, offsets.data(), parts.data(), Streams, length * Size);
        }
      });
    };
    return for_following_rows(t, source, destination, goes_on, move_rows);
  }
  const auto move_rows = [&](auto store_at) {
    for_each_row(t, source, destination, [=](const std::byte* from, std::byte* to) {
      for_overlapping_steps(length, dense::width, [&](std::size_t i) {
        registers<dense::count> v = dense::load_all(from + i * dense::step, i + dense::width == length);
        v = dense::separated(v);
        unrolled<Streams>([&](auto k) { store_at(to + offsets[k] + i * Size, v[k]); });
      });
    });
  };
  if constexpr (may_stream_apart(Streams)) {
    if (streams_apart(t) && address_of(destination) % sizeof(register_bytes) == 0) {
      return move_rows([](std::byte* place, register_bytes value) { stream(place, value); });
    }
  }
  move_rows([](std::byte* place, register_bytes value) { store(place, value); });
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
