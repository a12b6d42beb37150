"""A REST catalog to stand before: real HTTP over pyiceberg's SQL catalog, with commits, and tokens of who may what."""

import json
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
from pyiceberg.catalog.rest import CommitTableRequest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

ERRORS: Mapping[type[Exception], int] = {
    NoSuchNamespaceError: 404,
    NoSuchTableError: 404,
    NamespaceAlreadyExistsError: 409,
    TableAlreadyExistsError: 409,
    CommitFailedException: 409,
}
Answer = tuple[int, Any]


class RestCatalog:
    """The catalog, listening. `answers`: what it says in place of its own answers, by method and path; `config`: of
    each table; `forbidden`: tokens that get 403 for tables; `asked`: requests as they came."""

    def __init__(self, root: Path, *, prefix: str = "", tokens: tuple[str, ...] = (), **config: Any) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root, self.prefix, self.tokens = root, prefix, tokens
        self.catalog_config = config
        self.table_config: dict[str, str] = {}
        self.storage_credentials: list[dict[str, Any]] = []
        self.forbidden: set[str] = set()
        self.answers: dict[tuple[str, str], Callable[[Answer], Any]] = {}
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self._sql = SqlCatalog("behind", uri=f"sqlite:///{root}/catalog.db", warehouse=f"file://{root}/lake")
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.uri = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._sql.close()

    def count(self, method: str, ends: str) -> int:
        """How many requests came for a path."""
        return sum(m == method and path.partition("?")[0].endswith(ends) for m, path, *_ in self.asked)

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        url = urlsplit(target)
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self.tokens and bearer not in self.tokens:
            return _error(401, "NotAuthorizedException", "who are you?")
        parts = [unquote(part) for part in url.path.split("/")[1:]]
        if parts == ["v1", "config"]:
            overrides = {"prefix": self.prefix} if self.prefix else {}
            said = {"defaults": {}, "overrides": overrides, **self.catalog_config}
            return 200, said
        if self.prefix and parts[:2] == ["v1", self.prefix]:
            parts = [parts[0], *parts[2:]]
        if bearer in self.forbidden and "tables" in parts:
            return _error(403, "ForbiddenException", "not for you")
        try:
            with self._lock:
                return self._routed(method, parts[1:], parse_qs(url.query), json.loads(body) if body else {})
        except tuple(ERRORS) as error:
            return _error(ERRORS[type(error)], type(error).__name__.replace("Error", "Exception"), str(error))

    def _routed(self, method: str, parts: list[str], query: Any, said: Any) -> Answer:
        sql = self._sql
        match method, parts:
            case "GET", ["namespaces"]:
                parent = tuple(query["parent"][0].split("\x1f")) if "parent" in query else ()
                return 200, {"namespaces": [list(space) for space in sql.list_namespaces(parent)]}
            case "POST", ["namespaces"]:
                sql.create_namespace(tuple(said["namespace"]), said.get("properties") or {})
                return 200, {"namespace": said["namespace"], "properties": {}}
            case "GET", ["namespaces", space]:
                return 200, {
                    "namespace": _parts(space),
                    "properties": dict(sql.load_namespace_properties(_parts(space))),
                }
            case "DELETE", ["namespaces", space]:
                sql.drop_namespace(_parts(space))
                return 204, None
            case "GET", ["namespaces", space, "tables"]:
                found = sql.list_tables(_parts(space))
                return 200, {"identifiers": [{"namespace": list(one[:-1]), "name": one[-1]} for one in found]}
            case "POST", ["namespaces", space, "tables"]:
                return self._created(_parts(space), said)
            case (("GET" | "POST" | "DELETE"), ["namespaces", space, "tables", name]):
                identifier = (*_parts(space), name)
                if method == "GET":
                    return self._loaded(sql.load_table(identifier))
                if method == "DELETE":
                    sql.drop_table(identifier)
                    return 204, None
                named = {"identifier": {"namespace": identifier[:-1], "name": name}, **said}  # Java leaves it out
                return self._committed(identifier, CommitTableRequest.model_validate(named))
            case "POST", ["namespaces", _, "tables", _, "metrics"]:
                return 204, None
        return _error(404, "NotFoundException", f"no such endpoint: {method} {'/'.join(parts)}")

    def _created(self, space: tuple[str, ...], asked: Mapping[str, Any]) -> Answer:
        spec = PartitionSpec.model_validate(asked.get("partition-spec") or {"spec-id": 0, "fields": []})
        table = self._sql.create_table(
            (*space, asked["name"]),
            Schema.model_validate(asked["schema"]),
            location=asked.get("location"),
            partition_spec=spec,
            properties=asked.get("properties") or {},
        )
        return self._loaded(table)

    def _committed(self, identifier: tuple[str, ...], asked: Any) -> Answer:
        table = self._sql.load_table(identifier)
        done = self._sql.commit_table(table, asked.requirements, asked.updates)
        metadata = json.loads(done.metadata.model_dump_json())
        return 200, {"metadata": metadata, "metadata-location": done.metadata_location}

    def _loaded(self, table: Any) -> Answer:
        said: dict[str, Any] = {
            "metadata-location": table.metadata_location,
            "metadata": json.loads(table.metadata.model_dump_json()),
            "config": dict(self.table_config),
        }
        if self.storage_credentials:
            said["storage-credentials"] = self.storage_credentials
        return 200, said

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        catalog = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

            def setup(self) -> None:
                catalog._connections.append(self.request)
                super().setup()

            def _any(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(headers.get("content-length", "0")))
                catalog.asked.append((self.command, self.path, headers, body))
                own = catalog.answers.get((self.command, self.path.partition("?")[0]))
                status, content = catalog.answer(self.command, self.path, headers, body)
                sent = {}
                if own is not None:
                    status, content, *more = own((status, content))
                    sent = more[0] if more else {}
                raw = (
                    content if isinstance(content, bytes) else b"" if content is None else json.dumps(content).encode()
                )
                with suppress(ConnectionError):
                    self.send_response(status)
                    for name, value in {"Content-Type": "application/json", **sent}.items():
                        self.send_header(name, value)
                    if status != 204:
                        self.send_header("Content-Length", str(len(raw)))
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(raw)

            do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = _any  # noqa: N815

        return Handler


def _parts(space: str) -> tuple[str, ...]:
    return tuple(space.split("\x1f"))


def _error(status: int, kind: str, message: str) -> Answer:
    return status, {"error": {"message": message, "type": kind, "code": status}}


def rows(start: int, end: int) -> pa.Table:
    """Rows of a table that the tests make."""
    ids = range(start, end)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([f"user-{n:04d}" for n in ids]),
            "region": pa.array([("eu", "us", "ap")[n % 3] for n in ids]),
        }
    )
