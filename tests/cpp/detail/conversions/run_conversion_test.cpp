// SPDX-License-Identifier: BSD-3-Clause
//
// Conversions of runs for every pair of types and every instruction set, bit for bit against the definition.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/conversions/run_conversion.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../drawn_moves.hpp"

namespace reblock {
namespace {

using namespace detail;
using enum element_type;
using bytes = std::vector<std::byte>;

constexpr element_type all_types[] = {boolean,
                                      uint8,
                                      int8,
                                      uint16,
                                      int16,
                                      uint32,
                                      int32,
                                      uint64,
                                      int64,
                                      element_type::float16,
                                      element_type::bfloat16,
                                      float32,
                                      float64};

/// A binary format of floating point, as its definition gives it.
struct format {
  int fraction_bits;
  int least_exponent;
  std::size_t size;

  int greatest_exponent() const { return 1 - least_exponent; }
};
format format_of(element_type type) {
  switch (type) {
    case element_type::float16: return {10, -14, 2};
    case element_type::bfloat16: return {7, -126, 2};
    case float32: return {23, -126, 4};
    default: return {52, -1022, 8};
  }
}

bool is_signed(element_type type) { return type == int8 || type == int16 || type == int32 || type == int64; }

/// An element's number: of an integer or bool a sign and a magnitude, otherwise a double.
struct number {
  bool is_whole = false;
  bool is_negative = false;
  std::uint64_t magnitude = 0;
  double value = 0;
};

std::uint64_t bits_at(const std::byte* place, std::size_t size) {
  std::uint8_t one;
  std::uint16_t two;
  std::uint32_t four;
  std::uint64_t eight;
  switch (size) {
    case 1: return std::memcpy(&one, place, 1), one;
    case 2: return std::memcpy(&two, place, 2), two;
    case 4: return std::memcpy(&four, place, 4), four;
    default: return std::memcpy(&eight, place, 8), eight;
  }
}

void put_bits(std::byte* place, std::size_t size, std::uint64_t bits) {
  const auto one = static_cast<std::uint8_t>(bits);
  const auto two = static_cast<std::uint16_t>(bits);
  const auto four = static_cast<std::uint32_t>(bits);
  switch (size) {
    case 1: std::memcpy(place, &one, 1); break;
    case 2: std::memcpy(place, &two, 2); break;
    case 4: std::memcpy(place, &four, 4); break;
    default: std::memcpy(place, &bits, 8);
  }
}

number read_number(element_type type, const std::byte* place) {
  const std::size_t size = size_of(type);
  const auto digits = static_cast<int>(8 * size);
  const std::uint64_t bits = bits_at(place, size);
  if (type == boolean) return {true, false, bits != 0 ? 1u : 0u};
  if (!is_floating(type)) {
    if (!is_signed(type) || bits >> (digits - 1) == 0) return {true, false, bits};
    return {true, true, (0 - bits) & (~std::uint64_t{0} >> (64 - digits))};
  }
  const format f = format_of(type);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << f.fraction_bits) - 1);
  const std::uint64_t sign = std::uint64_t{1} << (digits - 1);
  const auto exponent = static_cast<int>((bits & ~sign) >> f.fraction_bits);
  double value = 0;
  if (exponent + f.least_exponent - 1 > f.greatest_exponent()) {
    value =
        fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(fraction), f.least_exponent - f.fraction_bits);
  } else {
    value = std::ldexp(static_cast<double>(fraction | std::uint64_t{1} << f.fraction_bits),
                       f.least_exponent + exponent - 1 - f.fraction_bits);
  }
  return {false, false, 0, (bits & sign) != 0 ? -value : value};
}

/// The integer nearest to magnitude / 2^lost, ties to even.
std::uint64_t divided(std::uint64_t magnitude, int lost) {
  const std::uint64_t half_way = std::uint64_t{1} << (lost - 1);
  const std::uint64_t rest = magnitude & (2 * half_way - 1);
  const std::uint64_t kept = lost == 64 ? 0 : magnitude >> lost;
  return kept + (rest > half_way || (rest == half_way && kept % 2 != 0) ? 1 : 0);
}

