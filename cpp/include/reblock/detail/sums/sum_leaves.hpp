// SPDX-License-Identifier: BSD-3-Clause
//
// These leaves of fold make sums in registers. All sums have the same list of terms.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>
#include <reblock/detail/simd/registers.hpp>
#include <reblock/detail/sums/row_terms.hpp>
#include <reblock/detail/sums/sum_traits.hpp>
#include <reblock/detail/sums/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Rows without masks have these masks. Fewer functions then have to be compiled.
[[gnu::visibility("hidden")]] inline constexpr auto all_bits = [] {
  std::array<std::uint8_t, sizeof(register_bytes) * sums_at_once> bytes;
  bytes.fill(0xff);
  return bytes;
}();

/// term_masks keep the bits of terms in each row; other bits belong to elements beside the terms. With a period, rows of
/// that many bytes follow each other without gaps. Then the masks are for any row and mask_overrun bytes behind it.
inline constexpr std::int64_t mask_overrun = 32 * sums_at_once;
struct term_masks {
  const std::byte* first = nullptr;
  std::size_t period = 0;  ///< bytes, or 0

  /// Returns the masks for a register `i` bytes behind the first one.
  const std::byte* at(std::size_t i) const noexcept {
    if (first == nullptr) return reinterpret_cast<const std::byte*>(all_bits.data());
    return first + (period == 0 ? i : i % period);
  }
};

/// A term_list gives the places of a sum's terms, in the order of addition. Terms are the indices of a few axes, the last
/// axis innermost.
class term_list {
 public:
  struct axis {
    std::int64_t extent = 1;
    std::int64_t stride = 0;  ///< bytes
    std::int64_t mask_stride = 0;
  };

  /// If the list accumulates, a sum begins from the value in its target, else from zero.
  explicit term_list(std::span<const axis> axes, term_masks masks = {}, bool accumulates = false) noexcept
      : axes_(axes), masks_(masks), accumulates_(accumulates) {
    for (const axis& a : axes) size_ *= static_cast<std::size_t>(a.extent);
    if (size_ != 0) list(0);
  }

  std::size_t size() const noexcept { return size_; }
  term_masks masks() const noexcept { return masks_; }
  bool accumulates() const noexcept { return accumulates_; }

  /// Returns up to `limit` terms from `first` on.
  std::span<const term> from(std::size_t first) noexcept {
    if (size_ > limit) list(first);
    return {terms_.data(), std::min(size_ - first, limit)};
  }
  [[gnu::visibility("hidden")]] static constexpr std::size_t limit = 512;

 private:
  [[gnu::noinline]] void list(std::size_t first) noexcept {
    const std::size_t end = std::min(size_ - first, limit);
    const axis inner = axes_.back();
    auto index = static_cast<std::int64_t>(first);
    for (std::size_t k = 0; k < end;) {
      const std::int64_t begin = index % inner.extent;
      term next{wrapping_multiply(begin, inner.stride), begin * inner.mask_stride};
      std::int64_t rest = index / inner.extent;
      for (std::size_t i = axes_.size() - 1; i-- > 0; rest /= axes_[i].extent) {
        next.offset = wrapping_add(next.offset, wrapping_multiply(rest % axes_[i].extent, axes_[i].stride));
        next.mask += rest % axes_[i].extent * axes_[i].mask_stride;
      }
      index += inner.extent - begin;
      for (std::int64_t i = begin; i < inner.extent && k < end; ++i, ++k) {
        terms_[k] = next;
        next.offset = wrapping_add(next.offset, inner.stride);  // the last step is not used
        next.mask += inner.mask_stride;
      }
    }
  }

  std::span<const axis> axes_;
  term_masks masks_;
  bool accumulates_;
  std::size_t size_ = 1;
  std::array<term, limit> terms_;
};

template <class Add>
[[gnu::always_inline]] inline void for_each_term(term_list& terms, Add&& add) {
  for (std::size_t first = 0; first < terms.size();) {
    const std::span<const term> listed = terms.from(first);
    for (const term& added : listed) add(added);
    first += listed.size();
  }
}

/// Loads a register, or the bytes of an integer followed by zeros.
template <class Unit>
register_bytes load_unit(const std::byte* source) noexcept {
  if constexpr (std::same_as<Unit, register_bytes>) {
    return load(source);
  } else {
    return register_of(std::uint64_t{read<Unit>(source)}, 0);
  }
}

template <class Unit>
void store_unit(std::byte* destination, register_bytes value) noexcept {
  if constexpr (std::same_as<Unit, register_bytes>) {
    store(destination, value);
  } else {
    write(destination, static_cast<Unit>(half_of<0>(value)));
  }
}

