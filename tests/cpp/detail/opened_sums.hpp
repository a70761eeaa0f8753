// SPDX-License-Identifier: BSD-3-Clause
//
// What a plan of staged sums holds and how a box is filled, for tests that see to it that each way is taken. It is private,
// since nothing but the runner needs it; an explicit instantiation may name what is private.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/plane_axis.hpp>
#include <reblock/detail/staged_sum_runner.hpp>
#include <reblock/detail/staged_sums.hpp>

namespace reblock::test {

/// The private members that tests look at.
struct sums_members {
  std::array<detail::plane_axis, max_rank - 2> detail::staged_sums::* axes;
  bool detail::staged_sums::* is_single;
  bool detail::staged_sums::* copies;
  axis_values detail::staged_sums::* places;
  axis_values detail::staged_sums::* box;
  bool (detail::staged_sums::*is_apart)() const noexcept;
  void (detail::staged_sum_runner::*set_out)(std::int64_t) noexcept;
  bool (detail::staged_sum_runner::*is_mostly_inside)() const noexcept;
  detail::index_range (detail::staged_sum_runner::*inside)(std::size_t) const noexcept;
};
constexpr sums_members find_members();

template <auto... Members>
struct opener {
  friend constexpr sums_members find_members() { return {Members...}; }
};
template struct opener<&detail::staged_sums::axes_, &detail::staged_sums::is_single_,
                       &detail::staged_sums::copies_, &detail::staged_sums::places_,
                       &detail::staged_sums::box_, &detail::staged_sums::is_apart,
                       &detail::staged_sum_runner::set_out, &detail::staged_sum_runner::is_mostly_inside,
                       &detail::staged_sum_runner::inside>;

struct opened_sums {
  explicit opened_sums(const detail::staged_sums& sums)
      : axes(sums.*find_members().axes),
        is_single(sums.*find_members().is_single),
        copies(sums.*find_members().copies),
        is_apart((sums.*find_members().is_apart)()),
        places(sums.*find_members().places),
        box(sums.*find_members().box) {}

  std::array<detail::plane_axis, max_rank - 2> axes;
  bool is_single;
  bool copies;
  bool is_apart;
  axis_values places;
  axis_values box;
};

/// How many places of a box have windows inside the image, where it is filled past the buffer; else none.
inline std::int64_t places_alone(const detail::staged_sums& sums, std::int64_t box) {
  const opened_sums plan(sums);
  detail::staged_sum_runner runner(sums);
  (runner.*find_members().set_out)(box);
  if (!plan.is_single || !(runner.*find_members().is_mostly_inside)()) return 0;
  std::int64_t places = 1;
  for (std::size_t d = 0; d + 2 < plan.box.size(); ++d) {
    const detail::index_range some = (runner.*find_members().inside)(d);
    places *= some.end - some.begin;
  }
  return places;
}

}  // namespace reblock::test
