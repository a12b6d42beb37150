"""Text files that an index could not read, as it was built without a reader option that they need: which one, and the
commands by which an index with it takes the other's place, one after the other. An index is not built anew under
other options by its name: queries that say the old ones would be answered by it."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from itertools import islice

import pyarrow as pa

from metaindex.core import MetaIndexError, dataclass
from metaindex.formats import At, Schema, is_whole
from metaindex.index import KINDS, IndexLogEntry, Kind, State, kind_from_spec
from metaindex.query import differing_options, plain_options
from metaindex.table.sql_text.printing import create_text, table_text
from metaindex.table.sql_text.tree import TableName
from metaindex.table.views.cures import READER, argument, value_of

from .commands import command, opening
from .handle import Handle

_MOST_BYTES = 32 << 20
"""Of a file that is read at once."""
_MOST_PARTS = 2
"""Of some megabytes each, of another file."""
_MOST_OPTIONS = 3
_MOST_FILES = 8
"""That are looked at beside the unread one, from the first to the last."""
_OPTION = re.compile(argument(READER))


@dataclass(frozen=True, slots=True)
class Lacking:
    """Options with which files are read: `said` as Python says them; `handle`: the table, read with them."""

    said: str
    handle: Handle


def lacking_options(handle: Handle, path: str) -> Lacking | None:
    """Return the options named by the errors of reading the beginning of a file, if it is read with them; none if it is
    read as it is, to its end. None if the options do not help, spoil other files, or more of the file would have to be
    read. Raises nothing that a file does wrong."""
    said: dict[str, str | bool] = {}
    before = handle
    try:
        if handle.format != "files" or _format(handle) not in ("csv", "json"):
            return None
        while (why := _why_not(handle, path, tried=bool(said))) is not None:
            name, value = _named(why)
            if not name or name in said or len(said) == _MOST_OPTIONS:
                return None
            said[name] = value
            options = {key: kept for key, kept in handle.ref.options.items() if key != "format"} | {name: value}
            handle = handle.with_options(_format(handle), options, trust_index=False)
        if said and _spoiled(before, handle):
            return None
    except (MetaIndexError, pa.ArrowException, OSError):
        return None
    return Lacking(", ".join(f"{name}={value!r}" for name, value in said.items()), handle)


def _spoiled(before: Handle, now: Handle) -> bool:
    """Return whether one of some files was read before, and is not now."""
    paths = before.snapshot(At()).files.paths
    some = {paths[place * (len(paths) - 1) // (_MOST_FILES - 1)].as_py() for place in range(_MOST_FILES)}
    return any(
        _why_not(before, path, tried=True) is None and _why_not(now, path, tried=True) is not None for path in some
    )


def opened_with(handle: Handle, why: str) -> Lacking | None:
    """Plain files that nobody said how to read, with the option that the error of finding their columns names. None
    where it names none, or they are not read with it either."""
    name, value = _named(why)
    if handle.format != "files" or handle.ref.options or not name:
        return None
    try:
        other = handle.with_options("files", {name: value}, trust_index=False)
        other.snapshot(At())
    except (MetaIndexError, pa.ArrowException, OSError):
        return None
    return Lacking(f"{name}={value!r}", other)


def _named(why: str) -> tuple[str, str | bool]:
    """The first option to which the cure of an error gives a value; an empty name where it gives none."""
    for named in _OPTION.finditer(why.rpartition("; ")[2]):
        if (value := value_of(named)) not in (None, ""):
            return named["name"], value
    return "", ""


def _format(handle: Handle) -> str:
    return str(handle.snapshot(At()).details.read_options()["file_format"])


def what_helps(handle: Handle, name: str, path: str) -> str:
    """Return the command that makes an index read a file that it could not read, for a table opened without options;
    empty if it is not known."""
    entries = handle.entries() if handle.format == "files" else []
    old = next((entry for entry in entries if entry.name == name), None)
    lacking = None if old is None else lacking_options(handle.as_built(old), path)
    step = None if old is None or lacking is None or not lacking.said else replacing(lacking, old, entries)
    return "" if step is None else step.command


def _why_not(handle: Handle, path: str, *, tried: bool) -> str | None:
    """Why the beginning of a text file cannot be read, empty where that is not known; None where it can. `tried`: was
    it not, without an option? Else it has to be read to its end to be called readable."""
    from metaindex.formats import TextReader

    snapshot = handle.snapshot(At())
    options = dict(snapshot.details.read_options())
    file_format = str(options.pop("file_format"))
    fields = tuple(field for field in snapshot.schema if not field.partition)
    large = handle.ref.storage.head(path).size_bytes > _MOST_BYTES
    if large and is_whole({name.lower(): str(value).lower() for name, value in options.items()}):
        return ""
    try:
        with handle.ref.storage.open_input(path) as source:
            parts = TextReader(file_format, options, Schema(fields)).read(source, path, fields, path)
            for _ in islice(parts, _MOST_PARTS):
                pass
            more = next(parts, None) is not None
    except MetaIndexError as error:
        return str(error)
    return "" if more and not tried else None


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command towards an index that reads all files. `deletes`: it takes the old one away, as there is another."""

    command: str
    deletes: bool


