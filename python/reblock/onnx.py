# SPDX-License-Identifier: BSD-3-Clause
"""Run DepthToSpace, SpaceToDepth and Col2Im in ONNX's reference evaluator.

``onnx.reference.ReferenceEvaluator(model, new_ops=reblock.onnx.ops)`` runs the nodes of these
operators by reblock, and all others by ONNX. Each class handles every version of its operator. The
model's opset defines the attributes and their defaults. An operator or an attribute that is newer
than the opset raises an error.

ONNX's attributes are those of `reblock.depth_to_space`, `reblock.space_to_depth` and `reblock.fold`
under other names: ``blocksize`` is `block_size`, ``mode`` is `order`, ``block_shape`` is
`window_sizes`, ``image_shape`` is `output_sizes`, and ``pads`` has all of `start_padding` before
all of `end_padding`. Errors have reblock's names.

The operators read an input without copying. Each output is a new C-contiguous array of the same
dtype, and shares no memory with the input. Nothing else of its size is allocated, except for
strings. `reblock.get_num_threads` returns the largest number of threads that move the bytes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import reblock

try:
    import onnx
    from onnx.reference.op_run import OpRun
except ModuleNotFoundError as missing:
    if missing.name != "onnx":
        raise
    raise ModuleNotFoundError(
        'reblock.onnx needs onnx: pip install "reblock[onnx]"', name="onnx"
    ) from None

__all__ = ["Col2Im", "DepthToSpace", "SpaceToDepth", "ops"]

_Array = npt.NDArray[Any]


class _Versioned(OpRun):
    """An operator with the attributes of its version in the model's opset, and no others."""

    def __init__(self, node: onnx.NodeProto, run_params: dict[str, Any]) -> None:
        opset = run_params["opsets"][node.domain]
        schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
        for attribute in node.attribute:
            if attribute.name not in schema.attributes:
                raise ValueError(
                    f"{node.op_type} has no attribute {attribute.name!r} in opset {opset}: it has"
                    f" {', '.join(sorted(schema.attributes))}"
                )
        super().__init__(node, run_params, schema)


class DepthToSpace(_Versioned):
    """DepthToSpace, versions 1, 11, 13 and later.

    The input has shape ``(N, C*b*b, H, W)``, with blocks of ``b`` by ``b`` (``blocksize``), the
    output ``(N, C, H*b, W*b)``. Any dtype that ONNX has for it, strings included; elements are
    moved bit for bit. ``mode``, from opset 11 on, is ``"DCR"`` unless given, or ``"CRD"``.

    Parameters
    ----------
    node : onnx.NodeProto
        The node to run.
    run_params : dict
        The evaluator's parameters. It makes one object for each node.

    Raises
    ------
    ValueError
        For an attribute that the opset does not have. When the node runs, also for an input without
        4 axes, and as `reblock.depth_to_space`.

    Examples
    --------
    >>> import numpy as np
    >>> import reblock.onnx
    >>> x = np.arange(8).reshape(1, 4, 1, 2)
    >>> reblock.onnx.DepthToSpace.eval(x, blocksize=2)  # runs a node by itself
    array([[[[0, 2, 1, 3],
             [4, 6, 5, 7]]]])
    >>> reblock.onnx.DepthToSpace.eval(np.zeros((1, 8, 2, 3)), blocksize=2).shape
    (1, 2, 4, 6)
    """

    def _run(self, data: _Array, blocksize: int, mode: str = "DCR") -> tuple[_Array]:
        return (_move(reblock.depth_to_space, data, blocksize, mode),)


