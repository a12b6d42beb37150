"""The data files below a folder, as columns: what is hidden, and what a listing can promise.

Hidden is what Spark hides: names that begin with "." or "_" (but `_column=value` folders are data), names that end
with `._COPYING_`, summaries (`_metadata`, `_common_metadata`), and files without a byte.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeVar

import pyarrow as pa
import xxhash

from expressions.errors import ObjectNotFoundError, StorageError, StoragePermissionError
from formats.storage import ObjectInfo, Storage
from formats.storage_local import LocalStorage

T = TypeVar("T")

RACY_NS = 2_000_000_000
"""A local file changed so shortly before the listing may be changed again without a sign: clocks of file systems are
coarse."""


def is_hidden_folder(name: str) -> bool:
    if name.startswith(("_metadata", "_common_metadata")):
        return False
    return (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")


def is_data_file(name: str, size: int) -> bool:
    hidden = (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")
    return not hidden and size > 0


@dataclass(slots=True)
class Listing:
    """Files in path order: parallel lists, as there may be a million. `folders` holds each folder once; `folder`
    says the file's."""

    paths: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    modified_ns: list[int] = field(default_factory=list)
    etags: list[str | None] = field(default_factory=list)
    folder: list[int] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    taken_ns: int = 0
    racy_matters: bool = True
    single: bool = False  # the root itself is the file

    def __len__(self) -> int:
        return len(self.paths)

    def in_root(self) -> Listing:
        """The files that lie in the root itself."""
        kept = [i for i, f in enumerate(self.folder) if not self.folders[f]]

        def of(values: list[T]) -> list[T]:
            return [values[i] for i in kept]

        columns = (of(self.paths), of(self.sizes), of(self.modified_ns), of(self.etags), [0] * len(kept))
        return Listing(*columns, [""], self.taken_ns, self.racy_matters, self.single)

    def fingerprint(self) -> str:
        """xxh3_128 over every file's path, size, time and etag, in path order."""
        digest = xxhash.xxh3_128()
        rows = zip(self.paths, self.sizes, self.modified_ns, self.etags, strict=True)
        digest.update("\n".join(f"{p}\0{s}\0{m}\0{e}" for p, s, m, e in rows).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def racy(self) -> pa.Array:
        """Which files may still change without a sign. Object stores change an object's etag with its bytes: none
        there."""
        if not self.racy_matters:
            return pa.array([False] * len(self), pa.bool_())
        since = self.taken_ns - RACY_NS
        return pa.array([m > since for m in self.modified_ns], pa.bool_())


def list_files(storage: Storage, glob: str | None = None) -> Listing:
    """Every data file at or below the storage's root. `glob`: only files whose name fits (Spark's pathGlobFilter)."""
    listing = Listing(taken_ns=time.time_ns(), racy_matters=isinstance(storage, LocalStorage))
    single = _single_file(storage)
    if single is not None:
        # The root is the file: it is named by its absolute path, as it is not below itself.
        listing.single = True
        listing.folders.append("")
        _add(listing, storage.root, single.size_bytes, single.modified_ns, single.etag, 0)
        return listing
    if isinstance(storage, LocalStorage):
        _walk(storage.root, "", glob, listing, ())
    else:
        _from_objects(storage, glob, listing)
    return listing


def first_file(storage: Storage) -> str | None:
    """Some data file below the root, found without listing everything; None: there is none."""
    single = _single_file(storage)
    if single is not None:
        return storage.root if single.size_bytes else None
    found = _visible(storage) if not isinstance(storage, LocalStorage) else _local_files(storage.root, "")
    return next(found, None)


def _single_file(storage: Storage) -> ObjectInfo | None:
    try:
        return storage.head("")
    except ObjectNotFoundError:
        return None
    except StoragePermissionError:
        raise
    except StorageError:
        return None  # a bucket's root is no object, and stores say so in many ways


def _add(listing: Listing, path: str, size: int, modified_ns: int, etag: str | None, folder: int) -> None:
    listing.paths.append(path)
    listing.sizes.append(size)
    listing.modified_ns.append(modified_ns)
    listing.etags.append(etag)
    listing.folder.append(folder)


def _walk(where: str, shown: str, glob: str | None, listing: Listing, above: tuple[str, ...]) -> None:
    try:
        with os.scandir(where) as entries:
            found = [(e.name + "/" if e.is_dir() else e.name, e) for e in entries]
    except FileNotFoundError:
        return  # gone since it was seen
    except OSError as error:
        raise _denied(error, where) from error
    found.sort(key=lambda pair: pair[0])
    ordinal = -1
    for name, entry in found:
        if name.endswith("/"):
            if is_hidden_folder(name[:-1]):
                continue
            here = (*above, where)
            if entry.is_symlink() and any(os.path.samefile(entry.path, one) for one in here):
                raise StorageError(f"cannot list {entry.path!r}: the link leads to a folder above it; remove the link")
            _walk(entry.path, shown + name, glob, listing, here)
            continue
        if (name[0] in "_." and not is_data_file(name, 1)) or (glob is not None and not fnmatchcase(name, glob)):
            continue
        try:
            stat = entry.stat()
        except FileNotFoundError:
            continue
        if not is_data_file(name, stat.st_size):
            continue
        if ordinal < 0:
            ordinal = len(listing.folders)
            listing.folders.append(shown)
        etag = f"{stat.st_ino}-{stat.st_ctime_ns}"
        _add(listing, shown + name, stat.st_size, stat.st_mtime_ns, etag, ordinal)


def _denied(error: OSError, where: str) -> StorageError:
    if isinstance(error, PermissionError):
        return StoragePermissionError(
            f"cannot list {where!r}: permission denied; check the owner and mode of the folder"
        )
    return StorageError(f"cannot list {where!r}: {error.strerror or error}")


def _local_files(where: str, shown: str) -> Iterator[str]:
    folders = []
    try:
        with os.scandir(where) as entries:
            for entry in entries:
                if entry.is_dir():
                    if not is_hidden_folder(entry.name):
                        folders.append(entry.name)
                elif is_data_file(entry.name, 1) and entry.stat().st_size:
                    yield shown + entry.name
    except FileNotFoundError:
        return
    except OSError as error:
        raise _denied(error, where) from error
    for name in sorted(folders):
        yield from _local_files(os.path.join(where, name), f"{shown}{name}/")


def _visible(storage: Storage) -> Iterator[str]:
    for found in storage.list(""):
        *folders, name = found.path.split("/")
        if is_data_file(name, found.size_bytes) and not any(is_hidden_folder(f) for f in folders):
            yield found.path


def _from_objects(storage: Storage, glob: str | None, listing: Listing) -> None:
    ordinals: dict[str, int] = {}
    for found in storage.list(""):
        folder, slash, name = found.path.rpartition("/")
        if not is_data_file(name, found.size_bytes) or (glob is not None and not fnmatchcase(name, glob)):
            continue
        ordinal = ordinals.get(folder)
        if ordinal is None:
            hidden = any(is_hidden_folder(part) for part in folder.split("/")) if folder else False
            ordinals[folder] = ordinal = -1 if hidden else len(listing.folders)
            if not hidden:
                listing.folders.append(folder + slash)
        if ordinal >= 0:
            _add(listing, found.path, found.size_bytes, found.modified_ns, found.etag, ordinal)
