"""repair: rebuild what is wrong with an index and nothing else. The table is not touched.

Runs that are damaged, missing or untrue are dropped, with the recorded versions that need them; of their files those
that the table has now are indexed anew, by the way of an incremental refresh. Recorded versions that are wrong by
themselves are dropped; the table's log answers for them. Runs that are not understood here, of a newer metaindex or of
a kind whose package is not installed, are left as they are and told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from metaindex.core import DamagedIndexError, ForeignIndexError, MetaIndexError, counted
from metaindex.formats import Schema
from metaindex.index.kinds.registry import KINDS
from metaindex.index.log.entry import Content, IndexLogEntry, KindSpec, VersionRecord
from metaindex.index.log.history import with_record, without_runs
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import Operation
from metaindex.index.log.versions import rooted
from metaindex.index.open_index import OpenIndex

from .action import Change, NothingToDo, Outcome, validate
from .create import notes_of
from .refresh import Refresh, seen_from
from .target import racy


@dataclass(slots=True)
class Repair(Refresh):
    """Built like `Refresh`. `bad_runs` and `bad_versions` (ids) are what a verification found; None: of versions,
    nothing."""

    verb = "repair"

    bad_runs: frozenset[str] = frozenset()
    bad_versions: frozenset[str] | None = None
    revived: bool = False  # the index goes on from an older entry: it may be behind
    left: tuple[str, ...] = ()  # what is told of runs that are not understood here

    def run(self, begun: IndexLogEntry) -> Change:
        bad = self.bad_runs & {run.run for run in begun.content.runs}
        index = OpenIndex(self.name, begun, self.sink.storage, self.cache)
        history = self._sound(index, bad) if self.bad_versions is not None else None
        kept = _without(begun.content, bad, history)
        if not bad and history is None and not self.revived:
            raise NothingToDo("nothing is wrong with it")
        after = replace(begun, content=kept)
        index = OpenIndex(self.name, after, self.sink.storage, self.cache)
        if index.versions.find(self.target.version) is not None:
            return Change((), bad, history=history, notes=(_told(bad, history, begun), *self.left))
        index = OpenIndex.of(self.name, after, self.sink.storage, self.cache)
        seen, followed = seen_from(index, self.target, listed=False)
        fresh = followed.fresh[~racy(seen.snapshot)[followed.fresh]]
        added, order, notes = None, fresh, [_told(bad, history, begun), *self.left]
        if len(fresh):
            built = self.build(seen.snapshot, fresh, self.builder, others=kept.runs)
            added, order = built.ref, built.order
            notes += notes_of(built, self.target.settled)
        runs = () if added is None else (added,)
        if not self.target.settled:
            return Change(runs, bad, history=history, notes=tuple(notes))
        record = self.records.fitting(followed.record(seen, added.run if added else None, order))
        return Change(runs, bad, record, seen.snapshot.schema, history=history, notes=tuple(notes))

    def _sound(self, index: OpenIndex, bad: frozenset[str]) -> tuple[tuple[VersionRecord, ...], tuple[Schema, ...]]:
        """The recorded versions that stay, each without a parent: what they built on may go."""
        records, schemas = [], []
        try:
            every: Sequence[tuple[VersionRecord, Schema]] = index.versions.all()
        except DamagedIndexError:
            every = [(r, index.entry.content.schemas[r.schema]) for r in index.entry.content.versions]
        for record, schema in every:
            recorded = None if record.version.id in (self.bad_versions or ()) else index.versions.find(record.version)
            if recorded is not None and bad.isdisjoint(recorded.live.dead):
                records.append(self.records.fitting(rooted(recorded)))
                schemas.append(schema)
        return tuple(records), tuple(schemas)


def _without(
    content: Content, bad: frozenset[str], history: tuple[tuple[VersionRecord, ...], tuple[Schema, ...]] | None
) -> Content:
    """Return the content after the change, without what the change adds."""
    content = without_runs(content, bad) if bad else content
    if history is not None:
        content = replace(content, versions=(), segments=(), schemas=())
        for record, schema in zip(*history, strict=True):
            content = with_record(content, record, schema)
    return content


def _told(bad: frozenset[str], history: object, begun: IndexLogEntry) -> str:
    return f"{len(bad):,} of {counted(len(begun.content.runs), 'run')} taken out" + (
        ", recorded versions written anew" if history is not None else ""
    )


def check(name: str, log: OperationLog) -> IndexLogEntry:
    """The newest entry that can be read, of an index that may be repaired."""
    entry = log.newest_readable()
    if entry is None:
        try:
            log.latest()
        except ForeignIndexError:
            raise
        except MetaIndexError:
            pass
        raise DamagedIndexError(
            f"a repair starts from a log entry that can be read; index {name!r} has none; remove {log.storage.uri('')}"
            " and create the index anew"
        )
    validate(Operation.REFRESH, entry, name, "repair")
    return entry


def not_understood(entry: IndexLogEntry) -> Mapping[str, str]:
    """The runs that no repair replaces, and why: who cannot read all of one cannot make it anew."""
    lost = {}
    for run in entry.content.runs:
        lacking = [
            f"it has {why}, which is not known here" for key in run.keys if (why := KINDS.unknown(key)) is not None
        ]
        if reasons := [*filter(None, [run.unknown]), *lacking]:
            lost[run.run] = reasons[0]
    return lost


def known_kinds(entry: IndexLogEntry) -> tuple[KindSpec, ...]:
    """The kinds of the index that can be built here."""
    return tuple(spec for spec in entry.kinds if KINDS.named(spec.name) is not None)


def nothing_wrong(
    entry: IndexLogEntry, left: Sequence[str] = (), *, damaged: bool = False, unproven: bool = False
) -> Outcome:
    """The outcome where a verification found nothing that can be repaired. `unproven`: it could compare nothing."""
    said = "what is wrong with it cannot be repaired here" if damaged else "nothing is wrong with it"
    if unproven and not damaged:
        said = "nothing is found wrong with it, and no data file could be read to compare it with: verify says why"
    return Outcome(entry.name, "repair", False, entry, (said, *left))
