"""The catalog behind the proxy: requests sent on as they came, answers of bounded size.

No redirect is followed, and TLS is verified. Only what changes nothing goes over a connection that was kept: the
catalog may have closed it, and a commit must not be sent twice. One of which something can be read already has an
answer that another caller waits for. Headers hold credentials, and are in no log.
"""

from __future__ import annotations

import http.client
import logging
import re
import select
import ssl
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import unquote, urlsplit

from metaindex.core import ArgumentError
from metaindex.serve.protocol import Request, Response, joined
from metaindex.serve.refusal import Refusal

logger = logging.getLogger("metaindex")

MOST_ANSWER: Final = 64 << 20
_CONNECT_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 120.0
_MOST_IDLE: Final = 32
_OF_A_CONNECTION: Final = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "expect", "host", "content-length", "accept-encoding",
})  # fmt: skip
_OF_AN_ANSWER: Final = _OF_A_CONNECTION | {"content-encoding", "date", "server"}
_PATH: Final = re.compile(r"/v1/[!-~]+")


class Upstream:
    """An Iceberg REST catalog by its URI. For any number of threads."""

    def __init__(self, uri: str) -> None:
        """Raises ArgumentError for what is no URI of HTTP."""
        url = urlsplit(uri)
        with suppress(ValueError):
            if url.scheme in ("http", "https") and url.hostname and not (url.username or url.query or url.fragment):
                self._host, self._port = url.hostname, url.port
                self._tls = ssl.create_default_context() if url.scheme == "https" else None
                self._base = url.path.rstrip("/").removesuffix("/v1")
                self._idle: deque[http.client.HTTPConnection] = deque()
                self.uri = f"{url.scheme}://{url.netloc}{self._base}"
                return
        raise ArgumentError(
            "a proxy stands before a REST catalog, named by its URI, http:// or https://, without credentials or query;"
            " got another text; of a catalog without REST (Hive, Glue, SQL) serve the tables: catalog:NAME"
        )

    def ask(self, request: Request, *, seconds: float = _ANSWER_SECONDS) -> Response:
        """Return the catalog's answer, for which it has so many seconds. Raises Refusal: 503 if it cannot be reached,
        504 if it was asked and its answer is lost, 502 for an answer that is not passed on."""
        if not _PATH.fullmatch(request.target) or _climbs(request.target):
            raise Refusal(
                "paths of a catalog are below /v1, of printable ASCII; this one is not",
                status=404,
                kind="NotFoundException",
            )
        try:
            if request.method in ("GET", "HEAD") and (kept := self._kept()) is not None:
                with suppress(ConnectionError, http.client.HTTPException):  # it was closed just now
                    return self._exchange(kept, request, seconds)
            return self._exchange(self._connected(), request, seconds)
        except (OSError, http.client.HTTPException, ValueError) as error:  # the last: a chunk of no size
            raise self._failed(504, "the catalog's answer was lost; what was asked may be done; look", error) from None

    def close(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            self._idle.pop().close()

    def _kept(self) -> http.client.HTTPConnection | None:
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                waiting = select.poll()
                waiting.register(connection.sock, select.POLLIN)
                if not waiting.poll(0):
                    return connection
                connection.close()
        return None

    def _connected(self) -> http.client.HTTPConnection:
        connection = (
            http.client.HTTPConnection(self._host, self._port, timeout=_CONNECT_SECONDS)
            if self._tls is None
            else http.client.HTTPSConnection(self._host, self._port, timeout=_CONNECT_SECONDS, context=self._tls)
        )
        try:
            connection.connect()
        except OSError as error:
            raise self._failed(503, "the catalog cannot be reached; try again", error) from None
        return connection

    def _failed(self, status: int, what: str, error: Exception) -> Refusal:
        logger.warning("%s does not answer: %s", self.uri, type(error).__name__)
        return Refusal(what, status=status, kind="ServiceUnavailableException" if status == 503 else "ServerError")

    def _exchange(self, connection: http.client.HTTPConnection, request: Request, seconds: float) -> Response:
        try:
            connection.sock.settimeout(seconds)
            connection.request(
                request.method, self._base + request.target, request.body or None, _sent(request.headers)
            )
            answer = connection.getresponse()
            body = answer.read(MOST_ANSWER + 1)
            if answer.status < 200 or (
                answer.length and len(body) <= MOST_ANSWER
            ):  # another follows, or its end is lost
                raise http.client.IncompleteRead(b"")
        except BaseException:
            connection.close()
            raise
        headers = joined(answer.getheaders())
        if len(body) > MOST_ANSWER or headers.get("content-encoding", "identity") != "identity":
            connection.close()
            raise Refusal(
                f"answers of the catalog have at most {MOST_ANSWER:,} bytes, and come as they are; this one does not",
                status=502,
                kind="ServerError",
            )
        if answer.will_close or len(self._idle) >= _MOST_IDLE:
            connection.close()
        else:
            self._idle.append(connection)
        return Response(
            answer.status, body, {name: value for name, value in headers.items() if name not in _OF_AN_ANSWER}
        )


def _climbs(target: str) -> bool:
    """Return whether a path leads out of the folder that the catalog is at."""
    parts = re.split(r"[/\\]", unquote(target.partition("?")[0]))
    return not {".", ".."}.isdisjoint(part.partition(";")[0] for part in parts)  # some servers cut at `;` first


def _sent(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request but those of the connection that it came by."""
    dropped = {name.strip().lower() for name in headers.get("connection", "").split(",")} | _OF_A_CONNECTION
    return {name: value for name, value in headers.items() if name not in dropped}
