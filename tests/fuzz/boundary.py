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
from calls import SAMPLES, any_call
from checks import assert_same_bytes, assert_same_values, assert_writes_only_elements
from dtypes import MOVABLE, movable, summable
from layouts import allocate, layouts, small_integers
from oracle import Array

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


def check_any_call(data: st.DataObject) -> None:
    call = data.draw(st.sampled_from(SAMPLES))
    x = data.draw(arrays())
    arguments = [data.draw(VALUES) for _ in range(data.draw(st.integers(0, 3)))]
    keywords = data.draw(KEYWORDS)
    plain = {name: value for name, value in keywords.items() if name not in ("order", "threads")}
    shape = outcome(
        getattr(reblock, call.operator + "_shape"), getattr(x, "shape", x), *arguments, **plain
    )
    size = getattr(getattr(x, "dtype", None), "itemsize", 8)
    if shape is not None and np.prod([float(e) for e in shape]) * size > MOST_BYTES:
        return
    out: Array | None = None
    if data.draw(st.booleans()):
        out = data.draw(st.one_of(arrays(), st.just(x)))
    drawn_arrays = [y for y in (x, out) if isinstance(y, np.ndarray) and not y.dtype.hasobject]
    before = [array.tobytes() for array in drawn_arrays]
    if outcome(getattr(reblock, call.operator), x, *arguments, out=out, **keywords) is None:
        assert [array.tobytes() for array in drawn_arrays] == before
    else:
        assert shape is not None


def check_any_description(data: st.DataObject) -> None:
    def tensor() -> Any:
        sizes = data.draw(st.one_of(VALUES, st.lists(st.integers(1, 6), min_size=3, max_size=5)))
        strides = data.draw(st.one_of(st.none(), VALUES, st.lists(st.integers(0, 40), max_size=5)))
        types = st.one_of(st.just(reblock.DataType.FLOAT32), st.sampled_from([*range(16)]), VALUES)
        return outcome(reblock.TensorDesc, data.draw(types), sizes, strides)

    kinds = [
        reblock.DepthToSpaceDesc,
        reblock.SpaceToDepthDesc,
        reblock.UnfoldDesc,
        reblock.FoldDesc,
    ]
    kind = data.draw(st.sampled_from(kinds))
    names = ["window_sizes", "strides", "dilations", "start_padding", "end_padding"]
    if kind in kinds[:2]:
        names = ["block_size", "order"]
    drawn = {name: data.draw(st.one_of(st.integers(1, 3), VALUES)) for name in names}
    desc = outcome(kind, tensor(), tensor() if data.draw(st.booleans()) else None, **drawn)
    level = data.draw(st.one_of(st.none(), st.sampled_from([*reblock.FeatureLevel]), VALUES))
    op = outcome(reblock.compile, desc, feature_level=level)
    if op is None or op.input.total_size_in_bytes + op.output.total_size_in_bytes > MOST_BYTES:
        return
    missing = [data.draw(st.sampled_from([0, 0, 1, 4, -1])) for _ in range(2)]
    source = bytes(max(op.input.total_size_in_bytes - missing[0], 0))
    target = bytearray(max(op.output.total_size_in_bytes - missing[1], 0))
    try:
        op.dispatch(source, target)
        assert max(missing) <= 0
    except ValueError:
        assert max(missing) > 0
    outcome(op, data.draw(arrays()), out=data.draw(arrays()))


@settings(database=None, deadline=None)
@given(st.data())
def check(data: st.DataObject) -> None:
    checks = [check_valid_call, check_any_call, check_any_description]
    data.draw(st.sampled_from(checks))(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, check.hypothesis.fuzz_one_input)
    atheris.Fuzz()
