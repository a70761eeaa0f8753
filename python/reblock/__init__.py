# SPDX-License-Identifier: BSD-3-Clause
"""Move tensors between depth and space, and between images and columns.

`depth_to_space`, `space_to_depth`, `unfold` (im2col) and `fold` (col2im) take NumPy arrays of any
dtype and strides, and follow the definitions of Microsoft's DirectML. `rearrange` and `repeat` take
patterns of einops for any other rearrangement, and `copyto` copies between any strides.

The functions read arrays of other libraries without copying, if the arrays are on the CPU and their
type has ``__dlpack__``. They return arrays of the same library, by the function ``from_dlpack`` of
the array's ``__array_namespace__()``, or of the package of its type or a base of its type. For
TensorFlow they use its own function. Without ``from_dlpack`` the result is an ndarray. For lists
and everything else that NumPy turns into arrays, it is an ndarray too. Arrays that would lose a
mask, names of axes, laziness or the trace of a transformation raise an error.
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
        """Import rarely used names at their first use, and suggest a name for unknown ones."""
        if name in _LAZY:
            return getattr(importlib.import_module(_LAZY[name]), name)
        if name in ("dask", "onnx", "torch"):
            return importlib.import_module(f"{__name__}.{name}")
        hint = f": did you mean reblock.{_ELSEWHERE[name]}?" if name in _ELSEWHERE else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
