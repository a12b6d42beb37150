"""The index whose rows are taken: a covering one, by hash and by ranges, of a Delta table whose rows are deleted by
vectors. Built without a JVM; parts are those that Spark's tasks write."""

import math
from pathlib import Path
from typing import Any

import pyarrow as pa

import metaindex as mi
from tests.formats.framed import inline_vector
from tests.index.kinds.covering.arrow_builder import ArrowBuilder

from . import tables
from .case import INDEX, Case, Question
from .tables import DeltaTable, Folder, Kept

_SCHEMA = pa.schema([("c1", pa.int64()), ("c2", pa.string()), ("c3", pa.float64())])
_STABLE = {"c1": "id:1", "c2": "id:2", "c3": "id:3"}
_BUILDER = ArrowBuilder(ranges=2)


def deleting(added: dict[str, Any], *positions: int) -> dict[str, Any]:
    """The same file, less these rows."""
    return {"add": added["add"] | {"deletionVector": inline_vector(positions)}}


def covering(folder: Path) -> Case:
    """Rows deleted by a vector, by a larger one, and all of a file's; a vector that is gone again; a file removed, and
    one put anew under its path; a column renamed, so that another has its old name; a file in two runs; one in none."""
    table = DeltaTable(Folder(folder / "lake"))
    root = str(table.folder.root)
    adds: dict[str, dict[str, Any]] = {}
    deleted: dict[str, tuple[int, ...]] = {}

    def add(name: str, first: int, count: int) -> dict[str, Any]:
        ids = list(range(first, first + count))
        rows: tables.Rows = {
            "c1": [None if i % 7 == 3 else i % 5 for i in ids],
            "c2": [f"n{i}" if i % 4 else None for i in ids],
            "c3": [math.nan if i % 6 == 1 else i / 8 for i in ids],
        }
        adds[name] = table.add(name, rows, _SCHEMA)
        deleted.pop(name, None)
        return adds[name]

    def gone(name: str) -> dict[str, Any]:
        """A file is removed with the vector that it has."""
        action = DeltaTable.remove(name)
        if deleted.get(name):
            action["remove"]["deletionVector"] = deleting(adds[name], *deleted[name])["add"]["deletionVector"]
        return action

    def without(name: str, *positions: int) -> tuple[dict[str, Any], dict[str, Any]]:
        before = gone(name)
        deleted[name] = positions
        return before, deleting(adds[name], *positions)

    features = {"readerFeatures": ["columnMapping", "deletionVectors"], "writerFeatures": ["columnMapping",
        "deletionVectors"]}  # fmt: skip
    protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
    before = table.meta(("k", "long", 1, "c1"), ("s", "string", 2, "c2"), ("v", "double", 3, "c3"))
    after = table.meta(("v", "long", 1, "c1"), ("s", "string", 2, "c2"), ("k", "double", 3, "c3"))
    old = {"k": ("id:1", "int64"), "s": ("id:2", "string"), "v": ("id:3", "double")}
    new = {"v": ("id:1", "int64"), "s": ("id:2", "string"), "k": ("id:3", "double")}
    kinds = (
        mi.ColumnStats("k"),
        mi.Covering("k", ["s", "v"], buckets=3),
        mi.CoveringRange(["s", "k"], ["v"]),
        mi.Covering("s", buckets=2),
    )
    case: Case | None = None

    def asked(names: dict[str, tuple[str, str]], *live: str) -> None:
        nonlocal case
        case = case or Case(Path(mi.open_table(root).indexes()[0].location))
        columns = {name: {"stable": stable, "type": type_} for name, (stable, type_) in names.items()}
        files = [file | {"deleted": list(deleted.get(name, ()))} for name in live for file in table.live(name)]
        held = {
            path: Kept({_STABLE[name]: values for name, values in one.rows.items()}, one.row_groups)
            for path, one in table.folder.files.items()
        }
        key = next(name for name, (stable, _) in names.items() if stable == "id:1")
        whole: list[list[Question]] = [[("=", [key], [value])] for value in (0, 3, 9)]
        case.ask(mi.open_table(root), str(table.version - 1), files, columns, held, whole, tables.TABLE_UUID)
        some: list[list[Question]] = [
            [],
            *([("=", [key], [value])] for value in range(5)),
            [(">=", [key], [3])],
            [("is null", [key], [])],
            [("in", ["s"], ["n1", "n22", "n50"])],
            [(">=", ["s"], ["n3"]), ("<", [key], [4])],
        ]
        case.ask_rows(mi.open_table(root), str(table.version - 1), ["s", key], held, some)
        case.ask_rows(mi.open_table(root), str(table.version - 1), list(names), held, some)

    table.commit(protocol, before, add("f0", 0, 9), add("f1", 10, 8), add("f2", 20, 4))
    mi.open_table(root).create_index(INDEX, *kinds, builder=_BUILDER)
    asked(old, "f0", "f1", "f2")
    table.commit(*without("f0", 1, 4))
    mi.open_table(root).refresh_index(INDEX, builder=_BUILDER)
    asked(old, "f0", "f1", "f2")
    table.commit(*without("f0", 0, 1, 4, 8), *without("f2", 0, 1, 2, 3), gone("f1"), add("f3", 30, 6))
    mi.open_table(root).refresh_index(INDEX, builder=_BUILDER)
    asked(old, "f0", "f2", "f3")
    table.commit(after, gone("f2"), adds["f2"], add("f1", 40, 8), *without("f3", 5))
    deleted.pop("f2")
    mi.open_table(root).refresh_index(INDEX, builder=_BUILDER)
    asked(new, "f0", "f1", "f2", "f3")
    table.commit(*without("f1", 7), add("f4", 50, 3))
    asked(new, "f0", "f1", "f2", "f3", "f4")
    assert case is not None
    return case
