// SPDX-License-Identifier: BSD-3-Clause
//
// Leaves for a few streams with registers of 64 bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/tile.hpp>
#include <reblock/detail/wide_registers.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The streams of a tile, for registers of 64 bytes.
struct wide_shape {
  std::int64_t streams;
  std::int64_t row_bytes;
  bool side_by_side;  ///< each row of a stream ends where that of the next stream begins
  std::int64_t rows;  ///< of each stream

  static constexpr wide_shape of(const tile& t, bool separates) noexcept {
    const auto size = static_cast<std::int64_t>(t.element_size);
    const std::int64_t row_bytes = (separates ? t.inner.extent : t.outer.extent) * size;
    const std::int64_t stride = separates ? t.outer.destination_stride : t.inner.source_stride;
    const auto [rows, slices] = t.repeated();
    return {separates ? t.outer_extent() : t.inner_extent(), row_bytes, stride == row_bytes,
            rows.extent * slices.extent};
  }
};

/// Bytes of the shortest rows of some number of streams from which leaves with registers of 64 bytes are faster. Measured:
/// bench/instruction_sets.md has the figures.
struct wide_limits {
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  std::int64_t than_baseline = never;  ///< than the baseline's leaves
  std::int64_t interleaved = never;    ///< than looking bytes up, where streams become one row
  std::int64_t separated = never;      ///< and where one row becomes streams

  static constexpr wide_limits of(const wide_shape& shape) noexcept {
    if (shape.row_bytes <= 32) return of_short_rows(shape);
    switch (shape.streams) {
      case 2: return {40, 64, 40};
      case 3: return {33, 44, 40};
      case 7: return {33, 64, 36};
      case 4:
      case 5:
      case 6:
      case 8:
      case 9:
      case 16: return {33, 33, 33};
      default: return {};
    }
  }

 private:
  /// Of rows of which several fit into a register. What is looked up has windows for several streams if these lie side by
  /// side, and if their rows fill them.
  static constexpr wide_limits of_short_rows(const wide_shape& shape) noexcept {
    constexpr std::int64_t any = 8;            // shorter ones have not been measured
    constexpr std::int64_t least_tile = 1800;  // bytes; smaller ones take less than a call of the leaf
    if (shape.rows * shape.streams * shape.row_bytes < least_tile) return {any};
    const bool apart = !shape.side_by_side;
    const bool fills = shape.row_bytes == 16;
    switch (shape.streams) {
      case 2: return apart ? wide_limits{any, never, fills ? never : 12} : wide_limits{any};
      case 3: return apart ? wide_limits{any, 11, fills ? never : 11} : wide_limits{any};
      case 4: return apart ? wide_limits{any, 25, 9} : wide_limits{any};
      case 5:
      case 6:
      case 7: return apart ? wide_limits{any, 8, 8} : wide_limits{any, never, 16};
      case 8: return apart ? wide_limits{any, 13, 10} : wide_limits{any, never, 16};
      case 9: return apart ? wide_limits{any, 8, 10} : wide_limits{any, 28, 16};
      case 16: return apart ? wide_limits{any, 15, 13} : wide_limits{any, 28, 16};
      default: return {};
    }
  }
};

constexpr bool beats_baseline(const wide_shape& shape) noexcept {
  return shape.row_bytes >= wide_limits::of(shape).than_baseline;
}

constexpr bool beats_lookups(const wide_shape& shape, bool separates) noexcept {
  const wide_limits limits = wide_limits::of(shape);
  return shape.row_bytes >= (separates ? limits.separated : limits.interleaved);
}

#if defined(__GNUC__) && defined(__x86_64__)

/// Registers of which so many `Slots` have a stream each, and as many of the row in which the elements of the streams come
/// in turn.
template <std::size_t Size, std::size_t Streams, std::size_t Slots>
struct wide_step {
  static constexpr std::size_t count = (Streams + Slots - 1) / Slots;
  using registers = wide_bytes[count];

