# SPDX-License-Identifier: BSD-3-Clause
"""What reblock.dask costs on a cluster: formulas, and what a cluster of this machine counts.

Prints the tables of docs/scaling.md, and fails where a count is not what its formula says. Needs
what `pip install "reblock[dask]" distributed` installs.
"""

from __future__ import annotations

import itertools
import logging
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np

import reblock.dask

MIB, GIB = 2**20, 2**30


@dataclass(frozen=True)
class Image:
    """An image (N, C, S_1, S_2) in chunks of `rows` rows of `channels` channels of one item."""

    shape: tuple[int, int, int, int]
    channels: int
    rows: int
    itemsize: int = 4

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.itemsize

    @property
    def chunk_bytes(self) -> int:
        return self.channels * self.rows * self.shape[3] * self.itemsize

    @property
    def chunks(self) -> int:
        return self.bytes // self.chunk_bytes

    @property
    def borders(self) -> int:
        """How many pairs of chunks lie side by side along the rows."""
        return self.chunks - self.chunks * self.rows // self.shape[2]


@dataclass(frozen=True)
class Cost:
    """What an operator costs beside reading its input and writing its result."""

    tasks: int
    edge_bytes: int  # cut off chunks for their neighbours, sent if those are on another machine


@dataclass(frozen=True)
class Window:
    """A window of the same parameters along both spatial axes."""

    size: int
    stride: int = 1
    dilation: int = 1
    padding: int = 0

    @property
    def reach(self) -> int:
        return self.dilation * (self.size - 1) + 1

    def keywords(self) -> dict[str, Any]:
        return {
            "window_sizes": self.size,
            "strides": self.stride,
            "dilations": self.dilation,
            "start_padding": self.padding,
            "end_padding": self.padding,
        }

    def blocks(self, extent: int) -> int:
        return (extent + 2 * self.padding - self.reach) // self.stride + 1

    def columns_bytes(self, image: Image) -> int:
        n, c, height, width = image.shape
        blocks = self.blocks(height) * self.blocks(width)
        return n * c * self.size**2 * blocks * image.itemsize

    def unfold(self, image: Image) -> Cost:
        edges = (self.padding, max(self.reach - self.stride - self.padding, 0))
        row_bytes = image.channels * image.shape[3] * image.itemsize
        return self._cost(image, edges, row_bytes)

    def fold(self, image: Image) -> Cost:
        edges = (
            max(self.reach - 1 - self.padding, 0) // self.stride,
            math.ceil(self.padding / self.stride),
        )
        row_bytes = image.channels * self.size**2 * self.blocks(image.shape[3]) * image.itemsize
        return self._cost(image, edges, row_bytes)

    def _cost(self, image: Image, edges: Sequence[int], row_bytes: int) -> Cost:
        tasks = image.chunks + image.borders * sum(rows > 0 for rows in edges)
        return Cost(tasks, image.borders * sum(edges) * row_bytes)


# On paper


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    for row in (heads, ["---"] * len(heads), *rows):
        print("|", " | ".join(map(str, row)), "|")
    print()


MACHINES, THREADS = 100, 16
SECONDS_PER_TASK = 1e-3  # which the documentation of distributed tells
BYTES_PER_SECOND = 10e9 / 8  # of the network, at each machine
WINDOW = Window(3, padding=1)


def on_paper(megabytes: int) -> Sequence[object]:
    """Tell what unfold and fold cost for 10 TiB in chunks of so many MiB."""
    image = Image((1, 40, 2**18, 2**18), channels=1, rows=megabytes)  # a row has 1 MiB
    unfold, fold = WINDOW.unfold(image), WINDOW.fold(image)
    tasks = unfold.tasks + fold.tasks
    edges = unfold.edge_bytes + fold.edge_bytes
    columns = WINDOW.columns_bytes(image) / image.chunks
    memory = max(2 * image.chunk_bytes + columns, 2 * columns + image.chunk_bytes)
    return (
        f"{megabytes} MiB",
        f"{image.chunks:,}",
        f"{tasks:,}",
        f"{tasks * SECONDS_PER_TASK:,.0f} s",
        f"{unfold.edge_bytes / GIB:,.0f} GiB",
        f"{fold.edge_bytes / GIB:,.0f} GiB",
        f"{edges / image.bytes:.1%}",
        f"{edges / MACHINES / GIB:.1f} GiB",
        f"{edges / MACHINES / BYTES_PER_SECOND:,.0f} s",
        f"{memory * THREADS / GIB:,.1f} GiB",
    )


# Counted


def outgoing_bytes(dask_worker: distributed.Worker) -> int:
    return dask_worker.transfer_outgoing_bytes_total


