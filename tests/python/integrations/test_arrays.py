# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of other libraries are read and written without copying, and results are theirs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import array_api_strict
import dask.array
import jax
import jax.numpy
import ml_dtypes
import numpy as np
import pytest
import torch
import xarray
from hypothesis import given
from hypothesis import strategies as st

import reblock
from calls import FOLD, MOVING, SAMPLES, SPACE_TO_DEPTH, Call, any_call
from calls import operator as name_of
from checks import assert_same_bytes, refuses
from oracle import Array


@dataclass(frozen=True)
class Library:
    """How to make a library's array of an ndarray, and the type of it."""

    make: Callable[[Array], Any]
    type: type[Any]
    writable: bool = True

    def __str__(self) -> str:
        """Name the tests of a library."""
        return self.type.__module__.split(".")[0]


LIBRARIES = [
    Library(lambda x: torch.from_numpy(x.copy()), torch.Tensor),
    Library(lambda x: array_api_strict.asarray(x.copy()), type(array_api_strict.ones(1))),
    Library(jax.numpy.asarray, jax.Array, writable=False),
]

DTYPES = [np.bool_, np.uint8, np.int16, np.uint32, np.float32, np.complex64]

every_operator = pytest.mark.parametrize("call", SAMPLES, ids=name_of)
every_library = pytest.mark.parametrize("library", LIBRARIES, ids=str)
writable_libraries = pytest.mark.parametrize(
    "library", [library for library in LIBRARIES if library.writable], ids=str
)


def sample(call: Call, dtype: Any = np.int32) -> Array:
    values = np.arange(np.prod(call.input_shape)) % 5
    return values.astype(dtype).reshape(call.input_shape)


# Inputs and results


@pytest.mark.parametrize("dtype", DTYPES)
@every_library
@every_operator
def test_a_result_is_of_the_library_of_the_input(call: Call, library: Library, dtype: Any) -> None:
    x = sample(call, dtype)
    result = call(library.make(x))
    assert isinstance(result, library.type)
    assert_same_bytes(np.asarray(result), call.oracle(x))


@given(any_call(), st.sampled_from(LIBRARIES))
def test_every_operator_returns_an_array_of_the_library(call: Call, library: Library) -> None:
    x = sample(call)
    result = call(library.make(x))
    assert isinstance(result, library.type)
    assert_same_bytes(np.asarray(result), call.oracle(x))


@every_library
def test_patterns_give_arrays_of_the_library(library: Library) -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    moved = reblock.rearrange(library.make(x), "a b c -> c (b a)")
    repeated = reblock.repeat(library.make(x), "a b c -> a b c 2")
    assert isinstance(moved, library.type)
    assert isinstance(repeated, library.type)
    assert_same_bytes(np.asarray(moved), x.transpose(2, 1, 0).reshape(4, 6))
    assert_same_bytes(np.asarray(repeated), np.repeat(x[..., None], 2, -1))


@writable_libraries
def test_patterns_and_copies_into_arrays_of_a_library(library: Library) -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    out = library.make(np.zeros((4, 3, 2), np.int32))
    assert reblock.rearrange(library.make(x), "a b c -> c b a", out=out) is out
    assert np.array_equal(np.asarray(out), x.T)
    reblock.copyto(out, library.make(x[1:].T.copy()))
    assert np.array_equal(np.asarray(out), np.broadcast_to(x[1:].T, (4, 3, 2)))


@every_operator
def test_strides_of_a_tensor(call: Call) -> None:
    x = np.repeat(sample(call).T, 2, axis=0)
    result = call(torch.from_numpy(x)[::2].permute(*range(x.ndim)[::-1]))
    assert torch.equal(result, torch.from_numpy(call.oracle(sample(call))))


