// SPDX-License-Identifier: BSD-3-Clause
//
// This table holds the measured costs of movers. Plans are chosen by it alone. Costs are in cycles, unless a name says
// otherwise, of an AMD EPYC (Zen 4). Lines from outer levels of the caches take longer on an Intel Xeon (Sapphire Rapids):
// their costs lie between both. How large squares ask for lines was measured on the Xeon, and what rectangles and halved
// registers cost on an EPYC of the first generation (Zen). `reblock_costs` (bench/cpp) compares the costs to measured cycles on
// any processor, with REBLOCK_ISA for narrower instruction sets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The cost of what cannot be done. It is not infinity, which programs with -ffast-math must not compare.
[[gnu::visibility("hidden")]] inline constexpr double never = std::numeric_limits<double>::max();

/// Estimates assume these sizes of caches: bytes of a line, and bytes between lines that share a set of the first level. The
/// first level has room for both sides of a move of some bytes, or for some lines, and for the addresses of some pages.
/// Processors predict the lines of some streams, but for the first bytes of each. The second level has room for a move of some
/// more bytes. Of moves of still more bytes, the outer levels are slow.
struct [[gnu::visibility("hidden")]] cache_sizes {
  static constexpr std::int64_t line = 64;
  static constexpr std::int64_t page = 4096;
  static constexpr int ways = 8;  ///< lines of a set
  static constexpr double both_sides = 16 * 1024;
  static constexpr double most_lines = 400;
  static constexpr double most_pages = 72;
  static constexpr double predicted_streams = 48;
  static constexpr double unpredicted_bytes = 768;
  static constexpr double unpredicted_near = 256;
  static constexpr double second_level = 1024 * 1024;
  static constexpr double outer_level = 8 * 1024 * 1024;
  /// Outputs of so many bytes are larger than most last-level caches, with their source.
  static constexpr std::int64_t least_streamed = 32 * 1024 * 1024;
  /// Shifted planes of a page come in the order of the output if the output has so many bytes.
  static constexpr std::int64_t near_planes = 4 * 1024 * 1024;
  static constexpr double far_moves = 4 * 1024 * 1024;
  /// Moves beyond the second level ask for the lines of the next block, unless their runs are longer. Then a block of squares
  /// has runs of at most so many bytes on both sides. Repeated squares are one block, if it has at most so many bytes.
  static constexpr std::int64_t longest_asked_run = 1024;
  static constexpr std::int64_t far_run = 256;
  static constexpr std::int64_t far_block = 24 * 1024;
};

/// Limits of blocks, measured in the same way.
struct [[gnu::visibility("hidden")]] block_costs {
  /// Bytes of the shortest run that string instructions copy faster than registers, where they are fast: stores bring lines into
  /// the caches, string instructions do not.
  static constexpr std::size_t least_string = 4096;
  /// Bytes of the shortest run that goes past the caches wherever it is: the ends of shorter runs cost more than it saves.
  static constexpr std::int64_t least_streamed_run = 512;
  /// Bytes of the shortest run that goes past the caches in words.
  static constexpr std::int64_t least_run_of_words = 16;
  /// Runs that follow each other in the source follow each other in time, if they go to at most so many places.
  static constexpr std::int64_t most_joined_runs = 16;
  /// Lines of a column that squares write together, and bytes of the largest elements whose large moves are faster then. On
  /// Intel's processors, moves that the second-level cache holds are faster for elements of any size: see joins_near_lines().
  static constexpr std::uint8_t joined_lines = 4;
  static constexpr std::int64_t largest_in_lines = 4;
  /// Rows, and columns, of the smallest rectangles: with two, other movers were as fast.
  static constexpr std::int64_t least_rectangle_side = 4;
  /// Rows of squares: a line of each fits into the first-level cache.
  static constexpr std::int64_t most_square_rows = 96;
  /// Elements in a piece of the long axis of streams. Threads share pieces.
  static constexpr std::int64_t most_along_streams = 8192;
  /// Bytes of the shortest row of streams in registers of 64 bytes.
  static constexpr std::int64_t least_wide_row = 8;
  /// Spaced runs in a piece of the axis along which the destination is contiguous. The piece is repeated along another axis.
  static constexpr std::int64_t spaced_piece = 64;
  /// Elements of all axes that together are contiguous on one side.
  static constexpr std::int64_t most_chained = 4096;
  /// A list has no more axes as soon as it has so many runs.
  static constexpr std::int64_t enough_runs = 64;
  /// Copies of runs of fewer bytes may write beyond them: the next run overwrites these bytes. The last runs of a list are
  /// copied exactly. Together, they have more bytes than one copy writes beyond its run.
  static constexpr std::int64_t longest_over = 48;
  static constexpr std::uint8_t exact_runs = 4;
  /// Bytes of runs of the source, some whole lines, of moves that go past the caches by way of a buffer.
  static constexpr std::int64_t least_buffered_run = 128;
  /// Bytes of a chunk: one of fewer would not be worth another thread.
  static constexpr std::int64_t least_chunk = 64 * 1024;
};