def replacing(lacking: Lacking, old: IndexLogEntry, entries: Sequence[IndexLogEntry]) -> NextStep | None:
    """The command that builds an index like the old one that reads the files; where there is one that read every file,
    that which deletes the old one, and `metaindex restore` takes back. Never both at once: what the new one could read
    shows first. None where there is one that could not, or the old one's kinds are not understood here."""
    table = lacking.handle
    wanted = plain_options(table.ref.options)
    others = [entry for entry in entries if _is_alike(entry, old, wanted)]
    if any(not any(run.uncovered_files for run in entry.content.runs) for entry in others if entry.enabled):
        return NextStep(command(table, "delete", old.name, reader=False), deletes=True)
    try:
        return None if others else NextStep(_creating(table, old), deletes=False)
    except MetaIndexError:
        return None


def _creating(table: Handle, old: IndexLogEntry) -> str:
    kinds = [kind_from_spec(spec) for spec in old.kinds]
    name = _free(old.name, table.indexes().names())
    words = _words(kinds)
    if words is not None:
        return command(table, "create", name, *words)
    said = tuple(
        (key, value if isinstance(value, bool | int | float) else str(value))
        for key, value in plain_options(table.ref.options).items()
    )
    statement = create_text(name, table_text(TableName((_format(table), table.path), options=said)), kinds)
    return shlex.join(["metaindex", "sql", statement, *opening(table, reader=False)])


def _is_alike(entry: IndexLogEntry, old: IndexLogEntry, wanted: dict[str, object]) -> bool:
    return (
        entry.name != old.name
        and entry.stable is State.ACTIVE
        and list(entry.kinds) == list(old.kinds)
        and not differing_options(entry.table.options, wanted)
    )


def _free(name: str, taken: Sequence[str]) -> str:
    there = {other.lower() for other in taken}
    return next(free for number in range(2, len(there) + 3) if (free := f"{name}_{number}").lower() not in there)


def _words(kinds: Sequence[Kind]) -> list[str] | None:
    """The options of `metaindex create` that ask for just these kinds; None where that is not said by columns and a
    property or two."""
    commands = [made for kind in KINDS if (made := kind.command()) is not None]
    words = [word for kind in kinds for word in _words_of(kind, alone=len(kinds) == 1)]
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for made in commands:
        made.arguments(parser)
    try:
        args, unknown = parser.parse_known_args(words)
        asked = [(made, made.kinds(args, False)) for made in commands]
        alone = not any(some for _, some in asked)
        understood = [kind for made, some in asked for kind in (some or made.kinds(args, alone))]
    except (argparse.ArgumentError, MetaIndexError, SystemExit):
        return None
    specs = [kind.spec() for kind in understood]
    same = len(specs) == len(kinds) and all(kind.spec() in specs for kind in kinds)
    return words if same and not unknown else None


def _words_of(kind: Kind, *, alone: bool) -> list[str]:
    """Return the kind as words of the command line, as far as any kind tells; the caller checks that they mean it."""
    keys, option = getattr(kind, "keys", None), getattr(kind.command(), "option", None)
    if keys is None or option is None:
        columns = getattr(kind, "columns", ())
        return [word for column in columns for word in ("--column", column)] or ([] if alone else ["--stats"])
    words = [word for key in keys for word in (option, ",".join(key))]
    if type(kind)(*keys) != kind:
        properties = ((name, getattr(kind, name, None)) for name in ("by", "limit", "fpp"))
        words += [word for name, value in properties if value is not None for word in (f"--{name}", str(value))]
    return words
