"""Python's collector of garbage, held back while a predicate of many terms is planned: it looks through all that is
alive, again and again, while a hundred thousand small things are made of which none is garbage yet. That took a third
to a half of the time.

It is held back for one plan. Plans side by side are not counted: whichever ends first lets it work again, so that it
never rests for long. Where it was switched off before, it stays so.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from expressions.tree import And, Or

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")

_LONG: Final = 5_000  # characters
_MANY: Final = 100  # parts


def held_back(method: Callable[Concatenate[S, object, P], R]) -> Callable[Concatenate[S, object, P], R]:
    """The method, whose first argument is a predicate, without the collector where that is large."""

    @wraps(method)
    def held(self: S, predicate: object, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if not _large(predicate) or not gc.isenabled():
            return method(self, predicate, *args, **kwargs)
        gc.disable()
        try:
            return method(self, predicate, *args, **kwargs)
        finally:
            gc.enable()

    return held


def _large(predicate: object) -> bool:
    if isinstance(predicate, str):
        return len(predicate) > _LONG
    return isinstance(predicate, And | Or) and len(predicate.parts) > _MANY
