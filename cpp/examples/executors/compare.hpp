// SPDX-License-Identifier: BSD-3-Clause
//
// What both programs do: unfold and fold on an executor, compared with the same on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <reblock/reblock.hpp>

/// Prints and returns whether the executor, which must run more than one chunk, changes nothing.
template <reblock::executor Executor>
bool changes_nothing(const char* name, Executor executor) {
  constexpr reblock::axis_values image_extents{2, 16, 128, 128};
  constexpr reblock::window window{.sizes = 3, .start_padding = 1, .end_padding = 1};
  constexpr reblock::axis_values columns_extents = reblock::unfold_extents(image_extents, window);

  std::vector<float> image;
  for (int i = 0; i < 2 * 16 * 128 * 128; ++i) image.push_back(1.0f / static_cast<float>(i + 1));
  const auto around = [&](auto&& on) {
    std::vector<float> columns(image.size() * 9);
    std::vector<float> sums(image.size());
    const reblock::tensor_view<float> columns_view(columns.data(), columns_extents);
    reblock::unfold(reblock::tensor_view<const float>(image.data(), image_extents), columns_view, window, on);
    reblock::fold(reblock::tensor_view<const float>(columns.data(), columns_extents),
                  reblock::tensor_view<float>(sums.data(), image_extents), window, on);
    return sums;
  };
  // fold adds the nine terms of a pixel in one order, however its work is split.
  const bool equal = around(executor) == around(reblock::serial_executor{});
  std::printf("%s with %zu threads: %s\n", name, static_cast<std::size_t>(executor.concurrency()),
              equal ? "the same bits as on one" : "WRONG");
  return equal && executor.concurrency() > 1;
}
