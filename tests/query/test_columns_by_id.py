"""Columns are renamed, swap their names, are dropped and added again under the same name: each answer at each version,
by every verb and every kind of index, is of the columns that the version means by its names."""

import copy
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.types import IntegerType

import metaindex as mi
from metaindex.expressions import ColumnRef
from tests.answers import one_answer
from tests.histories.driver import History, told
from tests.tables import catalog_in

LOCAL = mi.Config(builder="local")
MEASURES = ("count", "min", "max", "sum", "count_distinct", "approx_distinct")
Row = dict[int, int | None]
"""Values by the numbers of their columns."""
Columns = list[list[Any]]
"""Names, each with its number; of a struct the number is a list: its own, and its fields."""


class ColumnHistory(History):
    """A table, and of each version what its names mean."""

    verbs = "append append append rename rename swap swap again add drop capital steal index index refresh refresh"

    def __init__(self, folder: Path, random: Random) -> None:
        super().__init__(random)
        self.folder = folder
        self.now: Columns = [["id", 1], ["a", 2], ["b", 3], ["s", [4, [["x", 5], ["y", 6]]]]]
        self.last = 6
        self.rows: list[Row] = []
        self.versions: dict[Any, tuple[Columns | None, int]] = {}
        self.create()
        self.happen("append")
        self.held = self.open()

    def create(self) -> None:
        raise NotImplementedError

    def open(self) -> mi.Table:
        return mi.open_table(str(self.folder / "t"), config=LOCAL)

    @property
    def inner(self) -> Columns:
        fields: Columns = next(number[1] for _, number in self.now if isinstance(number, list))
        return fields

    def single(self) -> Columns:
        return [one for one in self.now if isinstance(one[1], int) and one[1] != 1]

    def append(self) -> None:
        numbers = [number for _, number in (*self.single(), *self.inner)]
        first, count = len(self.rows), self.random.choice([1, 4, 6])
        rows = [{n: self.random.choice([None, *range(n * 10, n * 10 + 4)]) for n in numbers} for _ in range(count)]
        if self.random.random() < 0.4:
            rows = [rows[0]] * count
        rows = [{1: first + at, **row} for at, row in enumerate(rows)]
        self.rows += rows
        self.versions[self.write(rows)] = copy.deepcopy(self.now), len(self.rows)

    def rename(self) -> None:
        self.to(self.random.choice(self.random.choice([self.single(), self.inner])), f"n{len(self.statements)}")

    def swap(self) -> None:
        some = self.random.choice([self.single(), self.inner])
        if len(some) > 1:
            one, other = self.random.sample(some, 2)
            first, second = one[0], other[0]
            for column, name in ((one, "between"), (other, first), (one, second)):
                self.to(column, name)

    def capital(self) -> None:
        one = self.random.choice(self.single())
        self.to(one, one[0].swapcase())

    def to(self, column: list[Any], name: str) -> None:
        self.statements[-1] += f" {column[0]} to {name}"
        self.renamed((*(("s",) if column in self.inner else ()), column[0]), name, column)

    def drop(self) -> str | None:
        if len(self.single()) < 2:
            return None
        one = self.random.choice(self.single())
        self.statements[-1] += f" {one[0]}"
        self.now.remove(one)
        self.dropped(one)
        return str(one[0])

    def add(self, name: str | None = None) -> None:
        self.last += 1
        self.now.append([name or f"n{len(self.statements)}", self.last])
        self.added(self.now[-1])

    def again(self) -> None:
        """A column is dropped, and another one added under its name."""
        if name := self.drop():
            self.add(name)

    def steal(self) -> None:
        """A column is dropped, and another one takes its name."""
        if name := self.drop():
            self.to(self.random.choice(self.single()), name)

    def index(self) -> None:
        single = [name for name, _ in self.single()]
        some = self.random.sample([*single, *(f"s.{name}" for name, _ in self.inner)], 2)
        kinds = [
            *(mi.ColumnStats(), mi.Values(*some), mi.Values(*some, by="value"), mi.ValueList(*some), mi.Bloom(*some)),
            *(mi.Sums(*single), mi.Sketches(*single)),
        ]
        self.open().create_index(f"i{len(self.statements)}", *self.random.sample(kinds, self.random.choice([2, 7])))

    def refresh(self) -> None:
        table = self.open()
        for index in table.indexes():
            try:
                table.refresh_index(index.name, self.random.choice(["quick", "incremental", "full"]))
            except mi.UnknownColumnError as error:  # all of its columns are gone
                self.statements[-1] += f" (refused: {error})"

    def write(self, rows: list[Row]) -> object:
        """Commit a file. Return the version."""
        raise NotImplementedError

    def renamed(self, path: tuple[str, ...], name: str, column: list[Any]) -> None:
        raise NotImplementedError

    def dropped(self, column: list[Any]) -> None:
        raise NotImplementedError

    def added(self, column: list[Any]) -> None:
        raise NotImplementedError


