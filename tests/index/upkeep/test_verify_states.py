"""verify tells of an index that no query could use as the other verbs do: it is neither right nor wrong."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.cli import main
from metaindex.core import IndexNotFoundError, IndexStateError
from metaindex.index import IndexLogEntry
from metaindex.index.log.entry import UnderWay
from metaindex.index.log.operation_log import entry_path
from metaindex.index.log.states import Operation
from metaindex.table import handle_of
from tests.tables import delta_lake, indexed

KILLED = """
import os, sys
import metaindex as mi
from metaindex.index.actions.create import Create

Create.run = lambda action, begun: os._exit(9)
mi.open_table(sys.argv[1]).create_index("stats", mi.ColumnStats(), builder="local")
"""


def killed_while_creating(table: mi.Table) -> None:
    table.drop_index("stats")
    table.vacuum_index("stats")
    assert subprocess.run([sys.executable, "-c", KILLED, table.path], check=False).returncode == 9


def cancelled_creation(table: mi.Table) -> None:
    killed_while_creating(table)
    table.cancel_index("stats")


def dropped(table: mi.Table) -> None:
    table.drop_index("stats")


def vacuumed(table: mi.Table) -> None:
    table.drop_index("stats")
    table.vacuum_index("stats")


def under_way(operation: Operation, table: mi.Table) -> None:
    log = handle_of(table).indexes().log("stats")
    latest = log.latest()
    mark = UnderWay(operation, latest.id + 1, "dead", "elsewhere:7", int(time.time() * 1000))
    log.append(replace(latest, id=latest.id + 1, nonce="dead", under_way=(mark,)))


def of_deleted(operation: Operation, table: mi.Table) -> None:
    table.drop_index("stats")
    under_way(operation, table)


STATES: list[tuple[Callable[[mi.Table], None], type[mi.MetaIndexError], str]] = [
    (
        killed_while_creating,
        IndexStateError,
        r"verify does not go beside create; index 'stats' is CREATING: create by .* \(entry 7\); wait for it, or cancel"
        r" it if its writer is dead",
    ),
    (
        cancelled_creation,
        IndexNotFoundError,
        r"there is no index named 'stats' \(its creation never finished\); there are: other",
    ),
    (dropped, IndexStateError, r"verify needs state ACTIVE; index 'stats' is DELETED \(entry 4\); restore it first"),
    (vacuumed, IndexNotFoundError, r"there is no index named 'stats' \(it was vacuumed\); there are: other"),
    *(
        (
            partial(of_deleted, operation),
            IndexStateError,
            f"verify does not go beside {operation.value.lower()}; index 'stats' is {state}",
        )
        for operation, state in ((Operation.VACUUM, "VACUUMING"), (Operation.RESTORE, "RESTORING"))
    ),
]


@pytest.mark.parametrize(
    ("gone", "error", "said"), STATES, ids=["creating", "cancelled", "dropped", "vacuumed", "vacuuming", "restoring"]
)
def test_what_no_query_could_use_is_not_right(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    gone: Callable[[mi.Table], None],
    error: type[mi.MetaIndexError],
    said: str,
) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    table.create_index("other", mi.ColumnStats(), builder="local")
    gone(table)
    table = lake.open()
    with pytest.raises(error, match=said):
        table.verify_index("stats")
    with pytest.raises(error, match=said.replace("verify ", "repair ")):
        table.repair_index("stats", builder="local")
    with pytest.raises(error, match=said):
        mi.sql(f"VERIFY INDEX stats ON '{lake.path}'")
    assert main(["verify", lake.path, "stats"]) == 1
    answer = capsys.readouterr()
    assert "is right" not in answer.out
    assert "metaindex verify: error: " in answer.err
    assert table.verify_index("other").sound


@pytest.mark.parametrize("operation", [Operation.REFRESH, Operation.DELETE, Operation.CANCEL])
def test_what_queries_use_while_it_is_worked_on_is_verified(tmp_path: Path, operation: Operation) -> None:
    lake = delta_lake(tmp_path)
    under_way(operation, indexed(lake))
    assert lake.open().verify_index("stats").sound


def test_a_log_that_is_damaged_behind_a_drop_is_told_first(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    dropped(table)
    table.restore_index("stats")
    log = handle_of(table).indexes().log("stats")
    restored = log.latest()
    assert isinstance(restored, IndexLogEntry)
    (Path(table.indexes()[0].location) / entry_path(restored.id)).write_bytes(b"{}")
    (finding,) = lake.open().verify_index("stats").findings
    assert (finding.kind, finding.where) == ("log", f"entry {restored.id}")


def quoted(root: Path, first: int, last: int) -> None:
    """Files of CSV that no reader without `escape='"'` makes sense of."""
    for number in range(first, last):
        (root / f"{number:02}.csv").write_text(f'note,city\n"{number} ""b""",x\n')


ALL_KINDS = [[mi.ColumnStats()], [mi.ValueList("city")], [mi.Values("city")], [mi.ColumnStats(), mi.Values("note")]]


