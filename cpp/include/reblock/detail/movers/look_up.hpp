// SPDX-License-Identifier: BSD-3-Clause
//
// These functions look bytes up, for each shape that patterns use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>
#include <reblock/detail/simd/registers.hpp>
#include <reblock/detail/simd/wide_lookups.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

// the set whose registers have 16 bytes
#if (defined(__GNUC__) && defined(__x86_64__)) || (defined(_MSC_VER) && defined(_M_X64))
namespace registers_of_16 = ssse3;
#else
namespace registers_of_16 = baseline;
#endif

/// A lookup_shape describes registers of the destination that are looked up together. Their last bytes may be wrong: the
/// next registers overwrite them.
struct lookup_shape {
  static constexpr std::size_t most_windows_of_one = 9;    ///< windows of a register that is looked up alone
  static constexpr std::size_t most_windows_of_words = 4;  ///< the same if words of 4 bytes are looked up
  static constexpr std::size_t most_targets = 4;

  std::uint8_t store;  ///< bytes of each register
  std::uint8_t window_bytes;
  std::uint8_t windows;
  std::uint8_t targets;

  /// Counts the tables for registers of `width` bytes.
  constexpr std::size_t tables(std::size_t width) const noexcept {
    return std::max<std::size_t>(1, std::size_t{windows} * window_bytes / table_bytes(width));
  }
  /// Returns the bytes of a table. The widest registers look up in two registers, others in one window.
  constexpr std::size_t table_bytes(std::size_t width) const noexcept {
    return width == 64 ? 128 : window_bytes;
  }
};

/// A lookup_function fills one register, for each index of two axes.
using lookup_function = void (*)(const lookups&, const tile_axis& outer, const tile_axis& inner,
                                 const std::byte* source, std::byte* destination) noexcept;

/// Returns the function for a register that is looked up alone. Its store is as wide as the register.
inline lookup_function choose_lookup(const lookup_shape& shape) noexcept {
  constexpr lookup_function of_16[lookup_shape::most_windows_of_one] = {
      registers_of_16::look_up_one<16, 1>, registers_of_16::look_up_one<16, 2>,
      registers_of_16::look_up_one<16, 3>, registers_of_16::look_up_one<16, 4>,
      registers_of_16::look_up_one<16, 5>, registers_of_16::look_up_one<16, 6>,
      registers_of_16::look_up_one<16, 7>, registers_of_16::look_up_one<16, 8>,
      registers_of_16::look_up_one<16, 9>};
#if defined(__GNUC__) && defined(__x86_64__)
  constexpr lookup_function of_32[lookup_shape::most_windows_of_one] = {
      avx2::look_up_one<16, 1>, avx2::look_up_one<16, 2>, avx2::look_up_one<16, 3>,
      avx2::look_up_one<16, 4>, avx2::look_up_one<16, 5>, avx2::look_up_one<16, 6>,
      avx2::look_up_one<16, 7>, avx2::look_up_one<16, 8>, avx2::look_up_one<16, 9>};
  constexpr lookup_function of_words[lookup_shape::most_windows_of_words] = {
      avx2::look_up_one<32, 1>, avx2::look_up_one<32, 2>, avx2::look_up_one<32, 3>, avx2::look_up_one<32, 4>};
  if (shape.store != 16) return (shape.window_bytes == 16 ? of_32 : of_words)[shape.windows - 1];
#endif
  return of_16[shape.windows - 1];
}

/// Fills the registers of one shape.
inline void look_up_shape(std::size_t width, const lookup_shape& shape, const lookups& wanted,
                          const tile_axis& outer, const tile_axis& inner, const std::byte* source,
                          std::byte* destination) noexcept {
  if (width < 64) return choose_lookup(shape)(wanted, outer, inner, source, destination);
  constexpr decltype(&look_up_64<1, 1>) functions[][lookup_shape::most_targets] = {
      {look_up_64<1, 1>, look_up_64<1, 2>, look_up_64<1, 3>, look_up_64<1, 4>},
      {look_up_64<2, 1>, look_up_64<2, 2>, look_up_64<2, 3>, look_up_64<2, 4>},
      {look_up_64<4, 1>, look_up_64<4, 2>, look_up_64<4, 3>, look_up_64<4, 4>}};
  const std::size_t loaded = std::size_t{shape.windows} * shape.window_bytes / width;  // registers
  functions[loaded / 2][shape.targets - 1](shape.store, shape.windows, wanted, outer, inner, source,
                                           destination);
}

/// Fills all registers of a pattern, of `width` bytes, for each index of two axes. `wanted` belongs to the first shape.
inline void look_up(std::size_t width, std::span<const lookup_shape> shapes, lookups wanted,
                    const tile_axis& outer, const tile_axis& inner, const std::byte* source,
                    std::byte* destination) noexcept {
  for (const lookup_shape& shape : shapes) {
    look_up_shape(width, shape, wanted, outer, inner, source, destination);
    wanted.offsets += shape.windows;
    wanted.places += shape.targets * shape.tables(width) * shape.store;
    wanted.targets += shape.targets;
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
