// SPDX-License-Identifier: BSD-3-Clause
//
// This header is the only one that defines macros. They say how the library is compiled and name its namespace.
// reblock.hpp undefines all of them at its end, so this header may be included again and has no #pragma once.
//
// All names live in an inline namespace. Its name has the version and every option of the compiler that changes code. If
// two files of a program, or two libraries of a process, differ in version or options, they share no function.
//
// Users define REBLOCK_COMPILED. Then the headers only declare functions of the engine. The library reblock::compiled, or
// a file that includes reblock/implementation.hpp, defines them. The namespace of these functions (engine.hpp) has only
// the version in its name, because both sides may be compiled with different options.
#if !defined(REBLOCK_NAMESPACE)

// windows.h, complex.h, AssertMacros.h and Qt define these names as macros. configuration_end.hpp gives the macros back.
#pragma push_macro("I")
#pragma push_macro("check")
#pragma push_macro("far")
#pragma push_macro("max")
#pragma push_macro("min")
#pragma push_macro("near")
#pragma push_macro("slots")
#pragma push_macro("small")
#undef I
#undef check
#undef far
#undef max
#undef min
#undef near
#undef slots
#undef small

/// The name has the same version as version.hpp.
#define REBLOCK_VERSION_NAME v0_1_0

#if defined(REBLOCK_COMPILED)
#define REBLOCK_FORM _compiled
#else
#define REBLOCK_FORM
#endif

// Errors throw exceptions, or end the program.
#if defined(__cpp_exceptions)
#define REBLOCK_ERRORS
#else
#define REBLOCK_ERRORS _no_exceptions
#endif

#if defined(NDEBUG)
#define REBLOCK_ASSERTIONS
#else
#define REBLOCK_ASSERTIONS _assertions
#endif

// These options say whether sums follow IEEE 754.
#if defined(__FAST_MATH__)
#define REBLOCK_ARITHMETIC _fast_math
#elif defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#define REBLOCK_ARITHMETIC _unsafe_math
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#define REBLOCK_ARITHMETIC _finite_math
#else
#define REBLOCK_ARITHMETIC
#endif

// Compilers may use these instructions everywhere: the widest set of registers, then the separate options.
#if defined(__APX_F__)
#define REBLOCK_REGISTERS _apx
#elif defined(__AVX512FP16__)
#define REBLOCK_REGISTERS _avx512fp16
#elif defined(__AVX512VBMI__)
#define REBLOCK_REGISTERS _avx512vbmi
#elif defined(__AVX512BW__)
#define REBLOCK_REGISTERS _avx512bw
#elif defined(__AVX512F__)
#define REBLOCK_REGISTERS _avx512f
#elif defined(__AVX2__)
#define REBLOCK_REGISTERS _avx2
#elif defined(__AVX__)
#define REBLOCK_REGISTERS _avx
#elif defined(__SSE4_2__)
#define REBLOCK_REGISTERS _sse42
#elif defined(__SSE4_1__)
#define REBLOCK_REGISTERS _sse41
#elif defined(__SSSE3__)
#define REBLOCK_REGISTERS _ssse3
#elif defined(__SSE3__)
#define REBLOCK_REGISTERS _sse3
#elif defined(__i386__) && defined(__SSE2_MATH__)
#define REBLOCK_REGISTERS _sse2_math
#elif defined(__i386__) && defined(__SSE2__)
#define REBLOCK_REGISTERS _sse2
#elif defined(__ARM_FEATURE_SVE2)
#define REBLOCK_REGISTERS _sve2
#elif defined(__ARM_FEATURE_SVE)
#define REBLOCK_REGISTERS _sve
#elif defined(__ARM_FEATURE_RCPC)
#define REBLOCK_REGISTERS _rcpc
#elif defined(__ARM_FEATURE_DOTPROD)
#define REBLOCK_REGISTERS _dotprod
#elif defined(__ARM_FEATURE_ATOMICS)
#define REBLOCK_REGISTERS _atomics
#elif defined(__arm__) && defined(__ARM_NEON)
#define REBLOCK_REGISTERS _neon
#elif defined(__VEC__) || defined(__VSX__)
#define REBLOCK_REGISTERS _vectors
#else
#define REBLOCK_REGISTERS
#endif

#if defined(__FMA4__)
#define REBLOCK_FUSED _fma4
#elif defined(__FMA__)
#define REBLOCK_FUSED _fma
#else
#define REBLOCK_FUSED
#endif

#if defined(__GFNI__)
#define REBLOCK_BITS _gfni
#elif defined(__BMI2__)
#define REBLOCK_BITS _bmi2
#elif defined(__BMI__)
#define REBLOCK_BITS _bmi
#else
#define REBLOCK_BITS
#endif

#if defined(__LZCNT__) && defined(__POPCNT__)
#define REBLOCK_COUNTS _lzcnt_popcnt
#elif defined(__LZCNT__)
#define REBLOCK_COUNTS _lzcnt
#elif defined(__POPCNT__)
#define REBLOCK_COUNTS _popcnt
#else
#define REBLOCK_COUNTS
#endif

#if defined(__MOVBE__) && defined(__F16C__)
#define REBLOCK_OTHERS _movbe_f16c
#elif defined(__MOVBE__)
#define REBLOCK_OTHERS _movbe
#elif defined(__F16C__)
#define REBLOCK_OTHERS _f16c
#else
#define REBLOCK_OTHERS
#endif

#define REBLOCK_JOIN_EXPANDED(a, b, c, d, e, f, g, h, i, j) a##b##c##d##e##f##g##h##i##j
#define REBLOCK_JOIN(a, b, c, d, e, f, g, h, i, j) REBLOCK_JOIN_EXPANDED(a, b, c, d, e, f, g, h, i, j)
#define REBLOCK_NAMESPACE                                                                                  \
  REBLOCK_JOIN(REBLOCK_VERSION_NAME, REBLOCK_FORM, REBLOCK_ERRORS, REBLOCK_ASSERTIONS, REBLOCK_ARITHMETIC, \
               REBLOCK_REGISTERS, REBLOCK_FUSED, REBLOCK_BITS, REBLOCK_COUNTS, REBLOCK_OTHERS)

// These macros give the namespace of the engine's boundary, and the prefix of its functions' declarations and definitions.
// If the functions are compiled with their callers they are templates, so a file that calls none compiles none.
#if defined(REBLOCK_COMPILED)
#define REBLOCK_ENGINE_NAMESPACE REBLOCK_JOIN(REBLOCK_VERSION_NAME, _engine, , , , , , , , )
#define REBLOCK_ENGINE_FUNCTION
#define REBLOCK_ENGINE_DEFINITION
#else
#define REBLOCK_ENGINE_NAMESPACE REBLOCK_NAMESPACE
#define REBLOCK_ENGINE_FUNCTION template <class = void>
#define REBLOCK_ENGINE_DEFINITION template <class>
#endif

#endif
