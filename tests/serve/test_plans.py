"""Plans and their pages, whatever happens to an index, a snapshot or a token."""

import base64
import json
import shutil
import struct
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash
from pyroaring import BitMap

import metaindex as mi
from metaindex.serve import Refusal
from metaindex.serve.clients import Client
from metaindex.serve.plans import MOST_TASKS, Scan, _page_size, _Places
from tests.formats.iceberg.handmade import HandManifest, HandTable, entry
from tests.processes import python
from tests.serve.lake import JAVA_1_12, PYICEBERG_0_12, asked, counted, leaf, names, parted, planned, served

ROWS = 4


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Twelve files of four rows, whose values are scattered: `v` of row r of file f is 100 * r + f."""
    files = [(None, [100 * row + file for row in range(ROWS)]) for file in range(12)]
    return parted(tmp_path / "lake" / "t", "int", "void", files, arrow=pa.int32(), made="int")


@pytest.fixture
def indexed(table: Path) -> Path:
    mi.open_table(str(table)).create_index("values", mi.Values("v"))
    return table


def test_a_needle_is_one_file_by_an_index(indexed: Path) -> None:
    plan = planned(served(indexed), leaf("eq", 207))
    assert names(plan) == ["f7"]
    assert plan["status"] == "completed"
    assert plan["tasks"][0]["residual-filter"] == leaf("eq", 207)
    assert len(names(planned(served(indexed), leaf("eq", 5000)))) == 0


def test_without_an_index_every_file_that_may_match_is_named(table: Path) -> None:
    assert len(names(planned(served(table), leaf("eq", 207)))) == 12


def test_the_whole_filter_is_sent_back_always(table: Path) -> None:
    said = {"type": "and", "left": leaf("gt", 1), "right": {"type": "strange", "term": "v"}}
    for filter, residual in ((None, True), (said, said), (True, True)):  # noqa: A001
        assert all(task["residual-filter"] == residual for task in planned(served(table), filter)["tasks"])


def test_pages_together_are_the_plan_in_its_order(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = names(planned(served(indexed), leaf("gt-eq", 0)))
    monkeypatch.setattr("metaindex.serve.plans.MOST_TASKS", 5)
    plan = planned(served(indexed), leaf("gt-eq", 0))
    assert [len(page["file-scan-tasks"]) for page in (plan, *plan["pages"])] == [5, 5, 2]
    assert names(plan) == whole == [f"f{n}" for n in range(12)]
    assert all(task["residual-filter"] == leaf("gt-eq", 0) for task in plan["tasks"])


def test_a_long_filter_makes_small_pages() -> None:
    long = leaf("in", list(range(50_000)))
    assert _page_size(Scan(filter=long)) < 20 < MOST_TASKS == _page_size(Scan(filter=leaf("eq", 1)))


def test_an_answer_does_not_grow_with_files_times_the_filter(table: Path) -> None:
    """Tokens repeat the filter: a long one over many files is refused, over few files it is not."""
    long = leaf("eq", 0) | {"comment": "x" * (3 << 20)}
    with pytest.raises(Refusal, match="over 12 files; ask with a shorter filter") as refused:
        served(table).plan(Scan.read(asked(long)), JAVA_1_12)
    assert refused.value.status == 406
    mi.open_table(str(table)).create_index("values", mi.Values("v"))
    assert names(planned(served(table), long)) == ["f0"]


def test_a_list_of_ten_thousand_texts_is_planned_in_pages(table: Path) -> None:
    values = leaf("in", [f"{n:040}" for n in range(10_000)])
    plan = planned(served(table), values)
    assert len(plan["pages"]) == 1
    assert names(plan) == [f"f{n}" for n in range(12)]


def test_stats_fields_are_bounded_as_the_filter_is(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.serve.plans.MOST_TASKS", 1)
    with pytest.raises(Refusal, match="of its filter and stats-fields"):
        served(table).plan(Scan.read({"stats-fields": ["v" * (2 << 20)]}), JAVA_1_12)


def test_a_filter_too_long_to_be_repeated_is_refused(table: Path) -> None:
    long = leaf("eq", "x" * (9 << 20))
    with pytest.raises(Refusal, match="bytes of JSON"):
        served(table).plan(Scan.read(asked(long)), JAVA_1_12)
    with pytest.raises(Refusal, match="bytes of JSON"):
        served(table).page(made_up(filter=long, ranks=ranks(1)), JAVA_1_12)


@pytest.mark.parametrize(("most", "filter"), [(2**32, None), (MOST_TASKS + 1, None), (2, leaf("eq", "x" * (5 << 20)))])
def test_a_token_of_more_files_than_a_page_has_is_refused(table: Path, most: int, filter: object) -> None:  # noqa: A002
    """A few bytes name billions of files: refused before memory is taken."""
    with pytest.raises(Refusal, match="more files than a page has"):
        served(table).page(made_up(filter=filter, ranks=ranks(most)), JAVA_1_12)


def test_a_client_that_was_not_tried_gets_no_page(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.serve.plans.MOST_TASKS", 5)
    token = json.loads(served(table).plan(Scan.read({}), JAVA_1_12))["plan-tasks"][0]
    with pytest.raises(Refusal, match="clients that were tried"):
        served(table).page(token, Client("someone"))


def test_any_process_answers_a_page_whatever_the_index_says_now(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.serve.plans.MOST_TASKS", 5)
    said = leaf("in", list(range(8)))
    (token,) = json.loads(served(indexed).plan(Scan.read(asked(said)), JAVA_1_12))["plan-tasks"]
    shutil.rmtree(indexed / "_metaindex")
    other = (
        "import json, sys; from tests.serve.lake import *; from pathlib import Path;"
        "print(json.dumps(json.loads(served(Path(sys.argv[1])).page(sys.argv[2], JAVA_1_12))))"
    )
    page = json.loads(python("-c", other, str(indexed), token, cwd=Path(__file__).parents[2]).splitlines()[-1])
    assert [Path(task["data-file"]["file-path"]).stem for task in page["file-scan-tasks"]] == ["f5", "f6", "f7"]


def test_a_token_is_of_its_table_and_snapshot(indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.serve.plans.MOST_TASKS", 5)
    token = json.loads(served(indexed).plan(Scan.read({}), JAVA_1_12))["plan-tasks"][0]
    other = parted(tmp_path / "lake" / "u", "int", "void", [(None, [1])] * 12, arrow=pa.int32(), made="int")
    with pytest.raises(Refusal, match="another table"):
        served(other).page(token, JAVA_1_12)
    shutil.rmtree(indexed)
    parted(indexed, "int", "void", [(None, [1])] * 11, arrow=pa.int32(), made="int")
    with pytest.raises(Refusal, match="other files now") as refused:
        served(indexed).page(token, JAVA_1_12)
    assert (refused.value.status, refused.value.kind) == (404, "NoSuchPlanTaskException")


def ranks(most: int) -> str:
    numbers = BitMap()
    numbers.add_range(0, most)
    numbers.run_optimize()
    return base64.b64encode(numbers.serialize()).decode()


def made_up(**said: Any) -> str:
    whole = {
        "table": ["lake", "t"],
        "snapshot": 1,
        "own": False,
        "cased": True,
        "filter": None,
        "statistics": None,
        "files": "",
        "ranks": "",
    }
    packed = zlib.compress(json.dumps({**whole, **said}).encode())
    return base64.urlsafe_b64encode(xxhash.xxh64_digest(packed) + packed).decode()


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "é",
        "AAAA" * 100,
        made_up(table="lake.t"),
        made_up(snapshot="1"),
        made_up(ranks=""),
        made_up(ranks="AAAA"),
        made_up(ranks=5),
        base64.urlsafe_b64encode(
            xxhash.xxh64_digest(zlib.compress(b" " * (64 << 20))) + zlib.compress(b" " * (64 << 20))
        ).decode(),
    ],
    ids=range(10),
)
def test_a_token_that_was_not_made_here_is_refused(table: Path, token: str) -> None:
    with pytest.raises(Refusal, match="a page of a plan is named by a token"):
        served(table).page(token, JAVA_1_12)


def test_no_change_of_a_byte_of_a_token_is_taken(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.serve.plans.MOST_TASKS", 5)
    plans = served(table)
    token = json.loads(plans.plan(Scan.read({}), JAVA_1_12))["plan-tasks"][0]
    for at in range(0, len(token), 3):
        changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
        if base64.urlsafe_b64decode(changed) != base64.urlsafe_b64decode(token):
            with pytest.raises(Refusal):
                plans.page(changed, JAVA_1_12)


def test_ranks_are_the_same_in_any_order_of_the_files() -> None:
    paths = [f"data/{n}.parquet" for n in range(1000)]
    there, back = (_Places(pa.chunked_array([some])) for some in (paths, paths[::-1]))
    assert there.sign == back.sign
    assert np.array_equal(there.ranks, back.ranks[::-1])
    some = pa.chunked_array([paths[3:9]])
    assert there.of(some).tolist() == list(range(3, 9))
    with pytest.raises(mi.MetaIndexError):
        there.of(pa.chunked_array([["data/other.parquet"]]))


def test_paths_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.serve.plans._hashes", lambda paths: np.full(len(paths), 7, np.uint64))
    paths = ["b", "a", "c"]
    places = _Places(pa.chunked_array([paths]))
    assert places.of(pa.chunked_array([["c", "b"]])).tolist() == [0, 2]
    assert places.ranks.tolist() == [1, 0, 2]
    with pytest.raises(mi.MetaIndexError):
        places.of(pa.chunked_array([["d"]]))


def test_a_damaged_index_makes_a_wider_plan(indexed: Path) -> None:
    for file in (indexed / "_metaindex").rglob("*"):
        if file.is_file() and file.suffix != ".json":
            file.write_bytes(b"damaged")
    assert len(names(planned(served(indexed), leaf("eq", 207)))) == 12


def test_an_index_that_fails_in_any_way_makes_a_wider_plan(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = served(indexed)
    assert len(names(planned(plans, leaf("eq", 207)))) == 1
    monkeypatch.setattr("metaindex.serve.plans.Pruner.over", lambda *_, **__: 1 / 0)
    assert len(names(planned(plans, leaf("eq", 207)))) == 12


def test_a_slow_index_makes_a_wider_plan(indexed: Path) -> None:
    plans = served(indexed)
    plans._seconds = -1.0
    started = time.monotonic()
    assert len(names(planned(plans, leaf("eq", 207)))) == 12
    assert time.monotonic() > started


def test_a_plan_is_by_the_snapshot_of_the_request(indexed: Path) -> None:
    assert len(names(planned(served(indexed), snapshot_id=1))) == 12
    with pytest.raises(mi.VersionNotFoundError):
        planned(served(indexed), snapshot_id=7)


@pytest.mark.parametrize(("wanted", "files"), [(0, 1), (1, 1), (4, 1), (5, 2), (48, 12), (10**9, 12)])
def test_a_limit_stops_early_where_nothing_is_filtered(table: Path, wanted: int, files: int) -> None:
    plan = planned(served(table), min_rows_requested=wanted)
    assert len(plan["tasks"]) == files
    assert counted(plan) >= min(wanted, 48)
    assert len(planned(served(table), leaf("gt-eq", 0), min_rows_requested=wanted)["tasks"]) == 12


@pytest.mark.parametrize(
    "body",
    [
        5,
        [],
        {"snapshot-id": "1"},
        {"snapshot-id": True},
        {"snapshot-id": 2**70},
        {"select": "id"},
        {"select": [5]},
        {"case-sensitive": 1},
        {"min-rows-requested": 1.5},
        {"start-snapshot-id": 1, "end-snapshot-id": 2},
        {"filter": None},
    ],
    ids=str,
)
def test_a_request_that_is_none_is_refused(table: Path, body: Any) -> None:
    if isinstance(body, dict) and "filter" in body:
        assert len(json.loads(served(table).plan(Scan.read(body), JAVA_1_12))["file-scan-tasks"]) == 12
        return
    with pytest.raises(Refusal):
        Scan.read(body)


def test_null_partitions_are_left_out_of_the_spec_for_who_cannot_read_them(table: Path) -> None:
    plans = served(table)
    java, other = planned(plans), planned(plans, client=PYICEBERG_0_12)
    assert {(t["data-file"]["spec-id"], *t["data-file"]["partition"]) for t in java["tasks"]} == {(0, None)}
    (spec_id,) = {t["data-file"]["spec-id"] for t in other["tasks"]}
    assert all(t["data-file"]["partition"] == [] for t in other["tasks"])
    specs: Any = plans.table.load(PYICEBERG_0_12).metadata["partition-specs"]
    assert {spec["spec-id"]: len(spec["fields"]) for spec in specs} == {0: 1, spec_id: 0}
    assert len(plans.table.load(JAVA_1_12).metadata["partition-specs"]) == 1  # type: ignore[arg-type]


def test_a_name_that_was_another_column_is_not_believed(tmp_path: Path) -> None:
    """A client whose metadata are older may mean the other one: pyiceberg gets every file, and filters rows itself;
    Spark, which counts from tasks, plans by itself, and is told to load anew if it does not."""
    root = parted(
        tmp_path / "lake" / "t", "int", "identity", [(n, [n]) for n in range(3)], arrow=pa.int32(), made="int"
    )
    file = root / "metadata/v1.metadata.json"
    metadata = json.loads(file.read_text())
    (schema,) = metadata["schemas"]
    before = {
        **schema,
        "schema-id": 1,
        "fields": [{**schema["fields"][0], "name": "v"}, {**schema["fields"][1], "name": "w"}],
    }
    file.write_text(json.dumps({**metadata, "schemas": [before, schema]}))
    plans = served(root)
    assert plans.table.load(JAVA_1_12).config == {"scan-planning-mode": "client"}
    assert plans.table.load(PYICEBERG_0_12).config == {"scan-planning-mode": "server"}
    assert len(names(planned(plans, leaf("eq", 1), client=PYICEBERG_0_12))) == 3
    assert len(names(planned(plans, leaf("eq", 1, "V"), client=PYICEBERG_0_12, case_sensitive=False))) == 3
    with pytest.raises(Refusal, match="load the table anew"):
        planned(plans, leaf("eq", 1))
    assert names(planned(plans, leaf("eq", 1), use_snapshot_schema=True)) == ["f1"]


def swapped(root: Path, *versions: dict[str, int]) -> Path:
    """A table of two files of one row, whose columns have these ids by their names in the first schema; the others are
    written into its metadata, and the last one is current."""
    schemas = [
        {
            "type": "struct",
            "schema-id": number,
            "fields": [{"id": id_, "name": name, "required": False, "type": "long"} for name, id_ in version.items()],
        }
        for number, version in enumerate(versions)
    ]
    table = HandTable(root, 2, schemas=schemas[:1])
    (root / "data").mkdir(parents=True)
    shape = pa.schema([pa.field(name, pa.int64(), metadata=_id(id_)) for name, id_ in versions[0].items()])
    entries = []
    for place, row in enumerate(((1, 2), (2, 1))):
        path = table.path(f"data/f{place}.parquet")
        pq.write_table(pa.table([[value] for value in row], schema=shape), path)
        bounds = {id_: struct.pack("<q", value) for id_, value in zip(versions[0].values(), row, strict=True)}
        entries.append(
            entry(
                path,
                sequence=1,
                snapshot=1,
                record_count=1,
                file_size_in_bytes=Path(path).stat().st_size,
                lower_bounds=bounds,
                upper_bounds=bounds,
                value_counts=dict.fromkeys(bounds, 1),
                null_value_counts=dict.fromkeys(bounds, 0),
            )
        )
    table.commit([HandManifest(entries)])
    table.write()
    rewritten(root, **{"schemas": schemas, "current-schema-id": len(schemas) - 1})
    return root


def _id(number: int) -> dict[str, str]:
    return {"PARQUET:field_id": str(number)}


def rewritten(root: Path, **said: Any) -> None:
    """The metadata file says something else."""
    file = root / "metadata/v1.metadata.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **said}))


def test_names_of_small_and_capital_letters_are_one_name(tmp_path: Path) -> None:
    plans = served(swapped(tmp_path / "lake" / "t", {"A": 1, "b": 2}, {"old": 1, "a": 2}))
    for term in ("A", "a"):
        asked = planned(plans, leaf("eq", 1, term), client=PYICEBERG_0_12, case_sensitive=False, snapshot_id=1)
        assert names(asked) == ["f0", "f1"]
    assert names(planned(plans, leaf("eq", 1, "a"), client=PYICEBERG_0_12)) == ["f0", "f1"]
    with pytest.raises(Refusal, match="load the table anew"):
        planned(plans, leaf("eq", 1, "A"), case_sensitive=False, snapshot_id=1)


def test_the_schema_of_a_snapshot_is_its_own_with_its_id_and_without(tmp_path: Path) -> None:
    plans = served(swapped(tmp_path / "lake" / "t", {"a": 1, "b": 2}, {"a": 2, "b": 1}))
    for more in ({}, {"snapshot_id": 1}):
        assert names(planned(plans, leaf("eq", 1, "a"), use_snapshot_schema=True, **more)) == ["f0"]


def test_a_held_snapshot_knows_the_names_of_today(tmp_path: Path) -> None:
    """Columns were swapped, and swapped back: the schema is the one of before, and its names stood for others."""
    root = swapped(tmp_path / "lake" / "t", {"a": 1, "b": 2})
    plans, ask = served(root), leaf("eq", 1, "a")
    assert names(planned(plans, ask, client=PYICEBERG_0_12)) == ["f0"]
    (schema,) = json.loads((root / "metadata/v1.metadata.json").read_text())["schemas"]
    first, second = schema["fields"]
    other = {**schema, "schema-id": 1, "fields": [{**first, "name": "b"}, {**second, "name": "a"}]}
    rewritten(root, schemas=[schema, other])
    assert names(planned(plans, ask, client=PYICEBERG_0_12)) == ["f0", "f1"]


def test_a_table_made_anew_at_its_place_is_not_answered_by_what_was_held(tmp_path: Path) -> None:
    """Even one whose snapshot, metadata file and manifests have the names of before."""
    root = tmp_path / "lake" / "t"
    parted(root, "long", "identity", [(1, [1]), (2, [2])], arrow=pa.int64(), made="long")
    plans = served(root)
    plans.table.load(JAVA_1_12)
    assert names(planned(plans)) == ["f0", "f1"]
    shutil.rmtree(root)
    parted(root, "string", "identity", [(v, [v]) for v in "xyz"], arrow=pa.string(), made="string")
    assert planned(plans)["tasks"] == planned(served(root))["tasks"]
    assert names(planned(plans, leaf("eq", "z"))) == ["f2"]
    rewritten(root, **{"partition-specs": [{"spec-id": 0, "fields": [_FLOATS]}], "schemas": [_OF_FLOATS]})
    assert plans.table.load(JAVA_1_12).config == {"scan-planning-mode": "client"}


_FLOATS = {"name": "v_part", "field-id": 1000, "source-id": 2, "transform": "identity"}
_OF_FLOATS = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 2, "name": "v", "required": False, "type": "double"}],
}


def test_places_are_of_the_files_that_a_snapshot_has_now(indexed: Path) -> None:
    plans = served(indexed)
    snapshot = plans.table.snapshot(None, own_schema=False).snapshot
    fewer = replace(snapshot, files=replace(snapshot.files, table=snapshot.files.table.slice(3)))
    assert plans._places_of(snapshot).sign != plans._places_of(fewer).sign
    assert plans._places_of(fewer) is plans._places_of(fewer)
