"""Finding the data files of a table: what is hidden, in a folder or below roots, local or on a store.

Hidden is what Spark hides: names that begin with "." or "_" (but `_column=value` folders are data), names that end
with `._COPYING_`, summaries (`_metadata`, `_common_metadata`), and files without a byte. A root that the user names is
looked into whatever its name is.

Folders that belong to somebody are refused (`owners`): not all of their files are live. Of the output of a stream of
Spark those are listed that its log names.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice

from metaindex.core import Cure, ObjectNotFoundError, StorageError, StoragePermissionError
from metaindex.storage import LocalStorage, ObjectInfo, Storage, both_at

from .globs import matcher
from .listing import Listing
from .options import SUFFIXES_OF_DATA
from .owners import HUDI_PARTITION, SINK_LOG, owners, refuse_above, refuse_in
from .roots import match
from .sink_log import live_files, missing

_AT_ONCE = 4096  # files of a folder


@dataclass(slots=True)
class Passed:
    """Files that a search for data files skipped: any file, even a hidden one; an empty file named as data."""

    anything: bool = False
    empty: str = ""

    def by(self, name: str) -> None:
        """A file without a byte, which no hidden folder holds."""
        if _named_as_data(name) and (not self.empty or name < self.empty):
            self.empty = name


def _is_hidden(name: str) -> bool:
    return (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")


def is_hidden_folder(name: str) -> bool:
    return not name.startswith(("_metadata", "_common_metadata")) and _is_hidden(name)


def is_data_file(name: str, size: int) -> bool:
    return not _is_hidden(name) and size > 0


def _named_as_data(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.lower().endswith(SUFFIXES_OF_DATA) and is_data_file(name, 1)


def list_files(
    storage: Storage,
    glob: str | None = None,
    patterns: Sequence[str] = (),
    base_path: bool = False,
    passed: Passed | None = None,
    *,
    of_folder: bool = False,
) -> Listing:
    """List every data file at or below the storage's root, or those that match `patterns` there (`base_path`:
    partitions begin at the storage's root all the same). `glob`: only matching file names (Spark's pathGlobFilter).
    `passed`: collects empty files. `of_folder`: it was a folder before, and mostly still is: a store is not asked that
    first."""
    if isinstance(storage, LocalStorage):
        refuse_above(storage, [storage.root])  # on a store by requests, which are made when a table is opened
    fits, passed = None if glob is None else matcher(glob), passed or Passed()
    listing, of_stream = _listed(storage, fits, patterns, base_path, passed, of_folder)
    if not of_stream:
        return listing
    live = live_files(storage)
    due = {path for path, size in live.items() if size and (fits is None or fits.fullmatch(path.rpartition("/")[2]))}
    if not due.issubset(listing.paths):  # a batch came since the folder was listed, and wrote its files before
        listing, _ = _listed(storage, fits, patterns, base_path, passed, of_folder)
    for path in sorted(due.difference(listing.paths))[:1]:
        raise missing(storage, path)
    return listing.of(live)


def _listed(
    storage: Storage,
    fits: re.Pattern[str] | None,
    patterns: Sequence[str],
    base_path: bool,
    passed: Passed,
    of_folder: bool,
) -> tuple[Listing, bool]:
    """Return what there is, and whether that is the output of a stream, whose files are not all live."""
    listing = Listing(taken_ns=time.time_ns(), local=isinstance(storage, LocalStorage))
    walk = _Walk(storage, fits, listing, passed, alone=not patterns)
    if patterns:
        walk.roots(patterns)
        if base_path:
            listing.bases = frozenset({""})
        return _utf8(listing.sorted()), False
    inside = None
    if of_folder and not isinstance(storage, LocalStorage):
        single, inside = both_at(storage.root, partial(single_file, storage), partial(_begun, storage))
    else:
        single = single_file(storage)
    if single is not None:
        # The root is the file: it is named by its absolute path, as it is not below itself.
        listing.folders.append("")
        walk.add(storage.root, single, 0)
    elif inside is not None:
        walk.objects("", inside)
    else:
        walk.folder("")
    return _utf8(listing), walk.of_stream


def _begun(storage: Storage) -> Iterator[ObjectInfo]:
    """Return the objects of the storage, for which it was asked."""
    listed = storage.list("")
    first = next(listed, None)
    return iter(()) if first is None else chain((first,), listed)


def _begun_data(storage: Storage, passed: Passed) -> Iterator[str]:
    inside = _data_files(storage, "", passed)
    first = next(inside, None)
    return iter(()) if first is None else chain((first,), inside)


def some_files(storage: Storage, patterns: Sequence[str] = (), passed: Passed | None = None) -> Iterator[str]:
    """Yield data files of the table without a full listing. `passed`: collects files that are no data."""
    passed = passed or Passed()
    for path, is_folder in (fit for pattern in patterns for fit in match(storage, pattern)):
        if is_folder:
            yield from _data_files(storage, path, passed)
        elif is_data_file(path.rpartition("/")[2], 1):
            yield path
    if patterns:
        return
    if isinstance(storage, LocalStorage):
        single, inside = single_file(storage), _data_files(storage, "", passed)
    else:
        single, inside = both_at(storage.root, partial(single_file, storage), partial(_begun_data, storage, passed))
    if single is None:
        yield from inside
    elif single.size_bytes:
        yield storage.root


def single_file(storage: Storage) -> ObjectInfo | None:
    try:
        return storage.head("")
    except ObjectNotFoundError:
        return None
    except StoragePermissionError:
        raise
    except StorageError:
        return None  # a bucket's root is no object, and stores say so in many ways


@dataclass(slots=True)
class _Walk:
    """Fills a listing, folder by folder. `alone`: the root alone was named; `of_stream`: it is the output of one."""

    storage: Storage
    fits: re.Pattern[str] | None
    listing: Listing
    passed: Passed
    alone: bool = False
    of_stream: bool = False

    def roots(self, patterns: Sequence[str]) -> None:
        bases = set()
        for pattern in patterns:
            matches = match(self.storage, pattern)
            inside = {path[: at.start()] for path, _ in matches for at in re.finditer("/", path)}
            refuse_in(self.storage, map(self.storage.uri, {"", *inside}))
            if isinstance(self.storage, LocalStorage):
                refuse_above(self.storage, filter(_is_linked, map(self.storage.uri, (path for path, _ in matches))))
            for path, is_folder in matches:
                if is_folder:
                    bases.add(f"{path}/" if path else "")
                    self.folder(path)
                    continue
                folder, slash, name = path.rpartition("/")
                bases.add(folder + slash)
                if is_data_file(name, 1) and (self.fits is None or self.fits.fullmatch(name)):
                    self._file(path, folder + slash)
        self.listing.bases = self.listing.roots = frozenset(bases)

    def _meet(self, name: str, where: str) -> None:
        """Refuse a folder that is somebody's by a name in it."""
        owner = owners().get(name)
        if owner is None or not owner.is_in(self.storage, where):
            return
        if name != SINK_LOG or not self.alone or where != self.storage.root:
            raise owner.refusal(self.storage, where)
        self.of_stream = True

    def folder(self, path: str) -> None:
        if isinstance(self.storage, LocalStorage):
            self._walk(self.storage.uri(path).rstrip("/") or "/", f"{path}/" if path else "", ())
        else:
            self.objects(path, self.storage.list(path))

    def add(self, path: str, info: ObjectInfo, folder: int) -> None:
        if not is_data_file(path.rpartition("/")[2], info.size_bytes):
            return
        listing = self.listing
        listing.paths.append(path)
        listing.sizes.append(info.size_bytes)
        listing.modified_ns.append(info.modified_ns)
        listing.folder.append(folder)
        if listing.local:
            inode, _, changed = (info.etag or "0-0").partition("-")
            listing.inodes.append(int(inode))
            listing.changed_ns.append(int(changed))
        else:
            listing.etags.append(info.etag)

    def _file(self, path: str, folder: str) -> None:
        try:
            info = self.storage.head(path)
        except ObjectNotFoundError:
            return  # gone since it was seen
        folders = self.listing.folders
        if not folders or folders[-1] != folder:
            folders.append(folder)
        self.add(path, info, len(folders) - 1)

    def _walk(self, where: str, shown: str, above: tuple[str, ...]) -> None:
        # The names alone are sorted; no object a file but its entry is made on the way. A folder sorts as "name/", so
        # that walking depth first gives the order of the whole paths.
        with ExitStack() as stack:
            try:
                entries = self._entries(where, stack)
            except FileNotFoundError:
                return  # gone since it was seen
            except OSError as error:
                name = error.filename if isinstance(error.filename, str) else ""
                raise LocalStorage.unlisted(error, os.path.join(where, name).rstrip("/")) from error
            ordinal = -1
            for is_folder, names in groupby(sorted(entries), lambda name: name[-1] == "/"):
                if not is_folder:
                    ordinal = self._files(where, shown, names, entries, ordinal)
                    continue
                here = (*above, where)
                for name in names:
                    path = os.path.join(where, name[:-1])
                    if entries[name].is_symlink() and any(os.path.samefile(path, up) for up in here):
                        raise StorageError(
                            f"cannot list {path!r}: the link leads to a folder above it; remove the link"
                        )
                    if entries[name].is_symlink():
                        refuse_above(self.storage, [path])
                    self._walk(path, shown + name, here)

    def _entries(self, where: str, stack: ExitStack) -> dict[str, os.DirEntry[str]]:
        """Return the entries of a folder that may be data, by name. The folder stays open while its files are looked
        at, where the system finds them faster so: by their names alone."""
        opened = os.open(where, os.O_RDONLY | os.O_CLOEXEC) if os.scandir in os.supports_fd else None
        if opened is not None:
            stack.callback(os.close, opened)
        by_name: dict[str, os.DirEntry[str]] = {}
        marks = owners()
        with os.scandir(where if opened is None else opened) as entries:
            for entry in entries:
                name = entry.name
                if entry.is_dir():
                    if name in marks:
                        self._meet(name, where)
                    if not is_hidden_folder(name):
                        by_name[name + "/"] = entry
                elif (name[0] not in "_." and name[-1] != "_") or is_data_file(name, 1):
                    by_name[name] = entry
                elif name == HUDI_PARTITION:
                    self._meet(name, where)
        return by_name

    def _files(
        self, where: str, shown: str, names: Iterable[str], entries: Mapping[str, os.DirEntry[str]], ordinal: int
    ) -> int:
        """Adds files of a folder, some at a time: what is asked of each is more than what is kept. `ordinal`: the
        folder's, -1 while it has no file; it is given back."""
        listing = self.listing
        fitting = names if self.fits is None else filter(self.fits.fullmatch, names)
        while some := list(islice(fitting, _AT_ONCE)):
            kept, stats = [], []
            for name in some:
                try:
                    stat = entries[name].stat()
                except FileNotFoundError:
                    continue  # gone since it was seen, or a link to nothing
                except OSError as error:
                    raise LocalStorage.unlisted(error, os.path.join(where, name)) from error
                if stat.st_size:
                    kept.append(shown + name)
                    stats.append(stat)
                else:
                    self.passed.by(shown + name)
            if kept and ordinal < 0:
                ordinal = len(listing.folders)
                listing.folders.append(shown)
            listing.paths += kept
            listing.sizes += [stat.st_size for stat in stats]
            listing.modified_ns += [stat.st_mtime_ns for stat in stats]
            listing.changed_ns += [stat.st_ctime_ns for stat in stats]
            listing.inodes += [stat.st_ino for stat in stats]
            listing.folder += [ordinal] * len(kept)
        return ordinal

    def objects(self, prefix: str, inside: Iterable[ObjectInfo]) -> None:
        """Add the data files among the objects of a folder."""
        ordinals: dict[str, int] = {}
        folders = self.listing.folders
        cut = len(prefix) + 1 if prefix else 0
        marks = owners()
        for info in inside:
            folder, slash, name = info.path.rpartition("/")
            ordinal = ordinals.get(folder)
            if ordinal is None:
                hidden, above = False, prefix
                for part in folder[cut:].split("/") if folder[cut:] else ():
                    if part in marks and not hidden:
                        self._meet(part, self.storage.uri(above))
                    hidden, above = hidden or is_hidden_folder(part), f"{above}/{part}".lstrip("/")
                ordinals[folder] = ordinal = -1 if hidden else len(folders)
                if not hidden:
                    folders.append(folder + slash)
            if ordinal >= 0 and (self.fits is None or self.fits.fullmatch(name)):
                self.add(info.path, info, ordinal)
                if not info.size_bytes:
                    self.passed.by(info.path)
            if name == HUDI_PARTITION and ordinal >= 0:
                raise marks[name].refusal(self.storage, self.storage.uri(folder))


