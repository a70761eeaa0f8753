# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's own tests of patches pass with reblock in place of its functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import skimage.data
import sklearn.feature_extraction.image
from sklearn.feature_extraction.tests import test_image as theirs
from sklearn.feature_extraction.tests.test_image import (  # noqa: F401 - pytest collects them
    downsampled_face,
    downsampled_face_collection,
    orange_face,
    test_extract_patch_same_size_image,
    test_extract_patches_all,
    test_extract_patches_all_color,
    test_extract_patches_all_rect,
    test_extract_patches_less_than_max_patches,
    test_extract_patches_max_patches,
    test_extract_patches_square,
    test_extract_patches_strided,
    test_patch_extractor_all_patches,
    test_patch_extractor_color,
    test_patch_extractor_fit,
    test_patch_extractor_max_patches,
    test_patch_extractor_max_patches_default,
    test_patch_extractor_wrong_input,
    test_reconstruct_patches_edge_patch_size,
    test_reconstruct_patches_perfect,
    test_reconstruct_patches_perfect_color,
    test_width_patch,
)

import reblock
from oracle import Array

Shape = tuple[int, ...]
called: list[str] = []  # of the functions below


def extract_patches(image: Array, patch_shape: Any = 8, extraction_step: Any = 1) -> Array:
    """Cut patches of all axes: an axis for each grid position, then the patch."""
    called.append("extract_patches")
    axes = image.ndim
    sizes: Shape = tuple(np.broadcast_to(patch_shape, axes))
    steps: Shape = tuple(np.broadcast_to(extraction_step, axes))
    rows = reblock.unfold(image, sizes, strides=steps, layout="DHW"[-axes:], out_layout="LC")
    grid = [(n - p) // s + 1 for n, p, s in zip(image.shape, sizes, steps, strict=True)]
    result: Array = rows.reshape(*grid, *sizes)
    return result


def extract_patches_2d(
    image: Array,
    patch_size: tuple[int, int],
    *,
    max_patches: float | None = None,
    random_state: Any = None,
) -> Array:
    called.append("extract_patches_2d")
    layout = "HWC"[: image.ndim]
    rows = reblock.unfold(image, patch_size, layout=layout, out_layout="LC", order="DCR")
    if max_patches is not None:
        if isinstance(max_patches, int):
            count = max_patches
        elif 0 < max_patches < 1:
            count = int(max_patches * len(rows))
        else:
            raise ValueError(f"max_patches must be between 0 and 1, got {max_patches}")
        seed = random_state if isinstance(random_state, int) else None
        rows = rows[np.random.default_rng(seed).permutation(len(rows))[:count]]
    channels = image.shape[2:] if image.shape[2:] != (1,) else ()
    patches: Array = rows.reshape(-1, *patch_size, *channels)
    return patches


def reconstruct_from_patches_2d(patches: Array, image_size: Shape) -> Array:
    called.append("reconstruct_from_patches_2d")
    return reblock.fold(
        patches.reshape(len(patches), math.prod(patches.shape[1:])),
        image_size[:2],
        patches.shape[1:3],
        layout="LC",
        out_layout="HWC"[: len(image_size)],
        order="DCR",
        reduction="mean",
    )


@pytest.fixture(autouse=True)
def with_reblock(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    """Put reblock where scikit-learn's tests and its PatchExtractor look for the functions."""
    replaced = {
        "extract_patches_2d": extract_patches_2d,
        "reconstruct_from_patches_2d": reconstruct_from_patches_2d,
        "_extract_patches": extract_patches,
    }
    for name, function in replaced.items():
        for module in (theirs, sklearn.feature_extraction.image):
            monkeypatch.setattr(module, name, function)
    called.clear()
    yield
    idle = ("test_patch_extractor_fit", "test_patch_extractor_wrong_input")
    assert bool(called) is not request.node.name.startswith(idle)


@pytest.fixture
def raccoon_face_fxt() -> Array:
    """Return another gray photo of the same size: scikit-learn's is a download."""
    photo = skimage.data.camera().astype(np.float32)
    face: Array = np.pad(photo, ((128, 128), (256, 256)), "reflect")
    return face


@pytest.fixture
def global_random_seed() -> int:
    return 42
