"""A refresh builds with the columns that were named when the index was created, whatever they are called by now."""

import shutil
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import UnknownColumnError
from metaindex.formats import Field, Schema
from metaindex.index.kinds.registry import KINDS
from metaindex.index.kinds.renames import kind_at, with_ids
from tests.tables import catalog_in


def iceberg(folder: Path) -> Any:
    catalog = catalog_in(folder)
    return catalog.create_table("db.t", pa.schema([("a", pa.int64()), ("s", pa.struct([("x", pa.int64())]))]))


def test_ids_are_kept_beside_what_was_asked_for() -> None:
    def field(name: str, number: int) -> Field:
        return Field(name, pa.int64(), stable=f"id:{number}")

    before = Schema((field("a", 1), field("b", 2), field("C", 3)))
    after = Schema((field("b", 1), field("c", 2), field("d", 3), field("a", 4)))
    for kind, now in {
        mi.ColumnStats("a", "b"): mi.ColumnStats("`b`", "`c`"),
        mi.ColumnStats(): mi.ColumnStats(),
        mi.Values(("a", "c"), "b"): mi.Values(("`b`", "`d`"), "`c`"),
        mi.Bloom("b", fpp=0.1): mi.Bloom("`c`", fpp=0.1),
        mi.Covering(["c"], ["a"], 7): mi.Covering(["`d`"], ["`b`"], 7),
        mi.CoveringRange("a"): mi.CoveringRange("`b`"),
    }.items():
        spec = with_ids(kind.spec(), before)
        assert KINDS.of(spec) == kind
        assert kind_at(spec, after) == now
        assert kind_at(kind.spec(), after) == kind, "an entry of before keeps the names"
    gone = Schema((field("a", 5), field("b", 2)))
    assert kind_at(with_ids(mi.ColumnStats("a").spec(), before), gone) == mi.ColumnStats("a")
    taken = Schema((field("a", 2), field("C", 3)))
    with pytest.raises(UnknownColumnError, match="'a' is gone, and its name is another's"):
        kind_at(with_ids(mi.Covering("a", "b").spec(), before), taken)
    called_b = Schema((field("b", 7), field("c", 8)))  # it was called b, was dropped, and another b came
    with pytest.raises(
        UnknownColumnError, match=r"was 'a' when the index was made is gone, whatever it was called since"
    ):
        kind_at(with_ids(mi.ColumnStats("a").spec(), before), called_b)
    plain = Schema((Field("a", pa.int64()),))
    assert with_ids(mi.ColumnStats("a").spec(), plain) == mi.ColumnStats("a").spec()
    with pytest.raises(UnknownColumnError, match="near names: a"):
        with_ids(mi.Values("aa").spec(), plain)


def test_a_dropped_column_does_not_stop_the_others(tmp_path: Path) -> None:
    written = iceberg(tmp_path)
    path = str(tmp_path / "warehouse" / "db" / "t")

    def append(start: int) -> None:
        structs = [{"x": i} for i in range(start, start + 10)]
        data = {
            "a": pa.array(range(start, start + 10), pa.int64()),
            "s": pa.array(structs, pa.struct([("x", pa.int64())])),
        }
        written.append(pa.table({name: data[name] for name in written.schema().as_arrow().names}))

    append(0)
    table = mi.open_table(path)
    kinds = [mi.ColumnStats("a", "s.x"), mi.Values("a", "s.x", ("a", "s.x")), mi.Bloom("s.x"), mi.ValueList("a")]
    table.create_index("i", *kinds, builder="local")
    table.create_index("only", mi.ColumnStats("a"), builder="local")
    first = table.snapshot().version.id
    with written.update_schema() as update:
        update.delete_column("a")
    append(10)
    table = mi.open_table(path)
    for mode in ("incremental", "full"):
        table.refresh_index("i", mode=mode, builder="local")
        assert table.indexes()[0].fresh
        for predicate, files in {"s.x = 13": 1, "s.x < 10": 1, "s.x > 90": 0, "s.x IN (3, 14)": 2}.items():
            assert table.prune(predicate, indexes=["i"]).kept_files == files, predicate
        if mode == "incremental":
            assert table.prune("a = 5", first, indexes=["i"]).kept_files == 1
            assert table.prune("a = 50", first, indexes=["i"]).kept_files == 0, "what is known of it is known on"
            table.optimize_index("i", "full")
        assert table.verify_index("i", files=None).sound
    with pytest.raises(UnknownColumnError, match="there is no 'a'"):
        table.refresh_index("only", builder="local")


@pytest.mark.parametrize("format_", ["delta", "parquet"])
@pytest.mark.slow
def test_a_lost_column_of_a_format_without_ids_does_not_stop_the_others(tmp_path: Path, format_: str) -> None:
    root = tmp_path / "t"

    def overwrite(data: pa.Table) -> None:
        if format_ == "delta":
            deltalake.write_deltalake(str(root), data, mode="overwrite", schema_mode="overwrite")
        else:
            shutil.rmtree(root / "part", ignore_errors=True)
            (root / "part").mkdir(parents=True)
            pq.write_table(data, root / "part" / "0.parquet")

    overwrite(pa.table({"a": [1, 2], "b": [3, 4]}))
    table = mi.open_table(str(root))
    table.create_index("i", mi.ColumnStats("a", "b"), mi.Values("a", "b", ("a", "b")), mi.Bloom("a"), builder="local")
    table.create_index("only", mi.ColumnStats("a"), builder="local")
    overwrite(pa.table({"b": [5, 6]}))
    for mode in ("incremental", "full"):
        table = mi.open_table(str(root))
        table.refresh_index("i", mode=mode, builder="local")
        assert [one.fresh for one in table.indexes() if one.name == "i"] == [True]
        for value, files in {5: 1, 4: 0, 9: 0}.items():
            assert table.prune(f"b = {value}", indexes=["i"]).kept_files == files, value
        assert table.verify_index("i", files=None).sound
        with pytest.raises(UnknownColumnError, match=r"there is no 'a'.*delete and vacuum it, and create one"):
            table.refresh_index("only", mode=mode, builder="local")
    overwrite(pa.table({"a": [5, 6], "b": [7, 8]}))
    table = mi.open_table(str(root))
    table.refresh_index("i", builder="local")
    assert table.prune("a = 5", indexes=["i"]).kept_files == 1
    assert table.prune("a = 9", indexes=["i"]).kept_files == 0, "a column that came back is kept up again"