/// The sums of `Count` units of contiguous elements at one place.
template <class T, class Unit, std::size_t Count>
struct sums_of_units {
  static constexpr std::size_t each = half<T> ? 2 : 1;  // registers of a unit's sums
  register_bytes sums[each * Count] = {};

  /// Begins from the values at the place.
  [[gnu::always_inline]] void hold(const std::byte* destination, std::int64_t step) noexcept {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Count; ++i) {
      const register_bytes held = load_unit<Unit>(destination + static_cast<std::int64_t>(i) * step);
      if constexpr (half<T>) {
        const registers<2> wide = widen<T>(held);
        sums[2 * i] = wide[0];
        sums[2 * i + 1] = wide[1];
      } else {
        sums[i] = held;
      }
    }
  }
  [[gnu::always_inline]] void add(std::size_t i, register_bytes next) noexcept {
    if constexpr (half<T>) {
      const registers<2> wide = widen<T>(next);
      sums[2 * i] = add_lanes<float>(sums[2 * i], wide[0]);
      sums[2 * i + 1] = add_lanes<float>(sums[2 * i + 1], wide[1]);
    } else {
      sums[i] = add_lanes<T>(sums[i], next);
    }
  }
  [[gnu::always_inline]] void write(std::byte* destination, std::int64_t step) const noexcept {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Count; ++i) {
      std::byte* const to = destination + static_cast<std::int64_t>(i) * step;
      if constexpr (half<T>) {
        store_unit<Unit>(to, narrow<T>({sums[2 * i], sums[2 * i + 1]}));
      } else {
        store_unit<Unit>(to, sums[i]);
      }
    }
  }
};

/// Computes the sums of `Count` units of contiguous elements at each place.
template <class T, class Unit, masking Masks, std::size_t Count>
void sum_units(term_list& terms, const sum_place* places, std::size_t place_count, const sum_step& step) {
  for (std::size_t p = 0; p < place_count; ++p) {
    const auto [source, mask, destination] = places[p];
    sums_of_units<T, Unit, Count> made;
    if (terms.accumulates()) made.hold(destination, step.destination);
    const std::byte* sources[Count];
    const std::byte* masks[Count];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Count; ++i) {
      sources[i] = source + static_cast<std::int64_t>(i) * step.source;
      masks[i] = Masks == masking::each ? mask + static_cast<std::int64_t>(i) * step.mask : mask;
    }
    for_each_term(terms, [&](const term& added) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < Count; ++i) {
        register_bytes next = load_unit<Unit>(sources[i] + added.offset);
        if constexpr (Masks != masking::none) next = both_bits(next, load_unit<Unit>(masks[i] + added.mask));
        made.add(i, next);
      }
    });
    made.write(destination, step.destination);
  }
}

template <class T>
[[gnu::always_inline]] inline void sum_one(term_list& terms, const std::byte* source,
                                           std::byte* destination) {
  using value = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;  // any byte is a bool
  typename sum_traits<T>::accumulator sum{};
  if (terms.accumulates()) {
    value held;
    std::memcpy(&held, destination, sizeof(held));
    if constexpr (half<T>) {
      sum = to_float(held);
    } else {
      std::memcpy(&sum, &held, sizeof(sum));
    }
  }
  for_each_term(terms, [&](const term& added) {
    value next;
    std::memcpy(&next, source + added.offset, sizeof(next));
    sum = sum_traits<T>::add(sum, next);
  });
  if constexpr (half<T>) {
    T rounded;
    round_to(rounded, sum);
    std::memcpy(destination, &rounded, sizeof(rounded));
  } else {
    std::memcpy(destination, &sum, sizeof(sum));
  }
}

template <class T>
concept sums_in_lanes = adds_in_lanes<T> || half<T>;

/// Bytes of the shortest run that is summed in whole or partial registers; 0: no run is.
template <class T>
inline constexpr std::size_t least_run = sums_in_lanes<T> ? std::max<std::size_t>(4, 2 * sizeof(T)) : 0;

/// A place_function makes sums at places, in registers of one kind.
using place_function = void (*)(term_list&, const sum_place*, std::size_t, const sum_step&);

/// row_functions sum rows in registers of `width` bytes: several along a row, several at the same place of several rows,
/// which share masks, or one.
struct row_functions {
  std::size_t width;
  place_function along;
  place_function across;
  place_function single;
};

