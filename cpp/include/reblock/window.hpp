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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/conversion.hpp>
#include <reblock/depth_space_order.hpp>
#include <reblock/detail/arguments.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/reduction.hpp>
#include <reblock/detail/summand.hpp>
#include <reblock/executor.hpp>
#include <reblock/fold_options.hpp>
#include <reblock/padding_mode.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>

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

/// A block_range selects the window positions start <= l < stop along each spatial axis. Each member has one value for
/// all axes, or one value per axis. A negative value counts from the end, as in Python's slices. The default is all
/// window positions.
struct block_range {
  static constexpr std::int64_t end =
      std::numeric_limits<std::int64_t>::max();  ///< as `stop`: behind the last window position
  spatial_values start = 0;
  spatial_values stop = end;

  friend constexpr bool operator==(const block_range&, const block_range&) = default;
};

/// The struct describes how a window slides over the spatial axes. Each parameter is one value for all axes, or one value
/// per axis.
///
///     window{.sizes = 3, .start_padding = 1, .end_padding = 1}
///     window{.sizes = {3, 5}, .strides = {1, 2}}
struct window {
  spatial_values sizes = 1;          ///< elements of the window, at least 1
  spatial_values strides = 1;        ///< image elements from one window position to the next, at least 1
  spatial_values dilations = 1;      ///< image elements from one window element to the next, at least 1
  spatial_values start_padding = 0;  ///< implicit elements before the image's first one, at least 0
  spatial_values end_padding = 0;    ///< implicit elements behind the image's last one, at least 0
  /// What the implicit elements are. Every mode but the constant one needs an image extent of at least 1 along axes with
  /// padding.
  reblock::padding_mode padding_mode = reblock::padding_mode::constant;
  /// The slow index of the rows: the channel (CRD, as in DirectML) or the element of the window (DCR).
  depth_space_order order = depth_space_order::column_row_depth;
  block_range blocks{};  ///< the window positions that have columns
};

/// The options of unfold for elements of type T.
///
///     unfold(input, columns, window{.sizes = 3, .start_padding = 1}, {.padding_value = -1.0f})
template <class T>
struct unfold_options {
  /// What padding_mode::constant finds outside of the image. Bits other than 0 need this mode, and a T of at most 32 bytes.
  T padding_value{};
};

/// A padding has the start_padding and the end_padding of a window: elements along each spatial axis.
struct padding {
  axis_values start;
  axis_values end;

  friend constexpr bool operator==(const padding&, const padding&) = default;
};

/// These functions compute the padding that TensorFlow calls "SAME" and ONNX calls SAME_UPPER. With this padding, an
/// image of spatial extents S_d has ceil(S_d / strides_d) window positions along each axis. Both sides together have
///
///     max((ceil(S_d / strides_d) - 1) * strides_d + dilations_d*(K_d - 1) + 1 - S_d, 0)
///
/// elements. Where this number is odd, the end has one element more: extents {5, 6}, window sizes 3 and strides 2 give
/// start {1, 0} and end {1, 1}. Errors: not 1 to 6 extents, a value below 1, values that are not one per axis, a padding
/// that overflows. same_padding() throws std::invalid_argument.
/// @{
constexpr result<padding> try_same_padding(const axis_values& extents, const spatial_values& window_sizes,
                                           const spatial_values& strides = 1,
                                           const spatial_values& dilations = 1);
constexpr padding same_padding(const axis_values& extents, const spatial_values& window_sizes,
                               const spatial_values& strides = 1, const spatial_values& dilations = 1);
/// @}

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
/// Sums the columns up into the image `output`; elements without terms become 0. With a padding mode, fold is the
/// adjoint of unfold: terms in the padding are added to the elements that unfold takes there. For one element of the
/// window, an element's own term comes first, then the terms before the image, then those behind it, axis by axis. For
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
/// More errors: weights of other extents than the window's, negative or not finite, or for max or min; a mean that
/// accumulates.
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
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            const unfold_options<std::type_identity_t<T>>& options, Executor&& executor = Executor(),
            std::int64_t channel_axis = 1);
template <class In, class T, class Executor = serial_executor>
  requires detail::no_options<Executor>
void fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
          Executor&& executor = Executor(), std::int64_t channel_axis = 1);
template <class In, class T, class Executor = serial_executor>
void fold(const tensor_view<In>& columns, const tensor_view<T>& output, const window& window,
          const fold_options& options, Executor&& executor = Executor(), std::int64_t channel_axis = 1);
/// @}

