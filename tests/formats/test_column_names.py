"""Which column a name means: the index, the footers' bounds and the readers say the same, as Spark does."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import ScanError
from metaindex.formats.older_calendar import in_older_calendar, may_be_in_older_calendar
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


# The older calendar ---------------------------------------------------------------------------------------------------


VERSION = b"org.apache.spark.version"


@pytest.mark.parametrize(
    ("keys", "days", "int96"),
    [
        (None, False, False),
        ({}, False, False),
        ({VERSION: b"2.4.8"}, True, True),
        ({VERSION: b"3.0.3"}, False, True),
        ({VERSION: b"3.10.0"}, False, False),
        ({VERSION: b"10.0.0"}, False, False),
        ({VERSION: b"odd"}, True, True),
        ({VERSION: b"9" * 5_000 + b".1"}, True, True),
        ({VERSION: b"4.1.0", b"org.apache.spark.legacyDateTime": b""}, True, True),
        ({VERSION: b"4.1.0", b"org.apache.spark.legacyINT96": b""}, True, True),
    ],
)
def test_the_keys_decide(keys: dict[bytes, bytes] | None, days: bool, int96: bool) -> None:
    assert in_older_calendar(keys) is days
    assert in_older_calendar(keys, int96=True) is int96


class _Footer:
    metadata = None
    created_by = "parquet-mr version 1.8.1 (build x)"


def test_sparks_writer_without_a_version_is_doubtful() -> None:
    assert may_be_in_older_calendar(_Footer())
    assert not in_older_calendar(None)


@pytest.mark.parametrize("kind", [mi.ColumnStats(), mi.Values("c"), mi.Values("c", by="value"), mi.Bloom("c")])
def test_a_rewritten_file_of_an_older_spark_is_known_by_its_keys(tmp_path: Path, kind: mi.ColumnStats) -> None:
    table = pa.table({"id": [1], "c": pa.array([dt.date(1500, 1, 10)], pa.date32())})
    pq.write_table(table.replace_schema_metadata({VERSION: b"2.4.8"}), tmp_path / "a.parquet")
    found = mi.open_table(str(tmp_path))
    found.create_index("i", kind, builder="local")
    assert found.prune("c = DATE'1500-01-01'").dropped_files == 0
    with pytest.raises(ScanError, match="Julian"):
        found.scan().to_arrow()
