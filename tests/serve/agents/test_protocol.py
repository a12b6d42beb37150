"""The SDK's own client, over standard input and output, asks a server in a process of its own."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

import metaindex as mi
from metaindex.core import Config
from metaindex.serve import AgentPlaces, Agents
from tests.processes import ended
from tests.serve.agents.lakes import FILES, ONE, ROWS, lake

COMMAND = ("-m", "metaindex", "mcp")


async def _asked(words: tuple[str, ...], calls: list[tuple[str, dict[str, Any]]]) -> tuple[Any, list[Any]]:
    server = StdioServerParameters(command=sys.executable, args=[*COMMAND, *words])
    async with Client(stdio_client(server)) as client:
        listed = await client.list_tools()
        return listed.tools, [await client.call_tool(name, arguments) for name, arguments in calls]


@pytest.mark.slow
def test_a_client_is_answered_as_the_tables_answer(tmp_path: Path) -> None:
    paths = lake(tmp_path)
    calls: list[tuple[str, dict[str, Any]]] = [("tables", {})]
    for name in paths:
        calls += [
            ("schema", {"table": name}),
            ("prune", {"table": name, "where": ONE}),
            ("count", {"table": name, "where": ONE}),
            ("count", {"table": name, "where": "name LIKE '%7'", "budget_bytes": 100}),
            ("aggregate", {"table": name, "max": ["id"], "count": True, "group_by": ["day"]}),
            ("locate", {"table": name, "where": ONE, "exact": True}),
            ("search", {"table": name, "text": "n87", "exact": True}),
            ("what_if", {"table": name, "where": ["id = 5"]}),
        ]
    calls += [("count", {"table": "../etc", "where": "a = 1"}), ("drop", {}), ("count", {"where": ["x"] * 100_000})]
    tools, answers = anyio.run(_asked, (str(tmp_path),), calls)
    assert [tool.name for tool in tools] == [
        *("tables", "schema", "prune", "count", "aggregate", "locate", "search", "what_if")
    ]
    assert all(tool.annotations.read_only_hint for tool in tools)
    here = Agents(AgentPlaces.of([str(tmp_path)], {}, Config()))
    for (name, arguments), answer in zip(calls, answers, strict=True):
        told = here.call(name, arguments)
        assert answer.is_error == told.refused, (name, arguments, answer)
        assert json.loads(answer.content[0].text) == answer.structured_content
        if name != "what_if":  # it measures processor time
            assert _timeless(answer.structured_content) == _timeless(json.loads(told.text))
    counts = [answer for (name, given), answer in zip(calls, answers, strict=True) if given.get("where") == ONE]
    assert sum(answer.structured_content.get("count") == 1 for answer in counts) == len(paths)
    costly = [answer.structured_content for answer in answers if answer.is_error][: len(paths)]
    assert [(each["error"], each["would_open_files"]) for each in costly] == [("TooCostlyError", FILES)] * len(paths)
    assert mi.open_table(next(iter(paths.values()))).count() == FILES * ROWS


@pytest.mark.skipif(sys.platform != "linux", reason="the bound is the system's")
def test_a_small_file_that_unpacks_to_all_memory_ends_its_call_alone(tmp_path: Path) -> None:
    """A text of 75 kB in each of 80,000 rows, by a dictionary, beside a column that is read well."""
    text = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(80_000), pa.int32()), pa.array([random.Random(1).randbytes(37_500).hex()])
    )
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"s": text, "k": range(80_000)}), tmp_path / "t/a.parquet", write_statistics=False)
    assert (tmp_path / "t/a.parquet").stat().st_size < 1_000_000
    calls: list[tuple[str, dict[str, Any]]] = [
        ("count", {"table": "t", "where": "s LIKE 'a%'"}),
        ("aggregate", {"table": "t", "max": ["s"], "where": "k >= 5"}),
        ("count", {"table": "t", "where": "k + 0 >= 5"}),
    ]
    _, answers = anyio.run(_asked, (str(tmp_path), "--budget", "1MB"), calls)
    assert [answer.is_error for answer in answers] == [True, True, False], answers
    assert all("bounded memory" in answer.structured_content["message"] for answer in answers[:2]), answers
    assert answers[2].structured_content["count"] == 79_995


def _timeless(data: dict[str, Any]) -> dict[str, Any]:
    """Without measured times, and without the message of an error, whose cure is in the words of who asks."""
    return {name: value for name, value in data.items() if name not in ("reading", "message")}


def _call(number: int, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()


@pytest.mark.slow
def test_what_is_no_message_does_not_end_the_server(tmp_path: Path) -> None:
    """Lines that are no JSON, deep JSON, half a character, and a megabyte; then a client's first message."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    counted = {"name": "count", "arguments": {"table": next(iter(lake(tmp_path))), "where": ONE}}
    lines = [
        b"nothing",
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001,
        b"\xff\xfe",
        b'"' + b"x" * 1_000_000 + b'"',
        json.dumps(hello).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        json.dumps(
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count", "arguments": 5}}
        ).encode(),
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": counted}).encode(),
    ]
    server = subprocess.Popen(
        [sys.executable, *COMMAND, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    for line in lines:
        server.stdin.write(line + b"\n")
    server.stdin.flush()
    answers: dict[Any, Any] = {}
    while 3 not in answers:
        message = json.loads(server.stdout.readline())
        answers[message.get("id")] = message
    server.stdin.close()
    assert ended(server)
    assert server.returncode == 0
    assert answers[1]["result"]["serverInfo"]["name"] == "metaindex"
    assert "error" in answers[2]
    assert answers[3]["result"]["structuredContent"]["count"] == 1
    server.stdout.close()


def test_without_a_root_that_is_there_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from metaindex.cli import main

    assert main(["mcp", str(tmp_path / "none")]) == 1
    assert "check the path" in capsys.readouterr().err
    assert main(["mcp", str(tmp_path), "--budget", "much"]) == 2
