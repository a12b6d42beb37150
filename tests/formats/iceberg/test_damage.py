"""Damaged tables: one clear error that names table, version and file, and never a part of a snapshot."""

import json
from pathlib import Path
from typing import Any

import pytest

from metaindex.core import CorruptTableError
from metaindex.formats.format import At
from tests.formats.iceberg.handmade import FORMAT, HandManifest, HandTable, entry, open_now, table_ref


@pytest.fixture
def table(tmp_path: Path) -> HandTable:
    made = HandTable(tmp_path / "t")
    made.commit([HandManifest([entry(made.path(f"data/f{n}")) for n in range(50)])])
    made.write()
    return made


@pytest.mark.parametrize("name", ["m1.avro", "snap-1.avro"])
@pytest.mark.parametrize("keep", [0, 3, 0.5, -1, None])
def test_a_truncated_or_missing_manifest_is_named(table: HandTable, name: str, keep: float | None) -> None:
    path = table.root / "metadata" / name
    data = path.read_bytes()
    path.unlink()
    said = " does not" if keep is None else ""
    if keep is not None:
        path.write_bytes(data[: int(len(data) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(CorruptTableError, match=rf"t snapshot 1: manifest.*{name}{said}"):
        open_now(table.root)


def test_a_manifest_cut_between_blocks_is_noticed(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "t")
    table.commit([HandManifest([entry(table.path(f"data/f{n}")) for n in range(5000)], codec="null")])
    table.write()
    path = table.root / "metadata/m1.avro"
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(data[-16:], 0, -16) + 16])
    with pytest.raises(CorruptTableError, match="bytes"):
        open_now(table.root)


def test_a_location_that_is_no_name_is_named() -> None:
    from metaindex.formats.iceberg.locations import Place

    with pytest.raises(CorruptTableError, match="is a path"):
        Place.of("/lake/t").open("/lake/t/metadata/s\0ap.avro")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format-version": 2}', '{"format-version": "x"}', "\x1f\x8b no gzip"]
)
def test_broken_metadata_is_named(table: HandTable, text: str) -> None:
    (table.root / "metadata/v1.metadata.json").write_text(text, encoding="latin-1")
    with pytest.raises(CorruptTableError, match=r"v1\.metadata\.json"):
        open_now(table.root)


def test_a_hint_at_a_missing_file_is_named(table: HandTable) -> None:
    (table.root / "metadata/version-hint.text").write_text("7")
    with pytest.raises(CorruptTableError, match=r"version-hint\.text says '7'"):
        open_now(table.root)
    (table.root / "metadata/v1.metadata.json").unlink()
    assert FORMAT.detect(table_ref(table.root))
    with pytest.raises(CorruptTableError, match=r"version-hint\.text"):
        open_now(table.root)


@pytest.mark.parametrize("hint", ["9" * 5_000, "9" * 19])
def test_a_hint_of_very_many_digits_names_no_version(table: HandTable, hint: str) -> None:
    (table.root / "metadata/version-hint.text").write_text(hint)
    with pytest.raises(CorruptTableError, match=r"version-hint\.text says '9{19,80}' and there is none; restore it"):
        open_now(table.root)


MANY = "9" * 5_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "it is nested too deep"),
        (f'{{"format-version": {MANY}}}', "it has a number of too many digits"),
        (f'{{"format-version": "{MANY}"}}', "it has a number of too many digits"),
        ('{"format-version": Infinity}', "OverflowError"),
    ],
)
def test_what_is_too_large_for_python_is_told_in_words_of_ours(table: HandTable, text: str, said: str) -> None:
    (table.root / "metadata/v1.metadata.json").write_text(text)
    with pytest.raises(CorruptTableError, match=rf"v1\.metadata\.json is not \({said}") as told:
        open_now(table.root)
    assert "sys." not in str(told.value)


@pytest.mark.parametrize("kind", [f"decimal({MANY}, 2)", f"fixed[{MANY}]", "fixed[99999999999]"])
def test_a_type_of_a_size_that_none_has_is_damage(table: HandTable, kind: str) -> None:
    path = table.root / "metadata/v1.metadata.json"
    said = json.loads(path.read_text())
    said["schemas"][0]["fields"][0]["type"] = kind
    path.write_text(json.dumps(said))
    with pytest.raises(CorruptTableError, match="must follow the specification") as told:
        open_now(table.root)
    assert "sys." not in str(told.value)


def test_a_named_metadata_file_that_is_missing_is_an_error(table: HandTable) -> None:
    with pytest.raises(CorruptTableError, match=r"v9\.metadata\.json"):
        open_now(table.path("metadata/v9.metadata.json"))


def test_a_ref_to_an_unlisted_snapshot_is_an_error(table: HandTable) -> None:
    with pytest.raises(CorruptTableError, match="names 99"):
        table.snapshot(**{"current-snapshot-id": 99, "refs": {}})


def test_a_cycle_of_parents_is_an_error(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "t")
    table.commit([HandManifest([entry("a")])], parent=2)
    table.commit([HandManifest([entry("a")])], parent=1)
    table.commit([HandManifest([entry("b")])])
    ref = table_ref(table.write())
    base = FORMAT.snapshot(ref, At(version=3))
    with pytest.raises(CorruptTableError, match="cycle"):
        FORMAT.diff(ref, base, At(version=1))


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (HandManifest([entry("a", status=0)], sequence=3), "sequence number"),
        (HandManifest([entry("a")], spec_id=5), "spec 5"),
    ],
)
def test_an_entry_that_lacks_its_sequence_number_or_spec_is_an_error(
    tmp_path: Path, manifest: HandManifest, said: str
) -> None:
    table = HandTable(tmp_path / "t")
    table.commit([manifest])
    with pytest.raises(CorruptTableError, match=said):
        table.snapshot()


@pytest.mark.parametrize(
    "field",
    [{"name": "x"}, {"id": 1, "name": "x", "type": {"type": "list"}}, {"id": "z", "name": "x", "type": "int"}, 5],
)
def test_a_broken_schema_is_an_error(table: HandTable, field: Any) -> None:
    content = table.metadata(schemas=[{"schema-id": 0, "type": "struct", "fields": [field]}])
    (table.root / "metadata/v1.metadata.json").write_text(json.dumps(content))
    with pytest.raises(CorruptTableError, match="schema"):
        open_now(table.root)


@pytest.mark.parametrize(
    "text", ["{", "{}", "5", '["x"]', '[{"field-id": "x"}]', '[{"names": [1]}]', '[{"fields": 5}]']
)
def test_a_name_mapping_that_is_none_is_named(table: HandTable, text: str) -> None:
    with pytest.raises(CorruptTableError, match=r"name-mapping.*/t is none.*v1\.metadata\.json"):
        table.snapshot(properties={"schema.name-mapping.default": text}).details.read_options()
