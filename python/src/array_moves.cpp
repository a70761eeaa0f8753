// SPDX-License-Identifier: BSD-3-Clause
#include "array_moves.hpp"

#include <algorithm>
#include <cstdlib>

#include "conversions.hpp"
#include "gate.hpp"

namespace reblock::python {

namespace {

using detail::placement;

detail::layout layout_of(const placement& from, const view_values& destination_strides) {
  detail::layout moves;
  for (std::size_t i = 0; i < from.extents.size(); ++i) {
    moves.add({from.extents[i], from.strides[i], destination_strides[i]});
  }
  moves.source_run = detail::dense_run(from.extents, from.strides, from.element_size);
  return moves;
}

/// The elements of a source without their repetitions, and where they are in a copy that is packed.
struct repeated {
  placement once;
  view_values packed;   ///< strides of the copy, for the axes of `once`
  view_values strides;  ///< the same for all axes

  explicit repeated(const placement& all) : once{all.address, {}, {}, all.element_size} {
    for (std::size_t i = 0; i < all.extents.size(); ++i) {
      if (all.strides[i] == 0) continue;
      once.extents.push_back(all.extents[i]);
      once.strides.push_back(all.strides[i]);
    }
    packed = detail::packed_strides(once.extents, all.element_size);
    std::size_t next = 0;
    for (const std::int64_t stride : all.strides) strides.push_back(stride == 0 ? 0 : packed[next++]);
  }

  py::ssize_t bytes() const { return detail::product(once.extents).value() * once.element_size; }
};

}  // namespace

void array_moves::add(std::int64_t extent, std::int64_t from, std::int64_t to, std::size_t name) noexcept {
  if (extent == 1) return;
  if (rank_ > 0 && name == unnamed) {
    axis& outer = axes_[rank_ - 1];
    if (outer.name == unnamed && outer.from == extent * from && outer.to == extent * to) {
      outer = {outer.extent * extent, from, to, unnamed};
      return;
    }
  }
  axes_[rank_++] = {extent, from, to, name};
}

std::size_t array_moves::find(std::size_t name) const noexcept {
  for (std::size_t i = 0; i < rank_; ++i) {
    if (axes_[i].name == name) return i;
  }
  return detail::one_factor;
}

std::size_t array_moves::merge() noexcept {
  if (rank_ <= max_view_rank) return rank_;  // the engine merges what is left
  std::sort(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(rank_),
            [](const axis& a, const axis& b) { return std::abs(a.to) > std::abs(b.to); });
  const std::array<axis, most> sorted = axes_;
  const std::size_t count = rank_;
  rank_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    add(sorted[i].extent, sorted[i].from, sorted[i].to, sorted[i].name);
  }
  return rank_;
}

placement array_moves::source_in(const py::array& input) const {
  placement from{address_of(input), {}, {}, input.itemsize()};
  for (std::size_t i = 0; i < rank_; ++i) {
    from.extents.push_back(axes_[i].extent);
    from.strides.push_back(axes_[i].from);
  }
  return from;
}

placement array_moves::target_in(const py::array& output) const {
  placement to{address_of(output), {}, destination_strides(), output.itemsize()};
  for (std::size_t i = 0; i < rank_; ++i) to.extents.push_back(axes_[i].extent);
  return to;
}

view_values array_moves::destination_strides() const {
  view_values strides;
  for (std::size_t i = 0; i < rank_; ++i) strides.push_back(axes_[i].to);
  return strides;
}

detail::operation array_moves::plan_from(const placement& from, const converted_axes& converted) const {
  const detail::layout moves = layout_of(from, destination_strides());
  if (converted.conversion == nullptr)
    return detail::operation(detail::move_request{moves, from.element_size});
  return detail::operation(converted.conversion->request(moves, find(converted.scale), find(converted.bias)));
}

detail::operation array_moves::plan(const py::array& input, const converted_axes& converted) const {
  return plan_from(source_in(input), converted);
}

void array_moves::check_output(const py::array& output, const char* name) const {
  if (output.size() != 0 && !is_c_contiguous(output)) check_overlap(output, target_in(output), name);
}

void array_moves::run(const py::array& input, py::array& output, const char* name, bool given,
                      std::size_t threads, const converted_axes& converted) {
  if (output.size() == 0) return;
  placement from = source_in(input);
  if (given) check_output(output, name);
  const bool apart = !given || lie_apart(input, output) ||
                     detail::share_memory(from, target_in(output)) == detail::overlap::none;
  const void* source = input.data();
  void* destination = output.mutable_data();
  const py::ssize_t bytes = output.nbytes();
  if (apart) {
    const detail::operation moves = plan_from(from, converted);
    return move_bytes(bytes, threads, [&](pool_executor executor) {
      if (!given) provide_pages(destination, bytes);
      moves.run(source, destination, executor);
    });
  }
  const repeated elements(from);
  py::array_t<std::uint8_t> copy(elements.bytes());
  void* between = copy.mutable_data();
  from.strides = elements.strides;
  move_bytes(bytes, threads, [&](pool_executor executor) {
    detail::operation(detail::move_request{layout_of(elements.once, elements.packed), from.element_size})
        .run(source, between, executor);
    plan_from(from, converted).run(between, destination, executor);
  });
}

}  // namespace reblock::python
