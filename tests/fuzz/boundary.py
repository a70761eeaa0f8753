# SPDX-License-Identifier: BSD-3-Clause
"""Fuzz target: the boundary of Python, by atheris. `nox -s fuzz_python` builds what it needs.

Hypothesis makes calls out of the fuzzer's bytes, with the strategies of the tests: valid calls,
whose result must be the oracle's; and calls with anything, which must end in a result, or in a
ValueError or a TypeError before anything is written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import reblock
from calls import any_call, padded_calls
from checks import assert_same_bytes, assert_same_values, assert_writes_only_elements
from descriptors import describe_tensors
from dtypes import MOVABLE, movable, summable
from layouts import allocate, layouts, small_integers
from padded import MODES, expected_unfold, listed_terms, summed
from reductions import compared, exact_mean

MOST_BYTES = 1 << 20  # of a result: what is larger is not asked for

INTEGERS = st.one_of(
    st.integers(-2, 9),
    st.sampled_from([2**31, 2**32, 2**62, 2**63 - 1, -(2**63), 2**64]),
    st.integers(),
)
SCALARS = st.one_of(
    INTEGERS,
    st.none(),
    st.booleans(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["DCR", "CRD", np.int64(2), np.float32(2), np.array(2), *reblock.DataType]),
    st.sampled_from([*MODES, "mean", "max", "HWC", "NCHW", "NLC", "f4", slice(0, 1), slice(None)]),
)
VALUES = st.one_of(
    SCALARS, st.lists(INTEGERS, max_size=10), st.lists(SCALARS, max_size=3).map(tuple)
)
NAMES = [
    "block_size",
    "order",
    "window_sizes",
    "output_sizes",
    "strides",
    "dilations",
    "start_padding",
    "end_padding",
    "channel_axis",
    "padding_mode",
    "padding_value",
    "blocks",
    "reduction",
    "weights",
    "accumulate",
    "dtype",
    "layout",
    "out_layout",
    "threads",
    "input",
    "output",
    "data_type",
    "sizes",
    "feature_level",
    "x",
    "columns",
]
KEYWORDS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3)
DTYPES = [*MOVABLE, np.dtype(object), np.dtype("V0"), np.dtype("S0")]


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """Draw an array of any shape, dtype and strides, or something that is none."""
    if draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=9)))
    dtype = draw(st.sampled_from(DTYPES))
    if dtype.hasobject or dtype.itemsize == 0 or np.prod(shape) * dtype.itemsize > MOST_BYTES:
        return np.zeros([min(extent, 2) for extent in shape], dtype)
    return allocate(shape, dtype, draw(layouts(len(shape), dtype.itemsize))).array


class Disturber:
    """Draws what a valid call has, but now and then something else."""

    def __init__(self, data: st.DataObject) -> None:
        self.draw = data.draw

    def __call__(self, value: Any, instead: st.SearchStrategy[Any] = VALUES) -> Any:
        """Return the value, or rarely another one."""
        return self.draw(instead) if self.draw(st.integers(0, 15)) == 15 else value

    def keywords(self, valid: dict[str, Any]) -> dict[str, Any]:
        """Return the keywords, some of which are rarely changed, left out or added."""
        changed = {name: self(value) for name, value in valid.items()}
        for name in self([], st.lists(st.sampled_from(NAMES), max_size=2)):
            changed[name] = self.draw(VALUES)
        for name in self([], st.lists(st.sampled_from(NAMES), max_size=2)):
            changed.pop(name, None)
        return changed


def all_bytes(array: Any) -> bytes:
    """Return the bytes of the elements, with those between the fields of a structure."""
    size = array.dtype.itemsize
    return b"" if size == 0 else bytes(array.view(f"V{size}").tobytes())


def outcome(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Return what a call returns, or None where it is refused."""
    try:
        return function(*arguments, **keywords)
    except (TypeError, ValueError):
        return None


def check_valid_call(data: st.DataObject) -> None:
    call = data.draw(any_call())
    dtype = data.draw(summable() if call.operator == "fold" else movable())
    source = allocate(
        call.input_shape, dtype, data.draw(layouts(len(call.input_shape), dtype.itemsize)), seed=1
    )
    x = small_integers(source, dtype) if call.operator == "fold" else source.array
    layout = data.draw(layouts(len(call.output_shape), dtype.itemsize, for_output=True))
    target = allocate(call.output_shape, dtype, layout, seed=2)
    before = source.buffer.tobytes()
    assert_writes_only_elements(target, lambda out: call(x, out=out))
    same = assert_same_values if call.operator == "fold" else assert_same_bytes
    same(np.asarray(target.array), call.oracle(x))
    assert source.buffer.tobytes() == before


