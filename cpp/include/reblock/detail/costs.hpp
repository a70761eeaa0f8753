// SPDX-License-Identifier: BSD-3-Clause
//
// What movers take, as it was measured: the one table that plans are chosen by. Cycles, unless a name says otherwise; of
// bench/random_layouts.py, on an AMD EPYC (Zen 4), with REBLOCK_ISA for the narrower sets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

struct mover_costs {
  /// Of a call of a mover, and of the last step of one that may go no further.
  double call = 12;
  double last_step = 20;
  /// Bytes a cycle in squares of elements of 1, 2, 4 and 8 bytes, by registers of 16 and of 32 bytes.
  std::array<double, 4> narrow_squares = {6.5, 7, 7, 5.5};
  std::array<double, 4> wide_squares = {10, 8.5, 8.5, 7.5};
  /// Bytes a cycle where few streams are interleaved or separated, if they are a power of two.
  double narrow_streams = 6;
  double wide_streams = 8;
  /// Of few rows at any places: for each register that is shuffled, and for each column that is stored in one or two pieces.
  double few_rows_step = 4;
  double one_store = 1.2;
  double two_stores = 2.2;
  /// Of a run: of bytes that one word has, of some more, and of any others with so many bytes a cycle.
  double word = 2.1;
  double short_run = 3;
  double long_run = 4;
  double run_bytes = 20;
  /// Of a byte that leaves interleave or separate by streams that are known when they are compiled, and of each of their rows.
  double leaf_byte = 0.08;
  double leaf_row = 5;
  /// Where bounds change the rows of leaves: of an element that is moved by itself or among few streams, of a byte of
  /// streams and of runs, and of each row.
  double element = 1.6;
  double few_streams_element = 4;
  double stream_byte = 0.25;
  double bounded_run_byte = 0.06;
  double bounded_row = 17;
  /// Of a byte by tables that are made for what is inside bounds, where neighbours lie next to each other in the source and
  /// where they do not, and of making one.
  double bounded_lookup_byte = 0.25;
  double scattered_lookup_byte = 1.8;
  double table = 4000;
  /// What looking bytes up takes beside what a table says: as a factor, and for a byte.
  double lookup_factor = 1;
  double lookup_byte = 0;
  /// Of a byte that is moved so well that little is better, or well enough to end a search; and of a search itself.
  double good_byte = 0.16;
  double fair_byte = 0.25;
  double search = 8000;

  /// Whether a longer search pays, where what is known takes `cost` cycles.
  constexpr bool is_worth_search(double cost, double bytes) const noexcept {
    return cost - good_byte * bytes > search;
  }

  static constexpr mover_costs of(instruction_set set) noexcept {
    mover_costs costs;
    if (set == instruction_set::avx512) {
      costs.bounded_lookup_byte = 0.1;
      costs.lookup_factor = 1.15;
      costs.lookup_byte = 0.01;
    }
    return costs;
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
