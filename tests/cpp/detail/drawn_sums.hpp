// SPDX-License-Identifier: BSD-3-Clause
//
// Drawn sums of fold: windows of any kind, columns and images in any order of memory, and what is to be in the image. The
// memory of both begins and ends with an element, so that a sanitizer sees what is touched beyond them.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include <reblock/data_type.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/sums/find_functions.hpp>
#include <reblock/detail/sums/summand.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/window.hpp>

#include "../draw.hpp"
#include "../oracle.hpp"

namespace reblock::test {

/// A bool as it is in memory: any byte but 0 is true.
struct boolean {
  unsigned char byte = 0;
  friend boolean operator+(boolean a, boolean b) {
    return {static_cast<unsigned char>((a.byte | b.byte) != 0 ? 1 : 0)};
  }
};

template <class T>
const detail::sum_functions& functions_for() {
  using term = std::conditional_t<std::is_same_v<T, boolean>, bool, T>;
  return *detail::functions_of(detail::summation_of<term>());
}

/// Numbers whose sums are rounded, and among them zeros of both signs and infinity; integers that wrap.
template <class T>
T draw_term(std::mt19937& random) {
  const std::int64_t number = draw(random, -999, 999);
  const std::int64_t kind = draw(random, 0, 15);
  if constexpr (detail::complex_number<T>) {
    const auto real = draw_term<typename T::value_type>(random);
    return {real, draw_term<typename T::value_type>(random)};
  } else if constexpr (std::is_same_v<T, boolean>) {
    return {static_cast<unsigned char>(kind < 12 ? 0 : kind < 14 ? 1 : random())};
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(random()) * 0x9e3779b97f4a7c15u >> (64 - 8 * sizeof(T)));
  } else if constexpr (detail::half<T>) {
    T term;
    detail::round_to(term, draw_term<float>(random));
    return term;
  } else {
    if (kind < 3) return -T{0};
    if (kind == 3) return draw(random, 0, 99) == 0 ? std::numeric_limits<T>::infinity() : T{0};
    return static_cast<T>(number) / T{7};
  }
}

/// By the definition of fold; half floats in float, and rounded once.
template <class T>
oracle::tensor<T> fold_by_definition(const oracle::tensor<T>& columns, const axis_values& image,
                                     const window& w) {
  if constexpr (detail::half<T>) {
    oracle::tensor<float> terms(columns.extents);
    for (std::size_t i = 0; i < terms.values.size(); ++i) {
      terms.values[i] = detail::to_float(columns.values[i]);
    }
    const oracle::tensor<float> sums = oracle::fold(terms, image, w);
    oracle::tensor<T> rounded(image);
    for (std::size_t i = 0; i < sums.values.size(); ++i) detail::round_to(rounded.values[i], sums.values[i]);
    return rounded;
  } else {
    return oracle::fold(columns, image, w);
  }
}

/// One spatial axis.
struct windows_along {
  std::int64_t size = 1;
  std::int64_t windows = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t padding = 0;  ///< at the start
  std::int64_t extent = 1;   ///< positions of the image

  std::int64_t span() const { return (size - 1) * dilation + 1; }
};

/// The extents of n and c and their windows, and how their elements lie in memory: strides in bytes.
struct drawn_sums {
  axis_values image;                         ///< n, c and the spatial axes
  std::vector<windows_along> axes;           ///< the spatial ones
  std::int64_t element_size = 0;             ///< bytes
  std::vector<std::int64_t> column_strides;  ///< of n, c, the offsets and the windows of each axis
  axis_values image_strides;
  detail::summand part = detail::summand::integer8;

  std::size_t spatial() const { return axes.size(); }

  window parameters() const {
    axis_values sizes, strides, dilations, start_padding, end_padding;
    for (const windows_along& axis : axes) {
      sizes.push_back(axis.size);
      strides.push_back(axis.stride);
      dilations.push_back(axis.dilation);
      start_padding.push_back(axis.padding);
      const std::int64_t reached = (axis.windows - 1) * axis.stride + axis.span();
      end_padding.push_back(std::max<std::int64_t>(0, reached - axis.padding - axis.extent));
    }
    return {sizes, strides, dilations, start_padding, end_padding};
  }

  /// The extents of n, c, the offsets and the windows of each axis.
  std::vector<std::int64_t> column_extents() const {
    std::vector<std::int64_t> extents{image[0], image[1]};
    for (const windows_along& axis : axes) extents.push_back(axis.size);
    for (const windows_along& axis : axes) extents.push_back(axis.windows);
    return extents;
  }

