"""The server of a catalog: HTTP of the standard library, with bounds.

A connection is a thread; there are at most `MOST_CONNECTIONS`, each of which may wait `IDLE_SECONDS`. Where there is no
room for one more, the one whose client has said nothing whole for longest is closed. A body has at most `MOST_BODY`
bytes, and is awaited only of who may ask. Without a token the server listens on a loopback address alone, and answers
only to its names: a page in a browser must not ask it by a name of its own.
"""

from __future__ import annotations

import contextlib
import gzip
import ipaddress
import logging
import os
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self, cast

from metaindex.core import ArgumentError, Config, Cure, Words
from metaindex.ops import LakeAsked

from .catalog import Catalog, Tables
from .protocol import Answers, Request, Response, Service, joined

logger = logging.getLogger("metaindex")

MOST_CONNECTIONS: Final = 256
MOST_BODY: Final = 8 << 20
MOST_SENT: Final = 512 << 20  # bytes of all answers that are being sent: who reads slowly keeps one in memory
IDLE_SECONDS: Final = 60.0
TOKEN: Final = "METAINDEX_SERVE_TOKEN"  # noqa: S105 - the name of an environment variable
_SMALL = 1 << 14
_LEAVE_SECONDS = 1.0  # for the thread of a connection that was closed


class Server:
    """A server in this process: `with mi.open_server("lake/") as server: ... server.uri`."""

    def __init__(self, service: Answers, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> None:
        self._service = service
        try:
            self._http = _Door(service, host, port, tls)
        except OSError as error:
            raise ArgumentError(
                f"a server listens on a free address of this machine; {host}:{port} is none ({error.strerror})"
            ) from None
        self._thread = threading.Thread(target=self._http.serve_forever, name="metaindex-serve", daemon=True)
        bound = self._http.server_address[1]
        self.uri = f"http{'s' if tls else ''}://{f'[{host}]' if ':' in host else host}:{bound}"
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and end every connection; answers that are being made are sent."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self._service.close()

    def wait(self) -> None:
        """Wait until the server is closed."""
        while self._thread.is_alive():
            self._thread.join(1)  # without an end, libraries with signal handlers of their own keep Ctrl-C out

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<metaindex server at {self.uri}>"


def open_server(
    *roots: object,
    catalog: Mapping[str, str] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    tls: tuple[str, str] | None = None,
    config: Config | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    trust_clients: bool = False,
    before: str | None = None,
    plan_all: bool = False,
    allow_locations: Sequence[str] = (),
) -> Server:
    """Serve tables as a read-only Iceberg REST catalog, which plans with their indexes; or stand before a REST catalog
    and make its plans. Spark, pyiceberg and Polars need its address alone.

    * `roots`: folders of tables, or tables. Below the root `lake/`, the table `lake/sales/orders` is
      `lake.sales.orders`. Or a catalog of Iceberg tables that pyiceberg knows (SQL, Glue, Hive ...), alone:
      `"catalog:NAME"` as pyiceberg is configured for it, its properties, or its handle. Its tables are read with this
      server's rights.
    * `catalog`: properties of that catalog, before those that are configured.
    * `host`, `port`: where it listens; 0 is a free port, which `Server.uri` names.
    * `token`: that each request must bear (default: the environment variable METAINDEX_SERVE_TOKEN). An address that
      other machines reach needs one.
    * `tls`: files of a certificate and of its key.
    * `cache`: a folder that clients can read, too. pyiceberg and Polars read the deletion vectors of Delta tables from
      files that the server writes there.
    * `trust_clients`: make plans for clients that were not tried, too.
    * `before`: URI of an Iceberg REST catalog. Its answers are forwarded under the caller's own credentials, which are
      the ones that count: it takes no roots and no `token`.
    * `plan_all`: say of all its tables that they are planned here, which alone pyiceberg and Polars obey. A table that
      cannot be planned here is then refused by name to those two.
    * `allow_locations`: prefixes of tables that are read with the server's own credentials (`storage_options`) where
      the catalog gives none for them; tables on this machine's disks always need one.

    Raises ArgumentError; StorageError for a root that cannot be looked into.
    """
    token = token if token is not None else os.environ.get(TOKEN) or None
    if before is not None:
        if roots or token is not None:
            raise ArgumentError(
                "a proxy serves the tables of its catalog, to whom the catalog lets in; it was given roots or a token"
                f" of its own; leave them out ({TOKEN}, too), or start another server for them"
            )
        from .proxy.opening import Opener
        from .proxy.service import Proxy
        from .proxy.upstream import Upstream

        opener = Opener(allow_locations, config, storage_options)
        proxy = Proxy(Upstream(before), opener, plan_all=plan_all, trust_clients=trust_clients)
        return Server(proxy, host, port, tls=_context(tls))
    if plan_all or allow_locations:
        raise ArgumentError(
            f"{Cure('argument', 'plan_all')} and {Cure('argument', 'allow_locations')} are of a proxy; no catalog was"
            f" named; give {Cure('argument', 'before')}, too"
        )
    if not isinstance(port, int) or not 0 <= port < 1 << 16:
        raise ArgumentError(f"a port is a whole number below 65,536; got {port!r}")
    if token is None and not _is_loopback(host):
        raise ArgumentError(
            f"a server that other machines reach asks for a token; {host!r} is no loopback address; give one in a file"
            f" ({Cure('argument', 'token')}) or in {TOKEN}"
        )
    if token is not None and (len(token) < 16 or not token.isascii() or not token.isprintable()):
        raise ArgumentError(
            f"a token has 16 printable ASCII characters or more; got {len(token)} characters; make a longer one"
        )
    kept = None if cache is None else os.path.realpath(cache)
    tables: Tables
    asked = [LakeAsked(root, catalog) for root in roots]
    for each in asked:
        each.check()
    if any(each.of_catalog for each in asked):
        from .named import NamedCatalog

        if len(roots) > 1:
            raise ArgumentError("a catalog is served alone; got more beside it; start a server for each")
        tables = NamedCatalog(roots[0], catalog, config=config, storage_options=storage_options)
    else:
        places = [cast("str | os.PathLike[str]", each.place) for each in asked]
        tables = Catalog(places, config=config, storage_options=storage_options, cache=kept)
    return Server(Service(tables, token=token, trust_clients=trust_clients), host, port, tls=_context(tls))


def token_in(path: str) -> str:
    """Read a token from a file. Raises ArgumentError."""
    try:
        return Path(path).read_text("ascii")[:4096].strip()
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"a token is in a readable file of ASCII; {path!r} is not ({type(error).__name__})"
        ) from None


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    return False


