// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string_view>

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

overlap either(bool exists) { return exists ? overlap::exists : overlap::none; }

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
    CHECK(overlaps_itself(tensor.extents, tensor.strides, tensor.element_size) == either(expected));
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
    CHECK(share_memory(a, b) == either(expected));
    CHECK(share_memory(b, a) == either(expected));
    sharing += expected ? 1 : 0;
  }
  CHECK(sharing > 300);
  CHECK(sharing < 2700);
}

TEST_CASE("packed tensors of any size are told apart at once") {
  const axis_values extents{1024, 1024, 1024, 1024, 16, 16};
  const axis_values strides{std::int64_t{1} << 38, 1 << 28, 1 << 18, 1 << 8, 16, 1};
  CHECK(overlaps_itself(extents, strides, 1) == overlap::none);
  CHECK(overlaps_itself(extents, strides, 2) == overlap::exists);
  const placement first{0, extents, strides, 1};
  const placement next{std::int64_t{1} << 48, extents, strides, 1};
  const placement last_byte{(std::int64_t{1} << 48) - 1, extents, strides, 1};
  CHECK(share_memory(first, next) == overlap::none);
  CHECK(share_memory(first, last_byte) == overlap::exists);
}

TEST_CASE("the stride of an axis of extent 1 does not make an overlap") {
  using test::smallest;
  CHECK(overlaps_itself({3, 1, 2}, {2, smallest, 1}, 1) == overlap::none);
  CHECK(share_memory({0, {2, 1}, {1, smallest}, 1}, {2, {2, 1}, {1, smallest}, 1}) == overlap::none);
  CHECK(share_memory({0, {2, 1}, {1, smallest}, 1}, {1, {2, 1}, {1, smallest}, 1}) == overlap::exists);
}

/// Strides that have no factor in common.
constexpr std::int64_t modulus = 10007;
constexpr std::int64_t strides_of_one[] = {101, 103, 107, 109, 113, 127, 131, 137};

TEST_CASE("sums of strides reach an interval or do not") {
  stride_sums few;
  few.add(6, 3);
  few.add(4, 1);
  few.add(4, 2);
  CHECK(few.reach(10, 10) == overlap::exists);
  CHECK(few.reach(30, 99) == overlap::exists);
  CHECK(few.reach(-5, 0) == overlap::exists);
  CHECK(few.reach(2, 3) == overlap::none);
  CHECK(few.reach(13, 13) == overlap::none);
  CHECK(few.reach(31, 99) == overlap::none);
  CHECK(few.reach(-5, -1) == overlap::none);
}

TEST_CASE("sums of many strides with a common factor are multiples of it") {
  stride_sums many;
  for (const std::int64_t factor : strides_of_one) many.add(modulus * factor, 59);
  CHECK(many.reach(20'000 * modulus + 1, 20'001 * modulus - 1) == overlap::none);
  CHECK(many.reach(20'000 * modulus, 20'001 * modulus - 1) == overlap::exists);
}

TEST_CASE("a search that takes too long says that it does not know") {
  // A sum of n steps leaves the remainder n, and there are fewer than modulus - 1 steps in all: none is reached.
  stride_sums many;
  for (const std::int64_t factor : strides_of_one) many.add(modulus * factor + 1, 59);
  CHECK(many.reach(20'001 * modulus - 1, 20'001 * modulus - 1) == overlap::unknown);
  CHECK(std::string_view(doubt(overlap::unknown)) == "; for these strides that takes too long to tell");
  CHECK(std::string_view(doubt(overlap::exists)).empty());
}

TEST_CASE("tensors of irregular strides are told apart") {
  const axis_values extents{30, 30, 30, 30};
  const axis_values strides{1'874'563, 1'543'217, 1'187'911, 1'000'099};
  // The nearest two elements are 6 bytes apart.
  CHECK(overlaps_itself(extents, strides, 6) == overlap::none);
  CHECK(overlaps_itself(extents, strides, 7) == overlap::exists);
}

}  // namespace
}  // namespace reblock
