// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/data_type.hpp>
#include <reblock/detail/sums/sum_leaves.hpp>

#include "../../draw.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// Tiles, terms and masks, and what their sums should be, element by element.
template <class T>
struct sums {
  using part = typename parts_of<T>::type;
  using bits = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;
  static constexpr std::int64_t size{sizeof(T)};

  explicit sums(unsigned seed) : random(seed) {}

  std::vector<std::byte> draw_values(std::int64_t bytes) {
    std::vector<std::byte> values(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i + sizeof(part) <= values.size(); i += sizeof(part)) {
      const std::int64_t number = draw(random, -99, 99);
      if constexpr (std::is_same_v<part, bool>) {
        values[i] = static_cast<std::byte>(number < 0 ? 0 : number);
      } else {
        part value;
        if constexpr (half<part>) {
          round_to(value, static_cast<float>(number) / 7);
        } else {
          value = static_cast<part>(static_cast<part>(number) / part{7});
        }
        std::memcpy(&values[i], &value, sizeof(value));
      }
    }
    return values;
  }

  static void add(typename sum_traits<part>::accumulator& sum, const std::byte* term) {
    std::conditional_t<std::is_same_v<part, bool>, unsigned char, part> value;
    std::memcpy(&value, term, sizeof(value));
    sum = sum_traits<part>::add(sum, value);
  }

  /// Lists where terms are along all axes, the last one innermost.
  static std::vector<std::int64_t> places(const std::vector<term_list::axis>& axes,
                                          std::int64_t term_list::axis::* stride) {
    std::vector<std::int64_t> all{0};
    for (const term_list::axis& axis : axes) {
      std::vector<std::int64_t> next;
      for (const std::int64_t place : all) {
        for (std::int64_t i = 0; i < axis.extent; ++i) next.push_back(place + i * (axis.*stride));
      }
      all = next;
    }
    return all;
  }

  /// `masks` holds a row for each term, `mask_stride` bytes apart; `period` 0: a row of the tile is one. Some sums without
  /// masks begin from values in the destination.
  void check(const tile& t, const std::vector<term_list::axis>& axes, const std::vector<std::byte>& masks,
             std::size_t period, std::int64_t source_bytes, std::int64_t destination_bytes) {
    const std::vector<std::byte> source = draw_values(source_bytes);
    const bool accumulates = masks.empty() && draw(random, 0, 1) == 1;
    std::vector<std::byte> expected(static_cast<std::size_t>(destination_bytes));
    for (std::byte& b : expected) b = static_cast<std::byte>(random());
    if (accumulates) expected = draw_values(destination_bytes);
    std::vector<std::byte> actual = expected;
    const std::vector<std::int64_t> offsets = places(axes, &term_list::axis::stride);
    const std::vector<std::int64_t> mask_places = places(axes, &term_list::axis::mask_stride);
    for_each_row(t, source.data(), expected.data(), [&](const std::byte* from, std::byte* to) {
      for (std::int64_t i = 0; i < t.outer.extent; ++i) {
        for (std::int64_t j = 0; j < t.inner.extent; ++j) {
          const std::byte* element = from + i * t.outer.source_stride + j * t.inner.source_stride;
          std::byte* result = to + i * t.outer.destination_stride + j * t.inner.destination_stride;
          for (std::size_t k = 0; k < sizeof(T); k += sizeof(part)) {
            typename sum_traits<part>::accumulator sum{};
            if (accumulates) {
              if constexpr (half<part>) {
                add(sum, result + k);
              } else {
                std::memcpy(&sum, result + k, sizeof(sum));
              }
            }
            for (std::size_t n = 0; n < offsets.size(); ++n) {
              const auto at =
                  static_cast<std::int64_t>(period == 0 ? static_cast<std::size_t>(j * size)
                                                        : static_cast<std::size_t>(j * size) % period);
              const bool counts =
                  masks.empty() || masks[static_cast<std::size_t>(mask_places[n] + at)] != std::byte{0};
              if (counts) add(sum, element + offsets[n] + k);
            }
            if constexpr (half<part>) {
              part rounded;
              round_to(rounded, sum);
              std::memcpy(result + k, &rounded, sizeof(rounded));
            } else {
              std::memcpy(result + k, &sum, sizeof(sum));
            }
          }
        }
      }
    });
    term_list listed(axes, {masks.empty() ? nullptr : masks.data(), period}, accumulates);
    sum_tile<T>(t, listed, source.data(), actual.data());
    CHECK(actual == expected);
  }

  /// Rows that are contiguous or not, next to each other or not; what lies between them stays as it is.
  void check_tile() {
    tile t;
    t.element_size = sizeof(T);
    const bool contiguous = draw(random, 0, 3) != 0;
    std::int64_t from = size;
    std::int64_t to = size;
    for (const auto member : {&tile::inner, &tile::outer, &tile::rows, &tile::slices}) {
      const std::int64_t gap = member == &tile::inner && contiguous ? 0 : draw(random, 0, 2);
      t.*member = {member == &tile::inner ? draw(random, 1, 70) : draw(random, 1, 6), from + gap * size,
                   to + gap * size};
      from = (t.*member).extent * (t.*member).source_stride;
      to = (t.*member).extent * (t.*member).destination_stride;
    }
    std::vector<term_list::axis> axes;
    for (std::int64_t i = draw(random, 1, 3); i > 0; --i) {
      axes.push_back({draw(random, 0, 9) == 0 ? 0 : draw(random, 1, 4), draw(random, 0, 5) * size, 0});
    }
    std::vector<std::byte> masks;
    const std::int64_t row = t.inner.extent * size;
    if (contiguous && sums_in_lanes<part> && draw(random, 0, 1) == 1) {
      axes.back().mask_stride = row;
      masks = draw_masks(axes.back().extent, row, row);
    }
    check(t, axes, masks, 0, from + 64 * size, to);
  }

