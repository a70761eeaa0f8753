// SPDX-License-Identifier: BSD-3-Clause
//
// This header runs plans of every kind.
#pragma once

#include <cstddef>

#include <reblock/axis_values.hpp>
#include <reblock/detail/chunks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/converted_runner.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/moves/padded_runner.hpp>
#include <reblock/detail/moves/padded_windows.hpp>
#include <reblock/detail/moves/remembered_moves.hpp>
#include <reblock/detail/moves/split_windows.hpp>
#include <reblock/detail/moves/window_plan.hpp>
#include <reblock/detail/reductions/brought_reduction.hpp>
#include <reblock/detail/reductions/scattered_accumulators.hpp>
#include <reblock/detail/reductions/scattered_reduction.hpp>
#include <reblock/detail/reductions/weighed_terms.hpp>
#include <reblock/detail/sums/accumulated_move.hpp>
#include <reblock/detail/sums/gather.hpp>
#include <reblock/detail/sums/run_padded_sums.hpp>
#include <reblock/detail/sums/scatter.hpp>
#include <reblock/detail/sums/scatter_runner.hpp>
#include <reblock/detail/sums/separate_windows.hpp>
#include <reblock/detail/sums/single_terms.hpp>
#include <reblock/detail/sums/sum_image.hpp>
#include <reblock/detail/sums/sum_sweep.hpp>
#include <reblock/detail/sums/sweep_runner.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Runs one of the ways to move a layout.
template <class Way>
void run_way(const Way& way, const run_request& how) noexcept {
  run_chunks_of_pieces(way, how, [](const Way& part, const std::byte* source, std::byte* destination) {
    part.run(source, destination);
  });
}

/// run_planned runs a plan of any kind.
REBLOCK_ENGINE_FUNCTION void run_planned(const move_plan& moves, const run_request& how) noexcept {
  moves.visit([&](const auto& way) { run_way(way, how); });
}

REBLOCK_ENGINE_FUNCTION void run_way(const split_windows& windows, const run_request& how) noexcept {
  run_planned(windows.inside(), how);
  run_way(windows.edges(), how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const window_plan& windows, const run_request& how) noexcept {
  windows.visit([&](const auto& way) { run_way(way, how); });
}

REBLOCK_ENGINE_FUNCTION void run_planned(const gather& sums, const run_request& how) noexcept {
  run_chunks_of_sums(sums, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const brought_reduction& sums, const run_request& how) noexcept {
  run_chunks_of_sums(sums, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const sum_sweep& sweep, const run_request& how) noexcept {
  run_shared_sums(sweep, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const scatter& sums, const run_request& how) noexcept {
  run_shared_sums(sums, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const scattered_reduction& sums, const run_request& how) noexcept {
  run_shared_sums(sums, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const single_terms& terms, const run_request& how) noexcept {
  if (!terms.are_sums()) return run_way(terms, how);
  run_planned(terms.moves(), {how.source + terms.source_offset(),
                              how.destination + terms.destination_offset(), how.by, how.concurrency});
}

REBLOCK_ENGINE_FUNCTION void run_planned(const separate_windows& windows, const run_request& how) noexcept {
  windows.clear(how.destination);
  if (windows.has_inside()) run_planned(windows.inside(), how);
  windows.for_each_edge([&](const layout& edge, const axis_values&) {
    if (!windows.is_remembered(edge)) return run_planned(windows.edge(edge), how);
    recent_moves().run(edge, windows.element_size(), buffered_side::none, how.source, how.destination);
  });
}

REBLOCK_ENGINE_FUNCTION void run_planned(const accumulated_move& terms, const run_request& how) noexcept {
  run_way(terms, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const weighed_windows& weighed, const run_request& how) noexcept {
  const separate_windows& windows = weighed.windows();
  const auto run_part = [&](const single_terms& part, const axis_values& first) {
    run_chunks_of_pieces(part, how,
                         [&](const single_terms& chunk, const std::byte* source, std::byte* destination) {
                           weighed.run(chunk, first, source, destination);
                         });
  };
  windows.clear(how.destination);
  if (windows.has_inside()) run_part(windows.inside(), axis_values::repeat(windows.spatial_axes(), 0));
  windows.for_each_edge(
      [&](const layout& edge, const axis_values& first) { run_part(windows.edge(edge), first); });
}

/// Sums of a part of an image. The other positions have no terms. Those with an index that is not below `kept` are set to 0
/// before.
template <class Sums>
struct cleared_sums {
  sum_image image;
  axis_values kept;
  Sums sums;
};

template <class Sums>
void run_planned(const cleared_sums<Sums>& cleared, const run_request& how) noexcept {
  cleared.image.clear_beyond(cleared.kept, how.destination);
  run_planned(cleared.sums, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const padded_move& padded, const run_request& how) noexcept {
  run_way(padded, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const converted_move& conversion, const run_request& how) noexcept {
  run_chunks_of_pieces(conversion, how, run_converted);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
