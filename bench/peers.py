# SPDX-License-Identifier: BSD-3-Clause
"""How each peer does a case: the fastest way that its documentation offers.

An adapter takes a case and its input and returns a function without arguments that does the
work, or None where the peer has no way. Arrays are handed over beforehand; results are whatever the
peer returns.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cases import Case

Work = Callable[[], Any]
Adapter = Callable[[Case, Any], Work | None]


def _axes(case: Case) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the shape to split the input into, the permutation, and the output's shape."""
    spatial = len(case.shape) - 2
    block = case.arguments[0]
    factors = (block,) * spatial if isinstance(block, int) else tuple(block)
    last = case.keywords.get("channel_axis", 1) == -1
    crd = case.keywords["order"] == "CRD"
    batch = case.shape[0]
    channels = case.shape[-1] if last else case.shape[1]
    extents = case.shape[1:-1] if last else case.shape[2:]
    blocks = list(range(spatial))
    if case.operator == "depth_to_space":
        small = channels // math.prod(factors)
        parts = (small, *factors) if crd else (*factors, small)
        split = (batch, *extents, *parts) if last else (batch, *parts, *extents)
        first_part = 1 + spatial if last else 1
        first_space = 1 if last else 2 + spatial
        channel = first_part if crd else first_part + spatial
        block_axes = [first_part + (1 if crd else 0) + d for d in blocks]
        pairs = [axis for d in blocks for axis in (first_space + d, block_axes[d])]
        permutation = (0, *pairs, channel) if last else (0, channel, *pairs)
    else:
        pairs_shape = [n for e, b in zip(extents, factors, strict=True) for n in (e // b, b)]
        split = (batch, *pairs_shape, channels) if last else (batch, channels, *pairs_shape)
        first = 1 if last else 2
        channel = len(split) - 1 if last else 1
        positions = [first + 2 * d for d in blocks]
        block_axes = [first + 2 * d + 1 for d in blocks]
        parts = (channel, *block_axes) if crd else (*block_axes, channel)
        permutation = (0, *positions, *parts) if last else (0, *parts, *positions)
    return split, permutation, case.output_shape


def _is_depth_space(case: Case) -> bool:
    return case.operator in ("depth_to_space", "space_to_depth")


def _window(case: Case) -> tuple[Any, int, int, int, int]:
    size = case.arguments[-1]
    get = case.keywords.get
    return size, get("strides", 1), get("dilations", 1), get("start_padding", 0), len(case.shape)


def numpy_(case: Case, x: Any) -> Work | None:
    if _is_depth_space(case):
        split, permutation, shape = _axes(case)
        # not ascontiguousarray(): where nothing changes its place that would not copy
        return lambda: x.reshape(split).transpose(permutation).copy().reshape(shape)
    if case.operator == "fold":
        return None
    size, stride, dilation, padding, rank = _window(case)
    spatial = rank - 2
    steps = (slice(None, None, stride),) * spatial
    within = (slice(None, None, dilation),) * spatial

    def unfold() -> Any:
        padded = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * spatial) if padding else x
        span = ((size - 1) * dilation + 1,) * spatial
        axes = tuple(range(2, rank))
        views = np.lib.stride_tricks.sliding_window_view(padded, span, axes)
        views = views[(slice(None), slice(None), *steps, *within)]
        order = (0, 1, *range(rank, rank + spatial), *range(2, rank))
        return views.transpose(order).copy().reshape(case.output_shape)

    return unfold


def einops(case: Case, x: Any) -> Work | None:
    if not _is_depth_space(case):
        return None
    rearrange = importlib.import_module("einops").rearrange
    split, permutation, shape = _axes(case)
    names = [f"a{i}" for i in range(len(split))]
    grouped: list[list[int]] = []
    rest = list(permutation)
    for extent in shape:
        group = [rest.pop(0)]
        while math.prod(split[i] for i in group) < extent:
            group.append(rest.pop(0))
        grouped.append(group)
    source: list[str] = []
    index = 0
    for extent in case.shape:
        part = [index]
        index += 1
        while math.prod(split[i] for i in part) < extent:
            part.append(index)
            index += 1
        source.append("(" + " ".join(names[i] for i in part) + ")")
    if rest or index != len(split):
        return None  # extents of 1 leave the grouping open
    target = ["(" + " ".join(names[i] for i in group) + ")" for group in grouped]
    pattern = " ".join(source) + " -> " + " ".join(target)
    sizes = dict(zip(names, split, strict=True))
    return lambda: np.ascontiguousarray(rearrange(x, pattern, **sizes))


def torch(case: Case, x: Any) -> Work | None:
    t = importlib.import_module("torch")
    f = t.nn.functional
    if case.dtype == "uint16":
        return None
    tensor = t.from_numpy(x)
    if not _is_depth_space(case):
        return _torch_window(case, f, tensor)
    block = case.arguments[0]
    plain = isinstance(block, int) and len(case.shape) == 4 and "channel_axis" not in case.keywords
    if plain and case.keywords["order"] == "CRD":
        down = case.operator == "space_to_depth"
        shuffle = f.pixel_unshuffle if down else f.pixel_shuffle
        return lambda: shuffle(tensor, block)
    split, permutation, shape = _axes(case)
    return lambda: tensor.reshape(split).permute(permutation).reshape(shape)


def _torch_window(case: Case, f: Any, tensor: Any) -> Work | None:
    size, stride, dilation, padding, _ = _window(case)
    image = case.shape if case.operator == "unfold" else case.output_shape
    if case.dtype not in ("float32", "float64", "complex128") or len(image) != 4:
        return None
    if case.operator == "unfold":
        return lambda: f.unfold(tensor, size, dilation, padding, stride)
    return lambda: f.fold(tensor, case.arguments[0], size, dilation, padding, stride)


def jax(case: Case, x: Any) -> Work | None:
    j = importlib.import_module("jax")
    jnp = importlib.import_module("jax.numpy")
    if not _is_depth_space(case) or case.dtype in ("float64", "complex128"):
        return None
    split, permutation, shape = _axes(case)
    array = jnp.asarray(x)
    function = j.jit(lambda a: a.reshape(split).transpose(permutation).reshape(shape))
    return lambda: function(array).block_until_ready()


def onnxruntime(case: Case, x: Any) -> Work | None:
    ort = importlib.import_module("onnxruntime")
    helper = importlib.import_module("onnx.helper")
    onnx = importlib.import_module("onnx")
    block = case.arguments[0]
    if not _is_depth_space(case) or case.dtype != "float32" or not isinstance(block, int):
        return None
    if "channel_axis" in case.keywords or len(case.shape) != 4:
        return None
    attributes: dict[str, Any] = {"blocksize": block}
    if case.operator == "depth_to_space":
        attributes["mode"] = case.keywords["order"]
    elif case.keywords["order"] == "CRD":
        return None
    name = "DepthToSpace" if case.operator == "depth_to_space" else "SpaceToDepth"
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(name, ["x"], ["y"], **attributes)],
        "case",
        [helper.make_tensor_value_info("x", floats, case.shape)],
        [helper.make_tensor_value_info("y", floats, case.output_shape)],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    ).SerializeToString()
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})[0]


