"""A workload: queries grouped by their shape (of texts, and of what they read), which is equal if they differ only in
literals; with how often each was seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from metaindex.core import Column, ExpressionError, Plain, Shown, TextTable, counted, dataclass
from metaindex.expressions import (
    And,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    JoinKey,
    Leaf,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    StatementReads,
    TableRead,
    normalize,
)

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
class Workload(Shown, Plain):
    """Templates, those seen most often first. `problems`: what could not be read of it, or not all of it. `days`: from
    the first to the last query, None if unknown."""

    JSON = "seen days templates problems"
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
    def shown(self) -> Sequence[str | TextTable]:
        parts: list[str | TextTable] = [f"{counted(self.seen, 'query')} of {counted(len(self), 'template')}"]
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


# What is begun and not ended goes to the end of the text, and nothing is tried a second time: texts are anybody's.
_LITERAL: Final = re.compile(
    r"(?P<text>'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")|(?P<cut>['\"].*+)|(?P<name>`[^`]*+(?:`|\Z))|--[^\n]*+|"
    r"/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*/|/\*.*+|"
    r"(?<![\w.])(?P<number>[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?)|(?P<blank>\s++)",
    re.DOTALL,
)
_BY_PLACE: Final = re.compile(r"\b(?:group|order)\s+by\b", re.IGNORECASE)
_PATTERN: Final = re.compile(r"[^%_]+")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_LIST: Final = re.compile(r"\(\s*+\?(?:\s*+,\s*+\?)++\s*+\)")


def shape_of_text(text: str) -> str:
    """The text with `?` for literals, `'?` for one that nothing ends. Numbers behind GROUP BY and ORDER BY may be
    places of columns, and stay, as do the wildcards of patterns."""
    by_place = _BY_PLACE.search(text)
    end = len(text) if by_place is None else by_place.start()

    def written(literal: re.Match[str]) -> str:
        if literal["blank"]:
            return " "
        if literal["name"]:
            return literal[0]
        if literal["cut"]:
            return "'?"  # a text that ends so is read as none that is whole
        if literal["text"]:
            return "?" if not {"%", "_"} & set(literal[0]) else f"'{_PATTERN.sub('?', literal[0])}'"
        return ("?" if literal.start() < end else literal[0]) if literal["number"] else " "

    return _LIST.sub("(?)", _LITERAL.sub(written, text)).strip()


def shape_of_reads(reads: StatementReads) -> str:
    """Equal for queries of one template."""
    joins = sorted(f"{join.left_table}.{join.left}={join.right_table}.{join.right}".lower() for join in reads.joins)
    return "\n".join([*map(_of_table, reads.tables), *joins, "limited" if reads.limit is not None else ""])


def _of_table(read: TableRead) -> str:
    named_columns = "*" if read.every_column else ",".join(sorted({name.lower() for name in read.columns}))
    keys = ",".join(read.group_keys).lower(), ",".join(read.order).lower()
    unplaced = "" if read.unplaced is None else shape_of(read.unplaced.predicate)
    named = "" if read.unplaced is None else ",".join(read.unplaced.columns).lower()
    return "|".join([read.table.lower(), shape_of(read.predicate), named_columns, *keys, unplaced, named])


def shape_of(predicate: Predicate) -> str:
    """The predicate with `?` for literals, the parts of an AND or OR sorted."""

    def several(word: str, parts: list[str]) -> str:
        return f"({f' {word} '.join(sorted(parts))})"

    return predicate.fold(
        _of_leaf,
        lambda child: f"NOT {child}",
        lambda parts: several("AND", parts),
        lambda parts: several("OR", list(dict.fromkeys(parts))),
    )


def _of_leaf(leaf: Leaf) -> str:
    match leaf:
        case Comparison(column=column, op=op):
            return f"{column.name.lower()} {op.value} ?"
        case In(column=column):
            return f"{column.name.lower()} IN ?"
        case StartsWith(column=column):
            return f"{column.name.lower()} LIKE ?"
        case IsNull(column=column) | IsNan(column=column):
            return f"{type(leaf).__name__} {column.name.lower()}"
        case Opaque(text=text):
            return shape_of_text(text)
        case Constant(value=value):
            return str(value)


def shown_predicate(predicate: Predicate) -> str:
    """Write a predicate as SQL for people; parts that could not be parsed as they were written."""
    from metaindex.expressions import to_sql

    def of_leaf(leaf: Leaf) -> str:
        if isinstance(leaf, Opaque):
            return leaf.text
        try:
            sql = to_sql(leaf)
        except ExpressionError:
            return str(leaf)
        sql = sql[1:-1] if sql.startswith("(") else sql
        for name in (part for ref in leaf.columns for part in ref.parts):
            sql = sql.replace(f"`{name}`", name, 1) if _NAME.fullmatch(name) else sql
        return sql

    text = predicate.fold(
        of_leaf,
        lambda child: f"NOT ({child})",
        lambda parts: f"({' AND '.join(parts)})",
        lambda parts: f"({' OR '.join(parts)})",
    )
    return text[1:-1] if isinstance(predicate, And | Or) else text


def shown_reads(reads: StatementReads) -> str:
    """Write a query that has no text as SQL for people."""
    return "; ".join(map(_shown_read, reads.tables))


def _shown_read(read: TableRead) -> str:
    where = shown_predicate(read.predicate)
    behind = "" if where == "TRUE" else f" WHERE {where}"
    return f"SELECT {', '.join(read.columns)} FROM {read.table}{behind}"  # noqa: S608 - shown, and run by nobody


def reads_of(text: str, time_zone: str = "UTC") -> StatementReads:
    """Return what a text reads, a condition or a statement. Raises ExpressionError if it cannot be parsed."""
    from metaindex.expressions import statement_reads

    return statement_reads(text, time_zone) if StatementReads.begins(text) else bare(condition(text, time_zone))


def condition(query: object, time_zone: str = "UTC") -> Predicate:
    """Parse a condition, in any words that `prune` takes. Raises MetaIndexError if it cannot be read."""
    from metaindex.expressions import to_predicate

    return to_predicate(query, time_zone=time_zone)


def bare(predicate: Predicate) -> StatementReads:
    """A condition of the table that is asked."""
    return StatementReads((TableRead("", normalize(predicate), tuple(ref.name for ref in predicate.columns)),))


@dataclass(frozen=True, slots=True)
class PlanReads:
    """`untold`: why something of it is not known."""

    reads: StatementReads
    untold: tuple[str, ...] = ()

    @classmethod
    def merged(cls, plans: Sequence[PlanReads]) -> PlanReads:
        """Merge the plans of one query, each read once."""
        tables = dict.fromkeys(read for plan in plans for read in plan.reads.tables)
        joins = dict.fromkeys(join for plan in plans for join in plan.reads.joins)
        limit = next((plan.reads.limit for plan in plans if plan.reads.limit is not None), None)
        untold = dict.fromkeys(reason for plan in plans for reason in plan.untold)
        return cls(StatementReads(tuple(tables), tuple(joins), limit), tuple(untold))


def is_frame(query: object) -> bool:
    """Return whether a query is a DataFrame of Spark's."""
    kind = type(query)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")
