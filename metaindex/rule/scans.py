"""What a scan of a request says: its conditions, and its columns by the names that an index has for them.

A request's scan has `filters` (conjuncts, as `spark_json` reads them), `needs` (the columns that the query reads of it) and `wants` (the joins and groups that its partitioning would help).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from expressions.engines.spark_json import from_spark_json
from expressions.references import conjuncts
from expressions.tree import Predicate
from formats.model import Leaf, Schema
from metaindex.log.entry import CoveredKey

from .ranking import Asked, asked_of


def conditions(scan: Mapping[str, Any]) -> list[Predicate]:
    """The filters above the scan, as conjuncts."""
    return [part for one in scan["filters"] for part in conjuncts(from_spark_json(one))]


def stables(schema: Schema, scan: Mapping[str, Any]) -> dict[str, str]:
    """The stable name of each column by its name. Iceberg reads a version with the names of today, so its scan says which column is which."""
    if "ids" in scan:
        return {name: f"id:{number}" for name, number in scan["ids"].items()}
    return {one.name: Leaf((one,)).stable for one in schema.fields}


def columns(schema: Schema, key: CoveredKey, scan: Mapping[str, Any]) -> dict[str, str] | None:
    """Of each column (or field of a struct, whose path is said then) that the query needs, by its name, the index's; None where one is not there."""
    named = stables(schema, scan)
    inside = (
        {leaf.parts: leaf.stable for leaf in schema.leaves()} if any("path" in one for one in scan["needs"]) else {}
    )
    stored = {one.stable for one in key.columns}
    found = {}
    for one in scan["needs"]:
        if "id" in one:
            found[one["name"]] = f"id:{one['id']}"
        else:
            found[one["name"]] = inside.get(tuple(one["path"]), "") if "path" in one else named.get(one["name"], "")
    every = set(found.values())
    return found if every <= stored and len(every) == len(scan["needs"]) else None


def asked(schema: Schema, scan: Mapping[str, Any]) -> dict[str, Asked]:
    """What the filters say, by stable name. Spark writes a column as the query does; where cases differ the only column that fits is meant."""
    names = {leaf.parts: leaf.stable for leaf in schema.leaves()}
    names |= {(name,): stable for name, stable in stables(schema, scan).items()}
    folded: dict[tuple[str, ...], set[str]] = {}
    for parts, stable in names.items():
        folded.setdefault(tuple(part.lower() for part in parts), set()).add(stable)
    found = {}
    for ref, said in asked_of(conditions(scan)).items():
        fits = folded.get(tuple(part.lower() for part in ref.parts), set())
        if ref.parts in names or len(fits) == 1:
            found[names.get(ref.parts, next(iter(fits)))] = said
    return found


def wants(scan: Mapping[str, Any], columns: Mapping[str, str], indexed: Sequence[str]) -> frozenset[Any]:
    """The joins whose keys are the indexed columns, and None for a group whose keys hold them."""
    found: set[Any] = set()
    for want in scan["wants"]:
        if "group" in want:
            if set(indexed) <= {columns.get(name) for name in want["group"]}:
                found.add(None)
        elif not want["small"] and sorted(columns.get(name, "") for name in want["keys"]) == sorted(indexed):
            found.add((want["join"], want["side"]))
    return frozenset(found)
