# SPDX-License-Identifier: BSD-3-Clause
"""Descriptors of the calls in calls.py."""

from __future__ import annotations

from collections.abc import Sequence

from calls import Call
from reblock import (
    DataType,
    DepthToSpaceDesc,
    FoldDesc,
    SpaceToDepthDesc,
    TensorDesc,
    UnfoldDesc,
)

OperatorDesc = DepthToSpaceDesc | SpaceToDepthDesc | UnfoldDesc | FoldDesc


def describe(
    call: Call,
    data_type: DataType,
    *,
    input_strides: Sequence[int] | None = None,
    output_strides: Sequence[int] | None = None,
) -> OperatorDesc:
    """Describe a call, with both tensors given."""
    return describe_tensors(
        call,
        TensorDesc(data_type, call.input_shape, input_strides),
        TensorDesc(data_type, call.output_shape, output_strides),
    )


def describe_tensors(call: Call, source: TensorDesc, target: TensorDesc | None) -> OperatorDesc:
    """Describe the operator and the arguments of a call, over any two tensors."""
    if call.operator in ("depth_to_space", "space_to_depth"):
        desc = DepthToSpaceDesc if call.operator == "depth_to_space" else SpaceToDepthDesc
        block = call.arguments[0][0]
        return desc(source, target, block_size=block, order=call.keywords["order"])
    window = {
        name: call.keywords[name]
        for name in ("strides", "dilations", "start_padding", "end_padding")
    }
    if call.operator == "unfold":
        return UnfoldDesc(source, target, window_sizes=call.arguments[0], **window)
    assert target is not None
    return FoldDesc(source, target, window_sizes=call.arguments[1], **window)
