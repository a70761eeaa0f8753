// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/axis_values.hpp>

namespace reblock {
namespace {

static_assert(axis_values{}.empty());
static_assert(axis_values{4, 5}.size() == 2 && axis_values{4, 5}[1] == 5);
static_assert(axis_values::repeat(3, 7) == axis_values{7, 7, 7});
static_assert(axis_values{1, 2} != axis_values{1, 3});
static_assert(axis_values{1, 2} != axis_values{1, 2, 3});

static_assert(view_values(axis_values{1, 2}) == axis_values{1, 2});
static_assert(axis_values(view_values::repeat(16, 1)).given() == 16);

static_assert(spatial_values(2).expand(3) == axis_values{2, 2, 2});
static_assert(spatial_values{2, 3}.expand(2) == axis_values{2, 3});
static_assert(spatial_values(2).uniform() && !spatial_values{2}.uniform());
static_assert(spatial_values(2) != spatial_values{2});
static_assert(spatial_values(axis_values{2, 3}) == spatial_values{2, 3});

TEST_CASE("axis_values iterates over what was pushed back") {
  axis_values values;
  for (std::int64_t i = 0; i < 8; ++i) values.push_back(i * i);
  CHECK(std::vector<std::int64_t>(values.begin(), values.end()) ==
        std::vector<std::int64_t>{0, 1, 4, 9, 16, 25, 36, 49});
  values[3] = -1;
  CHECK(values[3] == -1);
}

TEST_CASE("axis_values keeps one value more than a tensor has axes and counts the rest") {
  axis_values values = axis_values::repeat(max_rank + 1, 2);
  CHECK(values.size() == max_rank + 1);
  CHECK(values.given() == max_rank + 1);
  values.push_back(3);
  CHECK(values.size() == max_rank + 1);
  CHECK(values.given() == max_rank + 2);
  CHECK(values == axis_values::repeat(max_rank + 1, 2));
}

TEST_CASE("view_values has room for the axes of a view") {
  CHECK(view_values::repeat(16, 2).size() == max_view_rank);
  CHECK(axis_values(view_values::repeat(16, 2)) == axis_values::repeat(max_rank + 1, 2));
}

TEST_CASE("spatial_values fits any number of axes or exactly one number") {
  for (std::size_t axes = 1; axes <= 6; ++axes) {
    CHECK(spatial_values(4).fits(axes));
    CHECK(spatial_values{1, 2, 3}.fits(axes) == (axes == 3));
  }
  CHECK(spatial_values{1, 2, 3}.values() == axis_values{1, 2, 3});
}

}  // namespace
}  // namespace reblock
