// SPDX-License-Identifier: BSD-3-Clause
//
// These functions choose the instructions that are used in addition to those of the compiler's flags.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#if defined(__GNUC__) && defined(__x86_64__)
#include <cpuid.h>
#endif

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/simd/wide_lookups.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The names are those of x86-64, in ascending order: a processor that has a set has the sets before it. NEON counts as
/// avx2.
enum class instruction_set : std::uint8_t {
  baseline,  ///< what the compiler's flags allow
  ssse3,     ///< bytes looked up in 16
  avx2,      ///< with F16C and FMA: sums in registers of 32 bytes, float16 converted to float and back
  avx512,    ///< with VBMI: bytes looked up for registers of 64, and streams in such registers
};

/// Processors whose costs differ from those of AMD's later ones, which the table holds. Others count as AMD's.
enum class processor_kind : std::uint8_t { other, intel, zen };

/// Returns the kind of this processor. Zen and Zen+ are zen.
[[gnu::visibility("hidden"), gnu::noinline]] inline processor_kind this_processor() noexcept {
#if defined(__GNUC__) && defined(__x86_64__)
  static const processor_kind kind = __builtin_cpu_is("intel") != 0    ? processor_kind::intel
                                     : __builtin_cpu_is("znver1") != 0 ? processor_kind::zen
                                                                       : processor_kind::other;
  return kind;
#else
  return processor_kind::other;
#endif
}

/// Tells whether instructions on registers of 32 bytes do their work on 16 bytes twice. Then a store of 32 bytes takes twice as
/// long as one of 16 bytes, and a shuffle across the halves four times as long as one of a half.
inline bool has_halved_registers() noexcept { return this_processor() == processor_kind::zen; }

/// Returns the bytes of the registers in which bytes are looked up; 0: bytes are not looked up. In halved registers, words would
/// be looked up more slowly than in registers of 16 bytes.
inline std::size_t lookup_width(instruction_set set) noexcept {
  switch (set) {
    case instruction_set::baseline: return 0;
    case instruction_set::ssse3: return 16;
    case instruction_set::avx2: return has_halved_registers() ? 16 : avx2_lookup_width;
    default: return 64;
  }
}

/// Returns the name in `reblock info` and REBLOCK_ISA.
constexpr std::string_view name_of(instruction_set set) noexcept {
#if defined(__aarch64__)
  return set == instruction_set::baseline ? "baseline" : "neon";
#else
  constexpr std::string_view names[] = {"baseline", "ssse3", "avx2", "avx512"};
  return names[static_cast<std::size_t>(set)];
#endif
}

/// Tells whether a processor that looks bytes up has what the sets from avx2 on have beside that.
inline bool detect_more_than_lookups() noexcept {
#if defined(__GNUC__) && defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned features = 0;
  unsigned d = 0;
  // not __builtin_cpu_supports("f16c"), which Clang 14 does not know
  constexpr unsigned wanted = bit_F16C | bit_FMA;
  const bool has_others = __get_cpuid(1, &a, &b, &features, &d) != 0 && (features & wanted) == wanted;
  return __builtin_cpu_supports("avx2") && has_others;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

/// Returns the widest set of this processor.
inline instruction_set detect_instruction_set() noexcept {
  const std::size_t width = detect_lookup_width();
  return width == 0                    ? instruction_set::baseline
         : !detect_more_than_lookups() ? instruction_set::ssse3
         : width == 64                 ? instruction_set::avx512
                                       : instruction_set::avx2;
}

/// Returns the set that plans use: the processor's widest set. The environment variable REBLOCK_ISA may name a narrower
/// set; the first call reads it.
[[gnu::visibility("hidden"), gnu::noinline]] inline instruction_set usable_instruction_set() noexcept {
  static const instruction_set usable = [] {
    const instruction_set best = detect_instruction_set();
    const char* wanted = std::getenv("REBLOCK_ISA");
    if (wanted == nullptr) return best;
    for (int i = static_cast<int>(best); i >= 0; --i) {
      const auto set = static_cast<instruction_set>(i);
      if (name_of(set) == wanted) return set;
    }
    return best;
  }();
  return usable;
}

/// Tells whether string instructions, which memcpy() uses for many bytes, are fast at every alignment. On AMD's processors, at
/// some alignments they copied 1.4 bytes per cycle where registers copied 20 (Zen 4, glibc 2.36).
inline bool has_fast_strings() noexcept { return this_processor() == processor_kind::intel; }

/// Tells whether squares should write whole lines of a column together even if the second-level cache holds both sides. Matrices
/// of 64 to 900 KB, of elements of 2, 4 and 8 bytes, then took 0.8 to 0.9 of the time on Sapphire Rapids, and 1 to 1.1 of the time
/// on Zen.
inline bool joins_near_lines() noexcept { return this_processor() == processor_kind::intel; }

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
