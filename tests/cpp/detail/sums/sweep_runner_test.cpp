// SPDX-License-Identifier: BSD-3-Clause
//
// Sweeps and scatters against the definition of fold, whether or not fold would choose them.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/data_type.hpp>
#include <reblock/detail/sums/scatter.hpp>
#include <reblock/detail/sums/scatter_runner.hpp>
#include <reblock/detail/sums/sweep_axis.hpp>
#include <reblock/detail/sums/sweep_runner.hpp>
#include <reblock/detail/sums/sweep_search.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../../executors.hpp"
#include "../drawn_sums.hpp"
#include "../opened_sweep.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::boolean;
using test::draw;
using test::drawn_sums;
using test::strided_bytes;
using test::windows_along;

/// How many plans were of a kind.
struct tally {
  int in_several_boxes = 0;
  int walked = 0;
  int walked_overlapping = 0;
  int walked_twice = 0;  ///< overlapping windows of several axes
  int in_parts_of_windows = 0;
  int in_parts_of_offsets = 0;
  int planes = 0;
  int planes_with_rest = 0;
  int planes_of_several_axes = 0;
  int apart = 0;
  int other_copies = 0;
  int gaps_in_planes = 0;
  int cleared_gaps = 0;
  int many_axes = 0;

  void count(const sum_sweep& sums) {
    const test::opened_sweep plan(sums);
    const std::size_t axes = plan.places.size() - 2;
    int overlapping = 0;
    int with_planes = 0;
    bool is_apart = false;
    for (std::size_t d = 0; d < axes; ++d) {
      const sweep_axis& axis = plan.axes[d];
      is_apart = is_apart || axis.is_apart;
      if (axis.is_walked) {
        ++walked;
        overlapping += axis.overlaps() ? 1 : 0;
        in_parts_of_windows += plan.chunk.windows[d] < axis.windows ? 1 : 0;
        in_parts_of_offsets += plan.chunk.offsets[d] < axis.offsets ? 1 : 0;
      } else {
        with_planes += axis.overlaps() ? 1 : 0;
        planes_with_rest += !axis.is_apart && axis.overlaps() && axis.last_cycle() < axis.cycle ? 1 : 0;
        gaps_in_planes += !axis.is_apart && axis.windows > 1 && axis.cycle < axis.stride ? 1 : 0;
      }
    }
    in_several_boxes += sums.boxes() > 1 ? 1 : 0;
    walked_overlapping += overlapping > 0 ? 1 : 0;
    walked_twice += overlapping > 1 ? 1 : 0;
    planes += with_planes > 0 ? 1 : 0;
    planes_of_several_axes += with_planes > 1 ? 1 : 0;
    apart += is_apart ? 1 : 0;
    other_copies += plan.copies && !is_apart ? 1 : 0;
    cleared_gaps += plan.clears && !plan.accumulates ? 1 : 0;
    many_axes += axes > 3 ? 1 : 0;
  }
};

/// Calls `run(T{}, seed)` with T the type that a trial is of: all types have their turn.
template <class... T, class Run>
void for_type(unsigned seed, const Run& run) {
  unsigned i = 0;
  ((seed % sizeof...(T) == i++ ? run(T{}) : void()), ...);
}
template <class Run>
void for_some_type(unsigned seed, const Run& run) {
  for_type<float, std::uint8_t, double, float16, boolean, std::uint16_t, std::complex<float>, std::uint32_t,
           bfloat16, std::complex<double>, std::uint64_t, long double, std::complex<long double>>(seed, run);
}

template <class T>
constexpr summand part_of() {
  if constexpr (std::is_same_v<T, boolean>) {
    return summand::boolean;
  } else {
    return summand_of<T>();
  }
}

template <class T>
drawn_sums draw_sums_of(std::mt19937& random, std::int64_t most) {
  drawn_sums drawn = test::draw_sums(random, sizeof(T), most);
  drawn.part = part_of<T>();
  return drawn;
}

