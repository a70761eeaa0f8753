# SPDX-License-Identifier: BSD-3-Clause
"""Check the tensors that operators take, turn them into arrays, and arrays into tensors."""

from __future__ import annotations  # docs/conf.py mocks torch, of which | makes no union

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.autograd import forward_ad

_Array = npt.NDArray[Any]


def _dispatch_keys(*names: str) -> Any:
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, names[0]))
    for name in names[1:]:
        keys = keys.add(getattr(torch._C.DispatchKey, name))
    return keys.raw_repr()


# What PyTorch's dispatcher heeds in a call on a plain tensor: nothing but its gradient. Everything
# else has a key: other devices and layouts, lazy conjugation and negation, torch.func, tracing,
# and modes such as that of fake tensors.
_PLAIN_KEYS = _dispatch_keys(
    "CPU", "AutogradCPU", "AutocastCPU", "ADInplaceOrView", "BackendSelect"
)
_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)


def is_plain(x: Any) -> bool:
    """Whether PyTorch only runs the operator in a call on `x`.

    Then the call can skip the dispatcher, which takes longer than a small call.
    """
    if torch.compiler.is_compiling() or type(x) not in _PLAIN_TYPES:
        return False
    if x.requires_grad and torch.is_grad_enabled():
        return False
    keys = torch._C._dispatch_keys(x).raw_repr()
    keys |= torch._C._dispatch_tls_local_include_set().raw_repr()
    return (
        keys | _PLAIN_KEYS == _PLAIN_KEYS
        and forward_ad._current_level < 0
        and torch._C._len_torch_function_stack() == 0
        and not torch.autograd._profiler_enabled()
    )


def is_dense(x: torch.Tensor) -> bool:
    """Whether the elements are separate numbers in memory, at strides."""
    return x.layout is torch.strided and not (x.is_nested or x.is_quantized)


def require_dense_on_the_cpu(name: str, x: object, peer: str) -> None:
    """Raise an error for tensors that no operator takes.

    `peer` names the function that takes tensors on other devices. The device "meta" is allowed,
    because there the result has no elements either.
    """
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(x).__name__}")
    if x.device.type not in ("cpu", "meta"):
        raise NotImplementedError(
            f"{name} must lie on the CPU, got a tensor on {x.device}: there, use {peer}"
        )
    if is_dense(x):
        return
    if x.is_nested:
        why = f"a nested one: {name}.unbind() gives those that it is made of"
    elif x.is_quantized:
        why = f"{x.dtype}, which is quantized: {name}.dequantize() gives floats"
    else:
        why = f"the layout {x.layout}: {name}.to_dense() makes it dense"
    raise NotImplementedError(f"{name} must be a dense tensor, got {why}")


_TRACING = [getattr(torch._C._TorchDispatchModeKey, n) for n in ("FAKE", "PROXY", "FUNCTIONAL")]


def is_traced(x: torch.Tensor) -> bool:
    """Whether PyTorch traces the call, or `x` is a subclass that may have no elements."""
    keys = torch._C._dispatch_keys(x)
    return keys.has(torch._C.DispatchKey.Python) or any(
        torch._C._get_dispatch_mode(key) is not None for key in _TRACING
    )


def require_constant(name: str, x: torch.Tensor) -> None:
    """Raise an error unless a tensor may hold the numbers of an argument that is constant."""
    if x.device.type != "cpu":
        raise NotImplementedError(f"{name} must lie on the CPU, got a tensor on {x.device}")
    if not torch.compiler.is_compiling() and torch._C._functorch.is_functorch_wrapped_tensor(x):
        raise NotImplementedError(
            f"{name} must be constant, got a tensor that a transform of torch.func maps over or"
            " differentiates"
        )


# NumPy does not know every dtype: elements that are only moved go by as integers of the same size.
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(x: torch.Tensor) -> _Array:
    """View the elements as integers of the same size, if there are any, to move them."""
    array: _Array = x.detach().view(_BITS.get(x.itemsize, x.dtype)).numpy()
    return array


def element(value: complex, dtype: torch.dtype) -> Any:
    """Return a number as an element of `bits`; ValueError if the dtype does not hold it."""
    if isinstance(value, int) and value == 0:
        return 0
    held = torch.empty(1, dtype=dtype)
    try:
        found = held.fill_(value).item()
    except RuntimeError:  # PyTorch's error for what is too large, or complex
        found = None
    if found != value and not (value != value and found != found):  # noqa: PLR0124 - a NaN
        raise ValueError(f"padding_value must be a number that {dtype} holds exactly, got {value}")
    return bits(held)[0]


# NumPy's dtypes by PyTorch's, of the numbers that both have. Each name means the same in both.
_NUMPY = {
    getattr(torch, kind + size): np.dtype(kind + size)
    for kind, sizes in (
        ("bool", ("",)),
        ("uint", ("8", "16", "32", "64")),
        ("int", ("8", "16", "32", "64")),
        ("float", ("16", "32", "64")),
        ("complex", ("64", "128")),
    )
    for size in sizes
}


def numpy_dtype(dtype: torch.dtype, name: str) -> np.dtype[Any]:
    """Return the dtype of NumPy or ml_dtypes that has the same numbers.

    `name` is that of the tensor, for the error about a dtype that none has.
    """
    if dtype == torch.bfloat16:
        try:
            import ml_dtypes  # noqa: PLC0415 - of use to bfloat16 alone
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                'bfloat16 needs ml_dtypes: pip install "reblock[torch]"', name="ml_dtypes"
            ) from None
        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found
    if dtype not in _NUMPY:
        raise TypeError(
            f"{name} must have a dtype of numbers (bool, integer, floating point of 16 bits"
            f" or more, complex64 or complex128), got {dtype}"
        )
    return _NUMPY[dtype]


def numbers(columns: torch.Tensor, name: str = "columns") -> _Array:
    """View the elements with their own dtype, to add or convert them."""
    dtype = numpy_dtype(columns.dtype, name)
    if columns.dtype == torch.bfloat16:
        return bits(columns).view(dtype)
    array: _Array = columns.detach().resolve_conj().resolve_neg().numpy()
    return array


def tensor(array: _Array, dtype: torch.dtype) -> torch.Tensor:
    """Return a new array as a tensor on the same memory: the inverse of `bits` and `numbers`."""
    if array.dtype.isbuiltin != 1:  # ml_dtypes'
        array = array.view(np.int16)
    result: torch.Tensor = torch.from_numpy(array).view(dtype)
    return result


def memory_format(x: torch.Tensor, channel_axis: int) -> torch.memory_format:
    """Return channels_last or channels_last_3d if `x` is contiguous only in this format.

    Both are formats of tensors with the channels on axis 1. All others have the default format.
    """
    form = torch.contiguous_format
    if channel_axis in (1, 1 - x.ndim) and not x.is_contiguous():
        last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.ndim, form)
        form = last if x.is_contiguous(memory_format=last) else form
    return form


def empty(x: torch.Tensor, shape: Sequence[int], form: torch.memory_format) -> torch.Tensor:
    """Make a tensor of this shape and memory format, of the dtype and on the device of `x`."""
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=form)
