// SPDX-License-Identifier: BSD-3-Clause
//
// unfold (im2col) and fold (col2im), each the other's adjoint. With batch N, channels C, spatial extents
// S_d, window extents K_d, K their product, block counts L_d, and L their product:
//
//     image (N, C, S_1, ..., S_k)        columns (N, C*K, L)
//     L_d = floor((S_d + start_padding_d + end_padding_d - dilations_d*(K_d - 1) - 1) / strides_d) + 1
//
// The window's position o in block l covers, in the image,  p_d = l_d*strides_d + o_d*dilations_d - start_padding_d.
// unfold copies:  columns[n, c*K + rank(o), rank(l)] = image[n, c, p], and 0 where p lies outside;
// fold sums up:   image[n, c, p] = sum of columns[n, c*K + rank(o), rank(l)] over all (o, l) that cover p.
//
// Source: DirectML's DML_UNFOLD_OPERATOR_DESC and DML_FOLD_OPERATOR_DESC.
#pragma once

#include <cstddef>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/detail/arguments.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/summand.hpp>
#include <reblock/executor.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

/// Run a window_call; `done` is its status. See detail/engine.hpp.
/// @{
REBLOCK_ENGINE_FUNCTION void unfold(const void* call, void* done) noexcept;
REBLOCK_ENGINE_FUNCTION void fold(const void* call, void* done) noexcept;
/// @}

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine

namespace reblock::inline REBLOCK_NAMESPACE {

/// How a window slides over the spatial axes: one value for all of them, or one each.
///
///     window{.sizes = 3, .start_padding = 1, .end_padding = 1}
///     window{.sizes = {3, 5}, .strides = {1, 2}}
struct window {
  spatial_values sizes = 1;          ///< elements of the window, at least 1
  spatial_values strides = 1;        ///< from one block to the next, at least 1
  spatial_values dilations = 1;      ///< from one element of the window to the next, at least 1
  spatial_values start_padding = 0;  ///< implicit zeros before the first element, at least 0
  spatial_values end_padding = 0;    ///< implicit zeros behind the last element, at least 0
};

/// The extents {N, C*K, L} of the columns: image {1, 3, 5, 5} and window sizes 3 give {1, 27, 9}. Errors:
/// a rank outside of 3 to 8, window parameters out of their range or not one per spatial axis, a window
/// that does not fit even once, columns that cannot be addressed. `channel_axis` is the image's;
/// negative values count from the end.
constexpr result<axis_values> try_unfold_extents(const axis_values& input, const window& window,
                                                 std::int64_t channel_axis = 1);
/// The extents of the image that columns {N, C*K, L} fold to: columns {1, 27, 9}, output sizes {5, 5} and
/// window sizes 3 give {1, 3, 5, 5}. Errors: as above, and columns whose rows or block count do not match.
/// Where `output_sizes` is a single value, the first parameter of the window that is not, in the order
/// of its members, tells the number of spatial axes; where all are, there is one.
constexpr result<axis_values> try_fold_extents(const axis_values& columns, const spatial_values& output_sizes,
                                               const window& window, std::int64_t channel_axis = 1);
/// As try_unfold_extents and try_fold_extents; throw std::invalid_argument.
/// @{
constexpr axis_values unfold_extents(const axis_values& input, const window& window,
                                     std::int64_t channel_axis = 1);
constexpr axis_values fold_extents(const axis_values& columns, const spatial_values& output_sizes,
                                   const window& window, std::int64_t channel_axis = 1);
/// @}

/// Copies every block of the image `input` into a column of `columns`, zeros where a window reaches
/// into the padding. Any trivially copyable element type (its zero is all bits 0) and any strides;
/// `columns` must neither overlap itself nor share memory with `input`. Allocates nothing. On an error
/// nothing has been written.
template <class In, class T, class Executor = serial_executor>
status try_unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
                  Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// Sums the columns up into the image `output`; elements that no block reaches become 0. Terms are added
/// in ascending order of the window position, starting from zero, whatever the executor. Element types:
/// integers (which wrap), bool (logical or), floating point and std::complex in their own type, float16
/// and bfloat16 in float, rounded once. Otherwise as try_unfold.
template <class In, class T, class Executor = serial_executor>
status try_fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
                Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// As try_unfold and try_fold; throw std::invalid_argument.
/// @{
template <class In, class T, class Executor = serial_executor>
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            Executor&& executor = Executor(), std::int64_t channel_axis = 1);
template <class In, class T, class Executor = serial_executor>
void fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
          Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// @}