/// Checks the sums of drawn terms, and that nothing else is written.
template <class T, class Sums>
void check_sums(std::mt19937& random, const drawn_sums& drawn, const Sums& sums) {
  const test::drawn_terms<T> terms(random, drawn);
  strided_bytes image = terms.before;
  fill_boxes(sums, {0, sums.boxes()}, terms.columns.first(), image.first());
  CHECK(terms.holds_sums(image));
}

TEST_CASE("sweeps make the sums of fold, and nothing else is written") {
  tally all;
  for (const unsigned seed : test::seeds(8000, 1200)) {
    INFO("seed ", seed);
    for_some_type(seed, [&]<class T>(T) {
      std::mt19937 random(seed);
      const drawn_sums drawn = draw_sums_of<T>(random, draw(random, 0, 3) == 0 ? 60000 : 4000);
      const sum_sweep sums(drawn.request(), test::functions_for<T>());
      if (!sums.fits()) return;
      all.count(sums);
      check_sums<T>(random, drawn, sums);
    });
  }
  const int least = test::enough(50);
  CHECK(all.in_several_boxes >= least);
  CHECK(all.walked >= least);
  CHECK(all.walked_overlapping >= least);
  CHECK(all.walked_twice >= least);
  CHECK(all.in_parts_of_windows >= least);
  CHECK(all.in_parts_of_offsets >= test::enough(10));
  CHECK(all.planes >= least);
  CHECK(all.planes_with_rest >= least);
  CHECK(all.planes_of_several_axes >= least);
  CHECK(all.apart >= least);
  CHECK(all.other_copies >= least);
  CHECK(all.gaps_in_planes >= least);
  CHECK(all.cleared_gaps >= least);
  CHECK(all.many_axes >= least);
}

bool can_make(const sum_sweep& sums) { return sums.fits(); }
bool can_make(const scatter& sums) { return sums.cost() < never; }
template <class Sums>
using runner_of =
    std::conditional_t<std::is_same_v<Sums, scatter>, scatter_runner<scattered_sums>, sweep_runner>;

TEST_CASE("scatters make the sums of fold, and nothing else is written") {
  int made = 0;
  int in_several_boxes = 0;
  for (const unsigned seed : test::seeds(8000, 1200)) {
    INFO("seed ", seed);
    for_some_type(seed, [&]<class T>(T) {
      std::mt19937 random(seed);
      const drawn_sums drawn = draw_sums_of<T>(random, draw(random, 0, 3) == 0 ? 60000 : 4000);
      const scatter sums(drawn.request(), test::functions_for<T>());
      if (!can_make(sums)) return;
      ++made;
      in_several_boxes += sums.boxes() > 1 ? 1 : 0;
      check_sums<T>(random, drawn, sums);
    });
  }
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
  CHECK(made >= test::enough(200));
  CHECK(in_several_boxes >= test::enough(20));
#endif
}

/// Draws columns in the order (N, L, C*K). Windows overlap along the height, and lie side by side along the width.
template <class T>
drawn_sums draw_side_by_side(std::mt19937& random) {
  const std::int64_t channels = draw(random, 1, 9);
  windows_along height{draw(random, 2, 6), draw(random, 2, 20)};
  windows_along width{draw(random, 2, 9), draw(random, 2, 30)};
  height.stride = draw(random, 1, height.size - 1);
  width.stride = width.size;
  for (windows_along* axis : {&height, &width}) {
    const std::int64_t reached = (axis->windows - 1) * axis->stride + axis->size;
    axis->padding = draw(random, 0, std::min<std::int64_t>(9, reached - 1));
    const std::int64_t most = reached + axis->stride - 1 - axis->padding;  // more would have another window
    axis->extent = draw(random, std::max<std::int64_t>(1, most - axis->stride - 8), most);
  }
  drawn_sums drawn;
  drawn.image = {draw(random, 1, 2), channels, height.extent, width.extent};
  drawn.axes = {height, width};
  drawn.element_size = sizeof(T);
  drawn.part = part_of<T>();
  std::int64_t stride = sizeof(T);
  const auto next = [&](std::int64_t extent) { return std::exchange(stride, stride * extent); };
  const std::int64_t of_width = next(width.size);
  const std::int64_t of_height = next(height.size);
  const std::int64_t of_channels = next(channels);
  const std::int64_t along_width = next(width.windows);
  const std::int64_t along_height = next(height.windows);
  drawn.column_strides = {stride, of_channels, of_height, of_width, along_height, along_width};
  for (const std::int64_t of_image : test::draw_byte_strides(
           random, {drawn.image[0], channels, height.extent, width.extent}, drawn.element_size))
    drawn.image_strides.push_back(of_image);
  return drawn;
}

