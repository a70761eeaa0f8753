# SPDX-License-Identifier: BSD-3-Clause
"""DepthToSpace, SpaceToDepth and Col2Im for ONNX's reference evaluator.

``onnx.reference.ReferenceEvaluator(model, new_ops=reblock.onnx.ops)`` runs the nodes of these
operators by reblock and all others as before. Each class serves every version of its operator: the
model's opset tells which attributes there are and what they are by default, and it is an error if
the operator or an attribute came later.

ONNX's attributes are those of `reblock.depth_to_space`, `reblock.space_to_depth` and `reblock.fold`
under other names: ``blocksize`` is `block_size`, ``mode`` is `order`, ``block_shape`` is
`window_sizes`, ``image_shape`` is `output_sizes`, and ``pads`` has all of `start_padding` before
all of `end_padding`. Errors tell reblock's names.
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
    """DepthToSpace, versions 1, 11, 13 and later."""

    def _run(self, data: _Array, blocksize: int, mode: str = "DCR") -> tuple[_Array]:
        return (_move(reblock.depth_to_space, data, blocksize, mode),)


class SpaceToDepth(_Versioned):
    """SpaceToDepth, versions 1, 13 and later."""

    def _run(self, data: _Array, blocksize: int, mode: str = "DCR") -> tuple[_Array]:
        return (_move(reblock.space_to_depth, data, blocksize, mode),)


class Col2Im(_Versioned):
    """Col2Im, version 18 and later.

    float16 and bfloat16 are summed in float32 and rounded once, where ONNX's own reference rounds
    each sum.
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