/// Limits and costs of lookups, in tenths of a cycle unless a name says otherwise.
struct [[gnu::visibility("hidden")]] lookup_costs {
  /// Bytes of the pieces of a call, with their source: they stay in the first-level cache. Fewer pieces than some take less
  /// time than a call.
  static constexpr std::int64_t bytes_at_once = 32 * 1024;
  static constexpr std::int64_t least_at_once = 8;  ///< pieces
  /// Bytes of a call that repeats rows of pieces: each call loads a table.
  static constexpr std::int64_t most_bytes = 16 * 1024;
  /// In registers of up to 32 bytes: a window, or the store of a group. A store of 32 bytes takes longer if it has more
  /// windows than some. Windows of words that are read backwards cost so much that other movers do the work: they are as fast,
  /// and from memory faster.
  static constexpr std::size_t window = 10;
  static constexpr std::size_t many_windows = 6;
  static constexpr std::size_t long_store = 15;
  static constexpr std::size_t backward_window = 100;
  /// In registers of 64 bytes: the share of a call in a group. Then either the windows or the registers of the destination,
  /// the targets, take the time of a group. The costs depend on the number of registers that hold the windows.
  static constexpr std::size_t call = 60;
  struct group {
    std::size_t windows;
    std::size_t target;
  };
  static constexpr group one_register = {45, 29};
  static constexpr group two_registers = {69, 39};
  static constexpr group four_registers = {79, 44};
  static constexpr group short_windows = {85, 42};  ///< in four registers: they take time beside the targets
};

/// Bytes of the narrowest registers that move squares and streams.
inline constexpr std::int64_t lane_bytes = 16;

struct mover_costs {
  /// A call of a mover, each block that it repeats, and each place of a row or a column that is listed once for all calls.
  double call = 40;
  double block = 3;
  double place = 0.7;
  /// Bytes per cycle in squares of elements of 1, 2, 4, 8 and 16 bytes, by registers of 16 and 32 bytes. Rows of squares. What
  /// a byte takes longer for each line that shares a set of the first-level cache with others.
  std::array<std::array<double, 5>, 2> squares = {{{4.6, 6.1, 6.9, 6.4, 5}, {6.5, 7.5, 7.7, 7.2, 7}}};
  double square_rows = 2.5;
  double square_line = 0.025;
  /// Rectangles of fewer rows or columns than squares: each, a shuffle of a register, a row, and a column.
  double rectangle = 1;
  double zip = 0.45;
  double short_row = 0.5;
  double short_column = 1;
  /// Few streams: a row of each, a shuffle of a register, the shuffles of three streams of elements of 1, 2, 4 and 8 bytes,
  /// and loading and storing a register, or one of its lanes.
  double row = 5;
  double stream_shuffle = 0.5;
  std::array<double, 4> three_streams = {8, 5, 2, 1};
  std::array<double, 2> joined_store = {0.9, 1.2};  ///< of 16 and 32 bytes
  double lane_store = 1.3;
  /// Few streams in registers of 64 bytes: picking from two registers, loading and storing a register, and each of its slots
  /// in addition.
  double pick = 0.85;
  double wide_access = 1.2;
  double slot = 0.7;
  /// Runs: a run of one word, a run of some more bytes, any other run, and each byte.
  double word = 1.55;
  double short_run = 2.2;
  double long_run = 1.5;
  double run_byte = 0.075;
  /// A run of one word among runs at even distances, and a line that it brings into the first-level cache: one that is near or
  /// predicted, from outer levels, from memory, again after it was evicted, and what this takes longer if all lines share a set
  /// of the cache: if they share more sets, they take a part of it. A page whose address is brought again. A line from outer
  /// levels takes this part of its time if it is asked for before it is needed, or if rows and columns wait for several lines
  /// at once.
  struct line_costs {
    double outer;
    double far;
    double evicted;
    double of_few_sets;
  };
  double page = 0.85;
  double spaced_run = 0.8;
  /// A byte of a row that is filled with one element.
  double filled_byte = 0.04;
  double next_line = 1;
  /// A store waits so many cycles more for a line of the second level that is not predicted; loads do other work meanwhile.
  double stored_line = 8;
  line_costs read_line = {5, 8, 1, 16};
  line_costs written_line = {10, 16, 1.2, 20};
  double asked_line = 0.35;
  double line_of_block = 0.55;
  /// Shifted planes: bytes per cycle, a plane, the border of a row, and bytes of the shortest rows that go past the caches.
  double plane_bytes = 16;
  double plane = 35;
  double border = 4;
  std::int64_t least_streamed_row = 256;
  /// Looking bytes up: a factor for a table's own cost, another one for elements of at least 8 bytes, an additional cost of a
  /// byte, a call for some pieces, the table of a register in a call, the least cost of a byte, and making a table.
  double lookup_factor = 0.8;
  double lookup_word = 1.15;
  double lookup_byte = 0.07;
  double lookup_call = 70;
  double lookup_register = 12;
  /// A byte that is looked up, in addition, if lines evict each other before their rest is read.
  double lookup_collision = 0.35;
  double least_lookup_byte = 0.09;
  double table = 4000;
  /// A byte of a large output that does not go past the caches, in addition.
  double cached_byte = 0.12;
  /// Bytes of the shortest runs that go past the caches by way of a buffer: at their ends, they share lines.
  std::int64_t least_streamed_part = 256;
  /// A byte of the best plans, a byte of a plan that can hardly be better, a byte of a plan that is good enough to end a
  /// search, and the search.
  double best_byte = 0.08;
  double good_byte = 0.16;
  double fair_byte = 0.25;
  double search = 8000;
  /// The cost of padded windows from which on it is tried to split off those inside: it often takes less time than estimated.
  double split_search = 4 * 8000;
  /// The cost of conversions from which on more orders of a box are tried, and still more. From the second one on, sweeps try
  /// chunks of more shapes.
  double box_search = 5 * 8000;
  double long_box_search = 50 * 8000;

