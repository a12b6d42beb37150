"""The door: what the rule sends becomes values, and whatever else is sent is refused in one line."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import ArgumentError, Config
from metaindex.expressions import col
from metaindex.query import Direction, How
from metaindex.spark.optimizer.request import (
    AggregateAsked,
    Delta,
    Files,
    FirstAsked,
    Group,
    Iceberg,
    JoinSide,
    Need,
    PassedScan,
    Session,
    read_request,
    read_survey,
    read_surveys,
)
from metaindex.spark.optimizer.request_handler import RequestHandler
from metaindex.spark.optimizer.settings import RuleConfig
from tests.spark.optimizer.test_requests import equal

COLUMNS = {"type": "struct", "fields": [{"name": "k", "type": "long", "nullable": True, "metadata": {"note": 1}}]}
NOTHING = {"type": "struct", "fields": []}
ASKED = {
    "filters": [equal("k", "long", 7)],
    "gathered": False,
    "harmless": True,
    "pruned": False,
    "bytes": 5,
    "needs": [{"name": "k", "type": "long"}],
    "wants": [],
}
READ = {"session": {"zone": "UTC", "set": {"spark.sql.caseSensitive": "true"}}, "options": {"path": "/t"}}
DELTA = ASKED | READ | {"kind": "delta", "root": "file:/t", "version": "3", "table": "id", "catalog": False}
ICEBERG = ASKED | {"kind": "iceberg", "root": "/t", "version": "null", "ids": [[["s"], 1, [2]], [["s", "x"], 2, []]]}
FILES = (
    ASKED
    | READ
    | {"kind": "files", "root": "/t", "format": "CSVFileFormat", "schema": COLUMNS, "partitions": NOTHING}
    | {"catalog": True, "session": None, "bytes": -1}
)
FIELD = {"name": "s.x", "path": ["s", "x"], "id": 2, "type": {"type": "struct", "fields": []}, "altered": True}
WANTS = [
    {"group": ["k"]},
    {"group": ["k"], "whole": True},
    {"join": 0, "side": 1, "keys": ["k"], "small": True, "partial": True},
]
REQUEST: dict[str, Any] = {
    "settings": {"spark.metaindex.hint": "a"},
    "broken": {"run": "part"},
    "scans": [
        DELTA | {"first": {"column": "k", "descending": True, "nulls_first": False, "rows": 5}, "any": True},
        ICEBERG | {"needs": [FIELD], "wants": WANTS, "order": ["k", "s.x DESC"]},
        FILES | {"aggregate": {"keys": ["k"], "measures": [{"how": "count"}, {"how": "max", "column": "k"}]}},
    ],
    "limit": 5,
}


def test_a_request_is_read_as_it_is_sent() -> None:
    read = read_request(json.dumps(REQUEST))
    assert (read.settings, read.broken) == (REQUEST["settings"], REQUEST["broken"])
    delta, iceberg, files = read.scans
    assert delta.source == Delta("3", "id", Session("UTC", {"spark.sql.caseSensitive": "true"}), {"path": "/t"})
    assert (str(delta), delta.plain, delta.text, delta.bytes) == ("delta file:/t", False, None, 5)
    assert delta.conditions == (col("k") == 7,)
    assert delta.needs == (Need("k", ("k",), "long"),)
    assert iceberg.source == Iceberg(None, ((("s",), 1), (("s", "x"), 2)), (("id:1", '["id:2"]'),))
    assert iceberg.needs == (Need("s.x", ("s", "x"), {"type": "struct", "fields": []}, 2, altered=True),)
    sides = (Group(("k",)), Group(("k",), whole=True), JoinSide(0, 1, ("k",), small=True, partial=True))
    assert iceberg.wants == sides
    assert (delta.order, iceberg.order, read.limit) == ((), ("k", "s.x DESC"), 5)
    assert delta.first == FirstAsked("k", Direction(descending=True, nulls_first=False), 5)
    assert files.aggregate == AggregateAsked(("k",), ((How.COUNT, None), (How.MAX, "k")))
    assert (delta.any, iceberg.any, iceberg.first, iceberg.aggregate) == (True, False, None, None)
    assert isinstance(files.source, Files)
    assert (files.source.session, files.source.catalog, files.text, files.plain) == (None, True, "csv", True)
    assert (files.source.schema.names, files.source.partitions.names, files.bytes) == (("k",), (), None)
    assert files.source.schema.types.names == ["k"]
    assert files.source.schema.notes("note")
    assert not files.source.schema.notes("other")
    assert read == read_request(json.dumps(REQUEST))
    assert not read_request('{"settings": {}, "scans": []}').broken


def test_a_survey_is_read_as_it_is_sent() -> None:
    assert read_survey('{"refused": "STREAM"}').refused == "STREAM"
    passed = [{"scan": "t", "why": "NO_FILTER", "listed": [4, 99]}, {"scan": "u", "why": "OTHER_SOURCE"}]
    survey = read_survey(json.dumps({"settings": {}, "scans": [DELTA], "passed": passed}))
    assert (len(survey.scans), survey.passed, survey.refused) == (
        1,
        (PassedScan("t", "NO_FILTER", (4, 99)), PassedScan("u", "OTHER_SOURCE")),
        None,
    )
    inside = {"settings": {}, "scans": [], "passed": [], "limit": 3}
    first, second = read_surveys(json.dumps([{"refused": "STREAM"}, inside]))
    assert (first.refused, first.limit, second.refused, second.limit) == ("STREAM", None, None, 3)
    with pytest.raises(ArgumentError):
        read_surveys("{}")
    with pytest.raises(ArgumentError):
        read_survey("[]")


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in it: the list or object, and where in it."""
    each = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for at, below in each:
        yield node, at
        yield from places(below)


