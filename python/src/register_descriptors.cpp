// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/native_enum.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "data_types.hpp"
#include "register.hpp"
#include "value_class.hpp"

namespace reblock::python {

namespace {

constexpr const char* tensor_doc = R"(TensorDesc(data_type, sizes, strides=None)
--

A TensorDesc describes what a buffer holds, as DirectML's buffer tensor.

Parameters
----------
data_type : DataType, dtype or str
    The type of the elements: ``DataType.FLOAT32``, ``"float32"``, ``np.float32``,
    ``torch.float32``. A plain number is refused, since DirectML's and ONNX's differ:
    `DataType` takes the one, `DataType.from_onnx` the other.
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
>>> reblock.TensorDesc("float32", (1, 8, 2, 3)).total_size_in_bytes
192
>>> reblock.TensorDesc("uint8", (2, 3), (4, 1))
reblock.TensorDesc(reblock.DataType.UINT8, (2, 3), strides=(4, 1))
)";

constexpr const char* depth_to_space_desc_doc =
    R"(DepthToSpaceDesc(input, output=None, *, block_size, order='DCR')
--

A DepthToSpaceDesc describes a `depth_to_space` for `compile`. Its channels are axis 1.

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

constexpr const char* space_to_depth_desc_doc =
    R"(SpaceToDepthDesc(input, output=None, *, block_size, order='DCR')
--

A SpaceToDepthDesc describes a `space_to_depth` for `compile`. Its channels are axis 1.

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

constexpr const char* unfold_desc_doc =
    R"(UnfoldDesc(input, output=None, *, window_sizes, strides=None, dilations=None, start_padding=None, end_padding=None)
--

An UnfoldDesc describes an `unfold` for `compile`. Its channels are axis 1.

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

constexpr const char* fold_desc_doc =
    R"(FoldDesc(input, output, *, window_sizes, strides=None, dilations=None, start_padding=None, end_padding=None)
--

A FoldDesc describes a `fold` for `compile`. Its channels are axis 1.

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

constexpr const char* from_onnx_doc = R"(from_onnx(number)
--

Return the data type that has this number in ONNX.

Parameters
----------
number : int
    A value of ``onnx.TensorProto.DataType``.

Returns
-------
DataType
    DirectML's type of the same elements.

Raises
------
ValueError
    For a type that DirectML does not have.
TypeError
    For anything but an int.

Examples
--------
>>> import reblock
>>> reblock.DataType.from_onnx(7).name  # onnx.TensorProto.INT64
'INT64'
)";

/// Makes an enumeration ready, at the place where users find it.
template <class Enum>
py::object publish(py::module_& m, py::native_enum<Enum>& definition, const char* name) {
  definition.finalize();
  const py::object made = m.attr(name);
  made.attr("__module__") = public_module;
  return made;
}

void register_enums(py::module_& m) {
  py::native_enum<data_type> types(
      m, "DataType", "enum.IntEnum",
      "A DataType is the type of a tensor's elements: DirectML's DML_TENSOR_DATA_TYPE.");
  for (std::uint32_t value = 0; value <= static_cast<std::uint32_t>(data_type::int4); ++value) {
    types.value(name(static_cast<data_type>(value)), static_cast<data_type>(value));
  }
  publish(m, types, "DataType").attr("from_onnx") =
      py::staticmethod(function<&from_onnx>::make(m, "from_onnx", from_onnx_doc, 1, {{"number"}}));

  py::native_enum<depth_space_order> orders(
      m, "DepthSpaceOrder", "enum.IntEnum",
      "A DepthSpaceOrder names the slow index of the channels: DirectML's DML_DEPTH_SPACE_ORDER.");
  orders.value("DEPTH_COLUMN_ROW", depth_space_order::depth_column_row)
      .value("COLUMN_ROW_DEPTH", depth_space_order::column_row_depth);
  publish(m, orders, "DepthSpaceOrder");

  py::native_enum<padding_mode> modes(
      m, "PaddingMode", "enum.IntEnum",
      "A PaddingMode says what `unfold` finds outside of an image: DML_PADDING_MODE, and WRAP.");
  for (std::uint32_t value = 0; name(static_cast<padding_mode>(value)) != nullptr; ++value) {
    const auto mode = static_cast<padding_mode>(value);
    modes.value(name(mode), mode);
  }
  publish(m, modes, "PaddingMode");

  py::native_enum<feature_level> levels(
      m, "FeatureLevel", "enum.IntEnum",
      "A FeatureLevel says what a version of DirectML can do: DirectML's DML_FEATURE_LEVEL.");
  for (std::uint32_t value = 0x1000; value <= 0x6400; value += 0x100) {
    const auto level = static_cast<feature_level>(value);
    if (name(level) != nullptr) levels.value(name(level), level);
  }
  publish(m, levels, "FeatureLevel");
}

tensor_desc make_tensor_desc(py::handle type, py::handle sizes, py::handle strides) {
  tensor_desc desc{to_data_type(type), to_axis_values(sizes, "sizes")};
  if (!strides.is_none()) desc.strides = to_axis_values(strides, "strides");
  value_or_raise(try_total_size_in_bytes(desc, "TensorDesc"));
  return desc;
}

using tensor_class = value_class<tensor_desc>;

const tensor_desc& to_tensor_desc(py::handle value, const char* name) {
  if (tensor_class::has(value)) return tensor_class::of(value);
  raise_type_error(name, "a TensorDesc", value);
}

