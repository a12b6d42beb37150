"""The tables of a catalog, listed by pyiceberg: REST, Glue, Hive, SQL, and what else it speaks.

Each thread asks by a handle of its own, as not every catalog's may be shared. A table is loaded once, and what is then
asked of it is asked of the files of the table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from metaindex.core import Config, MetaIndexError, StorageError, counted, dataclass, first_line
from metaindex.formats import ConfiguredCatalog
from metaindex.storage import is_remote

from .asking import LakePlace, shortened
from .side_by_side import SideBySide, Unanswered

if TYPE_CHECKING:
    from metaindex.table import Table

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
        return _opened(_said(names), self.load(names), storage_options, config)

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
                yield _place(catalog, table, storage_options, config)
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


def _place(
    catalog: LakeCatalog, names: Names, storage_options: Mapping[str, str] | None, config: Config | None
) -> LakePlace:
    said = _said(names)
    if catalog.alone:  # what is asked in other threads is the table alone
        try:
            loaded = catalog.load(names)
        except MetaIndexError as error:
            return LakePlace(said, said, said, _never, problem=str(error))
        return LakePlace(said, said, said, lambda: _opened(said, loaded, storage_options, config))
    return LakePlace(said, said, _said(names[:-1]), lambda: catalog.table(names, storage_options, config))


def _opened(name: str, loaded: _OneTable, storage_options: Mapping[str, str] | None, config: Config | None) -> Table:
    from metaindex.table import open_table

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
