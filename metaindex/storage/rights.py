"""Permissions for files derived from a table, from those of its folder and files.

A class of people (group, others) may read what is made where it may enter the table's folder and read all of the files
that are looked at: some hundred of them, as permissions hardly differ from file to file. It may write there where it
may write into the table's folder. Access control lists are not read: of a folder that has one, nothing is said of the
group, and it gets nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISVTX

_LOOKED_AT = 256
_ACL = "system.posix_acl_access"
_OURS = "_metaindex"


@dataclass(frozen=True, slots=True)
class Rights:
    """`mode`: of a folder. Files get of it who may read."""

    mode: int
    group: int

    @classmethod
    def of_folder(cls, stat: os.stat_result) -> Rights:
        return cls(S_IMODE(stat.st_mode), stat.st_gid)

    def give_folder(self, handle: int) -> None:
        self._give(handle, self.mode | 0o700)

    def give_file(self, handle: int) -> None:
        self._give(handle, 0o600 | self.mode & 0o044)

    def narrow_folder(self, handle: int) -> None:
        """Takes from a folder of ours what the table does not give (any more)."""
        now = os.fstat(handle)
        kept = S_IMODE(now.st_mode) & (self.mode | 0o7700)
        if now.st_gid != self.group:
            kept &= ~0o070 | (kept & 0o007) << 3
        if kept != S_IMODE(now.st_mode):
            os.fchmod(handle, kept)

    def _give(self, handle: int, mode: int) -> None:
        if os.fstat(handle).st_gid != self.group:
            try:
                os.fchown(handle, -1, self.group)
            except OSError:  # we are not of that group: ours gets no more than everybody
                mode = mode & ~0o070 | (mode & 0o007) << 3
        os.fchmod(handle, mode)


def rights_of(table: str) -> Rights:
    """Return the permissions for files derived from a table, which is a folder or a file of a local disk. If it cannot
    be inspected, the owner alone gets access."""
    try:
        root = os.stat(table)
        acl = _has_acl(table)
    except OSError:
        return Rights(0o700, os.getegid())
    folder = S_ISDIR(root.st_mode)
    readers = [_readers(root, root.st_gid)] + (_below(table, root.st_gid) if folder else [])
    mode = S_IMODE(root.st_mode) & 0o7700 | 0o700
    for shift, who in ((3, 0o040), (0, 0o004)):
        if all(reader & who for reader in readers):
            writes = folder and S_IMODE(root.st_mode) >> shift & 0o2
            mode |= (0o7 if writes else 0o5) << shift
    return Rights(mode & ~0o070 if acl else mode, root.st_gid)


def shared_in(place: str) -> Rights:
    """Return the permissions of a folder that the tables of a place share: those of the place. With the sticky bit
    (writers may not delete others' files) only the owner may write, as others could write indexes of any table."""
    stat = os.stat(place)
    mode = S_IMODE(stat.st_mode) & 0o7777 | 0o700
    if mode & S_ISVTX:
        mode &= ~(S_ISVTX | 0o022)
    return Rights(mode & ~0o070 if _has_acl(place) else mode, stat.st_gid)


def _has_acl(path: str) -> bool:
    """Return whether the path has an access control list; True if that is unknown."""
    try:
        return _ACL in os.listxattr(path) if hasattr(os, "listxattr") else False
    except OSError:
        return True


def _readers(stat: os.stat_result, group: int) -> int:
    """The bits of who may read a file, or read and enter a folder. What belongs to another group is, to ours, as to
    others."""
    mode = S_IMODE(stat.st_mode)
    if S_ISDIR(stat.st_mode):
        mode &= mode << 2 | ~0o044  # entered, too
    if stat.st_gid != group:
        mode = mode & ~0o070 | (mode & 0o007) << 3
    return mode & 0o044


def _below(folder: str, group: int) -> list[int]:
    """Return the permissions of the first files and folders of a table, breadth first."""
    rights: list[int] = []
    waiting = [folder]
    while waiting and len(rights) < _LOOKED_AT:
        with suppress(OSError), os.scandir(waiting.pop(0)) as entries:
            for entry in entries:
                if entry.name == _OURS or len(rights) >= _LOOKED_AT:
                    continue
                stat = entry.stat(follow_symlinks=False)
                if S_ISLNK(stat.st_mode):
                    continue
                rights.append(_readers(stat, group))
                if S_ISDIR(stat.st_mode):
                    waiting.append(entry.path)
    return rights