@pytest.mark.parametrize("kinds", ALL_KINDS)
def test_files_with_rows_that_cannot_be_read_are_told(tmp_path: Path, kinds: list[object]) -> None:
    """Nothing of theirs is compared: each is told with its error to programs, and those that are alike once to
    people."""
    quoted(tmp_path, 0, 30)
    table = mi.open_table(tmp_path)
    table.create_index("i", *kinds, builder="local")
    report = table.verify_index("i", files=None)
    assert sum("a quote inside a quoted value" in why for why in report.unchecked) == 30
    (line,) = [line for line in str(report).splitlines() if line.startswith("  not compared: ")]
    assert line.startswith("  not compared: 30 data files (00.csv, 01.csv, 02.csv and 27 more), the first: ")
    assert line.count("escape='\"'") == 1
    assert len(report.to_json()["unchecked"]) == 30  # type: ignore[arg-type]


@pytest.mark.parametrize("kinds", ALL_KINDS)
@pytest.mark.slow
def test_an_index_of_which_nothing_was_compared_is_not_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kinds: list[object]
) -> None:
    root = tmp_path / "t"
    root.mkdir()
    quoted(root, 0, 12)
    table = mi.open_table(root)
    table.create_index("i", *kinds, builder="local")
    report = table.verify_index("i")
    assert (report.sound, report.unproven, report.findings) == (False, True, [])
    assert str(report).startswith(
        "index 'i' could not be compared with the table: 12 of 12 data files could not be read"
    )
    assert main(["verify", str(root), "i"]) == 1
    answer = capsys.readouterr()
    assert "is right" not in answer.out
    assert "no data file could be read to compare it with" in answer.err
    assert main(["verify", str(root), "i", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["sound"], said["unproven"], said["compared"]) == (False, True, 0)
    assert main(["verify", str(root), "i", "--files", "0"]) == 0, "nothing was to be compared"
    assert "index 'i' is right in itself; no data file was compared with it" in capsys.readouterr().out
    (row,) = mi.sql(f"VERIFY INDEX i ON '{root}'").to_json()
    assert (row["sound"], row["files"], len(row["not_compared"])) == (False, 0, 12)
    assert main(["sql", f"VERIFY INDEX i ON '{root}'"]) == 1
    assert "is right" not in capsys.readouterr().out
    outcome = table.repair_index("i", builder="local")
    assert not outcome.changed
    assert "no data file could be read to compare it with" in str(outcome)


def test_an_index_of_which_some_was_compared_is_right_as_far_as_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "00.csv").write_text("note,city\na,x\n")
    quoted(tmp_path, 1, 4)
    table = mi.open_table(tmp_path)
    table.create_index("i", mi.ColumnStats(), builder="local")
    report = table.verify_index("i")
    assert (report.sound, report.unproven) == (True, False)
    assert main(["verify", str(tmp_path), "i"]) == 0
    said = "index 'i' is right as far as it was compared: 3 of 4 data files could not be read"
    assert said in capsys.readouterr().out


def test_files_with_other_reasons_are_told_apart(tmp_path: Path) -> None:
    """The row that a reason shows is each file's own, and makes it no other reason."""
    (tmp_path / "00.csv").write_text("note,city\na,x\n")
    quoted(tmp_path, 1, 3)
    (tmp_path / "03.csv").write_text('note,city\n"a; ""b; c""",x\n')
    (tmp_path / "04.csv").write_text('note,city\n"a \\"b,x\n')
    table = mi.open_table(tmp_path)
    table.create_index("i", mi.ColumnStats(), builder="local")
    lines = str(table.verify_index("i", files=None)).splitlines()
    one, other = [line for line in lines if line.startswith("  not compared: ")]
    assert one.startswith("  not compared: 3 data files (01.csv, 02.csv, 03.csv), the first: ")
    assert other.startswith("  not compared: data file '04.csv' cannot be read: a value with quotes inside")


def test_an_index_whose_files_are_all_gone_is_not_right(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    for path in table.snapshot().files.paths.to_pylist():
        Path(lake.path, path).unlink()
    report = lake.open().verify_index("stats", files=None)
    assert (report.sound, report.unproven) == (False, True)


def test_a_file_that_cannot_be_read_is_told_once_whatever_the_index_keeps(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("note,city\na,x\n")
    for number in range(1, 4):
        (tmp_path / f"{number}.csv").write_text('note,city\n"a ""b""",x\n')
    table = mi.open_table(tmp_path)
    table.create_index("i", mi.ColumnStats(), mi.Values("note"), mi.Bloom("city"), builder="local")
    table.create_index("k", mi.Values("note"), mi.Bloom("city"), builder="local")
    for name, said in (
        ("i", "data file '1.csv' cannot be read: "),
        ("k", "the keys of data file '1.csv': note, city: "),
    ):
        report = table.verify_index(name, files=None)
        (line,) = [line for line in str(report).splitlines() if line.startswith("  not compared: ")]
        assert line.startswith(f"  not compared: 3 data files (1.csv, 2.csv, 3.csv), the first: {said}a quote inside a")
        assert line.count("a quote inside") == 1
        assert "the keys of 1 data file against their rows" in str(report)
        assert report.to_json()["unread"] == ["1.csv", "2.csv", "3.csv"]


def test_a_file_that_is_gone_is_counted_once(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    table.create_index("i", mi.ColumnStats(), mi.Values("id"), builder="local")
    path = table.snapshot().files.paths[0].as_py()
    Path(table.path, path).unlink()
    report = lake.open().verify_index("i", files=None)
    assert (report.findings, report.gone) == ([], 1)
    plain = report.to_json()
    assert (plain["gone"], plain["gone_files"]) == (1, [path])
