"""Indexes whose record of a version does not fit the table: found out when rows could not be read by it, and left out
of the queries of this handle from then on.

What an index recorded of a version (its columns, its files) stands in for the table's log, so that the log need not be
replayed for three files. Whoever seals an entry may have written anything; no query fails for that.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from metaindex.core import TELEMETRY, Cure, Words
from metaindex.formats import FileTable, Snapshot
from metaindex.index import IndexLogEntry, OpenIndex

from .report import IndexReport

logger = logging.getLogger("metaindex")


@dataclass(slots=True)
class QuarantinedIndexes:
    """Entries that contradict the table, by index name, with what they record."""

    _held: dict[str, tuple[IndexLogEntry, str]] = field(default_factory=dict)

    def taken_out(
        self, indexes: list[OpenIndex], refused: list[IndexReport]
    ) -> tuple[list[OpenIndex], list[IndexReport]]:
        """The indexes that are left, and why others are not. A newer entry of one is no suspect."""
        if not self._held:
            return indexes, refused
        out = {index.name: self._held[index.name][1] for index in indexes if self._suspected(index)}
        left = [index for index in indexes if index.name not in out]
        return left, [*refused, *(IndexReport(name, False, reason) for name, reason in out.items())]

    def find(self, indexes: Iterable[OpenIndex], snapshot: Snapshot, kept: FileTable | None = None) -> bool:
        """Return whether some index recorded another schema for the snapshot's version than the table has, or gives
        files (`kept`) that it has not."""
        strange = "" if kept is None else _strange_file(kept, snapshot)
        any_found = False
        for index in indexes:
            recorded = index.versions.find(snapshot.version)
            if recorded is None:
                continue
            what = recorded.other_columns(snapshot.schema) or strange
            if what:
                any_found = True
                with Words.about(index.name):
                    reason = (
                        f"an index records a version as the table has it; of version {snapshot.version} it recorded"
                        f" {what}; {Cure('full', 'it')}"
                    )
                logger.warning("index %r is not used any more: %s", index.name, reason)
                TELEMETRY.index_left_out(index.storage.root)
                self._held[index.name] = (index.entry, reason)
        return any_found

    def _suspected(self, index: OpenIndex) -> bool:
        held = self._held.get(index.name)
        return held is not None and (held[0] is index.entry or held[0] == index.entry)


def _strange_file(kept: FileTable, snapshot: Snapshot) -> str:
    import pyarrow.compute as pc  # only where something failed

    known = pc.is_in(kept.paths, value_set=snapshot.files.paths.combine_chunks())
    strange = kept.paths.filter(pc.invert(known))
    return f"a file {strange[0].as_py()!r}, which is no file of it" if len(strange) else ""
