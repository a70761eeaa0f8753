// SPDX-License-Identifier: BSD-3-Clause
//
// Every leaf, for rows of up to two 64-byte vectors, at all misalignments, with guards before, between and after the
// elements. A thorough run has all rows at each misalignment, others have some of both.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/leaves.hpp>
#include <reblock/detail/movers.hpp>

#include "../effort.hpp"
#include "layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;

constexpr std::size_t element_sizes[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 48};
constexpr std::int64_t stream_counts[] = {2, 3, 4, 5, 6, 7, 8, 9, 16};
constexpr std::size_t guard_bytes = 64;

/// The bytes from a tile's first element to the end of its last one. Strides are not negative.
std::size_t span(const tile& t, std::int64_t tile_axis::* stride) {
  std::int64_t last = 0;
  for (const auto axis : tile_axes) last += ((t.*axis).extent - 1) * ((t.*axis).*stride);
  return static_cast<std::size_t>(last) + t.element_size;
}

bool same(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Moves a tile at misalignments below a limit. The source ends with its last element, so that a sanitizer sees
/// a read beyond it; the destination has guards on both sides.
bool moves_rightly(const tile& t, leaf_function leaf, std::size_t misalignments,
                   const std::vector<std::byte>& bytes) {
  for (const std::int64_t chosen : test::some_of(0, static_cast<std::int64_t>(misalignments) - 1, 1)) {
    const auto shift = static_cast<std::size_t>(chosen);
    const std::size_t source_shift = (5 * shift + 3) % misalignments;
    const std::size_t source_end = source_shift + span(t, &tile_axis::source_stride);
    REQUIRE(source_end <= bytes.size());
    const std::vector<std::byte> source(bytes.begin(),
                                        bytes.begin() + static_cast<std::ptrdiff_t>(source_end));
    std::vector<std::byte> result(guard_bytes + shift + span(t, &tile_axis::destination_stride) + guard_bytes,
                                  std::byte{0xa5});
    std::vector<std::byte> expected = result;
    const std::byte* const from = source.data() + source_shift;
    const std::size_t first = guard_bytes + shift;
    for (std::int64_t slice = 0; slice < t.slices.extent; ++slice) {
      for (std::int64_t row = 0; row < t.rows.extent; ++row) {
        for (std::int64_t outer = 0; outer < t.outer.extent; ++outer) {
          for (std::int64_t inner = 0; inner < t.inner.extent; ++inner) {
            const auto offset = [&](std::int64_t tile_axis::* stride) {
              return slice * t.slices.*stride + row * t.rows.*stride + outer * t.outer.*stride +
                     inner * t.inner.*stride;
            };
            std::memcpy(expected.data() + first + offset(&tile_axis::destination_stride),
                        from + offset(&tile_axis::source_stride), t.element_size);
          }
        }
      }
    }
    leaf(t, from, result.data() + first);
    if (!same(result, expected)) return false;
  }
  return true;
}

/// Whether each leaf for `whole`, with registers of each width that the processor has, moves `t`.
bool leaves_move(const tile& t, const tile& whole, bool extents_are_fixed,
                 const std::vector<std::byte>& bytes) {
  const leaf_function leaf = engine::all_movers().choose_leaf(whole, extents_are_fixed, 0);
  const leaf_function wide =
      engine::all_movers().choose_leaf(whole, extents_are_fixed, detect_lookup_width());
  return moves_rightly(t, leaf, 16, bytes) && (wide == leaf || moves_rightly(t, wide, 64, bytes));
}

/// Checks the tile that `make` describes for every element size and number of streams, and for row lengths.
template <class Make>
void check_tiles(Make&& make) {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 65536);
  for (const std::size_t element_size : element_sizes) {
    const auto size = static_cast<std::int64_t>(element_size);
    for (const std::int64_t streams : stream_counts) {
      for (const std::int64_t count : test::some_of(1, 2 * 64 / size, 4)) {
        CAPTURE(element_size);
        CAPTURE(streams);
        CAPTURE(count);
        tile t = make(size, streams, count);
        t.element_size = element_size;
        CHECK(leaves_move(t, t, true, bytes));
      }
    }
  }
}

TEST_CASE("streams are interleaved") {
  check_tiles([](std::int64_t size, std::int64_t streams, std::int64_t count) {
    return tile{{count, size, streams * size}, {streams, count * size + 3, size}};
  });
}

TEST_CASE("streams that follow each other are interleaved") {
  check_tiles([](std::int64_t size, std::int64_t streams, std::int64_t count) {
    return tile{{count, size, streams * size}, {streams, count * size, size}};
  });
}

