"""What a newer metaindex wrote in a way that this one does not know leaves out the run, or the key, and nothing else:
queries stay right, and nobody takes it for damage."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import ForeignIndexError
from metaindex.index.log.sealed import digest
from metaindex.table import handle_of
from tests.tables import FORMATS, Lake

NEED = "frames of the future"


@pytest.fixture(
    params=[pytest.param(one, marks=pytest.mark.slow) if one in ("csv", "delta") else one for one in FORMATS]
)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """Two files in a first run, two in a second."""
    found = FORMATS[request.param](tmp_path)
    found.append(rows(0))
    found.append(rows(1))
    found.open().create_index("all", mi.ColumnStats("id"), mi.Values("name"), builder="local")
    found.append(rows(2))
    found.append(rows(3))
    found.open().refresh_index("all", builder="local")
    return found


def rows(number: int) -> pa.Table:
    ids = range(number * 10, number * 10 + 10)
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i:04d}" for i in ids]})


def rewrite(lake: Lake, at: int, change: Callable[[Any, Path], Any]) -> Any:
    """Another entry, in which one run is as a newer writer would have it."""
    table = lake.open()
    log = handle_of(table).indexes().log("all")
    entry = log.latest()
    runs = list(entry.content.runs)
    runs[at] = change(runs[at], Path(table.indexes()[0].location))
    log.append(
        replace(
            entry.following(),
            nonce="x",
            written_by="a newer one",
            content=replace(entry.content, runs=tuple(runs)),
        )
    )
    return runs[at]


def of_the_future(run: Any, index: Path) -> Any:
    """The run's manifest is in no form that is known here, and its parts are in other folders."""
    path = index / "_manifests" / f"{run.run}.json"
    data = json.dumps({"format_version": 1, "layout": {"version": 7, "by": "frames"}, "reader_needs": [NEED]}).encode()
    path.write_bytes(data)
    for folder in [one for one in index.glob(f"*/run={run.run}") if one.parent.name != "files"]:
        new = index / f"framed_{folder.parent.name}"
        new.mkdir()
        folder.rename(new / folder.name)
    return replace(run, manifest_bytes=len(data), manifest_digest=digest(data), reader_needs=(NEED,))


def check(lake: Lake) -> None:
    for predicate, wanted in [
        ("id = 3", {3}),
        ("id >= 18 AND id < 23", set(range(18, 23))),
        ("name = 'n0035'", {35}),
        ("id < 0", set()),
    ]:
        assert set(lake.open().scan(predicate, columns=["id"]).to_arrow().column("id").to_pylist()) == wanted


def dropped(table: mi.Table, predicate: str) -> int:
    """By the index alone."""
    (used,) = [one for one in table.prune(predicate, indexes=["all"]).indexes if one.name == "all"]
    return used.dropped_files


def objects(index: Path) -> set[str]:
    return {str(p.relative_to(index)) for p in index.rglob("*") if p.is_file() and "_log" not in p.parts}


@pytest.mark.parametrize("at", [0, 1])
def test_an_unknown_need_takes_out_the_run_and_no_more(lake: Lake, at: int) -> None:
    run = rewrite(lake, at, of_the_future)
    check(lake)
    found = lake.open().prune("id = -5 OR id = 99", indexes=["all"])
    (used,) = [one for one in found.indexes if one.name == "all"]
    assert used.used
    assert used.dropped_files == 2  # those of the other run
    assert run.run in used.reason
    assert NEED in used.reason


def test_verify_says_so_and_finds_no_damage(lake: Lake) -> None:
    run = rewrite(lake, 1, of_the_future)
    report = lake.open().verify_index("all")
    assert report.sound, str(report)
    assert report.runs == 1
    assert any(run.run in why and NEED in why for why in report.unchecked)
    assert NEED in lake.open().indexes()[0].problem
    done = lake.open().repair_index("all", builder="local")
    assert not done.changed
    assert run.run in str(done)
    assert NEED in str(done)


