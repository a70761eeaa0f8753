// SPDX-License-Identifier: BSD-3-Clause
//
// The leaves of the traversal: the innermost axes of a plan, up to four, moved by one call. They know
// the size of an element, never its type, and read and write nothing but elements, at any alignment.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <reblock/detail/interleave.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/runs.hpp>
#include <reblock/detail/stream_runs.hpp>
#include <reblock/detail/tile.hpp>
#include <reblock/detail/wide_runs.hpp>
#include <reblock/detail/wide_streams.hpp>

namespace reblock::detail {

/// An element size that is known at compile time, or 0 where it is known at run time only.
template <std::size_t Size>
using fixed_size = std::integral_constant<std::size_t, Size>;

template <std::size_t Size>
void move_element(std::byte* destination, const std::byte* source, std::size_t size) {
  if constexpr (Size != 0) {
    std::memcpy(destination, source, Size);
  } else {
    copy_run(destination, source, size);
  }
}

/// Both sides contiguous along the inner axis: one copy for each index of the others.
inline void move_runs(const tile& t, const std::byte* source, std::byte* destination) {
  const tile_axis outer = t.outer;
  const auto bytes = static_cast<std::size_t>(t.inner.extent) * t.element_size;
  for_each_row(t, source, destination, [=](const std::byte* from, std::byte* to) {
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      copy_run(to + i * outer.destination_stride, from + i * outer.source_stride, bytes);
    }
  });
}

/// Any strides on either side.
template <std::size_t Size>
void move_strided(const tile& t, const std::byte* source, std::byte* destination) {
  for_each_row(t, source, destination, [t](const std::byte* from, std::byte* to) {
    for (std::int64_t i = 0; i < t.outer.extent; ++i) {
      const std::byte* const first = from + i * t.outer.source_stride;
      std::byte* const to_first = to + i * t.outer.destination_stride;
      for (std::int64_t j = 0; j < t.inner.extent; ++j) {
        move_element<Size>(to_first + j * t.inner.destination_stride, first + j * t.inner.source_stride,
                           t.element_size);
      }
    }
  });
}

/// Whether a register has several elements of this size, so that squares of them can be transposed.
constexpr bool has_squares(std::int64_t element_size) noexcept {
  return element_size > 0 && element_size < std::int64_t{sizeof(register_bytes)} &&
         std::has_single_bit(static_cast<std::uint64_t>(element_size));
}

/// How much of a register is read and written at each stream of a square, in elements.
struct square_widths {
  std::size_t read;
  std::size_t written;
};

/// One square of a transposition, of fewer streams on one side or both than a register has elements. Rows `from`
/// bytes apart become rows `to` bytes apart.
template <std::size_t Size, class Finish>
[[gnu::always_inline]] inline void transpose_part(std::size_t outer_count, std::size_t inner_count,
                                                  square_widths widths, const std::byte* source,
                                                  const std::int64_t* from, std::byte* destination,
                                                  const std::int64_t* to) {
  constexpr std::size_t side = sizeof(register_bytes) / Size;
  registers<side> v{};
  unrolled<side>([&](auto k) {
    if (k < inner_count) {
      v[k] = widths.read == side ? load(source + from[k]) : load_part(source + from[k], widths.read * Size);
    }
  });
  v = finished<Finish>(shuffle<Size, log2(side)>(v));
  unrolled<side>([&](auto k) {
    if (k < outer_count) {
      widths.written == side ? store(destination + to[k], v[k])
                             : store_part(destination + to[k], v[k], widths.written * Size);
    }
  });
}

/// Squares of as many streams of either side as a register has elements, one after the other: `count` indices of an
/// axis along which the first stream is `source_step` and `destination_step` bytes further each.
template <std::size_t Size, class Finish>
[[gnu::always_inline]] inline void transpose_squares(std::size_t count, const std::byte* source,
                                                     std::int64_t source_step, const std::int64_t* from,
                                                     std::byte* destination, std::int64_t destination_step,
                                                     const std::int64_t* to) {
  constexpr std::size_t side = sizeof(register_bytes) / Size;
  // copies, which no store to the destination can change
  std::array<std::int64_t, side> sources;
  std::array<std::int64_t, side> destinations;
  std::copy_n(from, side, sources.begin());
  std::copy_n(to, side, destinations.begin());
  for_overlapping_steps(count, side, [=](std::size_t i) {
    const std::byte* const first = source + static_cast<std::int64_t>(i) * source_step;
    std::byte* const to_first = destination + static_cast<std::int64_t>(i) * destination_step;
    registers<side> v;
    unrolled<side>([&](auto k) { v[k] = load(first + sources[k]); });
    v = finished<Finish>(shuffle<Size, log2(side)>(v));
    unrolled<side>([&](auto k) { store(to_first + destinations[k], v[k]); });
  });
}

/// The source contiguous along the outer axis, the destination along the inner one, square by square.
template <std::size_t Size, class Finish = as_is>
  requires(has_squares(Size))
