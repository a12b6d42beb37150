"""A table with a file whose columns are in part encrypted: what cannot be read is not covered, everything else is
indexed and asked as ever."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from tests.formats.encrypted import write_encrypted
from tests.tables import settle

ROWS = 200_000  # more than a megabyte, from where on a scan looks at row groups


@pytest.fixture
def table(tmp_path: Path) -> mi.Table:
    folder = tmp_path / "t"
    folder.mkdir()
    rows = pa.table({"secret": pa.array(range(ROWS), pa.int64()), "open": [float(n) for n in range(ROWS)]})
    write_encrypted(folder / "a.parquet", rows, "secret")
    pq.write_table(rows.slice(0, 10), folder / "b.parquet")
    settle(folder)
    return mi.open_table(str(folder), config=mi.Config(builder="local"))


@pytest.mark.parametrize(
    "kind", [mi.ColumnStats(), mi.Values("secret"), mi.Bloom("secret"), mi.ValueList("secret"), mi.Values("secret", by="value")]
)  # fmt: skip
def test_an_encrypted_column_stays_uncovered(table: mi.Table, kind: object) -> None:
    table.create_index("i", kind)
    assert [Path(path).name for path in table.prune("secret = 1000000").paths] == ["a.parquet"]
    assert table.verify_index("i").sound
    assert table.scan("open = 5", columns=["open"]).to_arrow().num_rows == 2
    assert table.prune("secret IS NULL").kept_files >= 1
    assert table.locate("secret = 1000000").table.column("row_group").to_pylist() == [0]


def test_the_other_columns_are_indexed(table: mi.Table) -> None:
    table.create_index("i", mi.ColumnStats(), mi.Values("open"))
    assert table.prune("open = -1").kept_files == 0
    assert [Path(path).name for path in table.prune("open = 12").paths] == ["a.parquet"]


def test_reading_the_column_is_refused_by_name(table: mi.Table) -> None:
    with pytest.raises(mi.MetaIndexError, match=r"a\.parquet.*decrypt"):
        table.scan("secret = 5").to_arrow()