/// Writes the nearest element of a floating type, ties to even.
void put_floating(element_type type, std::byte* place, const number& from) {
  const format f = format_of(type);
  const auto digits = static_cast<int>(8 * f.size);
  const bool is_negative = from.is_whole ? from.is_negative : std::signbit(from.value);
  const std::uint64_t sign = is_negative ? std::uint64_t{1} << (digits - 1) : 0;
  const auto infinity = static_cast<std::uint64_t>(2 * f.greatest_exponent() + 1) << f.fraction_bits;
  std::uint64_t bits = 0;
  if (!from.is_whole && std::isnan(from.value)) {
    bits = infinity | std::uint64_t{1} << (f.fraction_bits - 1);
  } else if (!from.is_whole && std::isinf(from.value)) {
    bits = infinity;
  } else if (from.is_whole ? from.magnitude != 0 : from.value != 0) {
    // value = whole * 2^exponent, with an exact integer
    std::uint64_t whole = from.magnitude;
    int exponent = 0;
    if (!from.is_whole)
      whole = static_cast<std::uint64_t>(std::ldexp(std::abs(std::frexp(from.value, &exponent)), 53));
    if (!from.is_whole) exponent -= 53;
    const int first = exponent + static_cast<int>(std::bit_width(whole)) - 1;  // of the leading digit
    const int last = std::max(first, f.least_exponent) - f.fraction_bits;  // of the last digit that is kept
    const int lost = last - exponent;
    const std::uint64_t kept = lost > 64 ? 0 : lost > 0 ? divided(whole, lost) : whole << -lost;
    // counting up from zero, a carry goes into the exponent
    bits = kept + (static_cast<std::uint64_t>(std::max(first, f.least_exponent) - f.least_exponent)
                   << f.fraction_bits);
    bits = std::min(bits, infinity);
  }
  put_bits(place, f.size, sign | bits);
}

void put_cast(element_type type, std::byte* place, const number& from) {
  const std::size_t size = size_of(type);
  if (is_floating(type)) return put_floating(type, place, from);
  if (type == boolean) {
    const bool is_zero = from.is_whole ? from.magnitude == 0 : std::fpclassify(from.value) == FP_ZERO;
    return put_bits(place, 1, is_zero ? 0 : 1);
  }
  if (from.is_whole) return put_bits(place, size, from.is_negative ? 0 - from.magnitude : from.magnitude);
  if (std::isnan(from.value)) return put_bits(place, size, 0);
  const double nearest = std::nearbyint(from.value);
  const auto digits = static_cast<int>(8 * size) - (is_signed(type) ? 1 : 0);
  const std::uint64_t most = ~std::uint64_t{0} >> (64 - digits);
  if (nearest < 0 && !is_signed(type)) return put_bits(place, size, 0);
  if (nearest < -std::ldexp(1.0, digits)) return put_bits(place, size, ~most);
  if (nearest >= std::ldexp(1.0, digits)) return put_bits(place, size, most);
  const auto magnitude = static_cast<std::uint64_t>(std::abs(nearest));
  put_bits(place, size, nearest < 0 ? 0 - magnitude : magnitude);
}

/// x * scale + bias in double, or in float.
number with_factors(const number& x, double scale, double bias, bool is_double) {
  double value = x.is_whole ? static_cast<double>(x.magnitude) * (x.is_negative ? -1 : 1) : x.value;
  if (is_double) {
    volatile const double product = value * scale;
    volatile const double sum = product + bias;
    value = sum;
  } else {
    volatile const float product = static_cast<float>(value) * static_cast<float>(scale);
    volatile const float sum = product + static_cast<float>(bias);
    value = static_cast<double>(sum);
  }
  return {false, false, 0, value};
}

