// SPDX-License-Identifier: BSD-3-Clause
//
// Leaves with registers of 64 bytes: for runs, and for a few streams, since AVX-512 VBMI picks any elements of two
// registers at once. All is compiled for that set function by function, as in compiler.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <reblock/detail/interleave.hpp>
#include <reblock/detail/runs.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::detail {

/// The streams of a tile, for registers of 64 bytes.
struct wide_shape {
  std::int64_t streams;
  std::int64_t row_bytes;
  /// Rows that fill a register of each stream side by side, since they follow each other where they are dense.
  std::int64_t at_once = 1;

  static constexpr wide_shape of(const tile& t, bool separates) noexcept {
    const auto size = static_cast<std::int64_t>(t.element_size);
    const std::int64_t streams = separates ? t.outer_extent() : t.inner_extent();
    const std::int64_t row_bytes = (separates ? t.inner.extent : t.outer.extent) * size;
    wide_shape shape{streams, row_bytes};
    if (!may_be_parallel(streams, size) || (row_bytes != 32 && row_bytes != 16)) return shape;
    const tile_axis next = t.repeated().first;
    const bool is_dense = (separates ? next.source_stride : next.destination_stride) == streams * row_bytes;
    const bool is_square = streams == 9 || row_bytes >= 16 * size;  // else lookups are faster
    if (is_dense && is_square && next.extent >= 64 / row_bytes) shape.at_once = 64 / row_bytes;
    return shape;
  }
  /// Others are looked up faster.
  static constexpr bool may_be_parallel(std::int64_t streams, std::int64_t element_size) noexcept {
    return (streams == 9 && element_size <= 4) || (streams == 16 && element_size <= 2);
  }
};

/// Bytes of the shortest rows of some number of streams from which leaves with registers of 64 bytes are faster. Measured:
/// bench/instruction_sets.md has the figures.
struct wide_limits {
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  std::int64_t than_baseline = never;  ///< than the baseline's leaves
  std::int64_t interleaved = never;    ///< than looking bytes up, where streams become one row
  std::int64_t separated = never;      ///< and where one row becomes streams

  static constexpr wide_limits of(std::int64_t streams, std::int64_t element_size) noexcept {
    switch (streams) {
      case 2: return {40, 64, 40};
      case 3: return {28, 44, 40};
      case 4: return {33, 33, 33};
      case 5:
      case 6: return {16, 33, 28};
      case 7: return {28, 64, 36};
      case 8: return {25, 25, 25};
      case 9: return element_size == 4 ? wide_limits{16, 16, 16} : wide_limits{16, 33, 33};
      case 16: return {element_size == 1 || element_size == 4 ? 28 : 33, 33, 33};
      default: return {};
    }
  }
};

constexpr bool beats_baseline(const wide_shape& shape, std::int64_t element_size) noexcept {
  return shape.at_once > 1 || shape.row_bytes >= wide_limits::of(shape.streams, element_size).than_baseline;
}

constexpr bool beats_lookups(const wide_shape& shape, std::int64_t element_size, bool separates) noexcept {
  const wide_limits limits = wide_limits::of(shape.streams, element_size);
  return shape.at_once > 1 || shape.row_bytes >= (separates ? limits.separated : limits.interleaved);
}

/// Bytes of the shortest run that goes past the caches: the ends of shorter ones take longer than that saves. Measured.
inline constexpr std::size_t least_streamed_run = 512;
/// Bytes of the longest run that is not left to memcpy(), which takes up to a third longer beyond the second-level cache.
inline constexpr std::size_t longest_wide_run = 4096;

#if defined(__GNUC__) && defined(__x86_64__)

using wide_bytes [[gnu::vector_size(64)]] = char;

/// Of two registers the elements at Place::of(0), Place::of(1), ...; those of the second come after those of the first.
template <std::size_t Size, class Place, std::size_t... K>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes pick(
    wide_bytes a, wide_bytes b, std::index_sequence<K...>) noexcept {
  using byte_or_pair = std::conditional_t<Size == 1, char, short>;
  using lane = std::conditional_t<Size == 8, long long, std::conditional_t<Size == 4, int, byte_or_pair>>;
  using lanes [[gnu::vector_size(64)]] = lane;
  return (wide_bytes)__builtin_shufflevector((lanes)a, (lanes)b, static_cast<int>(Place::of(K))...);
}

