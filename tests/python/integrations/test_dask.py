# SPDX-License-Identifier: BSD-3-Clause
"""reblock.dask gives what reblock gives on the whole array, lazily, however it is chunked."""

from __future__ import annotations

import doctest
import inspect
import itertools
import math
import re
import subprocess
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import dask
import dask.array as da
import dask.local
import numpy as np
import pytest
from dask.core import flatten
from hypothesis import given
from hypothesis import strategies as st

import oracle
import reblock
import reblock.dask
from bad_calls import BAD_CALLS, BadCall
from calls import (
    DEPTH_TO_SPACE,
    FOLD,
    SAMPLES,
    SPACE_TO_DEPTH,
    UNFOLD,
    Call,
    any_call,
    depth_space_calls,
    window_pairs,
)
from calls import operator as name_of
from checks import assert_same_bytes, assert_same_values
from dtypes import movable, summable
from layouts import allocate
from oracle import Array

Chunks = tuple[tuple[int, ...], ...]

every_operator = pytest.mark.parametrize("call", SAMPLES, ids=name_of)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def lazily(call: Call, x: Any, **more: Any) -> da.Array:
    function = getattr(reblock.dask, call.operator)
    result: da.Array = function(x, *call.arguments, **{**call.keywords, **more})
    return result


def cut(x: Array, chunks: Any) -> da.Array:
    result: da.Array = da.from_array(x, chunks=chunks)
    return result


def computed(x: da.Array, keys: Iterable[Any]) -> list[Array]:
    """Compute parts of the graph of an array, as it stands."""
    return list(dask.local.get_sync(dict(x.dask), list(keys)))


@st.composite
def chunkings(draw: st.DrawFn, shape: Sequence[int]) -> Chunks:
    """Draw up to four chunks along each axis, some of them empty."""
    chunks = []
    for extent in shape:
        borders = draw(st.lists(st.integers(0, extent), max_size=3))
        bounds = [0, *sorted(borders), extent]
        chunks.append(tuple(last - first for first, last in itertools.pairwise(bounds)))
    return tuple(chunks)


def misfits(call: Call, chunks: Chunks) -> set[int]:
    """Return the axes along which the chunks cannot be taken as they are."""

    def cut_within(axis: int, grain: int) -> bool:
        inner = itertools.accumulate(chunks[axis][:-1])
        return any(end % grain for end in inner)

    def several(axis: int) -> bool:
        return len(chunks[axis]) > 1

    if call.operator == "fold":
        sizes, window = call.arguments
        lead, counts = _leading(call, sizes)
        found = {1} if cut_within(1, math.prod(window)) else set()
        return found | ({2} if cut_within(2, math.prod(counts[lead + 1 :])) else set())
    rank = len(call.input_shape)
    channels = call.keywords["channel_axis"] % rank
    spatial = [axis for axis in range(1, rank) if axis != channels]
    if call.operator == "unfold":
        lead, _ = _leading(call, [call.input_shape[axis] for axis in spatial])
        return {axis for axis in spatial if axis != spatial[lead] and several(axis)}
    (block,) = call.arguments
    elements, found = math.prod(block), set()
    if call.operator == "space_to_depth":
        found = {axis for axis, b in zip(spatial, block, strict=True) if cut_within(axis, b)}
    elif call.keywords["order"] == "CRD" and cut_within(channels, elements):
        found = {channels}
    if call.keywords["order"] == "DCR" and elements > 1 and several(channels):
        found |= {channels}
    return found


def _leading(call: Call, sizes: Sequence[int]) -> tuple[int, list[int]]:
    window = {k: v for k, v in call.keywords.items() if k != "channel_axis"}
    counts = oracle.block_counts(sizes, call.arguments[-1], **window)
    several = [d for d, count in enumerate(counts) if count > 1]
    return (several or [len(counts) - 1])[0], counts


# Layouts by name, orders, parts of the blocks


