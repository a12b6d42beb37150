"""Plans by `metaindex serve` beside the client's own planning, in turns within one run, over one Iceberg table of 2,000
files (`--files 100000` for another number). A table of `METADATA_FROM` files or more exists as metadata alone, in whose
statistics a value is in the bounds of six files: it is planned by pyiceberg, and no row is read.

* needle: one value of a column without order, which statistics cannot skip by; range: a hundredth of the files by
  their bounds; nothing skipped: a condition that every file may meet; no filter.
* "ms": median of the turns, with the least and the greatest; "client CPU ms", "server CPU ms": processor time of a
  turn, of this process and of the server's, medians, with the server's least.
* `--spark`: Spark with Iceberg's catalog reads the rows in place of that, by the server's plan, and the same metadata
  file alone; "CPU ms" are of its JVM and the server, a turn.
* at once: so many connections, each in a thread, ask for plans of one value again and again: plans a second, and how
  long one takes. The threads share this process, whose work is in the figure. A server is a process that takes one core
  at most; "servers": 2 are two of them over the same folder, and every other connection is to the second.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi

from .iceberg_table import write_table
from .processes import children_cpu_seconds
from .spark import quiet_session
from .telling import Figures, add_options, folder_of, teller

FILES, ROWS, COLUMNS, TURNS = 2_000, 200, 4, 15
AT_ONCE, PLANS = (1, 8, 64), 400
METADATA_FROM = 50_000
SKIPS_NOTHING_TO = 200_000  # files: a plan of all of a million takes a client minutes and gigabytes, whoever makes it
_HEADERS = {"X-Client-Version": "PyIceberg 0.12.0", "Content-Type": "application/json"}


def run(folder: Path, quick: bool) -> Figures:
    return measure(folder, 40 if quick else FILES, 2 if quick else TURNS, 20 if quick else PLANS)


def measure(folder: Path, files: int, turns: int, plans: int, *, spark: bool = False) -> Figures:
    os.environ["POLARS_ICEBERG_PLANNER"] = "pyiceberg"  # no warning: the table's own planner is what is asked
    table = folder / f"serve-{files}" / "lake" / "t"
    if not (table / "made").exists():
        (_make if files < METADATA_FROM else _make_metadata)(table, files)
    figures: Figures = []
    with _serving(table.parent) as (uri, server):
        if spark:
            return _in_spark(table, uri, turns)
        figures += _each(table, uri, files, turns)
        figures += [_at_once([uri], clients, plans, files) for clients in AT_ONCE]
        figures[-1]["server MB"] = _resident(server)
        with _serving(table.parent) as (second, _):
            figures += [_at_once([uri, second], clients, plans, files) for clients in AT_ONCE[1:]]
    return figures


def _make(table: Path, files: int) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    (table / "data").mkdir(parents=True)
    catalog = SqlCatalog("made", uri=f"sqlite:///{table.parent.parent}/made.db", warehouse=str(table.parent))
    catalog.create_namespace_if_not_exists("t")
    rng = np.random.default_rng(7)
    paths = []
    for number in range(files):
        ids = np.arange(number * ROWS, number * ROWS + ROWS)
        names = [f"n{name:09d}" for name in rng.integers(0, 10**9, ROWS)]
        rows = pa.table({"id": ids, "name": names, "amount": rng.random(ROWS)})
        paths.append(str(table / "data" / f"{number:06d}.parquet"))
        pq.write_table(rows, paths[-1])
    made = catalog.create_table("t.t", schema=rows.schema, location=str(table))
    made.add_files(paths, check_duplicate_files=False)
    mi.open_table(table).create_index("find", mi.ColumnStats(), mi.Values("name"), builder="local")
    (table / "made").write_text(rows["name"][0].as_py())


def _make_metadata(table: Path, files: int) -> None:
    if not (table / "metadata" / "version-hint.text").exists():
        write_table(table, files, COLUMNS)
    mi.open_table(table).create_index("find", mi.ColumnStats(trust_log=True), builder="local")
    (table / "made").write_text("")


@contextmanager
def _serving(lake: Path) -> Iterator[tuple[str, int]]:
    words = [sys.executable, "-m", "metaindex", "serve", str(lake), "--port", "0", "--json"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        said = ""
        while not said.strip().endswith("}"):
            said += server.stdout.readline()
        yield json.loads(said)["uri"], server.pid
    finally:
        server.terminate()
        server.wait()


def _each(table: Path, uri: str, files: int, turns: int) -> Figures:
    import polars as pl
    from pyiceberg import expressions as iceberg
    from pyiceberg.catalog import load_catalog
    from pyiceberg.table import StaticTable

    name = (table / "made").read_text()
    newest = max((table / "metadata").glob("*.metadata.json"))
    planners = {
        "server": load_catalog("served", type="rest", uri=uri).load_table(("lake", "t")),
        "client": StaticTable.from_metadata(str(newest)),
    }
    if files >= METADATA_FROM:
        return _plans(planners, files, turns)
    ranged = files * ROWS // 100
    filters = {
        "needle": (iceberg.EqualTo("name", name), pl.col("name") == name),
        "range": (iceberg.LessThan("id", ranged), pl.col("id") < ranged),
        "nothing skipped": (iceberg.GreaterThan("amount", 0.5), pl.col("amount") > 0.5),
        "no filter": (iceberg.AlwaysTrue(), pl.lit(True)),
    }
    figures: Figures = []
    for what, (own, of_polars) in filters.items():
        asked: dict[str, Callable[[Any], int]] = {
            "pyiceberg plan": lambda t, own=own: len(list(t.scan(row_filter=own).plan_files())),
            "pyiceberg rows": lambda t, own=own: t.scan(row_filter=own, selected_fields=("id",)).to_arrow().num_rows,
            "polars rows": lambda t, by=of_polars: pl.scan_iceberg(t).filter(by).select("id").collect().height,
        }
        for client, ask in asked.items():
            calls = {who: partial(ask, planned) for who, planned in planners.items()}
            figures += _in_turns(what, client, calls, turns)
    return figures


def _plans(planners: dict[str, Any], files: int, turns: int) -> Figures:
    from pyiceberg import expressions as iceberg

    asked = {"needle": iceberg.EqualTo("c00", files // 2), "range": iceberg.LessThan("c00", files // 100)}
    if files <= SKIPS_NOTHING_TO:
        asked |= {"nothing skipped": iceberg.GreaterThan("c01", -1.0), "no filter": iceberg.AlwaysTrue()}
    figures: Figures = []
    for what, own in asked.items():
        calls = {who: partial(_planned, table, own) for who, table in planners.items()}
        figures += _in_turns(what, "pyiceberg plan", calls, turns)
    return figures


def _planned(table: Any, filter: Any) -> int:  # noqa: A002
    return sum(1 for _ in table.scan(row_filter=filter, selected_fields=("c00",)).plan_files())


def _in_turns(what: str, client: str, asked: dict[str, Callable[[], int]], turns: int) -> Figures:
    spent: dict[str, list[tuple[float, float, float]]] = {who: [] for who in asked}
    answers = {who: ask() for who, ask in asked.items()}  # opens and loads what later turns have
    for turn in range(turns):
        for who in sorted(asked, reverse=bool(turn % 2)):
            began, mine, its = time.perf_counter(), time.process_time(), children_cpu_seconds()
            answers[who] = asked[who]()
            ended = time.perf_counter()
            spent[who].append((ended - began, time.process_time() - mine, children_cpu_seconds() - its))
    if "plan" not in client:
        assert len(set(answers.values())) == 1, f"{client}, {what}: {answers}"
    return [
        {
            "question": what,
            "client": client,
            "planned by": who,
            "files" if "plan" in client else "rows": answers[who],
            "ms": statistics.median(wall for wall, _, _ in times) * 1000,
            "least": min(wall for wall, _, _ in times) * 1000,
            "most": max(wall for wall, _, _ in times) * 1000,
            "client CPU ms": statistics.median(cpu for _, cpu, _ in times) * 1000,
            "server CPU ms": statistics.median(cpu for _, _, cpu in times) * 1000,
            "least server CPU ms": min(cpu for _, _, cpu in times) * 1000,
        }
        for who, times in spent.items()
    ]


def _in_spark(table: Path, uri: str, turns: int) -> Figures:
    rest = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": uri, ".cache-enabled": "false"}
    name, newest = (table / "made").read_text(), max((table / "metadata").glob("*.metadata.json"))
    figures: Figures = []
    with quiet_session("serve", {f"spark.sql.catalog.served{key}": value for key, value in rest.items()}) as session:
        session.read.format("iceberg").load(str(newest)).createOrReplaceTempView("alone")
        for what, condition in (("needle", f"name = '{name}'"), ("nothing skipped", "amount > 0.5")):
            spent: dict[str, list[tuple[float, float]]] = {"served.lake.t": [], "alone": []}
            answers = set()
            for turn in range(turns + 2):  # the first two load classes
                for place, times in sorted(spent.items(), reverse=bool(turn % 2)):
                    began, its = time.perf_counter(), children_cpu_seconds()
                    asked = session.sql(f"SELECT count(name), max(id) FROM {place} WHERE {condition}")
                    answers.add(str(asked.collect()))
                    times.append((time.perf_counter() - began, children_cpu_seconds() - its))
            assert len(answers) == 1, answers
            figures += [
                {
                    "question": what,
                    "planned by": "client" if place == "alone" else "server",
                    "ms": statistics.median(wall for wall, _ in times[2:]) * 1000,
                    "CPU ms": statistics.median(cpu for _, cpu in times[2:]) * 1000,
                    "least": min(cpu for _, cpu in times[2:]) * 1000,
                    "most": max(cpu for _, cpu in times[2:]) * 1000,
                }
                for place, times in spent.items()
            ]
    return figures


def _at_once(uris: list[str], clients: int, plans: int, files: int) -> dict[str, object]:
    hosts = [uri.partition("//")[2] for uri in uris]
    loaded = [json.loads(_post(http.client.HTTPConnection(host), "GET", "", None)) for host in hosts]
    snapshot = loaded[0]["metadata"]["current-snapshot-id"]
    waits: list[float] = []
    sizes: list[int] = []
    failures: list[BaseException] = []

    def ask(host: str, many: int) -> None:
        connection = http.client.HTTPConnection(host, timeout=120)
        try:
            for number in range(many):
                condition: dict[str, object] = {"type": "eq", "term": "name", "value": f"n{number:09d}"}
                if files >= METADATA_FROM:
                    condition = {"type": "eq", "term": "c00", "value": number * 997 % files}
                began = time.perf_counter()
                body = _post(connection, "POST", "/plan", {"snapshot-id": snapshot, "filter": condition})
                waits.append(time.perf_counter() - began)
                sizes.append(len(body))
        except BaseException as error:  # noqa: BLE001 - shown once all have ended
            failures.append(error)
        finally:
            connection.close()

    many = max(plans // clients, 1)
    threads = [threading.Thread(target=ask, args=(hosts[one % len(hosts)], many)) for one in range(clients)]
    began, its = time.perf_counter(), children_cpu_seconds()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, cpu = time.perf_counter() - began, children_cpu_seconds() - its
    if failures:
        raise failures[0]
    waits.sort()
    return {
        "clients at once": clients,
        "servers": len(hosts),
        "plans": len(waits),
        "plans a second": len(waits) / took,
        "median ms": waits[len(waits) // 2] * 1000,
        "p95 ms": waits[int(len(waits) * 0.95)] * 1000,
        "server CPU ms a plan": cpu * 1000 / len(waits),
        "bytes a plan": sum(sizes) // len(sizes),
        "server MB": "",
    }


def _post(connection: http.client.HTTPConnection, verb: str, path: str, body: object) -> bytes:
    content = None if body is None else json.dumps(body)
    connection.request(verb, f"/v1/namespaces/lake/tables/t{path}", content, _HEADERS)
    answer = connection.getresponse()
    told = answer.read()
    assert answer.status == 200, told[:500]
    return told


def _resident(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--spark", action="store_true")
    given = parser.parse_args()
    teller("serve", given)(measure(folder_of(given), given.files, given.turns, PLANS, spark=given.spark))
