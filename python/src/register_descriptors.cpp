// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <string>

#include "arguments.hpp"
#include "register.hpp"

namespace reblock::python {

namespace {

constexpr const char* tensor_doc = R"(TensorDesc(data_type, sizes, strides=None)
--

What a buffer holds: DirectML's buffer tensor.

Parameters
----------
data_type : DataType
    The type of the elements.
sizes : sequence of int
    1 to 8 extents of at least 1, at most ``2**32 - 1`` elements in all.
strides : sequence of int, optional
    In elements, not bytes; one for each size, not negative. 0 repeats an input,
    strides beyond packed leave gaps. By default packed in C order.

Raises
------
ValueError
    If no tensor can be as described.
TypeError
    For an argument of the wrong kind.

Notes
-----
The definition is that of DirectML's ``DML_BUFFER_TENSOR_DESC``.

Examples
--------
>>> import reblock
>>> reblock.TensorDesc(reblock.DataType.FLOAT32, (1, 8, 2, 3)).total_size_in_bytes
192
>>> reblock.TensorDesc(reblock.DataType.UINT8, (2, 3), (4, 1)).total_size_in_bytes
8
)";

constexpr const char* depth_to_space_doc = R"(DepthToSpaceDesc(input, output=None, *, block_size, order='DCR')
--

Describes a `depth_to_space`, to be compiled. Its channels are axis 1.

Parameters
----------
input : TensorDesc
    Sizes ``(N, C*P, S_1, ..., S_k)``.
output : TensorDesc, optional
    Sizes ``(N, C, S_1*B_1, ..., S_k*B_k)`` of the same data type; packed if left out.
block_size : int or sequence of int
    As in `depth_to_space`.
order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
    As in `depth_to_space`.

Raises
------
TypeError, ValueError
    For an argument of the wrong kind, an unknown order; all else is for `compile`.

Notes
-----
DirectML's ``DML_DEPTH_TO_SPACE1_OPERATOR_DESC``.

Examples
--------
>>> import reblock
>>> x = reblock.TensorDesc(reblock.DataType.UINT32, (1, 8, 2, 3))
>>> reblock.compile(reblock.DepthToSpaceDesc(x, block_size=2)).output.sizes
(1, 2, 4, 6)
)";

constexpr const char* space_to_depth_doc = R"(SpaceToDepthDesc(input, output=None, *, block_size, order='DCR')
--

Describes a `space_to_depth`, to be compiled. Its channels are axis 1.

Parameters
----------
input : TensorDesc
    Sizes ``(N, C, S_1*B_1, ..., S_k*B_k)``.
output : TensorDesc, optional
    Sizes ``(N, C*P, S_1, ..., S_k)`` of the same data type; packed if left out.
block_size : int or sequence of int
    As in `space_to_depth`.
order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
    As in `space_to_depth`.

Raises
------
TypeError, ValueError
    For an argument of the wrong kind, an unknown order; all else is for `compile`.

Notes
-----
DirectML's ``DML_SPACE_TO_DEPTH1_OPERATOR_DESC``.

Examples
--------
>>> import reblock
>>> x = reblock.TensorDesc(reblock.DataType.UINT32, (1, 2, 4, 6))
>>> reblock.compile(reblock.SpaceToDepthDesc(x, block_size=2)).output.sizes
(1, 8, 2, 3)
)";

constexpr const char* unfold_doc =
    R"(UnfoldDesc(input, output=None, *, window_sizes, strides=None, dilations=None, start_padding=None, end_padding=None)
--

Describes an `unfold`, to be compiled. Its channels are axis 1.

Parameters
----------
input : TensorDesc
    Sizes ``(N, C, S_1, ..., S_k)``.
output : TensorDesc, optional
    Sizes ``(N, C*K, L)`` of the same data type, with leading sizes of 1 up to the
    rank of `input` if that is wanted; packed and of rank 3 if left out.
window_sizes : int or sequence of int
    As in `unfold`.
strides, dilations, start_padding, end_padding : int or sequence of int, optional
    As in `unfold`; by default 1 and 0.

Raises
------
TypeError, ValueError
    For an argument of the wrong kind; all else is for `compile`.

Notes
-----
DirectML's ``DML_UNFOLD_OPERATOR_DESC``.

Examples
--------
>>> import reblock
>>> x = reblock.TensorDesc(reblock.DataType.FLOAT32, (1, 1, 5, 5))
>>> reblock.compile(reblock.UnfoldDesc(x, window_sizes=(3, 3))).output.sizes
(1, 9, 9)
)";

constexpr const char* fold_doc =
    R"(FoldDesc(input, output, *, window_sizes, strides=None, dilations=None, start_padding=None, end_padding=None)
--

Describes a `fold`, to be compiled. Its channels are axis 1.

Parameters
----------
input : TensorDesc
    Sizes ``(N, C*K, L)``, with leading sizes of 1 up to the rank of `output` if that
    is wanted.
