"""The tables that agents may ask: those below some roots, by names, and no other place.

A name is one of those that a walk through the roots finds: it leads through no link and into no table, and no part of
it climbs. Each table is opened anew for each call, so that a call sees the table as it is then."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from metaindex.core import ArgumentError, Config, NotATableError, OutsideTableError, dataclass
from metaindex.formats import Walk
from metaindex.storage import is_remote, storage_for
from metaindex.table import Table, handle_of, open_table

MOST_FOLDERS: Final = 10_000
"""That are looked at for tables below a root."""


@dataclass(frozen=True, slots=True)
class Place:
    """A table that was found. `format`: of one with a log; `problem`: why its folder cannot be looked into."""

    name: str
    path: str
    format: str
    problem: str


@dataclass(slots=True)
class AgentPlaces:
    """`roots`: folders or URIs, each a table or a lake, by what stands before the names of their tables: nothing for a
    root alone. Several threads may ask: what the last walk found is replaced whole."""

    roots: Mapping[str, str]
    storage_options: Mapping[str, str]
    config: Config
    _listed: dict[str, Place] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, roots: Sequence[str], storage_options: Mapping[str, str], config: Config) -> AgentPlaces:
        """Return the places of these roots. Raises NotATableError for one that is no folder, ArgumentError for two of
        one name."""
        named: dict[str, str] = {}
        for given in roots:
            root = storage_for(given, dict(storage_options))[1]
            if not is_remote(root):
                root = os.path.realpath(root)
                if not os.path.isdir(root):
                    raise NotATableError(f"agents are served folders with tables; {given!r} is none; check the path")
            name = "" if len(roots) == 1 else _last(root)
            if name in named:
                raise ArgumentError(
                    f"several roots are told apart by the last part of their paths; {name!r} is that of two; serve the"
                    " folder above them, or start a server for each"
                )
            named[name] = root
        return cls(named, storage_options, replace(config, confine=True))

    def find(self) -> tuple[list[Place], bool]:
        """Return the tables that there are, by their names, and whether that is all. Raises StorageError."""
        by_name: dict[str, Place] = {}
        whole = True
        for prefix, root in self.roots.items():
            walk = Walk(storage_for(root, dict(self.storage_options))[0], MOST_FOLDERS, container=True)
            for place in _below(walk, prefix, root):
                by_name[place.name] = place
            whole = whole and not walk.cut and not walk.deep
        self._listed = by_name
        return sorted(by_name.values(), key=lambda place: place.name), whole

    def open(self, name: str, budget_bytes: int | None) -> Table:
        """Open a table by its name; queries of it read at most so many bytes of data files. Raises ArgumentError for
        what is no table's name, OutsideTableError for one that leads elsewhere by now, and what `open_table` raises."""
        place = self._listed.get(name)
        if place is None:
            self.find()
            place = self._listed.get(name)
        if place is None:
            some = ", ".join(sorted(self._listed)[:5]) or "none"
            raise ArgumentError(
                f"a table is named as the tool tables lists it; {name[:100]!r} is none of {len(self._listed):,} such as"
                f" {some}; list them with tables"
            )
        config = replace(self.config, most_read_bytes=budget_bytes)
        table = open_table(place.path, format=place.format or None, storage_options=self.storage_options, config=config)
        confines = handle_of(table).ref.confines
        if not is_remote(place.path) and (confines is None or confines.within[0] != place.path):
            raise OutsideTableError(
                f"a table is served where it was found, and links are not followed; {name!r} leads elsewhere now; list"
                " the tables again"
            )
        return table


def _below(walk: Walk, prefix: str, root: str) -> Iterator[Place]:
    for table in walk.tables():
        parts = [part for part in (prefix, table.folder) if part]
        path = f"{root.rstrip('/')}/{table.folder}" if table.folder else root
        yield Place("/".join(parts) or _last(root), path, "" if table.guessed else table.format, table.problem)


def _last(root: str) -> str:
    return root.rstrip("/").rpartition("/")[2] or root
