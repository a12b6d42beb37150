"""Marks of operations under way, as writers leave them that were killed."""

from dataclasses import replace

import metaindex as mi
from metaindex.index import IndexLogEntry
from metaindex.index.actions.action import append
from metaindex.index.log.entry import Operation, UnderWay
from metaindex.table import handle_of


def begun(table: mi.Table, name: str, **since_ms: int) -> None:
    """Write marks into the log of an index: of each operation, named in small letters, since when it is under way."""

    def marked(base: IndexLogEntry | None) -> IndexLogEntry:
        assert base is not None
        marks = (
            UnderWay(Operation[what.upper()], base.id, what[0] * 16, f"who began {what}", since)
            for what, since in since_ms.items()
        )
        return replace(base, under_way=tuple(marks))

    append(handle_of(table).indexes().log(name), "begin", "c" * 16, marked)
