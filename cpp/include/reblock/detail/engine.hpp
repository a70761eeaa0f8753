// SPDX-License-Identifier: BSD-3-Clause
//
// This header declares the engine's boundary. The functions are defined with their callers, in the library
// reblock::compiled, or in the one file that includes reblock/implementation.hpp: see configuration.hpp.
//
// Arguments cross the boundary as bytes, because the names of their types depend on how each file is compiled. Nothing
// throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/sums/summand.hpp>
#include <reblock/padding_mode.hpp>

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

/// Makes a plan of `moves` (a layout whose bounds, if there are any, always hold) in `operation`.
REBLOCK_ENGINE_FUNCTION void plan_moves(void* operation, const void* moves,
                                        std::int64_t element_size) noexcept;
/// Makes a plan of `request` (a padded_request) in `operation`.
REBLOCK_ENGINE_FUNCTION void plan_windows(void* operation, const void* request) noexcept;
/// Makes a plan of `sums` (a sum_request) in `operation`.
REBLOCK_ENGINE_FUNCTION void plan_sums(void* operation, const void* sums) noexcept;
/// Makes a plan of `request` (a conversion_request) in `operation`.
REBLOCK_ENGINE_FUNCTION void plan_conversion(void* operation, const void* request) noexcept;
/// Makes a plan in `operation` of a described_operator and the strides of its input and output (axis_values), in bytes.
REBLOCK_ENGINE_FUNCTION void plan_described(void* operation, const void* described, const void* input_strides,
                                            const void* output_strides) noexcept;
/// Runs a plan by `executor` (an executor_reference).
REBLOCK_ENGINE_FUNCTION void run(const void* operation, const void* source, void* destination,
                                 const void* executor) noexcept;
/// Returns the name of the widest instruction set that plans use on this processor.
REBLOCK_ENGINE_FUNCTION const char* instruction_set() noexcept;

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A move_request describes moves without bounds. A program that makes no other plans compiles less.
struct move_request {
  const layout& moves;
  std::int64_t element_size;
};

/// A sum_request describes a fold. The moves are those of unfold with swapped sides, from the columns to the image. Their
/// axes are n, c, o_1..o_k, l_1..l_k.
struct sum_request {
  layout moves;
  axis_values extents;         ///< of the image: n, c and the spatial axes
  axis_values output_strides;  ///< of the same axes, bytes
  summation sum;
  bool accumulates = false;  ///< whether sums begin from the values in the image
  std::int64_t output_offset =
      0;  ///< bytes from the output's first element to the image's, if the image is a part
  /// Of every mode but the constant one, terms from the padding are added to the positions that they stand for.
  padding_mode mode = padding_mode::constant;
  /// How terms become results other than plain sums. It must outlive the plan, which may fill in its functions.
  reducer* reduce = nullptr;
  const reduction_ways* ways = nullptr;  ///< as in reduction
};

/// Bytes of the largest element that a padding value may have.
inline constexpr std::size_t most_padding_bytes = 32;

/// A padded_request describes an unfold, whose windows may reach beyond the image. The bounds of its moves have the mode of
/// the padding.
struct padded_request {
  layout moves;
  std::int64_t element_size;
  /// What the constant mode finds, as an element. Larger elements find zeros.
  std::array<std::byte, most_padding_bytes> value{};
};

struct described_operator;  // see operator.hpp
struct conversion_request;  // see conversion_request.hpp

/// An operation holds a plan. It is trivially copyable. Make it once, run it often.
class operation {
 public:
  REBLOCK_ENGINE_FUNCTION explicit operation(const move_request& request) noexcept {
    engine::plan_moves(plan_, &request.moves, request.element_size);
  }
  REBLOCK_ENGINE_FUNCTION explicit operation(const sum_request& sums) noexcept {
    engine::plan_sums(plan_, &sums);
  }
  REBLOCK_ENGINE_FUNCTION explicit operation(const padded_request& windows) noexcept {
    engine::plan_windows(plan_, &windows);
  }
  /// Values of factors may have to outlive the plan: see conversion_request.
  REBLOCK_ENGINE_FUNCTION explicit operation(const conversion_request& converted) noexcept {
    engine::plan_conversion(plan_, &converted);
  }
  REBLOCK_ENGINE_FUNCTION operation(const described_operator& described, const axis_values& input_strides,
                                    const axis_values& output_strides) noexcept {
    engine::plan_described(plan_, &described, &input_strides, &output_strides);
  }

  REBLOCK_ENGINE_FUNCTION void run_by(const void* source, void* destination,
                                      const executor_reference& executor) const noexcept {
    engine::run(plan_, source, destination, &executor);
  }
  /// Runs the plan. `source` and `destination` point to the first element (index 0 on every axis) of each tensor. The
  /// tensors must not share memory. The call throws only exceptions of the executor.
  template <executor Executor>
  void run(const void* source, void* destination, Executor& executor) const {
    held_executor<Executor> held(executor);
    const executor_reference reference = held.reference();
    engine::run(plan_, source, destination, &reference);
    held.rethrow();
  }

  static constexpr std::size_t plan_bytes = 12 * 1024;

 private:
  alignas(8) std::byte plan_[plan_bytes];
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