/// Tells whether sum_rows() of an instruction set sums rows of this type, unless they have masks.
template <class T>
inline constexpr bool has_row_sums = adds_in_lanes<T> && !std::same_as<T, bool> &&
                                     wide_sum_bytes > sizeof(register_bytes);

/// Rows without masks of types that have sum_rows() come here seldom: if the processor has no AVX2 or terms are many.
template <class T, class Unit, bool Masked>
[[gnu::visibility("hidden")]] inline constexpr row_functions rows_by_units{
    sizeof(Unit),
    sum_units<T, Unit, Masked || has_row_sums<T> ? masking::each : masking::none, sums_at_once>,
    sum_units<T, Unit, Masked || has_row_sums<T> ? masking::shared : masking::none, sums_at_once>,
    sum_units<T, Unit, Masked || has_row_sums<T> ? masking::each : masking::none, 1>,
};

template <class T, masking Masks, std::size_t Count>
void sum_wide_places(term_list& terms, const sum_place* places, std::size_t place_count,
                     const sum_step& step) {
  const std::span<const term> all = terms.from(0);
  if constexpr (std::same_as<T, float16>) {
    sum_halves<Masks, Count>(all.data(), all.size(), places, place_count, step, terms.accumulates());
  } else {
    sum_wide<T, Masks, Count>(all.data(), all.size(), places, place_count, step, terms.accumulates());
  }
}

/// Requires the instruction set avx2 and that all terms are listed at a time.
template <class T, bool Masked>
[[gnu::visibility("hidden")]] inline constexpr row_functions wide_rows{
    std::same_as<T, float16> ? sizeof(register_bytes) : wide_sum_bytes,
    sum_wide_places<T, Masked ? masking::each : masking::none, sums_at_once>,
    sum_wide_places<T, Masked ? masking::shared : masking::none, sums_at_once>,
    sum_wide_places<T, Masked ? masking::each : masking::none, 1>,
};

/// Returns the functions for rows of `size` bytes, at least least_run<T>.
template <class T, bool Masked>
const row_functions& choose_row_functions(std::size_t size, const term_list& terms) noexcept {
  if constexpr (std::same_as<T, float16> || (adds_in_lanes<T> && wide_sum_bytes > sizeof(register_bytes) &&
                                             (Masked || !has_row_sums<T>))) {
    const bool wide = usable_instruction_set() >= instruction_set::avx2 && terms.size() <= term_list::limit;
    if (wide && size >= wide_rows<T, Masked>.width) return wide_rows<T, Masked>;
  }
  if constexpr (sizeof(T) <= 2) {
    if (size < 8) return rows_by_units<T, std::uint32_t, Masked>;
  }
  if constexpr (sizeof(T) <= 4) {
    if (size < sizeof(register_bytes)) return rows_by_units<T, std::uint64_t, Masked>;
  }
  return rows_by_units<T, register_bytes, Masked>;
}

/// A place_buffer collects places and passes many of them in one call.
class place_buffer {
 public:
  place_buffer(place_function sum, term_list& terms, const sum_step& step) noexcept
      : sum_(sum), terms_(terms), step_(step) {}
  void push(const sum_place& place) {
    places_[count_++] = place;
    if (count_ == places_.size()) flush();
  }
  void flush() {
    if (count_ != 0) sum_(terms_, places_.data(), std::exchange(count_, 0), step_);
  }

 private:
  place_function sum_;
  term_list& terms_;
  sum_step step_;
  std::size_t count_ = 0;
  std::array<sum_place, 32> places_;
};

