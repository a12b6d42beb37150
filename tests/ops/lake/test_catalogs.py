"""Lakes that are catalogs: SQL by its properties, its handle and its name; a REST catalog half of which does not
answer."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.utils.config import Config

import metaindex as mi
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.processes import serving

ROOT = Path(__file__).parents[3]
ROWS = pa.table({"id": pa.array(range(5), pa.int64())})


def sql(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    """Six tables in two namespaces, one of which is inside the other; one without its metadata, one with an index that
    is behind."""
    made = SqlCatalog("lake", **sql(tmp_path))
    made.create_namespace("sales")
    made.create_namespace("ops")
    for number in range(6):
        name = ("sales", f"t{number}") if number % 2 else ("ops", f"t{number}")
        made.create_table(name, ROWS.schema).append(ROWS)
    Path(made.load_table("ops.t2").metadata_location.removeprefix("file://")).write_text("{")
    mi.open_table("sales.t1", catalog=made).create_index("ids", mi.ColumnStats(), builder="local")
    made.load_table("sales.t1").append(ROWS)
    return made


NAMES = ["ops.t0", "ops.t2", "ops.t4", "sales.t1", "sales.t3", "sales.t5"]


@pytest.mark.parametrize("how", ["handle", "properties"])
@pytest.mark.slow
def test_every_table_of_a_catalog_has_its_row(tmp_path: Path, catalog: SqlCatalog, how: str) -> None:
    place: object = {"handle": catalog, "properties": {"name": "lake", **sql(tmp_path)}}[how]
    told = mi.open_lake(place)
    assert [table.name for table in told] == NAMES
    assert [table.format for table in told] == ["iceberg", "", *["iceberg"] * 4]
    assert told["ops.t2"].problem
    row = told["sales.t1"]
    assert (row.files, row.behind_commits, row.behind_files, row.fresh) == (2, 1, 1, False)
    assert row.indexes[0].info.name == "ids"
    assert told.open("sales.t1").prune("id = 3").total_files == 2
    assert str(tmp_path) not in told.place, "properties of a catalog may hold secrets"


@pytest.mark.slow
def test_on_the_command_line(tmp_path: Path, catalog: SqlCatalog, call: Call) -> None:
    options = [word for key, value in sql(tmp_path).items() for word in ("--catalog-option", f"{key}={value}")]
    told = call("lake", "catalog:lake", *options, "--json").json
    assert [table["name"] for table in told["tables"]] == NAMES
    refused = call("lake", "catalog:nowhere")
    assert refused.code == 1
    assert "a catalog is one that pyiceberg is configured for" in refused.err


@pytest.mark.parametrize(
    ("words", "told", "not_told"),
    [
        (["lake", "catalog:prod"], ["PYICEBERG_CATALOG__PROD__URI", "--catalog-option uri=..."], ["--uri"]),
        (["lake", "catalog:my-prod"], ["PYICEBERG_CATALOG__MY_PROD__URI"], ["--uri"]),
        (
            ["lake", "catalog:my_prod"],
            ["'catalog: my_prod:'"],
            ["--uri", "PYICEBERG_CATALOG"],
        ),  # which it reads my-prod
        (["lake", "catalog:lak", "--html", "x.html"], ["(those that are: lake, other)"], ["--uri"]),
        (["lake", "catalog:other"], ["'other' has no uri; "], ["--uri", "those that are"]),
        (["lake", "catalog:x", "--catalog-option", "type=REST"], ["'x' has no uri; "], ["--uri", "those that are"]),
        (["watch", "--lake", "catalog:prod"], ["--catalog-option uri=..."], ["--uri", "watching", "tried again"]),
        (["scan", "db.t", "a = 1", "--catalog", "prod"], ["PYICEBERG_CATALOG__PROD__URI"], ["--uri", "-option"]),
    ],
)
@pytest.mark.slow
def test_a_catalog_that_is_not_configured_is_told_where_it_would_be(
    tmp_path: Path, words: list[str], told: list[str], not_told: list[str]
) -> None:
    settings = {"PYICEBERG_CATALOG__LAKE__URI": "sqlite://", "PYICEBERG_CATALOG__OTHER__WAREHOUSE": "/w"}
    path = {"PYTHONPATH": str(ROOT), "PYICEBERG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    run = [sys.executable, "-m", "metaindex", *words]
    environ = {**os.environ, **settings, **path}
    refused = subprocess.run(run, check=False, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=600)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert [word for word in told if word not in refused.stderr] == []
    assert [word for word in not_told if word in refused.stderr] == []


def test_no_environment_variable_is_named_that_pyiceberg_would_read_as_another_catalog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__MY_PROD__URI", "sqlite://")
    assert Config().get_known_catalogs() == ["my-prod"]


@pytest.mark.slow
def test_a_catalog_by_the_name_that_pyiceberg_is_configured_for(tmp_path: Path, catalog: SqlCatalog) -> None:
    named = {f"PYICEBERG_CATALOG__LAKE__{key.upper()}": value for key, value in sql(tmp_path).items()}
    words = [sys.executable, "-m", "metaindex", "lake", "catalog:lake", "--json"]
    told = subprocess.run(words, cwd=ROOT, env={**os.environ, **named}, capture_output=True, text=True, check=True)
    assert [table["name"] for table in json.loads(told.stdout)["tables"]] == NAMES


def test_a_catalog_in_memory_is_asked_by_the_handle_that_is_given(tmp_path: Path) -> None:
    made = SqlCatalog("m", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}")
    made.create_namespace("db")
    made.create_table("db.t", ROWS.schema).append(ROWS)
    told = mi.open_lake(made)
    assert [(table.name, table.files) for table in told] == [("db.t", 1)]


class Half(BaseHTTPRequestHandler):
    """A REST catalog over the tables of another. Those of namespace `ops` are never answered for, namespace `closed` is
    refused."""

    catalog: SqlCatalog
    over: threading.Event

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/v1/").split("/")
        match path:
            case ["config"]:
                self.answer({"defaults": {}, "overrides": {}})
            case ["namespaces"] if "parent=" in self.path:
                self.answer({"namespaces": []})
            case ["namespaces"]:
                self.answer({"namespaces": [["ops"], ["sales"], ["closed"]]})
            case ["namespaces", "closed", "tables"]:
                self.answer({"error": {"message": "no entry", "type": "ForbiddenException", "code": 403}}, 403)
            case ["namespaces", name, "tables"]:
                tables = self.catalog.list_tables(name)
                self.answer({"identifiers": [{"namespace": list(table[:-1]), "name": table[-1]} for table in tables]})
            case ["namespaces", "ops", "tables", _]:
                self.over.wait()
            case ["namespaces", name, "tables", table]:
                location = self.catalog.load_table((name, table)).metadata_location
                metadata = json.loads(Path(location.removeprefix("file://")).read_text())
                self.answer({"metadata-location": location, "metadata": metadata, "config": {}})

    def answer(self, value: Any, code: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def served(catalog: SqlCatalog) -> Iterator[str]:
    over = threading.Event()
    with serving(Half, catalog=catalog, over=over) as uri:
        try:
            yield uri
        finally:
            over.set()


@pytest.mark.slow
def test_half_a_catalog_that_does_not_answer_holds_nobody_up(tmp_path: Path, catalog: SqlCatalog) -> None:
    with served(catalog) as uri:
        told = mi.open_lake({"type": "rest", "uri": uri}, timeout_seconds=3)
    assert [table.name for table in told] == ["closed.*", *NAMES]
    by_name = {table.name: table for table in told}
    assert [by_name[name].files for name in NAMES] == [None, None, None, 2, 1, 1]
    assert all("no answer within 3 seconds" in by_name[name].problem for name in NAMES[:3])
    assert "namespace closed cannot be listed" in by_name["closed.*"].problem


def test_a_catalog_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(mi.MetaIndexError, match="catalog"):
        mi.open_lake({"type": "sql", "uri": f"sqlite:///{tmp_path}/none/catalog.db"})
