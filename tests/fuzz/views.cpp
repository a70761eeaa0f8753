// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target: the functions on views, with any parameters and any strides, in memory of their own or in
// memory that they share. Each call is refused, as the rules say, and has written nothing; or else it
// does what the definitions say to the elements of its output, and touches nothing beside them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <reblock/reblock.hpp>

#include "definitions.hpp"
#include "rules.hpp"
#include "source.hpp"

namespace reblock::fuzz {
namespace {

// A tensor that has more elements, or that they lie farther apart in, gets no memory: it is made empty.
constexpr wide most_elements = 1 << 12;
constexpr wide most_places = 1 << 15;

/// Extents and strides, in elements, and the first of its places in memory.
struct shape {
  axis_values extents;
  axis_values strides;
  std::int64_t start = 0;

  bool empty() const { return std::find(extents.begin(), extents.end(), 0) != extents.end(); }

  /// How far the last element lies behind the one with index 0, or the first one before it.
  wide reach(bool forwards) const {
    wide sum = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (extents[i] > 1 && (strides[i] > 0) == forwards) sum += wide{extents[i] - 1} * strides[i];
    }
    return sum;
  }
  bool fits() const {
    if (strides.given() != extents.given() || extents.given() > max_rank || !all_from(0, extents))
      return false;
    axis_values at_least_one = extents;
    for (std::size_t i = 0; i < extents.size(); ++i) at_least_one[i] = std::max<std::int64_t>(extents[i], 1);
    return capped_product(at_least_one) <= most_elements && reach(true) - reach(false) < most_places;
  }
  std::int64_t places() const {
    return empty() ? 0 : static_cast<std::int64_t>(reach(true) - reach(false)) + 1;
  }
  std::int64_t origin() const { return empty() ? start : start - static_cast<std::int64_t>(reach(false)); }
};

shape draw_shape(source& s, const axis_values& likely, bool is_input) {
  shape drawn;
  drawn.extents = s.disturbed(likely);
  drawn.strides = s.apart(drawn.extents, is_input);
  for (std::size_t i = 0; i < drawn.strides.size(); ++i) {
    if (s.flip()) drawn.strides[i] = -drawn.strides[i];
  }
  if (s.rarely()) drawn.strides = s.values(drawn.extents.size(), -8, 8);
  drawn.strides = s.disturbed(drawn.strides);
  return drawn;
}

/// Runs one function on tensors of about the given extents.
///
/// call(input, output)    calls it on views
/// rules(input, output)   says whether extents are valid, whatever their memory is
/// define(input, output, from, to)
/// unify(output, to)
template <class T, class Call, class Rules, class Define, class Unify>
void check(source& s, const axis_values& likely_input, const axis_values& likely_output, Call&& call,
           Rules&& rules, Define&& define, Unify&& unify) {
  shape input = draw_shape(s, likely_input, true);
  shape output = draw_shape(s, likely_output, false);
  const bool near = input.fits() && output.fits();
  if (!near) {
    if (input.extents.empty() || output.extents.empty()) return;
    input.extents[0] = 0;
    output.extents[0] = 0;
  }
  // The tensors follow each other, or share places.
  std::int64_t places = 0;
  if (s.between(0, 3) != 3) {
    output.start = near ? input.places() : 0;
    places = near ? output.start + output.places() : 0;
  } else if (near) {
    places = std::max(input.places(), output.places()) + s.between(0, 7);
    input.start = s.between(0, places - input.places());
    output.start = s.between(0, places - output.places());
  }
  exact_buffer memory(static_cast<std::size_t>(places) * sizeof(T), 0);
  memory.fill(s.any<std::uint8_t>());
  const std::vector<std::byte> before(memory.data(), memory.data() + memory.size());
  auto* first = reinterpret_cast<T*>(memory.data());
  const elements from{input.extents, input.strides, sizeof(T)};
  const elements to{output.extents, output.strides, sizeof(T)};
  const status outcome =
      call(tensor_view<const T>(first + (near ? input.origin() : 0), input.extents, input.strides),
           tensor_view<T>(first + (near ? output.origin() : 0), output.extents, output.strides));

  std::vector<std::byte> expected = before;
  if (near) {
    enum : unsigned char { is_read = 1, is_written = 2 };
    std::vector<unsigned char> uses(static_cast<std::size_t>(places));
    bool shared = false;
    bool self = false;
    if (!input.empty() && !output.empty()) {
      oracle::for_each_index(input.extents, [&, origin = input.origin()](const axis_values& i) {
        uses[static_cast<std::size_t>(origin + from.place(i))] |= is_read;
      });
    }
    if (!output.empty()) {
      oracle::for_each_index(output.extents, [&, origin = output.origin()](const axis_values& i) {
        unsigned char& use = uses[static_cast<std::size_t>(origin + to.place(i))];
        shared = shared || (use & is_read) != 0;
        self = self || (use & is_written) != 0;
        use |= is_written;
      });
    }
    const bool valid = rules(input.extents, output.extents);
    require(!outcome || (valid && !self && !shared), "what breaks a rule is refused");
    if (!outcome && valid && !self && !shared) {
      // A search for an overlap that takes too long is given up, and what is not known to be free is not used.
      const std::string_view why = outcome.why().message();
      require(why.find("overlap itself") != why.npos || why.find("share memory") != why.npos,
              "what keeps the rules is taken");
    }
    if (outcome) {
      const auto at = [&](auto& bytes, const shape& tensor) {
        return bytes.data() + tensor.origin() * static_cast<std::ptrdiff_t>(sizeof(T));
      };
      define(from, to, at(before, input), at(expected, output));
      unify(to, at(expected, output));
      unify(to, at(memory, output));
    }
  }
  require(std::equal(expected.begin(), expected.end(), memory.data()), "the call follows the definition");
}

constexpr auto leave = [](const elements&, std::byte*) {};

std::size_t axis_of(std::int64_t channel_axis, std::size_t rank) {
  return static_cast<std::size_t>(channel_axis < 0 ? channel_axis + static_cast<std::int64_t>(rank)
                                                   : channel_axis);
}

bool is_image(const axis_values& extents, std::int64_t channel_axis) {
  const auto rank = static_cast<std::int64_t>(extents.given());
  return rank >= 3 && rank <= 8 && all_from(0, extents) && channel_axis < rank && channel_axis >= 1 - rank &&
         channel_axis != 0;
}

std::int64_t draw_channel_axis(source& s, std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(rank);
  const std::int64_t axis = s.value(1, axes - 1);
  return s.flip() && axis > 0 && axis < axes ? axis - axes : axis;
}

/// An axis that exists, whatever was drawn: for extents that are likely to fit.
std::size_t likely_axis(std::int64_t channel_axis, std::size_t rank) {
  const std::size_t axis = axis_of(channel_axis, rank);
  return axis >= 1 && axis < rank ? axis : 1;
}

template <class T>
void fuzz_depth_space(source& s, bool to_space) {
  const auto axes = static_cast<std::size_t>(s.between(1, 6));
  const std::int64_t channel_axis = draw_channel_axis(s, axes + 2);
  const auto order = static_cast<depth_space_order>(s.rarely() ? s.any<std::uint32_t>()
                                                               : static_cast<std::uint32_t>(s.flip()));
  axis_values likely_block;
  axis_values blocks;
  axis_values spatial;
  const bool uniform = s.flip();
  for (std::size_t d = 0; d < axes; ++d) {
    likely_block.push_back(uniform && d > 0 ? likely_block[0] : s.between(1, 4));
    blocks.push_back(s.between(s.rarely() ? 0 : 1, axes < 3 ? 6 : 2));
    spatial.push_back(likely_block[d] * blocks[d]);
  }
  const std::size_t likely = likely_axis(channel_axis, axes + 2);
  const std::int64_t batch = s.between(s.rarely() ? 0 : 1, 2);
  const std::int64_t channels = s.between(s.rarely() ? 0 : 1, 3);
  const axis_values space = oracle::join(batch, channels, spatial, likely);
  const axis_values depth = oracle::join(batch, channels * oracle::volume(likely_block), blocks, likely);
  const spatial_values block_size = s.rarely()            ? s.parameter(axes, 1, 4)
                                    : uniform && s.flip() ? spatial_values(likely_block[0])
                                                          : spatial_values(likely_block);
  const backward_executor executor{static_cast<std::size_t>(s.between(0, 5))};

  const auto fits = [&](const axis_values& in, const axis_values& out) {
    if (!is_image(in, channel_axis) || static_cast<std::uint32_t>(order) > 1) return false;
    const auto block = expanded(block_size, in.size() - 2, 1);
    if (!block || out.size() != in.size()) return false;
    const std::size_t axis = axis_of(channel_axis, in.size());
    const axis_values& depth_side = to_space ? in : out;
    const axis_values& space_side = to_space ? out : in;
    if (depth_side[0] != space_side[0]) return false;
    if (capped_product(*block, space_side[axis]) != depth_side[axis]) return false;
    const axis_values steps = oracle::spatial(depth_side, axis);
    const axis_values pixels = oracle::spatial(space_side, axis);
    for (std::size_t d = 0; d < block->size(); ++d) {
      if (wide{steps[d]} * (*block)[d] != pixels[d]) return false;
    }
    return capped_product(*block) < enormous;
  };
  check<T>(
      s, to_space ? depth : space, to_space ? space : depth,
      [&](const tensor_view<const T>& in, const tensor_view<T>& out) {
        return to_space ? try_depth_to_space(in, out, block_size, order, executor, channel_axis)
                        : try_space_to_depth(in, out, block_size, order, executor, channel_axis);
      },
      fits,
      [&](const elements& in, const elements& out, const std::byte* from, std::byte* to) {
        define_depth_space(to_space, to_space ? out.extents : in.extents,
                           *expanded(block_size, in.extents.size() - 2, 1), order,
                           axis_of(channel_axis, in.extents.size()), in, out, from, to);
      },
      leave);
}

template <class T>
void fuzz_copy(source& s) {
  const axis_values likely = s.values(static_cast<std::size_t>(s.between(1, 8)), s.rarely() ? 0 : 1, 4);
  const backward_executor executor{static_cast<std::size_t>(s.between(0, 5))};
  check<T>(
      s, likely, likely,
      [&](const tensor_view<const T>& in, const tensor_view<T>& out) { return try_copy(in, out, executor); },
      [](const axis_values& in, const axis_values& out) {
        return in.given() == in.size() && all_from(0, in) && in == out;
      },
      [](const elements& in, const elements& out, const std::byte* from, std::byte* to) {
        oracle::for_each_index(in.extents, [&](const axis_values& index) {
          std::memcpy(out.at(index, to), in.at(index, from), sizeof(T));
        });
      },
      leave);
}

/// An image, a window over it, and the columns of both where they fit.
struct window_problem {
  axis_values image;
  window parameters;
  std::int64_t channel_axis = 1;
  axis_values likely_columns;

