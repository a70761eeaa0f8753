// SPDX-License-Identifier: BSD-3-Clause
//
// This program measures the costs of detail/costs.hpp again. It draws layouts, asks every mover and every way for an offer,
// checks and times each, and compares the measured cycles to the estimated ones. See bench/README.md.
#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/lookup_move.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/padded_runner.hpp>
#include <reblock/detail/moves/padded_windows.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/moves/plane_move.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/reblock.hpp>

#include "drawn_layouts.hpp"

namespace {

using namespace reblock::bench;

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// Returns the seconds of the fastest run.
template <class Run>
double time_fastest(const Run& run) {
  constexpr double least_batch = 3e-5;  // seconds: the clock itself takes no longer than a thousandth of it
  constexpr int batches = 15;
  int runs = 1;
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < batches;) {
    const auto start = clock::now();
    for (int k = 0; k < runs; ++k) run();
    const double seconds = seconds_since(start);
    if (seconds < least_batch) {
      runs *= 2;
      continue;
    }
    fastest = std::min(fastest, seconds / runs);
    ++i;
  }
  return fastest;
}

/// Measures the cycles of a second. A product that waits for another one takes 3 cycles, on nearly every processor.
double measure_clock() {
  constexpr int products = 1 << 16;
  volatile std::uint64_t factor = 0x9E3779B97F4A7C15;
  const double seconds = time_fastest([&factor] {
    const std::uint64_t by = factor;
    std::uint64_t product = by;
    for (int i = 0; i < products; ++i) product *= by;
    factor = product;
  });
  return 3 * products / seconds;
}

/// A group has the ratios of measured to estimated cycles of one mover or way, for elements of some size.
struct group {
  static constexpr std::int64_t other_size = 17;

  std::string_view name;
  std::int64_t element_size;  ///< bytes; other_size: neither of 1, 2, 4, 8 and 16
  friend auto operator<=>(const group&, const group&) = default;
};

struct ratios {
  std::vector<double> values;

  void add(double value) { values.push_back(value); }
  double mean() const {
    double sum = 0;
    for (const double value : values) sum += std::log(value);
    return std::exp(sum / static_cast<double>(values.size()));
  }
  /// Sorts the ratios, and returns the one that this share of them does not exceed.
  double at(double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  }
};

constexpr std::string_view name_of_mover(mover_kind kind) {
  switch (kind) {
    case mover_kind::runs: return "runs";
    case mover_kind::spaced_runs: return "spaced runs";
    case mover_kind::squares: return "squares";
    case mover_kind::few_streams: return "few streams";
    default: return "wide streams";
  }
}

struct options {
  std::int64_t layouts = 2000;
  std::int64_t first = 0;
  bool prints_each = false;
};

/// A measurement tries all offers for some layouts.
class measurement {
 public:
  explicit measurement(const options& wanted) : options_(wanted), clock_(measure_clock()) {}

  /// Tries the layout with this number. Every third one has windows.
  void try_layout(std::int64_t number) {
    std::mt19937 random(static_cast<std::uint32_t>(number));
    const drawn_layout drawn = number % 3 == 2 ? draw_windows(random) : draw_blocks(random);
    number_ = number;
    source_ = draw_bytes(random, drawn.source_bytes);
    expected_.assign(static_cast<std::size_t>(drawn.destination_bytes), std::byte{0});
    reblock::axis_values positions =
        reblock::axis_values::repeat(std::max<std::size_t>(1, drawn.moves.bound_count), 0);
    for (std::size_t b = 0; b < drawn.moves.bound_count; ++b) positions[b] = drawn.moves.bounds[b].offset;
    move_elements(drawn, 0, positions, source_.data(), drawn.moves.source_offset,
                  expected_.data() + drawn.moves.destination_offset);
    best_ = std::numeric_limits<double>::infinity();
    layout simple;
    simple.take(drawn.moves);
    const std::int64_t size = simplify(simple, drawn.element_size);
    if (has_bounds(simple)) {
      try_windows(drawn, simple, size);
    } else {
      try_blocks(simple, size);
    }
    try_way<lookup_move>("lookups", simple, size);
    try_planned(drawn);
  }

  void print() {
    std::printf("\nmeasured / estimated cycles\n%-14s %5s %6s %6s %6s %6s\n", "mover or way", "bytes",
                "count", "10th", "mean", "90th");
    for (auto& [of, found] : groups_) {
      const std::string size =
          of.element_size == group::other_size ? "other" : std::to_string(of.element_size);
      std::printf("%-14s %5s %6zu %6.2f %6.2f %6.2f\n", std::string(of.name).c_str(), size.c_str(),
                  found.values.size(), found.at(0.1), found.mean(), found.at(0.9));
    }
    if (losses_.values.empty()) return;
    std::printf(
        "\nthe plan's time / the best offer's: mean %.3f, 90th percentile %.2f, worst %.2f (layout %lld)\n",
        losses_.mean(), losses_.at(0.9), losses_.at(1), static_cast<long long>(worst_));
  }

  double clock_in_gigahertz() const { return clock_ / 1e9; }
  bool is_right() const { return is_right_; }

