"""A pruning question to a table, and the answer that a snapshot is wanted."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

from metaindex.core import dataclass
from metaindex.expressions import Predicate, columns
from metaindex.formats import Schema, Version, bound
from metaindex.index import covered_columns

if TYPE_CHECKING:
    from metaindex.index import OpenIndex


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A predicate on a version of a table."""

    table: str
    format: str
    version: Version
    predicate: Predicate
    schema: Schema | None = None  # that the predicate is bound to; None: it may be not bound yet

    def bound(self, schema: Schema) -> Predicate:
        """The predicate with the names and types of a schema."""
        return self.predicate if schema is self.schema else bound(self.predicate, schema)

    @property
    def named(self) -> set[tuple[str, ...]]:
        """Names of the predicate's columns, in parts."""
        return {ref.parts for ref in columns(self.predicate)}

    def known_to(self, indexes: Iterable[OpenIndex]) -> bool:
        """Return whether some index has statistics or a key of a column that the predicate names."""
        runs = [run for index in indexes for run in index.entry.content.runs]
        if self.schema is None:
            return bool(runs)
        named = self.named
        stable = {leaf.stable for leaf in self.schema.leaves() if leaf.parts in named}
        return any(not stable.isdisjoint(covered_columns(run)) for run in runs)


class NeedsSnapshot(Enum):
    """Returned in place of an answer to ask for the table's own snapshot."""

    NEEDED = "no index that knows the version is left"
    HELPS = "the table itself knows more than the indexes, which keep many files"
