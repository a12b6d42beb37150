"""What indexes saved is what a count of the log's rows by hand says, and what they cost is what their logs say."""

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.advisor import computed_savings
from metaindex.cli import main
from metaindex.query.query_log.files import encoded, new_name
from metaindex.query.query_log.reading import LoggedQueries, logged
from metaindex.query.query_log.row import SCHEMA, QueryRow
from metaindex.query.query_log.writer import WRITER
from tests.query.query_log.lake import noted, storage_of
from tests.tables import FORMATS, Lake, delta_lake, rows

DAY_US = 24 * 3600 * 10**6
COUNTS = st.none() | st.integers(0, 1000)
QUERIES = st.lists(
    st.builds(
        QueryRow,
        at_us=st.integers(20_000 * DAY_US, 20_003 * DAY_US),
        engine=st.just("prune"),
        predicate=st.none(),
        files_read=COUNTS,
        files_left_out=COUNTS,
        bytes_read=COUNTS,
        bytes_left_out=COUNTS,
        indexes=st.lists(st.sampled_from("abc"), max_size=3).map(tuple),
        milliseconds=st.none() | st.integers(0, 9).map(float),
    ),
    max_size=20,
)


def _table(queries: list[QueryRow]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {name: getattr(row, name, None) for name in SCHEMA.names if name not in ("at", "predicate")}
            | {"at": row.at_us, "columns": [], "indexes": list(row.indexes)}
            for row in queries
        ],
        schema=SCHEMA,
    )


@given(QUERIES)
def test_sums_are_those_of_the_rows(queries: list[QueryRow]) -> None:
    told = computed_savings("t", LoggedQueries(_table(queries), {}), [], {})

    def summed(some: list[QueryRow]) -> tuple[float, ...]:
        helped = [row for row in some if row.indexes]
        columns = ("files_read", "files_left_out", "bytes_read", "bytes_left_out")
        sums = (sum(getattr(row, name) or 0 for row in helped) for name in columns)
        return (len(some), len(helped), *sums, sum(row.milliseconds or 0 for row in some))

    def said(spared: object) -> tuple[float, ...]:
        return tuple(getattr(spared, name) for name in spared.__dataclass_fields__)  # type: ignore[attr-defined]

    assert said(told.total) == summed(queries)
    for name in {name for row in queries for name in row.indexes}:
        assert said(told[name].spared) == summed([row for row in queries if name in row.indexes])
    days = {row.at_us // DAY_US for row in queries}
    assert {(day - dt.date(1970, 1, 1)).days for day in told.days} == days
    for day, spared in told.days.items():
        assert said(spared) == summed(
            [row for row in queries if row.at_us // DAY_US == (day - dt.date(1970, 1, 1)).days]
        )
    json.dumps(told.to_json(), allow_nan=False)
    assert str(told)


@pytest.mark.parametrize("made", FORMATS.values(), ids=FORMATS)
def test_savings_of_a_table(made: Callable[[Path], Lake], tmp_path: Path) -> None:
    lake = made(tmp_path)
    table = noted(lake)
    table.create_index("idle", mi.Values("id"), builder="local")
    for number in range(4):
        table.prune(f"id = {number}", indexes=["stats"])
    table.prune("id > -1")
    lake.append(rows(200))
    table.refresh_index("stats", builder="local")
    told = table.savings()
    assert (told.total.queries, told.total.helped, told.total.files_left_out) == (5, 4, 4)
    stats = told["stats"]
    assert stats.spared.bytes_left_out == told.total.bytes_left_out > 0
    (info,) = (info for info in table.indexes() if info.name == "stats")
    assert stats.size_bytes == info.size_bytes
    refreshed = [entry for entry in table.history("stats").entries if "refresh" in entry.verb]
    assert stats.upkeep_bytes == sum(entry.bytes_added for entry in refreshed) > 0
    assert told.unused == ("idle",)
    assert "stats" in str(told)
    assert "idle" in told._repr_html_()
    assert table.savings(dt.timedelta(0)).total.queries == 0


def test_an_index_that_no_query_could_use_is_not_told_to_be_unused(tmp_path: Path) -> None:
    """It was created after the last query; one that was created anew counts from then on."""
    table = noted(delta_lake(tmp_path))
    table.create_index("again", mi.Values("id"), builder="local")
    table.prune("id = 1", indexes=["stats"])
    assert (table.savings().unused, table.savings()["again"].queries) == (("again",), 1)
    table.drop_index("again")
    table.vacuum_index("again")
    table.create_index("again", mi.Values("id"), builder="local")
    table.create_index("young", mi.Values("id"), builder="local")
    told = table.savings()
    assert (told.unused, told["again"].queries, told["young"].queries, told["stats"].queries) == ((), 0, 0, 1)
    assert "since it was created" not in str(told)
    assert [each["queries"] for each in told.to_json()["indexes"]] == [1, 0, 0]  # type: ignore[attr-defined]
    table.prune("id = 2", indexes=["stats"])
    assert "helped no query that was noted since it was created: again, young" in str(table.savings())


def test_without_a_log_it_says_how_to_have_one(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    lake.append(rows(0))
    assert "query_log=True" in str(lake.open().savings())


def test_an_index_that_is_gone_is_told_of_without_its_cost(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    table.prune("id = 1")
    table.drop_index("stats")
    table.vacuum_index("stats")
    told = table.savings()
    assert (told["stats"].spared.helped, told["stats"].size_bytes, told.unused) == (1, None, ())
    with pytest.raises(KeyError):
        told["another"]


def test_an_index_that_a_stranger_named_is_shown_as_text(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    row = QueryRow(20_000 * DAY_US, "x", None, indexes=("<b>\x1b[1m", "<b>\x1b[1m"), bytes_left_out=1)
    storage_of(table).put_if_absent(new_name(2 * 10**12), encoded([row], mi.QueryLog()))
    told = table.savings()
    assert told["<b>\x1b[1m"].spared.helped == 1
    assert "<b>" not in told._repr_html_()
    assert "\x1b" not in str(told)


@pytest.mark.parametrize("words", [["--keep", "1d"], ["--keep-bytes", "1"], ["--clean", "--since", "1d"]])
def test_words_that_would_do_nothing_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    place = noted(delta_lake(tmp_path)).path
    assert main(["queries", place, *words]) == 1
    assert "leave one out" in (said := capsys.readouterr().err) or "add --clean" in said


@pytest.mark.slow
def test_commands_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = noted(delta_lake(tmp_path))
    place = table.path
    for number in range(3):
        spelled = ("left out", "left-out", "Left-Out")[number]
        assert main(["prune", place, f"id = {number}", "--query-log", spelled, "--json"]) == 0
    assert main(["scan", place, "id = 3", "--query-log", "kept", "--json"]) == 0
    assert main(["prune", place, "id = 4", "--query-log", "off"]) == 0
    assert WRITER.flush(300)
    capsys.readouterr()
    assert main(["savings", place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["helped"] == 4
    assert main(["savings", place, "--since", "1h"]) == 0
    assert "4 of 4 queries were helped" in capsys.readouterr().out
    assert main(["queries", place, "--json"]) == 0
    (template,) = json.loads(capsys.readouterr().out)["templates"]
    assert (template["text"], template["queries"]) == ("(`id` = ?)", 4)
    assert main(["queries", place]) == 0
    assert "(`id` = ?)" in capsys.readouterr().out
    assert main(["queries", place, "--clean", "--keep", "0s", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] >= 1
    assert logged(storage_of(table)).rows.num_rows == 0
    assert main(["queries", place]) == 0
    assert "METAINDEX_QUERY_LOG" in capsys.readouterr().out
