// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts without bounds that are moved block by block, planned for each instruction set that the processor has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/moves/offers/runs_offer.hpp>
#include <reblock/detail/moves/offers/squares_offer.hpp>
#include <reblock/detail/moves/offers/streams_offer.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>
#include <reblock/window.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../../executors.hpp"
#include "../../oracle.hpp"
#include "../../strided_tensor.hpp"
#include "../drawn_ways.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::all_instruction_sets;
using test::draw;
using test::draw_element_size;
using test::draw_permutation;
using test::drawn_windows;
using test::flip_coin;
using test::trial;

/// As plan_unbounded(), for any instruction set.
staged_move plan_for(const test::moves& moves, instruction_set set,
                     buffered_side buffer = buffered_side::none) {
  staged_move blocks{};
  layout simple;
  simple.take(moves.layout);
  const std::int64_t size = simplify(simple, moves.element_size);
  plan_blocks(blocks, simple, size, set, buffer);
  return blocks;
}

enum class mover_kind : std::uint8_t {
  words,
  spaced_words,
  short_runs,
  long_runs,
  runs_over,
  squares,
  interleaved,
  separated
};
constexpr std::size_t mover_kinds = 8;

mover_kind kind_of(const block_move& move) {
  if (move.are_runs) {
    if (move.are_spaced) return mover_kind::spaced_words;
    if (move.exact > 0) return mover_kind::runs_over;
    const std::int64_t size = move.element_size;
    if (size <= 32 && (size & (size - 1)) == 0) return mover_kind::words;
    return size < 64 ? mover_kind::short_runs : mover_kind::long_runs;
  }
  if (move.dense_columns) return mover_kind::interleaved;
  if (move.dense_rows) return mover_kind::separated;
  return mover_kind::squares;
}

/// What plans were made of.
struct tally {
  int staged = 0;
  int direct = 0;
  int direct_by[mover_kinds] = {};
  int filled_by[mover_kinds] = {};
  int emptied_by[mover_kinds] = {};

  void count(const staged_move& blocks) {
    ++(blocks.is_staged ? staged : direct);
    const auto at = [](const block_move& move) { return static_cast<std::size_t>(kind_of(move)); };
    if (blocks.is_staged) ++filled_by[at(blocks.first)];
    ++(blocks.is_staged ? emptied_by : direct_by)[at(blocks.second)];
  }
  int of(mover_kind kind) const {
    const auto i = static_cast<std::size_t>(kind);
    return direct_by[i] + filled_by[i] + emptied_by[i];
  }
};

TEST_CASE("any layout without bounds is moved in blocks") {
  for (const unsigned seed : test::seeds(2000, 150)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::moves drawn = test::draw_moves(random, 0);
    const trial t(random, test::in_tight_buffers(drawn.layout, drawn.element_size));
    for (const instruction_set set : all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      CHECK(t.is_moved_by(plan_for(t.moves, set)));
      CHECK(t.is_moved_by(plan_for(t.moves, set, buffered_side::destination)));
    }
    staged_move blocks{};
    plan_unbounded(blocks, t.moves.layout, t.moves.element_size);
    CHECK(t.is_moved_by(blocks));
  }
}

TEST_CASE("large permutations are moved at once or by way of a buffer, by movers of all kinds") {
  tally all;
  for (const unsigned seed : test::seeds(3000, 200)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t most_bytes = std::int64_t{1} << draw(random, 9, draw(random, 0, 3) == 0 ? 18 : 16);
    const trial t(random, draw_permutation(random, most_bytes));
    for (const instruction_set set : all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      const staged_move blocks = plan_for(t.moves, set);
      all.count(blocks);
      CHECK(t.is_moved_by(blocks));
    }
  }
  const int least = test::enough(20);
  CHECK(all.staged >= least);
  CHECK(all.direct >= least);
  CHECK(all.of(mover_kind::words) >= least);
  CHECK(all.of(mover_kind::spaced_words) >= least);
  CHECK(all.of(mover_kind::short_runs) >= least);
  CHECK(all.of(mover_kind::long_runs) >= least);
  CHECK(all.of(mover_kind::runs_over) >= least);
  CHECK(all.of(mover_kind::squares) >= least);
  const bool looks_up = detect_instruction_set() != instruction_set::baseline;
  CHECK((all.of(mover_kind::interleaved) >= least || !looks_up));
  CHECK((all.of(mover_kind::separated) >= least || !looks_up));
}