void move_transposed(const tile& t, const std::byte* source, std::byte* destination) {
  constexpr std::size_t side = sizeof(register_bytes) / Size;
  const auto outer = static_cast<std::size_t>(t.outer_extent());
  const auto inner = static_cast<std::size_t>(t.inner_extent());
  const std::size_t outer_side = std::min(side, outer);
  const std::size_t inner_side = std::min(side, inner);
  const auto sources = stream_offsets::of_source(t, inner_side);
  const auto destinations = stream_offsets::of_destination(t, outer_side);
  if (outer_side == side && inner_side == side) {
    // Streams at uneven distances are gone through in the outer loop, which knows where they are; so that what is
    // written stays in the first-level cache meanwhile, it has some of the other axis at a time.
    if (t.joined == tile::axis::inner) {
      constexpr std::size_t most = 4096;  // bytes
      const std::size_t at_once = std::max(side, most / (inner * Size) / side * side);
      const std::int64_t step = t.outer.destination_stride;
      return for_each_row(t, source, destination, [&](const std::byte* from, std::byte* to) {
        for (std::size_t i = 0; i < outer;) {
          const std::size_t count = outer - i < at_once + side ? outer - i : at_once;
          for_overlapping_steps(inner, side, [&](std::size_t j) {
            transpose_squares<Size, Finish>(count, from + i * Size, Size, sources.from(j),
                                            to + static_cast<std::int64_t>(i) * step + j * Size, step,
                                            destinations.from(0));
          });
          i += count;
        }
      });
    }
    return for_each_row(t, source, destination, [&](const std::byte* from, std::byte* to) {
      for_overlapping_steps(outer, side, [&](std::size_t i) {
        transpose_squares<Size, Finish>(inner, from + i * Size, t.inner.source_stride, sources.from(0),
                                        to + destinations.at(i), Size, destinations.from(i));
      });
    });
  }
  const auto read_wide = [=](const tile_axis& next) { return run_over<Size>(outer, next.source_stride); };
  const auto write_wide = [=](const tile_axis& next) {
    return run_over<Size>(inner, next.destination_stride);
  };
  const auto goes_on = [=](const tile_axis& next) { return read_wide(next) || write_wide(next); };
  for_following_rows(
      t, source, destination, goes_on,
      [&](const tile& some, const std::byte* first, std::byte* to_first, const tile_axis& next) {
        const square_widths widths{read_wide(next) ? side : outer_side, write_wide(next) ? side : inner_side};
        for_each_row(some, first, to_first, [&](const std::byte* from, std::byte* to) {
          for_overlapping_steps(outer, outer_side, [&](std::size_t i) {
            for_overlapping_steps(inner, inner_side, [&](std::size_t j) {
              transpose_part<Size, Finish>(outer_side, inner_side, widths, from + i * Size + sources.at(j),
                                           sources.from(j), to + j * Size + destinations.at(i),
                                           destinations.from(i));
            });
          });
        });
      });
}

/// Calls `choose` with the element size as a compile-time constant where it has leaves of its own.
template <class Choose>
leaf_function with_fixed_size(std::size_t element_size, Choose&& choose) {
  switch (element_size) {
    case 1: return choose(fixed_size<1>{});
    case 2: return choose(fixed_size<2>{});
    case 4: return choose(fixed_size<4>{});
    case 8: return choose(fixed_size<8>{});
    case 16: return choose(fixed_size<16>{});
    case 32: return choose(fixed_size<32>{});
    case 48: return choose(fixed_size<48>{});
    default: return choose(fixed_size<0>{});
  }
}

/// Whether the inner axis runs across contiguous streams of the source, and the destination is one row.
constexpr bool interleaves(const tile& t) noexcept {
  const auto size = static_cast<std::int64_t>(t.element_size);
  return t.joined != tile::axis::outer && t.outer.source_stride == size &&
         t.inner.destination_stride == size && t.outer.destination_stride == t.inner_extent() * size;
}

/// Whether the outer axis runs across contiguous streams of the destination, and the source is one row.
constexpr bool separates(const tile& t) noexcept {
  const auto size = static_cast<std::int64_t>(t.element_size);
  return t.joined != tile::axis::inner && t.outer.source_stride == size &&
         t.inner.destination_stride == size && t.inner.source_stride == t.outer_extent() * size;
}

/// The leaf that interleaves as many streams as the tile has, or null.
template <std::size_t Size, class Finish>
leaf_function choose_interleaving_leaf(const tile& t, bool is_wide) {
  if constexpr (Finish::element_size == 0) {
    const leaf_function wide = choose_wide_leaf<Size>(t, false);
    if (is_wide && !t.streamed && wide != nullptr) return wide;
  }
  switch (t.inner_extent()) {
    case 2: return move_interleaved<Size, 2, Finish>;
    case 3: return move_interleaved<Size, 3, Finish>;
    case 4: return move_interleaved<Size, 4, Finish>;
    case 8: return move_interleaved<Size, 8, Finish>;
    case 16:  // squares read wider elements better
      if constexpr (Size <= 2) return move_interleaved<Size, 16, Finish>;
      return nullptr;
    default: return nullptr;
  }
}

