// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <string>

#include "arguments.hpp"
#include "function.hpp"
#include "register.hpp"
#include "thread_pool.hpp"
#include "threads.hpp"

namespace reblock::python {

namespace {

constexpr const char* get_num_threads_doc = R"(get_num_threads()
--

Return how many threads a call may use without the argument `threads`.

At first, this is the number of processors that the process may run on at once, within
its affinity and its control groups. The environment variable ``REBLOCK_NUM_THREADS``
replaces the number if it is set when Python imports reblock.

Returns
-------
int
    At least 1.

Examples
--------
>>> import reblock
>>> reblock.get_num_threads() >= 1
True
)";

constexpr const char* set_num_threads_doc = R"(set_num_threads(threads)
--

Set how many threads a call may use without the argument `threads`.

A small call uses fewer, because waking a thread takes as long as moving some hundred
kilobytes. No result depends on the number of threads.

Parameters
----------
threads : int
    At least 1; more than 256 are as good as 256.

Raises
------
ValueError, TypeError
    For anything but an int from 1 on.

Examples
--------
>>> import reblock
>>> before = reblock.get_num_threads()
>>> reblock.set_num_threads(2)
>>> reblock.get_num_threads()
2
>>> reblock.set_num_threads(before)
)";

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): what set_num_threads sets, for a process
std::atomic<std::size_t> usual_threads{1};

std::size_t to_count(py::handle threads) {
  const std::int64_t count = to_int(threads, "threads");
  if (count < 1) throw py::value_error("threads must be at least 1, got " + std::to_string(count));
  return std::min(static_cast<std::size_t>(count), thread_pool::most_threads);
}

std::size_t find_usual_threads() {
  const threads_at_start found = threads_at_start::find();
  if (found.ignored != nullptr) {
    const std::string message = std::string(threads_at_start::variable) +
                                " must be an integer from 1 on, got \"" + found.ignored + "\"; it is ignored";
    if (PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), 1) != 0) throw py::error_already_set();
  }
  return found.count;
}

py::object get_num_threads() { return py::int_(usual_threads.load()); }

py::object set_num_threads(py::handle threads) {
  usual_threads = to_count(threads);
  return py::none();
}

}  // namespace

std::size_t to_threads(py::handle threads) {
  return threads.is_none() ? usual_threads.load() : to_count(threads);
}

void register_threads(py::module_& m) {
  usual_threads = find_usual_threads();
  function<&get_num_threads>::define(m, "get_num_threads", get_num_threads_doc, 0, {});
  function<&set_num_threads>::define(m, "set_num_threads", set_num_threads_doc, 1, {{"threads"}});
}

}  // namespace reblock::python