  explicit window_problem(source& s) {
    const auto axes = static_cast<std::size_t>(s.between(1, 6));
    image = s.values(axes + 2, s.rarely() ? 0 : 1, axes < 3 ? 9 : 3);
    parameters = s.any_window_of(axes);
    channel_axis = draw_channel_axis(s, axes + 2);
    likely_columns = columns(image).value_or(axis_values{1, 1, 1});
  }
  std::optional<window> each(const axis_values& extents) const {
    return expanded(parameters, extents.size() - 2);
  }
  std::optional<axis_values> columns(const axis_values& extents) const {
    if (!is_image(extents, channel_axis) || !each(extents)) return std::nullopt;
    return columns_of(extents, axis_of(channel_axis, extents.size()), *each(extents));
  }
};

template <class T>
void fuzz_unfold(source& s) {
  const window_problem p(s);
  const backward_executor executor{static_cast<std::size_t>(s.between(0, 5))};
  std::array<std::byte, sizeof(T)> outside{};
  if (s.flip())
    outside[static_cast<std::size_t>(s.between(0, sizeof(T) - 1))] = std::byte{s.any<std::uint8_t>()};
  const bool is_zero = outside == std::array<std::byte, sizeof(T)>{};
  unfold_options<T> options;
  std::memcpy(&options.padding_value, outside.data(), sizeof(T));
  const bool gives = !is_zero || s.flip();
  check<T>(
      s, p.image, p.likely_columns,
      [&](const tensor_view<const T>& image, const tensor_view<T>& columns) {
        return gives ? try_unfold(image, columns, p.parameters, options, executor, p.channel_axis)
                     : try_unfold(image, columns, p.parameters, executor, p.channel_axis);
      },
      [&](const axis_values& image, const axis_values& columns) {
        return p.columns(image) == columns &&
               (is_zero || p.parameters.padding_mode == padding_mode::constant);
      },
      [&](const elements& image, const elements& columns, const std::byte* from, std::byte* to) {
        define_unfold(*p.each(image.extents), axis_of(p.channel_axis, image.extents.size()), image, columns,
                      from, to, outside.data());
      },
      leave);
}

/// Weights of windows, in memory of their own. Their products and sums are exact.
struct drawn_weights {
  std::vector<std::vector<double>> values;
  window_weights weights;

