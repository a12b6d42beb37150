"""A column written in pieces is the column written whole: the rows, their order, the aggregates; and what waits
compressed comes back as it was."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.formats import Field, Leaf
from metaindex.index.build.prepared import packed, unpacked
from metaindex.index.kinds.column_stats.rows import column_rows, partition_rows, sorted_rows
from metaindex.index.kinds.column_stats.schemas import COLUMN_STATS, PARTITION_STATS
from metaindex.index.kinds.column_stats.writer import ColumnWriter
from metaindex.index.kinds.facts import domain_of
from metaindex.index.store.writer import PartStream, RunSink
from metaindex.storage import LocalStorage

from .test_statistics import many_files


def stream(kind: str, schema: pa.Schema) -> PartStream:
    return PartStream(RunSink(LocalStorage("/nowhere"), "run"), kind, schema)


@given(many_files(), st.integers(1, 5))
@settings(deadline=None)
def test_pieces_are_the_whole(drawn: tuple[pa.DataType, pa.Table, list[int]], piece: int) -> None:
    type_, facts, numbers = drawn
    leaf, domain = Leaf((Field("c", type_),)), domain_of(type_)
    present = sorted(set(numbers))
    ords = np.array([present.index(number) for number in numbers], np.int32)
    ids = pa.array([number + 70 for number in present], pa.int64())
    columns, aggregates = stream("column_stats", COLUMN_STATS), stream("partition_stats", PARTITION_STATS)
    ColumnWriter(columns, aggregates, ords, ids, piece).write(leaf, unpacked(packed(facts, least=0)))
    each = pa.array(ords)
    whole = column_rows(leaf, facts, pa.array(np.arange(len(ords), dtype=np.int32)), each, ids.take(each))
    assert pa.concat_tables(columns.waiting).equals(sorted_rows(whole, domain))
    assert pa.concat_tables(aggregates.waiting).equals(partition_rows(whole, domain))


def test_few_facts_wait_as_they_are() -> None:
    facts = pa.table({"state": pa.array([1, 2], pa.int8())})
    assert packed(facts) is facts
    assert unpacked(packed(facts, least=1)).equals(facts)
