// SPDX-License-Identifier: BSD-3-Clause
//
// The gate leads from NumPy's arrays to the core. It views inputs without copying, and allocates or checks outputs.
// It releases the GIL while bytes move.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <reblock/reblock.hpp>

#include "foreign.hpp"
#include "thread_pool.hpp"

namespace reblock::python {

namespace py = pybind11;

/// An array-like as an ndarray: an ndarray itself, a view where one can be made. TypeError for elements that
/// hold references, which bytes must not duplicate.
py::array to_input(py::handle x, const char* name);
/// TypeError for a masked array, whose mask would be lost.
void refuse_mask(py::handle x, const char* name);

axis_values extents_of(const py::array& array);
/// In bytes.
axis_values strides_of(const py::array& array);
/// Requires at most 8 axes.
detail::placement placement_of(const py::array& array);

/// The shape of an array, which may have 64 axes.
class array_shape {
 public:
  static constexpr std::size_t most_axes = 64;

  array_shape() = default;
  explicit array_shape(const axis_values& extents) noexcept {
    for (const std::int64_t extent : extents) push_back(extent);
  }
  explicit array_shape(const py::array& array) noexcept {
    for (py::ssize_t i = 0; i < array.ndim(); ++i) push_back(array.shape(i));
  }

  /// Requires fewer than 64 axes.
  void push_back(std::int64_t extent) noexcept { extents_[size_++] = static_cast<py::ssize_t>(extent); }
  std::size_t size() const noexcept { return size_; }
  std::int64_t operator[](std::size_t i) const noexcept { return extents_[i]; }
  const py::ssize_t* begin() const noexcept { return extents_.data(); }
  const py::ssize_t* end() const noexcept { return extents_.data() + size_; }

 private:
  std::array<py::ssize_t, most_axes> extents_;  // of which there are `size_`
  std::size_t size_ = 0;
};

/// As Python prints it; of a very long one the beginning.
error& operator<<(error& why, const array_shape& shape);

/// An array that may be written, called `name`: `x`, or a view of it where it is another library's.
py::array to_writeable(py::handle x, const char* name);

/// `out` after its checks but for check_overlap, or a new C-contiguous array where it is None.
py::array to_output(py::handle out, const py::dtype& dtype, const array_shape& shape);

bool is_c_contiguous(const py::array& array);

/// ValueError where an array, called `name`, overlaps itself. `where` describes its elements.
void check_overlap(const py::array& array, const detail::placement& where, const char* name);

/// The address of element 0.
std::int64_t address_of(const py::array& array);

/// Whether all bytes of an array lie before those of another one: the usual case, told fast.
bool lie_apart(const py::array& a, const py::array& b);

/// `input`, or a copy of it where it shares memory with `output`.
py::array apart_from(const py::array& input, const py::array& output);

/// How fold adds elements of this type; TypeError for a type that has no sum.
detail::summation summation_of(const py::dtype& dtype, const char* name);

/// The type of an element; TypeError for a type that fold cannot reduce.
detail::element_format format_of(const py::dtype& dtype, const char* name);
/// The type of the elements in either byte order, or none.
detail::element_type element_type_of(const py::dtype& dtype);

/// Has the system provide the pages of a new array before it is filled, which takes less than half the time.
void provide_pages(void* begin, py::ssize_t size) noexcept;

/// Other threads may run Python while this lives.
class released_gil {
 public:
  released_gil() : state_(PyEval_SaveThread()) {}
  released_gil(const released_gil&) = delete;
  released_gil& operator=(const released_gil&) = delete;

  ~released_gil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      // Before 3.14, Python unwinds daemon threads when it exits. No frame of C++ can take part, so this one stays.
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }

 private:
  PyThreadState* state_;
};

/// Calls `run` with an executor for so many bytes, without the GIL where they take longer than it takes to
/// give the GIL back.
template <class Run>
void move_bytes(py::ssize_t bytes, std::size_t threads, Run&& run) {
  constexpr py::ssize_t worth_releasing = 16 * 1024;
  if (bytes < worth_releasing) return run(pool_executor(1));
  const released_gil release;
  run(pool_executor(bytes < worth_waking ? 1 : threads));
}

/// Where the elements of an operator's arrays lie; strides in bytes.
struct operands {
  axis_values input_strides;
  axis_values output_strides;
  const void* input;
  void* output;
};

/// TypeError where to_result() cannot make an array of the library of `x`, because that has no such dtype. It may run any
/// code of Python.
void check_result(py::handle x, const py::array& input, py::handle out, const py::array& output);

/// What a function of `x`, of which `input` is a view, returns: `out` itself where it is given, else `output` as an array of
/// the library of `x`.
py::object to_result(py::handle x, const py::array& input, py::handle out, const py::array& output);

/// The arrays that an operator moves between, after their checks.
struct checked_arrays {
  py::array source;  ///< the input, or a copy of it
  py::array output;
  bool is_new;  ///< whether the output was allocated

  /// Finds or makes the output of this dtype.
  checked_arrays(const py::array& input, py::handle out, const py::dtype& dtype,
                 const axis_values& output_extents);
  /// The same for the input's dtype.
  checked_arrays(const py::array& input, py::handle out, const axis_values& output_extents)
      : checked_arrays(input, out, input.dtype(), output_extents) {}

  operands where() { return {strides_of(source), strides_of(output), source.data(), output.mutable_data()}; }

  /// Calls `operate(executor)` for an executor of up to `threads` threads.
  template <class Operate>
  void move(std::size_t threads, Operate&& operate) {
    const py::ssize_t new_bytes = is_new ? output.nbytes() : 0;
    void* const begin = output.mutable_data();
    move_bytes(std::max(source.nbytes(), output.nbytes()), threads, [&](pool_executor executor) {
      provide_pages(begin, new_bytes);
      operate(executor);
    });
  }
};

/// Runs an operator on arrays: `operate(operands, executor)` for an executor of up to `threads` threads. The result has
/// the dtype `dtype`. Returns `out` itself where it is given, else an array of the library of `x`, of which `input` is a view.
template <class Operate>
py::object run(py::handle x, const py::array& input, py::handle out, const py::dtype& dtype,
               const axis_values& output_extents, std::size_t threads, Operate&& operate) {
  checked_arrays arrays(input, out, dtype, output_extents);
  const operands where = arrays.where();
  arrays.move(threads, [&](pool_executor executor) { operate(where, executor); });
  return to_result(x, input, out, arrays.output);
}

/// The same for a result of the dtype of `x`.
template <class Operate>
py::object run(py::handle x, const py::array& input, py::handle out, const axis_values& output_extents,
               std::size_t threads, Operate&& operate) {
  return run(x, input, out, input.dtype(), output_extents, threads, operate);
}

}  // namespace reblock::python