def _context(files: tuple[str, str] | None) -> ssl.SSLContext | None:
    if files is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(*files)
    except (OSError, ssl.SSLError) as error:
        raise ArgumentError(
            f"TLS needs the files of a certificate and its key; they cannot be used ({type(error).__name__})"
        ) from None
    return context


class _Door(ThreadingHTTPServer):
    """The listening server of a service."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service: Answers, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._service, self._tls, self._ended = service, tls, False
        self._answer = Words.kept(service.answer)
        self._room, self._lock = threading.BoundedSemaphore(MOST_CONNECTIONS), threading.Lock()
        self._sent = 0
        self._silent: dict[Any, socket.socket] = {}  # connections whose client is waited for, longest first
        names = {"localhost", "127.0.0.1", "[::1]", host, f"[{host}]"}
        self._names = names if _is_loopback(host) and service.allows({}) else None
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self._close_longest()
            if not self._room.acquire(timeout=_LEAVE_SECONDS):
                self.shutdown_request(request)
                return
        self.wait(client_address, request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            request.settimeout(IDLE_SECONDS)
            wrapped = request if self._tls is None else self._tls.wrap_socket(request, server_side=True)
            self.wait(client_address, wrapped)
            super().process_request_thread(wrapped, client_address)
        except (OSError, ssl.SSLError):
            self.shutdown_request(request)
        finally:
            self._heard(client_address)
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.debug("a connection ended", exc_info=True)

    def server_close(self) -> None:
        """Listen no more, and end every connection; one that is answered now, after its answer."""
        super().server_close()
        self._ended = True
        while self._silent:
            self._close_longest()

    def wait(self, client_address: Any, connection: socket.socket) -> None:
        """Note that a request of the client is waited for."""
        with self._lock:
            self._silent.pop(client_address, None)
            self._silent[client_address] = connection
        if self._ended:
            self._close_longest()

    def _heard(self, client_address: Any) -> None:
        with self._lock:
            self._silent.pop(client_address, None)

    def _close_longest(self) -> None:
        """End what waits on the connection that has been silent for longest: its thread closes it."""
        with self._lock:
            connection = self._silent.pop(next(iter(self._silent), None), None)
        if connection is not None:
            with contextlib.suppress(OSError):  # its client may be gone
                connection.shutdown(socket.SHUT_RDWR)

    def refused(self, headers: Mapping[str, str], length: int) -> Response | None:
        """Return the answer to a request that is refused before its body is awaited."""
        if "origin" in headers or (
            self._names is not None and _host_of(headers.get("host", "localhost")) not in self._names
        ):
            return Response.error(
                403,
                "ForbiddenException",
                "no page in a browser is answered; without a token, names of this machine alone",
            )
        if length and not self._service.allows(headers):
            return self._service.not_allowed()
        if "transfer-encoding" in headers or length > MOST_BODY:
            return Response.error(
                413, "BadRequestException", f"a body has a length, of at most {MOST_BODY:,} bytes; this one has not"
            )
        return None

    @contextlib.contextmanager
    def answered(self, client_address: Any, request: Request) -> Iterator[Response]:
        """Yield the answer to a request, which is sent meanwhile."""
        self._heard(client_address)
        response = self._answer(request)
        with self._lock:
            fits = not self._sent or self._sent + len(response.body) <= MOST_SENT
            size = len(response.body) if fits else 0
            self._sent += size
        if not fits:
            response = Response.error(429, "TooManyRequestsException", "large answers are being sent; try again")
        try:
            yield response
        finally:
            with self._lock:
                self._sent -= size


def _host_of(header: str) -> str:
    """Return a Host header without its port."""
    return header if header.endswith("]") else header.rpartition(":")[0] or header


class _Handler(BaseHTTPRequestHandler):
    """HTTP of one connection."""

    server: _Door
    protocol_version = "HTTP/1.1"
    server_version = "metaindex"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its parent's word
        """Log nothing of a request: its headers hold credentials, its path names."""

    def _any(self) -> None:
        headers = joined(self.headers.items())
        said = headers.get("content-length", "0")
        length = int(said) if re.fullmatch("[0-9]{1,9}", said) else MOST_BODY + 1
        plain = not self.headers.defects and not any(re.search("[\0\r\n]", value) for value in headers.values())
        response = (
            self.server.refused(headers, length)
            if plain
            else Response.error(400, "BadRequestException", "a header is a name, a colon and a value in one line")
        )
        if response is not None:
            self.close_connection = True  # its body is not read
            self._send(response, headers)
            return
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        request = Request(self.command, self.path, headers, body)
        with self.server.answered(self.client_address, request) as response:
            self._send(response, headers)
        self.server.wait(self.client_address, self.connection)

    def _send(self, response: Response, headers: Mapping[str, str]) -> None:
        body = response.body
        packed = len(body) > _SMALL and "gzip" in headers.get("accept-encoding", "")
        if packed:
            body = gzip.compress(body, 1)
        self.send_response(response.status)
        for name, value in response.headers.items():
            if name != "content-type":
                self.send_header(name, value)
        if packed:
            self.send_header("Content-Encoding", "gzip")
        if response.status not in (204, 304):
            self.send_header("Content-Type", response.headers.get("content-type", "application/json"))
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and response.status not in (204, 304):
            self.wfile.write(body)

    do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = do_PATCH = _any  # noqa: N815 - names of its parent's
