# SPDX-License-Identifier: BSD-3-Clause
"""What other libraries' functions do, as `reblock.diagnose` finds it by their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.lax
import jax.numpy
import onnx
import pytest
import torch
from einops import rearrange
from onnx.reference import ReferenceEvaluator
from torch.nn import functional

import reblock

IMAGES = torch.rand(2, 8, 12, 8, generator=torch.Generator().manual_seed(0))
COLUMNS = torch.rand(2, 4 * 9, 24, generator=torch.Generator().manual_seed(1))


def by_onnx(node: str) -> Callable[[Any], Any]:
    """Return what ONNX's reference evaluator makes of an array by a node."""
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 18]>
        agraph (float[a, b, c, d] x) => (float[e, f, g, h] y) {{ y = {node} }}
    """)

    def run(x: Any) -> Any:
        (result,) = ReferenceEvaluator(model).run(None, {"x": x.numpy()})
        return result

    return run


def patches(x: Any) -> Any:
    images = jax.numpy.asarray(x.numpy())
    return jax.lax.conv_general_dilated_patches(images, (3, 3), (1, 1), "VALID")


@pytest.mark.parametrize(
    ("x", "function", "text"),
    [
        (IMAGES, lambda x: functional.pixel_shuffle(x, 2), "depth_to_space(x, 2, order='CRD')"),
        (IMAGES, lambda x: functional.pixel_unshuffle(x, 2), "space_to_depth(x, 2, order='CRD')"),
        (
            IMAGES,
            by_onnx('DepthToSpace <blocksize = 2, mode = "CRD"> (x)'),
            "depth_to_space(x, 2, order='CRD')",
        ),
        (IMAGES, by_onnx("DepthToSpace <blocksize = 2> (x)"), "depth_to_space(x, 2)"),
        (IMAGES, by_onnx("SpaceToDepth <blocksize = 2> (x)"), "space_to_depth(x, 2)"),
        (
            IMAGES,
            lambda x: functional.unfold(x, 3, dilation=2, padding=2, stride=2),
            "unfold(x, 3, strides=2, dilations=2, start_padding=2, end_padding=2)",
        ),
        (
            COLUMNS,
            lambda x: functional.fold(x, (12, 8), 3, padding=1, stride=2),
            "fold(x, (12, 8), 3, strides=2, start_padding=1, end_padding=1)",
        ),
        (IMAGES, patches, "unfold(x, 3).reshape(-1, 72, 10, 6)"),
        (
            IMAGES,
            lambda x: rearrange(x, "n c (h i) (w j) -> n (h w) (c i j)", i=4, j=4),
            "unfold(x, 4, strides=4, out_layout='NLC')",
        ),
    ],
)
def test_what_other_libraries_do(x: Any, function: Callable[[Any], Any], text: str) -> None:
    assert str(reblock.diagnose(x, function(x))) == f"equal to {text}"
