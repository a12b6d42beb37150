"""What a writer knows of its commit: floats are not read again to count NaN, and nothing is believed that the commit
does not bear out."""

import math
import threading
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.index.actions.refresh import without_nan
from metaindex.index.build import collect
from metaindex.ops import hooks
from tests.tables import catalog_in

NAN, INF = math.nan, math.inf
NUMBERS = st.one_of(st.none(), st.sampled_from([NAN, INF, -INF, 0.0, -0.0, 1e308, -1e308]), st.floats())


def rows(*values: float | None, type_: pa.DataType | None = None) -> pa.Table:
    type_ = type_ or pa.float64()
    return pa.table({"id": pa.array(range(len(values)), pa.int64()), "x": pa.array(values, type_)})


def indexed(root: Path, *kinds: mi.ColumnStats) -> str:
    path = str(root / "lake")
    deltalake.write_deltalake(path, rows(1.0))
    for number, kind in enumerate(kinds or (mi.ColumnStats(),)):
        mi.open_table(path).create_index(f"stats-{number}", kind, builder="local")
    return path


def counted(path: str, index: str = "stats-0") -> dict[str, int | None]:
    """NaN in `x` of each file, as the index says."""
    found = mi.open_table(path).statistics(index, "x")
    return dict(zip(found.column("path").to_pylist(), found.column("nan_count").to_pylist(), strict=True))


def true_counts(path: str) -> dict[str, int]:
    out = {}
    for name in mi.open_table(path).snapshot().files.paths.to_pylist():
        values = pq.ParquetFile(Path(path) / name).read(["x"]).column("x").to_pylist()
        out[name] = sum(value is not None and math.isnan(value) for value in values)
    return out


def no_scan(*_: object) -> None:
    raise AssertionError("data is read again")


def test_a_synchronous_hook_reads_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = indexed(tmp_path, mi.ColumnStats(), mi.ColumnStats(trust_log=True))
    monkeypatch.setattr(collect.ParquetScanner, "__call__", no_scan)
    before = hooks.counts().failed
    hooks.deltalake.write_deltalake(path, rows(1.5, None, -INF), mode="append", hook="synchronous")
    assert hooks.counts().failed == before
    assert counted(path) == counted(path, "stats-1") == true_counts(path)
    assert mi.open_table(path).prune("x > 2").files.paths.to_pylist() == []


@settings(max_examples=30, deadline=None)
@given(st.lists(NUMBERS, max_size=6), st.sampled_from([pa.float32(), pa.float64()]))
def test_whatever_is_said_to_be_without_nan_is(values: list[float | None], type_: pa.DataType) -> None:
    column = rows(*values, type_=type_).column("x")
    if without_nan(column):
        assert not any(value is not None and math.isnan(value) for value in column.to_pylist())


@pytest.mark.parametrize("values", [(NAN,), (1.0, NAN), (INF, -INF), (None, NAN), ()])
def test_nan_are_counted_where_they_may_be(tmp_path: Path, values: tuple[float | None, ...]) -> None:
    path = indexed(tmp_path, mi.ColumnStats(), mi.ColumnStats(trust_log=True))
    for mode in ("append", "overwrite"):
        hooks.deltalake.write_deltalake(path, rows(*values), mode=mode, hook="synchronous")
    found, true = counted(path), true_counts(path)
    assert {name: found[name] for name in true} == true
    assert {name: counted(path, "stats-1")[name] for name in true} == true


def test_files_of_other_commits_are_not_vouched_for(tmp_path: Path) -> None:
    path = indexed(tmp_path)
    deltalake.write_deltalake(path, rows(NAN), mode="append")  # nobody tells of it
    hooks.deltalake.write_deltalake(path, rows(2.0), mode="append", hook="synchronous")
    assert counted(path) == true_counts(path)
    assert sorted(true_counts(path).values()) == [0, 0, 1]


def test_rows_that_a_predicate_keeps_are_not_the_writers(tmp_path: Path) -> None:
    path = indexed(tmp_path)
    deltalake.write_deltalake(path, rows(NAN, NAN), mode="overwrite")
    hooks.deltalake.write_deltalake(
        path, rows(2.0), mode="overwrite", predicate="id = 0", hook="synchronous"
    )  # the row with id 1 is written anew beside it
    true = true_counts(path)
    assert sum(true.values()) == 1
    assert {name: counted(path)[name] for name in true} == true


def test_a_table_that_is_made_by_the_write(tmp_path: Path) -> None:
    path = str(tmp_path / "lake")
    hooks.deltalake.write_deltalake(path, rows(1.0), mode="append", hook="synchronous")
    assert mi.open_table(path).snapshot().files.paths.length() == 1


@pytest.mark.slow
def test_pyiceberg_tells_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = catalog_in(tmp_path).create_table("db.lake", rows(1.0).schema)
    table.append(rows(1.0))
    path = str(tmp_path / "warehouse" / "db" / "lake")
    mi.open_table(path).create_index("stats-0", mi.ColumnStats(), builder="local")
    hooks.pyiceberg.append(table, rows(NAN, 2.0), hook="synchronous")
    assert sorted(counted(path).values(), key=str) == [0, 1]
    monkeypatch.setattr(collect.ParquetScanner, "__call__", no_scan)
    hooks.pyiceberg.append(table, rows(3.0, None), hook="synchronous")
    assert sorted(counted(path).values(), key=str) == [0, 0, 1]
    assert mi.open_table(path).indexes()[0].fresh


@pytest.mark.slow
def test_writers_beside_each_other_vouch_for_their_own_commits_only(tmp_path: Path) -> None:
    path = indexed(tmp_path)

    def write(number: int) -> None:
        for turn in range(6):
            value = NAN if (number + turn) % 2 else float(turn)
            hooks.deltalake.write_deltalake(path, rows(value), mode="append", hook="synchronous")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hooks.after_commit(path, mode="synchronous")[0].error == ""
    assert counted(path) == true_counts(path)
    assert sum(true_counts(path).values()) == 12
