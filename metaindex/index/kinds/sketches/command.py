"""`metaindex create --sketches`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from metaindex.index.kinds.command import Keys, T


class SketchesCommand(Keys[T]):
    """Columns, and how many hashes each sketch keeps."""

    def __init__(self, make: Callable[..., T]) -> None:
        super().__init__(
            make,
            "--sketches",
            "sketches: how many different values there are, about",
            "keep a sketch of this column's different values for each file; can be repeated",
        )

    def more(self, group: argparse._ArgumentGroup) -> None:
        group.add_argument(
            "--entries", type=int, metavar="N", help="hashes that a sketch keeps, 8 bytes each; default: 4096"
        )

    def said(self, args: argparse.Namespace) -> dict[str, Any]:
        return {} if args.entries is None else {"entries": args.entries}
