"""The one answer to a question: scanned or counted, with indexes and without."""

from typing import Any

import pyarrow as pa

import metaindex as mi


def one_answer(table: mi.Table, where: Any, version: Any = None, *, believed: bool = True) -> pa.Table:
    """Return the rows of a scan: so many are counted. Without indexes it is so, too; and where what the table's log
    claims can be `believed`, both are the same rows, and no file is read that its own statistics leave out."""
    said = f"{where} at {version}"
    rows, plain = (table.scan(where, version=version, indexes=by).to_arrow() for by in (None, ()))
    assert table.count(where, version) == rows.num_rows, said
    assert table.count(where, version, indexes=()) == plain.num_rows, said
    if believed:
        assert rows.num_rows == plain.num_rows, said
        kept, without = (table.prune(where, version, indexes=by).paths for by in (None, ()))
        assert set(kept) <= set(without), f"{said}: read because of an index: {sorted({*kept} - {*without})}"
    return rows
