// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface makes operators for the CPU from DirectML's descriptions (reblock/directml.h). It is for C11 and C++.
// The library is reblock::c for CMake and reblock-c for pkg-config.
//
// Errors. A call that fails returns a status, sets the message of reblock_last_error() and writes to no buffer. Nothing
// throws, and nothing ends the program. Null pointers, each member of a description and the sizes of buffers are checked
// before a byte is written. The caller makes sure that each pointer is null or valid for its type.
//
// Memory. reblock_operator_create() copies a description, so the description need not outlive the call. No other call
// allocates, except the first reblock_operator_dispatch() with several threads, which starts them.
//
// Threads. Any number of threads may call anything at once, also on the same operator, as long as no thread destroys an
// operator that others use. Each thread keeps its last message, its last two tables and the last plans of boxes, in 20 KiB
// of thread_local memory. If the library was loaded later, the loader allocates them when a thread first needs them.
//
// Stack. A call takes up to 104 KiB of stack. Threads with 128 KiB, the default of musl, can call everything.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <reblock/directml.h>

#if defined(_WIN32) && defined(REBLOCK_C_EXPORTS)
#define REBLOCK_C_FUNCTION __declspec(dllexport)
#elif defined(__GNUC__)
#define REBLOCK_C_FUNCTION __attribute__((visibility("default")))
#else
#define REBLOCK_C_FUNCTION
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/// A call returns one of these values.
typedef enum reblock_status {
  REBLOCK_SUCCESS = 0,
  REBLOCK_INVALID_ARGUMENT =
      1,  ///< a null pointer, a description that does not fit, buffers that share memory
  REBLOCK_UNSUPPORTED_OPERATOR = 2,  ///< a Type that is not one of the six operators of reblock/directml.h
  REBLOCK_BUFFER_TOO_SMALL = 3,
  REBLOCK_OUT_OF_MEMORY = 4  ///< no memory for the operator, or for the first threads
} reblock_status;

/// A reblock_operator has been checked and planned. It never changes.
typedef struct reblock_operator reblock_operator;

/// Checks a description and plans its operator, which the caller destroys. `*op` is null after an error.
///
/// The two tensors have the same DataType and the Sizes below. B is BlockSize, K is the product of WindowSizes, and L is
/// the number of window positions:
///
///     DEPTH_TO_SPACE, DEPTH_TO_SPACE1   {N, C*B*B, H, W} to {N, C, H*B, W*B}     {1, 8, 2, 3} to {1, 2, 4, 6}
///     SPACE_TO_DEPTH, SPACE_TO_DEPTH1   {N, C, H*B, W*B} to {N, C*B*B, H, W}     {1, 2, 4, 6} to {1, 8, 2, 3}
///     UNFOLD                            {N, C, H, W} to {N, C*K, L}              {1, 1, 5, 5} to {1, 9, 9}
///     FOLD                              {N, C*K, L} to {N, C, H, W}              {1, 9, 4} to {1, 1, 4, 4}
///
/// UNFOLD and FOLD take 1 to 6 spatial sizes in place of H, W. Their columns {N, C*K, L} may have leading sizes of 1 up to
/// the DimensionCount of the image.
///
/// A tensor may have any Strides; Strides of OutputTensor must not make elements overlap. Flags must be
/// DML_TENSOR_FLAG_NONE: an operator keeps no tensor. TotalTensorSizeInBytes must be at least the result of
/// reblock_buffer_tensor_size(). GuaranteedBaseOffsetAlignment must be 0, or a power of two not below the bytes of an
/// element. Buffers may have any alignment nevertheless.
///
/// With a `feature_level`, the call refuses descriptions that DirectML does not take at this level. (DML_FEATURE_LEVEL)0
/// means no level: all types are possible, and depth and space may have 1 to 6 spatial sizes.
REBLOCK_C_FUNCTION reblock_status reblock_operator_create(const DML_OPERATOR_DESC* desc,
                                                          DML_FEATURE_LEVEL feature_level,
                                                          reblock_operator** op);

/// Reads the elements of InputTensor from `input` and writes the elements of OutputTensor to `output`. Memory between
/// elements of the output does not change. The sizes are in bytes; they must be at least reblock_operator_input_size()
/// and reblock_operator_output_size(). The buffers must not share memory.
///
/// Up to `threads` threads run the operator, including the caller's. If `threads` is 0, the environment variable
/// REBLOCK_NUM_THREADS gives the number of threads. Without this variable, it is the number of processors that the process
/// may use. Below 1 MiB only the caller's thread runs. The result is the same for any number of threads.
REBLOCK_C_FUNCTION reblock_status reblock_operator_dispatch(const reblock_operator* op, const void* input,
                                                            size_t input_size, void* output,
                                                            size_t output_size, size_t threads);

/// Frees an operator that no thread uses any more. `op` may be null.
REBLOCK_C_FUNCTION void reblock_operator_destroy(reblock_operator* op);

/// These functions return the bytes that a dispatch needs: the described TotalTensorSizeInBytes. They return 0 for null.
/// @{
REBLOCK_C_FUNCTION uint64_t reblock_operator_input_size(const reblock_operator* op);
REBLOCK_C_FUNCTION uint64_t reblock_operator_output_size(const reblock_operator* op);
/// @}

/// Computes the least TotalTensorSizeInBytes of a tensor, a multiple of 4. DirectML's helper DMLCalcBufferTensorSize
/// computes the same, but may overflow. The call reads only DataType, DimensionCount, Sizes and Strides.
///
///     round_up_to_4((1 + sum((size - 1) * stride)) * bytes of an element)
REBLOCK_C_FUNCTION reblock_status reblock_buffer_tensor_size(const DML_BUFFER_TENSOR_DESC* desc,
                                                             uint64_t* size);

/// Returns the message of this thread's last failed call: the argument, its value, and the values that it may have. The
/// message names members as DirectML does. It is valid until the thread's next failed call. It is "" before the first.
REBLOCK_C_FUNCTION const char* reblock_last_error(void);

/// Returns the version of the library, for example "0.1.0".
REBLOCK_C_FUNCTION const char* reblock_version(void);

#if defined(__cplusplus)
}
#endif

#undef REBLOCK_C_FUNCTION
