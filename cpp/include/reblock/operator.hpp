// SPDX-License-Identifier: BSD-3-Clause
//
// DirectML's programming model: describe an operator, compile it once, dispatch it many times. A bad
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

/// DirectML's DML_UNFOLD_OPERATOR_DESC, which has no order and no blocks: no feature level takes others than the
/// window's defaults. The output is {N, C*K, L}, with leading sizes of 1 up to the
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

/// One of the descriptions above.
template <class T>
concept described = std::same_as<T, fold_desc> || kind_of<T> != operator_kind::fold;

/// A checked description.
struct described_operator {
  operator_kind kind;
  tensor_desc input;
  tensor_desc output;
  depth_space_geometry blocks{};  ///< of the first two kinds
  window_geometry windows{};      ///< of the others
};

/// A description that is to be checked.
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

/// Checks and plans one of the four descriptions. The error names the member that does not fit. With a feature level,
/// what DirectML does not take at that level is refused as well; without one, all that the library can do is taken.
/// It refuses what try_total_size_in_bytes() refuses, what the functions on views refuse about extents and
/// parameters, tensors of two types, and an output whose elements overlap.
template <detail::described Desc>
result<compiled_operator> try_compile(const Desc& desc, std::optional<feature_level> level = std::nullopt);

/// An operator with its plan: a trivially copyable value that any number of threads may use at once.
class compiled_operator {
 public:
  /// What the buffers of dispatch() hold: total_size_in_bytes() of it, laid out as it says.
  /// @{
  constexpr const tensor_desc& input() const noexcept { return described_.input; }
  constexpr const tensor_desc& output() const noexcept { return described_.output; }
  /// @}

  /// Reads the elements of `input` and writes those of `output`; what lies between them is left alone.
  /// Requires buffers of total_size_in_bytes() of input() and output(), at any alignment, that do not
  /// share memory: nothing is checked. Allocates nothing, and throws only what the executor throws.
  template <class Executor = serial_executor>
  void dispatch(const void* input, void* output, Executor&& executor = Executor()) const {
    operation_.run(input, output, executor);
  }

  /// The same for tensors of the described types and sizes that lie in another way: strides in bytes, one per size,
  /// of either sign. The pointers are to the elements of index 0. It plans anew unless they lie as described.
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

/// As try_compile; throws std::invalid_argument.
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