  /// From streams to the row, or the way back: all bytes of a register are picked at once from every pair of the others.
  template <bool Separates>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static void convert(
      registers& v) noexcept {
    convert_each<Separates>(v, std::make_index_sequence<count>{});
  }

 private:
  static constexpr std::size_t elements = sizeof(wide_bytes) / Size;  ///< of a register

  /// Which element of all registers becomes element k. Slots, and a last register, may have some that belong to no
  /// row: these become anything.
  template <bool Separates>
  static constexpr std::size_t from(std::size_t k) noexcept {
    constexpr std::size_t in_slot = elements / Slots;
    return Separates ? k % in_slot * Streams + k / in_slot : k % Streams * in_slot + k / Streams;
  }
  /// Of two registers.
  template <bool Separates, std::size_t To>
  struct place {
    static constexpr std::size_t of(std::size_t k) noexcept {
      return from<Separates>(To * elements + k) % (2 * elements);
    }
  };
  /// What has been picked from the registers before `Next`, or else from those behind them, or from the last one itself.
  template <bool Separates, std::size_t To, std::size_t Next>
  struct choice {
    static constexpr std::size_t of(std::size_t k) noexcept {
      const std::size_t all = from<Separates>(To * elements + k);
      if (all < Next * elements) return k;
      return elements + (Next + 1 == count ? all % elements : k);
    }
  };

  template <bool Separates, std::size_t To, std::size_t First = 0>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static wide_bytes pick_from(
      const registers& v) noexcept {
    if constexpr (First > 0 && First + 1 == count) {
      return v[First];
    } else {
      constexpr auto all = std::make_index_sequence<elements>{};
      constexpr std::size_t next = First + 2;
      const wide_bytes picked =
          pick<Size, place<Separates, To>>(v[First], v[std::min(First + 1, count - 1)], all);
      if constexpr (next < count) {
        return pick<Size, choice<Separates, To, next>>(picked, pick_from<Separates, To, next>(v), all);
      } else {
        return picked;
      }
    }
  }

  template <bool Separates, std::size_t... To>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static void convert_each(
      registers& v, std::index_sequence<To...>) noexcept {
    const registers converted = {pick_from<Separates, To>(v)...};
#pragma GCC unroll 8
    for (std::size_t k = 0; k < count; ++k) v[k] = converted[k];
  }
};

/// The least factor of a number from 2 on.
constexpr std::size_t least_factor(std::size_t number) noexcept {
  std::size_t factor = 2;
  while (number % factor != 0) ++factor;
  return factor;
}

/// The same, in several steps where that takes less: with a register for each stream, one for each factor of their number.
/// Six streams make three, each of two elements in turn, and these the row.
template <std::size_t Size, std::size_t Streams, std::size_t Slots>
struct wide_conversion {
  static constexpr std::size_t count = wide_step<Size, Streams, Slots>::count;
  using registers = wide_bytes[count];

  template <bool Separates>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static void convert(
      registers& v) noexcept {
    keep_in_registers(v);
    if constexpr (Slots == 1) {
      convert_factors<Separates, Streams>(v);
    } else {
      wide_step<Size, Streams, Slots>::template convert<Separates>(v);
    }
  }

 private:
  template <bool Separates, std::size_t Left>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static void convert_factors(
      registers& v) noexcept {
    if constexpr (Left > 1) {
      constexpr std::size_t factor = least_factor(Left);
      if constexpr (Separates) convert_factors<Separates, Left / factor>(v);
      convert_factor<Separates, factor>(v);
      if constexpr (!Separates) convert_factors<Separates, Left / factor>(v);
    }
  }

  template <bool Separates, std::size_t Factor>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static void convert_factor(
      registers& v) noexcept {
    constexpr std::size_t apart = Streams / Factor;
    registers converted;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < apart; ++i) {
      wide_bytes some[Factor];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < Factor; ++k) some[k] = v[Separates ? i * Factor + k : k * apart + i];
      wide_step<Size, Factor, 1>::template convert<Separates>(some);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < Factor; ++k)
        converted[Separates ? k * apart + i : i * Factor + k] = some[k];
    }
#pragma GCC unroll 16
    for (std::size_t k = 0; k < Streams; ++k) v[k] = converted[k];
  }
};

/// The streams of a tile that takes an element of each in turn, or `Separates` what has been so.
template <std::size_t Size, std::size_t Streams, bool Separates>
struct wide_streams {
  static constexpr std::size_t width = sizeof(wide_bytes);

  explicit wide_streams(const tile& t) noexcept
      : offsets(
            (Separates ? stream_offsets::of_destination(t, Streams) : stream_offsets::of_source(t, Streams))
                .template first<Streams>()),
        row_bytes(static_cast<std::size_t>((Separates ? t.inner : t.outer).extent) * Size) {}

  std::array<std::int64_t, Streams> offsets;
  std::size_t row_bytes;  ///< of each stream
};

/// Rows of at least as many bytes as a register has.
template <std::size_t Size, std::size_t Streams, bool Separates>
struct long_wide_row : wide_streams<Size, Streams, Separates> {
  using base = wide_streams<Size, Streams, Separates>;
  using base::base;
  using base::width;

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void move(
      const std::byte* from, std::byte* to) const noexcept {
    const std::size_t last = this->row_bytes - width;
    for (std::size_t i = 0;;) {
      wide_bytes v[Streams];
#pragma GCC unroll 16
      for (std::size_t k = 0; k < Streams; ++k) {
        std::memcpy(&v[k], Separates ? from + i * Streams + k * width : from + this->offsets[k] + i, width);
      }
      wide_conversion<Size, Streams, 1>::template convert<Separates>(v);
#pragma GCC unroll 16
      for (std::size_t k = 0; k < Streams; ++k) {
        std::memcpy(Separates ? to + this->offsets[k] + i : to + i * Streams + k * width, &v[k], width);
      }
      if (i == last) break;
      i = i + width < last ? i + width : last;  // the last step goes over what the one before has done
    }
  }
};

/// Rows of fewer bytes than a register has, of each stream no more than a slot has.
template <std::size_t Size, std::size_t Streams, bool Separates, std::size_t Slots>
struct short_wide_row : wide_streams<Size, Streams, Separates> {
  using base = wide_streams<Size, Streams, Separates>;
  using base::width;
  using slots = wide_conversion<Size, Streams, Slots>;

  explicit short_wide_row(const tile& t) noexcept
      : base(t),
        whole(this->row_bytes * Streams / width),
        in_stream(first_bits(this->row_bytes)),
        in_last(first_bits(this->row_bytes * Streams % width)) {}

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void move(
      const std::byte* from, std::byte* to) const noexcept {
    constexpr auto all = std::make_index_sequence<slots::count>{};
    wide_bytes v[slots::count] = {};
    if constexpr (Separates) {
#pragma GCC unroll 16
      for (std::size_t k = 0; k < slots::count; ++k) {
        if (k < whole) {
          std::memcpy(&v[k], from + k * width, width);
        } else if (k == whole) {
          v[k] = load_some(from + k * width, in_last);
        }
      }
      slots::template convert<true>(v);
      store_streams(to, v, all);
    } else {
      load_streams(from, v, all);
      slots::template convert<false>(v);
#pragma GCC unroll 16
      for (std::size_t k = 0; k < slots::count; ++k) {
        if (k < whole) {
          std::memcpy(to + k * width, &v[k], width);
        } else if (k == whole) {
          store_some(to + k * width, v[k], in_last);
        }
      }
    }
  }

 private:
  /// Of those from `First` on that share a register.
  template <std::size_t First>
  using together = std::make_index_sequence<std::min(Slots, Streams - First)>;

