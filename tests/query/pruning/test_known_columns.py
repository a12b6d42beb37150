"""What an engine asks that has the table's own statistics by itself: the indexes alone, and the table only where one of
them may help."""

from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import MetaIndexError
from metaindex.expressions import ColumnRef, Interval, Literal
from metaindex.index.kinds.column_stats.reader import RunStatistics, Units
from metaindex.index.kinds.described import StoredColumn
from metaindex.query import Queries
from metaindex.table import handle_of
from tests.tables import delta_lake, rows


def worded(first: int) -> pa.Table:
    found = rows(first)
    return found.append_column("word", pa.array(["w"] * len(found)))


def test_a_table_is_not_loaded_for_columns_that_no_index_knows(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    for first in (0, 100):
        lake.append(worded(first))
    lake.open().create_index("ids", mi.ColumnStats("id"), builder="local")
    asked = "word = 'x'"
    assert handle_of(lake.open()).made(Queries).proved(asked, None, None) is None
    found = handle_of(lake.open()).made(Queries).proved("id >= 100", None, None)
    assert found.dropped_files == 1
    assert handle_of(lake.open()).made(Queries).proved("id >= 100", None, []) is None
    lake.append(worded(200))
    found = handle_of(lake.open()).made(Queries).proved("id >= 100", None, None)
    assert found is not None, "a version that is not recorded is loaded where an index may help"
    assert found.dropped_files == 1
    (Path(lake.path) / "_delta_log" / f"{2:020}.json").write_text("{no commit")
    assert handle_of(lake.open()).made(Queries).proved(asked, None, None) is None
    with pytest.raises(MetaIndexError):
        handle_of(lake.open()).made(Queries).proved("id >= 100", None, None)


@pytest.mark.parametrize("name", ["column_stats", "partition_stats"])
def test_a_column_that_no_stored_row_is_of_proves_nothing(tmp_path: Path, name: str) -> None:
    """The entry says that it is covered: then the rows that say what is in it are lost."""
    lake = delta_lake(tmp_path)
    lake.append(rows(0))
    lake.open().create_index("ids", mi.ColumnStats("id"), builder="local")
    index = handle_of(lake.open()).open_index("ids")
    (run,) = index.entry.content.runs
    units = Units(name, {"column_stats": "ordinal", "partition_stats": "partition_ord"}[name], 3)
    ref, anything = ColumnRef(("id",)), Interval(Literal(-5), Literal(-5))
    for column_id in (1, 2**63 - 1):
        stored = StoredColumn(column_id, pa.int64(), pa.int64())
        found = RunStatistics(index.reader(run), units, {ref: stored})
        assert found.some_between(ref, anything).all()
        assert found.some_null(ref).all()
        assert found.some_value(ref).all()
