// SPDX-License-Identifier: BSD-3-Clause
//
// These movers move a few streams with registers of 64 bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/movers/stream_block.hpp>
#include <reblock/detail/simd/registers.hpp>
#include <reblock/detail/simd/wide_registers.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// wide_slots says how the streams of a block lie in registers. If rows are short, a register has several streams.
struct wide_slots {
  std::size_t streams;
  std::size_t slots;  ///< slots of a register
  std::size_t count;  ///< registers
  /// Whether registers are interleaved like single streams, with a step for each factor of their number. Then register k has
  /// the streams k, k + count, ... Else streams follow each other, and one step interleaves all.
  bool in_steps;

  static constexpr wide_slots of(std::size_t streams, std::size_t row_bytes) noexcept {
    const std::size_t slots = row_bytes <= 16 && streams > 2 ? 4 : row_bytes <= 32 ? 2 : 1;
    const std::size_t count = (streams + slots - 1) / slots;
    return {streams, slots, count, are_in_steps(slots, count)};
  }
  static constexpr bool are_in_steps(std::size_t slots, std::size_t count) noexcept {
    return slots <= 1 || count > 5;
  }
};

/// Returns the least factor, from 2 on, of a number.
constexpr std::size_t least_factor(std::size_t number) noexcept {
  std::size_t factor = 2;
  while (number % factor != 0) ++factor;
  return factor;
}

/// Counts the picks that make one register of some streams, or one stream.
constexpr std::size_t picks_of(const wide_slots& shape) noexcept {
  if (!shape.in_steps) return std::max<std::size_t>(1, shape.count - 1);
  std::size_t picks = shape.slots > 1 ? 1 : 0;
  for (std::size_t left = shape.count; left > 1; left /= least_factor(left)) picks += least_factor(left) - 1;
  return picks;
}

#if defined(__GNUC__) && defined(__x86_64__)

/// Returns the place of a row's register before the row is separated. Afterwards, the register of a stream is there. With steps
/// for each factor of Count, the place has the digits of the index in reverse.
template <std::size_t Count, bool InSteps>
constexpr std::size_t place_apart(std::size_t index) noexcept {
  if constexpr (!InSteps) return index;
  std::size_t place = 0;
  for (std::size_t left = Count; left > 1;) {
    const std::size_t factor = least_factor(left);
    left /= factor;
    place += index % factor * left;
    index /= factor;
  }
  return place;
}

/// wide_picks make a row of `count` registers from another row of as many. The row on one side has an element of each stream in
/// turn, and the row on the other side has each stream in a slot. A register first picks bytes from every pair of registers.
/// Then it chooses bytes from these picks, and from the last register if it has no pair.
struct wide_picks {
  std::size_t count;  ///< registers
  std::size_t streams;
  std::size_t slot;         ///< bytes
  std::size_t log_element;  ///< the logarithm of an element's bytes
  bool separates;           ///< the streams, or else interleaves them
  bool are_words;           ///< whether they pick words of 4 bytes

  static constexpr std::size_t choices_of(std::size_t count) noexcept { return (count - 1) / 2; }
  /// Returns the bytes of the picks for so many registers.
  static constexpr std::size_t bytes_of(std::size_t count) noexcept {
    return count * (1 + choices_of(count)) * 64;
  }

