"""The files of a snapshot in the runs of indexes. What goes wrong in an index leaves that index out, and is told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from metaindex.formats import Snapshot
from metaindex.index.keys import FileIdentities
from metaindex.index.log.entry import RunRef
from metaindex.index.open_index import OpenIndex, Ordinals

logger = logging.getLogger("metaindex")
_T = TypeVar("_T")


class LeftOut(Exception):
    """Raised when what an index keeps is damaged: it was left out, and what is known has to be collected again."""


@dataclass(slots=True)
class LocatedIndexes:
    """Indexes that are asked about the files of a snapshot, which are found by their full identity."""

    snapshot: Snapshot
    indexes: Sequence[OpenIndex]
    notes: list[str] = field(default_factory=list)
    _located: dict[tuple[str, str], Ordinals] = field(default_factory=dict)
    _left_out: set[str] = field(default_factory=set)
    _files: FileIdentities | None = None

    def places(self, index: OpenIndex, run: RunRef) -> Ordinals:
        """Return the ordinal of each file in the run, or -1."""
        key = (index.name, run.run)
        if key not in self._located:
            self._files = self._files or FileIdentities.of(self.snapshot)
            self._located[key] = index.locate(run, self._files)
        return self._located[key]

    def asked_of(self, index: OpenIndex, ask: Callable[[], list[_T]]) -> list[_T]:
        """Ask an index; a failure is reported, returns nothing, and leaves the index out from then on."""
        if index.name in self._left_out:
            return []
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - whatever is stored: the index is left out, and told
            self._leave_out(index, error)
            return []

    @contextmanager
    def damage_leaves_out(self, index: OpenIndex) -> Iterator[None]:
        """LeftOut where what is read of an index inside is damaged."""
        try:
            yield
        except Exception as error:
            self._leave_out(index, error)
            raise LeftOut from error

    def _leave_out(self, index: OpenIndex, error: Exception) -> None:
        self._left_out.add(index.name)
        self.notes.append(f"index {index.name} is left out: {OpenIndex.why_not(error)}")
        logger.warning("index %r is not asked what it knows of files: %s", index.name, error)
