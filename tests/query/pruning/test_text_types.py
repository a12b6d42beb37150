"""Files of texts read by another schema: the same bytes are other values, and other NULLs, so that what was indexed
under one type says nothing under another."""

from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.index import Kind
from tests.tables import settled

WIDENED = [
    (pa.int64(), pa.float64(), "1.5", 1.5),
    (pa.int32(), pa.int64(), "3000000000", 3_000_000_000),
    (pa.int64(), pa.decimal128(20, 1), "1.5", 1.5),
    (pa.decimal128(4, 1), pa.decimal128(9, 1), "12345.5", 12345.5),
    (pa.float32(), pa.float64(), "16777217", 16777217.0),
]
"""Pairs whose bounds carry over where files are not texts, a text that is NULL (or another value) under the first, and
its value under the second."""


def write(folder: Path, name: str, ending: str, values: list[str], head: str = "") -> None:
    json_lines = ending == "json"
    text = "".join(f'{{"n": {value}}}\n' if json_lines else f"{value}\n" for value in values)
    settled(folder, {f"{name}.{ending}": text if json_lines else head + text})


KINDS = {
    "stats": mi.ColumnStats(),
    "values": mi.Values("n"),
    "by value": mi.Values("n", by="value"),
    "lists": mi.ValueList("n"),
    "bloom": mi.Bloom("n"),
}


@pytest.mark.exhaustive(but="csv")
@pytest.mark.parametrize("ending", ["csv", "json"])
@pytest.mark.parametrize(("before", "now", "text", "value"), WIDENED, ids=str)
@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_no_row_is_lost_under_a_wider_type(
    kind: object, before: pa.DataType, now: pa.DataType, text: str, value: float, ending: str, tmp_path: Path
) -> None:
    for name, held in (("a", "2"), ("b", text)):
        write(tmp_path, name, ending, ["1", held])

    def opened(t: pa.DataType) -> mi.Table:
        schema = pa.schema([("n", t)])
        if ending == "json":
            return mi.open_table(str(tmp_path), format="json", schema=schema)
        return mi.open_table(str(tmp_path), format="csv", header=False, schema=schema)

    opened(before).create_index("i", kind, builder="local")
    table = opened(now)
    assert table.scan(f"n = {text}").to_arrow().num_rows == 1
    assert len(table.prune(f"n = {text}").paths) >= 1
    assert {float(v) for v in table.scan("n > 1").to_arrow().column("n").to_pylist()} == {2.0, float(value)}
    assert not any(path.endswith(f"b.{ending}") for path in table.prune("n IS NULL OR n = 1").certain.paths.to_pylist())


@pytest.mark.parametrize(
    ("ending", "text", "later"),
    [("csv", "1.5", "0.5"), ("csv", "3000000000", "3000000001"), ("json", "1.5", "0.5")],
)
@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_no_row_is_lost_where_a_later_file_widens_what_nobody_named(
    kind: Kind, ending: str, text: str, later: str, tmp_path: Path
) -> None:
    """Types follow from the first file and the newest one: under those of before the file between them held a NULL, and
    it is not indexed anew when they change. No option tells the two apart."""
    for name, lines in (("a", ["1", "2"]), ("b", ["1", text]), ("c", ["1", "2"])):
        write(tmp_path, name, ending, lines, "n\n")
    table = mi.open_table(str(tmp_path), format=ending)
    before = table.schema.field("n").type
    table.create_index("i", kind, builder="local")
    write(tmp_path, "d", ending, ["1", later], "n\n")
    table = mi.open_table(str(tmp_path), format=ending)
    assert table.schema.field("n").type != before
    table.refresh_index("i", builder="local")
    assert table.scan(f"n = {text}").to_arrow().num_rows == 1
    assert any(path.endswith(f"b.{ending}") for path in table.prune(f"n = {text}").paths)
    (report,) = (one for one in table.prune(f"n = {text}").indexes if one.name == "i")
    assert "it lacks 3 of 4 files; refresh it with mode='full'" in report.reason  # of before: they are not asked
    assert table.statistics("i", "n").num_rows == 4 if kind == KINDS["stats"] else True
    certain = table.prune("n IS NULL OR n = 1").certain.paths.to_pylist()
    assert not any(path.endswith(f"b.{ending}") for path in certain)
