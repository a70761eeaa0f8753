# SPDX-License-Identifier: BSD-3-Clause
"""Bad input of the functions: a clear error before a byte is written."""

from __future__ import annotations

import inspect
import math
import random
import re
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import pytest

import reblock
from bad_calls import BAD_CALLS, BadCall
from calls import SAMPLES, Call, operator
from checks import refuses
from layouts import allocate, random_bytes
from oracle import Array

every_operator = pytest.mark.parametrize("call", SAMPLES, ids=operator)

INT32 = np.dtype(np.int32)
X = np.zeros((1, 4, 2, 2), np.float32)
OPERATOR = reblock.compile(
    reblock.DepthToSpaceDesc(reblock.TensorDesc(reblock.DataType.FLOAT32, X.shape), block_size=2)
)


def sample(call: Call) -> Array:
    return allocate(call.input_shape, INT32).array


@pytest.mark.parametrize("bad", BAD_CALLS, ids=str)
def test_bad_arguments_are_refused(bad: BadCall) -> None:
    function = getattr(reblock, bad.operator)
    # Nothing is read either, so that even an array that no memory could hold will do.
    x = np.empty(bad.shape, np.uint8) if 0 in bad.shape else np.broadcast_to(np.uint8(1), bad.shape)
    out = random_bytes(720, seed=1).reshape(2, 3, 10, 12)
    refuses(
        lambda: function(x, *bad.arguments, **bad.keywords, out=out),
        bad.kind,
        bad.argument,
        *bad.told,
        untouched=[out],
    )


@pytest.mark.parametrize("call", SAMPLES[:2], ids=operator)
@pytest.mark.parametrize("order", ["dcr", "RGB", "", "DEPTH_COLUMN_ROW", 2, -1, 2**70], ids=repr)
def test_an_unknown_order_is_refused(call: Call, order: Any) -> None:
    out = allocate(call.output_shape, INT32)
    refuses(
        lambda: call(sample(call), order=order, out=out.array),
        ValueError,
        "order",
        order,
        untouched=[out.buffer],
    )


@pytest.mark.parametrize("call", SAMPLES[:2], ids=operator)
@pytest.mark.parametrize("order", [None, 1.0, True, b"DCR", ["DCR"]], ids=repr)
def test_an_order_of_another_type_is_refused(call: Call, order: Any) -> None:
    out = allocate(call.output_shape, INT32)
    refuses(
        lambda: call(sample(call), order=order, out=out.array),
        TypeError,
        "order",
        untouched=[out.buffer],
    )


# `out`


@every_operator
def test_out_of_another_shape_is_refused(call: Call) -> None:
    shape = call.output_shape
    for wrong in (
        (*shape[:-1], shape[-1] + 1),
        (*shape[:-1], shape[-1] - 1),
        (*shape[:-2], shape[-1], shape[-2]),
        (shape[0], 1, *shape[2:]),
        (1, *shape),
        shape[1:],
        (math.prod(shape),),
        (0, *shape[1:]),
        (),
    ):
        out = allocate(wrong, INT32)
        refuses(
            partial(call, sample(call), out=out.array),
            ValueError,
            "out",
            shape,
            wrong,
            untouched=[out.buffer],
        )


@every_operator
def test_a_read_only_out_is_refused(call: Call) -> None:
    out = allocate(call.output_shape, INT32)
    out.array.flags.writeable = False
    refuses(lambda: call(sample(call), out=out.array), ValueError, "out", untouched=[out.buffer])


@every_operator
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_an_out_that_overlaps_itself_is_refused(call: Call, axis: int) -> None:
    """By a repeated axis, by rows that share elements, and by elements that share a byte."""
    buffer = random_bytes(10_000, seed=1)
    packed = np.empty(call.output_shape, INT32).strides
    for stride in (0, packed[axis] - 1, 3):
        strides = [*packed]
        strides[axis] = stride
        out: Array = np.ndarray(call.output_shape, INT32, buffer.data, 0, tuple(strides))
        refuses(
            partial(call, sample(call), out=out),
            ValueError,
            "out",
            tuple(strides),
            untouched=[buffer],
        )


