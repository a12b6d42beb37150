"""Whatever becomes of a table, a query that uses what was remembered gives the rows of one that does not, at every
version; and of row groups, what is remembered is true of rows that other versions have."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.expressions.statistics import Mask
from metaindex.formats.model import EqualityDelete, Field, Leaf, Schema
from metaindex.pruning.condition import predicate_of
from metaindex.readers import Scan
from metaindex.readers.plan import ScanPlan
from tests.readers.lake import Lake

FILTERS = (
    "s LIKE '%{c}%'",
    "s LIKE '{c}%'",
    "upper(s) = 'A{n}'",
    "n + 1 = {n}",
    "n = {n}",
    "n <> {n}",
    "n IS NULL",
    "s IS NULL",
    "coalesce(n, {n}) + 0 = {n}",
    "length(coalesce(s, '')) = 0",
    "s IS NOT NULL AND n > {n}",
    "NOT (s LIKE '%{c}')",
    "n IN ({n}, 3, NULL)",
    "s NOT IN ('a{n}', 'b1')",
    "n % 3 = 1 OR s LIKE '%{c}{n}'",
)
where = st.builds(
    lambda text, c, n: text.format(c=c, n=n), st.sampled_from(FILTERS), st.sampled_from("abc"), st.integers(0, 6)
)
texts = st.none() | st.builds(lambda c, n: f"{c}{n}", st.sampled_from("abc"), st.integers(0, 6))
numbers = st.none() | st.integers(0, 6)
some_rows = st.lists(st.tuples(texts, numbers), min_size=1, max_size=12)
SCHEMA = Schema((Field("s", pa.string()), Field("n", pa.int64())))


class Kept:
    """What is found out of one scan."""

    def __init__(self) -> None:
        self.groups: dict[int, Mask] = {}

    def __call__(self, scan: ScanPlan) -> Kept:
        return self

    def wants(self, row: int) -> bool:
        return True

    def keep(self, row: int, may: Mask) -> None:
        self.groups[row] = may


@given(some_rows, where, st.integers(1, 5), st.sets(st.integers(0, 11)), st.none() | numbers, st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_row_group_without_a_bit_has_no_row_that_matches_deleted_or_not(
    rows: Sequence[tuple[str | None, int | None]],
    asked: str,
    size: int,
    gone: set[int],
    value: int | None,
    by_value: bool,
) -> None:
    content = pa.table({"s": [s for s, _ in rows], "n": [n for _, n in rows]}, SCHEMA.arrow())
    with TemporaryDirectory() as folder:
        lake = Lake(Path(folder), SCHEMA)
        lake.add("f.parquet", content, row_group_size=size)
        matching = [row["at"] for row in _numbered(folder, content, asked)]
        positions = sorted(at for at in gone if at < len(rows))
        equality = [EqualityDelete((Leaf((SCHEMA.fields[1],)),), pa.table({"n": pa.array([value], pa.int64())}))]
        if positions or by_value:
            lake.delete(0, positions, equality if by_value else ())
        scan, kept = _scan(lake, asked), Kept()
        assert replace(scan, watching=kept).to_arrow() == scan.to_arrow()
    groups = -(-len(rows) // size)
    held = {at // size for at in matching}
    assert set(np.flatnonzero(kept.groups[0]).tolist()) == held
    assert len(kept.groups[0]) == groups


def _numbered(folder: str, content: pa.Table, asked: str) -> list[dict[str, Any]]:
    """The rows that match, of all that the file has."""
    schema = Schema((*SCHEMA.fields, Field("at", pa.int64())))
    lake = Lake(Path(folder) / "whole", schema)
    lake.add("f.parquet", content.append_column("at", pa.array(range(len(content)))))
    return _scan(lake, asked).to_arrow().to_pylist()


def _scan(lake: Lake, asked: str) -> Scan:
    return replace(lake.scan(), predicate=predicate_of(asked, lake.schema, "UTC"))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), some_rows),
        st.tuples(st.just("overwrite"), some_rows),
        st.tuples(st.just("delete"), st.integers(0, 6)),
        st.tuples(st.just("ask"), where),
        st.tuples(st.just("again"), where),
        st.tuples(st.sampled_from(("rename", "drop", "add", "widen", "swap", "anew")), st.none()),
    ),
    min_size=3,
    max_size=7,
)


@example([("a1", 1)], [("anew", None)], ["coalesce(n, 0) + 0 = 0"])
@example([("a1", 1)], [("swap", None)], ["length(coalesce(s, '')) = 0"])
@example([("a1", 1), ("b2", None)], [("ask", "n + 1 = 2"), ("widen", None), ("append", [("c", 1)])], ["n = 1"])
@given(some_rows, steps, st.lists(where, min_size=1, max_size=2, unique=True))
@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_remembered_answers_are_the_plain_ones_at_every_version(
    first: Any, history: Sequence[tuple[str, Any]], asked: list[str]
) -> None:
    with TemporaryDirectory() as folder:
        table = _Iceberg(Path(folder))
        table.append(first)
        config = mi.Config(remember_filters=True)
        opened = mi.open_table(table.path, config=config)
        every = dict.fromkeys([*asked, *(what for verb, what in history if verb in ("ask", "again"))])
        for verb, what in (*history, ("again", None)):
            if verb == "append" or verb == "overwrite":
                getattr(table, verb)(what)
            elif verb == "delete":
                table.delete(what)
            elif verb in ("ask", "again"):
                opened = mi.open_table(table.path, config=config) if verb == "ask" else opened
                for text in every:
                    _same(opened, mi.open_table(table.path), text)
            else:
                table.alter(verb)


def _same(table: mi.Table, plain: mi.Table, text: str) -> None:
    for version in [*plain.versions(), None]:
        try:
            expected = plain.scan(text, version=version).to_arrow()
        except mi.MetaIndexError:
            continue  # a column of the condition is not one of the version's
        for _ in range(2):
            found = table.scan(text, version=version)
            assert sorted(map(repr, found.to_arrow().to_pylist())) == sorted(map(repr, expected.to_pylist()))
        assert table.count(text, version=version) == len(expected)


class _Iceberg:
    """A table with a text `s` and a number `n`, whose names move between its columns."""

    def __init__(self, folder: Path) -> None:
        from pyiceberg.catalog.sql import SqlCatalog
        from pyiceberg.schema import Schema as IcebergSchema
        from pyiceberg.types import IntegerType, NestedField, StringType

        catalog = SqlCatalog("local", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
        catalog.create_namespace("db")
        fields = (NestedField(1, "s", StringType(), required=False), NestedField(2, "n", IntegerType(), required=False))
        self.table = catalog.create_table("db.t", IcebergSchema(*fields))
        self.path = str(folder / "warehouse" / "db" / "t")
        self._moves = 0

    def _rows(self, rows: Sequence[tuple[str | None, int | None]]) -> pa.Table:
        out = []
        for f in self.table.schema().as_arrow():
            kind = 0 if pa.types.is_string(f.type) or pa.types.is_large_string(f.type) else 1
            out.append(pa.array([row[kind] for row in rows], f.type))
        return pa.table(out, names=self.table.schema().as_arrow().names)

    def append(self, rows: Any) -> None:
        self.table.append(self._rows(rows))

    def overwrite(self, rows: Any) -> None:
        self.table.overwrite(self._rows(rows))

    def delete(self, number: int) -> None:
        names = [f.name for f in self.table.schema().fields if f.name == "n"]
        if names:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Delete operation did not match any records")
                self.table.delete(f"n = {number}")

    def alter(self, verb: str) -> None:
        from pyiceberg.types import IntegerType, LongType, StringType

        names = {f.name: f for f in self.table.schema().fields}
        self._moves += 1
        with self.table.update_schema(allow_incompatible_changes=True) as update:
            if verb == "rename" and "n" in names:
                update.rename_column("n", f"old{self._moves}")
            elif verb in ("drop", "anew") and "n" in names and len(names) > 1:
                update.delete_column("n")
            elif verb == "add" and "n" not in names:
                update.add_column("n", IntegerType())
            elif verb == "widen" and "n" in names and isinstance(names["n"].field_type, IntegerType):
                update.update_column("n", LongType())
            elif verb == "swap" and "s" in names:
                update.rename_column("s", f"before{self._moves}")
        if verb == "swap" and "s" in names:
            with self.table.update_schema() as update:
                update.add_column("s", StringType())
        if verb == "anew" and "n" in names:
            with self.table.update_schema() as update:
                update.add_column("n", IntegerType())
