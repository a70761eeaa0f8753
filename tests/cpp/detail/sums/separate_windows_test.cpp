// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/moves/remembered_moves.hpp>
#include <reblock/detail/sums/accumulated_move.hpp>
#include <reblock/detail/sums/separate_windows.hpp>
#include <reblock/detail/sums/single_terms.hpp>
#include <reblock/detail/sums/sum_image.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../../executors.hpp"
#include "../drawn_sums.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::drawn_sums;
using test::flip_coin;

/// Windows of which many share no position: side by side, with gaps, or with other windows between their positions. A
/// negative padding: they begin inside the image.
template <class T>
drawn_sums draw_windows(std::mt19937& random) {
  drawn_sums drawn;
  drawn.element_size = sizeof(T);
  drawn.part = summand_of<T>();
  drawn.image = {draw(random, 1, 2), draw(random, 1, 3)};
  const std::int64_t axes = draw(random, 1, 3);
  for (std::int64_t d = 0; d < axes; ++d) {
    test::windows_along axis;
    axis.size = axis.stride = draw(random, 1, 5);
    axis.windows = draw(random, 1, axes == 3 ? 5 : 12);
    if (draw(random, 0, 3) == 0) axis.stride += draw(random, axis.size > 1 ? -1 : 0, 2);
    if (draw(random, 0, 2) == 0) axis.dilation = draw(random, 1, 4);
    axis.padding = draw(random, -3, axis.size);
    axis.extent = draw(random, 1, axis.windows * axis.size + 2);
    drawn.axes.push_back(axis);
    drawn.image.push_back(axis.extent);
  }
  drawn.column_strides = test::draw_byte_strides(random, drawn.column_extents(), drawn.element_size);
  drawn.image_strides = {};
  const std::vector<std::int64_t> extents(drawn.image.begin(), drawn.image.end());
  for (const std::int64_t stride : test::draw_byte_strides(random, extents, drawn.element_size)) {
    drawn.image_strides.push_back(stride);
  }
  return drawn;
}

/// The request with the places of all moves in the image.
sum_request request_of(const drawn_sums& drawn) {
  sum_request sums = drawn.request();
  layout& moves = sums.moves;
  const std::size_t axes = drawn.axes.size();
  for (std::size_t i = 0; i < 2; ++i) moves.axes[i].destination_stride = drawn.image_strides[i];
  for (std::size_t d = 0; d < axes; ++d) {
    const test::windows_along& axis = drawn.axes[d];
    const std::int64_t stride = drawn.image_strides[2 + d];
    moves.axes[2 + d].destination_stride = axis.dilation * stride;
    moves.axes[2 + axes + d].destination_stride = axis.stride * stride;
  }
  return sums;
}

TEST_CASE("an axis knows whether windows are separate, which are inside, and positions that have a term") {
  int separate = 0;
  int with_edges = 0;
  int uncovered = 0;
  for (const unsigned seed : test::seeds(5000, 500)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const drawn_sums drawn = draw_windows<std::int16_t>(random);
    const sum_request sums = request_of(drawn);
    for (std::size_t d = 0; d < drawn.axes.size(); ++d) {
      const test::windows_along& along = drawn.axes[d];
      const separate_axis axis = separate_axis::of(sums, d);
      const index_range inside = axis.inside();
      std::map<std::int64_t, int> terms;
      for (std::int64_t l = 0; l < along.windows; ++l) {
        bool is_inside = true;
        const index_range offsets = axis.offsets_inside(l);
        for (std::int64_t o = 0; o < along.size; ++o) {
          const std::int64_t position = l * along.stride + o * along.dilation - along.padding;
          const bool in_image = 0 <= position && position < along.extent;
          is_inside = is_inside && in_image;
          CHECK(in_image == (offsets.begin <= o && o < offsets.end));
          ++terms[position];
        }
        CHECK(is_inside == (inside.begin <= l && l < inside.end));
      }
      const bool is_separate =
          std::all_of(terms.begin(), terms.end(), [](const auto& term) { return term.second == 1; });
      CHECK(axis.is_separate() == is_separate);
      const index_range covered = axis.covered();
      CHECK((0 <= covered.begin && covered.begin <= covered.end && covered.end <= along.extent));
      for (std::int64_t s = covered.begin; s < covered.end; ++s) CHECK(terms.count(s) == 1);
      separate += is_separate ? 1 : 0;
      with_edges += inside.begin > 0 || inside.end < along.windows ? 1 : 0;
      uncovered += covered.end - covered.begin < along.extent ? 1 : 0;
    }
  }
  CHECK(separate >= test::enough(400));
  CHECK(with_edges >= test::enough(100));
  CHECK(uncovered >= test::enough(100));
}

/// Drawn terms, every third one of them 0 or -0, and their sums by the definition. These begin from values of the image, or
/// from 0.
template <class T>
struct summed_windows {
  test::strided_bytes columns;
  test::strided_bytes image;
  test::strided_bytes expected;