/// Elements of every value of types of 8 bits, every `step`-th of those of 16 bits; otherwise of random values and those
/// at which something changes.
bytes elements_of(element_type type, std::uint64_t step = 1) {
  bytes elements;
  const std::size_t size = size_of(type);
  const auto digits = static_cast<unsigned>(8 * size);
  const auto add = [&](std::uint64_t bits) {
    elements.resize(elements.size() + size);
    put_bits(elements.data() + elements.size() - size, size, bits);
  };
  if (type == boolean) {
    for (unsigned i = 0; i < 99; ++i) add(i % 3 == 0 ? 1 : 0);
    return elements;
  }
  if (size <= 2) {
    for (std::uint64_t bits = 0; bits >> digits == 0; bits += size == 1 ? 1 : step) add(bits);
    return elements;
  }
  std::mt19937_64 random(1);
  const auto add_with_sign = [&](std::uint64_t bits) {
    add(bits);
    add(is_floating(type) ? bits ^ std::uint64_t{1} << (digits - 1) : 0 - bits);
  };
  const auto add_near = [&](std::uint64_t bits) {
    for (const std::uint64_t near : {bits - 1, bits, bits + 1}) add_with_sign(near);
  };
  const int count = test::is_thorough() ? 500'000 : 4'000;
  for (int i = 0; i < count; ++i) {
    add(random());
    add_with_sign(random() >> (random() % digits));
    // ties of narrower formats, and their neighbours: few leading ones, then zeros
    const std::uint64_t leading = random() % digits;
    add_near(random() >> (64 - digits) >> leading << leading);
  }
  for (unsigned bit = 0; bit < digits; ++bit) {
    add_near(std::uint64_t{1} << bit);
    for (const unsigned kept : {7u, 8u, 10u, 11u, 23u, 24u, 52u, 53u}) {
      if (bit >= kept) add_near((std::uint64_t{1} << bit) + (std::uint64_t{1} << (bit - kept)));
    }
  }
  if (!is_floating(type)) return elements;
  const auto add_value = [&](double value) {
    std::byte place[8];
    put_floating(type, place, {false, false, 0, value});
    add_near(bits_at(place, size));
  };
  for (int exponent = -160; exponent <= 130; ++exponent) {
    for (const double part : {1.0, 1.25, 1.5, 1.75, 0x1.ffep0, 0x1.ffcp0, 0x1.ffp0, 0x1.fep0}) {
      add_value(std::ldexp(part, exponent));
    }
  }
  for (int i = -66'000; i <= 66'000; i += test::is_thorough() ? 1 : 97) {
    for (const double fraction : {0.0, 0.5, 0.4375}) add_value(i + fraction);
  }
  for (const double value :
       {0.0, 65504.0, 65520.0, static_cast<double>(std::numeric_limits<float>::max()),
        std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    add_value(value);
  }
  return elements;
}

/// The text of the first difference between the elements, or nothing. Any NaN is as good as another.
std::string difference(element_type from, element_type to, const bytes& source, const bytes& expected,
                       const bytes& got) {
  const std::size_t size = size_of(to);
  for (std::size_t i = 0; i < expected.size() / size; ++i) {
    const std::byte* const wanted = expected.data() + i * size;
    if (std::memcmp(wanted, got.data() + i * size, size) == 0) continue;
    if (std::isnan(read_number(to, wanted).value) && std::isnan(read_number(to, got.data() + i * size).value))
      continue;
    return "element " + std::to_string(i) + " with bits " +
           std::to_string(bits_at(source.data() + i * size_of(from), size_of(from))) + " has to become " +
           std::to_string(bits_at(wanted, size)) + ", not " +
           std::to_string(bits_at(got.data() + i * size, size));
  }
  return "";
}

template <class Convert>
void check(element_type from, element_type to, bool has_factors, const bytes& source, const bytes& expected,
           const Convert& convert) {
  CAPTURE(from);
  CAPTURE(to);
  for (const instruction_set set : test::all_instruction_sets()) {
    CAPTURE(std::string(name_of(set)));
    bytes got(expected.size());
    convert(run_conversion(from, to, has_factors, set), got.data());
    CHECK(difference(from, to, source, expected, got) == "");
  }
}

bytes defined_cast(element_type from, element_type to, const bytes& source) {
  const std::size_t count = source.size() / size_of(from);
  bytes expected(count * size_of(to));
  for (std::size_t i = 0; i < count; ++i) {
    put_cast(to, expected.data() + i * size_of(to), read_number(from, source.data() + i * size_of(from)));
  }
  return expected;
}

TEST_CASE("every pair of types converts as defined, without scale and bias") {
  for (const element_type from : all_types) {
    const bytes source = elements_of(from);
    const std::size_t count = source.size() / size_of(from);
    for (const element_type to : all_types) {
      const bytes expected = from == to ? source : defined_cast(from, to, source);
      check(from, to, false, source, expected,
            [&](const run_conversion& convert, std::byte* got) { convert(source.data(), got, count); });
    }
  }
}

/// Scale and bias of every element.
template <class Value>
struct drawn_factors {
  explicit drawn_factors(std::size_t count) {
    std::mt19937 random(2);
    for (std::size_t i = 0; i < count; ++i) {
      scale.push_back(static_cast<Value>(test::draw(random, -300, 300)) / Value(255));
      bias.push_back(static_cast<Value>(test::draw(random, -999, 999)) / Value(7));
    }
  }
  run_factors each() const {
    return {reinterpret_cast<const std::byte*>(scale.data()), reinterpret_cast<const std::byte*>(bias.data()),
            sizeof(Value)};
  }
  std::vector<Value> scale;
  std::vector<Value> bias;
};

template <class Value>
void check_factors(element_type from, element_type to, const bytes& source) {
  const std::size_t count = source.size() / size_of(from);
  const drawn_factors<Value> drawn(count);
  const repeated_factors<Value> first(drawn.scale[0], drawn.bias[0]);
  for (const bool has_each : {false, true}) {
    bytes expected(count * size_of(to));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t k = has_each ? i : 0;
      const number x = read_number(from, source.data() + i * size_of(from));
      put_cast(to, expected.data() + i * size_of(to),
               with_factors(x, static_cast<double>(drawn.scale[k]), static_cast<double>(drawn.bias[k]),
                            std::is_same_v<Value, double>));
    }
    check(from, to, true, source, expected, [&](const run_conversion& convert, std::byte* got) {
      convert(source.data(), got, count, has_each ? drawn.each() : first.all());
    });
  }
}

