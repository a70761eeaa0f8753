// SPDX-License-Identifier: BSD-3-Clause
//
// This header defines the engine's functions of operator.hpp: they check descriptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <reblock/detail/arguments_impl.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/engine_impl.hpp>
#include <reblock/operator.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

inline status check_known(feature_level level) {
  if (name(level) != nullptr) return success{};
  return error() << "feature_level must be one of DirectML's, LEVEL_1_0 (4096) to LEVEL_6_4 (25600), got "
                 << static_cast<std::uint32_t>(level);
}

/// Checks depth_to_space and space_to_depth by the rows of DirectML's tables.
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

inline status check_window_level(const reblock::window& window, feature_level level) {
  if (const status known = check_known(level); !known) return known;
  if (level < feature_level::level_6_4) {
    return error() << "unfold and fold need feature_level LEVEL_6_4, got " << name(level);
  }
  if (window.order != depth_space_order::column_row_depth || window.blocks != block_range{} ||
      window.padding_mode != padding_mode::constant) {
    return error() << "window must have its default order, padding_mode and blocks with a feature_level: no "
                      "level of DirectML has others";
  }
  return success{};
}

/// Returns the last three sizes of a columns tensor. The sizes before them must be 1. There must not be more sizes than the
/// image has.
inline result<axis_values> columns_part(const axis_values& sizes, std::size_t image_rank,
                                        const char* argument) {
  bool fits = sizes.size() >= 3 && sizes.size() <= image_rank;
  for (std::size_t i = 0; fits && i + 3 < sizes.size(); ++i) fits = sizes[i] == 1;
  if (fits) return axis_values{*(sizes.end() - 3), *(sizes.end() - 2), *(sizes.end() - 1)};
  return error() << argument << ": sizes must be 3, or up to " << image_rank
                 << " with leading sizes of 1, got " << sizes;
}

/// Returns the described output, or else the output inferred from the input.
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
  const overlap own = overlaps_itself(checked.sizes, checked.strides_or_packed(), 1);
  if (own != overlap::none) {
    return error() << "output: strides must not make elements overlap, got sizes " << checked.sizes
                   << " with strides " << checked.strides_or_packed() << doubt(own);
  }
  return checked;
}

template <class Desc>
result<described_operator> check_blocks(const Desc& desc, depth_space_direction direction,
                                        std::optional<feature_level> level) {
  if (const auto bytes = try_total_size_in_bytes(desc.input, "input"); !bytes) return bytes.why();
  const auto geometry =
      depth_space_geometry::make(direction, desc.input.sizes, desc.block_size, desc.order, 1,
                                 static_cast<std::int64_t>(element_size(desc.input.type)), "input");
  if (!geometry) return geometry.why();
  if (level) {
    const status fits = check_depth_space_level(desc.input, geometry->block(), desc.order, *level);
    if (!fits) return fits.why();
  }
  const auto output = check_output(desc.output, desc.input, geometry->output_extents());
  if (!output) return output.why();
  return described_operator{kind_of<Desc>, desc.input, *output, *geometry, {}};
}

inline result<described_operator> check(const depth_to_space_desc& desc, std::optional<feature_level> level) {
  return check_blocks(desc, depth_space_direction::depth_to_space, level);
}

inline result<described_operator> check(const space_to_depth_desc& desc, std::optional<feature_level> level) {
  return check_blocks(desc, depth_space_direction::space_to_depth, level);
}

inline result<described_operator> check(const unfold_desc& desc, std::optional<feature_level> level) {
  if (const auto bytes = try_total_size_in_bytes(desc.input, "input"); !bytes) return bytes.why();
  if (level) {
    if (const status fits = check_window_level(desc.window, *level); !fits) return fits.why();
  }
  const auto geometry = window_geometry::make(
      desc.input.sizes, desc.window, 1, static_cast<std::int64_t>(element_size(desc.input.type)), "input");
  if (!geometry) return geometry.why();
  axis_values sizes = geometry->columns();
  if (desc.output) {
    const auto columns = columns_part(desc.output->sizes, desc.input.sizes.size(), "output");
    if (!columns) return columns.why();
    if (*columns == sizes) sizes = desc.output->sizes;
  }
  const auto output = check_output(desc.output, desc.input, sizes);
  if (!output) return output.why();
  return described_operator{operator_kind::unfold, desc.input, *output, {}, *geometry};
}

inline result<described_operator> check(const fold_desc& desc, std::optional<feature_level> level) {
  if (const auto bytes = try_total_size_in_bytes(desc.input, "input"); !bytes) return bytes.why();
  if (const auto bytes = try_total_size_in_bytes(desc.output, "output"); !bytes) return bytes.why();
  if (level) {
    if (const status fits = check_window_level(desc.window, *level); !fits) return fits.why();
  }
  const axis_values& image = desc.output.sizes;
  if (const status fits = check_extents(image, "output"); !fits) return fits.why();
  const auto columns = columns_part(desc.input.sizes, image.size(), "input");
  if (!columns) return columns.why();
  const auto geometry =
      window_geometry::make_from_columns(*columns, spatial_part(image, 1), desc.window, 1,
                                         static_cast<std::int64_t>(element_size(desc.input.type)), "input");
  if (!geometry) return geometry.why();
  const auto output = check_output(desc.output, desc.input, geometry->image());
  if (!output) return output.why();
  return described_operator{operator_kind::fold, desc.input, *output, {}, *geometry};
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

REBLOCK_ENGINE_DEFINITION void check_description(const void* call, void* checked) noexcept {
  const auto& [kind, desc, level] = *static_cast<const detail::compile_call*>(call);
  auto& result = *static_cast<reblock::result<detail::described_operator>*>(checked);
  switch (kind) {
    case detail::operator_kind::depth_to_space:
      result = detail::check(*static_cast<const depth_to_space_desc*>(desc), level);
      break;
    case detail::operator_kind::space_to_depth:
      result = detail::check(*static_cast<const space_to_depth_desc*>(desc), level);
      break;
    case detail::operator_kind::unfold:
      result = detail::check(*static_cast<const unfold_desc*>(desc), level);
      break;
    case detail::operator_kind::fold:
      result = detail::check(*static_cast<const fold_desc*>(desc), level);
      break;
  }
}

REBLOCK_ENGINE_DEFINITION void plan_described(void* operation, const void* described,
                                              const void* input_strides,
                                              const void* output_strides) noexcept {
  const auto& op = *static_cast<const detail::described_operator*>(described);
  const auto& from = *static_cast<const axis_values*>(input_strides);
  const auto& to = *static_cast<const axis_values*>(output_strides);
  const auto size = static_cast<std::int64_t>(element_size(op.input.type));
  const auto last_three = [](const axis_values& strides) {
    return axis_values{*(strides.end() - 3), *(strides.end() - 2), *(strides.end() - 1)};
  };
  if (op.kind == detail::operator_kind::fold) {
    detail::summation sum{size, detail::summand_of(op.input.type)};
    sum.functions = detail::functions_of(sum);
    const detail::sum_request sums = op.windows.sums(last_three(from), to, sum);
    plan_sums(operation, &sums);
    return;
  }
  if (op.kind == detail::operator_kind::unfold) {
    const detail::padded_request windows = op.windows.padded_moves(from, last_three(to), size);
    plan_windows(operation, &windows);
    return;
  }
  const detail::layout moves = op.blocks.moves(from, to, size);
  plan_moves(operation, &moves, size);
}

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine
