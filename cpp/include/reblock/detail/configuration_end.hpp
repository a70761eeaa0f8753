// SPDX-License-Identifier: BSD-3-Clause
//
// This header undoes what configuration.hpp does. Both headers may be included again.
#if defined(REBLOCK_NAMESPACE)

#undef REBLOCK_VERSION_NAME
#undef REBLOCK_FORM
#undef REBLOCK_ERRORS
#undef REBLOCK_ASSERTIONS
#undef REBLOCK_ARITHMETIC
#undef REBLOCK_REGISTERS
#undef REBLOCK_FUSED
#undef REBLOCK_BITS
#undef REBLOCK_COUNTS
#undef REBLOCK_OTHERS
#undef REBLOCK_JOIN_EXPANDED
#undef REBLOCK_JOIN
#undef REBLOCK_NAMESPACE
#undef REBLOCK_ENGINE_NAMESPACE
#undef REBLOCK_ENGINE_FUNCTION
#undef REBLOCK_ENGINE_DEFINITION

#pragma pop_macro("I")
#pragma pop_macro("check")
#pragma pop_macro("far")
#pragma pop_macro("max")
#pragma pop_macro("min")
#pragma pop_macro("near")
#pragma pop_macro("slots")
#pragma pop_macro("small")

#endif
