"""Savings: what the indexes of a table left out of the queries that were noted, against what they cost.

A query is helped where an index left files out of it, or was read in the table's place. What it was spared counts once
in the sums, and for each index that helped it: nobody knows what one would have done without the other. Bytes are of
whole files, as planned; of a covering index those of the needed columns, as expected."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import (
    Column,
    Cure,
    Element,
    MetaIndexError,
    Plain,
    Shown,
    TextTable,
    dataclass,
    duration,
    human_bytes,
    percent,
)
from metaindex.query import Handle, LoggedQueries, TableQueryLog
from metaindex.table import History, IndexInfo, indexes

_DAY_MS = 24 * 3600 * 1000
_SHOWN_DAYS = 31
_DRAWN_DAYS = 60
_MOST_GONE = 100
_SUMS = ("helped", *LoggedQueries.SUMMED, "milliseconds")


@dataclass(frozen=True, slots=True)
class Spared(Plain):
    """Queries, those that were helped, and what these read and were spared. `planning_ms`: of all that are noted."""

    queries: int = 0
    helped: int = 0
    files_read: int = 0
    files_left_out: int = 0
    bytes_read: int = 0
    bytes_left_out: int = 0
    planning_ms: float = 0.0

    @property
    def cells(self) -> tuple[str, ...]:
        total = self.bytes_read + self.bytes_left_out
        share = f" ({percent(self.bytes_left_out / total)})" if total else ""
        left_out = f"{human_bytes(self.bytes_left_out)}{share}"
        return f"{self.helped:,}", f"{self.files_left_out:,}", left_out


@dataclass(frozen=True, slots=True)
class IndexSavings(Plain):
    """The savings and the cost of one index. None: not known, as the index is gone, or cannot be read. `queries`: those
    that were noted since it was created; `upkeep_bytes`: written by refreshes and merges over `days` of its history."""

    JSON = (
        "name helped=spared.helped files_read=spared.files_read files_left_out=spared.files_left_out"
        " bytes_read=spared.bytes_read bytes_left_out=spared.bytes_left_out size_bytes upkeep_bytes upkeep_bytes_a_day"
        " history_days=days queries"
    )
    name: str
    spared: Spared
    size_bytes: int | None = None
    upkeep_bytes: int | None = None
    days: float = 0.0
    queries: int | None = None

    @property
    def upkeep_bytes_a_day(self) -> float | None:
        """Return the rate of upkeep; what was written in less than a day counts as a day's."""
        return None if self.upkeep_bytes is None else self.upkeep_bytes / max(self.days, 1.0)


