"""Files that an index could not read are told in the row of their table, as long as the table has them."""

import html
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.cli import main
from metaindex.core import CorruptTableError, Progress
from metaindex.index import FileStatistics, OpenIndex
from metaindex.index.build.local import LocalBuilder
from metaindex.index.build.protocol import BuildReport, BuildRequest
from metaindex.index.store.writer import RunSink
from metaindex.table import handle_of
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.tables import delta_lake, rows, settled


def files_of(table: str) -> list[Path]:
    """Oldest first."""
    return sorted(Path(table).glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)


def corrupt(file: Path) -> None:
    file.write_bytes(b"PAR1" + b"x" * (file.stat().st_size - 4))


@pytest.mark.parametrize("kinds", [[mi.ColumnStats()], [mi.Values("id")], [mi.ColumnStats(), mi.Values("id")]])
@pytest.mark.parametrize("spoil", [corrupt, Path.unlink])
def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path, call: Call, kinds: list[object], spoil: Callable[[Path], None]
) -> None:
    lake = delta_lake(tmp_path)
    lake.append(rows(0))
    table = lake.open()
    table.create_index("i", *kinds, builder="local")
    lake.append(rows(10))
    spoiled = files_of(lake.path)[-1]
    spoil(spoiled)
    table.refresh_index("i", builder="local")
    told = mi.open_lake(tmp_path)
    row = told["lake"]
    assert (row.fresh, row.unread_files, row.problem) == (True, 1, "")
    assert told.unread == (row,)
    verify, again = f"metaindex verify {lake.path} i --files all", f"metaindex refresh {lake.path} i --mode full"
    said = f"i could not read 1 file, which no query leaves out (the first: {spoiled.name})"
    assert row.advice[0] == f"{said}: {verify} says why; once that is mended, {again} reads them again"
    assert row.commands == (verify, again)
    assert row.indexes[0].unread == spoiled.name
    assert "no, 1 file unread" in str(told)
    assert "1 with unread files" in told.summary
    plain = call("lake", str(tmp_path), "--json", "--html", str(tmp_path / "lake.html")).json
    assert plain["tables"][0]["unread_files"] == 1
    assert plain["tables"][0]["indexes"][0]["uncovered_files"] == 1
    page = (tmp_path / "lake.html").read_text()
    assert "no, 1 file unread" in page
    assert (
        "could not read; no query leaves them out; where they cannot be read now, scan and count end with an error"
        in page
    )
    assert "and those that are unread" not in page
    assert "i could not read 1 file" in page
    assert told.to_arrow().column("unread_files").to_pylist() == [1]
    assert told.indexes_arrow().column("unread").to_pylist() == [spoiled.name]


@pytest.mark.parametrize("kinds", [[mi.ColumnStats()], [mi.Values("id")]])
def test_a_file_that_was_written_again_is_told_no_more(tmp_path: Path, kinds: list[object]) -> None:
    lake = delta_lake(tmp_path)
    for first in (0, 10):
        lake.append(rows(first))
    _, second = files_of(lake.path)
    corrupt(second)
    lake.open().create_index("i", *kinds, builder="local")
    assert mi.open_lake(tmp_path)["lake"].unread_files == 1
    lake.append(rows(20))
    lake.open().refresh_index("i", builder="local")
    assert mi.open_lake(tmp_path)["lake"].unread_files == 1, "of the run before"
    removed = {"path": second.name, "deletionTimestamp": 1, "dataChange": True}
    commits = Path(lake.path) / "_delta_log"
    (commits / f"{3:020}.json").write_text(json.dumps({"remove": removed}) + "\n")
    lake.open().refresh_index("i", builder="local")
    row = mi.open_lake(tmp_path)["lake"]
    assert (row.fresh, row.unread_files) == (True, 0)
    assert not any("could not read" in word for word in row.advice)


