// SPDX-License-Identifier: BSD-3-Clause
//
// The arithmetic of fold, the only operator that adds: how the terms of each element type are summed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <reblock/data_type.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/leaves.hpp>

namespace reblock::detail {

/// How elements of type T add up: in which type, and how a term is added. Only types that have a sum
/// match. Integers wrap, which is defined for unsigned ones.
template <class T>
struct sum_traits;

template <class T>
  requires std::floating_point<T>
struct sum_traits<T> {
  using accumulator = T;
  static accumulator add(accumulator sum, T term) noexcept { return sum + term; }
};

/// std::complex, told by what it is: to include <complex> takes as long as to include all of reblock.
template <class T>
concept complex_number = std::floating_point<typename T::value_type> && requires(const T number) {
  { number.real() } -> std::same_as<typename T::value_type>;
  { number.imag() } -> std::same_as<typename T::value_type>;
} && sizeof(T) == 2 * sizeof(typename T::value_type);

/// Its parts add up; see parts_of.
template <complex_number T>
struct sum_traits<T> {
  using accumulator = T;
};

template <class T>
  requires std::integral<T>
struct sum_traits<T> {
  using accumulator = std::make_unsigned_t<T>;
  static accumulator add(accumulator sum, T term) noexcept {
    return static_cast<accumulator>(sum + static_cast<accumulator>(term));
  }
};

/// Logical or. The accumulator is a byte, and so is a bool in memory: any byte but 0 is true.
template <>
struct sum_traits<bool> {
  using accumulator = unsigned char;
  static_assert(sizeof(bool) == sizeof(accumulator));
  static accumulator add(accumulator sum, accumulator term) noexcept {
    return (sum | term) != 0 ? accumulator{1} : accumulator{0};
  }
};

template <half T>
struct sum_traits<T> {
  using accumulator = float;
  static accumulator add(accumulator sum, T term) noexcept { return sum + to_float(term); }
};

/// Complex numbers add up part by part.
template <class T>
struct parts_of {
  using type = T;
  static constexpr std::int64_t count = 1;
};
template <complex_number T>
struct parts_of<T> {
  using type = typename T::value_type;
  static constexpr std::int64_t count = 2;
};

/// Registers of terms and of sums hold as many of them, so that lanes add up as they are.
template <class T>
concept adds_in_lanes =
    std::same_as<T, bool> || std::same_as<T, float> || std::same_as<T, double> || std::unsigned_integral<T>;

/// Adds `Count` contiguous terms to as many contiguous sums.
template <class T, std::size_t Count>
[[gnu::always_inline]] inline void accumulate_some(const std::byte* source, std::byte* destination) {
  constexpr std::size_t bytes = Count * sizeof(T);
  if constexpr (adds_in_lanes<T> && bytes == sizeof(register_bytes)) {
    store(destination, add_lanes<T>(load(destination), load(source)));
  } else if constexpr (adds_in_lanes<T> && Count > 1 && bytes >= 4) {
    using part = std::conditional_t<bytes == 8, std::uint64_t, std::uint32_t>;
    const register_bytes sums = add_lanes<T>(register_of(std::uint64_t{read<part>(destination)}, 0),
                                             register_of(std::uint64_t{read<part>(source)}, 0));
    write(destination, static_cast<part>(half_of<0>(sums)));
  } else if constexpr (half<T> && bytes == sizeof(register_bytes)) {
    const registers<2> terms = widen<T>(load(source));
    unrolled<2>([&](auto k) {
      std::byte* sums = destination + k * sizeof(register_bytes);
      store(sums, add_lanes<float>(load(sums), terms[k]));
    });
  } else if constexpr (half<T> && bytes == 8) {
    const register_bytes terms = widen<T>(register_of(read<std::uint64_t>(source), 0))[0];
    store(destination, add_lanes<float>(load(destination), terms));
  } else {
    using sum = typename sum_traits<T>::accumulator;
    using term = std::conditional_t<std::is_same_v<T, bool>, sum, T>;  // any byte is a bool
    std::array<term, Count> terms;
    std::array<sum, Count> sums;
    std::memcpy(&terms, source, sizeof(terms));
    std::memcpy(&sums, destination, sizeof(sums));
    for (std::size_t i = 0; i < Count; ++i) sums[i] = sum_traits<T>::add(sums[i], terms[i]);
    std::memcpy(destination, &sums, sizeof(sums));
  }
}

/// Adds `count` contiguous terms to as many contiguous sums. The last ones are added in ever smaller parts:
/// a register that overlaps the one before would have to wait until that one is in the cache.
template <class T, std::size_t Count = std::max<std::size_t>(1, sizeof(register_bytes) / sizeof(T))>
[[gnu::always_inline]] inline void accumulate_run(const std::byte* source, std::byte* destination,
                                                  std::size_t count) {
  constexpr std::size_t sum_size = sizeof(typename sum_traits<T>::accumulator);
  const auto add = [=](std::size_t i) {
    accumulate_some<T, Count>(source + i * sizeof(T), destination + i * sum_size);
  };
  std::size_t i = 0;
  if constexpr (Count * sizeof(T) == sizeof(register_bytes) && sizeof(T) >= 4) {  // else rows are short
    for (; i + 4 * Count <= count; i += 4 * Count) {
      unrolled<4>([&](auto k) { add(i + k * Count); });
    }
  }
  for (; i + Count <= count; i += Count) add(i);
  if constexpr (Count > 1) {
    if (i != count) {
      accumulate_run<T, Count / 2>(source + i * sizeof(T), destination + i * sum_size, count - i);
    }
  }
}

/// Whether the processor converts values of T, and may be asked to.
template <class T>
bool is_converted() noexcept {
  if constexpr (!std::same_as<T, float16>) return false;
  return usable_instruction_set() >= instruction_set::halves;
}

/// The leaf that adds a tile of elements of type T to a tile of accumulators.
template <class T>
void accumulate(const tile& t, const std::byte* source, std::byte* destination) {
  using part = typename parts_of<T>::type;
  constexpr std::int64_t parts = parts_of<T>::count;
  constexpr std::int64_t term_size{sizeof(T)};
  constexpr std::int64_t sum_size{sizeof(typename sum_traits<part>::accumulator) * parts};
  const auto [outer, inner] = std::pair(t.outer, t.inner);
  const bool runs = inner.source_stride == term_size && inner.destination_stride == sum_size;
  const bool converted = is_converted<part>();
  for_each_row(t, source, destination, [=](const std::byte* from, std::byte* to) {
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      const std::byte* row = from + i * outer.source_stride;
      std::byte* sums = to + i * outer.destination_stride;
      if (runs && converted) {
        add_halves(row, sums, static_cast<std::size_t>(inner.extent));
      } else if (runs) {
        accumulate_run<part>(row, sums, static_cast<std::size_t>(inner.extent * parts));
      } else {
        for (std::int64_t j = 0; j < inner.extent; ++j) {
          accumulate_run<part>(row + j * inner.source_stride, sums + j * inner.destination_stride, parts);
        }
      }
    }
  });
}