@dataclass(frozen=True, slots=True, repr=False)
class Savings(Shown, Plain):
    """Savings by index (those that spared most first) and by day (in UTC, oldest first). `notes`: what is left out."""

    table: str
    total: Spared
    indexes: tuple[IndexSavings, ...]
    days: Mapping[dt.date, Spared]
    notes: tuple[str, ...] = ()

    def __getitem__(self, index: str) -> IndexSavings:
        """Return an index by its name. Raises KeyError if nothing is known of it."""
        for each in self.indexes:
            if each.name == index:
                return each
        names = ", ".join(each.name for each in self.indexes)
        raise KeyError(f"an index of this answer is one of {names or 'none'}; got {index!r}")

    @property
    def unused(self) -> tuple[str, ...]:
        """Indexes that there are, and that helped none of the queries that were noted since they were created. One that
        is younger than all of these is none of them."""
        return tuple(each.name for each in self.indexes if each.queries and not each.spared.helped)

    @property
    def shown(self) -> Sequence[str | TextTable]:
        total = self.total
        if not total.queries:
            hint = f"{Cure('setting', 'Config(query_log=True)', 'METAINDEX_QUERY_LOG=kept')} notes them"
            return (f"{self.table}: no query is noted; {hint}", *self.notes)
        share = percent(total.helped / total.queries)
        spared = (
            f"{total.helped:,} of {total.queries:,} queries were helped ({share}): {total.files_left_out:,} files and"
            f" {human_bytes(total.bytes_left_out)} were not read; planning took {duration(round(total.planning_ms))}"
        )
        parts: list[str | TextTable] = [f"{self.table}: {spared}", ""]
        if self.indexes:
            parts += [self.by_index, ""]
        parts += [self._by_day()]
        if self.unused:
            parts += ["", f"helped no query that was noted since it was created: {', '.join(self.unused)}"]
        return (*parts, *self.notes)

    @property
    def pictured(self) -> Sequence[str | TextTable | Element]:
        return (self.shown[0], self.figure, *self.shown[1:]) if self.total.queries else self.shown

    @property
    def figure(self) -> Element:
        """Draw what helped queries read and were spared, day by day."""
        from metaindex.advisor.figures import ColumnChart, columns_figure

        days = list(self.days.items())[-_DRAWN_DAYS:]
        total = self.total
        out = f"{human_bytes(total.bytes_left_out)} of {human_bytes(total.bytes_left_out + total.bytes_read)} left out"
        return columns_figure(
            ColumnChart(
                title="Bytes of helped queries, by day",
                names=[str(day) for day, _ in days],
                full=[float(spared.bytes_read) for _, spared in days],
                frame=[float(spared.bytes_left_out) for _, spared in days],
                form=lambda size: human_bytes(round(size)),
                titles=("day (UTC)", "read", "left out"),
                summary=f"full: read; pale: left out; {out} in all",
            )
        )

    @property
    def by_index(self) -> TextTable:
        """A row an index."""
        columns = Column.named("index", "helped>", "files left out>", "bytes left out>", "size>", "upkeep a day>")
        rows = []
        for each in self.indexes:
            size, upkeep = (
                "-" if cost is None else human_bytes(round(cost)) for cost in (each.size_bytes, each.upkeep_bytes_a_day)
            )
            rows.append((each.name, *each.spared.cells, size, upkeep))
        most = max(each.spared.bytes_left_out for each in self.indexes) or 1
        return TextTable(
            columns, tuple(rows), ((3, tuple(i.spared.bytes_left_out / most for i in self.indexes)),), True
        )

    def _by_day(self) -> TextTable:
        columns = Column.named("day (UTC)", "queries>", "helped>", "files left out>", "bytes left out>")
        days = list(self.days.items())[-_SHOWN_DAYS:]
        return TextTable(columns, tuple((str(day), f"{spared.queries:,}", *spared.cells) for day, spared in days))

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        days = [{"day": str(day), **spared.to_json()} for day, spared in self.days.items()]
        return {**self._plain("table total indexes"), "days": days, **self._plain("unused notes")}


def computed_savings(
    table: str,
    queries: LoggedQueries,
    infos: Sequence[IndexInfo],
    histories: Mapping[str, History],
) -> Savings:
    """Compute the savings from the log of a table, its indexes, and their histories."""
    rows = queries.rows
    rows = rows.append_column(
        "helped", pc.fill_null(pc.greater(pc.list_value_length(rows.column("indexes")), 0), False)
    )
    helped = rows.filter(rows.column("helped"))
    # A row may name an index twice: it lies in a lake that others write.
    places = pc.list_parent_indices(helped.column("indexes").combine_chunks())
    by_index = pa.table({"row": places, "index": pc.list_flatten(helped.column("indexes").combine_chunks())})
    by_index = by_index.group_by(["row", "index"]).aggregate([])
    there = {info.name: info for info in infos}
    own = helped.select([*_SUMS]).take(by_index.column("row")).append_column("index", by_index.column("index"))
    own, gone = _without_many(own, there)
    of_index = {name: spared for name, spared in _grouped(own, "index").items() if isinstance(name, str)}
    each_index = [
        _index(name, of_index.get(name, Spared()), there.get(name), histories.get(name), rows)
        for name in sorted(of_index.keys() | there.keys())
    ]
    each_index.sort(key=lambda each: (-each.spared.bytes_left_out, each.name))
    days = rows.append_column("day", pc.cast(pc.floor_temporal(rows.column("at"), unit="day"), pa.date32()))
    by_day = {day: spared for day, spared in sorted(_grouped(days, "day").items()) if isinstance(day, dt.date)}
    return Savings(table, _sum(rows), tuple(each_index), by_day, (*queries.notes, *gone))


