"""Cheap facts of one table of a lake: its version and files, its indexes and how far behind they are, its query log,
and how its files lie as far as bounds are at hand. Failures are told in the row."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from metaindex.advisor import Savings, computed_savings, known_clustering
from metaindex.core import (
    EmptyFilesError,
    MetaIndexError,
    NotATableError,
    counted,
    dataclass,
    duration,
    first_line,
    human_bytes,
    percent,
)
from metaindex.formats import At, Format, Snapshot
from metaindex.index import FileStatistics, OpenIndex
from metaindex.query import Handle, TableQueryLog
from metaindex.table import History, IndexInfo, Table, UnreadFiles, handle_of

from .answer import LakeIndex, LakeLayout, LakeTable

_MOST_FILES = 20_000
"""Of a table whose layout is measured: the cheap part of advice stays cheap."""
_MOST_COLUMNS = 16
_MOST_ROWS = 100_000
"""Of a query log."""
_OVERLAPPING = 0.5
_FEW_FILES = 8
_LONG = 300
_ENOUGH_QUERIES = 10
"""That an index helped none of before it is advised to be deleted."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class LakePlace:
    """A table that was found. `store`: what answers for it; tables of one that does not answer are not all waited
    for. `guessed`: files of data alone make it a table; `problem`: why nobody can look."""

    name: str
    path: str
    store: str
    open: Callable[[], Table]
    guessed: bool = False
    problem: str = ""

    @classmethod
    def of(cls, table: Table) -> LakePlace:
        """Return the place of an open table."""
        return cls(table.path, table.path, "", lambda: table)

    def answer(self, ask: Callable[[], _T]) -> _T | Problem | None:
        """Return what its table answers, or why it cannot be asked; None if there is none after all (a folder that only
        looks like one). Never raises what a table does wrong."""
        if self.problem:
            return Problem(self.problem)
        try:
            return ask()
        except NotATableError as error:
            return None if self.guessed and not isinstance(error, EmptyFilesError) else Problem(str(error))
        except MetaIndexError as error:
            return Problem(str(error), error.missing)
        except Exception as error:  # noqa: BLE001 - whatever lies there, the other tables are asked
            return Problem(f"it cannot be understood ({type(error).__name__}: {first_line(error)})")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a table cannot be asked. `missing`: the reader option that it lacks."""

    why: str
    missing: tuple[str, str | bool] | None = None


def ask(place: LakePlace, since: dt.timedelta | None = None, *, layout: bool = True) -> LakeTable | None:
    """Return the row of a table; None if there is none after all. `since`: how far back the query log is read;
    `layout`: is that measured?"""
    started = time.perf_counter()
    row = place.answer(lambda: _told(place.open(), place, since, layout=layout))
    if isinstance(row, Problem):
        cures = () if row.missing is None or not place.guessed else _opening_cure(place, row.missing)
        row = LakeTable(
            place.name,
            place.path,
            problem=shortened(row.why.replace(f"{place.path}/", "")),
            advice=tuple(cure.said for cure in cures),
            commands=tuple(command for cure in cures for command in cure.commands),
        )
    return None if row is None else replace(row, seconds=time.perf_counter() - started)


def _opening_cure(place: LakePlace, missing: tuple[str, str | bool]) -> tuple[_Advice, ...]:
    """Return the cure for plain files without an index whose columns cannot be read: an index built with the reader
    option that they lack. If there is an index, nothing: it has the options that it was built with."""
    try:
        options = UnreadFiles(handle_of(place.open())).opened_with(missing)
    except Exception:  # noqa: BLE001 - what is wrong with the table is told
        options = None
    if options is None:
        return ()
    create = options.handle.command("create", "stats")
    return (_Advice(f"it can be read with {options.said}, where that is meant: {create}", (create,)),)


def shortened(text: str) -> str:
    """Return the text in one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _LONG else f"{line[:_LONG]}..."