  /// Rows that follow each other, of which a tile makes one run.
  void check_period() {
    const std::int64_t period = draw(random, 1, 40) * size;
    tile t;
    t.element_size = sizeof(T);
    t.inner = {draw(random, 1, 150), size, size};
    t.outer = {draw(random, 1, 6), (t.inner.extent + 3) * size, t.inner.extent * size};
    std::vector<term_list::axis> axes{{draw(random, 1, 3), size, 0}, {draw(random, 1, 3), 2 * size, 0}};
    axes[1].mask_stride = period + mask_overrun;
    const std::vector<std::byte> masks = draw_masks(axes[1].extent, period, period + mask_overrun);
    check(t, axes, masks, static_cast<std::size_t>(period),
          t.outer.extent * t.outer.source_stride + 32 * size, t.outer.extent * t.outer.destination_stride);
  }

  std::vector<std::byte> draw_masks(std::int64_t count, std::int64_t row, std::int64_t stride) {
    std::vector<std::byte> masks(static_cast<std::size_t>(std::max<std::int64_t>(1, count * stride)));
    for (std::int64_t k = 0; k < count; ++k) {
      std::byte* mask = masks.data() + k * stride;
      for (std::int64_t i = 0; i < row; i += size) {
        std::memset(mask + i, draw(random, 0, 1) == 0 ? 0 : 0xff, sizeof(T));
      }
      for (std::int64_t i = row; i < stride; ++i) mask[i] = mask[i - row];
    }
    return masks;
  }

  std::mt19937 random;
};

TEST_CASE_TEMPLATE("a leaf sums what its terms and masks say, in order, and writes nothing else", T, bool,
                   std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, float16, bfloat16, float,
                   double, std::complex<float>, std::complex<double>) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed ", seed);
    sums<T>(seed).check_tile();
    if constexpr (sums_in_lanes<typename parts_of<T>::type>) sums<T>(seed).check_period();
  }
}

TEST_CASE_TEMPLATE("more terms than are listed at a time", T, std::uint8_t, float16, float, double) {
  for (const std::int64_t count : {255, 256, 257, 1025, 2500}) {
    sums<T> some(1);
    tile t;
    t.element_size = sizeof(T);
    t.inner = {37, sizeof(T), sizeof(T)};
    some.check(t, {{count / 5, 5 * sizeof(T), 0}, {5, sizeof(T), 0}}, {}, 0,
               (count + 40) * std::int64_t{sizeof(T)}, 37 * std::int64_t{sizeof(T)});
  }
}

TEST_CASE_TEMPLATE("rows of any length are added, and what lies behind them stays", T, std::uint8_t,
                   std::int16_t, float, double) {
  constexpr std::size_t rows = 3;
  for (const instruction_set set : {instruction_set::baseline, usable_instruction_set()}) {
    const row_adder add = find_added_rows<T>(set);
    if (add == nullptr) continue;  // no function for this processor
    for (std::size_t count = 1; count * sizeof(T) <= 160; ++count) {
      // terms end where they may no longer be read, and rows of sums lie apart
      const std::vector<T> terms(rows * count, T{3});
      constexpr std::size_t apart = 160 / sizeof(T) + 16;
      std::vector<T> sums(rows * apart, T{5});
      tile t;
      t.element_size = count * sizeof(T);
      t.inner = {rows, static_cast<std::int64_t>(count * sizeof(T)), apart * sizeof(T)};
      const auto* const first = reinterpret_cast<const std::byte*>(terms.data());
      add(t, first, first + terms.size() * sizeof(T), reinterpret_cast<std::byte*>(sums.data()));
      bool are_right = true;
      for (std::size_t i = 0; i < sums.size(); ++i)
        are_right = are_right && sums[i] == (i % apart < count ? T{8} : T{5});
      CAPTURE(count);
      CHECK(are_right);
    }
  }
}

TEST_CASE("a processor that converts float16 does so as it is defined") {
  const accumulation& by = usable(plain_sums_of<float16>);
  for (std::uint32_t first = 0; first < 0x10000; first += 8) {
    std::array<float16, 16> values;  // two rows of terms
    for (std::uint32_t i = 0; i < 8; ++i) {
      values[i].bits = static_cast<std::uint16_t>(first + i);
      values[8 + i].bits = static_cast<std::uint16_t>((first + i) * 40503u);
    }
    for (const std::size_t count : {1u, 2u}) {
      const std::array<std::int64_t, 2> offsets{0, 16};
      std::array<float16, 8> results;
      alignas(64) std::array<std::byte, 8 * sizeof(float)> sums;
      by.add(sums.data(), {reinterpret_cast<const std::byte*>(values.data()), 0, 1, 8},
             {offsets.data(), count}, beginning::zero);
      by.finish(sums.data(), reinterpret_cast<std::byte*>(results.data()), 8, {});
      for (std::size_t i = 0; i < 8; ++i) {
        float sum = 0 + to_float(values[i]);
        if (count == 2) sum += to_float(values[8 + i]);
        float16 expected;
        round_to(expected, sum);
        const bool both_nan = sum != sum && to_float(results[i]) != to_float(results[i]);
        CHECK((both_nan || results[i].bits == expected.bits));
      }
    }
  }
}

}  // namespace
}  // namespace reblock
