# SPDX-License-Identifier: BSD-3-Clause
"""Tensors past 2**31 and 2**32 bytes and elements, every element of them compared.

`nox -s large` runs these tests, and nothing else does: they take up to 10 GiB of memory.
"""

from __future__ import annotations

import numpy as np
import pytest

import reblock
from oracle import Array

pytestmark = pytest.mark.large

SIDE = 34816


@pytest.fixture(scope="module")
def depth() -> Array:
    """Return 4.5 GiB of random bytes: four planes, of which the last one begins past 2**31."""
    numbers = np.random.default_rng(0).integers(0, 2**64, SIDE * SIDE // 2, np.uint64)
    x = numbers.view(np.uint8).reshape(1, 4, SIDE, SIDE)
    assert x.size > 2**32
    return x


def same(a: Array, b: Array) -> bool:
    """Compare by pieces: the comparison itself takes little memory."""
    return a.shape == b.shape and all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


def is_depth_of(depth: Array, space: Array) -> bool:
    """Compare a depth tensor with one channel of space, block size 2."""
    quarters = [space[0, 0, i::2, j::2] for i in range(2) for j in range(2)]
    return all(same(quarters[q], depth[0, q]) for q in range(4))


def test_depth_to_space_and_back(depth: Array) -> None:
    space = reblock.depth_to_space(depth, 2)
    assert space.shape == (1, 1, 2 * SIDE, 2 * SIDE)
    assert is_depth_of(depth, space)
    depth[...] = 0
    reblock.space_to_depth(space, 2, out=depth)
    assert is_depth_of(depth, space)


def test_a_few_elements_that_lie_far_apart(depth: Array) -> None:
    far = depth[:, :, :: SIDE - 1, :: SIDE - 1]
    assert far.strides[1] > 2**30
    space = reblock.depth_to_space(far, 2)
    assert is_depth_of(far, space)
    before = depth[0, :, 1].copy()
    reblock.space_to_depth(space[..., ::-1, :], 2, out=far)
    assert is_depth_of(far, space[..., ::-1, :])
    assert np.array_equal(depth[0, :, 1], before)


def test_unfold_and_fold_of_columns_past_2_to_the_32(depth: Array) -> None:
    side = 22000
    image = depth[:, :1, :side, :side]
    columns = reblock.unfold(image, 3, start_padding=1, end_padding=1)
    assert columns.size > 2**32
    padded = np.pad(image[0, 0], 1)
    for row in range(9):
        i, j = divmod(row, 3)
        window = padded[i : i + side, j : j + side]
        assert same(columns[0, row].reshape(side, side), window)

    total = reblock.fold(columns, (side, side), 3, start_padding=1, end_padding=1)
    reached = np.full(side, 3, np.uint8)  # how many windows reach a position along one axis
    reached[[0, -1]] = 2
    for y in range(side):
        assert np.array_equal(total[0, 0, y], image[0, 0, y] * (reached[y] * reached))


def test_a_descriptor_of_the_most_elements_that_there_may_be(depth: Array) -> None:
    sizes = (1, 1, 2**16 - 1, 2**16 + 1)
    tensor = reblock.TensorDesc(reblock.DataType.UINT8, sizes)
    assert tensor.total_size_in_bytes == 2**32
    op = reblock.compile(reblock.SpaceToDepthDesc(tensor, block_size=(2**16 - 1, 1)))
    buffer = depth.reshape(-1)[: 2**32]
    result = np.zeros(2**32, np.uint8)
    op.dispatch(buffer, result)
    # A block as high as the image: its rows become the channels, in order.
    assert op.output.sizes == (1, 2**16 - 1, 1, 2**16 + 1)
    assert same(result[:-1].reshape(sizes[2:]), buffer[:-1].reshape(sizes[2:]))
    assert result[-1] == 0
