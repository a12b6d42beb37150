"""A run of many parts answers as one of a single part: parts are looked at side by side. One that is damaged takes the
index out, whoever meets it first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.table import handle_of

FILES = 60


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many") / "lake"
    for number in range(FILES):
        place = folder / f"p={number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        values = pa.table({"a": [number * 10, number * 10 + 9], "b": [f"{number % 7}", f"{number % 7} z"]})
        pq.write_table(values, place / f"f{number:02d}.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metaindex.index.store.writer.PART_ROWS", 7)
        patch.setattr("metaindex.index.store.writer.PART_ROWS", 7)
        mi.open_table(str(folder)).create_index("stats", mi.ColumnStats(), builder="local")
    return folder


def parts(lake: Path, kind: str) -> list[Path]:
    return sorted((lake.parent / "_metaindex" / "lake" / "stats" / kind).glob("*/*.mix"))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("a >= 115 AND a < 305", range(11, 31)),
        ("a < 600", range(FILES)),
        ("a = 42 OR a = 577", (4, 57)),
        ("b = '3' AND p = 1", [n for n in range(FILES) if n % 7 == 3 and n % 3 == 1]),
        ("a = 5000", ()),
    ],
)
def test_many_parts_answer_as_one(lake: Path, question: str, expected: object) -> None:
    assert len(parts(lake, "files")) == 9
    assert len(parts(lake, "column_stats")) > 9
    found = mi.open_table(str(lake)).prune(question)
    assert sorted(found.paths) == sorted(str(lake / f"p={n % 3}" / f"f{n:02d}.parquet") for n in expected)  # type: ignore[attr-defined]
    assert found.indexes[0].used


@pytest.mark.parametrize("kind", ["files", "column_stats"])
def test_a_damaged_part_takes_the_index_out(lake: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    part = parts(lake, kind)[5]
    sound = part.read_bytes()
    try:
        part.write_bytes(b"\0" * len(sound))
        found = mi.open_table(str(lake)).prune("a < 600")
    finally:
        part.write_bytes(sound)
    assert found.kept_files == FILES
    (report,) = [one for one in found.indexes if one.name == "stats"]
    assert not report.used
    assert "does not match its digest" in report.reason
    assert "is not used for this query" in caplog.text


def test_a_range_reads_bounds_where_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups that lie inside it are read for the numbers of their files alone; a column of many files has parts of
    its own."""
    monkeypatch.setattr("metaindex.index.store.writer.PART_ROWS", 64)
    monkeypatch.setattr("metaindex.index.store.writer.ROW_GROUP_ROWS", 4)
    for number in range(FILES):
        values = pa.table({"a": [number * 10, number * 10 + 9], "b": [number / 2, float("nan")], "c": [None, number]})
        pq.write_table(values, tmp_path / f"f{number:02d}.parquet")
    table = mi.open_table(str(tmp_path))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    index = handle_of(table).open_index("stats")
    (run,) = index.entry.content.runs
    stored = index.reader(run).parts("column_stats")
    assert [part.rows for part in stored] == [FILES] * 3
    assert all(part.first_key == part.last_key for part in stored)
    read: list[tuple[int, bool]] = []
    reader = type(index.reader(run))
    plain = reader.read

    def noted(self: Any, part: Any, groups: Sequence[int], columns: Sequence[str], **how: bool) -> pa.Table:
        if part.kind == "column_stats":
            read.append((len(groups), any(name.startswith(("lower_", "upper_")) for name in columns)))
        return plain(self, part, groups, columns, **how)

    monkeypatch.setattr(reader, "read", noted)
    for question, expected, inside in (
        ("a < 305", range(31), 7),
        ("a >= 122 AND a < 477", range(12, 48), 9),
        ("a < 9000", range(FILES), 15),
        ("a < -5", (), 0),
        ("b <= 20", range(41), 10),
        ("c >= 30", range(30, FILES), 7),
    ):
        read.clear()
        found = mi.open_table(str(tmp_path)).prune(question)
        assert sorted(found.paths) == [str(tmp_path / f"f{n:02d}.parquet") for n in expected], question  # type: ignore[attr-defined]
        assert sum(groups for groups, bounds in read if not bounds) == inside, question
        assert sum(groups for groups, bounds in read if bounds) <= 1, question
