"""Facts of a scan of a request: its columns by the names that an index has for them, and what would be of use to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from metaindex.advisor import Restriction
from metaindex.core import UnknownColumnError
from metaindex.expressions import ColumnRef, Constant, Leaf, Opaque, Predicate
from metaindex.formats import OfSchema, Schema, Version

from .request import Delta, Files, Group, Iceberg, SparkScan


def of_this_table(scan: SparkScan, version: Version) -> bool:
    """Return whether a version that was read here is of the table that Spark has read. A recreated table numbers its
    versions anew, and Spark may hold the one before."""
    return not isinstance(scan.source, Delta) or scan.source.table == version.table_uuid


def for_columns_alone(scan: SparkScan) -> bool:
    """Return whether an index with its columns may replace it, whatever the filters name. True if texts are read,
    unless their lines are counted, which are no rows, or used in order."""
    if not isinstance(scan.source, Files) or scan.source.text is None or not scan.gathered:
        return False
    return any(need.name not in scan.source.partitions.names for need in scan.needs)


def named(schema: Schema, scan: SparkScan) -> dict[tuple[str, ...], str]:
    """The stable name of each column, and of each field of a struct, by its names in the scan. Iceberg reads a version
    with the names of today, so its scan says which column is which."""
    if isinstance(scan.source, Iceberg):
        return {path: f"id:{number}" for path, number in scan.source.ids}
    return {leaf.parts: leaf.stable for leaf in schema.columns}


def at_version(condition: Predicate, scan: SparkScan) -> Predicate | OfSchema:
    """The condition by the names that the columns have at the version of the scan. What it is made of raises
    UnknownColumnError for a column that the version has not."""
    source = scan.source
    if not isinstance(source, Iceberg):
        return condition

    def of(schema: Schema) -> Predicate:
        there = {leaf.stable: ColumnRef(leaf.parts) for leaf in schema.columns}
        folded: dict[tuple[str, ...], set[str]] = {}
        for path, number in source.ids:
            folded.setdefault(_folded(path), set()).add(f"id:{number}")

        def renamed(column: ColumnRef) -> ColumnRef:
            fitting = folded.get(_folded(column.parts), set())
            if len(fitting) != 1 or not fitting <= there.keys():
                raise UnknownColumnError(
                    f"a condition is of columns that the version has; it has no {column}; read without an index"
                )
            return there[next(iter(fitting))]

        def leaf(leaf_: Leaf) -> Predicate:
            match leaf_:
                case Constant():
                    return leaf_
                case Opaque(text=text):
                    return Opaque(text)
                case _:
                    return replace(leaf_, column=renamed(leaf_.column))

        return condition.transform(leaf)

    return OfSchema(of, (condition, source.ids))


def _folded(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


def columns(schema: Schema, stored: AbstractSet[str], scan: SparkScan) -> dict[str, str] | None:
    """Return the index's name of each column (or field of a struct, by its path) that the query needs, by its name;
    None if the index lacks one. `stored`: those that it has."""
    names = named(schema, scan)
    stable_of = {need.name: names.get(need.path, "") if need.id is None else f"id:{need.id}" for need in scan.needs}
    every = set(stable_of.values())
    return stable_of if every <= stored and len(every) == len(scan.needs) else None


def inner(schema: Schema, scan: SparkScan, columns: Mapping[str, str]) -> dict[str, str] | None:
    """Return, for each column that holds structs whose fields the table tells apart by ids, by its stable name, the
    fields that Spark reads (`inner_fields`). A run stores them by their names, and one that was dropped and added again
    has the name of the one before. None if one is not known. `columns`: as `columns` returns them."""
    holding = [columns[need.name] for need in scan.needs if _has_fields(need.type)]
    by_ids = [stable for stable in holding if stable.startswith("id:")]
    if not by_ids:
        return {}
    if isinstance(scan.source, Iceberg):
        told = dict(scan.source.inner)
    else:
        told = {leaf.stable: leaf.inner_fields for leaf in schema.columns if leaf.stable in by_ids}
    fields = {stable: told.get(stable, "") for stable in by_ids}
    return fields if all(fields.values()) else None


def _has_fields(type_: object) -> bool:
    """Return whether Spark's type, as JSON, holds a struct."""
    if not isinstance(type_, dict):
        return False
    return type_.get("type") == "struct" or any(
        _has_fields(type_.get(inner)) for inner in ("elementType", "keyType", "valueType")
    )


