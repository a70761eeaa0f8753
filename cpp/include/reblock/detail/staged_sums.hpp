// SPDX-License-Identifier: BSD-3-Clause
//
// How fold sums columns of any order: box by box of the image, by way of a buffer.
//
// Where windows lie `stride` apart, the offsets of a window fall into cycles: offset t * cycle + r of any window is term t of
// the positions of phase r. Terms of one t never meet, they make a plane. Planes are brought into the buffer in the order of the
// image, with zeros where they have nothing. Then each sum of the box has one term of each plane, at the same distance everywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/blocks.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/piecewise_sum.hpp>
#include <reblock/detail/plan_blocks.hpp>
#include <reblock/detail/sum_leaves.hpp>
#include <reblock/detail/summation.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of the buffer of planes: it stays in the first-level cache.
inline constexpr std::int64_t planes_bytes = 28 * 1024;
/// Bytes of a box whose phases are summed apart.
inline constexpr std::int64_t apart_bytes = block_buffer_bytes;

/// A spatial axis. Window l adds its offset o = t * cycle + r to the position (l + t * advance) * stride + r * dilation -
/// padding. Place a of phase k is the position a * stride + k - padding.
struct plane_axis {
  std::int64_t planes = 1;      ///< t
  std::int64_t cycle = 1;       ///< r
  std::int64_t last_cycle = 1;  ///< r of the last plane
  std::int64_t windows = 1;     ///< l
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t advance = 1;
  std::int64_t padding = 0;
  std::int64_t extent = 1;  ///< positions
  bool is_joined = false;   ///< whether phases lie side by side in the buffer, as in the image; else each by itself
  bool together = false;    ///< whether all planes are brought at once, with the windows that they share
  std::int64_t offset_stride = 0;  ///< of o in the columns, bytes
  std::int64_t window_stride = 0;  ///< of l in the columns, bytes

  constexpr std::int64_t first_place() const noexcept { return floor_divide(padding, stride); }
  constexpr std::int64_t places() const noexcept {
    return floor_divide(extent - 1 + padding, stride) - first_place() + 1;
  }
  /// How many windows before a place reach into it, by the values of a plane.
  constexpr std::int64_t reach() const noexcept { return (cycle - 1) * dilation / stride; }
  /// The places that planes have before those of a box.
  constexpr std::int64_t halo() const noexcept { return reach() + (together ? (planes - 1) * advance : 0); }
  /// The positions of a place in the buffer.
  constexpr std::int64_t positions() const noexcept { return is_joined ? stride : 1; }
  /// The positions of a plane for so many places: also those behind them that joined phases reach.
  constexpr std::int64_t width(std::int64_t count) const noexcept {
    return is_joined ? (count + halo() + reach()) * stride : count + halo();
  }
  /// The offsets that are brought at once, and those of all planes.
  constexpr std::int64_t offsets() const noexcept { return together ? all_offsets() : cycle; }
  constexpr std::int64_t all_offsets() const noexcept { return (planes - 1) * cycle + last_cycle; }
  /// Planes of the buffer, one for each offset unless phases are joined.
  constexpr std::int64_t layers() const noexcept { return is_joined ? planes : planes * cycle; }
  /// Whether there are phases without terms.
  constexpr bool has_gaps() const noexcept { return cycle < stride; }
};

/// A trivially copyable value.
class staged_sums {
 public:
  staged_sums(const sum_request& sums, const sum_functions& sum) noexcept;

  /// Whether there is room for the smallest of boxes.
  bool fits() const noexcept { return box_.size() != 0; }
  std::int64_t boxes() const noexcept {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < box_.size(); ++i) count *= boxes_along(i);
    return count;
  }

 private:
  friend class staged_sum_runner;

  std::size_t spatial_axes() const noexcept { return places_.size() - 2; }
  std::int64_t boxes_along(std::size_t i) const noexcept { return (places_[i] - 1) / box_[i] + 1; }
  bool fits(const axis_values& box) const noexcept;
  double buffer_bytes(const axis_values& box) const noexcept;
  double short_runs(const axis_values& box) const noexcept;
  double choose_box(axis_values& box) const noexcept;

  std::array<plane_axis, max_rank - 2> axes_;
  bool is_single_ = true;     ///< whether there is one plane, and phases are joined
  bool interleaves_ = false;  ///< whether phases of the image's innermost axis are summed apart, in a buffer
  std::array<std::int64_t, 2> column_strides_;  ///< of n and c, bytes
  std::int64_t column_offset_ = 0;              ///< of the first element, bytes
  axis_values output_strides_;                  ///< of n, c and the spatial axes, bytes
  axis_values places_;                          ///< n, c, places of each spatial axis
  axis_values box_;                             ///< as many of these as a box has; empty: there is no room
  std::array<std::uint8_t, max_rank> order_;    ///< of the axes in the image, the innermost first
  std::int64_t element_size_ = 0;               ///< bytes
  const sum_functions* sum_ = nullptr;
};
static_assert(std::is_trivially_copyable_v<staged_sums>);