namespace detail {

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
      return error() << "window_sizes " << parameters.sizes << " make too many columns for " << image_name
                     << " of shape " << image << ": they cannot be addressed";
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
    layout described = describe(image_strides, columns_strides);
    described.source_run = dense_run(image_, image_strides, element_size);
    return described;
  }

  /// Whether windows find other elements than zeros outside of the image: if one lies there at all.
  constexpr bool repeats() const noexcept { return mode_ != padding_mode::constant && reaches_padding(); }
  constexpr bool reaches_padding() const noexcept {
    bool reaches = false;
    for (std::size_t d = 0; d < blocks_.size(); ++d) {
      const std::int64_t last = first_[d] + (blocks_[d] - 1) * strides_[d] + (sizes_[d] - 1) * dilations_[d];
      reaches = reaches || (blocks_[d] > 0 && (first_[d] < 0 || last >= spatial_[d]));
    }
    return reaches;
  }
  constexpr reblock::padding_mode padding_mode() const noexcept { return mode_; }

  /// Describes the moves of unfold with a padding; strides in bytes. `value` is the element that the constant mode
  /// finds, or null: zero.
  constexpr padded_request padded_moves(const axis_values& image_strides, const axis_values& columns_strides,
                                        std::int64_t element_size,
                                        const std::byte* value = nullptr) const noexcept {
    padded_request request{describe(image_strides, columns_strides),
                           spatial_part(image_strides, channel_axis_), element_size, mode_};
    if (value != nullptr) std::copy_n(value, element_size, request.value.begin());
    return request;
  }

  /// Adds the padding to a request with the moves of unfold. If no window reaches into it, the moves lose their bounds.
  constexpr void convert_padding(conversion_request& request,
                                 const axis_values& image_strides) const noexcept {
    if (reaches_padding()) {
      request.mode = mode_;
      request.image_strides = spatial_part(image_strides, channel_axis_);
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
  if (geometry.repeats() || (value != nullptr && geometry.reaches_padding())) {
    return operation(geometry.padded_moves(image_strides, columns_strides, element_size, value));
  }
  return operation(geometry.moves(image_strides, columns_strides, element_size), element_size);
}

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

constexpr result<padding> try_same_padding(const axis_values& extents, const spatial_values& window_sizes,
                                           const spatial_values& strides, const spatial_values& dilations) {
  const std::size_t axes = extents.size();
  if (axes < 1 || axes > max_rank - 2) {
    return error() << "extents must have 1 to 6 values, got " << extents.given() << ": " << extents;
  }
  const auto sizes = detail::check_spatial(extents, "extents", axes, 1);
  if (!sizes) return sizes.why();
  const auto windows = detail::check_spatial(window_sizes, "window_sizes", axes, 1);
  if (!windows) return windows.why();
  const auto steps = detail::check_spatial(strides, "strides", axes, 1);
  if (!steps) return steps.why();
  const auto dilated = detail::check_spatial(dilations, "dilations", axes, 1);
  if (!dilated) return dilated.why();
  padding found;
  for (std::size_t d = 0; d < axes; ++d) {
    // This many elements are left from the last window position on: 1 to the stride.
    const std::int64_t rest = ((*sizes)[d] - 1) % (*steps)[d] + 1;
    const detail::checked_size span = detail::checked_size((*windows)[d] - 1) * (*dilated)[d] + 1;
    if (span.overflow()) {
      return error() << "window_sizes " << window_sizes << " with dilations " << dilations
                     << " are too large: a padding overflows";
    }
    const std::int64_t total = std::max<std::int64_t>(span.value() - rest, 0);
    found.start.push_back(total / 2);
    found.end.push_back(total - total / 2);
  }
  return found;
}

constexpr padding same_padding(const axis_values& extents, const spatial_values& window_sizes,
                               const spatial_values& strides, const spatial_values& dilations) {
  return try_same_padding(extents, window_sizes, strides, dilations).value();
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
  detail::held_executor held(executor);
  const detail::window_call call{
      {input, columns, detail::different_types{}}, window, channel_axis, held.reference()};
  const detail::typed_conversion typed = detail::with_types<In, T>(conversion);
  status done = success{};
  engine::unfold_converted(&call, &typed, &done);
  held.rethrow();
  return done;
}

template <class In, class T, class Executor>
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
void unfold(const tensor_view<In>& input, const tensor_view<T>& columns, const window& window,
            const unfold_options<std::type_identity_t<T>>& options, Executor&& executor,
            std::int64_t channel_axis) {
  try_unfold(input, columns, window, options, executor, channel_axis).value();
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
