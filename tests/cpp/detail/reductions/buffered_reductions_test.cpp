// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions whose terms or accumulators have a buffer, for windows and orders of memory of any kind.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/reductions/brought_reduction.hpp>
#include <reblock/detail/reductions/find_reduction.hpp>
#include <reblock/detail/reductions/reduced_rows.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/reductions/scattered_accumulators.hpp>
#include <reblock/detail/reductions/scattered_reduction.hpp>
#include <reblock/detail/sums/gather.hpp>
#include <reblock/fold_options.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../drawn_sums.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::drawn_sums;
using test::strided_bytes;

/// Calls visit(column, position) for each term inside the image: numbers of elements in C order.
template <class Visit>
void for_each_term(const drawn_sums& sums, const Visit& visit) {
  const std::vector<std::int64_t> extents = sums.column_extents();
  std::vector<std::int64_t> index(extents.size());
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  for (std::int64_t number = 0; number < count; ++number) {
    std::int64_t rest = number;
    for (std::size_t i = extents.size(); i-- > 0; rest /= extents[i]) index[i] = rest % extents[i];
    std::int64_t position = index[0] * sums.image[1] + index[1];
    bool is_inside = true;
    for (std::size_t d = 0; d < sums.spatial(); ++d) {
      const test::windows_along& axis = sums.axes[d];
      const std::int64_t at =
          index[2 + sums.spatial() + d] * axis.stride + index[2 + d] * axis.dilation - axis.padding;
      is_inside = is_inside && at >= 0 && at < axis.extent;
      position = position * axis.extent + at;
    }
    if (is_inside) visit(static_cast<std::size_t>(number), static_cast<std::size_t>(position));
  }
}

/// The mean, rounded to nearest, ties to even, or the greatest term; 0 without terms.
std::int16_t result_of(const std::vector<std::int16_t>& terms, fold_reduction by) {
  if (terms.empty()) return 0;
  if (by == fold_reduction::max) return *std::ranges::max_element(terms);
  std::int64_t sum = 0;
  for (const std::int16_t term : terms) sum += term;
  return static_cast<std::int16_t>(
      std::nearbyint(static_cast<double>(sum) / static_cast<double>(terms.size())));
}

template <class T>
strided_bytes drawn_columns(std::mt19937& random, const drawn_sums& sums) {
  strided_bytes columns(sums.column_extents(), sums.column_strides, sums.element_size);
  for (std::size_t i = 0; i < columns.elements(); ++i) {
    const T term = test::draw_term<T>(random);
    std::memcpy(columns.element(i), &term, sizeof(T));
  }
  return columns;
}

/// Fills all boxes, those of some threads one after the other.
template <class Sums>
void fill_all(const Sums& sums, const strided_bytes& columns, strided_bytes& image) {
  const std::int64_t half = sums.boxes() / 2;
  fill_boxes(sums, {half, sums.boxes()}, columns.first(), image.first());
  fill_boxes(sums, {0, half}, columns.first(), image.first());
}

TEST_CASE_TEMPLATE("means and maxima follow their definition, and nothing else is written", Way,
                   brought_reduction, scattered_reduction) {
  std::size_t tried = 0;
  for (const unsigned seed : test::seeds(400, 40)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const drawn_sums sums = test::draw_sums(random, sizeof(std::int16_t), 20000);
    reducer how{reduction_of<std::int16_t, std::int16_t>()};
    complete(how.types);
    how.by = test::flip_coin(random) ? fold_reduction::mean : fold_reduction::max;
    sum_request request = sums.request();
    request.reduce = &how;
    const Way way(request);
    if (way.cost() == never) continue;
    ++tried;
    const strided_bytes columns = drawn_columns<std::int16_t>(random, sums);
    strided_bytes image(sums.image, sums.image_strides, sums.element_size);
    strided_bytes expected = image;
    std::vector<std::vector<std::int16_t>> terms(expected.elements());
    for_each_term(sums, [&](std::size_t column, std::size_t position) {
      std::int16_t term;
      std::memcpy(&term, columns.element(column), sizeof(term));
      terms[position].push_back(term);
    });
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const std::int16_t result = result_of(terms[i], how.by);
      std::memcpy(expected.element(i), &result, sizeof(result));
    }
    fill_all(way, columns, image);
    CHECK(image == expected);
  }
  CHECK(tried > 0);
}

/// Compares a way with a reduction of the columns in place.
template <class Way, class T>
void compare_bits() {
  std::size_t tried = 0;
  for (const unsigned seed : test::seeds(200, 20)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const drawn_sums sums = test::draw_sums(random, sizeof(T), 20000);
    reducer how{reduction_of<T, T>()};
    complete(how.types);
    how.by = test::flip_coin(random) ? fold_reduction::mean : fold_reduction::sum;
    how.accumulates = how.by == fold_reduction::sum && test::flip_coin(random);
    // products of weights that are no integers, and sums of them, are rounded
    const double divisor = test::flip_coin(random) ? 7 : 1;
    const auto draw_weights = [&random, divisor](std::int64_t count) {
      std::vector<double> weights;
      for (std::int64_t i = 0; i < count; ++i)
        weights.push_back(static_cast<double>(draw(random, 0, 99)) / divisor);
      return weights;
    };
    std::vector<std::vector<double>> along;
    axis_values sizes;
    std::int64_t count = 1;
    for (const test::windows_along& axis : sums.axes) {
      along.push_back(draw_weights(axis.size));
      sizes.push_back(axis.size);
      count *= axis.size;
    }
    const std::vector<double> whole = draw_weights(count);
    how.weights = tensor_view<const double>(whole.data(), sizes);
    if (test::flip_coin(random) && how.by == fold_reduction::mean) how.weights = {};
    if (sums.spatial() == 2 && test::flip_coin(random)) how.weights = {along[0], along[1]};
    if (sums.spatial() == 3 && test::flip_coin(random)) how.weights = {along[0], along[1], along[2]};
    if (how.by == fold_reduction::sum) find_largest_weight(how);
    sum_request request = sums.request();
    request.reduce = &how;
    request.accumulates = how.accumulates;
    const Way way(request);
    if (way.cost() == never) continue;
    ++tried;
    const strided_bytes columns = drawn_columns<T>(random, sums);
    strided_bytes image(sums.image, sums.image_strides, sums.element_size);
    for (std::size_t i = 0; i < image.elements(); ++i) {
      const T before = test::draw_term<T>(random);
      std::memcpy(image.element(i), &before, sizeof(T));
    }
    strided_bytes expected = image;
    fill_all(way, columns, image);
    fill_all(gather(request, nullptr), columns, expected);
    CHECK(image == expected);
  }
  CHECK(tried > 0);
}

TEST_CASE_TEMPLATE("a buffer changes no bit of a reduction", T, std::uint8_t, std::int16_t, std::int32_t,
                   float16, float, double, std::complex<float>) {
  compare_bits<brought_reduction, T>();
  compare_bits<scattered_reduction, T>();
}

}  // namespace
}  // namespace reblock