TEST_CASE("windows that lie side by side have places of their own, and rows of the next axis are joined") {
  int made = 0;
  for (const unsigned seed : test::seeds(2000, 300)) {
    INFO("seed ", seed);
    for_some_type(seed, [&]<class T>(T) {
      std::mt19937 random(seed);
      const drawn_sums drawn = draw_side_by_side<T>(random);
      scatter sums(drawn.request(), test::functions_for<T>());
      if (!can_make(sums)) return;
      CHECK(sums.rows_are_places());
      ++made;
      if (draw(random, 0, 1) == 0) sums.share_among(5);
      check_sums<T>(random, drawn, sums);
    });
  }
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
  CHECK(made >= test::enough(100));
#endif
}

/// Tells whether sums of this kind can have terms of this type.
template <class Sums, class T>
bool takes() {
  return std::is_same_v<Sums, sum_sweep> ||
         test::functions_for<T>().find_added_rows(usable_instruction_set()) != nullptr;
}

/// Plans sums of several boxes, if that is possible.
template <class Sums, class T>
Sums in_boxes(const drawn_sums& drawn) {
  Sums sums(drawn.request(), test::functions_for<T>());
  if (can_make(sums) && sums.boxes() < 3) sums.share_among(5);
  return sums;
}
template <class Sums, class T>
drawn_sums draw_many_boxes(std::mt19937& random) {
  for (;;) {
    const drawn_sums drawn = draw_sums_of<T>(random, 30000);
    const Sums sums = in_boxes<Sums, T>(drawn);
    if (can_make(sums) && sums.boxes() >= 3 && sums.boxes() <= 40) return drawn;
  }
}

TEST_CASE_TEMPLATE("boxes give the same whoever fills them, in which order", Sums, sum_sweep, scatter) {
  for (const unsigned seed : test::seeds(500, 6)) {
    INFO("seed ", seed);
    for_some_type(seed, [&]<class T>(T) {
      if (!takes<Sums, T>()) return;
      std::mt19937 random(seed);
      const drawn_sums drawn = draw_many_boxes<Sums, T>(random);
      const Sums sums = in_boxes<Sums, T>(drawn);
      const test::drawn_terms<T> terms(random, drawn);
      strided_bytes image = terms.before;
      const auto boxes = static_cast<std::size_t>(sums.boxes());
      runner_of<Sums> one(sums);
      runner_of<Sums> other(sums);
      for (const std::size_t box : test::draw_order(random, boxes)) {
        (test::flip_coin(random) ? one : other)
            .fill_box(static_cast<std::int64_t>(box), terms.columns.first(), image.first());
      }
      CHECK(terms.holds_sums(image));
      image = terms.before;
      const auto half = sums.boxes() / 2;
      test::thread_executor{2}.run(2, [&](std::size_t i) {
        const index_range some = i == 0 ? index_range{0, half} : index_range{half, sums.boxes()};
        fill_boxes(sums, some, terms.columns.first(), image.first());
      });
      CHECK(terms.holds_sums(image));
    });
  }
}

