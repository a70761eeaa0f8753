# SPDX-License-Identifier: BSD-3-Clause
"""Time what people know, in milliseconds, beside its peers. See README.md beside this file.

Everybody has one thread and writes a new result. Results are checked first.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import reblock
from timing import Run, median_times

PEERS = ("numpy", "einops", "torch", "cv2", "torchvision")
DISTRIBUTIONS = {"cv2": "opencv-python-headless"}
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
NORMAL: dict[str, Any] = {"scale": {"c": 1 / 255 / STD}, "bias": {"c": -MEAN / STD}}
windows = np.lib.stride_tricks.sliding_window_view


class KnownCase(NamedTuple):
    """What is done to an array of one shape: by reblock, and by each peer that has a way."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    reblock: Callable[[Any], Any]
    peers: dict[str, Callable[[Any], Any]]
    tolerance: float = 0.0  # of each element


def with_torch() -> tuple[Any, Any]:
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    return torch, importlib.import_module("torch.nn.functional")


def with_cv2() -> Any:
    cv2 = importlib.import_module("cv2")
    cv2.setNumThreads(1)
    return cv2


def known_cases(installed: list[str]) -> list[KnownCase]:
    """Return the cases with those peers that are installed."""
    rearrange: Any = importlib.import_module("einops").rearrange if "einops" in installed else None
    functional: Any = with_torch()[1] if "torch" in installed else None
    tokens = "n c (h p) (w q) -> n (h w) (c p q)"
    latents = "n c (h p) (w q) -> n (h w) (c p q)"
    cases = [
        KnownCase(
            "pixel shuffle by 2 to 1080p, float32",
            (1, 12, 540, 960),
            "float32",
            lambda x: reblock.depth_to_space(x, 2, order="CRD", threads=1),
            {
                "numpy": lambda x: (
                    x.reshape(1, 3, 2, 2, 540, 960)
                    .transpose(0, 1, 4, 2, 5, 3)
                    .reshape(1, 3, 1080, 1920)
                ),
                "einops": lambda x: rearrange(x, "n (c i j) h w -> n c (h i) (w j)", i=2, j=2),
                "torch": lambda x: functional.pixel_shuffle(x, 2),
            },
        ),
        KnownCase(
            "1080p photo to planes, uint8 HWC to CHW",
            (1080, 1920, 3),
            "uint8",
            lambda x: reblock.rearrange(x, "h w c -> c h w", threads=1),
            {
                "numpy": lambda x: np.ascontiguousarray(x.transpose(2, 0, 1)),
                "einops": lambda x: np.ascontiguousarray(rearrange(x, "h w c -> c h w")),
                "torch": lambda x: x.permute(2, 0, 1).contiguous(),
            },
        ),
        KnownCase(
            "8 images to tokens of 16 x 16, float32",
            (8, 3, 224, 224),
            "float32",
            lambda x: reblock.unfold(x, 16, strides=16, out_layout="NLC", layout="NCHW", threads=1),
            {
                "numpy": lambda x: (
                    x.reshape(8, 3, 14, 16, 14, 16).transpose(0, 2, 4, 1, 3, 5).reshape(8, 196, 768)
                ),
                "einops": lambda x: rearrange(x, tokens, p=16, q=16),
                "torch": lambda x: functional.unfold(x, 16, stride=16).mT.contiguous(),
            },
        ),
        KnownCase(
            "latents of 2 x 2 to tokens, float32",
            (4, 16, 128, 128),
            "float32",
            lambda x: reblock.rearrange(x, latents, p=2, q=2, threads=1),
            {
                "numpy": lambda x: (
                    x.reshape(4, 16, 64, 2, 64, 2).transpose(0, 2, 4, 1, 3, 5).reshape(4, 4096, 64)
                ),
                "einops": lambda x: rearrange(x, latents, p=2, q=2),
                "torch": lambda x: (
                    x.reshape(4, 16, 64, 2, 64, 2).permute(0, 2, 4, 1, 3, 5).reshape(4, 4096, 64)
                ),
            },
        ),
        KnownCase(
            "im2col 3 x 3 of 64 x 56 x 56, float32",
            (1, 64, 56, 56),
            "float32",
            lambda x: reblock.unfold(x, 3, start_padding=1, end_padding=1, threads=1),
            {
                "numpy": lambda x: (
                    windows(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
                    .transpose(0, 1, 4, 5, 2, 3)
                    .reshape(1, 576, 3136)
                ),
                "torch": lambda x: functional.unfold(x, 3, padding=1),
            },
        ),
        KnownCase(
            "col2im 3 x 3 to 64 x 56 x 56, float32",
            (1, 576, 3136),
            "float32",
            lambda x: reblock.fold(x, (56, 56), 3, start_padding=1, end_padding=1, threads=1),
            {
                "numpy": fold_by_numpy,
                "torch": lambda x: functional.fold(x, (56, 56), 3, padding=1),
            },
        ),
        *conversions(installed),
    ]
    return [
        case._replace(peers={name: case.peers[name] for name in installed if name in case.peers})
        for case in cases
    ]


def conversions(installed: list[str]) -> list[KnownCase]:
    """Return the cases that make the input of a network of photos, normalised by channel."""
    rearrange: Any = importlib.import_module("einops").rearrange if "einops" in installed else None
    photos = (16, 224, 224, 3)
    to_planes = "n h w c -> n c h w"
    tolerances = {"float32": 1e-5, "bfloat16": 0.02}

    def normalised(x: Any, dtype: str) -> Any:
        return ((x / np.float32(255) - MEAN.astype("f4")) / STD.astype("f4")).astype(dtype)

    def by_torch(x: Any, dtype: str, arrange: Callable[[Any], Any]) -> Any:
        torch = with_torch()[0]
        mean, std = (torch.tensor(v, dtype=torch.float32) for v in (MEAN, STD))
        values = x.to(torch.float32).div_(255).sub_(mean).div_(std)
        return arrange(values).to(getattr(torch, dtype)).contiguous()

    def planes_by_torch(x: Any, dtype: str) -> Any:
        torch = with_torch()[0]
        mean, std = (torch.tensor(v, dtype=torch.float32)[:, None, None] for v in (MEAN, STD))
        planes = x.permute(0, 3, 1, 2).to(torch.float32).div_(255).sub_(mean).div_(std)
        return planes.to(getattr(torch, dtype)).contiguous()

    def planes_by_cv2(x: Any) -> Any:
        # It takes one scale for all channels.
        mean = [float(value) for value in 255 * MEAN]
        planes = with_cv2().dnn.blobFromImages(list(x), 1 / 255, mean=mean)
        planes /= STD.astype("f4")[:, None, None]
        return planes

    def planes_by_torchvision(x: Any) -> Any:
        torch, transforms = with_torch()[0], importlib.import_module("torchvision.transforms")
        steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
        return torch.stack([steps(photo) for photo in x])

    def planes(dtype: str) -> KnownCase:
        peers: dict[str, Callable[[Any], Any]] = {
            "numpy": lambda x: np.ascontiguousarray(normalised(x, dtype).transpose(0, 3, 1, 2)),
            "einops": lambda x: np.ascontiguousarray(rearrange(normalised(x, dtype), to_planes)),
            "torch": partial(planes_by_torch, dtype=dtype),
        }
        if dtype == "float32":
            peers |= {"cv2": planes_by_cv2, "torchvision": planes_by_torchvision}
        return KnownCase(
            f"16 photos to planes, uint8 to {dtype}",
            photos,
            "uint8",
            lambda x: reblock.rearrange(x, to_planes, dtype=dtype, threads=1, **NORMAL),
            peers,
            tolerances[dtype],
        )

    def tokens(size: int, dtype: str) -> KnownCase:
        pattern = "n (h p) (w q) c -> n (h w) (c p q)"
        lengths: dict[str, Any] = {"p": size, "q": size}
        split = (16, 224 // size, size, 224 // size, size, 3)
        joined = (16, (224 // size) ** 2, 3 * size * size)

        def by_numpy(x: Any) -> Any:
            split_up = normalised(x, dtype).reshape(split)
            return split_up.transpose(0, 1, 3, 5, 2, 4).reshape(joined)

        def arrange(values: Any) -> Any:
            return values.reshape(split).permute(0, 1, 3, 5, 2, 4).reshape(joined)

        return KnownCase(
            f"16 photos to tokens of {size} x {size}, uint8 to {dtype}",
            photos,
            "uint8",
            lambda x: reblock.rearrange(x, pattern, dtype=dtype, threads=1, **NORMAL, **lengths),
            {
                "numpy": by_numpy,
                "einops": lambda x: rearrange(normalised(x, dtype), pattern, **lengths),
                "torch": partial(by_torch, dtype=dtype, arrange=arrange),
            },
            tolerances[dtype],
        )

    blobs = KnownCase(
        "16 photos to blobs, uint8 BGR to float32 RGB",
        photos,
        "uint8",
        lambda x: reblock.rearrange(x[..., ::-1], to_planes, dtype="f4", scale=1 / 255, threads=1),
        {
            "numpy": lambda x: np.ascontiguousarray(
                (x * np.float32(1 / 255))[..., ::-1].transpose(0, 3, 1, 2)
            ),
            "cv2": lambda x: with_cv2().dnn.blobFromImages(list(x), 1 / 255, swapRB=True),
        },
    )
    return [
        planes("float32"),
        planes("bfloat16"),
        blobs,
        *(tokens(size, dtype) for dtype in tolerances for size in (16, 14)),
        vision_language(normalised, by_torch, tolerances["float32"]),
    ]


def vision_language(normalised: Any, by_torch: Any, tolerance: float) -> KnownCase:
    """Return the case of a photo as Qwen2-VL takes it: nine axes, by its processor's steps."""
    split = (32, 2, 14, 24, 2, 14, 3)
    joined = (64 * 48, 3 * 2 * 14 * 14)
    lengths: dict[str, Any] = {"t": 2, "m1": 2, "m2": 2, "p1": 14, "p2": 14}

    def by_numpy(x: Any) -> Any:
        patches = normalised(x, "f4").reshape(split).transpose(0, 3, 1, 4, 6, 2, 5)
        twice = np.broadcast_to(patches[:, :, :, :, :, None], (*patches.shape[:5], 2, 14, 14))
        return twice.reshape(joined)

    def arrange(values: Any) -> Any:
        patches = values.reshape(split).permute(0, 3, 1, 4, 6, 2, 5).unsqueeze(5)
        return patches.expand(*patches.shape[:5], 2, 14, 14).reshape(joined)

    return KnownCase(
        "a photo to patches of Qwen2-VL, uint8 to float32",
        (896, 672, 3),
        "uint8",
        lambda x: reblock.repeat(
            x,
            "(gh m1 p1) (gw m2 p2) c -> (gh gw m1 m2) (c t p1 p2)",
            dtype="f4",
            threads=1,
            **NORMAL,
            **lengths,
        ),
        {"numpy": by_numpy, "torch": partial(by_torch, dtype="float32", arrange=arrange)},
        tolerance,
    )


def fold_by_numpy(columns: Any) -> Any:
    """Add offset by offset: 3 x 3, padded by 1."""
    image = np.zeros((1, 64, 58, 58), columns.dtype)
    terms = columns.reshape(1, 64, 3, 3, 56, 56)
    for i, j in np.ndindex(3, 3):
        image[:, :, i : i + 56, j : j + 56] += terms[:, :, i, j]
    return image[:, :, 1:-1, 1:-1]


def measure(case: KnownCase, seconds: float) -> dict[str, float]:
    """Return milliseconds of reblock and of its peers, after a check of their results."""
    random = np.random.default_rng(0)
    x = random.integers(0, 100, case.shape).astype(case.dtype)
    expected = case.reblock(x)
    runs: dict[str, Run] = {"reblock": partial(case.reblock, x), "copy": expected.copy}
    for name, function in case.peers.items():
        given: Any = with_torch()[0].from_numpy(x) if name == "torch" else x
        result = function(given)
        if name == "torch":
            result = result.to(with_torch()[0].float32)  # NumPy has no bfloat16 of its own
        result = np.asarray(result)
        differences = np.abs(result.astype("f8") - expected.astype("f8"))
        if result.shape != expected.shape or not differences.max() <= case.tolerance:
            sys.exit(f"{name} disagrees: {case.name}")
        runs[name] = partial(function, given)
    return {name: 1000 * time for name, time in median_times(runs, seconds).items()}


def main() -> None:
    """Print a table, on AVX-512 with the times of AVX2 as well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each case")
    parser.add_argument("--json", action="store_true", help="print times, of reblock alone")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    installed = [name for name in PEERS if importlib.util.find_spec(name)]
    if arguments.json:
        print(json.dumps([measure(case, arguments.seconds)["reblock"] for case in known_cases([])]))
        return
    narrower: list[float] = []
    own = reblock._core.instruction_set
    if own == "avx512":
        command = [sys.executable, __file__, "--json", "--seconds", str(arguments.seconds)]
        environment = {**os.environ, "REBLOCK_ISA": "avx2"}
        done = subprocess.run(command, env=environment, capture_output=True, check=True)
        narrower = json.loads(done.stdout)
    sets = [*(["avx2"] if narrower else []), own]
    versions = [
        f"{name} {importlib.metadata.version(DISTRIBUTIONS.get(name, name))}" for name in installed
    ]
    columns = ["milliseconds", *(f"reblock, {name}" for name in sets), "copy of the result"]
    print("|", " | ".join([*columns, *versions]), "|")
    print("|---" + "|--:" * (len(columns) - 1 + len(versions)) + "|")
    for number, case in enumerate(known_cases(installed)):
        times = measure(case, arguments.seconds)
        ours = [*narrower[number : number + 1], times["reblock"], times["copy"]]
        theirs = [f"{times[name]:.2f}" if name in times else "-" for name in installed]
        print("|", " | ".join([case.name, *(f"{time:.2f}" for time in ours), *theirs]), "|")


if __name__ == "__main__":
    main()
