// SPDX-License-Identifier: BSD-3-Clause
//
// These movers move a few streams with registers of 64 bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/stream_block.hpp>
#include <reblock/detail/wide_registers.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// wide_slots says how the streams of a block lie in registers. If rows are short, a register has several streams.
struct wide_slots {
  std::size_t streams;
  std::size_t slots;  ///< slots of a register
  std::size_t count;  ///< registers
  /// Whether all registers have equally many streams. Then register k has the streams k, k + count, ...: each register is
  /// interleaved by itself, and then registers are interleaved like single streams. Else streams follow each other.
  bool are_even;

  static constexpr wide_slots of(std::size_t streams, std::size_t row_bytes) noexcept {
    const std::size_t slots = row_bytes <= 16 ? 4 : row_bytes <= 32 ? 2 : 1;
    return {streams, slots, (streams + slots - 1) / slots, streams % slots == 0};
  }

  constexpr std::size_t stream_at(std::size_t k, std::size_t slot) const noexcept {
    return are_even ? slot * count + k : k * slots + slot;
  }
  /// Counts the streams in register `k`.
  constexpr std::size_t streams_in(std::size_t k) const noexcept {
    return are_even || k + 1 < count ? slots : streams - k * slots;
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
  if (!shape.are_even) return std::max<std::size_t>(1, shape.count - 1);
  std::size_t picks = shape.slots > 1 ? 1 : 0;
  for (std::size_t left = shape.count; left > 1; left /= least_factor(left))
    picks += std::max<std::size_t>(1, least_factor(left) - 1);
  return picks;
}

#if defined(__GNUC__) && defined(__x86_64__)

/// wide_picks make a row of Count registers from another row of Count registers, lane by lane. Lane is a byte, or a word of 4
/// bytes. The source row has an element of each stream in turn, or each stream in a slot. A register first picks lanes from
/// every pair of source registers. Then it chooses lanes from these picks, and from the last register if it has no pair.
template <class Lane, std::size_t Count>
struct wide_picks {
  static constexpr std::size_t lanes = 64 / sizeof(Lane);
  static constexpr std::size_t pairs = Count == 1 ? 1 : Count / 2;
  static constexpr std::size_t choices = (Count - 1) / 2;

  Lane places[Count][lanes];  ///< in a pair of registers, the first register's lanes first
  /// Lanes of the choice before, and then of the next pair's picks, or of the last register.
  Lane chosen[Count][choices == 0 ? 1 : choices][lanes];
};

/// Makes the picks for `streams` streams with elements of `element` lanes, each in a slot of `slot` lanes. They separate the
/// streams if `separates`, or else interleave them.
template <class Lane, std::size_t Count>
constexpr wide_picks<Lane, Count> make_wide_picks(std::size_t streams, std::size_t slot, std::size_t element,
                                                  bool separates) noexcept {
  using picks = wide_picks<Lane, Count>;
  constexpr std::size_t lanes = picks::lanes;
  picks made{};
  for (std::size_t i = 0; i < Count * lanes; ++i) {
    const std::size_t index = separates ? i % slot / element : i / element;
    const std::size_t from = separates ? (index * streams + i / slot) * element
                                       : index % streams * slot + index / streams * element;
    const std::size_t place = (from + i % element) % (Count * lanes);  // some lanes may have any value
    const std::size_t lane = i % lanes;
    made.places[i / lanes][lane] = static_cast<Lane>(place % (2 * lanes));
    for (std::size_t choice = 0; choice < picks::choices; ++choice) {
      const bool is_later = place / (2 * lanes) == choice + 1;
      const std::size_t next = choice + 1 < picks::pairs ? lane : place % lanes;
      made.chosen[i / lanes][choice][lane] = static_cast<Lane>(is_later ? lanes + next : lane);
    }
  }
  return made;
}

/// Has the picks for elements of 1, 2, 4 and 8 lanes, indexed by the logarithm of the lanes.
template <class Lane, std::size_t Count, std::size_t Streams, std::size_t Slots, bool Separates>
[[gnu::visibility("hidden")]] inline constexpr auto wide_picks_of = [] {
  std::array<wide_picks<Lane, Count>, 4> made{};
  for (std::size_t log_element = 0; log_element < made.size(); ++log_element) {
    made[log_element] = make_wide_picks<Lane, Count>(Streams, 64 / sizeof(Lane) / Slots,
                                                     std::size_t{1} << log_element, Separates);
  }
  return made;
}();

/// Holds wide_picks in registers.
template <class Lane, std::size_t Count>
struct loaded_picks {
  using picks = wide_picks<Lane, Count>;
  wide_bytes places[Count];
  wide_bytes chosen[Count][picks::choices == 0 ? 1 : picks::choices];

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"),
    gnu::always_inline]] explicit loaded_picks(const picks& from) noexcept {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Count; ++k) {
      std::memcpy(&places[k], from.places[k], sizeof(places[k]));
#pragma GCC unroll 4
      for (std::size_t i = 0; i < picks::choices; ++i) {
        std::memcpy(&chosen[k][i], from.chosen[k][i], sizeof(chosen[k][i]));
      }
    }
  }

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void convert(
      wide_bytes (&v)[Count]) const noexcept {
    wide_bytes converted[Count];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Count; ++k) {
      converted[k] = pick_lanes<Lane>(v[0], v[Count == 1 ? 0 : 1], places[k]);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < picks::choices; ++i) {
        const std::size_t next = 2 * (i + 1);
        const bool is_pair = i + 1 < picks::pairs;
        const wide_bytes picked =
            is_pair ? pick_lanes<Lane>(v[next], v[next + 1 < Count ? next + 1 : next], places[k]) : v[next];
        converted[k] = pick_lanes<Lane>(converted[k], picked, chosen[k][i]);
      }
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Count; ++k) v[k] = converted[k];
  }
};