def refused(text: str) -> bool:
    try:
        read_request(text)
    except ArgumentError:
        return True
    return False


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda some: st.lists(some, max_size=2) | st.dictionaries(st.text(max_size=3), some, max_size=2),
    max_leaves=4,
)


@given(st.data())
def test_what_is_no_request_is_refused_and_leaves_the_plan_as_it_was(data: st.DataObject) -> None:
    asked = copy.deepcopy(REQUEST)
    node, at = data.draw(st.sampled_from(list(places(asked))))
    if data.draw(st.booleans()):
        node[at] = data.draw(ANYTHING)
    else:
        del node[at]
    text = json.dumps(asked)
    if refused(text):
        skipping = RequestHandler(Config(), {}, RuleConfig())
        assert skipping(text) == ""
        assert skipping.counts.failed == 1


WRONG = [
    ("kind", "lance"),
    ("root", ""),
    ("version", 3),
    ("version", ""),
    ("table", None),
    ("session", {"zone": 1, "set": {}}),
    ("options", {"path": 1}),
    ("bytes", True),
    ("bytes", "5"),
    ("order", []),
    ("order", "k"),
    ("gathered", 0),
    ("filters", {}),
    ("needs", [{"name": "k"}]),
    ("needs", [{"name": "k", "path": [], "type": "long"}]),
    ("wants", [{"join": -1, "side": 0, "keys": ["k"], "small": False}]),
    ("wants", [{"join": 0, "side": 2, "keys": ["k"], "small": False}]),
    ("wants", [{"join": 0, "side": 0, "keys": [], "small": False}]),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_types_and_bounds_are_checked(name: str, value: object) -> None:
    with pytest.raises(ArgumentError, match="of a request is as this version of metaindex asks it"):
        read_request(json.dumps(REQUEST | {"scans": [DELTA | {name: value}]}))


@pytest.mark.parametrize(
    "ids",
    [
        [[["s"], "1", []]],
        [[[], 1, []]],
        [[["s"], 1]],
        [[["s"], 1, 2]],
        [[["s"], 1, ["2"]]],
        [[["s"], 1, [True]]],
        [[["s"], 1, [], 2]],
        [[["s"], True, []]],
        [["s", 1, []]],
    ],
)
def test_numbers_of_columns_are_numbers(ids: object) -> None:
    with pytest.raises(ArgumentError, match="'ids' of a request"):
        read_request(json.dumps(REQUEST | {"scans": [ICEBERG | {"ids": ids}]}))
