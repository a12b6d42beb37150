"""Text files that an index could not read, as it was built without a reader option that they need: which one, and the
commands by which an index with it takes the other's place, one after the other. An index is not built anew under
other options by its name: queries that say the old ones would be answered by it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import islice

import pyarrow as pa

from metaindex.core import Cure, MetaIndexError, dataclass
from metaindex.expressions import column_sql
from metaindex.formats import At, ReadOptions, Schema
from metaindex.index import KINDS, IndexLogEntry
from metaindex.query import Handle

_MOST_BYTES = 32 << 20
"""Of a file that is read at once."""
_MOST_PARTS = 2
"""Of some megabytes each, of another file."""
_MOST_FILES = 8
"""That are looked at beside the unread one, from the first to the last."""


@dataclass(frozen=True, slots=True)
class ReadableWith:
    """A reader option that files need, as Python says it, empty if they need none; `handle`: the table read with it."""

    said: str
    handle: Handle


@dataclass(frozen=True, slots=True)
class NextStep:
    """The step towards an index that reads all files. `said`: the reader option that they need, empty if they are read
    as the index reads them: to refresh it is enough, and `command` is empty. `deletes`: the command takes the old index
    away, as there is another."""

    said: str
    command: str = ""
    deletes: bool = False


class UnreadFiles:
    """The files of a table that its indexes could not read."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._readable: dict[tuple[str, str], ReadableWith | None] = {}

    def opened_with(self, missing: tuple[str, str | bool]) -> ReadableWith | None:
        """Return plain files that nobody said how to read, with the option that the error of finding their columns asks
        for. None if they are not read with it either, or an index has the options that it was built with."""
        handle = self._handle
        if not handle.table_format.reader_options or handle.ref.options or handle.entries():
            return None
        try:
            other = _with(handle, handle.format, missing)
            other.handle.snapshot(At())
        except (MetaIndexError, pa.ArrowException, OSError):
            return None
        return other

    def next_step(self, name: str, path: str) -> NextStep | None:
        """Return what makes an index read a file that it could not read; None if it is not known."""
        entries = self._handle.entries() if self._handle.table_format.reader_options else []
        old = next((entry for entry in entries if entry.name == name), None)
        if old is None:
            return None
        built = self._handle.as_built(old)
        key = str(built.read), path
        if key not in self._readable:
            self._readable[key] = readable_with(built, path)
        readable = self._readable[key]
        if readable is None:
            return None
        return _replacing(readable, old, entries) if readable.said else NextStep("")


def readable_with(handle: Handle, path: str) -> ReadableWith | None:
    """Return the option that the error of reading the beginning of a file asks for; none if it is read as it is, to its
    end. None if the option does not help, spoils other files, or more of the file would have to be read. Raises nothing
    that a file does wrong."""
    try:
        if not handle.table_format.reader_options or _format(handle) not in ("csv", "json"):
            return None
        error = _error(handle, path, tried=False)
        if error is None:
            return ReadableWith("", handle)
        other = None if error.missing is None else _with(handle, _format(handle), error.missing)
        if other is None or _error(other.handle, path, tried=True) is not None or _spoiled(handle, other.handle):
            return None
    except (MetaIndexError, pa.ArrowException, OSError):
        return None
    return other


def _with(handle: Handle, file_format: str, missing: tuple[str, str | bool]) -> ReadableWith:
    name, value = missing
    options = {key: kept for key, kept in handle.ref.options.items() if key != "format"} | {name: value}
    return ReadableWith(str(Cure("reader", name, value)), handle.with_options(file_format, options, trust_index=False))


def _spoiled(before: Handle, now: Handle) -> bool:
    """Return whether one of some files was read before, and is not now."""
    paths = before.snapshot(At()).files.paths
    some = {paths[place * (len(paths) - 1) // (_MOST_FILES - 1)].as_py() for place in range(_MOST_FILES)}
    return any(_error(before, path, tried=True) is None and _error(now, path, tried=True) is not None for path in some)


def _format(handle: Handle) -> str:
    return str(handle.snapshot(At()).details.read_options()["file_format"])


def _error(handle: Handle, path: str, *, tried: bool) -> MetaIndexError | None:
    """Return why the beginning of a text file cannot be read; None if it can. Unless it was `tried` before, it has to
    be read to its end to be called readable."""
    from metaindex.formats import TextReader

    snapshot = handle.snapshot(At())
    options = dict(snapshot.details.read_options())
    file_format = str(options.pop("file_format"))
    fields = tuple(field for field in snapshot.schema if not field.partition)
    unknown = MetaIndexError(f"of a file its beginning is looked at, and {path!r} goes on")
    try:
        reader = TextReader(file_format, options, Schema(fields))
        if reader.whole and handle.ref.storage.head(path).size_bytes > _MOST_BYTES:
            return unknown
        with handle.ref.storage.open_input(path) as source:
            parts = reader.read(source, path, fields, path)
            for _ in islice(parts, _MOST_PARTS):
                pass
            more = next(parts, None) is not None
    except MetaIndexError as error:
        return error
    return unknown if more and not tried else None


def _replacing(readable: ReadableWith, old: IndexLogEntry, entries: Sequence[IndexLogEntry]) -> NextStep | None:
    """The command that builds an index like the old one that reads the files; where there is one that read every file,
    that which deletes the old one, and `metaindex restore` takes back. Never both at once: what the new one could read
    shows first. None if there is one that could not, or the old one's kinds are not understood here."""
    table, wanted = readable.handle, readable.handle.read
    others = [entry for entry in entries if _is_alike(entry, old, wanted)]
    if any(not any(run.uncovered_files for run in entry.content.runs) for entry in others if entry.enabled):
        return NextStep(readable.said, table.command("drop", old.name, reader=False), deletes=True)
    try:
        return None if others else NextStep(readable.said, _creating(table, old))
    except MetaIndexError:
        return None


def _creating(table: Handle, old: IndexLogEntry) -> str:
    place, options = column_sql((_format(table), table.path)), tuple(table.read.said.items())
    kinds = [KINDS.of(spec) for spec in old.kinds]
    name = _free(old.name, table.indexes().names())
    statement = KINDS.create_text(name, ReadOptions.in_sql(place, options), kinds)
    return shlex.join(["metaindex", "sql", statement, *table.opening_words(reader=False)])


def _is_alike(entry: IndexLogEntry, old: IndexLogEntry, wanted: ReadOptions) -> bool:
    return (
        entry.name != old.name
        and entry.active
        and list(entry.kinds) == list(old.kinds)
        and not ReadOptions.of(entry.table.options).differing(wanted)
    )


def _free(name: str, taken: Sequence[str]) -> str:
    there = {other.lower() for other in taken}
    return next(free for number in range(2, len(there) + 3) if (free := f"{name}_{number}").lower() not in there)