def _told(table: Table, place: LakePlace, since: dt.timedelta | None, *, layout: bool) -> LakeTable:
    handle = handle_of(table).as_indexed()
    snapshot = handle.snapshot(At())
    problems: list[str] = []

    def part(what: str, tell: Callable[[], _T]) -> _T | None:
        try:
            return tell()
        except Exception as error:  # noqa: BLE001 - a part that is damaged leaves the others as they are
            problems.append(f"{what}: {first_line(error)}")
            return None

    unread: dict[str, str] = {}
    infos = part("indexes", lambda: _infos(handle, snapshot, unread)) or ()
    saved = part("query log", lambda: _savings(handle, infos, since))
    measured = part("layout", lambda: _layout(handle, snapshot)) if layout else None
    noted = saved is not None and bool(saved.total.queries)
    indexes = part("staleness", lambda: _indexes(handle, snapshot, infos, saved if noted else None))
    if indexes is None:
        indexes = tuple(LakeIndex(info) for info in infos)
    indexes = tuple(replace(index, unread=unread.get(index.info.name, "")) for index in indexes)
    problems += [f"index {index.info.name}: {index.info.problem}" for index in indexes if index.info.problem]
    row = LakeTable(
        name=place.name,
        path=place.path,
        format=Format.named(snapshot.format).called(str(snapshot.details.read_options().get("file_format", "parquet"))),
        version=str(snapshot.version),
        committed_ms=snapshot.timestamp_ms or None,
        files=len(snapshot.files),
        size_bytes=snapshot.files.size_bytes,
        indexes=indexes,
        savings=saved.total if noted and saved is not None else None,
        unused=_unused(saved, indexes) if noted and saved is not None else (),
        layout=measured,
        problem=shortened("; ".join(problems)),
    )
    again = partial(_again, handle_of(table).command)
    cures = part("unread files", lambda: _unread_cures(handle, row.indexes, again)) or {}
    advised = list(_advice(row, handle_of(table).command, handle.command, cures))
    return replace(
        row,
        advice=tuple(each.said for each in advised),
        commands=tuple(command for each in advised for command in each.commands),
    )


def _infos(handle: Handle, snapshot: Snapshot, unread: dict[str, str]) -> tuple[IndexInfo, ...]:
    """Describe the indexes. The table is read once: every index is compared with the snapshot. `unread` gets the first
    file that an index could not read."""
    if not handle.config.use_indexes:
        return ()
    # Nobody says how the files of a lake are read: an index of other options than the first one's is told apart.
    options = handle.read if handle.table_format.reader_options else None
    many: dict[str, int] = {}
    files = FileStatistics(snapshot, ())

    def looked(index: OpenIndex) -> Snapshot:
        many[index.name], unread[index.name] = unread_files(index, files)
        return snapshot

    folder, now = handle.indexes(), snapshot.version
    told = (IndexInfo.of(name, folder, now, At.of(now), looked, options) for name in folder.names())
    infos = tuple(info for info in told if info.exists)
    return tuple(replace(info, uncovered_files=many.get(info.name, info.uncovered_files)) for info in infos)


def _indexes(
    handle: Handle, snapshot: Snapshot, infos: tuple[IndexInfo, ...], saved: Savings | None
) -> tuple[LakeIndex, ...]:
    told = {} if saved is None else {each.name: each for each in saved.indexes}
    since = handle.table_format.commits_since(handle.ref, snapshot.version)

    def commits(info: IndexInfo) -> int | None:
        return 0 if info.fresh else since(info.newest_version or "")

    def lag(info: IndexInfo) -> int | None:
        if info.fresh is None or info.newest_ms is None:
            return None
        return 0 if info.fresh else max(snapshot.timestamp_ms - info.newest_ms, 0)

    def of_queries(info: IndexInfo) -> tuple[int | None, int | None]:
        if saved is None:
            return None, None
        each = told.get(info.name)
        return (0, None) if each is None else (each.spared.helped, each.queries)

    return tuple(
        LakeIndex(info, commits(info), lag(info), helped, queries=queries)
        for info in infos
        for helped, queries in [of_queries(info)]
    )


def _savings(handle: Handle, infos: tuple[IndexInfo, ...], since: dt.timedelta | None) -> Savings | None:
    """Return the savings; None if no query is noted. The cost of upkeep is not read, which would take whole logs. The
    logs of indexes that helped no query are: no query could ask one that is younger than all of them."""
    queries = handle.made(TableQueryLog).read(since, _MOST_ROWS)
    if not queries.rows.num_rows:
        return None
    told = computed_savings(handle.path, queries, infos, {})
    histories = {name: History.of(name, handle.indexes()) for name in told.unused}
    return computed_savings(handle.path, queries, infos, histories) if histories else told


def _unused(saved: Savings, indexes: tuple[LakeIndex, ...]) -> tuple[str, ...]:
    """Return the indexes in use that helped no query since they were created."""
    asked = {index.info.name for index in indexes if index.asked}
    return tuple(name for name in saved.unused if name in asked)


def _layout(handle: Handle, snapshot: Snapshot) -> LakeLayout | None:
    """Measure the layout from what the log and the indexes hold of every file. No file is opened."""
    if not 1 < len(snapshot.files) <= _MOST_FILES:
        return None
    columns = [c for c in known_clustering(handle, snapshot, _MOST_COLUMNS) if not c.unknown_files]
    if not columns:
        return None
    best = min(columns, key=lambda column: (column.value_share, column.column))
    return LakeLayout(best.column, best.value_share, best.average_depth, len(columns))


@dataclass(frozen=True, slots=True)
class _Advice:
    """`commands`: those that `said` names, which can be pasted."""

    said: str
    commands: tuple[str, ...]


