// SPDX-License-Identifier: BSD-3-Clause
//
// The C boundary: reads DirectML's structs into the descriptions of reblock/operator.hpp, which checks them.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>

#include <reblock/c.h>
#include <reblock/reblock.hpp>

#include "thread_pool.hpp"

struct reblock_operator {
  reblock::compiled_operator compiled;
  std::uint64_t input_size;
  std::uint64_t output_size;
};

namespace {

using reblock::axis_values;
using reblock::error;
using reblock::result;
using reblock::tensor_desc;
using level_or_none = std::optional<reblock::feature_level>;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): each thread has its own
constinit thread_local error last_error;

reblock_status refuse(reblock_status status, const error& why) noexcept {
  last_error = why;
  return status;
}

reblock_status refuse_null(const char* argument) noexcept {
  return refuse(REBLOCK_INVALID_ARGUMENT, error(argument) << " must not be null");
}

constexpr bool continues_a_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// DirectML's name of what the C++ library calls `word`, else `word`.
constexpr std::string_view directml_name(std::string_view word) noexcept {
  struct pair {
    std::string_view ours;
    std::string_view theirs;
  };
  constexpr pair names[] = {
      {"input", "InputTensor"},
      {"output", "OutputTensor"},
      {"data_type", "DataType"},
      {"sizes", "Sizes"},
      {"strides", "Strides"},
      {"block_size", "BlockSize"},
      {"order", "Order"},
      {"window_sizes", "WindowSizes"},
      {"dilations", "Dilations"},
      {"start_padding", "StartPadding"},
      {"end_padding", "EndPadding"},
      {"output_sizes", "OutputTensor.Sizes"},
  };
  for (const auto& [ours, theirs] : names) {
    if (word == ours) return theirs;
  }
  return word;
}

/// A message of the C++ library, with members where it names arguments.
error in_directml_names(std::string_view message) noexcept {
  error renamed;
  while (!message.empty()) {
    std::size_t length = 0;
    while (length < message.size() && continues_a_word(message[length])) ++length;
    length = std::max<std::size_t>(1, length);  // what is between words, one by one
    renamed << directml_name(message.substr(0, length));
    message.remove_prefix(length);
  }
  return renamed;
}

/// Refuses a description, for a reason that may be the C++ library's.
reblock_status refuse_description(const error& why) noexcept {
  return refuse(REBLOCK_INVALID_ARGUMENT, in_directml_names(why.message()));
}

