"""What an operator asks of the indexes of a table, as methods of it: which there are and how far behind, what happened
to them, whether they are right; and their repair."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from expressions.errors import ArgumentError, MetaIndexError
from formats.model import Snapshot, Version
from formats.protocol import At, Resolved

from .asked import TimestampLike, VersionLike, at_version
from .config import BuilderName
from .errors import IndexNotFoundError
from .folder import other_options
from .info import IndexList, index_info
from .log.entry import IndexLogEntry
from .log.states import State
from .pruning.open_index import OpenIndex
from .verbs import IndexVerbs

if TYPE_CHECKING:
    from .actions.action import Outcome
    from .api import Table
    from .build.protocol import Builder, Progress
    from .history import History
    from .readers.scan import Scan
    from .staleness import Staleness
    from .verify import Verification

_AGAIN = 8
"""Recorded versions that a repair records again: each may index files that only it has."""

logger = logging.getLogger("metaindex")


class IndexUpkeep(IndexVerbs):
    """The operator's half of `Table`."""

    _storage_options: dict[str, str]

    @property
    @abstractmethod
    def path(self) -> str: ...

    @abstractmethod
    def scan(self, predicate: object = None, *, indexes: Sequence[str] | None = None) -> Scan: ...

    @abstractmethod
    def _resolved(self, at: At) -> Resolved: ...

    @abstractmethod
    def _snapshot(self, at: At) -> Snapshot: ...

    def indexes(
        self,
        *,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        staleness: bool = True,
        all: bool = False,  # noqa: A002 - all indexes, vacuumed ones too
    ) -> IndexList:
        """The indexes of the table, by name, and how far each is behind a version of it (default: now); one that cannot
        be read says why. `.to_arrow()`, `.to_spark(spark)`.

        `staleness=False` leaves out what costs more than some small reads: the files and bytes that an index does not
        cover, and what it takes on storage. VersionNotFoundError for a version that is asked and is not there; a table
        that cannot be read otherwise is a warning, for its indexes can still be told of.
        """
        at = at_version(version, timestamp)
        asked: Version | None = None
        try:
            asked = self._resolved(at).version
        except MetaIndexError as error:
            if at != At():
                raise
            logger.warning("the table's version is not known, so staleness is not either: %s", error)
        behind = self._behind(at, asked) if staleness else None
        found = IndexList(index_info(name, self._log(name), asked, behind) for name in self._indexes().names())
        return IndexList(info for info in found if all or info.state != State.DOESNOTEXIST.value)

    def history(self, name: str, last: int | None = None) -> History:
        """What happened to an index, entry by entry, and its lag behind the table. `last`: only so many entries.
        IndexNotFoundError for a name that never was an index."""
        from .history import history

        found = history(name, self._log(name), last)
        if not found.entries:
            raise self._no_index(name)
        return found

    def verify_index(
        self,
        name: str,
        *,
        files: int | None = 20,
        versions: Literal["newest", "all"] = "newest",
        predicates: Sequence[object] = (),
        progress: Progress | None = None,
    ) -> Verification:
        """Proves an index right, or says what is wrong: re-reads its log, every value of its runs and its recorded
        versions, and compares what it says of data files with their rows.

        `files`: so many live data files are read whole (None: all), evenly spread. `versions`: which recorded ones are
        compared with the table's own; "newest": the last three. `predicates`: for each, the files that this index
        proves out now are read, and no row in them may match. Changes nothing.
        """
        from .log.recovery import newest_readable
        from .verify import verify
        from .verify.dropped import check_dropped

        log = self._log(name)
        if not log.numbers():
            raise self._no_index(name)
        if files is not None and (isinstance(files, bool) or not isinstance(files, int) or files < 0):
            raise ArgumentError(f"files is a number of data files to read, None for all; got {files!r}")
        entry = newest_readable(log)
        table = self if entry is None else self.as_built(entry)
        snapshot = table._snapshot(At())
        report = verify(name, log, table._format, table._ref, snapshot, files, versions == "all", progress)
        for predicate in predicates:
            report.found(check_dropped(table.scan(predicate, indexes=[name]), predicate, report))
        return report

    def repair_index(
        self,
        name: str,
        *,
        files: int | None = 20,
        builder: BuilderName | Builder | None = None,
        progress: Progress | None = None,
    ) -> Outcome:
        """Verifies an index (`files`: as in `verify_index`) and rebuilds what is wrong: runs that are damaged or
        missing are dropped and those of their files that the table has are indexed anew. What is right stays; of
        recorded versions that needed such a run, the newest that the table keeps are recorded again. Runs that are not
        understood here (of a newer metaindex, of a kind that is not installed) are left as they are, and the outcome
        names them. The table is not touched.

        Nothing to do where nothing is wrong. DamagedIndexError where no entry of the log can be read; IndexStateError
        for an index that is not ACTIVE.
        """
        from .actions.action import execute
        from .actions.repair import Repair, check, known_kinds, not_understood, nothing_wrong
        from .build.local import check_builder
        from .kinds.registry import kind_from_spec
        from .log.recovery import newest_readable, revive
        from .store.writer import RunSink, new_run_id

        report = self.verify_index(name, files=files, progress=progress)
        log = self._log(name)
        entry = check(name, newest_readable(log), log)
        foreign = not_understood(entry)
        left = tuple(f"run {run} is left as it is: {why}" for run, why in foreign.items())
        bad, kinds = report.damaged_runs - foreign.keys(), known_kinds(entry)
        can = bad or any(finding.run not in foreign for finding in report.findings)
        if not can:
            return nothing_wrong(entry, left, damaged=not report.sound)
        built_by = self._builder(builder)
        check_builder([kind_from_spec(spec) for spec in kinds], built_by)
        revived = any(finding.kind == "log" for finding in report.findings)
        if revived:
            entry = revive(log, entry)
        table = self.as_built(entry)
        target = table._target(At())
        versions = frozenset(finding.version for finding in report.findings if finding.kind == "version")
        action = Repair(
            name,
            table._ref,
            target,
            kinds,
            built_by,
            RunSink(log.storage, new_run_id()),
            progress=progress,
            bad_runs=bad,
            left=left,
            revived=revived,
            bad_versions=versions if any(finding.kind == "version" for finding in report.findings) else None,
        )
        table._remember(target)
        return table._again(execute(log, action), entry, action.builder)

    def as_built(self, entry: IndexLogEntry) -> Table:
        """The table opened with the reader options that an index was built with, where they differ: whoever keeps an
        index may know no more than a path."""
        from .api import Table, open_table

        stored = entry.table.options
        if other_options(stored, self._ref.options) is None:
            assert isinstance(self, Table)
            return self
        options: dict[str, Any] = {k: v for k, v in stored.items() if k != "file_format"}
        return open_table(
            self.path,
            format=str(stored["file_format"]),
            storage_options=self._storage_options or None,
            spark=self._spark,
            config=self.config,
            **options,
        )

    def _again(self, outcome: Outcome, before: IndexLogEntry, builder: Builder) -> Outcome:
        """The newest of the versions that a repair took out of the entry, recorded again where the table keeps them.
        Files of a plain folder at an older listing may be gone: not those."""
        lost = [r.version for r in before.content.versions if outcome.entry.content.record(r.version) is None]
        notes, entry = list(outcome.notes), outcome.entry
        for version in lost[-_AGAIN:] if self._format.name != "files" else ():
            try:
                entry = self.refresh_index(outcome.index, version=version, builder=builder).entry
            except MetaIndexError as error:
                notes.append(f"version {version} is not recorded any more ({error})")
        return replace(outcome, operation="repair", entry=entry, notes=tuple(notes))

    def _behind(self, at: At, version: Version | None) -> Callable[[OpenIndex], Staleness]:
        from .actions.target import Target
        from .staleness import Staleness, staleness

        if version is None:
            return lambda index: Staleness()
        target = Target(self._format, self._ref, at, version)
        return lambda index: staleness(index, target)

    def _no_index(self, name: str) -> IndexNotFoundError:
        return self._indexes().missing(f"there is no index named {name!r}", name)
