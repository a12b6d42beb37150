"""Storage on an object store (S3, GCS, Azure, or obstore's own memory and local stores), over obstore.

put_if_absent is the store's conditional put, refused where the store is not known to keep its promise. Retries are
obstore's (bounded, with back-off and jitter). Credentials are held by obstore alone, and no repr, error or log line
shows them.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metaindex.core import BoundedCache, Cure, ObjectExistsError, ObjectNotFoundError, StorageError

from .client import SCHEMES, open_bucket, patient
from .errors import clean, is_of_transport, status_of, storage_errors, whole
from .exclusive import doubt
from .protocol import Glance, ObjectInfo, back_off

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from .confinement import Confines

_TAIL_BYTES = 1 << 16
"""Fetched with the size when an object is opened: a small object whole, or the footer of a larger one."""

_PATIENT_BYTES = 8 << 20
_PATIENCE = "300 seconds"
"""Every object is put in one request: a writer that is killed in it leaves nothing, where an upload in pieces would
leave those that nobody but the store can list. Of a larger object the request may take this long, in place of the
client's 30 seconds: of 256 MiB, the largest part, that is a megabyte a second."""

_CONFLICTS = 6

_GLANCE = 1000
"""Keys of a folder that are shown first: as many as one request gives."""


class Ends(BoundedCache[str, tuple[ObjectInfo, bytes]]):
    """Last bytes of objects, by their keys. In another process there are none yet."""

    def __reduce__(self) -> tuple[type[Ends], tuple[None, int | None]]:
        return Ends, (None, self.limit_bytes)