inline staged_sums::staged_sums(const sum_request& sums, const sum_functions& sum) noexcept
    : output_strides_(sums.output_strides),
      places_(sums.extents),
      element_size_(sums.sum.element_size),
      sum_(&sum) {
  const layout& moves = sums.moves;
  const std::size_t spatial = sums.extents.size() - 2;
  column_offset_ = moves.source_offset;
  for (std::size_t i = 0; i < 2; ++i) column_strides_[i] = moves.axes[i].source_stride;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    std::size_t k = places_.size() - 1 - i;
    std::size_t to = i;
    for (; to > 0 && magnitude(output_strides_[order_[to - 1]]) > magnitude(output_strides_[k]); --to) {
      order_[to] = order_[to - 1];
    }
    order_[to] = static_cast<std::uint8_t>(k);
  }
  std::size_t innermost = 0;  // axis of the image
  while (sums.extents[order_[innermost]] == 1 && innermost + 1 < places_.size()) ++innermost;
  innermost = order_[innermost];
  for (std::size_t d = 0; d < spatial; ++d) {
    const layout_axis& offsets = moves.axes[2 + d];
    const layout_axis& windows = moves.axes[2 + spatial + d];
    plane_axis& axis = axes_[d];
    axis = {};
    axis.dilation = offsets.extent > 1 ? offsets.bound_step : 1;
    axis.stride = windows.extent > 1 ? windows.bound_step : offsets.extent * axis.dilation;
    const std::int64_t common = std::gcd(axis.stride, axis.dilation);
    axis.cycle = std::min(axis.stride / common, offsets.extent);
    axis.advance = axis.dilation / common;
    axis.planes = ceil_divide(offsets.extent, axis.cycle);
    axis.last_cycle = offsets.extent - (axis.planes - 1) * axis.cycle;
    axis.windows = windows.extent;
    axis.padding = -moves.bounds[d].offset;
    axis.extent = sums.extents[2 + d];
    axis.offset_stride = offsets.source_stride;
    axis.window_stride = windows.source_stride;
    constexpr std::int64_t long_run = 64;  // bytes, of phases that follow each other in the columns already
    axis.is_joined = axis.planes == 1 ||
                     (innermost == 2 + d && axis.dilation == 1 && axis.offset_stride == element_size_ &&
                      axis.cycle * element_size_ >= long_run);
    interleaves_ = interleaves_ || (innermost == 2 + d && !axis.is_joined && axis.stride > 1);
    is_single_ = is_single_ && axis.planes == 1 && axis.reach() == 0;
    places_[2 + d] = axis.places();
  }
  // the planes of no axis together, those of the innermost in the columns, or those of all
  double least = choose_box(box_);
  std::array<bool, max_rank - 2> together{};
  const auto try_together = [&](auto chosen) {
    bool differs = false;
    for (std::size_t d = 0; d < spatial; ++d) {
      const bool is = axes_[d].planes > 1 && chosen(d);
      differs = differs || is != axes_[d].together;
      axes_[d].together = is;
    }
    if (!differs) return;
    axis_values box;
    const double cost = choose_box(box);
    if (cost >= least) return;
    least = cost;
    box_ = box;
    for (std::size_t d = 0; d < spatial; ++d) together[d] = axes_[d].together;
  };
  std::size_t inner = no_axis;
  for (std::size_t d = 0; d < spatial; ++d) {
    if (axes_[d].planes == 1) continue;
    if (inner == no_axis || magnitude(axes_[d].offset_stride) < magnitude(axes_[inner].offset_stride))
      inner = d;
  }
  try_together([inner](std::size_t d) { return d == inner; });
  try_together([](std::size_t) { return true; });
  for (std::size_t d = 0; d < spatial; ++d) axes_[d].together = together[d];
  if (std::getenv("REBLOCK_DEBUG")) {  // DEBUG
    std::printf("box");
    for (std::size_t i = 0; i < box_.size(); ++i) std::printf(" %ld/%ld", (long)box_[i], (long)places_[i]);
    for (std::size_t d = 0; d < spatial; ++d) std::printf(" [T%ld cycle%ld halo%ld %s %s]", (long)axes_[d].planes, (long)axes_[d].cycle, (long)axes_[d].halo(), axes_[d].is_joined ? "joined" : "", axes_[d].together ? "together" : "");
    std::printf(" bytes %g inter %d\n", buffer_bytes(box_), interleaves_);
  }  // DEBUG END
}

