"""What Spark asks of different values (`count(DISTINCT c)`, `SELECT DISTINCT c`), answered without Spark: of which
files every value is known, what stands in the plan for them, and what proves nothing."""

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.spark.optimizer.reasons import Reason
from metaindex.spark.optimizer.request import read_request
from tests.spark.optimizer.test_first_requests import above, taken
from tests.spark.optimizer.test_requests import asked_of

FILES, ROWS = 6, 10
TYPES = {"k": "long", "s": "string", "x": "double", "p": "integer"}
DIFFERENT = {"how": "count_distinct", "column": "s"}
KINDS = mi.ColumnStats(), mi.Values("s", "x", by="value")


def content(number: int) -> pa.Table:
    keys = range(number * ROWS, (number + 1) * ROWS)
    texts = [None if number == 1 and key % 5 == 0 else f"v{key % 4 + number}" for key in keys]
    doubles = [[0.0, -0.0, float("nan"), None, 1.5][key % 5] for key in keys]
    columns = {"k": pa.array(keys, pa.int64()), "s": texts, "x": pa.array(doubles, pa.float64())}
    return pa.table({**columns, "p": pa.array([number // 2] * ROWS, pa.int32())})


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    root = tmp_path / "t"
    for number in range(FILES):
        deltalake.write_deltalake(str(root), content(number), mode="append", partition_by=["p"])
    mi.open_table(str(root)).create_index("each", *KINDS, builder="local")
    return root


def asked(root: Path, keys: list[str], *measures: dict[str, str], filters: Any = ()) -> Any:
    aggregate = {"keys": keys, "measures": list(measures)}
    return taken(asked_of(root, TYPES, aggregate=aggregate, filters=list(filters)))


def test_each_value_stands_once_a_group(lake: Path) -> None:
    found = asked(lake, [], DIFFERENT)
    assert (len(found.files), sorted(found.rows)) == (6, [[f"v{number}"] for number in range(9)])
    assert "9 different values" in str(found)
    assert found.indexes == ("each",)
    grouped = asked(lake, ["p"], DIFFERENT)
    of_groups = [[str(p), None] for p in range(3)]  # a group of NULL alone is there
    assert sorted(grouped.rows, key=str) == sorted(
        of_groups + [[str(p), f"v{n}"] for p in range(3) for n in range(2 * p, 2 * p + 5)], key=str
    )
    some = asked(lake, [], DIFFERENT, filters=[above(15)])
    assert (len(some.files), sorted(some.rows)) == (4, [[f"v{number}"] for number in range(2, 9)])


def test_other_measures_stand_in_rows_of_their_own(lake: Path) -> None:
    measures = {"how": "count"}, DIFFERENT, {"how": "max", "column": "k"}, {"how": "count", "column": "s"}
    found = asked(lake, [], *measures)
    assert found.rows[0] == ["60", None, "59", "58"]
    assert sorted(found.rows[1:]) == [["0", f"v{number}", None, "0"] for number in range(9)]


def test_different_rows_are_those_of_one_column_and_of_constants(lake: Path) -> None:
    found = asked(lake, ["s"])
    assert sorted(found.rows, key=str) == sorted([[None], *([f"v{number}"] for number in range(9))], key=str)
    both = asked(lake, ["s", "p"])
    assert sorted(both.rows, key=str) == sorted(
        [[None, "0"], *([f"v{n}", str(p)] for p in range(3) for n in range(2 * p, 2 * p + 5))], key=str
    )
    assert asked(lake, ["s", "k"]) is Reason.NOTHING_ANSWERED
    assert asked(lake, ["s"], {"how": "count"}) is Reason.NOTHING_ANSWERED  # how often each stands nobody keeps


def test_zeros_are_one_and_nan_is_one_where_they_are_counted(lake: Path) -> None:
    found = asked(lake, [], {"how": "count_distinct", "column": "x"})
    assert (len(found.files), len(found.rows)) == (6, 3)
    assert asked(lake, ["x"]) is Reason.NOTHING_ANSWERED  # which zero is shown is not known


def test_too_many_values_are_not_put_into_a_plan(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as few:
        few.setattr("metaindex.query.aggregates.whole_files.MOST_GROUPS", 8)
        assert asked(lake, [], DIFFERENT) is Reason.TOO_MANY_GROUPS
    with monkeypatch.context() as few:
        few.setattr("metaindex.query.aggregates.whole_files.MOST_ENTRIES", 8)
        assert asked(lake, [], DIFFERENT) is Reason.TOO_MANY_GROUPS
        assert sorted(asked(lake, ["p"]).rows) == [["0"], ["1"], ["2"]]  # of constants


def test_what_no_index_keeps_is_read(lake: Path) -> None:
    """Files that came later, values that were cut, and columns that only statistics are kept of."""
    assert asked(lake, [], {"how": "count_distinct", "column": "k"}) is Reason.NOTHING_ANSWERED
    deltalake.write_deltalake(str(lake), content(6), mode="append", partition_by=["p"])
    assert len(asked(lake, [], DIFFERENT).files) == FILES
    long = content(7).set_column(1, "s", pa.array(["y" * 300, *["a"] * (ROWS - 1)]))
    deltalake.write_deltalake(str(lake), long, mode="append", partition_by=["p"])
    mi.open_table(str(lake)).refresh_index("each", builder="local")
    found = asked(lake, [], DIFFERENT)
    assert (len(found.files), found.result.kept_files) == (FILES + 1, 1)
    assert [name for (name,) in found.rows if name.startswith("y")] == []


def test_a_file_with_deletes_is_read_unless_it_has_one_value(lake: Path) -> None:
    deltalake.DeltaTable(str(lake)).delete("k = 7")  # writes the file anew
    assert len(asked(lake, [], DIFFERENT).files) == FILES - 1
    assert len(asked(lake, [], {"how": "count_distinct", "column": "p"}).files) in (FILES - 1, FILES)


def test_a_damaged_index_answers_nothing(lake: Path, caplog: pytest.LogCaptureFixture) -> None:
    for part in Path(mi.open_table(str(lake)).indexes()["each"].location).rglob("value_keys/**/*.mix"):
        rows = pq.read_table(part, partitioning=None)
        at = rows.schema.get_field_index("unit")
        field = rows.schema.field(at)
        pq.write_table(rows.set_column(at, field, pa.array([2**40] * rows.num_rows, field.type)), part)
    assert asked(lake, [], DIFFERENT) is Reason.NOTHING_ANSWERED
    assert len(asked(lake, [], {"how": "count_distinct", "column": "p"}).rows) == 3
    assert "is not asked what it knows of files" in caplog.text


def test_a_request_names_the_column(lake: Path) -> None:
    from metaindex.core import ArgumentError

    text = asked_of(lake, TYPES, aggregate={"keys": [], "measures": [{"how": "count_distinct"}]})
    with pytest.raises(ArgumentError):
        read_request(text)
