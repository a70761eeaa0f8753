// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/sums/find_functions.hpp>
#include <reblock/detail/sums/sum_functions.hpp>
#include <reblock/detail/sums/summand.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"

namespace reblock {
namespace {

using namespace detail;

struct pair_of_floats {
  float a, b;
};

static_assert(summable<float> && summable<long double> && summable<std::complex<double>>);
static_assert(summable<bool> && summable<std::int8_t> && summable<std::uint64_t>);
static_assert(summable<float16> && summable<bfloat16>);
static_assert(!summable<pair_of_floats> && !summable<void*>);
static_assert(to_float(float16{0x3c00}) == 1.0f && to_float(bfloat16{0x3f80}) == 1.0f);

/// A binary format narrower than float, by its numbers of bits.
struct float16_format {
  using type = float16;
  static constexpr int fraction_bits = 10;
  static constexpr int bias = 15;
  static constexpr std::uint16_t infinity = 0x7c00;
};
struct bfloat16_format {
  using type = bfloat16;
  static constexpr int fraction_bits = 7;
  static constexpr int bias = 127;
  static constexpr std::uint16_t infinity = 0x7f80;
};

/// The value that the format's definition gives to bits without a sign, none of them infinity or NaN.
template <class Format>
double defined_value(std::uint16_t bits) {
  const int exponent = bits >> Format::fraction_bits;
  const int fraction = bits & ((1 << Format::fraction_bits) - 1);
  return exponent == 0 ? std::ldexp(fraction, 1 - Format::bias - Format::fraction_bits)
                       : std::ldexp((1 << Format::fraction_bits) + fraction,
                                    exponent - Format::bias - Format::fraction_bits);
}

template <class Format>
std::uint16_t rounded(double value) {
  typename Format::type result;
  round_to(result, static_cast<float>(value));
  return result.bits;
}

template <class T>
void put_negative_zero(std::byte* place) {
  typename parts_of<T>::type zero{};
  if constexpr (half<T>) {
    zero.bits = 0x8000;
  } else {
    zero = -zero;
  }
  std::memcpy(place, &zero, sizeof(zero));
}

template <class T>
void round_or_cast(T& to, float value) {
  if constexpr (half<T>) {
    round_to(to, value);
  } else {
    to = static_cast<T>(value);
  }
}

TEST_CASE_TEMPLATE("every value of a half format has the float that its definition gives", Format,
                   float16_format, bfloat16_format) {
  for (std::uint32_t all = 0; all <= 0xffff; ++all) {
    const auto bits = static_cast<std::uint16_t>(all);
    const auto magnitude = static_cast<std::uint16_t>(bits & 0x7fff);
    const float value = to_float(typename Format::type{bits});
    CAPTURE(bits);
    CHECK(std::signbit(value) == (bits > 0x7fff));
    if (magnitude > Format::infinity) {
      CHECK(std::isnan(value));
      CHECK((rounded<Format>(value) & 0x7fff) > Format::infinity);
      continue;
    }
    if (magnitude == Format::infinity) {
      CHECK(std::isinf(value));
    } else {
      CHECK(std::abs(static_cast<double>(value)) == defined_value<Format>(magnitude));
    }
    CHECK(rounded<Format>(value) == bits);
  }
}

TEST_CASE_TEMPLATE("a float between two values is rounded to the nearer one, a tie to the even one", Format,
                   float16_format, bfloat16_format) {
  for (std::uint16_t bits = 0; bits < Format::infinity; ++bits) {
    const auto next = static_cast<std::uint16_t>(bits + 1);
    const auto even = bits % 2 == 0 ? bits : next;
    const double low = defined_value<Format>(bits);
    // The bits of infinity, read as a number, are the next power of two.
    const double high = defined_value<Format>(next);
    const auto middle = static_cast<float>((low + high) / 2);
    CAPTURE(bits);
    REQUIRE(static_cast<double>(middle) == (low + high) / 2);
    CHECK(rounded<Format>(middle) == even);
    CHECK(rounded<Format>(-middle) == (even | 0x8000));
    CHECK(rounded<Format>(std::nextafter(middle, 0.0f)) == bits);
    CHECK(rounded<Format>(std::nextafter(middle, std::numeric_limits<float>::max())) == next);
    CHECK(rounded<Format>(-std::nextafter(middle, std::numeric_limits<float>::max())) == (next | 0x8000));
  }
}

TEST_CASE("random floats are rounded to the nearest of all float16 values") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const float value =
        std::ldexp(static_cast<float>(random() & 0xffffff), static_cast<int>(random() % 42) - 50);
    const auto magnitude = static_cast<double>(value);
    double least = std::numeric_limits<double>::infinity();
    for (std::uint16_t bits = 0; bits < float16_format::infinity; ++bits) {
      least = std::min(least, std::abs(defined_value<float16_format>(bits) - magnitude));
    }
    CAPTURE(value);
    CHECK(std::abs(defined_value<float16_format>(rounded<float16_format>(magnitude)) - magnitude) == least);
  }
}

