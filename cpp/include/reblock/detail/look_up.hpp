// SPDX-License-Identifier: BSD-3-Clause
//
// These functions look bytes up, for each shape that patterns use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <reblock/detail/compiler.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>
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

/// Fills the registers of one shape.
[[gnu::always_inline]] inline void look_up_shape(std::size_t width, const lookup_shape& shape,
                                                 const lookups& wanted, const tile_axis& outer,
                                                 const tile_axis& inner, const std::byte* source,
                                                 std::byte* destination) noexcept {
  if (width < 64) {
    unrolled<lookup_shape::most_windows_of_one>([&](auto k) {
      if (shape.windows != k + 1) return;
      if (shape.store == 16)
        return registers_of_16::look_up_one<16, k + 1>(wanted, outer, inner, source, destination);
#if defined(__GNUC__) && defined(__x86_64__)
      if (shape.window_bytes == 16)
        return avx2::look_up_one<16, k + 1>(wanted, outer, inner, source, destination);
      if constexpr (k < lookup_shape::most_windows_of_words)
        avx2::look_up_one<32, k + 1>(wanted, outer, inner, source, destination);
#endif
    });
    return;
  }
  const std::size_t loaded = std::size_t{shape.windows} * shape.window_bytes / width;
  unrolled<3>([&](auto log_loaded) {
    unrolled<lookup_shape::most_targets>([&](auto targets_before) {
      constexpr std::size_t registers = std::size_t{1} << log_loaded;
      constexpr std::size_t targets = targets_before + 1;
      if (loaded == registers && shape.targets == targets)
        look_up_64<registers, targets>(shape.store, shape.windows, wanted, outer, inner, source, destination);
    });
  });
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