def test_a_file_with_too_many_values_is_not_blamed_for_one_that_cannot_be_read(tmp_path: Path) -> None:
    """Of both the index knows nothing. That one of them is unread is told, and not which; and no more once it may have
    left the table."""
    lake = delta_lake(tmp_path)
    for first in (0, 10):
        lake.append(rows(first))
    _, second = files_of(lake.path)
    corrupt(second)
    lake.open().create_index("i", mi.ValueList("id", limit=1), builder="local")
    row = mi.open_lake(tmp_path)["lake"]
    assert (row.unread_files, row.indexes[0].unread) == (1, "")
    assert row.advice[0].startswith("i could not read 1 file, which no query leaves out: metaindex verify")
    removed = {"path": second.name, "deletionTimestamp": 1, "dataChange": True}
    (Path(lake.path) / "_delta_log" / f"{2:020}.json").write_text(json.dumps({"remove": removed}) + "\n")
    lake.open().refresh_index("i", builder="local")
    assert mi.open_lake(tmp_path)["lake"].unread_files == 0


DOUBLED = 'id,note,city,"a,b"\n{number},"say ""hi"", you",x,y\n'


def doubled(root: Path, files: int = 3) -> Path:
    """Files of CSV that `escape='"'` alone reads."""
    settled(root, {f"{number}.csv": DOUBLED.format(number=number) for number in range(files)})
    return root


KINDS: dict[str, list[object]] = {
    "statistics": [mi.ColumnStats()],
    "some statistics": [mi.ColumnStats("id", "city", scan_floats=False)],
    "values": [mi.Values("note", ("id", "city"))],
    "several": [mi.ColumnStats(), mi.Values("note", by="value"), mi.Bloom("city", fpp=0.001), mi.ValueList("id")],
    "said by a statement alone": [mi.Values("a,b"), mi.Values("city", by="value")],
}


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.slow
def test_what_is_advised_for_text_files_that_lack_an_option_reads_them(tmp_path: Path, call: Call, kinds: str) -> None:
    """The command is run as it stands: after it an index of the same kinds knows all files, and nothing is advised."""
    root = doubled(tmp_path / "lake" / "t's")
    mi.open_table(root).create_index("i", *KINDS[kinds], builder="local")
    before = handle_of(mi.open_table(root)).entries()
    (row,) = mi.open_lake(root.parent)
    assert row.unread_files == 3
    (command,) = row.commands
    said = "i could not read 3 files, which no query leaves out (the first: 0.csv); with escape='\"' it is read: "
    assert row.advice == (said + command,)
    plain = call("lake", str(root.parent), "--json", "--html", str(tmp_path / "lake.html")).json
    assert plain["tables"][0]["commands"] == [command]
    assert plain["tables"][0]["advice"] == [said.replace("escape='\"'", "--option 'escape=\"'") + command]
    assert command in html.unescape((tmp_path / "lake.html").read_text())
    assert f"  {command}" in call("lake", str(root.parent)).out
    assert f"  what helps: {command}" in call("verify", str(root), "i").out
    assert call("verify", str(root), "i", "--json").json["commands"] == [command]
    run(command)
    (row,) = mi.open_lake(root.parent)
    said = "with escape='\"' it is read by another index; queries that do not say it have none then: "
    assert row.advice[0].endswith(said + row.commands[0])
    assert shlex.split(row.commands[0]) == ["metaindex", "drop", str(root), "i"]
    run(row.commands[0])
    (row,) = mi.open_lake(root.parent)
    assert (row.unread_files, row.advice, [index.info.name for index in row.indexes if not index.deleted]) == (
        0,
        (),
        ["i_2"],
    )
    (after,) = [entry for entry in handle_of(mi.open_table(root)).entries() if entry.active]
    assert sorted(after.kinds, key=str) == sorted(before[0].kinds, key=str)
    assert mi.open_table(root, escape='"').verify_index("i_2", files=None).sound


def test_an_option_that_spoils_other_files_is_not_advised(tmp_path: Path) -> None:
    """An index that knows them would be taken away for one that knows less."""
    root = doubled(tmp_path / "lake" / "t", 1)
    settled(root, {"1.csv": 'id,note,city,"a,b"\n1,"say \\"hi\\", you",x,y\n'})
    mi.open_table(root).create_index("i", mi.Values("note"), builder="local")
    row = mi.open_lake(root.parent)["t"]
    assert row.indexes[0].unread == "0.csv"
    assert row.commands == (f"metaindex verify {root} i --files all",)