def test_an_out_that_may_overlap_itself_is_refused() -> None:
    """Where the search for two elements in one place takes too long, the message says so."""
    shape = (59,) * 8
    strides = tuple(random.Random(0).choices(range(2**49, 2**50), k=8))
    # Neither is ever read: no memory could hold it.
    x = np.broadcast_to(np.uint8(1), shape)
    out = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), shape, strides)
    message = "out must not overlap itself, .*; for these strides that takes too long to tell"
    with pytest.raises(ValueError, match=message):
        reblock.depth_to_space(x, 1, out=out)


@every_operator
@pytest.mark.parametrize(
    "dtype", [np.uint32, np.int64, np.float32, ">i4", "V4", object], ids=lambda d: np.dtype(d).str
)
def test_out_of_another_dtype_is_refused(call: Call, dtype: Any) -> None:
    if dtype is object:
        out = np.full(call.output_shape, None)
        untouched = []
    else:
        out = allocate(call.output_shape, np.dtype(dtype)).array
        untouched = [out]
    shown = str(np.dtype(dtype))
    refuses(
        lambda: call(sample(call), out=out), TypeError, "out", "int32", shown, untouched=untouched
    )


@every_operator
def test_out_that_is_no_array_is_refused(call: Call) -> None:
    bytes_ = bytearray(4 * math.prod(call.output_shape))
    nested = np.zeros(call.output_shape, INT32).tolist()
    for out in (nested, bytes_, memoryview(bytes_), 0, "out", np.int32(0), np.ndarray):
        refuses(partial(call, sample(call), out=out), TypeError, "out", type(out).__name__)
    assert bytes_ == bytes(len(bytes_))
    assert not np.any(nested)


# The input


class Tensor:
    """Something that NumPy makes no numbers of."""


@every_operator
@pytest.mark.parametrize("x", [None, object(), {1: 2}, {1}, [[None]], Tensor()], ids=type)
def test_an_input_that_is_no_array_of_numbers_is_refused(call: Call, x: object) -> None:
    name = type(x).__qualname__
    with pytest.raises(TypeError, match=rf"{call.tensor()} must be an array .*, got [\w.]*{name}"):
        call(x)


@every_operator
def test_sequences_of_different_lengths_are_refused(call: Call) -> None:
    with pytest.raises(
        ValueError, match=rf"^{call.tensor()} must be an array .* got list \(setting"
    ):
        call([[1, 2], [3]])


@every_operator
def test_an_array_of_objects_is_refused(call: Call) -> None:
    for dtype in (object, [("number", np.int32), ("anything", object)]):
        x = np.zeros(call.input_shape, dtype)
        refuses(partial(call, x), TypeError, call.tensor(), x.dtype)


@pytest.mark.parametrize(
    ("columns", "output_sizes", "hint"),
    [
        ((1, 9, 36), 8, "; for two axes pass (8, 8)"),
        ((1, 9, 36), (8,), ""),
        ((1, 9, 35), (8, 8), ""),
    ],
)
def test_an_int_for_the_sizes_of_two_axes_is_refused(
    columns: tuple[int, ...], output_sizes: Any, hint: str
) -> None:
    """An int is one axis where nothing tells their number."""
    with pytest.raises(ValueError, match=r"shape has \d+ window positions") as caught:
        reblock.fold_shape(columns, output_sizes, 3)
    assert str(caught.value).endswith((hint,) if hint else ("(6,)", "(6, 6)"))
    assert reblock.fold_shape((1, 9, 36), (8, 8), 3) == (1, 1, 8, 8)


# Calling


@every_operator
def test_arguments_that_are_no_sizes_are_given_by_name(call: Call) -> None:
    function = getattr(reblock, call.operator)
    with pytest.raises(TypeError):
        function(sample(call), *call.arguments, 1)


@every_operator
def test_unknown_and_missing_arguments_are_refused(call: Call) -> None:
    function = getattr(reblock, call.operator)
    with pytest.raises(TypeError):
        function(sample(call))
    with pytest.raises(TypeError):
        function(*call.arguments)
    with pytest.raises(TypeError):
        call(sample(call), workers=1)
    with pytest.raises(TypeError):
        function(sample(call), *call.arguments, **{call.tensor(): sample(call)})


