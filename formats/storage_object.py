"""Storage on an object store (S3, GCS, Azure, or obstore's own memory and local stores), over obstore.

put_if_absent is the store's conditional put. Retries are obstore's (bounded, with backoff). Credentials come from
the standard environment or from `storage_options`; they are held by obstore alone, and no repr or error shows them.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from expressions.errors import (
    MissingDependencyError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoragePermissionError,
)

from .storage import ObjectInfo
from .storage_ranges import open_ranges

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_SCHEMES = {
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


@dataclass(frozen=True, slots=True)
class ObjectStorage:
    """The objects of a bucket (`base`, a URI without a trailing slash) below the key `prefix`."""

    store: ObjectStore = field(repr=False)
    base: str
    prefix: str = ""

    @classmethod
    def from_uri(cls, uri: str, storage_options: Mapping[str, str] | None = None) -> ObjectStorage:
        """Opens the bucket of `uri`. `storage_options` are obstore's keys (`aws_access_key_id`, `endpoint`,
        `allow_http` ...)."""
        scheme, separator, rest = uri.partition("://")
        if not separator or scheme not in _SCHEMES:
            known = ", ".join(sorted(f"{s}://" for s in _SCHEMES))
            raise StorageError(f"no storage for {_clean(uri)!r}: known are local paths, file: and {known}")
        try:
            from obstore.store import from_url
        except ImportError as error:
            raise MissingDependencyError(
                f"{scheme}:// needs the package obstore: pip install 'metaindex[s3]'"
            ) from error
        bucket, _, key = rest.partition("/")
        base = f"{_SCHEMES[scheme]}://{bucket}"
        options = dict(storage_options or {})
        client: dict[str, Any] = {k: _plain(options.pop(k)) for k in list(options) if k in _CLIENT_OPTIONS}
        try:
            store = from_url(base if bucket else base + "/", client_options=client or None, **options)
        except Exception as error:  # noqa: BLE001 - every class of obstore's is its own; the message may hold option values
            names = ", ".join(sorted(options))
            raise StorageError(
                f"cannot open {base!r} ({type(error).__name__}); check the names in storage_options: {names}"
            ) from None
        return cls(store, base, key.strip("/"))

    @property
    def root(self) -> str:
        return f"{self.base}/{self.prefix}" if self.prefix else self.base

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        import obstore

        folder = self._key(prefix)
        # What is cut from, or put before, a key so that the caller sees it as he named the prefix.
        absolute = "://" in prefix
        cut = 0 if absolute or not self.prefix else len(self.prefix) + 1
        before = self.base + "/" if absolute else ""
        after = self._key(start_after) if start_after else None
        found: list[Mapping[str, Any]] = []
        with _errors(self.uri(prefix), "list"):
            if recursive or after is not None:
                for page in obstore.list(self.store, folder or None, offset=after):
                    found.extend(page)
            else:
                found.extend(obstore.list_with_delimiter(self.store, folder or None)["objects"])
        depth = len(folder) + 1 if folder else 0
        kept = [m for m in found if after is None or m["path"] > after]
        if not recursive:
            kept = [m for m in kept if "/" not in m["path"][depth:]]
        kept.sort(key=lambda m: m["path"])  # not every store lists in order
        for meta in kept:
            yield _info(before + meta["path"][cut:], meta)

    def folders(self, prefix: str) -> builtins.list[str]:
        import obstore

        with _errors(self.uri(prefix), "list"):
            found = obstore.list_with_delimiter(self.store, self._key(prefix) or None)["common_prefixes"]
        return sorted(one.rstrip("/").rpartition("/")[2] for one in found)

    def head(self, path: str) -> ObjectInfo:
        import obstore

        with _errors(self.uri(path), "look at"):
            return _info(path, obstore.head(self.store, self._key(path)))

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        import obstore

        where, key = self.uri(path), self._key(path)
        with _errors(where, "read"):
            if start == 0 and length is None:
                return bytes(obstore.get(self.store, key).bytes())
            if not length:
                size = int(obstore.head(self.store, key)["size"])
                if length == 0 or start >= size:
                    return b""
                length = size - start
            try:
                return bytes(obstore.get_range(self.store, key, start=start, length=length))
            except obstore.exceptions.BaseError:
                # A range that begins behind the end is an error to stores, and no bytes to us.
                if start >= int(obstore.head(self.store, key)["size"]):
                    return b""
                raise

    def open_input(self, path: str) -> pa.NativeFile:
        return open_ranges(self, path)

    def put_if_absent(self, path: str, data: bytes) -> None:
        import obstore

        with _errors(self.uri(path), "write"):
            obstore.put(self.store, self._key(path), data, mode="create", use_multipart=False)

    def put(self, path: str, data: bytes) -> None:
        import obstore

        with _errors(self.uri(path), "write"):
            obstore.put(self.store, self._key(path), data)

    def delete(self, path: str) -> None:
        import obstore

        try:
            with _errors(self.uri(path), "delete"):
                obstore.delete(self.store, self._key(path))
        except ObjectNotFoundError:
            pass

    def uri(self, path: str) -> str:
        key = self._key(path)
        return f"{self.base}/{key}" if key else self.base

    def _key(self, path: str) -> str:
        """The key in the bucket. A relative path may not climb out of the root, a URI may not name another bucket."""
        scheme, separator, rest = path.partition("://")
        if separator and scheme in _SCHEMES:
            bucket, _, key = rest.partition("/")
            if f"{_SCHEMES[scheme]}://{bucket}" != self.base:
                raise StorageError(f"{_clean(path)!r} is outside the store {self.base!r}: open it by its own URI")
            return key.strip("/")
        if path.startswith("/") or ".." in path.split("/"):
            raise StorageError(f"a path below the root may not begin with '/' nor hold '..': {path!r}")
        return "/".join(part for part in (self.prefix, path.rstrip("/")) if part)


def _info(path: str, meta: Mapping[str, Any]) -> ObjectInfo:
    # Whole microseconds: a float of seconds would round.
    moment = meta["last_modified"]
    return ObjectInfo(
        path, int(meta["size"]), int(moment.timestamp()) * 10**9 + moment.microsecond * 1000, meta["e_tag"]
    )


def _plain(value: object) -> object:
    """ "true" and "false" of an option text, as the client options want them."""
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


def _clean(text: str) -> str:
    """The text without what may be secret: user and password, query strings (signed URLs)."""
    return re.sub(r"\?[^\s'\"]*", "?...", re.sub(r"://[^/@\s]*:[^/@\s]*@", "://...@", text))


@contextmanager
def _errors(where: str, verb: str) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except Exception as error:  # noqa: BLE001 - the client's errors share no useful class
        raise _mapped(error, where, verb) from None  # the cause would print the client's own debug text


def _mapped(error: Exception, where: str, verb: str) -> StorageError:
    from obstore import exceptions as obs

    where = _clean(where)
    match error:
        case FileNotFoundError() | obs.NotFoundError():
            return ObjectNotFoundError(f"cannot {verb} {where!r}: there is no such object")
        case obs.AlreadyExistsError():
            return ObjectExistsError(f"cannot {verb} {where!r}: the object is there already")
        case PermissionError() | obs.PermissionDeniedError() | obs.UnauthenticatedError():
            return StoragePermissionError(
                f"cannot {verb} {where!r}: permission denied; check the credentials in the environment"
            )
        case _:
            return StorageError(
                f"cannot {verb} {where!r}: {_clean(str(error).splitlines()[0] if str(error) else type(error).__name__)}"
            )
