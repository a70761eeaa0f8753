// SPDX-License-Identifier: BSD-3-Clause
//
// unfold (im2col) and fold (col2im) are adjoint to each other. N is the batch, C the channels, S_d the spatial extents.
// K_d are the sizes of the window, and K is their product. L_d are the numbers of window positions, L is their product:
//
//     image (N, C, S_1, ..., S_k)        columns (N, C*K, L)
//     L_d = floor((S_d + start_padding_d + end_padding_d - dilations_d*(K_d - 1) - 1) / strides_d) + 1
//
// At window position l, element o of the window covers  p_d = l_d*strides_d + o_d*dilations_d - start_padding_d.
// unfold copies:  columns[n, c*K + rank(o), rank(l)] = image[n, c, p], and 0 where p lies outside;
// fold sums up:   image[n, c, p] = sum of columns[n, c*K + rank(o), rank(l)] over all (o, l) that cover p.
//
// Three members of a window change these formulas. In DCR order the row is rank(o)*C + c. With a range of window positions
// (the member `blocks`), l takes only values in the range: L is the product of its extents, and rank(l) counts from its
// start. With a padding mode, positions outside stand for others inside: unfold finds the elements of numpy.pad there, and
// fold adds their terms to the elements that unfold took.
//
// Source: DirectML's DML_UNFOLD_OPERATOR_DESC and DML_FOLD_OPERATOR_DESC.
#pragma once

#include <cstdint>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/conversion.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/sums/summand.hpp>
#include <reblock/detail/window_geometry.hpp>
#include <reblock/executor.hpp>
#include <reblock/fold_options.hpp>
#include <reblock/result.hpp>
#include <reblock/same_padding.hpp>
#include <reblock/tensor.hpp>
#include <reblock/window_parameters.hpp>

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

/// These functions run a window_call; `done` is its status. See detail/engine.hpp.
/// @{
REBLOCK_ENGINE_FUNCTION void unfold(const void* call, void* done) noexcept;
REBLOCK_ENGINE_FUNCTION void fold(const void* call, void* done) noexcept;
/// @}
/// Runs the window_call of an unfold with a typed_conversion.
REBLOCK_ENGINE_FUNCTION void unfold_converted(const void* call, const void* conversion, void* done) noexcept;

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine

namespace reblock::inline REBLOCK_NAMESPACE {

/// The options of unfold for elements of type T.
///
///     unfold(input, columns, window{.sizes = 3, .start_padding = 1}, {.padding_value = -1.0f})
template <class T>
struct unfold_options {
  /// What padding_mode::constant finds outside of the image. Bits other than 0 need this mode, and a T of at most 32 bytes.
  T padding_value{};
};

/// Computes the extents {N, C*K, L} of the columns. Image {1, 3, 5, 5} and window sizes 3 give {1, 27, 9}.
/// `channel_axis` is an axis of the image; negative values count from the end. Errors: a rank outside of 3 to 8, window
/// parameters out of their range or not one per spatial axis, a window that does not fit even once, a range beyond the
/// window positions, columns that cannot be addressed.
constexpr result<axis_values> try_unfold_extents(const axis_values& input, const window& window,
                                                 std::int64_t channel_axis = 1);
/// Computes the extents of the image that columns {N, C*K, L} fold to: columns {1, 27, 9}, output sizes {5, 5} and
/// window sizes 3 give {1, 3, 5, 5}. Errors: those of try_unfold_extents, and columns with a wrong number of rows or
/// window positions. If `output_sizes` is a single value, the first window parameter with one value per axis, in the
/// order of the members, gives the number of spatial axes. If every parameter is a single value, there is one axis.
constexpr result<axis_values> try_fold_extents(const axis_values& columns, const spatial_values& output_sizes,
                                               const window& window, std::int64_t channel_axis = 1);
/// These functions do the same as try_unfold_extents and try_fold_extents, but throw std::invalid_argument.
/// @{
constexpr axis_values unfold_extents(const axis_values& input, const window& window,
                                     std::int64_t channel_axis = 1);
constexpr axis_values fold_extents(const axis_values& columns, const spatial_values& output_sizes,
                                   const window& window, std::int64_t channel_axis = 1);
/// @}

namespace detail {

template <class T>
inline constexpr bool are_options = std::is_same_v<T, fold_options> || std::is_same_v<T, conversion>;
template <class T>
inline constexpr bool are_options<unfold_options<T>> = true;

/// Tells an executor from options: either may follow the window.
template <class T>
concept no_options = !are_options<std::remove_cvref_t<T>>;

}  // namespace detail

/// Copies the elements at each window position of the image `input` into a column of `columns`. Elements in the padding
/// become zeros, or what the window's padding_mode says. Any trivially copyable element type (its zero is all bits 0)
/// and any strides are possible. `columns` must not overlap itself or share memory with `input`. The call allocates
/// nothing. After an error nothing has been written.
template <class In, class T, class Executor = serial_executor>
  requires detail::no_options<Executor>
status try_unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
                  Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// Does the same as try_unfold above, with options.
template <class In, class T, class Executor = serial_executor>
  requires detail::no_conversion<Executor>
status try_unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
                  const unfold_options<std::type_identity_t<T>>& options, Executor&& executor = Executor(),
                  std::int64_t channel_axis = 1);
