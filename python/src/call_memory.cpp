// SPDX-License-Identifier: BSD-3-Clause
#include "call_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "axis_names.hpp"

namespace reblock::python {

namespace {

/// What an argument is: the lowest byte of its first word.
enum class kind : std::uint8_t {
  none,
  default_axis,
  output,
  boolean,
  integer,
  real,
  text,
  tuple,
  list,
  type,
  dtype,
  factor,
  weights,
};

constexpr std::int64_t first_word(kind which, std::int64_t size = 0) noexcept {
  return static_cast<std::int64_t>(which) + size * 256;
}

/// Whether the number of a dtype and its byte order tell all about it.
bool is_told_by_number(const py::dtype& dtype) {
  constexpr int first_user_type = 256;
  return dtype.num() >= first_user_type ||
         (dtype.num() >= 0 && std::strchr("?biufc", dtype.kind()) != nullptr);
}

/// The last calls of a thread.
class call_list {
 public:
  const remembered_call* find(const call_key& key) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t at = (last_ + i) % count_;  // from the one that was found last on
      if (call(at)->key == key) {
        last_ = at;
        return call(at);
      }
    }
    return nullptr;
  }

  void* room() noexcept {
    last_ = next_;
    next_ = (next_ + 1) % capacity;
    count_ = std::max(count_, last_ + 1);
    return calls_[last_].data();
  }

 private:
  static constexpr std::size_t capacity = 8;  // of 18 KiB each

  struct alignas(remembered_call) room_for_one : std::array<std::byte, sizeof(remembered_call)> {};

  const remembered_call* call(std::size_t i) const noexcept {
    return std::launder(reinterpret_cast<const remembered_call*>(calls_[i].data()));
  }

  std::array<room_for_one, capacity> calls_;  // of which there are `count_`
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  std::size_t last_ = 0;
};

/// Not made before the first call: most threads of a process make none.
call_list& calls_of_thread() {
  thread_local const auto calls = std::make_unique_for_overwrite<call_list>();
  return *calls;
}

}  // namespace

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): a word is written before it counts
call_key::call_key(planned_function function, const py::array& input, bound_arguments arguments,
                   const other_keywords& others, const factor_arguments* factors,
                   const given_weights* weights) noexcept {
  add(static_cast<std::int64_t>(function));
  add_axes(input);
  const py::dtype dtype = input.dtype();
  if (dtype.num() < 0) complete_ = false;  // of which several dtypes may have the same
  add(dtype.num());
  add(dtype.byteorder());
  add(input.itemsize());

  const std::size_t out_place = arguments.size() - 2;
  const std::size_t read_before = factors != nullptr ? 2 : 0;  // scale and bias, before out
  for (std::size_t i = 1; i < out_place - read_before; ++i) {
    if (weights != nullptr && i == weights->place) {
      add_weights(weights->values);
    } else {
      add_argument(arguments[i]);
    }
  }
  if (factors != nullptr) {
    add_factor(factors->scale);
    add_factor(factors->bias);
  }
  for (const auto& [name, value] : others) {
    add_argument(name);
    add_argument(value);
  }
  const py::handle out = arguments[out_place];
  if (out.is_none()) {
    add(first_word(kind::none));
    return;
  }
  if (!py::isinstance<py::array>(out)) {
    complete_ = false;
    return;
  }
  // Each call checks the dtype of `out`.
  add(first_word(kind::output));
  add_axes(out);
}

bool call_key::operator==(const call_key& other) const noexcept {
  return size_ == other.size_ && weight_count_ == other.weight_count_ &&
         std::memcmp(words_.data(), other.words_.data(), size_ * sizeof(words_[0])) == 0 &&
         std::memcmp(weights_.data(), other.weights_.data(), weight_count_ * sizeof(weights_[0])) == 0;
}

window_weights call_key::held(const window_weights& given) const noexcept {
  const double* first = weights_.data();
  if (!given.has_products()) return {tensor_view<const double>(first, given.extents())};
  window_weights result;
  for (const std::int64_t extent : given.extents()) {
    result.push_back({first, static_cast<std::size_t>(extent)});
    first += extent;
  }
  return result;
}

void call_key::add(std::int64_t word) noexcept {
  if (size_ == capacity) {
    complete_ = false;
  } else {
    words_[size_++] = word;
  }
}

void call_key::add_axes(py::handle array) noexcept {
  const auto* const axes = py::detail::array_proxy(array.ptr());
  add(axes->nd);
  for (int i = 0; i < axes->nd; ++i) {
    add(axes->dimensions[i]);
    add(axes->strides[i]);
  }
}