TEST_CASE("streams are separated") {
  check_tiles([](std::int64_t size, std::int64_t streams, std::int64_t count) {
    return tile{{streams, size, count * size + 3}, {count, streams * size, size}};
  });
}

TEST_CASE("streams go past the caches") {
  check_tiles([](std::int64_t size, std::int64_t streams, std::int64_t count) {
    tile t{{count, size, streams * size}, {streams, count * size, size}};
    t.rows = {2, streams * count * size, (streams * count * size + 15) / 16 * 16};
    t.streamed = true;
    return t;
  });
  check_tiles([](std::int64_t size, std::int64_t streams, std::int64_t count) {
    constexpr std::int64_t distance = 256;
    if (streams > 8) return tile{};
    tile t{{streams, size, distance}, {count, streams * size, size}};
    t.rows = {2, streams * count * size, streams * distance};
    t.streamed = true;
    return t;
  });
}

TEST_CASE("runs of any length, past the caches or not") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 65536);
  const auto check = [&](std::int64_t run) {
    for (const bool streamed : {false, true}) {
      CAPTURE(run);
      CAPTURE(streamed);
      tile t{{2, 3 * run + 1, 2 * run + 5}, {2, run + 3, run}};
      t.element_size = static_cast<std::size_t>(run);
      t.streamed = streamed;
      CHECK(leaves_move(t, t, true, bytes));
      t.element_size = 1;
      t.outer = t.inner;
      t.inner = {run, 1, 1};
      CHECK(leaves_move(t, t, true, bytes));
    }
  };
  for (const std::int64_t run : test::some_of(1, 300, 50)) check(run);
  for (const std::size_t limit : {least_streamed_run, longest_short_run, longest_wide_run}) {
    const auto run = static_cast<std::int64_t>(limit);
    for (const std::int64_t near : {run - 1, run, run + 1}) check(near);
    for (const std::int64_t near : test::some_of(run - 65, run + 65, 20)) check(near);
  }
}

TEST_CASE("runs go past the caches in the widest words that all of them are made of") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 65536);
  for (const std::int64_t width : {1, 2, 4, 8, 16}) {
    for (std::int64_t size = 16 + width; size <= 300; size += width) {
      CAPTURE(width);
      CAPTURE(size);
      tile t{{3, 3 * size + 1, 2 * size}, {2, size + 3, size}};
      t.rows = {2, size + 1, 6 * size + width};
      t.slices = {2, 10 * size, 12 * size + 2 * width};
      t.element_size = static_cast<std::size_t>(size);
      t.streamed = true;
      const bool are_words = has_streams && width >= 4;
      CHECK(streamed_width(t) == (are_words ? static_cast<std::size_t>(width) : 0));
      CHECK(leaves_move(t, t, true, bytes));
      t.streamed = false;
      CHECK(!streams_runs(t));
    }
  }
}

TEST_CASE("short rows that go on where the next one begins, along either axis") {
  for (const auto next : {&tile::rows, &tile::slices}) {
    const auto other = next == &tile::rows ? &tile::slices : &tile::rows;
    for (const std::int64_t gap : {0, 7}) {
      CAPTURE(gap);
      check_tiles([=](std::int64_t size, std::int64_t streams, std::int64_t count) {
        const std::int64_t dense = streams * size + gap;
        tile t{{count, size, dense}, {streams, 4 * count * size + 3, size}};
        t.*next = {4, count * size, count * dense + 1};
        t.*other = {2, streams * t.inner.source_stride, 4 * (t.*next).destination_stride + 2};
        return t;
      });
      check_tiles([=](std::int64_t size, std::int64_t streams, std::int64_t count) {
        const std::int64_t dense = streams * size + gap;
        tile t{{streams, size, 4 * count * size + 3}, {count, dense, size}};
        t.*next = {4, count * dense + 1, count * size};
        t.*other = {2, 4 * (t.*next).source_stride + 2, streams * t.outer.destination_stride};
        return t;
      });
    }
  }
}

TEST_CASE("streams whose axis is in two parts") {
  for (const std::int64_t rows : {2, 3, 4}) {
    CAPTURE(rows);
    check_tiles([rows](std::int64_t size, std::int64_t streams, std::int64_t count) {
      if (!has_squares(size) || count == 1) return tile{};  // no plan has these
      const std::int64_t dense = rows * streams * size;
      tile t{{streams, size, count * size}, {count, dense, size}};
      t.rows = {rows, streams * size, streams * count * size + 3};
      t.slices = {5, count * dense, rows * t.rows.destination_stride + 1};
      t.joined = tile::axis::outer;
      return t;
    });
    check_tiles([rows](std::int64_t size, std::int64_t streams, std::int64_t count) {
      if (!has_squares(size) || count == 1) return tile{};  // no plan has these
      const std::int64_t dense = rows * streams * size;
      tile t{{count, size, dense}, {streams, count * size, size}};
      t.rows = {rows, streams * count * size + 3, streams * size};
      t.slices = {5, rows * t.rows.source_stride + 1, count * dense + (rows == 2 ? 1 : 0)};
      t.joined = tile::axis::inner;
      return t;
    });
  }
}

