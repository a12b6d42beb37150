"""A table's metadata is data from anywhere: whatever is wrong with it is a CorruptTableError that names it."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from metaindex.core import CorruptTableError, MetaIndexError, ObjectNotFoundError, first_line

_MOST_VALUES = 10_000_000
_OTHER_SHAPES = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, StopIteration),
    *(EOFError, OSError, struct.error, zlib.error, pa.ArrowException),
)


@contextmanager
def as_damage(before: str | Callable[[], str], behind: str, *more: type[BaseException]) -> Iterator[None]:
    """Whatever data of another shape makes fail inside is damage: a CorruptTableError, the fact between two texts.
    Errors of this project pass. `more`: errors of the library that reads the data."""
    try:
        yield
    except MetaIndexError:
        raise
    except (*_OTHER_SHAPES, *more) as error:
        fact = first_line(error, named=not isinstance(error, ValueError))
        raise CorruptTableError(f"{before if isinstance(before, str) else before()}{fact}{behind}") from error


@contextmanager
def must_exist(said: str) -> Iterator[None]:
    """Raise CorruptTableError where something that metadata names is not there."""
    try:
        yield
    except ObjectNotFoundError as gone:
        raise CorruptTableError(said) from gone


def parse_json(data: str | bytes) -> Any:
    """The document. ValueError too for one that is nested beyond the stack, for more values than memory is for, and for
    halves of characters, which no other text holds."""
    some = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if len(some) > _MOST_VALUES and sum(some.count(mark) for mark in b"[{,") > _MOST_VALUES:
        raise ValueError(f"metadata in JSON has at most {_MOST_VALUES:,} values")
    try:
        value = json.loads(data)
        if (b"\\u" if isinstance(data, bytes) else "\\u") in data:  # type: ignore[operator]
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError(first_line(error)) from error
    return value
