// SPDX-License-Identifier: BSD-3-Clause
//
// What the plan of a sweep holds, for tests that see to it that each way is taken. It is private, since nothing but the
// runner needs it; an explicit instantiation may name what is private.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/detail/sums/sum_sweep.hpp>
#include <reblock/detail/sums/sweep_axis.hpp>

namespace reblock::test {

/// The private members that tests look at.
struct sweep_members {
  std::array<detail::sweep_axis, max_rank - 2> detail::sum_sweep::* axes;
  bool detail::sum_sweep::* copies;
  bool detail::sum_sweep::* accumulates;
  bool detail::sum_sweep::* clears;
  axis_values detail::sum_sweep::* places;
  detail::sweep_chunk detail::sum_sweep::* chunk;
  std::array<std::uint8_t, max_rank> detail::sum_sweep::* order;
};
constexpr sweep_members find_members();

template <auto... Members>
struct opener {
  friend constexpr sweep_members find_members() { return {Members...}; }
};
template struct opener<&detail::sum_sweep::axes_, &detail::sum_sweep::copies_,
                       &detail::sum_sweep::accumulates_, &detail::sum_sweep::clears_,
                       &detail::sum_sweep::places_, &detail::sum_sweep::chunk_, &detail::sum_sweep::order_>;

struct opened_sweep {
  explicit opened_sweep(const detail::sum_sweep& sweep)
      : axes(sweep.*find_members().axes),
        copies(sweep.*find_members().copies),
        accumulates(sweep.*find_members().accumulates),
        clears(sweep.*find_members().clears),
        places(sweep.*find_members().places),
        chunk(sweep.*find_members().chunk),
        order(sweep.*find_members().order) {}

  std::array<detail::sweep_axis, max_rank - 2> axes;
  bool copies;
  bool accumulates;
  bool clears;
  axis_values places;
  detail::sweep_chunk chunk;
  std::array<std::uint8_t, max_rank> order;
};

}  // namespace reblock::test
