"""Rows of a covering index in the place of those of files: physical ones, of live files, less what is deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .answer import identity, opened
from .lies import DAMAGE, Run, Unknown, latest
from .values import typed

LAYOUT = {"by", "buckets", "indexed", "schema", "keys"}


def rows(index: Path, version: dict[str, Any], names: list[str], leaves: list[list[Any]]) -> dict[str, list[list[Any]]]:
    """By live file that the index serves, the values of these columns, of its live rows for which all leaves are TRUE.
    A file that is not among them is read from the table. `version`: as for `keep`; of each live file also the positions
    of its deleted rows."""
    columns = version["columns"]
    stable = [columns[name]["stable"] for name in {*names, *(one for leaf in leaves for one in leaf[1])}]
    types = {said["stable"]: said["type"] for said in columns.values()}
    found: dict[str, list[list[Any]]] = {}
    entry = latest(index)
    for said in entry["content"]["runs"] if entry else []:
        if said["table_uuid"] != version["table_uuid"]:
            continue
        try:
            run = opened(index, said, entry["content"]["columns"])  # type: ignore[index]
            key = _key(said, stable, types)
            known = {identity(row): row["ordinal"] for row in run.files}
            without = {row["ordinal"] for row in run.of("unkeyed", "key_id", int(key["key_id"]))}
            stored = _stored(run, int(key["key_id"]))
        except DAMAGE:
            continue
        served = {}
        for file in version["live"]:
            ordinal = known.get(identity(file))
            if ordinal is not None and ordinal not in without and file["path"] not in found:
                served[ordinal] = file
                found[file["path"]] = []
        for row in stored:
            file = served.get(row["_mi_ordinal"])
            if file is None or row["_mi_row"] in file["deleted"]:
                continue
            values = {name: row[said["stable"]] for name, said in columns.items() if said["stable"] in row}
            if all(true(op, values[of[0]], [typed(one) for one in literals]) for op, of, literals in leaves):
                found[file["path"]].append([values[name] for name in names])
    return found


def _key(said: dict[str, Any], stable: list[str], types: dict[str, str]) -> dict[str, Any]:
    """A covering key that stores these columns as the types that they have now."""
    for key in said.get("keys", []):
        layout = {name for name in key["layout"] if not name.startswith("bytes:")}
        held = {column["stable"]: column["type"] for column in key["columns"]}
        if key["kind"] == "covering" and layout <= LAYOUT and all(held.get(one) == types[one] for one in stable):
            return dict(key)
    raise Unknown("no key has all columns")


def _stored(run: Run, key_id: int) -> list[dict[str, Any]]:
    """The rows of a key. Those of other keys lie in the same folder; a part says its own path."""
    out: list[dict[str, Any]] = []
    for part in run.parts:
        if part["kind"] != "covering" or not int(part["first_key"]) <= key_id <= int(part["last_key"]):
            continue
        file = run.file(part)
        if (file.metadata.metadata or {}).get(b"metaindex.part") != part["path"].encode():
            raise Unknown("another part")
        out += file.read().to_pylist()
    return out


def true(op: str, value: Any, literals: list[Any]) -> bool:
    """Is the leaf TRUE of a value? NaN is the greatest, and itself."""
    if op in ("is null", "is not null"):
        return (value is None) == (op == "is null")
    if value is None or None in literals[:1]:
        return False
    at, those = _placed(value), [_placed(one) for one in literals if one is not None]
    match op:
        case "=" | "in":
            return at in those
        case "<>":
            return at != those[0]
        case "<":
            return at < those[0]
        case "<=":
            return at <= those[0]
        case ">":
            return at > those[0]
        case ">=":
            return at >= those[0]
    raise Unknown(op)


def _placed(value: Any) -> tuple[bool, Any]:
    if isinstance(value, str):
        return False, value.encode()
    return (True, 0.0) if value != value else (False, value)