  /// Tells whether a longer search is worth its time if the best known plan takes `cost` cycles.
  constexpr bool is_worth_search(double cost, double bytes) const noexcept {
    return cost - good_byte * bytes > search;
  }
  /// Tells the same of a table for lookups. Tables are kept, so a table need not pay at its first use.
  constexpr bool is_worth_table(double cost, double bytes) const noexcept {
    return cost - least_lookup_byte * bytes > table / 4;
  }

  static mover_costs of(instruction_set set) noexcept {
    mover_costs costs;
    if (set == instruction_set::avx512) {
      costs.lookup_factor = 0.92;
      costs.lookup_byte = 0.033;
    } else if (set == instruction_set::avx2 && has_halved_registers()) {
      costs.squares[1] = {5, 6, 7, 7.2, 7};
      costs.joined_store[1] = 2.2;
      costs.lane_store = 2;
    } else if (set == instruction_set::avx2) {
      costs.lookup_factor = 0.62;
      costs.lookup_byte = 0.105;
    }
    return costs;
  }
};

/// Costs of conversions: an element, an element whose result is looked up, or is made by a quick step, the own factors of an
/// element, a factor that is put into a table, a run of elements, and a run of bytes that are read at even distances.
struct conversion_costs {
  double element = 0.25;
  double lookup = 0.12;
  double quick = 0.2;
  double factor = 0.08;
  double filled_factor = 1.5;
  double run = 9;
  double apart_run = 1;
  /// From so many elements on with the same factors, a stretch, one factor is faster than a table of all.
  static constexpr std::int64_t least_stretch = 32;
  /// Runs of fewer elements are not worth a look for a table of results.
  static constexpr std::int64_t least_lookups = 64;
  /// From so many elements on, a table of results takes less time than it saves.
  static constexpr std::int64_t least_table = 2048;
};

