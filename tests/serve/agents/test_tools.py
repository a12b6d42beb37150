"""Each tool answers what the table's own face answers, within its budget, and in a bounded size."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.core import Config
from metaindex.serve import AgentPlaces, Agents
from metaindex.serve.agents.tools import TOOLS
from tests.serve.agents.lakes import FILES, ONE, ROWS, lake


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="module")
def paths(root: Path) -> dict[str, str]:
    return lake(root)


def agents(root: Path, **how: Any) -> Agents:
    return Agents(AgentPlaces.of([str(root)], {}, Config()), **how)


def asked(root: Path, tool: str, **arguments: Any) -> dict[str, Any]:
    told = agents(root).call(tool, arguments)
    assert not told.refused, told.data
    return told.data


def test_the_guide_names_the_arguments_of_each_tool() -> None:
    guide = (Path(__file__).parents[3] / "docs/guides/agents.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", guide, re.MULTILINE))
    known = {tool.name: [(each.name, each.required) for each in tool.parameters] for tool in TOOLS}
    named = {
        tool: [(name, bool(bold)) for bold, name in re.findall(r"(\*\*)?`(\w+)`", row)] for tool, row in rows.items()
    }
    assert {tool: named[tool] for tool in known} == known


@contextmanager
def away(path: str) -> Iterator[None]:
    """Its data files are gone, so that whoever opens one fails."""
    files = [file for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts]
    assert files
    for file in files:
        file.rename(file.with_suffix(".away"))
    try:
        yield
    finally:
        for file in files:
            file.with_suffix(".away").rename(file)


def test_tables_and_schema_tell_what_there_is(root: Path, paths: dict[str, str]) -> None:
    told = asked(root, "tables")
    assert [table["name"] for table in told["tables"]] == sorted(paths)
    assert {table["files"] for table in told["tables"]} == {FILES}
    assert {table["format"] for table in told["tables"]} == {"delta", "iceberg", "files"}
    assert asked(root, "tables", name_contains="delta", limit=1)["found"] == 1
    for name in paths:
        told = asked(root, "schema", table=name)
        assert [column["name"] for column in told["columns"]] == ["id", "name", "day"]
        assert [index["name"] for index in told["indexes"]] == ["find"]


def test_each_answer_is_that_of_the_table(root: Path, paths: dict[str, str]) -> None:
    for name, path in paths.items():
        table = mi.open_table(path)
        kept = table.prune(ONE)
        pruned = asked(root, "prune", table=name, where=ONE)
        assert (pruned["kept_files"], pruned["kept_bytes"], pruned["total_files"]) == (1, kept.kept_bytes, FILES)
        assert [file["path"] for file in pruned["files"]] == kept.files.paths.to_pylist()
        assert asked(root, "count", table=name, where=ONE)["count"] == table.count(ONE) == 1
        assert asked(root, "count", table=name)["count"] == FILES * ROWS
        words = {"count": True, "min": ["id"], "max": ["name"], "group_by": ["day"]}
        rows = asked(root, "aggregate", table=name, where="id >= 50", **words)["rows"]
        assert sorted(rows, key=str) == sorted(table.aggregate(where="id >= 50", **words).table.to_pylist(), key=str)
        for exact in (False, True):
            assert asked(root, "locate", table=name, where=ONE, exact=exact)["found"] == (
                table.locate(ONE, exact=exact).table.to_pylist()
            )
            assert asked(root, "search", table=name, text="n87", exact=exact)["found"] == (
                table.search("n87", exact=exact).table.to_pylist()
            )
        weighed = table.what_if(["id = 5"])
        told = asked(root, "what_if", table=name, where=["id = 5"])
        assert [each["candidate"] for each in told["candidates"]] == [each.candidate for each in weighed.candidates]
        (query,), (now,) = told["queries"], weighed.queries
        assert query["now"]["files"] == now.now.files.expected
        assert [each["files"] for each in query["with"]] == [round(each.reads.files.expected) for each in now.effects]


@pytest.mark.parametrize("tool", ["count", "aggregate", "locate", "search", "what_if"])
def test_a_costly_call_is_refused_though_no_data_file_can_be_read(root: Path, paths: dict[str, str], tool: str) -> None:
    words = {
        "count": {"where": "name LIKE '%7'"},
        "aggregate": {"sum": ["id"], "where": "name LIKE '%7'"},
        "locate": {"where": "name LIKE '%7'"},
        "search": {"text": "n87"},
        "what_if": {"where": ["name LIKE '%7'", ONE]},
    }[tool]
    for name, path in paths.items():
        with away(path) if name.startswith("delta") else _as_it_is():
            told = agents(root).call(tool, {"table": name, "budget_bytes": 10, **words})
        assert told.refused
        assert told.data["error"] == "TooCostlyError"
        assert told.data["budget_bytes"] == 10
        assert 0 < told.data["would_open_files"] <= FILES + 1
        assert told.data["would_open_bytes"] > 10
        assert "nothing was read" in told.data["message"]
        assert "\n" not in told.data["message"]


@contextmanager
def _as_it_is() -> Iterator[None]:
    """A listing of plain files, and the last version of Iceberg, are of files that are there."""
    yield


def test_a_refusal_names_the_index_that_makes_it_cheap(root: Path, tmp_path: Path) -> None:
    for number in range(4):
        names = [f"u{i * 4 + number}" for i in range(500)]
        write_deltalake(str(tmp_path / "users"), pa.table({"user": names}), mode="append")
    question = {"table": "users", "where": "user = 'u5'"}
    total = asked(tmp_path, "prune", **question)["kept_bytes"]
    refused = agents(tmp_path, budget_bytes=total - 1).call("count", question)
    assert (refused.data["would_open_files"], refused.data["would_open_bytes"]) == (4, total)
    assert refused.data["indexes_that_may_help"][0] == "values(user)"
    mi.open_table(tmp_path / "users").create_index("u", mi.Values("user"), builder="local")
    told = agents(tmp_path, budget_bytes=total - 1).call("count", question)
    assert (told.refused, told.data["count"], told.data["opened"]) == (False, 1, 1)


def test_an_agent_lowers_the_budget_and_never_raises_it(root: Path, paths: dict[str, str]) -> None:
    name = next(iter(paths))
    told = agents(root, budget_bytes=5).call("count", {"table": name, "where": ONE, "budget_bytes": 10**15})
    assert (told.refused, told.data["budget_bytes"]) == (True, 5)


def test_what_if_reads_no_more_than_its_budget(tmp_path: Path) -> None:
    for number in range(16):
        ids = list(range(number, 400_000, 16))
        write_deltalake(str(tmp_path / "t"), pa.table({"a": ids, "b": ids}), mode="append")
    whole = asked(tmp_path, "what_if", table="t", where=["a = 5"])
    assert whole["sampled_bytes"] > 600_000
    told = asked(tmp_path, "what_if", table="t", where=["a = 200000"], budget_bytes=16 * 65_536 + 500_000)
    assert 0 < told["sampled_bytes"] <= 500_000
    told = asked(tmp_path, "what_if", table="t", where=["a = 200000"], budget_bytes=16 * 65_536)
    assert told["sampled_bytes"] == 0
    assert any("the limit is 0 bytes" in note for note in told["notes"])


def test_answers_are_bounded_in_rows_and_characters(tmp_path: Path) -> None:
    names = [f"{number:05d}{'x' * 200}" for number in range(2_000)]
    long = pa.table({"name": names, "text": ["y" * 50_000] * 2_000})
    write_deltalake(str(tmp_path / "t"), long)
    few = asked(tmp_path, "aggregate", table="t", count=True, group_by=["name"], limit=7)
    assert (len(few["rows"]), few["more"]) == (7, 1_993)
    many = agents(tmp_path).call("aggregate", {"table": "t", "count": True, "group_by": ["name"], "limit": 1_000})
    assert len(many.text) <= 24_000
    assert 1 <= len(many.data["rows"]) < 1_000
    assert len(many.data["rows"]) + many.data["more"] == 2_000
    (row,) = asked(tmp_path, "aggregate", table="t", max=["text"])["rows"]
    assert row["max(text)"].endswith("(50,000 characters)")
    assert len(row["max(text)"]) < 1_100


BAD: dict[str, tuple[str, Any]] = {
    "no tool": ("drop_index", {"table": "t"}),
    "no object": ("count", [1]),
    "no table": ("count", {}),
    "unknown argument": ("count", {"table": "t", "wher": "a = 1"}),
    "a number for a text": ("count", {"table": "t", "where": 5}),
    "a truth for a number": ("count", {"table": "t", "budget_bytes": True}),
    "a negative budget": ("count", {"table": "t", "budget_bytes": -1}),
    "too many rows": ("prune", {"table": "t", "where": "a = 1", "limit": 10**9}),
    "a huge condition": ("count", {"table": "t", "where": " OR ".join(f"a = {i}" for i in range(10_000))}),
    "a deep condition": ("count", {"table": "t", "where": "(" * 3_900 + "a = 1" + ")" * 3_900}),
    "a deep negation": ("count", {"table": "t", "where": "NOT " * 1_900 + "a = 1"}),
    "many names": ("aggregate", {"table": "t", "min": ["a"] * 1_000}),
    "no SQL": ("count", {"table": "t", "where": "a = 'x"}),
    "more than a condition": ("count", {"table": "t", "where": "a = 1; DROP TABLE t"}),
    "no column": ("count", {"table": "t", "where": "b = 1"}),
    "no version": ("count", {"table": "t", "version": "99"}),
    "no aggregate": ("aggregate", {"table": "t"}),
    "half of a pair": ("count", {"table": "t", "where": "a = '\ud800'"}),
    "NUL": ("count", {"table": "t\0", "where": "a = 1"}),
    "no condition": ("what_if", {"table": "t", "where": []}),
    "an object": ("count", {"table": {"name": "t"}}),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_call_is_an_error_of_one_line(tmp_path: Path, case: str) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"a": [1, 2]}))
    tool, arguments = BAD[case]
    told = agents(tmp_path).call(tool, arguments)
    assert told.refused, told.data
    assert told.data["error"].endswith("Error")
    message = told.data["message"]
    assert 20 < len(message) < 1_100
    assert "\n" not in message
    assert "unexpectedly" not in message
    assert agents(tmp_path).call("count", {"table": "t"}).data["count"] == 2


def test_a_table_that_cannot_be_read_is_a_row_with_its_problem(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "fine"), pa.table({"a": [1]}))
    write_deltalake(str(tmp_path / "wrong"), pa.table({"a": [1]}))
    (tmp_path / "wrong" / "_delta_log" / "00000000000000000000.json").write_text("{")
    by_name = {table["name"]: table for table in asked(tmp_path, "tables")["tables"]}
    assert by_name["fine"]["files"] == 1
    assert by_name["wrong"]["problem"]


def test_schemas_are_json_schema_that_the_arguments_fit(root: Path) -> None:
    import jsonschema

    for tool in TOOLS:
        jsonschema.Draft202012Validator.check_schema(tool.schema)
        json.dumps(tool.schema)
        assert all(len(parameter.about) > 10 for parameter in tool.parameters)
