// SPDX-License-Identifier: BSD-3-Clause
//
// Staged sums against the definition of fold, whether or not fold would choose them.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/data_type.hpp>
#include <reblock/detail/plane_axis.hpp>
#include <reblock/detail/staged_sum_runner.hpp>
#include <reblock/detail/staged_sums.hpp>

#include "../draw.hpp"
#include "../effort.hpp"
#include "../executors.hpp"
#include "drawn_sums.hpp"
#include "opened_sums.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::boolean;
using test::draw;
using test::drawn_sums;
using test::strided_bytes;

/// How many plans, or boxes, were of a kind.
struct tally {
  // plans
  int in_several_boxes = 0;
  int of_one_plane = 0;
  int planes_together = 0;
  int planes_apart = 0;
  int both = 0;  ///< planes of one axis together, those of another one apart
  int joined_planes = 0;
  int joined_with_rest = 0;
  int phases_apart = 0;  ///< in a buffer of their own
  int other_copies = 0;
  int phases_in_image = 0;
  int gaps_apart = 0;  ///< positions of no phase, where phases are summed by themselves
  int gaps_joined = 0;
  int many_axes = 0;
  // boxes
  int alone = 0;  ///< single terms past the buffer
  int cut = 0;    ///< those in part
  int single_by_buffer = 0;

  void count(const staged_sums& sums) {
    const test::opened_sums plan(sums);
    const std::size_t axes = plan.box.size() - 2;
    const auto any = [&](auto holds) {
      return std::any_of(plan.axes.begin(), plan.axes.begin() + static_cast<std::ptrdiff_t>(axes), holds) ? 1
                                                                                                          : 0;
    };
    const auto has_planes = [](const plane_axis& axis) { return axis.planes > 1; };
    const int together = any([&](const plane_axis& axis) { return has_planes(axis) && axis.together; });
    const int apart = any([&](const plane_axis& axis) { return has_planes(axis) && !axis.together; });
    in_several_boxes += sums.boxes() > 1 ? 1 : 0;
    of_one_plane += plan.is_single ? 1 : 0;
    planes_together += together;
    planes_apart += apart;
    both += together * apart;
    joined_planes += any([&](const plane_axis& axis) { return has_planes(axis) && axis.is_joined; });
    joined_with_rest += any([&](const plane_axis& axis) {
      return has_planes(axis) && axis.is_joined && axis.together && axis.last_cycle < axis.cycle;
    });
    phases_apart += plan.copies && plan.is_apart ? 1 : 0;
    other_copies += plan.copies && !plan.is_apart ? 1 : 0;
    phases_in_image += any([](const plane_axis& axis) { return !axis.is_joined && axis.stride > 1; }) *
                       (plan.copies ? 0 : 1);
    gaps_apart += any([](const plane_axis& axis) { return !axis.is_joined && axis.cycle < axis.stride; });
    gaps_joined += any([](const plane_axis& axis) {
      return axis.is_joined && axis.windows > 1 && axis.cycle < axis.stride;
    });
    many_axes += axes > 3 ? 1 : 0;
    if (!plan.is_single) return;
    for (std::int64_t box = 0; box < sums.boxes(); ++box) count_single(plan, sums, box);
  }

