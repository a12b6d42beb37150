"""Advice: what a layout would leave out, against tables that were written so; what is read for it; statements."""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.advisor.clustering.layouts import Rewrite, SampleColumns, SamplePartitions, files_then
from metaindex.advisor.clustering.overlap import OverlapReads, Ranges, RowPlaces
from metaindex.advisor.clustering.sample import ReadLimit, SampleRows, chosen
from metaindex.formats import FileTable
from tests.advisor.tables import tree
from tests.tables import settled


def scattered(files: int = 20, rows: int = 500) -> list[pa.Table]:
    """Times follow each other, users and names do not; amounts are skewed, and some are NULL."""
    random = np.random.default_rng(7)
    made = []
    for number in range(files):
        users = random.integers(0, 10**6, rows)
        amounts = random.lognormal(size=rows)
        made.append(
            pa.table(
                {
                    "at": np.sort(random.integers(number * 1000, (number + 1) * 1000, rows)),
                    "user": users,
                    "name": [f"name-{one:06d}" for one in random.integers(0, 10**6, rows)],
                    "amount": pa.array(amounts, pa.float64(), mask=random.random(rows) < 0.1),
                }
            )
        )
    return made


def written(folder: Path, tables: list[pa.Table], name: str = "t") -> str:
    return str(settled(folder / name, {f"f{number:03d}.parquet": table for number, table in enumerate(tables)}))


def now(path: str, *columns: str) -> list[float]:
    found = mi.open_table(path).clustering(*columns, sample=0)
    return [found[column].range_files for column in columns]


def test_what_is_promised_of_a_sort_is_what_comes(tmp_path: Path) -> None:
    tables = scattered()
    found = mi.open_table(written(tmp_path, tables)).clustering("user")
    (advice,) = found.advice
    assert (advice.columns, advice.how, advice.files) == (("user",), "sorted by user", 20)
    everything = pa.concat_tables(tables).sort_by("user")
    sorted_ = written(tmp_path, [everything.slice(i * 500, 500) for i in range(20)], "sorted")
    assert advice.effects[0].files_then == pytest.approx(now(sorted_, "user")[0], rel=0.05)
    assert advice.effects[0].files_now == pytest.approx(20)
    assert advice.saving > 0.9
    assert mi.open_table(sorted_).clustering("user").advice == ()


def test_the_advice_tells_what_other_columns_lose(tmp_path: Path) -> None:
    found = mi.open_table(written(tmp_path, scattered())).clustering()
    alone = found.advice[0]
    assert len(alone.columns) == 1
    at = next(one for one in alone.effects if one.column == "at")
    assert not at.wanted
    assert at.files_now < 2.5
    assert at.files_then > 15
    assert "for others" in str(alone)
    assert "name the columns that queries filter by" in str(found)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 12), st.sampled_from(["sort", "ranks", "bits"]), st.booleans())
def test_a_layout_of_all_rows_is_the_one_that_is_predicted(seed: int, files: int, curve: str, nulls: bool) -> None:
    """Where the sample is the table, prediction and measure are the same: every row is counted where it lies."""
    random = np.random.default_rng(seed)
    count = files * 40
    values = [random.integers(-50, 50, count), random.integers(0, 10**12, count)]
    masks = [random.random(count) < 0.2 if nulls else np.zeros(count, bool) for _ in values]
    arrays = tuple(pa.array(one, pa.int64(), mask=mask) for one, mask in zip(values, masks, strict=True))
    sample = SampleRows(arrays, np.repeat(np.arange(files), 40))
    columns = SampleColumns.of(sample)
    groups = SamplePartitions.of(sample, pa.array([""] * files))
    then = files_then(columns, groups, (0, 1), curve, 0.05, whole=True)  # type: ignore[arg-type]
    assert ((then > 0) & (then <= 1)).all()
    if curve == "sort":
        order = np.lexsort([columns.ranks[1], columns.ranks[0]])
        for at, (one, mask) in enumerate(zip(values, masks, strict=True)):
            pieces = [rows[~mask[rows]] for rows in np.split(order, files)]
            some = [one[rows] for rows in pieces if len(rows)]
            ranges = Ranges(*(np.array([end(piece) for piece in some]) for end in (np.min, np.max)))
            seen = RowPlaces.at(one[~mask], np.ones(int((~mask).sum())))
            expected = OverlapReads(ranges, seen).by_range(np.ones(len(some)), 0.05) / files
            assert then[at] == pytest.approx(expected)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