  summed_windows(std::mt19937& random, const drawn_sums& drawn, bool accumulates = false)
      : columns(drawn.column_extents(), drawn.column_strides, drawn.element_size),
        image(drawn.image, drawn.image_strides, drawn.element_size),
        expected(image) {
    for (std::size_t i = 0; i < expected.elements(); ++i) {
      T first{};
      if (accumulates) first = i % 5 == 0 ? -T{} : static_cast<T>(draw(random, -100, 100));
      if (accumulates) std::memcpy(image.element(i), &first, sizeof(T));
      std::memcpy(expected.element(i), &first, sizeof(T));
    }
    std::vector<std::int64_t> index(drawn.column_extents().size());
    for (std::size_t number = 0; number < columns.elements(); ++number) {
      const T term = number % 3 == 0 ? -T{} : static_cast<T>(draw(random, -100, 100));
      std::memcpy(columns.element(number), &term, sizeof(T));
      std::size_t rest = number;
      for (std::size_t i = index.size(); i-- > 0;) {
        const auto extent = static_cast<std::size_t>(drawn.column_extents()[i]);
        index[i] = static_cast<std::int64_t>(rest % extent);
        rest /= extent;
      }
      std::int64_t place = index[0] * drawn.image_strides[0] + index[1] * drawn.image_strides[1];
      bool is_inside = true;
      for (std::size_t d = 0; d < drawn.axes.size(); ++d) {
        const test::windows_along& axis = drawn.axes[d];
        const std::int64_t position =
            index[2 + drawn.axes.size() + d] * axis.stride + index[2 + d] * axis.dilation - axis.padding;
        is_inside = is_inside && 0 <= position && position < axis.extent;
        place += position * drawn.image_strides[2 + d];
      }
      if (!is_inside) continue;
      T sum;
      std::memcpy(&sum, expected.first() + place, sizeof(T));
      sum = static_cast<T>(sum + term);
      std::memcpy(expected.first() + place, &sum, sizeof(T));
    }
  }
};

/// Sums by separate windows, whatever they cost. Moves add 0, or it is added after them.
template <class T>
void check_separate(unsigned seed, int& found, bool add_on_the_way) {
  std::mt19937 random(seed);
  const drawn_sums drawn = draw_windows<T>(random);
  const sum_request sums = request_of(drawn);
  if (!separate_windows::can_make(sums)) return;
  ++found;
  summed_windows<T> all(random, drawn);
  sum_functions functions = test::functions_for<T>();
  if (!add_on_the_way) functions.add_to_zero.on_the_way = added_zero::none;
  const separate_windows windows(sums, &functions);
  windows.clear(all.image.first());
  const auto run = [&](const single_terms& part) {
    if (part.are_sums()) {
      part.moves().run(all.columns.first() + part.source_offset(),
                       all.image.first() + part.destination_offset());
    } else {
      part.run(all.columns.first(), all.image.first());
    }
  };
  if (windows.has_inside()) run(windows.inside());
  windows.for_each_edge([&](const layout& edge, const axis_values&) {
    if (!windows.is_remembered(edge) || flip_coin(random)) return run(windows.edge(edge));
    recent_moves().run(edge, sizeof(T), buffered_side::none, all.columns.first(), all.image.first());
  });
  CHECK(all.image == all.expected);
}

/// Adds the terms of separate windows to an image, whatever this costs.
template <class T>
void check_accumulated(unsigned seed, int& found) {
  std::mt19937 random(seed);
  const drawn_sums drawn = draw_windows<T>(random);
  sum_request sums = request_of(drawn);
  if (!separate_windows::can_make(sums)) return;
  ++found;
  sums.accumulates = true;
  summed_windows<T> all(random, drawn, true);
  const separate_parts parts(sums);
  const auto add = [&](const layout& windows) {
    accumulated_move(windows, sizeof(T), test::functions_for<T>())
        .run(all.columns.first(), all.image.first());
  };
  if (parts.has_inside()) add(parts.inside());
  parts.for_each_edge([&](const layout& windows, const axis_values&) { add(windows); });
  CHECK(all.image == all.expected);
  summed_windows<T> again(random, drawn, true);
  test::backward_executor executor{static_cast<std::size_t>(draw(random, 1, 4))};
  operation(sums).run(again.columns.first(), again.image.first(), executor);
  CHECK(again.image == again.expected);
}

TEST_CASE("the terms of windows that share no position are added to an image") {
  int found = 0;
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    check_accumulated<std::uint16_t>(seed, found);
    check_accumulated<float>(seed, found);
    check_accumulated<double>(seed, found);
  }
  CHECK(found >= test::enough(300));
}

TEST_CASE("windows that share no position are moved") {
  int found = 0;
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    check_separate<std::uint16_t>(seed, found, true);
    for (const bool add_on_the_way : {false, true}) {
      check_separate<float>(seed, found, add_on_the_way);
      check_separate<double>(seed, found, add_on_the_way);
    }
  }
  CHECK(found >= test::enough(300));
}

