// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// The enum has the element types of a tensor, with the names and values of DirectML's DML_TENSOR_DATA_TYPE.
enum class data_type : std::uint32_t {
  unknown = 0,  ///< never valid
  float32 = 1,
  float16 = 2,
  uint32 = 3,
  uint16 = 4,
  uint8 = 5,
  int32 = 6,
  int16 = 7,
  int8 = 8,
  float64 = 9,
  uint64 = 10,
  int64 = 11,
  uint4 = 12,  ///< for quantization only: no operator here takes it
  int4 = 13,   ///< for quantization only: no operator here takes it
};

/// Returns the bytes of one element, or 0 for a type that no tensor can have (unknown, the 4-bit types, other values).
constexpr std::size_t element_size(data_type type) noexcept {
  switch (type) {
    case data_type::uint8:
    case data_type::int8: return 1;
    case data_type::float16:
    case data_type::uint16:
    case data_type::int16: return 2;
    case data_type::float32:
    case data_type::uint32:
    case data_type::int32: return 4;
    case data_type::float64:
    case data_type::uint64:
    case data_type::int64: return 8;
    default: return 0;
  }
}

/// Returns DirectML's name without its prefix, for example "FLOAT32".
constexpr const char* name(data_type type) noexcept {
  switch (type) {
    case data_type::float32: return "FLOAT32";
    case data_type::float16: return "FLOAT16";
    case data_type::uint32: return "UINT32";
    case data_type::uint16: return "UINT16";
    case data_type::uint8: return "UINT8";
    case data_type::int32: return "INT32";
    case data_type::int16: return "INT16";
    case data_type::int8: return "INT8";
    case data_type::float64: return "FLOAT64";
    case data_type::uint64: return "UINT64";
    case data_type::int64: return "INT64";
    case data_type::uint4: return "UINT4";
    case data_type::int4: return "INT4";
    default: return "UNKNOWN";
  }
}

/// A float16 holds the bits of an IEEE 754 binary16 number. Operators move the bits and sum in float.
struct float16 {
  std::uint16_t bits;
};

/// A bfloat16 holds the upper half of an IEEE 754 binary32 number. Operators move the bits and sum in float.
struct bfloat16 {
  std::uint16_t bits;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE
