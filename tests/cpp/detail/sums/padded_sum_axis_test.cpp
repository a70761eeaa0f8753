// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/layout.hpp>
#include <reblock/detail/sums/padded_sum_axis.hpp>
#include <reblock/padding_mode.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

padded_sum_axis draw_padded_axis(std::mt19937& random) {
  const std::int64_t extent = draw(random, 1, 9);
  const auto mode = static_cast<padding_mode>(draw(random, 1, 4));
  const std::int64_t dilation = draw(random, 1, 3);
  const std::int64_t stride = draw(random, 1, 7);
  const std::int64_t first = draw(random, -15, extent + 3);
  return {draw(random, 1, 6), draw(random, 0, 6), dilation, stride, first, {mode, extent}};
}

/// Returns the image's position that a padded position stands for: it goes back and forth until it is inside.
std::int64_t source_of(std::int64_t p, const padded_axis& image) {
  const std::int64_t last = image.extent - 1;
  const bool is_edge =
      image.mode == padding_mode::edge || (image.mode == padding_mode::reflection && last == 0);
  if (is_edge) return std::clamp<std::int64_t>(p, 0, last);
  const std::int64_t repeated = image.mode == padding_mode::symmetric ? 1 : 0;  // positions at an end
  while (p < 0 || p > last) {
    if (image.mode == padding_mode::wrap) {
      p += p < 0 ? image.extent : -image.extent;
    } else {
      p = p < 0 ? -p - repeated : 2 * last - p + repeated;
    }
  }
  return p;
}

struct padded_term {
  std::int64_t offset;
  std::int64_t window;
  bool operator==(const padded_term&) const = default;
};

/// Lists the terms of a position in the order of addition: through the position itself, the padding before, the padding behind.
std::vector<padded_term> terms_at(const padded_sum_axis& axis, std::int64_t q) {
  std::vector<padded_term> terms;
  for (std::int64_t o = 0; o < axis.size; ++o) {
    for (const int part : {0, 1, 2}) {
      for (std::int64_t l = 0; l < axis.windows; ++l) {
        const std::int64_t p = axis.first + o * axis.dilation + l * axis.stride;
        const int lies = p < 0 ? 1 : p < axis.image.extent ? 0 : 2;
        if (lies == part && source_of(p, axis.image) == q) terms.push_back({o, l});
      }
    }
  }
  return terms;
}

std::vector<padded_term> found_at(const padded_sum_axis& axis, std::int64_t q) {
  std::vector<padded_term> terms;
  const position_terms all = axis.terms_of(q);
  axis.for_each_offset(all, [&](std::int64_t o, const terms_of_offset& found) {
    if (found.count > most_images) {
      axis.for_each_window(q, o, [&](std::int64_t window) { terms.push_back({o, window}); });
    }
    for (std::size_t i = 0; i < found.count && found.count <= most_images; ++i) {
      terms.push_back({o, found.windows[i]});
    }
  });
  return terms;
}

TEST_CASE(
    "a position has the terms that an image padded element by element gives it, in the order of addition") {
  for (const unsigned seed : test::seeds(20'000, 2000)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const padded_sum_axis axis = draw_padded_axis(random);
    for (std::int64_t q = 0; q < axis.image.extent; ++q) {
      INFO("position ", q);
      CHECK(found_at(axis, q) == terms_at(axis, q));
    }
  }
}

TEST_CASE("inner positions have no terms from the padding") {
  for (const unsigned seed : test::seeds(20'000, 2000)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const padded_sum_axis axis = draw_padded_axis(random);
    const index_range inner = axis.inner();
    for (std::int64_t q = inner.begin; q < inner.end; ++q) {
      for (const auto& [offset, window] : terms_at(axis, q)) {
        CHECK(axis.first + offset * axis.dilation + window * axis.stride == q);
      }
    }
  }
}

TEST_CASE("positions that are summed at once have the same terms, of neighbouring offsets") {
  int several = 0;
  for (const unsigned seed : test::seeds(40'000, 4000)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const padded_sum_axis axis = draw_padded_axis(random);
    for (std::int64_t q = 0; q < axis.image.extent; ++q) {
      const position_terms all = axis.terms_of(q);
      offset_list list;
      axis.list(all, list);
      if (!list.has_all || list.count == 0) continue;
      const std::int64_t count = axis.positions_with_same_terms(all);
      several += count > 1 ? 1 : 0;
      std::vector<padded_term> expected = terms_at(axis, q);
      REQUIRE(expected.size() == list.begins[list.count]);
      for (std::int64_t i = 0; i < count; ++i) {
        INFO("position ", q, " and the next ", i);
        CHECK(terms_at(axis, q + i) == expected);
        for (std::size_t t = 0; t < expected.size(); ++t) expected[t].offset += list.directions[t];
      }
    }
  }
  CHECK(several >= 100);
}

TEST_CASE("inner positions that are summed at once have terms of the same offsets, of neighbouring windows") {
  int several = 0;
  for (const unsigned seed : test::seeds(20'000, 2000)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const padded_sum_axis axis = draw_padded_axis(random);
    const index_range inner = axis.inner();
    for (std::int64_t q = inner.begin; q < inner.end; ++q) {
      std::vector<padded_term> expected = terms_at(axis, q);
      const std::int64_t count = axis.positions_with_same_windows(q);
      for (std::int64_t i = 0; i < count && q + i * axis.stride < inner.end; ++i) {
        several += i > 0 && !expected.empty() ? 1 : 0;
        CHECK(terms_at(axis, q + i * axis.stride) == expected);
        for (padded_term& t : expected) ++t.window;
      }
    }
  }
  CHECK(several >= 100);
}

}  // namespace
}  // namespace reblock
