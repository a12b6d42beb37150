"""A server that is killed in the middle of a plan: its client gets an error and never a part of the answer, and the
next server answers what the first one began."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

import metaindex as mi
from tests.serve.lake import HEADERS, leaf, names, parted

TABLE = "/v1/namespaces/lake/tables/t"
FILES, ROWS = 12, 4


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Twelve files of four rows, whose values are scattered: `v` of row r of file f is 100 * r + f."""
    files = [(None, [100 * row + file for row in range(ROWS)]) for file in range(FILES)]
    table = parted(tmp_path / "lake" / "t", "int", "void", files, arrow=pa.int32(), made="int")
    mi.open_table(table).create_index("values", mi.Values("v"), builder="local")
    return table.parent


@contextmanager
def started(lake: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server in a process of its own, and its port."""
    words = [sys.executable, "-m", "metaindex", "serve", str(lake), "--port", str(port), "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            uri = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")["uri"]
            yield process, urlsplit(uri).port or 0
        finally:
            process.kill()


def ask(port: int, path: str, body: object) -> dict[str, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("POST", TABLE + path, json.dumps(body), HEADERS["pyiceberg"])
        answer = connection.getresponse()
        told = answer.read()
    assert answer.status == 200, told[:500]
    said: dict[str, Any] = json.loads(told)
    return said


def test_a_kill_in_the_middle_of_a_plan_is_an_error_and_the_next_server_goes_on(lake: Path) -> None:
    every = leaf("in", [number % 400 for number in range(100_000)])  # each task repeats it: pages are small
    with started(lake) as (first, port):
        table = load_catalog("served", type="rest", uri=f"http://127.0.0.1:{port}").load_table(("lake", "t"))
        plan = ask(port, "/plan", {"filter": every})
        assert 0 < len(plan["file-scan-tasks"]) < FILES
        pages = [ask(port, "/tasks", {"plan-task": token}) for token in plan["plan-tasks"]]
        os.kill(first.pid, signal.SIGSTOP)  # what is asked now is under way, and will have no answer
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("POST", f"{TABLE}/plan", json.dumps({"filter": leaf("eq", 207)}), HEADERS["pyiceberg"])
            first.kill()
            first.wait()
            with pytest.raises((OSError, http.client.HTTPException)):
                connection.getresponse()
        with pytest.raises(OSError, match="Connection"):
            table.scan(row_filter="v = 207").to_arrow()
    with started(lake, port):
        assert [ask(port, "/tasks", {"plan-task": token}) for token in plan["plan-tasks"]] == pages
        tasks = [task for page in (plan, *pages) for task in page["file-scan-tasks"]]
        assert names({"tasks": tasks}) == [f"f{number}" for number in range(FILES)]
        assert table.scan(row_filter="v = 207").to_arrow()["v"].to_pylist() == [207]
        assert table.scan().to_arrow().num_rows == FILES * ROWS
