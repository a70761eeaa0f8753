// SPDX-License-Identifier: BSD-3-Clause
//
// DirectML's programming model: describe an operator, compile it once, dispatch it many times. A bad
// description fails when it is compiled, never when it is dispatched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>

#include <reblock/axis_values.hpp>
#include <reblock/data_type.hpp>
#include <reblock/depth_space.hpp>
#include <reblock/executor.hpp>
#include <reblock/feature_level.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>
#include <reblock/window.hpp>

namespace reblock {

/// DirectML's DML_DEPTH_TO_SPACE1_OPERATOR_DESC; also for 1 to 6 spatial axes and rectangular blocks.
/// An output that is left out is packed, of the input's type and the extents that result.
struct depth_to_space_desc {
  tensor_desc input{};
  std::optional<tensor_desc> output = std::nullopt;
  spatial_values block_size = 1;
  depth_space_order order = depth_space_order::depth_column_row;
};

/// DirectML's DML_SPACE_TO_DEPTH1_OPERATOR_DESC, as depth_to_space_desc.
struct space_to_depth_desc {
  tensor_desc input{};
  std::optional<tensor_desc> output = std::nullopt;
  spatial_values block_size = 1;
  depth_space_order order = depth_space_order::depth_column_row;
};

/// DirectML's DML_UNFOLD_OPERATOR_DESC. The output is {N, C*K, L}, with leading sizes of 1 up to the
/// input's rank if that is wanted; left out, it is packed and of rank 3.
struct unfold_desc {
  tensor_desc input{};
  std::optional<tensor_desc> output = std::nullopt;
  reblock::window window{};
};

/// DirectML's DML_FOLD_OPERATOR_DESC. The input is {N, C*K, L}, with leading sizes of 1 up to the
/// output's rank if that is wanted.
struct fold_desc {
  tensor_desc input{};
  tensor_desc output{};
  reblock::window window{};
};

/// An operator with its plan: a trivially copyable value that any number of threads may use at once.
class compiled_operator {
 public:
  /// What the buffers of dispatch() hold: total_size_in_bytes() of it, laid out as it says.
  /// @{
  constexpr const tensor_desc& input() const noexcept { return input_; }
  constexpr const tensor_desc& output() const noexcept { return output_; }
  /// @}

  /// Reads the elements of `input` and writes those of `output`; what lies between them is left alone.
  /// Requires buffers of total_size_in_bytes() of input() and output(), at any alignment, that do not
  /// share memory: nothing is checked. Allocates nothing, and throws only what the executor throws.
  template <class Executor = serial_executor>
  void dispatch(const void* input, void* output, Executor&& executor = Executor()) const {
    operation_.run(input, output, executor, detail::sum_leaf(input_.type));
  }

  /// Whether tensors with these strides, in bytes, lie as the buffers of dispatch() do.
  constexpr bool lie_as_described(const axis_values& input_strides,
                                  const axis_values& output_strides) const noexcept {
    return input_strides == strides_in_bytes(input_) && output_strides == strides_in_bytes(output_);
  }

  /// The same operation on tensors of the described types and sizes that lie in another way: strides in
  /// bytes, one per size, of either sign.
  detail::operation plan(const axis_values& input_strides, const axis_values& output_strides) const;

 private:
  struct unfold_geometry : detail::window_geometry {};
  struct fold_geometry : detail::window_geometry {};
  using geometry = std::variant<detail::depth_space_geometry, unfold_geometry, fold_geometry>;

  compiled_operator(const tensor_desc& input, const tensor_desc& output, const geometry& checked)
      : input_(input),
        output_(output),
        geometry_(checked),
        operation_(plan(strides_in_bytes(input), strides_in_bytes(output))) {}

  static constexpr axis_values strides_in_bytes(const tensor_desc& desc) noexcept {
    return detail::in_bytes(desc.strides_or_packed(), static_cast<std::int64_t>(element_size(desc.type)));
  }

  template <class Desc>
  static result<compiled_operator> compile_depth_space(const Desc& desc,
                                                       detail::depth_space_direction direction,
                                                       std::optional<feature_level> level);
  friend result<compiled_operator> try_compile(const depth_to_space_desc&, std::optional<feature_level>);
  friend result<compiled_operator> try_compile(const space_to_depth_desc&, std::optional<feature_level>);
  friend result<compiled_operator> try_compile(const unfold_desc&, std::optional<feature_level>);
  friend result<compiled_operator> try_compile(const fold_desc&, std::optional<feature_level>);

