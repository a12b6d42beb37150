"""Tables of a catalog that pyiceberg knows (SQL, Glue, Hive, REST ...), with the rights of this server."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from metaindex.core import Config, MetaIndexError, StorageError
from metaindex.formats import ConfiguredCatalog
from metaindex.ops import LakeCatalog
from metaindex.query import Handle

from .catalog import Namespace, Tables, no_such_namespace, no_such_table
from .in_place import IcebergTable


class NamedCatalog(Tables):
    """The tables of a catalog, which is asked for each table's metadata file whenever the table is."""

    def __init__(
        self,
        given: object,
        properties: Mapping[str, str] | None = None,
        *,
        config: Config | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        """`given`, `properties`: as of `mi.open_lake`. Raises ArgumentError if there is no such catalog."""
        super().__init__()
        self._asked = _OneAtATime(LakeCatalog(given, properties))
        self._config, self._options = replace(config or Config(), confine=True), dict(storage_options or {})

    def namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        from pyiceberg.exceptions import NoSuchNamespaceError

        try:
            listed = self._asked.ask("list_namespaces", *([parent] if parent else []))
        except NoSuchNamespaceError:
            raise no_such_namespace(parent) from None
        return sorted(space for space in {tuple(map(str, name)) for name in listed} if space[:-1] == parent)

    def tables(self, namespace: Namespace) -> list[str]:
        from pyiceberg.exceptions import NoSuchNamespaceError

        try:
            return sorted({str(name[-1]) for name in self._asked.ask("list_tables", namespace)})
        except NoSuchNamespaceError:
            raise no_such_namespace(namespace) from None

    def _opened(self, namespace: Namespace, name: str) -> IcebergTable:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            self._asked.load_table((*namespace, name))
        except (NoSuchNamespaceError, NoSuchTableError, ValueError):
            raise no_such_table(namespace, name) from None
        said = ConfiguredCatalog.said_name((*namespace, name))
        handle = Handle.open(said, catalog=self._asked, config=self._config, storage_options=self._options)
        return IcebergTable(handle)


class _OneAtATime:
    """A catalog, as `Handle.open` takes one, that is asked by one thread at a time."""

    def __init__(self, catalog: LakeCatalog) -> None:
        self.name, self._handle, self._lock = catalog.name, catalog.handle, threading.Lock()

    def load_table(self, name: object) -> Any:
        """Return pyiceberg's table. Raises what pyiceberg raises where there is none, and StorageError."""
        return self.ask("load_table", name)

    def ask(self, verb: str, *arguments: object) -> Any:
        """Return what the catalog answers. Raises as `load_table`."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            with self._lock:
                return getattr(self._handle, verb)(*arguments)
        except (NoSuchNamespaceError, NoSuchTableError, ValueError, MetaIndexError):
            raise
        except Exception as error:
            raise StorageError(
                f"a catalog answers; {self.name!r} raised {type(error).__name__}; is it there?"
            ) from error
