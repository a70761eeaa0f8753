// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target: any description of an operator is either refused or compiled, as the rules say, and a
// compiled operator does to buffers of exactly total_size_in_bytes() what the definitions say.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <reblock/reblock.hpp>

#include "definitions.hpp"
#include "rules.hpp"
#include "source.hpp"

namespace reblock::fuzz {
namespace {

// What is larger is compiled, but neither dispatched nor held to the rule about overlap. Most operators are dispatched only
// if they are smaller: large ones take most of the time.
constexpr wide most_elements = 1 << 14;
constexpr wide usual_elements = 1 << 11;
constexpr std::uint64_t most_bytes = 1 << 18;

data_type draw_type(source& s) {
  return static_cast<data_type>(s.rarely() ? s.any<std::uint32_t>()
                                           : static_cast<std::uint32_t>(s.between(1, 11)));
}

std::optional<feature_level> draw_level(source& s) {
  if (s.between(0, 3) != 3) return std::nullopt;
  constexpr std::uint32_t least[] = {0x1000, 0x2100, 0x5000, 0x6400};
  return static_cast<feature_level>(s.rarely() ? s.any<std::uint32_t>() : least[s.between(0, 3)]);
}

tensor_desc draw_tensor(source& s, data_type type, const axis_values& sizes, bool is_input) {
  tensor_desc desc{s.rarely() ? draw_type(s) : type, s.disturbed(sizes)};
  if (s.flip()) desc.strides = s.disturbed(s.apart(desc.sizes, is_input));
  if (s.rarely()) desc.strides = s.values(desc.sizes.size(), 0, 8);
  return desc;
}

std::optional<tensor_desc> draw_output(source& s, data_type type, const axis_values& sizes) {
  if (s.flip()) return std::nullopt;
  return draw_tensor(s, type, sizes, false);
}

/// The columns that fit where there are any; else some that do not.
axis_values likely_columns(source& s, const axis_values& image, const window& w) {
  const auto each = expanded(w, image.size() - 2);
  const auto fitting = each && all_from(1, image) ? columns_of(image, 1, *each) : std::nullopt;
  const axis_values columns = fitting.value_or(axis_values{1, 1, 1});
  axis_values padded;
  for (std::int64_t i = s.between(0, 5); i > 0; --i) {
    if (image.size() > 3 + padded.size()) padded.push_back(1);
  }
  for (const std::int64_t size : columns) padded.push_back(size);
  return padded;
}

/// Whether the operator is small enough to be dispatched.
bool draw_dispatch(source& s, const compiled_operator& op) {
  const wide most = s.between(0, 7) == 7 ? most_elements : usual_elements;
  for (const tensor_desc* desc : {&op.input(), &op.output()}) {
    if (capped_product(desc->sizes) > most || total_size_in_bytes(*desc) > most_bytes) return false;
  }
  return true;
}

/// A valid output of the given sizes; nothing where finding out whether it overlaps takes too long.
std::optional<bool> is_output(const tensor_desc& output, data_type type, const axis_values& sizes) {
  if (!is_tensor(output) || output.type != type || output.sizes != sizes) return false;
  if (!output.strides) return true;
  if (capped_product(output.sizes) > most_elements) return std::nullopt;
  return !overlaps(output.sizes, *output.strides);
}

elements elements_of(const tensor_desc& desc) {
  return {desc.sizes, desc.strides_or_packed(), element_size(desc.type)};
}

/// Without what may be before the batch.
elements columns_elements(const tensor_desc& desc) {
  elements all = elements_of(desc);
  const auto last_three = [](const axis_values& values) {
    return axis_values{*(values.end() - 3), *(values.end() - 2), *(values.end() - 1)};
  };
  return {last_three(all.extents), last_three(all.strides), all.size};
}

/// Dispatches and compares with what `define` makes of the output's bytes.
template <class Define, class Unify>
void check_dispatch(source& s, const compiled_operator& op, Define&& define, Unify&& unify) {
  const auto buffer_of = [&](const tensor_desc& desc) {
    exact_buffer buffer(static_cast<std::size_t>(total_size_in_bytes(desc)),
                        static_cast<std::size_t>(s.between(0, 15)));
    buffer.fill(s.any<std::uint8_t>());
    return buffer;
  };
  const exact_buffer input = buffer_of(op.input());
  exact_buffer output = buffer_of(op.output());
  std::vector<std::byte> expected(output.data(), output.data() + output.size());
  define(input.data(), expected.data());
  op.dispatch(input.data(), output.data(), backward_executor{static_cast<std::size_t>(s.between(0, 9))});
  unify(output.data());
  unify(expected.data());
  require(std::memcmp(output.data(), expected.data(), expected.size()) == 0,
          "dispatch follows the definition");
}

template <class Desc>
void fuzz_depth_space(source& s, bool to_space) {
  const auto axes = static_cast<std::size_t>(s.between(1, 6));
  const axis_values drawn_block = s.flip() ? s.values(axes, 1, 4) : axis_values::repeat(axes, s.value(1, 4));
  axis_values depth{s.value(1, 3), s.value(1, 4)};
  axis_values space = depth;
  const auto multiply = [](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  };
  for (const std::int64_t b : drawn_block) {
    depth[1] = multiply(depth[1], b);
    depth.push_back(s.value(1, 20 / static_cast<std::int64_t>(axes)));
    space.push_back(multiply(depth[depth.size() - 1], b));
  }
  const data_type type = draw_type(s);
  Desc desc;
  desc.input = draw_tensor(s, type, to_space ? depth : space, true);
  desc.output = draw_output(s, type, to_space ? space : depth);
  desc.block_size = s.rarely() ? s.parameter(axes, 1, 4) : spatial_values(drawn_block);
  desc.order = static_cast<depth_space_order>(s.rarely() ? s.any<std::uint32_t>()
                                                         : static_cast<std::uint32_t>(s.flip()));
  const auto level = draw_level(s);
  const auto op = try_compile(desc, level);

  const auto rules = [&]() -> std::optional<bool> {
    const axis_values& in = desc.input.sizes;
    if (!is_tensor(desc.input) || in.size() < 3) return false;
    const auto block = expanded(desc.block_size, in.size() - 2, 1);
    if (!block || static_cast<std::uint32_t>(desc.order) > 1) return false;
    const wide positions = capped_product(*block);
    if (to_space && in[1] % positions != 0) return false;
    axis_values out{in[0], to_space ? static_cast<std::int64_t>(in[1] / positions) : 0};
    if (!to_space) {
      const wide channels = capped_product(*block, in[1]);
      if (channels > 0xffffffff) return false;
      out[1] = static_cast<std::int64_t>(channels);
    }
    for (std::size_t d = 0; d < block->size(); ++d) {
      if (!to_space && in[d + 2] % (*block)[d] != 0) return false;
      const wide extent = to_space ? wide{in[d + 2]} * (*block)[d] : in[d + 2] / (*block)[d];
      if (extent > 0xffffffff) return false;
      out.push_back(static_cast<std::int64_t>(extent));
    }
    if (level) {
      const auto type_level = [&] {
        switch (desc.input.type) {
          case data_type::float32:
          case data_type::float16: return feature_level::level_1_0;
          case data_type::float64:
          case data_type::uint64:
          case data_type::int64: return feature_level::level_5_0;
          default: return feature_level::level_2_1;
        }
      };
      const bool crd = desc.order == depth_space_order::column_row_depth;
      if (name(*level) == nullptr || *level < type_level()) return false;
      if ((crd && *level < feature_level::level_2_1) || in.size() != 4 || (*block)[0] != (*block)[1]) {
        return false;
      }
    }
    return is_output(desc.output.value_or(tensor_desc{desc.input.type, out}), desc.input.type, out);
  }();
  require(!rules || *rules == bool(op), "compile follows the rules of depth and space");
  if (!op || !draw_dispatch(s, *op)) return;

  const axis_values block = *expanded(desc.block_size, op->input().sizes.size() - 2, 1);
  const axis_values& space_sizes = to_space ? op->output().sizes : op->input().sizes;
  check_dispatch(
      s, *op,
      [&](const std::byte* from, std::byte* to) {
        define_depth_space(to_space, space_sizes, block, desc.order, 1, elements_of(op->input()),
                           elements_of(op->output()), from, to);
      },
      [](std::byte*) {});
}

bool window_level(const std::optional<feature_level>& level) {
  return !level || (name(*level) != nullptr && *level >= feature_level::level_6_4);
}

/// The columns' sizes as a description may give them: with leading sizes of 1 up to the image's rank.
bool are_columns(const axis_values& sizes, const axis_values& columns, const axis_values& image) {
  if (sizes.size() < 3 || sizes.size() > image.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t leading = sizes.size() - 3;
    if (sizes[i] != (i < leading ? 1 : columns[i - leading])) return false;
  }
  return true;
}

void fuzz_unfold(source& s) {
  const auto axes = static_cast<std::size_t>(s.between(1, 6));
  const axis_values image = s.values(axes + 2, 1, axes < 3 ? 9 : 3);
  const data_type type = draw_type(s);
  unfold_desc desc;
  desc.input = draw_tensor(s, type, image, true);
  desc.window = s.window_of(axes);
  desc.output = draw_output(s, type, likely_columns(s, image, desc.window));
  const auto level = draw_level(s);
  const auto op = try_compile(desc, level);

  const auto rules = [&]() -> std::optional<bool> {
    const axis_values& in = desc.input.sizes;
    if (!is_tensor(desc.input) || in.size() < 3 || !window_level(level)) return false;
    const auto each = expanded(desc.window, in.size() - 2);
    const auto columns = each ? columns_of(in, 1, *each) : std::nullopt;
    if (!columns) return false;
    if (!desc.output) return is_tensor({desc.input.type, *columns});
    if (!are_columns(desc.output->sizes, *columns, in)) return false;
    return is_output(*desc.output, desc.input.type, desc.output->sizes);
  }();
  require(!rules || *rules == bool(op), "compile follows the rules of unfold");
  if (!op || !draw_dispatch(s, *op)) return;

  const window w = *expanded(desc.window, op->input().sizes.size() - 2);
  check_dispatch(
      s, *op,
      [&](const std::byte* from, std::byte* to) {
        const std::array<std::byte, 8> zero{};
        define_unfold(w, 1, elements_of(op->input()), columns_elements(op->output()), from, to, zero.data());
      },
      [](std::byte*) {});
}

using fold_definition = void(const window&, std::size_t, const elements&, const elements&, const std::byte*,
                             std::byte*);

fold_definition* fold_of(data_type type) {
  switch (type) {
    case data_type::float16: return define_sums<_Float16, float>;
    case data_type::float32: return define_sums<float, float>;
    case data_type::float64: return define_sums<double, double>;
    default: break;
  }
  switch (element_size(type)) {
    case 1: return define_sums<std::uint8_t, std::uint8_t>;
    case 2: return define_sums<std::uint16_t, std::uint16_t>;
    case 4: return define_sums<std::uint32_t, std::uint32_t>;
    default: return define_sums<std::uint64_t, std::uint64_t>;
  }
}

void unify_nans_of(data_type type, const elements& tensor, std::byte* first) {
  if (type == data_type::float16) unify_nans<_Float16>(tensor, first);
  if (type == data_type::float32) unify_nans<float>(tensor, first);
  if (type == data_type::float64) unify_nans<double>(tensor, first);
}

void fuzz_fold(source& s) {
  const auto axes = static_cast<std::size_t>(s.between(1, 6));
  const axis_values image = s.values(axes + 2, 1, axes < 3 ? 9 : 3);
  const data_type type = draw_type(s);
  fold_desc desc;
  desc.window = s.window_of(axes);
  desc.input = draw_tensor(s, type, likely_columns(s, image, desc.window), true);
  desc.output = draw_tensor(s, type, image, false);
  const auto level = draw_level(s);
  const auto op = try_compile(desc, level);

  const auto rules = [&]() -> std::optional<bool> {
    const axis_values& out = desc.output.sizes;
    if (!is_tensor(desc.input) || !is_tensor(desc.output) || out.size() < 3 || !window_level(level)) {
      return false;
    }
    const auto each = expanded(desc.window, out.size() - 2);
    const auto columns = each ? columns_of(out, 1, *each) : std::nullopt;
    if (!columns || !are_columns(desc.input.sizes, *columns, out)) return false;
    return is_output(desc.output, desc.input.type, out);
  }();
  require(!rules || *rules == bool(op), "compile follows the rules of fold");
  if (!op || !draw_dispatch(s, *op)) return;
  const window w = *expanded(desc.window, desc.output.sizes.size() - 2);
  const elements output = elements_of(op->output());
  check_dispatch(
      s, *op,
      [&](const std::byte* from, std::byte* to) {
        fold_of(op->input().type)(w, 1, columns_elements(op->input()), output, from, to);
      },
      [&](std::byte* first) { unify_nans_of(op->input().type, output, first); });
}

}  // namespace
}  // namespace reblock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reblock::fuzz::source s(data, size);
  switch (s.between(0, 3)) {
    case 0: reblock::fuzz::fuzz_depth_space<reblock::depth_to_space_desc>(s, true); break;
    case 1: reblock::fuzz::fuzz_depth_space<reblock::space_to_depth_desc>(s, false); break;
    case 2: reblock::fuzz::fuzz_unfold(s); break;
    default: reblock::fuzz::fuzz_fold(s); break;
  }
  return 0;
}
