// SPDX-License-Identifier: BSD-3-Clause
//
// This header finds the functions of sums and of reductions, for types that are known when it runs. They are most of the
// library's code, so cpp/src/sums.cpp compiles them apart: find_functions_impl.hpp.
#pragma once

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/sums/summand.hpp>
#include <reblock/detail/sums/summation.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Returns the functions for a summation that has none yet. If the engine is compiled once, they are for any type, else for
/// DirectML's data types.
REBLOCK_ENGINE_FUNCTION const sum_functions* functions_of(const summation& sum) noexcept;
#if defined(REBLOCK_COMPILED)
/// Fills in the functions of a reduction that has none yet.
void find_functions(reduction& types) noexcept;
#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

#if !defined(REBLOCK_COMPILED)
#include <reblock/detail/sums/find_functions_impl.hpp>
#endif