template <class T>
concept settles_in_lanes = adds_in_lanes<T> || half<T>;

/// Makes a register of terms sums of one term each. An element is one or several terms.
template <settles_in_lanes T, std::size_t Size = sizeof(T)>
struct settled {
  static constexpr std::size_t element_size = Size;
  static register_bytes finish(register_bytes terms) noexcept {
    if constexpr (half<T>) {
      return map_lanes<std::uint16_t>(terms, [](auto bits) { return settled_bits(bits); });
    } else {
      return add_lanes<T>(terms, register_bytes{});
    }
  }
};

/// Makes `count` contiguous terms sums of one term each.
template <class T>
[[gnu::always_inline]] inline void settle_run(std::byte* terms, std::size_t count) {
  if constexpr (settles_in_lanes<T>) {
    constexpr std::size_t width = sizeof(register_bytes);
    const auto settle_register = [](std::byte* at) { store(at, settled<T>::finish(load(at))); };
    const std::size_t size = count * sizeof(T);
    std::size_t i = 0;
    for (; i + 4 * width <= size; i += 4 * width) {
      unrolled<4>([&](auto k) { settle_register(terms + i + k * width); });
    }
    for (; i + width <= size; i += width) settle_register(terms + i);
    if (i != size) {
      const std::size_t rest = size - i;
      store_part(terms + i, settled<T>::finish(load_part(terms + i, rest)), rest);
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      T term;
      std::memcpy(&term, terms + i * sizeof(T), sizeof(T));
      term = sum_traits<T>::add({}, term);
      std::memcpy(terms + i * sizeof(T), &term, sizeof(T));
    }
  }
}

