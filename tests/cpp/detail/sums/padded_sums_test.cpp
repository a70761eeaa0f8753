// SPDX-License-Identifier: BSD-3-Clause
//
// Folds with padding modes whose image is long beside its padding: plain sums of all positions come first, and the positions
// with terms from the padding are summed again.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/window.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../../executors.hpp"
#include "../../oracle.hpp"
#include "../../strided_tensor.hpp"

namespace reblock {
namespace {

using test::draw;
using test::strided_tensor;

/// The sums, weighted sums, means and maxima of each position, term by term.
template <class T>
struct results_by_definition {
  oracle::tensor<T> sums;
  oracle::tensor<T> weighted;
  oracle::tensor<T> means;
  oracle::tensor<T> largest;

  results_by_definition(const oracle::tensor<T>& columns, const axis_values& image, const window& w,
                        const std::vector<double>& weights)
      : sums(image), weighted(image), means(image), largest(image) {
    oracle::tensor<std::int64_t> counts(image);
    const auto offsets = static_cast<std::int64_t>(weights.size());
    oracle::for_each_window_pair(
        image, w, 1, [&](const axis_values& from, const axis_values& unbounded, bool) {
          axis_values to = unbounded;
          for (std::size_t i = 2; i < to.size(); ++i) to[i] = oracle::inside(to[i], image[i], w.padding_mode);
          const T term = columns.at(from);
          largest.at(to) = counts.at(to) == 0 ? term : std::max(largest.at(to), term);
          counts.at(to) += 1;
          sums.at(to) = static_cast<T>(sums.at(to) + term);
          const double weight = weights[static_cast<std::size_t>(from[1] % offsets)];
          weighted.at(to) = static_cast<T>(weighted.at(to) + static_cast<T>(weight) * term);
        });
    for (std::size_t i = 0; i < means.values.size(); ++i) {
      const double mean = static_cast<double>(sums.values[i]) /
                          static_cast<double>(std::max<std::int64_t>(counts.values[i], 1));
      means.values[i] = static_cast<T>(std::is_integral_v<T> ? std::nearbyint(mean) : mean);
    }
  }
};

TEST_CASE_TEMPLATE("positions at the ends have the terms that the mode gives them", T, std::int16_t,
                   std::int32_t, float, double) {
  for (const unsigned seed : test::seeds(200, 40)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const auto axes = static_cast<std::size_t>(draw(random, 1, 3));
    const axis_values spatial = test::draw_values(random, axes, axes == 3 ? 4 : 8,
                                                  axes == 1   ? 300
                                                  : axes == 2 ? 40
                                                              : 9);
    window w{.sizes = test::draw_values(random, axes, 1, 4),
             .strides = test::draw_values(random, axes, 1, 3),
             .dilations = test::draw_values(random, axes, 1, 2),
             .start_padding = test::draw_values(random, axes, 0, 2),
             .end_padding = test::draw_values(random, axes, 0, 2)};
    const axis_values counts = oracle::block_counts(spatial, w);
    if (std::any_of(counts.begin(), counts.end(), [](std::int64_t count) { return count < 1; })) continue;
    const axis_values image = oracle::join(draw(random, 1, 2), draw(random, 1, 5), spatial, 1);
    for (const padding_mode mode :
         {padding_mode::reflection, padding_mode::edge, padding_mode::symmetric, padding_mode::wrap}) {
      CAPTURE(static_cast<int>(mode));
      w.padding_mode = mode;
      const axis_values extents = unfold_extents(image, w);
      const auto terms = test::draw_integers<T>(random, extents);
      const bool is_plain = test::flip_coin(random);  // in C order
      const auto strides_of = [&](const axis_values& all) {
        axis_values strides = all;
        std::int64_t stride = 1;
        for (std::size_t i = all.size(); i-- > 0; stride *= all[i]) strides[i] = stride;
        return is_plain ? strides : test::draw_strides(random, all);
      };
      const strided_tensor<T> columns(terms, strides_of(extents));
      const axis_values sizes = w.sizes.expand(axes);
      std::vector<double> weights(static_cast<std::size_t>(oracle::volume(sizes)));
      for (double& weight : weights) weight = static_cast<double>(draw(random, 0, 4));
      const results_by_definition<T> expected(terms, image, w, weights);
      const auto check = [&](const oracle::tensor<T>& wanted, const fold_options& options) {
        strided_tensor<T> result(image, strides_of(image));  // full of guards
        fold(columns.view(), result.view(), w, options, test::backward_executor{3});
        CHECK(result.holds_exactly(wanted));
      };
      check(expected.sums, {});
      check(expected.weighted, {.weights = tensor_view<const double>(weights.data(), sizes)});
      check(expected.means, {.reduction = fold_reduction::mean});
      check(expected.largest, {.reduction = fold_reduction::max});
    }
  }
}

}  // namespace
}  // namespace reblock
