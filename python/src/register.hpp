// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

namespace reblock::python {

void register_axis_names(pybind11::module_& m);
void register_depth_space(pybind11::module_& m);
void register_window(pybind11::module_& m);
/// The enums and descriptors; the operator that they are compiled into comes after them.
void register_descriptors(pybind11::module_& m);
void register_operator(pybind11::module_& m);
/// What the Python part of the package calls.
void register_private(pybind11::module_& m);
void register_rearrange(pybind11::module_& m);
void register_threads(pybind11::module_& m);

}  // namespace reblock::python
