# SPDX-License-Identifier: BSD-3-Clause
"""reblock.dask on a cluster of two processes with less memory than an array takes."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import distributed
import numpy as np
import pytest
import zarr

import reblock
import reblock.dask
from workers import CHUNK, SHAPE, known, known_block, peak_memory

SCALING = Path(__file__).parents[3] / "bench" / "scaling.py"

LIMIT = 384 * 2**20  # bytes of memory of a worker, of which it has some 100 MiB to start with


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=LIMIT, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_an_array_larger_than_the_memory_of_a_cluster(
    client: distributed.Client, tmp_path: Path
) -> None:
    """1 GiB, unfolded to 2.25 GiB, folded again, moved into channels and written to disk."""
    chunks = da.core.normalize_chunks(CHUNK, SHAPE)
    x = da.map_blocks(known_block, chunks=chunks, meta=np.empty((0,) * 4, np.int32))
    window: dict[str, Any] = {
        "window_sizes": 3,
        "strides": 2,
        "start_padding": 1,
        "end_padding": 1,
    }
    columns = reblock.dask.unfold(x, **window)
    image = reblock.dask.fold(columns, SHAPE[2:], **window)
    depth = reblock.dask.space_to_depth(image, 2, order="CRD")
    assert x.nbytes > 2 * LIMIT
    assert columns.nbytes == x.nbytes * 9 // 4
    assert image.chunks == x.chunks

    path = tmp_path / "depth.zarr"
    store = zarr.create_array(
        path, shape=depth.shape, chunks=(1, 4, 128, 4096), dtype=depth.dtype, compressors=None
    )
    before = client.run(peak_memory)
    da.store([depth], [store], lock=False)  # type: ignore[list-item] # Dask does not list its own
    after = client.run(peak_memory)
    assert after.keys() == before.keys()  # no worker has been restarted
    for worker in before:
        assert before[worker] < after[worker] < LIMIT

    # How many blocks cover a row or a column: two the odd ones but for the last, one the others.
    counts = np.where(np.arange(8192) % 2, 2, 1).astype(np.int32)
    counts[-1] = 1
    written: Any = zarr.open_array(path, mode="r")
    for c, h in itertools.product(range(4), range(0, 8192, 1024)):
        rows = slice(h, h + 1024)
        slab = known(slice(1), slice(c, c + 1), rows, slice(8192))
        slab *= counts[rows, np.newaxis]
        slab *= counts
        found = written[:, 4 * c : 4 * c + 4, h // 2 : h // 2 + 512]
        assert np.array_equal(found, reblock.space_to_depth(slab, 2, order="CRD"))


def test_the_formulas_of_scaling_are_what_a_cluster_counts() -> None:
    result = subprocess.run(
        [sys.executable, str(SCALING), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("| `unfold` |") == result.stdout.count("| `fold` |") == 6