/// Windows of a padded image, in cycles. By way of a buffer: a block; a factor for all estimates of blocks, because those at
/// edges differ; another one if the buffer has channels first, because its pieces at edges are planned apart; a line of a large
/// image that blocks of single lines bring into the caches, each of them again. Windows at edges that move without a buffer: a
/// box and a unit. Shifted planes with other padding than zeros: a byte, a plane, a row, and each column of a row that may be
/// outside.
struct padding_costs {
  static constexpr double block = 250;
  static constexpr double factor = 1.15;
  static constexpr double channels_first = 1.3;
  static constexpr double far_line = 7;
  /// Copies into the buffer are planned from so many units on, unless they have runs of some bytes.
  static constexpr std::int64_t least_planned_units = 1024;
  static constexpr std::int64_t long_run = 32;
  /// Blocks do not grow for longer runs of the destination than of so many bytes.
  static constexpr std::int64_t good_run = 1024;
  static constexpr double edge_box = 80;
  static constexpr double edge_unit = 2;
  static constexpr double plane_byte = 0.045;
  static constexpr double plane = 45;
  static constexpr double plane_row = 1.6;
  static constexpr double outside_column = 0.9;
  /// Sums of whole bands are faster if fewer positions than these lie inside for each one that has terms from the padding.
  static constexpr std::int64_t most_inside = 8;
  /// Groups of channels whose columns stay in a cache are summed one by one if they have so many channels.
  static constexpr std::int64_t least_grouped = 4;
  /// Bytes of the columns of a group. Positions of the only axis are not summed together beside so many channels.
  static constexpr std::int64_t grouped_bytes = 512 * 1024;
  static constexpr std::int64_t many_channels = 16;
  /// From this share of inner positions on, plain sums of all positions take no longer than those of the inner ones.
  static constexpr double least_inner_share = 0.5;
};

