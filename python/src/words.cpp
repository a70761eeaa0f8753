// SPDX-License-Identifier: BSD-3-Clause
#include "words.hpp"

#include <cstddef>
#include <string_view>

namespace reblock::python {

namespace {

namespace py = pybind11;

struct word {
  std::string_view theirs;
  const char* ours;
  const char* library;
};

/// Where a word has more than one meaning, the first counts that the function has a parameter for.
constexpr word words[] = {
    {"astype", "dtype", "NumPy"},
    {"axis", "channel_axis", "NumPy"},
    {"block_shape", "window_sizes", "ONNX"},
    {"blocksize", "block_size", "ONNX"},
    {"constant_values", "padding_value", "NumPy"},
    {"cval", "padding_value", "MONAI"},
    {"data_format", "layout", "TensorFlow"},
    {"data_format", "channel_axis", "TensorFlow"},
    {"dilation", "dilations", "PyTorch"},
    {"downscale_factor", "block_size", "PyTorch"},
    {"dtype", "data_type", "NumPy"},
    {"frame_length", "window_sizes", "librosa"},
    {"hop_length", "strides", "librosa"},
    {"image_shape", "output_sizes", "ONNX"},
    {"images", "x", "TensorFlow"},
    {"input", "x", "PyTorch"},
    {"input", "columns", "PyTorch"},
    {"kernel_size", "window_sizes", "PyTorch"},
    {"mean", "bias", "torchvision: -mean / std"},
    {"mode", "padding_mode", "NumPy"},
    {"mode", "order", "ONNX"},
    {"output_size", "output_sizes", "PyTorch"},
    {"overlap", "strides", "tiler: window_sizes - overlap"},
    {"pad_mode", "padding_mode", "librosa"},
    {"padding", "start_padding", "PyTorch"},
    {"pads", "start_padding", "ONNX"},
    {"patch_size", "window_sizes", "scikit-learn"},
    {"rates", "dilations", "TensorFlow"},
    {"reduce", "reduction", "PyTorch"},
    {"roi_size", "window_sizes", "MONAI"},
    {"shape", "sizes", "NumPy"},
    {"sizes", "window_sizes", "TensorFlow"},
    {"scalefactor", "scale", "OpenCV"},
    {"std", "scale", "torchvision: 1 / std"},
    {"step", "strides", "scikit-image"},
    {"stride", "strides", "PyTorch"},
    {"tile_shape", "window_sizes", "tiler"},
    {"upscale_factor", "block_size", "PyTorch"},
    {"value", "padding_value", "PyTorch"},
    {"window", "weights", "tiler"},
    {"window_shape", "window_sizes", "scikit-image"},
};

/// Without what names are spelled differently by: capitals, underscores, the s of a plural.
std::string letters(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c != '_') result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (result.ends_with('s')) result.pop_back();
  return result;
}

std::string suggest(std::string_view parameter, std::string_view known_as) {
  std::string result = ": did you mean ";
  result += parameter;
  if (parameter == "start_padding" && !known_as.empty()) result += "= and end_padding";
  result += "=";
  result += known_as;
  return result + "?";
}

}  // namespace

std::string hint(py::handle keyword, std::span<PyObject* const> parameters) {
  const char* text = PyUnicode_AsUTF8(keyword.ptr());
  if (text == nullptr) {  // a lone surrogate, which no known word has
    PyErr_Clear();
    return "";
  }
  const std::string given = text;
  for (const auto& [theirs, ours, library] : words) {
    if (given != theirs) continue;
    for (PyObject* parameter : parameters) {
      if (PyUnicode_CompareWithASCIIString(parameter, ours) == 0) {
        return suggest(ours, " (" + given + " in " + library + ")");
      }
    }
  }
  for (PyObject* parameter : parameters) {
    const std::string ours = py::str(parameter);
    if (letters(ours) == letters(given)) return suggest(ours, "");
  }
  return "";
}

}  // namespace reblock::python