  tensor_desc input_;
  tensor_desc output_;
  geometry geometry_;
  detail::operation operation_;
};

/// Checks and plans. The error names the member that does not fit. With a feature level, what DirectML
/// does not take at that level is refused as well; without one, all that the library can do is taken.
/// It refuses what try_total_size_in_bytes() refuses, what the functions on views refuse about extents and
/// parameters, tensors of two types, and an output whose elements overlap.
/// @{
result<compiled_operator> try_compile(const depth_to_space_desc& desc,
                                      std::optional<feature_level> level = std::nullopt);
result<compiled_operator> try_compile(const space_to_depth_desc& desc,
                                      std::optional<feature_level> level = std::nullopt);
result<compiled_operator> try_compile(const unfold_desc& desc,
                                      std::optional<feature_level> level = std::nullopt);
result<compiled_operator> try_compile(const fold_desc& desc,
                                      std::optional<feature_level> level = std::nullopt);
/// @}

/// As try_compile; throws std::invalid_argument.
template <class Desc>
compiled_operator compile(const Desc& desc, std::optional<feature_level> level = std::nullopt) {
  return try_compile(desc, level).value();
}

namespace detail {

inline status check_known(feature_level level) {
  if (name(level) != nullptr) return success{};
  return error() << "feature_level must be one of DirectML's, LEVEL_1_0 (4096) to LEVEL_6_4 (25600), got "
                 << static_cast<std::uint32_t>(level);
}

/// The rows of DirectML's tables for depth_to_space and space_to_depth.
inline status check_depth_space_level(const tensor_desc& input, const axis_values& block,
                                      depth_space_order order, feature_level level) {
  if (const status known = check_known(level); !known) return known;
  const std::size_t bytes = element_size(input.type);
  const bool small_float = input.type == data_type::float32 || input.type == data_type::float16;
  if (!small_float &&
      (level < feature_level::level_2_1 || (bytes == 8 && level < feature_level::level_5_0))) {
    return error() << "input: data_type " << name(input.type) << " needs feature_level "
                   << name(bytes == 8 ? feature_level::level_5_0 : feature_level::level_2_1) << ", got "
                   << name(level);
  }
  if (order != depth_space_order::depth_column_row && level < feature_level::level_2_1) {
    return error() << "order COLUMN_ROW_DEPTH needs feature_level LEVEL_2_1, got " << name(level);
  }
  if (input.sizes.size() != 4) {
    return error() << "input: sizes must have 4 values with a feature_level, got " << input.sizes;
  }
  if (block[0] != block[1]) {
    return error() << "block_size must be the same along both axes with a feature_level, got " << block;
  }
  return success{};
}

inline status check_window_level(feature_level level) {
  if (const status known = check_known(level); !known) return known;
  if (level >= feature_level::level_6_4) return success{};
  return error() << "unfold and fold need feature_level LEVEL_6_4, got " << name(level);
}

/// The last three sizes of a columns tensor; those before them must be 1, and there are no more than
/// the image has.
inline result<axis_values> columns_part(const axis_values& sizes, std::size_t image_rank,
                                        const char* argument) {
  bool fits = sizes.size() >= 3 && sizes.size() <= image_rank;
  for (std::size_t i = 0; fits && i + 3 < sizes.size(); ++i) fits = sizes[i] == 1;
  if (fits) return axis_values{*(sizes.end() - 3), *(sizes.end() - 2), *(sizes.end() - 1)};
  return error() << argument << ": sizes must be 3, or up to " << image_rank
                 << " with leading sizes of 1, got " << sizes;
}

/// The output as it is described, or else as it is inferred from the input.
inline result<tensor_desc> check_output(const std::optional<tensor_desc>& output, const tensor_desc& input,
                                        const axis_values& sizes) {
  const tensor_desc checked = output.value_or(tensor_desc{input.type, sizes});
  if (const auto bytes = try_total_size_in_bytes(checked, "output"); !bytes) return bytes.why();
  if (checked.type != input.type) {
    return error() << "output: data_type must be the input's, " << name(input.type) << ", got "
                   << name(checked.type);
  }
  if (checked.sizes != sizes) {
    return error() << "output: sizes must be " << sizes << ", got " << checked.sizes;
  }
  if (overlaps_itself(checked.sizes, checked.strides_or_packed(), 1)) {
    return error() << "output: strides must not make elements overlap, got sizes " << checked.sizes
                   << " with strides " << checked.strides_or_packed();
  }
  return checked;
}

}  // namespace detail

inline detail::operation compiled_operator::plan(const axis_values& input_strides,
                                                 const axis_values& output_strides) const {
  const auto last_three = [](const axis_values& strides) {
    return axis_values{*(strides.end() - 3), *(strides.end() - 2), *(strides.end() - 1)};
  };
  const auto size = static_cast<std::int64_t>(element_size(input_.type));
  if (const auto* unfold = std::get_if<unfold_geometry>(&geometry_)) {
    return unfold->plan_unfold(input_strides, last_three(output_strides), size);
  }
  if (const auto* fold = std::get_if<fold_geometry>(&geometry_)) {
    return fold->plan_fold(last_three(input_strides), output_strides, detail::summation_of(input_.type));
  }
  return std::get_if<detail::depth_space_geometry>(&geometry_)->plan(input_strides, output_strides, size);
}

template <class Desc>
result<compiled_operator> compiled_operator::compile_depth_space(const Desc& desc,
                                                                 detail::depth_space_direction direction,
                                                                 std::optional<feature_level> level) {
  if (const auto bytes = try_total_size_in_bytes(desc.input, "input"); !bytes) return bytes.why();
  const auto geometry =
      detail::depth_space_geometry::make(direction, desc.input.sizes, desc.block_size, desc.order, 1,
                                         static_cast<std::int64_t>(element_size(desc.input.type)), "input");
  if (!geometry) return geometry.why();
  if (level) {
    const status fits = detail::check_depth_space_level(desc.input, geometry->block(), desc.order, *level);
    if (!fits) return fits.why();
  }
  const auto output = detail::check_output(desc.output, desc.input, geometry->output_extents());
  if (!output) return output.why();
  return compiled_operator(desc.input, *output, *geometry);
}

inline result<compiled_operator> try_compile(const depth_to_space_desc& desc,
                                             std::optional<feature_level> level) {
  return compiled_operator::compile_depth_space(desc, detail::depth_space_direction::depth_to_space, level);
}

inline result<compiled_operator> try_compile(const space_to_depth_desc& desc,
                                             std::optional<feature_level> level) {
  return compiled_operator::compile_depth_space(desc, detail::depth_space_direction::space_to_depth, level);
}

inline result<compiled_operator> try_compile(const unfold_desc& desc, std::optional<feature_level> level) {
  if (const auto bytes = try_total_size_in_bytes(desc.input, "input"); !bytes) return bytes.why();
  if (level) {
    if (const status fits = detail::check_window_level(*level); !fits) return fits.why();
  }
  const auto geometry = detail::window_geometry::make(
      desc.input.sizes, desc.window, 1, static_cast<std::int64_t>(element_size(desc.input.type)), "input");
  if (!geometry) return geometry.why();
  axis_values sizes = geometry->columns();
  if (desc.output) {
    const auto columns = detail::columns_part(desc.output->sizes, desc.input.sizes.size(), "output");
    if (!columns) return columns.why();
    if (*columns == sizes) sizes = desc.output->sizes;
  }
  const auto output = detail::check_output(desc.output, desc.input, sizes);
  if (!output) return output.why();
  return compiled_operator(desc.input, *output, compiled_operator::unfold_geometry{*geometry});
}

inline result<compiled_operator> try_compile(const fold_desc& desc, std::optional<feature_level> level) {
  if (const auto bytes = try_total_size_in_bytes(desc.input, "input"); !bytes) return bytes.why();
  if (const auto bytes = try_total_size_in_bytes(desc.output, "output"); !bytes) return bytes.why();
  if (level) {
    if (const status fits = detail::check_window_level(*level); !fits) return fits.why();
  }
  const axis_values& image = desc.output.sizes;
  if (const status fits = detail::check_extents(image, "output"); !fits) return fits.why();
  const auto columns = detail::columns_part(desc.input.sizes, image.size(), "input");
  if (!columns) return columns.why();
  const auto geometry = detail::window_geometry::make_from_columns(
      *columns, detail::spatial_part(image, 1), desc.window, 1,
      static_cast<std::int64_t>(element_size(desc.input.type)), "input");
  if (!geometry) return geometry.why();
  const auto output = detail::check_output(desc.output, desc.input, geometry->image());
  if (!output) return output.why();
  return compiled_operator(desc.input, *output, compiled_operator::fold_geometry{*geometry});
}

}  // namespace reblock