/// Limits and weights of fold, measured in the same way.
struct sum_costs {
  /// Boxes that are summed in a buffer have runs of the image with at least so many bytes, if they fit.
  static constexpr std::int64_t least_written_run = 64;
  /// Phases of the image's innermost axis have rows of their own if runs of fewer bytes would come side by side, and their
  /// rows have so many bytes.
  static constexpr std::int64_t least_joined_run = 6;
  static constexpr std::int64_t least_phase = 16;
  /// Rows of fewer bytes are made along channels.
  static constexpr std::int64_t least_row = 32;
  /// Rows of at least so many bytes are summed one by one, shorter ones four at a time. Four rows share their masks.
  static constexpr std::size_t long_row = 128;
  static constexpr std::size_t long_masked_row = 256;
  /// Chunks of a sweep grow by estimates in bytes that are brought into a buffer: a chunk, each sum of one of its offsets, and
  /// each run that is read or written take as long as so many bytes.
  static constexpr double chunk = 300;
  static constexpr double call = 770;
  static constexpr double read_run = 7;
  static constexpr double written_run = 1.5;
  /// To transpose an element takes so many times as long if no square fits. An element that moves alone takes as long as so
  /// many bytes.
  static constexpr double short_row = 1.5;
  static constexpr double single_element = 3;
  /// A sweep plans a chunk whose estimate is below so many times the least one.
  static constexpr double planned_chunks = 2;
  /// Bytes of a run of the image or of the columns up to which a chunk may grow along it first.
  static constexpr std::int64_t first_run = 256;
  /// Cycles of a byte of a single term that becomes a sum after it has moved.
  static constexpr double added_byte = 0.1;
  /// Bytes from row to row of an image: of nearer rows, those without terms are summed as well.
  static constexpr std::int64_t least_row_apart = 128;
  /// Single terms are added to an image by way of a buffer if runs of the image have at least so many bytes.
  static constexpr std::int64_t least_accumulated_run = 32;
  /// Cycles that a byte of an image outside of the caches takes longer if terms are added in another way, which does not ask
  /// for the image's lines.
  static constexpr double asked_byte = 0.2;
  /// Cycles to plan windows that reach beyond the image, each time that they move, or to find a plan of few windows.
  static constexpr double planned_part = 6000;
  static constexpr double remembered_part = 500;
  /// More windows than these that reach beyond one end of an axis would need too many moves of single terms.
  static constexpr std::int64_t most_outside = 4;
  /// Single terms get their weights after they have moved if the image has rows of so many bytes.
  static constexpr std::int64_t least_weighed_row = 32;
  /// A single window that reaches so many positions has one place with as many phases. Of a shorter one, each position is a
  /// place. A run of so many elements with one weight is a row of its own. Shorter ones are joined to the next ones.
  static constexpr std::int64_t least_single_run = 16;
  static constexpr std::int64_t least_weight_run = 16;
  /// Sums that read the columns in their own order: a row, rows that wait for those before them, a byte of a row, rows that
  /// are added together, a byte of a sum that moves into the image, a run of the image, and the plans of these moves.
  static constexpr double scattered_row = 2.8;
  static constexpr double waiting_rows = 13;
  static constexpr double scattered_byte = 0.062;
  static constexpr double scattered_tile = 84;
  static constexpr double scattered_sum = 0.14;
  static constexpr double scattered_run = 1;
  static constexpr double scattered_plan = 2100;
  /// Reductions do the same: a row, rows that are added together, a byte of an accumulator, a weight, a result, a row of
  /// results, a run of the image, and for a mean the number of terms of a row, or the sums of its weights: a term of the row,
  /// and one of an element.
  static constexpr double scattered_terms_row = 3.8;
  static constexpr double scattered_terms_rows = 37;
  static constexpr double scattered_accumulators_byte = 0.024;
  static constexpr double scattered_weight = 0.26;
  static constexpr double scattered_quotient = 1;
  static constexpr double scattered_quotients = 20;
  static constexpr double scattered_results_run = 1.5;
  static constexpr double scattered_counts = 29;
  static constexpr double scattered_factors = 82;
  static constexpr double scattered_factor = 1.1;
  /// They must take less than such a part of the cycles of columns in place, whose estimate varies more.
  static constexpr double scattered_gain = 0.6;
  /// A box then has channels for runs of so many bytes of the columns, if they fit.
  static constexpr std::int64_t least_scattered_read = 256;
  /// Bytes of a row of sums in place: longer rows are faster without masks inside.
  static constexpr std::int64_t most_masked_row = 1024;
  /// Sums of columns in place: a piece, a row of sums, a row of terms, a byte of a term, and the plan.
  static constexpr double summed_piece = 325;
  static constexpr double summed_row = 11.5;
  static constexpr double summed_term = 1.6;
  static constexpr double summed_byte = 0.058;
  static constexpr double summed_plan = 2400;
  /// Reductions: a box, a piece, a part of a piece with weights of its own, a row of terms that follow each other, a term that
  /// is gathered alone, and more if the columns are outside of the second level of the caches, and a result that is scattered
  /// alone. Rows of fewer terms are gathered.
  static constexpr double reduced_box = 1900;
  static constexpr double reduced_piece = 700;
  static constexpr double weighted_piece = 110;
  static constexpr double reduced_row = 11.6;
  static constexpr double gathered_term = 1.8;
  static constexpr double far_term = 1.1;
  static constexpr double scattered_result = 1.3;
  static constexpr double least_reduced_row = 4;
  /// Bytes of the shortest rows of terms that are reduced in place: shorter ones are brought together. Bytes of the longest and
  /// of the shortest rows that have masks.
  static constexpr std::size_t least_row_in_place = 32;
  static constexpr std::int64_t most_masked_reduction = 256;
  static constexpr std::int64_t least_masked_reduction = 4;
  /// Accumulators of the shortest rows of weighted terms that are reduced in place.
  static constexpr std::size_t least_weighted_row = 8;
  /// Of columns of more bytes, lines of terms are asked for: of rows of so many bytes at most, and so many from row to row at
  /// least. Processors predict others.
  static constexpr double least_asked_columns = 4 * cache_sizes::second_level;
  static constexpr std::int64_t longest_asked_row = 1024;
  static constexpr std::int64_t least_asked_step = 2048;
  /// Terms are brought into a buffer first if this takes less than such a part of the cycles.
  static constexpr double brought_gain = 0.85;
  /// A box in a buffer has channels for rows of so many bytes, and at least so many channels, if they fit.
  static constexpr std::int64_t brought_row = 64;
  static constexpr std::int64_t least_brought_channels = 8;
  /// Sums of chunks: a tile, a row of terms, a byte of a term, a box, and the plans of the moves. A sweep takes so many times
  /// as long as the sum of these and of its moves.
  static constexpr double swept_tile = 290;
  static constexpr double swept_row = 3.6;
  static constexpr double swept_byte = 0.069;
  static constexpr double swept_box = 130;
  static constexpr double swept_plan = 1900;
  static constexpr double sweep = 1.25;
  /// Sums of chunks whose rows are no runs: an element, and each of its terms.
  static constexpr double swept_element = 5;
  static constexpr double swept_element_term = 1;
  /// A line of the columns that comes into a buffer from the second level of the caches, or from farther away. Of runs that
  /// follow each other within so many bytes, and behind the first line of a run, processors predict lines: they take this
  /// part of the time.
  static constexpr double near_line = 2;
  static constexpr double far_line = 7;
  static constexpr std::int64_t most_followed = 1024;
  static constexpr double predicted_line = 0.4;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