/// Sums the rows of a tile. If registers do not fill a row exactly, the last register ends where the row ends.
inline void sum_rows(const tile& t, const row_functions& by, term_list& terms, const std::byte* source,
                     std::byte* destination) {
  const std::size_t size = static_cast<std::size_t>(t.inner.extent) * t.element_size;
  const std::size_t width = by.width;
  const term_masks masks = terms.masks();
  const auto place_at = [masks](std::size_t i, const std::byte* from, std::byte* to) {
    return sum_place{from + i, masks.at(i), to + i};
  };
  tile others = t;
  tile_axis tile::* longest = &tile::outer;
  for (const auto member : {&tile::rows, &tile::slices}) {
    if ((t.*member).extent > (t.*longest).extent) longest = member;
  }
  const tile_axis across = std::exchange(others.*longest, {});
  const std::size_t block = sums_at_once * width;
  const bool may_share = across.extent >= std::int64_t{sums_at_once};
  const bool shares_masks = may_share && masks.first != nullptr && masks.period == 0;
  const std::size_t in_blocks = shares_masks ? 0 : size / block * block;
  const bool in_columns = may_share && (in_blocks == 0 || size - in_blocks <= 3 * width);

  const auto along = static_cast<std::int64_t>(width);
  place_buffer blocks(by.along, terms, {along, along, along});
  place_buffer ones(by.single, terms, {});
  for_each_row(t, source, destination, [&](const std::byte* from, std::byte* to) {
    for (std::int64_t row = 0; row < t.outer.extent; ++row) {
      const std::byte* first = from + row * t.outer.source_stride;
      std::byte* sums = to + row * t.outer.destination_stride;
      for (std::size_t i = 0; i < in_blocks; i += block) blocks.push(place_at(i, first, sums));
      if (in_columns || size == in_blocks) continue;
      if (size > block) {
        blocks.push(place_at(size - block, first, sums));
      } else {
        for_overlapping_steps(size, width, [&](std::size_t i) { ones.push(place_at(i, first, sums)); });
      }
    }
  });
  blocks.flush();
  ones.flush();
  if (!in_columns) return;
  place_buffer columns(by.across, terms, {across.source_stride, 0, across.destination_stride});
  for_each_row(others, source, destination, [&](const std::byte* from, std::byte* to) {
    for (std::int64_t row = 0; row < others.outer.extent; ++row) {
      const std::byte* first = from + row * others.outer.source_stride;
      std::byte* sums = to + row * others.outer.destination_stride;
      for_overlapping_steps(static_cast<std::size_t>(across.extent), sums_at_once, [&](std::size_t k) {
        const auto index = static_cast<std::int64_t>(k);
        for (std::size_t i = in_blocks; i < size; i += width) {
          columns.push(place_at(std::min(i, size - width), first + index * across.source_stride,
                                sums + index * across.destination_stride));
        }
      });
    }
  });
  columns.flush();
}

/// Does the same as sum_rows for sums that begin from the rows' values. No element may be summed twice. If registers do not
/// fill a row exactly, the last register ends where the row ends, and elements that it shares with the register before are
/// restored. A masked term adds 0, so terms have masks only if no row has a -0.
inline void accumulate_rows(const tile& t, const row_functions& by, term_list& terms, const std::byte* source,
                            std::byte* destination) {
  const std::size_t size = static_cast<std::size_t>(t.inner.extent) * t.element_size;
  const std::size_t width = by.width;
  const std::size_t in_blocks = size / (sums_at_once * width) * (sums_at_once * width);
  const std::size_t in_registers = size / width * width;
  const term_masks masks = terms.masks();
  tile others = t;
  tile_axis tile::* longest = &tile::outer;
  for (const auto member : {&tile::rows, &tile::slices}) {
    if ((t.*member).extent > (t.*longest).extent) longest = member;
  }
  const tile_axis across = std::exchange(others.*longest, {});
  // Calls visit(first term, sum) for every `step`-th row along `across`.
  const auto for_rows = [&](std::int64_t begin, std::int64_t end, std::int64_t step, auto&& visit) {
    for_each_row(others, source, destination, [&](const std::byte* from, std::byte* to) {
      for (std::int64_t row = 0; row < others.outer.extent; ++row) {
        for (std::int64_t k = begin; k + step <= end; k += step) {
          visit(from + row * others.outer.source_stride + k * across.source_stride,
                to + row * others.outer.destination_stride + k * across.destination_stride);
        }
      }
    });
  };
  const auto sum_all = [&](place_function sum, const sum_step& step, std::size_t begin, std::size_t end,
                           std::size_t bytes, std::int64_t first, std::int64_t last, std::int64_t rows) {
    place_buffer places(sum, terms, step);
    for_rows(first, last, rows, [&](const std::byte* from, std::byte* to) {
      for (std::size_t i = begin; i < end; i += bytes) places.push({from + i, masks.at(i), to + i});
    });
    places.flush();
  };
  constexpr std::int64_t at_once{sums_at_once};
  const auto along = static_cast<std::int64_t>(width);
  const std::int64_t together = masks.period == 0 ? across.extent / at_once * at_once : 0;
  const sum_step step_across{across.source_stride, 0, across.destination_stride};
  sum_all(by.along, {along, along, along}, 0, in_blocks, sums_at_once * width, 0, across.extent, 1);
  sum_all(by.across, step_across, in_blocks, in_registers, width, 0, together, at_once);
  sum_all(by.single, {}, in_blocks, in_registers, width, together, across.extent, 1);
  if (in_registers == size) return;
  for_rows(0, across.extent, 1, [&](const std::byte* from, std::byte* to) {
    std::array<std::byte, std::max(wide_sum_bytes, sizeof(register_bytes))> done;
    const std::size_t last = size - width;
    const sum_place place{from + last, masks.at(last), to + last};
    std::memcpy(done.data(), to + last, in_registers - last);
    by.single(terms, &place, 1, {});
    std::memcpy(to + last, done.data(), in_registers - last);
  });
}

