// SPDX-License-Identifier: BSD-3-Clause
//
// This header follows DirectML's programming model: describe an operator, compile it once, dispatch it many times. A bad
// description fails when it is compiled, never when it is dispatched.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include <reblock/axis_values.hpp>
#include <reblock/data_type.hpp>
#include <reblock/depth_space.hpp>
#include <reblock/detail/arguments.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/executor.hpp>
#include <reblock/feature_level.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>
#include <reblock/window.hpp>

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

/// Checks a compile_call; `checked` is a result<described_operator>. See detail/engine.hpp.
REBLOCK_ENGINE_FUNCTION void check_description(const void* call, void* checked) noexcept;

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine

namespace reblock::inline REBLOCK_NAMESPACE {

/// This is DirectML's DML_DEPTH_TO_SPACE1_OPERATOR_DESC, extended to 1 to 6 spatial axes and rectangular blocks. Without
/// an output description, the output is packed and has the input's type and the resulting sizes.
struct depth_to_space_desc {
  tensor_desc input{};
  std::optional<tensor_desc> output = std::nullopt;
  spatial_values block_size = 1;
  depth_space_order order = depth_space_order::depth_column_row;
};

/// This is DirectML's DML_SPACE_TO_DEPTH1_OPERATOR_DESC, with the same extensions as depth_to_space_desc.
struct space_to_depth_desc {
  tensor_desc input{};
  std::optional<tensor_desc> output = std::nullopt;
  spatial_values block_size = 1;
  depth_space_order order = depth_space_order::depth_column_row;
};

/// This is DirectML's DML_UNFOLD_OPERATOR_DESC. DirectML has no `order`, `padding_mode` or `blocks`: every feature
/// level refuses values other than the defaults of window. The output is {N, C*K, L}. It may have leading sizes of 1,
/// up to the input's rank. Without an output description, the output is packed and of rank 3.
struct unfold_desc {
  tensor_desc input{};
  std::optional<tensor_desc> output = std::nullopt;
  reblock::window window{};
};

/// This is DirectML's DML_FOLD_OPERATOR_DESC. The input is {N, C*K, L}. It may have leading sizes of 1, up to the output's
/// rank.
struct fold_desc {
  tensor_desc input{};
  tensor_desc output{};
  reblock::window window{};
};

namespace detail {

enum class operator_kind { depth_to_space, space_to_depth, unfold, fold };

template <class Desc>
inline constexpr operator_kind kind_of = operator_kind::fold;
template <>
inline constexpr operator_kind kind_of<depth_to_space_desc> = operator_kind::depth_to_space;
template <>
inline constexpr operator_kind kind_of<space_to_depth_desc> = operator_kind::space_to_depth;
template <>
inline constexpr operator_kind kind_of<unfold_desc> = operator_kind::unfold;

/// The concept takes the four descriptions of operators.
template <class T>
concept described = std::same_as<T, fold_desc> || kind_of<T> != operator_kind::fold;

/// A described_operator holds a checked description.
struct described_operator {
  operator_kind kind;
  tensor_desc input;
  tensor_desc output;
  depth_space_geometry blocks{};  ///< for depth_to_space and space_to_depth
  window_geometry windows{};      ///< for unfold and fold
};

/// A compile_call holds a description to check.
struct compile_call {
  operator_kind kind;
  const void* desc;
  std::optional<feature_level> level;
};

constexpr axis_values strides_in_bytes(const tensor_desc& desc) noexcept {
  return in_bytes(desc.strides_or_packed(), static_cast<std::int64_t>(element_size(desc.type)));
}

}  // namespace detail

class compiled_operator;

/// Checks and plans one of the four descriptions. The error names the member that does not fit. It refuses tensors that
/// try_total_size_in_bytes() refuses, extents and parameters that the functions on views refuse, tensors of two types,
/// and an output whose elements overlap. With a feature level, it also refuses descriptions that DirectML does not take at
/// this level. Without one, it takes everything that the library can do.
template <detail::described Desc>
result<compiled_operator> try_compile(const Desc& desc, std::optional<feature_level> level = std::nullopt);

/// A compiled_operator holds an operator and its plan. It is trivially copyable. Any number of threads may use it at once.
class compiled_operator {
 public:
  /// These functions describe the buffers of dispatch(): their layout, and by total_size_in_bytes() their sizes.
  /// @{
  constexpr const tensor_desc& input() const noexcept { return described_.input; }
  constexpr const tensor_desc& output() const noexcept { return described_.output; }
  /// @}

  /// Reads the elements of `input` and writes the elements of `output`. Memory between the elements of `output` does not
  /// change. The call requires buffers of total_size_in_bytes() of input() and output(), at any alignment, that do not
  /// share memory. It checks nothing, allocates nothing, and throws only exceptions of the executor.
  template <class Executor = serial_executor>
  void dispatch(const void* input, void* output, Executor&& executor = Executor()) const {
    operation_.run(input, output, executor);
  }

  /// Does the same for tensors of the described types and sizes with other strides. Strides are in bytes, one per size, of
  /// either sign. The pointers point to the elements of index 0. Strides other than the described ones need a new plan in
  /// each call.
  template <class Executor = serial_executor>
  void dispatch(const void* input, const axis_values& input_strides, void* output,
                const axis_values& output_strides, Executor&& executor = Executor()) const {
    const bool lie_as_described = input_strides == detail::strides_in_bytes(described_.input) &&
                                  output_strides == detail::strides_in_bytes(described_.output);
    if (lie_as_described) return operation_.run(input, output, executor);
    detail::operation(described_, input_strides, output_strides).run(input, output, executor);
  }

 private:
  template <detail::described Desc>
  friend result<compiled_operator> try_compile(const Desc& desc, std::optional<feature_level> level);

  template <class Described>
  explicit compiled_operator(const Described& described) noexcept
      : described_(described),
        operation_(described, detail::strides_in_bytes(described.input),
                   detail::strides_in_bytes(described.output)) {}

  detail::described_operator described_;
  detail::operation operation_;
};

/// Does the same as try_compile, but throws std::invalid_argument.
template <detail::described Desc>
compiled_operator compile(const Desc& desc, std::optional<feature_level> level = std::nullopt) {
  return try_compile(desc, level).value();
}

template <detail::described Desc>
result<compiled_operator> try_compile(const Desc& desc, std::optional<feature_level> level) {
  const detail::compile_call call{detail::kind_of<Desc>, &desc, level};
  result<detail::described_operator> checked = error();
  engine::check_description(&call, &checked);
  if (!checked) return checked.why();
  return compiled_operator(*checked);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE

#if !defined(REBLOCK_COMPILED)
#include <reblock/detail/operator_impl.hpp>
#endif
