"""A folder of a local disk that is ours alone, such as an index: every object is reached from the folder's handle, and
no link is ever followed.

A link that somebody plants there would else have removal, or a reader, leave the folder. Reading one, or passing over
one in a listing, is a StorageError that names it. What is checked is what is opened (`openat` with O_NOFOLLOW, step by
step), so nothing can be put in its place in between.

Who may read what is written follows another path, that of the table: an index holds copies of its values.
"""

from __future__ import annotations

import builtins
import errno
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from stat import S_ISDIR, S_ISLNK, S_ISREG

import pyarrow as pa

from metaindex.core import ObjectNotFoundError, StorageError

from .local import (
    TEMPORARY,
    disk_errors,
    in_order,
    info_of,
    is_folder,
    mapped,
    read_part,
    unlinked,
)
from .local_paths import local_path
from .opening import storage_for
from .protocol import ObjectInfo, Storage
from .rights import Rights, rights_of
from .steps import FLAGS, descend, link_refused, met_link, step

_HANDLES = "/dev/fd"
_PUTS = 8  # tries of a put whose temporary file somebody took away


@dataclass(frozen=True, slots=True)
class OwnFolder:
    """The folder `root`. From `home` down (root itself, or a folder above it) no step may be a link. `like`: whose
    permissions `home` and all below it get; empty: the process's own."""

    root: str
    home: str = ""
    like: str = ""

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        yield from self._walk(prefix, recursive, start_after, temporary=False)

    def leftovers(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield temporary files below a folder, left by writers that were killed or belonging to a put under way."""
        yield from self._walk(prefix, True, "", temporary=True)

    def apart(self, prefix: str) -> tuple[builtins.list[ObjectInfo], dict[str, str]]:
        odd: dict[str, str] = {}
        return [*self._walk(prefix, False, "", temporary=False, odd=odd)], odd

    def _walk(
        self, prefix: str, recursive: bool, start_after: str, *, temporary: bool, odd: dict[str, str] | None = None
    ) -> Iterator[ObjectInfo]:
        """`odd`: takes what is no plain file, and why it is none, in place of an error."""
        names = self._names(prefix)
        where = self.uri(prefix)
        with disk_errors(where, "list"):
            try:
                folder = self._descend(names)
            except (FileNotFoundError, NotADirectoryError):
                return
        shown = "".join(f"{name}/" for name in names)
        if prefix.startswith("/"):
            shown = where.rstrip("/") + "/"
        yield from self._below(folder, shown, recursive, start_after, temporary, odd)

    def _below(
        self, folder: int, shown: str, recursive: bool, start_after: str, temporary: bool, odd: dict[str, str] | None
    ) -> Iterator[ObjectInfo]:
        """List an open folder, and close it."""
        try:
            with disk_errors(shown or self.root, "list"), os.scandir(folder) as entries:
                listed = in_order(entries, shown, recursive, start_after, follow=False)
            for path, entry in listed:
                if path.endswith("/"):
                    with disk_errors(path, "list"):
                        try:
                            below = step(folder, entry.name, shown)
                        except FileNotFoundError:
                            continue  # gone since the folder was read
                    yield from self._below(below, path, recursive, start_after, temporary, odd)
                    continue
                try:
                    info = self._info(entry, path, entry.name.startswith(TEMPORARY) is temporary)
                except StorageError as error:
                    if odd is None:
                        raise
                    odd[path] = str(error)
                    continue
                if info is not None:
                    yield info
        finally:
            os.close(folder)

    def _info(self, entry: os.DirEntry[str], path: str, wanted: bool) -> ObjectInfo | None:
        """Return the object of a non-folder entry; None if it is gone meanwhile, or is not wanted."""
        if entry.is_symlink():
            raise link_refused(f"{self.root.rstrip('/')}/{path}" if not path.startswith("/") else path)
        if not wanted:
            return None
        try:
            stat = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise mapped(error, path, "list") from error
        self._check(stat.st_mode, path)
        return info_of(path, stat)

    def folders(self, prefix: str) -> builtins.list[str]:
        """List folders. A link is named as what it leads to: listing its content then raises."""
        with disk_errors(self.uri(prefix), "list"):
            try:
                folder = self._descend(self._names(prefix))
            except (FileNotFoundError, NotADirectoryError):
                return []
            try:
                with os.scandir(folder) as entries:
                    return sorted(e.name for e in entries if is_folder(e))
            finally:
                os.close(folder)

    def head(self, path: str) -> ObjectInfo:
        where = self.uri(path)
        with disk_errors(where, "look at"), self._parent(path) as (folder, name):
            stat = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if S_ISDIR(stat.st_mode):
            raise ObjectNotFoundError(f"no object at {where!r}: it is a folder")
        self._check(stat.st_mode, where)
        return info_of(path, stat)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        where = self.uri(path)
        with disk_errors(where, "read"), open(self._open(path), "rb", buffering=0) as file:
            return read_part(file, os.fstat(file.fileno()).st_size, start, length)

    def open_input(self, path: str) -> pa.NativeFile:
        where = self.uri(path)
        with disk_errors(where, "open"):
            handle = self._open(path)
            if not os.path.isdir(_HANDLES):
                return pa.PythonFile(open(handle, "rb"), mode="r")
            try:
                return pa.OSFile(
                    f"{_HANDLES}/{handle}", "rb"
                )  # the very file that was opened, whatever its name leads to by now
            finally:
                os.close(handle)

    def put_if_absent(self, path: str, data: bytes) -> None:
        where = self.uri(path)

        def link(folder: int, temporary: str, name: str) -> None:
            try:
                os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except OSError as error:
                raise unlinked(error, where) from error
            self._tighten()

        self._put(path, data, link)

    def put(self, path: str, data: bytes) -> None:
        self._put(
            path,
            data,
            lambda folder, temporary, name: os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder),
        )

    def _put(self, path: str, data: bytes, name_it: Callable[[int, str, str], None]) -> None:
        """Write a temporary file and have it named. Another writer that takes this one for dead (its operation was
        cancelled, say) may remove the file meanwhile: then it is written again, as a writer learns only at its commit
        what became of its operation."""
        with disk_errors(self.uri(path), "write"):
            for attempt in range(_PUTS):
                try:
                    with self._temporary(path, data) as (folder, temporary, name):
                        name_it(folder, temporary, name)
                except FileNotFoundError:
                    if attempt == _PUTS - 1:
                        raise
                    continue
                return

    def delete(self, path: str) -> None:
        where = self.uri(path)
        with (
            disk_errors(where, "delete"),
            suppress(FileNotFoundError, NotADirectoryError),
            self._parent(path) as (
                folder,
                name,
            ),
        ):
            os.unlink(name, dir_fd=folder)

    def uri(self, path: str) -> str:
        """An absolute local path below the root. Nothing else is reached from here."""
        names = self._names(path)
        return "/".join((self.root.rstrip("/"), *names))

    def _names(self, path: str) -> builtins.list[str]:
        """The steps from the root."""
        if path.startswith("/"):
            root = self.root.rstrip("/")
            if path != root and not path.startswith(f"{root}/"):
                raise StorageError(f"what is in a folder of our own lies below it; {path!r} is outside {self.root!r}")
            path = path[len(root) :]
        names = [name for name in path.split("/") if name not in ("", ".")]
        if ".." in names:
            raise StorageError(f"a path below the root may not hold '..': {path!r}")
        return names

    def _descend(self, names: builtins.list[str], *, make: bool = False) -> int:
        """A handle of the folder so many steps below the root, as `descend` gives it."""
        home = (self.home or self.root).rstrip("/")
        return descend(home, [*self.root[len(home) :].split("/"), *names], like=self.like, make=make)

    def _tighten(self) -> None:
        """A table that was closed to some is so in its indexes from their next entry on. One that was opened is not:
        that may be meant otherwise."""
        if not self.like:
            return
        rights = rights_of(self.like)
        with suppress(OSError):
            home = OwnFolder(self.home or self.root)._descend([])
            try:
                rights.narrow_folder(home)
            finally:
                os.close(home)

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The open folder of an object, and the object's name in it."""
        names = self._names(path)
        if not names:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        folder = self._descend(names[:-1], make=make)
        try:
            yield folder, names[-1]
        finally:
            os.close(folder)

    def _open(self, path: str) -> int:
        """A handle of an object that is a regular file. O_NONBLOCK: a pipe would keep us waiting for who writes into
        it."""
        with self._parent(path) as (folder, name):
            try:
                handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | FLAGS, dir_fd=folder)
            except OSError as error:
                if met_link(error, folder, name):
                    raise link_refused(self.uri(path)) from None
                raise
        try:
            mode = os.fstat(handle).st_mode
            if S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            self._check(mode, self.uri(path))
        except BaseException:
            os.close(handle)
            raise
        return handle

    @staticmethod
    def _check(mode: int, where: str) -> None:
        if S_ISLNK(mode):
            raise link_refused(where)
        if not S_ISREG(mode):
            raise StorageError(f"an index is made of plain files; {where!r} is no regular file; remove it")

    @contextmanager
    def _temporary(self, path: str, data: bytes) -> Iterator[tuple[int, str, str]]:
        """A durable temporary file in the object's folder: the open folder, its name there, and the one that the caller
        gives it. The folder is made durable after that."""
        with self._parent(path, make=True) as (folder, name):
            temporary = temporary_name(name)
            rights = Rights.of_folder(os.fstat(folder)) if self.like else None
            handle = os.open(
                temporary,
                os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS,
                0o666 if rights is None else 0o600,
                dir_fd=folder,
            )
            try:
                with open(handle, "wb") as file:
                    if rights is not None:
                        rights.give_file(handle)
                    file.write(data)
                    file.flush()
                    os.fsync(handle)
                yield folder, temporary, name
                os.fsync(folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)


def own_folder(root: str, home: str, like: str = "", options: dict[str, str] | None = None) -> Storage:
    """Return the storage of a folder of our own: of a local disk as above; a store has no links, and its permissions
    are its bucket's. `like`: a table, at any location."""
    here = local_path(root)
    if here is None:
        return storage_for(root, options)[0]
    return OwnFolder(here, local_path(home) or here, (local_path(like) or "") if like else "")


def temporary_name(name: str) -> str:
    """Return a temporary file name that holds the object's `name`, so that it can be traced after a crash."""
    return f"{TEMPORARY}{name[:150]}.{uuid.uuid4().hex}"


def meant_by(temporary: str) -> str:
    """The path of the object that a temporary file was to become."""
    folder, _, name = temporary.rpartition("/")
    name = name.removeprefix(TEMPORARY).rpartition(".")[0]
    return f"{folder}/{name}" if folder else name
