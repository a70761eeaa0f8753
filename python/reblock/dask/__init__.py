# SPDX-License-Identifier: BSD-3-Clause
"""The operators on Dask arrays: larger than memory, or than one machine.

`depth_to_space`, `space_to_depth`, `unfold`, `fold`, `rearrange` and `repeat` take what the
functions of the same names in `reblock` take, except ``out`` and ``accumulate``: a Dask array is
never written into. They return lazy arrays and know the shape of every chunk. Errors in the
arguments come at the call. The results are those of `reblock` on the whole array, bit for bit,
however the array is chunked.

`threads` is how many threads each task may use: 1 unless given, since Dask runs as many tasks at
once as there are cores.

Most chunks are taken as they are. Where they cannot be, the array is rechunked along the axes
concerned and no others, and a ``dask.array.PerformanceWarning`` tells which chunks would have
fitted.

Nothing is computed at the call. A task reads its chunk without copying and allocates the chunk of
the result. With a layout, chunks are views with their axes permuted. Where windows of `unfold` or
`fold` reach into other chunks, tasks of their own cut off the edges of these chunks, and the task
copies its chunk together with the edges. No task writes a chunk of the input, and no chunk of the
result shares memory with one.
"""

try:
    from reblock.dask._depth_space import depth_to_space, space_to_depth
    from reblock.dask._rearrange import rearrange, repeat
    from reblock.dask._window import fold, unfold
except ModuleNotFoundError as missing:
    # An old version does not have every module.
    if (missing.name or "").partition(".")[0] != "dask":
        raise
    raise ModuleNotFoundError(
        'reblock.dask needs dask: pip install "reblock[dask]"', name="dask"
    ) from None

__all__ = ["depth_to_space", "fold", "rearrange", "repeat", "space_to_depth", "unfold"]
