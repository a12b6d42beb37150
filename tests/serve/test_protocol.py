"""Requests as they come, from anyone."""

import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.serve import Catalog, Server, open_server, token_in
from metaindex.serve.clients import SERVER_PLANS
from metaindex.serve.protocol import ENDPOINTS, Request, Service
from metaindex.serve.server import MOST_BODY, MOST_CONNECTIONS
from tests.disks import someone_elses_folder
from tests.formats.iceberg.handmade import HandManifest, HandTable, entry
from tests.serve.lake import HEADERS, leaf, parted

TABLE = "/v1/namespaces/lake%1Fsales/tables/orders"
TOKEN = "a-token-of-some-length"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    root = tmp_path / "lake"
    for name in ("sales/orders", "sales/returns", "plain"):
        parted(root / name, "int", "identity", [(n, [n]) for n in range(3)], arrow=pa.int32(), made="int")
    (root / "_hidden").mkdir()
    return root


@pytest.fixture
def service(lake: Path) -> Service:
    return Service(Catalog([lake]))


@pytest.fixture
def server(lake: Path) -> Iterator[Server]:
    with open_server(lake) as running:
        yield running


def ask(service: Service, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = service.answer(Request(method, path, {**HEADERS["java"], **named}, raw))
    return answer.status, json.loads(answer.body) if answer.body else None


def test_the_names_of_a_lake(service: Service) -> None:
    assert ask(service, "GET", "/v1/namespaces") == (200, {"namespaces": [["lake"]]})
    assert ask(service, "GET", "/v1/namespaces?parent=lake") == (200, {"namespaces": [["lake", "sales"]]})
    assert ask(service, "GET", "/v1/namespaces/lake%1Fsales")[1] == {"namespace": ["lake", "sales"], "properties": {}}
    assert ask(service, "HEAD", "/v1/namespaces/lake")[0] == 204
    tables = ask(service, "GET", "/v1/namespaces/lake%1Fsales/tables")[1]["identifiers"]
    assert tables == [{"namespace": ["lake", "sales"], "name": name} for name in ("orders", "returns")]
    assert ask(service, "GET", "/v1/namespaces/lake/tables")[1] == {
        "identifiers": [{"namespace": ["lake"], "name": "plain"}]
    }
    for path in (
        "/v1/namespaces/other",
        "/v1/namespaces/lake%1Fother",
        "/v1/namespaces/lake%1Fother/tables",
        "/v1/namespaces/%1F",
    ):
        status, said = ask(service, "GET", path)
        assert (status, said["error"]["type"]) == (404, "NoSuchNamespaceException")


def test_a_table_is_a_root_of_its_own(lake: Path) -> None:
    service = Service(Catalog([lake / "sales" / "orders", lake / "sales" / "returns"]))
    tables = ask(service, "GET", "/v1/namespaces/sales/tables")[1]["identifiers"]
    assert [table["name"] for table in tables] == ["orders", "returns"]
    assert ask(service, "HEAD", "/v1/namespaces/sales/tables/orders")[0] == 204
    assert ask(service, "HEAD", "/v1/namespaces/sales/tables/other")[0] == 404
    with pytest.raises(mi.ArgumentError, match="rename one"):
        Catalog([lake, _copy(lake)])
    with pytest.raises(mi.ArgumentError, match="at least one"):
        Catalog([])


def _copy(lake: Path) -> Path:
    other = lake.parent / "other" / "lake"
    other.mkdir(parents=True, exist_ok=True)
    return other


def test_config_says_server_to_clients_that_were_tried(service: Service) -> None:
    for version, planned in (
        ("Apache Iceberg 1.12.0 (commit x)", True),
        ("PyIceberg 0.12.1", True),
        ("PyIceberg 0.11.1", True),
        ("PyIceberg 0.10.0", False),
        ("DuckDB", False),
    ):
        said = ask(service, "GET", "/v1/config?warehouse=x", x_client_version=version)[1]
        assert said["defaults"] == (SERVER_PLANS if planned else {})
        assert said["endpoints"] == list(ENDPOINTS)


def test_a_client_that_was_not_tried_plans_by_itself(service: Service, lake: Path) -> None:
    for version in ("Apache Iceberg 1.10.0", "PyIceberg 0.10.0", "duckdb/v1.5.5(linux_amd64)", "someone"):
        status, said = ask(service, "GET", TABLE, x_client_version=version)
        assert (status, said["config"]) == (200, {"scan-planning-mode": "client"})
        assert Path(said["metadata-location"]).exists()
        assert ask(service, "POST", TABLE + "/plan", {}, x_client_version=version)[0] == 406
    trusting = Service(Catalog([lake]), trust_clients=True)
    assert ask(trusting, "GET", TABLE, x_client_version="someone")[1]["config"] == {"scan-planning-mode": "server"}
    assert ask(trusting, "POST", TABLE + "/plan", {}, x_client_version="someone")[0] == 200


def test_a_table_is_loaded_once(service: Service) -> None:
    first = service.answer(Request("GET", TABLE, HEADERS["java"]))
    tag = first.headers["ETag"]
    again = service.answer(Request("GET", TABLE, {**HEADERS["java"], "if-none-match": tag}))
    assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)
    other = service.answer(Request("GET", TABLE, {**HEADERS["pyiceberg"], "if-none-match": tag}))
    assert other.status == 200