def test_where_another_index_reads_the_files_the_old_one_is_taken_away(tmp_path: Path) -> None:
    root = doubled(tmp_path / "lake" / "t")
    mi.open_table(root).create_index("i", mi.ColumnStats(), builder="local")
    mi.open_table(root, escape='"').create_index("k", mi.ColumnStats(), builder="local")
    assert mi.open_lake(root.parent)["t"].commands[0] == f"metaindex drop {root} i"


def test_one_index_is_advised_and_no_other_where_it_could_not_read_all(tmp_path: Path) -> None:
    """Else each advice, pasted, would build one more."""
    root = doubled(tmp_path / "lake" / "t", 2)
    mi.open_table(root).create_index("i", mi.ColumnStats(), builder="local")
    settled(root, {"2.csv": 'id,note,city,"a,b"\n1,"say \\"hi\\", you",x,y\n'})
    mi.open_table(root, escape='"').create_index("k", mi.ColumnStats(), builder="local")
    row = mi.open_lake(root.parent)["t"]
    assert {index.info.name for index in row.indexes if index.info.uncovered_files} == {"i", "k"}
    assert not [command for command in row.commands if "create" in command or "delete" in command]


def test_a_new_name_is_none_that_is_there(tmp_path: Path) -> None:
    root = doubled(tmp_path / "lake" / "t")
    mi.open_table(root).create_index("I", mi.ColumnStats(), builder="local")
    mi.open_table(root, escape='"').create_index("i_2", mi.Values("id"), builder="local")
    command, _ = mi.open_lake(root.parent)["t"].commands
    assert command.startswith(f"metaindex sql 'CREATE INDEX `I_3` ON `csv`.`{root}`")


def test_text_files_that_nobody_knows_how_to_read_are_looked_at(tmp_path: Path) -> None:
    """No refresh is advised, which would read them as before."""
    root = settled(tmp_path / "lake" / "t", {"0.csv": "id,note\n1,a\n", "1.csv": 'id,note\n1,"a ""b"" c" d"\n'})
    mi.open_table(root).create_index("i", mi.ColumnStats(), builder="local")
    row = mi.open_lake(root.parent)["t"]
    verify = f"metaindex verify {root} i --files all"
    assert row.advice == (
        f"i could not read 1 file, which no query leaves out (the first: 1.csv): {verify} says why, and what helps",
    )
    assert row.commands == (verify,)


def test_files_of_parquet_lack_no_option(tmp_path: Path) -> None:
    root = settled(
        tmp_path / "lake" / "t",
        {**{f"{part}.parquet": pa.table({"id": [part]}) for part in range(3)}, "1.parquet": b'{"id": 1}'},
    )
    mi.open_table(root).create_index("i", mi.ColumnStats(), builder="local")
    verify, again = f"metaindex verify {root} i --files all", f"metaindex refresh {root} i --mode full"
    assert mi.open_lake(root.parent)["t"].commands == (verify, again)


class Unmounted(LocalBuilder):
    """While it reads, the folder of the table is not there."""

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        folder = Path(request.ref.path)
        folder.rename(folder.with_name("elsewhere"))
        try:
            return super().facts(request, sink, progress)
        finally:
            folder.with_name("elsewhere").rename(folder)


def test_text_files_that_can_be_read_now_are_read_again(tmp_path: Path) -> None:
    root = settled(tmp_path / "lake" / "t", {f"{number}.csv": f"id,note\n{number},a\n" for number in range(2)})
    mi.open_table(root).create_index("i", mi.ColumnStats(), builder=Unmounted())
    row = mi.open_lake(root.parent)["t"]
    again = f"metaindex refresh {root} i --mode full"
    said = f"i could not read 2 files, which no query leaves out (the first: 0.csv); it is read now: {again}"
    assert (row.advice, row.commands) == ((said,), (again,))
    mi.open_table(root).refresh_index("i", "full", builder="local")
    assert mi.open_lake(root.parent)["t"].advice == ()