/// Whether the mover fills rows with one element each.
bool fills_rows(const block_move& move) {
  const auto size = static_cast<std::size_t>(move.element_size);
#if defined(__GNUC__) && defined(__x86_64__)
  if (move.mover == avx2::fill_mover(size)) return true;
#endif
  return move.mover == baseline::fill_mover(size);
}

TEST_CASE("rows are filled with elements that repeat along them") {
  int filled = 0;
  for (const unsigned seed : test::seeds(1000, 100)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = draw_element_size(random);
    const axis_values extents = test::draw_extents(random, static_cast<std::size_t>(draw(random, 1, 5)),
                                                   (std::int64_t{1} << 15) / element_size);
    axis_values source = test::draw_strides(random, extents, element_size, flip_coin(random));
    axis_values destination = test::draw_strides(random, extents, element_size, flip_coin(random));
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (destination[i] <= 2 * element_size || draw(random, 0, 3) == 0) source[i] = 0;
    }
    test::turn(random, destination);
    layout repeated;
    for (std::size_t i = 0; i < extents.size(); ++i) repeated.add({extents[i], source[i], destination[i]});
    const trial t(random, test::in_tight_buffers(repeated, element_size));
    for (const instruction_set set : all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      const staged_move blocks = plan_for(t.moves, set);
      CHECK(t.is_moved_by(blocks));
      filled += !blocks.is_staged && fills_rows(blocks.second) ? 1 : 0;
    }
  }
  CHECK(filled >= test::enough(20));
}

#if defined(__GNUC__) && defined(__x86_64__)
/// Whether a mover is one of those that need AVX2.
bool needs_wide_registers(const block_move& move) {
  const auto size = static_cast<std::size_t>(move.element_size);
  if (move.mover == avx2::fill_mover(size)) return true;
  if (move.are_spaced) return size == 32 && move.mover == avx2::spaced_mover<>(size);
  if (move.are_runs) return false;
  if (move.mover == avx2::square_mover(size)) return true;
  for (std::size_t few = 2; few <= 16 / size; ++few) {
    if (move.mover == avx2::few_streams_mover(size, few, false)) return true;
    if (move.mover == avx2::few_streams_mover(size, few, true)) return true;
  }
  return false;
}

TEST_CASE("plans for processors without AVX2 do without it") {
  for (const unsigned seed : test::seeds(500, 100)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::moves moves = draw_permutation(random, 1 << 15);
    for (const instruction_set set : {instruction_set::baseline, instruction_set::ssse3}) {
      INFO("instruction set ", std::string(name_of(set)));
      const staged_move blocks = plan_for(moves, set);
      CHECK_FALSE(needs_wide_registers(blocks.second));
      if (blocks.is_staged) CHECK_FALSE(needs_wide_registers(blocks.first));
    }
  }
}
#endif

TEST_CASE("nothing is moved where there are no elements") {
  layout l;
  l.add({3, 8, 4});
  l.add({0, 4, 12});
  staged_move blocks{};
  CHECK(plan_unbounded(blocks, l, 4) == 0);
  CHECK(blocks.is_empty());
  blocks.run(nullptr, nullptr);
}

TEST_CASE("the parts of an axis that is gone through in pieces give the whole when they are run apart") {
  int staged = 0;
  int direct = 0;
  for (const unsigned seed : test::seeds(1500, 100)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const trial t(random, draw_permutation(random, std::int64_t{1} << draw(random, 9, 17)));
    for (const instruction_set set : all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      const staged_move whole = plan_for(t.moves, set);
      CHECK(test::is_moved_in_parts(random, t, whole, whole.is_staged ? staged : direct));
    }
  }
  CHECK(staged >= test::enough(20));
  CHECK(direct >= test::enough(20));
}

