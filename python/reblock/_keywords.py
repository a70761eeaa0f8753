# SPDX-License-Identifier: BSD-3-Clause
"""Give functions written in Python the hints of the compiled functions."""

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from reblock import _core

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def with_hints(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return the function with an error that explains keywords of other libraries."""
    name = function.__qualname__.removesuffix(".__init__")
    parameters = tuple(inspect.signature(function).parameters)
    known = frozenset(parameters)

    @functools.wraps(function)
    def call(*arguments: _Arguments.args, **keywords: _Arguments.kwargs) -> _Result:
        if not known.issuperset(keywords):
            unknown = next(keyword for keyword in keywords if keyword not in known)
            hint = _core.hint(unknown, parameters)
            raise TypeError(f"{name}() got an unexpected keyword argument {unknown!r}{hint}")
        return function(*arguments, **keywords)

    return call