def test_a_plan_over_http(server: Server) -> None:
    there = urlsplit(server.uri)
    connection = http.client.HTTPConnection(str(there.hostname), there.port)
    for value in range(3):  # one connection serves many requests
        connection.request("POST", TABLE + "/plan", json.dumps({"filter": leaf("eq", value)}), HEADERS["java"])
        said = json.loads(connection.getresponse().read())
        assert [task["data-file"]["partition"] for task in said["file-scan-tasks"]] == [[value]]
    connection.request("GET", "/health")
    assert json.loads(connection.getresponse().read()) == {"status": "ok"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", TABLE),
        ("DELETE", TABLE),
        ("POST", "/v1/namespaces"),
        ("POST", "/v1/tables/rename"),
        ("POST", "/v1/oauth/tokens"),
        ("POST", "/v1/transactions/commit"),
        ("GET", "/"),
        ("GET", "/v2/config"),
        ("PATCH", TABLE),
    ],
)
def test_all_else_is_read_only(service: Service, method: str, path: str) -> None:
    status, said = ask(service, method, path, {})
    assert (status, said["error"]["type"]) == (406, "UnsupportedOperationException")
    assert "read only" in said["error"]["message"]


def test_what_clients_ask_beside_plans(service: Service) -> None:
    assert ask(service, "POST", TABLE + "/metrics", {"report-type": "scan-report"})[0] == 204
    assert ask(service, "DELETE", TABLE + "/plan/x")[0] == 204
    assert ask(service, "GET", TABLE + "/plan/x")[1]["error"]["type"] == "NoSuchPlanIdException"
    assert ask(service, "POST", TABLE + "/tasks", {"plan-task": "x"})[1]["error"]["type"] == "NoSuchPlanTaskException"
    assert ask(service, "POST", TABLE + "/tasks", {"plan-task": 5})[0] == 400
    assert ask(service, "POST", TABLE + "/plan", {"snapshot-id": 99})[0] == 400


@pytest.mark.parametrize(
    "name",
    [
        "nobody",
        "..",
        ".",
        "%2e%2e",
        "%2Fetc",
        "..%2Forders",
        "orders%00",
        "_metaindex",
        ".git",
        "x" * 5000,
        "%F0%9F%98%80",
        "%0A",
        "a%5Cb",
    ],
)
def test_hostile_names_are_no_tables(service: Service, lake: Path, name: str) -> None:
    (lake / "sales" / "link").symlink_to(lake / "plain")
    for path in (
        f"/v1/namespaces/lake%1Fsales/tables/{name}",
        f"/v1/namespaces/lake%1F{name}/tables/orders",
        "/v1/namespaces/lake%1Fsales/tables/link",
    ):
        status, said = ask(service, "GET", path)
        assert (status, said["error"]["type"]) in ((404, "NoSuchTableException"), (404, "NoSuchNamespaceException"))
        assert len(said["error"]["message"]) < 400


@pytest.mark.parametrize("moved", [True, False])
def test_a_table_whose_files_lie_outside_is_refused(tmp_path: Path, moved: bool) -> None:
    """Copied from elsewhere, or with a file that its metadata names outside of the root."""
    outside = parted(tmp_path / "secret" / "t", "int", "identity", [(1, [1])], arrow=pa.int32(), made="int")
    there = tmp_path / "lake" / "t"
    if moved:
        (there / "metadata").mkdir(parents=True)
        for file in (outside / "metadata").iterdir():
            (there / "metadata" / file.name).write_bytes(file.read_bytes())
    else:
        table = HandTable(there)
        table.commit([HandManifest([entry(str(outside / "data/f0.parquet"), sequence=1, snapshot=1)])])
        table.write()
    service = Service(Catalog([tmp_path / "lake"]))
    status, said = ask(service, "POST", "/v1/namespaces/lake/tables/t/plan", {})
    assert status == 406  # it will not be there at another try
    assert "file-scan-tasks" not in said
    assert ask(service, "GET", "/v1/namespaces/lake/tables/t")[1]["config"] == {"scan-planning-mode": "client"}