/// The leaf that separates as many streams as the tile has, or null.
template <std::size_t Size>
leaf_function choose_deinterleaving_leaf(const tile& t, bool is_wide) {
  const leaf_function wide = choose_wide_leaf<Size>(t, true);
  if (is_wide && !streams_apart(t) && wide != nullptr) return wide;
  switch (t.outer_extent()) {
    case 2: return move_deinterleaved<Size, 2>;
    case 3: return move_deinterleaved<Size, 3>;
    case 4: return move_deinterleaved<Size, 4>;
    case 8: return move_deinterleaved<Size, 8>;
    case 16:  // squares separate short rows of words better
      return Size == 4 && t.inner_extent() < 32 ? nullptr : leaf_function{move_deinterleaved<Size, 16>};
    default: return nullptr;
  }
}

/// The leaf for a tile whose elements `Finish` is to see, or null where only as_is has one. It stays right for a tile of the
/// same strides with other rows and slices, and with narrower streams only where `streams_are_fixed` is false.
/// `lookup_width`: the processor's, as detect_lookup_width() has it. A template, so that leaves are compiled where they are
/// used and not where this header is included.
template <class Finish = as_is>
leaf_function choose_leaf(const tile& t, bool streams_are_fixed, std::size_t lookup_width) {
  constexpr bool moves = Finish::element_size == 0;
  constexpr std::size_t width{sizeof(register_bytes)};
  const auto size = static_cast<std::int64_t>(t.element_size);
  const auto [outer, inner] = std::pair(t.outer, t.inner);
  const bool is_wide = lookup_width == 64;
  if (inner.source_stride == size && inner.destination_stride == size) {
    return !moves ? nullptr : is_wide ? move_wide_runs<false> : move_runs;
  }
  const bool are_long =
      is_wide && t.element_size >= least_streamed_run;  // wide registers stream these, wherever they lie
  if (moves && !are_long && streams_runs(t)) return stream_runs;
  if (moves && is_wide && size > 32 && size != 48) return move_wide_runs<true>;  // 48: three registers do
  const bool are_streams = outer.source_stride == size && inner.destination_stride == size;
  return with_fixed_size(t.element_size, [&]<std::size_t Size>(fixed_size<Size>) -> leaf_function {
    if constexpr (Size != 0 && Size <= width && (moves || Size == Finish::element_size)) {
      if (streams_are_fixed && interleaves(t)) {
        if (const leaf_function leaf = choose_interleaving_leaf<Size, Finish>(t, is_wide)) return leaf;
      }
      if constexpr (moves) {
        if (streams_are_fixed && separates(t)) {
          if (const leaf_function leaf = choose_deinterleaving_leaf<Size>(t, is_wide)) return leaf;
        }
      }
      if constexpr (has_squares(Size)) {
        if (are_streams) return move_transposed<Size, Finish>;
      }
    }
    return moves ? move_strided<Size> : nullptr;
  });
}

/// How single terms become sums.
struct settling {
  /// A leaf that makes sums of the terms that a tile of the destination holds.
  leaf_function settle = nullptr;
  /// Chooses a leaf that does so while it moves them; null where there is none.
  leaf_function (*choose_leaf)(const tile&, bool streams_are_fixed, std::size_t lookup_width) = nullptr;
};

/// Whether looking bytes up moves a tile faster than its leaf does. The limits are measured: below them
/// leaves do little else than begin and end rows.
inline bool is_slow(const tile& t, std::size_t lookup_width) noexcept {
  if (streams_runs(t)) return false;
  const auto [outer, inner] = std::pair(t.outer, t.inner);
  const auto size = static_cast<std::int64_t>(t.element_size);
  const auto is_short_run = [](std::int64_t bytes) { return bytes < 32 && bytes != 16; };
  if (inner.source_stride == size && inner.destination_stride == size) {
    return is_short_run(inner.extent * size);
  }
  if (!has_squares(size)) return is_short_run(size);
  if (outer.source_stride != size || inner.destination_stride != size) return true;
  const bool is_wide = lookup_width == 64;
  const auto has_short_rows = [=](std::int64_t streams, std::int64_t row_bytes) {
    if (is_wide && row_bytes >= 64) return false;
    if (is_wide && streams <= 3) return true;
    if (is_wide && (t.joined != tile::axis::neither || streams == 4) && row_bytes <= 32) return true;
    if (streams == 3) return size <= 2 && row_bytes < 32;
    return row_bytes < 16 || streams * row_bytes < 56;
  };
  const auto has_leaf = [](std::int64_t streams) { return streams <= 4 || streams == 8; };
  if (interleaves(t)) {
    if (is_wide && beats_lookups(wide_shape::of(t, false), false)) return false;
    if (has_leaf(t.inner_extent())) return has_short_rows(t.inner_extent(), outer.extent * size);
  }
  if (separates(t)) {
    if (is_wide && beats_lookups(wide_shape::of(t, true), true)) return false;
    if (has_leaf(t.outer_extent())) return has_short_rows(t.outer_extent(), inner.extent * size);
  }
  const auto [shorter, longer] = std::minmax({t.outer_extent(), t.inner_extent()});
  return shorter * size < 16 || (is_wide && shorter <= 9 && longer * size <= 32);
}

}  // namespace reblock::detail