TEST_CASE("every pair of types converts as defined, with scale and bias") {
  for (const element_type from : all_types) {
    const bytes source = elements_of(from, test::is_thorough() ? 1 : 13);
    for (const element_type to : all_types) {
      if (is_converted_in_double(from, to)) {
        check_factors<double>(from, to, source);
      } else {
        check_factors<float>(from, to, source);
      }
    }
  }
}

TEST_CASE("runs of any length, at any alignment, write their elements and nothing else") {
  constexpr std::size_t guard = 64;
  for (const element_type from : {uint8, float32, float64}) {
    for (const element_type to : {uint8, int16, element_type::bfloat16, float32, float64, int64}) {
      for (std::size_t count = 0; count <= 70; ++count) {
        const std::size_t shift = count % 8;
        bytes elements(count * size_of(from));
        for (std::size_t i = 0; i < count; ++i) {
          put_cast(from, elements.data() + i * size_of(from), {true, false, i + 1});
        }
        bytes source(shift);
        source.insert(source.end(), elements.begin(), elements.end());
        const bytes results = from == to ? elements : defined_cast(from, to, elements);
        bytes expected(guard + shift + results.size() + guard, std::byte{0xa5});
        std::copy(results.begin(), results.end(),
                  expected.begin() + static_cast<std::ptrdiff_t>(guard + shift));
        for (const instruction_set set : test::all_instruction_sets()) {
          bytes got(expected.size(), std::byte{0xa5});
          run_conversion(from, to, true, set)(source.data() + shift, got.data() + guard + shift, count);
          CHECK(got == expected);
        }
      }
    }
  }
}

/// Only the sets of x86-64 have registers of words of spaced bytes.
#if defined(__GNUC__) && defined(__x86_64__)
constexpr bool has_spaced_words = true;
#else
constexpr bool has_spaced_words = false;
#endif

