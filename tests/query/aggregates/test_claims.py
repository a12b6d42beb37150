"""Answers when whoever wrote the table's log was wrong: the same question has one answer, scanned, counted, aggregated,
limited or sorted; and with an index it is the truth."""

import os
import struct
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.index import Kind
from tests.answers import one_answer
from tests.evaluate import matches
from tests.formats.iceberg.written import WrittenHistory
from tests.formats.iceberg.written_rows import DAY, ID, F, plain
from tests.histories.driver import RANDOM
from tests.query.aggregates.lakes import HandDelta

SCHEMA = pa.schema([("k", pa.int64()), ("x", pa.int64())])
CONDITIONS = ("k >= 0", "k > 3", "k = 5", "k IS NOT NULL", "k IS NULL", "NOT (k = 5)", "k < 9 OR x = 1", "x IN (1, 2)")
FEW = st.integers(-2, 12)
ROWS = st.lists(st.tuples(FEW | st.none(), FEW), min_size=1, max_size=6)
CLAIM = st.fixed_dictionaries(
    {},
    optional={
        "rows": st.sampled_from([0, 1, 3, 6, 40, 2**31]),
        "nulls": st.integers(0, 6),
        "least": FEW,
        "greatest": FEW,
        "tight": st.booleans(),
    },
)
KINDS: tuple[tuple[Kind, ...], ...] = (
    (mi.ColumnStats(),),
    (mi.ColumnStats("k"),),
    (mi.ColumnStats("x"),),
    (mi.Values("k", ("k", "x")),),
    (mi.Values("k", "x", by="value"), mi.Sums("x")),
    (mi.Bloom("x"), mi.Sketches("k", "x")),
    (mi.ValueList("k"), mi.ColumnStats("x")),
)
FILES = st.lists(st.tuples(ROWS, CLAIM, st.sets(st.integers(0, 5), max_size=2)), min_size=1, max_size=4)


def contents(rows: list[tuple[int | None, int]]) -> pa.Table:
    return pa.table({"k": [k for k, _ in rows], "x": [x for _, x in rows]}, schema=SCHEMA)


def delta(root: Path, files: list[Any]) -> tuple[str, pa.Table]:
    """A Delta table whose log claims what it likes, and its live rows."""
    lake = HandDelta(root / "t", SCHEMA)
    for number, (rows, claim, gone) in enumerate(files):
        said = {"numRecords": claim.get("rows", len(rows)), "tightBounds": claim.get("tight", True)}
        said |= {"nullCount": {"k": claim["nulls"], "x": 0}} if "nulls" in claim else {}
        said |= {"minValues": {"k": claim["least"]}} if "least" in claim else {}
        said |= {"maxValues": {"k": claim["greatest"]}} if "greatest" in claim else {}
        lake.append(contents(rows), said)
        lake.delete(number, {row for row in gone if row < len(rows)})
    return str(lake.root), pa.Table.from_pylist(lake.rows[-1], SCHEMA)


def iceberg(root: Path, files: list[Any]) -> tuple[str, pa.Table]:
    """An Iceberg table whose manifests claim what they like."""
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.conversions import to_bytes
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.schema import Schema
    from pyiceberg.typedef import Record
    from pyiceberg.types import LongType, NestedField

    catalog = SqlCatalog("c", uri=f"sqlite:///{root}/c.db", warehouse=f"file://{root}/w")
    catalog.create_namespace("db")
    fields = [NestedField(at, name, LongType(), required=False) for at, name in enumerate(SCHEMA.names, 1)]
    table = catalog.create_table("db.t", Schema(*fields))
    ids = [pa.field(f.name, f.type, metadata={"PARQUET:field_id": str(at)}) for at, f in enumerate(SCHEMA, 1)]
    live = [contents(rows) for rows, _, _ in files]
    with table.transaction() as change, change.update_snapshot().fast_append() as append:
        for number, (content, (rows, claim, _)) in enumerate(zip(live, files, strict=True)):
            path = root / f"{number}.parquet"
            pq.write_table(content.cast(pa.schema(ids)), path)
            bounds = [{1: to_bytes(LongType(), claim[end])} if end in claim else {} for end in ("least", "greatest")]
            entry = DataFile.from_args(
                content=DataFileContent.DATA, file_path=f"file://{path}", file_format=FileFormat.PARQUET,
                partition=Record(), record_count=claim.get("rows", len(rows)), file_size_in_bytes=os.path.getsize(path),
                column_sizes={}, value_counts={}, null_value_counts={1: claim["nulls"]} if "nulls" in claim else {},
                nan_value_counts={}, lower_bounds=bounds[0], upper_bounds=bounds[1], split_offsets=None,
                equality_ids=None, sort_order_id=None, key_metadata=None, spec_id=0,
            )  # fmt: skip
            append.append_data_file(entry)
    return table.location().removeprefix("file://"), pa.concat_tables(live)


MADE: dict[str, Callable[[Path, list[Any]], tuple[str, pa.Table]]] = {"delta": delta, "iceberg": iceberg}


def check(table: mi.Table, rows: pa.Table | None) -> list[pa.Table]:
    """Each answer is that of the scan, which is returned; and gives `rows`, filtered, where an index knows them."""
    answers = []
    if rows is not None:
        assert table.count() == len(rows)
    for condition in CONDITIONS:
        scanned = one_answer(table, condition, believed=False)
        answers.append(scanned)
        if rows is not None:
            right = rows.filter(_arrow(condition))
            assert scanned.sort_by([("k", "ascending"), ("x", "ascending")]).equals(
                right.sort_by([("k", "ascending"), ("x", "ascending")])
            ), condition
        found = table.aggregate(count=["*", "k"], min=["k"], max=["k"], count_distinct=["x"], where=condition)
        told = found.table.to_pylist()[0]
        extremes = pc.min_max(scanned["k"]).as_py()
        different = len(scanned["x"].unique())
        assert list(told.values()) == [
            len(scanned), len(scanned) - scanned["k"].null_count, extremes["min"], extremes["max"], different
        ], condition  # fmt: skip
        assert table.scan(condition, limit=3).to_arrow().num_rows == min(3, len(scanned)), condition
        for way in ("asc", "desc"):
            best = table.scan(condition, order_by=[("k", way)], limit=3).to_arrow()["k"].to_pylist()
            ranked = sorted(scanned["k"].to_pylist(), key=lambda k: (k is not None, k), reverse=way == "desc")
            assert best == ranked[:3], (condition, way)
    return answers


def _arrow(condition: str) -> pc.Expression:
    k, x = pc.field("k"), pc.field("x")
    return {
        "k >= 0": k >= 0, "k > 3": k > 3, "k = 5": k == 5, "k IS NOT NULL": k.is_valid(), "k IS NULL": k.is_null(),
        "NOT (k = 5)": k != 5, "k < 9 OR x = 1": pc.or_kleene(k < 9, x == 1), "x IN (1, 2)": x.isin([1, 2]),
    }[condition]  # fmt: skip


