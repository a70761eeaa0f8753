// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// A padding mode says what unfold finds outside of an image. Along an axis of the elements a b c d, with 3 elements of
/// padding on both sides, it finds the elements of the comments below. Pads of any size are possible: reflections and
/// copies repeat. An axis of extent 1 is reflected as an edge. The names and values of the first four are those of
/// DirectML's DML_PADDING_MODE; all five mean what they mean in numpy.pad.
enum class padding_mode : std::uint32_t {
  constant = 0,    ///< v v v | a b c d | v v v, with a value v that is 0 unless something else is said
  edge = 1,        ///< a a a | a b c d | d d d
  reflection = 2,  ///< d c b | a b c d | c b a
  symmetric = 3,   ///< c b a | a b c d | d c b
  wrap = 4,        ///< b c d | a b c d | a b c
};

/// Returns the name, for example "REFLECTION", or nullptr for a value that is no mode.
constexpr const char* name(padding_mode mode) noexcept {
  switch (mode) {
    case padding_mode::constant: return "CONSTANT";
    case padding_mode::edge: return "EDGE";
    case padding_mode::reflection: return "REFLECTION";
    case padding_mode::symmetric: return "SYMMETRIC";
    case padding_mode::wrap: return "WRAP";
  }
  return nullptr;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE
