# SPDX-License-Identifier: BSD-3-Clause
"""Run PyTorch's modules PixelShuffle, PixelUnshuffle, Unfold and Fold on the CPU by `reblock`.

Each module derives from the class of the same name in ``torch.nn``. It has the same arguments,
attributes and results, and takes every dtype that the function of `reblock.torch` takes. It has no
parameters and adds nothing to a ``state_dict``. `reblock.torch.accelerate` replaces PyTorch's
modules in a model.

PyTorch's own functions handle everything else: tensors on other devices, sparse, quantized and
nested tensors, numbers of axes that PyTorch refuses, and everything that ``torch.jit.script``,
``torch.jit.trace`` and ``torch.onnx.export`` record.
"""

from __future__ import annotations  # docs/conf.py mocks torch, of which | makes no union

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn import functional

import reblock.torch
from reblock.torch._tensors import is_dense

__all__ = ["Fold", "PixelShuffle", "PixelUnshuffle", "Unfold"]


class PixelShuffle(torch.nn.PixelShuffle):  # type: ignore[misc] # the types of torch are left out
    """Move channels into blocks of pixels, as ``torch.nn.PixelShuffle``.

    This is `reblock.torch.depth_to_space` in CRD order, for any number of batch axes: an input of
    shape ``(*, C*r*r, H, W)`` gives a new tensor of shape ``(*, C, H*r, W*r)``.

    Parameters
    ----------
    upscale_factor : int
        Pixels along each side of a block, ``r``; at least 1.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> shuffle = reblock.torch.nn.PixelShuffle(2)
    >>> shuffle(torch.zeros(1, 12, 2, 3)).shape
    torch.Size([1, 3, 4, 6])
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - PyTorch's name
        """Return ``(*, C, H*r, W*r)`` for an input of ``(*, C*r*r, H, W)``."""
        if torch.jit.is_scripting():
            return functional.pixel_shuffle(input, self.upscale_factor)
        return _pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(torch.nn.PixelUnshuffle):  # type: ignore[misc] # as above
    """Move blocks of pixels into channels, as ``torch.nn.PixelUnshuffle``.

    This is `reblock.torch.space_to_depth` in CRD order, for any number of batch axes: an input of
    shape ``(*, C, H*r, W*r)`` gives a new tensor of shape ``(*, C*r*r, H, W)``.

    Parameters
    ----------
    downscale_factor : int
        Pixels along each side of a block, ``r``; at least 1.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> unshuffle = reblock.torch.nn.PixelUnshuffle(2)
    >>> unshuffle(torch.zeros(1, 3, 4, 6)).shape
    torch.Size([1, 12, 2, 3])
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - PyTorch's name
        """Return ``(*, C*r*r, H, W)`` for an input of ``(*, C, H*r, W*r)``."""
        if torch.jit.is_scripting():
            return functional.pixel_unshuffle(input, self.downscale_factor)
        return _pixel_unshuffle(input, self.downscale_factor)


class Unfold(torch.nn.Unfold):  # type: ignore[misc] # as above
    """Copy every position of a sliding window into a column, as ``torch.nn.Unfold``.

    This is `reblock.torch.unfold` for images, with or without a batch: an input of shape
    ``(N, C, H, W)`` gives a new tensor of shape ``(N, C*K, L)``, for ``L`` window positions.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Pixels of the window, ``K`` in all: one value for both axes, or one for each. This holds for
        the following parameters too.
    dilation : int or tuple of int, default 1
        Pixels from one element of the window to the next; at least 1.
    padding : int or tuple of int, default 0
        Zeros before and after each axis; at least 0.
    stride : int or tuple of int, default 1
        Pixels from one window position to the next; at least 1.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> unfold = reblock.torch.nn.Unfold(3, padding=1)
    >>> unfold(torch.zeros(1, 2, 4, 5)).shape
    torch.Size([1, 18, 20])
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - PyTorch's name
        """Return ``(N, C*K, L)`` for an input of ``(N, C, H, W)``."""
        window = (self.kernel_size, self.dilation, self.padding, self.stride)
        if torch.jit.is_scripting():
            return functional.unfold(input, *window)
        return _unfold(input, window)


class Fold(torch.nn.Fold):  # type: ignore[misc] # as above
    """Add up overlapping windows into an image, as ``torch.nn.Fold``.

    This is `reblock.torch.fold` for images, with or without a batch: an input of shape
    ``(N, C*K, L)`` gives a new tensor of shape ``(N, C, *output_size)``. float16 and bfloat16 are
    summed in float32 and rounded once.

    Parameters
    ----------
    output_size : int or tuple of int
        Height and width of the result.
    kernel_size, dilation, padding, stride
        As in `Unfold`.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> fold = reblock.torch.nn.Fold((4, 5), 3, padding=1)
    >>> fold(torch.zeros(1, 18, 20)).shape
    torch.Size([1, 2, 4, 5])
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - PyTorch's name
        """Return ``(N, C, *output_size)`` for an input of ``(N, C*K, L)``."""
        window = (self.kernel_size, self.dilation, self.padding, self.stride)
        if torch.jit.is_scripting():
            return functional.fold(input, self.output_size, *window)
        return _fold(input, self.output_size, window)


