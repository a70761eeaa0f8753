// SPDX-License-Identifier: BSD-3-Clause
//
// The other translation unit: see linkage.hpp.
#include "linkage.hpp"

namespace reblock::test {

addresses addresses_there() { return addresses_here(); }

}  // namespace reblock::test