/// Compares an image with what fold makes of it.
template <class T>
void check_fold(std::mt19937& random, const drawn_sums& drawn) {
  summed_windows<T> all(random, drawn);
  test::backward_executor executor{static_cast<std::size_t>(draw(random, 1, 4))};
  operation(request_of(drawn)).run(all.columns.first(), all.image.first(), executor);
  CHECK(all.image == all.expected);
}

TEST_CASE("positions between the steps of windows are left out") {
  int left_out = 0;
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    drawn_sums drawn = draw_windows<float>(random);
    for (test::windows_along& axis : drawn.axes) {
      if (test::flip_coin(random)) axis.stride = axis.dilation * draw(random, 1, 3);
    }
    sum_request sums = request_of(drawn);
    const axis_values whole = sums.extents;
    if (keep_reachable(sums)) ++left_out;
    CHECK(keep_reachable(sums) == false);
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(sums.extents[i] <= whole[i]);
    check_fold<float>(random, drawn);
  }
  CHECK(left_out >= test::enough(30));
}

TEST_CASE("positions behind the last window are left out") {
  int left_out = 0;
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const drawn_sums drawn = draw_windows<float>(random);
    sum_request sums = request_of(drawn);
    leave_out_ends(sums);
    for (std::size_t d = 0; d < drawn.axes.size(); ++d) {
      const test::windows_along& axis = drawn.axes[d];
      std::int64_t end = 0;  // behind the last position that has a term
      for (std::int64_t l = 0; l < axis.windows; ++l) {
        for (std::int64_t o = 0; o < axis.size; ++o) {
          const std::int64_t position = l * axis.stride + o * axis.dilation - axis.padding;
          if (position < axis.extent) end = std::max(end, position + 1);
        }
      }
      // windows that reach beyond the image may leave gaps at its end
      const std::int64_t reached = (axis.windows - 1) * axis.stride + axis.span() - axis.padding;
      const std::int64_t kept = reached < 1 || reached > axis.extent ? axis.extent : end;
      CHECK(sums.extents[2 + d] == kept);
      CHECK(sums.moves.bounds[d].extent == kept);
      if (kept < axis.extent) ++left_out;
    }
    check_fold<float>(random, drawn);
  }
  CHECK(left_out >= test::enough(300));
}

TEST_CASE("positions that are not kept become 0, and others stay as they are") {
  for (const unsigned seed : test::seeds(1000, 100)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const drawn_sums drawn = draw_windows<float>(random);
    const sum_request sums = request_of(drawn);
    summed_windows<float> all(random, drawn, true);
    axis_values kept = sums.extents;
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = draw(random, 0, kept[i]);
    test::strided_bytes expected = all.image;
    sum_image(sums).clear_beyond(kept, all.image.first());
    for (std::size_t number = 0; number < expected.elements(); ++number) {
      std::size_t rest = number;
      bool is_kept = true;
      for (std::size_t i = kept.size(); i-- > 0;) {
        const auto extent = static_cast<std::size_t>(sums.extents[i]);
        is_kept = is_kept && static_cast<std::int64_t>(rest % extent) < kept[i];
        rest /= extent;
      }
      if (!is_kept) std::memset(expected.element(number), 0, sizeof(float));
    }
    CHECK(all.image == expected);
  }
}

/// Half of the images have exactly one term at each position, and then it may be -0.
template <class T>
void check_single_terms(unsigned seed, std::int64_t most_copies) {
  std::mt19937 random(seed);
  drawn_sums drawn = draw_windows<T>(random);
  if (test::flip_coin(random)) {
    for (std::size_t d = 0; d < drawn.axes.size(); ++d) {
      test::windows_along& axis = drawn.axes[d];
      axis.stride = axis.size;
      axis.dilation = 1;
      axis.padding = 0;
      axis.extent = drawn.image[2 + d] = axis.windows * axis.size;
    }
    drawn.image[0] = draw(random, 1, most_copies);
    drawn.column_strides = test::draw_byte_strides(random, drawn.column_extents(), drawn.element_size);
    const std::vector<std::int64_t> extents(drawn.image.begin(), drawn.image.end());
    drawn.image_strides = {};
    for (const std::int64_t stride : test::draw_byte_strides(random, extents, drawn.element_size)) {
      drawn.image_strides.push_back(stride);
    }
  }
  check_fold<T>(random, drawn);
}

TEST_CASE("fold of windows that share few positions sums the edges of the image as well") {
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    check_single_terms<std::int16_t>(seed, 3);
  }
}

TEST_CASE("fold of single terms adds them to 0, in images of several pieces as well") {
  for (const unsigned seed : test::seeds(1000, 100)) {
    INFO("seed ", seed);
    check_single_terms<float>(seed, seed % 8 == 0 ? 200 : 3);
    check_single_terms<double>(seed, 3);
  }
}

}  // namespace
}  // namespace reblock
