"""What a task of Spark writes, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from metaindex.index.build.spark_tasks import WriteTask, part_of
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage


def test_a_range_may_have_any_number_of_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A range is cut by a sample of the rows, and may be much larger than was thought: none of its parts is another's,
    and they stay in order."""
    monkeypatch.setattr("metaindex.index.store.writer.PART_ROWS", 2)
    level = FACT_ROWS.files
    task = WriteTask(RunSink(LocalStorage(str(tmp_path)), "run"), level, ranges=2)

    def rows(first: int, count: int) -> pa.RecordBatch:
        plain: dict[str, list[int]] = {"ordinal": list(range(first, first + count))}
        some = (pa.array(plain.get(f.name, [0] * count)) if not f.nullable else pa.nulls(count) for f in level.schema)
        columns = [one.cast(f.type) for one, f in zip(some, level.schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=level.schema)

    told = []
    for partition, count in ((1, 7), (0, 301)):
        for batch in task.run(iter([rows(partition * 1000, count)]), partition):
            told += batch.to_pylist()
    parts = [part_of(row) for row in sorted(told, key=lambda row: row["number"])]
    assert len({part.path for part in parts}) == len(parts) == 151 + 4
    assert [part.rows for part in parts] == [2] * 150 + [1] + [2] * 3 + [1]
    assert all((tmp_path / part.path).is_file() for part in parts)