@every_library
@every_operator
def test_an_input_is_read_where_it_lies(call: Call, library: Library) -> None:
    """No memory is allocated for a copy of it."""
    function = getattr(reblock, call.operator)
    x = library.make(np.ones((1, 1, 2**20), np.float32))
    arguments = (2**20, 1) if call is FOLD else (1,)
    out = np.empty((1, 1, 2**20), np.float32)
    tracemalloc.start()
    function(x, *arguments, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
    assert out.all()


@pytest.mark.parametrize("dtype", [jax.numpy.bfloat16, jax.numpy.float8_e5m2], ids=str)
@pytest.mark.parametrize("call", MOVING, ids=name_of)
def test_dtypes_that_jax_has_of_ml_dtypes(call: Call, dtype: Any) -> None:
    x = jax.numpy.asarray(sample(call), dtype)
    result = call(x)
    assert isinstance(result, jax.Array)
    assert result.dtype == dtype
    assert_same_bytes(np.asarray(result), call.oracle(np.asarray(x)))


def test_sums_of_bfloat16_of_jax() -> None:
    x = sample(FOLD, ml_dtypes.bfloat16)
    result = FOLD(jax.numpy.asarray(x))
    assert isinstance(result, jax.Array)
    assert_same_bytes(np.asarray(result), FOLD.oracle(x))


CONVERSIONS: dict[str, Callable[..., Any]] = {
    "space_to_depth": lambda x, **k: reblock.space_to_depth(x, 2, **k),
    "depth_to_space": lambda x, **k: reblock.depth_to_space(x, 2, **k),
    "unfold": lambda x, **k: reblock.unfold(x, 3, strides=2, **k),
    "rearrange": lambda x, **k: reblock.rearrange(x, "n c h w -> n h w c", **k),
    "repeat": lambda x, **k: reblock.repeat(x, "n c h w -> n c h (w 2)", **k),
    "fold": lambda x, **k: reblock.fold(x[:, :, 0], (3, 3), 2, **k),
}
every_conversion = pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
PHOTO = np.arange(4 * 4 * 4, dtype=np.uint8).reshape(1, 4, 4, 4)


@pytest.mark.parametrize("library", [LIBRARIES[0], LIBRARIES[2]], ids=str)
@every_conversion
def test_results_in_bfloat16(convert: Callable[..., Any], library: Library) -> None:
    expected = convert(PHOTO, dtype="bfloat16")
    dtypes: list[Any] = ["bfloat16", ml_dtypes.bfloat16]
    for dtype in dtypes:
        result = convert(library.make(PHOTO), dtype=dtype)
        assert isinstance(result, library.type)
        assert str(result.dtype).endswith("bfloat16")
        bits = result.view(torch.int16) if isinstance(result, torch.Tensor) else result
        assert_same_bytes(np.asarray(bits).view(np.int16), expected.view(np.int16))
    empty = convert(library.make(PHOTO[:0]), dtype="bfloat16")
    assert tuple(empty.shape) == convert(PHOTO[:0]).shape


def test_a_dtype_of_pytorch_for_tensors() -> None:
    x = torch.from_numpy(PHOTO)
    for dtype in (torch.bfloat16, torch.float16, torch.int64):
        result: Any = reblock.rearrange(x, "... -> ...", dtype=dtype)
        assert torch.equal(result, x.to(dtype))


@pytest.mark.parametrize("convert", list(CONVERSIONS.values())[:-1], ids=list(CONVERSIONS)[:-1])
def test_a_dtype_that_a_library_does_not_have_is_refused(convert: Callable[..., Any]) -> None:
    """The error is the same if a plan is remembered that fits the memory of the tensor."""
    photo = PHOTO.copy()
    x = torch.from_numpy(photo)
    told = (
        r"^dtype must be one that torch has, got >f4 \(.*byte order.*\): pass an out of this dtype,"
        r" or use reblock.torch with a torch.dtype$"
    )
    for _ in range(2):
        with pytest.raises(TypeError, match=told):
            convert(x, dtype=">f4")
        expected = convert(photo, dtype=">f4")
    out = np.zeros_like(expected)
    assert convert(x, dtype=">f4", out=out) is out
    assert_same_bytes(out, expected)


def test_subclasses_of_tensors_give_tensors() -> None:
    class Image(torch.Tensor):  # type: ignore[misc] # the types of torch are left out
        """From a module that has no from_dlpack; the one of its base has."""

    x = torch.from_numpy(sample(SPACE_TO_DEPTH))
    for tensor in (x.as_subclass(Image), torch.nn.Parameter(x, requires_grad=False)):
        assert type(SPACE_TO_DEPTH(tensor)) is torch.Tensor


def test_a_compiled_operator_takes_them_too() -> None:
    x = reblock.TensorDesc(reblock.DataType.FLOAT32, (1, 8, 2, 3))
    operator = reblock.compile(reblock.DepthToSpaceDesc(x, block_size=2))
    tensor = torch.randn(1, 8, 2, 3)
    result: Any = operator(tensor)
    assert torch.equal(result, reblock.depth_to_space(tensor, 2))
    out = torch.empty(1, 2, 4, 6)
    assert operator(tensor, out=out) is out
    assert torch.equal(out, result)


# out


@writable_libraries
@every_operator
def test_out_of_a_library(call: Call, library: Library) -> None:
    out = library.make(np.zeros(call.output_shape, np.int32))
    for x in (sample(call), library.make(sample(call)), sample(call).tolist()):
        given = np.asarray(x, np.int32) if isinstance(x, list) else x
        assert call(given, out=out) is out
        assert_same_bytes(np.asarray(out), call.oracle(sample(call)))


@every_library
@every_operator
def test_an_ndarray_as_out(call: Call, library: Library) -> None:
    out = np.zeros(call.output_shape, np.int32)
    assert call(library.make(sample(call)), out=out) is out
    assert_same_bytes(out, call.oracle(sample(call)))


def test_out_may_be_a_view_that_shares_memory_with_the_input() -> None:
    buffer = torch.arange(2 * 3 * 4 * 6, dtype=torch.int32).reshape(2, 3, 4, 6)
    expected = reblock.space_to_depth(buffer.clone(), 2)
    out = buffer.view(2, 12, 2, 3)
    assert reblock.space_to_depth(buffer, 2, out=out) is out
    assert torch.equal(out, expected)


@every_operator
def test_an_immutable_out_is_refused(call: Call) -> None:
    out = jax.numpy.zeros(call.output_shape, np.int32)
    refuses(lambda: call(sample(call), out=out), ValueError, "out")
    assert not out.any()


def test_an_out_that_only_gives_copies_is_refused() -> None:
    class Copies:
        def __init__(self, x: Array) -> None:
            self.x = x

        def __array__(self, *_: Any, **__: Any) -> Array:
            return self.x.copy()

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.x.__dlpack__(**keywords)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.x.__dlpack_device__()

    out = np.zeros(SPACE_TO_DEPTH.output_shape, np.int32)
    refuses(lambda: SPACE_TO_DEPTH(sample(SPACE_TO_DEPTH), out=Copies(out)), TypeError, "out")
    assert not out.any()


def test_an_empty_out() -> None:
    x, out = torch.zeros(0, 1, 4), torch.zeros(0, 2, 2)
    assert reblock.space_to_depth(x, 2, out=out) is out


@writable_libraries
def test_an_out_that_does_not_fit_is_refused(library: Library) -> None:
    call = SPACE_TO_DEPTH
    for shape, dtype, kind in (
        (call.output_shape, np.float32, TypeError),
        (call.input_shape, np.int32, ValueError),
    ):
        out = library.make(np.zeros(shape, dtype))
        refuses(partial(call, sample(call), out=out), kind, "out")


# Refusals


class OnDevice:
    """An array on a device of DLPack's kind 2."""

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise AssertionError  # this would copy it from there

    def __dlpack__(self, **_: Any) -> Any:
        raise AssertionError

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


@every_operator
def test_an_array_on_a_device_is_refused(call: Call) -> None:
    refuses(lambda: call(OnDevice()), TypeError, call.tensor(), "CPU")
    refuses(lambda: call(sample(call), out=OnDevice()), TypeError, "out", "CPU")


FLOATS = torch.zeros(SPACE_TO_DEPTH.input_shape)

# What NumPy cannot view, though it is on the CPU or nowhere, and what the error tells.
UNVIEWABLE = {
    "bfloat16": FLOATS.bfloat16(),
    "float8": FLOATS.to(torch.float8_e5m2),
    "requires grad": FLOATS.clone().requires_grad_(),
    "conjugate": FLOATS.to(torch.complex64).conj(),
    "negative": FLOATS.to(torch.complex64).conj().imag,
    "sparse": FLOATS.to_sparse(),
    "meta": FLOATS.to("meta"),
}


@pytest.mark.parametrize("kind", UNVIEWABLE)
def test_a_tensor_that_numpy_cannot_view_is_refused(kind: str) -> None:
    x, call = UNVIEWABLE[kind], SPACE_TO_DEPTH
    with pytest.raises(TypeError, match=f"(?i)^x must .*{kind}.*reblock.torch"):
        call(x)
    with pytest.raises(TypeError, match=f"(?i)^out must .*{kind}.*reblock.torch"):
        call(sample(call, np.float32), out=x)


@pytest.mark.parametrize(
    "transform", [jax.jit, jax.vmap, lambda function: jax.grad(lambda x: function(x).sum())]
)
def test_a_traced_array_is_refused(transform: Any) -> None:
    space_to_depth = partial(reblock.space_to_depth, block_size=2)
    with pytest.raises(TypeError, match=r"^x must .*Tracer: .* by jax.pure_callback") as caught:
        transform(space_to_depth)(jax.numpy.zeros((1, 1, 2, 2)))
    assert "\n" not in str(caught.value)


@every_operator
def test_a_lazy_array_is_refused(call: Call) -> None:
    x = dask.array.from_array(sample(call))
    with pytest.raises(TypeError, match=r"^(x|columns) must .*: reblock.dask takes it"):
        call(x)
    assert_same_bytes(call(x.compute()), call.oracle(sample(call)))


@every_operator
def test_an_array_with_names_is_refused(call: Call) -> None:
    x = xarray.DataArray(sample(call))
    with pytest.raises(TypeError, match=r"^(x|columns) must .*: pass its .to_numpy\(\)$"):
        call(x)
    assert_same_bytes(call(x.to_numpy()), call.oracle(sample(call)))


def test_an_array_on_another_device_of_the_same_memory_is_refused() -> None:
    device = array_api_strict.Device("device1")
    x = array_api_strict.zeros(SPACE_TO_DEPTH.input_shape, device=device)
    refuses(lambda: SPACE_TO_DEPTH(x), TypeError, "x", "device1")
