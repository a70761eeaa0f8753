// SPDX-License-Identifier: BSD-3-Clause
//
// The library reblock::compiled, without the arithmetic of fold (sums.cpp).
#include <reblock/detail/all_impl.hpp>
