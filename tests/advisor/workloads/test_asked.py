"""What-if of a workload: queries of this table, each template with some of its literals, and its weight."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.advisor.workloads.gathering import LEAST_LITERALS, MOST_LITERALS
from metaindex.advisor.workloads.table_queries import TableNames, of_table
from metaindex.advisor.workloads.template import shown_predicate


def flights(folder: Path) -> mi.Table:
    for number in range(6):
        rows = {"dest": [f"D{number}", f"E{number}"], "day": [number, number + 10], "tailnum": ["N1", "N2"]}
        write_deltalake(str(folder / "flights"), pa.table(rows), mode="append")
    return mi.open_table(folder / "flights")


def asked_of(workload: mi.Workload) -> Any:
    """Of a table `t` of a column."""
    return of_table(workload, TableNames("/t", {}), ["a"]).queries


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
def test_few_literals_are_all_asked_as_often_as_they_came_and_of_many_some_are_drawn(many: int, different: int) -> None:
    queries = asked_of(mi.workload([f"SELECT a FROM t WHERE a = {number % different}" for number in range(many)]))
    assert sum(query.seen for query in queries) == many
    asked = {query.text: query.seen for query in queries}
    assert len(asked) == len(queries)
    if min(many, different) <= MOST_LITERALS:
        assert asked == Counter(f"a = {number % different}" for number in range(many))
        assert all(query.stands is None for query in queries)
    else:
        assert sum(query.stands.drawn for query in queries if query.stands is not None) == MOST_LITERALS
        assert len(queries) > MOST_LITERALS / 2


def test_what_is_drawn_is_of_the_whole_workload_as_often_as_it_came() -> None:
    rare = [f"SELECT a FROM t WHERE a = {number}" for number in range(1_000)]
    often = ["SELECT a FROM t WHERE a = -1"] * 1_000
    for texts in (rare + often, often + rare):
        queries = asked_of(mi.workload(texts))
        assert 400 <= max(query.seen for query in queries) <= 1_600  # of 24 that were drawn
        others = [int(query.text.removeprefix("a = ")) for query in queries if query.text != "a = -1"]
        assert min(others) < 300
        assert max(others) > 700


@pytest.mark.slow
def test_of_long_texts_fewer_are_kept() -> None:
    """Each may have a million characters."""
    lists = (", ".join(str(10_000 * place + number) for number in range(8_000)) for place in range(9))
    queries = asked_of(mi.workload([f"SELECT a FROM t WHERE a IN ({said})" for said in lists]))
    assert sum(query.seen for query in queries) == 9
    assert sum(query.stands.drawn for query in queries if query.stands is not None) == LEAST_LITERALS


def test_workloads_put_together_are_asked_as_one() -> None:
    first = mi.workload([f"SELECT a FROM t WHERE a = {number}" for number in range(400)])
    again = mi.workload([first])
    assert told(again) == told(first)
    second = mi.workload([f"SELECT a FROM t WHERE a = {number}" for number in range(400, 500)])
    asked = told(mi.workload([first, second, "SELECT a FROM t WHERE a = 9"]))
    assert sum(seen for _, seen in asked) == 501
    assert 10 <= sum(int(text.removeprefix("a = ")) < 400 for text, _ in asked) <= 23


def told(workload: mi.Workload) -> list[tuple[str, int]]:
    return sorted((query.text, query.seen) for query in asked_of(workload))


@given(st.integers(1, 30), st.integers(1, 10))
@pytest.mark.slow
def test_templates_that_ask_a_table_alike_are_asked_as_one(templates: int, many: int) -> None:
    texts = [
        f"SELECT t.a FROM t JOIN u{number} ON t.a = u{number}.b WHERE t.a = {10 * number + place}"
        for number in range(templates)
        for place in range(many)
    ]
    queries = asked_of(mi.workload(texts))
    assert sum(query.seen for query in queries) == templates * many
    assert len(queries) <= MOST_LITERALS
    assert all(query.stands is None for query in queries) == (templates * many <= MOST_LITERALS)


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
