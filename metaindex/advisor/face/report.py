"""A page of a table: asked of all that is known of it, and written to a file."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from metaindex.advisor.hypothetical.cost import rate_of
from metaindex.advisor.report.facts import TableSeen
from metaindex.advisor.report.sections import page_of
from metaindex.advisor.report.written import Reported, check_page, write_page
from metaindex.core import ArgumentError, MetaIndexError, dataclass
from metaindex.expressions import columns as columns_of
from metaindex.formats import Snapshot
from metaindex.query import Handle, Queries, TimestampLike, VersionLike, at_version, check_since, paths_of
from metaindex.storage import is_remote, local_path
from metaindex.table import indexes as indexes_of

from .layout import layout_seen
from .spared import savings_of

if TYPE_CHECKING:
    from metaindex.advisor.selection.answer import Recommendation
    from metaindex.index import Progress
    from metaindex.query import Explanation
    from metaindex.table import IndexInfo

_STEPS = 6
_MOST_CONDITIONS = 50
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ReportAsked:
    """The parameters of `Table.report`."""

    where: tuple[object, ...]
    queries: object
    tables: Mapping[str, str | os.PathLike[str]] | None
    version: VersionLike
    timestamp: TimestampLike
    since: dt.timedelta | None
    sample: float | None
    indexes: Iterable[str] | None
    overwrite: bool

    def __post_init__(self) -> None:
        check_since(self.since)
        paths_of(self.tables)


def write_report(queries: Queries, path: object, progress: Progress | None, *asked: Any) -> Reported:
    """Implement `Table.report`, whose other arguments follow in the order of `ReportAsked`."""
    return report(queries, path, ReportAsked(*asked), progress)


def report(queries: Queries, path: object, asked: ReportAsked, progress: Progress | None) -> Reported:
    """Implement `Table.report`."""
    handle = queries.handle
    queries = queries if handle is queries.handle else Queries(handle)
    if len(asked.where) > _MOST_CONDITIONS:
        raise ArgumentError(
            f"a report shows at most {_MOST_CONDITIONS} conditions; got {len(asked.where):,}; give them as queries="
        )
    if asked.queries is not None and (asked.version is not None or asked.timestamp is not None):
        raise ArgumentError(
            "indexes are recommended for a table as it is now; a version is asked, too; leave out queries=, or version="
        )
    place = check_page(path, _forbidden(handle), overwrite=asked.overwrite)
    seen = _Looking(queries, asked, progress).seen()
    if progress is not None:
        progress("writing the page", _STEPS, _STEPS)
    size = write_page(place, page_of(seen).html())
    return Reported(handle.path, str(place), size, seen.notes)


class _Looking:
    """Collects the facts of a page, all of one version. What cannot be read is a note, unless the caller asked for it:
    then it is an error."""

    def __init__(self, queries: Queries, asked: ReportAsked, progress: Progress | None) -> None:
        self._queries, self._asked, self._progress = queries, asked, progress
        self._handle = queries.handle
        self._notes: list[str] = []
        self._done = 0

    def seen(self) -> TableSeen:
        asked, handle = self._asked, self._handle
        self._step("reading the version")
        snapshot = handle.snapshot(at_version(asked.version, asked.timestamp))
        self._step("asking the conditions")
        explained = [
            (
                " ".join(str(condition).split()),
                self._queries.explain(condition, snapshot.version, indexes=asked.indexes),
            )
            for condition in asked.where
        ]
        self._step("weighing the workload")
        recommended = self._recommended()
        self._step("looking at the indexes")
        infos = self._indexes(snapshot)
        self._step("measuring the layout")
        layout = layout_seen(handle, snapshot, _named(explained), sample=asked.sample, indexes=asked.indexes)
        self._step("reading the query log")
        savings = self._told("the query log", lambda: savings_of(handle, asked.since))
        growth = self._told("growth", lambda: rate_of(handle.table_format, handle.ref, snapshot))
        return TableSeen(
            path=handle.path,
            snapshot=snapshot,
            growth="" if growth is None or growth.reason else growth.said.removeprefix("the table: "),
            indexes=infos,
            layout=layout,
            queries=tuple(explained),
            recommended=recommended,
            savings=savings,
            made_ms=int(time.time() * 1000),
            notes=tuple(self._notes),
        )

    def _step(self, what: str) -> None:
        if self._progress is not None:
            self._progress(what, self._done, _STEPS)
        self._done += 1

    def _indexes(self, snapshot: Snapshot) -> tuple[IndexInfo, ...]:
        if not self._handle.config.use_indexes:
            return ()
        told = indexes_of(self._handle, version=snapshot.version, timestamp=None, staleness=True, vacuumed=False)
        return tuple(told)

    def _recommended(self) -> Recommendation | None:
        from .recommending import RecommendQuestion, recommendation

        asked = self._asked
        if asked.queries is None:
            return None
        question = RecommendQuestion(
            asked.queries, sample=asked.sample, tables=asked.tables, progress=self._progress_within
        )
        return recommendation([self._handle], question)

    def _progress_within(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)

    def _told(self, what: str, ask: Callable[[], _T]) -> _T | None:
        try:
            return ask()
        except (MetaIndexError, OSError) as error:
            self._notes.append(f"{what}: {' '.join(str(error).split())}")
            return None


def _words(condition: object) -> str:
    return " ".join(str(condition).split())


def _named(explained: Sequence[tuple[str, Explanation]]) -> list[tuple[str, ...]]:
    """The columns of the conditions, in their order."""
    return list(dict.fromkeys(ref.parts for _, told in explained for ref in columns_of(told.result.predicate)))


def _forbidden(handle: Handle) -> list[str]:
    """Folders of the table and of its indexes, as far as they are here."""
    roots = [handle.indexes_folder(), *([] if handle.ref.patterns else [handle.root(None)])]
    places = [None if is_remote(root) else local_path(root) for root in roots]
    return [str(place) for place in places if place is not None]