TEST_CASE("blocks whose columns follow each other in the source follow each other in time") {
  layout l;  // patches of 14 x 14 return to an image: the columns are 18 patches of a row of patches
  l.add({32, 254016, 254016});
  l.add({18, 72, 14112});
  l.add({14, 18144, 1008});
  l.add({18, 4, 56});
  l.add({14, 1296, 4});
  for (const instruction_set set : all_instruction_sets()) {
    INFO("instruction set ", std::string(name_of(set)));
    const block_move direct = offer_block(l, 4, set, buffered_side::none).move;
    REQUIRE(!direct.are_runs);
    CHECK(direct.axes[direct.repeated - std::size_t{1}].source_stride == 72);
    const block_move from_buffer = offer_block(l, 4, set, buffered_side::source).move;
    CHECK(from_buffer.axes[from_buffer.repeated - std::size_t{1}].source_stride != 72);
  }
}

/// Transposes rows of 64 columns, whose places in the destination have these axes.
layout transposed(std::initializer_list<std::pair<std::int64_t, std::int64_t>> columns) {
  layout l;
  std::int64_t source = 4;
  for (const auto& [extent, stride] : columns) {
    l.add({extent, source, stride});
    source *= extent;
  }
  l.add({32, 1000, 4});
  return l;
}

TEST_CASE("squares write whole lines where the columns' lines would share sets of the cache") {
  struct known {
    layout moves;
    int lines;
  };
  const known all[] = {
      {transposed({{64, 4096}}), 1},
      {transposed({{64, 512}}), 0},  // 8 sets, and 8 lines of each
      {transposed({{64, 1024}}), 1},
      {transposed({{64, 1000}}), 0},
      {transposed({{8, 4096}}), 0},
      {transposed({{9, 4096}}), 1},
      {transposed({{4, 200}, {16, 8192}}), 1},
      {transposed({{8, 512}, {8, 65600}}), 0},  // a line further in each row
      {transposed({{8, 8192}, {8, 128 * 8192}}), 1},
  };
  for (const known& k : all) {
    for (const instruction_set set : all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      const block_move move = offer_block(k.moves, 4, set, buffered_side::none).move;
      REQUIRE(!move.are_runs);
      CHECK(int{move.lines_at_once} == k.lines);
    }
  }
}

TEST_CASE(
    "squares of large moves write some lines of a column together, unless the lines of the rows collide") {
  const auto lines = [](std::int64_t element_size, std::int64_t source_row, std::int64_t repeats) {
    layout l;
    l.add({repeats, 64 * source_row, 64 * 64 * element_size});
    l.add({64, element_size, 64 * element_size});
    l.add({64, source_row, element_size});
    const offered_layout of(l, element_size, usable_instruction_set());
    return int{offer_squares(of, buffered_side::none).move.lines_at_once};
  };
  CHECK(lines(4, 1000, 1) == 0);  // the first-level cache holds both sides
  for (const std::int64_t element_size : {2, 4, 8}) {
    CAPTURE(element_size);
    CHECK(lines(element_size, 1000, 16) == (joins_near_lines() ? 4 : 0));
    CHECK(lines(element_size, 4096, 16) == (joins_near_lines() ? 1 : 0));
  }
  CHECK(lines(4, 1000, 100) == 4);
  CHECK(lines(4, 4096, 100) == 1);
  CHECK(lines(8, 1000, 100) == 0);  // of larger elements, rows are read together
}

TEST_CASE("a large move repeats its block in the order in which it waits less for the caches") {
  constexpr std::int64_t near = 32 * 64 * 8;  // bytes from block to block on one side
  constexpr std::int64_t far = 8 * near;
  for (const bool by_source : {false, true}) {
    layout l;
    l.add({8, by_source ? near : 100 * near, by_source ? 100 * near : near});
    l.add({100, by_source ? far : near, by_source ? near : far});
    l.add({32, 8, 64 * 8});
    l.add({64, 32 * 8, 8});
    const offered_layout of(l, 8, usable_instruction_set());
    const block_move move = offer_squares(of, buffered_side::none).move;
    REQUIRE(move.repeated == 2);
    block_move other = move;
    std::swap(other.axes[0], other.axes[1]);
    CHECK(of.cost_of_places(move, buffered_side::none, 0) <=
          of.cost_of_places(other, buffered_side::none, 0));
  }
}

