// SPDX-License-Identifier: BSD-3-Clause
//
// The library reblock::compiled, without the arithmetic of fold (sums.cpp).
#include <reblock/detail/copy_impl.hpp>
#include <reblock/detail/depth_space_impl.hpp>
#include <reblock/detail/engine_impl.hpp>
#include <reblock/detail/operator_impl.hpp>
#include <reblock/detail/window_impl.hpp>
