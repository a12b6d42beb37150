"""Tables of a catalog that pyiceberg knows: a client reads over the server what it reads of the catalog, as it is
now."""

import json
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, RESTError
from pyiceberg.types import LongType

import metaindex as mi
from metaindex.serve import Server, open_server
from metaindex.serve.named import NamedCatalog

SPACES = [("shop",), ("shop", "eu"), ("o`d-d",)]


def rows(first: int) -> pa.Table:
    ids = range(first, first + 10)
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [f"t{n * 7 % 40}" for n in ids]})


@pytest.fixture
def properties(tmp_path: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{tmp_path}/made.db", "warehouse": str(tmp_path / "lake"), "name": "made"}


@pytest.fixture
def made(properties: dict[str, str]) -> Any:
    """A catalog with a table in each namespace, and an index beside each."""
    catalog = load_catalog(**properties)
    for space in SPACES:
        catalog.create_namespace(space)
        table = catalog.create_table((*space, "orders"), rows(0).schema)
        for first in range(0, 40, 10):
            table.append(rows(first))
        mi.open_table(table.metadata_location).create_index("i", mi.ColumnStats(), mi.Values("id"), builder="local")
    return catalog


@pytest.fixture
def server(made: SqlCatalog, properties: dict[str, str]) -> Iterator[Server]:
    with open_server(properties) as running:
        yield running


def over(server: Server) -> Any:
    return load_catalog("over", type="rest", uri=server.uri)


def test_names_are_the_catalogs(server: Server) -> None:
    served = over(server)
    assert sorted(served.list_namespaces()) == [("o`d-d",), ("shop",)]
    assert served.list_namespaces("shop") == [("shop", "eu")]
    assert served.list_tables("shop") == [("shop", "orders")]
    assert not served.table_exists("shop.none")
    with pytest.raises(NoSuchTableError):
        served.load_table("shop.none")
    with pytest.raises(NoSuchNamespaceError):
        served.list_tables("none")


@pytest.mark.parametrize("space", SPACES)
def test_a_client_reads_what_it_reads_alone(server: Server, made: SqlCatalog, space: tuple[str, ...]) -> None:
    theirs, own = over(server).load_table((*space, "orders")), made.load_table((*space, "orders"))
    for condition in ("id = 13", "id > 27", "s = 't7'", "not id in (1, 2)", "id is null"):
        there, alone = (table.scan(condition).to_arrow().sort_by("id") for table in (theirs, own))
        assert there.equals(alone), condition
    assert len(list(theirs.scan("s = 't7' and id = 1").plan_files())) == 1


@pytest.mark.parametrize("kind", [mi.ColumnStats(), mi.Values("x"), mi.Bloom("x")], ids=lambda kind: kind.name)
def test_files_that_lack_a_column_are_read_as_pyiceberg_reads_them_alone(
    server: Server, made: SqlCatalog, kind: Any
) -> None:
    table = made.load_table(("shop", "orders"))
    with table.update_schema() as changed:
        changed.add_column("x", LongType())
    table.append(rows(40).append_column("x", pa.array([1, 2, None] * 3 + [7], pa.int64())))
    mi.open_table(made.load_table(("shop", "orders")).metadata_location).create_index("x", kind, builder="local")
    served, alone = over(server).load_table("shop.orders"), made.load_table(("shop", "orders"))
    for condition in (
        "not x >= 2",
        "not x = 2",
        "x != 2",
        "not x in (1, 2)",
        "id > 45 or not x >= 2",
        "x = 7",
        "not x is null",
    ):
        found = [sorted(t.scan(condition).to_arrow()["id"].to_pylist()) for t in (served, alone)]
        assert found[0] == found[1], condition


def test_a_table_is_as_the_catalog_has_it_now(server: Server, made: SqlCatalog) -> None:
    served = over(server)
    assert served.load_table("shop.orders").scan().count() == 40
    made.load_table("shop.orders").append(rows(40))
    assert served.load_table("shop.orders").scan().count() == 50
    made.drop_table("shop.orders")
    with pytest.raises(NoSuchTableError):
        served.load_table("shop.orders")
    made.create_table("shop.orders", rows(0).schema).append(rows(90))
    assert served.load_table("shop.orders").scan("id >= 0").to_arrow()["id"].to_pylist() == list(range(90, 100))


def test_writes_are_refused(server: Server, made: SqlCatalog) -> None:
    with pytest.raises(Exception, match=r"this-catalog-is-read-only|read only"):
        over(server).load_table("shop.orders").append(rows(0))
    with pytest.raises(NotImplementedError):
        over(server).drop_table("shop.orders")
    assert made.load_table("shop.orders").scan().count() == 40


def test_a_table_that_moves_to_another_folder_is_found_there(server: Server, made: SqlCatalog, tmp_path: Path) -> None:
    served = over(server)
    assert served.load_table("shop.orders").scan().count() == 40
    made.drop_table("shop.orders")
    assert not served.table_exists("shop.orders")
    made.create_table("shop.orders", rows(0).schema, location=str(tmp_path / "moved")).append(rows(70))
    assert served.load_table("shop.orders").scan("id > 0").to_arrow()["id"].to_pylist() == list(range(70, 80))


def test_files_outside_of_the_table_are_not_read(server: Server, made: SqlCatalog, tmp_path: Path) -> None:
    """`made` may name files anywhere; this server has rights that a client has not."""
    table = made.create_table("shop.far", rows(0).schema, properties={"write.data.path": str(tmp_path / "elsewhere")})
    table.append(rows(0))
    with pytest.raises(RESTError, match="lies outside"):
        over(server).load_table("shop.far")


@pytest.mark.parametrize("said", ["/", "", "file:///", "/etc", "relative", "/tmp/\0", None, 7])
def test_a_table_is_where_its_metadata_file_is_whatever_that_says(server: Server, made: SqlCatalog, said: Any) -> None:
    file = Path(made.load_table("shop.orders").metadata_location.removeprefix("file://"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "location": said}))
    with pytest.raises(RESTError, match=r"lie in another one|location"):
        over(server).load_table("shop.orders")


