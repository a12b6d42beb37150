"""A SQL statement becomes what it reads: tables, and of each what is asked of it.

A name without its table may be of any table in its FROM, or of a query around it: such names, and the conditions on
them, are kept apart (`UnresolvedColumns`) until the columns of a table are known (`placed`). Nothing here is a proof:
what cannot be told of a table is left out of what is said of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.optimizer.simplify import simplify

from metaindex.core import ExpressionError
from metaindex.expressions.normal_form import normalize
from metaindex.expressions.reads import (
    JoinKey,
    StatementReads,
    TableRead,
    UnresolvedColumns,
    conjoined,
    null_rejecting,
    restricted,
)
from metaindex.expressions.tree import And, ColumnRef, Opaque, Predicate

from .sql import condition_of
from .sql_select import columns_behind, constant_parts, group_of, order_of, plain_column, stands_alone, stars_of
from .sql_syntax import quotes_escaped
from .sql_within import QueriesWithin, column_within, is_told, only_filters

_SUBQUERY: Final = re.compile(r"\(\s*(?:select|with)\b", re.IGNORECASE)
_TOKEN: Final = re.compile(r"<Token.*", re.DOTALL)
_DEEPEST: Final = 200
_MOST_SOURCES: Final = 200
"""Of one SELECT: each is held against every name and condition in it."""
_MOST_QUERIES: Final = 2_000
"""In one statement: of each it is asked which stand around it."""
_MOST_AROUND: Final = 20
"""Queries around one of which it is told what they ask of it."""
_BRACKETS: Final = re.compile(
    r"'(?:[^'\\]|\\.)*+(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)|`[^`]*+(?:`|\Z)|([(\[])|([)\]])", re.DOTALL
)


def statement_reads(text: str, timezone: str = "UTC") -> StatementReads:
    """Return what a SQL statement reads. ExpressionError if it cannot be parsed, or reads no table."""
    if _depth(text) > _DEEPEST:
        raise ExpressionError(f"a statement is nested {_DEEPEST} deep at most; it is nested deeper; flatten it")
    try:
        tree = sqlglot.parse_one(quotes_escaped(text), read="spark")
        return _read(tree, timezone)
    except RecursionError:
        raise ExpressionError("a statement must not be nested too deeply to be read; flatten it") from None
    except ExpressionError:
        raise
    except (SqlglotError, ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
        raise ExpressionError(f"a statement must be SQL as Spark reads it; {_said(error)}; mend it") from None


def _said(error: Exception) -> str:
    """Return the parser's message, with line and column."""
    first = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    what = " ".join(str(first.get("description") or error).split())
    what = _TOKEN.sub("something else", what)[:160].rstrip(".")
    return f"at line {first['line']}, column {first['col']}: {what}" if "line" in first and "col" in first else what


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in _BRACKETS.finditer(text):
        depth += bool(bracket[1]) - bool(bracket[2])
        deepest = max(deepest, depth)
    return deepest


def _read(tree: exp.Expression | None, timezone: str) -> StatementReads:
    if isinstance(tree, exp.Insert | exp.Create):
        tree = _query_written(tree)
    if isinstance(tree, exp.Delete | exp.Update):
        tree = exp.Select(
            from_=exp.From(this=tree.this), **{"from": exp.From(this=tree.this)}, where=tree.args.get("where")
        )
    if not isinstance(tree, exp.Query):
        raise ExpressionError("a statement of a workload reads tables; it does not; write SELECT ... FROM table")
    reader = _StatementReader(tree, timezone)
    if not reader.reads:
        raise ExpressionError("a statement of a workload reads tables; it names none; write SELECT ... FROM table")
    whole = tree.unnest()
    return StatementReads(tuple(reader.reads), tuple(dict.fromkeys(reader.joins)), _limit(whole))


def _query_written(command: exp.Insert | exp.Create) -> exp.Expression | None:
    """Return the query whose rows a command writes, with the WITH in front of the command."""
    query: exp.Expression | None = command.expression
    for clause in ("with", "with_"):
        if isinstance(query, exp.Query) and command.args.get(clause) is not None:
            query.set(clause, query.args.get(clause) or command.args[clause])
    return query


