// SPDX-License-Identifier: BSD-3-Clause
//
// with_word() calls a function template for the size of a word.
#pragma once

#include <cstdint>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Calls visit.template operator()<Size>() with `size` if it is that of a word, up to 16 bytes, or else with 0.
template <class Visit>
decltype(auto) with_word(std::int64_t size, const Visit& visit) {
  switch (size) {
    case 1: return visit.template operator()<1>();
    case 2: return visit.template operator()<2>();
    case 4: return visit.template operator()<4>();
    case 8: return visit.template operator()<8>();
    case 16: return visit.template operator()<16>();
    default: return visit.template operator()<0>();
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
