"""What a scan of a request says: its conditions, and its columns by the names that an index has for them.

A request's scan has `filters` (conjuncts, as `spark_json` reads them), `needs` (the columns that the query reads of it)
and `wants` (the joins and groups that its partitioning would help).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from metaindex.expressions.deadline import look
from metaindex.expressions.engines.spark_json import from_spark_json
from metaindex.expressions.errors import UnknownColumnError
from metaindex.expressions.references import conjuncts
from metaindex.expressions.tree import ColumnRef, Constant, Leaf, Opaque, Predicate, transform
from metaindex.formats.model import Schema, Version
from metaindex.kinds.columns import columns_of
from metaindex.log.entry import CoveredKey
from metaindex.table.asked import OfSchema

from .ranking import Asked, asked_of

TEXT_FORMATS: Final[Mapping[str, str]] = {"CSVFileFormat": "csv", "JsonFileFormat": "json"}
"""Spark's classes, by the names of this project."""


_READ: Final = "\0conditions"


def of_texts(scan: Mapping[str, Any]) -> bool:
    """Does it read every byte of its files, whatever columns are needed?"""
    return scan.get("kind") == "files" and scan.get("format") in TEXT_FORMATS


def of_this_table(scan: Mapping[str, Any], version: Version) -> bool:
    """Is a version that was read here of the table that Spark has read? Numbers of versions begin anew where a table is
    made anew, and Spark may hold the one before."""
    return str(scan.get("table", version.table_uuid)) == version.table_uuid


def for_columns_alone(scan: Mapping[str, Any]) -> bool:
    """May an index stand for it that has its columns, whatever the filters name? Where texts are read, unless somebody
    may look at them in the order of their lines, or lines are counted, which are not rows."""
    partitions = {one["name"] for one in scan["partitions"]["fields"]} if of_texts(scan) else set()
    return of_texts(scan) and scan["gathered"] and any(one["name"] not in partitions for one in scan["needs"])


def conditions(scan: Mapping[str, Any]) -> list[Predicate]:
    """The filters above the scan, as conjuncts. They are read once a request, which may hold thousands."""
    found: list[Predicate] | None = scan.get(_READ)
    if found is None:
        found = [part for one in scan["filters"] for part in _conjuncts(one)]
        if isinstance(scan, dict):
            scan[_READ] = found
    return found


def _conjuncts(condition: Any) -> tuple[Predicate, ...]:
    look()
    return conjuncts(from_spark_json(condition))


