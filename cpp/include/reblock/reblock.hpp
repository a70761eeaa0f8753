// SPDX-License-Identifier: BSD-3-Clause
//
// reblock: depth_to_space, space_to_depth, unfold (im2col) and fold (col2im) for strided tensors, and a copy between
// any two views, which is every other rearrangement.
//
// What holds for everything in here, unless it says otherwise:
//
// Errors. Each function that can refuse its arguments has two forms: try_*() returns a result or a status,
// the other one throws std::invalid_argument with the same message, or, in a program without exceptions,
// prints it and aborts. All arguments are checked before the first byte is written.
//
// Memory. Calls allocate nothing on the heap. Values own all that they hold; views and descriptions own no elements.
// Elements are moved as bytes: data that is not aligned for its type is fine. An output must not share
// memory with the input, nor overlap itself: functions on views refuse that. What lies between the
// elements of an output is not written. That a view describes memory that exists is for the caller to see to.
//
// Threads. Any number of threads may call anything at once, on the same objects as well, as long as none of them
// changes an object, or writes to elements, that others use. Between calls a thread keeps the last two tables that it
// has worked out, in 20 KiB of thread_local memory, which ends with the thread; a process keeps which instructions its
// processor has. In a program these 20 KiB are a part of each thread from its start; glibc takes them from the
// thread's stack. In a library that is loaded later, the loader allocates them at a thread's first call with a table.
// Two libraries that are built from these headers share none of it.
//
// Stack. A call takes up to 96 KiB, so threads with 128 KiB, as musl makes them, can call everything.
#pragma once

#include <reblock/axis_values.hpp>
#include <reblock/copy.hpp>
#include <reblock/data_type.hpp>
#include <reblock/depth_space.hpp>
#include <reblock/depth_space_order.hpp>
#include <reblock/executor.hpp>
#include <reblock/feature_level.hpp>
#include <reblock/operator.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>
#include <reblock/version.hpp>
#include <reblock/window.hpp>

// Last: the headers above use the macros.
#include <reblock/detail/configuration_end.hpp>
