"""Texts with a collation (Delta's `__COLLATIONS`): values that are equal differ in bytes, so that nothing is indexed of
them and nothing left out by them; the other columns are, and who reads the column gets the texts."""

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from tests.duck import connected
from tests.query.readers.lake import rewritten

COLLATED = {"c": {"__COLLATIONS": {"c": "spark.UTF8_LCASE"}}, "x": {"__COLLATIONS": {"x": "spark.UTF8_LCASE"}}}


def rows(first: int) -> pa.Table:
    ids = range(first, first + 4)
    return pa.table(
        {"id": pa.array(ids, pa.int64()), "c": ["a", "A", "b", None], "s": [{"x": f"x{i}", "n": i} for i in ids]}
    )


def lake(folder: Path, **how: Any) -> str:
    """Three files, whose table's schema says what Spark writes of collations."""
    path = folder / "t"
    for first in (0, 10, 20):
        deltalake.write_deltalake(path, rows(first), mode="append", **how)

    def described(said: dict[str, Any]) -> None:
        _, c, s = said["fields"]
        c["metadata"] |= COLLATED["c"]
        s["type"]["fields"][0]["metadata"] |= COLLATED["x"]

    rewritten(path / "_delta_log" / "00000000000000000000.json", "metaData", described, "schemaString")
    return str(path)


def test_other_columns_are_indexed_and_the_collated_ones_keep_all(tmp_path: Path) -> None:
    table = mi.open_table(lake(tmp_path))
    outcome = table.create_index("found", mi.ColumnStats(), mi.Values("id"), mi.Bloom("s.n"), builder="local")
    assert "2 columns and 2 keys" in str(outcome)
    assert [table.prune(f"id = {n}").kept_files for n in (11, 15)] == [1, 0]
    assert table.prune("s.n = 21").kept_files == 1
    for text in ("c = 'none'", "c > 'z'", "c IN ('none')", "c LIKE 'z%'", "s.x = 'none'", "c IS NULL", "c <> 'a'"):
        result = table.prune(text)
        assert result.kept_files == 3, text
        assert result.not_understood, text
        assert not len(result.certain), text
        assert table.prune(f"{text} AND id = 11").kept_files == 1
        assert table.prune(f"{text} OR id = 11").kept_files == 3
    table.refresh_index("found", mode="full", builder="local")
    assert table.verify_index("found", files=None).sound


@pytest.mark.parametrize("kind", [mi.ColumnStats("c"), mi.Values("c"), mi.Bloom("s.x"), mi.ValueList("c")])
def test_an_index_of_the_column_itself_is_refused_by_name(tmp_path: Path, kind: Any) -> None:
    with pytest.raises(mi.UnknownColumnError, match=r"'c'|'s\.x'"):
        mi.open_table(lake(tmp_path)).create_index("none", kind, builder="local")


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("partitioned", [False, True])
def test_who_reads_the_column_gets_the_texts(tmp_path: Path, indexed: bool, partitioned: bool) -> None:
    path = lake(tmp_path, **({"partition_by": ["c"]} if partitioned else {}))
    table = mi.open_table(path)
    if indexed:
        table.create_index("found", mi.ColumnStats(), builder="local")
    own = deltalake.DeltaTable(path).to_pyarrow_table()
    order = [("id", "ascending")]
    assert table.scan().to_arrow().sort_by(order).to_pylist() == own.sort_by(order).to_pylist()
    found = table.scan("id >= 10 AND id < 13").to_arrow().sort_by(order)
    assert found.to_pylist() == [row for row in own.sort_by(order).to_pylist() if 10 <= row["id"] < 13]
    assert found.schema.field("c").type == pa.string()
    assert table.scan("id = 11", ["c"]).to_arrow().to_pylist() == [{"c": "A"}]
    with connected() as con:
        relation = table.scan("id < 20").to_duckdb(con)
        assert sorted(relation.filter("c = 'A'").project("id").fetchall()) == [(1,), (11,)]
        assert sorted(relation.filter("c IS NULL").project("id").fetchall()) == [(3,), (13,)]
    dataset = table.scan("id < 20").to_dataset()
    assert dataset.to_table(columns=["s"]).column("s").to_pylist()[0].keys() == {"x", "n"}


def test_a_condition_on_the_column_is_for_an_engine_that_knows_collations(tmp_path: Path) -> None:
    with pytest.raises(mi.ScanError, match="cannot apply"):
        mi.open_table(lake(tmp_path)).scan("c = 'A'").to_arrow()