def check_windows(data: st.DataObject) -> None:
    """Check padding modes, orders, ranges of window positions, and reductions of integers."""
    unfold, fold, ranges = data.draw(padded_calls())
    mode, order = data.draw(st.sampled_from(MODES)), data.draw(st.sampled_from(["CRD", "DCR"]))
    options: dict[str, Any] = {"padding_mode": mode, "order": order, "blocks": ranges}
    options["threads"] = data.draw(st.sampled_from([1, 3]))
    dtype = data.draw(st.sampled_from([np.dtype(code) for code in "bBhHiIqQ"]))
    layout = data.draw(layouts(len(unfold.input_shape), dtype.itemsize))
    x = allocate(unfold.input_shape, dtype, layout, seed=1).array
    columns = unfold(x, **options)
    assert_same_bytes(columns, expected_unfold(unfold, x, mode, ranges, order))
    columns = allocate(columns.shape, dtype, seed=2).array
    terms, present, _ = listed_terms(columns, fold, mode, ranges, order)
    expected = {
        "sum": summed(terms, present, np.zeros(terms.shape[1:], dtype)),
        "mean": exact_mean(terms, present),
        "max": compared(terms, present, np.greater_equal),
        "min": compared(terms, present, np.less_equal),
    }
    for reduction, right in expected.items():
        made = fold(columns, **options, reduction=reduction)
        channels_second = np.moveaxis(made, fold.keywords["channel_axis"], 1)
        assert_same_bytes(np.ascontiguousarray(channels_second), right)


def check_any_call(data: st.DataObject) -> None:
    call = data.draw(any_call())
    disturb = Disturber(data)
    dtype = disturb(np.dtype(np.float32), st.sampled_from(MOVABLE))
    x = disturb(allocate(call.input_shape, dtype).array, arrays())
    out = disturb(allocate(call.output_shape, dtype).array, st.one_of(arrays(), st.just(x)))
    arguments = [disturb(argument) for argument in call.arguments]
    keywords = disturb.keywords(call.keywords)
    moved = ("order", "threads", "padding_value", "reduction", "weights", "accumulate", "dtype")
    plain = {name: value for name, value in keywords.items() if name not in moved}
    shape_of = getattr(reblock, call.operator + "_shape")
    shape = outcome(shape_of, getattr(x, "shape", x), *arguments, **plain)
    size = getattr(getattr(x, "dtype", None), "itemsize", 8)
    if shape is not None and np.prod([float(extent) for extent in shape]) * size > MOST_BYTES:
        return
    drawn = [y for y in (x, out) if isinstance(y, np.ndarray) and not y.dtype.hasobject]
    before = [all_bytes(array) for array in drawn]
    if outcome(getattr(reblock, call.operator), x, *arguments, out=out, **keywords) is None:
        assert [all_bytes(array) for array in drawn] == before


def check_any_description(data: st.DataObject) -> None:
    call = data.draw(any_call(describable=True))
    disturb = Disturber(data)
    names = st.sampled_from(["float32", "INT8", np.float16, np.dtype(">i4"), object])
    data_type = disturb(reblock.DataType.FLOAT32, st.one_of(st.integers(-1, 15), names, VALUES))

    def tensor(sizes: tuple[int, ...]) -> Any:
        strides = disturb(None, st.one_of(VALUES, st.lists(st.integers(0, 40), max_size=8)))
        return outcome(reblock.TensorDesc, disturb(data_type), disturb(sizes), strides)

    source, target = tensor(call.input_shape), disturb(tensor(call.output_shape))
    if target is None and call.operator == "fold":
        return
    desc = disturb(outcome(describe_tensors, call, source, target))
    level = disturb(None, st.one_of(st.sampled_from(reblock.FeatureLevel), VALUES))
    op = outcome(reblock.compile, desc, feature_level=level)
    if op is None or op.input.total_size_in_bytes + op.output.total_size_in_bytes > MOST_BYTES:
        return
    # Buffers with bytes to spare, or with some that are missing.
    spare = [disturb(0, st.sampled_from([1, 4, -1, -4])) for _ in range(2)]
    buffers = (
        bytes(op.input.total_size_in_bytes + spare[0]),
        bytearray(op.output.total_size_in_bytes + spare[1]),
    )
    try:
        op.dispatch(*buffers)
        assert min(spare) >= 0
    except ValueError:
        assert min(spare) < 0
    outcome(
        op, disturb(np.zeros(op.input.sizes, np.float32), arrays()), out=disturb(None, arrays())
    )


@settings(database=None, deadline=None)
@given(st.data())
def check(data: st.DataObject) -> None:
    checks = [check_valid_call, check_any_call, check_any_description, check_windows]
    data.draw(st.sampled_from(checks))(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, check.hypothesis.fuzz_one_input)
    atheris.Fuzz()
