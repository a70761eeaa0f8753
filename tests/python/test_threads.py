# SPDX-License-Identifier: BSD-3-Clause
"""Threads change when a result is there, never what it is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import reblock
from checks import assert_same_bytes
from oracle import Array

# More than a megabyte each: smaller calls stay on one thread.
CALLS: dict[str, Any] = {
    "depth_to_space": lambda x, **more: reblock.depth_to_space(x, 2, **more),
    "space_to_depth": lambda x, **more: reblock.space_to_depth(x, 2, order="CRD", **more),
    "unfold": lambda x, **more: reblock.unfold(x, 3, start_padding=1, end_padding=1, **more),
    "fold": lambda x, **more: reblock.fold(x, (102, 96), (2, 2), strides=2, **more),
}
SHAPES: dict[str, tuple[int, ...]] = {
    "depth_to_space": (2, 32, 102, 96),
    "space_to_depth": (2, 32, 102, 96),
    "unfold": (2, 8, 102, 96),
    "fold": (2, 128, 51 * 48),
}


def sample(operator: str) -> Array:
    count = int(np.prod(SHAPES[operator]))
    return np.arange(count, dtype=np.float32).reshape(SHAPES[operator])


@pytest.fixture
def usual_threads() -> Iterator[None]:
    before = reblock.get_num_threads()
    yield
    reblock.set_num_threads(before)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("operator", CALLS)
def test_results_do_not_depend_on_the_number_of_threads(operator: str) -> None:
    x = sample(operator)
    expected = CALLS[operator](x, threads=1)
    for threads in (2, 3, 7, 500):
        assert_same_bytes(CALLS[operator](x, threads=threads), expected)


@pytest.mark.usefixtures("usual_threads")
def test_compiled_operators_take_threads() -> None:
    x = sample("unfold")
    desc = reblock.UnfoldDesc(reblock.TensorDesc(reblock.DataType.FLOAT32, x.shape), window_sizes=3)
    op = reblock.compile(desc)
    expected = op(x, threads=1)
    assert_same_bytes(op(x, None, 2), expected)
    out = np.zeros_like(expected)
    reblock.set_num_threads(3)
    op.dispatch(x, out)
    assert_same_bytes(out, expected)


@pytest.mark.usefixtures("usual_threads")
def test_the_usual_number_can_be_set() -> None:
    reblock.set_num_threads(3)
    assert reblock.get_num_threads() == 3
    reblock.set_num_threads(10**6)
    assert reblock.get_num_threads() == 256


@pytest.mark.parametrize("threads", [0, -1])
def test_less_than_one_thread_is_refused(threads: int) -> None:
    message = rf"threads must be at least 1, got {threads}"
    with pytest.raises(ValueError, match=message):
        reblock.set_num_threads(threads)
    out = np.zeros((1, 1, 4, 4))
    with pytest.raises(ValueError, match=message):
        reblock.depth_to_space(np.ones((1, 4, 2, 2)), 2, out=out, threads=threads)
    assert not out.any()


@pytest.mark.parametrize("threads", [1.0, "2", True])
def test_threads_are_an_int(threads: Any) -> None:
    with pytest.raises(TypeError, match="threads must be an int"):
        reblock.set_num_threads(threads)
    with pytest.raises(TypeError, match="threads must be an int"):
        reblock.depth_to_space(np.ones((1, 4, 2, 2)), 2, threads=threads)


PRINT = "import reblock; print(reblock.get_num_threads())"


def test_the_environment_sets_the_usual_number() -> None:
    assert run(PRINT, REBLOCK_NUM_THREADS="5").stdout == "5\n"


@pytest.mark.parametrize("value", ["0", "-3", "many", "2.5"])
def test_rubbish_in_the_environment_is_named_and_ignored(value: str) -> None:
    without = run(PRINT, REBLOCK_NUM_THREADS="")
    done = run(PRINT, REBLOCK_NUM_THREADS=value)
    assert done.stdout == without.stdout
    assert f'REBLOCK_NUM_THREADS must be an integer from 1 on, got "{value}"' in done.stderr


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_the_usual_number_heeds_affinity() -> None:
    one = min(os.sched_getaffinity(0))
    pinned = f"import os; os.sched_setaffinity(0, {{{one}}}); {PRINT}"
    assert run(pinned, REBLOCK_NUM_THREADS="").stdout == "1\n"


@pytest.mark.parametrize("instruction_set", ["baseline", "ssse3", "avx2"])
def test_results_do_not_depend_on_the_instruction_set(instruction_set: str) -> None:
    code = """
import hashlib, numpy as np, reblock
x = np.arange(2 * 12 * 14 * 14, dtype=np.uint8).reshape(2, 12, 14, 14)
calls = [reblock.depth_to_space(x, 2), reblock.space_to_depth(x, 7, order="CRD"),
         reblock.space_to_depth(x, 2, channel_axis=-1), reblock.unfold(x, 3, start_padding=1),
         reblock.fold(reblock.unfold(x.astype(np.float16) / 7, 3), (14, 14), 3)]