def openvino(case: Case, x: Any) -> Work | None:
    ov = importlib.import_module("openvino")
    ops = importlib.import_module("openvino.opset13")
    block = case.arguments[0]
    if not _is_depth_space(case) or not isinstance(block, int) or "channel_axis" in case.keywords:
        return None
    if case.dtype not in ("float32", "uint8"):
        return None
    mode = "blocks_first" if case.keywords["order"] == "DCR" else "depth_first"
    parameter = ops.parameter(case.shape, dtype=np.dtype(case.dtype))
    make = ops.depth_to_space if case.operator == "depth_to_space" else ops.space_to_depth
    model = ov.Model([make(parameter, mode, block)], [parameter])
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1})
    request = compiled.create_infer_request()
    return lambda: request.infer([x], share_inputs=True, share_outputs=True)[0]


def tensorflow(case: Case, x: Any) -> Work | None:
    tf = importlib.import_module("tensorflow")
    block = case.arguments[0]
    if not _is_depth_space(case) or not isinstance(block, int) or len(case.shape) != 4:
        return None
    if "channel_axis" not in case.keywords or case.keywords["order"] != "DCR":
        return None
    operator = getattr(tf.nn, case.operator)
    tensor = tf.constant(x)
    return lambda: operator(tensor, block)


PEERS: dict[str, tuple[str, Adapter]] = {
    "numpy": ("numpy", numpy_),
    "einops": ("einops", einops),
    "torch": ("torch", torch),
    "jax": ("jax", jax),
    "onnxruntime": ("onnxruntime", onnxruntime),
    "openvino": ("openvino", openvino),
    "tensorflow": ("tensorflow", tensorflow),
}


def installed() -> dict[str, str | None]:
    """Return the version of each peer, or None where it cannot be imported."""
    versions: dict[str, str | None] = {}
    for name, (module, _) in PEERS.items():
        try:
            versions[name] = str(importlib.import_module(module).__version__)
        except ImportError:
            versions[name] = None
    return versions