TEST_CASE("runs are copied and the bytes between them left alone") {
  check_tiles([](std::int64_t size, std::int64_t streams, std::int64_t count) {
    return tile{{streams, count * size + 1, count * size + 5}, {count, size, size}};
  });
}

TEST_CASE("a run is read again and again") {
  check_tiles([](std::int64_t size, std::int64_t streams, std::int64_t count) {
    return tile{{streams, 0, count * size}, {count, size, size}};
  });
}

TEST_CASE("transposed tiles with gaps between their rows") {
  check_tiles([](std::int64_t size, std::int64_t streams, std::int64_t count) {
    return tile{{count, size, streams * size + 7}, {streams, count * size + 2, size}};
  });
}

TEST_CASE("strided elements and the bytes between them") {
  check_tiles([](std::int64_t size, std::int64_t streams, std::int64_t count) {
    const std::int64_t row = count * (size + 3) + 2;
    return tile{{streams, count * 2 * size + 1, row}, {count, 2 * size, size + 3}};
  });
}

TEST_CASE("an element is broadcast along a row") {
  check_tiles([](std::int64_t size, std::int64_t streams, std::int64_t count) {
    return tile{{streams, size, count * size}, {count, 0, size}};
  });
}

TEST_CASE("a leaf repeats itself for every row of every slice") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 32768);
  for (const std::size_t element_size : element_sizes) {
    const auto size = static_cast<std::int64_t>(element_size);
    for (const std::int64_t count : {1, 3, 7, 20}) {
      const std::int64_t row = 3 * count * size + 1;
      const tile_axis rows{2, row, row + 2};
      const tile_axis slices{3, 2 * row + 5, 2 * row + 9};
      const tile shapes[] = {
          {{count, size, 3 * size}, {3, count * size, size}, element_size, rows, slices},
          {{3, size, count * size}, {count, 3 * size, size}, element_size, rows, slices},
          {{3, count * size, count * size}, {count, size, size}, element_size, rows, slices},
          {{count, 3 * size, 3 * size}, {3, 0, size}, element_size, rows, slices},
      };
      for (const tile& shape : shapes) {
        CAPTURE(element_size);
        CAPTURE(count);
        CHECK(leaves_move(shape, shape, true, bytes));
      }
    }
  }
}

TEST_CASE("rows are read backwards") {
  std::mt19937 random(1);
  for (const std::size_t element_size : element_sizes) {
    const auto size = static_cast<std::int64_t>(element_size);
    for (std::int64_t count = 1; count * size < 2 * 64; ++count) {
      CAPTURE(element_size);
      CAPTURE(count);
      const auto row = static_cast<std::size_t>(count * size);
      const auto source = test::draw_bytes(random, row);
      std::vector<std::byte> result(row);
      std::vector<std::byte> expected(row);
      for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(expected.data() + i * size, source.data() + (count - 1 - i) * size, element_size);
      }
      const tile t{{1, 0, 0}, {count, -size, size}, element_size};
      engine::all_movers().choose_leaf(t, true, 0)(t, source.data() + (count - 1) * size, result.data());
      CHECK(same(result, expected));
    }
  }
}

TEST_CASE("the leaf for a tile whose extents vary is right for each part of it") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 32768);
  for (const std::size_t element_size : element_sizes) {
    const auto size = static_cast<std::int64_t>(element_size);
    const tile shapes[] = {
        {{9, size, 4 * size}, {4, 9 * size, size}, element_size},
        {{4, size, 9 * size}, {9, 4 * size, size}, element_size},
        {{4, 9 * size, 9 * size}, {9, size, size}, element_size},
        {{4, 9 * size, 18 * size}, {9, size, 2 * size}, element_size},
    };
    for (const tile& whole : shapes) {
      for (std::int64_t outer = 1; outer <= whole.outer.extent; ++outer) {
        for (std::int64_t inner = 1; inner <= whole.inner.extent; ++inner) {
          CAPTURE(element_size);
          CAPTURE(outer);
          CAPTURE(inner);
          tile part = whole;
          part.outer.extent = outer;
          part.inner.extent = inner;
          CHECK(leaves_move(part, whole, false, bytes));
        }
      }
    }
  }
}

}  // namespace
}  // namespace reblock
