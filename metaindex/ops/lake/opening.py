"""Opens a folder, a bucket or a catalog as a lake, and collects the facts of its tables.

A catalog is listed by pyiceberg: REST, Glue, Hive, SQL, and what else it speaks. Each thread asks by a handle of its
own, as not every catalog's may be shared. A table is loaded once; what is then asked of it is asked of its files."""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from metaindex.advisor import Recommendation, TableNames, Workload, recommend_for, workload
from metaindex.core import (
    ArgumentError,
    Config,
    Cure,
    EmptyFilesError,
    MetaIndexError,
    NotATableError,
    Progress,
    StorageError,
    counted,
    dataclass,
    first_line,
    watched,
)
from metaindex.formats import ConfiguredCatalog, Walk
from metaindex.query import check_since
from metaindex.storage import is_remote, storage_for
from metaindex.table import Table, handle_of, open_table

from .answer import Lake, LakeTable
from .asking import LakePlace, ask, shortened
from .page import lake_report
from .side_by_side import SideBySide, Unanswered

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
    asked = queries if isinstance(queries, Workload) else workload(queries)
    mapped = {name: os.fspath(path) for name, path in (tables or {}).items()}
    opened: dict[str, Table] = {
        place.name: place.open() for place in places if TableNames(place.path, mapped).are_in(asked)
    }
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


PREFIX: Final = "catalog:"
"""Before the name of a catalog, where a folder could stand."""
_said: Final = ConfiguredCatalog.said_name
_DEPTH: Final = 8

Names = tuple[str, ...]
Listed = tuple[list[Names], list[Names]] | str
"""The tables and namespaces in a namespace, or why nobody can tell."""


class LakeCatalog:
    """A catalog, with a handle for each thread. `given`: its name as pyiceberg is configured for it, its properties, or
    a handle."""

    def __init__(self, given: object, properties: Mapping[str, str] | None = None) -> None:
        self.name, make = _maker(given, dict(properties or {}))
        self.alone = make is None
        """Lives in the memory of its one handle, which is for the thread that has it."""
        self._make = make or (lambda: given)
        self._own = threading.local()

    @property
    def handle(self) -> Any:
        """Return this thread's handle. Raises ArgumentError if there is no such catalog."""
        if not hasattr(self._own, "handle"):
            self._own.handle = self._make()
        return self._own.handle

    def table(self, names: Names, storage_options: Mapping[str, str] | None, config: Config | None) -> Table:
        """Opens a table of it; asks the catalog once. MetaIndexError."""
        return _opened_of(_said(names), self.load(names), storage_options, config)

    def load(self, names: Names) -> _OneTable:
        """Asks the catalog for a table. MetaIndexError."""
        try:
            return _OneTable(self.name, self.handle.load_table(names))
        except MetaIndexError:
            raise
        except Exception as error:
            raise StorageError(
                f"the catalog is asked for each table; of {_said(names)!r} it says: {shortened(first_line(error))}"
            ) from error


@dataclass(frozen=True, slots=True)
class _OneTable:
    """A catalog for `open_table` that has the one table that was loaded."""

    name: str
    loaded: Any

    def load_table(self, name: object) -> Any:
        return self.loaded


def catalog_places(
    catalog: LakeCatalog,
    storage_options: Mapping[str, str] | None,
    config: Config | None,
    *,
    timeout_seconds: float,
    most: int,
    notes: list[str],
) -> Iterator[LakePlace]:
    """Yield every table of the catalog; a namespace that cannot be listed is a place with a problem, and `notes` gets
    those that are not looked at. Raises StorageError if the catalog cannot be listed at all."""
    try:
        ask = partial(_inside, catalog, ())
        first = ask() if catalog.alone else _within(ask, timeout_seconds)
    except MetaIndexError:
        raise
    except Exception as error:
        raise StorageError(
            f"a catalog is listed first; {catalog.name!r} says: {shortened(first_line(error))}; check its properties"
        ) from error
    level, cut = first[:most], len(first) > most
    seen = set(level)
    for _ in range(_DEPTH):
        following: list[Names] = []
        for number, answer in _answers(catalog, level, timeout_seconds):
            names = level[number]
            if isinstance(answer, Unanswered | str):
                why = answer if isinstance(answer, str) else answer.why
                said = _said(names)
                problem = f"namespace {said} cannot be listed: {why}"
                yield LakePlace(f"{said}.*", said, said, _never, problem=problem)
                continue
            tables, inside = answer
            for table in dict.fromkeys(tables):  # see `_inside`
                yield _catalog_place(catalog, table, storage_options, config)
            new = [name for name in inside if name not in seen]
            room = max(most - len(seen), 0)
            cut = cut or len(new) > room
            seen.update(new[:room])
            following += new[:room]
        level = following
        if not level:
            break
    if cut:
        notes.append(
            f"tables are looked for in at most {most:,} namespaces; there are more in {catalog.name}: allow more"
        )
    if level:
        where = counted(len(level), "namespace")
        notes.append(f"namespaces more than {_DEPTH} levels down are not looked at: {where}, such as {_said(level[0])}")