class IcebergColumns(ColumnHistory):
    verbs = ColumnHistory.verbs + " branch"

    def create(self) -> None:
        self.catalog = catalog_in(self.folder)
        fields = [("id", pa.int64()), ("a", pa.int32()), ("b", pa.int32())]
        inner = pa.struct([("x", pa.int32()), ("y", pa.int32())])
        self.catalog.create_table("db.t", pa.schema([*fields, ("s", inner)]), location=f"file://{self.folder}/t")

    @property
    def written(self) -> Any:
        return self.catalog.load_table("db.t")

    def write(self, rows: list[Row]) -> object:
        written = self.written
        shown = [show(self.now, row) for row in rows]
        written.append(pa.Table.from_pylist(shown, schema=written.schema().as_arrow()))
        return written.current_snapshot().snapshot_id

    def branch(self) -> None:
        snapshot = self.random.choice([version for version in self.versions if isinstance(version, int)])
        name = f"branch{len(self.statements)}"
        self.written.manage_snapshots().create_branch(snapshot, name).commit()
        self.versions[name] = None, self.versions[snapshot][1]

    def renamed(self, path: tuple[str, ...], name: str, column: list[Any]) -> None:
        with self.written.update_schema() as update:
            update.rename_column(path, name)
        column[0] = name

    def dropped(self, column: list[Any]) -> None:
        with self.written.update_schema() as update:
            update.delete_column(column[0])

    def added(self, column: list[Any]) -> None:
        with self.written.update_schema() as update:
            update.add_column(column[0], IntegerType())
        column[1] = self.last = self.written.schema().find_field(column[0]).field_id


