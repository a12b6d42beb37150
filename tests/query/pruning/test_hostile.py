"""What a stranger, a sync tool or a bug puts among the objects of an index: the index is left out of queries with its
reason, nobody waits, and a verb makes it right again."""

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import DamagedIndexError, ForeignIndexError
from metaindex.formats import Field, Schema
from metaindex.index.log.operation_log import entry_path
from metaindex.index.log.schema_codec import schema_to_json
from metaindex.index.log.sealed import digest, seal
from metaindex.table import Table
from tests.hostile.changes import STRANGE
from tests.hostile.driver import at_most
from tests.tables import FORMATS, Lake

MARK = {"operation": "refresh", "nonce": "n", "who": "w"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the table and its index, made once: both may be copied elsewhere."""
    folder = tmp_path_factory.mktemp("whole")
    found = FORMATS["delta"](folder)
    for number in range(4):
        found.append(pa.table({"id": pa.array(range(number * 10, number * 10 + 10), pa.int64())}))
    found.open().create_index("stats", mi.ColumnStats("id"), builder="local")
    return folder


@pytest.fixture
def lake(whole: Path, tmp_path: Path) -> Lake:
    return copied_lake(whole, tmp_path)


def copied_lake(whole: Path, folder: Path) -> Lake:
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    return FORMATS["delta"](folder)


def log_of(lake: Lake) -> Path:
    return Path(lake.open().indexes(staleness=False)[0].location) / "_log"


def newest(log: Path) -> Path:
    return max(path for path in log.iterdir() if path.name[0].isdigit())


def said(path: Path) -> Any:
    return json.loads(path.read_bytes().split(b"\n")[0])


@contextlib.contextmanager
def changed(lake: Lake, *, anew: bool = False) -> Iterator[Any]:
    """The newest entry, written again as it is left: in its place, or `anew` under the number that it then has."""
    path = newest(log_of(lake))
    value = said(path)
    yield value
    (path.with_name(f"{value['id']:020d}.json") if anew else path).write_bytes(seal(value, None))


def left_out(lake: Lake, why: str = "") -> None:
    """Every query answers, and says why it does so without the index."""
    with at_most(600):
        table = lake.open()
        result = table.prune("id = 23")
        report = next(one for one in result.indexes if one.name == "stats")
        assert not report.used
        assert why in report.reason
        assert table.scan("id = 23").to_arrow().column("id").to_pylist() == [23]
        assert table.locate("id = 23", exact=True).table.num_rows == 1
        assert "stats" in str(table.explain("id = 23"))
        assert table.indexes()[0].problem
        assert "stats" in str(table.indexes())


def used(lake: Lake) -> None:
    result = lake.open().prune("id = 23")
    assert result.kept_files == 1
    assert next(one for one in result.indexes if one.name == "stats").used


def test_the_index_is_used_where_nothing_is_changed(lake: Lake) -> None:
    used(lake)


CRAFTED: dict[str, Callable[[dict[str, Any]], object]] = {
    "kinds_a_number": lambda v: v.update(kinds=5),
    "properties_a_list": lambda v: v["kinds"][0].update(properties=[1]),
    "kind_name_a_list": lambda v: v["kinds"][0].update(name=["x"]),
    "properties_of_another_kind": lambda v: v["kinds"][0].update(name="values"),
    "columns_a_number": lambda v: v["kinds"][0].update(properties={"columns": 7}),
    "options_a_list": lambda v: v["source"].update(options=[1]),
    "schema_that_is_not_there": lambda v: v["content"]["versions"][0].update(schema=99),
    "garbage_as_a_schema": lambda v: v["content"]["schemas"][0].update(arrow="AAAA"),
    "id_of_another": lambda v: v.update(id=1),
    "id_huge": lambda v: v.update(id=10**30),
    "name_of_another": lambda v: v.update(name="other"),
    "more_files_than_bytes": lambda v: v["content"]["runs"][0].update(files=10**8),
    "more_partitions_than_files": lambda v: v["content"]["runs"][0].update(partitions=10**8),
    "files_beyond_32_bits": lambda v: v["content"]["runs"][0].update(files=10**12, size_bytes=10**15),
    "years_from_now": lambda v: v.update(timestamp_ms=10**30),
    "format_of_thousands_of_digits": lambda v: v.update(format_version=10**4000),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_a_malformed_entry_whose_digest_is_right_is_left_out(lake: Lake, name: str) -> None:
    with changed(lake) as value:
        CRAFTED[name](value)
    left_out(lake)
    assert len(lake.open().indexes()[0].problem) < 500


IDS = {"digits": "9" * 5000, "no_digit_of_ours": "\u00b2", "long": "9" * 25, "signed": "-1", "nothing": ""}


@pytest.mark.parametrize("id_", IDS.values(), ids=list(IDS))
def test_a_version_that_no_table_has_ends_no_verb(lake: Lake, id_: str) -> None:
    with changed(lake) as value:
        for record in value["content"]["versions"]:
            record["version"]["id"] = id_
    assert lake.open().scan("id = 23").to_arrow().column("id").to_pylist() == [23]
    assert str(lake.open().verify_index("stats"))
    assert str(lake.open().history("stats"))
    assert str(lake.open().indexes())
    assert str(mi.open_lake(str(Path(lake.path).parent)))
    lake.append(pa.table({"id": pa.array([99], pa.int64())}))
    assert lake.open().refresh_index("stats", builder="local").changed
    assert lake.open().repair_index("stats", builder="local")
    table = lake.open()
    assert table.indexes()[0].fresh
    assert table.prune("id = 99").kept_files == 1


@pytest.mark.parametrize(
    ("removed", "files"),
    [("!!!", 4), ("AAAA", 4), ("OjAAAAEAAAAAAAAAEAAAAP//", 4)],
    ids=["no_base64", "no_bitmap", "file_that_is_not_there"],
)
def test_a_recorded_version_that_makes_no_sense_counts_as_not_recorded(lake: Lake, removed: str, files: int) -> None:
    with changed(lake) as value:
        run = value["content"]["runs"][0]["run"]
        value["content"]["versions"][0]["removed"] = {run: removed}
    assert lake.open().prune("id = 23").total_files == files
    assert lake.open().scan("id = 23").to_arrow().num_rows == 1
    assert lake.open().indexes()[0].state == "ACTIVE"


def test_a_recorded_schema_that_lacks_a_column_is_not_the_last_word(lake: Lake) -> None:
    with changed(lake) as value:
        value["content"]["schemas"] = [schema_to_json(Schema((Field("other", pa.int64()),)))]
    assert lake.open().scan("id = 23").to_arrow().column("id").to_pylist() == [23]
    with pytest.raises(mi.MetaIndexError, match="no_such"):
        lake.open().prune("no_such = 1")


@pytest.mark.parametrize("what", sorted(STRANGE.keys() - {"full_folder"}))
def test_what_is_no_file_or_too_large_is_not_waited_for(lake: Lake, what: str) -> None:
    log = log_of(lake)
    STRANGE[what](log / Path(entry_path(int(newest(log).stem) + 1)).name)
    left_out(lake)


@pytest.mark.parametrize("what", STRANGE)
def test_nor_in_the_place_of_a_manifest_or_a_part(lake: Lake, what: str) -> None:
    index = log_of(lake).parent
    for path in [*index.glob("_manifests/*"), *index.glob("column_stats/*/*"), *index.glob("files/*/*")]:
        path.unlink()
        STRANGE[what](path)
    with at_most(600):
        assert lake.open().scan("id = 23").to_arrow().num_rows == 1
        assert lake.open().prune("id = 23").kept_files >= 1


@pytest.mark.parametrize("what", sorted(STRANGE.keys() - {"nowhere"}))
def test_a_strange_hint_makes_no_delta_table_unreadable(lake: Lake, what: str) -> None:
    hint = Path(lake.open().path) / "_delta_log" / "_last_checkpoint"
    STRANGE[what](hint)
    with at_most(600):
        used(lake)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"version":' * 100_000, '{"version": 1e400}', '{"version": NaN}', "7", "\xff"]
)
def test_a_hint_of_any_text_makes_no_delta_table_unreadable(lake: Lake, text: str) -> None:
    (Path(lake.open().path) / "_delta_log" / "_last_checkpoint").write_text(text)
    used(lake)


def copied(lake: Lake) -> Path:
    """The newest entry under the next number, as a sync tool or a restore may leave it."""
    path = newest(log_of(lake))
    copy = path.with_name(f"{int(path.stem) + 1:020d}.json")
    shutil.copy(path, copy)
    return copy


CURES: dict[str, Callable[[Table], object]] = {
    "cancel": lambda table: table.cancel_index("stats"),
    "repair": lambda table: table.repair_index("stats", builder="local"),
}


@pytest.mark.parametrize("cure", CURES)
def test_a_copied_entry_is_told_and_made_right(lake: Lake, cure: str) -> None:
    copied(lake)
    left_out(lake, "it is a copy")
    with pytest.raises(DamagedIndexError, match="repair the index"):
        lake.open().refresh_index("stats", builder="local")
    found = lake.open().verify_index("stats")
    assert not found.sound
    assert "it is a copy" in str(found)
    CURES[cure](lake.open())
    used(lake)
    lake.append(pa.table({"id": pa.array([99], pa.int64())}))
    assert lake.open().refresh_index("stats", builder="local").changed
    assert lake.open().verify_index("stats").sound
    lake.open().clean_index("stats", 0)
    lake.open().drop_index("stats")
    lake.open().vacuum_index("stats")


def test_cancel_makes_the_log_of_a_deleted_index_right_too(lake: Lake) -> None:
    lake.open().drop_index("stats")
    copied(lake)
    lake.open().cancel_index("stats")
    lake.open().restore_index("stats")
    used(lake)


def test_what_was_under_way_below_a_copied_entry_is_cancelled_with_it(lake: Lake) -> None:
    with changed(lake, anew=True) as value:
        mark = MARK | {"began": value["id"] + 1, "since_ms": 1, "runs": ["r"]}
        value |= {"id": value["id"] + 1, "state": "REFRESHING", "under_way": [mark]}
    copied(lake)
    lake.open().cancel_index("stats")
    assert lake.open().indexes()[0].under_way == ()
    used(lake)


@pytest.mark.parametrize("number", ["9" * 20, "9" * 21, "1".ljust(19, "0").zfill(20)])
def test_a_number_that_no_entry_has_counts_for_nothing(lake: Lake, number: str) -> None:
    with changed(lake, anew=True) as value:
        value["id"] = int(number)
    stray = log_of(lake) / f"{number}.json"
    used(lake)
    assert "clean removes it" in str(lake.open().verify_index("stats"))
    assert lake.open().disable_index("stats").changed
    assert not lake.open().indexes()[0].enabled
    lake.open().clean_index("stats", 0)
    assert not stray.exists()
    assert "clean removes it" not in str(lake.open().verify_index("stats"))


def test_the_last_number_is_refused_and_not_lost(lake: Lake) -> None:
    with changed(lake, anew=True) as value:
        value["id"] = 10**18 - 1
    used(lake)
    with pytest.raises(mi.MetaIndexError, match="at its end"):
        lake.open().disable_index("stats")


def test_a_log_put_together_of_two_is_told(lake: Lake) -> None:
    log = log_of(lake)
    lake.open().disable_index("stats")
    lake.open().enable_index("stats")
    first = min(log.iterdir())
    value = said(first)
    first.write_bytes(seal(value | {"nonce": "another life"}, None))
    assert "of another log" in str(lake.open().verify_index("stats"))
    used(lake)


@pytest.mark.parametrize("verb", ["cancel", "repair"])
def test_an_entry_of_a_newer_version_is_not_mended_away(lake: Lake, verb: str) -> None:
    with changed(lake, anew=True) as value:
        value |= {"format_version": 99, "id": value["id"] + 1}
    left_out(lake, "upgrade metaindex")
    with pytest.raises(ForeignIndexError, match="upgrade metaindex"):
        CURES[verb](lake.open())


def test_a_mark_of_any_time_is_told(lake: Lake) -> None:
    with changed(lake, anew=True) as value:
        mark = MARK | {"began": 1, "since_ms": 2**62, "runs": []}
        value |= {"id": value["id"] + 1, "state": "REFRESHING", "under_way": [mark], "timestamp_ms": -(2**62)}
    found = lake.open().indexes()
    assert found[0].state == "REFRESHING"
    assert "stats" in str(found)
    assert lake.open().history("stats").entries
    used(lake)


@pytest.fixture(scope="module")
def whole_keyed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keyed")
    found = FORMATS["delta"](folder)
    kinds = (mi.ColumnStats("id"), mi.Values("id"), mi.Values("id", by="value"), mi.Bloom("id"), mi.ValueList("id"))
    found.append(ROWS)
    found.open().create_index("stats", *kinds, builder="local")
    for _ in range(3):
        found.append(ROWS)
        found.open().refresh_index("stats", builder="local")
    return folder


@pytest.fixture
def keyed(whole_keyed: Path, tmp_path: Path) -> Lake:
    return copied_lake(whole_keyed, tmp_path)


ROWS = pa.table({"id": pa.array(range(20, 30), pa.int64())})
OF_A_KEY: dict[str, Callable[[dict[str, Any]], object]] = {
    "no_columns": lambda key: key.update(columns=[]),
    "a_column_twice": lambda key: key.update(columns=key["columns"] * 2),
    "a_type_that_nobody_knows": lambda key: key["columns"][0].update(type="striAg"),
    "no_type": lambda key: key["columns"][0].update(type=""),
    "another_type": lambda key: key["columns"][0].update(type="string"),
    "a_column_of_no_name": lambda key: key["columns"][0].update(stable=""),
    "no_layout": lambda key: key.update(layout={}),
    "a_layout_of_texts": lambda key: key.update(layout=dict.fromkeys(key["layout"], "x")),
    "a_layout_of_huge_numbers": lambda key: key.update(layout=dict.fromkeys(key["layout"], 10**30)),
    "a_layout_of_thousands_of_digits": lambda key: key.update(layout=dict.fromkeys(key["layout"], 10**4000)),
    "a_layout_of_texts_of_digits": lambda key: key.update(layout=dict.fromkeys(key["layout"], "9" * 5000)),
    "a_layout_of_many_bits": lambda key: key.update(layout=dict.fromkeys(key["layout"], 10**11)),
    "another_key_id": lambda key: key.update(key_id="1"),
    "another_kind": lambda key: key.update(kind="value_lists"),
    "more_unkeyed_files_than_files": lambda key: key.update(unkeyed_files=9),
}


@pytest.mark.parametrize("name", OF_A_KEY)
@pytest.mark.parametrize("place", [0, *(pytest.param(one, marks=pytest.mark.exhaustive) for one in range(1, 4))])
def test_a_key_that_makes_no_sense_loses_no_row_and_no_verb_its_words(keyed: Lake, name: str, place: int) -> None:
    with changed(keyed) as value:
        for run in value["content"]["runs"]:
            OF_A_KEY[name](run["keys"][place])
    for version in keyed.open().versions():
        found = keyed.open().scan("id = 23", version=version).to_arrow()
        assert found.column("id").to_pylist() == [23] * found.num_rows
        assert (
            found.num_rows
            == keyed.open(config=mi.Config(use_indexes=False)).scan("id = 23", version=version).to_arrow().num_rows
        )
    table = keyed.open()
    str(table.explain("id = 23"))
    assert table.locate("id = 23").table.num_rows
    assert str(table.indexes())
    with contextlib.suppress(mi.MetaIndexError):
        report = table.verify_index("stats")
        assert str(report)
        assert not report.sound or name != "another_key_id"
    for verb in (table.refresh_index, table.optimize_index, table.history):
        with contextlib.suppress(mi.MetaIndexError):
            str(verb("stats"))
    with contextlib.suppress(mi.MetaIndexError):
        table.search("23")


@pytest.fixture(scope="module")
def whole_of_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of two runs, which an optimize merges."""
    folder = tmp_path_factory.mktemp("two")
    found = FORMATS["delta"](folder)
    text = ROWS.append_column("s", ROWS["id"].cast(pa.string()))
    found.append(text)
    kinds = (mi.Values("id"), mi.Values("id", by="value"), mi.Values("s", by="value"))
    found.open().create_index("stats", *kinds, builder="local")
    found.append(text)
    found.open().refresh_index("stats", builder="local")
    assert found.open().indexes()[0].runs == 2
    return folder


@pytest.mark.parametrize("kind", ["values", "value_keys"])
@pytest.mark.parametrize("end", ["least", "greatest"])
@pytest.mark.parametrize("text", [IDS["digits"], IDS["no_digit_of_ours"], IDS["long"]], ids=["digits", "none", "long"])
def test_a_bound_of_a_part_that_is_none_ends_no_verb(
    whole_of_two: Path, tmp_path: Path, kind: str, end: str, text: str
) -> None:
    keyed = copied_lake(whole_of_two, tmp_path)
    with changed(keyed) as value:
        run = value["content"]["runs"][0]
        (manifest,) = log_of(keyed).parent.glob(f"_manifests/*{run['run']}*")
        told = json.loads(manifest.read_bytes())
        for part in told["parts"]:
            if part["kind"] == kind:
                part[end] = text
        data = json.dumps(told).encode()
        manifest.write_bytes(data)
        run.update(manifest_digest=digest(data), manifest_bytes=len(data))
    found = keyed.open().scan("id = 23").to_arrow()
    assert found.num_rows == keyed.open(config=mi.Config(use_indexes=False)).scan("id = 23").to_arrow().num_rows
    assert str(keyed.open().verify_index("stats"))
    verbs: list[Callable[[mi.Table], object]] = [
        lambda table: table.optimize_index("stats", "full"),
        lambda table: table.refresh_index("stats", builder="local"),
        lambda table: table.repair_index("stats", builder="local"),
    ]
    for verb in verbs:
        with contextlib.suppress(mi.MetaIndexError):
            verb(keyed.open())
    assert keyed.open().scan("id = 23").to_arrow().num_rows == found.num_rows


def test_what_fails_by_no_single_index_s_fault_leaves_them_all_out(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.index.lookup.run_source.BoundPredicate.answered_by_table", lambda *_: 1 // 0)
    monkeypatch.setattr("metaindex.query.pruning.recorded.few", lambda *_: False)
    result = lake.open().prune("id = 23")
    assert [(one.name, one.used) for one in result.indexes if one.name == "stats"] == [("stats", False)]
    assert lake.open().scan("id = 23").to_arrow().column("id").to_pylist() == [23]