/// The least factor of a number from 2 on.
constexpr std::size_t least_factor(std::size_t number) noexcept {
  std::size_t factor = 2;
  while (number % factor != 0) ++factor;
  return factor;
}

/// A register of each of so many streams, and as many of the row in which their elements come in turn. There is a step
/// between them for each factor of the number: six streams make three, each of two elements in turn, and these the row.
template <std::size_t Size, std::size_t Streams>
struct wide_groups {
  static constexpr std::size_t width = 64;            ///< bytes of a register
  static constexpr std::size_t count = width / Size;  ///< elements of a register
  using registers = wide_bytes[Streams];

  /// From streams to the row, or the way back.
  template <bool Separates>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static void convert(
      registers& v) noexcept {
    // Into registers, each once: compilers would rather read again from memory than copy one that is used twice.
#pragma GCC unroll 16
    for (std::size_t k = 0; k < Streams; ++k) {
      wide_bytes value;
      asm("" : "=v"(value) : "0"(v[k]));
      v[k] = value;
    }
    convert_factors<Separates, Streams>(v);
  }

 private:
  /// Where an element of register `To` comes from: of registers 0 and 1 if `Next` is 1, else of register `Next` and what has
  /// been picked from those before it. Elements that these do not have come from anywhere.
  template <std::size_t Factor, bool Separates, std::size_t To, std::size_t Next>
  struct place {
    static constexpr std::size_t of(std::size_t k) noexcept {
      const std::size_t all = Separates ? k * Factor + To : To * count + k;
      const std::size_t from = Separates ? all / count : all % Factor;
      const std::size_t element = Separates ? all % count : all / Factor;
      if (Next == 1) return (from == 1 ? count : 0) + element;
      return from == Next ? count + element : k;
    }
  };

  /// Register `To` of those that so many registers make, `step` apart.
  template <std::size_t Factor, bool Separates, std::size_t To, std::size_t Next = 1>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static wide_bytes pick_from(
      const wide_bytes* v, std::size_t step, wide_bytes picked) noexcept {
    picked = pick<Size, place<Factor, Separates, To, Next>>(picked, v[Next * step],
                                                            std::make_index_sequence<count>{});
    if constexpr (Next + 1 < Factor) picked = pick_from<Factor, Separates, To, Next + 1>(v, step, picked);
    return picked;
  }

  template <bool Separates, std::size_t... To>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static void convert_factor(
      registers& v, std::index_sequence<To...>) noexcept {
    constexpr std::size_t factor = sizeof...(To);
    constexpr std::size_t apart = Streams / factor;
    constexpr std::size_t step = Separates ? 1 : apart;
    registers converted;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < apart; ++i) {
      const wide_bytes* const first = v + (Separates ? i * factor : i);
      ((converted[Separates ? To * apart + i : i * factor + To] =
            pick_from<factor, Separates, To>(first, step, *first)),
       ...);
    }
#pragma GCC unroll 16
    for (std::size_t k = 0; k < Streams; ++k) v[k] = converted[k];
  }

  template <bool Separates, std::size_t Left>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static void convert_factors(
      registers& v) noexcept {
    if constexpr (Left > 1) {
      constexpr std::size_t factor = least_factor(Left);
      if constexpr (Separates) convert_factors<Separates, Left / factor>(v);
      convert_factor<Separates>(v, std::make_index_sequence<factor>{});
      if constexpr (!Separates) convert_factors<Separates, Left / factor>(v);
    }
  }
};

