"""The indexes beside a table: where they lie, which there are, and which of them a query may use, with the reason for
each that it may not.

Delta, Iceberg   <table>/_metaindex/<index>/           engines, VACUUM and orphan removal pass over folders that start
                                                       with "_"
plain folders    <parent>/_metaindex/<folder>/<index>/ because an overwrite of the folder empties it
several roots    <parent>/_metaindex/<base>-<hash of the patterns>/<index>/, where <parent>/<base> is the deepest folder
                 above all roots, or basePath
elsewhere        <location>/<folder>-<hash of the table's path>/<index>/ when a location is configured

The indexes of a namespace lie in `_namespaces/<namespace>/` of that folder: whoever does not name it does not see them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import xxhash

from metaindex.core import (
    TELEMETRY,
    ArgumentError,
    Config,
    DamagedIndexError,
    IndexExistsError,
    IndexNotFoundError,
    MetaIndexError,
    StoragePermissionError,
    StorageUnavailableError,
    Words,
)
from metaindex.formats import At, Format, ReadOptions, Snapshot, TableRef, Version
from metaindex.storage import above, both_at, each_at, is_remote, name_of, own_folder

from .build.builders import Builders
from .kinds.registry import KINDS
from .log.entry import IndexLogEntry, RunRef
from .log.operation_log import OperationLog
from .log.states import State
from .open_index import OpenIndex
from .store.cache import StoreCache
from .store.reader import ReadCount, RunReader

if TYPE_CHECKING:  # what writes is loaded by the verbs that write
    from pyspark.sql import SparkSession

    from .actions.index_actions import IndexActions
    from .actions.refresh import Staleness
    from .actions.target import Target

logger = logging.getLogger("metaindex")
_NAMESPACES = "_namespaces"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")
_ENTRY = re.compile(r"([^/]+)/_log/(\d{20})\.json")
_MANIFEST = re.compile(r"([^/]+)/(_manifests/[^/]+\.json)")
_FEW_RUNS = 4
"""Of an index whose entry is not known yet: so few manifests are mostly those of the runs that are in use."""
_SMALL = 1 << 20
"""Bytes of a manifest that is read before it is known that it is needed."""
_FILE_BYTES = 16
"""Of a run, what each of its files takes at least: an id of so many bytes that do not compress."""


class IndexFolder:
    """The folder of a table's indexes, and who builds them. `root`: the table's; `spark`: the session it was opened
    with, or what makes one."""

    NAME: ClassVar[str] = "_metaindex"
    SUSPECT_SECONDS: ClassVar[float] = OperationLog.SUSPECT_SECONDS
    """Without a sign of life of a writer."""

    def __init__(
        self,
        home: str,
        table_format: Format,
        ref: TableRef,
        storage_options: dict[str, str],
        config: Config,
        root: str = "",
        spark: SparkSession | Callable[[], SparkSession] | None = None,
    ) -> None:
        self.home = home
        if config.namespace is not None:
            self.check_name(config.namespace)
        self.path = home if config.namespace is None else f"{home}/{_NAMESPACES}/{config.namespace}"
        self.table = root
        self.builders = Builders(config, spark)
        self._format, self._ref, self._config = table_format, ref, config
        self._options = storage_options if is_remote(home) else None
        self.cache = StoreCache(config.cache_bytes)
        self._key = config.sealing_key
        self._compared: Target | None = None
        self._logs: dict[str, OperationLog] = {}
        self._manifests: dict[str, list[tuple[str, int]]] = {}  # by index, with their bytes: seen, and not read yet
        if home == self.beside(root, table_format.has_log) and config.namespace is None:
            guesses: dict[str, tuple[int, int]] = {}
            manifests: dict[str, list[tuple[str, int]]] = {}
            for path, info in table_format.indexes_seen.items():
                if match := _ENTRY.fullmatch(path):
                    seen = int(match[2]), info.modified_ns
                    guesses[match[1]] = max(guesses.get(match[1], seen), seen)
                elif (match := _MANIFEST.fullmatch(path)) and info.size_bytes <= _SMALL:
                    manifests.setdefault(match[1], []).append((match[2], info.size_bytes))
            self._logs = {name: self._log(name, guess) for name, guess in guesses.items() if _NAME.match(name)}
            self._manifests = {name: seen for name, seen in manifests.items() if len(seen) <= _FEW_RUNS}
        self._opened: dict[str, tuple[OpenIndex, TableRef, IndexLogEntry]] = {}
        """By name, as they were opened last: for which table, and from which entry."""

    @classmethod
    def beside(cls, table_root: str, within: bool, location: str | None = None, patterns: Sequence[str] = ()) -> str:
        """Return the folder that holds all indexes of a table: absolute path or URI. `within`: it lies inside the
        table's, not beside it; `patterns`: of plain files with several roots."""
        root = table_root.rstrip("/")
        last = name_of(root, patterns)
        if location is not None:
            return f"{location.rstrip('/')}/{last}-{xxhash.xxh64_hexdigest(root.encode())}"
        return f"{root}/{cls.NAME}" if within else f"{above(root)}/{cls.NAME}/{last}"

    @staticmethod
    def check_name(name: str) -> None:
        """ArgumentError unless the name is safe as a folder's name on every store."""
        if not isinstance(name, str) or not _NAME.match(name):
            raise ArgumentError(
                "an index name has 1 to 128 of the characters A-Z a-z 0-9 _ . - and starts with a letter or digit;"
                f" {name!r} does not; choose another"
            )

    def names(self) -> list[str]:
        """Names that may be indexes, sorted: the folders whose name an index may have. One call; each has an operation
        log or is ignored."""
        return self._names_in(self.path)

    def namespaces(self) -> list[str]:
        """Names of the namespaces that have, or had, indexes of the table. One call."""
        return self._names_in(f"{self.home}/{_NAMESPACES}")

    def _names_in(self, folder: str) -> list[str]:
        storage = own_folder(folder, self.home, options=self._options)
        return [name for name in storage.folders("") if _NAME.match(name)]

    def log(self, name: str) -> OperationLog:
        """The operation log of an index, whether it exists or not. IndexNotFoundError for a name that could never be an
        index's."""
        try:
            self.check_name(name)
        except ArgumentError as error:
            raise IndexNotFoundError(f"{error}") from error
        if name not in self._logs:
            self._logs[name] = self._log(name)
        return self._logs[name]

    def _log(self, name: str, guess: tuple[int, int] | None = None) -> OperationLog:
        storage = own_folder(f"{self.path}/{name}", self.home, self.table, self._options)
        return OperationLog(storage, name, self._key, guess=guess)

    def actions(self, name: str) -> IndexActions:
        """Return the actions on an index, whether it exists or not."""
        from .actions.index_actions import IndexActions

        return IndexActions(name, self.log(name), self.cache)

    def target(self, at: At, where: object = None, under: str | None = None) -> Target:
        """The table at a version, for an action; or the files of it in some partitions, or below a folder. Waits once
        for plain files changed a moment ago."""
        from .actions.target import Target

        settle, zone = self._config.settle_seconds, self._config.time_zone
        return Target.of(self._format, self._ref, at, settle, where, under, zone)

    def target_ahead(self, at: At, where: object, under: str | None) -> Target | None:
        """Return `target` of a table on a store, before it is known that it is needed; None where that is to be met in
        its turn."""
        try:
            return self.target(at, where, under) if is_remote(self._ref.storage.root) else None
        except MetaIndexError:
            return None

    def remember(self, target: Target) -> Target:
        """Keep the listing that is indexed of plain files as a version: they have no log."""
        if not self._format.has_log:
            self._format.remember(self._ref, target.snapshot())
        return target

    def staleness(self, index: OpenIndex, at: At, version: Version, snapshot: Snapshot | None = None) -> Staleness:
        """Return how far an index is behind a version, which `at` names. Costs what a refresh costs before it reads a
        data file. Raises MetaIndexError where the table or the index cannot be read."""
        from .actions.refresh import Staleness
        from .actions.target import Target

        if self._compared is None or (self._compared.at, self._compared.version) != (at, version):
            self._compared = Target(self._format, self._ref, at, version, _snapshot=snapshot)
        return Staleness.of(index, self._compared)

    def forget(self) -> None:
        """Keep only what can never change: every log is looked at anew."""
        self._logs, self._opened, self._compared = {}, {}, None

    def appended_here(self) -> int:
        """Return how many entries this process has written to the indexes of the folder."""
        return OperationLog.appended_here(self.path)

    def missing(self, said: str, name: str) -> IndexNotFoundError:
        """The error of an index that is not there: a folder without a log counts for none."""
        names = self.names()
        there = [other for other in names if self._is_there(other)]
        no_log = name in names and not self.log(name).numbers()
        gone = f" (its folder at {self.log(name).storage.root} has no log)" if no_log else ""
        return IndexNotFoundError(f"{said}{gone}; there are: {', '.join(there) or 'none'}").of(name)

    def _is_there(self, name: str) -> bool:
        """Return whether the index exists; a vacuumed one has a log and does not."""
        try:
            latest = self.log(name).latest()
        except MetaIndexError:  # its log cannot be read
            return True
        return latest is not None and not latest.gone

    def check_told_apart(self, name: str) -> None:
        """Raise IndexExistsError if another index's name differs in capital letters alone: on a file system that
        ignores case, or in a copy on one, both would be one folder."""
        other = self.like(name)
        if other is not None:
            raise IndexExistsError(
                "names of indexes differ in more than capital letters, which some file systems do not know;"
                f" {name!r} is asked and {other!r} is there or was; choose another name, or that one"
            )

    def like(self, name: str) -> str | None:
        """The index whose name differs from this one, which is none, in capital letters alone."""
        names = self.names()
        return next(
            (
                other
                for other in (names if name not in names else ())
                if other.lower() == name.lower() and self.log(other).numbers()
            ),
            None,
        )

    def entries(self) -> list[IndexLogEntry]:
        """The latest entry of each index that has one that can be read."""
        return [entry for entry in self._look(None)[1].values() if isinstance(entry, IndexLogEntry)]

    def readable(self, ref: TableRef, only: Iterable[str] | None) -> tuple[list[OpenIndex], dict[str, str]]:
        """The indexes that a query of the table may use, and by name why it may not use others. Raises
        IndexNotFoundError for a name in `only` that is no index; nothing else is raised."""
        wanted = set(only) if only is not None else None
        try:
            names, latest = self._look(wanted)
        except MetaIndexError as error:
            return [], {"(all)": f"the indexes cannot be listed: {error}"}
        if wanted is not None and (missing := wanted - set(names)):
            there = ", ".join(name for name in names if self._is_there(name))
            raise IndexNotFoundError(
                f"there is no index named {', '.join(sorted(missing))}; there are: {there or 'none'}"
            )
        indexes: list[OpenIndex] = []
        refused: dict[str, str] = {}
        for name, entry in latest.items():
            try:
                if isinstance(entry, Exception):
                    raise entry
                if entry is None or entry.stable is State.DOESNOTEXIST:
                    if wanted is not None:  # nobody's vacuum ends the query of another
                        refused[name] = "there is no index of this name now: it was vacuumed, or not created"
                    continue
                before = self._opened.get(name)
                same = before is not None and before[2] is entry and before[1] is ref  # it may be used, as before
                with Words.about(name):
                    reason = None if same else self._why_not(entry, ref)
                if reason is None:
                    indexes.append(self._open(name, entry, ref))
                else:
                    refused[name] = reason
            except Exception as error:  # noqa: BLE001 - whatever is wrong with an index, the table is read without it
                with Words.about(name):
                    reason = OpenIndex.why_not(error)
                logger.warning("index %r is not used: %s", name, reason)
                TELEMETRY.index_left_out(self.log(name).storage.root)
                refused[name] = reason
        return indexes, refused

    def _open(self, name: str, entry: IndexLogEntry, ref: TableRef) -> OpenIndex:
        """An index for one query. What follows from the entry is worked out once, as long as it is the latest."""
        before = self._opened.get(name)
        storage = self.log(name).storage
        if before is not None and before[2] is entry:
            same = before[0]
            opened = OpenIndex(name, same.entry, storage, self.cache, left_out=same.left_out, _versions=same.versions)
            self._opened[name] = (opened, ref, entry)
            return opened
        opened = OpenIndex.of(name, entry, storage, self.cache)
        for reason in opened.left_out:
            logger.warning("index %r: %s", name, reason)
        self._opened[name] = (opened, ref, entry)
        # Another entry: what only the one before named is not asked again.
        self.cache.keep_only({run.run for index, *_ in list(self._opened.values()) for run in index.entry.content.runs})
        return opened

    def _look(self, wanted: Collection[str] | None) -> tuple[list[str], dict[str, IndexLogEntry | Exception | None]]:
        """Return all names, and of those that are wanted (None: all) the latest entries, in their order. Who was there
        mostly still is: it is looked at beside the listing."""
        seen = [name for name, log in self._logs.items() if log.seen and (wanted is None or name in wanted)]
        held = [log for name in seen if (log := self._logs[name]).held is not None and name not in self._opened]
        listed = [(self._logs[name], *seen_there) for name in seen for seen_there in self._manifests.pop(name, ())]
        names, (latest, _) = both_at(
            self.path,
            self.names,
            lambda: both_at(self.path, lambda: dict(self._latest(seen)), partial(self._open_ahead, held, listed)),
        )
        asked = [name for name in names if wanted is None or name in wanted]
        latest |= self._latest([name for name in asked if name not in latest])
        return names, {name: latest[name] for name in asked}

    def _open_ahead(self, logs: Sequence[OperationLog], listed: Sequence[tuple[OperationLog, str, int]]) -> None:
        """Read of a store the manifests of entries that were read and are not used yet, and those that were listed of
        others, which count if an entry names them. What goes wrong is met again."""
        runs = [(log, run) for log in logs if log.held is not None for run in log.held.content.runs]

        def read(log: OperationLog, run: RunRef) -> None:
            RunReader(log.storage, run, self.cache, ReadCount()).every_part()

        def guess(log: OperationLog, path: str, size: int) -> None:
            self.cache.whole.keep(path, log.storage.read(path, 0, size), size)

        asked = [*(partial(read, *pair) for pair in runs), *(partial(guess, *place) for place in listed)]

        def quietly(ask: Callable[[], None]) -> None:
            with suppress(Exception):
                ask()

        if is_remote(self.path):
            each_at(self.path, asked, quietly)

    def _latest(self, names: Sequence[str]) -> list[tuple[str, IndexLogEntry | Exception | None]]:
        """The latest entry of each index, or why it cannot be read; from a store side by side."""

        def latest(name: str) -> tuple[str, IndexLogEntry | Exception | None]:
            try:
                return name, self.log(name).latest()
            except Exception as error:  # noqa: BLE001 - the one guard of all that is decoded: see `readable`
                return name, error

        return each_at(self.path, names, latest)

    def _why_not(self, entry: IndexLogEntry, ref: TableRef) -> str | None:
        """Why the index may not be used for the table as it is opened, or None. Raises where the entry cannot be
        understood."""
        if not entry.readable:
            return f"it is {entry.state.value}" + ("" if entry.enabled else ", disabled")
        if entry.table.format != self._format.name:
            return f"it was built for a {entry.table.format} table"
        self.check(entry)
        built, asked = ReadOptions.of(entry.table.options), ReadOptions.of(ref.options)
        other = built.why_not(asked)
        return f"{other}; {built.cure(asked)}" if other else None

    @staticmethod
    def check(entry: IndexLogEntry) -> None:
        """Raise if the entry's kinds cannot be understood, or a run counts more than its bytes can hold: reading it
        takes memory by these numbers."""
        for spec in entry.kinds:
            KINDS.of(spec)
        for run in entry.content.runs:
            most = run.size_bytes // _FILE_BYTES
            counts = (run.files, run.partitions, run.uncovered_files, *(key.unkeyed_files for key in run.keys))
            if run.files > most or max(counts) > max(run.files, 1):
                raise DamagedIndexError.for_repair(
                    f"a run counts files that its bytes can hold; run {run.run!r} of {run.size_bytes:,} bytes counts"
                    f" {max(counts):,}"
                )

    @staticmethod
    def not_looked_at(error: BaseException | None) -> bool:
        """Return whether a storage that did not answer, or denied access, caused the error: the index may be right."""
        while error is not None:
            if isinstance(error, StoragePermissionError | StorageUnavailableError):
                return True
            error = error.__cause__
        return False