TEST_CASE_TEMPLATE("boxes that are cut for threads give the same", Sums, sum_sweep, scatter) {
  int cut = 0;
  for (const unsigned seed : test::seeds(1000, 60)) {
    INFO("seed ", seed);
    for_some_type(seed, [&]<class T>(T) {
      std::mt19937 random(seed);
      const drawn_sums drawn = draw_sums_of<T>(random, 4000);
      Sums sums(drawn.request(), test::functions_for<T>());
      if (!can_make(sums)) return;
      const std::int64_t boxes = sums.boxes();
      sums.share_among(draw(random, 1, 9));
      cut += sums.boxes() > boxes ? 1 : 0;
      check_sums<T>(random, drawn, sums);
    });
  }
  CHECK((cut >= test::enough(10) || !takes<Sums, float>()));
}

TEST_CASE_TEMPLATE("each element is written by one box", Sums, sum_sweep, scatter) {
  for (const unsigned seed : test::seeds(300, 5)) {
    INFO("seed ", seed);
    if (!takes<Sums, std::uint64_t>()) return;
    std::mt19937 random(seed);
    const drawn_sums drawn = draw_many_boxes<Sums, std::uint64_t>(random);
    const Sums sums = in_boxes<Sums, std::uint64_t>(drawn);
    const test::drawn_terms<std::uint64_t> terms(random, drawn);
    std::vector<int> written(terms.before.elements());
    for (std::int64_t box = 0; box < sums.boxes(); ++box) {
      strided_bytes image = terms.before;
      fill_boxes(sums, {box, box + 1}, terms.columns.first(), image.first());
      for (std::size_t i = 0; i < written.size(); ++i) {
        const bool differs =
            std::memcmp(image.element(i), terms.before.element(i), sizeof(std::uint64_t)) != 0;
        written[i] += differs ? 1 : 0;
      }
    }
    CHECK(written == std::vector<int>(written.size(), 1));
  }
}

/// What the image holds when the terms are added to what it holds.
template <class T>
strided_bytes add_by_definition(const drawn_sums& drawn, const test::drawn_terms<T>& terms,
                                strided_bytes image) {
  const std::vector<std::int64_t> extents = drawn.column_extents();
  const std::size_t spatial = drawn.spatial();
  std::vector<std::int64_t> index(extents.size());
  // windows run fastest, so each position gets its terms in the order of the offsets
  for (std::size_t number = 0; number < terms.columns.elements(); ++number) {
    std::size_t rest = number;
    for (std::size_t i = extents.size(); i-- > 0;) {
      index[i] = static_cast<std::int64_t>(rest % static_cast<std::size_t>(extents[i]));
      rest /= static_cast<std::size_t>(extents[i]);
    }
    std::int64_t place = index[0] * drawn.image_strides[0] + index[1] * drawn.image_strides[1];
    bool is_inside = true;
    for (std::size_t d = 0; d < spatial; ++d) {
      const test::windows_along& axis = drawn.axes[d];
      const std::int64_t position =
          index[2 + spatial + d] * axis.stride + index[2 + d] * axis.dilation - axis.padding;
      is_inside = is_inside && 0 <= position && position < drawn.image[2 + d];
      place += position * drawn.image_strides[2 + d];
    }
    if (!is_inside) continue;
    T sum;
    T term;
    std::memcpy(&sum, image.first() + place, sizeof(T));
    std::memcpy(&term, terms.columns.element(number), sizeof(T));
    sum = static_cast<T>(sum + term);
    std::memcpy(image.first() + place, &sum, sizeof(T));
  }
  return image;
}

/// Moves windows into the image: then they have a negative padding, and the first positions may have no terms.
void move_windows(std::mt19937& random, drawn_sums& drawn) {
  for (test::windows_along& axis : drawn.axes) {
    if (test::flip_coin(random)) axis.padding -= draw(random, 0, 2 * axis.extent);
  }
}

