// SPDX-License-Identifier: BSD-3-Clause
//
// The leaves of the traversal: the innermost two axes of a plan, moved by one call. They know the size
// of an element, never its type, and read and write nothing but elements, at any alignment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace reblock::detail {

struct tile_axis {
  std::int64_t extent = 1;
  std::int64_t source_stride = 0;       ///< bytes
  std::int64_t destination_stride = 0;  ///< bytes
};

/// What a leaf works on: two axes of elements.
struct tile {
  tile_axis outer;
  tile_axis inner;
  std::size_t element_size = 0;  ///< bytes
};

/// A leaf. `source` and `destination` point to the first element of the tile.
using leaf_function = void (*)(const tile&, const std::byte* source, std::byte* destination);

/// An element size that is known at compile time, or 0 where it is known at run time only.
template <std::size_t Size>
using fixed_size = std::integral_constant<std::size_t, Size>;

template <std::size_t Size>
void move_element(std::byte* destination, const std::byte* source, std::size_t size) {
  std::memcpy(destination, source, Size != 0 ? Size : size);
}

/// Both sides contiguous along the inner axis: one copy for each index of the outer one.
inline void move_runs(const tile& t, const std::byte* source, std::byte* destination) {
  const auto bytes = static_cast<std::size_t>(t.inner.extent) * t.element_size;
  for (std::int64_t i = 0; i < t.outer.extent; ++i) {
    std::memcpy(destination + i * t.outer.destination_stride, source + i * t.outer.source_stride, bytes);
  }
}

/// Any strides on either side.
template <std::size_t Size>
void move_strided(const tile& t, const std::byte* source, std::byte* destination) {
  for (std::int64_t i = 0; i < t.outer.extent; ++i) {
    const std::byte* from = source + i * t.outer.source_stride;
    std::byte* to = destination + i * t.outer.destination_stride;
    for (std::int64_t j = 0; j < t.inner.extent; ++j) {
      move_element<Size>(to + j * t.inner.destination_stride, from + j * t.inner.source_stride,
                         t.element_size);
    }
  }
}

/// The source contiguous along the outer axis, the destination along the inner one, in squares that
/// keep both sides' cache lines at hand until they are used up.
template <std::size_t Size>
void move_transposed(const tile& t, const std::byte* source, std::byte* destination) {
  constexpr std::int64_t side = 16;
  for (std::int64_t i = 0; i < t.outer.extent; i += side) {
    for (std::int64_t j = 0; j < t.inner.extent; j += side) {
      tile square = t;
      square.outer.extent = std::min(side, t.outer.extent - i);
      square.inner.extent = std::min(side, t.inner.extent - j);
      move_strided<Size>(square, source + i * t.outer.source_stride + j * t.inner.source_stride,
                         destination + i * t.outer.destination_stride + j * t.inner.destination_stride);
    }
  }
}

/// `Streams` contiguous sources become one contiguous destination, an element from each in turn. The
/// outer axis runs along the streams, the inner one across them.
template <std::size_t Size, std::int64_t Streams>
void move_interleaved(const tile& t, const std::byte* source, std::byte* destination) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  for (std::int64_t i = 0; i < t.outer.extent; ++i) {
    for (std::int64_t j = 0; j < Streams; ++j) {
      move_element<Size>(destination + (i * Streams + j) * size,
                         source + i * size + j * t.inner.source_stride, Size);
    }
  }
}

/// One contiguous source is dealt out to `Streams` contiguous destinations, an element to each in
/// turn. The outer axis runs across the streams, the inner one along them.
template <std::size_t Size, std::int64_t Streams>
void move_deinterleaved(const tile& t, const std::byte* source, std::byte* destination) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  for (std::int64_t j = 0; j < t.inner.extent; ++j) {
    for (std::int64_t i = 0; i < Streams; ++i) {
      move_element<Size>(destination + i * t.outer.destination_stride + j * size,
                         source + (j * Streams + i) * size, Size);
    }
  }
}

/// Calls `choose` with the element size as a compile-time constant where it has leaves of its own.
template <class Choose>
leaf_function with_fixed_size(std::size_t element_size, Choose&& choose) {
  switch (element_size) {
    case 1: return choose(fixed_size<1>{});
    case 2: return choose(fixed_size<2>{});
    case 4: return choose(fixed_size<4>{});
    case 8: return choose(fixed_size<8>{});
    case 16: return choose(fixed_size<16>{});
    default: return choose(fixed_size<0>{});
  }
}

template <std::size_t Size>
leaf_function choose_interleaved(std::int64_t streams) {
  switch (streams) {
    case 2: return move_interleaved<Size, 2>;
    case 3: return move_interleaved<Size, 3>;
    case 4: return move_interleaved<Size, 4>;
    case 8: return move_interleaved<Size, 8>;
    default: return move_transposed<Size>;
  }
}

template <std::size_t Size>
leaf_function choose_deinterleaved(std::int64_t streams) {
  switch (streams) {
    case 2: return move_deinterleaved<Size, 2>;
    case 3: return move_deinterleaved<Size, 3>;
    case 4: return move_deinterleaved<Size, 4>;
    case 8: return move_deinterleaved<Size, 8>;
    default: return move_transposed<Size>;
  }
}

/// The leaf for a tile. It stays right for a narrower tile of the same strides only where
/// `extents_are_fixed` is false.
inline leaf_function choose_leaf(const tile& t, bool extents_are_fixed) {
  const auto size = static_cast<std::int64_t>(t.element_size);
  if (t.inner.source_stride == size && t.inner.destination_stride == size) return move_runs;
  return with_fixed_size(t.element_size, [&]<std::size_t Size>(fixed_size<Size>) -> leaf_function {
    const bool transposed = t.outer.source_stride == size && t.inner.destination_stride == size;
    if (!transposed) return move_strided<Size>;
    if constexpr (Size != 0) {
      const bool dense_destination = t.outer.destination_stride == t.inner.extent * size;
      const bool dense_source = t.inner.source_stride == t.outer.extent * size;
      if (extents_are_fixed && dense_destination && t.inner.extent <= t.outer.extent) {
        return choose_interleaved<Size>(t.inner.extent);
      }
      if (extents_are_fixed && dense_source) return choose_deinterleaved<Size>(t.outer.extent);
    }
    return move_transposed<Size>;
  });
}

}  // namespace reblock::detail
