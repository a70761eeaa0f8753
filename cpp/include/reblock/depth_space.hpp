// SPDX-License-Identifier: BSD-3-Clause
//
// depth_to_space and space_to_depth are inverse to each other. N is the batch, C the channels, S_d the spatial extents.
// B_d are the extents of a block, and P is their product:
//
//     depth (N, C*P, S_1, ..., S_k)   <->   space (N, C, S_1*B_1, ..., S_k*B_k)
//
//     depth[n, q(c, j), s_1, ..., s_k] == space[n, c, s_1*B_1 + j_1, ..., s_k*B_k + j_k]
//
// q(c, j) is rank(j) * C + c in DCR order, and c * P + rank(j) in CRD order. rank(j) is the row-major rank of j among the
// block's positions. Source: DirectML's DML_DEPTH_TO_SPACE1_OPERATOR_DESC and DML_SPACE_TO_DEPTH1_OPERATOR_DESC, extended
// to 1 to 6 spatial axes and rectangular blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/conversion.hpp>
#include <reblock/depth_space_order.hpp>
#include <reblock/detail/arguments.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/executor.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

/// Runs a depth_space_call; `done` is its status. See detail/engine.hpp.
REBLOCK_ENGINE_FUNCTION void depth_space(const void* call, void* done) noexcept;
/// Does the same with a typed_conversion.
REBLOCK_ENGINE_FUNCTION void depth_space_converted(const void* call, const void* conversion,
                                                   void* done) noexcept;

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine

