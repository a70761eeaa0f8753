// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <doctest/doctest.h>

#include <reblock/data_type.hpp>

namespace reblock {
namespace {

static_assert(sizeof(float16) == 2 && std::is_trivially_copyable_v<float16>);
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);

TEST_CASE("data types have the values, names and sizes of DirectML") {
  struct {
    data_type type;
    std::uint32_t value;
    const char* name;
    std::size_t size;
  } const expected[] = {
      {data_type::unknown, 0, "UNKNOWN", 0}, {data_type::float32, 1, "FLOAT32", 4},
      {data_type::float16, 2, "FLOAT16", 2}, {data_type::uint32, 3, "UINT32", 4},
      {data_type::uint16, 4, "UINT16", 2},   {data_type::uint8, 5, "UINT8", 1},
      {data_type::int32, 6, "INT32", 4},     {data_type::int16, 7, "INT16", 2},
      {data_type::int8, 8, "INT8", 1},       {data_type::float64, 9, "FLOAT64", 8},
      {data_type::uint64, 10, "UINT64", 8},  {data_type::int64, 11, "INT64", 8},
      {data_type::uint4, 12, "UINT4", 0},    {data_type::int4, 13, "INT4", 0},
  };
  for (const auto& row : expected) {
    INFO(row.name);
    CHECK(static_cast<std::uint32_t>(row.type) == row.value);
    CHECK(std::string(name(row.type)) == row.name);
    CHECK(element_size(row.type) == row.size);
  }
}

TEST_CASE("other values are no data type") {
  CHECK(element_size(static_cast<data_type>(14)) == 0);
  CHECK(std::string(name(static_cast<data_type>(14))) == "UNKNOWN");
}

}  // namespace
}  // namespace reblock
