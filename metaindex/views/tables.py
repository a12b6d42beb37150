"""What a person sees of indexes and their history: the same words on the command line, by `print` in Python, and in a
notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metaindex.expressions.shown import Shown, Tabular
from metaindex.formats import times
from metaindex.pruning.result import human_bytes

from .text_table import Column, TextTable, one_line

if TYPE_CHECKING:
    from .history import History
    from .info import IndexInfo

SHOWN = 50
"""Row groups that a look-up shows to a person; machines get all."""

PLACE = (Column("row group", right=True), Column("rows", right=True), Column("match", right=True))


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Shown):
    """What a look-up found: sentences, and a table below them where there is anything to list."""

    sentences: tuple[str, ...]
    table: TextTable | None = None
    more: int = 0  # rows that the table leaves out

    @property
    def shown(self) -> Sequence[str | Tabular]:
        table = () if self.table is None else ("", self.table)
        return (*self.sentences, *table, *self.left_out)

    @property
    def left_out(self) -> tuple[str, ...]:
        return (f"... and {self.more:,} more",) if self.more else ()


def place(row: dict[str, object]) -> tuple[str, str, str]:
    """Cells of a row group: its number, its rows, those that match."""

    def cell(value: object, unknown: str) -> str:
        return f"{value:,}" if isinstance(value, int) else unknown

    return cell(row["row_group"], "-"), cell(row["row_count"], "?"), cell(row["matches"], "maybe")


def indexes_table(found: Sequence[IndexInfo]) -> TextTable:
    """A row an index; the problem of those that have one."""
    with_problem = any(info.problem for info in found)
    columns = (
        Column("index"),
        Column("state"),
        Column("fresh"),
        Column("kinds"),
        Column("files", right=True),
        Column("versions"),
        Column("runs", right=True),
        Column("size", right=True),
        Column("changed"),
        *((Column("problem"),) if with_problem else ()),
    )
    return TextTable(columns, tuple(_row(info, with_problem) for info in found))


def index_text(info: IndexInfo) -> str:
    """All about one index, a fact a line."""
    facts = {
        "index": info.name,
        "state": _state(info),
        "fresh": _fresh(info),
        "kinds": ", ".join(info.kinds) or "-",
        "files": f"{info.files:,}"
        + (f", {info.uncovered_files:,} of them uncovered and always read" if info.uncovered_files else ""),
        "behind": "" if info.new_files is None else _behind_in_words(info),
        "newest": f"version {info.newest_version}, committed {moment(info.newest_ms or 0)}"
        if info.newest_version
        else "",
        "size": f"{human_bytes(info.size_bytes)} in {counted(info.runs, 'run')}"
        + (
            ""
            if info.stored_bytes is None
            else f"; {human_bytes(info.stored_bytes)} on storage with what clean may remove"
        ),
        "changed": f"{moment(info.changed_ms)} (log entry {info.entry})",
        "location": info.location,
        "under way": "; ".join(info.under_way),
        "suspected": "; ".join(info.suspected) + (" seems dead: metaindex cancel ends it" if info.suspected else ""),
        "problem": info.problem,
        "columns": ", ".join(info.columns),
        "keys": ", ".join(info.keys),
        "versions": ", ".join(info.versions),
    }
    return "\n".join(f"{name:<10}{one_line(value)}" for name, value in facts.items() if value)


def history_table(found: History) -> TextTable:
    """A row an entry of the log, times in UTC."""
    return TextTable(
        (
            Column("entry", right=True),
            Column("when (UTC)"),
            Column("what"),
            Column("took", right=True),
            Column("behind", right=True),
            Column("who"),
            Column("changes"),
        ),
        tuple(
            (
                f"{one.entry}",
                moment(one.at_ms).removesuffix(" UTC"),
                one.verb,
                duration(one.duration_ms),
                duration(one.lag_ms),
                one.who or "-",
                one.changes or "-",
            )
            for one in found.entries
        ),
    )


def history_remarks(found: History) -> list[str]:
    """What stands below the table: what is not shown, and the lag."""
    remarks = []
    if found.earlier:
        remarks.append(f"{found.earlier:,} earlier entries (--last 0, or last=None, shows all)")
    lag = found.lag
    if lag.versions:
        remarks.append(
            f"lag from the table's commit to the index standing at it: median {duration(lag.median_ms)}, p99 {duration(lag.p99_ms)}, "
            f"longest {duration(lag.longest_ms)}, over {counted(lag.versions, 'recorded version')}"
        )
    return remarks


def counted(number: int, noun: str) -> str:
    """1 run, 2 runs."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def moment(ms: int) -> str:
    """A time in milliseconds since 1970, as people write it, to the second; 0: there is none."""
    return times.moment(ms // 1000 * 1000) if ms else "-"


def duration(ms: int | None) -> str:
    """How long something took, in the unit that suits it."""
    if ms is None:
        return "-"
    if ms < 1000:
        return f"{ms} ms"
    seconds = ms / 1000
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} days"


def _row(info: IndexInfo, with_problem: bool) -> tuple[str, ...]:
    cells = (
        info.name,
        _state(info),
        _fresh(info) + _behind(info),
        ", ".join(info.kinds) or "-",
        f"{info.files:,}",
        f"{len(info.versions):,}" + (f", newest {_shortened(info.newest_version)}" if info.newest_version else ""),
        f"{info.runs:,}",
        human_bytes(info.size_bytes if info.stored_bytes is None else info.stored_bytes),
        moment(info.changed_ms),
    )
    return (*cells, info.problem) if with_problem else cells


def _behind(info: IndexInfo) -> str:
    return f" ({counted(info.new_files, 'file')}, {human_bytes(info.new_bytes or 0)} behind)" if info.new_files else ""


def _behind_in_words(info: IndexInfo) -> str:
    new = (
        f"{counted(info.new_files or 0, 'file')} of the table, {human_bytes(info.new_bytes or 0)}, not covered and always read"
        if info.new_files
        else "nothing"
    )
    gone = f"; {counted(info.gone_files or 0, 'file')}, {human_bytes(info.gone_bytes or 0)}, gone from it"
    return new + (gone if info.gone_files else "")


def _shortened(version: str) -> str:
    """Listings of plain files and Iceberg snapshots have long names; `index_text` shows them whole."""
    return version if len(version) <= 12 else version[:9] + "..."


def _state(info: IndexInfo) -> str:
    return info.state + (", its writer seems dead" if info.suspected else "") + ("" if info.enabled else ", disabled")


def _fresh(info: IndexInfo) -> str:
    return {True: "yes", False: "no", None: "-"}[info.fresh]