@given(st.data())
def test_orders_and_parts_of_the_blocks(data: st.DataObject) -> None:
    call = data.draw(window_pairs().flatmap(st.sampled_from))
    window = {k: v for k, v in call.keywords.items() if k != "channel_axis"}
    image = call.input_shape if call.operator == "unfold" else call.output_shape
    extents = oracle.channels_second(image, call.keywords["channel_axis"])[2:]
    counts = oracle.block_counts(extents, call.arguments[-1], **window)
    bounds = [data.draw(st.tuples(*[st.integers(0, n)] * 2)) for n in counts]
    more = {
        "order": data.draw(st.sampled_from(["CRD", "DCR"])),
        "blocks": data.draw(st.sampled_from([None, [slice(*sorted(b)) for b in bounds]])),
    }
    shape = call.input_shape
    if call.operator == "fold":
        shape = reblock.unfold_shape(
            image, call.arguments[-1], **call.keywords, blocks=more["blocks"]
        )
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(data.draw(summable()))
    with warnings.catch_warnings(action="ignore"):
        result = lazily(call, cut(x, data.draw(chunkings(shape))), **more)
    expected = call(x, **more)
    assert result.shape == expected.shape
    assert_same_values(result.compute(), expected)


@pytest.mark.parametrize(
    ("name", "shape", "arguments", "keywords"),
    [
        ("space_to_depth", (4, 6, 3), (2,), {"layout": "HWC"}),
        ("space_to_depth", (4, 6), (2,), {"layout": "HW", "out_layout": "NHWC"}),
        ("depth_to_space", (2, 4, 6, 8), (2,), {"layout": "NHWC", "out_layout": "CNHW"}),
        ("depth_to_space", (8, 4, 6), (2,), {"out_layout": "HWC"}),
        ("unfold", (8, 6, 3), (3,), {"layout": "HWC", "out_layout": "LC"}),
        ("unfold", (2, 3, 8, 6), (3,), {"out_layout": "NLC", "order": "DCR"}),
        ("unfold", (8, 6), (3,), {"layout": "HW", "blocks": (1, 3)}),
        ("unfold", (8, 6), (3,), {"layout": "HW", "blocks": np.array([[1, 3], [0, 4]])}),
        ("fold", (24, 27), ((8, 6), 3), {"layout": "LC", "out_layout": "HWC"}),
        ("fold", (24, 2, 27), ((8, 6), 3), {"layout": "LNC", "order": "DCR"}),
        ("fold", (27, 24), ((8, 6), 3), {"layout": "CL"}),
        ("fold", (9, 24), ((8, 6), 3), {"out_layout": "HW"}),
    ],
)
def test_layouts_name_the_axes_of_chunks(
    name: str, shape: tuple[int, ...], arguments: Any, keywords: dict[str, Any]
) -> None:
    x = np.arange(math.prod(shape)).reshape(shape)
    with warnings.catch_warnings(action="ignore"):
        result = getattr(reblock.dask, name)(da.from_array(x, chunks=3), *arguments, **keywords)
    expected = getattr(reblock, name)(x, *arguments, **keywords)
    assert result.shape == expected.shape
    assert np.array_equal(result.compute(), expected)