  /// Returns where the bytes from `first` on come from. `reciprocal` is 2^16 / streams, rounded up.
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] wide_pairs sources(
      std::size_t first, std::uint16_t reciprocal) const noexcept {
    const wide_pairs at = pair_numbers() + static_cast<std::uint16_t>(first);
    const auto log = static_cast<std::uint16_t>(log_element);
    const auto row = static_cast<std::uint16_t>(streams);
    const auto log_slot = static_cast<std::uint16_t>(std::countr_zero(slot));
    const wide_pairs element = at >> log;
    const wide_pairs rest = at - (element << log);
    if (separates) {
      const wide_pairs stream = at >> log_slot;
      return ((((at - (stream << log_slot)) >> log) * row + stream) << log) + rest;
    }
    const wide_pairs index = multiply_high(element, wide_pairs{} + reciprocal);
    return ((element - index * row) << log_slot) + (index << log) + rest;
  }

  /// Fills `places`: for each register the places of its bytes in a pair of registers, the first register's bytes first. Then
  /// come its choices: the places in the choice before, and then in the next pair's picks, or in the last register.
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::noinline]] void fill(std::byte* places) const noexcept {
    constexpr std::size_t width = 64;
    const wide_picks made = *this;  // a copy, which no store can change
    const int shift =
        are_words ? 2 : 0;  // a word has the number of its first byte; its higher bits do not count
    const auto reciprocal = static_cast<std::uint16_t>(0xffffu / static_cast<std::uint32_t>(streams) + 1);
    const wide_pairs numbers = pair_numbers();
    const wide_bytes own = lower_bytes(numbers, numbers + width / 2);
    for (std::size_t k = 0; k < made.count; ++k) {
      const wide_pairs low = made.sources(k * width, reciprocal);
      const wide_pairs high = made.sources(k * width + width / 2, reciprocal);
      const wide_bytes from = lower_bytes(low, high);
      const wide_bytes pair = lower_bytes(low >> 7, high >> 7);
      store_wide(places, (wide_bytes)((wide_words)from >> shift));
      places += width;
      for (std::size_t choice = 1; choice <= choices_of(made.count); ++choice) {
        const wide_bytes later = (2 * choice + 1 < made.count ? own : from) | 64;
        const wide_bytes chosen = pair == static_cast<char>(choice) ? later : own;
        store_wide(places, (wide_bytes)((wide_words)chosen >> shift));
        places += width;
      }
    }
  }
};

/// Returns whether the movers of so many registers can pick words: some processors pick them faster than bytes.
constexpr bool can_pick_words(std::size_t count) noexcept { return count >= 2 && count <= 4; }

/// A made_picks has the picks for all blocks of a move.
class made_picks {
 public:
  /// Makes the picks for blocks of this shape.
  const std::byte* make(const stream_block& block) noexcept {
    const bool separates = block.separates;
    const std::size_t row_bytes = (separates ? block.rows : block.columns) * block.element_size;
    const wide_slots shape = wide_slots::of(separates ? block.columns : block.rows, row_bytes);
    const auto log_element = static_cast<std::size_t>(std::countr_zero(block.element_size));
    const bool are_words = can_pick_words(shape.count) && block.element_size % sizeof(std::uint32_t) == 0;
    std::byte* next = bytes_.data();
    const auto add = [&](std::size_t count, std::size_t streams, std::size_t slots) {
      wide_picks{count, streams, 64 / slots, log_element, separates, are_words}.fill(next);
      next += wide_picks::bytes_of(count);
    };
    if (shape.in_steps) {
      const std::size_t first = least_factor(shape.count);
      add(first, first, 1);
      if (shape.count == 6) add(3, 3, 1);
      if (shape.slots == 2) add(1, 2, 2);
    } else {
      add(shape.count, shape.streams, shape.slots);
    }
    return bytes_.data();
  }

 private:
  static constexpr std::size_t most_in_step = 7;  // registers
  alignas(64) std::array<std::byte, wide_picks::bytes_of(most_in_step)> bytes_;
};

// Lists of indices, not loops, name the registers: a compiler then takes much less time.

/// Holds wide_picks in registers.
template <std::size_t Count>
struct held_picks {
  static constexpr std::size_t choices = wide_picks::choices_of(Count);
  static constexpr std::size_t each = 1 + choices;  // places of a register
  static constexpr std::make_index_sequence<Count> all{};

  wide_bytes places[Count][each];

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void hold(
      const std::byte* picks) noexcept {
    hold(picks, std::make_index_sequence<Count * each>{});
  }
  template <class Lane>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void convert(
      wide_bytes (&v)[Count], [[maybe_unused]] bool separates = false) const noexcept {
    if constexpr (Count == 1) {
      v[0] = pick_bytes(v[0], places[0][0]);
    } else {
      convert<Lane>(v, all);
    }
  }