 private:
  /// Tries each mover of blocks, and blocks through a buffer.
  void try_blocks(const layout& simple, std::int64_t size) {
    staged_move planned;
    const double cost = plan_blocks(planned, simple, size, set_);
    const block_offers offers(simple, size, set_);
    offers.for_each_offer(buffered_side::none, [&](mover_kind kind, const block_offer& offer) {
      staged_move direct = planned;
      direct.is_staged = false;
      direct.second = offer.move;
      try_offer(name_of_mover(kind), size, offer.cost, direct);
    });
    if (planned.is_staged) try_offer("staged blocks", size, cost, planned);
  }

  /// Tries the ways of layouts with bounds.
  void try_windows(const drawn_layout& drawn, const layout& simple, std::int64_t size) {
    try_way<plane_move>("planes", simple, size);
    const padded_move windows({drawn.moves, drawn.element_size}, set_);
    try_offer("padded windows", drawn.element_size, windows.cost(), windows);
  }

  template <class Way>
  void try_way(std::string_view name, const layout& moves, std::int64_t element_size) {
    Way way;
    const double cost = way.plan(moves, element_size, set_);
    try_offer(name, element_size, cost, way);
  }

  template <class Way>
  void try_offer(std::string_view name, std::int64_t element_size, double cost, const Way& way) {
    try_run(name, element_size, cost, [&](const std::byte* from, std::byte* to) { way.run(from, to); });
  }

  /// Checks and times an offer, unless it cannot be done.
  template <class Run>
  void try_run(std::string_view name, std::int64_t element_size, double cost, const Run& run) {
    if (cost == never) return;
    const double seconds = check_and_time(name, run);
    best_ = std::min(best_, seconds);
    const bool is_usual = element_size <= 16 && std::has_single_bit(static_cast<std::uint64_t>(element_size));
    groups_[{name, is_usual ? element_size : group::other_size}].add(seconds * clock_ / cost);
    print_each(name, element_size, seconds, cost);
  }

  /// Tries what the library itself would do.
  void try_planned(const drawn_layout& drawn) {
    const operation planned(padded_request{drawn.moves, drawn.element_size});
    reblock::serial_executor serial;
    const double seconds = check_and_time(
        "the plan", [&](const std::byte* from, std::byte* to) { planned.run(from, to, serial); });
    const double loss = seconds / std::min(seconds, best_);
    if (losses_.values.empty() || loss > worst_loss_) {
      worst_loss_ = loss;
      worst_ = number_;
    }
    losses_.add(loss);
    print_each("the plan", drawn.element_size, seconds, 0);
  }

  template <class Run>
  double check_and_time(std::string_view name, const Run& run) {
    result_.assign(expected_.size(), std::byte{0xA5});
    run(source_.data(), result_.data());
    if (result_ != expected_) {
      std::printf("layout %lld: %s is wrong\n", static_cast<long long>(number_), std::string(name).c_str());
      is_right_ = false;
    }
    return time_fastest([&] { run(source_.data(), result_.data()); });
  }

  void print_each(std::string_view name, std::int64_t element_size, double seconds, double cost) const {
    if (!options_.prints_each) return;
    std::printf("layout %lld, %-14s elements of %lld bytes, %zu KiB: %.0f cycles",
                static_cast<long long>(number_), std::string(name).c_str(),
                static_cast<long long>(element_size), expected_.size() / 1024, seconds * clock_);
    if (cost > 0) std::printf(", estimated %.0f", cost);
    std::printf("\n");
  }

  options options_;
  double clock_;  ///< cycles of a second
  instruction_set set_ = usable_instruction_set();
  std::map<group, ratios> groups_;
  ratios losses_;
  double worst_loss_ = 0;
  std::int64_t worst_ = 0;  ///< the number of a layout
  bool is_right_ = true;

  std::int64_t number_ = 0;
  std::vector<std::byte> source_;
  std::vector<std::byte> expected_;
  std::vector<std::byte> result_;
  double best_ = 0;  ///< seconds
};

constexpr const char* usage =
    "usage: reblock_costs [--layouts COUNT] [--first NUMBER] [--each]\n"
    "Print measured / estimated cycles of each mover and each way, for the instruction set of REBLOCK_ISA.\n"
    "  --layouts COUNT  draw so many layouts (2000)\n"
    "  --first NUMBER   the number of the first layout (0); a number always means the same layout\n"
    "  --each           print a line for each offer\n";

/// Reads the arguments. Returns whether they are right.
bool read_options(int count, char** arguments, options& read) {
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--each") {
      read.prints_each = true;
      continue;
    }
    if ((name != "--layouts" && name != "--first") || i + 1 == count) return false;
    const std::string_view text = arguments[++i];
    std::int64_t& value = name == "--first" ? read.first : read.layouts;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size() || value < 0) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  options wanted;
  if (!read_options(argc, argv, wanted)) {
    std::fputs(usage, stderr);
    return 2;
  }
  measurement measured(wanted);
  std::printf("instruction set %s, %.2f GHz, %lld layouts\n",
              std::string(name_of(usable_instruction_set())).c_str(), measured.clock_in_gigahertz(),
              static_cast<long long>(wanted.layouts));
  for (std::int64_t i = 0; i < wanted.layouts; ++i) measured.try_layout(wanted.first + i);
  measured.print();
  return measured.is_right() ? 0 : 1;
}
