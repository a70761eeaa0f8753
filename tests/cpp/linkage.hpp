// SPDX-License-Identifier: BSD-3-Clause
//
// The library in two translation units that are linked together: nothing is defined twice, and what
// both use is one and the same.
#pragma once

#include <cstdint>
#include <optional>

#include <reblock/reblock.hpp>

namespace reblock::test {

struct addresses {
  result<compiled_operator> (*compile)(const fold_desc&, std::optional<feature_level>);
  result<std::uint64_t> (*total_size)(const tensor_desc&, const char*);
  const char* version;
};

/// Every translation unit has its own of this one.
static inline addresses addresses_here() { return {&try_compile, &try_total_size_in_bytes, version}; }

addresses addresses_there();

}  // namespace reblock::test