TEST_CASE(
    "squares cost more if their rows or columns share sets of the cache, and a buffer then costs less") {
  const auto squares = [](std::int64_t source_row, std::int64_t destination_row) {
    layout l;  // bytes
    l.add({64, 1, destination_row});
    l.add({63, 64, 80});
    l.add({80, source_row, 1});
    return l;
  };
  const auto plan = [](const layout& moves, instruction_set set) {
    staged_move blocks;
    const double cost = plan_blocks(blocks, moves, 1, set);
    CHECK(blocks.is_staged ==
          (cost < offer_squares(offered_layout(moves, 1, set), buffered_side::none).cost));
    return std::pair(cost, blocks.is_staged);
  };
  for (const instruction_set set : all_instruction_sets()) {
    INFO("instruction set ", std::string(name_of(set)));
    const auto [usual, is_usual_staged] = plan(squares(4128, 5160), set);
    CHECK_FALSE(is_usual_staged);
    CHECK(plan(squares(4096, 5160), set).first > 1.2 * usual);
    CHECK(plan(squares(4128, 8192), set).first > 1.2 * usual);
    CHECK(plan(squares(4096, 8192), set).second);
  }
}

TEST_CASE("runs cost more if lines evict each other before their rest is read") {
  const auto cost = [](std::int64_t apart, buffered_side buffer) {
    layout l;  // a line has two runs: the second one comes after ten lines
    l.add({128, 64, 8960});
    l.add({14, 10 * apart, 640});
    l.add({2, 32, 320});
    l.add({10, apart, 32});
    const offered_layout of(l, 32, detect_instruction_set());
    return runs_offer(of).offer(buffer).cost;
  };
  CHECK(cost(8192, buffered_side::none) > 1.2 * cost(8192 + 64, buffered_side::none));
  CHECK(cost(8192, buffered_side::source) == cost(8192 + 64, buffered_side::source));
}

TEST_CASE("columns are separated in the order of the output where their lines would evict each other") {
  for (const instruction_set set : all_instruction_sets()) {
    if (set < instruction_set::ssse3) continue;
    INFO("instruction set ", std::string(name_of(set)));
    for (const std::int64_t apart : {std::int64_t{12288}, std::int64_t{12480}}) {
      layout l;  // the blocks of an image: four columns of seven rows become planes
      l.add({7, 96, 4 * apart});
      l.add({4, 2, apart});
      l.add({apart / 24, 672, 24});
      l.add({12, 8, 2});
      const offered_layout of(l, 2, set);
      const block_offer offer = streams_offer(of, buffered_side::none).offer_few();
      REQUIRE(offer.cost < never);
      REQUIRE(offer.move.repeated == 2);
      CHECK(offer.move.axes[1].source_stride == (apart == 12288 ? 672 : 96));
    }
  }
}

/// Elements whose moves are so large that each block asks for the lines of the next one, with some instruction set.
test::moves draw_far(std::mt19937& random) {
  constexpr std::int64_t most_bytes = 12 * 1024 * 1024;
  for (;;) {
    const test::moves drawn = draw_permutation(random, most_bytes);
    const auto bytes = static_cast<double>(total_bytes(drawn.layout, drawn.element_size));
    if (bytes <= cache_sizes::far_moves) continue;
    for (const instruction_set set : all_instruction_sets()) {
      const staged_move blocks = plan_for(drawn, set);
      if (!blocks.is_staged && blocks.second.is_far) return drawn;
    }
  }
}

TEST_CASE("blocks of few rows or columns are moved in rectangles") {
  const auto is_moved_by = [](block_mover mover, std::int64_t size, std::int64_t rows, std::int64_t columns) {
    layout l;  // matrices are transposed
    l.add({50, 2 * rows * columns * size, 3 * rows * columns * size});
    l.add({columns, size, 2 * rows * size});
    l.add({rows, 2 * columns * size, size});
    const offered_layout of(l, size, instruction_set::baseline);
    return offer_squares(of, buffered_side::none).move.mover == mover;
  };
  CHECK(is_moved_by(baseline::rectangle_mover<>(1, 8, 16), 1, 9, 70));
  CHECK(is_moved_by(baseline::rectangle_mover<>(1, 16, 4), 1, 70, 7));
  CHECK(is_moved_by(baseline::rectangle_mover<>(2, 4, 4), 2, 7, 7));
  CHECK(is_moved_by(nullptr, 2, 3, 9));
  CHECK(is_moved_by(baseline::square_mover<>(4), 4, 4, 4));
  CHECK(is_moved_by(nullptr, 1, 7, 7));  // they would fill one register
  CHECK(is_moved_by(nullptr, 8, 2, 1));
}

