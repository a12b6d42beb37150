"""Advice to have filters remembered: of those that come again and that nothing answers, with what was read and no more;
nothing where it would help nobody."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, tostring

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.cli.main import main
from metaindex.querylog.files import encoded, new_name
from metaindex.querylog.row import QueryRow
from metaindex.report.workload import workload_section
from metaindex.selection.repeated import RepeatedFilter
from tests.querylog.lake import START_MS, storage_of
from tests.remembering.lake import FILES, ONCE, flushed, opened, six_files
from tests.tables import Lake, csv_lake, parquet_lake

SAID = "LOWER(s) LIKE '%q3%'"
OTHER = "s LIKE '%Q1y'"


def size_of(lake: Lake) -> int:
    return sum(file.stat().st_size for file in Path(lake.path).glob("*.parquet"))


def repeated(answer: Any) -> tuple[RepeatedFilter, ...]:
    (table,) = answer.tables
    found: tuple[RepeatedFilter, ...] = table.repeated
    assert json.loads(json.dumps(answer.to_json()))["tables"][0]["repeated"] == [each.to_json() for each in found]
    assert ("remember_filters=True" in str(answer)) == bool(found)
    return found


def advised(lake: Lake, queries: Sequence[str], **config: Any) -> tuple[RepeatedFilter, ...]:
    return repeated(lake.open(config=mi.Config(**config)).recommend(list(queries), copies=False))


def noted(lake: Lake, rows: Sequence[QueryRow], setting: mi.QueryLog | None = None) -> mi.Table:
    """The table with a query log of these rows, each a second after the one before."""
    table = lake.open(config=mi.Config(query_log=setting or True))
    timed = [replace(row, at_us=(START_MS + 1000 * number) * 1000) for number, row in enumerate(rows)]
    if timed:
        storage_of(table).put_if_absent(new_name(START_MS), encoded(timed, setting or mi.QueryLog()))
    return table


def asked(table: mi.Table, where: str, engine: str = "arrow", **more: Any) -> QueryRow:
    result = table.prune(where)
    told = {"files_read": result.kept_files, "bytes_read": result.kept_bytes}
    return QueryRow(0, engine, result.predicate, **{**told, **more})


def test_a_filter_of_a_query_log_that_comes_again_is_told_with_what_it_read(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    table = lake.open(config=mi.Config(query_log=True))
    for _ in range(4):
        table.scan(ONCE).to_arrow()
    table.scan(OTHER).to_arrow()
    answer = table.recommend(copies=False)
    (found,) = repeated(answer)
    assert found == RepeatedFilter(SAID, 4, 3, 3 * FILES, 3 * size_of(lake), by_itself=True, by_spark=0)
    assert f"{SAID}: came 4 times; the 3 after the first read 18 files, " in str(answer)
    assert "up to so much less" in str(answer)
    assert "Spark's own scans write none" in str(answer)


def test_the_line_it_says_does_what_it_says(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    answer = lake.open().recommend([ONCE] * 3, copies=False)
    (line,) = [line for line in str(answer).splitlines() if "to remember: " in line]
    names: dict[str, Any] = {"mi": mi}
    exec(line.partition("to remember: ")[2], names)
    names["table"].scan(ONCE).to_arrow()
    flushed()
    assert opened(names["table"], ONCE) == 1
    assert repeated(names["table"].recommend([ONCE] * 3, copies=False)) == ()


@pytest.mark.parametrize(
    "queries",
    [
        [ONCE, OTHER],
        ["id = 7", "id = 7"],  # its statistics
        ["id >= 0", "id >= 0"],  # every row of each file
        [ONCE + " AND id < now()", ONCE + " AND id < 5", OTHER],
        ["id < 0", "id < 0"],
        ["TRUE", "TRUE"],
        ["unheard_of(s) = 1"] * 3,
        ["id > month(now())"] * 3,
        ["s LIKE concat('%', current_user())"] * 3,
    ],
)
def test_what_does_not_repeat_or_is_answered_or_cannot_be_remembered_is_not_told(
    tmp_path: Path, queries: list[str]
) -> None:
    assert advised(six_files(tmp_path), queries) == ()


def test_filters_that_mean_the_same_are_one(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    (found,) = advised(lake, [f"{ONCE} AND {OTHER}", f"({OTHER}) AND ({ONCE})", f"{OTHER} AND {ONCE} AND {OTHER}"])
    assert (found.times, found.again, found.by_itself) == (3, 2, True)
    statements = [f"SELECT id FROM lake WHERE {ONCE}", f"SELECT s FROM lake WHERE {ONCE}"]
    (found,) = advised(lake, statements)
    assert (found.filter, found.times, found.again, found.files) == (SAID, 2, 1, FILES)


def test_a_part_of_several_filters_is_told_and_that_it_has_to_come_by_itself(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    parts = [f"{ONCE} AND s LIKE '%{number}%y'" for number in range(3)]
    (found,) = advised(lake, parts)
    assert (found.filter, found.times, found.again, found.by_itself) == (SAID, 3, 3, False)
    assert "never by itself: scan it once as the whole filter" in found.said
    (found,) = advised(lake, [*parts, ONCE])
    assert (found.filter, found.times, found.again, found.by_itself) == (SAID, 4, 3, True)


def test_what_no_scan_of_its_own_would_find_out_for_others_is_not_promised(tmp_path: Path) -> None:
    """Read with the columns' types it is an AND of a prefix and itself: a scan of it says nothing of either alone."""
    lake = six_files(tmp_path)
    where = "s LIKE 'x%z1y'"
    row = asked(lake.open(), where)
    beside = [asked(lake.open(), f"{where} AND {other}") for other in (ONCE, OTHER)]
    table = noted(lake, [row, *beside])
    assert repeated(table.recommend(copies=False)) == ()


