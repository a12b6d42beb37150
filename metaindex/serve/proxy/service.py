"""Answers of the proxy: the catalog's own, but for three.

    GET  /v1/config                  the catalog's, with the endpoints of plans
    GET  .../tables/{table}          the catalog's, with who plans: this server, where it can, else the client
    POST .../tables/{table}/plan     made here, as are its pages (`tasks`)

Each plan loads its table as the caller, with the caller's headers; pages use what that caller loaded, for a minute.
What the catalog refuses is refused. What it says of scan planning stands, and its plans are its own.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote, urlencode

from metaindex.core import BoundedCache, dataclass
from metaindex.serve.clients import SERVER_PLANS, Client, client_of
from metaindex.serve.plans import Plans
from metaindex.serve.protocol import ENDPOINTS, Answers, Request, Response, tagged
from metaindex.serve.refusal import Refusal
from metaindex.serve.served import Json

from .opening import Opener
from .upstream import Upstream

logger = logging.getLogger("metaindex")

_TABLE: Final = re.compile(
    r"(?P<table>/v1/(?:(?P<prefix>.+)/)?namespaces/[^/]+/tables/[^/]+)(?:/(?P<rest>tasks|plan|plan/[^/]+))?"
)
_PLANS: Final = [endpoint for endpoint in ENDPOINTS if endpoint.endswith(("/plan", "/plan/{plan-id}", "/tasks"))]
_SPACES: Final = "/v1/{prefix}/namespaces"
_SPACE: Final = f"{_SPACES}/{{namespace}}"
_UNSAID: Final = [
    *(f"{method} {_SPACES}" for method in ("GET", "POST")),
    *(f"{method} {_SPACE}" for method in ("GET", "DELETE")),
    *(f"{method} {_SPACE}/tables" for method in ("GET", "POST")),
    *(f"{method} {_SPACE}/tables/{{table}}" for method in ("GET", "POST", "DELETE")),
    *(f"POST {_SPACE}/{what}" for what in ("properties", "register", "tables/{table}/metrics")),
    *(f"POST /v1/{{prefix}}/{what}" for what in ("tables/rename", "transactions/commit")),
]
"""Endpoints of a catalog that names none, as the specification says."""
_VIEWS: Final = [
    *(f"{method} {_SPACE}/views" for method in ("GET", "POST")),
    *(f"{method} {_SPACE}/views/{{view}}" for method in ("GET", "POST", "DELETE")),
    "POST /v1/{prefix}/views/rename",
]
_MODE: Final = "scan-planning-mode"
_UNKNOWN: Final = "unknown"
_OF_NOBODY: Final = frozenset({
    "accept", "accept-encoding", "accept-language", "cache-control", "connection", "content-encoding",
    "content-length", "content-type", "host", "idempotency-key", "if-none-match", "keep-alive", "traceparent",
    "tracestate", "user-agent", "x-client-git-commit-short", "x-client-version", "x-request-id",
})  # fmt: skip
"""Headers that say nothing of who asks. Any other may."""
_OF_THE_BODY: Final = frozenset(("content-length", "content-type", "idempotency-key", "if-none-match"))
TABLE_SECONDS: Final = 60.0
_CONFIG_SECONDS: Final = 600.0
_OPEN_SECONDS: Final = 300.0
"""How long a table stays open with the credentials that it was opened with: a third of the least that stores give."""
_LONGEST_OPENING: Final = 60.0
_HEALTH_SECONDS: Final = 5.0
_MOST_TABLES: Final = 256


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A table as one caller loaded it. `ours`: what makes its plans here, and whether for all
    clients that were tried; or why not. None: the catalog makes them."""

    file: object
    opened: float
    ours: Future[tuple[Plans, bool]] | None
    until: float

    def made(self, seconds: float) -> tuple[Plans, bool]:
        """Return what is ours, waiting so long for it. Raises why there is none."""
        assert self.ours is not None
        try:
            return self.ours.result(seconds)
        except TimeoutError:
            raise Refusal(
                "a table is planned once it is open; this one takes long to open; try again",
                status=503,
                kind="ServiceUnavailableException",
            ) from None
        except Exception as error:  # noqa: BLE001 - what it was grows a traceback, which holds each request that raised it
            raise error.with_traceback(None) from None

    def lasts(self, now: float) -> bool:
        """Return whether it stays open for another answer that names the same metadata file."""
        if self.ours is None:
            return False
        failed = self.ours.exception() if self.ours.done() else None
        if isinstance(failed, Refusal):  # for want of room
            return False
        return now - self.opened < (_OPEN_SECONDS if failed is None else TABLE_SECONDS)