def apart(client: distributed.Client, image: Image) -> da.Array:
    """Put the chunks onto the workers in turns: no neighbours are on the same one."""
    workers = itertools.cycle(client.scheduler_info()["workers"])
    n, c, height, width = image.shape
    blocks = np.empty((n, c // image.channels, height // image.rows, 1), object)
    for place in np.ndindex(blocks.shape):
        block = np.zeros((1, image.channels, image.rows, width), np.float32)
        future = client.scatter(block, workers=[next(workers)], hash=False)
        blocks[place] = da.from_delayed(future, block.shape, block.dtype)
    result: da.Array = client.persist(da.block(blocks.tolist()))
    distributed.wait(result)
    return result


def counted(client: distributed.Client, lazy: da.Array) -> tuple[da.Array, Cost]:
    """Compute an array that stays on the workers; count their tasks and what they sent."""
    before = sum(client.run(outgoing_bytes).values())
    with distributed.get_task_stream(client) as stream:
        result: da.Array = client.persist(lazy)
        distributed.wait(result)
    sent = sum(client.run(outgoing_bytes).values()) - before
    return result, Cost(len(stream.data), sent)


@contextmanager
def cluster(**settings: Any) -> Iterator[distributed.Client]:
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,  # workers may tell that the scheduler was gone first
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


WINDOWS = [
    Window(3, padding=1),
    Window(3),
    Window(3, stride=2, padding=1),
    Window(3, dilation=4, padding=4),
    Window(8, stride=4),
    Window(16, stride=16),
]


def compare(client: distributed.Client) -> bool:
    """Print what the formulas say beside what the workers count."""
    rows, same = [], True
    image = Image((1, 2, 512, 1024), channels=1, rows=64)
    x = apart(client, image)
    for window in WINDOWS:
        columns, of_unfold = counted(client, reblock.dask.unfold(x, **window.keywords()))
        lazy = reblock.dask.fold(columns, image.shape[2:], **window.keywords())
        _, of_fold = counted(client, lazy)
        for name, formula, count in (
            ("unfold", window.unfold(image), of_unfold),
            ("fold", window.fold(image), of_fold),
        ):
            same &= formula == count
            rows.append(
                (
                    f"`{name}`",
                    *(window.size, window.stride, window.dilation, window.padding),
                    *(formula.tasks, count.tasks),
                    *(f"{formula.edge_bytes:,}", f"{count.edge_bytes:,}"),
                )
            )
    heads = "operator,window,stride,dilation,padding,tasks,counted,bytes,counted"
    table(heads.split(","), rows)
    return same


def as_dask_places_them(client: distributed.Client) -> None:
    """Print what is sent if the scheduler is free to place the chunks, and to move them."""
    image = Image((1, 2, 4096, 4096), channels=1, rows=128)
    x = da.random.default_rng(0).random(
        image.shape, chunks=(1, 1, image.rows, image.shape[3]), dtype=np.float32
    )
    columns = reblock.dask.unfold(x, **WINDOW.keywords())
    folded = reblock.dask.fold(columns, image.shape[2:], **WINDOW.keywords())
    _, count = counted(client, folded)
    edges = WINDOW.unfold(image).edge_bytes + WINDOW.fold(image).edge_bytes
    print(f"{image.bytes / MIB:.0f} MiB in chunks of {image.chunk_bytes / MIB:.0f} MiB")
    print(f"edges {edges / MIB:.1f} MiB, sent {count.edge_bytes / MIB:.1f} MiB")


def overhead(client: distributed.Client) -> None:
    """Print how much time of a processor a task that does nothing takes where it is planned."""
    x = da.zeros((1, 1, 2000, 1), chunks=(1, 1, 1, 1), dtype=np.uint8)
    begin = time.process_time()
    lazy = reblock.dask.unfold(x, (3, 1), start_padding=(1, 0))
    built = time.process_time()
    _, count = counted(client, lazy)
    each = [1e3 * seconds / count.tasks for seconds in (built - begin, time.process_time() - built)]
    print(f"{count.tasks} tasks: {each[0]:.2f} ms to make each, {each[1]:.2f} ms to have it run")


def main() -> int:
    """Print the tables; return whether a count is not what the formula says."""
    # A small bandwidth keeps the scheduler from sending data to other workers.
    stay = {"distributed.scheduler.work-stealing": False, "distributed.scheduler.bandwidth": "1 kB"}
    with cluster(**stay) as client:
        same = compare(client)
    if "--check" not in sys.argv:
        heads = (
            "chunk,chunks,tasks,scheduler,edges of `unfold`,edges of `fold`,"
            "of the image,each machine,at 10 Gbit/s,memory of a machine"
        )
        table(heads.split(","), map(on_paper, (4, 16, 64, 256)))
        with cluster() as client:
            as_dask_places_them(client)
            overhead(client)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