/// The streams of a tile that takes an element of each in turn, or `Separates` what has been so.
template <std::size_t Size, std::size_t Streams, bool Separates>
struct wide_streams {
  using groups = wide_groups<Size, Streams>;

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
  static constexpr std::size_t width = base::groups::width;
  static constexpr std::int64_t at_once = 1;

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void move(
      const std::byte* from, std::byte* to, std::int64_t /*step*/) const noexcept {
    const std::size_t last = this->row_bytes - width;
    for (std::size_t i = 0;;) {
      wide_bytes v[Streams];
#pragma GCC unroll 16
      for (std::size_t k = 0; k < Streams; ++k) {
        std::memcpy(&v[k], Separates ? from + i * Streams + k * width : from + this->offsets[k] + i, width);
      }
      base::groups::template convert<Separates>(v);
#pragma GCC unroll 16
      for (std::size_t k = 0; k < Streams; ++k) {
        std::memcpy(Separates ? to + this->offsets[k] + i : to + i * Streams + k * width, &v[k], width);
      }
      if (i == last) break;
      i = i + width < last ? i + width : last;  // the last step goes over what the one before has done
    }
  }
};

/// A bit for each of the first `size` bytes of a register.
constexpr std::uint64_t first_bits(std::size_t size) noexcept {
  return size < 64 ? (std::uint64_t{1} << size) - 1 : ~std::uint64_t{0};
}

/// The bytes that have bits in `mask`; the others are not read, and are 0.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes load_some(
    const std::byte* source, std::uint64_t mask) noexcept {
#if defined(__clang__)
  const auto* from = reinterpret_cast<const wide_bytes*>(source);
#else
  const auto* from = reinterpret_cast<const char*>(source);
#endif
  return __builtin_ia32_loaddquqi512_mask(from, wide_bytes{}, mask);
}

/// Writes the bytes that have bits in `mask`.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void store_some(
    std::byte* destination, wide_bytes value, std::uint64_t mask) noexcept {
#if defined(__clang__)
  auto* to = reinterpret_cast<wide_bytes*>(destination);
#else
  auto* to = reinterpret_cast<char*>(destination);
#endif
  __builtin_ia32_storedquqi512_mask(to, value, mask);
}

/// Rows of fewer bytes than a register has.
template <std::size_t Size, std::size_t Streams, bool Separates>
struct short_wide_row : wide_streams<Size, Streams, Separates> {
  using base = wide_streams<Size, Streams, Separates>;
  static constexpr std::size_t width = base::groups::width;
  static constexpr std::int64_t at_once = 1;

  explicit short_wide_row(const tile& t) noexcept
      : base(t),
        whole(this->row_bytes * Streams / width),
        in_stream(first_bits(this->row_bytes)),
        in_last(first_bits(this->row_bytes * Streams % width)) {}

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void move(
      const std::byte* from, std::byte* to, std::int64_t /*step*/) const noexcept {
    wide_bytes v[Streams] = {};
#pragma GCC unroll 16
    for (std::size_t k = 0; k < Streams; ++k) {
      if (!Separates) {
        v[k] = load_some(from + this->offsets[k], in_stream);
      } else if (k < whole) {
        std::memcpy(&v[k], from + k * width, width);
      } else if (k == whole) {
        v[k] = load_some(from + k * width, in_last);
      }
    }
    base::groups::template convert<Separates>(v);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < Streams; ++k) {
      if (Separates) {
        store_some(to + this->offsets[k], v[k], in_stream);
      } else if (k < whole) {
        std::memcpy(to + k * width, &v[k], width);
      } else if (k == whole) {
        store_some(to + k * width, v[k], in_last);
      }
    }
  }

  std::size_t whole;  ///< registers that the row fills
  std::uint64_t in_stream;
  std::uint64_t in_last;  ///< register of the row
};

