"""Queries in the FROM of others: which query a name of a WITH means, and what is asked of one by the query around it.

`WITH x AS (SELECT user AS u FROM t) SELECT * FROM x WHERE u = 5` asks of t what `SELECT * FROM t WHERE user = 5` does.
That is told of a query that only filters and renames the rows of one source, and that is read once; of any other, whose
rows depend on each other or on who reads them, nothing is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from metaindex.expressions.tree import ColumnRef, Opaque, Predicate

_FILTERS_AND_RENAMES: Final = frozenset(
    {"expressions", "from", "from_", "where", "order", "with", "with_", "hint", "kind"}
)
"""What such a SELECT is made of: an ORDER BY leaves no row out, where no LIMIT follows."""
_SOURCE: Final = frozenset({"this", "db", "catalog", "alias", "version"})
"""What stands in its FROM is made of: a sample is of some rows."""


class QueriesWithin:
    """The WITH queries of a whole statement."""

    def __init__(self, tree: exp.Query) -> None:
        self._named: dict[int, Mapping[str, tuple[int, exp.CTE]]] = {}
        tables = list(tree.find_all(exp.Table))
        self._ctes = {id(table): cte for table in tables if (cte := self._cte(table)) is not None}
        self._reads = Counter(map(id, self._ctes.values()))

    def is_named(self, table: exp.Expression) -> bool:
        """Return whether the name is defined by a WITH and so is no table's."""
        return id(table) in self._ctes

    def select_of(self, source: exp.Expression) -> exp.Select | None:
        """Return the SELECT that a source of a FROM is, if nothing else reads it, and its columns keep their names."""
        query: exp.Expression = source
        if type(source) is exp.Table and id(source) in self._ctes:
            query = self._ctes[id(source)]
            if self._reads[id(query)] != 1 or _has_more(source, _SOURCE) or _renamed(source):
                return None
        elif type(source) is not exp.Subquery or _has_more(source, _SOURCE):
            return None
        inner = query.this.unnest()
        return inner if isinstance(inner, exp.Select) and not _renamed(query) else None

    def _cte(self, table: exp.Table) -> exp.CTE | None:
        """The nearest of its name. A query of a WITH knows those in front of it: itself under RECURSIVE alone."""
        name = str(table.name).lower()
        inside: exp.Expression = table
        above = table.parent
        before: int | None = None  # the place of the query of a WITH that it stands in
        while above is not None and not table.args.get("db"):
            here = above if isinstance(above, exp.With) else above.args.get("with_") or above.args.get("with")
            if isinstance(here, exp.With) and (here is above or here is not inside):
                if here is above:
                    before = None if here.args.get("recursive") else inside.index
                place, cte = self._names_of(here).get(name, (0, None))
                if cte is not None and (before is None or place < before):
                    return cte
                before = None
            inside, above = above, above.parent
        return None

    def _names_of(self, clause: exp.With) -> Mapping[str, tuple[int, exp.CTE]]:
        if id(clause) not in self._named:
            self._named[id(clause)] = {
                str(cte.alias).lower(): (place, cte) for place, cte in enumerate(clause.expressions)
            }
        return self._named[id(clause)]


def only_filters(select: exp.Select) -> bool:
    """Return whether it only filters and renames the rows of its one source, so that a filter may move into it."""
    source = select.args.get("from_") or select.args.get("from")
    if _has_more(select, _FILTERS_AND_RENAMES) or source is None or _has_more(source.this, _SOURCE):
        return False
    return not any(given.find(exp.AggFunc, exp.Window) for given in select.expressions)


def column_within(
    select: exp.Select, source: str, own: Callable[[exp.Expression], ColumnRef | None]
) -> Callable[[ColumnRef], ColumnRef | None]:
    """Return a function that maps an output column of the SELECT to a column of its source, which the SELECT names
    `source`. `own`: the source's column that an expression is, if any."""
    given: dict[str, ColumnRef | None] = {}
    every = False
    for part in select.expressions:
        if _is_every_column(part, source):
            every = True
        elif name := str(part.alias_or_name).lower():
            given[name] = None if name in given else own(part.unalias())

    def column(ref: ColumnRef) -> ColumnRef | None:
        first = ref.parts[0].lower()
        if first not in given:
            return ref if every else None
        inner = given[first]
        return None if inner is None else ColumnRef((*inner.parts, *ref.parts[1:]))

    return column


def is_told(predicate: Predicate) -> bool:
    """Return whether the predicate depends on columns alone, whose names may change."""
    return predicate.fold(lambda leaf: not isinstance(leaf, Opaque), lambda child: child, all, all)


def _is_every_column(part: exp.Expression, source: str) -> bool:
    star = part.this if isinstance(part, exp.Column) and str(part.table).lower() == source else part
    return isinstance(star, exp.Star) and not any(star.args.values())


def _has_more(node: exp.Expression, known: frozenset[str]) -> bool:
    return any(value and name not in known for name, value in node.args.items())


def _renamed(node: exp.Expression) -> bool:
    """Return whether the node's alias names its columns."""
    alias = node.args.get("alias")
    return isinstance(alias, exp.TableAlias) and bool(alias.args.get("columns"))