class SpaceToDepth(_Versioned):
    """SpaceToDepth, versions 1, 13 and later.

    The input has shape ``(N, C, H*b, W*b)``, with blocks of ``b`` by ``b`` (``blocksize``), the
    output ``(N, C*b*b, H, W)``. Any dtype that ONNX has for it, strings included; elements are
    moved bit for bit. ``mode``, in opsets that have it, is ``"DCR"`` unless given, or ``"CRD"``.

    Parameters
    ----------
    node : onnx.NodeProto
        The node to run.
    run_params : dict
        The evaluator's parameters. It makes one object for each node.

    Raises
    ------
    ValueError
        For an attribute that the opset does not have. When the node runs, also for an input without
        4 axes, and as `reblock.space_to_depth`.

    Examples
    --------
    >>> import numpy as np
    >>> import reblock.onnx
    >>> x = np.arange(8).reshape(1, 1, 2, 4)
    >>> reblock.onnx.SpaceToDepth.eval(x, blocksize=2).reshape(4, 2)  # runs a node by itself
    array([[0, 2],
           [1, 3],
           [4, 6],
           [5, 7]])
    >>> reblock.onnx.SpaceToDepth.eval(np.zeros((1, 2, 4, 6)), blocksize=2).shape
    (1, 8, 2, 3)
    """

    def _run(self, data: _Array, blocksize: int, mode: str = "DCR") -> tuple[_Array]:
        return (_move(reblock.space_to_depth, data, blocksize, mode),)


class Col2Im(_Versioned):
    """Col2Im, version 18 and later.

    The inputs are the columns, of shape ``(N, C*K, L)``, then ``image_shape`` and ``block_shape``,
    one integer for each of 1 to 6 spatial axes; the output has shape ``(N, C, *image_shape)``.
    ``K`` is the product of ``block_shape``, and ``L`` the number of window positions. ``strides``
    and ``dilations`` are 1 and ``pads`` is 0 along every axis unless given.

    The dtypes are those that `reblock.fold` sums. float16 and bfloat16 are summed in float32 and
    rounded once. ONNX's own reference rounds each sum.

    Parameters
    ----------
    node : onnx.NodeProto
        The node to run.
    run_params : dict
        The evaluator's parameters. It makes one object for each node.

    Raises
    ------
    ValueError
        For an attribute that the opset does not have. When the node runs, also for ``pads`` without
        a start and an end for each axis, and as `reblock.fold`.
    TypeError
        As `reblock.fold`, when the node runs.
    onnx.defs.SchemaError
        In an opset before 18.

    Examples
    --------
    >>> import numpy as np
    >>> import reblock.onnx
    >>> columns = np.ones((1, 4, 4), dtype=int)
    >>> reblock.onnx.Col2Im.eval(columns, np.array([3, 3]), np.array([2, 2]))  # runs a node
    array([[[[1, 2, 1],
             [2, 4, 2],
             [1, 2, 1]]]])
    >>> image, block = np.array([224, 224]), np.array([16, 16])
    >>> columns = np.zeros((1, 768, 196), np.float32)
    >>> reblock.onnx.Col2Im.eval(columns, image, block, strides=[16, 16]).shape
    (1, 3, 224, 224)
    """

    def _run(
        self,
        data: _Array,
        image_shape: _Array,
        block_shape: _Array,
        *,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
    ) -> tuple[_Array]:
        axes = len(image_shape)
        pads = [0] * (2 * axes) if pads is None else pads
        if len(pads) != 2 * axes:
            raise ValueError(
                f"pads must have a start and an end for each of {axes} axes, got {pads}"
            )
        result = reblock.fold(
            data,
            image_shape,
            block_shape,
            strides=1 if strides is None else strides,
            dilations=1 if dilations is None else dilations,
            start_padding=pads[:axes],
            end_padding=pads[axes:],
        )
        return (result,)


def _move(function: Callable[..., _Array], data: _Array, block_size: int, order: str) -> _Array:
    if data.ndim != 4:
        raise ValueError(f"input must have the 4 axes of [N, C, H, W], got shape {data.shape}")
    if data.dtype.hasobject:  # strings, which are objects: move their places instead
        places = np.arange(data.size).reshape(data.shape)
        moved: _Array = data.reshape(-1)[function(places, block_size, order=order)]
        return moved
    return function(data, block_size, order=order)


ops: list[type[OpRun]] = [DepthToSpace, SpaceToDepth, Col2Im]
"""The three classes, as ``onnx.reference.ReferenceEvaluator`` takes them: ``new_ops=ops``."""