@every_operator
def test_every_argument_has_a_name(call: Call) -> None:
    function = getattr(reblock, call.operator)
    names = list(inspect.signature(function).parameters)
    given = dict(zip(names, [sample(call), *call.arguments], strict=False))
    assert np.array_equal(function(**given, **call.keywords), call(sample(call)))


@pytest.mark.parametrize(
    ("function", "arguments", "keywords", "message"),
    [
        (
            reblock.depth_to_space,
            (X,),
            {},
            "depth_to_space() misses a required argument: 'block_size'",
        ),
        (reblock.fold, (X, 4), {}, "fold() misses a required argument: 'window_sizes'"),
        (
            reblock.depth_to_space,
            (X, 2, "CRD"),
            {},
            "takes at most 2 positional arguments, got 3: name the others, from 'order' on",
        ),
        (
            reblock.unfold,
            (X, 2),
            {"stride": 1},
            "unfold() got an unexpected keyword argument 'stride'",
        ),
        (reblock.unfold, (X, 2), {"x": X}, "unfold() got multiple values for argument 'x'"),
        (OPERATOR, (), {}, "CompiledOperator.__call__() misses a required argument: 'x'"),
        (OPERATOR, (X, None, 1, 2), {}, "CompiledOperator.__call__() takes at most 3 positional"),
        (OPERATOR, (X,), {"output": X}, "got an unexpected keyword argument 'output'"),
        (OPERATOR, (X,), {"out": X, "x": X}, "got multiple values for argument 'x'"),
        (OPERATOR, (X,), dict.fromkeys("abcd", 1), "got an unexpected keyword argument 'a'"),
        (reblock.unfold, (X, 2), {"\udc80": 1}, "unexpected keyword argument '\\udc80'"),
        (OPERATOR.dispatch, (X,), {}, "dispatch() misses a required argument: 'output_buffer'"),
        (reblock.compile, (), {}, "compile() misses a required argument: 'desc'"),
        (reblock.get_num_threads, (1,), {}, "get_num_threads() takes at most 0 positional"),
        (reblock.TensorDesc, (1,), {}, "TensorDesc() misses a required argument: 'sizes'"),
        (reblock.FoldDesc, (1, 2, 3), {}, "FoldDesc() takes at most 2 positional arguments, got 3"),
    ],
)
def test_arguments_are_bound_as_in_python(
    function: Callable[..., object],
    arguments: tuple[object, ...],
    keywords: dict[str, object],
    message: str,
) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        function(*arguments, **keywords)


def test_names_that_are_made_up_at_run_time_are_known_too() -> None:
    keywords: dict[str, Any] = {
        name[:-1]: value for name, value in (("block_size_", 2), ("order_", "CRD"))
    }
    assert np.array_equal(
        reblock.depth_to_space(X, **keywords), reblock.depth_to_space(X, 2, order="CRD")
    )


# Words of other libraries

X4 = np.zeros((1, 4, 4, 4), np.float32)
TENSOR = reblock.TensorDesc("float32", X4.shape)