  drawn_weights(source& s, const axis_values& likely) {
    const axis_values extents = s.disturbed(likely);
    for (const std::int64_t extent : extents) {
      if (extent < 0 || extent > 9) return;
    }
    if (extents.given() == 0 || extents.given() > max_rank - 2) return;
    if (s.flip()) {
      for (const std::int64_t extent : extents) values.push_back(draw(s, extent));
      for (const std::vector<double>& axis : values) weights.push_back(axis);
    } else {
      const axis_values strides = s.apart(extents, true);
      std::int64_t places = 1;
      for (std::size_t d = 0; d < extents.size(); ++d)
        places += (extents[d] > 0 ? extents[d] - 1 : 0) * strides[d];
      if (places > 4096) return;
      values.push_back(draw(s, places));
      weights = tensor_view<const double>(values[0].data(), extents, strides);
    }
  }
  bool are_valid() const {
    bool valid = true;
    const auto check = [&](double weight) { valid = valid && weight >= 0; };
    if (weights.has_products()) {
      for (const std::vector<double>& axis : values) std::for_each(axis.begin(), axis.end(), check);
    } else if (!weights.empty()) {
      oracle::for_each_index(weights.extents(), [&](const axis_values& index) {
        check(*elements{weights.extents(), weights.strides(), 1}.at(index, weights.values(0)));
      });
    }
    return valid;
  }