 private:
  template <std::size_t... I>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void hold(
      const std::byte* picks, std::index_sequence<I...>) noexcept {
    ((places[I / each][I % each] = load_wide(picks + I * sizeof(wide_bytes))), ...);
  }
  template <class Lane, std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void convert(
      wide_bytes (&v)[Count], std::index_sequence<K...>) const noexcept {
    const wide_bytes converted[] = {converted_to<Lane>(v, places[K], std::make_index_sequence<choices>{})...};
    ((v[K] = converted[K]), ...);
  }
  /// Returns one register of the result.
  template <class Lane, std::size_t... I>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static wide_bytes converted_to(
      const wide_bytes (&v)[Count], const wide_bytes (&from)[each], std::index_sequence<I...>) noexcept {
    wide_bytes value = pick_lanes<Lane>(v[0], v[1], from[0]);
    ((value = pick_lanes<Lane>(value, picked_from<Lane, I + 1>(v, from[0]), from[I + 1])), ...);
    return value;
  }
  /// Picks from a pair of registers, or returns the last one if it has no pair.
  template <class Lane, std::size_t Pair>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] static wide_bytes picked_from(
      const wide_bytes (&v)[Count], wide_bytes from) noexcept {
    if constexpr (2 * Pair + 1 < Count) {
      return pick_lanes<Lane>(v[2 * Pair], v[2 * Pair + 1], from);
    } else {
      return v[2 * Pair];
    }
  }
};

/// Interleaves Count registers, or separates them again. There is a step for each factor of Count. For example, six streams
/// become three, each with two streams' elements in turn, and these three become the row. Both directions have the same steps
/// with other picks. So one function serves both: only the places of the registers differ, see place_apart().
template <std::size_t Count, std::size_t Slots>
class wide_steps {
 public:
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"),
    gnu::always_inline]] explicit wide_steps(const std::byte* picks) noexcept {
    first_.hold(picks);
    if constexpr (second > 1) second_.hold(picks + wide_picks::bytes_of(first));
    if constexpr (Slots == 2) halves_.hold(picks + wide_picks::bytes_of(first));
  }

  template <class Lane>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void convert(
      wide_bytes (&v)[Count], [[maybe_unused]] bool separates) const noexcept {
    if constexpr (Slots != 2) {
      step<Lane, Count>(v);
    } else {
      if (!separates) convert_slots(v, all);
      step<Lane, Count>(v);
      if (separates) convert_slots(v, all);
    }
  }

 private:
  static constexpr std::size_t first = least_factor(Count);
  static constexpr std::size_t second = Count == 6 ? 3 : 1;  // other numbers have one factor
  static constexpr std::make_index_sequence<Count> all{};

  /// Does the steps for the factors of Left, the least factor first.
  template <class Lane, std::size_t Left>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void step(
      wide_bytes (&v)[Count]) const noexcept {
    constexpr std::size_t factor = least_factor(Left);
    step_of<Lane, factor>(v, std::make_index_sequence<Count / factor>{}, all);
    if constexpr (Left > factor) step<Lane, Left / factor>(v);
  }
  template <class Lane, std::size_t Factor, std::size_t... I, std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void step_of(
      wide_bytes (&v)[Count], std::index_sequence<I...>, std::index_sequence<K...>) const noexcept {
    wide_bytes converted[Count];
    (convert_parts<Lane, Factor>(v, converted, I, std::make_index_sequence<Factor>{}), ...);
    ((v[K] = converted[K]), ...);
  }
  template <class Lane, std::size_t Factor, std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void convert_parts(
      const wide_bytes (&v)[Count], wide_bytes (&converted)[Count], std::size_t i,
      std::index_sequence<K...>) const noexcept {
    constexpr std::size_t apart = Count / Factor;
    wide_bytes parts[] = {v[K * apart + i]...};
    if constexpr (Factor == first) {
      first_.template convert<Lane>(parts);
    } else {
      second_.template convert<Lane>(parts);
    }
    ((converted[i * Factor + K] = parts[K]), ...);
  }

  /// Interleaves, or separates, the streams of each register.
  template <std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void convert_slots(
      wide_bytes (&v)[Count], std::index_sequence<K...>) const noexcept {
    ((v[K] = pick_bytes(v[K], halves_.places[0][0])), ...);
  }

  held_picks<first> first_;
  held_picks<second> second_;
  held_picks<1> halves_;
};

