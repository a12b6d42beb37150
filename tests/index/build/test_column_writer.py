"""A column written in pieces is the column written whole; and what a task of Spark writes, without Spark."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.formats import Field, Leaf
from metaindex.index.build.prepared import packed, unpacked
from metaindex.index.build.spark_tasks import WriteTask, unpickled
from metaindex.index.kinds.column_stats.rows import aggregates, column_rows, sorted_rows
from metaindex.index.kinds.column_stats.schemas import COLUMN_STATS, PARTITION_STATS
from metaindex.index.kinds.column_stats.writer import ColumnWriter
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.store.writer import PartStream, RunSink
from metaindex.storage import LocalStorage

from .test_statistics import many_files


def stream(kind: str, schema: pa.Schema) -> PartStream:
    return PartStream(RunSink(LocalStorage("/nowhere"), "run"), kind, schema)


@given(many_files(), st.integers(1, 5))
@settings(deadline=None)
def test_pieces_are_the_whole(drawn: tuple[pa.DataType, pa.Table, list[int]], piece: int) -> None:
    type_, facts, numbers = drawn
    leaf = Leaf((Field("c", type_),))
    present = sorted(set(numbers))
    ords = np.array([present.index(number) for number in numbers], np.int32)
    ids = pa.array([number + 70 for number in present], pa.int64())
    columns, totals = stream("column_stats", COLUMN_STATS), stream("partition_stats", PARTITION_STATS)
    ColumnWriter(columns, totals, ords, ids, piece).write([leaf], [unpacked(packed(facts, least=0))])
    each = pa.array(ords)
    whole = column_rows(leaf, facts, pa.array(np.arange(len(ords), dtype=np.int32)), each, ids.take(each))
    assert pa.concat_tables(columns.waiting).equals(sorted_rows(whole))
    assert pa.concat_tables(totals.waiting).equals(aggregates(sorted_rows(whole)))


def test_few_facts_wait_as_they_are() -> None:
    facts = pa.table({"state": pa.array([1, 2], pa.int8())})
    assert packed(facts) is facts
    assert unpacked(packed(facts, least=1)).equals(facts)


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
        for batch in task.run(iter([rows(partition * 1000, count)]), partition, 0):
            told += batch.to_pylist()
    parts = [part for _, some in unpickled(told) for part in some]
    assert len({part.path for part in parts}) == len(parts) == 151 + 4
    assert [part.rows for part in parts] == [2] * 150 + [1] + [2] * 3 + [1]
    assert all((tmp_path / part.path).is_file() for part in parts)
