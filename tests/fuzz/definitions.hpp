// SPDX-License-Identifier: BSD-3-Clause
//
// What the operators do to the bytes of tensors with strides, element by element.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <reblock/depth_space.hpp>
#include <reblock/window.hpp>

#include "../cpp/oracle.hpp"

namespace reblock::fuzz {

/// Where the elements of a tensor lie; strides in elements.
struct elements {
  axis_values extents;
  axis_values strides;
  std::size_t size;  ///< of one element, in bytes

  /// In elements, from the element whose index is 0 on every axis.
  std::int64_t place(const axis_values& index) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < index.size(); ++i) sum += index[i] * strides[i];
    return sum;
  }
  template <class Byte>
  Byte* at(const axis_values& index, Byte* first) const {
    return first + place(index) * static_cast<std::ptrdiff_t>(size);
  }
};

/// Depth to space, or space to depth: `space` and `block` say which elements are equal.
inline void define_depth_space(bool to_space, const axis_values& space, const axis_values& block,
                               depth_space_order order, std::size_t channel_axis, const elements& input,
                               const elements& output, const std::byte* from, std::byte* to) {
  oracle::for_each_depth_space_pair(space, block, order, channel_axis,
                                    [&](const axis_values& in_depth, const axis_values& in_space) {
                                      std::memcpy(output.at(to_space ? in_space : in_depth, to),
                                                  input.at(to_space ? in_depth : in_space, from), input.size);
                                    });
}

/// Finds the element that a padded index stands for. Returns whether there is one.
inline bool find_inside(const axis_values& image, std::size_t channel_axis, padding_mode mode,
                        axis_values& index) {
  for (std::size_t i = 1; i < index.size(); ++i) {
    if (i == channel_axis) continue;
    index[i] = oracle::inside(index[i], image[i], mode);
    if (index[i] < 0) return false;
  }
  return true;
}

/// `outside` is the element that the constant mode finds outside of the image.
inline void define_unfold(const window& w, std::size_t channel_axis, const elements& image,
                          const elements& columns, const std::byte* from, std::byte* to,
                          const std::byte* outside) {
  oracle::for_each_window_pair(image.extents, w, channel_axis,
                               [&](const axis_values& in_columns, const axis_values& padded, bool) {
                                 std::byte* element = columns.at(in_columns, to);
                                 axis_values at = padded;
                                 if (find_inside(image.extents, channel_axis, w.padding_mode, at)) {
                                   std::memcpy(element, image.at(at, from), image.size);
                                 } else {
                                   std::memcpy(element, outside, image.size);
                                 }
                               });
}

/// A term of an element of the image, and where it stands in the order of addition: its plane and its offset in the window,
/// then for each axis whether it lies inside, before or behind the image, and its position there.
struct listed_term {
  std::array<std::int64_t, 2 + 2 * (max_rank - 2)> order;
  std::size_t in_image;  ///< the element's number in C order
  const std::byte* term;

  std::int64_t offset() const { return order[1]; }
};

/// Lists the terms of all elements in the order of addition. The next call changes the list: it keeps its memory.
inline const std::vector<listed_term>& list_terms(const window& w, std::size_t channel_axis,
                                                  const elements& columns, const axis_values& image,
                                                  const std::byte* from) {
  static std::vector<listed_term> terms;
  terms.clear();
  const std::int64_t channels = image[channel_axis];
  const std::int64_t sizes = oracle::volume(w.sizes.values());
  const bool is_crd = w.order == depth_space_order::column_row_depth;
  oracle::for_each_window_pair(
      image, w, channel_axis, [&](const axis_values& in_columns, const axis_values& padded, bool) {
        axis_values at = padded;
        if (!find_inside(image, channel_axis, w.padding_mode, at)) return;
        listed_term listed{
            {at[0] * channels + at[channel_axis], is_crd ? in_columns[1] % sizes : in_columns[1] / channels},
            static_cast<std::size_t>(oracle::rank(at, image)),
            columns.at(in_columns, from)};
        std::size_t last = 1;
        for (std::size_t i = 1; i < padded.size(); ++i) {
          if (i == channel_axis) continue;
          listed.order[++last] = padded[i] < 0 ? 1 : padded[i] >= image[i] ? 2 : 0;
          listed.order[++last] = padded[i];
        }
        terms.push_back(listed);
      });
  const auto comes_first = [](const listed_term& a, const listed_term& b) { return a.order < b.order; };
  if (!std::is_sorted(terms.begin(), terms.end(), comes_first)) {
    std::sort(terms.begin(), terms.end(), comes_first);
  }
  return terms;
}

/// The nearest integer to a quotient, ties to even. The divisor is positive.
template <class Integer>
Integer divided(Integer sum, Integer count) {
  Integer quotient = sum / count;
  Integer rest = sum % count;
  if (rest < 0) {
    rest += count;
    --quotient;
  }
  return 2 * rest > count || (2 * rest == count && quotient % 2 != 0) ? quotient + 1 : quotient;
}

