# SPDX-License-Identifier: BSD-3-Clause
"""What scikit-learn makes of patches, and SciPy of frames of sound, done with reblock."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal
import skimage.data
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d

import reblock
from oracle import Array


def small_face() -> Array:
    face: Array = skimage.data.camera()[::8, ::8].astype(np.float32)
    return face / 16


def color() -> Array:
    """Return an image as the tests of scikit-learn have it: three planes of other brightness."""
    face = small_face()
    return np.stack([256 - face, 256 - face / 2, 256 - face / 4], axis=-1)


def cut(image: Array, patch: tuple[int, int], **window: Any) -> Array:
    layout = "HWC"[: image.ndim]
    rows = reblock.unfold(image, patch, layout=layout, out_layout="LC", order="DCR", **window)
    patches: Array = rows.reshape(-1, *patch, *image.shape[2:])
    return patches


def rebuild(patches: Array, shape: tuple[int, ...]) -> Array:
    return reblock.fold(
        patches.reshape(len(patches), -1),
        shape[:2],
        patches.shape[1:3],
        layout="LC",
        out_layout="HWC"[: len(shape)],
        order="DCR",
        reduction="mean",
    )


@pytest.mark.parametrize("image", [small_face(), color()], ids=["gray", "color"])
@pytest.mark.parametrize("patch", [(16, 16), (5, 9), (1, 1), (64, 64)], ids=str)
def test_patches_and_their_reconstruction(image: Array, patch: tuple[int, int]) -> None:
    patches = cut(image, patch)
    assert np.array_equal(patches, extract_patches_2d(image, patch))
    assert np.array_equal(rebuild(patches, image.shape), image)
    changed = patches + np.random.default_rng(0).random(patches.shape).astype(np.float32)
    expected = reconstruct_from_patches_2d(changed, image.shape)
    np.testing.assert_allclose(rebuild(changed, image.shape), expected, rtol=2e-6)


@pytest.mark.parametrize("length", [4096, 5000])
@pytest.mark.parametrize("window", ["hann", "hamming"])
def test_an_inverse_transform_of_frames(length: int, window: str) -> None:
    """Overlap-add by a hop of a quarter, divided by the squares of the window."""
    sound = np.random.default_rng(1).standard_normal(length)
    size, hop = 256, 64
    _, _, spectrum = scipy.signal.stft(sound, window=window, nperseg=size, noverlap=size - hop)
    spectrum = spectrum * np.linspace(1, 0.5, len(spectrum))[:, np.newaxis]  # a filter
    _, expected = scipy.signal.istft(spectrum, window=window, nperseg=size, noverlap=size - hop)

    weights = scipy.signal.get_window(window, size)
    frames = np.fft.irfft(spectrum.T, size) * weights.sum()
    options: dict[str, Any] = {"strides": hop, "layout": "LC", "out_layout": "T"}
    total = (len(frames) - 1) * hop + size
    sums = reblock.fold(frames, total, size, weights=weights, **options)
    ones = np.broadcast_to(1.0, frames.shape)
    squares = reblock.fold(ones, total, size, weights=weights**2, **options)
    actual = (sums / np.where(squares > 1e-10, squares, 1))[size // 2 : -(size // 2)]
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)

    # The same as one mean: of the frames without their window, by its squares.
    with np.errstate(all="ignore"):
        bare = np.where(weights > 0, frames / weights, 0)
    mean = reblock.fold(bare, total, size, weights=weights**2, reduction="mean", **options)
    np.testing.assert_allclose(mean[size // 2 : -(size // 2)], expected, rtol=1e-10, atol=1e-10)