  template <std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void load_streams(
      const std::byte* from, wide_bytes (&v)[slots::count], std::index_sequence<K...>) const noexcept {
    ((v[K] = load_register<K * Slots>(from, together<K * Slots>{})), ...);
  }
  template <std::size_t First, std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] wide_bytes load_register(
      const std::byte* from, std::index_sequence<K...>) const noexcept {
    const std::byte* const places[] = {from + this->offsets[First + K]...};
    return load_slots<Slots>(places, in_stream);
  }

  template <std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void store_streams(
      std::byte* to, const wide_bytes (&v)[slots::count], std::index_sequence<K...>) const noexcept {
    (store_register<K * Slots>(to, v[K], together<K * Slots>{}), ...);
  }
  template <std::size_t First, std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void store_register(
      std::byte* to, wide_bytes value, std::index_sequence<K...>) const noexcept {
    std::byte* const places[] = {to + this->offsets[First + K]...};
    store_slots<Slots>(places, value, in_stream);
  }

  std::size_t whole;  ///< registers that the row fills
  std::uint64_t in_stream;
  std::uint64_t in_last;  ///< register of the row
};

/// As move_interleaved() and move_deinterleaved().
template <class Row, bool Separates>
[[gnu::target("avx512vl,avx512bw,avx512vbmi")]] void move_wide_streams(const tile& t, const std::byte* source,
                                                                       std::byte* destination) {
  const Row row(t);
  const auto [rows, slices] = t.repeated();
  for (std::int64_t i = 0; i < slices.extent; ++i) {
    for (std::int64_t j = 0;; ++j) {
      row.move(source + i * slices.source_stride + j * rows.source_stride,
               destination + i * slices.destination_stride + j * rows.destination_stride);
      if (j + 1 == rows.extent) break;
    }
  }
}

template <template <std::size_t, std::size_t, bool, std::size_t...> class Row, std::size_t Size,
          std::size_t Streams, std::size_t... Rows>
leaf_function choose_wide_leaf(bool separates) noexcept {
  return separates ? move_wide_streams<Row<Size, Streams, true, Rows...>, true>
                   : move_wide_streams<Row<Size, Streams, false, Rows...>, false>;
}

template <std::size_t Size, std::size_t Streams>
leaf_function choose_wide_leaf(const wide_shape& shape, bool separates) noexcept {
  if (shape.row_bytes <= 16) return choose_wide_leaf<short_wide_row, Size, Streams, 4>(separates);
  if (shape.row_bytes <= 32) return choose_wide_leaf<short_wide_row, Size, Streams, 2>(separates);
  if (shape.row_bytes < 64) return choose_wide_leaf<short_wide_row, Size, Streams, 1>(separates);
  return choose_wide_leaf<long_wide_row, Size, Streams>(separates);
}

/// The leaf that interleaves, or separates, so many streams by registers of 64 bytes where that is faster than the
/// baseline's, or null.
template <std::size_t Size>
leaf_function choose_wide_leaf(const tile& t, bool separates) noexcept {
  if constexpr (Size <= 8) {
    const wide_shape shape = wide_shape::of(t, separates);
    if (!beats_baseline(shape)) return nullptr;
    const std::int64_t streams = shape.streams;
    // few shuffles of the baseline suffice for large elements
    const bool suffices = streams == 8 && (Size == 8 || (Size == 4 && separates));
    if (suffices && shape.row_bytes >= 64) return nullptr;
    switch (streams) {
      case 2: return choose_wide_leaf<Size, 2>(shape, separates);
      case 3: return choose_wide_leaf<Size, 3>(shape, separates);
      case 4: return choose_wide_leaf<Size, 4>(shape, separates);
      case 5: return choose_wide_leaf<Size, 5>(shape, separates);
      case 6: return choose_wide_leaf<Size, 6>(shape, separates);
      case 7: return choose_wide_leaf<Size, 7>(shape, separates);
      case 8: return choose_wide_leaf<Size, 8>(shape, separates);
      case 9: return choose_wide_leaf<Size, 9>(shape, separates);
      case 16: return choose_wide_leaf<Size, 16>(shape, separates);
      default: break;
    }
  }
  return nullptr;
}

#else  // the registers have 16 bytes: not called, but where there may be no leaf

template <std::size_t Size>
leaf_function choose_wide_leaf(const tile&, bool) noexcept {
  return nullptr;
}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