@pytest.mark.parametrize(
    "hostile",
    [
        {"py-io-impl": f"{__name__}.Hostile"},
        {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key-id": "x"},
        {"py-location-provider-impl": f"{__name__}.Hostile"},
    ],
)
def test_what_a_table_says_of_files_is_not_believed(server: Server, made: SqlCatalog, hostile: dict[str, str]) -> None:
    """Whoever writes a table would have a class of theirs loaded here, and the catalog's credentials sent to them."""
    file = Path(made.load_table("shop.orders").metadata_location.removeprefix("file://"))
    written = json.loads(file.read_text())
    file.write_text(json.dumps({**written, "properties": {**written["properties"], **hostile}}))
    Hostile.made = 0
    table = urlopen(f"{server.uri}/v1/namespaces/shop/tables/orders")
    assert (table.status, Hostile.made) == (200, 0)


class Hostile:
    """Counts whoever makes one."""

    made = 0

    def __init__(self, *_: object) -> None:
        Hostile.made += 1


def test_a_table_that_does_not_open_keeps_no_other_waiting(
    server: Server, made: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, gate, opened = threading.Event(), threading.Event(), NamedCatalog._opened_at

    def slow(self: NamedCatalog, file: str) -> Any:
        if "shop.eu" in file:
            inside.set()
            gate.wait(60)
        return opened(self, file)

    monkeypatch.setattr(NamedCatalog, "_opened_at", slow)
    waiting = threading.Thread(target=over(server).load_table, args=("shop.eu.orders",))
    waiting.start()
    assert inside.wait(60)
    assert over(server).load_table("shop.orders").scan().count() == 40
    assert waiting.is_alive()
    gate.set()
    waiting.join()


def test_a_catalog_that_does_not_answer_is_no_table_that_is_not_there(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    served = over(server)
    assert served.load_table("shop.orders").scan().count() == 40
    (tmp_path / "made.db").write_bytes(b"no database" * 100)
    for asked in (lambda: served.load_table("shop.orders"), lambda: served.list_tables("shop")):
        with caplog.at_level(logging.WARNING), pytest.raises(Exception, match="does not answer"):
            asked()
    assert "sqlite" not in caplog.text


def test_what_is_not_served_by_name_is_refused_at_once(server: Server, tmp_path: Path) -> None:
    with pytest.raises(mi.ArgumentError, match="in memory"):
        open_server({"type": "in-memory"})
    with pytest.raises(mi.ArgumentError, match="before="):
        open_server({"type": "rest", "uri": server.uri})
    with pytest.raises(mi.ArgumentError, match="the uri: postgres://host/db") as refused:
        open_server({"uri": "postgres://admin:se/cr@et@host/db"})
    assert "cr@et" not in str(refused.value)


def test_a_table_whose_metadata_file_is_gone_is_not_there(server: Server, made: SqlCatalog) -> None:
    table = made.load_table(("shop", "orders"))
    Path(table.metadata_location.removeprefix("file://")).unlink()
    with pytest.raises(NoSuchTableError, match="is not where"):
        over(server).load_table(("shop", "orders"))
    assert over(server).load_table(("shop", "eu", "orders")).metadata.location != table.location()


def test_a_catalog_that_is_none_is_not_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(mi.MetaIndexError, match=r"'.*mad\.db' of 'made' is not"):
        open_server({"type": "sql", "uri": f"sqlite:///{tmp_path}/mad.db", "name": "made"})
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(mi.MetaIndexError, match="is not; check its uri"):
        open_server({"type": "sql", "uri": f"sqlite:///{tmp_path}/mad.db?timeout=5", "name": "made"})
    (tmp_path / "of others.db").touch()
    empty = open_server({"type": "sql", "uri": f"sqlite:///{tmp_path}/of%20others.db"})
    with empty, pytest.raises(RESTError, match="does not answer"):
        over(empty).list_namespaces()
    assert (tmp_path / "of others.db").read_bytes() == b""
    SqlCatalog("made", uri=f"sqlite:///{tmp_path}/made.db").create_namespace("shop")
    with open_server({"type": "sql", "uri": f"sqlite:///{tmp_path}/made.db", "name": "another"}) as server:
        assert over(server).list_namespaces() == []
    assert "'another' has no namespaces" in caplog.text


def test_a_configuration_that_pyiceberg_cannot_read_is_the_users(tmp_path: Path) -> None:
    (tmp_path / ".pyiceberg.yaml").write_text("catalog:\n  made:\n    uri: x\n    uri: postgres://me:pass-word@host\n")
    words = [sys.executable, "-m", "metaindex", "serve", "catalog:made", "--port", "0"]
    environ = {**os.environ, "PYICEBERG_HOME": str(tmp_path)}
    ran = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1), ran.stderr
    assert "correct it" in ran.stderr
    assert not {"bug", "pass-word"} & set(re.split(r"[^a-z-]", ran.stderr))


def test_files_below_a_folder_that_is_named_are_read(
    made: SqlCatalog, properties: dict[str, str], tmp_path: Path
) -> None:
    table = made.load_table(("shop", "orders"))
    pq.write_table(rows(100), tmp_path / "elsewhere.parquet")
    table.add_files([str(tmp_path / "elsewhere.parquet")])
    with open_server(properties, config=mi.Config(confine_to=(str(tmp_path),))) as server:
        found = over(server).load_table(("shop", "orders")).scan(row_filter="id = 105").to_arrow()
    assert found.num_rows == 1


def test_a_catalog_that_reads_files_in_its_own_way_is_refused(
    server: Server, made: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made.load_table("shop.orders")
    monkeypatch.setattr(SqlCatalog, "load_table", lambda self, name: found)
    with pytest.raises(RESTError, match="by the IO it is given"):
        over(server).load_table("shop.orders")


def test_a_catalog_is_served_alone(made: SqlCatalog, properties: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(mi.ArgumentError, match="a catalog is served alone"):
        open_server(properties, tmp_path)
    with pytest.raises(mi.ArgumentError, match="properties of a catalog are for a catalog"):
        open_server(tmp_path, catalog={"uri": "x"})
    with pytest.raises(mi.ArgumentError, match="'nowhere' is not"):
        open_server("catalog:nowhere")
