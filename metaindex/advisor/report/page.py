"""The page of a table: its files, its indexes, how its files lie, and what its queries read. Most sections are what an
answer prints, as HTML; ages and sizes of files are counted by columns, whatever their number."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, groupby
from shlex import quote
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from metaindex.advisor.clustering.clustering import Clustering, FilesOf, Measured, measured_parts
from metaindex.advisor.clustering.measure import bounds_of, measure
from metaindex.advisor.clustering.strips import strip_of
from metaindex.advisor.figures import ColumnChart, Page, Section, Strip, columns_figure, copied, strip_figure
from metaindex.advisor.hypothetical.cost import rate_of
from metaindex.advisor.savings import Savings, savings_of
from metaindex.advisor.selection.answer import Recommendation
from metaindex.advisor.selection.recommend import recommend_for
from metaindex.advisor.workloads.table_queries import TableNames
from metaindex.core import (
    ArgumentError,
    Cure,
    Element,
    MetaIndexError,
    Progress,
    TextTable,
    Vector,
    counted,
    dataclass,
    human_bytes,
    moment,
    percent,
)
from metaindex.expressions import column_sql, physical_type
from metaindex.formats import At, Format, Snapshot
from metaindex.query import Explanation, Handle, Queries, TimestampLike, VersionLike, check_since
from metaindex.storage import is_remote, local_path
from metaindex.table import IndexList, Table

from .written import Reported, check_page, write_page

Ints = npt.NDArray[np.int64]

_TITLE = 120
"""Characters of a heading."""
_COLUMNS = 40
_DAY_MS = 86_400_000
_STEPS_MS = tuple(days * _DAY_MS for days in (1, 7, 30, 365, 3650, 36500))
_NAMES = ("day", "week", "30 days", "year", "ten years", "century")


def _section(key: str, title: str, shown: Sequence[str | TextTable | Element], caption: str) -> Section:
    return Section(key, title, tuple(_drawn(shown, caption)))


def _drawn(shown: Sequence[str | TextTable | Element], caption: str) -> Iterator[Element | str | None]:
    """Draw what an answer prints: sentences, indented lines as they are, tables and pictures."""
    for kind, several in groupby(shown, type):
        parts = list(several)
        if kind is str:
            yield from _texts("\n".join(map(str, parts)))
        for part in parts:
            if isinstance(part, TextTable):
                yield part.grid(caption)
            elif isinstance(part, Element):
                yield part


def _texts(text: str) -> Iterator[Element | str | None]:
    lines = [line for line in text.split("\n") if line.strip()]
    for indented, several in groupby(lines, lambda line: line.startswith("  ")):
        some = list(several)
        if indented:
            yield copied("\n".join(line[2:] for line in some))
        else:
            yield Element("p", some[0][:1].upper() + some[0][1:]) if len(some) == 1 else Element.listed(some)


def workload_section(recommended: Recommendation) -> Section:
    """Return the section on a recommendation."""
    return _section("workload", "The workload", recommended.shown, "Recommended, each beside those above it")


def _indexes(path: str, indexes: IndexList) -> Section:
    if indexes:
        return _section("indexes", "Indexes", indexes.shown, "Indexes of the table")
    words = "The table has no index. One of column statistics is small and knows all columns:"
    return _section("indexes", "Indexes", [words, f"  metaindex create {quote(path)} stats"], "")


def _strips(clustering: Clustering, strips: Sequence[Strip]) -> Section:
    words = Element(
        "p",
        "What minima and maxima can tell apart, and what not. Files that lie above each other are read together: a thin"
        " diagonal is a table in the order of the column, a full field is one where only an index of values helps.",
    )
    types = {column.column: column.type for column in clustering.columns}
    drawn: list[Element | str | None] = []
    for strip in strips:
        drawn += [Element("h3", strip.title, " ", Element("small", types.get(strip.title, ""))), strip_figure(strip)]
    return Section("ranges", "Ranges of the files", (words, *drawn))


def _queries(queries: Sequence[tuple[str, Explanation]]) -> Iterator[Element | str | None]:
    for words, explanation in queries:
        result = explanation.result
        share = percent(result.kept_files / result.total_files) if result.total_files else "none"
        yield Element("h3", Element("code", _shortened(words)))
        yield Element(
            "p",
            f"Reads {result.kept_files:,} of {counted(result.total_files, 'file')} ({share}); of these"
            f" {len(result.certain):,} hold nothing but rows that match.",
        )
        yield from result.grids
        yield Element("details", Element("summary", "Explained"), Element.pre(str(explanation)))


def _savings(savings: Savings | None) -> Section:
    if savings is not None and savings.total.queries:
        return _section("savings", "Savings", savings.pictured, "What each index spared, and what it costs; by day")
    words = "No query is noted." if savings is not None else "The query log cannot be read."
    words += f" {Cure('setting', 'Config(query_log=True)', 'METAINDEX_QUERY_LOG=kept')} notes what is asked; the page"
    return _section("savings", "Savings", [words + " then tells what each index spared, day by day."], "")


def _files(snapshot: Snapshot, growth: str) -> Section:
    """Facts of the version, sizes and ages of its files."""
    table = snapshot.files.table
    children: list[Element | str | None] = [Element.facts(_facts(snapshot, growth))]
    if len(table):
        sizes = Vector(table.column("size_bytes")).numbers.astype(np.int64)
        figures = [_sizes(sizes), _ages(_known(table.column("modified_ms")))]
        children.append(Element("div", *figures, class_="pair"))
    else:
        children.append(Element("p", "The table has no files at this version."))
    return Section("files", "Files and versions", tuple(children))


def _facts(snapshot: Snapshot, growth: str) -> list[tuple[str, Element | str | None]]:
    table = snapshot.files.table
    known = _known(table.column("record_count"))
    deletes = len(table) - table.column("deletes").null_count
    many = f"{int(known.sum()):,}" + ("" if len(known) == len(table) else f" in the {len(known):,} files that say so")
    names = list(snapshot.partition_columns)
    file_format = snapshot.details.read_options().get("file_format", "parquet")
    return [
        ("format", snapshot.format if Format.named(snapshot.format).has_log else f"plain {file_format}"),
        ("version", str(snapshot.version)),
        ("committed", moment(snapshot.timestamp_ms)),
        ("files", f"{len(table):,}"),
        ("size", human_bytes(snapshot.files.size_bytes)),
        ("rows", many if len(known) else "not known"),
        ("columns", f"{len(snapshot.schema.fields):,}"),
        ("partitioned by", ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")),
        ("files with deleted rows", f"{deletes:,} ({percent(deletes / len(table))})" if deletes else ""),
        ("grows by", growth),
    ]


def _sizes(sizes: Ints) -> Element:
    """Files by size: each column up to twice the one before it."""
    steps = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    least = int(max(steps.min(), 0))
    counts = np.bincount(steps - least)
    names = [f"up to {human_bytes(1 << (least + at))}" for at in range(len(counts))]
    middle, largest = human_bytes(int(np.median(sizes))), human_bytes(int(sizes.max()))
    return _files_by("Files by size", names, counts, "file size", f"median {middle}, largest {largest}")


def _ages(modified: Ints) -> Element | None:
    """Files by when they were written; nothing if the table does not say."""
    if not len(modified):
        return None
    first, last = int(modified.min()), int(modified.max())
    step, name = next(
        ((ms, name) for ms, name in zip(_STEPS_MS, _NAMES, strict=True) if (last - first) // ms < _COLUMNS),
        ((last - first) // _COLUMNS + 1, "equal part of the time"),
    )
    begin = first // step * step
    counts = np.bincount((modified - begin) // step)
    names = [_day(begin + at * step) for at in range(len(counts))]
    summary = f"one column a {name}; {_day(first)} to {_day(last)}"
    return _files_by("Files by age", names, counts, "written from (UTC)", summary)


def _files_by(title: str, names: list[str], counts: Ints, of: str, summary: str) -> Element:
    values = counts.astype(float).tolist()
    return columns_figure(ColumnChart(title, names, values, (), "{:,.0f}".format, (of, "files"), summary))


def _day(ms: int) -> str:
    try:
        return str(dt.datetime.fromtimestamp(ms / 1000, dt.UTC).date())
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"


def _known(values: object) -> Ints:
    """The values that are there."""
    data = Vector(values)
    known: Ints = data.numbers.astype(np.int64)
    return known[data.present]


def _shortened(text: str) -> str:
    return text if len(text) <= _TITLE else f"{text[:_TITLE]}..."


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
        TableNames.paths_of(self.tables)
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
    handle, asked = handle.as_indexed(), ReportQuestion(*arguments)
    place = check_page(path, _forbidden(handle), overwrite=asked.overwrite)
    done = count()

    def step(what: str) -> None:
        if progress is not None:
            progress(what, next(done), _STEPS)

    notes: list[str] = []
    page = _page(handle, asked, step, progress, notes)
    step("writing the page")
    return Reported(handle.path, str(place), write_page(place, page.html()), tuple(notes))


def _page(
    handle: Handle, asked: ReportQuestion, step: Callable[[str], None], progress: Progress | None, notes: list[str]
) -> Page:
    """The whole page, all of one version. What cannot be read is noted, unless the caller asked for it: then it is an
    error."""

    def noted(what: str, read: Callable[[], _T]) -> _T | None:
        try:
            return read()
        except (MetaIndexError, OSError) as error:
            notes.append(f"{what}: {' '.join(str(error).split())}")
            return None

    step("reading the version")
    snapshot = handle.snapshot(At.asked(asked.version, asked.timestamp))
    files = snapshot.files
    step("asking the conditions")
    queries = handle.made(Queries)
    asked_of = [(each, queries.ask(each, snapshot.version, indexes=asked.indexes)) for each in asked.where]
    explained = [(" ".join(str(each).split()), queries.explain(question)) for each, question in asked_of]
    sections = [Section("queries", "What conditions keep", tuple(_queries(explained)))] if explained else []
    step("weighing the workload")
    if asked.queries is not None:
        how = {"sample": asked.sample, "tables": asked.tables, "progress": progress}
        sections.append(workload_section(recommend_for([handle], asked.queries, **how)))
    step("looking at the indexes")
    infos = Table(handle).indexes(version=snapshot.version) if handle.config.use_indexes else IndexList()
    step("measuring the layout")
    named = list(dict.fromkeys(ref.parts for _, each in explained for ref in each.result.predicate.columns))
    layout, advice = _layout(handle, snapshot, named, sample=asked.sample, indexes=asked.indexes)
    step("reading the query log")
    sections.append(_savings(noted("the query log", lambda: savings_of(handle, asked.since))))
    rate = noted("growth", lambda: rate_of(handle.table_format, handle.ref, snapshot))
    growth = "" if rate is None or rate.reason else rate.said.removeprefix("the table: ")
    sections = [_files(snapshot, growth), _indexes(handle.path, infos), *layout, *sections, advice]
    if notes:
        sections.append(Section("notes", "What is missing", (Element.listed(notes),)))
    name = handle.path.rstrip("/").rsplit("/", 1)[-1] or handle.path
    summary = f"{counted(len(files), 'file')}, {human_bytes(files.size_bytes)}, at version {snapshot.version}"
    lead = Element("p", summary, class_="lead"), Element("p", Element("code", handle.path), class_="note")
    foot = f"Made {moment(int(time.time() * 1000))} by metaindex. The page is one file: it loads nothing."
    return Page(_shortened(name), lead, sections, (Element("p", foot),), wide=True)


_MEASURED = 60
"""Columns that are measured."""
_DRAWN = 8
"""Columns whose ranges are drawn."""
_UNNAMED = "name the columns that queries filter by with conditions (--where): the advice then has its statements"


def _layout(
    handle: Handle,
    snapshot: Snapshot,
    named: Sequence[tuple[str, ...]],
    *,
    sample: float | None,
    indexes: Iterable[str] | None,
) -> tuple[list[Section], Section]:
    """Draw the columns of the table and the ranges of some; and advice for those that are `named` (by their parts), or
    for all if none is."""
    bounds = bounds_of(handle, snapshot, indexes)
    whole = measure(handle, (), bounds, 0.0 if named else sample, _MEASURED)
    leaves = [leaf for leaf in snapshot.schema.leaves() if physical_type(leaf.type) is not None]
    wanted = [leaf for leaf in leaves if leaf.parts in named]
    names = tuple(column_sql(leaf.parts) for leaf in wanted)
    advised = measure(handle, names, bounds, sample) if wanted else whole
    by_name = {column.column: column for column in (*whole.columns, *(advised.columns if wanted else ()))}
    drawn = [
        leaf for leaf in [*wanted, *(leaf for leaf in leaves if leaf not in wanted)] if ".".join(leaf.parts) in by_name
    ]
    files = FilesOf.of(snapshot)
    strips = []
    for facts in bounds.columns(drawn[:_DRAWN]) if drawn else ():
        column = by_name[".".join(facts.leaf.parts)]
        strips.append(strip_of(Measured.of(facts, files), column))
    more = len(leaves) - _MEASURED
    measured = [*measured_parts(whole), *([f"{counted(more, 'column')} more were not measured"] if more > 0 else [])]
    caption = "Share of the files that queries read by minima and maxima alone, by column"
    drawn_sections = [_section("layout", "How the files lie", measured, caption)]
    drawn_sections += [_strips(whole, strips)] if strips else []
    shown = [part for parts in advised.advised() for part in parts] or ["No other layout is advised."]
    shown += [advised.sampled.said] if advised.sampled.said else []
    shown += [] if advised.named else [_UNNAMED]
    return drawn_sections, _section("advice", "Another layout", shown, "Files that a range over 1% of the rows reads")


def _forbidden(handle: Handle) -> list[str]:
    """Folders of the table and of its indexes, as far as they are here."""
    roots = [handle.indexes_folder(), *([] if handle.ref.patterns else [handle.root(None)])]
    places = [None if is_remote(root) else local_path(root) for root in roots]
    return [str(place) for place in places if place is not None]
