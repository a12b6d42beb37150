"""The proxy before a catalog: what is forwarded, what is its own, and who may have it."""

import gc
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyiceberg.catalog import load_catalog

import metaindex as mi
from metaindex.serve import Server, open_server, protocol
from metaindex.serve.clients import SERVER_PLANS
from metaindex.serve.protocol import ENDPOINTS, Request
from metaindex.serve.proxy import service
from metaindex.serve.proxy.opening import Opener
from metaindex.serve.proxy.service import Proxy
from metaindex.serve.proxy.upstream import MOST_ANSWER, Upstream
from metaindex.serve.server import MOST_CONNECTIONS
from tests.serve.lake import HEADERS, leaf
from tests.serve.upstream import RestCatalog, rows

TABLE = "/v1/namespaces/n/tables/t"
MODE = "scan-planning-mode"
ALICE, BOB = "alice-" + "a" * 20, "bob-" + "b" * 20


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables, of five files and of one, in `behind`; `kept` is a copy of it."""
    root = tmp_path_factory.mktemp("lake")
    with RestCatalog(root / "behind") as catalog:
        direct = load_catalog("direct", type="rest", uri=catalog.uri)
        direct.create_namespace("n")
        for name, parts in (("t", 5), ("other", 1)):
            table = direct.create_table(f"n.{name}", rows(0, 1).schema)
            for part in range(parts):
                table.append(rows(part * 10, part * 10 + 10))
    shutil.copytree(root / "behind", root / "kept")
    return root


@pytest.fixture
def behind(lake: Path) -> Iterator[RestCatalog]:
    """A catalog of those tables as they were written, at the place that they name themselves."""
    shutil.rmtree(lake / "behind")
    shutil.copytree(lake / "kept", lake / "behind")
    with RestCatalog(lake / "behind") as catalog:
        yield catalog


def proxied(behind: RestCatalog, *allowed: str, **how: Any) -> Proxy:
    allowed = allowed or (str(behind.root),)
    return Proxy(Upstream(behind.uri), Opener(allowed, None, None), **{"opening_seconds": 60.0, **how})


@pytest.fixture
def proxy(behind: RestCatalog) -> Iterator[Proxy]:
    with closing(proxied(behind)) as made:
        yield made


def ask(
    proxy: Proxy, method: str, path: str, body: Any = None, client: str = "java", **headers: str
) -> tuple[int, Any]:
    raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = proxy.answer(Request(method, path, {**HEADERS.get(client, {}), **named}, raw))
    return answer.status, json.loads(answer.body) if answer.body else None


def files(plan: Any) -> list[str]:
    return [task["data-file"]["file-path"] for task in plan["file-scan-tasks"]]


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


# What is forwarded ----------------------------------------------------------------------------------------------------


def test_requests_are_forwarded_as_they_came(behind: RestCatalog, proxy: Proxy) -> None:
    sent = {
        **HEADERS["java"],
        "authorization": "Bearer x",
        "x-iceberg-access-delegation": "vended-credentials",
        "x-own": "1",
        "connection": "close, x-of-the-connection",
        "x-of-the-connection": "1",
        "te": "trailers",
        "host": "elsewhere",
    }
    body = json.dumps({"namespace": ["a b", "ü"]}).encode()
    answer = proxy.answer(Request("POST", "/v1/namespaces?x=%2f&y=a+b", sent, body))
    method, target, headers, got = behind.asked[-1]
    assert (answer.status, method, target, got) == (200, "POST", "/v1/namespaces?x=%2f&y=a+b", body)
    assert {k: v for k, v in headers.items() if k in sent} == {
        k: v for k, v in sent.items() if k not in ("connection", "x-of-the-connection", "te", "host")
    } | {"host": urlsplit(behind.uri).netloc}
    assert headers.get("connection") is None
    for method, path in (("DELETE", TABLE), ("HEAD", TABLE), ("POST", TABLE), ("GET", "/v1/namespaces/n/views")):
        proxy.answer(Request(method, path, HEADERS["java"], b"{}" if method == "POST" else b""))
        assert behind.asked[-1][:2] == (method, path)


def test_answers_come_back_as_they_are(behind: RestCatalog, proxy: Proxy) -> None:
    path = "/v1/namespaces/n/views/v"
    behind.answers["GET", path] = lambda _: (418, b"\x00 text", {"Content-Type": "text/plain", "X-Of-It": "1"})
    answer = proxy.answer(Request("GET", path, HEADERS["java"]))
    assert (answer.status, answer.body) == (418, b"\x00 text")
    assert answer.headers == {"content-type": "text/plain", "x-of-it": "1"}
    with Server(proxy, "127.0.0.1", 0) as server:
        there = http.client.HTTPConnection("127.0.0.1", urlsplit(server.uri).port)
        there.request("GET", path)
        got = there.getresponse()
        assert (got.status, got.read(), got.headers.get_all("Content-Type")) == (418, b"\x00 text", ["text/plain"])
        there.close()


def test_no_redirect_is_followed(behind: RestCatalog, proxy: Proxy) -> None:
    behind.answers["GET", TABLE] = lambda _: (302, None, {"Location": "http://127.0.0.1:1/elsewhere"})
    answer = proxy.answer(Request("GET", TABLE, HEADERS["java"]))
    assert (answer.status, answer.headers["location"]) == (302, "http://127.0.0.1:1/elsewhere")
    assert ask(proxy, "POST", TABLE + "/plan", {})[0] == 302


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v2/config",
        "/v1/../admin",
        "/v1/%2e%2E/admin",
        "/v1/a/..%2fadmin",
        "/v1/..\\admin",
        "/v1/..;/admin",
        "/v1/a/..;x=1/%2e%2e;/admin",
        "http://127.0.0.1:1/v1/config",
        "//127.0.0.1:1/v1/config",
        "/v1/a b",
        "/v1/a\r\nx: y",
        "/v1/ü",
        "/metrics",
    ],
)
def test_only_paths_of_the_catalog_are_asked(behind: RestCatalog, proxy: Proxy, path: str) -> None:
    assert ask(proxy, "GET", path)[0] == 404
    assert behind.asked == []


def test_answers_are_bounded(behind: RestCatalog, proxy: Proxy) -> None:
    behind.answers["GET", TABLE] = lambda _: (200, b" " * (MOST_ANSWER + 1))
    assert ask(proxy, "GET", TABLE)[0] == 502
    assert ask(proxy, "POST", TABLE + "/plan", {})[0] == 502
    behind.answers["GET", TABLE] = lambda said: (*said, {"Content-Encoding": "br"})
    assert ask(proxy, "GET", TABLE)[0] == 502


# Config ---------------------------------------------------------------------------------------------------------------

PLANS = {one for one in ENDPOINTS if "/plan" in one or "/tasks" in one}


@pytest.mark.parametrize("plan_all", [False, True])
def test_config_is_the_catalogs_with_plans(behind: RestCatalog, plan_all: bool) -> None:
    behind.catalog_config = {
        "defaults": {"uri": "http://elsewhere", "clients": "4"},
        "overrides": {"uri": "http://elsewhere", "prefix": "p"},
        "endpoints": ["GET /v1/{prefix}/namespaces", "POST /v1/{prefix}/x"],
        "idempotency-key-lifetime": "PT1H",
    }
    with closing(proxied(behind, plan_all=plan_all)) as proxy:
        said = ask(proxy, "GET", "/v1/config?warehouse=w")[1]
        assert behind.asked[-1][1] == "/v1/config?warehouse=w"
        assert said["defaults"] == {"clients": "4", **(SERVER_PLANS if plan_all else {})}
        assert said["overrides"] == {"prefix": "p"}
        assert set(said["endpoints"]) == {*behind.catalog_config["endpoints"], *PLANS}
        assert said["idempotency-key-lifetime"] == "PT1H"
        assert ask(proxy, "GET", "/v1/config", client="nobody")[1] == behind.catalog_config


def test_endpoints_that_the_catalog_left_unsaid_are_said(behind: RestCatalog, proxy: Proxy) -> None:
    said = set(ask(proxy, "GET", "/v1/config")[1]["endpoints"])
    assert said > PLANS
    assert "POST /v1/{prefix}/namespaces/{namespace}/tables" in said
    assert not any("views" in one for one in said)
    behind.catalog_config = {"defaults": {"view-endpoints-supported": "true"}}
    assert any("views" in one for one in ask(proxy, "GET", "/v1/config")[1]["endpoints"])


# Plans ----------------------------------------------------------------------------------------------------------------


def test_a_table_is_planned_with_and_without_an_index(behind: RestCatalog, proxy: Proxy) -> None:
    direct = ask_direct(behind)
    said = ask(proxy, "GET", TABLE + "?snapshots=refs")[1]
    assert said == {**direct, "config": {MODE: "server"}}
    every = ask(proxy, "POST", TABLE + "/plan", {})[1]
    assert (every["status"], len(files(every))) == ("completed", 5)
    names = {"filter": leaf("in", ["user-0007", "user-0043"], "name"), "snapshot-id": snapshot(direct)}
    assert len(files(ask(proxy, "POST", TABLE + "/plan", names)[1])) == 2
    asked = {"filter": leaf("in", ["user-0005", "user-0005x"], "name")}
    mi.open_table(direct["metadata"]["location"]).create_index("names", mi.Values("name"))
    assert len(files(ask(proxy, "POST", TABLE + "/plan", asked)[1])) == 1
    assert behind.count("POST", "/plan") == 0


def ask_direct(behind: RestCatalog) -> Any:
    return behind.answer("GET", TABLE, {}, b"")[1]


def snapshot(loaded: Any) -> int:
    return int(loaded["metadata"]["current-snapshot-id"])


def test_a_plan_loads_the_table_and_its_pages_do_not(
    behind: RestCatalog, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaindex.serve.plans.MOST_TASKS", 2)
    body = {"snapshot-id": snapshot(ask_direct(behind))}
    for number in range(1, 4):
        plan = ask(proxy, "POST", TABLE + "/plan", body, **bearer("x"))[1]
        page = {"plan-task": plan["plan-tasks"][0]}
        assert ask(proxy, "POST", TABLE + "/tasks", page, **bearer("x"))[0] == 200
        assert behind.count("GET", "/tables/t") == number
    assert behind.asked[-1][2]["authorization"] == "Bearer x"
    assert ask(proxy, "POST", TABLE + "/tasks", page, x_forwarded_user="z", **bearer("x"))[0] == 200
    assert behind.count("GET", "/tables/t") == 4  # of whom else, nobody knows
    now = time.monotonic()
    monkeypatch.setattr(service.time, "monotonic", lambda: now + service.TABLE_SECONDS + 1)
    assert ask(proxy, "POST", TABLE + "/tasks", page, **bearer("x"))[0] == 200
    assert behind.count("GET", "/tables/t") == 5


def test_a_filter_is_read_by_the_newest_schema(behind: RestCatalog, proxy: Proxy) -> None:
    """Names that two columns swap, by another way than the proxy, without a new snapshot."""
    body = {"filter": leaf("eq", "user-0007", "name"), "snapshot-id": snapshot(ask(proxy, "GET", TABLE)[1])}
    assert len(files(ask(proxy, "POST", TABLE + "/plan", body)[1])) == 1
    table = load_catalog("direct", type="rest", uri=behind.uri).load_table("n.t")
    for old, new in (("name", "was"), ("region", "name"), ("was", "region")):
        with table.update_schema() as schema:
            schema.rename_column(old, new)
    body["filter"] = leaf("eq", "eu", "name")
    assert ask(proxy, "POST", TABLE + "/plan", body)[0] == 406  # a client may have either
    assert ask(proxy, "GET", TABLE)[1]["config"] == {MODE: "client"}
    assert len(files(ask(proxy, "POST", TABLE + "/plan", body, client="pyiceberg")[1])) == 5


def test_a_loaded_table_has_a_tag(proxy: Proxy) -> None:
    first = proxy.answer(Request("GET", TABLE, HEADERS["java"]))
    tagged = {**HEADERS["java"], "if-none-match": first.headers["ETag"]}
    assert proxy.answer(Request("GET", TABLE, tagged)).status == 304


def test_a_snapshot_newer_than_the_loaded_table_is_found(behind: RestCatalog, proxy: Proxy) -> None:
    before = snapshot(ask(proxy, "GET", TABLE)[1])
    load_catalog("direct", type="rest", uri=behind.uri).load_table("n.t").append(rows(900, 910))
    after = snapshot(ask_direct(behind))
    for version, count in ((before, 5), (after, 6), (before, 5)):
        assert len(files(ask(proxy, "POST", TABLE + "/plan", {"snapshot-id": version})[1])) == count
    assert ask(proxy, "POST", TABLE + "/plan", {"snapshot-id": 99})[0] == 400


def test_a_client_that_was_not_tried_is_left_to_the_catalog(behind: RestCatalog, proxy: Proxy) -> None:
    assert ask(proxy, "GET", TABLE, client="nobody")[1] == ask_direct(behind)
    assert ask(proxy, "POST", TABLE + "/plan", {}, client="nobody")[0] == 404
    assert behind.count("POST", "/plan") == 1


# Who may ask ----------------------------------------------------------------------------------------------------------


def test_what_the_catalog_forbids_is_forbidden(behind: RestCatalog, proxy: Proxy) -> None:
    behind.tokens, behind.forbidden = (ALICE, BOB), {BOB}
    assert ask(proxy, "GET", TABLE, **bearer(ALICE))[1]["config"] == {MODE: "server"}
    assert len(files(ask(proxy, "POST", TABLE + "/plan", {}, **bearer(ALICE))[1])) == 5
    for method, path, body in (("GET", "", None), ("POST", "/plan", {}), ("POST", "/plan", {"snapshot-id": 1})):
        status, said = ask(proxy, method, TABLE + path, body, **bearer(BOB))
        assert (status, said["error"]["message"]) == (403, "not for you")
        assert ask(proxy, method, TABLE + path, body)[0] == 401
    gone = ask(proxy, "POST", "/v1/namespaces/n/tables/gone/plan", {}, **bearer(ALICE))
    assert (gone[0], gone[1]["error"]["type"]) == (404, "NoSuchTableException")
    behind.forbidden = {ALICE}
    assert ask(proxy, "POST", TABLE + "/plan", {"snapshot-id": 1}, **bearer(ALICE))[0] == 403


def test_a_page_is_of_its_table_and_for_who_may_load_it(
    behind: RestCatalog, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaindex.serve.plans.MOST_TASKS", 2)
    behind.tokens = (ALICE, BOB)
    plan = ask(proxy, "POST", TABLE + "/plan", {}, **bearer(ALICE))[1]
    assert len(plan["plan-tasks"]) == 2
    page = {"plan-task": plan["plan-tasks"][0]}
    assert len(files(ask(proxy, "POST", TABLE + "/tasks", page, **bearer(ALICE))[1])) == 2
    with closing(proxied(behind)) as other:  # another process of the same catalog
        assert len(files(ask(other, "POST", TABLE + "/tasks", page, **bearer(ALICE))[1])) == 2
    assert (
        len(files(ask(proxy, "POST", TABLE + "/tasks", page, **bearer(BOB))[1])) == 2
    )  # a new token of Alice, it may be
    for path in ("/v1/namespaces/n/tables/other", "/v1/namespaces/n/tables/%74"):
        status, said = ask(proxy, "POST", path + "/tasks", page, **bearer(ALICE))
        assert (status, said["error"]["type"]) == (404, "NoSuchPlanTaskException")
    behind.forbidden = {BOB}
    assert ask(proxied(behind), "POST", TABLE + "/tasks", page, **bearer(BOB))[0] == 403
    assert ask(proxy, "DELETE", TABLE + "/plan/x", **bearer(ALICE))[0] == 204
    assert ask(proxy, "GET", TABLE + "/plan/x", **bearer(ALICE))[1]["error"]["type"] == "NoSuchPlanIdException"


def test_credentials_are_in_no_log(
    behind: RestCatalog, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    behind.table_config = {"s3.secret-access-key": "vended-secret", "s3.access-key-id": "vended-key"}
    with closing(proxied(behind, str(behind.root / "nowhere"))) as proxy, Server(proxy, "127.0.0.1", 0) as server:
        for path in ("/v1/config", TABLE, TABLE + "/plan", "/v1/oauth/tokens"):
            there = http.client.HTTPConnection("127.0.0.1", urlsplit(server.uri).port)
            there.request("POST" if "plan" in path else "GET", path, b"{}", {**HEADERS["java"], **bearer(ALICE)})
            there.getresponse().read()
            there.close()
        behind.close()
        ask(proxy, "GET", TABLE, **bearer(ALICE))
    said = caplog.text + "".join(capfd.readouterr())
    assert "does not answer" in said
    assert not any(secret in said for secret in (ALICE, "vended-secret", "vended-key"))


# Catalogs that plan ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["defaults", "overrides", "table"])
@pytest.mark.parametrize("mode", ["server", "client", "true"])
@pytest.mark.parametrize("heard", [True, False])
def test_what_the_catalog_says_of_planning_stands(behind: RestCatalog, where: str, mode: str, heard: bool) -> None:
    word = {MODE: mode} if mode != "true" else {"rest-scan-planning-enabled": mode}
    if where == "table":
        behind.table_config = word
    else:
        behind.catalog_config = {where: word}
    behind.answers["POST", TABLE + "/plan"] = lambda _: (200, {"status": "completed", "of": "the catalog"})
    with closing(proxied(behind, plan_all=True)) as proxy:
        if heard and where != "table":
            assert ask(proxy, "GET", "/v1/config")[1] == behind.answer("GET", "/v1/config", {}, b"")[1]
        assert ask(proxy, "GET", TABLE)[1] == ask_direct(behind)
        assert ask(proxy, "POST", TABLE + "/plan", {})[1]["of"] == "the catalog"
        assert ask(proxy, "DELETE", TABLE + "/plan/7")[0] == 404
        assert behind.asked[-1][:2] == ("DELETE", TABLE + "/plan/7")


def test_a_catalog_with_a_prefix(tmp_path: Path) -> None:
    with RestCatalog(tmp_path / "behind", prefix="a:b") as behind:
        with closing(proxied(behind, plan_all=True)) as proxy, Server(proxy, "127.0.0.1", 0) as server:
            over = load_catalog("p", type="rest", uri=server.uri)
            over.create_namespace("n")
            table = over.create_table("n.t", rows(0, 1).schema)
            table.append(rows(0, 10))
            assert table.scan("id = 3").to_arrow().num_rows == 1
            assert behind.count("POST", "/plan") == 0
        behind.catalog_config = {"overrides": {"prefix": "a%3Ab"}}  # as Nessie writes it
        for heard in (True, False):
            with closing(proxied(behind)) as proxy:
                if heard:
                    ask(proxy, "GET", "/v1/config")
                assert ask(proxy, "GET", "/v1/a%3Ab/namespaces/n/tables/t")[1]["config"] == {MODE: "server"}
        behind.catalog_config = {"overrides": {"prefix": "another"}}  # whose config is it? the catalog's own, then
        with closing(proxied(behind)) as proxy:
            path = "/v1/a:b/namespaces/n/tables/t"
            assert ask(proxy, "GET", path)[1]["config"] == {}
            assert ask(proxy, "POST", path + "/plan", {})[0] == 404
            assert behind.count("POST", "/plan") == 1


# Trouble --------------------------------------------------------------------------------------------------------------


def test_a_catalog_that_is_down(behind: RestCatalog, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(proxy, "GET", TABLE)[0] == 200
    assert ask(proxy, "GET", "/health") == (200, {"status": "ok", "catalog": "reachable"})
    behind.close()
    for method, path in (("GET", TABLE), ("POST", TABLE), ("POST", TABLE + "/plan"), ("GET", "/v1/config")):
        assert ask(proxy, method, path, {})[0] == 503, path
    now = time.monotonic()
    monkeypatch.setattr(service.time, "monotonic", lambda: now + 10)
    assert ask(proxy, "GET", "/health") == (503, {"status": "unavailable", "catalog": "unreachable"})


def test_a_catalog_that_lets_all_wait_leaves_room_for_the_question_whether_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert protocol._MOST_ANSWERS < MOST_CONNECTIONS
    monkeypatch.setattr(protocol, "_MOST_ANSWERS", 4)
    monkeypatch.setattr(service, "_HEALTH_SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        ThreadPoolExecutor(4) as others,
        open_server(before=f"http://127.0.0.1:{silent.getsockname()[1]}") as server,
    ):

        def status(path: str) -> int:
            with closing(http.client.HTTPConnection(server.uri.partition("//")[2], timeout=60)) as connection:
                connection.request("GET", path)
                return connection.getresponse().status

        waiting = [others.submit(status, "/v1/config") for _ in range(4)]
        room: threading.BoundedSemaphore = server._service._room  # type: ignore[attr-defined]
        until = time.monotonic() + 30
        while room._value and time.monotonic() < until:
            time.sleep(0.01)
        assert (status("/v1/config"), status("/health")) == (429, 503)
        assert not any(one.done() for one in waiting)
        silent.close()
        assert [one.result() for one in waiting] == [504] * 4
        assert status("/v1/config") == 503


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nx\r\n0\r\n\r\n", 503),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 150, 503),
    ],
    ids=["whole", "a chunk of no size", "never ends"],
)
def test_a_catalog_that_answers_byte_by_byte_is_none_that_can_be_reached(
    sent: bytes, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_HEALTH_SECONDS", 0.5)

    def answer() -> None:
        with suppress(OSError):
            while True:
                connection, _ = slow.accept()
                with connection, suppress(OSError):
                    connection.recv(1 << 16)
                    pieces = [sent] if status == 200 else [sent[at : at + 20] for at in range(0, len(sent), 20)]
                    for piece in pieces:
                        connection.sendall(piece)
                        time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as slow, ThreadPoolExecutor(9) as others:
        others.submit(answer)
        with open_server(before=f"http://127.0.0.1:{slow.getsockname()[1]}") as server:

            def health(_: int) -> int:
                with closing(http.client.HTTPConnection(server.uri.partition("//")[2], timeout=30)) as connection:
                    connection.request("GET", "/health")
                    return connection.getresponse().status

            assert set(others.map(health, range(8))) == {status}
        slow.shutdown(socket.SHUT_RDWR)


def test_a_commit_is_sent_once_whatever_becomes_of_its_answer() -> None:
    came: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for _ in range(3):
                connection, _ = listening.accept()
                with connection:
                    came.append(connection.recv(1 << 16).split(b" ", 1)[0])
                    if came[-1] == b"GET":  # it says that it keeps the connection, and closes it
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        upstream = Upstream(f"http://127.0.0.1:{listening.getsockname()[1]}")
        with closing(Proxy(upstream, Opener([], None, None))) as proxy:
            assert ask(proxy, "GET", "/v1/namespaces")[0] == 200
            time.sleep(0.05)
            status, said = ask(proxy, "POST", TABLE, {})
            assert (status, "may be done" in said["error"]["message"]) == (504, True)
            assert came == [b"GET", b"POST"]
            assert ask(proxy, "GET", "/v1/namespaces")[0] == 200
        thread.join()


def answering(*answers: Sequence[bytes]) -> tuple[Upstream, list[bytes]]:
    """A catalog that sends raw answers in pieces, of which an empty one ends the connection; and what it was asked."""
    listening, came = socket.create_server(("127.0.0.1", 0)), list[bytes]()

    def serve() -> None:
        left = iter(answers)
        with listening:
            while True:
                connection, _ = listening.accept()
                with connection, suppress(ConnectionError):
                    while asked := connection.recv(1 << 16):
                        came.append(asked)
                        for piece in (pieces := next(left)):
                            connection.sendall(piece)
                            time.sleep(0.05)
                        if not pieces[-1]:
                            break

    threading.Thread(target=serve, daemon=True).start()
    return Upstream(f"http://127.0.0.1:{listening.getsockname()[1]}"), came


@pytest.mark.parametrize("sent", [b"", b'{"metadata-location":'])
def test_an_answer_that_was_cut_is_lost(sent: bytes) -> None:
    upstream, came = answering(*[(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + sent, b"")] * 2)
    with closing(Proxy(upstream, Opener([], None, None))) as proxy:
        for method in ("POST", "GET"):
            status, said = ask(proxy, method, TABLE, {})
            assert (status, "may be done" in said["error"]["message"]) == (504, True)
    assert len(came) == 2


@pytest.mark.parametrize("first", [b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"])
def test_an_answer_goes_to_who_asked_for_it(first: bytes) -> None:
    def said(text: bytes) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)

    upstream, _ = answering((first, said(b'"of Alice"')), *[(said(b'"of Bob"'),)] * 2)
    with closing(Proxy(upstream, Opener([], None, None))) as proxy:
        ask(proxy, "GET", "/v1/namespaces", **bearer(ALICE))
        time.sleep(0.2)
        assert ask(proxy, "GET", "/v1/namespaces", **bearer(BOB)) == (200, "of Bob")


def test_a_table_that_cannot_be_opened_holds_no_requests(behind: RestCatalog, tmp_path: Path) -> None:
    with closing(proxied(behind, str(tmp_path / "nowhere"))) as proxy:
        for _ in range(20):
            assert ask(proxy, "POST", TABLE + "/plan", {})[0] == 406
        gc.collect()
        assert sum(type(one) is Request for one in gc.get_objects()) < 5


def test_tables_that_open_slowly_are_counted(behind: RestCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    until = threading.Event()
    opened = Opener.table
    monkeypatch.setattr(Opener, "table", lambda self, said: until.wait(60) and opened(self, said))
    with closing(proxied(behind, opening_seconds=0.01, most_plans=2)) as proxy:
        for number in range(3):
            assert ask(proxy, "GET", TABLE, **bearer(f"{number}"))[1]["config"] == {MODE: "client"}
        assert proxy._pool._work_queue.qsize() == 0
        assert ask(proxy, "POST", TABLE + "/plan", {}, **bearer("4"))[0] == 429
        until.set()
        ask(proxy, "POST", TABLE + "/plan", {}, **bearer("0"))
        assert len(files(ask(proxy, "POST", TABLE + "/plan", {}, **bearer("4"))[1])) == 5


def test_a_table_that_does_not_open_is_asked_for_again(behind: RestCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    until = threading.Event()
    monkeypatch.setattr(Opener, "table", lambda self, said: until.wait(60))
    monkeypatch.setattr(service, "_LONGEST_OPENING", 0.01)
    with closing(proxied(behind)) as proxy:
        assert ask(proxy, "POST", TABLE + "/plan", {})[0] == 503
        until.set()


def test_a_certificate_is_verified(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=127.0.0.1 -days 1"
    subprocess.run([*make.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, pytest.raises(OSError):
                context.wrap_socket(connection, server_side=True).recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with closing(
            Proxy(Upstream(f"https://127.0.0.1:{listening.getsockname()[1]}"), Opener([], None, None))
        ) as proxy:
            assert ask(proxy, "GET", "/v1/config")[0] == 503
        thread.join()


def test_a_table_that_opens_slowly_is_the_clients_for_now(behind: RestCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    until = threading.Event()
    opened = Opener.table
    monkeypatch.setattr(Opener, "table", lambda self, said: until.wait(60) and opened(self, said))
    with closing(proxied(behind, opening_seconds=0.01)) as proxy:
        assert ask(proxy, "GET", TABLE)[1]["config"] == {MODE: "client"}
        until.set()
        assert len(files(ask(proxy, "POST", TABLE + "/plan", {})[1])) == 5  # who asks all the same waits
        assert ask(proxy, "GET", TABLE)[1]["config"] == {MODE: "server"}


# Hostile answers ------------------------------------------------------------------------------------------------------


def hostile(kind: str, behind: RestCatalog, said: Any) -> Any:
    """An answer to LoadTable that names what is not the caller's."""
    file, metadata = said["metadata-location"], said["metadata"]
    folder, name = file.rsplit("/", 1)
    other = behind.answer("GET", "/v1/namespaces/n/tables/other", {}, b"")[1]
    match kind:
        case "elsewhere":
            return {**said, "metadata-location": "/etc/passwd"}
        case "other table":
            return {**said, "metadata-location": other["metadata-location"]}
        case "other table, as its place":
            return {**other, "metadata": {**other["metadata"], "table-uuid": metadata["table-uuid"]}}
        case "climbing":
            return {**said, "metadata-location": f"{folder}/../../other/metadata/{name}"}
        case "no place":
            return {"metadata": metadata}
        case "no table":
            return {**said, "metadata": ["x"]}
        case "numbers":
            return {**said, "metadata-location": 5, "metadata": {"location": 6}, "config": 7, "storage-credentials": 8}
        case "another machine":
            return {
                **said,
                "metadata-location": file.replace("file://", "file://host"),
                "metadata": {**metadata, "location": metadata["location"].replace("file://", "file://host")},
            }
        case "another store":
            where = {"location": "s3://bucket/t"}
            return {**said, "metadata-location": "s3://bucket/t/metadata/x.metadata.json", "metadata": where}
        case "unknown store":
            where = {"location": "gopher://bucket/t"}
            return {**said, "metadata-location": "gopher://bucket/t/metadata/x.metadata.json", "metadata": where}
        case "gone":
            return {**said, "metadata-location": f"{folder}/gone.metadata.json"}
        case "gigantic" | "damaged" | "newer" | "linked":
            made = Path(folder.removeprefix("file://")) / "made.metadata.json"
            if kind == "gigantic":
                made.touch()
                os.truncate(made, 10 << 30)
            elif kind == "linked":
                secret = behind.root.parent / "secret.metadata.json"
                secret.write_text(json.dumps(metadata))
                made.symlink_to(secret)
            else:
                made.write_text("{" if kind == "damaged" else json.dumps({**metadata, "format-version": 99}))
            return {**said, "metadata-location": f"{folder}/{made.name}"}
    raise AssertionError(kind)


