"""Tables of a catalog that pyiceberg knows (SQL, Glue, Hive ...), with the rights of this server.

pyiceberg is asked where a table's metadata file is, and reads nothing: what is in that file may name a class for it to
load, and a store to send the catalog's credentials to.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any

from metaindex.core import ArgumentError, BoundedCache, Config, Cure, MetaIndexError, StorageError
from metaindex.formats import TableRef
from metaindex.ops import LakeCatalog

from .catalog import MOST_OPEN, Namespace, Tables, no_such_namespace, no_such_table
from .in_place import IcebergTable
from .plans import Plans
from .proxy.opening import open_metadata
from .refusal import Refusal

logger = logging.getLogger("metaindex")


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
        """`given`, `properties`: as of `mi.open_lake`. Raises ArgumentError if there is no such catalog, or one that
        is not served by name."""
        from pyiceberg.catalog.rest import RestCatalog

        handle = LakeCatalog(given, properties).handle
        self._name, self._properties = str(handle.name), dict(handle.properties)
        uri = str(self._properties.get("uri", ""))
        if ":memory:" in uri or uri == "sqlite://":
            raise ArgumentError("several threads ask a served catalog; this one is in memory; keep it in a file")
        if isinstance(handle, RestCatalog):
            raise ArgumentError(
                "a REST catalog has callers of its own, and is stood before; give its URI as"
                f" {Cure('argument', 'before')}"
            )
        pointing = {**self._properties, "py-io-impl": f"{__name__}.{PointerIO.__name__}"}
        self._handle = type(handle)(self._name, **pointing)
        self._one_at_a_time = threading.Lock()  # not all of pyiceberg's catalogs are for several threads
        self._config, self._options = config or Config(), dict(storage_options or {})
        self._held: BoundedCache[tuple[str, ...], tuple[str, Plans]] = BoundedCache(MOST_OPEN)

    def namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        listed = self._ask(parent, "list_namespaces", *([parent] if parent else []))
        spaces = sorted(space for space in {tuple(map(str, name)) for name in listed} if space[:-1] == parent)
        if not spaces and not parent:
            logger.warning("catalog %r has no namespaces; a SQL catalog keeps its tables by its own name", self._name)
        return spaces

    def tables(self, namespace: Namespace) -> list[str]:
        return sorted({str(name[-1]) for name in self._ask(namespace, "list_tables", namespace)})

    def table(self, namespace: Namespace, name: str) -> Plans:
        from pyiceberg.exceptions import NoSuchTableError

        key = (*namespace, name)
        try:
            file = self._ask(namespace, "load_table", key)
        except NoSuchTableError:
            raise no_such_table(namespace, name) from None
        if not isinstance(file, str):
            raise Refusal.unsupported(f"a catalog reads metadata files by the IO it is given; {self._name!r} does not")
        held = self._held.find(key)
        if held is None or held[0] != file:
            self._held.keep(key, held := (file, Plans(key, self._opened_at(file))))
        return held[1]

    def forget(self, namespace: Namespace, name: str) -> None:
        self._held.take((*namespace, name))

    def _opened_at(self, file: str) -> IcebergTable:
        return open_metadata(
            file, self._config, lambda place: {**TableRef.options_of(place, self._properties), **self._options}
        )

    def _ask(self, namespace: Namespace, verb: str, *arguments: object) -> Any:
        """Return what the catalog answers; of a table the place of its metadata file. Raises Refusal, NoSuchTableError
        and StorageError."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            with self._one_at_a_time:
                return getattr(self._handle, verb)(*arguments)
        except Located as pointer:
            return pointer.place
        except (NoSuchNamespaceError, ValueError):  # the last: names of another shape
            raise no_such_namespace(namespace) from None
        except (NoSuchTableError, MetaIndexError):
            raise
        except Exception as error:
            raise StorageError(
                f"a catalog answers; {self._name!r} raised {type(error).__name__}; is it there?"
            ) from error


class Located(Exception):
    """Place of a metadata file."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


class PointerIO:
    """File IO for pyiceberg that reads no file, but raises `Located`."""

    def __init__(self, properties: object) -> None:
        pass

    def new_input(self, location: str) -> object:
        """Tell where the file is that would be read."""
        raise Located(location)
