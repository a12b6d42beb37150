"""What-if of a workload: queries of this table, each template with some of its literals, and its weight."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.workloads.asked import TableNames, of_table
from metaindex.workloads.shape import shown_predicate


def flights(folder: Path) -> mi.Table:
    for number in range(6):
        rows = {"dest": [f"D{number}", f"E{number}"], "day": [number, number + 10], "tailnum": ["N1", "N2"]}
        write_deltalake(str(folder / "flights"), pa.table(rows), mode="append")
    return mi.open_table(folder / "flights")


QUERIES = """
SELECT day FROM flights WHERE dest = 'D3';
SELECT day FROM flights WHERE dest = 'D4';
SELECT day FROM DB.Flights WHERE dest = 'D5';
SELECT count(*) FROM flights, planes WHERE flights.tailnum = planes.tailnum AND day = 3 AND seats > 4;
SELECT * FROM planes WHERE seats = 3;
SELECT nothing FROM flights WHERE nothing = 3;
SELECT FROM;
"""


def test_a_template_is_asked_with_some_of_its_literals_which_share_its_weight(tmp_path: Path) -> None:
    table = flights(tmp_path)
    (tmp_path / "q.sql").write_text(QUERIES)
    workload = mi.workload(tmp_path / "q.sql")
    found = table.what_if(workload, mi.Values("dest"), mi.ColumnStats())
    assert [(query.query, query.weight, bool(query.problem)) for query in found.queries] == [
        ("dest = 'D3'", 1, False),
        ("dest = 'D4'", 1, False),
        ("dest = 'D5'", 1, False),
        ("day = 3", 1, False),
        ("nothing = 3", 1, True),
    ]
    asked = ["dest = 'D3'", "dest = 'D4'", "dest = 'D5'", "day = 3"]
    alone = table.what_if(asked, mi.Values("dest"), mi.ColumnStats())
    values = "values(dest)"
    each = [query[values].saved_of(query.now).expected for query in alone.queries if query.now is not None]
    assert found.saved(values).expected == sum(each)
    now = [query.now.size_bytes.expected for query in alone.queries if query.now is not None]
    assert found.read_bytes == sum(now)
    assert found.to_json()["candidates"][0]["saved_bytes"]["expected"] == sum(each)  # type: ignore[index]
    assert any("of other tables" in note for note in found.notes)
    assert any("not read" in note for note in found.notes)
    assert "saved over the workload" in str(found)


@given(st.integers(1, 400), st.integers(1, 60))
def test_literals_of_a_long_workload_are_of_its_beginning_and_of_its_end(many: int, different: int) -> None:
    workload = mi.workload([f"SELECT a FROM t WHERE a = {number % different}" for number in range(many)])
    queries = of_table(workload, TableNames("/t", {}), ["a"]).queries
    assert sum(query.seen for query in queries) == many
    asked = [query.text for query in queries]
    assert len(set(asked)) == len(asked) == min(3, many, different)
    assert "a = 0" in asked
    if many == different > 12:
        assert max(int(text.removeprefix("a = ")) for text in asked) >= many / 2 - 1


def test_a_mapping_names_the_table(tmp_path: Path) -> None:
    table = flights(tmp_path)
    workload = mi.workload(["SELECT day FROM a.trips WHERE dest = 'D3'", "SELECT day FROM flights WHERE dest = 'D4'"])
    tables = {"a.trips": tmp_path / "flights", "flights": tmp_path / "others"}
    found = table.what_if(workload, mi.Values("dest"), tables=tables)
    assert [(query.query, query.weight) for query in found.queries] == [("dest = 'D3'", 1)]


def test_a_covering_index_has_all_that_the_query_needs(tmp_path: Path) -> None:
    table = flights(tmp_path)
    texts = ["SELECT day FROM flights WHERE dest = 'D3'", "SELECT DAY, tailnum FROM flights WHERE dest = 'D3'"]
    found = table.what_if(mi.workload(texts), mi.Covering(["dest"], ["day"]))
    assert [query.effects[0].note.startswith("it does not have the column") for query in found.queries] == [False, True]
    whole = table.what_if(mi.workload("SELECT * FROM flights WHERE dest = 'D3'"), mi.Covering(["dest"], ["day"]))
    assert whole.queries[0].effects[0].note == "it does not have the column tailnum"


def test_a_workload_of_other_tables_asks_nothing(tmp_path: Path) -> None:
    found = flights(tmp_path).what_if(mi.workload("SELECT * FROM planes"), mi.Values("dest"))
    assert found.queries == ()
    assert "of other tables" in str(found)


@pytest.mark.parametrize(
    ("name", "path", "same"),
    [
        ("flights", "/lake/flights", True),
        ("FLIGHTS", "/lake/flights/", True),
        ("spark_catalog.db.flights", "s3://lake/flights", True),
        ("delta./lake/flights", "/other/flights", True),
        ("flight", "/lake/flights", False),
        ("", "/lake/flights", True),
    ],
)
def test_names_of_a_table(name: str, path: str, same: bool) -> None:
    assert TableNames(path, {}).has(name) is same


def test_two_reads_of_a_table_ask_twice() -> None:
    workload = mi.workload(["SELECT * FROM n a, n b WHERE a.x = b.y AND a.z = 1 AND b.y = 2"])
    found = of_table(workload, TableNames("/n", {}), ["x", "y", "z"])
    assert [shown_predicate(query.predicate) for query in found.queries] == ["z = 1", "y = 2"]
    assert found.others == 0


def test_statements_are_a_workload_by_themselves(tmp_path: Path) -> None:
    table = flights(tmp_path)
    (alone,) = table.what_if("SELECT day FROM flights WHERE dest = 'D3'", mi.Values("dest")).queries
    assert (alone.problem, alone.query) == ("", "dest = 'D3'")
    found = table.what_if(["SELECT * FROM flights WHERE dest = 'D4'", "day = 3"], mi.Values("dest"))
    assert [query.problem for query in found.queries] == ["", ""]


def test_names_of_tables_need_statements(tmp_path: Path) -> None:
    with pytest.raises(mi.ArgumentError, match="give statements"):
        flights(tmp_path).what_if("dest = 'D3'", mi.Values("dest"), tables={"f": "flights"})
