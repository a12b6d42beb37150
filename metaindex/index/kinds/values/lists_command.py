"""`metaindex create --value-list`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from metaindex.index.kinds.command import Keys, T


class ListsCommand(Keys[T]):
    """Keys, and how many values a file may have."""

    def __init__(self, make: Callable[..., T]) -> None:
        super().__init__(
            make,
            "--value-list",
            "value lists: for columns with few values (a country, a state)",
            "the distinct values of this column in each file, or of several columns as one (a,b); can be repeated",
        )

    def more(self, group: argparse._ArgumentGroup) -> None:
        group.add_argument(
            "--limit",
            type=int,
            metavar="N",
            help="of a file with more distinct values nothing is kept, and it is read; 1 to 1,000,000; default: 1000",
        )

    def said(self, args: argparse.Namespace) -> dict[str, Any]:
        return {} if args.limit is None else {"limit": args.limit}
