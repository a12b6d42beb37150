"""An index is credited with what the table's own statistics would not have left out, and with nothing else."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.query.explanation import Credit
from tests.tables import settled

FILES = 8


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> mi.Table:
    """A file a day; users lie scattered, each in one file. Its log has statistics of both."""
    path = tmp_path_factory.mktemp("credit") / "t"
    users = np.random.default_rng(1).permutation(FILES * 50)
    for day in range(FILES):
        rows = {"day": [day] * 50, "user": users[day * 50 : day * 50 + 50]}
        write_deltalake(path, pa.table(rows), mode="append")
    table = mi.open_table(path)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    table.create_index("who", mi.Values("user"), builder="local")
    return table


def test_statistics_that_the_log_has_too_gain_nothing(delta: mi.Table) -> None:
    told = delta.explain("day < 2")
    assert told.result.kept_files == 2
    assert told.credit.own_files == FILES - 2
    assert told.credit.beyond == {"stats": 0}
    assert f"Left out without an index, by the table's own statistics: {FILES - 2} files of {FILES}" in str(told)
    assert "stats leaves out of the others: none, so it gains this query nothing" in str(told)
    assert told.to_json()["beyond"] == {"stats": 0}


def test_what_only_the_index_leaves_out_is_its_own(delta: mi.Table) -> None:
    (user,) = delta.scan("day = 1", columns=["user"], limit=1).to_arrow()["user"].to_pylist()
    told = delta.explain(f"user = {user}")
    assert told.credit.own_files <= 1  # of the file that the least or the greatest user is not in
    assert told.credit.beyond["who"] == FILES - 1 - told.credit.own_files
    assert told.credit.beyond.get("stats", 0) == 0


def test_of_both_each_has_its_part(delta: mi.Table) -> None:
    (user,) = delta.scan("day = 1", columns=["user"], limit=1).to_arrow()["user"].to_pylist()
    told = delta.explain(f"day < 4 AND user = {user}")
    assert told.credit.own_files >= FILES - 4
    assert told.credit.beyond["stats"] == 0
    assert told.credit.beyond["who"] == FILES - 1 - told.credit.own_files


def test_of_keys_too(delta: mi.Table) -> None:
    told = delta.explain(keys=pa.table({"day": [1, 2]}), on=["day"])
    assert (told.credit.own_files, told.credit.beyond["stats"]) == (FILES - 2, 0)


def test_plain_files_have_no_statistics_of_their_own(tmp_path: Path) -> None:
    settled(tmp_path, {f"{number}.parquet": pa.table({"k": [number]}) for number in range(4)})
    table = mi.open_table(tmp_path)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    told = table.explain("k = 2")
    assert (told.credit.own_files, told.credit.beyond) == (0, {"stats": 3})
    assert "by the table's own statistics: no file\n  stats leaves out of the others: 3 files" in str(told)


def test_partitions_are_the_tables_own(tmp_path: Path) -> None:
    settled(tmp_path, {f"p={number}/f.parquet": pa.table({"k": [number]}) for number in range(4)})
    table = mi.open_table(tmp_path)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    assert table.explain("p = 2").credit in (Credit(3, {}), Credit(3, {"stats": 0}))
    both = table.explain("p < 3 AND k = 2").credit
    assert (both.own_files, both.beyond["stats"]) == (1, 2)


def test_without_an_index_nobody_is_credited(delta: mi.Table) -> None:
    told = delta.explain("day < 2", indexes=[])
    assert told.credit.beyond == {}
    assert "Left out without" not in str(told)


def test_a_table_that_cannot_be_read_any_more_is_explained_all_the_same(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"k": [1]}))
    write_deltalake(tmp_path / "t", pa.table({"k": [2]}), mode="append")
    table = mi.open_table(tmp_path / "t")
    table.create_index("stats", mi.ColumnStats(), builder="local")
    version = table.snapshot().version
    other = mi.open_table(tmp_path / "t")
    log = tmp_path / "t" / "_delta_log"
    (log / "00000000000000000000.json").unlink()  # its first commit; the last one stays
    try:
        told = other.explain("k = 1", version=version)
    finally:
        shutil.rmtree(tmp_path / "t")
    assert told.result.kept_files == 1
    assert told.credit is None


def test_a_statement_says_who_gains(delta: mi.Table) -> None:
    rows = mi.sql(f"EXPLAIN INDEXES SELECT * FROM '{delta.path}' WHERE day < 2").to_json()
    used = {row["index"]: (row["used"], row["reason"]) for row in rows}
    assert used["stats"] == (False, "leaves out no file that the table's own statistics do not leave out")
    (user,) = delta.scan("day = 1", columns=["user"], limit=1).to_arrow()["user"].to_pylist()
    rows = mi.sql(f"EXPLAIN INDEXES SELECT * FROM '{delta.path}' WHERE user = {user}").to_json()
    assert {row["index"]: row["used"] for row in rows}["who"] is True
