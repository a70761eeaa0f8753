// SPDX-License-Identifier: BSD-3-Clause
//
// What Microsoft's header of this name has beside the intrinsics that GCC knows.
#pragma once

inline void __cpuid(int registers[4], int leaf) {
  asm("cpuid"
      : "=a"(registers[0]), "=b"(registers[1]), "=c"(registers[2]), "=d"(registers[3])
      : "a"(leaf), "c"(0));
}

inline void _mm_stream_si64x(long long* destination, long long value) { _mm_stream_si64(destination, value); }