@pytest.mark.slow
def test_a_part_of_the_rows_says_much_the_same_as_all(seed: int) -> None:
    random = np.random.default_rng(seed)
    files, rows = 32, 400
    values = [random.integers(0, 10**9, files * rows), random.lognormal(size=files * rows)]
    whole = SampleRows(tuple(map(pa.array, values)), np.repeat(np.arange(files), rows))
    some = np.sort(random.choice(files * rows, files * rows // 8, replace=False))
    part = SampleRows(tuple(one.take(pa.array(some)) for one in whole.values), whole.file[some])
    found = []
    for sample, all_rows in ((whole, True), (part, False)):
        groups = SamplePartitions.of(sample, pa.array([""] * files))
        found.append(files_then(SampleColumns.of(sample), groups, (0, 1), "ranks", 0.01, whole=all_rows))
    assert found[1] == pytest.approx(found[0], rel=0.25)


def test_rows_are_laid_out_inside_their_partitions(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    random = np.random.default_rng(1)
    for _ in range(6):
        table = pa.table({"day": np.repeat(np.arange(3), 200), "user": random.integers(0, 10**6, 600)})
        write_deltalake(path, table, partition_by=["day"], mode="append")
    (advice,) = mi.open_table(path).clustering("user").advice
    assert advice.files == 18
    # In each of three partitions of six files: a little more than one.
    assert 3 <= advice.effects[0].files_then < 4
    assert advice.rewrite.partitions == ("day",)
    assert advice.rewrite.otherwise() == ()


def test_files_that_are_chosen_among_others_get_no_statement(tmp_path: Path) -> None:
    path = written(tmp_path, scattered())
    for table in (mi.open_table(f"{path}/f00*.parquet"), mi.open_table(path, glob="f00*")):
        found = table.clustering("user")
        assert (found.files, found["user"].average_depth, found.advice) == (10, 10, ())
        assert "no folder that a statement could name" in str(found)


def test_no_more_is_read_than_the_limit(tmp_path: Path) -> None:
    path = written(tmp_path, scattered())
    before = tree(tmp_path)
    table = mi.open_table(path)
    total = table.clustering(sample=0).size_bytes
    assert table.clustering(sample=0).sampled.said == ""
    small = table.clustering("user", sample=0.17)
    assert 0 < small.sampled.size_bytes <= 0.17 * total
    assert (small.sampled.files, small.sampled.limit_bytes) == (15, int(0.17 * total))  # of one column
    assert [one.columns for one in small.advice] == [("user",)]
    nothing = table.clustering("user", sample=0.001)
    assert (nothing.advice, nothing.sampled.files) == ((), 0)
    assert "allow more with sample=" in str(nothing)
    whole = table.clustering("user")
    assert whole.sampled.files == 20
    assert small.sampled.size_bytes < whole.sampled.size_bytes < total  # of the one column
    assert tree(tmp_path) == before


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(1, 100)), max_size=200),
    st.integers(0, 3000),
)
def test_files_are_chosen_within_the_limit_and_in_any_order_the_same(
    files: list[tuple[str, int, int]], limit: int
) -> None:
    def table(order: list[int]) -> FileTable:
        names = ("partition", "modified_ms", "size_bytes")
        rows = [{"path": f"f{one:04d}", **dict(zip(names, files[one], strict=True))} for one in order]
        return FileTable(pa.Table.from_pylist(rows, schema=FileTable.SCHEMA))

    order = list(range(len(files)))
    found = chosen(table(order), limit)
    assert sum(files[one][2] for one in found) <= limit
    assert len(set(found.tolist())) == len(found) <= 64
    backwards = order[::-1]
    assert {backwards[one] for one in chosen(table(backwards), limit)} == set(found.tolist())
    if limit >= sum(size for *_, size in files) and len(files) <= 64:
        assert len(found) == len(files)