output : TensorDesc
    Sizes ``(N, C, S_1, ..., S_k)`` of the same data type.
window_sizes : int or sequence of int
    As in `fold`.
strides, dilations, start_padding, end_padding : int or sequence of int, optional
    As in `fold`; by default 1 and 0.

Raises
------
TypeError, ValueError
    For an argument of the wrong kind; all else is for `compile`.

Notes
-----
DirectML's ``DML_FOLD_OPERATOR_DESC``.

Examples
--------
>>> import reblock
>>> columns = reblock.TensorDesc(reblock.DataType.FLOAT32, (1, 9, 4))
>>> image = reblock.TensorDesc(reblock.DataType.FLOAT32, (1, 1, 4, 4))
>>> reblock.compile(reblock.FoldDesc(columns, image, window_sizes=3)).input.sizes
(1, 9, 4)
)";

constexpr const char* unfold_signature =
    "__init__(self, input, output=None, *, window_sizes, strides=None, dilations=None, "
    "start_padding=None, end_padding=None)\n--\n\n";
constexpr const char* fold_signature =
    "__init__(self, input, output, *, window_sizes, strides=None, dilations=None, "
    "start_padding=None, end_padding=None)\n--\n\n";

void register_enums(py::module_& m) {
  py::native_enum<data_type> types(m, "DataType", "enum.IntEnum",
                                   "The element types of a tensor: DirectML's DML_TENSOR_DATA_TYPE.");
  for (std::uint32_t value = 0; value <= static_cast<std::uint32_t>(data_type::int4); ++value) {
    types.value(name(static_cast<data_type>(value)), static_cast<data_type>(value));
  }
  types.finalize();

  py::native_enum<depth_space_order>(
      m, "DepthSpaceOrder", "enum.IntEnum",
      "Which of block position and channel is the slow index: DirectML's DML_DEPTH_SPACE_ORDER.")
      .value("DEPTH_COLUMN_ROW", depth_space_order::depth_column_row)
      .value("COLUMN_ROW_DEPTH", depth_space_order::column_row_depth)
      .finalize();

  py::native_enum<feature_level> levels(m, "FeatureLevel", "enum.IntEnum",
                                        "What a version of DirectML can do: DirectML's DML_FEATURE_LEVEL.");
  for (std::uint32_t value = 0x1000; value <= 0x6400; value += 0x100) {
    const auto level = static_cast<feature_level>(value);
    if (name(level) != nullptr) levels.value(name(level), level);
  }
  levels.finalize();
}

data_type to_data_type(py::handle value) {
  const std::int64_t number = to_int(value, "data_type");
  if (number < 0 || number > static_cast<std::int64_t>(data_type::int4)) {
    throw py::value_error("data_type must be a DataType, got " + std::to_string(number));
  }
  return static_cast<data_type>(number);
}

tensor_desc make_tensor_desc(py::handle type, py::handle sizes, py::handle strides) {
  tensor_desc desc{to_data_type(type), to_axis_values(sizes, "sizes")};
  if (!strides.is_none()) desc.strides = to_axis_values(strides, "strides");
  value_or_raise(try_total_size_in_bytes(desc, "TensorDesc"));
  return desc;
}

const tensor_desc& to_tensor_desc(py::handle value, const char* name) {
  if (py::isinstance<tensor_desc>(value)) return value.cast<const tensor_desc&>();
  throw py::type_error(std::string(name) + " must be a TensorDesc, got " + std::string(py::repr(value)));
}

/// An output that is due, or one that may be None.
template <class Output>
Output to_output(py::handle value) {
  if constexpr (!std::is_same_v<Output, tensor_desc>) {
    if (value.is_none()) return std::nullopt;
  }
  return to_tensor_desc(value, "output");
}

py::object strides_object(const tensor_desc& desc) {
  return desc.strides ? py::object(to_tuple(*desc.strides)) : py::none();
}

void register_tensor_desc(py::module_& m) {
  plain_class<tensor_desc>(m, "TensorDesc", tensor_doc)
      .def(py::init(&make_tensor_desc), "__init__(self, data_type, sizes, strides=None)\n--\n\n",
           py::arg("data_type"), py::arg("sizes"), py::arg("strides") = py::none())
      .def_property_readonly(
          "data_type", [](const tensor_desc& desc) { return desc.type; }, "The type of the elements.")
      .def_property_readonly(
          "sizes", [](const tensor_desc& desc) { return to_tuple(desc.sizes); }, "The extents.")
      .def_property_readonly("strides", &strides_object, "In elements; None if packed.")
      .def_property_readonly(
          "total_size_in_bytes", [](const tensor_desc& desc) { return total_size_in_bytes(desc); },
          "The bytes that a buffer of the tensor must have, a multiple of 4.")
      .def(
          "__eq__",
          [](const tensor_desc& desc, py::handle other) -> py::object {
            if (!py::isinstance<tensor_desc>(other)) {
              return py::reinterpret_borrow<py::object>(Py_NotImplemented);
            }
            return py::bool_(desc == other.cast<const tensor_desc&>());
          },
          py::arg("other"))
      .def("__hash__",
           [](const tensor_desc& desc) {
             return py::hash(py::make_tuple(static_cast<std::uint32_t>(desc.type), to_tuple(desc.sizes),
                                            strides_object(desc)));
           })
      .def("__repr__", [](py::handle self) { return describe(self, {"data_type", "sizes", "strides"}); });
}