HINTS = [
    (reblock.depth_to_space, "upscale_factor", "block_size=", "PyTorch"),
    (reblock.space_to_depth, "downscale_factor", "block_size=", "PyTorch"),
    (reblock.depth_to_space, "blocksize", "block_size=", "ONNX"),
    (reblock.depth_to_space, "mode", "order=", "ONNX"),
    (reblock.space_to_depth_shape, "data_format", "layout=", "TensorFlow"),
    (reblock.depth_to_space, "input", "x=", "PyTorch"),
    (reblock.unfold, "kernel_size", "window_sizes=", "PyTorch"),
    (reblock.unfold, "stride", "strides=", "PyTorch"),
    (reblock.unfold, "dilation", "dilations=", "PyTorch"),
    (reblock.unfold, "padding", "start_padding= and end_padding=", "PyTorch"),
    (reblock.unfold, "pads", "start_padding= and end_padding=", "ONNX"),
    (reblock.unfold_shape, "block_shape", "window_sizes=", "ONNX"),
    (reblock.unfold, "images", "x=", "TensorFlow"),
    (reblock.unfold, "sizes", "window_sizes=", "TensorFlow"),
    (reblock.unfold, "rates", "dilations=", "TensorFlow"),
    (reblock.unfold, "patch_size", "window_sizes=", "scikit-learn"),
    (reblock.unfold, "window_shape", "window_sizes=", "scikit-image"),
    (reblock.unfold, "step", "strides=", "scikit-image"),
    (reblock.unfold, "frame_length", "window_sizes=", "librosa"),
    (reblock.unfold, "hop_length", "strides=", "librosa"),
    (reblock.unfold, "constant_values", "padding_value=", "NumPy"),
    (reblock.unfold, "value", "padding_value=", "PyTorch"),
    (reblock.fold, "window", "weights=", "tiler"),
    (reblock.fold, "reduce", "reduction=", "PyTorch"),
    (reblock.fold, "output_size", "output_sizes=", "PyTorch"),
    (reblock.fold, "image_shape", "output_sizes=", "ONNX"),
    (reblock.fold, "input", "columns=", "PyTorch"),
    (reblock.TensorDesc, "dtype", "data_type=", "NumPy"),
    (reblock.TensorDesc, "shape", "sizes=", "NumPy"),
    (reblock.UnfoldDesc, "kernel_size", "window_sizes=", "PyTorch"),
    (reblock.unfold, "WindowSizes", "window_sizes=", None),
    (reblock.depth_to_space, "BlockSize", "block_size=", None),
    (reblock.compile, "FeatureLevel", "feature_level=", None),
    (reblock.depth_to_space, "kernel_size", None, None),
    (reblock.unfold, "quality", None, None),
    (reblock.Patches, "kernel_size", "window_sizes=", "PyTorch"),
    (reblock.Patches, "stride", "strides=", "PyTorch"),
    (reblock.Patches, "roi_size", "window_sizes=", "MONAI"),
    (reblock.Patches, "cval", "padding_value=", "MONAI"),
    (reblock.Patches, "tile_shape", "window_sizes=", "tiler"),
    (reblock.Patches, "overlap", "strides=", "tiler: window_sizes - overlap"),
    (reblock.unfold, "overlap", "strides=", "tiler: window_sizes - overlap"),
    (reblock.depth_to_space, "overlap", None, None),
    (reblock.Patches, "quality", None, None),
    (reblock.Patches.merge, "window", "weights=", "tiler"),
    (reblock.Patches.merge, "quality", None, None),
]


@pytest.mark.parametrize(
    ("function", "word", "ours", "library"), HINTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_words_of_other_libraries_are_known(
    function: Callable[..., object], word: str, ours: str | None, library: str | None
) -> None:
    with pytest.raises(TypeError) as caught:
        function(**{word: 2})
    known_as = f" ({word} in {library})" if library else ""
    hint = f": did you mean {ours}{known_as}?" if ours else ""
    name = function.__qualname__
    assert str(caught.value) == f"{name}() got an unexpected keyword argument {word!r}{hint}"


@pytest.mark.parametrize(
    ("order", "meant"),
    [("crd", "CRD"), ("Dcr", "DCR"), ("DEPTH_COLUMN_ROW", "DCR"), ("column_row_depth", "CRD")],
)
def test_an_order_in_other_letters_is_known(order: Any, meant: str) -> None:
    with pytest.raises(ValueError, match=rf': did you mean "{meant}"\?$'):
        reblock.depth_to_space(X, 2, order=order)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("pixel_shuffle", 'depth_to_space(x, block_size, order="CRD")'),
        ("pixel_unshuffle", 'space_to_depth(x, block_size, order="CRD")'),
        ("im2col", "unfold(x, window_sizes)"),
        ("extract_patches", "unfold(x, window_sizes)"),
        ("col2im", "fold(columns, output_sizes, window_sizes)"),
        ("Col2Im", "fold(columns, output_sizes, window_sizes)"),
        ("DepthToSpace", "depth_to_space(x, block_size)"),
        ("SpaceToDepth", "space_to_depth(x, block_size)"),
    ],
)
def test_functions_of_other_libraries_are_known(name: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f": did you mean reblock.{ours}?")):
        getattr(reblock, name)
    assert not hasattr(reblock, name)
    assert callable(getattr(reblock, ours.partition("(")[0]))


