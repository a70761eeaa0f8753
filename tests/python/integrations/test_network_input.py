# SPDX-License-Identifier: BSD-3-Clause
"""One call gives what OpenCV, torchvision and the processors of Qwen2-VL give."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision import transforms
from transformers import Qwen2VLImageProcessor, Qwen2VLVideoProcessor

import reblock
import reblock.torch
from checks import assert_same_bytes
from oracle import Array

# What these processors normalise with; torchvision is given the same.
MEAN = np.array([0.48145466, 0.4578275, 0.40821073])
STD = np.array([0.26862954, 0.26130258, 0.27577711])
NORMALISED: dict[str, Any] = {
    "dtype": np.float32,
    "scale": {"c": 1 / 255 / STD},
    "bias": {"c": -MEAN / STD},
}
# The other libraries round more often: a few units in the last place of values up to 3.
ROUNDED = 2e-6

sizes = st.integers(1, 70)
seeds = st.integers(0, 99)


def photos(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


@given(seeds, st.tuples(st.integers(1, 3), sizes, sizes), st.booleans(), st.floats(1e-3, 2))
def test_blob_from_images(seed: int, shape: Any, swaps: bool, scale: float) -> None:
    images = photos(seed, *shape, 3)
    blob = cv2.dnn.blobFromImages(list(images), scale, swapRB=swaps)
    pixels = images[..., ::-1] if swaps else images
    result = reblock.rearrange(pixels, "n h w c -> n c h w", dtype=np.float32, scale=scale)
    assert_same_bytes(result, blob)


@given(seeds, sizes, sizes)
def test_blob_from_image_with_means(seed: int, height: int, width: int) -> None:
    image = photos(seed, height, width, 3)
    means = np.array([103.5, 116.25, 123.75])
    blob = cv2.dnn.blobFromImage(image, 1 / 58, mean=tuple(means))
    result = reblock.rearrange(
        image, "h w c -> 1 c h w", dtype=np.float32, scale=1 / 58, bias={"c": -means / 58}
    )
    np.testing.assert_allclose(result, blob, rtol=0, atol=ROUNDED)


@given(seeds, sizes, sizes)
def test_to_tensor_and_normalize(seed: int, height: int, width: int) -> None:
    photo = photos(seed, height, width, 3)
    steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    result = reblock.rearrange(photo, "h w c -> c h w", **NORMALISED)
    np.testing.assert_allclose(result, steps(photo).numpy(), rtol=0, atol=ROUNDED)
    conversion = {**NORMALISED, "dtype": torch.float32}
    planes = reblock.torch.rearrange(torch.from_numpy(photo), "h w c -> c h w", **conversion)
    assert_same_bytes(planes.numpy(), result)


PATCH: dict[str, Any] = {"t": 2, "m1": 2, "m2": 2, "p1": 14, "p2": 14}
grids = st.integers(1, 3)


@pytest.mark.parametrize("normalises", [False, True])
@given(seed=seeds, rows=grids, columns=grids)
def test_the_image_processor_of_qwen2_vl(
    normalises: bool, seed: int, rows: int, columns: int
) -> None:
    photo = photos(seed, 28 * rows, 28 * columns, 3)
    processor = Qwen2VLImageProcessor(
        do_resize=False, do_rescale=normalises, do_normalize=normalises
    )
    made = processor(photo, return_tensors="np", input_data_format="channels_last")
    conversion = NORMALISED if normalises else {"dtype": np.float32}
    result = reblock.repeat(
        photo,
        "(gh m1 p1) (gw m2 p2) c -> (gh gw m1 m2) (c t p1 p2)",
        **PATCH,
        **conversion,
    )
    assert made["image_grid_thw"].tolist() == [[1, 2 * rows, 2 * columns]]
    np.testing.assert_allclose(
        result, made["pixel_values"], rtol=0, atol=ROUNDED if normalises else 0
    )


@pytest.mark.parametrize("normalises", [False, True])
@given(seed=seeds, pairs=st.integers(1, 2), rows=grids, columns=grids)
def test_the_video_processor_of_qwen2_vl(
    normalises: bool, seed: int, pairs: int, rows: int, columns: int
) -> None:
    video = photos(seed, 2 * pairs, 3, 28 * rows, 28 * columns)
    processor = Qwen2VLVideoProcessor(
        do_resize=False,
        do_sample_frames=False,
        do_rescale=normalises,
        do_normalize=normalises,
    )
    made = processor(torch.from_numpy(video), return_tensors="pt")
    conversion = NORMALISED if normalises else {"dtype": np.float32}
    result = reblock.rearrange(
        video,
        "(gt t) c (gh m1 p1) (gw m2 p2) -> (gt gh gw m1 m2) (c t p1 p2)",
        **PATCH,
        **conversion,
    )
    assert made["video_grid_thw"].tolist() == [[pairs, 2 * rows, 2 * columns]]
    np.testing.assert_allclose(
        result,
        made["pixel_values_videos"].float().numpy(),
        rtol=0,
        atol=ROUNDED if normalises else 0,
    )