def _is_linked(where: str) -> bool:
    return os.path.realpath(where) != where


def _utf8(listing: Listing) -> Listing:
    """Paths are text for every engine: a name that is no UTF-8 is refused."""
    try:
        "\n".join(listing.paths).encode()
    except UnicodeEncodeError:
        bad = next(path for path in listing.paths if path.encode(errors="ignore") != os.fsencode(path))
        raise StorageError(
            f"names of data files are UTF-8; {os.fsencode(bad)!r} is not; rename it, or leave it out by"
            f" {Cure('reader', 'glob')}"
        ) from None
    return listing


def _local_files(where: str, shown: str, passed: Passed) -> Iterator[str]:
    folders = []
    try:
        with os.scandir(where) as entries:
            for entry in entries:
                if entry.is_dir() and not is_hidden_folder(entry.name):
                    folders.append(entry.name)
                    continue
                passed.anything = True  # what hidden folders hold is nobody's
                if is_data_file(entry.name, 1) and not entry.is_dir():
                    with suppress(FileNotFoundError):  # gone since it was seen, or a link to nothing
                        if entry.stat().st_size:
                            yield shown + entry.name
                        else:
                            passed.by(shown + entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise LocalStorage.unlisted(error, error.filename or where) from error
    for name in sorted(folders):
        yield from _local_files(os.path.join(where, name), f"{shown}{name}/", passed)


def _data_files(storage: Storage, folder: str, passed: Passed) -> Iterator[str]:
    """Yield data files below a folder, one at a time."""
    if isinstance(storage, LocalStorage):
        yield from _local_files(storage.uri(folder).rstrip("/") or "/", f"{folder}/" if folder else "", passed)
        return
    cut = len(folder) + 1 if folder else 0
    for info in storage.list(folder):
        *folders, name = info.path[cut:].split("/")
        passed.anything = True
        if any(is_hidden_folder(part) for part in folders):
            continue
        if is_data_file(name, info.size_bytes):
            yield info.path
        elif not info.size_bytes:
            passed.by(info.path)