  detail::sum_request request() const {
    detail::sum_request sums{};
    const std::vector<std::int64_t> extents = column_extents();
    for (std::size_t i = 0; i < extents.size(); ++i) {
      detail::layout_axis axis(extents[i], column_strides[i], 0);
      if (i >= 2) {
        const std::size_t d = (i - 2) % spatial();
        axis.bound = d;
        axis.bound_step = i < 2 + spatial() ? axes[d].dilation : axes[d].stride;
      }
      sums.moves.add(axis);
    }
    sums.moves.bound_count = spatial();
    for (std::size_t d = 0; d < spatial(); ++d) {
      sums.moves.bounds[d] = {-axes[d].padding, axes[d].extent};
    }
    sums.extents = image;
    sums.output_strides = image_strides;
    sums.sum.element_size = element_size;
    sums.sum.part = part;
    return sums;
  }
};

/// Elements with any strides, in memory of their own.
class strided_bytes {
 public:
  template <class Values>
  strided_bytes(const Values& extents, const Values& strides, std::int64_t element_size) {
    std::int64_t first = 0;
    std::int64_t end = element_size;
    offsets_ = {0};
    for (std::size_t i = 0; i < extents.size(); ++i) {
      (strides[i] < 0 ? first : end) += (extents[i] - 1) * strides[i];
      std::vector<std::int64_t> next;
      for (const std::int64_t offset : offsets_) {
        for (std::int64_t k = 0; k < extents[i]; ++k) next.push_back(offset + k * strides[i]);
      }
      offsets_ = std::move(next);
    }
    origin_ = -first;
    bytes_.resize(static_cast<std::size_t>(end - first));
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(0xa5 + 31 * i);
  }

  /// The element of index 0 on all axes.
  std::byte* first() { return bytes_.data() + origin_; }
  const std::byte* first() const { return bytes_.data() + origin_; }
  /// The elements in C order.
  std::byte* element(std::size_t number) { return first() + offsets_[number]; }
  const std::byte* element(std::size_t number) const { return first() + offsets_[number]; }
  std::size_t elements() const { return offsets_.size(); }
  friend bool operator==(const strided_bytes&, const strided_bytes&) = default;

 private:
  std::vector<std::int64_t> offsets_;
  std::int64_t origin_ = 0;
  std::vector<std::byte> bytes_;
};

/// Columns of drawn terms, and an image before and after its sums.
template <class T>
struct drawn_terms {
  strided_bytes columns;
  strided_bytes before;
  strided_bytes expected;

  drawn_terms(std::mt19937& random, const drawn_sums& sums)
      : columns(sums.column_extents(), sums.column_strides, sums.element_size),
        before(sums.image, sums.image_strides, sums.element_size),
        expected(before) {
    for (std::size_t i = 0; i < columns.elements(); ++i) {
      const T term = draw_term<T>(random);
      std::memcpy(columns.element(i), &term, sizeof(T));
    }
    const window w = sums.parameters();
    oracle::tensor<T> terms(oracle::columns_extents(sums.image, w, 1));
    for (std::size_t i = 0; i < columns.elements();
         ++i) {  // several of them may be the same element in memory
      std::memcpy(&terms.values[i], columns.element(i), sizeof(T));
    }
    const oracle::tensor<T> folded = fold_by_definition(terms, sums.image, w);
    for (std::size_t i = 0; i < folded.values.size(); ++i) {
      std::memcpy(expected.element(i), &folded.values[i], sizeof(T));
    }
  }

  /// Whether the image holds the sums, bit for bit, and all other bytes are as before.
  bool holds_sums(strided_bytes image) const {
    if constexpr (std::is_same_v<typename detail::parts_of<T>::type, long double>) {
      for (std::size_t i = 0; i < image.elements(); ++i) {  // some bytes of their parts may mean nothing
        for (std::size_t k = 0; k < sizeof(T); k += sizeof(long double)) {
          long double sum, wanted;
          std::memcpy(&sum, image.element(i) + k, sizeof(sum));
          std::memcpy(&wanted, expected.element(i) + k, sizeof(wanted));
          if (sum != wanted || std::signbit(sum) != std::signbit(wanted)) return false;
        }
        std::memcpy(image.element(i), expected.element(i), sizeof(T));
      }
    }
    return image == expected;
  }
};

/// Strides, in bytes, of axes that lie in a random order and direction, or of which one is the innermost: without gaps, or with
/// short or long ones.
inline std::vector<std::int64_t> draw_byte_strides(std::mt19937& random,
                                                   const std::vector<std::int64_t>& extents,
                                                   std::int64_t element_size,
                                                   std::size_t innermost = detail::no_axis) {
  std::vector<std::int64_t> strides(extents.size());
  const bool has_gaps = innermost == detail::no_axis && draw(random, 0, 2) == 0;
  const bool turns = draw(random, 0, 2) == 0;
  std::int64_t stride = element_size;
  std::vector<std::size_t> order = draw_order(random, extents.size());
  std::ranges::stable_partition(order, [=](std::size_t i) { return i == innermost; });
  for (const std::size_t i : order) {
    if (has_gaps && draw(random, 0, 2) == 0) stride += draw(random, 1, 2 * element_size);
    if (has_gaps && draw(random, 0, 9) == 0 && stride < 1 << 15) stride = (stride + 4095) / 4096 * 4096;
    strides[i] = turns && flip_coin(random) ? -stride : stride;
    stride *= extents[i];
  }
  return strides;
}