OWN = {
    torch.nn.PixelShuffle: PixelShuffle,
    torch.nn.PixelUnshuffle: PixelUnshuffle,
    torch.nn.Unfold: Unfold,
    torch.nn.Fold: Fold,
}


def accelerate(model: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """Replace PixelShuffle, PixelUnshuffle, Unfold and Fold in a model by those of `reblock`.

    Each of these modules in `model`, or `model` itself, gets the class of the same name in
    `reblock.torch.nn`. It stays the same object, with its hooks and its place in the model. Modules
    of derived classes and calls of ``torch.nn.functional`` do not change. On other devices, PyTorch
    still does the work.

    Parameters
    ----------
    model : torch.nn.Module
        Changed in place. It should not have been compiled yet.

    Returns
    -------
    dict of str to torch.nn.Module
        The modules that now have classes of `reblock`, by their names in ``model.named_modules``;
        empty if there was nothing to replace.

    Raises
    ------
    TypeError
        If `model` is not a torch.nn.Module.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 12, 3), torch.nn.PixelShuffle(2))
    >>> reblock.torch.accelerate(model)
    {'1': PixelShuffle(upscale_factor=2)}
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    # A module that stands in several places is told by each of its names.
    modules = model.named_modules(remove_duplicate=False)
    found = {name: module for name, module in modules if type(module) in OWN}
    for module in found.values():
        # Under its second name a module is one of these already.
        module.__class__ = OWN.get(type(module), type(module))
    return found


# What the modules do. torch.fx records calls of these functions instead of looking into them.


def _is_own(x: torch.Tensor, ranks: range) -> bool:
    return (
        isinstance(x, torch.Tensor)
        and x.ndim in ranks
        and x.device.type == "cpu"
        and is_dense(x)
        and not torch.jit.is_tracing()
        and not torch.onnx.is_in_onnx_export()
    )


def _with_one_batch_axis(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, axes: int
) -> torch.Tensor:
    """Apply a function to `x`, with all but the last `axes` axes as one batch axis."""
    if x.ndim == axes + 1:
        return function(x)
    result = function(x.reshape(math.prod(x.shape[:-axes]), *x.shape[-axes:]))
    return result.reshape(*x.shape[:-axes], *result.shape[1:])


def _pixel_shuffle(x: torch.Tensor, factor: int) -> torch.Tensor:
    if not _is_own(x, range(3, 65)):
        return functional.pixel_shuffle(x, factor)
    shuffle = partial(reblock.torch.depth_to_space, block_size=factor, order="CRD")
    return _with_one_batch_axis(shuffle, x, axes=3)


def _pixel_unshuffle(x: torch.Tensor, factor: int) -> torch.Tensor:
    if not _is_own(x, range(3, 65)):
        return functional.pixel_unshuffle(x, factor)
    unshuffle = partial(reblock.torch.space_to_depth, block_size=factor, order="CRD")
    return _with_one_batch_axis(unshuffle, x, axes=3)


def _unfold(x: torch.Tensor, window: tuple[Any, ...]) -> torch.Tensor:
    if not _is_own(x, range(3, 5)):
        return functional.unfold(x, *window)
    unfold = partial(reblock.torch.unfold, **_window(*window))
    return _with_one_batch_axis(unfold, x, axes=3)


def _fold(x: torch.Tensor, output_size: Any, window: tuple[Any, ...]) -> torch.Tensor:
    if not _is_own(x, range(2, 4)):
        return functional.fold(x, output_size, *window)
    sizes = (output_size, output_size) if isinstance(output_size, int) else output_size
    fold = partial(reblock.torch.fold, output_sizes=sizes, **_window(*window))
    return _with_one_batch_axis(fold, x, axes=2)


def _window(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> dict[str, Any]:
    return {
        "window_sizes": kernel_size,
        "strides": stride,
        "dilations": dilation,
        "start_padding": padding,
        "end_padding": padding,
    }


for _function in (_pixel_shuffle, _pixel_unshuffle, _unfold, _fold):
    torch.fx.wrap(_function.__name__)
