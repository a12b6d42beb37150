"""Iceberg's REST protocol, as far as a reader needs it: requests in, answers out, whatever carries them.

    GET    /v1/config                                   plans are made by the server, for clients that were tried
    GET    /v1/namespaces[/{ns}[/tables[/{table}]]]     names, and the metadata of a table (ETag, 304)
    POST   /v1/namespaces/{ns}/tables/{table}/plan      the first page of tasks, and tokens of the others
    POST   /v1/namespaces/{ns}/tables/{table}/tasks     a page by its token
    DELETE .../plan/{id}, POST .../metrics              nothing is kept to be cancelled or counted
    GET    /health                                      without a token

All else is refused: the catalog is read only.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, cast
from urllib.parse import parse_qs, unquote, urlsplit

from metaindex.core import (
    CorruptTableError,
    MetaIndexError,
    NotATableError,
    ObjectNotFoundError,
    OutsideTableError,
    StorageError,
    StoragePermissionError,
    UnsupportedFeatureError,
    dataclass,
)

from .catalog import Namespace, Tables, no_such_namespace
from .clients import SERVER_PLANS, Client, client_of
from .plans import Plans, Scan
from .refusal import Refusal
from .served import NOWHERE, Json

logger = logging.getLogger("metaindex")

_NAMESPACE = "/v1/{prefix}/namespaces/{namespace}"
_TABLE = f"{_NAMESPACE}/tables/{{table}}"
ENDPOINTS: Final = (  # without the DELETE of a plan: Java would send one for each
    "GET /v1/{prefix}/namespaces",
    f"GET {_NAMESPACE}",
    f"HEAD {_NAMESPACE}",
    f"GET {_NAMESPACE}/tables",
    f"GET {_TABLE}",
    f"HEAD {_TABLE}",
    f"POST {_TABLE}/plan",
    f"GET {_TABLE}/plan/{{plan-id}}",
    f"POST {_TABLE}/tasks",
    f"POST {_TABLE}/metrics",
)
_MOST_ANSWERS: Final = 240
"""That are made at once: fewer than connections, so that a catalog that lets all wait leaves `/health` some."""
SEPARATOR: Final = "\x1f"
"""Between the parts of a namespace, as REST writes it."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came. Names of headers are in small letters."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: JSON, or nothing."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, content: object, status: int = 200) -> Response:
        """Return the answer of a JSON value."""
        return cls(status, json.dumps(content).encode())

    @classmethod
    def error(cls, status: int, kind: str, message: str) -> Response:
        """Return the answer that the protocol has for errors."""
        return cls.of({"error": {"message": message, "type": kind, "code": status}}, status)


def joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by their names in small letters. One that is repeated is a list (RFC 9110), so that none of two
    lengths, hosts or credentials is believed."""
    known: dict[str, str] = {}
    for name, value in headers:
        known[name.lower()] = f"{known[name.lower()]}, {value}" if name.lower() in known else value
    return known


class Answers(ABC):
    """Answers requests. Holds no state but caches; for any number of threads."""

    def __init__(self, *, token: str | None = None, trust_clients: bool = False, most_plans: int = 64) -> None:
        """`token`: that each request must bear. `most_plans`: of plans, pages and tables at once; others are told to
        come back."""
        self._token, self._trusted = token, trust_clients
        self._plans = threading.BoundedSemaphore(most_plans)
        self._room = threading.BoundedSemaphore(_MOST_ANSWERS)

    def allows(self, headers: Mapping[str, str]) -> bool:
        """Return whether the request bears the token, if one is asked for."""
        said = headers.get("authorization", "")
        return self._token is None or hmac.compare_digest(said.encode(), f"Bearer {self._token}".encode())

    def not_allowed(self) -> Response:
        """Return the answer to a request that does not bear the token."""
        return Response.error(
            401, "NotAuthorizedException", "a request bears the token of this server; this one does not"
        )

    def health(self) -> Response:
        """Return whether requests can be answered now."""
        return Response.of({"status": "ok"})

    def close(self) -> None:  # noqa: B027 - mostly there is nothing
        """Let go of what is held open."""

    def answer(self, request: Request) -> Response:
        """Return the answer to a request, whatever it is."""
        try:
            url = urlsplit(request.target)
        except ValueError:
            return Response.error(
                400, "BadRequestException", "a request names a path of this server; this one does not"
            )
        if url.path == "/health" and request.method in ("GET", "HEAD"):
            return self.health()
        if not self.allows(request.headers):
            return self.not_allowed()
        if not self._room.acquire(blocking=False):
            return Response.error(429, "TooManyRequestsException", "many requests wait for answers already; try again")
        try:
            return self._routed(request, url.path, url.query)
        except Refusal as refused:
            return Response.error(refused.status, refused.kind, str(refused))
        except NotATableError as error:
            return Response.error(404, "NoSuchTableException", str(error))
        except (UnsupportedFeatureError, CorruptTableError, OutsideTableError) as error:
            return Response.error(406, "UnsupportedOperationException", str(error))
        except ObjectNotFoundError as error:
            logger.warning("a table could not be read: %s", error)
            return Response.error(
                404, "NoSuchTableException", "a file of the table is not where its catalog, or its metadata, names it"
            )
        except StoragePermissionError as error:
            logger.warning("a table may not be read: %s", error)
            return Response.error(403, "ForbiddenException", "the table's store lets this server not read it")
        except StorageError as error:
            logger.warning("a table could not be read: %s", error)
            return Response.error(503, "ServiceUnavailableException", "a store or a catalog does not answer; try again")
        except MetaIndexError as error:
            return Response.error(400, "BadRequestException", str(error))
        except Exception:
            logger.exception("a request failed")
            return Response.error(500, "InternalServerError", "the server failed at this request; its log says why")
        finally:
            self._room.release()

    @abstractmethod
    def _routed(self, request: Request, path: str, query: str) -> Response:
        """Return the answer to a request that is allowed. Raises MetaIndexError."""

    def _of_plan(self, plans: Plans, request: Request, rest: Sequence[str], client: Client) -> Response:
        """Return the answer of a table that is planned here, but for its metadata."""
        match request.method, rest:
            case "POST", ["plan"]:
                return self._in_turn(lambda: Response(200, plans.plan(Scan.read(read_json(request.body)), client)))
            case "POST", ["tasks"]:
                match read_json(request.body):
                    case {"plan-task": str(token)}:
                        return self._in_turn(lambda: Response(200, plans.page(token, client)))
                raise Refusal("a page is asked by its plan-task, a text; got something else")
            case "DELETE", ["plan", _]:
                return Response(204)
            case "GET", ["plan", _]:
                raise Refusal(
                    "plans are complete when they are made; none waits", status=404, kind="NoSuchPlanIdException"
                )
        raise _unknown(request)

    def _in_turn(self, made: Callable[[], Response]) -> Response:
        self._take_room()
        try:
            return made()
        finally:
            self._plans.release()

    def _take_room(self) -> None:
        if not self._plans.acquire(blocking=False):
            raise Refusal("the server makes many plans already; try again", status=429, kind="TooManyRequestsException")


class Service(Answers):
    """A catalog of its own: read only, and without any state but caches of immutable things."""

    def __init__(
        self, catalog: Tables, *, token: str | None = None, trust_clients: bool = False, most_plans: int = 64
    ) -> None:
        super().__init__(token=token, trust_clients=trust_clients, most_plans=most_plans)
        self._catalog = catalog

    def _routed(self, request: Request, path: str, query: str) -> Response:
        parts = [unquote(part) for part in path.split("/")[1:]]
        if parts and not parts[-1]:
            parts.pop()
        if parts[:1] != ["v1"]:
            raise _unknown(request)
        client = client_of(request.headers, trusted=self._trusted)
        match request.method, parts[1:]:
            case "GET", ["config"]:
                defaults = SERVER_PLANS if client.tried else {}
                return Response.of({"defaults": defaults, "overrides": {}, "endpoints": list(ENDPOINTS)})
            case "GET", ["namespaces"]:
                parent = parse_qs(query).get("parent", [""])[0]
                spaces = self._catalog.namespaces(_namespace(parent) if parent else ())
                return Response.of({"namespaces": [list(space) for space in spaces]})
            case (("GET" | "HEAD"), ["namespaces", namespace]):
                space = _namespace(namespace)
                self._catalog.namespaces(space)
                return (
                    Response(204)
                    if request.method == "HEAD"
                    else Response.of({"namespace": list(space), "properties": {}})
                )
            case "GET", ["namespaces", namespace, "tables"]:
                space = _namespace(namespace)
                tables = [{"namespace": list(space), "name": name} for name in self._catalog.tables(space)]
                return Response.of({"identifiers": tables})
            case _, ["namespaces", namespace, "tables", name, *rest]:
                return self._of_table(request, _namespace(namespace), name, rest, client)
        raise _unknown(request)

    def _of_table(self, request: Request, space: Namespace, name: str, rest: Sequence[str], client: Client) -> Response:
        plans = self._catalog.table(space, name)
        try:
            match request.method, rest:
                case "HEAD", []:
                    return Response(204)
                case "GET", []:
                    return self._in_turn(lambda: _loaded(plans, client, request.headers.get("if-none-match")))
                case "POST", ["metrics"]:
                    return Response(204)
            return self._of_plan(plans, request, rest, client)
        except NotATableError:
            self._catalog.forget(space, name)
            raise


def _loaded(plans: Plans, client: Client, known: str | None) -> Response:
    with plans.lock:
        loaded = plans.table.load(client)
    kept = cast(Json, loaded.metadata.get("properties") or {})
    properties = {**kept, "write.data.path": NOWHERE, "write.metadata.path": NOWHERE}  # a writer leaves nothing behind
    metadata = {**loaded.metadata, "properties": properties}
    content: dict[str, object] = {"metadata": metadata, "config": dict(loaded.config)}
    if loaded.location is not None:
        content["metadata-location"] = loaded.location
    return tagged(content, known)


def tagged(content: object, known: str | None) -> Response:
    """Return a JSON value with its ETag; 304 where that is `known`."""
    body = json.dumps(content).encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if known is not None and etag.strip('"') in known:
        return Response(304, b"", {"ETag": etag})
    return Response(200, body, {"ETag": etag})


def _namespace(text: str) -> Namespace:
    parts = tuple(text.split(SEPARATOR))
    if not all(parts):
        raise no_such_namespace(parts)
    return parts


def read_json(body: bytes) -> object:
    """Parse a body. Raises Refusal."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(
            f"a body is JSON of UTF-8, not nested too deep; this one is not ({type(error).__name__})"
        ) from None


def _unknown(request: Request) -> Refusal:
    return Refusal.unsupported(
        f"the catalog is read only and has no other endpoints; {request.method[:10]} of this path is none"
    )
