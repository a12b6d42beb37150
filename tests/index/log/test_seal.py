"""Entries sealed with a key: who has it uses nothing else, who has none changes nothing, and nobody is shown it."""

import json
import logging
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import ArgumentError, ForeignIndexError
from metaindex.index.log.sealed import seal
from tests.tables import FORMATS, Lake

KEY = "a secret of the lake, 32 bytes !"
OTHER = "another secret, as long as that."


@pytest.fixture(params=["delta", "parquet"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    found = FORMATS[request.param](tmp_path)
    for number in range(4):
        found.append(pa.table({"id": pa.array(range(number * 10, number * 10 + 10), pa.int64())}))
    return found


def opened(lake: Lake, key: str | bytes | None) -> mi.Table:
    return lake.open(config=mi.Config(seal_key=key))


def create(lake: Lake, key: str | bytes | None) -> None:
    opened(lake, key).create_index("stats", mi.ColumnStats(), builder="local")


def reason(lake: Lake, key: str | bytes | None) -> str:
    """Why the index is not used; empty where it is. The rows are right in any case."""
    table = opened(lake, key)
    assert table.scan("id = 23").to_arrow().column("id").to_pylist() == [23]
    (report,) = (one for one in table.prune("id = 23").indexes if one.name == "stats")
    assert report.used == (not report.reason)
    return report.reason


def log_of(lake: Lake) -> Path:
    return Path(lake.open().indexes(staleness=False)[0].location) / "_log"


def test_an_index_is_used_with_its_key_and_without_one(lake: Lake) -> None:
    create(lake, KEY)
    assert reason(lake, KEY) == ""
    assert reason(lake, KEY.encode()) == ""
    assert reason(lake, None) == ""
    assert opened(lake, KEY).verify_index("stats").sound
    lake.append(pa.table({"id": pa.array([99], pa.int64())}))
    assert opened(lake, KEY).refresh_index("stats", builder="local").changed
    assert reason(lake, KEY) == ""


def test_an_index_under_another_key_or_none_is_left_out(lake: Lake) -> None:
    create(lake, KEY)
    assert "was sealed with another key" in reason(lake, OTHER)
    shutil.rmtree(log_of(lake).parent)
    create(lake, None)
    assert "with a seal key, a log entry has the seal of that key" in reason(lake, KEY)
    assert "has none" in opened(lake, KEY).indexes()[0].problem


VERBS: dict[str, Callable[[mi.Table], object]] = {
    "refresh": lambda table: table.refresh_index("stats", mode="full", builder="local"),
    "delete": lambda table: table.drop_index("stats"),
    "disable": lambda table: table.disable_index("stats"),
    "cancel": lambda table: table.cancel_index("stats"),
    "repair": lambda table: table.repair_index("stats", builder="local"),
    "create": lambda table: table.create_index("stats", mi.ColumnStats(), builder="local"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_who_has_another_key_changes_nothing(lake: Lake, verb: str) -> None:
    create(lake, KEY)
    before = sorted(log_of(lake).iterdir())
    with pytest.raises(ForeignIndexError, match="another key"):
        VERBS[verb](opened(lake, OTHER))
    assert sorted(log_of(lake).iterdir()) == before
    assert reason(lake, KEY) == ""


@pytest.mark.parametrize("verb", ["refresh", "delete", "disable"])
def test_who_has_no_key_changes_no_sealed_index(lake: Lake, verb: str) -> None:
    create(lake, KEY)
    with pytest.raises(ForeignIndexError, match="give it as"):
        VERBS[verb](opened(lake, None))
    assert reason(lake, KEY) == ""


def test_an_entry_that_was_made_without_the_key_is_left_out(lake: Lake) -> None:
    create(lake, KEY)
    newest = max(log_of(lake).iterdir())
    value = json.loads(newest.read_bytes().split(b"\n")[0])
    value["content"]["runs"][0]["uncovered_files"] = 1
    for forged in (seal(value, None), seal(value, OTHER.encode())):
        newest.write_bytes(forged)
        assert "seal" in reason(lake, KEY)


def test_what_an_entry_vouches_for_is_covered(lake: Lake) -> None:
    """The digests by which objects are named are no checksums that anybody can make fit."""
    create(lake, KEY)
    index = log_of(lake).parent
    value = json.loads(max((index / "_log").iterdir()).read_bytes().split(b"\n")[0])
    (manifest,) = (index / "_manifests").iterdir()
    assert len(value["content"]["runs"][0]["manifest_digest"]) == 64
    assert all(len(part["footer_digest"]) == 64 for part in json.loads(manifest.read_text())["parts"])
    manifest.write_bytes(manifest.read_bytes().replace(b'"rows": 4', b'"rows": 3'))
    assert "does not match its digest" in reason(lake, KEY)


def test_the_key_may_stand_in_the_environment(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METAINDEX_SEAL_KEY", KEY)
    create(lake, None)
    assert b"hmac_sha256" in max(log_of(lake).iterdir()).read_bytes()
    assert reason(lake, None) == ""
    assert "another key" in reason(lake, OTHER)
    monkeypatch.setenv("METAINDEX_SEAL_KEY", "short")
    with pytest.raises(ArgumentError, match="16 bytes or more"):
        mi.Config()


def test_nobody_is_shown_the_key(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    create(lake, KEY)
    table = opened(lake, KEY)
    said = [
        repr(table),
        str(table),
        repr(table.config),
        str(table.indexes()),
        repr(table.indexes()),
        str(table.history("stats")),
    ]
    said += [
        json.dumps(table.prune("id = 23").to_json()),
        str(table.explain("id = 23")),
        str(table.verify_index("stats")),
    ]
    said += [reason(lake, OTHER), caplog.text]
    for bad in ("short key", b"short key", 5, ["short key"]):
        with pytest.raises(ArgumentError) as error:
            mi.Config(seal_key=bad)
        assert "short key" not in str(error.value)
    for path in Path(lake.path).parent.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
    assert not any(KEY in one or OTHER in one for one in said)
    assert pickle.loads(pickle.dumps(table.config)) == table.config
