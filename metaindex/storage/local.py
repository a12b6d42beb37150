"""Storage on a local disk (or a mounted one that has hard links).

Puts are whole and durable: a temporary file in the same folder, fsync, then `link` (put_if_absent: fails where the
name is taken, never replaces) or `rename` (put), then fsync of the folder. What a crash leaves is a temporary file,
which `list` never shows.
"""

from __future__ import annotations

import builtins
import errno
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from itertools import islice
from operator import itemgetter
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import Cure, ObjectExistsError, ObjectNotFoundError, StorageError, StoragePermissionError

from .local_paths import HANDLES, local_path, local_path_of_uri
from .protocol import Glance, ObjectInfo

if TYPE_CHECKING:
    from .confinement import Confines

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)


def unlinked(error: OSError, where: str) -> OSError:
    """The error to raise where a link was not made: itself, or that there are none here."""
    if error.errno not in _NO_LINKS:
        return error
    return StorageError(
        f"an index is written where put-if-absent has one winner, on disks by hard links; the file system of {where!r}"
        f" has none ({error.strerror}); {ANOTHER_PLACE}"
    )


ANOTHER_PLACE = Cure("another_place")
"""The cure where an index cannot be written."""
_FULL = {
    errno.ENOSPC: f"the disk is full; free some space, or {ANOTHER_PLACE}",
    errno.EDQUOT: f"the quota is used up; free some space, or {ANOTHER_PLACE}",
    errno.EFBIG: "the file would be larger than is allowed here; raise the limit (ulimit -f)",
}
_GLANCE = 1000
"""Names of a folder that are shown at a time."""

TEMPORARY = "._put_"  # hidden from every engine's listing by its dot, from ours by the whole prefix


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """A folder (or a single file) of the local file system as a store. `confines`: bounds on what may be reached; a
    file is checked once it is opened, a name when it is handed over."""

    root: str
    confines: Confines | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        local = local_path(os.fspath(self.root))
        if local is None:
            raise StorageError(f"local storage takes a path or a file: URI, got {self.root!r}")
        object.__setattr__(self, "root", local)

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        shown = prefix.rstrip("/") + "/" if prefix.strip("/") else prefix
        if local_path_of_uri(prefix) is not None:
            shown = self.uri(prefix).rstrip("/") + "/"
        yield from self._walk(self.uri(prefix), shown, recursive, start_after, ())

    def _walk(
        self, folder: str, shown: str, recursive: bool, start_after: str, above: tuple[str, ...], linked: bool = False
    ) -> Iterator[ObjectInfo]:
        """`linked`: the folder was reached by a link. All else in a folder that was checked is where the folder is."""
        with disk_errors(folder, "list"):
            try:
                with os.scandir(folder) as entries:
                    listed = in_order(entries, shown, recursive, start_after, follow=True)
            except (FileNotFoundError, NotADirectoryError):
                return
        for path, entry in listed:
            if path.endswith("/"):
                here = (*above, folder)
                if entry.is_symlink() and _identity(entry.path) in {_identity(above_it) for above_it in here}:
                    raise StorageError(
                        f"cannot list {entry.path!r}: the link leads to a folder above it; remove the link"
                    )
                yield from self._walk(entry.path, path, recursive, start_after, here, linked or entry.is_symlink())
            elif not entry.name.startswith(TEMPORARY):
                try:
                    stat = entry.stat()
                except FileNotFoundError:
                    continue  # gone since the folder was read, or a link to nothing
                except OSError as error:
                    raise mapped(error, entry.path, "list") from error
                if linked or entry.is_symlink():
                    self.uri(path)
                yield info_of(path, stat)

    @staticmethod
    def unlisted(error: OSError, where: str) -> StorageError:
        """Return the error of a failed listing, naming the folder or file."""
        return mapped(error, where, "list")

    def folders(self, prefix: str) -> builtins.list[str]:
        where = self.uri(prefix)
        with disk_errors(where, "list"):
            try:
                with os.scandir(where) as entries:
                    return sorted(e.name for e in entries if is_folder(e))
            except (FileNotFoundError, NotADirectoryError):
                return []

    def glances(self, prefix: str) -> Iterator[Glance]:
        """List a folder in parts; see `storage.Glances`."""
        where = self.uri(prefix)
        with disk_errors(where, "list"):
            try:
                with os.scandir(where) as entries:
                    while some := list(islice(entries, _GLANCE)):
                        folders = tuple(e.name for e in some if e.is_dir(follow_symlinks=False))
                        files = tuple(e.name for e in some if e.is_file(follow_symlinks=False))
                        yield Glance(folders, files)
            except (FileNotFoundError, NotADirectoryError):
                return

    def head(self, path: str) -> ObjectInfo:
        where = self.uri(path)
        with disk_errors(where, "look at"):
            stat = os.stat(where)
        if S_ISDIR(stat.st_mode):
            raise ObjectNotFoundError(f"no object at {where!r}: it is a folder")
        return info_of(path, stat)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        if self.confines is not None:
            with self.open_input(path) as source:
                source.seek(min(start, source.size()))
                return bytes(source.read(length))
        where = self.uri(path)
        with disk_errors(where, "read"), open(where, "rb", buffering=0, opener=at_once) as file:
            return read_part(file, size_of_regular(os.fstat(file.fileno()), where), start, length)

    def open_input(self, path: str) -> pa.NativeFile:
        where = self.uri(path)
        with disk_errors(where, "open"):
            if self.confines is not None:
                return opened(where, partial(self.confines.hold_opened, said=where))
            return opened(where)

    def put_if_absent(self, path: str, data: bytes) -> None:
        where = self.uri(path)
        with disk_errors(where, "write"), _temporary(where, data) as temporary:
            try:
                os.link(temporary, where)
            except OSError as error:
                raise unlinked(error, where) from error

    def put(self, path: str, data: bytes) -> None:
        where = self.uri(path)
        with disk_errors(where, "write"), _temporary(where, data) as temporary:
            os.replace(temporary, where)

    def delete(self, path: str) -> None:
        where = self.uri(path)
        with disk_errors(where, "delete"), suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(where)

    def uri(self, path: str) -> str:
        """An absolute local path. A relative path may not climb out of the root."""
        where = self._uri(path)
        if self.confines is not None:
            self.confines.check([where])
        return where

    def _uri(self, path: str) -> str:
        if path.startswith("/"):
            return path
        if not path:
            return self.root
        local = local_path_of_uri(path)
        if local is not None:
            return local
        if ".." in path.split("/"):
            raise StorageError(f"a path below the root may not hold '..': {path!r}")
        return f"{self.root.rstrip('/')}/{path}"


