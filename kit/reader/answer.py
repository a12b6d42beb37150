"""A question, and which files and row groups it keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .filters import by_filters
from .keys import hashed, same_value, units_of
from .lies import DAMAGE, Run, latest
from .statistics import by_statistics
from .values import typed

Groups = set[int] | None  # row groups that may hold a match; None: all


def by_key(run: Run, key: dict[str, Any], op: str, values: list[Any]) -> dict[int, Groups] | None:
    """Ordinals that may hold a match, with their groups of row groups; None: the key does not answer."""
    if key["kind"] == "bloom_filters":
        if op not in ("=", "in"):
            return None
        types = [c["type"] for c in key["columns"]]
        tuples = [v if isinstance(v, tuple) else (v,) for v in values]
        may: dict[int, Groups] = dict.fromkeys(by_filters(run, key, [hashed(v, types) for v in tuples]))
    else:
        units = units_of(run, key, op, values)
        if units is None:
            return None
        may = {}
        bits = key["layout"]["group_bits"]
        for unit in units:
            groups = may.setdefault(unit >> bits, set() if bits else None)
            if groups is not None:
                groups.add(unit & ((1 << bits) - 1))
    for row in run.of("unkeyed", "key_id", int(key["key_id"])):
        may[row["ordinal"]] = None
    return may


def keep(index: Path, version: dict[str, Any], leaves: list[list[Any]]) -> dict[str, Groups]:
    """The live files that may hold a row for which all leaves are TRUE, each with the row groups that may. `version`:
    the table's own id, its live files, and stable name and type of each column."""
    live, columns = version["live"], version["columns"]
    kept: dict[str, Groups] = {file["path"]: None for file in live}
    entry = latest(index)
    for said in entry["content"]["runs"] if entry else []:
        if said["table_uuid"] != version["table_uuid"]:
            continue
        try:
            run = opened(index, said, entry["content"]["columns"])  # type: ignore[index]
            known = {identity(row): row["ordinal"] for row in run.files}
        except DAMAGE:
            continue
        here = {file["path"]: known[identity(file)] for file in live if identity(file) in known}
        groups = {file["path"]: file["row_groups"] for file in live}
        for op, names, literals in leaves:
            for path, may in proved(run, op, names, literals, columns, here, groups).items():
                before = kept.get(path, set())
                kept[path] = may if before is None else before if may is None else before & may
                if kept[path] is not None and not kept[path]:
                    kept.pop(path, None)
    return kept


_RUNS: dict[tuple[Path, str], Run] = {}


def opened(index: Path, said: dict[str, Any], column_sets: list[list[dict[str, Any]]]) -> Run:
    """A run is never changed, so it is opened once."""
    at = (index, json.dumps(said))
    if at not in _RUNS:
        _RUNS[at] = Run(index, said, column_sets)
    return _RUNS[at]


def identity(file: dict[str, Any]) -> tuple[Any, ...]:
    return file["path"], file["size_bytes"], file["modified_ms"], file["etag"]


def proved(
    run: Run,
    op: str,
    names: list[str],
    literals: list[Any],
    columns: dict[str, dict[str, str]],
    here: dict[str, int],
    groups: dict[str, int],
) -> dict[str, set[int]]:
    """Of files that the run knows and says something of: the row groups that may hold a row of the leaf."""
    values = [tuple(map(typed, one)) if len(names) > 1 else typed(one) for one in literals]
    stable, types = [columns[n]["stable"] for n in names], [columns[n]["type"] for n in names]
    found: dict[str, set[int]] = {path: set(range(groups[path])) for path in here}
    if len(names) == 1:
        try:
            out = by_statistics(run, op, values, stable[0], types[0])
            found |= {path: set() for path, ordinal in here.items() if ordinal in out}
        except DAMAGE:
            pass
    for key in run.keys:
        stored = [c["type"] for c in key["columns"]]
        if [c["stable"] for c in key["columns"]] != stable or not all(map(same_value, stored, types)):
            continue
        try:
            may = by_key(run, key, op, values)
        except DAMAGE:
            continue
        for path, ordinal in here.items() if may is not None else ():
            if ordinal not in may:  # type: ignore[operator]
                found[path] = set()
            elif (some := may[ordinal]) is not None:  # type: ignore[index]
                most, n = 1 << key["layout"]["group_bits"], groups[path]
                found[path] &= {g for g in range(n) if (g if n <= most else g * most // n) in some}
    return found