/// Of the planes.
inline double staged_sums::buffer_bytes(const axis_values& box) const noexcept {
  auto bytes = static_cast<double>(element_size_);
  for (std::size_t i = 0; i < box.size(); ++i) {
    if (i < 2) {
      bytes *= static_cast<double>(box[i]);
    } else {
      const plane_axis& axis = axes_[i - 2];
      bytes *= static_cast<double>(axis.width(box[i])) * static_cast<double>(axis.layers());
    }
  }
  return bytes;
}

inline bool staged_sums::fits(const axis_values& box) const noexcept {
  if (buffer_bytes(box) > double{planes_bytes}) return false;
  if (!interleaves_) return true;
  auto bytes = static_cast<double>(element_size_);
  for (std::size_t i = 0; i < box.size(); ++i) {
    bytes *= static_cast<double>(box[i]) * (i < 2 ? 1 : static_cast<double>(axes_[i - 2].stride));
  }
  return bytes <= double{apart_bytes};
}

/// How much longer a box takes for the shortness of its runs, in the columns and in the image.
inline double staged_sums::short_runs(const axis_values& box) const noexcept {
  std::int64_t written = element_size_;
  for (std::size_t k = 0; k < box.size(); ++k) {
    const std::size_t i = order_[k];
    if (places_[i] == 1 && (i < 2 || axes_[i - 2].extent == 1)) continue;
    if (output_strides_[i] != written) break;
    written *= i < 2 ? box[i] : std::min(box[i] * axes_[i - 2].stride, axes_[i - 2].extent);
    if (box[i] < places_[i] || (i >= 2 && axes_[i - 2].positions() < axes_[i - 2].stride)) break;
  }
  std::int64_t read = element_size_;
  for (bool grows = true; grows;) {
    grows = false;
    const auto take = [&](std::int64_t stride, std::int64_t extent) {
      if (grows || extent == 1 || stride != read) return;
      read *= extent;
      grows = true;
    };
    for (std::size_t i = 0; i < box.size(); ++i) {
      if (i < 2) {
        take(column_strides_[i], box[i]);
      } else {
        const plane_axis& axis = axes_[i - 2];
        take(axis.window_stride, std::min(box[i] + axis.halo(), axis.windows));
        take(axis.offset_stride, axis.offsets());
      }
    }
  }
  return (1 + 32.0 / static_cast<double>(read)) * (1 + 128.0 / static_cast<double>(written));
}

/// Doubles an axis, the one by which bytes then cost least, for as long as there is room. Returns what a byte costs, in no
/// unit, or infinity where there is no room at all.
inline double staged_sums::choose_box(axis_values& box) const noexcept {
  const axis_values smallest = axis_values::repeat(places_.size(), 1);
  double least = std::numeric_limits<double>::infinity();
  if (!fits(smallest)) return least;
  const auto cost_of = [&](const axis_values& some) {
    if (!fits(some)) return std::numeric_limits<double>::infinity();
    double places = 1;
    for (const std::int64_t count : some) places *= static_cast<double>(count);
    constexpr double call = 1024;  // bytes that are moved in the time of one
    return (buffer_bytes(some) + call) / places * short_runs(some);
  };
  const auto grow = [&](const axis_values& from, std::size_t i) {
    axis_values grown = from;
    grown[i] = std::min(2 * from[i], places_[i]);
    return grown;
  };
  // first the innermost axes of the image, up to so many bytes
  for (const std::int64_t run : {1, 256}) {
    axis_values chosen = smallest;
    std::int64_t written = element_size_;
    for (std::size_t k = 0; k < chosen.size() && written < run; ++k) {
      const std::size_t i = order_[k];
      while (chosen[i] < places_[i] && written * chosen[i] < run) {
        const axis_values grown = grow(chosen, i);
        if (!fits(grown)) break;
        chosen = grown;
      }
      written *= chosen[i] * (i < 2 ? 1 : axes_[i - 2].positions());
    }
    double cost = cost_of(chosen);
    for (;;) {
      axis_values best;
      double best_cost = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        if (chosen[i] == places_[i]) continue;
        const axis_values grown = grow(chosen, i);
        const double grown_cost = cost_of(grown);
        if (grown_cost >= best_cost) continue;
        best = grown;
        best_cost = grown_cost;
      }
      if (best_cost > cost) break;
      if (best.size() == 0) break;
      chosen = best;
      cost = best_cost;
    }
    if (cost >= least) continue;
    least = cost;
    box = chosen;
  }
  for (std::size_t i = 0; i < box.size(); ++i) {
    const std::int64_t pieces = (places_[i] - 1) / box[i] + 1;
    box[i] = (places_[i] - 1) / pieces + 1;
  }
  return least;
}

