// SPDX-License-Identifier: BSD-3-Clause
//
// This header defines the functions that the other headers only declare under REBLOCK_COMPILED. It is for programs that
// define REBLOCK_COMPILED for all files and do not link reblock::compiled. Include it in one file.
#pragma once

#if !defined(REBLOCK_COMPILED)
#error "reblock/implementation.hpp is for programs that define REBLOCK_COMPILED: see docs/install.md"
#endif

// This header is the first: it takes away the macros of other headers.
#include <reblock/detail/configuration.hpp>

// These headers are the library.
#include <reblock/detail/all_impl.hpp>
#include <reblock/detail/sums/find_functions_impl.hpp>
#include <reblock/reblock.hpp>

// This header is the last: the other headers use the macros.
#include <reblock/detail/configuration_end.hpp>