TEST_CASE("spaced bytes become what each of them becomes alone") {
  std::mt19937 random(4);
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const element_type types[] = {element_type::float16, element_type::bfloat16, float32};
    const element_type to = types[test::draw(random, 0, 2)];
    const auto spacing = test::draw(random, 2, static_cast<std::int64_t>(most_spacing));
    const auto count = test::draw(random, static_cast<std::int64_t>(least_spaced), i % 2 == 0 ? 40 : 600);
    const auto runs = test::draw(random, 1, 5);
    const auto rows = test::draw(random, 1, 3);
    // the first run is at the begin, or at the end, of what may be read, or far from both
    const auto before = test::draw(random, 0, 2) * even_runs::read_before / 2;
    const auto behind = test::draw(random, 0, 2) * even_runs::read_behind / 2;
    const auto step = test::draw(random, 0, 300) * (test::flip_coin(random) ? 1 : -1);
    const auto row_step = test::draw(random, -300, 300);
    const auto all = (count - 1) * spacing + 1 + (runs - 1) * (step < 0 ? -step : step) +
                     (rows - 1) * (row_step < 0 ? -row_step : row_step);
    bytes source(static_cast<std::size_t>(before + all + behind));
    for (std::byte& value : source) value = static_cast<std::byte>(test::draw(random, 0, 255));
    const std::byte* const first = source.data() + before - (step < 0 ? (runs - 1) * step : 0) -
                                   (row_step < 0 ? (rows - 1) * row_step : 0);
    const auto size = static_cast<std::int64_t>(size_of(to));
    const auto gap = test::draw(random, 0, 3) * size;
    const auto row_size = runs * (count * size + gap);
    even_runs spaced{static_cast<std::size_t>(count),
                     static_cast<std::size_t>(runs),
                     step,
                     count * size + gap,
                     static_cast<std::size_t>(rows),
                     row_step,
                     row_size};
    spaced.spacing = static_cast<std::size_t>(spacing);
    spaced.begin = source.data();
    spaced.end = source.data() + source.size();
    const auto many = static_cast<std::size_t>(runs);
    drawn_factors<float> drawn(many);
    for (float& bias : drawn.bias) bias /= 3;
    run_factors factors = drawn.each();
    factors.step = 0;
    if (test::flip_coin(random)) factors.run_step = sizeof(float);
    for (const instruction_set set : test::all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      const run_conversion conversion(uint8, to, true, set);
      CHECK(!conversion.can_space(1, count));
      CHECK(!conversion.can_space(static_cast<std::int64_t>(most_spacing) + 1, count));
      CHECK(!conversion.can_space(spacing, static_cast<std::int64_t>(least_spaced) - 1));
      CHECK(conversion.can_space(spacing, count) == (has_spaced_words && set >= instruction_set::avx2));
      if (!conversion.can_space(spacing, count)) continue;
      bytes expected(static_cast<std::size_t>(rows * row_size + 64), std::byte{77});
      bytes got(expected);
      for (std::int64_t r = 0; r < rows * runs; ++r) {
        const std::int64_t run = r % runs;
        for (std::int64_t k = 0; k < count; ++k) {
          conversion(first + r / runs * row_step + run * step + k * spacing,
                     expected.data() + r * (count * size + gap) + k * size, 1,
                     factors.from(static_cast<std::size_t>(k), static_cast<std::size_t>(run)));
        }
      }
      conversion(first, got.data(), spaced, factors);
      CHECK(got == expected);
      if (factors.run_step != 0 || !conversion.can_look_up(spaced)) continue;
      byte_results results;
      if (!conversion.make_results(results, factors)) continue;
      std::fill(got.begin(), got.end(), std::byte{77});
      conversion.look_up(first, got.data(), spaced, factors, results);
      CHECK(got == expected);
    }
  }
}

TEST_CASE("the product is rounded before the sum") {
  const float x = 1.0f + 0x1p-12f;  // x * x needs 25 digits
  const repeated_factors<float> factors(x, -1.0f - 0x1p-11f);
  const std::vector<float> source(100, x);
  for (const instruction_set set : test::all_instruction_sets()) {
    std::vector<float> result(100, 1.0f);
    run_conversion(float32, float32, true, set)(reinterpret_cast<const std::byte*>(source.data()),
                                                reinterpret_cast<std::byte*>(result.data()), 100,
                                                factors.all());
    CHECK(std::count(result.begin(), result.end(), 0.0f) == 100);
  }
}

TEST_CASE("bytes of bool other than 0 are true") {
  bytes source;
  for (int i = 0; i < 256; ++i) source.push_back(static_cast<std::byte>(i));
  for (const instruction_set set : test::all_instruction_sets()) {
    std::vector<float> result(256);
    run_conversion(boolean, float32, false, set)(source.data(), reinterpret_cast<std::byte*>(result.data()),
                                                 256);
    CHECK(result[0] == 0.0f);
    CHECK(std::count(result.begin(), result.end(), 1.0f) == 255);
  }
}

}  // namespace
}  // namespace reblock
