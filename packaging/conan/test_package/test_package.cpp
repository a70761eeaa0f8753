// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include <reblock/reblock.hpp>

int main() {
  const int depth[4] = {1, 2, 3, 4};
  int space[4] = {};
  reblock::depth_to_space(reblock::tensor_view<const int>(depth, {1, 4, 1, 1}),
                          reblock::tensor_view<int>(space, {1, 1, 2, 2}), 2);
  std::printf("reblock %s: %d %d %d %d\n", reblock::version, space[0], space[1], space[2], space[3]);
  return space[0] == 1 && space[1] == 2 && space[2] == 3 && space[3] == 4 ? 0 : 1;
}