/// Interleaves Count registers with several streams each, or separates them again, in one step.
template <std::size_t Count>
struct wide_step : held_picks<Count> {
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"),
    gnu::always_inline]] explicit wide_step(const std::byte* picks) noexcept {
    this->hold(picks);
  }
};

/// A wide_placement says where the streams of a block are, in slots of registers. If they are separated in steps, register K
/// is v[place_apart(K)], also of the row.
template <std::size_t Count, std::size_t Slots, bool InSteps>
struct wide_placement {
  std::int64_t offsets[Count][Slots];  ///< bytes
  std::size_t in_last;                 ///< streams of the last register
  std::uint64_t mask;                  ///< bytes of a slot

  [[gnu::always_inline]] wide_placement(const std::int64_t* streams, std::size_t count,
                                        std::size_t row_bytes) noexcept
      : in_last(InSteps || (Count == 1 && Slots == 2) ? Slots : count - (Count - 1) * Slots),
        mask(first_bits(row_bytes)) {
    place(streams, count, std::make_index_sequence<Count * Slots>{});
  }

  /// Loads streams to interleave them. They do not fill registers, or are whole registers.
  template <std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void load_streams(
      wide_bytes (&v)[Count], const std::byte* from, std::index_sequence<K...>) const noexcept {
    ((v[K] = load_slots<Slots>(from, offsets[K], mask)), ...);
  }
  template <std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void load_whole(
      wide_bytes (&v)[Count], const std::byte* from, std::index_sequence<K...>) const noexcept {
    ((v[K] = load_wide(from + offsets[K][0])), ...);
  }
  /// Stores streams that were separated.
  template <std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void store_streams(
      const wide_bytes (&v)[Count], std::byte* to, std::index_sequence<K...>) const noexcept {
    (store_slots<Slots>(to, offsets[K], K + 1 == Count ? in_last : Slots, mask,
                        v[place_apart<Count, InSteps>(K)]),
     ...);
  }
  template <std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void store_whole(
      const wide_bytes (&v)[Count], std::byte* to, std::index_sequence<K...>) const noexcept {
    (store_wide(to + offsets[K][0], v[place_apart<Count, InSteps>(K)]), ...);
  }

 private:
  template <std::size_t... I>
  [[gnu::always_inline]] void place(const std::int64_t* streams, std::size_t count,
                                    std::index_sequence<I...>) noexcept {
    // where a slot has no stream, it has the bytes of another
    ((offsets[I / Slots][I % Slots] =
          streams[InSteps ? I % Slots * Count + I / Slots : std::min(I, count - 1)]),
     ...);
  }
};

/// A wide_row says which bytes of registers a row of such streams has.
template <std::size_t Count, bool InSteps>
struct wide_row {
  static constexpr std::size_t width = sizeof(wide_bytes);

  std::uint64_t masks[Count];  ///< of each register; 0: none

  [[gnu::always_inline]] explicit wide_row(std::size_t bytes) noexcept {
    for (std::uint64_t& mask : masks) {
      mask = first_bits(bytes);
      bytes -= std::min(bytes, width);
    }
  }

