// SPDX-License-Identifier: BSD-3-Clause
//
// A first program: every operator once, without exceptions.
#include <cstdint>
#include <vector>

#include <reblock/reblock.hpp>

int main() {
  const std::vector<float> depth(48, 1.0F);
  std::vector<float> space(48), columns(48), image(48);
  std::vector<std::uint8_t> bytes(48);
  const auto x = reblock::tensor_view<const float>(depth.data(), {1, 8, 2, 3});
  const auto y = reblock::tensor_view<float>(space.data(), {1, 2, 4, 6});
  const auto rows = reblock::tensor_view<float>(columns.data(), {1, 8, 6});
  const auto z = reblock::tensor_view<float>(image.data(), {1, 2, 4, 6});
  const auto b = reblock::tensor_view<std::uint8_t>(bytes.data(), {1, 2, 4, 6});
  const reblock::window tiles{.sizes = 2, .strides = 2};

  if (!reblock::try_depth_to_space(x, y, 2)) return 1;
  if (!reblock::try_unfold(y, rows, tiles)) return 2;
  const reblock::fold_options mean{.reduction = reblock::fold_reduction::mean};
  if (!reblock::try_fold(rows, z, tiles, mean)) return 3;
  if (!reblock::try_copy(z, b, reblock::conversion{})) return 4;
  return image == depth && bytes[47] == 1 ? 0 : 5;
}
