"""A page of a table: asked of all that is known of it, and written to a file."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from metaindex.advisor.clustering.measure import layout_found
from metaindex.advisor.hypothetical.cost import rate_of
from metaindex.advisor.savings import savings_of
from metaindex.core import ArgumentError, Cure, MetaIndexError, dataclass
from metaindex.formats import At
from metaindex.query import Handle, Queries, TimestampLike, VersionLike, check_since, paths_of
from metaindex.storage import is_remote, local_path
from metaindex.table import IndexList, Table

from .page import TableFindings, page_of
from .written import Reported, check_page, write_page

if TYPE_CHECKING:
    from metaindex.advisor.selection.answer import Recommendation
    from metaindex.index import Progress

_STEPS = 6
_MOST_CONDITIONS = 50
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ReportQuestion:
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
        if len(self.where) > _MOST_CONDITIONS:
            raise ArgumentError(
                f"a report shows at most {_MOST_CONDITIONS} conditions; got {len(self.where):,}; give them as queries="
            )
        if self.queries is not None and (self.version is not None or self.timestamp is not None):
            raise ArgumentError(
                "indexes are recommended for a table as it is now; a version is asked, too; leave out"
                f" {Cure('argument', 'queries')}, or {Cure('argument', 'version')}"
            )


def write_report(handle: Handle, path: object, progress: Progress | None, *arguments: Any) -> Reported:
    """Implement `Table.report`, whose other arguments follow in the order of `ReportQuestion`."""
    handle, question = handle.as_indexed(), ReportQuestion(*arguments)
    place = check_page(path, _forbidden(handle), overwrite=question.overwrite)
    collector = _Collector(handle, question, progress or (lambda what, done, total: None))
    findings = collector.findings()
    collector.step("writing the page")
    return Reported(handle.path, str(place), write_page(place, page_of(findings).html()), findings.notes)


class _Collector:
    """Collects the findings of a page, all of one version. What cannot be read is a note, unless the caller asked for
    it: then it is an error."""

    def __init__(self, handle: Handle, question: ReportQuestion, progress: Progress) -> None:
        self._handle, self._question, self._progress = handle, question, progress
        self._notes: list[str] = []
        self._done = 0

    def step(self, what: str) -> None:
        self._progress(what, self._done, _STEPS)
        self._done += 1

    def findings(self) -> TableFindings:
        question, handle = self._question, self._handle
        self.step("reading the version")
        snapshot = handle.snapshot(At.asked(question.version, question.timestamp))
        self.step("asking the conditions")
        explained = [
            (
                " ".join(str(condition).split()),
                handle.made(Queries).explain(condition, snapshot.version, indexes=question.indexes),
            )
            for condition in question.where
        ]
        self.step("weighing the workload")
        recommended = self._recommended()
        self.step("looking at the indexes")
        infos = IndexList()
        if handle.config.use_indexes:
            infos = Table(handle).indexes(version=snapshot.version)
        self.step("measuring the layout")
        named = list(dict.fromkeys(ref.parts for _, each in explained for ref in each.result.predicate.columns))
        layout = layout_found(handle, snapshot, named, sample=question.sample, indexes=question.indexes)
        self.step("reading the query log")
        savings = self._noted("the query log", lambda: savings_of(handle, question.since))
        growth = self._noted("growth", lambda: rate_of(handle.table_format, handle.ref, snapshot))
        return TableFindings(
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

    def _recommended(self) -> Recommendation | None:
        from metaindex.advisor.selection.recommend import RecommendQuestion, recommendation

        report = self._question
        if report.queries is None:
            return None
        question = RecommendQuestion(
            report.queries, sample=report.sample, tables=report.tables, progress=self._progress
        )
        return recommendation([self._handle], question)

    def _noted(self, what: str, read: Callable[[], _T]) -> _T | None:
        try:
            return read()
        except (MetaIndexError, OSError) as error:
            self._notes.append(f"{what}: {' '.join(str(error).split())}")
            return None


def _forbidden(handle: Handle) -> list[str]:
    """Folders of the table and of its indexes, as far as they are here."""
    roots = [handle.indexes_folder(), *([] if handle.ref.patterns else [handle.root(None)])]
    places = [None if is_remote(root) else local_path(root) for root in roots]
    return [str(place) for place in places if place is not None]