/// Interleaves Count registers, with one stream in each, or separates them again. There is a step for each factor of Count.
/// For example, six streams become three, each with two streams' elements in turn, and these three become the row.
template <class Lane, std::size_t Count, bool Separates, std::size_t Left = Count>
struct wide_steps {
  static constexpr std::size_t factor = least_factor(Left);
  static constexpr std::size_t apart = Count / factor;

  loaded_picks<Lane, factor> picks;
  wide_steps<Lane, Count, Separates, Left / factor> others;

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"),
    gnu::always_inline]] wide_steps(const wide_slots& shape, std::size_t log_element) noexcept
      : picks(wide_picks_of<Lane, factor, factor, 1, Separates>[log_element]), others(shape, log_element) {}

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void convert(
      wide_bytes (&v)[Count]) const noexcept {
    if constexpr (Separates) others.convert(v);
    wide_bytes converted[Count];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < apart; ++i) {
      wide_bytes parts[factor];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < factor; ++k) parts[k] = v[Separates ? i * factor + k : k * apart + i];
      picks.convert(parts);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < factor; ++k)
        converted[Separates ? k * apart + i : i * factor + k] = parts[k];
    }
#pragma GCC unroll 16
    for (std::size_t k = 0; k < Count; ++k) v[k] = converted[k];
    if constexpr (!Separates) others.convert(v);
  }
};
template <class Lane, std::size_t Count, bool Separates>
struct wide_steps<Lane, Count, Separates, 1> {
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] wide_steps(const wide_slots&,
                                                                                 std::size_t) noexcept {}
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void convert(
      wide_bytes (&)[Count]) const noexcept {}
};

/// A wide_placement says where the bytes of a block's registers are, in the row and in the streams.
struct wide_placement {
  static constexpr std::size_t most_registers = 16;  ///< registers

  wide_slots shape;
  std::int64_t offsets[most_registers][4];  ///< of the streams, by registers and slots
  std::uint64_t stream_mask;                ///< bytes of a slot
  std::uint64_t row_masks[most_registers];  ///< bytes of each register; 0: none
  std::size_t last;                         ///< bytes from the first to the last registers of a stream

  wide_placement(const stream_block& block, bool separates) noexcept;
};

[[gnu::noinline]] inline wide_placement::wide_placement(const stream_block& block, bool separates) noexcept
    : shape(wide_slots::of(separates ? block.columns : block.rows,
                           (separates ? block.rows : block.columns) * block.element_size)) {
  constexpr std::size_t width = 64;
  const std::int64_t* const streams = separates ? block.destinations : block.sources;
  const std::size_t row_bytes = (separates ? block.rows : block.columns) * block.element_size;
  const std::size_t bytes = row_bytes < width ? row_bytes * shape.streams : shape.count * width;
  for (std::size_t k = 0; k < shape.count; ++k) {
    for (std::size_t slot = 0; slot < shape.slots; ++slot) {
      offsets[k][slot] = slot < shape.streams_in(k) ? streams[shape.stream_at(k, slot)] : 0;
    }
    row_masks[k] = k * width < bytes ? first_bits(bytes - k * width) : 0;
  }
  stream_mask = first_bits(row_bytes);
  last = row_bytes < width ? 0 : row_bytes - width;
}

