# SPDX-License-Identifier: BSD-3-Clause
"""Move tensors between depth and space, and between images and columns.

`depth_to_space`, `space_to_depth`, `unfold` (im2col) and `fold` (col2im) for NumPy arrays of any
dtype, rank and strides, with the semantics of Microsoft's DirectML. `rearrange` and `repeat` do any
other rearrangement, in the language of einops, and `copyto` copies between any strides.

Arrays of other libraries are read without copying: those on the CPU whose type has ``__dlpack__``.
The result goes back to the library, by the function ``from_dlpack`` of the array's
``__array_namespace__()``, or else of the package that its type or a base of it comes from, and to
TensorFlow by its own. Where there is no such function it is an ndarray, as it is for lists and
everything else that NumPy makes arrays of. What would lose a mask, the names of its axes, laziness
or the trace of a transformation is refused.
"""

import importlib
from typing import TYPE_CHECKING

from reblock._config import get_cmake_dir, get_include, show_config
from reblock._core import (
    CompiledOperator,
    DataType,
    DepthSpaceOrder,
    DepthToSpaceDesc,
    FeatureLevel,
    FoldDesc,
    PaddingMode,
    SpaceToDepthDesc,
    TensorDesc,
    UnfoldDesc,
    __version__,
    copyto,
    depth_to_space,
    depth_to_space_shape,
    fold,
    fold_shape,
    get_num_threads,
    rearrange,
    repeat,
    same_padding,
    set_num_threads,
    space_to_depth,
    space_to_depth_shape,
    unfold,
    unfold_shape,
)

# DirectML's word. It is public, but not in __all__: `from reblock import *` keeps Python's own.
from reblock._core import compile as compile  # noqa: A004 - so that type checkers know it

__all__ = [
    "CompiledOperator",
    "DataType",
    "DepthSpaceOrder",
    "DepthToSpaceDesc",
    "FeatureLevel",
    "FoldDesc",
    "PaddingMode",
    "Patches",
    "SpaceToDepthDesc",
    "TensorDesc",
    "UnfoldDesc",
    "__version__",
    "copyto",
    "depth_to_space",
    "depth_to_space_shape",
    "diagnose",
    "explain",
    "fold",
    "fold_shape",
    "get_cmake_dir",
    "get_include",
    "get_num_threads",
    "rearrange",
    "repeat",
    "same_padding",
    "set_num_threads",
    "show_config",
    "space_to_depth",
    "space_to_depth_shape",
    "unfold",
    "unfold_shape",
]

_ELSEWHERE = {
    "Col2Im": "fold(columns, output_sizes, window_sizes)",
    "DepthToSpace": "depth_to_space(x, block_size)",
    "Fold": "torch.nn.Fold(output_size, kernel_size)",
    "PixelShuffle": "torch.nn.PixelShuffle(upscale_factor)",
    "PixelUnshuffle": "torch.nn.PixelUnshuffle(downscale_factor)",
    "SpaceToDepth": "space_to_depth(x, block_size)",
    "Unfold": "torch.nn.Unfold(kernel_size)",
    "col2im": "fold(columns, output_sizes, window_sizes)",
    "extract_patches": "unfold(x, window_sizes)",
    "im2col": "unfold(x, window_sizes)",
    "pixel_shuffle": 'depth_to_space(x, block_size, order="CRD")',
    "pixel_unshuffle": 'space_to_depth(x, block_size, order="CRD")',
}
"""What other libraries call the operators, and how they are called here."""

if TYPE_CHECKING:
    from reblock import dask as dask
    from reblock import onnx as onnx
    from reblock import torch as torch
    from reblock._diagnose import diagnose
    from reblock._explain import explain
    from reblock._patches import Patches
else:
    # What few programs use is imported when it is asked for.
    _LAZY = {
        "diagnose": "reblock._diagnose",
        "explain": "reblock._explain",
        "Patches": "reblock._patches",
    }

    def __getattr__(name: str) -> object:
        """Import what few programs use when it is asked for; else tell what was meant."""
        if name in _LAZY:
            return getattr(importlib.import_module(_LAZY[name]), name)
        if name in ("dask", "onnx", "torch"):
            return importlib.import_module(f"{__name__}.{name}")
        hint = f": did you mean reblock.{_ELSEWHERE[name]}?" if name in _ELSEWHERE else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