KINDS = (
    "elsewhere", "other table", "other table, as its place", "climbing", "no place", "no table", "numbers",
    "another machine", "another store", "unknown store", "gone", "gigantic", "damaged", "newer", "linked",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_answers_are_left_to_the_client(behind: RestCatalog, proxy: Proxy, kind: str) -> None:
    answer = hostile(kind, behind, ask_direct(behind))
    behind.answers["GET", TABLE] = lambda _: (200, answer)
    said = ask(proxy, "GET", TABLE)
    assert said == (200, {**answer, "config": {MODE: "client"}})
    status, plan = ask(proxy, "POST", TABLE + "/plan", {})
    assert status in (400, 404, 406, 503), plan
    assert "file-scan-tasks" not in plan


def test_a_place_is_checked_as_it_is_opened(
    behind: RestCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`~` is of a shell: it leads out of the folder that is allowed."""
    said = ask_direct(behind)
    home, allowed = tmp_path / "home", tmp_path / "allowed"
    allowed.mkdir()
    (home / "t/metadata").mkdir(parents=True)
    metadata = {**said["metadata"], "location": "~/t"}
    (home / "t/metadata/made.metadata.json").write_text(json.dumps(metadata))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(allowed)
    with pytest.raises(mi.UnsupportedFeatureError, match="allow_locations="):
        Opener([str(allowed)], None, None).table(
            {"metadata": metadata, "metadata-location": "~/t/metadata/made.metadata.json"}
        )


@pytest.mark.parametrize("body", [b"", b"[]", b"x", b'"x"', b"[" * 100_000, b'{"a":' * 100_000])
def test_what_is_no_table_is_passed_on(behind: RestCatalog, proxy: Proxy, body: bytes) -> None:
    for path in (TABLE, "/v1/config"):
        behind.answers["GET", path] = lambda _: (200, body)
        answer = proxy.answer(Request("GET", path, HEADERS["java"]))
        assert (answer.status, answer.body) == (200, body)
    assert proxy.answer(Request("POST", TABLE + "/plan", HEADERS["java"], b"{}")).body == body


# Storage --------------------------------------------------------------------------------------------------------------


def test_tables_of_this_machine_are_read_below_named_prefixes(behind: RestCatalog, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(behind.root)
    lake = behind.root / "lake"
    for allowed, mode in (
        ([str(lake)], "server"),
        ([f"file://{lake}/n/"], "server"),
        ([str(link)], "server"),
        ([str(lake / "n" / "other"), str(lake)[:-1], "s3://lake"], "client"),
    ):
        with closing(proxied(behind, *allowed)) as proxy:
            assert ask(proxy, "GET", TABLE)[1]["config"] == {MODE: mode}, allowed
            if mode == "client":
                status, said = ask(proxy, "POST", TABLE + "/plan", {})
                assert (status, "allow_locations=" in said["error"]["message"]) == (406, True)


VENDED = {"s3.access-key-id": "key", "s3.secret-access-key": "secret", "s3.endpoint": "http://127.0.0.1:1"}


def test_credentials_are_those_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    opener = Opener(["s3://ours/lake"], None, {"aws_access_key_id": "own"})
    of = {
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "endpoint": "http://127.0.0.1:1",
        "allow_http": "true",
    }
    assert opener._how("s3://theirs/t", {"config": VENDED}) == of
    assert opener._how("s3://ours/lake/t", {"config": VENDED}) == of
    assert opener._how("s3://ours/lake/t", {}) == {"aws_access_key_id": "own"}
    credentials = [
        {"prefix": "s3://theirs/t", "config": {**VENDED, "s3.access-key-id": "narrow"}},
        {"prefix": "s3://theirs", "config": VENDED},
        {"prefix": "s3://others", "config": {"s3.access-key-id": "not for this"}},
    ]
    assert opener._how("s3://theirs/t", {"storage-credentials": credentials})["aws_access_key_id"] == "narrow"
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of this server")  # would be sent with keys of another
    for place, answer in (
        ("s3://theirs/t", {"config": VENDED}),
        ("s3://theirs/t", {"config": {"s3.access-key-id": "key"}}),
        ("s3://ours/lakes", {}),
        ("s3://ours", {}),
        ("gs://theirs/t", {"config": {"gcs.oauth2.token": "x"}}),
    ):
        with pytest.raises(mi.UnsupportedFeatureError, match="allow_locations="):
            opener._how(place, answer)
    assert opener._how("s3://theirs/t", {"config": {**VENDED, "s3.session-token": "t"}})["aws_session_token"] == "t"


# The door -------------------------------------------------------------------------------------------------------------


def test_a_proxy_has_no_roots_and_no_token_of_its_own(behind: RestCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    for roots, how in (
        ((str(behind.root),), {}),
        ((), {"token": "x" * 20}),
    ):
        with pytest.raises(mi.ArgumentError, match="leave them out"):
            open_server(*roots, before=behind.uri, **how)
    for uri in ("catalog", "ftp://x", "http://", "https://user:secret@x/", "http://x/?a=b", "http://x:y/"):
        with pytest.raises(mi.ArgumentError, match="named by its URI") as refused:
            open_server(before=uri)
        assert "secret" not in str(refused.value)
    for how in ({"plan_all": True}, {"allow_locations": ["/x"]}):
        with pytest.raises(mi.ArgumentError, match="before"):
            open_server(behind.root / "lake", **how)
    with open_server(before=behind.uri + "/v1/", allow_locations=[str(behind.root)], host="0.0.0.0") as server:
        there = http.client.HTTPConnection("127.0.0.1", urlsplit(server.uri).port)
        there.request("GET", TABLE, headers=HEADERS["java"])
        assert json.loads(there.getresponse().read())["metadata"] == ask_direct(behind)["metadata"]
        there.close()


def test_many_callers_at_once(behind: RestCatalog, proxy: Proxy) -> None:
    def one(number: int) -> int:
        body = {"filter": leaf("eq", number % 50, "id")}
        return len(files(ask(proxy, "POST", TABLE + "/plan", body, **bearer(f"caller-{number % 4}"))[1]))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(64))) == [1] * 64
