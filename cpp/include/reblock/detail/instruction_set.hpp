// SPDX-License-Identifier: BSD-3-Clause
//
// Which instructions beyond those that the compiler may use everywhere are used here.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <reblock/detail/compiler.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Ascending: a processor that has one has those before it.
enum class instruction_set : std::uint8_t {
  baseline,  ///< what the compiler's flags allow
  lookup16,  ///< bytes looked up in 16: SSSE3, or NEON
  sum32,     ///< sums in registers of 32 bytes, float16 converted to float and back: AVX2 and F16C, or NEON
  lookup64,  ///< bytes looked up for registers of 64, and leaves with such registers: AVX-512 VBMI
};

/// Bytes of the registers in which bytes are looked up; 0: they are not.
constexpr std::size_t lookup_width(instruction_set set) noexcept {
  return set == instruction_set::lookup64 ? 64 : set == instruction_set::baseline ? 0 : 16;
}

constexpr std::string_view name_of(instruction_set set) noexcept {
  constexpr std::string_view names[] = {"baseline", "lookup16", "sum32", "lookup64"};
  return names[static_cast<std::size_t>(set)];
}

/// The widest that this processor has.
inline instruction_set detect_instruction_set() noexcept {
  const std::size_t width = detect_lookup_width();
  return width == 0            ? instruction_set::baseline
         : !detect_wide_sums() ? instruction_set::lookup16
         : width == 16         ? instruction_set::sum32
                               : instruction_set::lookup64;
}

/// What plans are made for: all that the processor has, or, where the environment variable REBLOCK_ISA names
/// one of the sets when this is first called, no more than that one.
[[gnu::visibility("hidden")]] inline instruction_set usable_instruction_set() noexcept {
  static const instruction_set usable = [] {
    const instruction_set best = detect_instruction_set();
    const char* wanted = std::getenv("REBLOCK_ISA");
    if (wanted == nullptr) return best;
    for (auto set = instruction_set::baseline; set < best;
         set = static_cast<instruction_set>(static_cast<int>(set) + 1)) {
      if (name_of(set) == wanted) return set;
    }
    return best;
  }();
  return usable;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