def _without_many(own: pa.Table, there: Mapping[str, IndexInfo]) -> tuple[pa.Table, list[str]]:
    """Drop rows of all but the most frequent names of indexes that are gone, and note how many: a stranger may write a
    million of them."""
    names = own.column("index").value_counts()
    gone = pa.table({"name": names.field("values"), "rows": names.field("counts")})
    gone = gone.filter(pc.invert(pc.is_in(gone.column("name"), pa.array([*there], pa.string()))))
    if len(gone) <= _MOST_GONE:
        return own, []
    left_out = gone.sort_by([("rows", "descending"), ("name", "ascending")]).slice(_MOST_GONE).column("name")
    kept = own.filter(pc.invert(pc.is_in(own.column("index"), left_out.combine_chunks())))
    return kept, [f"{len(left_out):,} more names of indexes that there are not are left out"]


def _grouped(rows: pa.Table, key: str) -> dict[object, Spared]:
    """Sum savings by the values of a column, in one pass: a stranger may write a million of them."""
    sums = [(name, "sum", pc.ScalarAggregateOptions(min_count=0)) for name in _SUMS]
    helped = rows.column("helped")
    known = {name: pc.if_else(helped, rows.column(name), 0).cast(pa.float64()) for name in LoggedQueries.SUMMED}
    counted = pa.table({key: rows.column(key), "helped": helped, **known, "milliseconds": rows.column("milliseconds")})
    every = pc.CountOptions(mode="all")
    groups = counted.group_by(key).aggregate([(key, "count", every), *sums])
    return {
        group[key]: Spared(
            queries=group[f"{key}_count"],
            helped=group["helped_sum"],
            **{name: int(group[f"{name}_sum"]) for name in LoggedQueries.SUMMED},
            planning_ms=group["milliseconds_sum"],
        )
        for group in groups.to_pylist()
    }


def _sum(rows: pa.Table) -> Spared:
    whole = rows.append_column("all", pa.nulls(rows.num_rows, pa.int8()))
    return _grouped(whole, "all").get(None, Spared())


def _index(name: str, spared: Spared, info: IndexInfo | None, log: History | None, rows: pa.Table) -> IndexSavings:
    if info is None or info.problem:
        return IndexSavings(name, spared)
    if log is None or not log.entries:
        return IndexSavings(name, spared, info.size_bytes, queries=rows.num_rows)
    kept_up = [entry for entry in log.entries if entry.entry > 1 and "create" not in entry.verb]
    since = min((entry.at_ms for entry in log.entries if entry.at_ms), default=0)
    now_ms = dt.datetime.now(dt.UTC).timestamp() * 1000
    days = max(now_ms - since, 0.0) / _DAY_MS if since else 0.0
    created = max((entry.at_ms for entry in log.entries if "create" in entry.verb), default=since)
    upkeep = sum(entry.bytes_added for entry in kept_up)
    return IndexSavings(name, spared, info.size_bytes, upkeep, days, _noted_since(rows, created))


def _noted_since(rows: pa.Table, ms: int) -> int:
    """Count the queries noted since then, by clocks that may differ: the reader's and the index creator's."""
    at = pa.scalar(dt.datetime.fromtimestamp(ms / 1000, dt.UTC), rows.schema.field("at").type)
    return int(pc.sum(pc.greater_equal(rows.column("at"), at)).as_py() or 0)


def savings_of(handle: Handle, since: dt.timedelta | None) -> Savings:
    """Implement `Table.savings`."""
    queries = handle.made(TableQueryLog).read(since)
    infos = indexes(handle)
    histories: dict[str, History] = {}
    for info in infos:
        try:
            histories[info.name] = History.of(info.name, handle.indexes())
        except MetaIndexError:
            continue  # what is wrong with it `indexes` tells
    return computed_savings(handle.path, queries, infos, histories)
