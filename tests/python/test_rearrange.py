# SPDX-License-Identifier: BSD-3-Clause
"""rearrange, repeat and copyto: what their patterns mean, whatever the memory is like."""

from __future__ import annotations

import re
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reblock
from checks import assert_same_bytes, assert_same_values, assert_writes_only_elements, refuses
from dtypes import BFLOAT16, MOVABLE, SUMMABLE, movable
from layouts import allocate, in_one_buffer, layouts
from oracle import Array, as_bytes
from patterns import Use, patterns

USES: list[Use] = ["rearrange", "repeat"]
every_use = pytest.mark.parametrize("use", USES)

X = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


# Meaning


@every_use
@given(data=st.data())
def test_patterns_mean_what_they_say(use: Use, data: st.DataObject) -> None:
    pattern, dtype = data.draw(patterns(use)), data.draw(movable())
    layout = data.draw(layouts(len(pattern.input_shape), dtype.itemsize))
    x = allocate(pattern.input_shape, dtype, layout).array
    result = pattern(x)
    assert_same_bytes(result, pattern.oracle(x))
    assert result.flags.c_contiguous
    assert result.base is None


@every_use
@given(data=st.data())
def test_out_may_have_any_layout_and_share_memory_with_x(use: Use, data: st.DataObject) -> None:
    pattern, dtype = data.draw(patterns(use)), data.draw(movable())
    source, target = data.draw(in_one_buffer(pattern.input_shape, pattern.output_shape, dtype))
    expected = pattern.oracle(source.array)
    assert_writes_only_elements(target, lambda out: pattern(source.array, out=out))
    assert_same_bytes(np.asarray(target.array), expected)


@pytest.mark.parametrize("dtype", MOVABLE, ids=str)
def test_every_dtype(dtype: np.dtype[Any]) -> None:
    x = allocate((3, 34, 4), dtype).array
    expected = x.reshape(3, 17, 2, 4).transpose(2, 3, 0, 1).reshape(8, 3, 17)
    assert_same_bytes(reblock.rearrange(x, "n (h p) c -> (p c) n h", p=2), expected)
    assert_same_bytes(
        reblock.repeat(x, "n h c -> n h c 2"), as_bytes(x)[..., None].repeat(2, -1).view(dtype)
    )


