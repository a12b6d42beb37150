"""Different values are counted exactly: by the values that an index keeps of whole files, and by reading."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.index import Kind

from .lakes import opened_files

LONG = "x" * 300


@pytest.mark.parametrize("kept", [mi.ValueList("x", limit=3), mi.Values("x", by="value")], ids=lambda kind: kind.name)
def test_values_that_an_index_does_not_keep_whole_are_read(tmp_path: Path, kept: Kind) -> None:
    """Cut texts, a list that would be too long, NULL alone, and a file that came later; by groups, too."""
    texts = [["a", "b", "a"], ["b", LONG, LONG + "1"], ["c", "d", "e", "f"], [None, None], [LONG, "c"]]
    (tmp_path / "t").mkdir()
    for number, column in enumerate(texts):
        group = pa.array([number % 2 or None] * len(column), pa.int64())
        content = {"x": pa.array(column, pa.string()), "g": group}
        pq.write_table(pa.table(content), tmp_path / "t" / f"{number}.parquet")
        if number == 3:
            table = mi.open_table(str(tmp_path / "t"))
            table.create_index("each", mi.ColumnStats(), kept, builder="local")
    with opened_files(table) as opened:
        found = table.aggregate(count_distinct=["x"])
    too_long = [2] if kept.name == "value_lists" else []
    assert sorted(int(Path(path).stem) for path in opened) == sorted([1, *too_long, 4])
    assert found.table.to_pydict() == {"count_distinct(x)": [8]}
    grouped = table.aggregate(count_distinct=["x"], group_by=["g"])
    assert grouped.table.to_pydict() == {"g": [None, 1], "count_distinct(x)": [7, 3]}
    assert table.aggregate(count_distinct=["x"], where="g = 1", group_by=["x"]).table.num_rows == 4


def test_different_values_are_those_of_spark(tmp_path: Path) -> None:
    """NaN is one value, the two zeros are one, NULL is none; whoever reads and whoever keeps them count alike."""
    (tmp_path / "t").mkdir()
    nan = float("nan")
    for number, doubles in enumerate([[0.0, 1.0, nan, None], [-0.0, nan, 2.0], [-nan, 1.0]]):
        pq.write_table(pa.table({"x": pa.array(doubles, pa.float64())}), tmp_path / "t" / f"{number}.parquet")
    table = mi.open_table(str(tmp_path / "t"))
    for kinds in ((), (mi.ColumnStats(), mi.Values("x", by="value"))):
        if kinds:
            table.create_index("each", *kinds, builder="local")
        found = table.aggregate(count_distinct=["x"])
        assert (found.table.column(0).to_pylist(), found.opened) == ([4], 0 if kinds else 3)


def test_values_of_the_index_itself_are_checked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever forged an index: units of files that the run has not."""
    (tmp_path / "t").mkdir()
    for number in range(3):
        pq.write_table(pa.table({"x": [number, number + 1]}), tmp_path / "t" / f"{number}.parquet")
    table = mi.open_table(str(tmp_path / "t"))
    table.create_index("each", mi.ColumnStats(), mi.ValueList("x"), builder="local")
    (part,) = Path(table.indexes()["each"].location).rglob("value_lists_int/**/*.mix")
    rows = pq.read_table(part, partitioning=None)
    forged = rows.set_column(2, rows.schema.field(2), pa.array([99] * rows.num_rows, pa.int64()))
    pq.write_table(forged, part)
    found = mi.open_table(str(tmp_path / "t")).aggregate(count_distinct=["x"])
    assert (found.table.column(0).to_pylist(), found.opened) == ([4], 3)


def test_an_index_is_not_read_as_a_whole_for_few_files(tmp_path: Path) -> None:
    """It would cost more than the files."""
    (tmp_path / "t").mkdir()
    for number in range(10):
        content = {"d": [number] * 100, "x": range(number * 100, number * 100 + 100)}
        pq.write_table(pa.table(content), tmp_path / "t" / f"{number}.parquet")
    table = mi.open_table(str(tmp_path / "t"))
    table.create_index("each", mi.ColumnStats(), mi.Values("x", by="value"), builder="local")
    for where, different, opened in (("d = 5", 100, 1), ("d <> 5", 900, 0), (None, 1000, 0)):
        found = table.aggregate(count_distinct=["x"], where=where)
        assert (found.table.column(0).to_pylist(), found.opened) == ([different], opened)


@pytest.mark.parametrize("kept", [mi.ValueList("x", "y"), mi.Values("x", "y", by="value")], ids=lambda kind: kind.name)
def test_what_a_dictionary_has_and_no_row_is_no_value(tmp_path: Path, kept: Kind) -> None:
    """To leave files out an index may know of values too many: whoever counts them must not."""
    (tmp_path / "t").mkdir()
    for number, places in enumerate([[0, 1, 0, None], [2, 2]]):
        at = pa.array(places, pa.int32())
        texts = pa.DictionaryArray.from_arrays(at, pa.array(["a", "b", "c", "no row's", "nor this"]))
        numbers = pa.DictionaryArray.from_arrays(at, pa.array([10, 20, 30, 40, 50]))
        pq.write_table(pa.table({"x": texts, "y": numbers}), tmp_path / "t" / f"{number}.parquet", store_schema=False)
    table = mi.open_table(str(tmp_path / "t"))
    table.create_index("each", mi.ColumnStats(), kept, builder="local")
    found = table.aggregate(count_distinct=["x", "y"])
    assert (found.table.to_pylist(), found.opened) == ([{"count_distinct(x)": 3, "count_distinct(y)": 3}], 0)
