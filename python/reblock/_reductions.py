# SPDX-License-Identifier: BSD-3-Clause
"""What `fold` makes of the terms of an element, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from reblock import _core
from reblock._tensors import Columns, Extents, Index, unrank

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from reblock._core import _IntOrInts, _Reduction

TERMS = 4  # that are written of one element


def window_weights(weights: ArrayLike | Sequence[ArrayLike]) -> npt.NDArray[np.float64]:
    """Return the weight of each element of the window."""
    if not isinstance(weights, (list, tuple)) or np.ndim(weights[0]) == 0:
        return np.asarray(weights, np.float64)
    product = np.ones(())
    for axis in weights:
        product = np.multiply.outer(product, np.asarray(axis, np.float64))
    return product


class _Unquoted(str):
    __slots__ = ()

    __repr__ = str.__str__


@dataclass(frozen=True)
class Reduction:
    """The reduction, the weights and the dtype of a call of `fold`."""

    name: _Reduction
    weights: npt.NDArray[np.float64] | None
    dtype: npt.DTypeLike | None

    @classmethod
    def of(  # noqa: PLR0917 - the arguments of fold
        cls,
        shape: Extents,
        output_sizes: _IntOrInts,
        window: Mapping[str, Any],
        reduction: _Reduction,
        weights: ArrayLike | Sequence[ArrayLike] | None,
        dtype: npt.DTypeLike | None,
    ) -> Reduction:
        """Raise what `fold` raises for columns of this shape, with the axes N, C and L."""
        options: dict[str, Any] = {"reduction": reduction, "weights": weights, "dtype": dtype}
        nothing = np.broadcast_to(np.zeros(()), (0, *shape[1:]))
        made = _core.fold(nothing, output_sizes, **window, **options).dtype
        of_window = None if weights is None else window_weights(weights)
        return cls(reduction, of_window, made if dtype else None)

    @property
    def given(self) -> dict[str, object]:
        """Return what a call says of it: weights by their shape, because they may be many."""
        extents = None if self.weights is None else " x ".join(map(str, self.weights.shape))
        return {
            "reduction": self.name,
            "weights": extents and _Unquoted(f"<{extents}>"),
            "dtype": self.dtype and str(self.dtype),
        }

    def count(self) -> str:
        """Explain a number of terms."""
        return {
            "sum": "how many are added up there",
            "mean": "how many have their mean there",
            "max": "of how many the largest is there",
            "min": "of how many the smallest is there",
        }[self.name]

    def value(self, name: str, columns: Columns, terms: Sequence[Index]) -> str:
        """Write an element of the result as a formula of its terms."""
        weights = [self._weight(columns, term) for term in terms]
        if not terms or (self.name == "mean" and not sum(weights)):
            return "0"
        texts = [f"{name}{list(columns.written(term))}" for term in terms[:TERMS]]
        if self.weights is not None:
            texts = [f"{w:g} * {text}" for w, text in zip(weights, texts, strict=False)]
        if len(terms) > TERMS:
            texts.append(f"... ({len(terms) - TERMS} more)")
        if self.name in {"max", "min"}:
            return f"{self.name}({', '.join(texts)})" if len(terms) > 1 else texts[0]
        total = " + ".join(texts)
        if self.name == "sum" or (self.weights is None and len(terms) == 1):
            return total
        return f"({total}) / {sum(weights):g}"

    def _weight(self, columns: Columns, term: Index) -> float:
        if self.weights is None:
            return 1
        windows = columns.windows
        is_fast = windows.order == "DCR"
        offset = term[1] // columns.channels if is_fast else term[1] % windows.volume
        return float(self.weights[unrank(offset, windows.window_sizes)])