namespace reblock::inline REBLOCK_NAMESPACE {

/// These functions compute the extents of the output: depth {1, 8, 2, 3} and block size 2 give space {1, 2, 4, 6}, and
/// the other way round. The axes are batch, channels at `channel_axis` (negative values count from the end) and 1 to 6
/// spatial axes. Errors: a rank outside of 3 to 8, a block size below 1, block sizes that are not one per spatial axis,
/// an extent that the block size does not divide, an output that cannot be addressed.
/// @{
constexpr result<axis_values> try_depth_to_space_extents(const axis_values& input,
                                                         const spatial_values& block_size,
                                                         std::int64_t channel_axis = 1);
constexpr result<axis_values> try_space_to_depth_extents(const axis_values& input,
                                                         const spatial_values& block_size,
                                                         std::int64_t channel_axis = 1);
/// @}
/// These functions do the same as try_depth_to_space_extents and try_space_to_depth_extents, but throw
/// std::invalid_argument.
/// @{
constexpr axis_values depth_to_space_extents(const axis_values& input, const spatial_values& block_size,
                                             std::int64_t channel_axis = 1);
constexpr axis_values space_to_depth_extents(const axis_values& input, const spatial_values& block_size,
                                             std::int64_t channel_axis = 1);
/// @}

/// These functions move the elements of `input` to `output`, whose extents must be the result of *_extents(). Any
/// trivially copyable element type and any strides are possible. `output` must not overlap itself or share memory with
/// `input`. The call allocates nothing. After an error nothing has been written.
/// @{
template <class In, class T, class Executor = serial_executor>
  requires detail::no_conversion<Executor>
status try_depth_to_space(const tensor_view<In>& input, const tensor_view<T>& output,
                          const spatial_values& block_size,
                          depth_space_order order = depth_space_order::depth_column_row,
                          Executor&& executor = Executor(), std::int64_t channel_axis = 1);
template <class In, class T, class Executor = serial_executor>
  requires detail::no_conversion<Executor>
status try_space_to_depth(const tensor_view<In>& input, const tensor_view<T>& output,
                          const spatial_values& block_size,
                          depth_space_order order = depth_space_order::depth_column_row,
                          Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// @}
/// These functions do the same, but convert each element: output = cast(input * scale + bias). The scale and the bias may
/// have a value for each channel of the space tensor. Errors: values that are not finite, or that are neither one nor one
/// for each channel.
/// @{
template <detail::convertible In, detail::convertible T, class Executor = serial_executor>
status try_depth_to_space(const tensor_view<In>& input, const tensor_view<T>& output,
                          const spatial_values& block_size, depth_space_order order,
                          const conversion& conversion, Executor&& executor = Executor(),
                          std::int64_t channel_axis = 1);
template <detail::convertible In, detail::convertible T, class Executor = serial_executor>
status try_space_to_depth(const tensor_view<In>& input, const tensor_view<T>& output,
                          const spatial_values& block_size, depth_space_order order,
                          const conversion& conversion, Executor&& executor = Executor(),
                          std::int64_t channel_axis = 1);
/// @}
/// These functions do the same as try_depth_to_space and try_space_to_depth, but throw std::invalid_argument.
/// @{
template <detail::convertible In, detail::convertible T, class Executor = serial_executor>
void depth_to_space(const tensor_view<In>& input, const tensor_view<T>& output,
                    const spatial_values& block_size, depth_space_order order, const conversion& conversion,
                    Executor&& executor = Executor(), std::int64_t channel_axis = 1);
template <detail::convertible In, detail::convertible T, class Executor = serial_executor>
void space_to_depth(const tensor_view<In>& input, const tensor_view<T>& output,
                    const spatial_values& block_size, depth_space_order order, const conversion& conversion,
                    Executor&& executor = Executor(), std::int64_t channel_axis = 1);
template <class In, class T, class Executor = serial_executor>
  requires detail::no_conversion<Executor>
void depth_to_space(const tensor_view<In>& input, const tensor_view<T>& output,
                    const spatial_values& block_size,
                    depth_space_order order = depth_space_order::depth_column_row,
                    Executor&& executor = Executor(), std::int64_t channel_axis = 1);
template <class In, class T, class Executor = serial_executor>
  requires detail::no_conversion<Executor>
void space_to_depth(const tensor_view<In>& input, const tensor_view<T>& output,
                    const spatial_values& block_size,
                    depth_space_order order = depth_space_order::depth_column_row,
                    Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// @}

namespace detail {

enum class depth_space_direction { depth_to_space, space_to_depth };

/// A depth_space_geometry holds a checked depth_to_space or space_to_depth.
class depth_space_geometry {
 public:
  static constexpr result<depth_space_geometry> make(depth_space_direction direction,
                                                     const axis_values& input,
                                                     const spatial_values& block_size,
                                                     depth_space_order order, std::int64_t channel_axis,
                                                     std::int64_t element_size, const char* input_name) {
    if (const status fits = check_extents(input, input_name); !fits) return fits.why();
    const result<std::size_t> axis = check_channel_axis(channel_axis, input.size());
    if (!axis) return axis.why();
    const result<axis_values> block = check_spatial(block_size, "block_size", input.size() - 2, 1);
    if (!block) return block.why();
    if (const status known = check_order(order); !known) return known.why();

    depth_space_geometry g;
    g.direction_ = direction;
    g.order_ = order;
    g.channel_axis_ = *axis;
    g.block_ = *block;
    const checked_size positions = product(*block);
    const axis_values spatial = spatial_part(input, *axis);
    const std::int64_t channels = input[*axis];
    axis_values other_spatial = spatial;
    checked_size other_channels = channels;
    bool too_large = positions.overflow();
    if (direction == depth_space_direction::depth_to_space) {
      if (too_large || channels % positions.value() != 0) {
        error why;
        why << input_name << " has " << channels << " channels (axis " << *axis << " of shape " << input
            << "), which block_size " << block_size << " does not divide: ";
        return too_large ? why << "their product overflows"
                         : why << "a multiple of " << positions.value() << " is needed";
      }
      other_channels = channels / positions.value();
      for (std::size_t d = 0; d < spatial.size(); ++d) {
        const checked_size extent = checked_size(spatial[d]) * (*block)[d];
        too_large = too_large || extent.overflow();
        other_spatial[d] = extent.value();
      }
    } else {
      for (std::size_t d = 0; d < spatial.size(); ++d) {
        if (spatial[d] % (*block)[d] != 0) {
          return error() << input_name << " has spatial extents " << spatial << " (shape " << input
                         << "), which block_size " << block_size << " does not divide";
        }
        other_spatial[d] = spatial[d] / (*block)[d];
      }
      other_channels *= positions;
      too_large = too_large || other_channels.overflow();
    }
    const axis_values output = with_channel_axis(input[0], other_channels.value(), other_spatial, *axis);
    if (too_large || !addressable(output, element_size)) {
      return error() << "block_size " << block_size << " is too large: the output cannot be addressed (shape "
                     << input << ')';
    }
    const bool from_depth = direction == depth_space_direction::depth_to_space;
    g.depth_ = from_depth ? input : output;
    g.space_ = from_depth ? output : input;
    return g;
  }

  constexpr const axis_values& input_extents() const noexcept {
    return direction_ == depth_space_direction::depth_to_space ? depth_ : space_;
  }
  constexpr const axis_values& output_extents() const noexcept {
    return direction_ == depth_space_direction::depth_to_space ? space_ : depth_;
  }
  /// The block's extents, one per spatial axis.
  constexpr const axis_values& block() const noexcept { return block_; }

  /// The channels of the space tensor.
  constexpr std::int64_t channels() const noexcept { return space_[channel_axis_]; }

  /// Describes the moves from the input to the output; strides in bytes.
  constexpr layout moves(const axis_values& input_strides, const axis_values& output_strides,
                         std::int64_t element_size) const noexcept {
    const bool from_depth = direction_ == depth_space_direction::depth_to_space;
    layout described =
        from_depth ? describe(input_strides, output_strides) : describe(output_strides, input_strides);
    if (!from_depth) described.swap_sides();
    described.source_run = dense_run(input_extents(), input_strides, element_size);
    return described;
  }

 private:
  /// Describes the moves from depth to space. The axes are batch, channels, positions in a block, blocks.
  constexpr layout describe(const axis_values& depth_strides,
                            const axis_values& space_strides) const noexcept {
    const std::int64_t channels = space_[channel_axis_];
    const std::int64_t channel_stride = depth_strides[channel_axis_];
    const bool channel_is_fast = order_ == depth_space_order::depth_column_row;
    const axis_values blocks = spatial_part(depth_, channel_axis_);
    const axis_values depth_steps = spatial_part(depth_strides, channel_axis_);
    const axis_values space_steps = spatial_part(space_strides, channel_axis_);
    const axis_values position_strides =
        packed_strides(block_, wrapping_multiply(channel_stride, channel_is_fast ? channels : 1));
    const std::int64_t positions = product(block_).value();

    layout moves;
    moves.add({depth_[0], depth_strides[0], space_strides[0]});
    moves.add({channels, channel_is_fast ? channel_stride : wrapping_multiply(channel_stride, positions),
               space_strides[channel_axis_]});
    for (std::size_t d = 0; d < block_.size(); ++d) {
      moves.add({block_[d], position_strides[d], space_steps[d]});
    }
    for (std::size_t d = 0; d < block_.size(); ++d) {
      moves.add({blocks[d], depth_steps[d], wrapping_multiply(space_steps[d], block_[d])});
    }
    return moves;
  }

  depth_space_direction direction_ = depth_space_direction::depth_to_space;
  depth_space_order order_ = depth_space_order::depth_column_row;
  std::size_t channel_axis_ = 1;
  axis_values block_;
  axis_values depth_;
  axis_values space_;
};

constexpr result<axis_values> depth_space_extents(depth_space_direction direction, const axis_values& input,
                                                  const spatial_values& block_size,
                                                  std::int64_t channel_axis) {
  const auto geometry =
      depth_space_geometry::make(direction, input, block_size, depth_space_order::depth_column_row,
                                 channel_axis, 1, tensor_names{}.input);
  if (!geometry) return geometry.why();
  return geometry->output_extents();
}

/// A depth_space_call holds a call of one of the two operators on views.
struct depth_space_call {
  depth_space_direction direction;
  operands views;
  spatial_values block_size;
  depth_space_order order;
  std::int64_t channel_axis;
  executor_reference executor;
};

template <class In, class T, class Executor>
status run_depth_space(depth_space_direction direction, const tensor_view<In>& input,
                       const tensor_view<T>& output, const spatial_values& block_size,
                       depth_space_order order, Executor& executor, std::int64_t channel_axis) {
  held_executor<Executor> held(executor);
  const depth_space_call call{direction, {input, output}, block_size, order, channel_axis, held.reference()};
  status done = success{};
  engine::depth_space(&call, &done);
  held.rethrow();
  return done;
}

template <class In, class T, class Executor>
status run_depth_space(depth_space_direction direction, const tensor_view<In>& input,
                       const tensor_view<T>& output, const spatial_values& block_size,
                       depth_space_order order, const conversion& conversion, Executor& executor,
                       std::int64_t channel_axis) {
  held_executor<Executor> held(executor);
  const depth_space_call call{
      direction, {input, output, different_types{}}, block_size, order, channel_axis, held.reference()};
  const typed_conversion typed = with_types<In, T>(conversion);
  status done = success{};
  engine::depth_space_converted(&call, &typed, &done);
  held.rethrow();
  return done;
}

}  // namespace detail

constexpr result<axis_values> try_depth_to_space_extents(const axis_values& input,
                                                         const spatial_values& block_size,
                                                         std::int64_t channel_axis) {
  return detail::depth_space_extents(detail::depth_space_direction::depth_to_space, input, block_size,
                                     channel_axis);
}

constexpr result<axis_values> try_space_to_depth_extents(const axis_values& input,
                                                         const spatial_values& block_size,
                                                         std::int64_t channel_axis) {
  return detail::depth_space_extents(detail::depth_space_direction::space_to_depth, input, block_size,
                                     channel_axis);
}

constexpr axis_values depth_to_space_extents(const axis_values& input, const spatial_values& block_size,
                                             std::int64_t channel_axis) {
  return try_depth_to_space_extents(input, block_size, channel_axis).value();
}

constexpr axis_values space_to_depth_extents(const axis_values& input, const spatial_values& block_size,
                                             std::int64_t channel_axis) {
  return try_space_to_depth_extents(input, block_size, channel_axis).value();
}

template <class In, class T, class Executor>
  requires detail::no_conversion<Executor>
status try_depth_to_space(const tensor_view<In>& input, const tensor_view<T>& output,
                          const spatial_values& block_size, depth_space_order order, Executor&& executor,
                          std::int64_t channel_axis) {
  return detail::run_depth_space(detail::depth_space_direction::depth_to_space, input, output, block_size,
                                 order, executor, channel_axis);
}

template <class In, class T, class Executor>
  requires detail::no_conversion<Executor>
status try_space_to_depth(const tensor_view<In>& input, const tensor_view<T>& output,
                          const spatial_values& block_size, depth_space_order order, Executor&& executor,
                          std::int64_t channel_axis) {
  return detail::run_depth_space(detail::depth_space_direction::space_to_depth, input, output, block_size,
                                 order, executor, channel_axis);
}

template <class In, class T, class Executor>
  requires detail::no_conversion<Executor>
void depth_to_space(const tensor_view<In>& input, const tensor_view<T>& output,
                    const spatial_values& block_size, depth_space_order order, Executor&& executor,
                    std::int64_t channel_axis) {
  try_depth_to_space(input, output, block_size, order, executor, channel_axis).value();
}

template <class In, class T, class Executor>
  requires detail::no_conversion<Executor>
void space_to_depth(const tensor_view<In>& input, const tensor_view<T>& output,
                    const spatial_values& block_size, depth_space_order order, Executor&& executor,
                    std::int64_t channel_axis) {
  try_space_to_depth(input, output, block_size, order, executor, channel_axis).value();
}

template <detail::convertible In, detail::convertible T, class Executor>
status try_depth_to_space(const tensor_view<In>& input, const tensor_view<T>& output,
                          const spatial_values& block_size, depth_space_order order,
                          const conversion& conversion, Executor&& executor, std::int64_t channel_axis) {
  return detail::run_depth_space(detail::depth_space_direction::depth_to_space, input, output, block_size,
                                 order, conversion, executor, channel_axis);
}

template <detail::convertible In, detail::convertible T, class Executor>
status try_space_to_depth(const tensor_view<In>& input, const tensor_view<T>& output,
                          const spatial_values& block_size, depth_space_order order,
                          const conversion& conversion, Executor&& executor, std::int64_t channel_axis) {
  return detail::run_depth_space(detail::depth_space_direction::space_to_depth, input, output, block_size,
                                 order, conversion, executor, channel_axis);
}

template <detail::convertible In, detail::convertible T, class Executor>
void depth_to_space(const tensor_view<In>& input, const tensor_view<T>& output,
                    const spatial_values& block_size, depth_space_order order, const conversion& conversion,
                    Executor&& executor, std::int64_t channel_axis) {
  try_depth_to_space(input, output, block_size, order, conversion, executor, channel_axis).value();
}

template <detail::convertible In, detail::convertible T, class Executor>
void space_to_depth(const tensor_view<In>& input, const tensor_view<T>& output,
                    const spatial_values& block_size, depth_space_order order, const conversion& conversion,
                    Executor&& executor, std::int64_t channel_axis) {
  try_space_to_depth(input, output, block_size, order, conversion, executor, channel_axis).value();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE

#if !defined(REBLOCK_COMPILED)
#include <reblock/detail/depth_space_impl.hpp>
#endif