TEST_CASE("blocks of large moves are all moved, at once and in parts") {
  int cut = 0;
  for (const unsigned seed : test::seeds(24, 2)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const trial t(random, draw_far(random));
    for (const instruction_set set : all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      const staged_move blocks = plan_for(t.moves, set);
      CHECK(t.is_moved_by(blocks));
      if (blocks.is_staged || !blocks.second.is_far) continue;
      CHECK(test::is_moved_in_parts(random, t, blocks, cut));
    }
  }
  CHECK(cut >= test::enough(20));
}

TEST_CASE("large moves by way of a buffer ask for lines while they move others") {
  layout l;  // bytes, whose rows and columns share sets of the cache
  l.add({64, 1, 24576});
  l.add({300, 64, 80});
  l.add({80, 20480, 1});
  std::mt19937 random(1);
  const trial t(random, test::in_tight_buffers(l, 1));
  for (const instruction_set set : all_instruction_sets()) {
    INFO("instruction set ", std::string(name_of(set)));
    const staged_move blocks = plan_for(t.moves, set);
    REQUIRE(blocks.is_staged);
    CHECK(static_cast<double>(blocks.total_bytes) > cache_sizes::second_level);
    CHECK(t.is_moved_by(blocks));
  }
}

TEST_CASE("large moves of small blocks take many of them at once, but not all") {
  layout l;  // matrices of 20 x 20 bytes are transposed
  l.add({17000, 400, 400});
  l.add({20, 1, 20});
  l.add({20, 20, 1});
  std::mt19937 random(1);
  const trial t(random, test::in_tight_buffers(l, 1));
  for (const instruction_set set : all_instruction_sets()) {
    INFO("instruction set ", std::string(name_of(set)));
    const staged_move blocks = plan_for(t.moves, set);
    REQUIRE(blocks.second.is_far);
    CHECK(blocks.second.axes[0].at_once > 10);
    CHECK(blocks.second.axes[0].pieces() > 10);
    CHECK(t.is_moved_by(blocks));
  }
}

TEST_CASE("blocks ask for the lines of the next one only if a move is large") {
  const auto is_far = [](std::int64_t rows, std::int64_t element_size, buffered_side buffer) {
    layout l;  // a matrix is transposed
    l.add({1100, element_size, rows * element_size});
    l.add({rows, 1100 * element_size, element_size});
    staged_move blocks{};
    plan_blocks(blocks, l, element_size, detect_instruction_set(), buffer);
    if (blocks.second.is_far) {
      CHECK(blocks.second.axes[0].at_once * element_size <= cache_sizes::far_run);
      CHECK(blocks.second.axes[1].at_once * element_size <= cache_sizes::far_run);
    }
    return blocks.second.is_far;
  };
  CHECK(is_far(6000, 1, buffered_side::none));
  CHECK(is_far(3000, 2, buffered_side::none));
  CHECK(is_far(1500, 4, buffered_side::none));
  CHECK(is_far(800, 8, buffered_side::none));
  CHECK(is_far(400, 16, buffered_side::none));
  CHECK_FALSE(is_far(900, 1, buffered_side::none));
  CHECK_FALSE(is_far(6000, 1, buffered_side::destination));
  CHECK(is_far(40000, 1, buffered_side::none) != has_streams);  // it goes past the caches instead
}

/// The elements of a tensor as they lie in memory: the axes in some order, the outermost first, without gaps.
axis_values strides_in_order(const axis_values& extents, const std::vector<std::size_t>& order) {
  axis_values strides = extents;
  std::int64_t stride = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = stride;
    stride *= extents[order[k]];
  }
  return strides;
}

template <class T>
std::vector<T> in_memory(const oracle::tensor<T>& tensor, const axis_values& strides) {
  std::vector<T> values(tensor.values.size());
  std::size_t number = 0;
  axis_values index = axis_values::repeat(strides.size(), 0);
  std::int64_t place = 0;
  for (const T& value : tensor.values) {  // in C order: an index is counted up from its last axis on
    values[static_cast<std::size_t>(place)] = value;
    if (++number == tensor.values.size()) break;
    std::size_t i = strides.size() - 1;
    for (; index[i] + 1 == tensor.extents[i]; --i) {
      place -= index[i] * strides[i];
      index[i] = 0;
    }
    ++index[i];
    place += strides[i];
  }
  return values;
}

