// SPDX-License-Identifier: BSD-3-Clause
//
// copy() copies the elements of a view to another view of the same extents. With the views that tensor_view makes, it
// does every rearrangement.
//
//     // images (N, H, W, C) as rows of patches of p x p pixels: (N, H/p * W/p, p * p * C)
//     const auto patches = images.split(2, {w, p}).split(1, {h, p}).permuted({0, 1, 3, 2, 4, 5});
//     copy(patches, tensor_view<float>(tokens, patches.extents()));
//
// With a conversion, it also changes the elements on the way: conversion.hpp.
#pragma once

#include <reblock/conversion.hpp>
#include <reblock/detail/arguments.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/executor.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

/// Runs a copy_call; `done` is its status. See detail/engine.hpp.
REBLOCK_ENGINE_FUNCTION void copy(const void* call, void* done) noexcept;
/// Does the same with a typed_conversion.
REBLOCK_ENGINE_FUNCTION void copy_converted(const void* call, const void* conversion, void* done) noexcept;

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine

namespace reblock::inline REBLOCK_NAMESPACE {

/// Writes element i of `source` to element i of `destination`, for every index i. Both must have the same extents, 0 to
/// 16 axes and the same trivially copyable element type; they may have any strides. `destination` must not overlap itself
/// or share memory with `source`. The call allocates nothing. After an error nothing has been written.
template <class In, class T, class Executor = serial_executor>
  requires detail::no_conversion<Executor>
status try_copy(const tensor_view<In>& source, const tensor_view<T>& destination,
                Executor&& executor = Executor());
/// Does the same, but converts each element: destination[i] = cast(source[i] * scale + bias). The scale and the bias may
/// have a value for each index of the axis `conversion.axis`. Errors: values that are not finite, or that are neither one
/// nor one for each index.
template <detail::convertible In, detail::convertible T, class Executor = serial_executor>
status try_copy(const tensor_view<In>& source, const tensor_view<T>& destination,
                const conversion& conversion, Executor&& executor = Executor());
/// These functions do the same as try_copy, but throw std::invalid_argument.
/// @{
template <class In, class T, class Executor = serial_executor>
  requires detail::no_conversion<Executor>
void copy(const tensor_view<In>& source, const tensor_view<T>& destination, Executor&& executor = Executor());
template <detail::convertible In, detail::convertible T, class Executor = serial_executor>
void copy(const tensor_view<In>& source, const tensor_view<T>& destination, const conversion& conversion,
          Executor&& executor = Executor());
/// @}

namespace detail {

/// A copy_call holds a call of copy on views.
struct copy_call {
  operands views;
  executor_reference executor;
};

}  // namespace detail

template <class In, class T, class Executor>
  requires detail::no_conversion<Executor>
status try_copy(const tensor_view<In>& source, const tensor_view<T>& destination, Executor&& executor) {
  detail::held_executor<Executor> held(executor);
  const detail::copy_call call{{source, destination}, held.reference()};
  status done = success{};
  engine::copy(&call, &done);
  held.rethrow();
  return done;
}

template <detail::convertible In, detail::convertible T, class Executor>
status try_copy(const tensor_view<In>& source, const tensor_view<T>& destination,
                const conversion& conversion, Executor&& executor) {
  detail::held_executor<Executor> held(executor);
  const detail::copy_call call{{source, destination, detail::different_types{}}, held.reference()};
  const detail::typed_conversion typed = detail::with_types<In, T>(conversion);
  status done = success{};
  engine::copy_converted(&call, &typed, &done);
  held.rethrow();
  return done;
}

template <class In, class T, class Executor>
  requires detail::no_conversion<Executor>
void copy(const tensor_view<In>& source, const tensor_view<T>& destination, Executor&& executor) {
  try_copy(source, destination, executor).value();
}

template <detail::convertible In, detail::convertible T, class Executor>
void copy(const tensor_view<In>& source, const tensor_view<T>& destination, const conversion& conversion,
          Executor&& executor) {
  try_copy(source, destination, conversion, executor).value();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE

#if !defined(REBLOCK_COMPILED)
#include <reblock/detail/copy_impl.hpp>
#endif