class Proxy(Answers):
    """The answers of an Iceberg REST catalog, with plans by the indexes."""

    def __init__(
        self,
        upstream: Upstream,
        opener: Opener,
        *,
        plan_all: bool = False,
        trust_clients: bool = False,
        most_plans: int = 64,
        opening_seconds: float = 1.0,
    ) -> None:
        """`plan_all`: say `server` of the whole catalog, which alone pyiceberg obeys. `opening_seconds`: how long an
        answer to LoadTable waits for the table to be opened; the client plans one that takes longer."""
        super().__init__(trust_clients=trust_clients, most_plans=most_plans)
        self._upstream, self._opener, self._plan_all, self._seconds = upstream, opener, plan_all, opening_seconds
        self._tables: BoundedCache[tuple[str, str], _Loaded] = BoundedCache(_MOST_TABLES)
        self._modes: BoundedCache[tuple[str, str], tuple[float, str]] = BoundedCache(1024)
        self._queries: BoundedCache[str, str] = BoundedCache(256)
        self._healthy: tuple[float, bool] = (0.0, False)
        self._looking = threading.Lock()
        self._looker: threading.Thread | None = None
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(4, "metaindex-open")

    def close(self) -> None:
        """Let go of connections and threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._upstream.close()

    def health(self) -> Response:
        """Return whether the catalog can be reached, as seen in the last seconds. One request looks, others wait."""
        with self._looking:
            if time.monotonic() - self._healthy[0] > _HEALTH_SECONDS:
                if self._looker is None or not self._looker.is_alive():
                    self._looker = threading.Thread(target=self._look, name="metaindex-health", daemon=True)
                    self._looker.start()
                self._looker.join(_HEALTH_SECONDS)
                if self._looker.is_alive():  # its answer comes byte by byte
                    self._healthy = time.monotonic(), False
            healthy = self._healthy[1]
        said = {"status": "ok" if healthy else "unavailable", "catalog": "reachable" if healthy else "unreachable"}
        return Response.of(said, 200 if healthy else 503)

    def _look(self) -> None:
        healthy = False
        try:
            healthy = self._upstream.ask(Request("GET", "/v1/config"), seconds=_HEALTH_SECONDS).status < 500
        except Refusal:
            logger.debug("the catalog does not answer", exc_info=True)
        finally:
            self._healthy = time.monotonic(), healthy

    def _routed(self, request: Request, path: str, query: str) -> Response:
        client = client_of(request.headers, trusted=self._trusted)
        if (request.method, path) == ("GET", "/v1/config"):
            return self._config(request, query, client)
        named = _TABLE.fullmatch(path)
        if named is None or not client.tried or (named["rest"] is None and request.method != "GET"):
            return self._upstream.ask(request)
        asked = _Asked(request, named["table"], unquote(named["prefix"] or ""))
        if named["rest"] is None:
            return self._load(asked, request.target, client)
        return self._plan(asked, named["rest"].split("/"), replace(client, more_specs=False))

    # -- config ----------------------------------------------------------------------------------------------------

    def _config(self, request: Request, query: str, client: Client) -> Response:
        answer = self._upstream.ask(request)
        said = _read(answer)
        if said is None or self._note(_caller(request), query, said) or not client.tried:
            return answer
        views = str(_defaults(said).get("view-endpoints-supported")).lower() == "true"
        endpoints = said.get("endpoints") or [*_UNSAID, *(_VIEWS if views else ())]
        content = {**said, "endpoints": [*endpoints, *(plan for plan in _PLANS if plan not in endpoints)]}
        for part in ("defaults", "overrides"):  # with a URI of its own the client would ask there
            content[part] = {name: value for name, value in _object(said, part).items() if name != "uri"}
        if self._plan_all:
            content["defaults"] |= SERVER_PLANS
        return _changed(answer, Response.of(content))

    def _note(self, caller: str, query: str, said: Mapping[str, Any]) -> str:
        """Keep what the catalog says of scan planning to a caller, by the prefix of its paths."""
        prefix, mode = _prefix(said), "".join(str(_defaults(said).get(word, "")) for word in SERVER_PLANS)
        self._modes.keep((caller, prefix), (time.monotonic() + _CONFIG_SECONDS, mode))
        self._queries.keep(prefix, query)
        return mode

    def _mode(self, asked: _Asked) -> str:
        """Return what the catalog says of scan planning to a caller; where it was not heard here, it is asked."""
        caller, prefix = asked.key[0], asked.prefix
        until, mode = self._modes.find((caller, prefix)) or (0.0, "")
        if time.monotonic() < until:
            return mode
        for query in dict.fromkeys([self._queries.find(prefix) or "", urlencode({"warehouse": prefix}), ""]):
            said = _read(self._upstream.ask(asked.loading(f"/v1/config?{query}")))
            if said is not None and _prefix(said) == prefix:
                return self._note(caller, query, said)
        self._modes.keep((caller, prefix), (time.monotonic() + TABLE_SECONDS, _UNKNOWN))
        return _UNKNOWN

    # -- tables ----------------------------------------------------------------------------------------------------

    def _load(self, asked: _Asked, target: str, client: Client) -> Response:
        """Return the catalog's answer to LoadTable, with who plans the table."""
        answer, loaded, content = self._loaded(asked, target)
        if loaded is None or loaded.ours is None:
            return answer
        try:
            _, for_all = loaded.made(self._seconds)
            mode = "server" if for_all or not client.obeys_tables else "client"
        except Exception as error:  # noqa: BLE001 - whatever it is, the client plans
            logger.info("the client plans %s: %s", asked.key[1], error)
            mode = "client"
        content = {**content, "config": {**_object(content, "config"), _MODE: mode}}
        return _changed(answer, tagged(content, asked.request.headers.get("if-none-match")))

    def _plan(self, asked: _Asked, rest: list[str], client: Client) -> Response:
        """Return the answer to a request for a plan, by the table as this caller loads it now; or to one for a page, by
        what was loaded in the last minute. A filter names columns by the client's schema, which no older one may read.
        """
        loaded = None if rest == ["plan"] else self._tables.find(asked.key)
        if loaded is not None and time.monotonic() < loaded.until:
            return self._answered(loaded, asked.request, rest, client)
        answer, loaded, _ = self._loaded(asked, f"{asked.key[1]}?snapshots=refs")
        return answer if loaded is None else self._answered(loaded, asked.request, rest, client)

    def _answered(self, loaded: _Loaded, request: Request, rest: list[str], client: Client) -> Response:
        if loaded.ours is None:
            return self._upstream.ask(request)
        return self._of_plan(loaded.made(_LONGEST_OPENING)[0], request, rest, client)

    def _loaded(self, asked: _Asked, target: str) -> tuple[Response, _Loaded | None, dict[str, Any]]:
        """Load a table as the caller: the catalog's answer; what is kept of it, and its content, if it has a table."""
        answer = self._upstream.ask(asked.loading(target))
        content = _read(answer)
        if content is None:
            self._tables.take(asked.key)
            return answer, None, {}
        stands = not SERVER_PLANS.keys().isdisjoint(_object(content, "config")) or self._mode(asked) != ""
        now, file = time.monotonic(), content.get("metadata-location")
        until = now + TABLE_SECONDS
        with self._lock:
            known = self._tables.find(asked.key)
            if stands:
                loaded = _Loaded(file, now, None, until)
            elif known is not None and known.file == file and known.lasts(now):
                loaded = replace(known, until=until)
            else:
                loaded = _Loaded(file, now, self._opening(asked.key[1], content), until)
            return answer, self._tables.keep(asked.key, loaded), content

    def _opening(self, path: str, content: Json) -> Future[tuple[Plans, bool]]:
        """Open a table in another thread. It counts as a plan until it is open: who asks in ever other names must not
        fill the memory with what waits."""
        ours: Future[tuple[Plans, bool]] = Future()
        try:
            self._take_room()
        except Refusal as busy:
            ours.set_exception(busy)
            return ours
        ours = self._pool.submit(self._opened, path, content)
        ours.add_done_callback(lambda _: self._plans.release())
        return ours

    def _opened(self, path: str, content: Json) -> tuple[Plans, bool]:
        table, for_all = self._opener.table(content)
        return Plans([path], table), for_all