@pytest.mark.parametrize(
    ("total", "few", "may"),
    [
        (10**6, 10**6, 10**6),  # small tables are read whole
        (82 * 10**6, 10**7, 32 * 10**6),
        (10**9, 5 * 10**7, 5 * 10**7),  # a few files, however large
        (3 * 10**9, 4 * 10**9, 10**9),  # but no more than the most
        (5 * 10**10, 5 * 10**7, 5 * 10**8),  # a hundredth
        (10**13, 5 * 10**7, 10**9),
    ],
)
def test_a_few_files_may_be_read_of_every_table_and_no_more_than_the_most(total: int, few: int, may: int) -> None:
    assert ReadLimit().of(total, few) == may
    assert ReadLimit(0.5).of(total, few) == total // 2  # the caller's word is kept
    assert ReadLimit(0.5, 0.25).of(total, few) == total // 8
    assert ReadLimit(0.0).of(total, few) == 0


def test_a_file_that_is_gone_costs_the_advice_and_not_the_measure(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for table in scattered(4):
        write_deltalake(path, table, mode="append")
    for uri in DeltaTable(path).file_uris():
        Path(uri.removeprefix("file://")).unlink()
    found = mi.open_table(path).clustering("user")
    assert found["user"].average_depth == 4
    assert found.advice == ()
    assert "cannot be read" in found.sampled.reason


def rewrite(**more: object) -> Rewrite:
    told: dict = {"format": "delta", "path": "/lake/t", "name": "", "columns": (("a",), ("b c",)), "curve": "ranks",
                  "file_bytes": 1000, "files": 9}  # fmt: skip
    return Rewrite(**(told | more))


def test_statements_of_delta_by_path_and_by_name() -> None:
    one = rewrite(path="/lake/it`s")
    assert one.statements() == (
        "SET spark.databricks.delta.optimize.maxFileSize = 1000",
        "OPTIMIZE delta.`/lake/it``s` ZORDER BY (`a`, `b c`)",
    )
    assert one.statements("lake.db.`a-b`")[1] == "OPTIMIZE lake.db.`a-b` ZORDER BY (`a`, `b c`)"
    assert one.otherwise("db.t") == ("ALTER TABLE db.t CLUSTER BY (`a`, `b c`)", "OPTIMIZE db.t FULL")
    assert rewrite(partitions=("day",)).otherwise() == ()


def test_statements_of_iceberg_name_the_catalog_first() -> None:
    one = rewrite(format="iceberg", columns=(("s", "o'k"),), curve="sort", path="/warehouse/db/t")
    assert one.statements("lake.db.t") == (
        "CALL lake.system.rewrite_data_files(table => 'db.t', strategy => 'sort', sort_order => '`s`.`o\\'k` ASC NULLS"
        " FIRST',"
        " options => map('rewrite-all', 'true', 'target-file-size-bytes', '1000'))",
    )
    assert one.statements()[0].startswith("CALL catalog.system.rewrite_data_files(table => 'db.t',")
    assert "zorder(`a`, `b c`)" in rewrite(format="iceberg", curve="bits").statements("c.d.t")[0]
    with pytest.raises(mi.ArgumentError, match="put the catalog first"):
        one.statements("t")


def test_a_sorted_copy_of_plain_files_by_duckdb(tmp_path: Path) -> None:
    tables = scattered(6, 3000)
    path = written(tmp_path, tables, "it's")
    (advice,) = mi.open_table(path).clustering("user").advice
    (statement,) = advice.rewrite.otherwise()
    duckdb.sql(statement)
    copy = Path(f"{path}-sorted")
    files = sorted(copy.iterdir()) if copy.is_dir() else [copy]
    found, by = pa.concat_tables([pq.read_table(file) for file in files]), [("user", "ascending"), ("at", "ascending")]
    assert found.sort_by(by) == pa.concat_tables(tables).sort_by(by)
    assert found.column("user").to_pylist() == sorted(found.column("user").to_pylist())