def test_a_table_that_vanishes_is_not_found_and_found_again(service: Service, lake: Path) -> None:
    assert ask(service, "POST", TABLE + "/plan", {})[0] == 200
    os.rename(lake / "sales" / "orders", lake / "sales" / "away")
    assert ask(service, "GET", TABLE)[0] == 404
    os.rename(lake / "sales" / "away", lake / "sales" / "orders")
    assert ask(service, "GET", TABLE)[0] == 200


def test_a_token_is_asked_of_each_request_but_of_health(lake: Path) -> None:
    service = Service(Catalog([lake]), token=TOKEN)
    assert ask(service, "GET", "/health")[0] == 200
    for said in ({}, {"authorization": "Bearer x"}, {"authorization": TOKEN}, {"authorization": "Bearer é"}):
        assert ask(service, "GET", "/v1/config", **said)[0] == 401
        assert ask(service, "GET", TABLE, **said)[0] == 401
    assert ask(service, "GET", TABLE, authorization=f"Bearer {TOKEN}")[0] == 200


def test_other_machines_need_a_token(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.com"):
        with pytest.raises(mi.ArgumentError, match="METAINDEX_SERVE_TOKEN"):
            open_server(lake, host=host)
    for token in ("short", ""):  # as of an empty file
        with pytest.raises(mi.ArgumentError, match="16 printable"):
            open_server(lake, token=token)
    for port in ("8181", -1, 1 << 16):
        with pytest.raises(mi.ArgumentError, match="a port is"):
            open_server(lake, port=port)  # type: ignore[arg-type]
    with pytest.raises(mi.ArgumentError, match="a root is a folder of tables"):
        open_server(lake, tmp_path / "nowhere")
    (tmp_path / "token").write_text(TOKEN + "\n")
    assert token_in(str(tmp_path / "token")) == TOKEN
    with pytest.raises(mi.ArgumentError, match="readable file"):
        token_in(str(tmp_path / "none"))
    monkeypatch.setenv("METAINDEX_SERVE_TOKEN", TOKEN)
    with open_server(lake, host="0.0.0.0") as server:
        there = http.client.HTTPConnection("127.0.0.1", urlsplit(server.uri).port)
        there.request("GET", "/v1/config", headers={"Host": "anything"})
        assert there.getresponse().status == 401


def test_a_server_that_is_closed_answers_nobody(lake: Path) -> None:
    with open_server(lake) as server:
        held = http.client.HTTPConnection("127.0.0.1", urlsplit(server.uri).port)
        held.request("GET", "/v1/config")
        assert held.getresponse().read()
    with pytest.raises((OSError, http.client.HTTPException)):  # noqa: PT012 - whichever notices first
        held.request("GET", "/v1/config")
        held.getresponse()


def test_ctrl_c_ends_the_command_whoever_handles_signals_too(lake: Path) -> None:
    """Polars, which reads a table's manifests, has a handler of its own."""
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # what runs in the background may ignore it
    command = f"import signal, sys; {heard}; from metaindex.cli.main import main; sys.exit(main())"
    words = [sys.executable, "-c", command, "serve", str(lake), "--port", "0", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            uri = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")["uri"]
            there = http.client.HTTPConnection(urlsplit(uri).netloc)
            there.request("GET", TABLE)
            assert there.getresponse().status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_a_page_in_a_browser_cannot_ask_by_a_name_of_its_own(server: Server) -> None:
    port = urlsplit(server.uri).port
    for host, status in (
        ("evil.example", 403),
        (f"evil.example:{port}", 403),
        ("127.0.0.1", 200),
        (f"localhost:{port}", 200),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/v1/config", headers={"Host": host})
        assert connection.getresponse().status == status


@pytest.mark.parametrize(
    "line",
    [
        "Origin: http://evil.example",  # a page in a browser sends it with what may change something
        "Content-Length: 2\r\nContent-Length: 40",
        "Content-Length : 40",
        "Transfer-Encoding : chunked",
        "no header\r\nContent-Length: 40",
        ": of nobody",
        "X: a\r\n\tTransfer-Encoding: chunked",
        "X: a\x00b",
    ],
)
def test_headers_that_others_read_in_another_way_are_refused(server: Server, line: str) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(server.uri).port), 10) as raw:
        hidden = "GET /v1/config HTTP/1.1\r\nHost: localhost\r\n\r\n"
        raw.sendall(f"POST {TABLE}/plan HTTP/1.1\r\nHost: localhost\r\n{line}\r\n\r\n{{}}{hidden}".encode())
        said = b""
        while got := raw.recv(1 << 16):
            said += got
    assert said.count(b"HTTP/1.1 ") == 1
    assert said.split(b" ")[1] in (b"400", b"403", b"413")


def test_a_header_that_is_repeated_is_a_list(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(server.uri).port), 10) as raw:
        raw.sendall(
            b"GET /v1/config HTTP/1.1\r\nHost: localhost\r\nX-Client-Version: PyIceberg 0.12.0\r\nAccept: a\r\n"
            b"Accept: b\r\nConnection: close\r\n\r\n"
        )
        assert b" 200 " in raw.recv(4096)


