"""`metaindex create --covering`, `--covering-range` and `--covering-curve`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, Generic

from metaindex.core import ArgumentError
from metaindex.index.kinds.command import T, value_of

_TITLE = "covering indexes: columns of every row kept a second time, for Spark to read in the place of the table"
_TEXT = {
    "--covering": "bucketed by Spark's hash and sorted: indexed=day included=tailnum,dest buckets=64; for filters, "
    "joins and groups by the indexed columns; can be repeated",
    "--covering-range": "in ranges and sorted: indexed=day included=tailnum; for ranges of the indexed columns; can be "
    "repeated",
    "--covering-curve": "along a curve through several columns: indexed=day,dest included=tailnum; for conditions on "
    "any of the indexed columns; can be repeated",
}


class CoveringCommand(Generic[T]):
    """Options of one of the three covering kinds. `names`: the parameters."""

    def __init__(self, kind: str, make: Callable[..., T], names: Sequence[str]) -> None:
        self._option, self._make, self._names = f"--{kind.replace('_', '-')}", make, names

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        groups = [group_ for group_ in parser._action_groups if group_.title == _TITLE]
        group = groups[0] if groups else parser.add_argument_group(_TITLE)
        group.add_argument(
            self._option, action="append", nargs="+", default=[], metavar="WHAT=", help=_TEXT[self._option]
        )

    def kinds(self, args: argparse.Namespace, alone: bool) -> Sequence[T]:
        return [self._make(**self._said(words)) for words in value_of(args, self._option)]

    def _said(self, words: list[str]) -> dict[str, Any]:
        """The parameters of a covering kind: `indexed=a,b included=c buckets=8`."""
        option, options = self._option, dict[str, Any]()
        for word in words:
            name, equals, value = word.partition("=")
            if not equals or name not in self._names or name in options:
                raise ArgumentError(
                    f"{option} is followed by {', '.join(f'{name_}=' for name_ in self._names)} each once at most; "
                    f"got {word!r}; as in {option} indexed=day included=a,b"
                )
            try:
                options[name] = (
                    int(value)
                    if name == "buckets"
                    else [column.strip() for column in value.split(",") if column.strip()]
                )
            except ValueError as error:
                raise ArgumentError(f"buckets is a number; got {value!r}; as in buckets=64") from error
        if not options.get("indexed"):
            raise ArgumentError(f"{option} indexes at least one column; none is named; say {option} indexed=COLUMN")
        return options
