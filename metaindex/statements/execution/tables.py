"""Resolution of the tables that statements name: the protocol that a session of Spark, or paths, implement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from metaindex.advisor import Workload
from metaindex.core import ArgumentError, dataclass
from metaindex.statements.grammar.tree import TableName
from metaindex.table import Table

from .results import StatementResult

if TYPE_CHECKING:
    from metaindex.index import Progress


@dataclass(frozen=True, slots=True)
class AskedTables:
    """A query: what it reads, the tables that it reads, each once, and which of its names mean which path."""

    workload: Workload
    tables: tuple[Table, ...]
    names: Mapping[str, str]


def not_asked(how: str, why: str, *cure: str) -> ArgumentError:
    """Return the error for a query whose tables cannot be resolved; `why` may be a workload's message about it."""
    return ArgumentError(f"a query reads tables that can have an index; of this one {how}: {why}", *cure)


class NamedTables(Protocol):
    """`builder`: who builds where a statement does not say, None for the table's own. `in_spark`: are they a session's,
    whose queries read them by Spark? `names`: paths of tables by the names that whoever runs statements gave them, and
    `naming`: how such a name is given."""

    in_spark: bool
    names: Mapping[str, str]
    naming: str
    builder: str | None
    progress: Progress | None

    def open(self, name: TableName) -> Table:
        """Return the table of a name. Raises MetaIndexError if there is none, or it cannot have an index."""

    def takes_options(self, name: TableName) -> bool:
        """Return whether WITH may follow the name, with options for reading files."""

    def asked(self, query: str) -> AskedTables:
        """Return the tables that a query reads. Raises MetaIndexError if they cannot be resolved."""

    def explained(self, query: str, *, formatted: bool) -> StatementResult:
        """Explain which indexes a query uses, and why it does not use the others."""

    def workload(self, path: str, tables: Sequence[Table]) -> Workload:
        """The queries of a file."""