/// Axes, the innermost first, in as few as possible: for what works on tiles.
class tile_list {
 public:
  void add(const tile_axis& next) noexcept {
    if (next.extent == 1) return;
    if (count_ > 0) {
      tile_axis& inner = axes_[count_ - 1];
      if (next.source_stride == wrapping_multiply(inner.extent, inner.source_stride) &&
          next.destination_stride == wrapping_multiply(inner.extent, inner.destination_stride)) {
        inner.extent *= next.extent;
        return;
      }
    }
    axes_[count_++] = next;
  }

  /// Calls `visit(tile, source, destination)` for each tile of all axes.
  template <class Visit>
  void for_each(const Visit& visit, const std::byte* source, std::byte* destination,
                std::int64_t element_size) const {
    tile t;
    t.element_size = static_cast<std::size_t>(element_size);
    std::size_t taken = 0;
    for (const auto member : {&tile::inner, &tile::outer, &tile::rows, &tile::slices}) {
      if (taken < count_) t.*member = axes_[taken++];
    }
    walk(visit, t, count_, taken, source, destination);
  }

 private:
  template <class Visit>
  void walk(const Visit& visit, const tile& t, std::size_t end, std::size_t taken, const std::byte* source,
            std::byte* destination) const {
    if (end == taken) return visit(t, source, destination);
    const tile_axis& outer = axes_[end - 1];
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      walk(visit, t, end - 1, taken, source + wrapping_multiply(i, outer.source_stride),
           destination + wrapping_multiply(i, outer.destination_stride));
    }
  }

  std::array<tile_axis, max_rank> axes_;
  std::size_t count_ = 0;
};