def _answers(
    catalog: LakeCatalog, level: list[Names], timeout_seconds: float
) -> Iterator[tuple[int, Listed | Unanswered]]:
    """Yield the listing of each namespace."""
    if catalog.alone:
        return ((number, _listed(catalog, names)) for number, names in enumerate(level))
    stores = [_said(names) for names in level]
    return SideBySide[Listed](
        stores, lambda number: _listed(catalog, level[number]), threads=8, timeout_seconds=timeout_seconds
    ).answers()


def _catalog_place(
    catalog: LakeCatalog, names: Names, storage_options: Mapping[str, str] | None, config: Config | None
) -> LakePlace:
    said = _said(names)
    if catalog.alone:  # what is asked in other threads is the table alone
        try:
            loaded = catalog.load(names)
        except MetaIndexError as error:
            return LakePlace(said, said, said, _never, problem=str(error))
        return LakePlace(said, said, said, lambda: _opened_of(said, loaded, storage_options, config))
    return LakePlace(said, said, _said(names[:-1]), lambda: catalog.table(names, storage_options, config))


def _opened_of(name: str, loaded: _OneTable, storage_options: Mapping[str, str] | None, config: Config | None) -> Table:

    options = dict(storage_options or {}) if is_remote(str(loaded.loaded.location())) else {}
    return open_table(name, catalog=loaded, storage_options=options, config=config)


def _never() -> Table:
    raise AssertionError("a place with a problem is not opened")


def _listed(catalog: LakeCatalog, names: Names) -> Listed:
    """Return the tables and namespaces in a namespace, or why they cannot be listed."""
    try:
        handle = catalog.handle
        tables = [tuple(map(str, name)) for name in handle.list_tables(names)]
        return tables, _inside(catalog, names)
    except Exception as error:  # noqa: BLE001 - whatever a catalog answers, the other namespaces are told of
        return shortened(first_line(error))


def _inside(catalog: LakeCatalog, names: Names) -> list[Names]:
    """Namespaces in a namespace, or in the catalog. Those that cannot be inside of each other have none."""
    told = catalog.handle.list_namespaces(names) if names else catalog.handle.list_namespaces()
    full = [tuple(map(str, name)) for name in told]
    inside = [name for name in full if len(name) == len(names) + 1 and name[: len(names)] == names]
    return list(dict.fromkeys(inside))  # some are told twice, as pages of a list shift under whoever reads it


def _within(ask: Callable[[], list[Names]], seconds: float) -> list[Names]:
    """Return the answer. Raises StorageError if there is none in time."""

    def asked(_: int) -> list[Names] | Exception:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            return error

    ((_, answer),) = SideBySide(["catalog"], asked, threads=1, timeout_seconds=seconds).answers()
    if isinstance(answer, Unanswered):
        raise StorageError(f"a catalog is listed first; it gave {answer.why}")
    if isinstance(answer, Exception):
        raise answer
    return answer


def check_catalog(given: object, properties: Mapping[str, str] | None) -> None:
    """Raise ArgumentError for a catalog that is not configured. Asks no catalog."""
    _maker(given, dict(properties or {}))


def _maker(given: object, properties: dict[str, str]) -> tuple[str, Callable[[], Any] | None]:
    """Return the name of a catalog, and what makes a handle; None if it lives in its one handle. Raises ArgumentError
    for one that is not configured."""
    if isinstance(given, str):
        name = given.removeprefix(PREFIX)
        return name or "catalog", ConfiguredCatalog(name or None, properties).load
    if isinstance(given, Mapping):
        said = {str(key): str(value) for key, value in given.items()}
        name = said.pop("name", "catalog")
        return name, ConfiguredCatalog(name, {**said, **properties}).load
    name = str(getattr(given, "name", "catalog"))
    kept = dict(getattr(given, "properties", {}))
    uri = str(kept.get("uri", ""))
    if ":memory:" in uri or uri in ("sqlite://", ""):
        return name, None

    def again() -> Any:
        try:
            return type(given)(name, **kept)  # type: ignore[call-arg]
        except TypeError:
            return given

    return name, again