def _limit(query: exp.Expression) -> int | None:
    limit = query.args.get("limit")
    count = None if limit is None else limit.args.get("expression") or limit.args.get("count")
    return int(count.name) if isinstance(count, exp.Literal) and count.name.isdigit() and len(count.name) < 19 else None


class _Names:
    """Names in the FROM of one SELECT, with their tables (None: a subquery)."""

    def __init__(self, select: exp.Select, within: Set[str], around: _Names | None, queries: QueriesWithin) -> None:
        self.select, self.around = select, around
        self.joins: list[exp.Join] = list(select.args.get("joins") or ())
        first = select.args.get("from_") or select.args.get("from")
        self.nodes = [node.this for node in ([first] if first is not None else []) + self.joins]
        self.nodes += [*(select.args.get("laterals") or ())]
        if len(self.nodes) > _MOST_SOURCES:
            raise ExpressionError(
                f"a query of a workload has {_MOST_SOURCES} tables at most in one FROM; one has {len(self.nodes):,};"
                " leave it out"
            )
        self.aliases = [str(node.alias_or_name).lower() for node in self.nodes]
        self.tables = [None if queries.is_named(node) else _table_name(node) for node in self.nodes]
        self._placed: dict[ColumnRef, tuple[int | None, ColumnRef] | None] = {}
        self.within = within  # names of sources anywhere in the statement

    @property
    def alone(self) -> bool:
        """Return whether an unqualified column can only belong to the single source."""
        return len(self.nodes) == 1 and self.around is None

    def place_of(self, ref: ColumnRef) -> tuple[int | None, ColumnRef] | None:
        """Return the column's source (None: several might have it) and its name there; None if no source has it."""
        if ref not in self._placed:
            self._placed[ref] = self._place_of(ref)
        return self._placed[ref]

    def _place_of(self, ref: ColumnRef) -> tuple[int | None, ColumnRef] | None:
        names = [part.lower() for part in ref.parts]
        for place, (alias, table) in enumerate(zip(self.aliases, self.tables, strict=True)):
            if len(names) > 1 and names[0] == alias:
                return place, ColumnRef(ref.parts[1:])
            whole = (table or "").lower().split(".")
            if len(whole) > 1 and len(names) > len(whole) and names[: len(whole)] == whole:
                return place, ColumnRef(ref.parts[len(whole) :])
        if len(names) > 1 and names[0] in self.within:
            return None
        return (0, ref) if self.alone else (None, ref)

    def side(self, ref: ColumnRef) -> tuple[str, str, int] | None:
        """Return table ("" if unknown), column, and a number for the source; None for a column of no table."""
        known = self.place_of(ref)
        if known is None:
            return None if self.around is None else self.around.side(ref)
        place, column = known
        if place is None:
            return "", column.name, -1
        table = self.tables[place]
        return None if table is None else (table, column.name, id(self.nodes[place]))


def _table_name(node: exp.Expression) -> str | None:
    if type(node) is not exp.Table or node.args.get("joins") or not isinstance(node.this, exp.Identifier | exp.Dot):
        return None
    return ".".join(str(part.name) for part in node.parts) or None


