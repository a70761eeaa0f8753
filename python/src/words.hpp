// SPDX-License-Identifier: BSD-3-Clause
//
// These tables have the words of other libraries for what reblock calls by DirectML's names. Errors suggest ours.
#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <string>

namespace reblock::python {

/// What to add to an error about an unknown keyword of a function that has these parameters, all of them strings:
/// ": did you mean window_sizes= (kernel_size in PyTorch)?", or nothing.
std::string hint(pybind11::handle keyword, std::span<PyObject* const> parameters);

}  // namespace reblock::python