 private:
  static std::vector<double> draw(source& s, std::int64_t count) {
    std::vector<double> drawn(static_cast<std::size_t>(count));
    for (double& weight : drawn) weight = static_cast<double>(s.between(0, 6)) / 2;
    if (count > 0 && s.rarely())
      drawn[static_cast<std::size_t>(s.between(0, count - 1))] = s.flip() ? -1 : NAN;
    return drawn;
  }
};

/// T as it is stored, Value as which it is read and written, Sum in which it is added up.
template <class T, class Value, class Sum, bool IsFloat>
void fuzz_fold(source& s) {
  const window_problem p(s);
  const backward_executor executor{static_cast<std::size_t>(s.between(0, 5))};
  fold_options options{.accumulate = s.between(0, 3) == 3};
  options.reduction = static_cast<fold_reduction>(s.rarely() ? s.any<std::uint32_t>() : s.between(0, 3));
  const bool is_mean = options.reduction == fold_reduction::mean;
  if (IsFloat && is_mean)
    options.reduction = fold_reduction::sum;  // a mean of floats has no order of its own
  const bool sums = options.reduction == fold_reduction::sum;
  const bool is_weighted = (sums && s.flip()) || (!is_mean && s.rarely());
  const auto sizes = p.each(p.image);
  const drawn_weights weights(s, is_weighted && sizes ? sizes->sizes.values() : axis_values{});
  if (!is_mean) options.weights = weights.weights;  // a mean with weights is rounded twice
  const bool is_valid = static_cast<std::uint32_t>(options.reduction) <= 3 &&
                        !(is_mean && !IsFloat && options.accumulate) &&
                        (options.weights.empty() || (sums && weights.are_valid()));
  check<T>(
      s, p.likely_columns, p.image,
      [&](const tensor_view<const T>& columns, const tensor_view<T>& image) {
        return try_fold(columns, image, p.parameters, options, executor, p.channel_axis);
      },
      [&](const axis_values& columns, const axis_values& image) {
        if (!is_valid || p.columns(image) != columns) return false;
        return options.weights.empty() || options.weights.extents() == p.each(image)->sizes.values();
      },
      [&](const elements& columns, const elements& image, const std::byte* from, std::byte* to) {
        define_fold<Value, Sum>(*p.each(image.extents), axis_of(p.channel_axis, image.extents.size()),
                                options, columns, image, from, to);
      },
      [](const elements& image, std::byte* first) {
        if constexpr (IsFloat) unify_nans<Value>(image, first);
      });
}

template <class T>
void fuzz_moves(source& s) {
  switch (s.between(0, 3)) {
    case 0: return fuzz_depth_space<T>(s, true);
    case 1: return fuzz_depth_space<T>(s, false);
    case 2: return fuzz_copy<T>(s);
    default: return fuzz_unfold<T>(s);
  }
}

}  // namespace
}  // namespace reblock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reblock::fuzz;
  source s(data, size);
  switch (s.between(0, 11)) {
    case 0: fuzz_moves<std::uint8_t>(s); break;
    case 1: fuzz_moves<std::uint16_t>(s); break;
    case 2: fuzz_moves<float>(s); break;
    case 3: fuzz_moves<double>(s); break;
    case 4: fuzz_moves<std::array<std::uint8_t, 3>>(s); break;
    case 5: fuzz_moves<std::array<double, 2>>(s); break;
    case 6: fuzz_fold<std::uint8_t, std::uint8_t, std::uint8_t, false>(s); break;
    case 7: fuzz_fold<std::int16_t, std::int16_t, std::int16_t, false>(s); break;
    case 8: fuzz_fold<std::uint64_t, std::uint64_t, std::uint64_t, false>(s); break;
    case 9: fuzz_fold<reblock::float16, _Float16, float, true>(s); break;
    case 10: fuzz_fold<float, float, float, true>(s); break;
    default: fuzz_fold<double, double, double, true>(s); break;
  }
  return 0;
}
