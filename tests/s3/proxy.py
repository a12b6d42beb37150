"""A proxy between a client and the S3 server that counts requests and, where told, misbehaves as networks and busy
stores do.

The client's Host header is passed on as it is, so that signatures stay good.
"""

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.figures import count


@dataclass(frozen=True)
class Request:
    """What a client asked. `path` has the query and is percent-encoded, as sent."""

    method: str
    path: str
    headers: dict[str, str]

    @property
    def is_index(self) -> bool:
        return "_metaindex" in self.path

    @property
    def is_list(self) -> bool:
        return self.method == "GET" and "list-type=" in self.path

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.headers.get('range', '')}".rstrip()


@dataclass(frozen=True)
class Fault:
    """What goes wrong with a request: `acts` says whether the server gets it. `status` is answered in place of the
    server's; 0: the connection is closed without an answer. `cut`: so many bytes of the body are answered, then the
    connection is closed."""

    acts: bool
    status: int = 0
    code: str = "InternalError"
    wait_seconds: float = 0.0
    cut: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    more: str = ""  # inside the error's XML
    body: str = ""  # in place of the error's XML


CLOSED = Fault(acts=False)
LOST_ANSWER = Fault(acts=True)
SLOW_DOWN = Fault(acts=False, status=503, code="SlowDown")
BROKEN = Fault(acts=False, status=500)
BROKEN_AFTERWARDS = Fault(acts=True, status=500)
TOO_MANY = Fault(acts=False, status=429, code="TooManyRequests")
CUT_SHORT = Fault(acts=True, cut=5)
TRANSIENT = {
    "closed": CLOSED,
    "answer lost": LOST_ANSWER,
    "503": SLOW_DOWN,
    "500": BROKEN,
    "500 afterwards": BROKEN_AFTERWARDS,
    "429": TOO_MANY,
}
"""What goes by when the request is made again."""

Choose = Callable[[Request], "Fault | None"]


class Proxy:
    """`requests` are all that came, in order. `fault` decides what goes wrong; `fail_next` is the usual way to set
    it."""

    def __init__(self, upstream: int) -> None:
        self.requests: list[Request] = []
        self.fault: Choose = lambda request: None
        self._upstream = upstream
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def fail_next(self, *faults: Fault, where: Callable[[Request], bool] = lambda request: True) -> None:
        """The next requests for which `where` holds go wrong, one fault each; later ones go well."""
        left = list(faults)
        self.fault = lambda request: left.pop(0) if left and where(request) else None

    def fail_always(self, fault: Fault, where: Callable[[Request], bool] = lambda request: True) -> None:
        self.fault = lambda request: fault if where(request) else None

    def reset(self) -> None:
        with self._lock:
            self.requests.clear()
        self.fault = lambda request: None

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def take(self, request: Request) -> Fault | None:
        with self._lock:
            self.requests.append(request)
        return self.fault(request)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._upstream)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of the proxy."""


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            self.upstream = proxy.connect()

        def finish(self) -> None:
            self.upstream.close()
            super().finish()

        def log_message(self, *args: object) -> None:
            pass

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            fault = proxy.take(Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
            if fault is None:
                self._relay(*self._ask(body), None)
                return
            count("faults of a store")
            time.sleep(fault.wait_seconds)
            answer = self._ask(body) if fault.acts else None
            if answer is not None and (fault.cut is not None or (fault.status == 0 and fault.wait_seconds)):
                self._relay(*answer, fault.cut)
            elif fault.status:
                error = f"<Error><Code>{fault.code}</Code><Message>made by the test</Message>{fault.more}</Error>"
                text = (fault.body or error).encode()
                headers = {"Content-Length": str(len(text)), "Content-Type": "application/xml", **fault.headers}
                self._relay(fault.status, list(headers.items()), b"" if self.command == "HEAD" else text, None)
            else:
                self._hang_up()

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _any  # noqa: N815 - names that the base class calls

        def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            self.upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                self.upstream.putheader(name, value)
            self.upstream.endheaders(body or None)
            answer = self.upstream.getresponse()
            data = answer.read()
            headers = [
                (k, v)
                for k, v in answer.getheaders()
                if k.lower() not in ("transfer-encoding", "connection", "content-length")
            ]
            length = answer.getheader("content-length") if self.command == "HEAD" else str(len(data))
            return answer.status, [*headers, ("Content-Length", length or "0")], data

        def _relay(self, status: int, headers: list[tuple[str, str]], body: bytes, cut: int | None) -> None:
            self.send_response_only(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body[:cut])
            self.wfile.flush()
            if cut is not None:
                self._hang_up()

        def _hang_up(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    return Handler