  template <std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void load(
      wide_bytes (&v)[Count], const std::byte* from, std::index_sequence<K...>) const noexcept {
    ((v[place_apart<Count, InSteps>(K)] =
          K == 0 || masks[K] != 0 ? load_some(from + K * width, masks[K]) : wide_bytes{}),
     ...);
  }
  template <std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void store(
      const wide_bytes (&v)[Count], std::byte* to, std::index_sequence<K...>) const noexcept {
    ((K == 0 || masks[K] != 0 ? store_some(to + K * width, v[K], masks[K]) : void()), ...);
  }
};

/// Loads a row of whole registers to separate it.
template <bool InSteps, std::size_t Count, std::size_t... K>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void load_row(
    wide_bytes (&v)[Count], const std::byte* from, std::index_sequence<K...>) noexcept {
  ((v[place_apart<Count, InSteps>(K)] = load_wide(from + K * sizeof(wide_bytes))), ...);
}
template <std::size_t Count, std::size_t... K>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void store_row(
    const wide_bytes (&v)[Count], std::byte* to, std::index_sequence<K...>) noexcept {
  (store_wide(to + K * sizeof(wide_bytes), v[K]), ...);
}

/// Stores the registers of separated streams one after the other.
template <bool InSteps, std::size_t Count, std::size_t... K>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void store_apart(
    const wide_bytes (&v)[Count], std::byte* to, std::index_sequence<K...>) noexcept {
  (store_wide(to + K * sizeof(wide_bytes), v[place_apart<Count, InSteps>(K)]), ...);
}

/// Stores registers past the caches, at multiples of 16 bytes. A loop takes less code.
template <bool InSteps, std::size_t Count>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void stream_registers(
    const wide_bytes (&v)[Count], std::byte* to, const std::int64_t* offsets) noexcept {
  alignas(64) std::byte stored[Count * sizeof(wide_bytes)];
  constexpr std::make_index_sequence<Count> all{};
  if (offsets == nullptr) {
    store_row(v, stored, all);
  } else {
    store_apart<InSteps>(v, stored, all);
  }
#pragma GCC unroll 1
  for (std::size_t k = 0; k < Count; ++k) {
    const auto next = static_cast<std::int64_t>(k * sizeof(wide_bytes));
    stream_line(to + (offsets == nullptr ? next : offsets[k]), stored + next);
  }
}

/// Adds 0 to the parts of registers.
template <class Part, std::size_t Count, std::size_t... K>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void add_zero_to_all(
    wide_bytes (&v)[Count], std::index_sequence<K...>) noexcept {
  (add_zero_to<Part>(v[K]), ...);
}
template <std::size_t Count>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void add_zero(
    wide_bytes (&v)[Count], added_zero zero) noexcept {
  constexpr std::make_index_sequence<Count> all{};
  if (zero == added_zero::doubles) return add_zero_to_all<double>(v, all);
  if (zero == added_zero::singles) return add_zero_to_all<float>(v, all);
  add_zero_to_all<std::uint16_t>(v, all);
}

