// SPDX-License-Identifier: BSD-3-Clause
//
// This header has the arithmetic of fold, the only operator that adds.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/reductions/reduction_functions.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/detail/simd/register_bytes.hpp>
#include <reblock/detail/simd/registers.hpp>
#include <reblock/detail/sums/sum_leaves.hpp>
#include <reblock/detail/sums/sum_traits.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Computes 0 + term for a register of terms.
template <sums_in_lanes T>
register_bytes added_to_zero(register_bytes terms) noexcept {
  if constexpr (half<T>) {
    return map_lanes<std::uint16_t>(terms, [](auto bits) { return without_negative_zero(bits); });
  } else {
    return add_lanes<T>(terms, register_bytes{});
  }
}

/// Computes 0 + term for `count` contiguous terms, which may be where the sums are, or lie apart from them.
template <class T>
[[gnu::always_inline]] inline void add_run_to_zero(const std::byte* terms, std::byte* sums,
                                                   std::size_t count) {
  if constexpr (sums_in_lanes<T>) {
    constexpr std::size_t width = sizeof(register_bytes);
    const auto add_register = [=](std::size_t at) { store(sums + at, added_to_zero<T>(load(terms + at))); };
    const std::size_t size = count * sizeof(T);
    std::size_t i = 0;
    for (; i + 4 * width <= size; i += 4 * width) {
      unrolled<4>([&](auto k) { add_register(i + k * width); });
    }
    for (; i + width <= size; i += width) add_register(i);
    if (i == size) return;
    if (size >= width) return add_register(size - width);  // to add 0 twice does no harm
    store_part(sums, added_to_zero<T>(load_part(terms, size)), size);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      T term;
      std::memcpy(&term, terms + i * sizeof(T), sizeof(T));
      term = sum_traits<T>::add({}, term);
      std::memcpy(sums + i * sizeof(T), &term, sizeof(T));
    }
  }
}

/// Computes 0 + term for the terms in a tile, which may be where the sums are. The result differs from a term that is -0, or
/// a bool of unusual bits. An element of the tile is any number of contiguous terms.
template <class T>
void add_to_zero(const tile& t, const std::byte* source, std::byte* destination) {
  using part = typename parts_of<T>::type;
  tile rest = t;
  auto run = static_cast<std::int64_t>(t.element_size);
  for (const auto member : {&tile::inner, &tile::outer, &tile::rows, &tile::slices}) {
    tile_axis& axis = rest.*member;
    if (axis.destination_stride != run || axis.source_stride != run) break;
    run *= std::exchange(axis.extent, 1);
  }
  const tile_axis outer = rest.outer;
  const tile_axis inner = rest.inner;
  const std::size_t count = static_cast<std::size_t>(run) / sizeof(part);
  for_each_row(rest, source, destination, [=](const std::byte* from, std::byte* to) {
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      for (std::int64_t j = 0; j < inner.extent; ++j) {
        add_run_to_zero<part>(from + i * outer.source_stride + j * inner.source_stride,
                              to + i * outer.destination_stride + j * inner.destination_stride, count);
      }
    }
  });
}

/// Fills memory with terms that change no sum.
template <class T>
void fill_neutral(std::byte* first, std::size_t size) {
  using part = typename parts_of<T>::type;
  if constexpr (std::is_integral_v<part>) {
    std::memset(first, 0, size);
  } else {
    part negative_zero{};
    if constexpr (half<part>) {
      negative_zero = std::bit_cast<part>(std::uint16_t{0x8000});
    } else {
      negative_zero = -negative_zero;
    }
    for (std::size_t i = 0; i < size; i += sizeof(part)) std::memcpy(first + i, &negative_zero, sizeof(part));
  }
}

template <class T>
constexpr single_sums adder_to_zero() noexcept {
  using part = typename parts_of<T>::type;
  if constexpr (std::is_integral_v<part> && !std::same_as<part, bool>) {
    return {};
  } else if constexpr (!movers_add_zero || !sums_in_lanes<part> || std::same_as<part, bool>) {
    return {add_to_zero<T>};
  } else {
    return {add_to_zero<T>, sizeof(part) == 2   ? added_zero::halves
                            : sizeof(part) == 4 ? added_zero::singles
                                                : added_zero::doubles};
  }
}

template <class T>
[[gnu::visibility("hidden")]] inline constexpr sum_functions sum_functions_of{
    sum_tile<T>,
    detail::fill_neutral<T>,
    sums_in_lanes<typename parts_of<T>::type>,
    detail::find_added_rows<typename parts_of<T>::type>,
    adder_to_zero<T>(),
    plain_sums_of<typename parts_of<T>::type>};

/// A pair_of_parts has two parts, like std::complex.
template <class Part>
struct pair_of_parts {
  using value_type = Part;
  Part real() const;
  Part imag() const;
  Part parts[2];
};

/// The types that stand for all types that have the same sums, in the order of the summands after none.
using summed_types = std::tuple<bool, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, float16,
                                bfloat16, float, double, long double>;
template <summand Part>
using summed = std::tuple_element_t<static_cast<std::size_t>(Part) - 1, summed_types>;

/// Returns the functions for one of some parts, or null. `Term` makes the type of a term from a part: single_part or
/// pair_of_parts.
template <class Part>
using single_part = Part;
template <template <class> class Term, summand... Some>
const sum_functions* find_sum_functions(summand part) noexcept {
  const sum_functions* found = nullptr;
  ((part == Some ? static_cast<void>(found = &sum_functions_of<Term<summed<Some>>>) : void()), ...);
  return found;
}

#if !defined(REBLOCK_COMPILED)
template <summable T>
constexpr const sum_functions* functions_of() noexcept {
  using part = summed<summand_of<T>()>;
  if constexpr (complex_number<T>) {
    return &sum_functions_of<pair_of_parts<part>>;
  } else {
    return &sum_functions_of<part>;
  }
}
#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