/// The number that an enumeration holds. A caller may have put anything in it, so it is never read as one.
template <class Enumeration>
std::uint32_t number_of(const Enumeration& value) noexcept {
  static_assert(sizeof(value) == sizeof(std::uint32_t));
  std::uint32_t number = 0;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

/// Requires `count` values.
axis_values read_values(const UINT* values, UINT count) noexcept {
  axis_values read;
  for (UINT i = 0; i < count; ++i) read.push_back(values[i]);
  return read;
}

/// What of a tensor says where its elements lie. try_total_size_in_bytes() checks it.
result<tensor_desc> read_layout(const DML_BUFFER_TENSOR_DESC& buffer, const char* name) noexcept {
  if (buffer.DimensionCount < 1 || buffer.DimensionCount > reblock::max_rank) {
    return error() << name << ": DimensionCount must be 1 to 8, got " << buffer.DimensionCount;
  }
  if (buffer.Sizes == nullptr) return error() << name << ": Sizes must not be null";
  tensor_desc desc{static_cast<reblock::data_type>(number_of(buffer.DataType)),
                   read_values(buffer.Sizes, buffer.DimensionCount)};
  if (buffer.Strides != nullptr) desc.strides = read_values(buffer.Strides, buffer.DimensionCount);
  return desc;
}

struct described_tensor {
  tensor_desc desc;
  std::uint64_t size;  ///< bytes that the program has for it
};

result<described_tensor> read_tensor(const DML_TENSOR_DESC* tensor, const char* name) noexcept {
  if (tensor == nullptr) return error() << name << " must not be null";
  if (number_of(tensor->Type) != DML_TENSOR_TYPE_BUFFER) {
    return error() << name << ": Type must be DML_TENSOR_TYPE_BUFFER (1), got " << number_of(tensor->Type);
  }
  if (tensor->Desc == nullptr) return error() << name << ": Desc must not be null";
  const auto& buffer = *static_cast<const DML_BUFFER_TENSOR_DESC*>(tensor->Desc);
  const auto desc = read_layout(buffer, name);
  if (!desc) return desc.why();
  const auto least = try_total_size_in_bytes(*desc, name);
  if (!least) return least.why();
  if (number_of(buffer.Flags) != DML_TENSOR_FLAG_NONE) {
    return error() << name << ": Flags must be DML_TENSOR_FLAG_NONE (0), got " << number_of(buffer.Flags);
  }
  if (buffer.TotalTensorSizeInBytes < *least) {
    return error() << name << ": TotalTensorSizeInBytes must be at least " << *least << ", got "
                   << buffer.TotalTensorSizeInBytes;
  }
  const UINT alignment = buffer.GuaranteedBaseOffsetAlignment;
  const std::size_t element = element_size(desc->type);
  if (alignment != 0 && (!std::has_single_bit(alignment) || alignment < element)) {
    return error() << name << ": GuaranteedBaseOffsetAlignment must be 0 or a power of two from " << element
                   << " on, got " << alignment;
  }
  return described_tensor{*desc, buffer.TotalTensorSizeInBytes};
}

/// The two tensors of any operator's struct.
struct described_tensors {
  described_tensor input;
  described_tensor output;
};

template <class Struct>
result<described_tensors> read_tensors(const Struct& desc) noexcept {
  const auto input = read_tensor(desc.InputTensor, "InputTensor");
  if (!input) return input.why();
  const auto output = read_tensor(desc.OutputTensor, "OutputTensor");
  if (!output) return output.why();
  return described_tensors{*input, *output};
}

template <class Description>
reblock_status create(const Description& description, const described_tensors& tensors, level_or_none level,
                      reblock_operator** op) noexcept {
  const auto compiled = try_compile(description, level);
  if (!compiled) return refuse_description(compiled.why());
  *op = new (std::nothrow) reblock_operator{*compiled, tensors.input.size, tensors.output.size};
  if (*op == nullptr) return refuse(REBLOCK_OUT_OF_MEMORY, error("there is no memory left for an operator"));
  return REBLOCK_SUCCESS;
}

template <class Description, class Struct>
reblock_status create_blocks(const Struct& desc, level_or_none level, reblock_operator** op) noexcept {
  const auto tensors = read_tensors(desc);
  if (!tensors) return refuse_description(tensors.why());
  auto order = reblock::depth_space_order::depth_column_row;
  if constexpr (requires { desc.Order; }) {
    constexpr auto first = reblock::feature_level::level_2_1;
    if (level && *level < first && name(*level) != nullptr) {
      return refuse(REBLOCK_INVALID_ARGUMENT,
                    error("Type: DEPTH_TO_SPACE1 and SPACE_TO_DEPTH1 need feature_level ")
                        << name(first) << ", got " << name(*level));
    }
    order = static_cast<reblock::depth_space_order>(number_of(desc.Order));
  }
  const Description description{.input = tensors->input.desc,
                                .output = tensors->output.desc,
                                .block_size = desc.BlockSize,
                                .order = order};
  return create(description, *tensors, level, op);
}

/// The parameters of unfold and fold. `image` is the tensor that the window slides over.
template <class Struct>
result<reblock::window> read_window(const Struct& desc, const tensor_desc& image,
                                    const char* image_name) noexcept {
  struct parameter {
    const UINT* values;
    const char* name;
  };
  for (const auto& [values, name] :
       {parameter{desc.WindowSizes, "WindowSizes"}, parameter{desc.Strides, "Strides"},
        parameter{desc.Dilations, "Dilations"}, parameter{desc.StartPadding, "StartPadding"},
        parameter{desc.EndPadding, "EndPadding"}}) {
    if (values == nullptr) return error() << name << " must not be null";
  }
  const std::size_t rank = image.sizes.size();
  if (rank < 3) return error() << image_name << ": DimensionCount must be 3 to 8, got " << rank;
  const UINT count = desc.DimensionCount;
  if (count != rank - 2) {
    return error() << "DimensionCount must be " << rank - 2 << ", one for each spatial size of " << image_name
                   << ", got " << count;
  }
  return reblock::window{.sizes = read_values(desc.WindowSizes, count),
                         .strides = read_values(desc.Strides, count),
                         .dilations = read_values(desc.Dilations, count),
                         .start_padding = read_values(desc.StartPadding, count),
                         .end_padding = read_values(desc.EndPadding, count)};
}

template <class Description, class Struct>
reblock_status create_windows(const Struct& desc, level_or_none level, reblock_operator** op) noexcept {
  const auto tensors = read_tensors(desc);
  if (!tensors) return refuse_description(tensors.why());
  constexpr bool is_fold = std::is_same_v<Description, reblock::fold_desc>;
  const described_tensor& image = is_fold ? tensors->output : tensors->input;
  const auto window = read_window(desc, image.desc, is_fold ? "OutputTensor" : "InputTensor");
  if (!window) return refuse_description(window.why());
  const Description description{
      .input = tensors->input.desc, .output = tensors->output.desc, .window = *window};
  return create(description, *tensors, level, op);
}

template <class Struct>
const Struct& as(const DML_OPERATOR_DESC* desc) noexcept {
  return *static_cast<const Struct*>(desc->Desc);
}

reblock::detail::overlap share_memory(const tensor_desc& a, const void* at_a, const tensor_desc& b,
                                      const void* at_b) noexcept {
  const auto place = [](const tensor_desc& desc, const void* data) {
    return reblock::detail::placement{static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(data)),
                                      desc.sizes, reblock::detail::strides_in_bytes(desc),
                                      static_cast<std::int64_t>(element_size(desc.type))};
  };
  return reblock::detail::share_memory(place(a, at_a), place(b, at_b));
}

