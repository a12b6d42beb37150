"""verify finds what is wrong and nothing else; repair rebuilds that, and leaves the rest and the table alone."""

import contextlib
import dataclasses
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

import metaindex as mi
from metaindex.cli import main
from metaindex.core import StorageError, StoragePermissionError, StorageUnavailableError
from metaindex.index.kinds.column_stats.rows import aggregates, sorted_rows
from metaindex.index.kinds.column_stats.schemas import COLUMNS
from metaindex.index.log.codec import encode
from metaindex.index.log.operation_log import entry_path
from metaindex.index.log.sealed import digest
from metaindex.index.log.versions import to_text
from metaindex.index.store.layout import PartInfo, manifest_bytes, manifest_path
from metaindex.index.store.writer import write_part
from metaindex.table import handle_of
from tests.hostile.changes import turn
from tests.index.actions.faults import FaultStorage, MemoryStorage, opened
from tests.index.upkeep.flips import found_by_verify
from tests.tables import FORMATS, Lake, delta_lake, parquet_lake

ROWS = {
    "id": pa.array(range(8), pa.int64()),
    "name": pa.array(["a", None, "é" * 80, "", "z", "😀", "b", "c"]),
    "v": pa.array([0.5, float("nan"), None, -0.0, 1e300, float("-inf"), 2.0, 3.0]),
    "none": pa.nulls(8, pa.int32()),
}


def rows(number: int) -> pa.Table:
    return pa.table(ROWS).set_column(0, "id", pa.array(range(number * 10, number * 10 + 8), pa.int64()))


def indexed(lake: Lake, files: int = 3) -> mi.Table:
    """The first file is a run of its own."""
    lake.append(rows(0))
    table = lake.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    for number in range(1, files):
        lake.append(rows(number))
    table.refresh_index("stats", builder="local")
    return table


def folder(table: mi.Table) -> Path:
    return Path(table.indexes()[0].location)


def contents(root: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file() and "_metaindex" not in p.parts}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "delta" else pytest.mark.exhaustive) for n in FORMATS]
)
def test_a_sound_index_is_found_right_and_every_statistic_is_compared(tmp_path: Path, name: str) -> None:
    table = indexed(FORMATS[name](tmp_path))
    found = table.verify_index("stats", files=None, versions="all", predicates=["id = 15", "name = 'z' AND v < 0"])
    assert found.sound, str(found)
    assert (found.runs, found.versions, found.gone) == (2, 2, 0)
    assert found.statistics == 3 * (3 if name == "csv" else 4)  # text that is no number has no value
    assert found.files >= 3
    assert found.versions_compared == 2


@pytest.mark.slow
def test_it_stays_right_through_the_life_of_an_index(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake, 5)
    delta = deltalake.DeltaTable(lake.path)
    delta.delete("id < 5")
    table.refresh_index("stats", builder="local")
    delta.restore(1)
    table.refresh_index("stats", "quick", builder="local")
    lake.append(rows(9))
    table.refresh_index("stats", builder="local")
    assert table.verify_index("stats", files=None, versions="all").sound
    table.optimize_index("stats", "full")
    found = table.verify_index("stats", files=None, versions="all")
    assert found.sound, str(found)
    assert found.runs == 1


def _part(table: mi.Table, kind: str) -> Path:
    return sorted((folder(table) / kind).rglob("*.mix"), key=os.path.getmtime)[-1]


DAMAGES: dict[str, Callable[[mi.Table], object]] = {
    "a part is gone": lambda t: _part(t, "column_stats").unlink(),
    "a part is cut off": lambda t: os.truncate(_part(t, "partition_stats"), 100),
    "a byte of a page": lambda t: turn(_part(t, "column_stats"), 200),
    "a byte of the files": lambda t: turn(_part(t, "files"), 60),
    "a byte of a footer": lambda t: turn(_part(t, "file_ids"), -30),
    "the manifest": lambda t: turn(sorted((folder(t) / "_manifests").iterdir(), key=os.path.getmtime)[-1], 40),
    "the manifest is gone": lambda t: sorted((folder(t) / "_manifests").iterdir(), key=os.path.getmtime)[-1].unlink(),
}


@pytest.mark.parametrize(
    "damage", [pytest.param(d, marks=[] if d == "a byte of a page" else pytest.mark.exhaustive) for d in DAMAGES]
)
def test_a_damaged_run_is_found_and_only_that_one_is_rebuilt(tmp_path: Path, damage: str) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    before = contents(Path(lake.path))
    first, last = (run.run for run in handle_of(table).indexes().log("stats").latest().content.runs)  # type: ignore[union-attr]
    DAMAGES[damage](table)
    found = lake.open().verify_index("stats")
    assert not found.sound
    assert found.damaged_runs == {last}
    assert {finding.kind for finding in found.findings} == {"run"}
    outcome = lake.open().repair_index("stats", builder="local")
    assert (outcome.operation, outcome.changed) == ("repair", True)
    assert outcome.entry.content.runs[0].run == first
    assert [run.files for run in outcome.entry.content.runs] == [1, 2]
    table = lake.open()
    assert table.verify_index("stats", files=None, versions="all").sound
    assert table.indexes()[0].fresh
    assert table.prune("id = 15").kept_files == 1
    assert not table.repair_index("stats", builder="local").changed
    assert contents(Path(lake.path)) == before


