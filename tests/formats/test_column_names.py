"""Which column a name means: the index, the footers' bounds and the readers say the same, as Spark does."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.formats.parquet.projection import Among


def places(names: list[str], among: list[str], *, ignore_case: bool = True) -> list[int]:
    return Among([pa.field(name, pa.int8()) for name in among], ignore_case).named(names)


def test_names_are_alike_by_their_small_letters() -> None:
    assert places(["Id"], ["iD", "x"]) == [0]
    assert places(["straße"], ["STRASSE", "STRAßE"]) == [1]
    assert places(["a"], ["A", "a", "b"]) == [0, 1]
    assert places(["a"], ["A", "a", "b"], ignore_case=False) == [1]
    assert places(["a", "b"], ["B"]) == [0]
    assert places(["b", "a", "A"], ["a", "B", "A"]) == [0, 1, 2]


@pytest.mark.parametrize(
    "kind", [mi.ColumnStats(), mi.Values("straße"), mi.Values("straße", by="value"), mi.ValueList("straße")]
)
def test_a_name_that_only_folds_to_another_is_another_column(tmp_path: Path, kind: mi.ColumnStats) -> None:
    pq.write_table(pa.table({"id": [1], "straße": [7]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": [2], "STRASSE": [8]}), tmp_path / "b.parquet")
    table = mi.open_table(str(tmp_path), format="parquet")
    table.create_index("i", kind, builder="local")
    for condition, expected in (("`straße` IS NULL", [2]), ("`STRASSE` = 8", [2]), ("`straße` = 7", [1])):
        assert table.scan(condition).to_arrow().column("id").to_pylist() == expected
