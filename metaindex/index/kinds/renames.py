"""The columns of an index by what they are: a name that they were asked for by may be another column's later.

Iceberg, and Delta with column mapping, give every column an id. A log entry keeps the ids beside the names of a kind
(`ids` of its properties); a refresh builds with the names that these columns have by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from metaindex.core import UnknownColumnError
from metaindex.expressions import column_sql
from metaindex.formats import Schema
from metaindex.index.log.entry import KindSpec

from .kind import Kind
from .registry import KINDS

IDS = "ids"
_RULE = "an indexed column is a column of the table"


def with_ids(spec: KindSpec, schema: Schema) -> KindSpec:
    """The spec with the ids of its columns at a schema, where the format has ids. UnknownColumnError for a name that is
    not there."""
    ids: dict[str, str] = {}

    def note(name: str) -> str:
        stable = schema.column(name, _RULE).stable
        if stable.startswith("id:"):
            ids[name] = stable
        return name

    _each_name(spec.properties, note)
    return replace(spec, properties={**spec.properties, IDS: ids}) if ids else spec


def kinds_at(specs: Sequence[KindSpec], schema: Schema) -> list[Kind]:
    """The kinds with the names that their columns have at a schema, without what was of a column that is gone: the
    others are kept up. UnknownColumnError where nothing is left."""
    kinds: list[Kind] = []
    gone: UnknownColumnError | None = None
    for spec in specs:
        try:
            kinds.append(kind_at(spec, schema))
        except UnknownColumnError as error:
            gone = error
    if gone is not None and not kinds:
        raise UnknownColumnError(
            f"{gone}; nothing is left that the index can keep: delete and vacuum it, and create one of columns that are"
            " there"
        ) from gone
    return kinds


def kind_at(spec: KindSpec, schema: Schema) -> Kind:
    """Return the kind with its columns' current names. A column that was dropped is the one that has its name now, if
    it is no other of the index. UnknownColumnError where all columns are gone, or one of several that are kept
    together, as the rows of a covering index are."""
    noted = spec.properties.get(IDS)
    ids = noted if isinstance(noted, Mapping) else {}  # formats without ids know a column by its name
    columns = schema.columns
    there = {leaf.stable: leaf.parts for leaf in columns}

    def now(name: str) -> str:
        parts = there.get(str(ids.get(name)))
        if parts is not None:
            return column_sql(parts)
        try:
            leaf = schema.column(name, _RULE)
        except UnknownColumnError as error:
            if name not in ids:
                raise
            raise UnknownColumnError(
                f"{_RULE}; the one that was {name!r} when the index was made is gone, whatever it was called since, and"
                f" there is no {name!r} now; create the index anew, of columns that are there"
            ) from error
        if leaf.stable in ids.values():
            raise UnknownColumnError(
                f"{_RULE}; the one that was {name!r} is gone, and its name is another's of the index; create the index"
                " anew"
            )
        return name

    return KINDS.of(replace(spec, properties=_each_name(_left(spec.properties, now), now)))


def same_kinds(stored: Sequence[KindSpec], asked: Sequence[Kind], schema: Schema) -> bool:
    """Return whether they specify the same for the same columns, in any order. What is unspecified in those asked (a
    number of buckets) may be anything. A stored kind whose columns are gone equals none."""

    def by_column(spec: KindSpec) -> tuple[str, dict[str, object]]:
        return spec.name, _each_name(spec.properties, lambda name: schema.column(name, _RULE).stable)

    try:
        waiting = [by_column(kind_at(spec, schema).spec()) for spec in stored]
    except UnknownColumnError:
        return False
    for kind in asked:
        name, wanted = by_column(kind.spec())
        fitting = (there for there in waiting if there[0] == name and _fits(wanted, there[1]))
        same = next(fitting, None)
        if same is None:
            return False
        waiting.remove(same)
    return not waiting


def _fits(wanted: Mapping[str, object], there: Mapping[str, object]) -> bool:
    said = {name: value for name, value in wanted.items() if value is not None}
    return all(there.get(name) == value for name, value in said.items()) and not (there.keys() - wanted.keys())


def _left(properties: Mapping[str, object], now: Callable[[str], str]) -> dict[str, object]:
    """The properties of a kind without single columns and keys of which a column is gone. UnknownColumnError where none
    is left."""
    out = dict(properties)
    for place in ("columns", "keys"):
        if not isinstance(listed := out.get(place), list) or not listed:
            continue
        left = []
        gone: UnknownColumnError | None = None
        for item in listed:
            try:
                for name in [item] if isinstance(item, str) else item:
                    now(name)
            except UnknownColumnError as error:
                gone = error
            else:
                left.append(item)
        if gone is not None and not left:
            raise gone
        out[place] = left
    return out


def _each_name(properties: Mapping[str, object], change: Callable[[str], str]) -> dict[str, object]:
    """The properties of a kind with every name of a column changed."""
    out = dict(properties)
    for place in ("columns", "indexed", "included"):
        if isinstance(names := out.get(place), list):
            out[place] = [change(name) for name in names]
    if isinstance(keys := out.get("keys"), list):
        out["keys"] = [[change(name) for name in key] for key in keys]
    return out
