"""Merged runs say what a run built of the same files at once would say, row by row; every version gets the answers it
got before."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.index.actions.optimize import MergePolicy, full_groups, quick_groups
from metaindex.index.kinds.column_stats.merge import together
from metaindex.index.log.entry import CoveredColumn, RunRef
from metaindex.index.store.kway import merged
from metaindex.index.store.layout import run_folder
from metaindex.table import Table, handle_of
from tests import strategies
from tests.examples import few
from tests.query.pruning.test_no_false_skip import arrow_schema
from tests.tables import settle, settled

KINDS = ("files", "file_ids", "partitions", "column_stats", "partition_stats")


def index_rows(table: Table, name: str) -> dict[str, pa.Table]:
    """Every row of an index of one run."""
    entry = handle_of(table).indexes().log(name).latest()
    (run,) = entry.content.runs
    folder = Path(handle_of(table).indexes().log(name).storage.uri(""))
    return {
        kind: pa.concat_tables(pq.read_table(p) for p in sorted((folder / run_folder(kind, run.run)).iterdir()))
        for kind in KINDS
    }


def answers(root: Path, predicates: list[object], versions: tuple[str, ...]) -> list[object]:
    table = mi.open_table(str(root))
    return [
        (sorted(found.paths), found.total_files, sorted(found.certain.paths.to_pylist()))
        for version in versions
        for predicate in predicates
        for found in [table.prune(predicate, version=version, indexes=["stats"])]
    ]


@settings(max_examples=few(4, 20))
@given(st.data())
def test_merged_runs_are_the_run_of_all_files(data: st.DataObject) -> None:
    schema = data.draw(strategies.schemas())
    batches = data.draw(
        st.lists(
            st.lists(st.lists(strategies.rows(schema), max_size=3), min_size=1, max_size=3), min_size=2, max_size=4
        )
    )
    layout = data.draw(st.sampled_from(["{}.parquet", "p={}/f.parquet"]))
    removed = data.draw(st.lists(st.integers(0, 8), max_size=2))
    predicates: list[object] = list(data.draw(st.lists(strategies.predicates(schema), min_size=3, max_size=4)))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "lake"
        number = 0
        for batch in batches:
            for rows in batch:
                path = root / layout.format(number % 3 if "p=" in layout else number)
                path = path.with_name(f"{number}-{path.name}")
                path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(
                    pa.Table.from_pylist([{"row": number, **row} for row in rows], arrow_schema(schema)), path
                )
                number += 1
            settle(root)
            table = mi.open_table(str(root))
            if table.indexes():
                table.refresh_index("stats", builder="local")
            else:
                table.create_index("stats", mi.ColumnStats(), builder="local")
        mi.open_table(str(root)).create_index("fresh", mi.ColumnStats(), builder="local")
        for one in removed:
            for path in root.rglob(f"{one}-*"):
                path.unlink()
        if any(root.rglob("*.parquet")):
            mi.open_table(str(root)).refresh_index("stats", builder="local")
        versions = mi.open_table(str(root)).indexes()[1].versions
        before = answers(root, predicates, versions)
        table = mi.open_table(str(root))
        if data.draw(st.booleans()):
            table.optimize_index("stats")
            assert answers(root, predicates, versions) == before
        table.optimize_index("stats", mode="full")
        assert answers(root, predicates, versions) == before
        expected = index_rows(table, "fresh")
        for kind, rows_ in index_rows(table, "stats").items():
            seeded = [name for name in rows_.column_names if name == "digest"]  # at random, in each run
            assert rows_.drop(seeded).to_pylist() == expected[kind].drop(seeded).to_pylist(), kind
            assert not any(rows_.column(name).null_count for name in seeded)


def test_a_column_that_came_later_is_unknown_in_the_files_before(tmp_path: Path) -> None:
    root = settled(tmp_path / "lake", {"0.parquet": pa.table({"a": [1, 2]})})
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    mi.open_table(str(root)).create_index("stats", mi.ColumnStats(), builder="local")
    settled(root, {"1.parquet": pa.table({"a": [3, 4], "b": ["x", "y"]})})
    table = mi.open_table(str(root), schema=schema)
    table.refresh_index("stats", builder="local")
    kept = [table.prune(p).paths for p in ("b = 'x'", "b = 'zz'", "a = 1")]
    table.optimize_index("stats", mode="full")
    again = mi.open_table(str(root), schema=schema)
    assert [again.prune(p).paths for p in ("b = 'x'", "b = 'zz'", "a = 1")] == kept
    assert again.indexes()[0].runs == 1


@given(
    st.lists(st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 4)), st.integers(0, 3))), max_size=4),
    st.integers(1, 4),
)
def test_windows_give_the_order_of_the_whole(streams: list[list[tuple[int | None, int]]], size: int) -> None:
    def order(row: tuple[int | None, int]) -> tuple[bool, int, int]:
        return (row[0] is not None, row[0] or 0, row[1])

    def stream(number: int, rows: list[tuple[int | None, int]]) -> Iterator[pa.Table]:
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            columns = [pa.array([r[i] for r in some], pa.int64()) for i in range(2)]
            yield pa.table([*columns, pa.array([number] * len(some))], names=["a", "b", "s"])

    ready = [sorted(rows, key=order) for rows in streams]
    found = [
        tuple(r.values())
        for t in merged([stream(i, r) for i, r in enumerate(ready)], ("a", "b"))
        for r in t.to_pylist()
    ]
    wanted = [(*row, number) for number, rows in enumerate(ready) for row in rows]
    assert found == sorted(wanted, key=lambda r: order((r[0], r[1])))


def covered(stable: str, type_: str, *, partition: bool = False) -> CoveredColumn:
    return CoveredColumn(stable, 0, stable, type_, partition)


@pytest.mark.parametrize(
    ("first", "second", "type_"),
    [
        ("int32", "int64", "int64"),
        ("int64", "int32", "int64"),
        ("float", "double", "double"),
        ("decimal128(10, 2)", "decimal128(16, 2)", "decimal128(16, 2)"),
        ("decimal128(10, 2)", "decimal128(30, 2)", None),
        ("decimal128(10, 2)", "decimal128(10, 3)", None),
        ("int32", "double", None),
        ("int64", "timestamp[us]", None),
        ("string", "binary", None),
        ("string", "string", "string"),
    ],
)
def test_only_bounds_of_one_domain_go_together(first: str, second: str, type_: str | None) -> None:
    found = together([covered("a", first)], [covered("a", second), covered("b", "string")])
    assert (found[0].type_text if found else None) == type_
    assert together([covered("a", first)], [covered("a", first, partition=True)]) is None


def runs_of(*files: int) -> list[RunRef]:
    return [
        RunRef(f"r{i}", count, 1, 0, 0, "", "", (covered("a", "int64"),), 0, "local") for i, count in enumerate(files)
    ]


@given(st.lists(st.integers(1, 50_000), max_size=60))
def test_size_tiers_bound_the_number_of_runs_and_what_a_merge_rewrites(files: list[int]) -> None:
    policy = MergePolicy(small_files=10, factor=4, least_small=4, max_files=20_000)
    sizes: list[int] = []
    for count in files:
        sizes.append(count)
        while groups := quick_groups(runs_of(*sizes), policy):
            names = {run.run for group in groups for run in group}
            for group in groups:
                assert len({policy.tier(run.files) for run in group}) == 1
                assert sum(run.files for run in group) <= policy.max_files
            sizes = [n for i, n in enumerate(sizes) if f"r{i}" not in names] + [sum(r.files for r in g) for g in groups]
    for tier in range(policy.tier(policy.max_files) - 1):
        assert sum(policy.tier(n) == tier for n in sizes) < policy.factor
    assert len(full_groups(runs_of(*sizes))) == (1 if len(sizes) > 1 else 0)
