// SPDX-License-Identifier: BSD-3-Clause
//
// Defines what the other headers declare where REBLOCK_COMPILED is defined: include it in one file of a program that
// defines REBLOCK_COMPILED for all of them and does not link reblock::compiled.
#pragma once

#if !defined(REBLOCK_COMPILED)
#error "reblock/implementation.hpp is for programs that define REBLOCK_COMPILED: see docs/install.md"
#endif

#include <reblock/detail/copy_impl.hpp>
#include <reblock/detail/depth_space_impl.hpp>
#include <reblock/detail/engine_impl.hpp>
#include <reblock/detail/operator_impl.hpp>
#include <reblock/detail/window_impl.hpp>
#include <reblock/reblock.hpp>

// Last: the headers above use the macros.
#include <reblock/detail/configuration_end.hpp>
