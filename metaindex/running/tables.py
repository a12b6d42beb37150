"""Whose tables a statement names: what a session of Spark, or paths, have to answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from metaindex.expressions.records import dataclass
from metaindex.statements.tree import TableName
from metaindex.table.face import Table
from metaindex.workloads.template import Workload

from .results import StatementResult

if TYPE_CHECKING:
    from metaindex.build.protocol import Progress


@dataclass(frozen=True, slots=True)
class AskedTables:
    """A query: what it reads, the tables that it reads, each once, and which of its names mean which path."""

    workload: Workload
    tables: tuple[Table, ...]
    names: Mapping[str, str]


class NamedTables(Protocol):
    """`builder`: who builds where a statement does not say, None for the table's own."""

    builder: str | None
    progress: Progress | None

    def open(self, name: TableName) -> Table:
        """The table of a name. MetaIndexError where there is none, or where it is not one that can have an index."""

    def asked(self, query: str) -> AskedTables:
        """What a query reads. MetaIndexError where that cannot be told."""

    def explained(self, query: str, *, formatted: bool) -> StatementResult:
        """Which indexes a query uses, and why not each other."""

    def workload(self, path: str, tables: Sequence[Table]) -> Workload:
        """The queries of a file."""