void call_key::add_argument(py::handle argument) noexcept {
  PyObject* const object = argument.ptr();
  const PyTypeObject* const type = Py_TYPE(object);
  if (!complete_) return;
  if (argument.is_none()) {
    add(first_word(kind::none));
  } else if (type == &PyLong_Type) {
    int overflow = 0;
    add(first_word(kind::integer));
    add(PyLong_AsLongLongAndOverflow(object, &overflow));
    if (overflow != 0) complete_ = false;
  } else if (argument.is(default_channel_axis())) {
    add(first_word(kind::default_axis));
  } else if (type == &PyBool_Type) {
    add(first_word(kind::boolean, object == Py_True ? 1 : 0));
  } else if (type == &PyFloat_Type) {
    add(first_word(kind::real));
    add(std::bit_cast<std::int64_t>(PyFloat_AS_DOUBLE(object)));
  } else if (type == &PyUnicode_Type && PyUnicode_IS_COMPACT_ASCII(object)) {
    const py::ssize_t length = PyUnicode_GET_LENGTH(object);
    add(first_word(kind::text, length));
    const auto* const letters = static_cast<const char*>(PyUnicode_DATA(object));
    for (py::ssize_t i = 0; i < length && complete_; i += static_cast<py::ssize_t>(sizeof(std::int64_t))) {
      std::int64_t word = 0;
      std::memcpy(&word, letters + i,
                  static_cast<std::size_t>(std::min<py::ssize_t>(length - i, sizeof(word))));
      add(word);
    }
  } else if (type == &PyTuple_Type) {
    add(first_word(kind::tuple, PyTuple_GET_SIZE(object)));
    for (PyObject* const item : items(object)) add_argument(item);
#if !defined(Py_GIL_DISABLED)  // there, another thread may change a list before the plan has read it
  } else if (type == &PyList_Type) {
    add(first_word(kind::list, PyList_GET_SIZE(object)));
    for (py::ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) add_argument(PyList_GET_ITEM(object, i));
#endif
  } else if (py::isinstance<py::dtype>(argument)) {
    const auto dtype = py::reinterpret_borrow<py::dtype>(argument);
    if (!is_told_by_number(dtype)) complete_ = false;
    add(first_word(kind::dtype, dtype.num()));
    add(dtype.byteorder());
  } else if (PyType_Check(object) != 0 &&
             (reinterpret_cast<PyTypeObject*>(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
    add(first_word(kind::type));  // such as numpy.float32, which lives as long as the process
    add(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(object)));
  } else {
    complete_ = false;
  }
}

void call_key::add_factor(const factor_argument& factor) noexcept {
  // As many words of numbers follow; a single number may stand for any number of channels.
  const auto count = static_cast<std::int64_t>(factor.values.size());
  add(first_word(kind::factor, 4 * count + (factor.is_number ? 2 : 0) + (factor.is_given ? 1 : 0)));
  for (const double value : factor.values) add(std::bit_cast<std::int64_t>(value));
  if (factor.axis) add_argument(factor.axis);
}

void call_key::add_weights(const window_weights& given) noexcept {
  const axis_values& extents = given.extents();
  // More axes than a window may have are an error, which nobody has found yet. Not all of them have values.
  if (extents.given() > max_rank - 2) {
    complete_ = false;
    return;
  }
  add(first_word(kind::weights, given.has_products() ? 1 : 0));
  add(static_cast<std::int64_t>(extents.size()));
  const auto append = [this](const double* first, std::int64_t count) {
    complete_ = complete_ && count <= static_cast<std::int64_t>(most_weights - weight_count_);
    if (!complete_) return;
    std::copy_n(first, count, weights_.begin() + weight_count_);
    weight_count_ += static_cast<std::size_t>(count);
  };
  for (std::size_t d = 0; d < extents.size(); ++d) {
    add(extents[d]);
    if (given.has_products()) append(given.values(d), extents[d]);
  }
  if (given.has_products()) return;
  const auto count = detail::product(extents);
  complete_ = complete_ && !count.overflow();
  append(given.values(0), count.value());
}

std::optional<int> number_of(const py::dtype& dtype, const py::array& input) {
  if (dtype.is(input.dtype())) return remembered_call::same_dtype;
  if (!is_told_by_number(dtype) || !dtype.attr("isnative").cast<bool>()) return std::nullopt;
  return dtype.num();
}

const remembered_call* find_call(const call_key& key) noexcept {
  return key.complete() ? calls_of_thread().find(key) : nullptr;
}

void* room_for_call() { return calls_of_thread().room(); }

}  // namespace reblock::python