# Requests and answers -------------------------------------------------------------------------------------------------


class _Asked:
    """A request of a table. `key`: the caller, by all headers that may say who that is, and the table's path."""

    def __init__(self, request: Request, table: str, prefix: str) -> None:
        self.request, self.prefix, self.key = request, prefix, (_caller(request), table)

    def loading(self, target: str) -> Request:
        """Return a request of the same caller for something else."""
        headers = {name: value for name, value in self.request.headers.items() if name not in _OF_THE_BODY}
        return Request("GET", target, headers)


def _caller(request: Request) -> str:
    text = json.dumps(sorted(item for item in request.headers.items() if item[0] not in _OF_NOBODY))
    return hashlib.sha256(text.encode()).hexdigest()


def _read(answer: Response) -> dict[str, Any] | None:
    """Return the JSON object of an answer; None for an error, and for what is none."""
    if answer.status != 200:
        return None
    try:
        content = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _object(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = content.get(name)
    return value if isinstance(value, dict) else {}


def _defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    return {**_object(config, "defaults"), **_object(config, "overrides")}


def _prefix(config: Mapping[str, Any]) -> str:
    """Return the prefix of paths. Some catalogs name it as it stands in them, some before it is encoded."""
    return unquote(str(_defaults(config).get("prefix", "")))


def _changed(answer: Response, to: Response) -> Response:
    """Return another answer, with the headers that the catalog sent."""
    kept = {name: value for name, value in answer.headers.items() if name not in ("etag", "content-type")}
    return Response(to.status, to.body, {**kept, **to.headers})