/// Rows that fill a register of each stream side by side, and follow each other where they are dense. `step`: from each row
/// of a stream to the next, in bytes.
template <std::size_t Size, std::size_t Streams, bool Separates, std::size_t Rows>
struct parallel_wide_rows : wide_streams<Size, Streams, Separates> {
  using base = wide_streams<Size, Streams, Separates>;
  using base::base;
  static constexpr std::size_t width = base::groups::width;
  static constexpr std::int64_t at_once = Rows;

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void move(
      const std::byte* from, std::byte* to, std::int64_t step) const noexcept {
    wide_bytes v[Streams];
#pragma GCC unroll 16
    for (std::size_t k = 0; k < Streams; ++k) {
      if constexpr (Separates) {
        std::memcpy(&v[k], from + k * width, width);
      } else {
        const std::byte* rows[Rows];
#pragma GCC unroll 4
        for (std::size_t i = 0; i < Rows; ++i) {
          rows[i] = from + this->offsets[k] + static_cast<std::int64_t>(i) * step;
        }
        v[k] = load_parts(rows);
      }
    }
    base::groups::template convert<Separates>(v);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < Streams; ++k) {
      if constexpr (Separates) {
        store_parts<Rows>(to + this->offsets[k], step, v[k]);
      } else {
        std::memcpy(to + k * width, &v[k], width);
      }
    }
  }
};

/// As move_interleaved() and move_deinterleaved().
template <class Row, bool Separates>
[[gnu::target("avx512vl,avx512bw,avx512vbmi")]] void move_wide_streams(const tile& t, const std::byte* source,
                                                                       std::byte* destination) {
  const Row row(t);
  const auto [rows, slices] = t.repeated();
  const std::int64_t step = Separates ? rows.destination_stride : rows.source_stride;
  const std::int64_t last = rows.extent - Row::at_once;
  for (std::int64_t i = 0; i < slices.extent; ++i) {
    for (std::int64_t j = 0;;) {
      row.move(source + i * slices.source_stride + j * rows.source_stride,
               destination + i * slices.destination_stride + j * rows.destination_stride, step);
      if (j == last) break;
      // the last rows go over what those before have done
      j = last - j > Row::at_once ? j + Row::at_once : last;
    }
  }
}

/// Copies past the caches what is less than a line; where bytes are not at multiples of 16, as usual.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void stream_end(
    std::byte* destination, const std::byte* source, std::size_t size) noexcept {
  constexpr std::size_t width = sizeof(register_bytes);
  if ((address_of(destination) | size) % width == 0) {
    for (std::size_t i = 0; i < size; i += width) stream(destination + i, load(source + i));
  } else {
    store_some(destination, load_some(source, first_bits(size)), first_bits(size));
  }
}

/// Copies past the caches, in whole lines of 64 bytes but for the ends. Requires at least one line.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void stream_wide_run(
    std::byte* destination, const std::byte* source, std::size_t size) noexcept {
  constexpr std::size_t line = sizeof(wide_bytes);
  std::size_t i = (0 - address_of(destination)) % line;
  stream_end(destination, source, i);
  for (; i + line <= size; i += line) {
    longs_64 value;
    prefetch(source + i, 2048);
    std::memcpy(&value, source + i, line);
    auto* const to = reinterpret_cast<longs_64*>(destination + i);
#if defined(__clang__)
    __builtin_nontemporal_store(value, to);
#else
    __builtin_ia32_movntdq512(to, value);
#endif
  }
  stream_end(destination + i, source + i, size - i);
}

/// Copies 32 bytes or more.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void copy_wide(
    std::byte* destination, const std::byte* source, std::size_t size) noexcept {
  using half_bytes [[gnu::vector_size(32)]] = char;
  if (size < sizeof(wide_bytes)) {
    half_bytes first;
    half_bytes last;
    std::memcpy(&first, source, sizeof(first));
    std::memcpy(&last, source + size - sizeof(last), sizeof(last));
    std::memcpy(destination, &first, sizeof(first));
    std::memcpy(destination + size - sizeof(last), &last, sizeof(last));
    return;
  }
  wide_bytes value;
  const std::size_t end = size - sizeof(value);
  for (std::size_t i = 0; i < end; i += sizeof(value)) {
    std::memcpy(&value, source + i, sizeof(value));
    std::memcpy(destination + i, &value, sizeof(value));
  }
  std::memcpy(&value, source + end, sizeof(value));
  std::memcpy(destination + end, &value, sizeof(value));
}

