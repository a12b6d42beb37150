"""Options of `metaindex create --stats`, the default kind."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from metaindex.core import ArgumentError

T = TypeVar("T")


class Statistics(Generic[T]):
    """Options for statistics of all columns or some."""

    def __init__(self, make: Callable[..., T]) -> None:
        self._make = make

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group(
            "column statistics: for ranges, and columns whose values lie together in files"
        )
        group.add_argument(
            "--stats",
            action="store_true",
            help="statistics of all columns; the default where no kind is named, and to be said beside other kinds",
        )
        group.add_argument(
            "--column",
            action="append",
            default=[],
            metavar="C",
            help="statistics of only this column; can be repeated; a field of a struct is payload.user",
        )
        group.add_argument(
            "--no-float-scan",
            action="store_true",
            help="do not read float columns to count NaN: quicker to build, but >, >= and != on them then keep every "
            "file",
        )
        group.add_argument(
            "--trust-log",
            action="store_true",
            help="take the statistics that writers put into the table's log where they say enough, and open only the "
            "other files",
        )

    def kinds(self, args: argparse.Namespace, alone: bool) -> Sequence[T]:
        if args.stats and args.column:
            raise ArgumentError("statistics are of all columns (--stats) or of some (--column); leave one out")
        if not (args.stats or args.column or alone):
            return []
        return [self._make(*args.column, scan_floats=not args.no_float_scan, trust_log=args.trust_log)]
