// SPDX-License-Identifier: BSD-3-Clause
//
// This program makes one of a few moves several times: `reblock_moves NUMBER CALLS`. It prints the bytes of the larger side.
// Without arguments, it prints the names of the moves. instructions.py counts its instructions.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <reblock/reblock.hpp>

namespace {

using reblock::tensor_view;
using reblock::view_values;

constexpr std::size_t most_bytes = std::size_t{1} << 20;

/// Returns an array that no other array of the program shares.
template <class T, int Number>
T* memory() {
  alignas(64) static std::array<std::byte, most_bytes> bytes{};
  return reinterpret_cast<T*>(bytes.data());
}

template <class T>
std::size_t permute(const view_values& extents, const view_values& axes) {
  const auto source = tensor_view<const T>(memory<T, 0>(), extents).permuted(axes);
  reblock::copy(source, tensor_view<T>(memory<T, 1>(), source.extents()));
  std::size_t bytes = sizeof(T);
  for (const std::int64_t extent : extents) bytes *= static_cast<std::size_t>(extent);
  return bytes;
}

constexpr reblock::window three_by_three{.sizes = 3, .start_padding = 1, .end_padding = 1};

struct move {
  const char* name;
  std::size_t (*make)();  ///< returns the bytes of the larger side
};

constexpr move moves[] = {
    {"memcpy",
     [] {
       std::memcpy(memory<float, 1>(), memory<float, 0>(), most_bytes / 4);
       return most_bytes / 4;
     }},
    {"depth_to_space by 2, float32 NCHW",
     [] {
       reblock::depth_to_space(tensor_view<const float>(memory<float, 0>(), {1, 64, 32, 32}),
                               tensor_view<float>(memory<float, 1>(), {1, 16, 64, 64}), 2);
       return sizeof(float) * 64 * 32 * 32;
     }},
    {"uint8 HWC to CHW", [] { return permute<std::uint8_t>({256, 256, 3}, {2, 0, 1}); }},
    {"float32 NCHW to NHWC, 64 channels", [] { return permute<float>({1, 64, 32, 32}, {0, 2, 3, 1}); }},
    {"uint8 NCHW to NHWC, 64 channels", [] { return permute<std::uint8_t>({1, 64, 64, 64}, {0, 2, 3, 1}); }},
    {"unfold 3x3, float32 NCHW",
     [] {
       reblock::unfold(tensor_view<const float>(memory<float, 0>(), {1, 8, 32, 32}),
                       tensor_view<float>(memory<float, 1>(), {1, 72, 1024}), three_by_three);
       return sizeof(float) * 72 * 1024;
     }},
    {"fold 3x3, float32 NCHW",
     [] {
       reblock::fold(tensor_view<const float>(memory<float, 0>(), {1, 72, 1024}),
                     tensor_view<float>(memory<float, 1>(), {1, 8, 32, 32}), three_by_three);
       return sizeof(float) * 72 * 1024;
     }},
    {"tokens of 16x16, float32 NCHW to (N, L, C*K)",
     [] {
       reblock::unfold(tensor_view<const float>(memory<float, 0>(), {1, 3, 128, 128}),
                       tensor_view<float>(memory<float, 1>(), {1, 768, 64}, {768 * 64, 1, 768}),
                       {.sizes = 16, .strides = 16});
       return sizeof(float) * 3 * 128 * 128;
     }},
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    for (const move& each : moves) std::puts(each.name);
    return 0;
  }
  const move& chosen = moves[std::strtoul(arguments[1], nullptr, 10)];
  std::size_t bytes = 0;
  for (auto calls = std::strtoul(arguments[2], nullptr, 10); calls > 0; --calls) bytes = chosen.make();
  std::printf("%zu\n", bytes);
}