print(*(hashlib.sha256(result.tobytes()).hexdigest() for result in calls))
print(reblock._core.instruction_set)
"""
    best = run(code, REBLOCK_ISA="").stdout.splitlines()
    less = run(code, REBLOCK_ISA=instruction_set).stdout.splitlines()
    assert less[0] == best[0]
    assert less[1] in (instruction_set, best[1], "baseline")


def test_eight_threads_may_call_at_once() -> None:
    x = sample("unfold")
    expected = CALLS["unfold"](x, threads=1)
    wrong = []

    def work() -> None:
        for _ in range(5):
            if not np.array_equal(CALLS["unfold"](x, threads=2), expected):
                wrong.append(threading.get_ident())

    callers = [threading.Thread(target=work) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_everything_may_be_called_at_once() -> None:
    # In a process of its own, so that the threads also race for what the first call makes.
    code = """
import sys, threading, numpy as np, reblock
sys.setswitchinterval(1e-6)
x = np.arange(2 * 32 * 102 * 96, dtype=np.float32).reshape(2, 32, 102, 96)
small = x[:1, :, :4, :4]
tensor = reblock.TensorDesc(reblock.DataType.FLOAT32, x.shape)
desc = reblock.DepthToSpaceDesc(tensor, block_size=2)
op = reblock.compile(desc)
start, told = threading.Barrier(8), []

def work(i):
    start.wait()
    for j in range(5):
        reblock.set_num_threads(1 + (i + j) % 3)
        space = op(x)
        same = np.array_equal(reblock.compile(desc)(x, threads=2), space)
        same &= np.array_equal(reblock.space_to_depth(space, [2, 2]), x)
        columns = reblock.unfold(small, 2, strides=2)
        same &= np.array_equal(reblock.fold(columns, (4, 4), 2, strides=2), small)
        same &= repr(op.output) == repr(reblock.compile(desc).output)
        try:
            reblock.depth_to_space(small, 5)
        except ValueError as error:
            same &= "block_size" in str(error)
        told.append(bool(same))

workers = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for worker in workers: worker.start()
for worker in workers: worker.join()
print(len(told), all(told))
"""
    done = run(code)
    assert (done.returncode, done.stdout) == (0, "40 True\n"), done.stderr


def test_the_import_leaves_the_gil_as_it_is() -> None:
    code = """
import sys, numpy
enabled = getattr(sys, "_is_gil_enabled", lambda: True)  # Python 3.13 began to tell
before = enabled()
import reblock
print(before == enabled())
"""
    assert run(code).stdout == "True\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_can_call() -> None:
    code = """
import os, numpy as np, reblock
x = np.arange(2 * 32 * 102 * 96, dtype=np.float32).reshape(2, 32, 102, 96)
expected = reblock.depth_to_space(x, 2, threads=2)
child = os.fork()
same = np.array_equal(reblock.depth_to_space(x, 2, threads=2), expected)
if child == 0:
    os._exit(0 if same else 1)
print(same, os.waitpid(child, 0)[1])
"""
    assert run(code).stdout == "True 0\n"


def test_a_process_may_end_while_workers_wait() -> None:
    code = "import numpy as np, reblock; reblock.unfold(np.ones((1, 64, 99, 99)), 3, threads=4)"
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.measured
def test_calls_need_little_stack() -> None:
    code = """
import threading, numpy as np, reblock

def all_calls():
    for dtype in (np.uint8, np.float32, np.float64):
        for extents in ((30, 34), (5000,)):
            image = np.ones((2, 40, *extents), dtype)
            for mode in ("constant", "edge", "reflect", "wrap"):
                pads = {"start_padding": 5, "end_padding": 30, "padding_mode": mode}
                columns = reblock.unfold(image, 7, strides=2, **pads)
                reblock.fold(columns, extents, 7, strides=2, **pads)
                weights = np.ones((7,) * len(extents))
                for how in ({"reduction": "mean"}, {"weights": weights, "reduction": "mean"}):
                    reblock.fold(columns, extents, 7, strides=2, dtype=np.float64, **pads, **how)
    few_windows = np.ones((96, 16 * 196), np.float32)
    profiles = [np.hanning(16)[1:-1]] * 2
    for how in ({}, {"weights": profiles}):
        for by in ("sum", "mean"):
            reblock.fold(
                few_windows, (25, 21), 14, layout="LC", out_layout="CHW", reduction=by, **how
            )
    photo = np.ones((4, 224, 224, 3), np.uint8)
    convert = {"dtype": np.float32, "scale": 1 / 255, "bias": -0.5}
    for size in (14, 16):
        reblock.unfold(photo, size, strides=size, layout="NHWC", **convert)
    reblock.space_to_depth(photo, 2, layout="NHWC", **convert)
    reblock.depth_to_space(np.ones((2, 32, 102, 96), np.uint8), 2)
    reblock.rearrange(photo, "n (h a) (w b) c -> n c a b h w", a=2, b=2)

threading.stack_size(128 * 1024)
thread = threading.Thread(target=all_calls)
thread.start()
thread.join()
print("done")
"""
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_python_exits_while_daemon_threads_run() -> None:
    """Python ends them where they ask for the GIL, which aborted the process."""
    code = """
import threading, time, numpy as np, reblock

def work():
    image = np.ones((1, 64, 256, 256), np.float32)
    while True:
        reblock.space_to_depth(image, 2)

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("done")
"""
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