/// Throws where there is no memory for the pool, or for reading the limits of the process.
std::size_t threads_for(std::uint64_t bytes, std::size_t wanted) {
  if (bytes < static_cast<std::uint64_t>(reblock::worth_waking)) return 1;
  static const std::size_t usual = reblock::threads_at_start::find().count;
  return wanted == 0 ? usual : std::min(wanted, reblock::thread_pool::most_threads);
}

}  // namespace

reblock_status reblock_operator_create(const DML_OPERATOR_DESC* desc, DML_FEATURE_LEVEL feature_level,
                                       reblock_operator** op) {
  if (op == nullptr) return refuse_null("op");
  *op = nullptr;
  if (desc == nullptr) return refuse_null("desc");
  if (desc->Desc == nullptr) return refuse_null("Desc");
  const std::uint32_t type = number_of(desc->Type);
  const std::uint32_t number = number_of(feature_level);
  const level_or_none level =
      number == 0 ? std::nullopt : level_or_none(static_cast<reblock::feature_level>(number));
  switch (type) {
    case DML_OPERATOR_DEPTH_TO_SPACE:
      return create_blocks<reblock::depth_to_space_desc>(as<DML_DEPTH_TO_SPACE_OPERATOR_DESC>(desc), level,
                                                         op);
    case DML_OPERATOR_DEPTH_TO_SPACE1:
      return create_blocks<reblock::depth_to_space_desc>(as<DML_DEPTH_TO_SPACE1_OPERATOR_DESC>(desc), level,
                                                         op);
    case DML_OPERATOR_SPACE_TO_DEPTH:
      return create_blocks<reblock::space_to_depth_desc>(as<DML_SPACE_TO_DEPTH_OPERATOR_DESC>(desc), level,
                                                         op);
    case DML_OPERATOR_SPACE_TO_DEPTH1:
      return create_blocks<reblock::space_to_depth_desc>(as<DML_SPACE_TO_DEPTH1_OPERATOR_DESC>(desc), level,
                                                         op);
    case DML_OPERATOR_UNFOLD:
      return create_windows<reblock::unfold_desc>(as<DML_UNFOLD_OPERATOR_DESC>(desc), level, op);
    case DML_OPERATOR_FOLD:
      return create_windows<reblock::fold_desc>(as<DML_FOLD_OPERATOR_DESC>(desc), level, op);
    default:
      return refuse(
          REBLOCK_UNSUPPORTED_OPERATOR,
          error("Type must be DML_OPERATOR_DEPTH_TO_SPACE (69), _DEPTH_TO_SPACE1 (113), _SPACE_TO_DEPTH "
                "(68), _SPACE_TO_DEPTH1 (114), _UNFOLD (177) or _FOLD (176), got ")
              << type);
  }
}

reblock_status reblock_operator_dispatch(const reblock_operator* op, const void* input, size_t input_size,
                                         void* output, size_t output_size, size_t threads) {
  if (op == nullptr) return refuse_null("op");
  if (input == nullptr) return refuse_null("input");
  if (output == nullptr) return refuse_null("output");
  const auto refuse_size = [](const char* argument, std::uint64_t needed, std::size_t given) {
    return refuse(REBLOCK_BUFFER_TOO_SMALL,
                  error(argument) << " must have at least " << needed << " bytes, got " << given);
  };
  if (input_size < op->input_size) return refuse_size("input", op->input_size, input_size);
  if (output_size < op->output_size) return refuse_size("output", op->output_size, output_size);
  const auto shared = share_memory(op->compiled.input(), input, op->compiled.output(), output);
  if (shared != reblock::detail::overlap::none) {
    return refuse(REBLOCK_INVALID_ARGUMENT, error("output must not share memory with input")
                                                << doubt(shared));
  }
  try {
    const std::size_t used = threads_for(std::max(op->input_size, op->output_size), threads);
    op->compiled.dispatch(input, output, reblock::pool_executor(used));
  } catch (const std::exception&) {
    return refuse(REBLOCK_OUT_OF_MEMORY, error("there is no memory left for threads"));
  }
  return REBLOCK_SUCCESS;
}

void reblock_operator_destroy(reblock_operator* op) { delete op; }

uint64_t reblock_operator_input_size(const reblock_operator* op) {
  return op == nullptr ? 0 : op->input_size;
}

uint64_t reblock_operator_output_size(const reblock_operator* op) {
  return op == nullptr ? 0 : op->output_size;
}

reblock_status reblock_buffer_tensor_size(const DML_BUFFER_TENSOR_DESC* desc, uint64_t* size) {
  if (desc == nullptr) return refuse_null("desc");
  if (size == nullptr) return refuse_null("size");
  const auto layout = read_layout(*desc, "desc");
  if (!layout) return refuse_description(layout.why());
  const auto bytes = try_total_size_in_bytes(*layout, "desc");
  if (!bytes) return refuse_description(bytes.why());
  *size = *bytes;
  return REBLOCK_SUCCESS;
}

const char* reblock_last_error() { return last_error.message(); }

const char* reblock_version() { return reblock::version; }