namespace detail {

/// A checked image with a window that slides over it, and the columns that belong to them.
class window_geometry {
 public:
  static constexpr result<window_geometry> make(const axis_values& image, const window& parameters,
                                                std::int64_t channel_axis, std::int64_t element_size,
                                                const char* image_name) {
    if (const status fits = check_extents(image, image_name); !fits) return fits.why();
    const result<std::size_t> axis = check_channel_axis(channel_axis, image.size());
    if (!axis) return axis.why();
    window_geometry g;
    g.channel_axis_ = *axis;
    g.image_ = image;
    g.spatial_ = spatial_part(image, *axis);
    if (const status fits = g.take(parameters, image_name); !fits) return fits.why();

    const checked_size rows = product(g.sizes_) * image[*axis];
    const checked_size blocks = product(g.blocks_);
    g.columns_ = {image[0], rows.value(), blocks.value()};
    if (rows.overflow() || blocks.overflow() || !addressable(g.columns_, element_size)) {
      return error() << "window_sizes " << parameters.sizes << " make too many columns for " << image_name
                     << " of shape " << image << ": they cannot be addressed";
    }
    return g;
  }

  static constexpr result<window_geometry> make_from_columns(
      const axis_values& columns, const spatial_values& output_sizes, const window& parameters,
      std::int64_t channel_axis, std::int64_t element_size, const char* columns_name) {
    if (columns.size() != 3) {
      return error() << columns_name << " must have 3 axes (batch, channels * window elements, blocks), got "
                     << columns.given() << ": shape " << columns;
    }
    for (const std::int64_t extent : columns) {
      if (extent < 0) return error() << columns_name << " must not have a negative extent, got " << columns;
    }
    const std::size_t spatial_axes = count_spatial_axes(output_sizes, parameters);
    if (spatial_axes < 1 || spatial_axes > max_rank - 2) {
      return error() << "output_sizes must have 1 to 6 values, got " << output_sizes.values().given() << ": "
                     << output_sizes;
    }
    const auto spatial = check_spatial(output_sizes, "output_sizes", spatial_axes, 0);
    if (!spatial) return spatial.why();
    const auto sizes = check_spatial(parameters.sizes, "window_sizes", spatial_axes, 1);
    if (!sizes) return sizes.why();
    const auto axis = check_channel_axis(channel_axis, spatial_axes + 2);
    if (!axis) return axis.why();
    const checked_size elements = product(*sizes);
    if (elements.overflow() || columns[1] % elements.value() != 0) {
      error why;
      why << columns_name << " has " << columns[1] << " rows (axis 1 of shape " << columns
          << "), which window_sizes " << *sizes << " does not divide: ";
      return elements.overflow() ? why << "their product overflows"
                                 : why << "a multiple of " << elements.value() << " is needed";
    }
    const axis_values image = with_channel_axis(columns[0], columns[1] / elements.value(), *spatial, *axis);
    if (!addressable(image, element_size)) {
      return error() << "output_sizes " << output_sizes << " are too large for " << columns_name
                     << " of shape " << columns << ": the output cannot be addressed";
    }
    const auto g = make(image, parameters, channel_axis, element_size, "output_sizes");
    if (g && g->columns_ != columns) {
      error why;
      why << columns_name << " has " << columns[2] << " blocks (axis 2 of shape " << columns
          << "), but output_sizes " << *spatial << " give " << g->columns_[2] << ": " << g->blocks_;
      if (!output_sizes.uniform() || spatial_axes != 1) return why;
      return why << "; for two axes pass " << axis_values::repeat(2, output_sizes.values()[0]);
    }
    return g;
  }

  constexpr const axis_values& image() const noexcept { return image_; }
  /// {N, C*K, L}
  constexpr const axis_values& columns() const noexcept { return columns_; }

  /// The moves of unfold; strides in bytes.
  constexpr layout moves(const axis_values& image_strides, const axis_values& columns_strides,
                         std::int64_t element_size) const noexcept {
    layout described = describe(image_strides, columns_strides);
    described.source_run = dense_run(image_, image_strides, element_size);
    return described;
  }

  /// The sums of fold; strides in bytes.
  constexpr sum_request sums(const axis_values& columns_strides, const axis_values& image_strides,
                             const summation& sum) const noexcept {
    sum_request request{describe(image_strides, columns_strides), channels_second(image_),
                        channels_second(image_strides), sum};
    request.moves.swap_sides();
    request.moves.source_run = dense_run(columns_, columns_strides, sum.element_size);
    return request;
  }

 private:
  static constexpr std::size_t count_spatial_axes(const spatial_values& output_sizes,
                                                  const window& parameters) noexcept {
    for (const spatial_values* given :
         {&output_sizes, &parameters.sizes, &parameters.strides, &parameters.dilations,
          &parameters.start_padding, &parameters.end_padding}) {
      if (!given->uniform()) return given->values().size();
    }
    return 1;
  }

  /// Checks the window's parameters against the spatial extents and counts the blocks.
  constexpr status take(const window& parameters, const char* image_name) {
    const std::size_t axes = spatial_.size();
    const auto sizes = check_spatial(parameters.sizes, "window_sizes", axes, 1);
    if (!sizes) return sizes.why();
    const auto strides = check_spatial(parameters.strides, "strides", axes, 1);
    if (!strides) return strides.why();
    const auto dilations = check_spatial(parameters.dilations, "dilations", axes, 1);
    if (!dilations) return dilations.why();
    const auto start_padding = check_spatial(parameters.start_padding, "start_padding", axes, 0);
    if (!start_padding) return start_padding.why();
    const auto end_padding = check_spatial(parameters.end_padding, "end_padding", axes, 0);
    if (!end_padding) return end_padding.why();

    for (std::size_t d = 0; d < axes; ++d) {
      const checked_size padded = checked_size(spatial_[d]) + (*start_padding)[d] + (*end_padding)[d];
      if (padded.overflow()) {
        return error() << "start_padding " << *start_padding << " and end_padding " << *end_padding
                       << " are too large: a padded extent overflows";
      }
      const checked_size span = checked_size((*sizes)[d] - 1) * (*dilations)[d] + 1;
      if (span.overflow() || span.value() > padded.value()) {
        return error() << "window_sizes " << *sizes << " with dilations " << *dilations
                       << " do not fit even once along spatial axis " << d << ": " << image_name
                       << " has spatial extents " << spatial_ << ", with padding " << padded.value()
                       << " elements along that axis";
      }
      blocks_.push_back((padded.value() - span.value()) / (*strides)[d] + 1);
      // A step that is never taken may have been given as anything.
      strides_.push_back(blocks_[d] == 1 ? 1 : (*strides)[d]);
      dilations_.push_back((*sizes)[d] == 1 ? 1 : (*dilations)[d]);
    }
    sizes_ = *sizes;
    start_padding_ = *start_padding;
    return success{};
  }

  /// The moves from the image to the columns: the axes are batch, channels, window positions, blocks.
  constexpr layout describe(const axis_values& image_strides,
                            const axis_values& columns_strides) const noexcept {
    const axis_values image_steps = spatial_part(image_strides, channel_axis_);
    const axis_values position_strides = packed_strides(sizes_, columns_strides[1]);
    const axis_values block_strides = packed_strides(blocks_, columns_strides[2]);
    const std::int64_t positions = product(sizes_).value();

    layout moves;
    moves.add({image_[0], image_strides[0], columns_strides[0]});
    moves.add({image_[channel_axis_], image_strides[channel_axis_],
               wrapping_multiply(columns_strides[1], positions)});
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      moves.add({sizes_[d], wrapping_multiply(image_steps[d], dilations_[d]), position_strides[d], d,
                 dilations_[d]});
    }
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      moves.add(
          {blocks_[d], wrapping_multiply(image_steps[d], strides_[d]), block_strides[d], d, strides_[d]});
      moves.bounds[d] = {-start_padding_[d], spatial_[d]};
      moves.source_offset =
          wrapping_add(moves.source_offset, wrapping_multiply(-start_padding_[d], image_steps[d]));
    }
    moves.bound_count = sizes_.size();
    return moves;
  }

  constexpr axis_values channels_second(const axis_values& values) const noexcept {
    return with_channel_axis(values[0], values[channel_axis_], spatial_part(values, channel_axis_), 1);
  }

  axis_values image_;
  axis_values columns_;
  axis_values spatial_;
  axis_values blocks_;  ///< L_d
  axis_values sizes_;
  axis_values strides_;
  axis_values dilations_;
  axis_values start_padding_;
  std::size_t channel_axis_ = 1;
};

/// A call of unfold, or of fold, on views.
struct window_call {
  operands views;
  const window& parameters;
  std::int64_t channel_axis;
  executor_reference executor;
  summation sum{};  ///< of fold
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
status try_unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
                  Executor&& executor, std::int64_t channel_axis) {
  detail::held_executor held(executor);
  const detail::window_call call{{input, columns}, window, channel_axis, held.reference()};
  status done = success{};
  engine::unfold(&call, &done);
  held.rethrow();
  return done;
}

template <class In, class T, class Executor>
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
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            Executor&& executor, std::int64_t channel_axis) {
  try_unfold(input, columns, window, executor, channel_axis).value();
}

template <class In, class T, class Executor>
void fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
          Executor&& executor, std::int64_t channel_axis) {
  try_fold(columns, output, window, executor, channel_axis).value();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE

#if !defined(REBLOCK_COMPILED)
#include <reblock/detail/window_impl.hpp>
#endif