@pytest.mark.exhaustive(but="delta")
@pytest.mark.parametrize("format_", MADE)
@settings(max_examples=max(6, settings.default.max_examples * 20 // 100), deadline=None)
@given(files=FILES, kinds=st.sampled_from(KINDS))
@example([([(3, 5)], {"least": 9, "greatest": 12}, set())], KINDS[2])  # k < 9 OR x = 1: the file is kept without
def test_one_question_has_one_answer_whatever_the_log_claims(
    format_: str, files: list[Any], kinds: tuple[Kind, ...]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        place, rows = MADE[format_](Path(root), files)
        table = mi.open_table(place)
        without = check(table, None)
        table.create_index("stats", *kinds, builder="local")
        found = check(mi.open_table(place), rows if kinds in KINDS[:2] else None)
        for condition, before, after in zip(CONDITIONS, without, found, strict=True):  # no index makes a lie lose more
            assert not (Counter(map(str, before.to_pylist())) - Counter(map(str, after.to_pylist()))), condition
        report = mi.open_table(place).verify_index("stats", files=None)
        assert report.sound
        wrong = [number for number, (rows, claim, _) in enumerate(files) if claim.get("rows", len(rows)) != len(rows)]
        told = {claim.file for claim in report.claims if " rows, the file has " in claim.message}
        assert len(told) == (len(wrong) if any(isinstance(kind, mi.ColumnStats) for kind in kinds) else 0), report


class Claiming(WrittenHistory):
    """Whose manifests claim what they like, beside deletes of every kind."""

    def _append(self, a: int, b: int, c: int) -> None:
        super()._append(a, b, c)
        made, some = self.files[-1].entry, self.random
        made["record_count"] = some.choice([len(self.files[-1].rows), 0, 1, 40])
        for field, form in ((ID, "<q"), (F, "<f"), (DAY, "<i")):
            for count in ("value_counts", "null_value_counts", "nan_value_counts"):
                made.setdefault(count, {})[field] = some.choice([0, 0, 1, len(self.files[-1].rows)])
            for bound in ("lower_bounds", "upper_bounds"):
                made.setdefault(bound, {})[field] = struct.pack(form, some.randint(-2, 9))


@settings(max_examples=max(4, settings.default.max_examples * 10 // 100), deadline=None)
@given(st.sampled_from([2, 3]), st.integers(0, 6), RANDOM, st.sampled_from(["id", "f", "day"]))
def test_deleted_rows_are_in_no_answer_whatever_manifests_claim(
    version: int, steps: int, random: Random, covered: str
) -> None:
    with tempfile.TemporaryDirectory() as root:
        history = Claiming(Path(root) / "t", version, random).run(steps)
        table, conditions = mi.open_table(str(history.root)), ("id >= 2", "id < 4", "f > 1", "f IS NULL", "day IS NULL")
        for indexed in (False, True):
            if indexed:
                table.create_index("stats", mi.ColumnStats(covered), builder="local")
            for at in history.expected:
                tree = table.snapshot(at).schema.predicate(asked := random.choice(conditions), "UTC")
                rows = one_answer(table, asked, at, believed=False)
                if indexed and at == len(history.expected) and asked.startswith(covered):
                    assert plain(rows.to_pylist()) == plain([r for r in history.shown(at) if matches(tree, r)])


ASKED: list[Callable[[mi.Table], object]] = [
    lambda table: table.scan().to_arrow(),
    lambda table: table.count(),
    lambda table: table.count("x = 1"),
    lambda table: table.aggregate(sum=["x"], where="k >= 0"),
    lambda table: table.aggregate(count=["k"], group_by=["x"]),
]


@pytest.mark.parametrize("claimed", [1, 3])
def test_how_many_rows_are_deleted_is_no_answer_either(tmp_path: Path, claimed: int) -> None:
    place, _ = delta(tmp_path, [([(k, 1) for k in range(6)], {}, {0, 5}), ([(7, 1)], {}, set())])
    for entry in Path(place, "_delta_log").iterdir():
        entry.write_text(entry.read_text().replace('"cardinality": 2', f'"cardinality": {claimed}'))
    assert any(f'"cardinality": {claimed}' in e.read_text() for e in Path(place, "_delta_log").iterdir())
    for indexed in (False, True):
        if indexed:
            mi.open_table(place).create_index("stats", mi.ColumnStats(), builder="local")
        for ask in ASKED:
            with pytest.raises(mi.MetaIndexError, match=f"{claimed} rows are deleted, the deletion vector 2"):
                ask(mi.open_table(place))
    assert mi.open_table(place).count("k = 7") == 1  # of the other file