def asked(schema: Schema, scan: SparkScan) -> dict[str, Restriction]:
    """Return the filters' restrictions, by stable name."""
    stable_of = _StableNames(schema, scan)
    said = ((stable_of(ref), restriction) for ref, restriction in Restriction.by_column(scan.conditions).items())
    return {stable: restriction for stable, restriction in said if stable is not None}


def asks_of(schema: Schema, scan: SparkScan, stables: Collection[str]) -> bool:
    """Return whether some filter is on these columns alone, one or several of them."""
    stable_of = _StableNames(schema, scan)
    asked_columns = ({stable_of(ref) for ref in condition.columns} for condition in scan.conditions)
    return any(found and found <= set(stables) for found in asked_columns)


class _StableNames:
    """Maps the columns of filters to stable names. Spark writes a column as the query does; if capitals differ, the
    only column that fits is meant."""

    def __init__(self, schema: Schema, scan: SparkScan) -> None:
        self._names = named(schema, scan)
        self._folded: dict[tuple[str, ...], set[str]] = {}
        for parts, stable in self._names.items():
            self._folded.setdefault(_folded(parts), set()).add(stable)

    def __call__(self, ref: ColumnRef) -> str | None:
        fits = self._folded.get(_folded(ref.parts), set())
        return self._names.get(ref.parts) or (next(iter(fits)) if len(fits) == 1 else None)


@dataclass(frozen=True, slots=True)
class Wants:
    """The joins and groups that an index's partitioning would help. `all`: the joins whose keys are the indexed
    columns, and None for a group whose keys hold them; `same`: its keys are these and no others; `after`: of the joins
    those of what such a group leaves. `spread`: one of the groups is no window, which is given every row: by an
    exchange each task sends only what it has combined."""

    all: frozenset[Any] = frozenset()
    same: bool = False
    spread: bool = False
    after: frozenset[tuple[int, int]] = frozenset()
    unsorted: frozenset[tuple[int, int]] = (
        frozenset()
    )  # of the joins those that have other keys, too, by which they sort


def wants(scan: SparkScan, columns: Mapping[str, str], indexed: Sequence[str]) -> Wants:
    """Return the wants of a scan."""
    sides: set[Any] = set()
    after: set[tuple[int, int]] = set()
    unsorted: set[tuple[int, int]] = set()
    same = any(isinstance(want, Group) for want in scan.wants)
    spread = False
    for want in scan.wants:
        keys = {columns.get(name) for name in want.keys}
        if isinstance(want, Group):
            if set(indexed) <= keys:
                sides.add(None)
                spread = spread or not want.whole
                same = same and keys == set(indexed) and not want.whole
        elif not want.small:
            more = want.partial and set(indexed) < keys
            if more or (len(want.keys) == len(indexed) and keys == set(indexed)):
                side = want.join, want.side
                sides.add(side)
                unsorted |= {side} if more else set()
                after |= {side} if None in sides else set()
    return Wants(frozenset(sides), same and None in sides, spread, frozenset(after), frozenset(unsorted))


def alike(request: Sequence[SparkScan]) -> list[int]:
    """Count for each scan of a query those (itself too) that read, filter and partition alike, so that a plan with
    exchanges has one for all of them. A scan that is not partitioned has no others."""

    def first(scan: SparkScan) -> tuple[str, ...] | None:
        return scan.wants[0].keys if scan.wants else None

    def same(scan_: SparkScan, other: SparkScan) -> bool:
        if scan_.root != other.root or first(scan_) != first(other):
            return False
        return replace(scan_, wants=(), bytes=None) == replace(other, wants=(), bytes=None)

    counts = [1] * len(request)
    for place, earlier in enumerate(request):
        for later in range(place + 1, len(request) if first(earlier) is not None else 0):
            if same(earlier, request[later]):
                counts[place] += 1
                counts[later] += 1
    return counts
