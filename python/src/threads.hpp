// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>

namespace reblock::python {

namespace py = pybind11;

/// How many threads a call may use: its argument `threads`, or where that is None what set_num_threads()
/// said last.
std::size_t to_threads(py::handle threads);

}  // namespace reblock::python
