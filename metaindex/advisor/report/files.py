"""The files of a table: how many, how large, how old. Counted by columns, whatever their number."""

from __future__ import annotations

import datetime as dt

import numpy as np
import numpy.typing as npt

from metaindex.advisor.figures.columns import ColumnChart, columns_figure
from metaindex.advisor.figures.shell import Section
from metaindex.core import Child, Element, Vector, counted, facts, moment, percent, tag
from metaindex.formats import format_named
from metaindex.query import human_bytes

from .facts import TableSeen

Ints = npt.NDArray[np.int64]
_COLUMNS = 40
_DAY_MS = 86_400_000
_STEPS_MS = tuple(days * _DAY_MS for days in (1, 7, 30, 365, 3650, 36500))
_NAMES = ("day", "week", "30 days", "year", "ten years", "century")


def files_section(seen: TableSeen) -> Section:
    """Facts of the version, sizes and ages of its files."""
    files = seen.snapshot.files
    children: list[Child] = [facts(_facts(seen))]
    if len(files):
        table = files.table
        sizes = Vector(table.column("size_bytes")).numbers.astype(np.int64)
        figures = [_sizes(sizes), _ages(_known(Vector(table.column("modified_ms")).array))]
        children.append(tag("div", *figures, class_="pair"))
    else:
        children.append(tag("p", "The table has no files at this version."))
    return Section("files", "Files and versions", tuple(children))


def _facts(seen: TableSeen) -> list[tuple[str, Child]]:
    snapshot, table = seen.snapshot, seen.snapshot.files.table
    rows = Vector(table.column("record_count")).array
    known = _known(rows)
    deletes = len(table) - table.column("deletes").null_count
    many = f"{int(known.sum()):,}" + ("" if len(known) == len(rows) else f" in the {len(known):,} files that say so")
    names = list(snapshot.partition_columns)
    return [
        ("format", snapshot.format if format_named(snapshot.format).has_log else f"plain {_file_format(seen)}"),
        ("version", str(snapshot.version)),
        ("committed", moment(snapshot.timestamp_ms)),
        ("files", f"{len(table):,}"),
        ("size", human_bytes(snapshot.files.size_bytes)),
        ("rows", many if len(known) else "not known"),
        ("columns", f"{len(snapshot.schema.fields):,}"),
        ("partitioned by", ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")),
        ("files with deleted rows", f"{deletes:,} ({percent(deletes / len(table))})" if deletes else ""),
        ("grows by", seen.growth),
    ]


def _file_format(seen: TableSeen) -> str:
    return str(seen.snapshot.details.read_options().get("file_format", "parquet"))


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
    return _files_by(
        "Files by age", names, counts, "written from (UTC)", f"one column a {name}; {_day(first)} to {_day(last)}"
    )


def _files_by(title: str, names: list[str], counts: Ints, of: str, summary: str) -> Element:
    return columns_figure(
        ColumnChart(
            title, names, counts.astype(float).tolist(), (), lambda count: f"{count:,.0f}", (of, "files"), summary
        )
    )


def _day(ms: int) -> str:
    try:
        return str(dt.datetime.fromtimestamp(ms / 1000, dt.UTC).date())
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"


def _known(values: object) -> Ints:
    """The values that are there."""
    mask = Vector(values).valid
    known: Ints = Vector(values).numbers.astype(np.int64)
    return known if mask is None else known[mask]


def summary_of(seen: TableSeen) -> str:
    """The table in a sentence."""
    files = seen.snapshot.files
    return f"{counted(len(files), 'file')}, {human_bytes(files.size_bytes)}, at version {seen.snapshot.version}"
