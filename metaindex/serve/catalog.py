"""Tables below the roots that are served, by their names.

A root is a folder of tables, or a table. The first part of a namespace is the root's own name, the others are folders:
`lake/sales/orders` below the root `lake` is the table `orders` of the namespace `lake.sales`. Nothing is listed to find
a table; nothing hidden, and nothing behind a link, is a table.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from metaindex.core import ArgumentError, BoundedCache, Config, NotATableError, dataclass
from metaindex.query import Handle
from metaindex.storage import is_remote
from metaindex.table import tables_below

from .in_place import Documented, IcebergTable
from .plans import Plans
from .refusal import Refusal
from .served import ServedTable

MOST_OPEN: Final = 256
Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of tables, or one table of it (`only`)."""

    name: str
    path: str
    only: str = ""


class Tables(ABC):
    """Tables by their names. For any number of threads."""

    @abstractmethod
    def namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        """Return the namespaces directly below one. Raises Refusal if there is none of that name."""

    @abstractmethod
    def tables(self, namespace: Namespace) -> list[str]:
        """Return the names of a namespace's tables. Raises Refusal if there is no such namespace."""

    @abstractmethod
    def table(self, namespace: Namespace, name: str) -> Plans:
        """Return the plans of a table. Raises Refusal if there is none."""

    @abstractmethod
    def forget(self, namespace: Namespace, name: str) -> None:
        """Open the table anew when it is asked for next: another one may be at its place."""


class Catalog(Tables):
    """The tables of some roots."""

    def __init__(
        self,
        roots: Iterable[str | os.PathLike[str]],
        *,
        config: Config | None = None,
        storage_options: Mapping[str, str] | None = None,
        cache: str | None = None,
    ) -> None:
        """`cache`: a folder that clients can read, for deletion vectors of Delta tables. Raises ArgumentError for roots
        of one name."""
        self._config, self._options = config or Config(), dict(storage_options or {})
        self._cache = cache
        self._roots: dict[str, list[Root]] = {}
        for path in roots:
            root = self._root(os.fspath(path))
            beside = self._roots.setdefault(root.name, [])
            if any(other.path != root.path or not (other.only and root.only) for other in beside):
                raise ArgumentError(
                    f"roots are served by their own names; {root.path!r} and {beside[0].path!r} are both {root.name!r};"
                    " rename one, or serve it by another process"
                )
            beside.append(root)
        if not self._roots:
            raise ArgumentError("a catalog serves at least one root; got none; name a folder of tables, or a table")
        self._open: BoundedCache[tuple[str, ...], Plans] = BoundedCache(MOST_OPEN)
        self._lock = threading.Lock()

    def _root(self, path: str) -> Root:
        whole = path.rstrip("/") if is_remote(path) else os.path.realpath(path)
        if not is_remote(path) and not os.path.isdir(whole):
            raise ArgumentError(f"a root is a folder of tables, or a table; {path!r} is none")
        above, _, name = whole.rpartition("/")
        is_table = next(iter(tables_below(whole, self._options)), None) == ""
        return Root(above.rpartition("/")[2] or "lake", above, name) if is_table else Root(name or "lake", whole)

    def namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if not parent:
            return [(name,) for name in self._roots]
        below = {space[: len(parent) + 1] for space, _ in self._all(parent[0]) if space[: len(parent)] == parent}
        if not below and parent not in self.namespaces():
            raise no_such_namespace(parent)
        return sorted(space for space in below if len(space) > len(parent))

    def tables(self, namespace: Namespace) -> list[str]:
        self.namespaces(namespace)
        return sorted(name for space, name in self._all(namespace[0]) if space == namespace)

    def _all(self, name: str) -> list[tuple[Namespace, str]]:
        """Return every table below the roots of a name, with its namespace."""
        tables: list[tuple[Namespace, str]] = []
        for root in self._roots.get(name, ()):
            folders = [root.only] if root.only else tables_below(root.path, self._options)
            for folder in folders:
                *above, last = folder.split("/")
                tables.append(((root.name, *above), last))
        return tables

    def table(self, namespace: Namespace, name: str) -> Plans:
        key = (*namespace, name)
        with self._lock:
            plans = self._open.find(key)
            if plans is None:
                self._open.keep(key, plans := Plans(key, self._opened(namespace, name)))
            return plans

    def forget(self, namespace: Namespace, name: str) -> None:
        self._open.take((*namespace, name))

    def _opened(self, namespace: Namespace, name: str) -> ServedTable:
        root = next(
            (root for root in self._roots.get(namespace[0] if namespace else "", ()) if root.only in ("", name)), None
        )
        parts = [*namespace[1:], name]
        if root is None or (root.only and len(parts) > 1) or not all(map(_is_plain, parts)):
            raise no_such_table(namespace, name)
        path = "/".join([root.path, *parts])
        if not is_remote(path) and os.path.realpath(path) != path:
            raise no_such_table(namespace, name)
        config = replace(self._config, confine=True, confine_to=(*self._config.confine_to, root.path))
        try:
            handle = Handle.open(path, config=config, storage_options=self._options)
        except (NotATableError, FileNotFoundError):
            raise no_such_table(namespace, name) from None
        if isinstance(handle.table_format, Documented):
            return IcebergTable(handle)
        from .shown import shown

        return shown(handle, self._cache)


def _is_plain(part: str) -> bool:
    """Return whether a part of a name is a folder's that may be shown."""
    return (
        bool(part) and part[0] not in "._" and not set(part) & set("/\\\0") and len(part) <= 255 and part.isprintable()
    )


def no_such_table(namespace: Sequence[str], name: str) -> Refusal:
    """Return the refusal of a name that is no table's."""
    return Refusal(
        f"no table {'.'.join([*namespace, name])[:200]!r} is served", status=404, kind="NoSuchTableException"
    )


def no_such_namespace(namespace: Sequence[str]) -> Refusal:
    """Return the refusal of a name that is no namespace's."""
    return Refusal(f"no namespace {'.'.join(namespace)[:200]!r} is served", status=404, kind="NoSuchNamespaceException")