class _StatementReader:
    def __init__(self, tree: exp.Query, timezone: str) -> None:
        self.timezone = timezone
        self.reads: list[TableRead] = []
        self.joins: list[JoinKey] = []
        self.queries = QueriesWithin(tree)
        every = list(tree.find_all(exp.Select))
        if len(every) > _MOST_QUERIES:
            raise ExpressionError(
                f"a query of a workload is made of {_MOST_QUERIES:,} at most; one is of {len(every):,}; leave it out"
            )
        within = {str(node.alias_or_name).lower() for node in tree.find_all(exp.Table, exp.Subquery, exp.CTE)}
        self.names: dict[int, _Names] = {}
        for select in every:  # those around come first
            above = select.find_ancestor(exp.Select)
            around = None if above is None or stands_alone(select) else self.names[id(above)]
            self.names[id(select)] = _Names(select, within, around, self.queries)
        self.conditions = {id(select): [*self._conditions(self.names[id(select)])] for select in every}
        self.readers = {
            id(inner): (self.names[id(select)], place)
            for select in every
            for place, node in enumerate(self.names[id(select)].nodes)
            if (inner := self.queries.select_of(node)) is not None and only_filters(inner)
        }
        for select in every:
            self._select(self.names[id(select)])

    def _select(self, names: _Names) -> None:
        select = names.select
        own = list(select.walk(prune=lambda node: node is not select and isinstance(node, exp.Query)))
        columns = dict.fromkeys(ref for node in own if (ref := plain_column(node)) is not None)
        stars = stars_of(select)
        groups = [*columns_behind(select, group_of(select))]
        orders = [*order_of(select)]
        outside = self._asked_outside(names)
        for place, table in enumerate(names.tables):
            if table is None:
                continue
            asked = self._asked_of(names, place)
            strict = _places(names, place, loose=False)
            certain = conjoined([_conjunction(asked, strict), *outside])
            unplaced = None
            if not names.alone:
                loose = _places(names, place, loose=True)
                unplaced = UnresolvedColumns(
                    _conjunction(asked, loose),
                    tuple(_names(columns, loose)),
                    tuple(_names(groups, loose)),
                    tuple(_sorted(orders, loose)),
                )
            alias = names.aliases[place]
            self.reads.append(
                TableRead(
                    table,
                    certain,
                    tuple(_names(columns, strict)),
                    tuple(_names(groups, strict)),
                    tuple(_sorted(orders, strict)),
                    every_column="*" in stars or alias in stars,
                    unplaced=unplaced,
                )
            )

    def _asked_of(self, names: _Names, place: int) -> list[Predicate]:
        conditions = self.conditions[id(names.select)]
        return [part for condition, every, some in conditions for part in _asked(condition, place, every, some)]

    def _asked_outside(self, names: _Names) -> list[Predicate]:
        """Return the conditions that enclosing queries put on the one source of this query, by its columns' names."""
        asked: list[Predicate] = []
        way = [_within(names)]
        while (reader := self.readers.get(id(names.select))) is not None and len(way) <= _MOST_AROUND:
            names, place = reader
            parts = [part for part in self._asked_of(names, place) if is_told(part)]
            asked.append(_conjunction(parts, _along([_places(names, place, loose=False), *way])))
            way.insert(0, _within(names))
        return asked

    def _conditions(self, names: _Names) -> Iterator[tuple[Predicate, Set[int], Set[int]]]:
        """Yield each condition, the sources to whose rows it applies, and those among them for which it applies only if
        it rejects NULL."""
        count = len(names.nodes)
        nullable: set[int] = set()
        for number, join in enumerate(names.joins, 1):
            side, kind = str(join.side).upper(), str(join.kind).upper()
            if side in ("LEFT", "FULL") and kind not in ("SEMI", "ANTI"):
                nullable.add(number)
            if side in ("RIGHT", "FULL"):
                nullable |= set(range(number))
        where = names.select.args.get("where")
        if where is not None:
            self._note_joins(where.this, names)
            yield self._predicate(where.this), set(range(count)), nullable
        for number, join in enumerate(names.joins, 1):
            side, kind = str(join.side).upper(), str(join.kind).upper()
            holds = set(range(number + 1))
            if side == "FULL":
                holds = set()
            elif side == "RIGHT":
                holds = set(range(number))
            elif kind == "ANTI" or (side == "LEFT" and kind != "SEMI"):
                holds = {number}
            on = join.args.get("on")
            if on is not None:
                self._note_joins(on, names)
                yield self._predicate(on), holds, nullable - {number}
            for using in join.args.get("using") or ():
                right = names.tables[number]
                left = names.tables[0] if number == 1 else ""
                if right is not None and left is not None:
                    self.joins.append(JoinKey(left, str(using.name), right, str(using.name)))

    def _predicate(self, node: exp.Expression) -> Predicate:
        node = node.copy()
        lists: dict[tuple[int, str], tuple[exp.Expression, list[exp.Expression]]] = {}
        for part in constant_parts(node):
            worked_out, parent, name = simplify(part.copy(), dialect="spark"), part.parent, part.arg_key
            if part.index is None or parent is None or name is None:
                part.replace(worked_out)
            else:
                values = lists.setdefault((id(parent), name), (parent, list(parent.args[name])))[1]
                values[part.index] = worked_out
        for (_, name), (parent, values) in lists.items():
            parent.set(name, values)  # at once: for each of them alone the parser walks over the whole list
        return normalize(condition_of(node, self.timezone))

    def _note_joins(self, node: exp.Expression, names: _Names) -> None:
        for left, right, inner in _equalities(node, self.names):
            side, other_side = names.side(left), (inner or names).side(right)
            if side is None or other_side is None:
                continue
            (table, column, source), (other, other_column, other_source) = side, other_side
            if source != other_source or (source == -1 and (left != right or inner is not None)):
                self.joins.append(JoinKey(table, column, other, other_column))


