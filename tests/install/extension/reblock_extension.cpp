// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <reblock/reblock.hpp>

namespace py = pybind11;

namespace {

using floats = py::array_t<float, py::array::c_style>;

reblock::axis_values extents_of(const floats& array) {
  reblock::axis_values extents;
  for (py::ssize_t i = 0; i < array.ndim(); ++i) extents.push_back(array.shape(i));
  return extents;
}

floats depth_to_space(const floats& x, std::int64_t block_size) {
  const reblock::axis_values input = extents_of(x);
  const reblock::axis_values output = reblock::depth_to_space_extents(input, block_size);
  floats space(py::array::ShapeContainer(output.begin(), output.end()));
  reblock::depth_to_space(reblock::tensor_view<const float>(x.data(), input),
                          reblock::tensor_view<float>(space.mutable_data(), output), block_size);
  return space;
}

}  // namespace

PYBIND11_MODULE(reblock_extension, m) {
  m.attr("version") = reblock::version;
  m.def("depth_to_space", &depth_to_space);
}