/// Rounds `count` contiguous float sums to elements of type T, in place: the first of them are `count` elements.
template <half T>
void round_sums(std::byte* sums, std::size_t count) {
  if (is_converted<T>()) {
    round_to_halves(sums, sums, count);
    return;
  }
  constexpr std::size_t some = sizeof(register_bytes) / sizeof(T);
  std::size_t i = 0;
  for (; i + some <= count; i += some) {
    const std::byte* from = sums + i * sizeof(float);
    store(sums + i * sizeof(T), narrow<T>({load(from), load(from + sizeof(register_bytes))}));
  }
  for (; i < count; ++i) {
    float sum;
    T rounded;
    std::memcpy(&sum, sums + i * sizeof(float), sizeof(sum));
    round_to(rounded, sum);
    std::memcpy(sums + i * sizeof(T), &rounded, sizeof(rounded));
  }
}

/// What settles a tile that holds single terms: 0 + term, which differs from the term where that is -0, or a
/// bool of unusual bits. An element of the tile is any number of contiguous terms.
template <class T>
void settle(const tile& t, const std::byte*, std::byte* destination) {
  using part = typename parts_of<T>::type;
  tile rest = t;
  rest.joined = tile::axis::neither;  // to which axis rows belong matters to moves alone
  auto run = static_cast<std::int64_t>(t.element_size);
  for (const auto member : {&tile::inner, &tile::outer, &tile::rows, &tile::slices}) {
    tile_axis& axis = rest.*member;
    if (axis.destination_stride != run) break;
    run *= std::exchange(axis.extent, 1);
  }
  const auto [outer, inner] = std::pair(rest.outer, rest.inner);
  const std::size_t count = static_cast<std::size_t>(run) / sizeof(part);
  for_each_row(rest, destination, destination, [=](const std::byte*, std::byte* to) {
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      for (std::int64_t j = 0; j < inner.extent; ++j) {
        settle_run<part>(to + i * outer.destination_stride + j * inner.destination_stride, count);
      }
    }
  });
}

template <class T>
inline constexpr settling settling_of = [] {
  using part = typename parts_of<T>::type;
  settling result{settle<T>, nullptr};
  if constexpr (settles_in_lanes<part> && !std::same_as<part, bool>) {
    result.choose_leaf = detail::choose_leaf<settled<part, sizeof(T)>>;
  }
  return result;
}();

/// sum_traits without the type: what fold needs to know about its elements.
struct summation {
  std::int64_t element_size = 0;      ///< bytes of an element
  std::int64_t accumulator_size = 0;  ///< bytes of a sum while terms are added to it
  leaf_function accumulate = nullptr;
  /// Turns contiguous sums into as many contiguous elements, in place; null where a sum is an element already.
  void (*round)(std::byte* sums, std::size_t count) = nullptr;
  /// Turns single terms into their sums; null where they are.
  const detail::settling* settling = nullptr;
};

template <class T>
concept summable = requires { typename sum_traits<T>::accumulator; };

template <summable T>
constexpr summation summation_of() noexcept {
  using accumulator = typename sum_traits<T>::accumulator;
  summation result{sizeof(T), sizeof(accumulator), accumulate<T>, nullptr, nullptr};
  if constexpr (sizeof(T) != sizeof(accumulator)) result.round = round_sums<T>;
  if constexpr (std::is_same_v<T, bool> || !std::integral<T>) result.settling = &settling_of<T>;
  return result;
}

/// Requires a data type that element_size() knows.
constexpr summation summation_of(data_type type) noexcept {
  switch (type) {
    case data_type::float32: return summation_of<float>();
    case data_type::float64: return summation_of<double>();
    case data_type::float16: return summation_of<float16>();
    case data_type::uint8:
    case data_type::int8: return summation_of<std::uint8_t>();
    case data_type::uint16:
    case data_type::int16: return summation_of<std::uint16_t>();
    case data_type::uint32:
    case data_type::int32: return summation_of<std::uint32_t>();
    case data_type::uint64:
    case data_type::int64: return summation_of<std::uint64_t>();
    default: return {};
  }
}

}  // namespace reblock::detail