def named(schema: Schema, scan: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """The stable name of each column, and of each field of a struct, by its names in the scan. Iceberg reads a version
    with the names of today, so its scan says which column is which."""
    if "ids" in scan:
        return {tuple(path): f"id:{number}" for path, number in scan["ids"]}
    return {leaf.parts: leaf.stable for leaf in columns_of(schema)}


def at_version(condition: Predicate, scan: Mapping[str, Any]) -> Predicate | OfSchema:
    """The condition by the names that the columns have at the version of the scan. What it is made of raises
    UnknownColumnError for a column that the version has not."""
    if "ids" not in scan:
        return condition

    def of(schema: Schema) -> Predicate:
        there = {leaf.stable: ColumnRef(leaf.parts) for leaf in columns_of(schema)}
        folded: dict[tuple[str, ...], set[str]] = {}
        for path, number in scan["ids"]:
            folded.setdefault(_folded(path), set()).add(f"id:{number}")

        def renamed(column: ColumnRef) -> ColumnRef:
            found = folded.get(_folded(column.parts), set())
            if len(found) != 1 or not found <= there.keys():
                raise UnknownColumnError(
                    f"a condition is of columns that the version has; it has no {column}; read without an index"
                )
            return there[next(iter(found))]

        def leaf(one: Leaf) -> Predicate:
            match one:
                case Constant():
                    return one
                case Opaque(text=text):
                    return Opaque(text)
                case _:
                    return replace(one, column=renamed(one.column))

        return transform(condition, leaf)

    return OfSchema(of, (condition, tuple((tuple(path), number) for path, number in scan["ids"])))


def _folded(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


def columns(schema: Schema, key: CoveredKey, scan: Mapping[str, Any]) -> dict[str, str] | None:
    """Of each column (or field of a struct, whose path is said then) that the query needs, by its name, the index's;
    None where one is not there."""
    names = named(schema, scan)
    stored = {one.stable for one in key.columns}
    found = {}
    for one in scan["needs"]:
        if "id" in one:
            found[one["name"]] = f"id:{one['id']}"
        else:
            found[one["name"]] = names.get(tuple(one.get("path", [one["name"]])), "")
    every = set(found.values())
    return found if every <= stored and len(every) == len(scan["needs"]) else None


def asked(schema: Schema, scan: Mapping[str, Any]) -> dict[str, Asked]:
    """What the filters say, by stable name. Spark writes a column as the query does; where cases differ the only column
    that fits is meant."""
    names = named(schema, scan)
    folded: dict[tuple[str, ...], set[str]] = {}
    for parts, stable in names.items():
        folded.setdefault(_folded(parts), set()).add(stable)
    found = {}
    for ref, said in asked_of(conditions(scan)).items():
        fits = folded.get(_folded(ref.parts), set())
        if ref.parts in names or len(fits) == 1:
            found[names.get(ref.parts, next(iter(fits)))] = said
    return found


@dataclass(frozen=True, slots=True)
class Wants:
    """What the partitioning of an index would be of use to. `all`: the joins whose keys are the indexed columns, and
    None for a group whose keys hold them; `same`: its keys are these and no others; `after`: of the joins those of what
    such a group leaves. `spread`: one of the groups is no window, which is given every row: by an exchange each task
    sends but what it has put together."""

    all: frozenset[Any] = frozenset()
    same: bool = False
    spread: bool = False
    after: frozenset[tuple[int, int]] = frozenset()
    unsorted: frozenset[tuple[int, int]] = (
        frozenset()
    )  # of the joins those that have other keys, too, by which they sort


def wants(scan: Mapping[str, Any], columns: Mapping[str, str], indexed: Sequence[str]) -> Wants:
    """Of a scan, whose wants stand in the order in which the plan comes upon them from below."""
    found: set[Any] = set()
    after: set[tuple[int, int]] = set()
    unsorted: set[tuple[int, int]] = set()
    same = [want for want in scan["wants"] if "group" in want] != []
    spread = False
    for want in scan["wants"]:
        if "group" in want:
            keys = {columns.get(name) for name in want["group"]}
            if set(indexed) <= keys:
                found.add(None)
                spread = spread or not want.get("whole")
                same = same and keys == set(indexed) and not want.get("whole")
        elif not want["small"]:
            keys = {columns.get(name) for name in want["keys"]}
            more = bool(want.get("partial")) and set(indexed) < keys
            if more or (len(want["keys"]) == len(indexed) and keys == set(indexed)):
                found.add((want["join"], want["side"]))
                unsorted |= {(want["join"], want["side"])} if more else set()
                after |= {(want["join"], want["side"])} if None in found else set()
    return Wants(frozenset(found), same and None in found, spread, frozenset(after), frozenset(unsorted))


def alike(request: Sequence[Mapping[str, Any]]) -> list[int]:
    """Of each scan of a query, how many (itself too) read, filter and partition alike, so that a plan with exchanges
    has one for all of them. Those that nobody partitions have none."""

    def first(scan: Mapping[str, Any]) -> Any:
        return next((want.get("group") or want.get("keys") for want in scan["wants"]), None)

    def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        if one["root"] != other["root"] or first(one) != first(other):
            return False
        names = {*one, *other} - {"wants", "bytes", _READ}
        return all(one.get(name) == other.get(name) for name in names)

    counts = [1] * len(request)
    for place, one in enumerate(request):
        for later in range(place + 1, len(request) if first(one) is not None else 0):
            if same(one, request[later]):
                counts[place] += 1
                counts[later] += 1
    return counts