TEST_CASE("values beyond the range become infinite and tiny ones zero") {
  CHECK(rounded<float16_format>(65519.99) == 0x7bff);
  CHECK(rounded<float16_format>(65520.0) == 0x7c00);
  CHECK(rounded<float16_format>(-1e30) == 0xfc00);
  CHECK(rounded<float16_format>(std::ldexp(1.0, -25)) == 0);
  CHECK(rounded<float16_format>(std::numeric_limits<float>::denorm_min()) == 0);
  CHECK(rounded<float16_format>(-std::numeric_limits<float>::denorm_min()) == 0x8000);
  CHECK(rounded<bfloat16_format>(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(rounded<bfloat16_format>(std::numeric_limits<float>::denorm_min()) == 0);
}

TEST_CASE("a NaN whose payload lies in the dropped bits stays a NaN") {
  for (const std::uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fffffffu, 0x7fc00000u, 0x7f801fffu}) {
    CAPTURE(bits);
    const auto value = std::bit_cast<float>(bits);
    float16 half;
    bfloat16 brain;
    round_to(half, value);
    round_to(brain, value);
    CHECK((half.bits & 0x7fff) > 0x7c00);
    CHECK((brain.bits & 0x7fff) > 0x7f80);
  }
}

/// The sum of two terms, by the leaf of their type.
template <class T>
T sum_of(T first, T second) {
  const T values[] = {first, second};
  const term_list::axis axis{2, sizeof(T), 0};
  term_list terms({&axis, 1});
  T result;
  functions_of(summation_of<T>())
      ->sum({{}, {1, sizeof(T), sizeof(T)}, sizeof(T)}, terms, reinterpret_cast<const std::byte*>(values),
            reinterpret_cast<std::byte*>(&result));
  return result;
}

TEST_CASE("integers wrap") {
  CHECK(sum_of<std::int8_t>(127, 1) == -128);
  CHECK(sum_of<std::uint8_t>(200, 100) == 44);
  CHECK(sum_of<std::int16_t>(-32768, -1) == 32767);
  CHECK(sum_of<std::int32_t>(std::numeric_limits<std::int32_t>::max(), 1) ==
        std::numeric_limits<std::int32_t>::min());
  CHECK(sum_of<std::int64_t>(std::numeric_limits<std::int64_t>::max(), 1) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(sum_of<std::uint64_t>(~std::uint64_t{0}, 2) == 1);
}

TEST_CASE("floating point and complex numbers are summed in their own type") {
  CHECK(sum_of<float>(16777216.0f, 1.0f) == 16777216.0f);
  CHECK(sum_of<double>(16777216.0, 1.0) == 16777217.0);
  CHECK(sum_of<long double>(0.5L, 0.25L) == 0.75L);
  CHECK(sum_of(std::complex<float>(1, 2), std::complex<float>(3, -5)) == std::complex<float>(4, -3));
}

TEST_CASE("half floats are summed in float and rounded once") {
  CHECK(sum_of(float16{0x6800}, float16{0x3c00}).bits == 0x6800);    // 2048 + 1 ties to 2048
  CHECK(sum_of(float16{0x6801}, float16{0x3c00}).bits == 0x6802);    // 2050 + 1 ties to 2052
  CHECK(sum_of(bfloat16{0x4380}, bfloat16{0x3f80}).bits == 0x4380);  // 256 + 1 ties to 256
  CHECK(sum_of(float16{0x7bff}, float16{0x7bff}).bits == 0x7c00);
}

TEST_CASE("a sum of bools is a logical or, and any byte but 0 is true") {
  for (const int first : {0, 1, 0xa5}) {
    for (const int second : {0, 1, 0xff}) {
      const std::byte values[] = {static_cast<std::byte>(first), static_cast<std::byte>(second)};
      const term_list::axis axis{2, 1, 0};
      term_list terms({&axis, 1});
      std::byte total{0xff};
      functions_of(summation_of<bool>())->sum({{}, {1, 1, 1}, 1}, terms, values, &total);
      CHECK(static_cast<int>(total) == (first != 0 || second != 0 ? 1 : 0));
    }
  }
}

TEST_CASE_TEMPLATE("0 is added to contiguous terms, in place or not, in registers of each width", T, float,
                   double, float16, bfloat16, bool, std::complex<double>) {
  const std::size_t part = sizeof(typename parts_of<T>::type);
  for (const unsigned seed : test::seeds(300, 40)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto count = static_cast<std::size_t>(test::draw(random, 1, 200));
    const auto first = static_cast<std::size_t>(test::draw(random, 0, 63));
    const std::size_t size = count * sizeof(T);
    std::vector<std::byte> terms(first + size + 64, std::byte{1});
    std::vector<std::byte> expected = terms;
    for (std::size_t at = first; at < first + size; at += part) {
      // NaN would leave open which NaN is the sum
      const int kind = static_cast<int>(test::draw(random, 0, 3));
      typename parts_of<T>::type term{};
      if constexpr (std::is_same_v<T, bool>) {
        const auto byte = static_cast<std::byte>(kind == 0 ? 0 : test::draw(random, 1, 255));
        terms[at] = byte;
        expected[at] = byte == std::byte{} ? std::byte{0} : std::byte{1};
      } else {
        if (kind > 1) round_or_cast(term, static_cast<float>(test::draw(random, -100, 100)));
        std::memcpy(terms.data() + at, &term, part);
        std::memcpy(expected.data() + at, &term, part);
        if (kind == 0) put_negative_zero<T>(terms.data() + at);
      }
    }
    tile t;
    t.element_size = sizeof(T);
    t.inner = {static_cast<std::int64_t>(count), sizeof(T), sizeof(T)};
    std::vector<std::byte> sums(terms.size(), std::byte{1});
    add_to_zero<T>(t, terms.data() + first, sums.data() + first);
    CHECK(sums == expected);
    add_to_zero<T>(t, terms.data() + first, terms.data() + first);
    CHECK(terms == expected);
  }
}

TEST_CASE("types that have the same sums are summed by the same functions") {
  CHECK(summand_of<std::int8_t>() == summand_of<char>());
  CHECK(summand_of<std::int64_t>() == summand_of<std::uint64_t>());
  CHECK(summand_of<std::complex<float>>() == summand_of<float>());
  CHECK(summation_of<std::complex<float>>().is_pair);
  CHECK_FALSE(summation_of<float>().is_pair);
  CHECK(summand_of<bool>() != summand_of<std::uint8_t>());
}

TEST_CASE("every data type has a summand") {
  for (std::uint32_t value = 1; value <= 11; ++value) {
    const auto type = static_cast<data_type>(value);
    INFO(name(type));
    CHECK((find_sum_functions<single_part, summand::integer8, summand::integer16, summand::integer32,
                              summand::integer64, summand::half_float, summand::single_float,
                              summand::double_float>(summand_of(type)) != nullptr));
  }
}

}  // namespace
}  // namespace reblock
