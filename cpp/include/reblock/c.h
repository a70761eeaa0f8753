// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface, for C11 and C++: DirectML's descriptions (reblock/directml.h) go in, operators for the CPU come out.
// The library is reblock::c for CMake and reblock-c for pkg-config.
//
// Errors. A call that fails changes nothing but its status and the message of reblock_last_error(); nothing throws, and
// nothing ends the program. Everything is checked before a byte is written: null pointers, each member of a
// description, the sizes of buffers. That a pointer which is not null leads to what its type says is for the caller to see to.
//
// Memory. reblock_operator_create() copies what a description says, so that it may go afterwards. It is the one call that
// allocates, but for the threads that the first reblock_operator_dispatch() with several of them starts.
//
// Threads. Any number of threads may call anything at once, on the same operator as well, as long as none of them destroys
// what others use.
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

/// What a call returns.
typedef enum reblock_status {
  REBLOCK_SUCCESS = 0,
  REBLOCK_INVALID_ARGUMENT =
      1,  ///< a null pointer, a description that does not fit, buffers that share memory
  REBLOCK_UNSUPPORTED_OPERATOR = 2,  ///< a Type that is none of the six operators of reblock/directml.h
  REBLOCK_BUFFER_TOO_SMALL = 3,
  REBLOCK_OUT_OF_MEMORY = 4  ///< for the operator, or for the first threads
} reblock_status;

/// An operator that has been checked and planned. It never changes.
typedef struct reblock_operator reblock_operator;

/// Checks a description and plans its operator, which the caller destroys. `*op` is null after an error.
///
/// The two tensors have one DataType and these Sizes, where B is BlockSize, K the product of WindowSizes, and L the number
/// of positions of the window:
///
///     DEPTH_TO_SPACE, DEPTH_TO_SPACE1   {N, C*B*B, H, W} to {N, C, H*B, W*B}     {1, 8, 2, 3} to {1, 2, 4, 6}
///     SPACE_TO_DEPTH, SPACE_TO_DEPTH1   {N, C, H*B, W*B} to {N, C*B*B, H, W}     {1, 2, 4, 6} to {1, 8, 2, 3}
///     UNFOLD                            {N, C, H, W} to {N, C*K, L}              {1, 1, 5, 5} to {1, 9, 9}
///     FOLD                              {N, C*K, L} to {N, C, H, W}              {1, 9, 4} to {1, 1, 4, 4}
///
/// UNFOLD and FOLD take 1 to 6 spatial sizes in place of H, W. Their columns {N, C*K, L} may have leading sizes of 1 up to
/// the DimensionCount of the image.
///
/// A tensor may have any Strides; those of OutputTensor must not make elements overlap. Flags must be
/// DML_TENSOR_FLAG_NONE, as nothing is kept of a tensor. TotalTensorSizeInBytes must be at least what
/// reblock_buffer_tensor_size() says. GuaranteedBaseOffsetAlignment must be 0 or a power of two not below the size of an
/// element; buffers may have any alignment all the same.
///
/// `feature_level` has everything refused that DirectML does not take at that level. (DML_FEATURE_LEVEL)0 stands for no
/// level: all types are taken then, and depth and space may have 1 to 6 spatial sizes.
REBLOCK_C_FUNCTION reblock_status reblock_operator_create(const DML_OPERATOR_DESC* desc,
                                                          DML_FEATURE_LEVEL feature_level,
                                                          reblock_operator** op);

/// Reads the elements of InputTensor from `input` and writes those of OutputTensor to `output`; what lies between
/// elements of the output is left alone. Both sizes are in bytes, and at least what the two functions below say. The
/// buffers must not share memory.
///
/// Up to `threads` threads work on it, this one included. 0 stands for what the environment variable REBLOCK_NUM_THREADS
/// says, or else for the processors that the process may use. Below 1 MiB one thread does it all. The result is the same
/// for any number of threads.
REBLOCK_C_FUNCTION reblock_status reblock_operator_dispatch(const reblock_operator* op, const void* input,
                                                            size_t input_size, void* output,
                                                            size_t output_size, size_t threads);

/// Frees an operator that no thread uses any more. Null is fine.
REBLOCK_C_FUNCTION void reblock_operator_destroy(reblock_operator* op);

/// The bytes that a dispatch needs: TotalTensorSizeInBytes of the tensor as it was described. 0 for null.
/// @{
REBLOCK_C_FUNCTION uint64_t reblock_operator_input_size(const reblock_operator* op);
REBLOCK_C_FUNCTION uint64_t reblock_operator_output_size(const reblock_operator* op);
/// @}

/// The least that TotalTensorSizeInBytes of a tensor may be, a multiple of 4: what DirectML's helper
/// DMLCalcBufferTensorSize computes, here without overflow. Reads DataType, DimensionCount, Sizes and Strides alone.
///
///     round_up_to_4((1 + sum((size - 1) * stride)) * bytes of an element)
REBLOCK_C_FUNCTION reblock_status reblock_buffer_tensor_size(const DML_BUFFER_TENSOR_DESC* desc,
                                                             uint64_t* size);

/// Why the last call of this thread that failed did so: which argument, what it got, what would fit. Members have the names
/// of DirectML. Valid until the thread's next call that fails; "" where none has.
REBLOCK_C_FUNCTION const char* reblock_last_error(void);

/// The version of the library, for example "0.1.0".
REBLOCK_C_FUNCTION const char* reblock_version(void);

#if defined(__cplusplus)
}
#endif

#undef REBLOCK_C_FUNCTION
