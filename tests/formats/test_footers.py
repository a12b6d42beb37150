"""Footer statistics: each thing that is not to be believed, and damage."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaindex.formats.parquet.bounds import RawColumn, aggregate
from metaindex.formats.parquet.footers import read_footers
from metaindex.formats.parquet.schema import Coding, FileType
from metaindex.formats.parquet.trust import Doubt, Found
from metaindex.storage import LocalStorage
from tests.formats.footers_of import doubt, footers, one, said, schema_of


def test_statistics_left_out_are_unknown_and_never_all_null(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, None], "b": ["x", "y", None]})
    pq.write_table(table, tmp_path / "a.parquet", write_statistics=["a"])
    statistics = footers([tmp_path / "a.parquet"], table.schema)
    assert said(one(statistics, "a")) == (1, 2, 1)
    assert said(one(statistics, "b")) == (None, None, None)
    assert doubt(one(statistics, "b")) == Doubt.NO_STATISTICS.value
    assert one(statistics, "b").needs_scan().to_pylist() == [True]


def test_one_row_group_without_statistics_makes_the_file_unknown(tmp_path: Path) -> None:
    # Values too long for statistics are left out by this writer's limit for that row group alone.
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(path, pa.schema([("s", pa.string())])) as writer:
        writer.write_table(pa.table({"s": ["b", "c"]}))
        writer.write_table(pa.table({"s": ["a" * 100_000]}))
    statistics = footers([path], pa.schema([("s", pa.string())]))
    group = pq.read_metadata(path).row_group(1).column(0).statistics
    if group is None or not group.has_min_max:
        assert doubt(one(statistics, "s")) == Doubt.NO_STATISTICS.value
        assert said(one(statistics, "s"))[:2] == (None, None)
    else:
        assert said(one(statistics, "s"))[:2] == ("a" * 100_000, "c")


def test_row_groups_all_null_and_empty_files_lend_no_bounds(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int32())])
    with pq.ParquetWriter(tmp_path / "some.parquet", schema) as writer:
        writer.write_table(pa.table({"a": pa.array([None, None], pa.int32())}))
        writer.write_table(pa.table({"a": pa.array([5, None], pa.int32())}))
    pq.write_table(pa.table({"a": pa.array([None], pa.int32())}), tmp_path / "null.parquet")
    pq.write_table(schema.empty_table(), tmp_path / "empty.parquet")
    pq.ParquetWriter(tmp_path / "none.parquet", schema).close()  # no row group at all
    names = ["some", "null", "empty", "none"]
    column = one(footers([tmp_path / f"{n}.parquet" for n in names], schema), "a")
    assert [said(column, row) for row in range(4)] == [(5, 5, 3), (None, None, 1), (None, None, 0), (None, None, 0)]
    assert [doubt(column, row) for row in range(4)] == [None] * 4


def test_arrow_does_not_count_null_structs_around_a_dictionary(tmp_path: Path) -> None:
    words = pa.array(["a", "b", "c"]).dictionary_encode()
    table = pa.table(
        {
            "s": pa.StructArray.from_arrays([words], ["word"], mask=pa.array([False, True, False])),
            "none": pa.StructArray.from_arrays([pa.nulls(3, pa.string())], ["word"]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0).column(0).statistics.null_count == 0  # wrong
    found = footers([tmp_path / "a.parquet"], table.schema)
    assert said(one(found, "s.word"))[2] is None
    assert said(one(found, "none.word"))[2] == 3


def test_nan_leaves_bounds_of_the_numbers_and_an_unknown_count(tmp_path: Path) -> None:
    table = pa.table({"f": [1.0, math.nan, None], "g": [math.nan, math.nan, math.nan], "n": pa.nulls(3, pa.float64())})
    pq.write_table(table, tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], table.schema)
    assert said(one(statistics, "f")) == (1.0, 1.0, 1)
    assert said(one(statistics, "g"))[:2] == (None, None)
    assert doubt(one(statistics, "g")) is not None
    assert [one(statistics, c).needs_scan().to_pylist() for c in "fgn"] == [[True], [True], [False]]


def test_bounds_of_text_are_never_exact(tmp_path: Path) -> None:
    pq.write_table(pa.table({"s": ["a"], "n": [1]}), tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], pa.schema([("s", pa.string()), ("n", pa.int64())]))
    assert one(statistics, "s").bounds.lower_exact.to_pylist() == [False]
    assert one(statistics, "n").bounds.lower_exact.to_pylist() == [True]


def test_a_file_that_cannot_be_read_is_told_and_touches_no_other(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2]})
    for name in ("good", "cut", "junk", "resized"):
        pq.write_table(table, tmp_path / name)
    whole = (tmp_path / "good").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-20])
    (tmp_path / "junk").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "broken").write_bytes(whole[:-60] + b"\xff" * 52 + whole[-8:])
    names = ["cut", "good", "junk", "missing", "resized", "broken", "good"]
    sizes = [len(whole)] * len(names)
    sizes[0], sizes[2], sizes[4] = len(whole) - 20, 8, len(whole) + 1
    leaves = schema_of(table.schema).leaves()
    statistics = read_footers(LocalStorage(str(tmp_path)), names, leaves, sizes=sizes)
    failures = statistics.failures.to_pylist()
    assert [f is None for f in failures] == [False, True, False, False, False, False, True]
    assert all(name in (failure or name) for name, failure in zip(names, failures, strict=True))
    column = one(statistics, "a")
    assert [said(column, r) for r in (1, 6)] == [(1, 2, 0)] * 2
    assert said(column, 0) == (None, None, None)
    assert doubt(column, 3) == Doubt.UNREADABLE.value
    assert column.value_count.to_pylist() == [None, 2, None, None, None, None, 2]


def test_every_truncation_is_a_failure_or_the_truth(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "s": ["x", "y"]}), tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    schema = schema_of(pa.schema([("a", pa.int64()), ("s", pa.string())])).leaves()
    for length in range(0, len(whole), 7):
        (tmp_path / "cut").write_bytes(whole[:length])
        assert read_footers(LocalStorage(str(tmp_path)), ["cut"], schema).failures[0].is_valid


@pytest.mark.slow
def test_a_footer_larger_than_the_first_read_is_read_whole(tmp_path: Path) -> None:
    table = pa.table({f"column_{n}": [n] for n in range(2000)})
    pq.write_table(table, tmp_path / "wide.parquet")
    statistics = footers([tmp_path / "wide.parquet"], table.schema)
    assert said(statistics.columns[1999])[:2] == (1999, 1999)


def test_no_files_and_no_leaves_are_fine(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a")
    storage = LocalStorage(str(tmp_path))
    assert len(read_footers(storage, [], schema_of(pa.schema([("a", pa.int64())])).leaves()).num_rows) == 0
    assert read_footers(storage, ["a"], []).num_rows.to_pylist() == [1]


def test_many_files_over_threads_keep_their_order(tmp_path: Path) -> None:
    paths = []
    for n in range(300):
        paths.append(tmp_path / f"{n}.parquet")
        column = {"a": [n, None]} if n % 3 else {"b": ["x"], "a": [n]}
        pq.write_table(pa.table(column), paths[-1])
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    many, single = footers(paths, schema, threads=4), footers(paths, schema, threads=1)
    assert one(many, "a").bounds.lower.to_pylist() == list(range(300))
    for left, right in zip(many.columns, single.columns, strict=True):
        assert left.doubt.to_pylist() == right.doubt.to_pylist()
        assert left.bounds.null_count == right.bounds.null_count


@pytest.mark.parametrize(
    ("nulls", "values", "known"),
    [
        (3, 10, True),
        (10, 10, True),
        (0, 10, True),
        (None, 10, False),
        (-1, 10, False),
        (11, 10, False),  # more than there are values
        (3, 9, False),  # the values are not those of the rows
        (3, 11, False),
        (9, 9, False),  # all of them, and one row more
    ],
)
def test_a_count_of_nulls_that_cannot_be_is_not_known(nulls: int | None, values: int, known: bool) -> None:
    found = Found(0, FileType(pa.int64(), Coding.NUMBER, "INT64", 8), False, None)
    raw = RawColumn(found, [None], [None], [nulls], [values], [80], [80])
    said = aggregate(raw, np.array([1]), np.array([10]), np.array([False]), pa.int64())
    assert said.nulls.to_pylist() == [nulls if known else None]
