"""The way down to a folder of a local disk, step by step from a handle, and over no link: what is checked is what is
opened, so nothing can be put in its place in between."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from stat import S_ISLNK

from metaindex.core import Cure, StorageError

from .local import make_folders
from .rights import Rights, rights_of, shared_in

FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | FLAGS
_ABOVE = (
    getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
)  # of the user's: it need not be listed by us
_LINKED = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


def descend(home: str, names: Iterable[str], *, like: str = "", make: bool = False) -> int:
    """A handle of the folder so many steps below `home` (empty names are none); the caller closes it. FileNotFoundError
    where one is not there, and is not to be made. `like`: whose permissions the folders get that are made; empty: the
    process's own."""
    above, _, last = home.rpartition("/")
    try:
        folder = os.open(above or "/", _ABOVE)
    except FileNotFoundError:
        if not make:
            raise
        _make_above(above, like)
        folder = os.open(above or "/", _ABOVE)
    said = above
    first = True
    for name in (last, *names):
        if not name:
            continue
        try:
            try:
                below = step(folder, name, f"{said}/")
            except FileNotFoundError:
                if not make:
                    raise
                below = _made(folder, name, f"{said}/", like, first)
        finally:
            os.close(folder)
        folder, first, said = below, False, f"{said}/{name}"
    return folder


def step(folder: int, name: str, said: str) -> int:
    """A handle of a folder in an open one; a link is refused."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        if met_link(error, folder, name):
            raise link_refused(f"{said}{name}") from None
        raise


def met_link(error: OSError, folder: int, name: str) -> bool:
    """Return whether the error is a link that was not opened."""
    return error.errno in _LINKED and S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def link_refused(where: str) -> StorageError:
    return StorageError(
        f"an index stays in its folder and follows no link; {where!r} is one; remove the link (another place for"
        f" indexes is chosen by {Cure('setting', 'Config(index_location=...)')})"
    )


def _made(above: int, name: str, said: str, like: str, first: bool) -> int:
    """A new folder, with the permissions of the table, or of the folder it is in."""
    rights = (rights_of(like) if first else Rights.of_folder(os.fstat(above))) if like else None
    with suppress(FileExistsError):
        os.mkdir(name, 0o777 if rights is None else 0o700, dir_fd=above)
        folder = step(above, name, said)
        if rights is not None:
            rights.give_folder(folder)
        _sync(above)
        return folder
    return step(above, name, said)


def _make_above(folder: str, like: str) -> None:
    """Make the folders above ours, with the process's own permissions, except for the one beside the table: other
    tables of that place will have indexes in it, so it is as open as the place."""
    beside = os.path.dirname(like) if like else ""

    def make(missing: str) -> None:
        if os.path.dirname(missing) != beside:
            os.makedirs(missing, exist_ok=True)
            return
        with suppress(FileExistsError):
            os.mkdir(missing, 0o700)
            _open_as(missing, shared_in(beside))

    make_folders(folder, make)


def _open_as(folder: str, rights: Rights) -> None:
    handle = os.open(folder, _FOLDER)
    try:
        rights.give_folder(handle)
    finally:
        os.close(handle)


def _sync(above: int) -> None:
    """Makes a new name in a folder durable, where the folder may be read."""
    with suppress(PermissionError):
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=above)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