def test_layouts_that_do_not_fit_are_refused_at_the_call() -> None:
    x = da.zeros((4, 6, 3))
    for keywords, message in (
        ({"layout": "NHWC"}, 'x must have 4 axes for layout "NHWC", got 3: shape (4, 6, 3)'),
        ({"layout": "HWH"}, 'layout must have each letter once, got "HWH"'),
        ({"layout": "HWC", "channel_axis": -1}, "channel_axis must not be given beside a layout"),
        ({"layout": "HWC", "blocks": (0, 9)}, "blocks must lie among the 3 along spatial axis 0"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            reblock.dask.unfold(x, 2, **keywords)
    with pytest.raises(TypeError, match="layout must be a str"):
        reblock.dask.unfold(x, 2, layout=3)  # type: ignore[arg-type]


# Results


@given(st.data())
def test_any_call_on_any_chunks(data: st.DataObject) -> None:
    call = data.draw(any_call())
    # NumPy's copies, of which Dask makes some, leave out the bytes between the fields of a struct.
    movable_whole = movable().filter(lambda dtype: not dtype.isalignedstruct)
    dtype = data.draw(summable() if call.operator == "fold" else movable_whole)
    chunks = data.draw(chunkings(call.input_shape))
    x = allocate(call.input_shape, dtype).array

    with warnings.catch_warnings(record=True, action="always") as told:
        result = lazily(call, cut(x, chunks))
    assert [each.category for each in told] in ([], [da.PerformanceWarning])
    assert result.dtype == dtype
    assert result.shape == call.output_shape
    for axis, extent in enumerate(call.output_shape):
        assert sum(result.chunks[axis]) == extent

    blocks = computed(result, flatten(result.__dask_keys__()))
    shapes = list(itertools.product(*result.chunks))
    assert [block.shape for block in blocks] == shapes
    assert {block.dtype for block in blocks} == {dtype}
    same = assert_same_values if call.operator == "fold" else assert_same_bytes
    # A sum of several NaNs has the bits of either.
    with np.errstate(invalid="ignore"):
        same(result.compute(), call(x))


@given(st.data())
def test_the_array_is_rechunked_where_it_must_be_and_nowhere_else(data: st.DataObject) -> None:
    call = data.draw(any_call())
    if 0 in call.input_shape:
        return
    chunks = tuple(
        tuple(size for size in sizes if size) for sizes in data.draw(chunkings(call.input_shape))
    )
    x = da.zeros(call.input_shape, chunks=chunks, dtype=np.uint8)
    with warnings.catch_warnings(record=True, action="always") as told:
        result = lazily(call, x)
    axes = misfits(call, chunks)
    layers = [name for name in result.dask.layers if name.startswith("rechunk")]
    assert len(layers) <= len(told) == bool(axes)
    for warning in told:
        assert warning.filename == __file__
        assert str(warning.message).startswith(f"{call.tensor()} is rechunked: it needs ")
        for axis in range(len(chunks)):
            assert (f"along axis {axis} " in str(warning.message)) == (axis in axes)


@every_operator
def test_threads_make_no_difference(call: Call) -> None:
    x = allocate(call.input_shape, np.dtype(np.int32)).array
    for threads in (3, None):
        assert_same_bytes(lazily(call, da.from_array(x), threads=threads).compute(), call(x))


@every_operator
def test_array_likes_are_taken(call: Call) -> None:
    x = np.arange(math.prod(call.input_shape)).reshape(call.input_shape)
    for like in (x, x.tolist()):
        result = lazily(call, like)
        assert isinstance(result, da.Array)
        assert_same_bytes(result.compute(), call(x))


def test_an_order_in_every_spelling() -> None:
    x = np.arange(24).reshape(1, 24, 1, 1)
    for order in ("CRD", 1, reblock.DepthSpaceOrder.COLUMN_ROW_DEPTH):
        result = reblock.dask.depth_to_space(cut(x, (1, 8, 1, 1)), 2, order=order)
        assert result.chunks[1] == (2, 2, 2)
        assert_same_bytes(result.compute(), reblock.depth_to_space(x, 2, order=order))


# Graphs


@every_operator
def test_nothing_is_computed_before_it_is_asked_for(call: Call) -> None:
    def fail(_: Array) -> Array:
        raise AssertionError("computed")

    x = da.zeros(call.input_shape, chunks=-1).map_blocks(fail, meta=np.empty(0))
    result = lazily(call, x)
    assert result.shape == call.output_shape
    assert type(result._meta) is np.ndarray
    assert result._meta.ndim == len(call.output_shape)
    with pytest.raises(AssertionError, match="computed"):
        result.compute()


@every_operator
def test_a_name_tells_the_call(call: Call) -> None:
    x, y = (da.full(call.input_shape, value, chunks=-1) for value in (0, 1))
    name = lazily(call, x).name
    assert name.startswith(call.operator)
    assert lazily(call, x).name == name
    others = {lazily(call, y).name, lazily(call, x, threads=2).name}
    changed = {"order": "CRD"} if "order" in call.keywords else {"channel_axis": 2}
    if call is not UNFOLD:  # of which the shape would differ
        others.add(lazily(call, x, **changed).name)
    assert name not in others
    assert len(others) == (2 if call is UNFOLD else 3)


@pytest.mark.parametrize("call", [DEPTH_TO_SPACE, SPACE_TO_DEPTH], ids=name_of)
def test_depth_and_space_take_one_task_for_each_chunk(call: Call) -> None:
    grain = (1, 18, 2, 1) if call is DEPTH_TO_SPACE else (1, 3, 4, 3)
    x = da.zeros(call.input_shape, chunks=grain)
    assert len(lazily(call, x).dask) == 2 * x.npartitions


def test_the_order_decides_which_channels_go_through() -> None:
    to_space, to_depth = depth_space_calls(1, 6, (4,), (3,), "CRD")
    assert lazily(to_space, da.zeros((1, 18, 4), chunks=(1, 6, 4))).chunks[1] == (2, 2, 2)
    assert lazily(to_depth, da.zeros((1, 6, 12), chunks=(1, 1, 12))).chunks[1] == (3,) * 6
    for call in depth_space_calls(1, 6, (4,), (3,), "DCR"):
        with pytest.warns(da.PerformanceWarning, match="along axis 1 a single chunk"):
            lazily(call, da.zeros(call.input_shape, chunks=(1, 3, -1)))


def test_borders_between_chunks_move_down_to_a_multiple() -> None:
    x = da.zeros((1, 1, 12), chunks=(1, 1, (2, 1, 4, 5)))
    with pytest.warns(da.PerformanceWarning, match="along axis 2 multiples of 3"):
        assert reblock.dask.space_to_depth(x, 3).chunks[2] == (1, 1, 2)


@pytest.mark.parametrize("layout", [None, "NCW"])
def test_a_warning_names_the_line_of_the_caller(layout: str | None) -> None:
    x = da.zeros((1, 1, 12), chunks=(1, 1, 5))
    with pytest.warns(da.PerformanceWarning) as caught:
        reblock.dask.space_to_depth(x, 3, layout=layout)
    assert [warning.filename for warning in caught] == [__file__]


def test_a_warning_to_code_without_a_module() -> None:
    x = da.zeros((1, 1, 12), chunks=(1, 1, 5))
    names = {"space_to_depth": reblock.dask.space_to_depth, "x": x}
    with pytest.warns(da.PerformanceWarning):
        # Code that exec runs has no module name, as the code on the site.
        exec("space_to_depth(x, 3)", names)  # noqa: S102


# Windows; of how many rows the edges at a border of an image are, and of how many rows of blocks
# those at a border of columns.
WINDOWS = {
    "beyond the image": ({"window_sizes": 3, "start_padding": 1, "end_padding": 1}, (1, 1), (1, 1)),
    "every second": ({"window_sizes": 3, "strides": 2, "start_padding": 1}, (1,), (1,)),
    "dilated": ({"window_sizes": 3, "dilations": 3}, (6,), (6,)),
    "side by side": ({"window_sizes": 4, "strides": 4}, (), ()),
    "half over another": ({"window_sizes": 8, "strides": 4}, (4,), (1,)),
    "with gaps": ({"window_sizes": 2, "strides": 4}, (), ()),
}


def edges(x: da.Array) -> list[Array]:
    """Compute what the chunks give to their neighbours."""
    return computed(x, (key for key in x.dask.layers[x.name] if "-edge-" in str(key)))


@pytest.mark.parametrize(("window", "rows", "blocks"), WINDOWS.values(), ids=WINDOWS)
def test_neighbours_give_edges_and_no_more(
    window: dict[str, Any], rows: tuple[int, ...], blocks: tuple[int, ...]
) -> None:
    x = da.zeros((2, 3, 64, 40), chunks=(1, 1, 16, 40), dtype=np.uint8)
    borders = 2 * 3 * 3
    columns = reblock.dask.unfold(x, **window)
    found = [edge.shape for edge in edges(columns)]
    assert sorted(found) == sorted((1, 1, n, 40) for n in rows * borders)

    image = reblock.dask.fold(columns, (64, 40), **window)
    assert image.chunks == x.chunks
    elements = window["window_sizes"] ** 2
    row = reblock.unfold_shape((1, 1, 40), **window)[2]
    found = [edge.shape for edge in edges(image)]
    assert sorted(found) == sorted((1, elements, n * row) for n in blocks * borders)


def test_stripes_along_the_first_axis_with_several_blocks() -> None:
    x = da.zeros((1, 1, 3, 12), chunks=(1, 1, 3, 4))
    assert reblock.dask.unfold(x, 3).chunks[2] == (4, 4, 2)
    with pytest.warns(da.PerformanceWarning, match="along axis 3 a single chunk"):
        assert reblock.dask.unfold(x, (1, 3)).chunks[2] == (30,)


# Errors


@pytest.mark.parametrize("bad", BAD_CALLS, ids=str)
def test_bad_arguments_are_refused_at_the_call_as_by_the_package(bad: BadCall) -> None:
    x = np.broadcast_to(np.uint8(1), bad.shape)
    with pytest.raises(bad.kind) as expected:
        getattr(reblock, bad.operator)(x, *bad.arguments, **bad.keywords)
    with pytest.raises(bad.kind) as raised:
        getattr(reblock.dask, bad.operator)(
            da.zeros(bad.shape, chunks=-1, dtype=np.uint8), *bad.arguments, **bad.keywords
        )
    assert raised.type is expected.type
    assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize(
    ("operator", "word"),
    [
        ("depth_to_space", "upscale_factor"),
        ("space_to_depth", "blocksize"),
        ("unfold", "kernel_size"),
        ("fold", "output_size"),
        ("fold", "quality"),
    ],
)
def test_words_of_other_libraries_are_known_as_by_the_package(operator: str, word: str) -> None:
    told = []
    for package in (reblock, reblock.dask):
        with pytest.raises(TypeError) as raised:
            getattr(package, operator)(np.zeros((1, 4, 4)), **{word: 2})
        told.append(str(raised.value))
    assert told[0] == told[1]


def test_what_is_no_array_is_refused_by_its_type() -> None:
    with pytest.raises(TypeError, match=r"^x must be an array .*, got NoneType, "):
        reblock.dask.depth_to_space(None, 2)  # type: ignore[arg-type]


@every_operator
@pytest.mark.parametrize(
    "more", [{"threads": 0}, {"threads": "2"}, {"order": "RGB"}, {"order": None}], ids=str
)
def test_bad_options_are_refused_at_the_call(call: Call, more: dict[str, Any]) -> None:
    if not call.keywords.keys() | {"threads"} >= more.keys():
        return
    x = np.zeros(call.input_shape)
    with pytest.raises((TypeError, ValueError)) as expected:
        call(x, **more)
    with pytest.raises(expected.type) as raised:
        lazily(call, x, **more)
    assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize("dtype", ["O", "M8[s]", ">f4"])
def test_dtypes_are_refused_at_the_call(dtype: str) -> None:
    for call in SAMPLES if dtype == "O" else [FOLD]:
        with pytest.raises(TypeError, match="must have a dtype"):
            lazily(call, da.empty(call.input_shape, chunks=-1, dtype=dtype))


@every_operator
def test_chunks_of_unknown_size_are_refused(call: Call) -> None:
    x = da.zeros(call.input_shape, chunks=1)
    known = np.arange(call.input_shape[0]) >= 0
    unknown = x[da.from_array(known, chunks=1)]
    with pytest.raises(
        ValueError, match=f"{call.tensor()} must have chunks of known sizes, .*axis 0"
    ):
        lazily(call, unknown)


@pytest.mark.parametrize("absent", ["dask", "dask.task_spec"])
def test_without_dask_the_error_names_the_extra(absent: str) -> None:
    script = f"import sys; sys.modules[{absent!r}] = None; import reblock; import reblock.dask"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    last = result.stderr.splitlines()[-1]
    assert last == 'ModuleNotFoundError: reblock.dask needs dask: pip install "reblock[dask]"'
    assert result.returncode == 1


@every_operator
def test_the_parameters_are_those_of_the_package(call: Call) -> None:
    of_package = inspect.signature(getattr(reblock, call.operator)).parameters
    own = inspect.signature(getattr(reblock.dask, call.operator)).parameters
    without = ("out", "accumulate")  # which writes into out
    assert [*own] == [name for name in of_package if name not in without]
    for name, parameter in own.items():
        if name != "threads":
            assert parameter.default == of_package[name].default


@every_operator
def test_the_examples_of_a_docstring_run(call: Call) -> None:
    text = inspect.getdoc(getattr(reblock.dask, call.operator)) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, call.operator, None, None)
    report: list[str] = []
    assert doctest.DocTestRunner().run(example, out=report.append).attempted
    assert not report
