// SPDX-License-Identifier: BSD-3-Clause
//
// A window_geometry checks the parameters of unfold and fold, and describes their moves and sums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/conversion.hpp>
#include <reblock/depth_space_order.hpp>
#include <reblock/detail/arguments.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/conversion_request.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/sums/summand.hpp>
#include <reblock/fold_options.hpp>
#include <reblock/padding_mode.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>
#include <reblock/window_parameters.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A window_geometry holds a checked image, its window, and the extents of its columns.
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
      return error() << "window_sizes " << parameters.sizes
                     << " make too many columns: they cannot be addressed (shape " << image << ')';
    }
    return g;
  }

  static constexpr result<window_geometry> make_from_columns(
      const axis_values& columns, const spatial_values& output_sizes, const window& parameters,
      std::int64_t channel_axis, std::int64_t element_size, const char* columns_name) {
    if (columns.size() != 3) {
      return error() << columns_name
                     << " must have 3 axes (batch, channels * window elements, window positions), got "
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
      why << columns_name << " has " << columns[2] << " window positions (axis 2 of shape " << columns
          << "), but output_sizes " << *spatial << (g->is_part_ ? " and blocks" : "") << " give "
          << g->columns_[2] << ": " << g->blocks_;
      if (!output_sizes.uniform() || spatial_axes != 1) return why;
      return why << "; for two axes pass " << axis_values::repeat(2, output_sizes.values()[0]);
    }
    return g;
  }

  constexpr const axis_values& image() const noexcept { return image_; }
  constexpr const axis_values& window_sizes() const noexcept { return sizes_; }
  constexpr std::int64_t channels() const noexcept { return image_[channel_axis_]; }
  /// {N, C*K, L}
  constexpr const axis_values& columns() const noexcept { return columns_; }

  /// Describes the moves of unfold; strides in bytes.
  constexpr layout moves(const axis_values& image_strides, const axis_values& columns_strides,
                         std::int64_t element_size) const noexcept {
    layout described = describe(usable(image_strides), columns_strides);
    described.source_run = dense_run(image_, image_strides, element_size);
    return described;
  }

  /// Whether windows find other elements than zeros outside of the image: if one lies there at all.
  constexpr bool repeats() const noexcept { return mode_ != padding_mode::constant && reaches_padding(); }
  constexpr bool reaches_padding() const noexcept {
    bool reaches = false;
    for (std::size_t d = 0; d < blocks_.size(); ++d) {
      if (blocks_[d] == 0) return false;
      const std::int64_t last = first_[d] + (blocks_[d] - 1) * strides_[d] + (sizes_[d] - 1) * dilations_[d];
      reaches = reaches || first_[d] < 0 || last >= spatial_[d];
    }
    return reaches;
  }
  constexpr reblock::padding_mode padding_mode() const noexcept { return mode_; }

  /// Describes the moves of unfold with a padding; strides in bytes. `value` is the element that the constant mode
  /// finds, or null: zero.
  constexpr padded_request padded_moves(const axis_values& image_strides, const axis_values& columns_strides,
                                        std::int64_t element_size,
                                        const std::byte* value = nullptr) const noexcept {
    padded_request request{moves(image_strides, columns_strides, element_size), element_size};
    find_outside(request.moves, image_strides);
    if (value != nullptr) std::copy_n(value, element_size, request.value.begin());
    return request;
  }

  /// Adds the padding to a request with the moves of unfold. If no window reaches into it, the moves lose their bounds.
  constexpr void convert_padding(conversion_request& request,
                                 const axis_values& image_strides) const noexcept {
    if (reaches_padding()) {
      find_outside(request.moves, image_strides);
      return;
    }
    request.moves.bound_count = 0;
    for (std::size_t i = 0; i < request.moves.rank; ++i) request.moves.axes[i].bound = no_bound;
  }

  /// Checks the element that the constant mode finds. The value of another mode must be zero, which is all bits 0.
  static constexpr status check_padding_value(bool is_zero, reblock::padding_mode mode,
                                              std::int64_t element_size) {
    if (is_zero) return success{};
    if (mode != padding_mode::constant) {
      return error() << "padding_value must be 0 with padding_mode " << name(mode)
                     << ": only CONSTANT finds a value";
    }
    if (element_size > std::int64_t{most_padding_bytes}) {
      return error() << "padding_value must be 0 for elements of more than " << most_padding_bytes
                     << " bytes, got elements of " << element_size;
    }
    return success{};
  }

  /// Describes the sums of fold; strides in bytes. `reduce` is given for reductions other than plain sums.
  constexpr sum_request sums(const axis_values& columns_strides, const axis_values& image_strides,
                             const summation& sum, const fold_options& options = {},
                             reducer* reduce = nullptr) const noexcept {
    sum_request request{describe(image_strides, columns_strides), channels_second(image_),
                        channels_second(image_strides), sum};
    request.moves.swap_sides();
    request.moves.source_run = dense_run(columns_, columns_strides, sum.element_size);
    request.reduce = reduce;
    request.accumulates = options.accumulate;
    if (columns_[2] == 0) keep_no_windows(request.moves);
    if (repeats()) {
      request.mode = mode_;
    } else if (options.accumulate) {
      keep_reached_part(request);
    }
    return request;
  }

 private:
  static constexpr std::size_t count_spatial_axes(const spatial_values& output_sizes,
                                                  const window& parameters) noexcept {
    for (const spatial_values* given :
         {&output_sizes, &parameters.sizes, &parameters.strides, &parameters.dilations,
          &parameters.start_padding, &parameters.end_padding, &parameters.blocks.start,
          &parameters.blocks.stop}) {
      if (!given->uniform()) return given->values().size();
    }
    return 1;
  }

  /// Checks the window's parameters against the spatial extents and counts the window positions.
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
    if (const status known = check_order(parameters.order); !known) return known;
    mode_ = parameters.padding_mode;
    if (name(mode_) == nullptr) {
      return error() << "padding_mode must be from CONSTANT (0) to WRAP (4), got "
                     << static_cast<std::uint32_t>(mode_);
    }
    const block_range& range = parameters.blocks;
    if (!range.start.fits(axes) || !range.stop.fits(axes)) {
      return error() << "blocks must be one range, or one for each of the " << axes << " spatial axes, got "
                     << (range.start.fits(axes) ? range.stop : range.start).values().given();
    }

    for (std::size_t d = 0; d < axes; ++d) {
      const checked_size padded = checked_size(spatial_[d]) + (*start_padding)[d] + (*end_padding)[d];
      if (padded.overflow()) {
        return error() << "start_padding " << *start_padding << " and end_padding " << *end_padding
                       << " are too large: a padded extent overflows";
      }
      if (mode_ != padding_mode::constant && spatial_[d] == 0 && padded.value() > 0) {
        return error() << "padding_mode must be CONSTANT for an axis without elements, got " << name(mode_)
                       << ": " << image_name << " has spatial extents " << spatial_ << ", and axis " << d
                       << " has padding";
      }
      const checked_size span = checked_size((*sizes)[d] - 1) * (*dilations)[d] + 1;
      if (span.overflow() || span.value() > padded.value()) {
        return error() << "window_sizes " << *sizes << " with dilations " << *dilations
                       << " do not fit even once along spatial axis " << d << ": " << image_name
                       << " has spatial extents " << spatial_ << ", with padding " << padded.value()
                       << " elements along that axis";
      }
      const std::int64_t all = (padded.value() - span.value()) / (*strides)[d] + 1;
      const std::int64_t first = range.start.at(d);
      const std::int64_t last = range.stop.at(d) == block_range::end ? all : range.stop.at(d);
      const std::int64_t start = first < 0 ? first + all : first;
      const std::int64_t stop = last < 0 ? last + all : last;
      if (start < 0 || stop > all || start > stop) {
        return error() << "blocks must lie among the " << all << " along spatial axis " << d
                       << " and start no later than they stop, got " << first << " to " << last;
      }
      is_part_ = is_part_ || stop - start < all;
      blocks_.push_back(stop - start);
      // A step that is never taken may have any value.
      strides_.push_back(blocks_[d] <= 1 ? 1 : (*strides)[d]);
      dilations_.push_back((*sizes)[d] == 1 ? 1 : (*dilations)[d]);
      first_.push_back((start == stop ? 0 : start * (*strides)[d]) - (*start_padding)[d]);
    }
    sizes_ = *sizes;
    order_ = parameters.order;
    return success{};
  }

  /// Returns the strides of an image. Along axes with one index any stride will do, but not all have products with dilations.
  constexpr axis_values usable(const axis_values& image_strides) const noexcept {
    axis_values strides = image_strides;
    for (std::size_t i = 0; i < image_.size(); ++i) {
      if (image_[i] < 2) strides[i] = 0;
    }
    return strides;
  }

  /// Says what windows find outside of the image.
  constexpr void find_outside(layout& moves, const axis_values& image_strides) const noexcept {
    const axis_values image_steps = spatial_part(usable(image_strides), channel_axis_);
    for (std::size_t d = 0; d < moves.bound_count; ++d) {
      moves.bounds[d].mode = mode_;
      moves.bounds[d].source_stride = image_steps[d];
    }
  }

  /// Without windows along one axis there are none, however many there are along others. The strides of columns without
  /// elements may have any value, so no place may be computed from them.
  constexpr void keep_no_windows(layout& moves) const noexcept {
    for (std::size_t i = 0; i < moves.rank; ++i) moves.axes[i].source_stride = 0;
    for (std::size_t d = 0; d < blocks_.size(); ++d) moves.axes[2 + blocks_.size() + d].extent = 0;
  }

  /// Keeps only the part of the image that windows reach.
  constexpr void keep_reached_part(sum_request& request) const noexcept {
    for (std::size_t d = 0; d < blocks_.size(); ++d) {
      const std::int64_t end =
          first_[d] + (blocks_[d] - 1) * strides_[d] + (sizes_[d] - 1) * dilations_[d] + 1;
      const std::int64_t begin = std::clamp<std::int64_t>(first_[d], 0, spatial_[d]);
      request.extents[2 + d] = blocks_[d] == 0 ? 0 : std::clamp(end, begin, spatial_[d]) - begin;
      request.moves.bounds[d] = {first_[d] - begin, request.extents[2 + d]};
      request.output_offset =
          wrapping_add(request.output_offset, wrapping_multiply(begin, request.output_strides[2 + d]));
    }
  }

  /// Describes the moves from the image to the columns. The axes are batch, channels, window elements, window positions.
  constexpr layout describe(const axis_values& image_strides,
                            const axis_values& columns_strides) const noexcept {
    const axis_values image_steps = spatial_part(image_strides, channel_axis_);
    const bool channel_is_fast = order_ == depth_space_order::depth_column_row;
    const std::int64_t channels = image_[channel_axis_];
    const std::int64_t positions = product(sizes_).value();
    const axis_values position_strides =
        packed_strides(sizes_, wrapping_multiply(columns_strides[1], channel_is_fast ? channels : 1));
    const axis_values block_strides = packed_strides(blocks_, columns_strides[2]);

    layout moves;
    moves.add({image_[0], image_strides[0], columns_strides[0]});
    moves.add({channels, image_strides[channel_axis_],
               wrapping_multiply(columns_strides[1], channel_is_fast ? 1 : positions)});
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      moves.add({sizes_[d], wrapping_multiply(image_steps[d], dilations_[d]), position_strides[d], d,
                 dilations_[d]});
    }
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      moves.add(
          {blocks_[d], wrapping_multiply(image_steps[d], strides_[d]), block_strides[d], d, strides_[d]});
      moves.bounds[d] = {first_[d], spatial_[d]};
      moves.source_offset = wrapping_add(moves.source_offset, wrapping_multiply(first_[d], image_steps[d]));
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
  axis_values blocks_;  ///< window positions in the range
  axis_values sizes_;
  axis_values strides_;
  axis_values dilations_;
  axis_values first_;  ///< where the first window position's first element lies in the image
  std::size_t channel_axis_ = 1;
  depth_space_order order_ = depth_space_order::column_row_depth;
  reblock::padding_mode mode_ = padding_mode::constant;
  bool is_part_ = false;  ///< whether the range leaves out window positions
};

/// Plans unfold; strides in bytes. `value` is the element that the constant mode finds, or null: zero.
template <class = void>
operation plan_unfold(const window_geometry& geometry, const axis_values& image_strides,
                      const axis_values& columns_strides, std::int64_t element_size,
                      const std::byte* value) noexcept {
  return operation(geometry.padded_moves(image_strides, columns_strides, element_size, value));
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
