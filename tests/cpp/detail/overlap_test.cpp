// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include <reblock/detail/overlap.hpp>

#include "../draw.hpp"
#include "../oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// Adds the bytes of every element; whether one of them was there already.
bool add_bytes(const placement& tensor, std::set<std::int64_t>& bytes) {
  bool twice = false;
  oracle::for_each_index(tensor.extents, [&](const axis_values& index) {
    std::int64_t address = tensor.address;
    for (std::size_t i = 0; i < index.size(); ++i) address += index[i] * tensor.strides[i];
    for (std::int64_t i = 0; i < tensor.element_size; ++i) twice = !bytes.insert(address + i).second || twice;
  });
  return twice;
}

placement draw_placement(std::mt19937& random) {
  const auto axes = static_cast<std::size_t>(draw(random, 1, 4));
  const std::int64_t widest = draw(random, 1, 40);
  return {draw(random, -40, 40), test::draw_values(random, axes, draw(random, 0, 4) == 0 ? 0 : 1, 4),
          test::draw_values(random, axes, -widest, widest), draw(random, 1, 5)};
}

TEST_CASE("overlaps_itself agrees with counting bytes") {
  int overlapping = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const placement tensor = draw_placement(random);
    std::set<std::int64_t> bytes;
    const bool expected = add_bytes(tensor, bytes);
    CHECK(overlaps_itself(tensor.extents, tensor.strides, tensor.element_size) == expected);
    overlapping += expected ? 1 : 0;
  }
  CHECK(overlapping > 300);
  CHECK(overlapping < 2700);
}

TEST_CASE("share_memory agrees with comparing bytes") {
  int sharing = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const placement a = draw_placement(random);
    const placement b = draw_placement(random);
    std::set<std::int64_t> bytes_of_a;
    std::set<std::int64_t> bytes_of_b;
    add_bytes(a, bytes_of_a);
    add_bytes(b, bytes_of_b);
    bool expected = false;
    for (const std::int64_t byte : bytes_of_a) expected = expected || bytes_of_b.contains(byte);
    CHECK(share_memory(a, b) == expected);
    CHECK(share_memory(b, a) == expected);
    sharing += expected ? 1 : 0;
  }
  CHECK(sharing > 300);
  CHECK(sharing < 2700);
}

TEST_CASE("packed tensors of any size are told apart at once") {
  const axis_values extents{1024, 1024, 1024, 1024, 16, 16};
  const axis_values strides{std::int64_t{1} << 38, 1 << 28, 1 << 18, 1 << 8, 16, 1};
  CHECK_FALSE(overlaps_itself(extents, strides, 1));
  CHECK(overlaps_itself(extents, strides, 2));
  const placement first{0, extents, strides, 1};
  const placement next{std::int64_t{1} << 48, extents, strides, 1};
  const placement last_byte{(std::int64_t{1} << 48) - 1, extents, strides, 1};
  CHECK_FALSE(share_memory(first, next));
  CHECK(share_memory(first, last_byte));
}

TEST_CASE("the stride of an axis of extent 1 does not make an overlap") {
  constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
  CHECK_FALSE(overlaps_itself({3, 1, 2}, {2, smallest, 1}, 1));
  CHECK_FALSE(share_memory({0, {2, 1}, {1, smallest}, 1}, {2, {2, 1}, {1, smallest}, 1}));
  CHECK(share_memory({0, {2, 1}, {1, smallest}, 1}, {1, {2, 1}, {1, smallest}, 1}));
}

TEST_CASE("a search that does not end soon answers yes, the safe side") {
  stride_sums few;
  few.add(6, 3);
  few.add(4, 3);
  CHECK(few.reach(10, 10));
  CHECK_FALSE(few.reach(13, 13));
  CHECK_FALSE(few.reach(31, 99));
  stride_sums many;
  for (const std::int64_t stride : {1000002, 1000034, 1000038, 1000040, 1000082, 1000098, 1000118, 1000122}) {
    many.add(stride, 59);
  }
  CHECK(many.reach(200000001, 200000001));  // odd, so it is none of these sums
}

}  // namespace
}  // namespace reblock