def test_a_name_that_nobody_has_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match=r"^module 'reblock' has no attribute 'quality'$"):
        getattr(reblock, "quality")  # noqa: B009 - mypy knows that it is not there


# Messages are short

MEBIBYTE = 1 << 20


class Unprintable:
    """Its repr fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


LARGE: list[Any] = [
    bytes(MEBIBYTE),
    bytearray(MEBIBYTE),
    memoryview(bytes(MEBIBYTE)),
    np.zeros((1000, 1000)),
    np.full((2, 3), "text\nof\nlines"),
    [0.5] * MEBIBYTE,
    [[object()] * 100] * 100,
    dict.fromkeys(range(100_000)),
    "text\n" * MEBIBYTE,
    10**5000,
    Unprintable(),
    TENSOR,
    reblock.compile(reblock.DepthToSpaceDesc(TENSOR, block_size=2)),
]
CALLABLES: list[Any] = [
    reblock.depth_to_space,
    reblock.space_to_depth,
    reblock.unfold,
    reblock.fold,
    reblock.depth_to_space_shape,
    reblock.space_to_depth_shape,
    reblock.unfold_shape,
    reblock.fold_shape,
    reblock.compile,
    reblock.set_num_threads,
    reblock.TensorDesc,
    reblock.DepthToSpaceDesc,
    reblock.SpaceToDepthDesc,
    reblock.UnfoldDesc,
    reblock.FoldDesc,
    reblock.CompiledOperator,
    reblock.DataType.from_onnx,
    OPERATOR,
    OPERATOR.dispatch,
    OPERATOR.__call__,
]


@pytest.mark.parametrize("value", LARGE, ids=lambda value: type(value).__name__)
def test_a_message_is_one_short_line_whatever_was_given(value: Any) -> None:
    x = np.zeros((1, 4, 4, 4))
    bad: list[Callable[[Any], object]] = [
        *[partial(_with_all, function) for function in CALLABLES],
        lambda v: reblock.depth_to_space(x, v),
        lambda v: reblock.depth_to_space(x, (v, 2)),
        lambda v: reblock.depth_to_space(x, 2, order=v),
        lambda v: reblock.depth_to_space(x, 2, threads=v),
        lambda v: reblock.depth_to_space(x, 2, channel_axis=v),
        lambda v: reblock.depth_to_space(x, 2, out=v),
        lambda v: reblock.depth_to_space(x, 2, layout=v),
        lambda v: reblock.unfold(x, 1, out_layout=v),
        lambda v: reblock.unfold(x, 1, padding_value=cast(Any, [v])),
        lambda v: reblock.unfold(x, 1, blocks=slice(v, None, 2)),
        lambda v: reblock.fold(x[0], 1, 1, reduction=v),
        lambda v: reblock.rearrange(x, cast(Any, [v])),
        lambda v: reblock.depth_to_space([v, None], 2),
        lambda v: reblock.TensorDesc(v, (1, 2)),
        lambda v: reblock.TensorDesc("float32", (1, v)),
        lambda v: reblock.DepthToSpaceDesc(TENSOR, cast(Any, [v]), block_size=2),
        lambda v: reblock.DepthToSpaceDesc(TENSOR, block_size=(v,)),
        lambda v: reblock.compile(reblock.DepthToSpaceDesc(TENSOR, block_size=2), feature_level=v),
    ]
    for call in bad:
        with pytest.raises((TypeError, ValueError)) as caught:
            call(value)
        message = str(caught.value)
        assert len(message) < 400, message[:2000]
        assert "\n" not in message, message
        assert not re.search(r"incompatible|nvoked|::|_core", message), message


def _with_all(function: Any, value: Any) -> object:
    """Call a function by place with more arguments than it takes, then with one by one."""
    with pytest.raises(
        TypeError, match=r"takes at most \d positional arguments, got 9|cannot create"
    ):
        function(*[value] * 9)
    return function(value)