def failing(kept: MemoryStorage, error: BaseException, first: int, last: int) -> FaultStorage:
    """Its calls between these numbers fail so."""

    def fail(number: int) -> None:
        if first <= number <= last:
            raise error

    return FaultStorage(kept, between=fail)


def ended(path: str, kept: MemoryStorage, error: Exception, step: int, *expected: type[Exception], **how: Any) -> float:
    """The share of verifications of which a call fails so that end with an error that is expected; the others find
    nothing wrong."""
    counting, answers = FaultStorage(kept.copy()), []
    assert opened(path, counting).verify_index("stats", **how).sound
    for at in range(0, len(counting.calls), step):
        answers.append(True)
        with contextlib.suppress(*expected):
            found = opened(path, failing(kept.copy(), error, at, at)).verify_index("stats", **how)
            assert found.sound, (counting.calls[at], found.findings)
            answers[-1] = False
    return sum(answers) / len(answers)


@pytest.mark.exhaustive(but="StorageUnavailableError")
@pytest.mark.slow
@pytest.mark.parametrize("error", [StorageUnavailableError, StoragePermissionError])
def test_a_store_that_does_not_let_us_look_says_nothing_of_the_index(tmp_path: Path, error: type[StorageError]) -> None:
    """Each call of a verification fails once: it ends with that error or has found nothing; repair rebuilds nothing."""
    lake, kept = delta_lake(tmp_path), MemoryStorage()
    lake.append(rows(0))
    table = opened(lake.path, kept)
    table.create_index("stats", mi.ColumnStats(), mi.Values("id"), mi.ValueList("name"), builder="local")
    lake.append(rows(1))
    table.refresh_index("stats", builder="local")
    assert ended(lake.path, kept, error("no answer"), 1, error, files=None, versions="all") > 1 / 2
    with pytest.raises(error):
        opened(lake.path, failing(kept, error("no answer any more"), 5, 10**9)).repair_index("stats", builder="local")
    assert opened(lake.path, kept).verify_index("stats").sound


@pytest.mark.parametrize(
    "short", [MemoryError(), OSError(errno.ENOMEM, "no memory"), OSError(errno.EMFILE, "no files")]
)
def test_a_process_short_of_memory_or_files_says_nothing_of_the_index(tmp_path: Path, short: Exception) -> None:
    """Every third call of a verification fails so: it ends with an error, or has found nothing."""
    lake, kept = delta_lake(tmp_path), MemoryStorage()
    lake.append(rows(0))
    opened(lake.path, kept).create_index("stats", mi.ColumnStats(), mi.Values("id"), builder="local")
    assert ended(lake.path, kept, short, 3, StorageError, type(short))