/// A sum_function makes the sums of a tile, each with equally many terms. `source` points to the first term of its first
/// element. If terms have masks, rows are contiguous and have at least least_run bytes, and sums do not begin from -0.
using sum_function = void (*)(const tile&, term_list&, const std::byte* source, std::byte* destination);

/// Makes sums without terms: sets all their bits to 0, one contiguous run at a time.
inline void clear_tile(const tile& t, std::int64_t size, std::byte* destination) {
  const tile_axis outer = t.outer;
  const tile_axis inner = t.inner;
  const bool are_runs = inner.destination_stride == size;
  const bool are_joined = are_runs && outer.destination_stride == inner.extent * size;
  const std::int64_t run = are_runs ? inner.extent * size : size;
  for_each_row(t, destination, destination, [=](const std::byte*, std::byte* to) {
    if (are_joined) {
      std::memset(to, 0, static_cast<std::size_t>(outer.extent * run));
      return;
    }
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      std::byte* const row = to + i * outer.destination_stride;
      if (are_runs) {
        std::memset(row, 0, static_cast<std::size_t>(run));
        continue;
      }
      for (std::int64_t j = 0; j < inner.extent; ++j)
        std::memset(row + j * inner.destination_stride, 0, static_cast<std::size_t>(size));
    }
  });
}

/// Returns the fastest sums of rows of `size` bytes for this type, or null.
template <class T>
row_sum find_row_sum(instruction_set set, std::size_t size) noexcept {
#if defined(__GNUC__) && defined(__x86_64__)
  if (set >= instruction_set::avx512 && size >= avx512::width) return avx512::sum_rows<T>;
  if (set >= instruction_set::avx2) return avx2::sum_rows<T>;
#endif
  static_cast<void>(set);
  static_cast<void>(size);
  return nullptr;
}

/// Returns the function that adds rows of terms to rows of sums, or null.
template <class T>
row_adder find_added_rows([[maybe_unused]] instruction_set set) noexcept {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
  if constexpr (adds_in_lanes<T> && !std::same_as<T, bool>) {
#if defined(__x86_64__)
    if (set >= instruction_set::avx2) return avx2::add_rows<T>;
#endif
    return baseline::add_rows<T>;
  }
#endif
  return nullptr;
}

template <class T>
void sum_tile(const tile& t, term_list& terms, const std::byte* source, std::byte* destination) {
  if (terms.size() == 0) {
    if (!terms.accumulates()) clear_tile(t, sizeof(T), destination);
    return;
  }
  using part = typename parts_of<T>::type;
  constexpr std::int64_t parts{sizeof(T) / sizeof(part)};
  constexpr std::int64_t size{sizeof(T)};
  const tile_axis outer = t.outer;
  const tile_axis inner = t.inner;
  if constexpr (sums_in_lanes<part>) {
    const bool masked = terms.masks().first != nullptr;
    const bool runs = inner.source_stride == size && inner.destination_stride == size;
    const auto row = static_cast<std::size_t>(inner.extent * size);
    if constexpr (has_row_sums<part>) {
      const row_sum sum = !masked && runs && inner.extent > 1 && terms.size() <= term_list::limit
                              ? find_row_sum<part>(usable_instruction_set(), row)
                              : nullptr;
      if (sum != nullptr) return sum(t, {terms.from(0), terms.accumulates()}, source, destination);
    }
    if (masked || (runs && row >= least_run<part>)) {
      const row_functions& by = masked ? choose_row_functions<part, true>(row, terms)
                                       : choose_row_functions<part, false>(row, terms);
      (terms.accumulates() ? accumulate_rows : sum_rows)(t, by, terms, source, destination);
      return;
    }
  }
  for_each_row(t, source, destination, [=, &terms](const std::byte* from, std::byte* to) {
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      for (std::int64_t j = 0; j < inner.extent; ++j) {
        for (std::int64_t k = 0; k < parts; ++k) {
          const std::int64_t at = k * std::int64_t{sizeof(part)};
          sum_one<part>(terms, from + i * outer.source_stride + j * inner.source_stride + at,
                        to + i * outer.destination_stride + j * inner.destination_stride + at);
        }
      }
    }
  });
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