@dataclass(frozen=True, slots=True)
class ObjectStorage:
    """The objects of a bucket (`base`, a URI without a trailing slash) below the key `prefix`. `unproven`: the endpoint
    of a store whose put-if-absent is tested before it is relied on; `single_writer`: the user declares that nobody else
    writes, so that it need not; `confines`: bounds on what may be reached; `ends`: of objects that were opened, for who
    reads them several times; `end_bytes`: of an object that is opened."""

    store: ObjectStore = field(repr=False)
    base: str
    prefix: str = ""
    unproven: str = ""
    single_writer: bool = False
    confines: Confines | None = field(default=None, repr=False)
    ends: Ends | None = field(default=None, repr=False, compare=False)
    end_bytes: int = field(default=_TAIL_BYTES, repr=False, compare=False)

    @classmethod
    def from_uri(cls, uri: str, storage_options: Mapping[str, str] | None = None) -> ObjectStorage:
        """Opens the bucket of `uri`; see `open_bucket` for the options and errors."""
        opened = open_bucket(uri, storage_options)
        return cls(opened.store, opened.base, opened.key, opened.unproven, opened.single_writer)

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

        def ask() -> builtins.list[Mapping[str, Any]]:
            if recursive or after is not None:
                return [listed for page in obstore.list(self.store, folder or None, offset=after) for listed in page]
            return builtins.list(obstore.list_with_delimiter(self.store, folder or None)["objects"])

        with storage_errors(self.uri(prefix), "list"):
            metas = whole(ask)
        depth = len(folder) + 1 if folder else 0
        kept = [m for m in metas if after is None or m["path"] > after]
        if not recursive:
            kept = [m for m in kept if "/" not in m["path"][depth:]]
        kept.sort(key=lambda m: m["path"])  # not every store lists in order
        for meta in kept:
            yield _info(before + meta["path"][cut:], meta)

    def folders(self, prefix: str) -> builtins.list[str]:
        import obstore

        with storage_errors(self.uri(prefix), "list"):
            prefixes = whole(
                lambda: obstore.list_with_delimiter(self.store, self._key(prefix) or None)["common_prefixes"]
            )
        return sorted(name.rstrip("/").rpartition("/")[2] for name in prefixes)

    def glances(self, prefix: str) -> Iterator[Glance]:
        """List a folder in parts; see `storage.Glances`. The first request lists the first objects at any depth: all of
        a small folder, and enough to recognize a folder of a million files. Its subfolders are listed only then."""
        import obstore

        folder = self._key(prefix)
        depth = len(folder) + 1 if folder else 0

        def rest() -> Glance:
            told = obstore.list_with_delimiter(self.store, folder or None)
            folders = tuple(name.rstrip("/").rpartition("/")[2] for name in told["common_prefixes"])
            return Glance(folders, tuple(meta["path"][depth:] for meta in told["objects"]))

        objects, complete = self.first_objects(prefix)
        paths = [info.path for info in objects]
        folders = dict.fromkeys(path.partition("/")[0] for path in paths if "/" in path)
        yield Glance(tuple(folders), tuple(path for path in paths if "/" not in path))
        if not complete:
            with storage_errors(self.uri(prefix), "list"):
                whole_folder = whole(rest)
            yield whole_folder

    def first_objects(self, prefix: str) -> tuple[builtins.list[ObjectInfo], bool]:
        """Return the first objects below a folder at any depth, as many as one request gives, their paths relative to
        it; and whether these are all."""
        import obstore

        folder = self._key(prefix)
        depth = len(folder) + 1 if folder else 0

        def first() -> builtins.list[ObjectInfo]:
            for page in obstore.list(self.store, folder or None, chunk_size=_GLANCE):
                return [_info(meta["path"][depth:], meta) for meta in page]
            return []

        with storage_errors(self.uri(prefix), "list"):
            objects = whole(first)
        return objects, len(objects) < _GLANCE

    def head(self, path: str) -> ObjectInfo:
        import obstore

        with storage_errors(self.uri(path), "look at"):
            return _info(path, obstore.head(self.store, self._key(path)))

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        import obstore

        where, key = self.uri(path), self._key(path)
        with storage_errors(where, "read"):
            try:
                if length is None:
                    asked: Any = {"range": {"offset": start}} if start else None
                    return bytes(obstore.get(self.store, key, options=asked).bytes())
                if length:
                    held = None if self.ends is None else self._of_end(path, key, start, length)
                    return held or bytes(obstore.get_range(self.store, key, start=start, length=length))
            except obstore.exceptions.BaseError as error:
                # A range that begins behind the end is an error to stores, in as many words as there are stores, and no
                # bytes to us.
                if (
                    start == 0
                    or is_of_transport(error)
                    or status_of(error) not in (None, 416)
                    or start < self._size(key)
                ):
                    raise
            else:
                self._size(key)  # nothing is asked of it, but it must be there
            return b""

    def open_input(self, path: str) -> pa.NativeFile:
        """Open with one request for the size and the end, where footers are; a small object is then read."""
        where, key = self.uri(path), self._key(path)
        held = None if self.ends is None else self.ends.find(key)
        if held is None:
            with storage_errors(where, "open"):
                held = self._end(path, key)
            if self.ends is not None:
                self.ends.keep(key, held, len(held[1]))
        info, tail = held
        return range_file(partial(self._same, path, info.etag or "W/"), info.size_bytes, tail, info)

    def _same(self, path: str, etag: str, start: int, length: int) -> bytes:
        """Read of the object that has the etag; of any, where that is a weak one."""
        if etag.startswith("W/"):
            return self.read(path, start, length)
        import obstore

        with storage_errors(self.uri(path), "read"):
            asked: Any = {"range": (start, start + length), "if_match": etag}
            try:
                return bytes(obstore.get(self.store, self._key(path), options=asked).bytes())
            except obstore.exceptions.PreconditionError:
                raise StorageError(
                    f"an object that is open is read whole; {clean(self.uri(path))!r} was replaced meanwhile; ask again"
                ) from None

    def put_if_absent(self, path: str, data: bytes) -> None:
        import obstore

        where, key = self.uri(path), self._key(path)
        with storage_errors(where, "write"):
            reason = self._doubt(key)
            if reason is not None:
                self._put_alone(where, key, data, reason)
                return
            for attempt in range(_CONFLICTS):
                try:
                    obstore.put(self.store, key, data, mode="create", use_multipart=False)
                except obstore.exceptions.AlreadyExistsError as error:
                    # 409: two puts at once, of which neither may have won; 412 (or no status): the object is there.
                    if status_of(error) != 409 or attempt == _CONFLICTS - 1:
                        raise
                    back_off(attempt, 0.05)
                else:
                    return

    def _put_alone(self, where: str, key: str, data: bytes, reason: str) -> None:
        """Write without the store's put-if-absent, only if the user declares that nobody else writes."""
        import obstore

        if not self.single_writer:
            raise StorageError(
                f"an index is written where put-if-absent has one winner; of the store of {clean(where)!r} that is not"
                f" known ({reason}); use another store, or say"
                f" {Cure('setting', 'Config(single_writer=True)')} if only one process ever writes indexes there"
            )
        try:
            obstore.head(self.store, key)
        except FileNotFoundError:
            self._put_whole(key, data)
        else:
            raise ObjectExistsError(f"cannot write {clean(where)!r}: the object is there already")

    def put(self, path: str, data: bytes) -> None:
        with storage_errors(self.uri(path), "write"):
            self._put_whole(self._key(path), data)

    def _put_whole(self, key: str, data: bytes) -> None:
        import obstore

        store = self.store if len(data) <= _PATIENT_BYTES else patient(self.store, _PATIENCE)
        obstore.put(store, key, data, use_multipart=False)

    def keeps_versions(self, path: str) -> bool:
        """S3 and Azure give an object a version where the bucket keeps them; Google's store gives every object one, so
        of it nothing is known."""
        import obstore

        if not self.base.startswith(("s3:", "az:", "abfs:", "abfss:")):
            return False
        with storage_errors(self.uri(path), "look at"):
            return obstore.head(self.store, self._key(path))["version"] is not None

    def delete(self, path: str) -> None:
        import obstore

        with suppress(ObjectNotFoundError), storage_errors(self.uri(path), "delete"):
            whole(lambda: obstore.delete(self.store, self._key(path)))

    def uri(self, path: str) -> str:
        key = self._key(path)
        return f"{self.base}/{key}" if key else self.base

    def _key(self, path: str) -> str:
        """The key in the bucket. A relative path may not climb out of the root, a URI may not name another bucket."""
        key = self._named(path)
        if self.confines is not None:
            self.confines.hold(f"{self.base}/{key}".rstrip("/"), path)
        return key

    def _named(self, path: str) -> str:
        scheme, separator, rest = path.partition("://")
        if separator and scheme in SCHEMES:
            bucket, _, key = rest.partition("/")
            if f"{SCHEMES[scheme]}://{bucket}" != self.base:
                raise StorageError(f"{clean(path)!r} is outside the store {self.base!r}: open it by its own URI")
            return key.strip("/")
        if path.startswith("/") or ".." in path.split("/"):
            raise StorageError(f"a path below the root may not begin with '/' nor hold '..': {path!r}")
        return "/".join(part for part in (self.prefix, path.rstrip("/")) if part)

    def _doubt(self, key: str) -> str | None:
        """Why put-if-absent may have more than one winner; None: it has one."""
        if not self.unproven:
            return None
        return doubt(self.store, f"{self.base} at {self.unproven}", key.rpartition("/")[0])

    def _size(self, key: str) -> int:
        import obstore

        return int(obstore.head(self.store, key)["size"])

    def _of_end(self, path: str, key: str, start: int, length: int) -> bytes | None:
        """Return a stretch that lies in an object's end, which is held from then on."""
        import obstore

        assert self.ends is not None
        held = self.ends.find(key)
        if held is None and length <= _TAIL_BYTES:
            answer = obstore.get(self.store, key, options={"range": (start, start + length)})
            info, data = _info(path, answer.meta), bytes(answer.bytes())
            if info.size_bytes == start + len(data):
                self.ends.keep(key, (info, data), len(data))
            return data
        if held is None:
            return None
        info, tail = held
        first = start - (info.size_bytes - len(tail))
        return tail[first : first + length] if first >= 0 and start + length <= info.size_bytes else None

    def _end(self, path: str, key: str) -> tuple[ObjectInfo, bytes]:
        """The object, and its last bytes."""
        import obstore

        try:
            answer = obstore.get(self.store, key, options={"range": {"suffix": self.end_bytes}})
            return _info(path, answer.meta), bytes(answer.bytes())
        except obstore.exceptions.BaseError as error:
            # An empty object has no end to stores, and some have no such range.
            if is_of_transport(error) or status_of(error) not in (None, 400, 416, 501):
                raise
            return _info(path, obstore.head(self.store, key)), b""


