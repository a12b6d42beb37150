"""OpenTelemetry is told what happened, by its real SDK; who does not load it pays nothing; and its faults stay its
own."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import metaindex as mi
from metaindex.core import TELEMETRY, ConcurrentWriteError, IndexExistsError, telemetry
from tests.tables import parquet_lake

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "savings.md"
BOARD = ROOT / "docs" / "guides" / "telemetry-board.json"


class Watching:
    """What a process that watches itself has heard since the last time that it was asked."""

    def __init__(self) -> None:
        self.reader, self.exporter = InMemoryMetricReader(), InMemorySpanExporter()
        self.meters, self.traces = MeterProvider([self.reader]), TracerProvider()
        self.traces.add_span_processor(SimpleSpanProcessor(self.exporter))

    def numbers(self) -> dict[tuple[str, ...], Any]:
        """By the name and the words of its attributes that are no place: the sum, or the count."""
        found: dict[tuple[str, ...], Any] = {}
        data = self.reader.get_metrics_data()
        for resource in () if data is None else data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points:
                        words = [str(v) for k, v in sorted((point.attributes or {}).items()) if "/" not in str(v)]
                        found[metric.name, *words] = point.value if hasattr(point, "value") else point.count
        return found


@pytest.fixture
def watching(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watching]:
    heard = Watching()
    monkeypatch.setattr(metrics, "get_meter", heard.meters.get_meter)  # a process sets its provider once
    monkeypatch.setattr(trace, "get_tracer", heard.traces.get_tracer)
    telemetry._instruments.cache_clear()
    yield heard
    telemetry._instruments.cache_clear()
    heard.meters.shutdown()


@pytest.fixture
def table(tmp_path: Path) -> mi.Table:
    lake = parquet_lake(tmp_path)
    for number in range(4):
        lake.append(pa.table({"id": range(number * 10, number * 10 + 10)}))
    return mi.open_table(lake.path)


def test_queries_and_verbs_are_told(table: mi.Table, watching: Watching) -> None:
    table.create_index("i", mi.Values("id"))
    assert table.scan("id = 12").to_arrow().num_rows == 1
    assert table.scan().to_duckdb(duckdb.connect()).count("*").fetchall() == [(40,)]
    assert table.prune("id = 12").kept_files == 1
    with pytest.raises(IndexExistsError):
        table.create_index("i", mi.Values("id"))
    table.refresh_index("i")
    heard = watching.numbers()
    sizes = [path.stat().st_size for path in sorted(Path(table.path).glob("*.parquet"))]
    assert heard["metaindex.queries", "arrow", "True"] == 1
    assert heard["metaindex.queries", "duckdb", "False"] == 1
    assert heard["metaindex.queries", "prune", "True"] == 1
    assert heard["metaindex.query.files", "arrow", "True", "read"] == 1
    assert heard["metaindex.query.files", "arrow", "True", "left_out"] == 3
    assert heard["metaindex.query.files", "duckdb", "False", "read"] == 4
    read, left = (heard["metaindex.query.bytes", "arrow", "True", what] for what in ("read", "left_out"))
    assert (read in sizes, read + left) == (True, sum(sizes))
    assert heard["metaindex.query.planning", "arrow", "True"] == 1
    assert heard["metaindex.action.duration", "create", "done"] == 1
    assert heard["metaindex.refresh.lag",] == 1
    spans = {span.name: span for span in watching.exporter.get_finished_spans()}
    assert set(spans) == {"metaindex.create", "metaindex.query"} | (set(spans) & {"metaindex.refresh"})
    assert all((span.end_time or 0) >= (span.start_time or 0) > 10**18 for span in spans.values())


def test_an_index_that_queries_do_without_is_told(table: mi.Table, watching: Watching) -> None:
    table.create_index("i", mi.Values("id"))
    (log,) = Path(table.path).parent.rglob("_log")
    newest = max(p for p in log.iterdir() if p.name.endswith(".json"))
    newest.write_bytes(newest.read_bytes()[:-20])
    assert mi.open_table(table.path).scan("id = 12").to_arrow().num_rows == 1
    assert watching.numbers()["metaindex.index.errors",] >= 1


def test_how_a_verb_ended(watching: Watching) -> None:
    from metaindex.index.actions.action import _word

    for error in (ConcurrentWriteError("lost"), OSError("disk"), KeyboardInterrupt()):
        with pytest.raises(type(error)), TELEMETRY.action("refresh", "/t/i", _word):
            raise error
    heard = watching.numbers()
    assert heard == {
        ("metaindex.action.duration", "refresh", "lost_race"): 1,
        ("metaindex.action.duration", "refresh", "failed"): 2,
    }


def test_its_faults_reach_no_query(table: mi.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("an exporter of a bad day")

    monkeypatch.setattr(telemetry, "_instruments", Broken)
    assert table.create_index("i", mi.Values("id")).entry.state.value == "ACTIVE"
    assert table.scan("id = 12").to_arrow().num_rows == 1
    assert table.prune("id = 12").kept_files == 1


@pytest.mark.slow
def test_a_part_of_opentelemetry_is_told_nothing_and_said_once(table: mi.Table, tmp_path: Path) -> None:
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").touch()  # as other packages of its namespace leave it
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); import opentelemetry, logging; logging.basicConfig();"
        " import metaindex as mi; t = mi.open_table(sys.argv[1]); t.create_index('i', mi.Values('id'));"
        " print(t.scan('id = 3').to_arrow().num_rows, t.prune('id = 3').kept_files)"
    )
    words = [sys.executable, "-c", code, table.path, str(tmp_path)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (ran.stdout.split(), ran.returncode) == (["1", "1"], 0), ran.stderr
    assert ran.stderr.count("OpenTelemetry is not told") == 1, ran.stderr


@pytest.mark.slow
def test_who_does_not_load_it_loads_nothing(table: mi.Table) -> None:
    code = (
        "import sys, metaindex as mi; t = mi.open_table(sys.argv[1]); t.create_index('i', mi.Values('id'));"
        " t.scan('id = 3').to_arrow(); t.prune('id = 3');"
        " print([n for n in sys.modules if n.startswith(('opentelemetry', 'metaindex.query.query_log'))])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, table.path], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (ran.stdout.strip(), ran.returncode) == ("[]", 0), ran.stderr


def test_the_page_and_the_board_name_what_there_is(watching: Watching) -> None:
    made = telemetry._made()
    names = {
        one.name: one.unit
        for one in (getattr(made, name) for name in telemetry._Instruments.__annotations__)
        if hasattr(one, "unit")
    }
    assert set(re.findall(r"^\| `(metaindex\.[a-z.]+)` \|", PAGE.read_text(), re.MULTILINE)) == set(names)
    board = json.loads(BOARD.read_text())
    asked = " ".join(target["expr"] for panel in board["panels"] for target in panel["targets"])
    in_prometheus = {
        f"{name.replace('.', '_')}_{end}"
        for name, unit in names.items()
        for end in (["seconds_bucket", "seconds_sum", "seconds_count"] if unit == "s" else ["total"])
    }
    found = set(re.findall(r"metaindex_[a-z_]+(?=[\[{])", asked))
    assert found <= in_prometheus
    assert {re.sub(r"_(total|seconds_\w+)$", "", name) for name in found} == {n.replace(".", "_") for n in names}
    labels = set(re.findall(r"(metaindex_[a-z_]+)=", asked)) | {
        label.strip() for labels in re.findall(r"by \(([^)]*)\)", asked) for label in labels.split(",")
    }
    known = {getattr(telemetry, name) for name in ("TABLE", "INDEX", "ENGINE", "USED", "OPERATION", "OUTCOME")}
    assert labels <= {label.replace(".", "_") for label in known} | {"le"}
