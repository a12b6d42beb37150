"""Rows of keys that are damaged or gone: the index is left out, with a warning; other indexes and the table answer, and
no row is lost."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.index import Kind
from tests.hostile.changes import DAMAGES
from tests.hostile.driver import put
from tests.tables import settled

KINDS: dict[str, Kind] = {
    "values": mi.Values("id"),
    "value_keys": mi.Values("id", by="value"),
    "value_lists": mi.ValueList("id", limit=100),
    "bloom_filters": mi.Bloom("id"),
}


@pytest.mark.exhaustive(but=("flipped", "truncated"))
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_lost(kind: str, damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = settled(
        tmp_path / "lake",
        {f"{i:02d}.parquet": pa.table({"id": range(i * 40, i * 40 + 40), "day": [i] * 40}) for i in range(12)},
    )
    table = mi.open_table(str(root))
    table.create_index("find", KINDS[kind], builder="local")
    table.create_index("days", mi.ColumnStats("day"), builder="local")
    parts = list((tmp_path / "_metaindex" / "lake" / "find").glob(f"{kind}*/*/*"))
    assert parts
    for part in parts:
        put(part, DAMAGES[damage](part.read_bytes()))
    table = mi.open_table(str(root))
    for wanted in range(0, 480, 97):
        assert table.scan(f"id = {wanted}").to_arrow().num_rows == 1
        assert table.scan(f"id IN ({wanted}, 9999) AND day = {wanted // 40}").to_arrow().num_rows == 1
    result = table.prune("id = 100 AND day = 2")
    assert [Path(path).name for path in result.paths] == ["02.parquet"]
    find = next(one for one in result.indexes if one.name == "find")
    if not find.used:  # a flipped bit may lie where this look-up does not read
        assert "not used" in caplog.text
    else:
        assert damage.startswith("flipped")


@pytest.mark.parametrize(
    ("field", "kind"),
    [("greatest", "value_keys"), ("least", "value_keys"), ("last_key", "column_stats"), ("greatest", "value_lists")],
)
def test_a_manifest_of_which_one_digit_is_another_is_not_believed(field: str, kind: str, tmp_path: Path) -> None:
    root = settled(
        tmp_path / "lake",
        {f"{i:02d}.parquet": pa.table({"id": range(1000 + i * 40, 1000 + i * 40 + 40)}) for i in range(4)},
    )
    kinds = (mi.ColumnStats(), mi.Values("id", by="value"), mi.ValueList("id", limit=100))
    mi.open_table(str(root)).create_index("all", *kinds, builder="local")
    (manifest,) = (tmp_path / "_metaindex" / "lake" / "all" / "_manifests").iterdir()
    lines = manifest.read_text().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if f'"kind": "{kind}"' in line)
    before = lines[at]
    # Of as many bytes, and still a manifest: what is said of the part leaves out what is asked below.
    digits = str(json.loads(before.strip().rstrip(","))[field])
    other = ("9" if field == "least" else "1").ljust(len(digits), "0")
    lines[at] = before.replace(digits, other if not digits.startswith("-") else "-9" + digits[2:])
    assert lines[at] != before
    assert len(lines[at]) == len(before)
    manifest.write_text("".join(lines))
    table = mi.open_table(str(root))
    for wanted in range(1000, 1160, 13):
        assert table.scan(f"id = {wanted}").to_arrow().num_rows == 1
    (report,) = (one for one in table.prune("id = 1013").indexes if one.name == "all")
    assert not report.used
    assert "the manifest does not match its digest" in report.reason
