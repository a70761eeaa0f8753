// SPDX-License-Identifier: BSD-3-Clause
//
// The one gate from NumPy's arrays to the core: what comes in is viewed where it lies, what goes out is
// allocated or checked here, and bytes move without the GIL.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>

#include <reblock/reblock.hpp>

#include "foreign.hpp"
#include "thread_pool.hpp"

namespace reblock::python {

namespace py = pybind11;

/// An array-like as an ndarray: an ndarray itself, a view where one can be made. TypeError for elements that
/// hold references, which bytes must not duplicate.
py::array to_input(py::handle x, const char* name);

axis_values extents_of(const py::array& array);
/// In bytes.
axis_values strides_of(const py::array& array);

/// `out`, or a view of it where it is another library's, after its checks; or a new C-contiguous array where it is None.
py::array to_output(py::handle out, const py::dtype& dtype, const axis_values& extents);

/// `input`, or a copy of it where it shares memory with `output`.
py::array apart_from(const py::array& input, const py::array& output);

/// How fold adds elements of this type; TypeError for a type that has no sum.
detail::summation summation_of(const py::dtype& dtype, const char* name);

/// Has the system provide the pages of a new array before it is filled, which takes less than half the time.
void provide_pages(void* begin, py::ssize_t size) noexcept;

/// Calls `run` with an executor for so many bytes, without the GIL where they take longer than it takes to
/// give the GIL back.
template <class Run>
void move_bytes(py::ssize_t bytes, std::size_t threads, Run&& run) {
  constexpr py::ssize_t worth_releasing = 16 * 1024;
  if (bytes < worth_releasing) return run(pool_executor(1));
  const py::gil_scoped_release release;
  run(pool_executor(bytes < worth_waking ? 1 : threads));
}

/// Where the elements of an operator's arrays lie; strides in bytes.
struct operands {
  axis_values input_strides;
  axis_values output_strides;
  const void* input;
  void* output;
};

/// Runs an operator on arrays: `operate(operands, executor)` for an executor of up to `threads` threads.
/// Returns `out` itself where it is given, else an array of the library of `x`, of which `input` is a view.
template <class Operate>
py::object run(py::handle x, const py::array& input, py::handle out, const axis_values& output_extents,
               std::size_t threads, Operate&& operate) {
  py::array output = to_output(out, input.dtype(), output_extents);
  const py::array source = out.is_none() ? input : apart_from(input, output);
  const operands where{strides_of(source), strides_of(output), source.data(), output.mutable_data()};
  const py::ssize_t new_bytes = out.is_none() ? output.nbytes() : 0;
  move_bytes(std::max(source.nbytes(), output.nbytes()), threads, [&](pool_executor executor) {
    provide_pages(where.output, new_bytes);
    operate(where, executor);
  });
  if (!out.is_none()) return py::reinterpret_borrow<py::object>(out);
  if (!input.is(x) && is_foreign(x)) return give_back(x, output);
  return output;
}

}  // namespace reblock::python
