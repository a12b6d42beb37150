"""Opens a bucket with obstore: from the environment and the user's storage options, with bounded retries.

Credentials come from the store's usual variables (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN,
AWS_ENDPOINT_URL, AWS_REGION, AWS_ALLOW_HTTP ...), from the machine's or container's role, or from storage options; they
stay inside the client.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from metaindex.core import BoundedCache, MissingDependencyError, StorageError

from .errors import clean

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "azure": "az",
    "abfs": "abfs",
    "abfss": "abfss",
    "memory": "memory",
}
"""Schemes that are known, each with the spelling that names the store."""

_CLIENT_OPTIONS = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "http1_only",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_url",
        "timeout",
        "user_agent",
    }
)
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_PREFIXES = ("AWS_", "GOOGLE_", "AZURE_", "SERVICE_ACCOUNT", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_clients: BoundedCache[tuple[object, ...], ObjectStore] = BoundedCache(16)
MAX_RETRIES = 8
RETRY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Opened:
    """A bucket's client; `base` is its URI without a trailing slash. `unproven`: the endpoint of a store of which it is
    to be seen whether put-if-absent holds; empty where its maker promises it."""

    store: ObjectStore
    base: str
    key: str
    unproven: str
    single_writer: bool


def open_bucket(uri: str, storage_options: Mapping[str, str] | None = None) -> Opened:
    """Open a bucket. `storage_options`: obstore's keys (`aws_access_key_id`, `endpoint`, `allow_http` ...);
    `max_retries` and `retry_timeout` (seconds) bound the retries, with exponential back-off and jitter; `single_writer`
    declares that nobody else writes.

    Raises StorageError for a URI or an option that cannot be, MissingDependencyError without obstore.
    """
    scheme, separator, rest = uri.partition("://")
    if not separator or scheme not in SCHEMES:
        known = ", ".join(sorted(f"{s}://" for s in SCHEMES))
        raise StorageError(f"no storage for {clean(uri)!r}: known are local paths, file: and {known}")
    bucket, _, key = rest.partition("/")
    if "?" in bucket or ("@" in bucket and (":" in bucket or not scheme.startswith("abfs"))):
        raise StorageError(
            "a store's URI holds no credentials; this one does; leave them out and set them in the environment or in"
            " storage_options"
        )
    base = f"{SCHEMES[scheme]}://{bucket}"
    options: dict[str, Any] = dict(storage_options or {})
    single_writer = str(options.pop("single_writer", "false")).lower() == "true"
    store = _shared(base if bucket else base + "/", options) if scheme != "memory" else _opened(base + "/", {})
    return Opened(store, base, key.strip("/"), _unproven(SCHEMES[scheme], options), single_writer)


def _shared(base: str, options: dict[str, Any]) -> ObjectStore:
    """Return one client, with its open connections, for all stores opened with the same options in the same
    environment. Changed credentials make another client."""
    said = tuple((name, value) for name, value in sorted(os.environ.items()) if name.startswith(_PREFIXES))
    key = (base, tuple(sorted(options.items())), said, os.getpid())
    return _clients.find(key) or _clients.keep(key, _opened(base, options))


def _opened(base: str, options: dict[str, Any]) -> ObjectStore:
    try:
        from obstore.store import from_url
    except ImportError as error:
        scheme = base.partition("://")[0]
        raise MissingDependencyError.lacking(f"{scheme}://", "obstore") from error
    options = dict(options)
    client = {k: _plain(options.pop(k)) for k in list(options) if k in _CLIENT_OPTIONS}
    if client and base.startswith("s3:"):  # obstore then takes none from the environment
        client.setdefault("allow_http", os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true")
    retry = _retry(options.pop("max_retries", MAX_RETRIES), options.pop("retry_timeout", RETRY_SECONDS))
    if not base.startswith("memory:"):
        options = {"client_options": client or None, "retry_config": retry, **options}
    try:
        return from_url(base, **options)
    except Exception as error:  # noqa: BLE001 - every class of obstore's is its own; the message may hold option values
        names = ", ".join(sorted(options.keys() - {"client_options", "retry_config"})) or "none was given"
        raise StorageError(
            f"cannot open {base!r} ({type(error).__name__}); check the names in storage_options: {names}"
        ) from None


def patient(store: ObjectStore, timeout: str) -> ObjectStore:
    """Return a copy of the client with a time-out for requests: the user's own, or this one. It is copied as for
    another process. Stores in memory and on disk have no requests and are returned as they are."""
    again = getattr(store, "__getnewargs_ex__", None)
    if again is None or not hasattr(store, "client_options"):
        return store
    positional, named = again()
    named, own = dict(named), named.get("client_options")
    if own or type(store).__name__ != "S3Store":
        named["client_options"] = {"timeout": timeout, **(own or {})}
    else:  # with client options of its own obstore would take none from the environment: `AWS_ALLOW_HTTP`, a proxy
        named["config"] = {**named.get("config", {}), "timeout": timeout}
    if store.retry_config is not None:
        named["retry_config"] = store.retry_config
    return type(store)(*positional, **named)


def _retry(most: object, seconds: object) -> dict[str, Any]:
    try:
        return {
            "max_retries": int(str(most)),
            "retry_timeout": timedelta(seconds=float(str(seconds))),
            "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
        }
    except ValueError:
        raise StorageError(
            f"max_retries is a count and retry_timeout is in seconds; got {most!r} and {seconds!r}"
        ) from None


def _unproven(scheme: str, options: Mapping[str, object]) -> str:
    """Amazon S3, Google's and Microsoft's stores promise conditional puts. What else speaks S3 may ignore the
    condition, or not know it."""
    if scheme != "s3":
        return ""
    if any(str(options.get(k, "etag")).lower() == "disabled" for k in ("conditional_put", "aws_conditional_put")):
        return "conditional_put=disabled"
    said = [str(value) for key, value in options.items() if "endpoint" in key.lower() and value]
    endpoint = said[0] if said else next((os.environ[n] for n in _ENDPOINTS if os.environ.get(n)), "")
    host = urlsplit(endpoint).hostname or ""
    return "" if host.endswith((".amazonaws.com", ".amazonaws.com.cn")) else endpoint


def _plain(value: object) -> object:
    """Return an option's "true" or "false" as a bool, which the client options require."""
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value