def test_too_large_and_unbounded_bodies_are_refused(server: Server) -> None:
    port = urlsplit(server.uri).port
    for header in (
        f"Content-Length: {MOST_BODY + 1}",
        "Transfer-Encoding: chunked",
        "Content-Length: -5",
        "Content-Length: x",
        "Content-Length: \u00b2",
        "Content-Length: " + "9" * 5000,
    ):
        with socket.create_connection(("127.0.0.1", port), 10) as raw:
            raw.sendall(f"POST {TABLE}/plan HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode("latin-1"))
            assert b" 413 " in raw.recv(4096)
    with socket.create_connection(("127.0.0.1", port), 10) as raw:  # and half of one ends the connection
        raw.sendall(f"POST {TABLE}/plan HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{{".encode())
        raw.shutdown(socket.SHUT_WR)
        assert raw.recv(4096) == b""


def test_a_body_is_awaited_only_of_who_may_ask(lake: Path) -> None:
    with open_server(lake, token=TOKEN) as server:
        there = ("127.0.0.1", urlsplit(server.uri).port)
        with socket.create_connection(there, 10) as raw:
            raw.sendall(f"POST {TABLE}/plan HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n".encode())
            assert b" 401 " in raw.recv(4096)


def test_connections_that_say_nothing_make_room_for_others(lake: Path) -> None:
    with contextlib.ExitStack() as held:
        server = held.enter_context(open_server(lake))
        for _ in range(MOST_CONNECTIONS):
            raw = held.enter_context(socket.create_connection(("127.0.0.1", urlsplit(server.uri).port), 10))
            raw.sendall(b"GET /v1/config HTTP/1.1\r\n")
        for _ in range(3):
            connection = http.client.HTTPConnection("127.0.0.1", urlsplit(server.uri).port, timeout=30)
            connection.request("GET", "/health")
            assert connection.getresponse().status == 200


def test_answers_that_nobody_reads_take_bounded_memory(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.serve.server.MOST_SENT", 1 << 20)
    port = urlsplit(server.uri).port
    large = json.dumps({"filter": leaf("eq", 1, "id") | {"comment": "x" * (6 << 20)}})

    def status() -> int:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as other:
            other.request("POST", f"{TABLE}/plan", large, HEADERS["java"])
            return other.getresponse().status

    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as slow:
        slow.sock = socket.socket()
        slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        slow.sock.connect(("127.0.0.1", port))
        slow.request("POST", f"{TABLE}/plan", large, HEADERS["java"])
        answer = slow.getresponse()  # its head is there, and the rest waits
        assert (answer.status, status()) == (200, 429)
        assert json.loads(answer.read())["status"] == "completed"
    until = time.monotonic() + 30
    while (last := status()) == 429 and time.monotonic() < until:
        time.sleep(0.05)
    assert last == 200


def test_a_path_that_is_none_is_refused(service: Service) -> None:
    assert ask(service, "GET", "http://[/")[0] == 400


@pytest.mark.parametrize("old", [{"fields": [{"id": 1, "type": "int"}]}, {"fields": ["a"]}, "a"])
def test_a_schema_that_is_none_is_the_tables_damage(lake: Path, old: Any) -> None:
    (file,) = (lake / "sales/orders/metadata").glob("*.metadata.json")
    said = json.loads(file.read_text())
    said["schemas"].append(old)
    file.write_text(json.dumps(said))
    status, answer = ask(Service(Catalog([lake])), "GET", TABLE, **HEADERS["java"])
    assert (status, answer["error"]["type"]) == (406, "UnsupportedOperationException")


def test_json_nested_too_deep_is_refused(service: Service) -> None:
    deep = b'{"filter":' + b'{"type":"not","child":' * 100_000 + b"true" + b"}" * 100_000 + b"}"
    status, said = ask(service, "POST", TABLE + "/plan", deep)
    assert status == 400
    assert "nested too deep" in said["error"]["message"]


def test_more_plans_at_once_than_there_is_room_for_come_back_later(lake: Path) -> None:
    service = Service(Catalog([lake]), most_plans=1)
    assert service._plans.acquire(blocking=False)
    answer = service.answer(Request("POST", TABLE + "/plan", HEADERS["java"], b"{}"))
    assert answer.status == 429
    service._plans.release()
    assert service.answer(Request("POST", TABLE + "/plan", HEADERS["java"], b"{}")).status == 200


def test_many_clients_at_once_get_their_own_answers(server: Server) -> None:
    there = urlsplit(server.uri)

    def one(value: int) -> list[Any]:
        connection = http.client.HTTPConnection(str(there.hostname), there.port)
        connection.request("POST", TABLE + "/plan", json.dumps({"filter": leaf("eq", value % 3)}), HEADERS["java"])
        return [
            task["data-file"]["partition"] for task in json.loads(connection.getresponse().read())["file-scan-tasks"]
        ]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(48))) == [[[value % 3]] for value in range(48)]


