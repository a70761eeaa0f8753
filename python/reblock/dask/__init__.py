# SPDX-License-Identifier: BSD-3-Clause
"""Run the operators on Dask arrays, which may be larger than memory or than one machine.

`depth_to_space`, `space_to_depth`, `unfold`, `fold`, `rearrange` and `repeat` take the arguments of
the functions of the same names in `reblock`, except ``out`` and ``accumulate``, because nothing
writes into a Dask array. They return lazy arrays and know the shape of every chunk. The call raises
the errors in its arguments. For any chunks, the results are those of `reblock` on the whole array,
bit for bit.

`threads` limits the threads of each task. The default is 1, because Dask runs as many tasks at once
as there are cores.

The operators accept most chunks. If some do not fit, the call rechunks the array, only along the
axes where they do not fit. A ``dask.array.PerformanceWarning`` then tells which chunks would fit.

The call computes no elements. A task reads its chunk without copying and allocates the chunk of the
result. With a layout, chunks are views with permuted axes. If windows of `unfold` or `fold` reach
into other chunks, separate tasks cut off the edges of these chunks, and the task copies its chunk
together with the edges. No task writes a chunk of the input, and no chunk of the result shares
memory with a chunk of the input.
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
