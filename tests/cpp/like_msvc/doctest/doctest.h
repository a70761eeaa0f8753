// SPDX-License-Identifier: BSD-3-Clause
//
// doctest needs the extensions of GCC.
#pragma push_macro("_MSC_VER")
#undef _MSC_VER
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wbuiltin-macro-redefined"
#define __GNUC__ 12
#include_next <doctest/doctest.h>
#undef __GNUC__
#pragma GCC diagnostic pop
#pragma pop_macro("_MSC_VER")