/// Uneven slots have picks of their own, for each number of streams and slots.
template <class Lane, std::size_t Count, bool Separates>
const wide_picks<Lane, Count>* uneven_picks(const wide_slots& shape, std::size_t log_element) noexcept {
  const wide_picks<Lane, Count>* found = nullptr;
  const auto try_one = [&]<std::size_t Streams, std::size_t Slots>(
                           std::integral_constant<std::size_t, Streams>,
                           std::integral_constant<std::size_t, Slots>) {
    if constexpr ((Streams + Slots - 1) / Slots == Count && Streams % Slots != 0) {
      if (shape.streams == Streams && shape.slots == Slots) {
        found = &wide_picks_of<Lane, Count, Streams, Slots, Separates>[log_element];
      }
    }
  };
  const auto try_slots = [&]<std::size_t... Streams>(std::index_sequence<Streams...>) {
    (try_one(std::integral_constant<std::size_t, Streams + 2>{}, std::integral_constant<std::size_t, 2>{}),
     ...);
    (try_one(std::integral_constant<std::size_t, Streams + 2>{}, std::integral_constant<std::size_t, 4>{}),
     ...);
  };
  try_slots(std::make_index_sequence<8>{});
  return found;
}

template <class Lane, std::size_t Count, bool Separates>
struct uneven_step : loaded_picks<Lane, Count> {
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"),
    gnu::always_inline]] uneven_step(const wide_slots& shape, std::size_t log_element) noexcept
      : loaded_picks<Lane, Count>(*uneven_picks<Lane, Count, Separates>(shape, log_element)) {}
};

/// Moves a block: interleaves its rows or, if `Separates`, separates its columns. `Slots`: 0 for rows that fill registers.
/// `Uneven`: see wide_slots.
template <class Lane, std::size_t Count, std::size_t Slots, bool Separates, bool Uneven>
[[gnu::target("avx512vl,avx512bw,avx512vbmi")]] void move_wide_streams(const stream_block& block,
                                                                       const std::byte* source,
                                                                       std::byte* destination) {
  constexpr std::size_t width = sizeof(wide_bytes);
  const wide_placement placed(block, Separates);
  const auto log_element = static_cast<std::size_t>(std::countr_zero(block.element_size / sizeof(Lane)));
  // copies: no store to the destination can change them
  const std::size_t in_last = placed.shape.streams_in(Count - 1);
  const std::uint64_t stream_mask = placed.stream_mask;
  const std::size_t last = Slots == 0 ? placed.last : 0;
  constexpr std::size_t slots = Slots == 0 ? 1 : Slots;
  std::int64_t offsets[Count][slots];
  std::uint64_t row_masks[Count];
#pragma GCC unroll 16
  for (std::size_t k = 0; k < Count; ++k) {
#pragma GCC unroll 4
    for (std::size_t slot = 0; slot < slots; ++slot) offsets[k][slot] = placed.offsets[k][slot];
    row_masks[k] = placed.row_masks[k];
  }
  using steps =
      std::conditional_t<Uneven, uneven_step<Lane, Count, Separates>, wide_steps<Lane, Count, Separates>>;
  const steps all_steps(placed.shape, log_element);
  const loaded_picks<Lane, 1> in_register(wide_picks_of<Lane, 1, slots, slots, Separates>[log_element]);
  for (const auto [from, to] : repeated_places(block, source, destination)) {
    for (std::size_t at = 0;;) {
      wide_bytes v[Count];
#pragma GCC unroll 16
      for (std::size_t k = 0; k < Count; ++k) {
        if constexpr (Slots == 0) {
          v[k] = load_wide(Separates ? from + at * Count + k * width : from + offsets[k][0] + at);
        } else if constexpr (Separates) {
          v[k] = k == 0 || row_masks[k] != 0 ? load_some(from + k * width, row_masks[k]) : wide_bytes{};
        } else {
          const std::size_t count = Uneven && k + 1 == Count ? in_last : Slots;
          v[k] = load_slots<Slots>(from, offsets[k], count, stream_mask);
        }
      }
      keep_in_registers(v);
      if constexpr (Separates) all_steps.convert(v);
      if constexpr (!Uneven && Slots > 1) {
#pragma GCC unroll 16
        for (std::size_t k = 0; k < Count; ++k) v[k] = pick_lanes<Lane>(v[k], v[k], in_register.places[0]);
      }
      if constexpr (!Separates) all_steps.convert(v);
#pragma GCC unroll 16
      for (std::size_t k = 0; k < Count; ++k) {
        if constexpr (Slots == 0) {
          std::byte* const place = Separates ? to + offsets[k][0] + at : to + at * Count + k * width;
          if (block.is_streamed && address_of(place) % 16 == 0) {
            stream_wide(place, v[k]);
          } else {
            store_wide(place, v[k]);
          }
        } else if constexpr (Separates) {
          const std::size_t count = Uneven && k + 1 == Count ? in_last : Slots;
          store_slots<Slots>(to, offsets[k], count, stream_mask, v[k]);
        } else {
          if (k == 0 || row_masks[k] != 0) store_some(to + k * width, v[k], row_masks[k]);
        }
      }
      if (at == last) break;
      at = at + width < last ? at + width : last;  // the last step overlaps the step before
    }
  }
}