def _advice(
    row: LakeTable, command: Callable[..., str], of_rows: Callable[..., str], cures: Mapping[str, _Advice]
) -> Iterator[_Advice]:
    """Yield the advice that follows from the row alone. `command`: of a verb and its words, for this table; `of_rows`:
    with the options by which its rows are read; `cures`: by index, what makes files readable that it could not read."""

    def advised(fact: str, verb: str, *words: str, command: Callable[..., str] = command) -> _Advice:
        done = command(verb, *words)
        return _Advice(f"{fact}: {done}", (done,))

    for index in row.indexes:
        if index.deleted:
            continue
        name = index.info.name
        if index.info.problem:
            verify, repair = command("verify", name), command("repair", name)
            yield _Advice(f"{name} cannot be used: {verify}, then {repair}", (verify, repair))
        if index.info.suspected:
            yield advised(f"a writer of {name} seems dead", "cancel", name)
        if index.info.other_options:
            options = ", ".join(index.info.other_options)
            yield advised(f"{name} was built with other reader options ({options})", "indexes", name)
        if not index.asked:
            continue
        if index.info.new_files:
            parts = [counted(index.info.new_files, "file"), human_bytes(index.info.new_bytes or 0)]
            parts += [counted(index.behind_commits, "commit")] if index.behind_commits else []
            parts += [duration(index.lag_ms)] if index.lag_ms else []
            identity = ("--mode", "identity") if index.info.touched_files else ()
            yield advised(f"{name} is behind ({', '.join(parts)})", "refresh", name, *identity)
        elif index.info.fresh is False:
            yield advised(f"{name} is behind", "refresh", name)
        if index.info.uncovered_files:
            yield cures.get(index.info.name) or _unread_advice(row, index, command)
    for index in row.indexes:
        if index.info.name in row.unused and (index.queries or 0) >= _ENOUGH_QUERIES:
            fact = (
                f"{index.info.name} helped none of the {index.queries:,} queries that were noted since it was created"
            )
            yield advised(fact, "drop", index.info.name)
    if not row.indexes and (row.files or 0) > 1:
        yield advised("no index", "create", "stats")
    if row.layout is not None and row.layout.share > _OVERLAPPING and (row.files or 0) >= _FEW_FILES:
        fact = f"one value is in {percent(row.layout.share)} of the files by any column"
        yield advised(fact, "clustering", command=of_rows)


def _unread_advice(row: LakeTable, index: LakeIndex, command: Callable[..., str]) -> _Advice:
    """Return the advice for files that an index could not read, for a reason not yet known."""
    name = index.info.name
    verify, again = command("verify", name, "--files", "all"), _again(command, name)
    if row.format in ("csv", "json"):
        # A refresh reads them as before: where they lack another reader option it changes nothing.
        said = f"{_unread(index)}: {verify} says why, and what helps"
        return _Advice(said, (verify,))
    return _Advice(
        f"{_unread(index)}: {verify} says why; once that is mended, {again} reads them again", (verify, again)
    )


def _again(command: Callable[..., str], name: str) -> str:
    return command("refresh", name, "--mode", "full")


def _unread(index: LakeIndex) -> str:
    first = f" (the first: {shortened(index.unread)})" if index.unread else ""
    files = counted(index.info.uncovered_files, "file")
    return f"{index.info.name} could not read {files}, which no query leaves out{first}"


def _unread_cures(handle: Handle, indexes: Iterable[LakeIndex], again: Callable[[str], str]) -> dict[str, _Advice]:
    """Return by index what makes CSV or JSON files readable that it could not read, if the beginning of the first
    tells. `again`: the command that reads them again."""
    told = [index for index in indexes if index.asked and not index.deleted and index.unread]
    files = UnreadFiles(handle)
    cures: dict[str, _Advice] = {}
    for index in told:
        step = files.next_step(index.info.name, index.unread)
        if step is not None:
            command = step.command or again(index.info.name)
            how = f"with {step.said} it is read" if step.said else "it is read now"
            how += " by another index; queries that do not say it have none then" if step.deletes else ""
            cures[index.info.name] = _Advice(f"{_unread(index)}; {how}: {command}", (command,))
    return cures


def unread_files(index: OpenIndex, files: FileStatistics) -> tuple[int, str]:
    """Return how many files of a snapshot the index could not read, at least, and the first of them; "" if it is
    unknown which they are. Raises MetaIndexError if the index cannot be read."""
    unread, first = 0, ""
    for run in index.entry.content.runs:
        if not run.uncovered_files:
            continue
        here = files.places(index, run)
        live = np.flatnonzero(here >= 0)
        every = index.unknown_files(run)
        unknown = live[every[here[live]]]
        # A file may be read, and be known by nothing all the same: then it is not told which of them were not, and as
        # many of those as there are may have left the table.
        is_told = int(every.sum()) <= run.uncovered_files
        gone = int(every.sum()) - len(unknown)
        unread += len(unknown) if is_told else max(run.uncovered_files - gone, 0)
        if is_told and len(unknown) and not first:
            first = str(files.snapshot.files.table.column("path")[int(unknown[0])].as_py())
    return unread, first
