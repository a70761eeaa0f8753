// SPDX-License-Identifier: BSD-3-Clause
//
// reblock has depth_to_space, space_to_depth, unfold (im2col) and fold (col2im) for strided tensors. A copy between two
// views does every other rearrangement.
//
// The following rules hold for everything here, unless a comment says otherwise.
//
// Errors. Each function that can refuse its arguments has two forms. The form try_*() returns a result or a status. The
// other form throws std::invalid_argument with the same message; in a program without exceptions it prints the message
// and aborts. All arguments are checked before the first byte is written.
//
// Memory. Calls allocate nothing on the heap. Values own everything they hold; views and descriptions own no elements.
// Elements are moved as bytes, so data need not be aligned for its type. An output must not overlap itself or share
// memory with the input: functions on views refuse it. Memory between the elements of an output is not written. The
// caller makes sure that the memory that a view describes exists.
//
// Threads. Any number of threads may call anything at once, also on the same objects, as long as no thread changes an
// object, or writes to elements, that other threads use. Each thread keeps its last two tables and the last plans of
// boxes between calls, in 20 KiB of thread_local memory, until the thread ends. A process keeps the instruction set of
// its processor. In a program, each thread has these 20 KiB from its start; glibc takes them from the thread's stack. In a
// library that is loaded later, the loader allocates them at a thread's first call with a table or boxes. Two libraries
// that are built from these headers share nothing of this.
//
// Stack. A call takes up to 104 KiB of stack. Threads with 128 KiB, the default of musl, can call everything, also where
// the memory of threads is on their stack. Compiled by -O0 or -O1, an unfold that converts takes up to 110 KiB. Compiled by
// Clang's -O0, a call takes up to 150 KiB.
#pragma once

// This header is the first: it takes away the macros of other headers.
#include <reblock/detail/configuration.hpp>

// These headers are the library.
#include <reblock/axis_values.hpp>
#include <reblock/conversion.hpp>
#include <reblock/copy.hpp>
#include <reblock/data_type.hpp>
#include <reblock/depth_space.hpp>
#include <reblock/depth_space_order.hpp>
#include <reblock/executor.hpp>
#include <reblock/feature_level.hpp>
#include <reblock/fold_options.hpp>
#include <reblock/operator.hpp>
#include <reblock/padding_mode.hpp>
#include <reblock/result.hpp>
#include <reblock/same_padding.hpp>
#include <reblock/tensor.hpp>
#include <reblock/version.hpp>
#include <reblock/window.hpp>
#include <reblock/window_parameters.hpp>

// This header is the last: the other headers use the macros.
#include <reblock/detail/configuration_end.hpp>
