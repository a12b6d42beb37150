"""The queries of a log by their templates: what was asked how often, and what it read."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Column, Cure, Plain, Shown, TextTable, counted, dataclass, human_bytes, moment, percent

from .row import SUMMED
from .texts import template_of

_SHOWN = 1_000
_SHOWN_TEXT = 200


@dataclass(frozen=True, slots=True)
class Template(Plain):
    """Queries that differ in values only. Sums over those of which it is known; `milliseconds`: the mean."""

    text: str
    queries: int
    helped: int  # of which an index left something out, or was read in the table's place
    files_read: int
    files_left_out: int
    bytes_read: int
    bytes_left_out: int
    milliseconds: float | None
    engines: tuple[str, ...]
    last_ms: int


@dataclass(frozen=True, slots=True, repr=False)
class QuerySummary(Shown, Plain):
    """Templates, the most frequent first. `notes`: what is not in them."""

    table: str
    queries: int
    templates: tuple[Template, ...]
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> Sequence[str | TextTable]:
        head = f"{self.table}: {counted(self.queries, 'query')} noted"
        if not self.templates:
            return (
                f"{head}; {Cure('setting', 'Config(query_log=True)', 'METAINDEX_QUERY_LOG=kept')} notes them",
                *self.notes,
            )
        titles = ("queries", "helped", "files read", "left out", "bytes left out", "planning ms")
        columns = (*(Column(title, right=True) for title in titles), Column("last (UTC)"), Column("condition"))
        more = len(self.templates) - _SHOWN
        notes = (*self.notes, *([f"{more:,} more are in templates, and in --json"] if more > 0 else []))
        return (head, "", TextTable(columns, tuple(map(_row, self.templates[:_SHOWN]))), *notes)


def _row(template: Template) -> tuple[str, ...]:
    total = template.bytes_read + template.bytes_left_out
    share = f" ({percent(template.bytes_left_out / total)})" if total else ""
    text = template.text if len(template.text) <= _SHOWN_TEXT else f"{template.text[:_SHOWN_TEXT]}..."
    return (
        f"{template.queries:,}",
        f"{template.helped:,}",
        f"{template.files_read:,}",
        f"{template.files_left_out:,}",
        f"{human_bytes(template.bytes_left_out)}{share}",
        "-" if template.milliseconds is None else f"{template.milliseconds:.1f}",
        moment(template.last_ms).removesuffix(" UTC"),
        text,
    )


def summary(table: str, rows: pa.Table, notes: Sequence[str]) -> QuerySummary:
    """Summarize the rows of a log. `notes`: what is not in them."""
    # Each text is looked at once, however many rows have it.
    texts = rows.column("predicate").combine_chunks().dictionary_encode()
    names = [template_of(text) for text in texts.dictionary.to_pylist()]
    named = [None if at is None else names[at] for at in texts.indices.to_pylist()]
    keyed = pa.table(
        {
            "text": pa.array(["every row" if name is None else name for name in named], pa.string()),
            "helped": pc.greater(pc.list_value_length(rows.column("indexes")), 0),
            "engine": rows.column("engine"),
            "at": pc.cast(rows.column("at"), pa.int64()),
            **{name: rows.column(name).cast(pa.float64()) for name in SUMMED},
            "milliseconds": rows.column("milliseconds"),
        }
    )
    grouped = keyed.group_by("text").aggregate(
        [
            ("at", "max"),
            ("at", "count"),
            ("helped", "sum"),
            ("engine", "distinct"),
            ("milliseconds", "mean"),
            *((name, "sum") for name in SUMMED),
        ]
    )
    templates = [
        Template(
            text=group["text"],
            queries=group["at_count"],
            helped=group["helped_sum"] or 0,
            **{name: int(group[f"{name}_sum"] or 0) for name in SUMMED},
            milliseconds=group["milliseconds_mean"],
            engines=tuple(sorted(engine for engine in group["engine_distinct"] if engine is not None)),
            last_ms=group["at_max"] // 1000,
        )
        for group in grouped.to_pylist()
    ]
    templates.sort(key=lambda template: (-template.queries, template.text))
    return QuerySummary(table, rows.num_rows, tuple(templates), tuple(notes))
