"""Parts of one SELECT: columns, stars, groups and orders, and expressions of literals alone, which are evaluated
here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sqlglot import exp

from metaindex.expressions.tree import ColumnRef

_LARGEST_CONSTANT: Final = 400
"""Literals and operators of one part that is worked out."""
_SUMS: Final = (exp.Cast, exp.Interval, exp.Literal, exp.Neg, exp.Paren, exp.DataType, exp.Var, exp.Add, exp.Sub)


def stands_alone(select: exp.Select) -> bool:
    """Return whether it cannot name columns of enclosing queries: a derived table and a WITH cannot."""
    above = select.find_ancestor(exp.Select, exp.CTE, exp.From, exp.Join, exp.Where, exp.Having)
    return isinstance(above, exp.CTE | exp.From) or (isinstance(above, exp.Join) and _is_source(select, above))


def _is_source(select: exp.Select, join: exp.Join) -> bool:
    node: exp.Expression | None = select
    while node is not None and node is not join:
        if node is join.this:
            return True
        node = node.parent
    return False


def constant_parts(node: exp.Expression) -> list[exp.Expression]:
    """The outermost parts that are worked out from literals alone, without those that are too large to be: the parser's
    own arithmetic takes the square of their size."""
    sizes: dict[int, int] = {}
    constant: set[int] = set()  # without any column, query or function
    plain: set[int] = set()  # of casts, which are functions to the parser, and sums
    for part in reversed(list(node.walk(prune=lambda part: isinstance(part, exp.Query)))):  # those inside come first
        inner = [id(child) for child in part.iter_expressions()]
        sizes[id(part)] = 1 + sum(sizes.get(child, 0) for child in inner)
        if not isinstance(part, exp.Column | exp.Query | exp.Func) and constant.issuperset(inner):
            constant.add(id(part))
        if type(part) in _SUMS and plain.issuperset(inner):
            plain.add(id(part))

    def is_constant(part: exp.Expression) -> bool:
        return isinstance(part, exp.Binary) and part.parent is not None and (id(part) in constant or id(part) in plain)

    def is_whole(part: exp.Expression) -> bool:
        large = sizes[id(part)] > _LARGEST_CONSTANT
        return isinstance(part, exp.Query) or (is_constant(part) and not (large and isinstance(part, exp.Connector)))

    return [part for part in node.walk(prune=is_whole) if is_constant(part) and sizes[id(part)] <= _LARGEST_CONSTANT]


def plain_column(node: exp.Expression) -> ColumnRef | None:
    """The column that it is; None for what is none."""
    if isinstance(node, exp.Dot) and not isinstance(node.parent, exp.Dot):
        above = plain_column(node.this)
        return (
            above
            if above is None or not isinstance(node.expression, exp.Identifier)
            else ColumnRef((*above.parts, node.expression.name))
        )
    if not isinstance(node, exp.Column) or not all(type(part) is exp.Identifier for part in node.parts):
        return None
    return ColumnRef(tuple(str(part.name) for part in node.parts))


def stars_of(select: exp.Select) -> set[str]:
    """Return the sources whose columns are all selected: "*", or names of sources. EXISTS asks for none."""
    if isinstance(select.parent, exp.Exists):
        return set()
    stars: set[str] = set()
    for given in select.expressions:
        if isinstance(given, exp.Star):
            stars.add("*")
        elif isinstance(given, exp.Column) and isinstance(given.this, exp.Star):
            stars.add(str(given.table).lower())
    return stars


def group_of(select: exp.Select) -> list[exp.Expression]:
    group = select.args.get("group")
    keys = [] if group is None else list(group.expressions)
    if not keys and select.args.get("distinct") is not None:
        keys = [given.unalias() for given in select.expressions]
    return keys


def columns_behind(select: exp.Select, keys: Iterable[exp.Expression]) -> Iterator[ColumnRef | None]:
    """Columns behind keys: by their names, their places in what is given, or other names that it has."""
    given = {str(part.alias).lower(): part.unalias() for part in select.expressions if isinstance(part, exp.Alias)}
    for key in keys:
        node = key.unnest()
        if isinstance(node, exp.Literal) and node.name.isdigit() and 0 < int(node.name[:9]) <= len(select.expressions):
            node = select.expressions[int(node.name[:9]) - 1].unalias()
        elif isinstance(node, exp.Column) and not node.table and str(node.name).lower() in given:
            node = given[str(node.name).lower()]
        yield plain_column(node)


def order_of(select: exp.Select) -> Iterator[tuple[ColumnRef | None, str]]:
    order = select.args.get("order")
    parts = [] if order is None else [part for part in order.expressions if isinstance(part, exp.Ordered)]
    for part, ref in zip(parts, columns_behind(select, [part.this for part in parts]), strict=True):
        yield ref, " DESC" if part.args.get("desc") else ""