  void count_single(const test::opened_sums& plan, const staged_sums& sums, std::int64_t box) {
    std::int64_t places = 1;  // of the box
    std::int64_t number = box;
    for (std::size_t i = plan.box.size(); i-- > 0;) {
      const std::int64_t along = (plan.places[i] - 1) / plan.box[i] + 1;
      if (i >= 2) places *= std::min(plan.box[i], plan.places[i] - number % along * plan.box[i]);
      number /= along;
    }
    const std::int64_t inside = test::places_alone(sums, box);
    ++(inside == 0 ? single_by_buffer : inside < places ? cut : alone);
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

TEST_CASE("boxes by way of planes hold the sums of fold, and nothing else is written") {
  tally all;
  for (const unsigned seed : test::seeds(6000, 200)) {
    INFO("seed ", seed);
    for_some_type(seed, [&]<class T>(T) {
      std::mt19937 random(seed);
      const drawn_sums drawn = test::draw_sums(random, sizeof(T), draw(random, 0, 5) == 0 ? 30000 : 2000);
      const staged_sums sums(drawn.request(), test::functions_for<T>());
      if (!sums.fits()) return;
      all.count(sums);
      const test::drawn_terms<T> terms(random, drawn);
      strided_bytes image = terms.before;
      fill_boxes(sums, {0, sums.boxes()}, terms.columns.first(), image.first());
      CHECK(terms.holds_sums(image));
    });
  }
  const int least = test::enough(50);
  CHECK(all.in_several_boxes >= least);
  CHECK(all.of_one_plane >= least);
  CHECK(all.planes_together >= least);
  CHECK(all.planes_apart >= least);
  CHECK(all.both >= test::enough(5));
  CHECK(all.joined_planes >= least);
  CHECK(all.joined_with_rest >= least);
  CHECK(all.phases_apart >= least);
  CHECK(all.other_copies >= least);
  CHECK(all.phases_in_image >= least);
  CHECK(all.gaps_apart >= least);
  CHECK(all.gaps_joined >= least);
  CHECK(all.many_axes >= least);
  CHECK(all.alone >= least);
  CHECK(all.cut >= least);
  CHECK(all.single_by_buffer >= least);
}

/// Sums of several boxes.
drawn_sums draw_many_boxes(std::mt19937& random, std::int64_t element_size) {
  for (;;) {
    const drawn_sums drawn = test::draw_sums(random, element_size, 30000);
    const staged_sums sums(drawn.request(), test::functions_for<std::uint8_t>());
    if (sums.fits() && sums.boxes() >= 3 && sums.boxes() <= 40) return drawn;
  }
}

TEST_CASE("boxes give the same whoever fills them, in which order") {
  for (const unsigned seed : test::seeds(500, 6)) {
    INFO("seed ", seed);
    for_some_type(seed, [&]<class T>(T) {
      std::mt19937 random(seed);
      const drawn_sums drawn = draw_many_boxes(random, sizeof(T));
      const staged_sums sums(drawn.request(), test::functions_for<T>());
      const test::drawn_terms<T> terms(random, drawn);
      strided_bytes image = terms.before;
      const auto boxes = static_cast<std::size_t>(sums.boxes());
      staged_sum_runner one(sums);
      staged_sum_runner other(sums);
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

TEST_CASE("each element is written by one box") {
  for (const unsigned seed : test::seeds(300, 5)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const drawn_sums drawn = draw_many_boxes(random, sizeof(std::uint64_t));
    const staged_sums sums(drawn.request(), test::functions_for<std::uint64_t>());
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

TEST_CASE("strides, dilations and paddings that reach far beyond the image") {
  constexpr std::int64_t far = std::int64_t{1} << 61;
  int fitting = 0;
  for (const std::int64_t stride : {std::int64_t{1}, far - 1, far}) {
    for (const std::int64_t dilation : {std::int64_t{1}, far - 1, far}) {
      for (const std::int64_t padding :
           {std::int64_t{0}, far - 1, far, 2 * far - 1, 2 * far, 3 * far - 1, 3 * far}) {
        for (const std::int64_t windows : {1, 2}) {
          for (const bool is_innermost : {true, false}) {
            const test::windows_along axis{3, windows, stride, dilation, padding, 3};
            const std::int64_t reached = axis.span() - 1 + (windows - 1) * stride;
            if (padding > reached || padding + 3 - reached > stride) continue;  // other windows than these
            INFO("stride ", stride, " dilation ", dilation, " padding ", padding, " windows ", windows,
                 " innermost ", is_innermost);
            drawn_sums drawn;
            drawn.element_size = sizeof(float);
            drawn.axes = {axis};
            drawn.image = {1, 2, 3};
            drawn.column_strides = {24 * windows, 12 * windows, 4 * windows, 4};
            drawn.image_strides = is_innermost ? axis_values{24, 12, 4} : axis_values{24, 4, 8};
            const staged_sums sums(drawn.request(), test::functions_for<float>());
            if (!sums.fits()) continue;
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
  CHECK(fitting > 0);
}

}  // namespace
}  // namespace reblock