def test_a_part_beside_one_that_asks_the_time(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    at = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    for number in range(3):
        lake.append(pa.table({"at": [at] * 5, "s": [f"q{number}{n}" for n in range(5)]}))
    asked_time = [f"{ONCE} AND at < now() - INTERVAL {hours} HOURS" for hours in (1, 2)]
    (found,) = advised(lake, asked_time)
    assert (found.filter, found.again, found.by_itself) == (SAID, 2, False)
    assert advised(lake, asked_time[:1] * 3) == ()


def test_what_a_chosen_index_or_one_that_there_is_answers_is_not_told(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    for number in range(8):
        lake.append(pa.table({"k": [n * 8 + number for n in range(500)], "s": [f"q{n}" for n in range(500)]}))
    table = lake.open()
    answer = table.recommend(["k = 1000"] * 5 + [ONCE] * 2, copies=False)
    assert answer.indexes
    assert [found.filter for found in repeated(answer)] == [SAID]
    unaffordable = table.recommend(["k = 1000"] * 5, copies=False, budget_bytes=0)
    assert [found.filter for found in repeated(unaffordable)] == ["k = 1000"]
    assert all(not created.problem for created in answer.create(builder="local"))
    assert repeated(lake.open().recommend(["k = 1000"] * 5, copies=False, budget_bytes=0)) == ()


def test_text_files_and_tables_that_remember_already_have_no_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = csv_lake(tmp_path)
    for number in range(3):
        lake.append(pa.table({"id": [number], "s": ["q3"]}))
    assert advised(lake, [ONCE] * 3) == ()
    (tmp_path / "other").mkdir()
    lake = six_files(tmp_path / "other")
    assert advised(lake, [ONCE] * 3, remember_filters=True) == ()
    assert advised(lake, [ONCE] * 3, use_indexes=False) == ()
    assert len(advised(lake, [ONCE] * 3)) == 1
    monkeypatch.setenv("METAINDEX_REMEMBER_FILTERS", "on")
    assert advised(lake, [ONCE] * 3) == ()
    assert len(advised(lake, [ONCE] * 3, remember_filters=False)) == 1


def test_it_is_told_for_whom(tmp_path: Path) -> None:
    """What no scan finds out helps nobody; Spark's queries are counted, and are none of those that read less."""
    lake = six_files(tmp_path)
    table = lake.open()
    by = {engine: asked(table, ONCE, engine) for engine in ("arrow", "spark", "prune", "duckdb")}
    order = ["spark", "prune", "arrow", "spark", "prune", "duckdb"]
    (found,) = repeated(noted(lake, [by[name] for name in order]).recommend(copies=False))
    assert (found.times, found.by_spark, found.again, found.files) == (6, 2, 2, 2 * FILES)
    assert "came 6 times (2 by Spark); the 2 after the first" in found.said


@pytest.mark.parametrize("engine", ["spark", "prune", "duckdb", "aggregate", None])
def test_a_log_of_engines_that_find_nothing_out_has_no_advice(tmp_path: Path, engine: str) -> None:
    lake = six_files(tmp_path)
    assert repeated(noted(lake, [asked(lake.open(), ONCE, engine)] * 5).recommend(copies=False)) == ()


def test_scans_with_a_limit_find_nothing_out(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    row = asked(lake.open(), ONCE)
    limited = replace(row, limit=3)
    assert repeated(noted(lake, [limited] * 4).recommend(copies=False)) == ()
    (tmp_path / "other").mkdir()
    lake = six_files(tmp_path / "other")
    (found,) = repeated(noted(lake, [limited, row, limited]).recommend(copies=False))
    assert (found.times, found.again) == (3, 1)


def test_rows_that_an_index_helped_or_that_read_nothing_are_not_counted(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    row = asked(lake.open(), ONCE)
    helped, none = replace(row, indexes=("stats",)), replace(row, files_read=0, bytes_read=0)
    unknown = replace(row, files_read=None, bytes_read=None)
    table = noted(lake, [row, helped, none, unknown])
    assert repeated(table.recommend(copies=False)) == ()


def test_hashed_values_are_told_as_they_stand_and_left_out_ones_never(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    table = lake.open()
    rows = [asked(table, where) for where in ("s = 'a'", "s = 'b'", "s = 'b'", ONCE, ONCE)]
    hashed = noted(lake, rows, mi.QueryLog(literals="hashed", salt=b"s" * 16))
    answer = hashed.recommend(copies=False)
    (found,) = repeated(answer)
    assert found.hidden
    assert (found.times, found.again, found.filter.startswith("s = '#")) == (2, 1, True)
    assert "its values are hashed" in str(answer)
    (tmp_path / "other").mkdir()
    lake = six_files(tmp_path / "other")
    assert repeated(noted(lake, rows, mi.QueryLog(literals="left out")).recommend(copies=False)) == ()


def test_a_log_that_a_stranger_wrote_fails_nothing(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    table = lake.open()
    right = asked(table, ONCE)
    hostile = "s LIKE '%\x1b[31m\u202e\n<b>" + "x" * 3_000 + "'"
    rows = [
        *[right] * 2,
        *[asked(table, hostile)] * 2,
        *[replace(right, files_read=1 << 30, bytes_read=1 << 50)] * 3,
        *[replace(asked(table, "id % 2 = 1"), predicate=mi.col(f"gone{number}") == 1) for number in range(40)],
    ]
    answer = noted(lake, rows).recommend(copies=False)
    found = {each.filter[:16]: each for each in repeated(answer)}
    assert found[SAID[:16]].times == 5
    assert found[SAID[:16]].size_bytes <= 5 << 50
    assert len(found) == 2
    assert all(len(each.filter) <= 310 and "\n" not in each.filter for each in found.values())
    assert "\x1b" not in str(answer)
    html = "".join(
        tostring(child, "unicode") for child in workload_section(answer).children if isinstance(child, Element)
    )
    assert "<b>" not in html
    assert "remember_filters=True" in html


def test_many_repeats_are_bounded(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    one = asked(lake.open(), ONCE)
    likes = [replace(asked(lake.open(), f"s LIKE '%{n:03d}%'"), bytes_read=one.bytes_read) for n in range(60)]
    found = repeated(noted(lake, likes * 3).recommend(copies=False))
    assert 0 < len(found) <= 10


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = six_files(tmp_path)
    where = ["--where", ONCE]
    assert main(["advise", lake.path, *where, *where, "--no-copies"]) == 0
    assert "came 2 times; the 1 after the first read 6 files" in capsys.readouterr().out
    assert main(["advise", lake.path, *where, *where, "--no-copies", "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert [each["filter"] for each in table["repeated"]] == [SAID]
    assert table["to_remember"].endswith("config=mi.Config(remember_filters=True))")
    assert main(["advise", lake.path, *where, "--no-copies", "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert (table["repeated"], table["to_remember"]) == ([], None)


WHERES = [ONCE, OTHER, f"{ONCE} AND {OTHER}", "id = 7", "id >= 0"]
ASKED = st.tuples(st.sampled_from(WHERES), st.sampled_from(["arrow", "prune", "spark", "pandas"]))


@settings(max_examples=20, deadline=None)
@given(st.lists(ASKED, max_size=14))
def test_of_any_log_is_told_what_counting_by_hand_gives(
    tmp_path_factory: pytest.TempPathFactory, log: list[tuple[str, str]]
) -> None:
    lake = six_files(tmp_path_factory.mktemp("log"))
    table = lake.open()
    rows = [asked(table, where, engine) for where, engine in log]
    found = {each.filter: each for each in repeated(noted(lake, rows).recommend(copies=False))}
    by_hand = {}
    for where in (ONCE, OTHER):
        having = [(w == where, engine) for w, engine in log if w in (where, f"{ONCE} AND {OTHER}")]
        first = next((n for n, (whole, by) in enumerate(having) if whole and by in ("arrow", "pandas")), None)
        if first is not None:
            again = sum(by != "spark" for _, by in having[first + 1 :])
            if again:
                by_hand[SAID if where == ONCE else OTHER] = (len(having), again, again * FILES)
    for text, told in by_hand.items():
        assert (found[text].times, found[text].again, found[text].files) == told
    single = {text: each for text, each in found.items() if " AND " not in text}
    assert {text for text, each in single.items() if each.by_itself} == set(by_hand)
    assert not any(text.startswith("id") for text in found)
    assert all(0 < each.again < each.times or not each.by_itself for each in found.values())