TEST_CASE_TEMPLATE("sums may begin from what the image holds, even from -0", Sums, sum_sweep, scatter) {
  for (const unsigned seed : test::seeds(1000, 60)) {
    INFO("seed ", seed);
    for_type<float, std::uint8_t, double, std::uint32_t>(seed, [&]<class T>(T) {
      std::mt19937 random(seed);
      drawn_sums drawn = draw_sums_of<T>(random, 4000);
      const test::drawn_terms<T> terms(random, drawn);
      move_windows(random, drawn);
      sum_request request = drawn.request();
      request.accumulates = true;
      const Sums sums(request, test::functions_for<T>());
      if (!can_make(sums)) return;
      strided_bytes image = terms.before;
      for (std::size_t i = 0; i < image.elements(); ++i) {
        const T held = test::draw_term<T>(random);
        std::memcpy(image.element(i), &held, sizeof(T));
      }
      const strided_bytes expected = add_by_definition<T>(drawn, terms, image);
      fill_boxes(sums, {0, sums.boxes()}, terms.columns.first(), image.first());
      CHECK(image == expected);
    });
  }
}

TEST_CASE_TEMPLATE("windows may begin inside the image", Sums, sum_sweep, scatter) {
  for (const unsigned seed : test::seeds(1000, 60)) {
    INFO("seed ", seed);
    for_type<float, std::uint8_t, double, std::uint32_t>(seed, [&]<class T>(T) {
      std::mt19937 random(seed);
      drawn_sums drawn = draw_sums_of<T>(random, 4000);
      const test::drawn_terms<T> terms(random, drawn);
      move_windows(random, drawn);
      const Sums sums(drawn.request(), test::functions_for<T>());
      if (!can_make(sums)) return;
      strided_bytes zeros = terms.before;
      for (std::size_t i = 0; i < zeros.elements(); ++i) std::memset(zeros.element(i), 0, sizeof(T));
      strided_bytes image = terms.before;
      fill_boxes(sums, {0, sums.boxes()}, terms.columns.first(), image.first());
      CHECK(image == add_by_definition<T>(drawn, terms, zeros));
    });
  }
}

TEST_CASE_TEMPLATE("strides, dilations and paddings that reach far beyond the image", Sums, sum_sweep,
                   scatter) {
  constexpr std::int64_t far = std::int64_t{1} << 61;
  int fitting = 0;
  for (const std::int64_t stride : {std::int64_t{1}, far - 1, far}) {
    for (const std::int64_t dilation : {std::int64_t{1}, far - 1, far}) {
      for (const std::int64_t padding :
           {-3 * far, -far, std::int64_t{0}, far - 1, far, 2 * far - 1, 2 * far, 3 * far - 1, 3 * far}) {
        for (const std::int64_t windows : {1, 2}) {
          for (const bool is_innermost : {true, false}) {
            const test::windows_along axis{3, windows, stride, dilation, padding, 3};
            const std::int64_t reached = axis.span() - 1 + (windows - 1) * stride;
            if (padding > reached || padding + 3 - reached > stride) continue;  // other windows than these
            INFO("stride ", stride, " dilation ", dilation, " padding ", padding, " windows ", windows,
                 " innermost ", is_innermost);
            drawn_sums drawn;
            drawn.element_size = sizeof(float);
            drawn.part = summand::single_float;
            drawn.axes = {axis};
            drawn.image = {1, 2, 3};
            drawn.column_strides = {24 * windows, 12 * windows, 4 * windows, 4};
            drawn.image_strides = is_innermost ? axis_values{24, 12, 4} : axis_values{24, 4, 8};
            const Sums sums(drawn.request(), test::functions_for<float>());
            if (!can_make(sums)) continue;
            ++fitting;
            std::mt19937 random(1);
            const test::drawn_terms<float> terms(random, drawn);
            strided_bytes image = terms.before;
            fill_boxes(sums, {0, sums.boxes()}, terms.columns.first(), image.first());
            CHECK(terms.holds_sums(image));
          }
        }
      }
    }
  }
  CHECK((fitting > 0) == takes<Sums, float>());
}

}  // namespace
}  // namespace reblock
