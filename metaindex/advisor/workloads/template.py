"""A workload: queries grouped by what they read, literals aside, with how often each was seen."""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.core import Column, Plain, Shown, Tabular, TextTable, counted, dataclass, plain
from metaindex.expressions import JoinKey, StatementReads, TableRead

from .shape import shown_predicate

_SHOWN = 90


class UnreadNote(str):
    """A note on queries that could not be read."""


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    """Queries that are alike but for their literals. `text`: of the first one; `examples`: what one or several of them
    read, each with its literals; `seen`: how many; `seconds`: that they took, None if unknown; `drawn`: places of
    examples, of queries that were drawn from all by chance, which stand for the others; `counts`: how often each
    example came, where they are all."""

    text: str
    examples: tuple[StatementReads, ...]
    seen: int = 1
    seconds: float | None = None
    drawn: tuple[int, ...] = (0,)
    counts: tuple[int, ...] = ()

    @property
    def tables(self) -> tuple[TableRead, ...]:
        """Return the tables of the first example."""
        return self.examples[0].tables

    @property
    def joins(self) -> tuple[JoinKey, ...]:
        return self.examples[0].joins

    @property
    def limit(self) -> int | None:
        return self.examples[0].limit

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {
            "text": self.text,
            "seen": self.seen,
            "seconds": self.seconds,
            "tables": [_table_json(read) for read in self.tables],
            "joins": [[join.left_table, join.left, join.right_table, join.right] for join in self.joins],
            "limit": self.limit,
            "examples": [[shown_predicate(read.predicate) for read in some.tables] for some in self.examples],
            "counts": list(self.counts) or None,
        }


@dataclass(frozen=True, slots=True)
class Unread(Plain):
    """A query that could not be read, and why. `seen`: how often; `example`: the beginning of one of them, or where."""

    reason: str
    seen: int
    example: str = ""

    def __str__(self) -> str:
        return f"{self.seen:,} x {self.reason}{': ' if self.example else ''}{self.example}"


@dataclass(frozen=True, slots=True, repr=False)
class Workload(Shown):
    """Templates, those seen most often first. `problems`: what could not be read of it, or not all of it. `days`: from
    the first to the last query, None if unknown."""

    templates: tuple[QueryTemplate, ...] = ()
    problems: tuple[Unread, ...] = ()
    days: float | None = None

    def __len__(self) -> int:
        return len(self.templates)

    @property
    def seen(self) -> int:
        """Return how many queries it is made of."""
        return sum(template.seen for template in self.templates)

    @property
    def shown(self) -> Sequence[str | Tabular]:
        parts: list[str | Tabular] = [f"{counted(self.seen, 'query')} of {counted(len(self), 'template')}"]
        if self.templates:
            columns = Column.named("seen>", "tables", "predicates")
            rows = [
                (
                    f"{template.seen:,}",
                    ", ".join(read.table or "-" for read in template.tables),
                    asked if len(asked) <= _SHOWN else f"{asked[:_SHOWN]}...",
                )
                for template in self.templates
                for asked in [" ; ".join(shown_predicate(read.predicate) for read in template.tables)]
            ]
            parts += ["", TextTable(columns, tuple(rows))]
        if self.problems:
            parts += ["", "not read, or not all of it:", *(f"  {problem}" for problem in self.problems)]
        return parts

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        data: dict[str, object] = plain(self, "seen", "days", "templates", "problems")
        return data


def _table_json(read: TableRead) -> dict[str, object]:
    return {
        "table": read.table,
        "predicate": shown_predicate(read.predicate),
        "columns": list(read.columns),
        "every_column": read.every_column,
        "group_keys": list(read.group_keys),
        "order": list(read.order),
        "unplaced": None if read.unplaced is None else shown_predicate(read.unplaced.predicate),
    }
