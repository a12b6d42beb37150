"""What one row takes to read, by the row groups that files have, and the advice that follows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.formats import At
from metaindex.query import FooterGroups, RowReading
from metaindex.table import handle_of
from tests.advisor.tables import of_parquet
from tests.formats.footer_surgery import COLUMNS, I64, META_DATA, ROW_GROUPS, Struct, change

_ROWS = 300_000
_ONE_PAGE = {"data_page_size": 1 << 30, "max_rows_per_page": 1 << 30}


@pytest.fixture(scope="module")
def columns() -> dict[str, Any]:
    """An id, and texts of which there are few: they take hardly a byte, and many milliseconds."""
    few = pa.array(["a", "b", "c", "d"]).take(pa.array(np.arange(_ROWS) % 4))
    return {"id": np.random.default_rng(0).permutation(_ROWS), **{f"k{at}": few for at in range(12)}}


def _reading(table: mi.Table, condition: str = "id = 77") -> RowReading:
    reading = table.locate(condition).reading
    assert reading is not None
    return reading


def test_the_rows_of_row_groups_and_the_pages_of_their_columns_tell(tmp_path: Path, columns: dict[str, Any]) -> None:
    whole = _reading(of_parquet([columns], tmp_path / "whole", row_group_size=_ROWS, **_ONE_PAGE))
    assert (whole.files, whole.of_files, whole.rows, whole.reader) == (1, 1, _ROWS, "row groups")
    assert whole.smaller_ms < whole.expected_ms / 2
    assert f"row groups have {_ROWS:,} rows (1 of 1 file looked at)" in whole.advice
    assert "write row groups of 10,000 to 100,000 rows" in whole.advice

    pages = _reading(of_parquet([columns], tmp_path / "pages", row_group_size=_ROWS))
    assert (pages.reader, pages.rows) == ("pages", _ROWS)
    assert pages.expected_ms < whole.expected_ms / 2, "the pages of one row are read, and no others"
    assert pages.whole_ms == pytest.approx(whole.whole_ms, rel=0.2), "as whoever reads no pages reads it"

    small = _reading(of_parquet([columns], tmp_path / "small", row_group_size=20_000))
    assert (small.rows, small.advice) == (20_000, "")
    assert small.smaller_ms == small.expected_ms


def test_every_door_advises_by_the_same_fact(tmp_path: Path, columns: dict[str, Any]) -> None:
    table = of_parquet([columns] * 2, tmp_path, row_group_size=_ROWS, **_ONE_PAGE)
    located = table.locate("id = 77")
    assert located.reading is not None
    advice = located.reading.advice
    assert advice
    assert advice in str(located)
    weighed = table.what_if(["id = 77", "id > 5"], mi.Values("id"))
    assert [query.reading.advice == advice if query.reading else None for query in weighed.queries] == [True, False]
    assert f"id = 77: {advice}" in str(weighed)
    for asked in ("SELECT * FROM lake WHERE id = 77", "id = 77"):
        (recommended,) = table.recommend([asked], tables={"lake": str(tmp_path / "lake")}).tables
        assert advice in recommended.notes, asked
        assert recommended.to_json()["reading"] == located.to_json()["reading"] == located.reading.to_json()


@pytest.mark.parametrize("condition", ["id > 5", "k0 = 'a'", "id = 77 or k0 = 'a'", "id is not null", "true"])
def test_nothing_is_advised_where_small_row_groups_help_as_little(
    tmp_path: Path, columns: dict[str, Any], condition: str
) -> None:
    """No value is looked up, or each row group has it."""
    table = of_parquet([columns], tmp_path, row_group_size=_ROWS, **_ONE_PAGE)
    assert _reading(table, condition).advice == ""


def test_only_what_a_query_reads_is_counted(tmp_path: Path, columns: dict[str, Any]) -> None:
    table = of_parquet([columns], tmp_path, row_group_size=_ROWS, **_ONE_PAGE)
    handle = handle_of(table)
    schema, groups = handle.snapshot(At()).schema, FooterGroups(handle.ref.storage)
    tree = schema.predicate("id = 77", "UTC")

    def needing(*names: str) -> float:
        reading = RowReading.of(groups, ["f000.parquet"], schema, tree, [(name,) for name in names])
        assert reading is not None
        return reading.expected_ms

    assert needing("id") < needing("id", "k0") < needing("k0", "k1") < needing()


def test_a_few_files_are_looked_at(tmp_path: Path) -> None:
    files = [{"id": np.arange(at * 100, at * 100 + 50 + at)} for at in range(30)]
    reading = _reading(of_parquet(files, tmp_path), "id >= 0")
    assert (reading.files, reading.of_files) == (8, 30)
    assert 50 < reading.rows < 80
    table = of_parquet(files, tmp_path / "more")
    weighed = table.what_if("id >= 0", mi.Values("id"), sample=0).queries[0]
    assert weighed.reading is None, "nothing was to be read"


def _of_column(number: int, value: int) -> Callable[[Struct], None]:
    return lambda footer: footer[ROW_GROUPS].values[0][COLUMNS].values[0][META_DATA].put(number, I64, value)


def _of_group(number: int, value: int) -> Callable[[Struct], None]:
    return lambda footer: footer[ROW_GROUPS].values[0].put(number, I64, value)


_SIZES = {
    "values": (_of_column, 5),
    "unpacked": (_of_column, 6),
    "packed": (_of_column, 7),
    "place": (_of_column, 9),
    "bytes": (_of_group, 2),
    "rows": (_of_group, 3),
}


@pytest.mark.parametrize("value", [-1, -(1 << 62), 1 << 31, 1 << 45, (1 << 63) - 1])
@pytest.mark.parametrize("size", _SIZES)
def test_a_footer_of_absurd_sizes_tells_nothing(tmp_path: Path, size: str, value: int) -> None:
    of, number = _SIZES[size]
    table = of_parquet([{"id": np.arange(1000), "k": ["a"] * 1000}], tmp_path)
    handle = handle_of(table)
    schema = handle.snapshot(At()).schema
    change(tmp_path / "lake" / "f000.parquet", of(number, value))
    groups = FooterGroups(handle.ref.storage)
    reading = RowReading.of(groups, ["f000.parquet", "gone.parquet"], schema, schema.predicate("id = 7", "UTC"))
    assert reading is None or (reading.rows == 1000 and 0 < reading.expected_ms < 1000 and not reading.advice)
