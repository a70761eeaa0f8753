// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/pybind11.h>

#include <reblock/detail/engine.hpp>
#include <reblock/version.hpp>

#include "register.hpp"

// Free-threaded CPython keeps the GIL off: the module's own state is two atomics (thread_pool.cpp,
// register_threads.cpp), and its objects are not changed once they are made.
PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  m.doc() = "The compiled part of reblock.";
  m.attr("__version__") = reblock::version;
  m.attr("compiler") = REBLOCK_COMPILER;
  m.attr("instruction_set") = reblock::engine::instruction_set();
  reblock::python::register_axis_names(m);
  reblock::python::register_depth_space(m);
  reblock::python::register_window(m);
  reblock::python::register_descriptors(m);
  reblock::python::register_operator(m);
  reblock::python::register_private(m);
  reblock::python::register_rearrange(m);
  reblock::python::register_threads(m);
}
