"""The files of a run in order, however large their texts are together."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.formats import FileTable
from metaindex.index.actions.create import in_order
from metaindex.index.keys import file_ids


def files(paths: list[str], partitions: list[str]) -> pa.Table:
    """In two chunks."""
    given = {"path": pa.array(paths), "partition": pa.array(partitions), "size_bytes": pa.array(range(len(paths)))}
    table = pa.table(
        [given[f.name] if f.name in given else pa.nulls(len(paths), f.type) for f in FileTable.SCHEMA],
        schema=FileTable.SCHEMA,
    )
    return pa.concat_tables([table.slice(0, len(paths) // 2), table.slice(len(paths) // 2)])


@given(st.lists(st.tuples(st.text("abé/", max_size=6), st.sampled_from(["", "p=1", "p=2"])), min_size=1), st.data())
def test_texts_gathered_in_pieces_are_those_gathered_at_once(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    table = files([path for path, _ in pairs], [partition for _, partition in pairs])
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(pairs) - 1), min_size=1))), np.int64)
    whole, order = in_order(table, rows)
    pieces, same = in_order(table, rows, most_bytes=8)
    assert pieces.table.equals(whole.table)
    assert np.array_equal(order, same)
    expected = sorted(rows.tolist(), key=lambda row: (pairs[row][1].encode(), pairs[row][0].encode()))
    assert [pairs[row] for row in order.tolist()] == [pairs[row] for row in expected]


def test_ids_do_not_depend_on_how_many_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table = FileTable(files([f"f{i}" for i in range(25)], [""] * 25))
    whole = file_ids(table)
    monkeypatch.setattr("metaindex.index.keys._AT_ONCE", 4)
    assert file_ids(table).equals(whole)
