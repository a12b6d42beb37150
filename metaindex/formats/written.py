"""What an export hands to who commits it: parts that are written, and the one thing that a format has to do with
them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from metaindex.expressions.errors import ArgumentError
from metaindex.expressions.records import dataclass

from .storage import Storage

WRITER = "metaindex export"
"""By this name a table is known for an export: nothing else is written over."""


@dataclass(frozen=True, slots=True)
class Part:
    """A Parquet file, by its path below the target."""

    path: str
    rows: int
    size_bytes: int


class Commits(Protocol):
    """A table format, as far as an export needs it. The log is written last: without it nothing is a table."""

    DATA: str  # the folder of parts below that of the table; empty: the table's own

    def check(self, target: Storage, name: str, overwrite: bool) -> None:
        """ArgumentError where a table, or anything else, stands in the way."""

    def commit(self, target: Storage, name: str, schema: pa.Schema, parts: Sequence[Part]) -> None:
        """These parts, and no others, are the table's newest version. ArgumentError where another writer was first."""


def in_the_way(target: Storage, name: str, ours: bool) -> ArgumentError:
    """The error of a table that is there."""
    if ours:
        return ArgumentError(
            f"an export goes into a folder where no table is; {target.uri(name)} has one of an earlier export; say"
            " overwrite=True (--overwrite) for a new version of it, or name another folder"
        )
    return ArgumentError(
        f"an export goes into a folder where no table is; {target.uri(name)} has one that no export wrote; name another"
        " folder"
    )