def test_a_thousand_mutated_requests_are_answered(service: Service) -> None:
    """Never by an error of the server, and never by fewer files than match."""
    random_ = random.Random(5)
    body = json.dumps(
        {
            "snapshot-id": 1,
            "select": ["id"],
            "filter": {"type": "and", "left": leaf("gt-eq", 0), "right": {"type": "not", "child": leaf("in", [7, 8])}},
            "case-sensitive": True,
            "use-snapshot-schema": False,
        }
    )
    for _ in range(1000):
        text = bytearray(body.encode())
        for _ in range(random_.randint(1, 4)):
            at = random_.randrange(len(text))
            match random_.randrange(3):
                case 0:
                    text[at] = random_.randrange(256)
                case 1:
                    del text[at : at + random_.randint(1, 9)]
                case _:
                    text[at:at] = random_.choice([b"{", b"}", b"[", b'"', b"null", b"1e999", b"-", b"\\u0000", b"NaN"])
        status, said = ask(service, "POST", TABLE + "/plan", bytes(text))
        assert status in (200, 400, 406), (text, said)


def test_credentials_are_in_no_log(
    lake: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    with open_server(lake, token=TOKEN) as server:
        port = urlsplit(server.uri).port
        for path in ("/v1/config", TABLE + "/plan", "/%00"):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("POST", path, b"{", {"Authorization": f"Bearer {TOKEN}", "X-Secret": "hidden-value"})
            connection.getresponse().read()
    said = caplog.text + "".join(capfd.readouterr())
    assert TOKEN not in said
    assert "hidden-value" not in said


def test_a_table_that_this_server_may_not_read_is_forbidden() -> None:
    with someone_elses_folder() as folder:
        table = parted(folder / "lake" / "t", "int", "identity", [(1, [1])], arrow=pa.int32(), made="int")
        service = Service(Catalog([folder / "lake"]))
        assert ask(service, "GET", "/v1/namespaces/lake/tables/t")[0] == 200
        for metadata in (table / "metadata").iterdir():
            metadata.chmod(0)
        status, said = ask(service, "GET", "/v1/namespaces/lake/tables/t")
        assert (status, said["error"]["type"]) == (403, "ForbiddenException")
        assert str(folder) not in said["error"]["message"]


def test_each_plan_is_told_without_the_values_of_its_filter(lake: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = lake / "sales" / "orders"
    mi.open_table(table).create_index("find", mi.Values("id"), builder="local")
    service = Service(Catalog([lake]))
    with caplog.at_level("INFO", "metaindex"):
        for client in ("pyiceberg", "java"):
            asked = {"filter": {"type": "eq", "term": "id", "value": 777_777}}
            assert ask(service, "POST", f"{TABLE}/plan", asked, **HEADERS[client])[0] == 200
        assert ask(service, "POST", f"{TABLE}/plan", {})[0] == 200
    first, second, third = [line for line in caplog.messages if line.startswith("plan of ")]
    assert re.match(
        r"plan of 'lake\.sales\.orders' at snapshot \d+ for pyiceberg 0\.12\.0: 0 of 3 files, .* ms; by find", first
    )
    assert "iceberg-java 1.12.0: 0 of 3" in second
    assert re.search(r"3 of 3 files, .*; by no index", third)
    assert "777" not in caplog.text