/// An output that is due, or one that may be None.
template <class Output>
Output to_output(py::handle value) {
  if constexpr (!std::is_same_v<Output, tensor_desc>) {
    if (value.is_none()) return std::nullopt;
  }
  return to_tensor_desc(value, "output");
}

py::object tensor_object(const tensor_desc& desc) { return tensor_class::make(desc); }
py::object tensor_object(const std::optional<tensor_desc>& desc) {
  return desc ? tensor_class::make(*desc) : py::object(py::none());
}

void register_tensor_desc(py::module_& m) {
  tensor_class::define<&make_tensor_desc>(
      m, {.name = "TensorDesc",
          .doc = tensor_doc,
          .positional = 3,
          .fields = {{.told = {"data_type", [](const tensor_desc& desc) { return py::cast(desc.type); },
                               "The type of the elements."}},
                     {.told = {"sizes",
                               [](const tensor_desc& desc) -> py::object { return to_tuple(desc.sizes); },
                               "The extents."}},
                     {.told = {"strides",
                               [](const tensor_desc& desc) {
                                 return desc.strides ? py::object(to_tuple(*desc.strides)) : py::none();
                               },
                               "In elements; None if packed."},
                      .fallback = py::none(),
                      .usual = py::none()}},
          .attributes = {
              {"total_size_in_bytes",
               [](const tensor_desc& desc) -> py::object { return py::int_(total_size_in_bytes(desc)); },
               "The bytes that a buffer of the tensor must have, a multiple of 4."}}});
}

/// What every description of an operator has: its tensors.
template <class Desc>
std::vector<field<Desc>> tensor_fields() {
  constexpr bool due = std::is_same_v<decltype(Desc::output), tensor_desc>;
  const py::object absent = due ? py::object() : py::none();
  return {{.told = {"input", [](const Desc& desc) { return tensor_object(desc.input); },
                    "The tensor to read from."}},
          {.told = {"output", [](const Desc& desc) { return tensor_object(desc.output); },
                    due ? "The tensor to write to." : "The tensor to write to, or None."},
           .fallback = absent,
           .usual = absent}};
}

template <class Desc>
Desc make_depth_space_desc(py::handle input, py::handle output, py::handle block_size, py::handle order) {
  return Desc{to_tensor_desc(input, "input"), to_output<decltype(Desc::output)>(output),
              to_spatial_values(block_size, "block_size"), to_order(order)};
}

template <class Desc>
void register_depth_space_desc(py::module_& m, const char* name, const char* doc) {
  std::vector<field<Desc>> fields = tensor_fields<Desc>();
  fields.push_back({.told = {"block_size", [](const Desc& desc) { return to_object(desc.block_size); },
                             "Elements of a block."}});
  fields.push_back(
      {.told = {"order", [](const Desc& desc) { return py::cast(desc.order); }, "The order of the channels."},
       .fallback = py::str("DCR"),
       .usual = py::cast(depth_space_order::depth_column_row)});
  value_class<Desc>::template define<&make_depth_space_desc<Desc>>(
      m, {.name = name, .doc = doc, .positional = 2, .fields = std::move(fields)});
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

template <class Desc>
Desc make_window_desc(py::handle input, py::handle output, py::handle window_sizes, py::handle strides,
                      py::handle dilations, py::handle start_padding, py::handle end_padding) {
  return Desc{to_tensor_desc(input, "input"), to_output<decltype(Desc::output)>(output),
              to_optional_window(window_sizes, strides, dilations, start_padding, end_padding)};
}

template <auto Parameter, class Desc>
attribute<Desc> window_attribute(const char* name, const char* doc) {
  return {name, [](const Desc& desc) { return to_object(desc.window.*Parameter); }, doc};
}

template <class Desc>
void register_window_desc(py::module_& m, const char* name, const char* doc) {
  std::vector<field<Desc>> fields = tensor_fields<Desc>();
  const auto add = [&](attribute<Desc> told, py::object fallback, py::object usual) {
    fields.push_back({std::move(told), std::move(fallback), std::move(usual)});
  };
  const py::int_ zero(0);
  const py::int_ one(1);
  add(window_attribute<&window::sizes, Desc>("window_sizes", "Elements of the window."), {}, {});
  add(window_attribute<&window::strides, Desc>("strides", "Elements from one window position to the next."),
      py::none(), one);
  add(window_attribute<&window::dilations, Desc>("dilations",
                                                 "Elements from one element of the window to the next."),
      py::none(), one);
  add(window_attribute<&window::start_padding, Desc>("start_padding", "Zeros before each spatial axis."),
      py::none(), zero);
  add(window_attribute<&window::end_padding, Desc>("end_padding", "Zeros after each spatial axis."),
      py::none(), zero);
  value_class<Desc>::template define<&make_window_desc<Desc>>(
      m, {.name = name, .doc = doc, .positional = 2, .fields = std::move(fields)});
}

}  // namespace

void register_descriptors(py::module_& m) {
  register_enums(m);
  register_tensor_desc(m);
  register_depth_space_desc<depth_to_space_desc>(m, "DepthToSpaceDesc", depth_to_space_desc_doc);
  register_depth_space_desc<space_to_depth_desc>(m, "SpaceToDepthDesc", space_to_depth_desc_doc);
  register_window_desc<unfold_desc>(m, "UnfoldDesc", unfold_desc_doc);
  register_window_desc<fold_desc>(m, "FoldDesc", fold_desc_doc);
}

}  // namespace reblock::python