@pytest.mark.slow
def test_any_flipped_bit_is_found_unless_no_value_changes_by_it(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    objects = [p for p in folder(table).rglob("*") if p.suffix == ".mix" or p.parent.name == "_manifests"]
    assert found_by_verify(lake, "stats", objects, 60) > 40


def _rewrite(table: mi.Table, change: Callable[[pa.Table], pa.Table]) -> None:
    """The last run with other statistics, as a faulty builder would have left it: every digest is right."""
    log = handle_of(table).indexes().log("stats")
    entry = log.latest()
    run = entry.content.runs[-1]
    manifest = folder(table) / manifest_path(run.run)
    parts = [PartInfo(**part) for part in json.loads(manifest.read_bytes())["parts"]]
    column = next(c for c in run.columns if c.name == "id")
    new = []
    for part in parts:
        path = folder(table) / part.path
        stored = pq.read_table(path)
        if part.kind in ("column_stats", "partition_stats"):
            mask = pa.compute.equal(stored.column("column_id"), column.column_id)
            mine = stored.filter(mask)
            if part.kind == "column_stats":
                mine = sorted_rows(change(mine))
                totals = aggregates(mine)
            else:
                mine = totals.cast(mine.schema)
            others = stored.filter(pa.compute.invert(mask))
            rows = pa.concat_tables([others, mine.cast(others.schema)])
            order = pa.compute.sort_indices(rows.column("column_id"))  # stable: the order inside a column stays
            part = write_part(log.storage, part.path, part.kind, rows.take(order), COLUMNS)
        new.append(part)
    data = manifest_bytes(new)
    manifest.write_bytes(data)
    size = sum(part.size_bytes for part in new) + len(data)
    other = dataclasses.replace(run, size_bytes=size, manifest_bytes=len(data), manifest_digest=digest(data))
    content = dataclasses.replace(entry.content, runs=(*entry.content.runs[:-1], other))
    (folder(table) / entry_path(entry.id)).write_bytes(encode(dataclasses.replace(entry, content=content)))


def _set(name: str, value: object) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index(name)
        return table.set_column(at, table.schema.field(at), pa.array([value] * table.num_rows, table.schema.types[at]))

    return change


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("lower_int", 22),
        *(
            pytest.param(*one, marks=pytest.mark.exhaustive)
            for one in [("upper_int", 12), ("null_count", 1), ("value_count", 7), ("lower_int", -5), ("state", 1)]
        ),
    ],
)
def test_a_statistic_that_is_not_true_is_found_and_rebuilt(tmp_path: Path, column: str, value: int) -> None:
    lake = parquet_lake(tmp_path)
    table = indexed(lake)
    change = _set(column, value)
    if column == "state":  # all NULL, it says
        change = lambda t: _set("upper_int", None)(_set("lower_int", None)(_set("state", 1)(t)))  # noqa: E731
    _rewrite(table, change)
    table = lake.open()
    assert table.verify_index("stats", files=0).sound  # by itself it looks right
    found = table.verify_index("stats")
    assert {finding.kind for finding in found.findings} == {"statistics"}, str(found)
    assert {finding.file for finding in found.findings} == {"f001.parquet", "f002.parquet"}
    assert "column 'id'" in str(found)
    if column == "state":
        assert {f.kind for f in table.verify_index("stats", files=0, predicates=["id = 15"]).findings} == {"dropped"}
    assert table.repair_index("stats", builder="local").changed
    assert lake.open().verify_index("stats", files=None, versions="all").sound
    assert lake.open().prune("id = 15").kept_files == 1


@pytest.mark.slow
def test_a_recorded_version_with_other_files_is_found_and_written_anew(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    log = handle_of(table).indexes().log("stats")
    entry = log.latest()
    newest = entry.content.versions[-1]
    wrong = dataclasses.replace(newest, removed={entry.content.runs[-1].run: to_text(BitMap([0]))})
    content = dataclasses.replace(entry.content, versions=(*entry.content.versions[:-1], wrong))
    (folder(table) / entry_path(entry.id)).write_bytes(encode(dataclasses.replace(entry, content=content)))
    (finding,) = lake.open().verify_index("stats").findings
    assert (finding.kind, finding.version) == ("version", newest.version.id)
    outcome = lake.open().repair_index("stats", builder="local")
    assert outcome.changed
    assert len(outcome.entry.content.runs) == 2  # no data file was read again
    table = lake.open()
    assert table.verify_index("stats", files=None, versions="all").sound
    assert table.prune("id >= 0").kept_files == 3


@pytest.mark.slow
def test_an_index_goes_on_from_the_newest_entry_that_can_be_read(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    last = handle_of(table).indexes().log("stats").numbers()[-1]
    (folder(table) / entry_path(last)).write_bytes(b"{}")
    found = lake.open().verify_index("stats")
    assert [finding.kind for finding in found.findings] == ["log"]
    assert table.prune("id = 15").total_files == 3
    assert lake.open().repair_index("stats", builder="local").changed
    table = lake.open()
    found = table.verify_index("stats", files=None, versions="all")
    assert found.sound, str(found)
    assert found.unchecked
    assert table.indexes()[0].fresh
    for path in (folder(table) / "_log").iterdir():
        path.write_bytes(b"{}")
    with pytest.raises(mi.DamagedIndexError, match="create the index anew"):
        lake.open().repair_index("stats", builder="local")


@pytest.mark.slow
def test_files_that_left_the_lake_are_told_and_no_fault(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    Path(lake.path, table.snapshot().files.paths[0].as_py()).unlink()
    found = table.verify_index("stats", files=None)
    assert (found.sound, found.gone) == (True, 1)


@pytest.mark.slow
def test_the_command_line_says_it_in_words_json_and_exit_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    assert main(["verify", lake.path, "stats", "--files", "all", "--all-versions", "--where", "id = 15"]) == 0
    assert "index 'stats' is right" in capsys.readouterr().out
    _part(table, "column_stats").unlink()
    assert main(["verify", lake.path, "stats", "--json"]) == 3
    said = json.loads(capsys.readouterr().out)
    assert (said["sound"], said["findings"][0]["kind"]) == (False, "run")
    assert main(["repair", lake.path, "stats", "--builder", "local"]) == 0
    assert "repair of index 'stats': done" in capsys.readouterr().out
    assert main(["verify", lake.path, "nothing"]) == 1
    assert "there is no index named 'nothing'" in capsys.readouterr().err