def test_the_files_of_a_table_are_named_once_for_all_its_indexes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = delta_lake(tmp_path)
    lake.append(rows(0))
    lake.open().create_index("sound", mi.ColumnStats(), builder="local")
    lake.append(rows(10))
    corrupt(files_of(lake.path)[-1])
    named = []

    class Named(FileStatistics):
        def places(self, index: OpenIndex, run: Any) -> Any:
            before = self._files
            found = super().places(index, run)
            if self._files is not before:
                named.append(self.snapshot.version.id)
            return found

    monkeypatch.setattr("metaindex.ops.lake.asking.FileStatistics", Named)
    assert mi.open_lake(tmp_path)["lake"].unread_files == 0
    assert named == [], "no run counts a file that could not be read"
    for name in ("a", "b", "c"):
        lake.open().create_index(name, mi.Values("id"), builder="local")
    assert [index.unread != "" for index in mi.open_lake(tmp_path)["lake"].indexes].count(True) == 3
    assert len(named) == 1


def test_a_damaged_file_that_would_tell_the_columns_is_done_without(tmp_path: Path) -> None:
    """Who keeps an index, or looks at a lake, knows no more than a path: the schema is the one that it was built
    with."""
    files = {f"{part}.parquet": pa.table({"id": range(part * 10, part * 10 + 10)}) for part in range(4)}
    root = settled(tmp_path / "lake" / "t", {**files, "0.parquet": b"no footer" * 50})
    with pytest.raises(CorruptTableError, match="name the columns with schema="):
        mi.open_table(root).create_index("i", mi.Values("id"))
    mi.open_table(root, schema="id BIGINT").create_index("i", mi.Values("id"), builder="local")
    table = mi.open_table(root)
    assert table.verify_index("i").sound
    assert not table.refresh_index("i").changed
    settled(root, {"9.parquet": pa.table({"id": [77]})})
    (row,) = mi.open_lake(root.parent).tables
    assert (row.format, row.files, row.problem) == ("parquet", 5, "")
    assert [index.info.new_files for index in row.indexes] == [1]
    assert table.refresh_index("i", builder="local").changed
    assert mi.open_table(root, schema="id BIGINT").prune("id = 77").kept_files == 2
    assert table.indexes()["i"].fresh


def run(command: str) -> None:
    """As a shell reads it."""
    program, *words = shlex.split(command)
    assert program == "metaindex"
    assert main(words) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("0.csv", "id;v\n1;a, b\n2;c\n"),
        ("0.csv", "1,a\n2,b\n3,c\n"),
        ("0.json", '[\n  {"id": 1},\n  {"id": 2}\n]\n'),
    ],
)
def test_a_table_whose_columns_are_found_with_an_option_has_the_command(
    tmp_path: Path, call: Call, name: str, text: str
) -> None:
    root = settled(tmp_path / "lake" / "t", {name: text})
    row = mi.open_lake(root.parent)["t"]
    (command,) = row.commands
    assert row.problem
    assert command.startswith(f"metaindex create {root} stats --option ")
    assert row.advice[0].endswith(f", where that is meant: {command}")
    assert f"  {command}" in call("lake", root.parent).out
    run(command)
    row = mi.open_lake(root.parent)["t"]
    assert (row.problem, [index.info.name for index in row.indexes], row.unread_files) == ("", ["stats"], 0)


def test_damaged_parquet_that_should_tell_the_columns_has_the_command(tmp_path: Path, call: Call) -> None:
    files = {f"{part}.parquet": pa.table({"id": [part], "a b": ["x"]}) for part in range(4)}
    root = settled(tmp_path / "lake" / "t", {**files, "0.parquet": b"no footer" * 50})
    said = "--option 'schema=`id` bigint, `a b` string'"
    assert f"name the columns with {said}, as '1.parquet' has them" in call("prune", root, "id = 1").err
    (command,) = mi.open_lake(root.parent)["t"].commands
    assert command == f"metaindex create {root} stats {said}"
    run(command)
    row = mi.open_lake(root.parent)["t"]
    assert (row.problem, row.files, row.fresh) == ("", 4, True)


def test_a_table_that_no_option_reads_has_no_command(tmp_path: Path) -> None:
    root = settled(tmp_path / "lake" / "t", {"0.parquet": b"no footer" * 50, "1.parquet": b"no footer either" * 50})
    row = mi.open_lake(root.parent)["t"]
    with pytest.raises(CorruptTableError, match=r"or name the columns with schema=\Z"):
        mi.open_table(root).snapshot()
    assert (row.advice, row.commands) == ((), ())