def _equalities(node: exp.Expression, names: dict[int, _Names]) -> set[tuple[ColumnRef, ColumnRef, _Names | None]]:
    """Pairs of columns that are equal wherever the condition is true; the other side may be of a query in an IN."""
    node = node.unnest()
    match node:
        case exp.And():
            return {pair for part in node.flatten() for pair in _equalities(part, names)}
        case exp.Or():
            return set.intersection(*(_equalities(part, names) for part in node.flatten()))
        case exp.EQ():
            left, right = plain_column(node.this.unnest()), plain_column(node.expression.unnest())
            return {(left, right, None)} if left is not None and right is not None else set()
        case exp.In() if node.args.get("query") is not None:
            left, query = plain_column(node.this.unnest()), node.args["query"].unnest()
            if left is None or not isinstance(query, exp.Select) or len(query.expressions) != 1:
                return set()
            right = plain_column(query.expressions[0].unalias())
            return set() if right is None else {(left, right, names[id(query)])}
        case _:
            return set()


Own = Callable[[ColumnRef], ColumnRef | None]


def _places(names: _Names, place: int, *, loose: bool) -> Own:
    def own(ref: ColumnRef) -> ColumnRef | None:
        known = names.place_of(ref)
        if known is None:
            return None
        at, column = known
        return column if at == place or (loose and at is None) else None

    return own


def _within(names: _Names) -> Own:
    """Return a function that maps an output column of the query to a column of its first source."""
    strict = _places(names, 0, loose=False)

    def own(node: exp.Expression) -> ColumnRef | None:
        ref = plain_column(node)
        return None if ref is None else strict(ref)

    return column_within(names.select, names.aliases[0] if names.aliases else "", own)


def _along(way: Iterable[Own]) -> Own:
    """Return the composition of the functions, in order."""
    steps = tuple(way)

    def own(ref: ColumnRef) -> ColumnRef | None:
        column: ColumnRef | None = ref
        for step in steps:
            column = None if column is None else step(column)
        return column

    return own


def _names(refs: Iterable[ColumnRef | None], own: Own) -> Iterator[str]:
    mine = (own(ref) for ref in refs if ref is not None)
    return iter(dict.fromkeys(ref.name for ref in mine if ref is not None))


def _sorted(refs: Iterable[tuple[ColumnRef | None, str]], own: Own) -> Iterator[str]:
    for ref, direction in refs:
        mine = None if ref is None else own(ref)
        if mine is None:
            return
        yield f"{mine.name}{direction}"


def _asked(condition: Predicate, place: int, every: Set[int], nullable: Set[int]) -> Iterator[Predicate]:
    if place in every:
        parts = condition.parts if isinstance(condition, And) else (condition,)
        yield from (part for part in parts if place not in nullable or null_rejecting(part))


def _conjunction(parts: Iterable[Predicate], own: Own) -> Predicate:
    mine = [part for whole in parts if (part := restricted(whole, own)) is not None]
    return conjoined(part for part in mine if not _has_subquery(part))


def _has_subquery(predicate: Predicate) -> bool:
    return predicate.fold(
        lambda leaf: isinstance(leaf, Opaque) and bool(_SUBQUERY.search(leaf.text)),
        lambda child: child,
        any,
        any,
    )