/// Fills boxes: has the buffers, and the plans of moves into them.
class staged_sum_runner {
 public:
  explicit staged_sum_runner(const staged_sums& sums) noexcept : sums_(sums) {}
  staged_sum_runner(const staged_sum_runner&) = delete;

  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) noexcept {
    set_out(number);
    if (sums_.is_single_ && is_mostly_inside()) {
      fill_parts(0, false, columns, image);
    } else {
      fill_by_buffer(columns, image);
    }
  }

 private:
  /// What a box has of an axis.
  struct part {
    std::int64_t first = 0;
    std::int64_t count = 1;         ///< places, or indices of n and c
    std::int64_t stride = 0;        ///< of a position in what is brought, bytes
    std::int64_t layer_stride = 0;  ///< from offset to offset, or from plane to plane where phases are joined, bytes
    std::int64_t plane_stride = 0;  ///< bytes
    index_range planes{0, 1};       ///< those that have terms
  };
  /// A layout that has been planned.
  struct planned {
    std::size_t rank = 0;
    std::array<layout_axis, max_axes> axes;
    staged_move move;
  };

  const plane_axis& axis_of(std::size_t d) const noexcept { return sums_.axes_[d]; }

  void set_out(std::int64_t number) noexcept {
    for (std::size_t i = sums_.box_.size(); i-- > 0;) {
      const std::int64_t along = sums_.boxes_along(i);
      part& p = parts_[i];
      p.first = number % along * sums_.box_[i];
      p.count = std::min(sums_.box_[i], sums_.places_[i] - p.first);
      if (i >= 2) p.first += axis_of(i - 2).first_place();
      number /= along;
    }
  }

  void fill_by_buffer(const std::byte* columns, std::byte* image) noexcept {
    set_out_buffer();
    bring(0, columns, planes_.data());
    if (sums_.interleaves_) {
      interleave(image);
    } else {
      add_up(image, false);
    }
  }

  void set_out_buffer() noexcept {
    const std::size_t rank = sums_.box_.size();
    std::int64_t stride = sums_.element_size_;
    for (std::size_t k = 0; k < rank; ++k) {
      const std::size_t i = sums_.order_[k];
      part& p = parts_[i];
      p.stride = stride;
      stride *= i < 2 ? p.count : axis_of(i - 2).width(p.count);
    }
    for (std::size_t i = rank; i-- > 2;) {
      part& p = parts_[i];
      const plane_axis& axis = axis_of(i - 2);
      p.layer_stride = stride;
      p.plane_stride = axis.is_joined ? stride : axis.cycle * stride;
      p.planes = {0, axis.planes};
      if (axis.together) {
        stride *= axis.is_joined ? axis.planes : axis.all_offsets();
      } else if (!axis.is_joined) {
        stride *= axis.cycle;
      }
    }
    chunk_bytes_ = stride;
    for (std::size_t i = rank; i-- > 2;) {
      part& p = parts_[i];
      const plane_axis& axis = axis_of(i - 2);
      if (axis.together || axis.planes == 1) continue;
      p.plane_stride = stride;
      stride *= axis.planes;
      // those with windows between the first that reaches the box and its last
      const auto plane = [&](std::int64_t t) { return std::clamp<std::int64_t>(t, 0, axis.planes); };
      p.planes.begin = plane(ceil_divide(p.first - axis.reach() - axis.windows + 1, axis.advance));
      p.planes.end = std::max(p.planes.begin, plane(floor_divide(p.first + p.count - 1, axis.advance) + 1));
    }
  }

  /// Brings the planes of axes from `d` on; those of the axes before it have been chosen.
  void bring(std::size_t d, const std::byte* columns, std::byte* planes) noexcept {
    if (d == sums_.spatial_axes()) return bring_chunk(columns, planes);
    const part& p = parts_[2 + d];
    chosen_[d] = 0;
    if (axis_of(d).together || axis_of(d).planes == 1) return bring(d + 1, columns, planes);
    for (std::int64_t t = p.planes.begin; t < p.planes.end; ++t) {
      chosen_[d] = t;
      bring(d + 1, columns, planes + t * p.plane_stride);
    }
  }

  /// Brings the planes that come together, for one plane of each of the other axes.
  void bring_chunk(const std::byte* columns, std::byte* planes) noexcept {
    layout moves;
    moves.source_offset = sums_.column_offset_;
    bool is_full = true;
    for (std::size_t i = 0; i < 2; ++i) {
      const part& p = parts_[i];
      moves.add({p.count, sums_.column_strides_[i], p.stride});
      add_source(moves, p.first, sums_.column_strides_[i]);
    }
    for (std::size_t d = 0; d < sums_.spatial_axes(); ++d) {
      const plane_axis& axis = axis_of(d);
      const part& p = parts_[2 + d];
      const std::int64_t t = axis.together ? 0 : chosen_[d];
      // the windows that have values in the plane
      const std::int64_t origin =
          p.first - axis.reach() - (axis.together ? axis.planes - 1 : t) * axis.advance;
      const std::int64_t wanted = p.count + axis.halo();
      const std::int64_t begin = std::clamp<std::int64_t>(origin, 0, axis.windows);
      const std::int64_t end = std::clamp<std::int64_t>(origin + wanted, begin, axis.windows);
      const std::int64_t offsets = !axis.together && t + 1 == axis.planes ? axis.last_cycle : axis.offsets();
      is_full = is_full && end - begin == wanted &&
                (!axis.is_joined || (axis.cycle == axis.stride && axis.last_cycle == axis.cycle));
      const std::int64_t window_stride = axis.positions() * p.stride;
      moves.add({end - begin, axis.window_stride, window_stride});
      if (axis.is_joined) {
        moves.add({std::min(offsets, axis.cycle), axis.offset_stride, axis.dilation * p.stride});
      } else {
        moves.add({offsets, axis.offset_stride, p.layer_stride});
      }
      add_source(moves, begin, axis.window_stride);
      add_source(moves, t * axis.cycle, axis.offset_stride);
      moves.destination_offset += (begin - origin) * window_stride;
    }
    if (!is_full) clear(planes);
    bring_parts(0, moves, columns, planes);
  }

  /// Of joined phases, a last plane that has fewer of them is brought by itself.
  void bring_parts(std::size_t d, const layout& moves, const std::byte* columns, std::byte* planes) noexcept {
    if (d == sums_.spatial_axes()) return run(moves, columns, planes);
    const plane_axis& axis = axis_of(d);
    if (!axis.together || !axis.is_joined) return bring_parts(d + 1, moves, columns, planes);
    const std::int64_t plane_stride = parts_[2 + d].plane_stride;
    const std::int64_t of_plane = wrapping_multiply(axis.cycle, axis.offset_stride);
    const bool has_rest = axis.last_cycle < axis.cycle;
    layout some;
    some.take(moves);
    some.add({axis.planes - (has_rest ? 1 : 0), of_plane, plane_stride});
    bring_parts(d + 1, some, columns, planes);
    if (!has_rest) return;
    some.take(moves);
    some.axes[2 + 2 * d + 1].extent = axis.last_cycle;
    add_source(some, axis.planes - 1, of_plane);
    some.destination_offset += (axis.planes - 1) * plane_stride;
    bring_parts(d + 1, some, columns, planes);
  }

  /// The places of a box whose windows lie inside the image.
  index_range inside(std::size_t d) const noexcept {
    const plane_axis& axis = axis_of(d);
    const part& p = parts_[2 + d];
    const std::int64_t end = p.first + p.count;
    const std::int64_t behind = std::min(axis.windows, floor_divide(axis.extent + axis.padding, axis.stride));
    const std::int64_t begin = std::clamp(ceil_divide(axis.padding, axis.stride), p.first, end);
    return {begin, std::clamp(behind, begin, end)};
  }
  bool is_mostly_inside() const noexcept {
    double share = 1;
    for (std::size_t d = 0; d < sums_.spatial_axes(); ++d) {
      const index_range some = inside(d);
      share *= static_cast<double>(some.end - some.begin) / static_cast<double>(parts_[2 + d].count);
    }
    return share > 0.75;
  }

  /// Where there is one plane: fills those places of a box by themselves whose windows lie inside the image.
  void fill_parts(std::size_t d, bool cut, const std::byte* columns, std::byte* image) noexcept {
    if (d == sums_.spatial_axes()) return cut ? fill_by_buffer(columns, image) : place(columns, image);
    part& p = parts_[2 + d];
    const part all = p;
    const index_range some = inside(d);
    const std::int64_t cuts[] = {all.first, some.begin, some.end, all.first + all.count};
    for (std::size_t k = 0; k < 3; ++k) {
      p.first = cuts[k];
      p.count = cuts[k + 1] - cuts[k];
      if (p.count > 0) fill_parts(d + 1, cut || k != 1, columns, image);
    }
    p = all;
  }

  /// Puts single terms into the image.
  void place(const std::byte* columns, std::byte* image) noexcept {
    tile_list box;
    for (std::size_t k = 0; k < sums_.box_.size(); ++k) {
      const std::size_t i = sums_.order_[k];
      part& p = parts_[i];
      p.stride = sums_.output_strides_[i];
      std::int64_t first = p.first;
      std::int64_t count = p.count;
      if (i >= 2) {
        const plane_axis& axis = axis_of(i - 2);
        first = first * axis.stride - axis.padding;
        count *= axis.stride;
        chosen_[i - 2] = 0;
      }
      image += wrapping_multiply(first, p.stride);
      box.add({count, 0, p.stride});
    }
    alone_ = &box;
    bring_chunk(columns, image);
    alone_ = nullptr;
    const leaf_function settle = sums_.sum_->settle.settle;
    if (settle == nullptr) return;
    box.for_each([&](const tile& t, const std::byte*, std::byte* to) { settle(t, to, to); }, image, image,
                 sums_.element_size_);
  }

  /// Has no bits set where planes, or the box of the image, have no values.
  void clear(std::byte* planes) noexcept {
    if (alone_ == nullptr) {
      std::memset(planes, 0, static_cast<std::size_t>(chunk_bytes_));
    } else {
      clear_box(*alone_, planes);
    }
  }
  void clear_box(const tile_list& box, std::byte* first) noexcept {
    constexpr term_list::axis nothing{0, 0, 0};
    term_list none(std::span(&nothing, 1));
    box.for_each([&](const tile& t, const std::byte*, std::byte* to) { sums_.sum_->sum(t, none, to, to); },
                 first, first, sums_.element_size_);
  }

  static void add_source(layout& moves, std::int64_t index, std::int64_t stride) noexcept {
    moves.source_offset = wrapping_add(moves.source_offset, wrapping_multiply(index, stride));
  }

  /// Runs moves whose plan may be known.
  void run(const layout& moves, const std::byte* from, std::byte* to) noexcept {
    planned* found = nullptr;
    for (planned& one : plans_) {
      if (one.rank == moves.rank &&
          std::equal(one.axes.begin(), one.axes.begin() + one.rank, moves.axes.begin()))
        found = &one;
    }
    if (found == nullptr) {
      found = &plans_[next_++ % plans_.size()];
      found->rank = moves.rank;
      std::copy_n(moves.axes.begin(), moves.rank, found->axes.begin());
      layout axes;
      axes.take(moves);
      axes.source_offset = axes.destination_offset = 0;
      plan_unbounded(found->move, axes, sums_.element_size_);
    }
    run_blocks(found->move, from + moves.source_offset, to + moves.destination_offset, spare_.data());
  }

  /// Writes the sums of the box, to the image or, where they are `apart`, to the buffer of phases: [phase of the innermost
  /// axis, other axes in the order of the image, place of the innermost axis].
  [[gnu::noinline]] void add_up(std::byte* target, bool apart) noexcept {
    const std::size_t rank = sums_.box_.size();
    axis_values counts;
    std::array<std::int64_t, max_rank> strides;  // of positions
    std::int64_t stride = sums_.element_size_;
    tile_list whole;
    bool has_gaps = false;
    for (std::size_t d = 0; d < sums_.spatial_axes(); ++d) {
      counts.push_back(axis_of(d).is_joined ? 1 : std::min(axis_of(d).cycle, axis_of(d).all_offsets()));
      has_gaps = has_gaps || (!axis_of(d).is_joined && axis_of(d).has_gaps());
    }
    std::byte* all = target;
    std::size_t innermost = no_axis;
    for (std::size_t k = 0; k < rank; ++k) {
      const std::size_t i = sums_.order_[k];
      const part& p = parts_[i];
      std::int64_t first = p.first;
      std::int64_t count = p.count;
      if (i >= 2) {
        const plane_axis& axis = axis_of(i - 2);
        first = std::max<std::int64_t>(0, p.first * axis.stride - axis.padding);
        count = std::min(axis.extent, (p.first + p.count) * axis.stride - axis.padding) - first;
      }
      if (apart) {
        const bool is_innermost = innermost == no_axis && i >= 2 && axis_of(i - 2).extent > 1;
        if (is_innermost) innermost = i;
        strides[i] = stride;
        stride *= is_innermost ? p.count : count;
      } else {
        strides[i] = sums_.output_strides_[i];
        all += wrapping_multiply(first, strides[i]);
        whole.add({count, 0, strides[i]});
      }
    }
    if (has_gaps && apart) {
      std::memset(target, 0, static_cast<std::size_t>(stride * axis_of(innermost - 2).stride));
    } else if (has_gaps) {
      clear_box(whole, all);
    }
    for_each_choice(counts, [&](const axis_values& phases) {
      std::array<term_list::axis, max_rank - 2> terms;
      tile_list box;
      std::int64_t source = 0;
      std::byte* to = target;
      for (std::size_t k = 0; k < rank; ++k) {
        const std::size_t i = sums_.order_[k];
        const part& p = parts_[i];
        if (i < 2) {
          to += wrapping_multiply(apart ? 0 : p.first, strides[i]);
          box.add({p.count, p.stride, strides[i]});
          continue;
        }
        const plane_axis& axis = axis_of(i - 2);
        const std::int64_t r = phases[i - 2];
        const std::int64_t step = axis.is_joined ? 1 : axis.stride;  // from position to position
        const std::int64_t ahead = r * axis.dilation % axis.stride;
        const std::int64_t origin = p.first * axis.stride + ahead - axis.padding;
        // positions origin + j * step, as many as the box has, that lie inside the image
        const std::int64_t most = p.count * (axis.is_joined ? axis.stride : 1);
        const std::int64_t begin = std::clamp<std::int64_t>(ceil_divide(-origin, step), 0, most);
        const std::int64_t end =
            std::clamp<std::int64_t>(ceil_divide(axis.extent - origin, step), begin, most);
        const std::int64_t skipped = axis.halo() - r * axis.dilation / axis.stride;
        source += (begin + skipped * axis.positions()) * p.stride + (axis.is_joined ? 0 : r * p.layer_stride);
        const std::int64_t terms_of_phase = ceil_divide(axis.all_offsets() - r, axis.cycle);
        const std::int64_t planes_end =
            axis.is_joined ? p.planes.end : std::clamp(terms_of_phase, p.planes.begin, p.planes.end);
        const std::int64_t shift = axis.together ? axis.advance * axis.positions() * p.stride : 0;
        terms[i - 2] = {planes_end - p.planes.begin, p.plane_stride - shift};
        source += p.planes.begin * p.plane_stride;
        if (i == innermost) {
          to += ahead * stride + begin * strides[i];
          box.add({end - begin, p.stride, strides[i]});
        } else {
          const std::int64_t first = apart ? std::max<std::int64_t>(0, p.first * axis.stride - axis.padding) : 0;
          to += wrapping_multiply(origin + begin * step - first, strides[i]);
          box.add({end - begin, p.stride, wrapping_multiply(step, strides[i])});
        }
      }
      term_list all_terms(std::span<const term_list::axis>(terms).first(rank - 2));
      box.for_each(
          [&](const tile& t, const std::byte* from, std::byte* sums) {
            sums_.sum_->sum(t, all_terms, from, sums);
          },
          planes_.data() + source, to, sums_.element_size_);
    });
  }

  /// Sums the phases of the image's innermost axis apart, and puts them together in the image.
  [[gnu::noinline]] void interleave(std::byte* image) noexcept {
    alignas(64) std::array<std::byte, apart_bytes + readable_slack> phases;
    add_up(phases.data(), true);
    layout moves;
    std::int64_t stride = sums_.element_size_;
    std::size_t innermost = no_axis;
    for (std::size_t k = 0; k < sums_.box_.size(); ++k) {
      const std::size_t i = sums_.order_[k];
      const part& p = parts_[i];
      const std::int64_t output_stride = sums_.output_strides_[i];
      std::int64_t first = p.first;
      std::int64_t count = p.count;
      if (i >= 2) {
        const plane_axis& axis = axis_of(i - 2);
        first = std::max<std::int64_t>(0, p.first * axis.stride - axis.padding);
        count = std::min(axis.extent, (p.first + p.count) * axis.stride - axis.padding) - first;
        if (innermost == no_axis && axis.extent > 1) {
          innermost = i;
          first = p.first * axis.stride - axis.padding;
          count = p.count;
          moves.add({count, stride, wrapping_multiply(axis.stride, output_stride)});
          moves.destination_offset = wrapping_add(moves.destination_offset, wrapping_multiply(first, output_stride));
          stride *= count;
          continue;
        }
      }
      moves.add({count, stride, output_stride});
      moves.destination_offset = wrapping_add(moves.destination_offset, wrapping_multiply(first, output_stride));
      stride *= count;
    }
    const plane_axis& axis = axis_of(innermost - 2);
    const part& p = parts_[innermost];
    std::size_t places = 0;
    while (moves.axes[places].destination_stride != wrapping_multiply(axis.stride, sums_.output_strides_[innermost])) ++places;
    const std::int64_t output_stride = sums_.output_strides_[innermost];
    // places that have all phases, and one before and behind them that may not
    const std::int64_t origin = p.first * axis.stride - axis.padding;
    for (std::int64_t at = 0; at < p.count;) {
      const std::int64_t position = origin + at * axis.stride;
      const std::int64_t begin = std::max<std::int64_t>(0, -position);
      const std::int64_t end = std::min(axis.stride, axis.extent - position);
      std::int64_t count = 1;
      if (begin == 0 && end == axis.stride) count = std::min(p.count - at, (axis.extent - position) / axis.stride);
      layout some;
      some.take(moves);
      some.axes[places].extent = count;
      some.add({end - begin, stride, output_stride});
      some.source_offset = at * moves.axes[places].source_stride + begin * stride;
      some.destination_offset = wrapping_add(some.destination_offset, wrapping_multiply(at * axis.stride + begin, output_stride));
      run_out(some, phases.data(), image);
      at += count;
    }
  }

  /// As run(), with what is no longer needed of the planes as its buffer.
  void run_out(const layout& moves, const std::byte* from, std::byte* to) noexcept { run(moves, from, to); }

  const staged_sums& sums_;
  std::array<part, max_rank> parts_;
  std::array<std::int64_t, max_rank - 2> chosen_;  ///< planes
  std::int64_t chunk_bytes_ = 0;                   ///< of the planes that come together
  std::array<planned, 4> plans_;
  std::size_t next_ = 0;
  const tile_list* alone_ = nullptr;  ///< the box of the image that is filled without the buffer
  alignas(64) std::array<std::byte, planes_bytes + readable_slack> planes_;
  alignas(64) std::array<std::byte, block_buffer_bytes + readable_slack> spare_;
};

[[gnu::noinline]] inline void run_staged_sums(const staged_sums& sums, const index_range& boxes,
                                              const std::byte* columns, std::byte* image) noexcept {
  staged_sum_runner runner(sums);
  for (std::int64_t box = boxes.begin; box < boxes.end; ++box) runner.fill_box(box, columns, image);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
