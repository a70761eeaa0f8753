// SPDX-License-Identifier: BSD-3-Clause
//
// The arithmetic of fold, the only operator that adds, without its types.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <reblock/data_type.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/leaves.hpp>
#include <reblock/detail/sum_leaves.hpp>
#include <reblock/detail/sum_traits.hpp>

namespace reblock::detail {

/// Makes a register of terms sums of one term each. An element is one or several terms.
template <sums_in_lanes T, std::size_t Size = sizeof(T)>
struct settled {
  static constexpr std::size_t element_size = Size;
  static register_bytes finish(register_bytes terms) noexcept {
    if constexpr (half<T>) {
      return map_lanes<std::uint16_t>(terms, [](auto bits) { return settled_bits(bits); });
    } else {
      return add_lanes<T>(terms, register_bytes{});
    }
  }
};

/// Makes `count` contiguous terms sums of one term each.
template <class T>
[[gnu::always_inline]] inline void settle_run(std::byte* terms, std::size_t count) {
  if constexpr (sums_in_lanes<T>) {
    constexpr std::size_t width = sizeof(register_bytes);
    const auto settle_register = [](std::byte* at) { store(at, settled<T>::finish(load(at))); };
    const std::size_t size = count * sizeof(T);
    std::size_t i = 0;
    for (; i + 4 * width <= size; i += 4 * width) {
      unrolled<4>([&](auto k) { settle_register(terms + i + k * width); });
    }
    for (; i + width <= size; i += width) settle_register(terms + i);
    if (i != size) {
      const std::size_t rest = size - i;
      store_part(terms + i, settled<T>::finish(load_part(terms + i, rest)), rest);
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      T term;
      std::memcpy(&term, terms + i * sizeof(T), sizeof(T));
      term = sum_traits<T>::add({}, term);
      std::memcpy(terms + i * sizeof(T), &term, sizeof(T));
    }
  }
}

/// What settles a tile that holds single terms: 0 + term, which differs from the term where that is -0, or a
/// bool of unusual bits. An element of the tile is any number of contiguous terms.
template <class T>
void settle(const tile& t, const std::byte*, std::byte* destination) {
  using part = typename parts_of<T>::type;
  tile rest = t;
  rest.joined = tile::axis::neither;  // to which axis rows belong matters to moves alone
  auto run = static_cast<std::int64_t>(t.element_size);
  for (const auto member : {&tile::inner, &tile::outer, &tile::rows, &tile::slices}) {
    tile_axis& axis = rest.*member;
    if (axis.destination_stride != run) break;
    run *= std::exchange(axis.extent, 1);
  }
  const tile_axis outer = rest.outer;
  const tile_axis inner = rest.inner;
  const std::size_t count = static_cast<std::size_t>(run) / sizeof(part);
  for_each_row(rest, destination, destination, [=](const std::byte*, std::byte* to) {
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      for (std::int64_t j = 0; j < inner.extent; ++j) {
        settle_run<part>(to + i * outer.destination_stride + j * inner.destination_stride, count);
      }
    }
  });
}

template <class T>
inline constexpr settling settling_of = [] {
  using part = typename parts_of<T>::type;
  settling result{settle<T>, nullptr};
  if constexpr (sums_in_lanes<part> && !std::same_as<part, bool>) {
    result.choose_leaf = detail::choose_leaf<settled<part, sizeof(T)>>;
  }
  return result;
}();

/// sum_traits without the type: what fold needs to know about its elements.
struct summation {
  std::int64_t element_size = 0;  ///< bytes of an element
  sum_function sum = nullptr;     ///< null: who runs the operation says how, see sum_leaf
  /// Bytes of the shortest run whose terms may have masks; 0: those of no run.
  std::int64_t least_masked = 0;
  /// Turns single terms into their sums; null where they are.
  const detail::settling* settling = nullptr;
};

template <class T>
concept summable = requires { typename sum_traits<T>::accumulator; };

template <summable T>
constexpr summation summation_without_leaf() noexcept {
  summation result{sizeof(T), nullptr, least_run<typename parts_of<T>::type>, nullptr};
  if constexpr (std::is_same_v<T, bool> || !std::integral<T>) result.settling = &settling_of<T>;
  return result;
}

template <summable T>
constexpr summation summation_of() noexcept {
  summation result = summation_without_leaf<T>();
  result.sum = sum_tile<T>;
  return result;
}

/// Returns what `with` returns for a value of the type that sums those of a data type, which element_size() knows.
template <class With>
constexpr auto with_summed_type(data_type type, With with) noexcept {
  switch (type) {
    case data_type::float32: return with(float{});
    case data_type::float64: return with(double{});
    case data_type::float16: return with(float16{});
    case data_type::uint8:
    case data_type::int8: return with(std::uint8_t{});
    case data_type::uint16:
    case data_type::int16: return with(std::uint16_t{});
    case data_type::uint32:
    case data_type::int32: return with(std::uint32_t{});
    case data_type::uint64:
    case data_type::int64: return with(std::uint64_t{});
    default: return decltype(with(float{})){};
  }
}

/// Without a leaf: a file that includes this and sums nothing need not compile them all.
constexpr summation summation_of(data_type type) noexcept {
  return with_summed_type(type, []<class T>(T) { return summation_without_leaf<T>(); });
}

/// The leaf that sums a data type. A template, so that leaves are compiled only where it is called from one.
template <std::same_as<data_type> Type>
constexpr sum_function sum_leaf(Type type) noexcept {
  return with_summed_type(type, []<class T>(T) -> sum_function { return sum_tile<T>; });
}

}  // namespace reblock::detail
