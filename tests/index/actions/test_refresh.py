"""Refresh equals rebuild, whatever happened to the table; what an index recorded stays true of old versions."""

import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from tests.examples import few
from tests.tables import parquet_lake, settle

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "remove", "replace", "restore", "refresh", "refresh", "full"]),
        st.integers(0, 9),
    ),
    min_size=3,
    max_size=9,
)


def rows(number: int) -> pa.Table:
    return pa.table({"id": pa.array(range(number * 10, number * 10 + 10), pa.int64()), "even": [number % 2 == 0] * 10})


@settings(max_examples=few(6, 25))
@given(STEPS)
@pytest.mark.slow
def test_an_index_kept_up_by_refreshes_answers_like_a_new_one(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "lake"
        root.mkdir()
        away = Path(folder) / "away"
        away.mkdir()
        count = 0

        def append() -> None:
            nonlocal count
            pq.write_table(rows(count), root / f"f{count:02d}.parquet")
            count += 1
            settle(root)

        append()
        append()
        table = mi.open_table(str(root))
        table.create_index("kept", mi.ColumnStats(), builder="local")
        history: dict[str, dict[str, set[int]]] = {}
        for what, which in [*steps, ("refresh", 0)]:
            files = sorted(root.iterdir())
            gone = sorted(away.iterdir())
            if what == "append":
                append()
            elif what == "remove" and len(files) > 1:
                os.rename(files[which % len(files)], away / files[which % len(files)].name)
            elif what == "restore" and gone:
                back = gone[which % len(gone)]
                os.rename(back, root / back.name)
            elif what == "replace" and files:
                path = files[which % len(files)]
                pq.write_table(rows(50 + which), path)
                settle(root)
            elif what in ("refresh", "full"):
                mode = "full" if what == "full" else "incremental"
                table.refresh_index("kept", mode=mode, builder="local")
                assert table.indexes()[0].fresh
                history[table.snapshot().version.id] = {
                    str(p): set(pq.read_table(p).column("id").to_pylist()) for p in sorted(root.iterdir())
                }
        table.create_index("new", mi.ColumnStats(), builder="local")
        for question in ["id = 13", "id < 25", "id >= 505", "even", "id IN (3, 507)"]:
            kept = table.prune(question, indexes=["kept"])
            new = table.prune(question, indexes=["new"])
            assert sorted(kept.paths) == sorted(new.paths)
            assert sorted(kept.dropped.paths.to_pylist()) == sorted(new.dropped.paths.to_pylist())
        for version, files_then in history.items():
            if version not in table.indexes()[0].versions:
                continue  # a full refresh began anew
            result = table.prune("id = 13", version=version, indexes=["kept"])
            assert result.total_files == len(files_then)
            assert set(result.paths) == {path for path, ids in files_then.items() if 13 in ids}


def test_refresh_reads_only_what_is_new(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    for number in range(5):
        lake.append(rows(number))
    table = lake.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    lake.append(rows(5))
    # Old files cannot be read any more, and need not be; the first and the newest give the schema.
    for number in range(1, 4):
        path = Path(lake.path) / f"f{number:03d}.parquet"
        stat = path.stat()
        with open(path, "r+b") as file:
            file.write(b"\0" * stat.st_size)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    outcome = table.refresh_index("stats", builder="local")
    assert outcome.changed
