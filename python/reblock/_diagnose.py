# SPDX-License-Identifier: BSD-3-Clause
"""Find the operator that turns one array into another, by trying all that fit.

Every call that the shapes allow is a candidate. Each candidate is compared with a sample of the
data first. Candidates that agree with the sample are run in full.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from reblock import _core
from reblock._candidates import (
    MOST_AXES,
    Array,
    Candidate,
    Image,
    Ints,
    Step,
    Tried,
    equal,
    images,
    layout_parameters,
    number_or_tuple,
    share_of,
)
from reblock._search import search_windows

LEAST_AXES = 2
FULL_CHECKS = 64  # candidates that agree with the sample and are run in full
LARGE = 1 << 20  # elements of an array that is probed with bytes
SHOWN = 12  # matches in the text
CROP = 8  # positions along each axis of the depth tensor that are compared first
PERMUTED_AXES = 5  # arrays of more axes are not permuted


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """The result of `diagnose`. `print` shows it as text.

    Attributes
    ----------
    matches : tuple of Candidate
        Every call found that turns the input into the result, the shortest text first. `str` of a
        candidate is an expression for an array `x`. A candidate can be called with an array.
    nearest : Candidate or None
        The first match. Without a match, the candidate with most equal elements. None if no
        operator fits the shapes.
    share : float
        The share of the elements of the result that `nearest` gives, from 0 to 1.
    tried : int
        How many candidates fit the shapes and were compared with the data.
    complete : bool
        Whether all candidates within the limits of `diagnose` were tried.
    shapes : tuple of tuple of int
        The shapes of the input and of the result.
    either_order : bool
        Whether a match is the same in DCR and in CRD order, as with a single channel.
    """

    matches: tuple[Candidate, ...]
    nearest: Candidate | None
    share: float
    tried: int
    complete: bool
    shapes: tuple[Ints, Ints]
    either_order: bool

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if len(self.matches) == 1:
            yield f"equal to {self.matches[0]}"
        elif self.matches:
            yield "equal to each of these, which the data do not tell apart:"
            yield from (f"  {match}" for match in self.matches[:SHOWN])
            if len(self.matches) > SHOWN:
                yield f"  and {len(self.matches) - SHOWN} more"
        elif self.nearest is None:
            source, target = self.shapes
            yield f"no operator turns the shape {source} into {target}"
        else:
            # Rounded down, so that it is 100% for none that differs.
            percent = int(1000 * self.share) / 10
            yield f"equal to none of the {self.tried} that fit; the nearest, {percent}% equal, is"
            yield f"  {self.nearest}"
            if not self.complete:
                yield "More windows fit than were tried."
        if self.either_order:
            yield "DCR and CRD order are the same here."


def diagnose(x: npt.ArrayLike, result: npt.ArrayLike) -> Diagnosis:
    """Tell which operator turns one array into another, by trying all that fit.

    Parameters
    ----------
    x : array_like
        The input, of 2 to 8 axes. Any dtype without Python objects.
    result : array_like
        The array that `x` became, of 2 to 8 axes, of any dtype. Elements are compared by ``==``,
        and NaN equals NaN. Floating-point sums of `fold` are equal within the rounding of any order
        of addition.

    Returns
    -------
    Diagnosis
        A prompt or `print` shows a text. ``.matches`` has every call found. If there is none,
        ``.nearest`` is the best candidate, and ``.share`` is the share of the elements it gives.

    Raises
    ------
    ValueError
        If an array has no elements, or fewer than 2 or more than 8 axes.
    TypeError
        If an array is masked, has Python objects, or cannot be compared with the other one.

    Notes
    -----
    `diagnose` tries these operators and layouts:

    - `depth_to_space` and `space_to_depth` with the block that the shapes give, in both orders,
      with the channels on any axis of `x` and on any axis of `result`;
    - `unfold` and `fold` with windows of more than one element. The rows of the columns may have
      the channel as the slow index, as here, or as the fast one. They may come before or after the
      window positions, which have one axis, or one for each spatial axis;
    - permutations of up to 5 axes, and a plain ``reshape``, which is a frequent mistake.

    An image or columns may lack the axis of the batch, with up to 3 spatial axes. An image may lack
    the axis of the channels too.

    Dilations are at most 8, and paddings at most 64. No window lies only in the padding. If too
    many windows fit, `diagnose` tries the simplest, and ``.complete`` is False. If several calls do
    the same to every array of the shape, it returns the simplest, and blocks rather than windows.

    It takes as long as some dozen calls of the operators, and for windows up to some seconds. It
    allocates arrays of the size of `result`.

    Examples
    --------
    >>> import numpy as np
    >>> import reblock
    >>> x = np.arange(2 * 3 * 12).reshape(1, 2, 3, 12)
    >>> result = reblock.depth_to_space(x, 2, order="CRD", layout="NHWC")
    >>> found = reblock.diagnose(x, result)
    >>> found
    equal to depth_to_space(x, 2, order='CRD', layout='NHWC')
    >>> np.array_equal(found.matches[0](x), result)
    True

    If no call gives the result, `nearest` is the best candidate.

    >>> result[0, 0, 0, 0] = -1
    >>> found = reblock.diagnose(x, result)
    >>> found.matches, found.nearest, round(found.share, 3)
    ((), depth_to_space(x, 2, order='CRD', layout='NHWC'), 0.986)
    """
    given, made = _checked(x, "x"), _checked(result, "result")
    try:
        equal(*(np.asarray(array.flat[0]) for array in (given, made)))
    except TypeError as error:
        kinds = f"{given.dtype} and {made.dtype}"
        raise TypeError(f"x and result must have dtypes that compare, got {kinds}") from error
    tried = Tried()
    _try_layouts(given, made, tried)
    _try_blocks(given, made, tried)
    search_windows("unfold", given, made, tried)
    search_windows("fold", given, made, tried)
    return _judged(given, made, tried)


def _checked(x: npt.ArrayLike, name: str) -> Array:
    array = _core.read_array(x, name)
    if not LEAST_AXES <= array.ndim <= MOST_AXES:
        raise ValueError(f"{name} must have 2 to {MOST_AXES} axes, got shape {array.shape}")
    if not array.size:
        raise ValueError(f"{name} must have elements, got shape {array.shape}")
    return array


def _judged(x: Array, result: Array, tried: Tried) -> Diagnosis:
    """Run the candidates that agree with the sample in full, or the nearest if none agrees."""
    agreeing = sorted(tried.agreeing, key=lambda candidate: candidate.simplicity)
    judged = [(share_of(candidate, x, result), candidate) for candidate in agreeing[:FULL_CHECKS]]
    equals = [candidate for share, candidate in judged if share == 1]
    matches = _distinct(equals, x.shape)
    if not matches:
        for estimate, candidate in tried.nearest:
            # A sample may err, but hardly so much that less than half of a share is the larger one.
            if estimate >= max((share for share, _ in judged), default=0) / 2:
                judged.append((share_of(candidate, x, result), candidate))
    share, nearest = max(judged, key=lambda pair: pair[0], default=(0.0, None))
    return Diagnosis(
        tuple(matches),
        nearest,
        share,
        tried.count,
        tried.complete and len(agreeing) <= FULL_CHECKS,
        (x.shape, result.shape),
        any(crd in equals and crd not in matches for crd in map(_in_crd, matches)),
    )


def _in_crd(candidate: Candidate) -> Candidate:
    return replace(candidate, parameters={"order": "CRD"} | candidate.parameters)


def _distinct(candidates: list[Candidate], shape: Ints) -> list[Candidate]:
    """Return the first of all candidates that do the same to every array of the shape."""
    if len(candidates) < 2:
        return candidates
    dtype = np.uint64 if math.prod(shape) < LARGE else np.uint8
    probe = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, shape, dtype)
    found: dict[bytes, Candidate] = {}
    for candidate in candidates:
        made = hashlib.blake2b(candidate(probe).tobytes())
        found.setdefault(made.digest(), candidate)
    return list(found.values())


# What moves without windows ---------------------------------------------------------------------


def _try_layouts(x: Array, result: Array, tried: Tried) -> None:
    """Try changes without an operator: the array itself, its axes permuted, a reshape."""
    if x.size != result.size:
        return
    candidates = [Candidate(None, before=(Step("reshape", result.shape),))]
    if x.shape == result.shape:
        candidates = [Candidate(None)]
    if x.ndim == result.ndim and x.ndim <= PERMUTED_AXES:
        candidates += _permutations(x.shape, result.shape)
    for candidate in candidates:
        tried.add(candidate, share_of(candidate, x, result))


def _permutations(source: Ints, target: Ints) -> Iterator[Candidate]:
    """Yield the permutations that a reshape cannot do: axes of one element do not count."""
    for axes in itertools.permutations(range(len(source))):
        moved = [axis for axis in axes if source[axis] > 1]
        if moved != sorted(moved) and tuple(source[axis] for axis in axes) == target:
            yield Candidate(None, before=(Step("transpose", axes),))


def _try_blocks(x: Array, result: Array, tried: Tried) -> None:
    """Try depth_to_space and space_to_depth, with the channels on any axis of either array."""
    if x.size != result.size:
        return
    for source, target in itertools.product(images(x), images(result)):
        if source.array.ndim != target.array.ndim or source.missing + target.missing == 4:
            continue
        if source.array.shape[0] != target.array.shape[0]:
            continue
        if source.channel_axis != target.channel_axis and 2 in (source.missing, target.missing):
            continue
        for name, depth, space in (
            ("depth_to_space", source, target),
            ("space_to_depth", target, source),
        ):
            if block := _block(depth.sizes, space.sizes):
                _try_orders(name, block, source, target, tried)


def _block(depth: Ints, space: Ints) -> Ints | None:
    """Return the block along each spatial axis; None if none fits or all extents are equal."""
    block = tuple(long // short for short, long in zip(depth, space, strict=True))
    fits = all(short * b == long for short, long, b in zip(depth, space, block, strict=True))
    return block if fits and max(block) > 1 else None


def _try_orders(name: str, block: Ints, source: Image, target: Image, tried: Tried) -> None:
    size = number_or_tuple(block)
    # Some of the batch and of the middle is compared first.
    depth = source if name == "depth_to_space" else target
    starts = [max(0, (extent - CROP) // 2) for extent in depth.sizes]
    cropped = [
        _cropped(image, starts, [b if image is not depth else 1 for b in block])
        for image in (source, target)
    ]
    whole_source, whole_target = (image._replace(missing=0) for image in (source, target))
    for order in ("DCR", "CRD"):
        named = {"order": order} if order == "CRD" else {}
        share = share_of(_call(name, size, named, whole_source, whole_target), *cropped)
        tried.add(_call(name, size, named, source, target), share)


def _call(
    name: str, size: int | Ints, named: Mapping[str, str], source: Image, target: Image
) -> Candidate:
    layouts, after = layout_parameters(name, source.layout, target.layout)
    return Candidate(name, (size,), {**named, **layouts}, after=after)


def _cropped(image: Image, starts: list[int], scale: list[int]) -> Array:
    index = [slice(2 if axis == 0 else None) for axis in range(image.array.ndim)]
    for axis, start, factor in zip(image.spatial, starts, scale, strict=True):
        index[axis] = slice(start * factor, (start + CROP) * factor)
    return image.array[tuple(index)]
