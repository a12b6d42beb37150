"""Engines that no lane of the tests has, as clients of the server: `python -m tests.serve.engines [flink] [duckdb]`.

Flink comes from Maven (a JDK and `mvn` are needed), DuckDB from PyPI with the newest extension that is there. Each asks
Iceberg histories with deletes of every kind, by the server and by itself, and a Delta table with deletion vectors and a
folder of Parquet, which it has by the server alone. What differs from metaindex's own scan is printed, and the exit
code is 1; an answer that is the engine's own is its own fault.
"""

import json
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.serve import open_server
from tests.formats.iceberg.written import WrittenHistory
from tests.processes import say
from tests.query.aggregates.lakes import HandDelta

HERE: Final = Path(__file__).parent
DUCKDB: Final = "1.5.5"
OF_HISTORIES: Final = ("id = 5", "id > 3", "id IS NOT NULL", "NOT (id IN (1, 2))", "id >= 2 AND id < 6")
OF_OTHERS: Final = ("id = 37", "id IN (3, 38)", "t = 't5'", "t IS NULL", "t <> 't5'", "x > 12.5E0", "NOT (id > 5)")
_ASK_DUCKDB: Final = """
import json, sys
import duckdb
from duckdb_extensions import import_extension

asked = duckdb.connect()
for name in ("avro", "httpfs", "iceberg"):
    import_extension(name)
    asked.execute(f"LOAD {name}")
asked.execute(sys.argv[1])
for query in json.load(sys.stdin):
    try:
        print(json.dumps([query, sorted(str(row[0]) for row in asked.execute(query).fetchall())]))
    except duckdb.Error as error:
        print(json.dumps([query, str(error)]))
"""


def lake(root: Path) -> dict[str, tuple[str, ...]]:
    """Make the tables, each with an index; their names, and what is asked of each."""
    for seed in range(4, 8):
        WrittenHistory(root / f"h{seed}", 2 + seed % 2, Random(seed)).run(12)
    schema = pa.schema([("id", pa.int64()), ("t", pa.string()), ("x", pa.float64())])
    delta = HandDelta(root / "events", schema)
    (root / "clicks").mkdir()
    for first in range(0, 80, 20):
        ids = range(first, first + 20)
        texts = [None if n % 7 == 0 else f"t{n}" for n in ids]
        rows = pa.table([pa.array(ids), pa.array(texts), pa.array([n / 4 for n in ids])], schema=schema)
        delta.append(rows)
        pq.write_table(rows, root / "clicks" / f"{first}.parquet")
    delta.delete(0, {1, 3})
    delta.delete(2, {0, 19})
    asked = {**{f"h{seed}": OF_HISTORIES for seed in range(4, 8)}, "events": OF_OTHERS, "clicks": OF_OTHERS}
    for name in asked:
        mi.open_table(root / name).create_index("i", mi.ColumnStats(), mi.Values("id"), builder="local")
    return asked


def flink(root: Path, uri: str, queries: Sequence[str], work: Path) -> Iterator[tuple[str, list[str] | str]]:
    """What Flink answers: ids as texts, or an error."""
    command = ("mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), f"-DbuildDirectory={work}", "compile")
    subprocess.run((*command, "dependency:build-classpath", f"-Dmdep.outputFile={work / 'path'}"), check=True)
    catalogs = (
        f"CREATE CATALOG alone WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='file://{root.parent}')",
        f"CREATE CATALOG served WITH ('type'='iceberg', 'catalog-type'='rest', 'uri'='{uri}')",
    )
    (work / "queries").write_text("\n".join((*catalogs, *queries)))
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("util", "lang", "time")]
    path = f"{work / 'classes'}:{(work / 'path').read_text()}"
    ran = subprocess.run(
        ["java", "-Xmx1500m", *opened, "-cp", path, "Ask", str(work / "queries")], check=True, capture_output=True
    )
    for line in ran.stdout.decode().splitlines():
        state, query, *answer = line.split("\t")
        yield query, answer[0].split() if state == "rows" else answer[0]


def duckdb(root: Path, uri: str, queries: Sequence[str], work: Path) -> Iterator[tuple[str, list[str] | str]]:
    """What DuckDB answers: ids as texts, or an error."""
    venv.create(work, with_pip=True)
    extensions = (f"duckdb-extension-{name}=={DUCKDB}" for name in ("avro", "httpfs", "iceberg"))
    packages = (f"duckdb=={DUCKDB}", f"duckdb-extensions=={DUCKDB}", *extensions)
    subprocess.run([work / "bin/pip", "install", "--quiet", *packages], check=True)
    attach = f"ATTACH 'lake' AS served (TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none',"
    attach += " ACCESS_DELEGATION_MODE 'none')"
    asked = json.dumps([query.replace("alone.lake.", "alone_") for query in queries if " served." in query])
    ran = subprocess.run(
        [work / "bin/python", "-c", _ASK_DUCKDB, attach], input=asked.encode(), check=True, capture_output=True
    )
    for line in ran.stdout.decode().splitlines():
        query, answer = json.loads(line)
        yield query, answer


ENGINES: Final[dict[str, Callable[[Path, str, Sequence[str], Path], Iterator[tuple[str, list[str] | str]]]]] = {
    "flink": flink,
    "duckdb": duckdb,
}


def main(names: Sequence[str]) -> int:
    """Ask each engine; 1 where an answer differs."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "lake"
        asked = lake(root)
        right = {
            f"SELECT id FROM served.lake.{name} WHERE {condition}": sorted(
                map(str, mi.open_table(root / name).scan(condition).to_arrow()["id"].to_pylist())
            )
            for name, conditions in asked.items()
            for condition in conditions
        }
        alone = [query.replace(" served.", " alone.") for query in right if ".lake.h" in query]
        with open_server(root, cache=Path(folder) / "cache") as server:
            for name in names or ENGINES:
                work = Path(folder) / name
                work.mkdir()
                answers = dict(ENGINES[name](root, server.uri, [*right, *alone], work))
                failed = [answer for query, answer in answers.items() if isinstance(answer, str) and query in right]
                for query, rows in right.items():
                    answer, by_itself = answers[query], answers.get(query.replace(" served.", " alone."))
                    same = isinstance(answer, list) and sorted(answer) in (rows, sorted(by_itself or ()))
                    if not same and (isinstance(answer, list) or isinstance(by_itself, list)):
                        wrong += 1
                        say(f"{name}: {query}: {answer}, by itself {by_itself}, metaindex {rows}")
                say(f"{name}: {len(right)} queries, {len(right) - len(failed)} answered, {wrong} wrong so far")
                for error, times in Counter(answer[:200] for answer in failed).items():
                    say(f"{name}: {times} times: {error}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