/// Does the same, but converts each element: column = cast(image * scale + bias). The scale and the bias may have a value
/// for each channel of the image. Elements in the padding become zeros of the columns' type, or what the window's
/// padding_mode says: elements that it repeats are converted. Errors: values that are not
/// finite, or that are neither one nor one for each channel.
template <detail::convertible In, detail::convertible T, class Executor = serial_executor>
status try_unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
                  const conversion& conversion, Executor&& executor = Executor(),
                  std::int64_t channel_axis = 1);
/// Does the same, with options. The padding value is an element of the columns and is not converted.
template <detail::convertible In, detail::convertible T, class Executor = serial_executor>
status try_unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
                  const unfold_options<std::type_identity_t<T>>& options, const conversion& conversion,
                  Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// Sums the columns up into the image `output`; elements without terms become 0. With a padding mode, fold is the
/// adjoint of unfold: terms in the padding are added to the elements that unfold takes there. For one element of the
/// window, an element's own term comes first, then the terms before the image, then those after it, axis by axis. For
/// every executor, sums start from zero and terms are added in ascending order of the window's elements. Element types:
/// integers (which wrap), bool (logical or), floating point and std::complex (summed in their own type), float16 and
/// bfloat16 (summed in float and rounded once). The rules of try_unfold hold as well.
template <class In, class T, class Executor = serial_executor>
  requires detail::no_options<Executor>
status try_fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
                Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// Does the same as try_fold above, with options.
///
///     fold(patches, image, {.sizes = 64, .strides = 32}, {.reduction = fold_reduction::mean, .weights = {hann, hann}});
///
/// The types of terms and results may differ; terms are then converted first, as static_cast does. Complex terms need
/// complex results. A mean of integers or bool is exact and rounded to nearest, ties to even. max and min take no complex
/// type. The mean of equal terms is the term, in every type; with weights this holds up to rounding. With a padding mode,
/// the terms in the padding count like an element's own terms.
///
/// Only `accumulate` makes the call read the output. It then adds the terms to the output's values, in the same order,
/// and rounds half floats once, at the end. Accumulating calls for ranges of window positions, one after the other, sum up
/// all ranges in the order of the calls. Each call reads and writes only elements that its range reaches.
///
/// More errors: weights of other extents than the window's, negative, not finite or too large, or for max or min; a mean
/// that accumulates.
template <class In, class T, class Executor = serial_executor>
status try_fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
                const fold_options& options, Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// These functions do the same as try_unfold and try_fold, but throw std::invalid_argument.
/// @{
template <class In, class T, class Executor = serial_executor>
  requires detail::no_options<Executor>
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            Executor&& executor = Executor(), std::int64_t channel_axis = 1);
template <detail::convertible In, detail::convertible T, class Executor = serial_executor>
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            const conversion& conversion, Executor&& executor = Executor(), std::int64_t channel_axis = 1);
template <class In, class T, class Executor = serial_executor>
  requires detail::no_conversion<Executor>
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            const unfold_options<std::type_identity_t<T>>& options, Executor&& executor = Executor(),
            std::int64_t channel_axis = 1);
template <detail::convertible In, detail::convertible T, class Executor = serial_executor>
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            const unfold_options<std::type_identity_t<T>>& options, const conversion& conversion,
            Executor&& executor = Executor(), std::int64_t channel_axis = 1);
template <class In, class T, class Executor = serial_executor>
  requires detail::no_options<Executor>
void fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
          Executor&& executor = Executor(), std::int64_t channel_axis = 1);
template <class In, class T, class Executor = serial_executor>
void fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
          const fold_options& options, Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// @}

namespace detail {

/// A window_call holds a call of unfold, or of fold, on views.
struct window_call {
  operands views;
  const window& parameters;
  std::int64_t channel_axis;
  executor_reference executor;
  summation sum{};                      ///< of fold: the terms
  reduction types{};                    ///< of fold
  fold_options options{};               ///< of fold
  const void* padding_value = nullptr;  ///< of unfold: an element, or null for zero
};

}  // namespace detail

constexpr result<axis_values> try_unfold_extents(const axis_values& input, const window& window,
                                                 std::int64_t channel_axis) {
  const auto geometry = detail::window_geometry::make(input, window, channel_axis, 1, "input");
  if (!geometry) return geometry.why();
  return geometry->columns();
}

