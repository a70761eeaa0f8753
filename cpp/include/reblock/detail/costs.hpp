// SPDX-License-Identifier: BSD-3-Clause
//
// This table holds the measured costs of movers. Plans are chosen by it alone. Costs are in cycles, unless a name says
// otherwise. bench/random_layouts.py measured them on an AMD EPYC (Zen 4), with REBLOCK_ISA for narrower instruction sets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

struct mover_costs {
  /// A call of a mover, and the last step of a mover that must not go beyond the end.
  double call = 12;
  double last_step = 20;
  /// Bytes per cycle in squares of elements of 1, 2, 4, 8 and 16 bytes, by registers of 16, 32 and 64 bytes.
  std::array<std::array<double, 5>, 3> squares = {
      {{6.5, 7.5, 9, 8.5, 7.5}, {10, 9.5, 11.5, 11.5, 11.5}, {0, 0, 11.5, 13, 14}}};
  /// Bytes per cycle when few streams are interleaved or separated, if their number is a power of two.
  double narrow_streams = 6;
  double wide_streams = 10;
  /// Bytes per cycle of the leaf of elements of 16 bytes.
  double strided_16 = 6;
  /// Few rows at any places: each register that is shuffled, and each column that is stored in one or two pieces.
  double few_rows_step = 4;
  double one_store = 1.2;
  double two_stores = 2.2;
  /// Runs: a run of one word, a run of some more bytes, and any other run, with `run_bytes` bytes per cycle.
  double word = 2.1;
  double short_run = 3;
  double long_run = 4;
  double run_bytes = 20;
  /// Leaves that interleave or separate a number of streams known at compile time: each byte, a byte of three streams of
  /// elements of 1 and 2 bytes, each row, each row of three streams, and each row whose streams do not fill a register of 16
  /// bytes.
  double leaf_byte = 0.08;
  std::array<double, 2> three_streams_byte = {0.14, 0.1};
  double leaf_row = 2.5;
  double three_streams_row = 5;
  double short_leaf_row = 30;
  /// Leaves whose rows change with bounds: an element that is moved alone or among few streams, a byte of few streams that
  /// have a leaf, of other streams of elements of 1, 2, 4, 8 and 16 bytes, and of runs, each row, each row of streams, and
  /// each tile.
  double element = 0.85;
  double few_streams_element = 2.5;
  double few_streams_byte = 0.11;
  std::array<double, 5> stream_byte = {0.31, 0.18, 0.18, 0.13, 0.12};
  double bounded_run_byte = 0.085;
  double bounded_row = 9;
  double bounded_stream_row = 3;
  double bounded_tile = 60;
  /// Making a table for the elements inside bounds.
  double table = 4000;
  /// Looking bytes up: a factor for a table's own cost, an additional cost of a byte, a call for some pieces, and the least
  /// cost of a byte.
  double lookup_factor = 1;
  double lookup_byte = 0;
  double lookup_call = 70;
  double least_lookup_byte = 0.09;
  /// A factor for the moves of windows: at the edges of an image, their buffers are filled anew.
  double windows_factor = 1.5;
  /// A byte of the best plans, a byte of a plan that can hardly be better, a byte of a plan that is good enough to end a
  /// search, and the search.
  double best_byte = 0.08;
  double good_byte = 0.16;
  double fair_byte = 0.25;
  double search = 8000;

  /// Tells whether a longer search is worth its time if the best known plan takes `cost` cycles.
  constexpr bool is_worth_search(double cost, double bytes) const noexcept {
    return cost - good_byte * bytes > search;
  }
  /// Tells the same of a search for moves of windows inside the image, which have no bounds.
  constexpr bool is_worth_split(double cost, double bytes) const noexcept {
    return cost - best_byte * bytes > 2 * search;
  }

  static constexpr mover_costs of(instruction_set set) noexcept {
    mover_costs costs;
    if (set == instruction_set::avx512) {
      costs.lookup_factor = 1.15;
      costs.lookup_byte = 0.01;
    } else if (set == instruction_set::avx2) {
      costs.lookup_factor = 0.6;
      costs.lookup_byte = 0.05;
    }
    return costs;
  }
};

/// Limits and weights of fold, measured in the same way.
struct sum_costs {
  /// Columns are summed in place by runs of so many bytes: offsets that have a position for themselves, offsets of windows
  /// that overlap, channels, and windows that overlap. More than a few windows may have shorter runs.
  static constexpr std::int64_t least_offsets_run = 128;
  static constexpr std::int64_t least_overlapping_run = 96;
  static constexpr std::int64_t least_channels_run = 16;
  static constexpr std::int64_t least_windows_run = 16;
  static constexpr std::int64_t few_windows = 4;
  /// The same for windows if the image's channels lie side by side: their sums have to be transposed.
  static constexpr std::int64_t least_transposed_run = 10;
  /// Boxes that are summed in a buffer have runs of the image with at least so many bytes, if they fit.
  static constexpr std::int64_t least_written_run = 64;
  /// Phases of the image's innermost axis have rows of their own if runs of fewer bytes would come side by side, and their
  /// rows have so many bytes.
  static constexpr std::int64_t least_joined_run = 6;
  static constexpr std::int64_t least_phase = 32;
  /// Rows of fewer bytes are made along channels.
  static constexpr std::int64_t least_row = 32;
  /// A chunk, each sum of one of its offsets, and each run that is read or written take as long as so many bytes.
  static constexpr double chunk = 300;
  static constexpr double call = 770;
  static constexpr double read_run = 7;
  static constexpr double written_run = 1.5;
  /// Bytes of a run of the image up to which a box may grow along it first.
  static constexpr std::int64_t first_run = 256;
  /// Single terms become sums on their way from runs of so many bytes on, else after they have moved.
  static constexpr std::int64_t least_summed_run = 128;
  /// The share of the image that windows side by side must cover from inside, so that moves bring them.
  static constexpr double mostly_inside = 0.75;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
