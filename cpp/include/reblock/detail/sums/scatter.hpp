// SPDX-License-Identifier: BSD-3-Clause
//
// A scatter plans sums of fold that read the columns in their own order (scatter_boxes.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/sums/row_terms.hpp>
#include <reblock/detail/sums/scatter_boxes.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/sums/tile_list.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of the sums of a box.
inline constexpr std::int64_t scattered_bytes = 32 * 1024;

/// A scatter is trivially copyable.
class scatter : public scatter_boxes {
 public:
  scatter(const sum_request& sums, const sum_functions& sum) noexcept

      : scatter_boxes(sums, sums.sum.element_size, scattered_bytes),
        add_(sum.find_added_rows(usable_instruction_set())) {
    if (add_ != nullptr && has_boxes()) cost_ = estimate(work());
  }

 private:
  friend class scattered_sums;

  double estimate(const scatter_work& all) const noexcept {
    const auto bytes = static_cast<double>(element_size_);
    return all.rows * sum_costs::scattered_row + all.waiting * sum_costs::waiting_rows +
           all.terms * bytes * sum_costs::scattered_byte + all.tiles * sum_costs::scattered_tile +
           all.image * bytes * sum_costs::scattered_sum + all.runs * sum_costs::scattered_run +
           sum_costs::scattered_plan;
  }

  row_adder add_;  ///< null: no function adds rows of these terms, for example halves, which are rounded once
};
static_assert(std::is_trivially_copyable_v<scatter>);

/// The sums of a scatter in the buffer.
class scattered_sums {
 public:
  using boxes = scatter;
  static constexpr std::int64_t buffer_bytes = scattered_bytes;

  explicit scattered_sums(const scatter& sums) noexcept
      : add_(sums.add_), end_(sums.readable_end_), element_size_(sums.element_size_) {}

  /// Sets the sums of a box to 0.
  void begin(std::byte* buffer, std::int64_t elements, const std::byte* columns) noexcept {
    columns_end_ = columns + end_;
    std::memset(buffer, 0, static_cast<std::size_t>(elements * element_size_));
  }
  /// Lists rows of so many elements. Then add_axis() lists their axes, the innermost first.
  void list(std::int64_t row) noexcept {
    rows_ = tile_list();
    row_bytes_ = row * element_size_;
  }
  void add_axis(const tile_axis& next, std::int64_t /*weight_stride*/) noexcept {
    rows_.add({next.extent, next.source_stride, next.destination_stride * element_size_});
  }
  static bool may_join(std::int64_t /*row*/, std::int64_t /*weight_stride*/) noexcept { return true; }
  static std::int64_t weight_stride(std::size_t /*d*/) noexcept { return 0; }

  /// Adds the listed rows.
  void add(const std::byte* from, std::byte* to, std::int64_t /*weight*/) const noexcept {
    rows_.for_each([this](const tile& t, const std::byte* source,
                          std::byte* sums) { add_(t, source, columns_end_, sums); },
                   from, to, row_bytes_);
  }
  /// Returns where the results are.
  static const std::byte* finish(std::span<const scattered_part>, std::int64_t, std::byte* buffer) noexcept {
    return buffer;
  }

 private:
  row_adder add_;
  std::int64_t end_;  ///< of the bytes of the columns that may be read
  std::int64_t element_size_;
  const std::byte* columns_end_ = nullptr;
  tile_list rows_;
  std::int64_t row_bytes_ = 0;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
