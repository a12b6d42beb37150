"""`metaindex create --values`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from metaindex.index.kinds.command import Keys, T


class ValuesCommand(Keys[T]):
    """Keys, and how their values are kept."""

    def __init__(self, make: Callable[..., T]) -> None:
        super().__init__(
            make,
            "--values",
            "values: which files and row groups hold a value? For look-ups of ids and names, exact",
            "key this column, or several as one (a,b); can be repeated",
        )

    def more(self, group: argparse._ArgumentGroup) -> None:
        group.add_argument(
            "--by",
            choices=["hash", "value"],
            help="keep a hash of each value (smallest; answers = and IN; the default), or the values themselves, "
            "in order (ranges and prefixes as well)",
        )

    def said(self, args: argparse.Namespace) -> dict[str, Any]:
        return {} if args.by is None else {"by": args.by}