/// The weight of one offset of the window, whose number is `o`.
inline double weight_of(const window_weights& weights, const axis_values& sizes, std::int64_t o) {
  double product = 1;
  std::int64_t place = 0;
  for (std::size_t d = sizes.size(); d-- > 0; o /= sizes[d]) {
    const std::int64_t at = o % sizes[d];
    if (weights.has_products()) product *= weights.values(d)[at];
    place += at * weights.strides()[d];
  }
  return weights.has_products() ? product : weights.values(0)[place];
}

/// The nearest value of T, ties to even. Integers beyond the range become its nearest value.
template <class T, class Sum>
T rounded_to(Sum sum) {
  if constexpr (std::is_integral_v<T>) {
    using limits = std::numeric_limits<T>;
    const double nearest = std::nearbyint(sum);
    if (nearest <= static_cast<double>(limits::min())) return limits::min();
    return nearest >= static_cast<double>(limits::max()) ? limits::max() : static_cast<T>(nearest);
  } else {
    return static_cast<T>(sum);
  }
}

/// Sums of weights times terms of type T. They are added up in float for halves, else in double, and rounded once.
template <class T>
void define_weighted_sums(const window& w, std::size_t channel_axis, const fold_options& options,
                          const elements& columns, const elements& image, const std::byte* from,
                          std::byte* to) {
  using sum_type = std::conditional_t<std::is_floating_point_v<T> || std::is_integral_v<T>, double, float>;
  oracle::tensor<sum_type> sums(image.extents);
  oracle::tensor<std::int64_t> counts(image.extents);
  const auto read = [](const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return static_cast<sum_type>(value);
  };
  if (options.accumulate) {
    oracle::for_each_index(image.extents, [&](const axis_values& i) { sums.at(i) = read(image.at(i, to)); });
  }
  for (const listed_term& listed : list_terms(w, channel_axis, columns, image.extents, from)) {
    const double weight = weight_of(options.weights, w.sizes.values(), listed.offset());
    const volatile sum_type term = static_cast<sum_type>(weight) * read(listed.term);
    sum_type& sum = sums.values[listed.in_image];
    sum = sum + term;
    ++counts.values[listed.in_image];
  }
  oracle::for_each_index(image.extents, [&](const axis_values& i) {
    if (options.accumulate && counts.at(i) == 0) return;
    const T result = rounded_to<T>(sums.at(i));
    std::memcpy(image.at(i, to), &result, sizeof(T));
  });
}

/// Elements of type T. Each sum has a variable of type Sum and is rounded once; means are those of integers. If the
/// reduction accumulates, it begins from what the image holds.
template <class T, class Sum>
void define_fold(const window& w, std::size_t channel_axis, const fold_options& options,
                 const elements& columns, const elements& image, const std::byte* from, std::byte* to) {
  if (!options.weights.empty()) {
    return define_weighted_sums<T>(w, channel_axis, options, columns, image, from, to);
  }
  using wide = __int128;
  oracle::tensor<Sum> sums(image.extents);
  oracle::tensor<wide> exact(image.extents);
  oracle::tensor<std::int64_t> counts(image.extents);
  if (options.accumulate) {
    oracle::for_each_index(image.extents, [&](const axis_values& index) {
      T held;
      std::memcpy(&held, image.at(index, to), sizeof(T));
      sums.at(index) = static_cast<Sum>(held);
    });
  }
  for (const listed_term& listed : list_terms(w, channel_axis, columns, image.extents, from)) {
    T term;
    std::memcpy(&term, listed.term, sizeof(T));
    const auto next = static_cast<Sum>(term);
    Sum& sum = sums.values[listed.in_image];
    std::int64_t& count = counts.values[listed.in_image];
    const bool begins = count++ == 0 && !options.accumulate;
    switch (options.reduction) {
      case fold_reduction::sum: sum = static_cast<Sum>(sum + next); break;
      case fold_reduction::mean:
        if constexpr (std::is_integral_v<T>) exact.values[listed.in_image] += term;
        break;
      case fold_reduction::max: sum = !begins && (sum >= next || sum != sum) ? sum : next; break;
      case fold_reduction::min: sum = !begins && (sum <= next || sum != sum) ? sum : next; break;
    }
  }
  oracle::for_each_index(image.extents, [&](const axis_values& index) {
    if (options.accumulate && counts.at(index) == 0) return;
    auto result = static_cast<T>(sums.at(index));
    if (options.reduction == fold_reduction::mean && counts.at(index) > 0) {
      result = static_cast<T>(divided<wide>(exact.at(index), counts.at(index)));
    }
    std::memcpy(image.at(index, to), &result, sizeof(T));
  });
}

template <class T, class Sum>
void define_sums(const window& w, std::size_t channel_axis, const elements& columns, const elements& image,
                 const std::byte* from, std::byte* to) {
  define_fold<T, Sum>(w, channel_axis, {}, columns, image, from, to);
}

/// Makes every NaN the same one: which bits a sum with a NaN has, the compiler decides.
template <class T>
void unify_nans(const elements& tensor, std::byte* first) {
  oracle::for_each_index(tensor.extents, [&](const axis_values& index) {
    T value;
    std::memcpy(&value, tensor.at(index, first), sizeof(T));
    if (value != value) std::memset(tensor.at(index, first), 0xff, sizeof(T));
  });
}

}  // namespace reblock::fuzz
