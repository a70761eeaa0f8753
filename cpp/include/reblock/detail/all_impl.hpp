// SPDX-License-Identifier: BSD-3-Clause
//
// This header has all definitions that the other headers only declare under REBLOCK_COMPILED, without the arithmetic of fold.
#pragma once

#include <reblock/detail/copy_impl.hpp>
#include <reblock/detail/depth_space_impl.hpp>
#include <reblock/detail/engine_impl.hpp>
#include <reblock/detail/operator_impl.hpp>
#include <reblock/detail/window_impl.hpp>
