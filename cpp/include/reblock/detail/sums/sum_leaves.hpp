// SPDX-License-Identifier: BSD-3-Clause
//
// These leaves of fold make the sums of a tile. All sums have the same list of terms.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/reductions/reduction_functions.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/detail/sums/row_terms.hpp>
#include <reblock/detail/sums/sum_traits.hpp>
#include <reblock/detail/sums/term_list.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

template <class T>
concept sums_in_lanes = adds_in_lanes<T> || half<T>;

/// Tells whether sum_rows() of an instruction set sums rows of this type.
template <class T>
inline constexpr bool has_row_sums =
#if defined(__GNUC__) && defined(__x86_64__)
    adds_in_lanes<T>;
#else
    false;
#endif

/// The functions that add terms of type T.
template <class T>
[[gnu::visibility("hidden")]] inline constexpr reduction_functions::by_set plain_sums_of = plain_sums<T>();

/// The bytes of a part of an element in memory, and of its accumulator.
struct part_sizes {
  std::size_t part;
  std::size_t accumulator;
};

/// Sums rows that are contiguous on both sides, with masks or without, in accumulators.
[[gnu::noinline]] inline void sum_in_accumulators(const tile& t, const accumulation& by,
                                                  const part_sizes& sizes, term_list& terms,
                                                  const std::byte* source, std::byte* destination) {
  alignas(64) std::byte sums[4096];
  const std::size_t columns = static_cast<std::size_t>(t.inner.extent) * t.element_size / sizes.part;
  const std::size_t most = std::min(by.most, sizeof(sums) / sizes.accumulator);
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(most / columns, 1));
  const auto sum_block = [&](const std::byte* from, std::byte* to, std::size_t row_count, std::size_t first) {
    const std::size_t count = std::min(most, columns - first);
    const std::size_t begin = first * sizes.part;
    beginning begins_from = beginning::zero;
    if (terms.accumulates()) {
      constexpr std::int64_t here = 0;
      by.add(sums, {to + begin, t.outer.destination_stride, row_count, count}, {&here, 1},
             beginning::first_term);
      begins_from = beginning::held;
    }
    for (std::size_t done = 0; done < terms.size();) {
      term_offsets listed = terms.from(done);
      listed.masks.begin = begin;
      by.add(sums, {from + begin, t.outer.source_stride, row_count, count}, listed, begins_from);
      begins_from = beginning::held;
      done += listed.count;
    }
    const bool are_joined = t.outer.destination_stride == static_cast<std::int64_t>(count * sizes.part);
    const std::size_t at_once = are_joined ? row_count : 1;
    for (std::size_t r = 0; r < row_count; r += at_once) {
      by.finish(sums + r * count * sizes.accumulator,
                to + begin + static_cast<std::int64_t>(r) * t.outer.destination_stride, at_once * count, {});
    }
  };
  for_each_row(t, source, destination, [&](const std::byte* from, std::byte* to) {
    for (std::int64_t row = 0; row < t.outer.extent; row += rows) {
      const auto row_count = static_cast<std::size_t>(std::min(rows, t.outer.extent - row));
      for (std::size_t first = 0; first < columns; first += most) {
        sum_block(from + row * t.outer.source_stride, to + row * t.outer.destination_stride, row_count,
                  first);
      }
    }
  });
}

template <class T>
[[gnu::always_inline]] inline void sum_one(term_list& terms, const std::byte* source,
                                           std::byte* destination) {
  using value = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;  // any byte is a bool
  typename sum_traits<T>::accumulator sum{};
  if (terms.accumulates()) {
    value held;
    std::memcpy(&held, destination, sizeof(held));
    if constexpr (half<T>) {
      sum = to_float(held);
    } else {
      std::memcpy(&sum, &held, sizeof(sum));
    }
  }
  for_each_term(terms, [&](std::int64_t offset) {
    value next;
    std::memcpy(&next, source + offset, sizeof(next));
    sum = sum_traits<T>::add(sum, next);
  });
  if constexpr (half<T>) {
    T rounded;
    round_to(rounded, sum);
    std::memcpy(destination, &rounded, sizeof(rounded));
  } else {
    std::memcpy(destination, &sum, sizeof(sum));
  }
}

/// Returns the fastest sums of rows of this type, or null.
template <class T>
row_sum find_row_sum([[maybe_unused]] instruction_set set) noexcept {
#if defined(__GNUC__) && defined(__x86_64__)
  if (set >= instruction_set::avx2) return avx2::sum_rows<T>;
#endif
  return nullptr;
}

/// Returns the function that adds rows of terms to rows of sums, or null.
template <class T>
row_adder find_added_rows([[maybe_unused]] instruction_set set) noexcept {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
  if constexpr (adds_in_lanes<T> && !std::same_as<T, bool>) {
#if defined(__x86_64__)
    if (set >= instruction_set::avx2) return avx2::add_rows<T>;
#endif
    return baseline::add_rows<T>;
  }
#endif
  return nullptr;
}

template <class T>
void sum_tile(const tile& t, term_list& terms, const std::byte* source, std::byte* destination) {
  if (terms.size() == 0) {
    if (!terms.accumulates()) clear_tile(t, sizeof(T), destination);
    return;
  }
  using part = typename parts_of<T>::type;
  constexpr std::int64_t parts{sizeof(T) / sizeof(part)};
  constexpr std::int64_t size{sizeof(T)};
  const tile_axis outer = t.outer;
  const tile_axis inner = t.inner;
  if constexpr (sums_in_lanes<part>) {
    const bool masked = terms.has_masks();
    const bool runs = inner.source_stride == size && inner.destination_stride == size;
    const auto row = static_cast<std::size_t>(inner.extent * size);
    if constexpr (has_row_sums<part>) {
      const bool may_sum = runs && row > sizeof(part) && !(masked && terms.accumulates());
      const row_sum sum = may_sum && terms.size() <= term_list::limit
                              ? find_row_sum<part>(usable_instruction_set())
                              : nullptr;
      if (sum != nullptr) return sum(t, {terms.from(0), terms.accumulates()}, source, destination);
    }
    if (masked || (runs && row > sizeof(part))) {
      const part_sizes sizes{sizeof(part), sizeof(typename sum_traits<part>::accumulator)};
      return sum_in_accumulators(t, usable(plain_sums_of<part>), sizes, terms, source, destination);
    }
  }
  for_each_row(t, source, destination, [=, &terms](const std::byte* from, std::byte* to) {
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      for (std::int64_t j = 0; j < inner.extent; ++j) {
        for (std::int64_t k = 0; k < parts; ++k) {
          const std::int64_t at = k * std::int64_t{sizeof(part)};
          sum_one<part>(terms, from + i * outer.source_stride + j * inner.source_stride + at,
                        to + i * outer.destination_stride + j * inner.destination_stride + at);
        }
      }
    }
  });
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
