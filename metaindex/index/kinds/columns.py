"""Finds columns of a table by the names that users give."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from metaindex.core import UnknownColumnError, UnsupportedFeatureError
from metaindex.expressions import ColumnRef, parse_path, physical_type, reader_hint
from metaindex.formats import COLLATED, Leaf, Schema


def find_leaf(schema: Schema, name: str) -> Leaf:
    """The leaf that a dotted name means, which can be indexed: see `named`."""
    try:
        leaf = named(schema.leaves(), name, "a column is named that the table has, no struct, list or map")
    except UnknownColumnError:
        _refuse_unlike_bytes(schema, name)
        raise
    if physical_type(leaf.type) is None:
        raise UnsupportedFeatureError(f"an indexed column has an order; {name!r} is {leaf.type}; choose another column")
    return leaf


def _refuse_unlike_bytes(schema: Schema, name: str) -> None:
    parts = parse_path(name)
    if any(leaf.parts == parts and leaf.field.logical == COLLATED for leaf in columns_of(schema)):
        raise UnknownColumnError(
            f"an indexed column has values that are equal where their bytes are; {name!r} has not (a collation, or"
            " CHAR); choose another column"
        )


def named(among: Sequence[Leaf], name: str, rule: str) -> Leaf:
    """The column that a dotted name means: exact case first, then the only one that fits when case is ignored.
    UnknownColumnError, with the near names, where there is none; `rule` says what may be named."""
    parts = parse_path(name)
    exact = [leaf for leaf in among if leaf.parts == parts]
    folded = [leaf for leaf in among if [p.lower() for p in leaf.parts] == [p.lower() for p in parts]]
    fitting = exact or folded
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UnknownColumnError(
            f"a column name fits one column; {name!r} fits {len(fitting)} when case is ignored; write it as the table"
            " does"
        )
    inside = [ColumnRef(leaf.parts).in_sql for leaf in among if leaf.parts[: len(parts)] == parts]
    if inside:
        raise UnknownColumnError(f"{rule}; {name!r} is a struct; name one of its fields: {', '.join(inside[:12])}")
    names = {".".join(leaf.parts): ColumnRef(leaf.parts).in_sql for leaf in among}  # with the backticks that one needs
    near = [names[plain] for plain in difflib.get_close_matches(name, list(names), 3, 0.5)]
    hint = f"near names: {', '.join(near)}" if near else f"columns: {', '.join([*names.values()][:12])}"
    if names.get(name, name) != name:
        hint = f"did you mean {names[name]}?"
    raise UnknownColumnError(f"{rule}; there is no {name!r}; {hint}{reader_hint(list(names))}")


def columns_of(schema: Schema) -> Sequence[Leaf]:
    """Every column that a row has: those of the table, and the fields of structs, of any type."""
    return schema.columns
