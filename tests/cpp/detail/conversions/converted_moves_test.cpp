// SPDX-License-Identifier: BSD-3-Clause
//
// What the planner of conversions chooses: which sides have buffers, how large a box is, and how long its runs are. The
// results of plans are checked in conversion_test.cpp.
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>

#include <doctest/doctest.h>

#include <reblock/detail/conversions/conversion_request.hpp>
#include <reblock/detail/conversions/converted_runner.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/moves/blocks.hpp>

#include "../../draw.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;

constexpr std::array<double, 3> channel_factors{0.5, 2, 4};

/// A conversion with a scale. Strides are those of elements.
converted_move planned(std::initializer_list<layout_axis> axes, element_type from, element_type to,
                       std::size_t axis_of_scale = one_factor, std::int64_t source_run = 0) {
  conversion_request request;
  request.moves.source_run = source_run;
  for (layout_axis axis : axes) {
    axis.source_stride *= static_cast<std::int64_t>(size_of(from));
    axis.destination_stride *= static_cast<std::int64_t>(size_of(to));
    request.moves.add(axis);
  }
  request.from = from;
  request.to = to;
  request.scale = {channel_factors.data(), axis_of_scale};
  return converted_move(request);
}

TEST_CASE("long runs on both sides need no buffer") {
  const converted_move rows =
      planned({{50, 2000, 3000}, {1000, 1, 1}}, element_type::uint8, element_type::float32);
  CHECK(!rows.is_gathered());
  CHECK(!rows.is_scattered());
  CHECK(rows.run() > 100);
}

TEST_CASE("the side with the narrower elements has the buffer") {
  const std::initializer_list<layout_axis> to_planes{{200, 600, 200}, {200, 3, 1}, {3, 1, 40000}};
  const std::initializer_list<layout_axis> to_pixels{{200, 200, 600}, {200, 1, 3}, {3, 40000, 1}};
  for (const auto& axes : {to_planes, to_pixels}) {
    const converted_move wider = planned(axes, element_type::uint8, element_type::float32);
    CHECK(wider.is_gathered());
    CHECK(!wider.is_scattered());
    const converted_move narrower = planned(axes, element_type::float32, element_type::uint8);
    CHECK(!narrower.is_gathered());
    CHECK(narrower.is_scattered());
  }
}

TEST_CASE("channels of pixels need no buffer if all bytes between them are elements") {
  constexpr std::int64_t bytes = 120000;
  const std::initializer_list<layout_axis> to_planes{{200, 600, 200}, {200, 3, 1}, {3, 1, 40000}};
  for (const element_type to : {element_type::bfloat16, element_type::float32, element_type::float64}) {
    const bool can_space =
        to != element_type::float64 && run_conversion(element_type::uint8, to, true).can_space(3, 200);
    for (const std::int64_t source_run : {bytes, std::int64_t{0}}) {
      const converted_move planes = planned(to_planes, element_type::uint8, to, 2, source_run);
      CHECK(planes.spacing() == (can_space && source_run != 0 ? 3 : 1));
      CHECK(planes.is_gathered() == (planes.spacing() == 1));
      CHECK(!planes.is_scattered());
    }
  }
  // a factor for each of the pixels of a row: a run has one factor
  const converted_move columns = planned({{3, 1, 40000}, {200, 600, 200}, {200, 3, 1}}, element_type::uint8,
                                         element_type::float32, 2, bytes);
  CHECK(columns.spacing() == 1);
}

TEST_CASE("elements with the same factor follow each other") {
  // pixels that become pixels, with a factor for each channel: runs with all factors, or planes in a buffer
  const converted_move pixels =
      planned({{40000, 3, 3}, {3, 1, 1}}, element_type::uint8, element_type::float32, 1);
  CHECK(pixels.run() > 3);
  const converted_move planes =
      planned({{200, 600, 200}, {200, 3, 1}, {3, 1, 40000}}, element_type::uint8, element_type::float32, 2);
  CHECK(planes.run() >= 32);
}

TEST_CASE("boxes fit their buffers, and a conversion without elements needs none") {
  constexpr std::array types{element_type::uint8, element_type::int16, element_type::float32,
                             element_type::float64};
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    conversion_request request;
    request.moves = test::draw_moves(random, 0).layout;
    request.from = types[static_cast<std::size_t>(test::draw(random, 0, 3))];
    request.to = types[static_cast<std::size_t>(test::draw(random, 0, 3))];
    request.scale = {channel_factors.data(), one_factor};
    const converted_move move(request);
    if (move.is_empty()) continue;
    CHECK(move.cost() < never);
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < move.rank(); ++i) {
      CHECK(move.at_once(i) >= 1);
      CHECK(move.at_once(i) <= move.axis(i).extent);
      elements *= move.at_once(i);
    }
    CHECK(move.elements() == elements);
    CHECK(elements % move.run() == 0);
    const auto from = static_cast<std::int64_t>(size_of(request.from));
    const auto to = static_cast<std::int64_t>(size_of(request.to));
    if (move.is_gathered()) CHECK(elements * from <= block_buffer_bytes);
    if (move.is_scattered()) CHECK(elements * to <= block_buffer_bytes);
  }
  CHECK(planned({{0, 1, 1}}, element_type::uint8, element_type::float32).is_empty());
}

}  // namespace
}  // namespace reblock