constexpr result<axis_values> try_fold_extents(const axis_values& columns, const spatial_values& output_sizes,
                                               const window& window, std::int64_t channel_axis) {
  const auto geometry =
      detail::window_geometry::make_from_columns(columns, output_sizes, window, channel_axis, 1, "columns");
  if (!geometry) return geometry.why();
  return geometry->image();
}

constexpr axis_values unfold_extents(const axis_values& input, const window& window,
                                     std::int64_t channel_axis) {
  return try_unfold_extents(input, window, channel_axis).value();
}

constexpr axis_values fold_extents(const axis_values& columns, const spatial_values& output_sizes,
                                   const window& window, std::int64_t channel_axis) {
  return try_fold_extents(columns, output_sizes, window, channel_axis).value();
}

template <class In, class T, class Executor>
  requires detail::no_options<Executor>
status try_unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
                  Executor&& executor, std::int64_t channel_axis) {
  detail::held_executor held(executor);
  const detail::window_call call{{input, columns}, window, channel_axis, held.reference()};
  status done = success{};
  engine::unfold(&call, &done);
  held.rethrow();
  return done;
}

template <detail::convertible In, detail::convertible T, class Executor>
status try_unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
                  const conversion& conversion, Executor&& executor, std::int64_t channel_axis) {
  return try_unfold(input, columns, window, unfold_options<T>{}, conversion, executor, channel_axis);
}

template <detail::convertible In, detail::convertible T, class Executor>
status try_unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
                  const unfold_options<std::type_identity_t<T>>& options, const conversion& conversion,
                  Executor&& executor, std::int64_t channel_axis) {
  detail::held_executor held(executor);
  detail::window_call call{
      {input, columns, detail::different_types{}}, window, channel_axis, held.reference()};
  call.padding_value = &options.padding_value;
  const detail::typed_conversion typed = detail::with_types<In, T>(conversion);
  status done = success{};
  engine::unfold_converted(&call, &typed, &done);
  held.rethrow();
  return done;
}

template <class In, class T, class Executor>
  requires detail::no_conversion<Executor>
status try_unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
                  const unfold_options<std::type_identity_t<T>>& options, Executor&& executor,
                  std::int64_t channel_axis) {
  detail::held_executor held(executor);
  detail::window_call call{{input, columns}, window, channel_axis, held.reference()};
  call.padding_value = &options.padding_value;
  status done = success{};
  engine::unfold(&call, &done);
  held.rethrow();
  return done;
}

template <class In, class T, class Executor>
  requires detail::no_options<Executor>
status try_fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
                Executor&& executor, std::int64_t channel_axis) {
  static_assert(detail::summable<T>, "fold needs an element type that has a sum");
  detail::held_executor held(executor);
  const detail::window_call call{
      {columns, output}, window, channel_axis, held.reference(), detail::summation_of<T>()};
  status done = success{};
  engine::fold(&call, &done);
  held.rethrow();
  return done;
}

template <class In, class T, class Executor>
status try_fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
                const fold_options& options, Executor&& executor, std::int64_t channel_axis) {
  using term = std::remove_const_t<In>;
  static_assert(detail::summable<T> && detail::summable<term>, "fold needs an element type that has a sum");
  detail::held_executor held(executor);
  const detail::window_call call{{columns, output, detail::different_types{}},
                                 window,
                                 channel_axis,
                                 held.reference(),
                                 detail::summation_of<term>(),
                                 detail::reduction_of<term, T>(),
                                 options};
  status done = success{};
  engine::fold(&call, &done);
  held.rethrow();
  return done;
}

template <class In, class T, class Executor>
  requires detail::no_options<Executor>
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            Executor&& executor, std::int64_t channel_axis) {
  try_unfold(input, columns, window, executor, channel_axis).value();
}

template <detail::convertible In, detail::convertible T, class Executor>
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            const conversion& conversion, Executor&& executor, std::int64_t channel_axis) {
  try_unfold(input, columns, window, conversion, executor, channel_axis).value();
}

template <class In, class T, class Executor>
  requires detail::no_conversion<Executor>
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            const unfold_options<std::type_identity_t<T>>& options, Executor&& executor,
            std::int64_t channel_axis) {
  try_unfold(input, columns, window, options, executor, channel_axis).value();
}

template <detail::convertible In, detail::convertible T, class Executor>
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            const unfold_options<std::type_identity_t<T>>& options, const conversion& conversion,
            Executor&& executor, std::int64_t channel_axis) {
  try_unfold(input, columns, window, options, conversion, executor, channel_axis).value();
}

template <class In, class T, class Executor>
  requires detail::no_options<Executor>
void fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
          Executor&& executor, std::int64_t channel_axis) {
  try_fold(columns, output, window, executor, channel_axis).value();
}

template <class In, class T, class Executor>
void fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
          const fold_options& options, Executor&& executor, std::int64_t channel_axis) {
  try_fold(columns, output, window, options, executor, channel_axis).value();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE

#if !defined(REBLOCK_COMPILED)
#include <reblock/detail/window_impl.hpp>
#endif
