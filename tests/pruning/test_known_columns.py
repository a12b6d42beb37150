"""What an engine asks that has the table's own statistics by itself: the indexes alone, and the table only where one of
them may help."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.errors import MetaIndexError
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
    assert lake.open()._proved(asked, None, None) is None
    found = lake.open()._proved("id >= 100", None, None)
    assert found is not None
    assert found.dropped_files == 1
    assert lake.open()._proved("id >= 100", None, []) is None
    lake.append(worded(200))
    found = lake.open()._proved("id >= 100", None, None)
    assert found is not None, "a version that is not recorded is loaded where an index may help"
    assert found.dropped_files == 1
    (Path(lake.path) / "_delta_log" / f"{2:020}.json").write_text("{no commit")
    assert lake.open()._proved(asked, None, None) is None
    with pytest.raises(MetaIndexError):
        lake.open()._proved("id >= 100", None, None)