/// Moves a block in Count registers: interleaves its rows or separates its columns. With one slot, rows may also fill
/// registers; with 0, they do.
template <std::size_t Count, std::size_t Slots>
[[gnu::target("avx512vl,avx512bw,avx512vbmi")]] void move_wide_streams(const stream_block& block,
                                                                       const std::byte* source,
                                                                       std::byte* destination) {
  constexpr std::size_t width = sizeof(wide_bytes);
  constexpr bool in_steps = wide_slots::are_in_steps(Slots, Count);
  const bool separates = block.separates;
  const std::size_t row_bytes = (separates ? block.rows : block.columns) * block.element_size;
  const std::int64_t* const streams = separates ? block.destinations : block.sources;
  const wide_placement<Count, Slots == 0 ? 1 : Slots, in_steps> placed(
      streams, separates ? block.columns : block.rows, row_bytes);
  constexpr std::make_index_sequence<Count> all{};
  const wide_row<Count, in_steps> row(row_bytes * (separates ? block.columns : block.rows));
  const std::conditional_t<in_steps, wide_steps<Count, Slots>, wide_step<Count>> steps(block.picks);
  const added_zero zero = block.zero;
  [[maybe_unused]] const bool are_words = block.element_size % sizeof(std::uint32_t) == 0;
  const bool is_whole = Slots == 0 || (Slots == 1 && Count <= 8 && row_bytes >= width);
  const std::size_t last = is_whole ? row_bytes - width : 0;
  bool is_streamed = is_whole && block.is_streamed;
  if (separates) {
    for (std::size_t k = 0; k < Count; ++k) is_streamed = is_streamed && streams[k] % 16 == 0;
  }
  for (const auto [from, to] : repeated_places(block, source, destination)) {
    for (std::size_t at = 0;;) {
      wide_bytes v[Count];
      if (is_whole) {
        if (separates) {
          load_row<in_steps>(v, from + at * Count, all);
        } else {
          placed.load_whole(v, from + at, all);
        }
      } else if (separates) {
        row.load(v, from, all);
      } else {
        placed.load_streams(v, from, all);
      }
      keep_in_registers(v, all);
      if constexpr (can_pick_words(Count)) {
        if (are_words) {
          steps.template convert<std::uint32_t>(v, separates);
        } else {
          steps.template convert<std::uint8_t>(v, separates);
        }
      } else {
        steps.template convert<std::uint8_t>(v, separates);
      }
      if (zero != added_zero::none) add_zero(v, zero);
      if (is_whole) {
        std::byte* const place = to + (separates ? at : at * Count);
        if (is_streamed && address_of(place) % 16 == 0) {
          stream_registers<in_steps>(v, place, separates ? streams : nullptr);
        } else if (separates) {
          placed.store_whole(v, place, all);
        } else {
          store_row(v, place, all);
        }
      } else if (separates) {
        placed.store_streams(v, to, all);
      } else {
        row.store(v, to, all);
      }
      if (at == last) break;
      at = at + width < last ? at + width : last;  // the last step overlaps the step before
    }
  }
}

/// Returns the mover of `count` registers with `Slots` streams each.
template <std::size_t Slots>
block_mover wide_mover_of(std::size_t count, [[maybe_unused]] bool is_whole) noexcept {
  if constexpr (Slots >= 2) {
    if (count == 1) return move_wide_streams<1, Slots>;
  }
  if (count == 2) return move_wide_streams<2, Slots>;
  if (count == 3) return move_wide_streams<3, Slots>;
  if (count == 4) return move_wide_streams<4, Slots>;
  if constexpr (Slots <= 2) {
    if (count == 5) return move_wide_streams<5, Slots>;
    if (count == 8) return move_wide_streams<8, Slots>;
  }
  if constexpr (Slots == 1) {
    if (count == 6) return move_wide_streams<6, Slots>;
    if (count == 7) return move_wide_streams<7, Slots>;
    // many registers: one function for both kinds of rows would need too much stack without optimization
    if (count == 9) return is_whole ? move_wide_streams<9, 0> : move_wide_streams<9, 1>;
    if (count == 16) return is_whole ? move_wide_streams<16, 0> : move_wide_streams<16, 1>;
  }
  return nullptr;
}

/// Returns the mover that interleaves and separates so many streams with registers of 64 bytes, or null. It is a template, so
/// only programs that plan such moves compile it.
template <class = void>
block_mover choose_wide_mover(std::size_t streams, std::size_t row_bytes, std::size_t element_size) noexcept {
  const bool are_some = (streams >= 2 && streams <= 9) || streams == 16;
  if (element_size > 8 || !are_some) return nullptr;
  const wide_slots shape = wide_slots::of(streams, row_bytes);
  switch (shape.slots) {
    case 4: return wide_mover_of<4>(shape.count, false);
    case 2: return wide_mover_of<2>(shape.count, false);
    default: return wide_mover_of<1>(shape.count, row_bytes >= 64);
  }
}

#else

/// Other processors have no such movers.
struct made_picks {
  static const std::byte* make(const stream_block&) noexcept { return nullptr; }
};

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
