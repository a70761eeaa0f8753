// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/copy.hpp>

#include "draw.hpp"
#include "examples.hpp"
#include "executors.hpp"
#include "refusal.hpp"
#include "strided_tensor.hpp"

namespace reblock {
namespace {

using test::check_refused;
using test::draw;

/// The element of a view at an index, by its definition alone.
template <class T>
T& element(const tensor_view<T>& view, const std::vector<std::int64_t>& index) {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < index.size(); ++i) place += index[i] * view.strides()[i];
  return view.data()[place];
}

/// Calls f with every index of a box, the last axis fastest.
template <class F>
void for_each_index(const view_values& extents, F&& f) {
  if (std::count(extents.begin(), extents.end(), 0) != 0) return;
  std::vector<std::int64_t> index(extents.size());
  for (;;) {
    f(index);
    std::size_t i = extents.size();
    while (i > 0 && ++index[i - 1] == extents[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

/// Strides, in elements, that keep `count` axes apart in any order and direction, with gaps here and there; and from
/// where to count so that all places are positive.
struct drawn_places {
  view_values strides;
  std::int64_t origin = 0;
  std::int64_t size = 0;

  drawn_places(std::mt19937& random, const view_values& extents) : strides(extents) {
    std::int64_t stride = draw(random, 1, 2);
    for (const std::size_t i : test::draw_order(random, extents.size())) {
      const std::int64_t steps = std::max<std::int64_t>(extents[i], 1) - 1;
      const bool forwards = test::flip_coin(random);
      strides[i] = forwards ? stride : -stride;
      if (!forwards) origin += steps * stride;
      size += steps * stride;
      stride = stride * (steps + 1) + draw(random, 0, 3) / 3;
    }
    size += 1;
  }
};

template <class T>
T numbered(std::size_t number) {
  T value{};
  std::array<unsigned char, sizeof(T)> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(number >> (8 * (i % 8)) ^ (31 * i));
  }
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

TEST_CASE_TEMPLATE("copy moves between any two views of the same extents", T, std::uint8_t, std::uint16_t,
                   float, std::uint64_t, std::array<std::uint8_t, 3>, std::array<std::uint64_t, 2>) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const auto rank = static_cast<std::size_t>(draw(random, 0, seed % 2 == 0 ? 4 : 16));
    view_values extents;
    for (std::size_t i = 0; i < rank; ++i) {
      extents.push_back(rank <= 4 ? draw(random, 0, 9) : draw(random, 1, rank <= 8 ? 3 : 2));
    }
    const drawn_places from(random, extents);
    const drawn_places to(random, extents);
    std::vector<T> source(static_cast<std::size_t>(from.size));
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = numbered<T>(i);
    std::vector<T> result(static_cast<std::size_t>(to.size), numbered<T>(0xffff));
    std::vector<T> expected = result;
    const tensor_view<const T> input(source.data() + from.origin, extents, from.strides);
    for_each_index(extents, [&](const auto& index) {
      element(tensor_view<T>(expected.data() + to.origin, extents, to.strides), index) =
          element(input, index);
    });
    copy(input, tensor_view<T>(result.data() + to.origin, extents, to.strides));
    CHECK(std::memcmp(result.data(), expected.data(), result.size() * sizeof(T)) == 0);
  }
}

TEST_CASE("copy by several threads gives the same") {
  const std::vector<float> source = examples::count_up(64 * 48 * 40);
  const auto input = tensor_view<const float>(source.data(), {64, 48, 40}).permuted({2, 0, 1});
  std::vector<float> alone(source.size());
  std::vector<float> shared(source.size());
  copy(input, tensor_view<float>(alone.data(), {40, 64, 48}));
  copy(input, tensor_view<float>(shared.data(), {40, 64, 48}), test::thread_executor{3});
  CHECK(alone == shared);
  CHECK(alone[1] == 40);
  CHECK(alone[48] == 48 * 40);
}

TEST_CASE("views write the patches of a vision model, which are nine axes") {
  // "(gt t) c (gh m1 p1) (gw m2 p2) -> (gt gh gw m1 m2) (c t p1 p2)"
  constexpr std::int64_t gt = 2, t = 2, c = 3, gh = 2, gw = 1, m = 2, p = 3;
  const std::vector<float> video =
      examples::count_up(static_cast<std::size_t>(gt * t * c * gh * m * p * gw * m * p));
  const auto patches = tensor_view<const float>(video.data(), {gt * t, c, gh * m * p, gw * m * p})
                           .split(3, {gw, m, p})
                           .split(2, {gh, m, p})
                           .split(0, {gt, t})
                           .permuted({0, 3, 6, 4, 7, 2, 1, 5, 8});
  CHECK(patches.extents() == view_values{gt, gh, gw, m, m, c, t, p, p});
  std::vector<float> result(video.size());
  copy(patches, tensor_view<float>(result.data(), patches.extents()));
  // The second row of the second merged patch, of channel 1 of frame 1
  const std::vector<std::int64_t> index{1, 1, 0, 1, 0, 1, 1, 1, 2};
  const float found = element(tensor_view<float>(result.data(), patches.extents()), index);
  constexpr std::int64_t row = ((t + 1) * c + 1) * (gh * m * p) + (m + 1) * p + 1;
  CHECK(found == static_cast<float>(row * (gw * m * p) + 2));
}

TEST_CASE("a broadcast view is read again and again") {
  const float source[2] = {1, 2};
  std::vector<float> result(2 * 3 * 2);
  const auto input = tensor_view<const float>(source, {2}).broadcast(1, 3).broadcast(0, 2);
  CHECK(input.extents() == view_values{2, 2, 3});
  copy(input, tensor_view<float>(result.data(), {2, 2, 3}));
  CHECK(result == std::vector<float>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
}

TEST_CASE("a view without axes has one element, and one with an extent of 0 has none") {
  const int source = 7;
  int result = 0;
  copy(tensor_view<const int>(&source, {}), tensor_view<int>(&result, {}));
  CHECK(result == 7);
  copy(tensor_view<const int>(nullptr, {3, 0}), tensor_view<int>(nullptr, {3, 0}));
}

TEST_CASE("a refused copy writes nothing") {
  const std::vector<float> source = examples::count_up(24);
  test::strided_tensor<float> result({2, 3, 4}, {12, 4, 1});
  const tensor_view<const float> input(source.data(), {2, 3, 4});
  check_refused(try_copy(input.permuted({1, 0, 2}), result.view()),
                {"destination", "(3, 2, 4)", "(2, 3, 4)"});
  check_refused(try_copy(tensor_view<const float>(source.data(), {2, 3, 4}, {12, 4}), result.view()),
                {"source", "one stride", "(12, 4)"});
  check_refused(try_copy(tensor_view<const float>(source.data(), {2, -3, 4}), result.view()),
                {"source", "negative", "(2, -3, 4)"});
  check_refused(try_copy(tensor_view<const float>(source.data(), view_values::repeat(17, 1)), result.view()),
                {"source", "at most 16 axes", "got 17"});
  // A list of axis_values has lost some of them.
  check_refused(try_copy(tensor_view<const float>(source.data(), axis_values::repeat(12, 1)), result.view()),
                {"source", "at most 9 axes", "got 12"});
  check_refused(
      try_copy(tensor_view<const float>(source.data(), axis_values::repeat(9, 1), axis_values::repeat(12, 1)),
               result.view()),
      {"source", "one stride"});
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  check_refused(try_copy(tensor_view<const float>(source.data(), {2, 3, 4}, {largest, 4, 1}), result.view()),
                {"source", "more than can be addressed"});
  check_refused(try_copy(input, tensor_view<float>(result.view().data(), {2, 3, 4}, {0, 4, 1})),
                {"destination", "overlap itself", "(0, 4, 1)"});
  CHECK_THROWS_AS(copy(input.permuted({1, 0, 2}), result.view()), std::invalid_argument);
  CHECK(result.untouched());

  std::vector<float> both = source;
  const tensor_view<float> all(both.data(), {4, 6});
  check_refused(try_copy(all, all.permuted({1, 0}).split(0, {2, 3})), {"destination", "(4, 6)"});
  check_refused(
      try_copy(tensor_view<float>(both.data(), {3, 3}, {1, 6}), tensor_view<float>(both.data(), {3, 3})),
      {"destination", "must not share memory with source"});
  CHECK(both == source);
}

}  // namespace
}  // namespace reblock