@pytest.mark.parametrize("at", [0, 1])
def test_repair_mends_what_it_knows_and_leaves_the_run(lake: Lake, at: int) -> None:
    run = rewrite(lake, at, of_the_future)
    table = lake.open()
    index = Path(table.indexes()[0].location)
    theirs = {path for path in objects(index) if run.run in path}
    bytes_of_theirs = {path: (index / path).read_bytes() for path in theirs}
    other = next(one for one in handle_of(table).indexes().log("all").latest().content.runs if one.run != run.run)  # type: ignore[union-attr]
    (index / "_manifests" / f"{other.run}.json").write_bytes(b"{}")
    assert not table.verify_index("all").sound
    done = lake.open().repair_index("all", builder="local")
    assert done.changed
    assert run.run in str(done)
    assert NEED in str(done)
    left = [one.run for one in done.entry.content.runs]
    assert run.run in left
    assert other.run not in left
    assert {path: (index / path).read_bytes() for path in theirs} == bytes_of_theirs
    report = lake.open().verify_index("all", files=None)
    assert report.sound, str(report)
    assert dropped(lake.open(), "id = -5 OR id = 99") == 4
    check(lake)
    again = lake.open().repair_index("all", builder="local")
    assert not again.changed


def test_clean_leaves_it_and_vacuum_removes_it_with_its_index(lake: Lake) -> None:
    rewrite(lake, 1, of_the_future)
    table = lake.open()
    index = Path(table.indexes()[0].location)
    before = objects(index)
    table.clean_index("all", retention=0)
    assert objects(index) == before
    check(lake)
    table.drop_index("all")
    table.vacuum_index("all")
    assert not objects(index)


def test_whoever_cannot_read_it_does_not_replace_it(lake: Lake) -> None:
    rewrite(lake, 0, of_the_future)
    table = lake.open()
    before = handle_of(table).indexes().log("all").latest()
    lake.append(rows(4))
    verbs: list[Callable[[], object]] = [
        lambda: lake.open().refresh_index("all", builder="local"),
        lambda: lake.open().refresh_index("all", mode="full", builder="local"),
        lambda: lake.open().refresh_index("all", mode="quick"),
        lambda: lake.open().optimize_index("all", mode="full", builder="local"),
    ]
    for verb in verbs:
        with pytest.raises(ForeignIndexError, match=f"{NEED}.*upgrade metaindex"):
            verb()
    assert handle_of(table).indexes().log("all").latest() == before
    table.disable_index("all")
    table.enable_index("all")
    check(lake)


def test_a_manifest_of_a_newer_layout_is_not_damage(lake: Lake) -> None:
    """Where the entry does not say it, the index is left out as soon as the manifest is read."""
    rewrite(lake, 1, lambda run, index: replace(of_the_future(run, index), reader_needs=()))
    check(lake)
    report = lake.open().verify_index("all")
    assert report.sound, str(report)
    assert any(NEED in why for why in report.unchecked)


def test_an_unknown_layout_takes_out_the_key_and_no_more(lake: Lake) -> None:
    def change(run: Any, index: Path) -> Any:
        (key,) = run.keys
        return replace(run, keys=(replace(key, layout={**key.layout, "signed": 1}),))

    run = rewrite(lake, 1, change)
    check(lake)
    table = lake.open()
    assert dropped(table, "name = 'no such name'") == 2
    assert dropped(table, "id = 99") == 4  # statistics of the same run answer
    report = table.verify_index("all")
    assert report.sound, str(report)
    assert report.runs == 2
    assert any(run.run in why and "'signed'" in why for why in report.unchecked)
    table.optimize_index("all", mode="full", builder="local")
    assert run in handle_of(table).indexes().log("all").latest().content.runs  # type: ignore[union-attr]
    table.refresh_index("all", mode="full", builder="local")
    assert dropped(table, "name = 'no such name'") == 4