/// As move_runs(), or, where a run `IsElement`, as move_strided().
template <bool IsElement>
[[gnu::target("avx512vl,avx512bw,avx512vbmi")]] void move_wide_runs(const tile& t, const std::byte* source,
                                                                    std::byte* destination) {
  constexpr std::size_t least = 32;
  const std::size_t size = (IsElement ? 1 : static_cast<std::size_t>(t.inner.extent)) * t.element_size;
  const bool streams = t.streamed && size >= least_streamed_run;
  // The longer axis in the inner loop, since a loop over two runs costs as much as these; but lines that go past the caches
  // are written in order.
  const bool swaps = IsElement && !streams && t.inner.extent < t.outer.extent;
  const auto [count, step_from, step_to] = IsElement && !swaps ? t.inner : t.outer;
  const tile_axis outer = swaps ? t.inner : IsElement ? t.outer : tile_axis{};
  for (std::int64_t i = 0; i < t.slices.extent; ++i) {
    for (std::int64_t j = 0; j < t.rows.extent; ++j) {
      for (std::int64_t k = 0; k < outer.extent; ++k) {
        const std::byte* const from =
            source + i * t.slices.source_stride + j * t.rows.source_stride + k * outer.source_stride;
        std::byte* const to = destination + i * t.slices.destination_stride + j * t.rows.destination_stride +
                              k * outer.destination_stride;
        if (streams) {
          for (std::int64_t l = 0; l < count; ++l) {
            stream_wide_run(to + l * step_to, from + l * step_from, size);
          }
        } else if (size >= least && size <= longest_wide_run) {
          for (std::int64_t l = 0; l < count; ++l) copy_wide(to + l * step_to, from + l * step_from, size);
        } else {
          for (std::int64_t l = 0; l < count; ++l) copy_run(to + l * step_to, from + l * step_from, size);
        }
      }
    }
  }
}

/// As move_masked().
[[gnu::target("avx512vl,avx512bw,avx512vbmi")]] inline void move_wide_masked(std::byte* destination,
                                                                             const std::byte* source,
                                                                             const std::byte* mask,
                                                                             std::size_t size) noexcept {
  constexpr std::size_t width = sizeof(wide_bytes);
  if (size < width) {
    move_masked(destination, source, mask, size);
    return;
  }
  const std::size_t last = size - width;
  for (std::size_t i = 0;;) {
    wide_bytes value;
    wide_bytes bits;
    std::memcpy(&value, source + i, width);
    std::memcpy(&bits, mask + i, width);
    value &= bits;
    std::memcpy(destination + i, &value, width);
    if (i == last) return;
    i = i + width < last ? i + width : last;
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
  if constexpr (wide_shape::may_be_parallel(Streams, Size)) {
    if (shape.at_once == 2) return choose_wide_leaf<parallel_wide_rows, Size, Streams, 2>(separates);
    if (shape.at_once == 4) return choose_wide_leaf<parallel_wide_rows, Size, Streams, 4>(separates);
  }
  return shape.row_bytes < 64 ? choose_wide_leaf<short_wide_row, Size, Streams>(separates)
                              : choose_wide_leaf<long_wide_row, Size, Streams>(separates);
}

/// The leaf that interleaves, or separates, so many streams by registers of 64 bytes where that is faster than the
/// baseline's, or null.
template <std::size_t Size>
leaf_function choose_wide_leaf(const tile& t, bool separates) noexcept {
  if constexpr (Size <= 8) {
    const wide_shape shape = wide_shape::of(t, separates);
    if (!beats_baseline(shape, Size)) return nullptr;
    const std::int64_t streams = shape.streams;
    // few shuffles of the baseline suffice for large elements
    const bool suffices = Size == 8
                              ? streams == 8 || (streams == 4 && separates)
                              : Size == 4 && separates && (streams == 4 || streams == 7 || streams == 8);
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

template <bool IsElement>
void move_wide_runs(const tile&, const std::byte*, std::byte*) {}

inline void move_wide_masked(std::byte*, const std::byte*, const std::byte*, std::size_t) noexcept {}

template <std::size_t Size>
leaf_function choose_wide_leaf(const tile&, bool) noexcept {
  return nullptr;
}

#endif

}  // namespace reblock::detail