@contextmanager
def _temporary(where: str, data: bytes) -> Iterator[str]:
    """A durable temporary file beside `where`; the caller gives it its name. The folder is made durable after that."""
    folder = os.path.dirname(where)
    temporary = os.path.join(folder, TEMPORARY + uuid.uuid4().hex)
    try:
        descriptor = _create(temporary)
    except FileNotFoundError:
        make_folders(folder)
        descriptor = _create(temporary)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
        sync_folder(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def at_once(path: str, flags: int) -> int:
    """Open without waiting: a pipe would block its reader until another process writes."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))


def opened(where: str, check: Callable[[int], None] = lambda handle: None) -> pa.NativeFile:
    """Open the regular file that is there. Where handles have names, the file that was checked is the one opened: a
    pipe put in its place in between would block its reader for ever. `check` inspects the handle, too."""
    handle = at_once(where, os.O_RDONLY)
    try:
        size_of_regular(os.fstat(handle), where)
        check(handle)
        return pa.OSFile(f"{HANDLES}/{handle}" if os.path.isdir(HANDLES) else where, "rb")
    finally:
        os.close(handle)


def read_part(file: FileIO, size: int, start: int, length: int | None) -> bytes:
    """Never more than is there: the memory is taken before the bytes are read."""
    if start:
        file.seek(start)
    wanted = size - start if length is None else min(length, size - start)
    parts: list[bytes] = []
    while wanted > 0 and (part := file.read(wanted)):
        parts.append(part)
        wanted -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def size_of_regular(stat: os.stat_result, where: str) -> int:
    """The size of a regular file. Pipes, sockets and devices are no objects: they may keep a reader for ever, or have
    no end."""
    if S_ISDIR(stat.st_mode):
        raise ObjectNotFoundError(f"cannot read {where!r}: it is a folder")
    if not S_ISREG(stat.st_mode):
        raise StorageError(f"cannot read {where!r}: it is no regular file; remove it")
    return stat.st_size


def _create(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)


def make_folders(folder: str, make: Callable[[str], None] = lambda path: os.makedirs(path, exist_ok=True)) -> None:
    """Make a folder and those above it, durably."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for missing_folder in reversed(missing):
        make(missing_folder)
        sync_folder(os.path.dirname(missing_folder))


def sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def in_order(
    entries: Iterable[os.DirEntry[str]], shown: str, recursive: bool, start_after: str, *, follow: bool
) -> list[tuple[str, os.DirEntry[str]]]:
    """Entries of a folder by their paths, those of folders with a slash behind, which are left out unless `recursive`:
    walking depth first then gives the order of the whole paths."""
    # Every question lists the logs that it stands on, and most names of a long log are passed: by their names alone.
    some = ((shown + entry.name, entry) for entry in entries)
    named = (
        (path + "/" if entry.is_dir(follow_symlinks=follow) else path, entry)
        for path, entry in some
        if not passed(path, start_after)
    )
    kept = ((path, e) for path, e in named if (recursive and not passed(path, start_after)) or path[-1] != "/")
    return sorted(((path, e) for path, e in kept if path[-1] == "/" or path > start_after), key=itemgetter(0))


def passed(path: str, start_after: str) -> bool:
    """Return whether the path, and all below it, precedes `start_after`, by its name alone: most of a long log does."""
    return path <= start_after and not start_after.startswith(path)


def _identity(path: str) -> tuple[int, int]:
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino


def info_of(path: str, stat: os.stat_result) -> ObjectInfo:
    return ObjectInfo(path, stat.st_size, stat.st_mtime_ns, f"{stat.st_ino}-{stat.st_ctime_ns}")


@contextmanager
def disk_errors(where: str, verb: str) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except (OSError, ValueError) as error:
        raise mapped(error, where, verb) from error


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether it is a folder, or something unreadable (a link to itself, a link into a closed folder): listing
    its content raises, and its neighbours are named."""
    try:
        return entry.is_dir()
    except OSError:
        return True


def mapped(error: Exception, where: str, verb: str) -> StorageError:
    match error:
        case FileNotFoundError() | NotADirectoryError() | FileExistsError() if (
            verb == "write" and (file := _file_above(where)) is not None
        ):
            return StorageError(
                f"cannot write {where!r}: {file!r} is a file, where a folder is made; move that file away, or"
                f" {ANOTHER_PLACE}"
            )
        case FileNotFoundError() | NotADirectoryError():
            return ObjectNotFoundError(f"cannot {verb} {where!r}: there is no such object")
        case IsADirectoryError():
            return ObjectNotFoundError(f"cannot {verb} {where!r}: it is a folder")
        case FileExistsError():
            return ObjectExistsError(f"cannot {verb} {where!r}: the object is there already")
        case PermissionError() if verb == "write" and (folder := _closed_above(where)) is not None:
            return StoragePermissionError(
                f"cannot {verb} {where!r}: permission denied, as {folder!r} takes no new files of this user; change its"
                f" owner or mode, or {ANOTHER_PLACE}"
            )
        case PermissionError():
            return StoragePermissionError(
                f"cannot {verb} {where!r}: permission denied; check the owner and mode of the path"
            )
        case OSError() if error.errno == errno.ELOOP:
            return StorageError(f"cannot {verb} {where!r}: the link leads to itself; remove the link")
        case OSError() if error.errno in _FULL:
            return StorageError(f"cannot {verb} {where!r}: {_FULL[error.errno]}")
        case OSError() if error.errno == errno.EROFS:
            return StoragePermissionError(
                f"cannot {verb} {where!r}: the file system is mounted read-only; mount it for writing, or"
                f" {ANOTHER_PLACE}"
            )
        case OSError():
            return StorageError(f"cannot {verb} {where!r}: {error.strerror or error}")
        case _:
            return StorageError(f"cannot {verb} {where!r}: {error}")


def _file_above(where: str) -> str | None:
    """Return the file that stands where a folder would be made, or None."""
    folder = os.path.dirname(where)
    while folder != os.path.dirname(folder) and not os.path.isfile(folder):
        folder = os.path.dirname(folder)
    return folder if os.path.isfile(folder) else None


def _closed_above(where: str) -> str | None:
    """The deepest folder that is there, where what is named is not and could not be made."""
    folder = where
    while not os.path.lexists(folder):
        if folder == (folder := os.path.dirname(folder)):
            return None
    writable = os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    return None if folder == where or writable or not os.path.isdir(folder) else folder
