"""A table, as whoever opens it here sees it: can it be read, can an index be written beside it, and do the clocks
agree? What is written is one object in the folder of its indexes, which is removed again."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from metaindex.expressions.errors import MetaIndexError, ObjectExistsError, StorageError, StoragePermissionError
from metaindex.expressions.shown import one_line
from metaindex.formats.storage import Storage
from metaindex.formats.storage_opening import is_remote
from metaindex.formats.storage_own import own_folder
from metaindex.local_paths import local_path
from metaindex.log.states import State
from metaindex.pruning.folder import built_otherwise, options_in_words, plain_options
from metaindex.pruning.result import human_bytes
from metaindex.table.commands import command
from metaindex.table.face import Table, handle_of
from metaindex.views.info import IndexInfo, options_in_words_of, state_in_words, unread_in_words
from metaindex.views.words import counted

from .diagnosis import Symptom, lacking, right, wrong

if TYPE_CHECKING:
    from metaindex.table.handle import Handle

_APART_SECONDS = 2.0
"""A file that is younger is not believed to keep its identity (`Config.settle_seconds`): clocks that are further apart
make young files look old."""
_ELSEWHERE = "choose another place with Config(index_location=...)"


def table(opened: Table, *, write: bool) -> Iterator[Symptom]:
    """`write`: an object is put where its indexes lie, and removed."""
    said, opened = opened, Table(handle_of(opened).as_indexed())
    try:
        snapshot = opened.snapshot()
    except (MetaIndexError, OSError) as error:
        yield wrong("table", one_line(str(error)), "mend what is named, then ask again")
        return
    count = len(snapshot.files)
    files = f"{count:,} {'file' if count == 1 else 'files'}, {human_bytes(snapshot.files.size_bytes)}"
    yield right("table", f"{opened.format}, version {one_line(str(snapshot.version))}: {files}")
    yield _rows(opened, _remembered(said, opened))
    yield from _indexes(said)
    yield from _folder(opened, write=write)


def _remembered(said: Table, opened: Table) -> str:
    """By which reader options files are read that nobody said, as their indexes are built so."""
    kept = handle_of(opened).ref.options
    stored = {**plain_options(kept), "file_format": kept.get("format", "")}
    return options_in_words(*built_otherwise(stored, handle_of(said).ref.options)) if opened.format == "files" else ""


def _rows(opened: Table, remembered: str) -> Symptom:
    """Can a file be read?"""
    about = "a file of it"
    try:
        rows = opened.scan(limit=1).to_arrow()
    except (MetaIndexError, OSError) as error:
        return wrong(about, one_line(str(error)), "mend what is named: queries will say the same")
    how = f" {remembered}, as its indexes are, and as queries have to say" if remembered else ""
    return right(about, f"is read{how}" if rows.num_rows else "no row in the table")


def _indexes(opened: Table) -> Iterator[Symptom]:
    try:
        indexes = opened.indexes()
    except (MetaIndexError, OSError) as error:
        yield wrong("indexes", one_line(str(error)), "mend what is named: queries read the table until then")
        return
    handle = handle_of(opened)
    if not indexes:
        yield right("indexes", "none yet")
    for index in indexes:
        about = f"index {one_line(index.name)}"
        if index.problem:
            verify, repair = (command(handle, verb, index.name) for verb in ("verify", "repair"))
            yield wrong(about, one_line(index.problem), one_line(f"{verify}, then {repair}"))
        elif index.suspected:
            fact = f"{counted(len(index.suspected), 'operation')} without a sign of life"
            yield lacking(about, fact, one_line(command(handle, "cancel", index.name)))
        else:
            yield _index(handle, about, index)


def _index(handle: Handle, about: str, index: IndexInfo) -> Symptom:
    """An index that can be read, and that nobody seems to have left half-done."""
    state = one_line(state_in_words(index))
    if index.state == State.DELETED.value or (index.fresh is False and index.new_files is None):
        return right(about, f"{state}: no query uses it")
    cures = []
    if index.fresh is False:
        behind = f"{counted(index.new_files, 'file')} of the table" if index.new_files else "the table's version"
        state += f", lacks {behind}"
        cures.append(one_line(command(handle, "refresh", index.name)))
    elif index.fresh:
        state += ", fresh"
    facts = [state]
    if index.uncovered_files:
        facts.append(unread_in_words(index))
        verify = command(handle, "verify", index.name, "--files", "all")
        cures.append(one_line(f"{verify} says why, and what helps"))
    facts += [one_line(said) for said in (options_in_words_of(index),) if said]
    return lacking(about, "; ".join(facts), "; ".join(cures)) if cures else right(about, "; ".join(facts))


def _folder(opened: Table, *, write: bool) -> Iterator[Symptom]:
    handle = handle_of(opened)
    folder = handle.indexes_folder()
    about = "folder of indexes"
    if not is_remote(folder):
        there = Path(local_path(folder) or folder)
        at = next((place for place in (there, *there.parents) if place.exists()), there)
        if at.is_file():
            fact = f"{one_line(str(at))} is a file, where the folder of indexes would be: none can be built"
            yield lacking(about, fact, f"move that file away, or {_ELSEWHERE}")
            return
        if not os.access(at, os.W_OK | os.X_OK):
            yield lacking(
                about, f"nothing can be written in {one_line(str(at))}: indexes are used, not built", _ELSEWHERE
            )
            return
        if at != there:
            yield right(about, f"{one_line(folder)}, which does not exist yet")
            return
    if not write:
        yield right(about, one_line(folder))
        return
    options = handle.storage_options if is_remote(folder) else None
    yield from _written(own_folder(folder, folder, handle.root(None), options), folder)


def _written(storage: Storage, folder: str) -> Iterator[Symptom]:
    """What a put says, and the clock of whoever keeps the object."""
    about, name = "folder of indexes", f"_doctor-{uuid.uuid4().hex}"
    try:
        before = time.time_ns()
        storage.put_if_absent(name, b"")
        after = time.time_ns()
        kept = storage.head(name).modified_ns
        yield right(about, f"{one_line(folder)}: written and read")
        yield _one_winner(storage, name)
        yield _clock(before, kept, after)
    except StoragePermissionError as error:
        yield lacking(about, f"{one_line(str(error))}: indexes are used, not built", _ELSEWHERE)
    except (StorageError, OSError) as error:
        yield wrong(about, one_line(str(error)), _ELSEWHERE)
    finally:
        try:
            storage.delete(name)
        except (StorageError, OSError) as error:
            yield lacking(about, f"{name} cannot be removed: {one_line(str(error))}", "clean needs the right to delete")


def _one_winner(storage: Storage, name: str) -> Symptom:
    about = "put-if-absent"
    try:
        storage.put_if_absent(name, b"x")
    except ObjectExistsError:
        return right(about, "has one winner")
    return wrong(about, "replaced an object: two writers would both win", _ELSEWHERE)


def _clock(before: int, kept: int, after: int) -> Symptom:
    """The object was made between two looks at our clock."""
    off = max(before - kept, kept - after, 0) / 1e9
    if off <= _APART_SECONDS:
        return right("clock", "agrees with that of the storage")
    which = "ahead of" if kept < before else "behind"
    return wrong("clock", f"this machine is {off:,.1f} seconds {which} the storage", "set the clock (NTP)")
