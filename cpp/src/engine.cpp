// SPDX-License-Identifier: BSD-3-Clause
//
// The library reblock::compiled.
#include <reblock/implementation.hpp>