/// An image of two axes with channels second, and windows over it. In one of four trials they lie side by side.
drawn_windows draw_fold(std::mt19937& random, std::int64_t most_columns) {
  for (;;) {
    const axis_values spatial = test::draw_values(random, 2, 1, 40);
    window w{.sizes = test::draw_values(random, 2, 1, 5),
             .strides = test::draw_values(random, 2, 1, 3),
             .dilations = test::draw_values(random, 2, 1, 2),
             .start_padding = test::draw_values(random, 2, 0, 2),
             .end_padding = test::draw_values(random, 2, 0, 2)};
    axis_values extents = spatial;
    if (draw(random, 0, 3) == 0) {
      w = {.sizes = w.sizes.values(),
           .strides = w.sizes.values(),
           .dilations = axis_values::repeat(2, 1),
           .start_padding = axis_values::repeat(2, 0),
           .end_padding = axis_values::repeat(2, 0)};
      for (std::size_t d = 0; d < 2; ++d)
        extents[d] += w.sizes.values()[d] - extents[d] % w.sizes.values()[d];
      if (extents[0] > 40 || extents[1] > 40) continue;
    }
    const axis_values counts = oracle::block_counts(extents, w);
    if (std::count(counts.begin(), counts.end(), 0) != 0) continue;
    const axis_values image = oracle::join(draw(random, 1, 2), draw(random, 1, 20), extents, 1);
    if (oracle::volume(oracle::columns_extents(image, w, 1)) > most_columns) continue;
    return {image, w, 1};
  }
}

/// Folds columns (n, c k, l) to an image (n, c, h, w), for every order in memory in which they usually are. Returns how many
/// chunks there were at most.
template <class T>
std::size_t check_fold_in_every_order(std::mt19937& random, std::int64_t most_columns) {
  const drawn_windows drawn = draw_fold(random, most_columns);
  const axis_values& image = drawn.image;
  const axis_values extents = oracle::columns_extents(image, drawn.window, 1);
  CAPTURE(image);
  CAPTURE(drawn.window.sizes);
  CAPTURE(drawn.window.strides);
  CAPTURE(drawn.window.dilations);
  CAPTURE(drawn.window.start_padding);
  CAPTURE(drawn.window.end_padding);
  auto values = test::draw_integers<T>(random, extents);
  // wraps or rounds
  for (T& value : values.values) value = static_cast<T>(static_cast<T>(value * T{29}) / T{3});
  const oracle::tensor<T> expected = oracle::fold(values, image, drawn.window);
  std::size_t most = 0;
  const std::vector<std::size_t> columns_orders[] = {{0, 1, 2}, {0, 2, 1}};
  const std::vector<std::size_t> image_orders[] = {{0, 1, 2, 3}, {0, 2, 3, 1}};
  for (const auto& columns_order : columns_orders) {
    const axis_values columns_strides = strides_in_order(extents, columns_order);
    const std::vector<T> columns = in_memory(values, columns_strides);
    for (const auto& image_order : image_orders) {
      for (const std::size_t chunks : {1u, 3u}) {
        INFO("blocks last ", columns_order[2] == 2, ", channels last ", image_order[3] == 1, ", chunks ",
             chunks);
        test::strided_tensor<T> result(image, strides_in_order(image, image_order));
        test::backward_executor executor{chunks};
        fold(tensor_view<const T>(columns.data(), extents, columns_strides), result.view(), drawn.window,
             executor);
        CHECK(result.holds_exactly(expected));
        most = std::max(most, executor.chunks);
      }
    }
  }
  return most;
}

TEST_CASE_TEMPLATE("fold sums in every memory order of columns and image", T, std::uint8_t, std::int16_t,
                   float, double) {
  std::size_t chunks = 0;
  for (const unsigned seed : test::seeds(150, 12)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    chunks = std::max(chunks, check_fold_in_every_order<T>(random, test::is_thorough() ? 200000 : 80000));
  }
  CHECK(chunks > 1);
}

}  // namespace
}  // namespace reblock