@pytest.mark.parametrize(
    ("pattern", "lengths", "shape", "expected"),
    [
        ("->", {}, (), ()),
        (" -> 1 ()", {}, (), (1, 1)),
        ("1 () h->h", {}, (1, 1, 5), (5,)),
        ("...->...", {}, (), ()),
        ("... a -> a ...", {}, (7,), (7,)),
        ("a ... -> (... a)", {}, (2, 3, 4), (24,)),
        ("(a b)->b a", {"a": 3}, (12,), (4, 3)),
        ("(a b) -> a b", {"a": 3, "b": 0}, (0,), (3, 0)),
        ("(1 a 1) (1) -> (1) a", {}, (6, 1), (1, 6)),
        ("a(b c)d->(a b)(c d)", {"b": 2}, (2, 6, 2), (4, 6)),
        ("out threads x -> x threads out", {"x": 4}, (2, 3, 4), (4, 3, 2)),
    ],
)
def test_the_language(
    pattern: str, lengths: dict[str, Any], shape: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert reblock.rearrange(np.zeros(shape), pattern, **lengths).shape == expected


def test_new_axes_repeat() -> None:
    assert (
        reblock.repeat(np.array([1, 2]), "a -> (2 a) 1 b", b=3).tolist()
        == [[[1] * 3], [[2] * 3]] * 2
    )
    assert reblock.repeat(np.array(5), "-> 2 (2 1)").tolist() == [[5, 5], [5, 5]]
    assert reblock.repeat(np.zeros((2, 3)), "... -> n ...", n=0).shape == (0, 2, 3)


def test_lengths_are_any_ints() -> None:
    expected = X.reshape(2, 3, 2, 2).transpose(2, 0, 1, 3)
    for length in (2, np.int64(2), np.uint8(2), np.array(2)):
        assert_same_bytes(reblock.rearrange(X, "a b (c d) -> c a b d", c=length), expected)


# Many axes


def test_arrays_of_64_dimensions() -> None:
    x = np.arange(24).reshape((1,) * 30 + (2, 3) + (1,) * 30 + (4, 1))
    result = reblock.rearrange(x, "... a 1 -> a ... ()")
    assert_same_bytes(result, np.moveaxis(x, -2, 0))
    names = " ".join(f"a{i}" for i in range(64))
    assert_same_bytes(reblock.rearrange(x, f"{names} -> {names}"), x)
    x = np.arange(2**16).reshape((2,) * 16)
    assert_same_bytes(reblock.rearrange(x.T, "... -> ..."), x.T)


def test_axes_that_merge_do_not_count() -> None:
    """Also where they merge in no order of the array's axes but that of memory."""
    x = np.arange(2**18, dtype=np.uint8).reshape((2,) * 18)
    names = [f"a{i}" for i in range(18)]
    text = f"{' '.join(names)} -> {' '.join(names[9:] + names[:9])}"
    assert_same_bytes(reblock.rearrange(x, text), np.transpose(x, [*range(9, 18), *range(9)]))
    out = np.empty_like(x).T
    assert reblock.rearrange(x.T, "... -> ...", out=out) is out
    assert_same_bytes(out, x.T)
    reblock.copyto(out, x.T[..., ::-1])
    assert_same_bytes(out, x.T[..., ::-1])


def test_more_than_16_axes_that_do_not_merge_are_refused() -> None:
    x = np.zeros((2,) * 17, np.uint8)
    out = np.ones_like(x)
    names = [f"a{i}" for i in range(17)]
    text = f"{' '.join(names)} -> {' '.join(names[::-1])}"
    for call in (lambda: reblock.rearrange(x, text, out=out), lambda: reblock.copyto(out, x.T)):
        refuses(call, ValueError, "16 axes", 17, x.shape[:15], untouched=[out])


# Memory


def test_nothing_of_the_size_of_the_tensor_is_allocated_but_the_result() -> None:
    x = np.zeros((64, 64, 96), np.uint8)
    reblock.rearrange(x, "a b c -> c a b")
    out = np.empty((96, 64, 64), np.uint8)
    tracemalloc.start()
    try:
        reblock.rearrange(x, "a b c -> c a b", out=out)
        assert tracemalloc.get_traced_memory()[1] < x.nbytes / 8
        tracemalloc.reset_peak()
        result = reblock.rearrange(x, "a b c -> c a b")
        assert tracemalloc.get_traced_memory()[1] < result.nbytes * 9 / 8
    finally:
        tracemalloc.stop()


def test_an_input_that_is_repeated_is_copied_without_its_repetitions() -> None:
    """However long it seems to be, where `out` shares memory with it."""
    memory = np.arange(3, dtype=np.uint8)
    x = np.broadcast_to(memory, (2**40, 3))
    reblock.rearrange(x[:1], "n a -> (n a)", out=memory[::-1])
    assert memory.tolist() == [2, 1, 0]
    memory = np.arange(8, dtype=np.uint8)
    reblock.repeat(memory[3:5], "a -> (4 a)", out=memory)
    assert memory.tolist() == [3, 4] * 4


def test_many_threads_call_at_once() -> None:
    x = np.arange(2 * 3 * 512 * 512, dtype=np.float32).reshape(2, 3, 512, 512)
    expected = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    assert_same_bytes(reblock.rearrange(x, "n c h w -> n h w c", threads=2), expected)
    with ThreadPoolExecutor(4) as pool:
        # More patterns than are remembered
        texts = [f"n c h w{i} -> n h w{i} c" for i in range(1500)]
        shapes = list(pool.map(lambda text: reblock.rearrange(x[:, :, :4, :4], text).shape, texts))
    assert set(shapes) == {(2, 4, 4, 3)}


def test_patterns_that_are_remembered_are_bounded() -> None:
    """What remembers a pattern refers to its text."""
    x = np.zeros((2, 3))
    texts = [f"b{i} c -> c b{i}" for i in range(6001)]
    for text in texts[:6000]:
        reblock.rearrange(x, text)
    counts = [sys.getrefcount(text) for text in texts]
    remembered = sum(count > counts[6000] for count in counts[:5999])
    assert 0 < remembered <= 1024


# Inputs of every kind


def test_array_likes_are_arrays() -> None:
    assert reblock.rearrange([[1, 2], [3, 4]], "a b -> b a").tolist() == [[1, 3], [2, 4]]
    assert reblock.rearrange([X, X], "n ... -> ... n").shape == (2, 3, 4, 2)
    assert reblock.rearrange(bytearray(b"abcd"), "(a b) -> b a", a=2).tolist() == [
        [97, 99],
        [98, 100],
    ]
    assert_same_bytes(reblock.rearrange(3.5, "-> 1"), np.array([3.5]))


def test_a_subclass_gives_a_plain_array() -> None:
    class Image(np.ndarray):
        pass

    assert type(reblock.rearrange(X.view(Image), "a b c -> c b a")) is np.ndarray


# Errors

BAD_PATTERNS: list[tuple[Use, str, str]] = [
    ("rearrange", "a b c", "->"),
    ("rearrange", "a -> b -> c", "->"),
    ("rearrange", "a b c -> a b", "'c' on its right side"),
    ("rearrange", "a b c -> a b c d", "'d' on its left side"),
    ("rearrange", "a b ... -> a b", "'...' on its right side"),
    ("rearrange", "a b c -> a b c ...", "'...' on its left side"),
    ("repeat", "a b c -> a b c ...", "'...' on its left side"),
    ("rearrange", "a ... ... -> a ...", "'...' once on its left side"),
    ("rearrange", "a (...) -> a ...", "... in parentheses on its left side"),
    ("rearrange", "a a c -> a c", "'a' once on its left side"),
    ("rearrange", "a b c -> a (b c a)", "'a' once on its right side"),
    ("rearrange", "a ((b) c) -> a b c", "( and ) in turns"),
    ("rearrange", "a b) c -> a b c", "( and ) in turns"),
    ("rearrange", "a (b c -> a b c", "a ) for each ("),
    ("rearrange", "a 2 c -> a c 2", "no number but 1"),
    ("repeat", "a 2 c -> a c", "no number but 1 on its left side"),
    ("repeat", "a b c -> a b c 0", "no number below 1"),
    ("repeat", f"a b c -> a b c {2**63}", "numbers that fit in 64 bits"),
    ("rearrange", "a b_ c -> a b_ c", "'b_'"),
    ("rearrange", "a _ c -> a _ c", "'_'"),
    ("rearrange", "a 1b c -> a 1b c", "'1b'"),
    ("rearrange", "a b-c -> a b-c", "'b-c'"),
    ("rearrange", "a, b -> b, a", "'a,'"),
    ("rearrange", "a .. -> a ..", "'..'"),
    ("rearrange", "a\tb c -> c a\tb", r"'a\tb'"),
    ("rearrange", "a\0 b c -> c a\0 b", r"'a\x00'"),
    ("rearrange", "\ud800 b c -> c b \ud800", r"'\ud800'"),
]


@pytest.mark.parametrize(("use", "pattern", "told"), BAD_PATTERNS)
def test_what_is_no_pattern_is_refused(use: Use, pattern: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"^pattern must ") as caught:
        getattr(reblock, use)(X, pattern)
    assert told in str(caught.value)
    assert str(caught.value).endswith(f"got {pattern!r}")


@pytest.mark.parametrize(
    ("use", "pattern", "lengths", "told"),
    [
        ("rearrange", "a b -> b a", {}, ["x must have 2 axes", "got 3", "(2, 3, 4)"]),
        ("rearrange", "a b c d ... -> ... a b c d", {}, ["at least 4 axes", "(2, 3, 4)"]),
        (
            "rearrange",
            "a (b p) c -> a b p c",
            {"p": 2},
            ["axis 1", "multiple of 2", "(b p)", "got 3"],
        ),
        ("rearrange", "a (b p) c -> a b p c", {"p": 2, "b": 2}, ["axis 1", "(b p) = 4", "got 3"]),
        ("rearrange", "a b c -> c b a", {"c": 5}, ["axis 2", "c = 5", "got 4"]),
        ("rearrange", "a 1 c -> c a", {}, ["axis 1 that is 1,", "got 3"]),
        ("rearrange", "a (b p) c -> a b p c", {}, ["lengths of b and p", "(b p)", "(2, 3, 4)"]),
        ("rearrange", "a (b out) c -> a b out c", {}, ["b and out", "'out' is a parameter"]),
        ("rearrange", "a (bias p) c -> a p bias c", {}, ["'bias' is a parameter"]),
        ("repeat", "a b c -> a b c scale", {}, ["length of scale", "'scale' is a parameter"]),
        ("rearrange", "a (b p) c -> a b p c", {"p": 0}, ["axis 1", "length of b"]),
        ("rearrange", "a b c -> c b a", {"d": 5}, ["no axis 'd'"]),
        (
            "rearrange",
            "a b c -> c b a",
            {"a": -2},
            ["a must be at least 0, got -2", "(2, 3, 4)", "'a b c -> c b a'"],
        ),
        (
            "repeat",
            "a b c -> a b c n",
            {"n": 2**64},
            ["n must fit in 64 bits, got ", str(2**64), "(2, 3, 4)", "'a b c -> a b c n'"],
        ),
        ("repeat", "a b c -> a b c n", {}, ["length of n"]),
        ("repeat", "a b c -> a b c n", {"n": 2**62}, ["(2, 3, 4)", "addressed"]),
        ("repeat", "a b c -> a b c (n m)", {"n": 2**40, "m": 2**40}, ["addressed"]),
    ],
)
def test_a_shape_or_length_that_does_not_fit_is_refused(
    use: Use, pattern: str, lengths: dict[str, int], told: list[str]
) -> None:
    with pytest.raises(ValueError, match=re.escape(told[0])) as caught:
        getattr(reblock, use)(X, pattern, **lengths)
    for part in told:
        assert part in str(caught.value)


def test_arguments_of_a_wrong_kind_are_refused() -> None:
    rearrange: Any = reblock.rearrange
    for text in (5, b"a b c -> c b a", None):
        refuses(partial(rearrange, X, text), TypeError, "pattern")
    split = "a b (c d) -> a b c d"
    refuses(lambda: rearrange(X, split, c=2.0), TypeError, "c", 2.0, (2, 3, 4), "pattern")
    refuses(lambda: rearrange(X, split, c=2, threads=0), ValueError, "threads", 0)
    refuses(lambda: rearrange(X.astype(object), split, c=2), TypeError, "x", "object")
    with pytest.raises(TypeError, match="'pattern'"):
        rearrange(X)
    with pytest.raises(TypeError, match="positional"):
        rearrange(X, split, X)
    with pytest.raises(ValueError, match="no axis 'x'"):
        rearrange(X, split, x=2)


def test_an_out_that_does_not_fit_is_refused() -> None:
    def into(out: Any) -> Any:
        return lambda: reblock.rearrange(X, "a b c -> c b a", out=out)

    refuses(into(np.zeros((2, 3, 4), np.int32)), ValueError, "out", (4, 3, 2), (2, 3, 4))
    refuses(into(np.zeros((4, 3, 2), np.int64)), TypeError, "out", "int32", "int64")
    refuses(into([[0]]), TypeError, "out", "list")
    frozen = np.zeros((4, 3, 2), np.int32)
    frozen.flags.writeable = False
    refuses(into(frozen), ValueError, "out", "read-only")
    narrow = np.zeros(8, np.int32)
    overlapping = np.lib.stride_tricks.as_strided(narrow, (4, 3, 2), (4, 4, 4))
    refuses(into(overlapping), ValueError, "out", (4, 3, 2), (4, 4, 4), untouched=[narrow])


# copyto


@st.composite
def broadcastable(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw two shapes, of which the second one broadcasts to the first."""
    shape = tuple(draw(st.lists(st.integers(0, 6), max_size=5)))
    kept = shape[draw(st.integers(0, len(shape))) :]
    source = tuple(1 if draw(st.booleans()) else extent for extent in kept)
    surplus = draw(st.integers(0, 2)) if len(source) == len(shape) else 0
    return shape, (1,) * surplus + source


@given(data=st.data())
def test_copyto_copies_between_any_layouts(data: st.DataObject) -> None:
    (shape, source_shape), dtype = data.draw(broadcastable()), data.draw(movable())
    source, target = data.draw(in_one_buffer(source_shape, shape, dtype))
    x = as_bytes(source.array).copy()
    expected = np.broadcast_to(x.reshape(source_shape[max(0, x.ndim - len(shape)) :]), shape)
    before = target.guard_bytes()
    assert reblock.copyto(target.array, source.array) is None  # type: ignore[func-returns-value] # that is tested
    assert as_bytes(target.array).tobytes() == expected.tobytes()
    assert target.guard_bytes() == before


NUMBERS = [*SUMMABLE, np.dtype(">f4"), np.dtype(">i8"), np.dtype(">u2"), np.dtype(">c16")]
SAFE_CASTS = [
    (source, target)
    for source in NUMBERS
    for target in NUMBERS
    if source != target and np.can_cast(source, target, "safe")
]


@given(data=st.data())
def test_copyto_casts_numbers_as_numpy_does(data: st.DataObject) -> None:
    (shape, source_shape), (source, target) = (
        data.draw(broadcastable()),
        data.draw(st.sampled_from(SAFE_CASTS)),
    )
    layout = data.draw(layouts(len(source_shape), source.itemsize))
    out_layout = data.draw(layouts(len(shape), target.itemsize, for_output=True))
    x = allocate(source_shape, source, layout).array
    if source.kind == "b":
        x.view(np.uint8)[...] &= 1  # ml_dtypes takes the byte of a bool for its value
    out = allocate(shape, target, out_layout, seed=1)
    expected = np.zeros(shape, target)
    before = out.guard_bytes()
    threads = data.draw(st.sampled_from([1, 3]))
    with np.errstate(invalid="ignore"):  # of NaNs that signal, where NumPy casts
        np.copyto(expected, x, casting="safe")
        reblock.copyto(out.array, x, threads=threads)
    assert_same_values(np.ascontiguousarray(out.array).reshape(shape), expected)
    assert out.guard_bytes() == before


@pytest.mark.parametrize("source", [np.dtype(np.float16), BFLOAT16], ids=str)
@pytest.mark.parametrize("target", ["f4", "f8"])
def test_copyto_casts_every_half_as_numpy_does(source: np.dtype[Any], target: str) -> None:
    x = np.arange(2**16, dtype=np.uint16).view(source)
    out, expected = np.zeros(x.shape, target), np.zeros(x.shape, target)
    reblock.copyto(out, x)
    with np.errstate(invalid="ignore"):
        np.copyto(expected, x, casting="safe")
    assert_same_values(out, expected)


OTHER_CASTS: list[tuple[Any, Any]] = [
    ("S3", "S5"),
    ("i2", "U6"),
    ("M8[s]", "M8[ms]"),
    ("f4", [("a", "f8"), ("b", "i4")]),
    ([("a", "i2"), ("b", "f4")], [("a", "i4"), ("b", "f8")]),
]


@pytest.mark.parametrize(("source", "target"), OTHER_CASTS, ids=str)
def test_copyto_casts_what_is_no_number(source: Any, target: Any) -> None:
    x = np.arange(12).reshape(3, 4).astype(source)
    casting: Any = "safe"
    if not np.can_cast(x.dtype, np.dtype(target), casting):
        refuses(lambda: reblock.copyto(np.zeros((3, 4), target), x), TypeError, "src")
        return
    out = np.zeros((2, 4, 3), target)
    reblock.copyto(out, x.T)
    assert_same_bytes(out, np.broadcast_to(x.T, out.shape).astype(target))


@pytest.mark.parametrize("target", ["i4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shift", [-60, -7, 0, 1, 2, 60])
def test_copyto_casts_an_array_that_shares_memory(target: str, shift: int) -> None:
    """Also where elements are written before others are read from there."""
    buffer = np.random.default_rng(1).integers(0, 256, 1000, np.uint8)
    x = buffer[100 + shift :][:80].view(np.int16).reshape(5, 8)
    size = 40 * np.dtype(target).itemsize
    out = buffer[100:][:size].view(target).reshape(8, 5).T
    expected = x.astype(target)
    reblock.copyto(out, x)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize(
    ("source", "target"),
    [("u1", "f4"), ("?", "i8"), ("<f4", ">f4"), (BFLOAT16, "f4"), ("f2", "c8"), ("S3", "S5")],
    ids=str,
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_cast_of_copyto_allocates_nothing_of_the_size(
    source: Any, target: Any, order: Any
) -> None:
    x = np.zeros((600, 500), source)
    out = np.zeros(x.shape, target, order)
    reblock.copyto(out[:2], x[:2])  # what is imported stays
    tracemalloc.start()
    try:
        reblock.copyto(out, x)
        reblock.copyto(out, x[0])
        assert tracemalloc.get_traced_memory()[1] < 2**14
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("target", ["f4", "c8"])
def test_copyto_asks_no_subclass_how_to_cast(target: str) -> None:
    class Other(np.ndarray):
        def __array_function__(self, *_: object, **__: object) -> None:
            raise AssertionError

    out = np.zeros(3, target).view(Other)
    reblock.copyto(out, np.array([1, 2, 3], np.int16).view(Other))
    assert np.asarray(out).tolist() == [1, 2, 3]


def test_copyto_refuses_what_does_not_fit() -> None:
    copyto: Any = reblock.copyto
    out = np.zeros((2, 3), np.float32)
    for shape in ((3, 2), (2, 1, 3), (4,), (2, 4)):
        x = np.ones(shape, np.float32)
        refuses(partial(copyto, out, x), ValueError, "src", (2, 3), shape, untouched=[out])
    refuses(lambda: copyto(out, np.zeros(3)), TypeError, "src", "float64", "float32")
    refuses(lambda: copyto(out[:0], np.zeros(3)), TypeError, "src", "float64", "float32")
    refuses(lambda: copyto(out, np.complex64(1)), TypeError, "src", "complex64", "float32")
    refuses(lambda: copyto(out, [0.5] * 3), TypeError, "src", "float64", "float32")
    refuses(lambda: copyto([0], 0), TypeError, "dst", "list")
    refuses(lambda: copyto(np.array([None]), 0), TypeError, "dst", "object")
    refuses(lambda: copyto(np.broadcast_to(out, (2, 2, 3)), out), ValueError, "dst", "read-only")
    narrow = np.zeros(8, np.int32)
    windows: Array = np.lib.stride_tricks.sliding_window_view(narrow, 3, writeable=True)
    for number in (np.int32(1), 1, np.ones(3, np.uint8)):
        refuses(partial(copyto, windows, number), ValueError, "dst", (6, 3), untouched=[narrow])
    pairs = np.zeros(8, np.complex64)
    overlapping = np.lib.stride_tricks.as_strided(pairs, (6, 3), (8, 8))
    x = np.ones(3, np.float32)  # which NumPy casts
    refuses(partial(copyto, overlapping, x), ValueError, "dst", (6, 3), untouched=[pairs])


@pytest.mark.parametrize(
    ("x", "target"),
    [
        (np.array([b"a", b"\xff", b"c"]), "U2"),
        (np.array([(1, b"a"), (2, b"\xff")], "i4, S1"), "i8, U1"),
    ],
    ids=["text", "structured"],
)
def test_copyto_writes_nothing_before_text_that_is_not_ascii(x: Array, target: str) -> None:
    out = np.zeros((2, *x.shape), target)
    refuses(lambda: reblock.copyto(out, x), ValueError, "src", "0xff", untouched=[out])


def test_copyto_takes_numbers() -> None:
    out = np.zeros((2, 3), np.float32)
    reblock.copyto(out, 0.5)
    assert out.tolist() == [[0.5] * 3] * 2
    with pytest.raises(OverflowError):
        reblock.copyto(np.zeros(2, np.uint8), 300)
