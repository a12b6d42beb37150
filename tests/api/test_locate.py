"""Where a value is: files, row groups and rows, candidates and exact, at a version and at all of them; and a text in
all keyed columns."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.cli import main
from metaindex.core import UnknownColumnError
from tests.formats.framed import inline_vector
from tests.tables import FORMATS, Lake, settle, settled


@pytest.fixture
def table(tmp_path: Path) -> mi.Table:
    """Three files of four row groups of two rows. User 7 stands in the first and the last."""
    root = tmp_path / "lake"
    root.mkdir()
    for at, users in enumerate(([1, 2, 3, 4, 7, 7, 8, 7], [1, 1, 2, 2, 3, 3, 4, 4], [9, 9, 9, 7, None, 5, 5, 5])):
        rows = {"user_id": pa.array(users, pa.int64()), "name": [f"n{u}" for u in users], "day": [at] * 8}
        pq.write_table(pa.table(rows), root / f"{at}.parquet", row_group_size=2)
    settle(root)
    table = mi.open_table(str(root))
    table.create_index("find", mi.Values("user_id", "name"), mi.Values(("user_id", "day")), builder="local")
    return table


def places(found: pa.Table, *names: str) -> list[tuple[object, ...]]:
    rows = found.select(["path", *names]).to_pylist()
    return [(Path(row["path"]).name.split(".")[0], *(row[name] for name in names)) for row in rows]


def test_candidates_are_row_groups_and_no_data_is_read(table: mi.Table) -> None:
    found = table.locate("user_id = 7")
    assert places(found.table, "row_group", "row_count", "matches") == [
        ("0", 2, 2, None),
        ("0", 3, 2, None),
        ("2", 1, 2, None),
    ]
    assert [Path(path).name for path in found.files] == ["0.parquet", "2.parquet"]


def test_exact_counts_rows(table: mi.Table) -> None:
    found = table.locate("user_id = 7", exact=True)
    assert places(found.table, "row_group", "matches") == [("0", 2, 2), ("0", 3, 1), ("2", 1, 1)]
    assert found.exact
    assert table.locate("user_id = 6", exact=True).table.num_rows == 0


def test_two_columns_as_one_key(table: mi.Table) -> None:
    assert places(table.locate("user_id = 7 AND day = 2").table, "row_group") == [("2", 1)]
    assert table.prune("user_id = 7 AND day IN (1, 3)").paths == []


def test_a_text_in_all_keyed_columns(table: mi.Table) -> None:
    found = table.search("n7", exact=True)
    assert found.asked == ("name",)
    assert list(found.not_asked) == ["user_id"]
    assert places(found.table, "column", "row_group", "matches") == [
        ("0", "name", 2, 2),
        ("0", "name", 3, 1),
        ("2", "name", 1, 1),
    ]
    assert {row["column"] for row in table.search("7").table.to_pylist()} == {"user_id"}


def test_a_search_needs_a_keyed_column(table: mi.Table) -> None:
    table.create_index("stats", mi.ColumnStats(), builder="local")
    with pytest.raises(mi.IndexNotFoundError, match="no index of this table keys one"):
        table.search("7", indexes=["stats"])


def test_a_predicate_that_fits_no_version_is_told(table: mi.Table) -> None:
    with pytest.raises(UnknownColumnError):
        table.locate("nobody = 1", all_versions=True)


@pytest.mark.parametrize("name", ["delta", "iceberg", "csv", "parquet"])
def test_every_format_at_every_version(name: str, tmp_path: Path) -> None:
    lake: Lake = FORMATS[name](tmp_path)
    lake.append(pa.table({"user_id": [1, 2, 7], "v": ["a", "b", "c"]}))
    table = lake.open()
    table.create_index("find", mi.Values("user_id"), mi.ColumnStats(), builder="local")
    first = table.snapshot().version.id
    lake.append(pa.table({"user_id": [7, 7, 3], "v": ["d", "e", "f"]}))
    table = lake.open()
    table.refresh_index("find", builder="local")
    lake.append(pa.table({"user_id": [7], "v": ["g"]}))
    table = lake.open()

    now = table.locate("user_id = 7", exact=True)
    assert sorted(row["matches"] for row in now.table.to_pylist()) == [1, 1, 2]
    then = table.locate("user_id = 7", version=first, exact=True)
    assert [row["matches"] for row in then.table.to_pylist()] == [1]
    every = table.locate("user_id = 7", all_versions=True, exact=True)
    assert sorted(len(row["versions"]) for row in every.table.to_pylist()) == [1, 2, 3]
    assert len(table.search("7").table.to_pylist()) == 3


def test_a_file_that_is_gone_is_an_error_at_its_version_and_a_note_among_all(tmp_path: Path) -> None:
    import deltalake

    root = str(tmp_path / "t")
    deltalake.write_deltalake(root, pa.table({"user_id": [1, 7]}))
    deltalake.write_deltalake(root, pa.table({"user_id": [7]}), mode="overwrite")
    table = mi.open_table(root)
    Path(table.snapshot(0).uri(table.snapshot(0).files.paths[0].as_py())).unlink()

    with pytest.raises(mi.MetaIndexError):
        table.locate("user_id = 7", version=0, exact=True)
    found = table.locate("user_id = 7", all_versions=True, exact=True)
    assert found.versions == ("1",)
    assert "version 0" in found.notes[0]


def test_on_the_command_line(table: mi.Table, capsys: pytest.CaptureFixture[str]) -> None:
    from metaindex.cli import main

    def call(*words: str) -> str:
        capsys.readouterr()
        assert main(list(words)) == 0
        return capsys.readouterr().out

    assert "2 files at version" in call("locate", table.path, "user_id = 7")
    assert '"matches": 2' in call("locate", table.path, "user_id = 7", "--exact", "--json")
    assert "not asked: user_id" in call("search", table.path, "n7")
    call("create", table.path, "more", "--values", "user_id", "--values", "user_id,name", "--builder", "local")
    assert "more" in call("indexes", table.path)


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        ((), [mi.ColumnStats()]),
        (("--values", "a", "--values", "a,b"), [mi.Values("a", ("a", "b"))]),
        (("--values", "a", "--by", "value", "--stats"), [mi.ColumnStats(), mi.Values("a", by="value")]),
        (("--bloom", "u", "--fpp", "0.1", "--column", "c"), [mi.ColumnStats("c"), mi.Bloom("u", fpp=0.1)]),
        (("--value-list", "c", "--limit", "5"), [mi.ValueList("c", limit=5)]),
    ],
)
def test_options_of_create_are_kinds(words: tuple[str, ...], kinds: list[object]) -> None:
    assert of_command_line(words) == kinds


@pytest.mark.parametrize("words", [("--by", "value"), ("--fpp", "0.1"), ("--limit", "3"), ("--stats", "--column", "a")])
def test_an_option_of_a_kind_that_is_not_asked_for_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="leave"):
        of_command_line(words)


def of_command_line(words: tuple[str, ...]) -> list[object]:
    import argparse

    from metaindex.cli import arguments

    parser = argparse.ArgumentParser()
    arguments.kind_options(parser)
    return list(arguments.kinds_of(parser.parse_args(words), usual=True))


def test_deletion_vectors_of_each_version_are_applied(tmp_path: Path) -> None:
    """Version 0: user 7 in rows 4, 5 and 7; 1: rows 4 and 5 are deleted by a vector; 2: rows 4 and 7; 3: restored as at
    0."""
    from tests.formats.delta.hand import add, column, commit, metadata, protocol, remove

    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(pa.table({"user_id": [1, 2, 3, 4, 7, 7, 8, 7]}), root / "f.parquet", row_group_size=2)
    size = (root / "f.parquet").stat().st_size

    commit(root, 0, protocol(3, ["deletionVectors"]), metadata(column("user_id")), add("f.parquet", size=size))
    mi.open_table(str(root)).create_index("find", mi.Values("user_id"), builder="local")
    first, second = inline_vector((4, 5)), inline_vector((4, 7))
    commit(root, 1, remove("f.parquet"), add("f.parquet", size=size, deletionVector=first))
    mi.open_table(str(root)).refresh_index("find", builder="local")
    commit(root, 2, remove("f.parquet", deletionVector=first), add("f.parquet", size=size, deletionVector=second))
    commit(root, 3, remove("f.parquet", deletionVector=second), add("f.parquet", size=size))
    table = mi.open_table(str(root))

    def exact(version: int | None) -> list[tuple[object, ...]]:
        return places(table.locate("user_id = 7", version=version, exact=True).table, "row_group", "matches")

    assert exact(0) == exact(3) == exact(None) == [("f", 2, 2), ("f", 3, 1)]
    assert exact(1) == [("f", 3, 1)]
    assert exact(2) == [("f", 2, 1)]
    every = table.locate("user_id = 7", all_versions=True, exact=True).table
    found = {(row["row_group"], row["matches"]): row["versions"] for row in every.to_pylist()}
    assert found == {(2, 2): ["0", "3"], (3, 1): ["0", "1", "3"], (2, 1): ["2"]}
    assert places(table.locate("user_id = 7", version=1).table, "row_group") == [("f", 2), ("f", 3)]
    searched = table.search("7", version=1, exact=True)
    assert places(searched.table, "column", "row_group", "matches") == [("f", "user_id", 3, 1)]
    assert table.scan("user_id = 7", version=1).to_arrow().num_rows == 1


def test_what_is_printed_is_what_the_command_line_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = settled(tmp_path / "t", {"one.parquet": pa.table({"k": [1, 2, 2]})})
    table = mi.open_table(root)
    table.create_index("k", mi.Values("k"), builder="local")
    for found, words in (
        (table.locate("k = 2", exact=True), ["locate", str(root), "k = 2", "--exact"]),
        (table.search("2", exact=True), ["search", str(root), "2", "--exact"]),
    ):
        capsys.readouterr()
        assert main(words) == 0
        assert capsys.readouterr().out == f"{found}\n"
        assert "one.parquet          0     3      2" in str(found)