template <class Desc>
void register_depth_space_desc(py::module_& m, const char* name, const char* doc) {
  plain_class<Desc>(m, name, doc)
      .def(py::init([](py::handle input, py::handle output, py::handle block_size, py::handle order) {
             return Desc{to_tensor_desc(input, "input"), to_output<decltype(Desc::output)>(output),
                         to_spatial_values(block_size, "block_size"), to_order(order)};
           }),
           "__init__(self, input, output=None, *, block_size, order='DCR')\n--\n\n", py::arg("input"),
           py::arg("output") = py::none(), py::kw_only(), py::arg("block_size"), py::arg("order") = "DCR")
      .def_property_readonly(
          "input", [](const Desc& desc) { return desc.input; }, "The tensor to read from.")
      .def_property_readonly(
          "output", [](const Desc& desc) { return desc.output; }, "The tensor to write to, or None.")
      .def_property_readonly(
          "block_size", [](const Desc& desc) { return to_object(desc.block_size); }, "Elements of a block.")
      .def_property_readonly(
          "order", [](const Desc& desc) { return desc.order; }, "The order of the channels.")
      .def("__repr__",
           [](py::handle self) { return describe(self, {"input", "output", "block_size", "order"}); });
}

/// The window of a descriptor, whose parameters may be left out.
window to_optional_window(py::handle window_sizes, py::handle strides, py::handle dilations,
                          py::handle start_padding, py::handle end_padding) {
  const auto given_or = [](py::handle value, int otherwise) {
    return value.is_none() ? py::object(py::int_(otherwise)) : py::reinterpret_borrow<py::object>(value);
  };
  return to_window(window_sizes, given_or(strides, 1), given_or(dilations, 1), given_or(start_padding, 0),
                   given_or(end_padding, 0));
}

template <class Desc, class Output>
void register_window_desc(py::module_& m, const char* name, const char* doc, const char* signature,
                          const Output& output_argument) {
  auto desc_class = plain_class<Desc>(m, name, doc);
  desc_class.def(py::init([](py::handle input, py::handle output, py::handle window_sizes, py::handle strides,
                             py::handle dilations, py::handle start_padding, py::handle end_padding) {
                   return Desc{
                       to_tensor_desc(input, "input"), to_output<decltype(Desc::output)>(output),
                       to_optional_window(window_sizes, strides, dilations, start_padding, end_padding)};
                 }),
                 signature, py::arg("input"), output_argument, py::kw_only(), py::arg("window_sizes"),
                 py::arg("strides") = py::none(), py::arg("dilations") = py::none(),
                 py::arg("start_padding") = py::none(), py::arg("end_padding") = py::none());
  const auto add = [&](const char* property, spatial_values window::* parameter, const char* about) {
    desc_class.def_property_readonly(
        property, [parameter](const Desc& desc) { return to_object(desc.window.*parameter); }, about);
  };
  desc_class.def_property_readonly(
      "input", [](const Desc& desc) { return desc.input; }, "The tensor to read from.");
  desc_class.def_property_readonly(
      "output", [](const Desc& desc) { return desc.output; }, "The tensor to write to.");
  add("window_sizes", &window::sizes, "Elements of the window.");
  add("strides", &window::strides, "Elements from one block to the next.");
  add("dilations", &window::dilations, "Elements from one element of the window to the next.");
  add("start_padding", &window::start_padding, "Implicit zeros before each spatial axis.");
  add("end_padding", &window::end_padding, "Implicit zeros behind each spatial axis.");
  desc_class.def("__repr__", [](py::handle self) {
    return describe(
        self, {"input", "output", "window_sizes", "strides", "dilations", "start_padding", "end_padding"});
  });
}

}  // namespace

void register_descriptors(py::module_& m) {
  register_enums(m);
  register_tensor_desc(m);
  register_depth_space_desc<depth_to_space_desc>(m, "DepthToSpaceDesc", depth_to_space_doc);
  register_depth_space_desc<space_to_depth_desc>(m, "SpaceToDepthDesc", space_to_depth_doc);
  register_window_desc<unfold_desc>(m, "UnfoldDesc", unfold_doc, unfold_signature,
                                    py::arg("output") = py::none());
  register_window_desc<fold_desc>(m, "FoldDesc", fold_doc, fold_signature, py::arg("output"));
}

}  // namespace reblock::python
