"""A server that plans carelessly: each plan keeps every file of the version. Whatever is wrong then is the fault of the
tables that it shows, whose own guards alone stand between a client and a wrong answer."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote

import numpy as np

from metaindex.query import Handle
from metaindex.serve.clients import SERVER_PLANS, Client, client_of
from metaindex.serve.refusal import Refusal
from metaindex.serve.served import ServedTable
from metaindex.serve.shown import shown

_BASE = "/v1/{prefix}/namespaces/{namespace}/tables/{table}"


class Careless:
    """Tables by their names in the namespace `lake`. `plans`: the requests for plans that came."""

    def __init__(self, tables: Mapping[str, ServedTable]) -> None:
        self.tables = tables
        self.plans: list[Any] = []
        self.lock = Lock()

    def answer(self, method: str, parts: list[str], body: Any, client: Client) -> Any:
        match method, parts:
            case "GET", ["config"]:
                offered = [f"GET {_BASE}", f"POST {_BASE}/plan"]
                return {"defaults": dict(SERVER_PLANS), "overrides": {}, "endpoints": offered}
            case "GET", ["namespaces", "lake", "tables", name] if name in self.tables:
                loaded = self.tables[name].load(client)
                return {"metadata": loaded.metadata, "config": dict(loaded.config)}
            case "POST", ["namespaces", "lake", "tables", name, "plan"]:
                self.plans.append(body)
                own = bool(body.get("use-snapshot-schema"))
                version = self.tables[name].snapshot(body.get("snapshot-id"), own_schema=own)
                residual = body.get("filter", True)
                statistics = body.get("select") if residual is True else None
                page = version.tasks(np.arange(len(version.snapshot.files)), client, statistics)
                tasks = [{**task, "residual-filter": residual} for task in page.tasks]
                deletes = {"delete-files": list(page.delete_files)} if page.delete_files else {}
                return {"status": "completed", "file-scan-tasks": tasks, **deletes}
            case "POST", [*_, "metrics"]:
                return {}
        kind = "NoSuchTableException" if "tables" in parts else "NoSuchNamespaceException"
        raise Refusal(f"nothing at {method} {parts}", status=404, kind=kind)


@contextmanager
def served(cache: Path | None = None, **paths: Path | str) -> Iterator[tuple[str, Careless]]:
    """Serve tables by their paths; the address, and the server."""
    made = {name: shown(Handle.open(path), None if cache is None else str(cache)) for name, path in paths.items()}
    careless = Careless(made)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            return

        def answered(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            client = client_of({name.lower(): value for name, value in self.headers.items()})
            parts = [unquote(part) for part in self.path.partition("?")[0].strip("/").split("/")][1:]
            status, answer = 200, None
            try:
                with careless.lock:
                    answer = careless.answer(self.command, parts, json.loads(raw) if raw else {}, client)
            except Refusal as refusal:
                status = refusal.status
                answer = {"error": {"message": str(refusal), "type": refusal.kind, "code": refusal.status}}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_HEAD = do_DELETE = answered  # noqa: N815 - the standard library's names

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", careless
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
