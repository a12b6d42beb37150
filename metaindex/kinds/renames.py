"""The columns of an index by what they are: a name that they were asked for by may be another column's later.

Iceberg, and Delta with column mapping, give every column an id. A log entry keeps the ids beside the names of a kind (`ids` of its properties); a refresh builds with the names that these columns have by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from expressions.build import quoted
from expressions.errors import UnknownColumnError
from formats.model import Schema
from metaindex.log.entry import KindSpec

from .covering.plan import columns_of
from .specs import Kind, kind_from_spec, named

IDS = "ids"
_RULE = "an indexed column is a column of the table"


def with_ids(spec: KindSpec, schema: Schema) -> KindSpec:
    """The spec with the ids of its columns at a schema, where the format has ids. UnknownColumnError for a name that is not there."""
    columns = columns_of(schema)
    ids: dict[str, str] = {}

    def note(name: str) -> str:
        stable = named(columns, name, _RULE).stable
        if stable.startswith("id:"):
            ids[name] = stable
        return name

    _each_name(spec.properties, note)
    return replace(spec, properties={**spec.properties, IDS: ids}) if ids else spec


def kind_at(spec: KindSpec, schema: Schema) -> Kind:
    """The kind with the names that its columns have at a schema. A column that was dropped is the one that has its name now; UnknownColumnError where none has, or another column of the index."""
    ids = spec.properties.get(IDS)
    if not isinstance(ids, Mapping):
        return kind_from_spec(spec)
    columns = columns_of(schema)
    there = {leaf.stable: leaf.parts for leaf in columns}

    def now(name: str) -> str:
        parts = there.get(str(ids.get(name)))
        if parts is not None:
            return quoted(parts)
        if named(columns, name, _RULE).stable in ids.values():
            raise UnknownColumnError(
                f"{_RULE}; the one that was {name!r} is gone, and its name is another's of the index; create the index anew"
            )
        return name

    return kind_from_spec(replace(spec, properties=_each_name(spec.properties, now)))


def _each_name(properties: Mapping[str, object], change: Callable[[str], str]) -> dict[str, object]:
    """The properties of a kind with every name of a column changed."""
    out = dict(properties)
    for place in ("columns", "indexed", "included"):
        if isinstance(names := out.get(place), list):
            out[place] = [change(name) for name in names]
    if isinstance(keys := out.get("keys"), list):
        out["keys"] = [[change(name) for name in key] for key in keys]
    return out
