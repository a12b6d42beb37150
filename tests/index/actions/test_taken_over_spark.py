"""Indexes that Spark built of plain files: their files are taken over as those of indexes that were built here, copies
of rows included."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from tests.index.actions.test_taken_over import CHANGES, FORMATS, shell, write

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]


@pytest.mark.parametrize("file_format", FORMATS)
def test_what_spark_built_is_taken_over(spark: SparkSession, tmp_path: Path, file_format: str) -> None:
    folder = tmp_path / "t"
    for number in range(1, 5):
        write(folder, number, file_format)
    said = {"header": True} if file_format == "csv" else {}
    kinds = {
        "facts": [mi.ColumnStats()],
        "keys": [mi.Values("a"), mi.ColumnStats("f")],
        "rows": [mi.Covering(["a"], ["s"], buckets=2)],
        "ranges": [mi.CoveringRange(["a"], ["f"])],
    }

    def opened() -> mi.Table:
        return mi.open_table(str(folder), spark=spark, config=mi.Config(builder="spark"), **said)

    for name, some in kinds.items():
        opened().create_index(name, *some)
    write(folder, 2, file_format, second=501)
    shell(CHANGES["chmod"], folder)
    for name in kinds:
        outcome = opened().refresh_index(name, "identity")
        taken = [note for note in outcome.notes if "taken over" in note]
        assert taken == ["3 files taken over: the bytes that were indexed, as other files"], (name, outcome.notes)
        report = opened().verify_index(name, files=None)
        assert report.sound, str(report)
    table = opened()
    for value in (1500, 2500, 2501, 4999):
        assert table.count(f"a = {value}") == (value != 2500)