/// Returns the mover for a number of registers and of slots (0 if rows fill registers), or null.
template <bool Separates>
block_mover wide_mover_of(const wide_slots& shape, std::size_t slots, std::size_t element_size) noexcept {
  if (!shape.are_even) {
    switch (shape.count) {
      case 1: return move_wide_streams<std::uint8_t, 1, 4, Separates, true>;
      case 2:
        return slots == 4 ? move_wide_streams<std::uint8_t, 2, 4, Separates, true>
                          : move_wide_streams<std::uint8_t, 2, 2, Separates, true>;
      case 3:
        return slots == 4 ? move_wide_streams<std::uint8_t, 3, 4, Separates, true>
                          : move_wide_streams<std::uint8_t, 3, 2, Separates, true>;
      case 4: return move_wide_streams<std::uint8_t, 4, 2, Separates, true>;
      case 5: return move_wide_streams<std::uint8_t, 5, 2, Separates, true>;
      default: return nullptr;
    }
  }
  const auto with_slots = [slots]<class Lane, std::size_t Count, std::size_t... Slots>(
                              Lane, std::integral_constant<std::size_t, Count>,
                              std::index_sequence<Slots...>) {
    block_mover found = nullptr;
    ((slots == Slots ? static_cast<void>(found = move_wide_streams<Lane, Count, Slots, Separates, false>)
                     : void()),
     ...);
    return found;
  };
  const auto of_few = [&](auto lane) -> block_mover {  // registers
    switch (shape.count) {
      case 1: return with_slots(lane, std::integral_constant<std::size_t, 1>{}, std::index_sequence<2, 4>{});
      case 2:
        return with_slots(lane, std::integral_constant<std::size_t, 2>{}, std::index_sequence<0, 1, 2, 4>{});
      case 3:
        return with_slots(lane, std::integral_constant<std::size_t, 3>{}, std::index_sequence<0, 1, 2>{});
      case 4:
        return with_slots(lane, std::integral_constant<std::size_t, 4>{}, std::index_sequence<0, 1, 2, 4>{});
      default: return nullptr;
    }
  };
  constexpr std::uint8_t byte = 0;
  switch (shape.count) {
    case 5: return with_slots(byte, std::integral_constant<std::size_t, 5>{}, std::index_sequence<0, 1>{});
    case 6: return with_slots(byte, std::integral_constant<std::size_t, 6>{}, std::index_sequence<0, 1>{});
    case 7: return with_slots(byte, std::integral_constant<std::size_t, 7>{}, std::index_sequence<0, 1>{});
    case 8: return with_slots(byte, std::integral_constant<std::size_t, 8>{}, std::index_sequence<0, 1, 2>{});
    case 9: return with_slots(byte, std::integral_constant<std::size_t, 9>{}, std::index_sequence<0, 1>{});
    case 16: return with_slots(byte, std::integral_constant<std::size_t, 16>{}, std::index_sequence<0, 1>{});
    default:
      return element_size >= 4 ? of_few(std::uint32_t{}) : of_few(byte);  // some processors pick words faster
  }
}

/// Returns the mover that interleaves, or separates, so many streams with registers of 64 bytes, or null.
template <bool Separates>
block_mover choose_wide_mover(std::size_t streams, std::size_t row_bytes, std::size_t element_size) noexcept {
  const bool are_some = (streams >= 2 && streams <= 9) || streams == 16;
  if (element_size > 8 || !are_some) return nullptr;
  const wide_slots slots = wide_slots::of(streams, row_bytes);
  return wide_mover_of<Separates>(slots, row_bytes >= 64 ? 0 : slots.slots, element_size);
}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
