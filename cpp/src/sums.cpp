// SPDX-License-Identifier: BSD-3-Clause
//
// The arithmetic of fold in the library reblock::compiled.
#include <reblock/detail/sums/find_functions_impl.hpp>
