"""`metaindex create --bloom`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from metaindex.index.kinds.command import Keys, T


class BloomCommand(Keys[T]):
    """Keys, and how many files are read in vain."""

    def __init__(self, make: Callable[..., T]) -> None:
        super().__init__(
            make,
            "--bloom",
            "bloom filters: as values, smaller and inexact",
            "a bloom filter of this column for each file, or of several columns as one (a,b); can be repeated",
        )

    def more(self, group: argparse._ArgumentGroup) -> None:
        group.add_argument(
            "--fpp",
            type=float,
            metavar="P",
            help="the share of files without the value that are read in vain; default: 0.01",
        )

    def said(self, args: argparse.Namespace) -> dict[str, Any]:
        return {} if args.fpp is None else {"fpp": args.fpp}