/// Windows of any kind or, where `shortest` is not 0, overlapping ones at least so far apart.
inline windows_along draw_windows_along(std::mt19937& random, std::int64_t most_windows,
                                        std::int64_t shortest) {
  windows_along axis;
  switch (draw(random, 0, 9)) {
    case 0:  // one offset
      axis.stride = draw(random, 1, 4);
      break;
    case 1:  // windows side by side
      axis.size = axis.stride = draw(random, 1, 6);
      break;
    case 2:  // positions between the windows
      axis.size = draw(random, 1, 3);
      axis.stride = axis.size + draw(random, 1, 4);
      break;
    case 3:  // dilations that share a factor with the stride
      axis.size = draw(random, 2, 6);
      axis.stride = draw(random, 1, 3) * 2;
      axis.dilation = draw(random, 1, 3) * 2;
      break;
    case 4:  // long windows that overlap
      axis.size = draw(random, 8, 24);
      axis.stride = draw(random, 1, 20);
      break;
    default:
      axis.size = draw(random, 1, 5);
      axis.stride = flip_coin(random) ? 1 : draw(random, 2, 5);
      axis.dilation = draw(random, 0, 2) == 0 ? draw(random, 2, 5) : 1;
  }
  if (shortest > 0) {
    axis.stride = shortest + draw(random, 0, 5);
    axis.size = axis.stride + draw(random, 1, axis.stride + 1);
    axis.dilation = 1;
    most_windows = 6;
  }
  axis.windows = draw(random, 0, 7) == 0 ? 1 : draw(random, 1, std::max<std::int64_t>(most_windows, 1));
  const std::int64_t reached = (axis.windows - 1) * axis.stride + axis.span();
  const std::int64_t longest = draw(random, 0, 3) == 0 ? 2 * axis.span() : 2;  // padding
  axis.padding = flip_coin(random) ? 0 : draw(random, 0, std::min(longest, reached - 1));
  const std::int64_t most = reached + axis.stride - 1 - axis.padding;  // more would have another window
  axis.extent = flip_coin(random)
                    ? most - draw(random, 0, std::min(axis.stride - 1, most - 1))
                    : draw(random, std::max<std::int64_t>(1, most - axis.stride - longest), most);
  return axis;
}

/// Sums of no more terms than that, and an image of no more elements.
inline drawn_sums draw_sums(std::mt19937& random, std::int64_t element_size, std::int64_t most) {
  constexpr std::size_t most_axes = max_rank - 2;
  for (;;) {
    const std::int64_t kind = draw(random, 0, 11);
    const std::size_t axes = kind == 11  ? most_axes
                             : kind >= 8 ? 3
                             : kind >= 4 ? 2
                                         : static_cast<std::size_t>(1);
    drawn_sums sums;
    sums.element_size = element_size;
    sums.image = {draw(random, 1, 3), flip_coin(random) ? draw(random, 1, 3) : draw(random, 1, 40)};
    const std::int64_t windows = axes == 1 ? 200 : axes == 2 ? 30 : axes == 3 ? 8 : 2;
    // Sometimes the offsets of an axis are the innermost, and so is that axis in the image; then its windows are often long.
    const std::size_t innermost =
        draw(random, 0, 4) == 0
            ? 2 + static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(axes) - 1))
            : detail::no_axis;
    const bool are_long = flip_coin(random);
    for (std::size_t d = 0; d < axes; ++d) {
      const std::int64_t shortest = are_long && d + 2 == innermost ? 64 / element_size : 0;
      sums.axes.push_back(draw_windows_along(random, flip_coin(random) ? windows : windows / 3, shortest));
      sums.image.push_back(sums.axes[d].extent);
    }
    std::int64_t terms = 1;
    for (const std::int64_t extent : sums.column_extents()) terms *= extent;
    if (terms > most || oracle::volume(sums.image) > most) continue;
    sums.column_strides = draw_byte_strides(random, sums.column_extents(), element_size, innermost);
    for (std::int64_t& stride : sums.column_strides) {
      if (draw(random, 0, 39) == 0) stride = 0;
    }
    const std::vector<std::int64_t> extents(sums.image.begin(), sums.image.end());
    for (const std::int64_t stride : draw_byte_strides(random, extents, element_size, innermost)) {
      sums.image_strides.push_back(stride);
    }
    return sums;
  }
}

}  // namespace reblock::test