class DeltaColumns(ColumnHistory):
    """With column mapping, its log written by hand."""

    mode = "name"

    def create(self) -> None:
        self.version = -1
        (self.folder / "t" / "_delta_log").mkdir(parents=True)
        self.commit({"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, self.metadata())

    def commit(self, *actions: dict[str, Any]) -> None:
        self.version += 1
        log = self.folder / "t" / "_delta_log" / f"{self.version:020d}.json"
        log.write_text("\n".join(map(json.dumps, actions)))

    def metadata(self) -> dict[str, Any]:
        fields = {"type": "struct", "fields": [_field(*column) for column in self.now]}
        mapping = {"delta.columnMapping.mode": self.mode, "delta.columnMapping.maxColumnId": str(self.last)}
        said = {"schemaString": json.dumps(fields), "configuration": mapping, "partitionColumns": [], "createdTime": 0}
        return {"metaData": {"id": "t", "format": {"provider": "parquet", "options": {}}, **said}}

    def write(self, rows: list[Row]) -> object:
        def field(number: int, type_: pa.DataType) -> pa.Field:
            return pa.field(f"col-{number}", type_, metadata={"PARQUET:field_id": str(number)})

        own, inner = next(number for _, number in self.now if isinstance(number, list))
        numbers = [1, *(number for _, number in self.single())]
        fields = [field(n, pa.int64() if n == 1 else pa.int32()) for n in numbers]
        fields.append(field(own, pa.struct([field(n, pa.int32()) for _, n in inner])))
        shown: list[dict[str, Any]] = []
        for row in rows:
            struct = {f"col-{n}": row.get(n) for _, n in inner}
            shown.append({f"col-{n}": row.get(n) for n in numbers} | {f"col-{own}": struct})
        path = self.folder / "t" / f"f{self.version}.parquet"
        pq.write_table(pa.Table.from_pylist(shown, schema=pa.schema(fields)), path)
        values = {n: [value for row in rows if (value := row.get(n)) is not None] for n in numbers}
        stats = {
            "numRecords": len(rows),
            "minValues": {f"col-{n}": min(v) for n, v in values.items() if v},
            "maxValues": {f"col-{n}": max(v) for n, v in values.items() if v},
            "nullCount": {f"col-{n}": len(rows) - len(v) for n, v in values.items()},
        }
        add = {"path": path.name, "size": path.stat().st_size, "modificationTime": 1000, "stats": json.dumps(stats)}
        self.commit({"add": {**add, "partitionValues": {}, "dataChange": True}})
        return self.version

    def renamed(self, path: tuple[str, ...], name: str, column: list[Any]) -> None:
        column[0] = name
        self.commit(self.metadata())

    def dropped(self, column: list[Any]) -> None:
        self.commit(self.metadata())

    def added(self, column: list[Any]) -> None:
        self.commit(self.metadata())


class DeltaColumnsById(DeltaColumns):
    mode = "id"


def _field(name: str, number: Any) -> dict[str, Any]:
    own, inner = (number, ()) if isinstance(number, int) else number
    struct = {"type": "struct", "fields": [_field(*one) for one in inner]}
    mapped = {"delta.columnMapping.id": own, "delta.columnMapping.physicalName": f"col-{own}"}
    type_ = struct if inner else "long" if own == 1 else "integer"
    return {"name": name, "type": type_, "nullable": True, "metadata": mapped}


def show(columns: Columns, row: Row) -> dict[str, Any]:
    """A row by the names that its columns have."""
    return {name: row.get(n) if isinstance(n, int) else show(n[1], row) for name, n in columns}


def same(found: Iterable[object], expected: Iterable[object], *asked: object) -> None:
    assert sorted(map(repr, found)) == sorted(map(repr, expected)), asked


def check(history: ColumnHistory, table: mi.Table, version: Any) -> None:
    columns, count = (history.now, len(history.rows)) if version is None else history.versions[version]
    if columns is None:  # a branch has the schema that it is read with
        columns = []
        for f in table.snapshot(version).schema:
            inside = [[child.name, child.field_id] for child in f.children]
            columns.append([f.name, [f.field_id, inside] if inside else f.field_id])
    rows, random = history.rows[:count], history.random
    single = [(name, n) for name, n in columns if isinstance(n, int) and n != 1]
    inner = [(f"s.{name}", n) for name, n in next(n[1] for _, n in columns if isinstance(n, list))]
    name, n = random.choice([*single, *inner])
    value = random.choice([n * 10 + random.randrange(4), random.randrange(20, 90)])
    column = ColumnRef(tuple(name.split("."))).in_sql
    conditions: dict[str | None, Callable[[Any], bool]] = {
        None: lambda v: True,
        f"{column} = {value}": lambda v: v == value,
        f"{column} IN ({value}, {value + 1})": lambda v: v in (value, value + 1),
        f"{column} >= {value}": lambda v: v is not None and v >= value,
        f"{column} <> {value}": lambda v: v is not None and v != value,
        f"{column} IS NULL": lambda v: v is None,
    }
    for where, fits in conditions.items():
        found = [row for row in rows if fits(row.get(n))]
        same(one_answer(table, where, version).to_pylist(), (show(columns, row) for row in found), where)
        if where is not None:
            assert sum(table.locate(where, version=version, exact=True).table["matches"].to_pylist()) == len(found)
            assert table.explain(where, version=version).result.kept_files == table.prune(where, version).kept_files
    where = random.choice(list(conditions))
    left = [row for row in rows if conditions[where](row.get(n))]
    keys = pa.table({"k": pa.array([n * 10, n * 10 + 1, -1], pa.int64())})
    for key, k in random.sample(single, min(2, len(single))):
        other, o = random.choice(single)
        groups: dict[int | None, list[int | None]] = {}
        for row in left:
            groups.setdefault(row.get(k), []).append(row.get(o))
        of_groups = [(group, *measured(values)) for group, values in groups.items()]
        for by, expected in (([], [measured(row.get(o) for row in left)]), ([key], of_groups)):
            measures: Any = {each: [other] for each in MEASURES}
            answer = table.aggregate(group_by=by, where=where, version=version, **measures).table
            same(zip(*(one.to_pylist() for one in answer.columns), strict=True), expected, other, by, where)
        first = table.scan(where, [key, "id"], version=version, order_by=[(key, "desc")], limit=3).to_arrow()
        ordered = sorted((row.get(k) for row in left), key=lambda v: (v is None, -(v or 0)))
        assert first.column(0).to_pylist() == ordered[:3], (key, where)
        keyed = table.scan(where, version=version, keys=keys, on={key: "k"}).to_arrow().to_pylist()
        same(keyed, (show(columns, row) for row in left if row.get(k) in (n * 10, n * 10 + 1)), key, where)
        some = table.scan(f"{ColumnRef((key,)).in_sql} IS NOT NULL", version=version, limit=2).to_arrow()
        assert some.num_rows == min(2, sum(row.get(k) is not None for row in rows))


def measured(values: Iterable[int | None]) -> tuple[int | None, ...]:
    there = [value for value in values if value is not None]
    total, different = sum(there) if there else None, len(set(there))
    return len(there), min(there, default=None), max(there, default=None), total, different, different


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 12))])
@pytest.mark.parametrize(
    "made", [IcebergColumns, DeltaColumns, pytest.param(DeltaColumnsById, marks=pytest.mark.exhaustive)]
)
def test_answers_are_of_columns_whatever_they_are_called(tmp_path: Path, made: type[ColumnHistory], seed: int) -> None:
    history = made(tmp_path, Random(seed))
    history.happen("index")
    with told(history):
        for _ in range(6):
            for _ in range(3):
                history.happen(history.random.choice(history.verbs.split()))
            for version in (None, history.random.choice(list(history.versions))):
                check(history, history.random.choice([history.open(), history.held]), version)


def test_statistics_are_of_one_column(tmp_path: Path) -> None:
    """Although its name was another one's when an earlier run was written."""
    history = DeltaColumns(tmp_path, Random(1))
    table = history.open()
    table.create_index("all", mi.ColumnStats())
    for column, name in ((history.now[1], "between"), (history.now[2], "a"), (history.now[1], "b")):
        history.to(column, name)
    history.append()
    table.refresh_index("all")
    for name, number in (("a", 3), ("b", 2), ("id:3", 3)):
        lower = [value for value in table.statistics("all", name)["lower"].to_pylist() if value is not None]
        assert lower
        assert all(number * 10 <= value < number * 10 + 10 for value in lower), name