def _info(path: str, meta: Mapping[str, Any]) -> ObjectInfo:
    # Whole microseconds: a float of seconds would round.
    moment = meta["last_modified"]
    return ObjectInfo(
        path, int(meta["size"]), int(moment.timestamp()) * 10**9 + moment.microsecond * 1000, meta["e_tag"]
    )


class _OpenedObject(pa.PythonFile):  # type: ignore[misc]
    info: ObjectInfo | None


def range_file(
    fetch: Callable[[int, int], bytes], size: int, tail: bytes = b"", info: ObjectInfo | None = None
) -> pa.NativeFile:
    """A file of `size` bytes of which `fetch(start, length)` gives any stretch; it may give less, and nothing only at
    the end. `tail`: its last bytes, which are never fetched; `info`: what was said of the object where they come
    from, an attribute of the file."""
    opened = _OpenedObject(_RangeFile(fetch, size, tail), mode="r")
    opened.info = info
    return opened


class _RangeFile(io.RawIOBase):
    def __init__(self, fetch: Callable[[int, int], bytes], size: int, tail: bytes) -> None:
        self._fetch = fetch
        self._size = size
        self._tail = tail
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        held = self._at - (self._size - len(self._tail))
        if wanted == 0:
            return b""
        data = self._tail[held : held + wanted] if held >= 0 else self._fetch(self._at, wanted)
        self._at += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()
