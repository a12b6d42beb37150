"""Opens a folder, a bucket or a catalog as a lake, and collects the facts of its tables."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from metaindex.core import ArgumentError, Config, Cure, EmptyFilesError, NotATableError, counted, dataclass, watched
from metaindex.formats import Walk
from metaindex.query import check_since
from metaindex.storage import is_remote, storage_for
from metaindex.table import Table, handle_of, open_table

from .answer import Lake, LakeTable
from .asking import LakePlace, ask
from .catalogs import PREFIX, LakeCatalog, catalog_places, check_catalog
from .page import lake_report
from .side_by_side import SideBySide, Unanswered

if TYPE_CHECKING:
    from metaindex.advisor import Recommendation
    from metaindex.index import Progress

MOST_FOLDERS: Final = 100_000
"""That are looked at."""
MOST_TABLES: Final = 100_000
_NOT_RECORDED: Final = (
    "when an index was last verified is recorded nowhere: metaindex verify reads, and changes nothing"
)


@dataclass(frozen=True, slots=True)
class LakeAsked:
    """The place of a lake and how its tables are opened; see `open_lake`."""

    place: object
    catalog: Mapping[str, str] | None = None
    storage_options: Mapping[str, str] | None = None
    config: Config | None = None
    timeout_seconds: float = 30.0
    most_folders: int = MOST_FOLDERS

    def check(self) -> None:
        """Raise ArgumentError for what is no lake, or a catalog that is not configured; MissingDependencyError."""
        place = self.place
        named = isinstance(place, os.PathLike) or (isinstance(place, str) and place)
        if not (named or isinstance(place, Mapping) or hasattr(place, "list_namespaces")):
            raise ArgumentError(
                f"a lake is a folder or URI, 'catalog:NAME', properties of a catalog, or its handle; got {place!r}"
            )
        if self.of_catalog:
            check_catalog(place, self.catalog)
        elif self.catalog:
            raise ArgumentError(
                f"properties of a catalog are for a catalog; a folder is named; leave {Cure('catalog_options')} out"
            )
        for word, value in (("timeout_seconds", self.timeout_seconds), ("most_folders", self.most_folders)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
                raise ArgumentError(f"{word}= is a number above 0; got {value!r}; give one")

    @property
    def of_catalog(self) -> bool:
        """Return whether it is a catalog, and no folder."""
        return not isinstance(self.place, os.PathLike | str) or os.fspath(self.place).startswith(PREFIX)

    @property
    def said(self) -> str:
        """The lake as it is named to people; properties of a catalog may hold secrets."""
        if not self.of_catalog:
            return storage_for(str(self.place), self.storage_options)[1]
        return f"{PREFIX}{LakeCatalog(self.place, self.catalog).name}"


@watched
def open_lake(
    place: object,
    *,
    catalog: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
    config: Config | None = None,
    since: dt.timedelta | None = None,
    layout: bool = True,
    queries: object = None,
    tables: Mapping[str, str | os.PathLike[str]] | None = None,
    timeout_seconds: float = 30.0,
    most_folders: int = MOST_FOLDERS,
    progress: Progress | None = None,
) -> Lake:
    """Return every table below a folder or in a bucket, or of an Iceberg catalog, with the state of its indexes. Reads
    names, logs and metadata, of CSV and JSON beginnings of files, no other data; writes nothing.

    `place`: a folder or URI; `"catalog:NAME"` as pyiceberg is configured for it, the properties of a catalog as a
    mapping (`name`: what it is called, as one database keeps several), or its handle; `catalog`: more properties of it.
    `storage_options`, `config`: as `open_table` takes them, for all tables. `since`: savings of queries so recent;
    default: all that are noted. `layout`: is told how files lie?
    `queries`: a workload as `mi.recommend` takes it, for the tables that it names (`tables`: by other names than the
    last part of their paths): indexes are recommended for them, which reads some of their files.

    A table that cannot be read, or that gives no answer within `timeout_seconds`, is a row with its problem. At most
    `most_folders` folders are looked at; what is left out is in `notes`. Raises NotATableError where there is no such
    folder, StorageError where it cannot be listed, ArgumentError, MissingDependencyError.
    """
    asked = LakeAsked(place, catalog, storage_options, config, timeout_seconds, most_folders)
    asked.check()
    check_since(since)
    started = time.perf_counter()
    notes: list[str] = []
    places = list(places_of(asked, notes))
    rows = _rows(places, partial(ask, since=since, layout=layout), asked, progress)
    recommended = None
    if queries is not None:
        by_name = {place.name: place for place in places}
        fine = [by_name[row.name] for row in rows if row.format]
        recommended, rows, more = _recommended(fine, rows, queries, tables, progress)
        notes += more
    if any(row.indexes for row in rows):
        notes.append(_NOT_RECORDED)
    return Lake(
        place=asked.said,
        tables=tuple(rows),
        made_ms=int(time.time() * 1000),
        seconds=time.perf_counter() - started,
        notes=tuple(notes),
        recommended=recommended,
        opens={place.name: place.open for place in places if not place.problem},
        writes=lake_report,
    )


def places_of(asked: LakeAsked, notes: list[str]) -> Iterator[LakePlace]:
    """The tables that there are, each once, as they are found."""
    if asked.of_catalog:
        handle = LakeCatalog(asked.place, asked.catalog)
        found = catalog_places(
            handle,
            asked.storage_options,
            asked.config,
            timeout_seconds=asked.timeout_seconds,
            most=asked.most_folders,
            notes=notes,
        )
    else:
        found = _in_folders(asked, notes)
    for number, place in enumerate(found):
        if number >= MOST_TABLES:
            notes.append(f"there are more than {MOST_TABLES:,} tables: the others are not told of; name a part of them")
            return
        yield place


def _in_folders(asked: LakeAsked, notes: list[str]) -> Iterator[LakePlace]:
    storage, root = storage_for(str(asked.place), asked.storage_options)
    if not is_remote(root) and not os.path.isdir(root):
        fact = "is a file" if os.path.exists(root) else "does not exist"
        raise NotATableError(f"a lake is a folder with tables below it; {root!r} {fact}; check the path")
    walk = Walk(storage, asked.most_folders, container=True)
    for found in walk.tables():
        named = None if found.guessed else found.format or None
        yield _place(found.folder, named, found.problem, root, asked, guessed=found.guessed)
    if walk.cut:
        notes.append(
            f"tables are looked for in at most {asked.most_folders:,} folders; there are more below {root}: name a"
            " folder further down, or allow more"
        )
    if walk.deep:
        where = counted(len(walk.deep), "folder")
        down = f"more than {walk.DEPTH} levels down"
        notes.append(f"folders {down} are not looked at: below {where}, such as {walk.deep[0]}")


def _place(folder: str, named: str | None, problem: str, root: str, asked: LakeAsked, *, guessed: bool) -> LakePlace:
    path = f"{root.rstrip('/')}/{folder}" if folder else root
    name = folder or root.rstrip("/").rpartition("/")[2] or root
    return LakePlace(name, path, root, partial(_opened, path, named, asked), guessed, problem)


def _opened(path: str, named: str | None, asked: LakeAsked) -> Table:
    """Open a table. If all its data files are empty it may still have indexes: what is then read of its files says what
    is wrong."""
    try:
        return open_table(path, format=named, storage_options=asked.storage_options, config=asked.config)
    except EmptyFilesError:
        return open_table(path, format="files", storage_options=asked.storage_options, config=asked.config)


def _rows(
    places: list[LakePlace],
    row_of: Callable[[LakePlace], LakeTable | None],
    asked: LakeAsked,
    progress: Progress | None,
) -> list[LakeTable]:
    remote = asked.of_catalog or is_remote(str(asked.place))
    threads = 16 if remote else min(4, (os.cpu_count() or 1) + 1)
    answers = SideBySide[LakeTable | None](
        [place.store for place in places],
        lambda number: row_of(places[number]),
        threads=threads,
        timeout_seconds=asked.timeout_seconds,
    )
    rows: list[LakeTable] = []
    for done, (number, answer) in enumerate(answers.answers(), start=1):
        place = places[number]
        if isinstance(answer, Unanswered):
            rows.append(LakeTable(place.name, place.path, problem=answer.why, seconds=asked.timeout_seconds))
        elif answer is not None:
            rows.append(answer)
        if progress is not None:
            progress("looking at tables", done, len(places))
    return sorted(rows, key=lambda row: row.name)


def _recommended(
    places: list[LakePlace],
    rows: list[LakeTable],
    queries: object,
    tables: Mapping[str, str | os.PathLike[str]] | None,
    progress: Progress | None,
) -> tuple[Recommendation, list[LakeTable], list[str]]:
    """Recommend indexes for the tables that the workload names, and add them to their rows."""
    from metaindex.advisor import Workload, is_named, recommend_for, workload

    asked = queries if isinstance(queries, Workload) else workload(queries)
    mapped = {name: os.fspath(path) for name, path in (tables or {}).items()}
    opened: dict[str, Table] = {place.name: place.open() for place in places if is_named(place.path, asked, mapped)}
    notes = [] if opened else ["the workload names no table of the lake"]
    handles = [handle_of(table) for table in opened.values()]
    answer = recommend_for(handles, asked, tables=tables, progress=progress)
    names = {handle_of(table).path: name for name, table in opened.items()}
    advice: dict[str, list[str]] = {}
    for index in answer.indexes:
        line = f"create {index.name}: {index.title}, for {counted(index.helps, 'query')}"
        advice.setdefault(names[index.table], []).append(line)
    told = [
        replace(
            row,
            advice=(*advice[row.name], *(word for word in row.advice if not word.startswith("no index"))),
            commands=tuple(word for word in row.commands if not word.startswith("metaindex create ")),
        )
        if row.name in advice
        else row
        for row in rows
    ]
    return answer, told, notes
