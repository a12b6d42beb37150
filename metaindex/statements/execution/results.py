"""Results of statements. The columns of a statement never vary, so that Spark knows them before it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from metaindex.advisor import Estimate, Recommendation, UnreadNote, WhatIf
from metaindex.core import Column, Shown, TextTable, counted, dataclass, human_bytes, moment, percent
from metaindex.formats import ReadOptions
from metaindex.index import Outcome, Verification
from metaindex.statements.grammar.tree import (
    ChangeIndex,
    CreateIndex,
    DescribeIndex,
    ExplainIndexes,
    ExplainWhatIf,
    RecommendIndexes,
    ShowIndexes,
    Statement,
    VerifyIndex,
)
from metaindex.table import History, IndexInfo, IndexList, sayable

_TYPES: Final = {
    "": pa.string(),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "texts": pa.list_(pa.string()),
}


def _schema(columns: str) -> pa.Schema:
    """Return the schema of columns that are written `name:type`; a name alone is a text."""
    named = (column.partition(":") for column in columns.split())
    return pa.schema([(name, _TYPES[type_]) for name, _, type_ in named])


CHANGED: Final = _schema(
    "index operation changed:bool state entry:int kinds:texts files:int size_bytes:int notes:texts"
)
SHOWN: Final = _schema("name state fresh:bool kinds columns files:int size version updated note")
"""What a person can read in a notebook or on a terminal; DESCRIBE INDEX has the rest, and exact numbers. `version`: the
newest that is recorded; `note`: how far it is behind, which files it could not read, or why no query uses it."""
DESCRIBED: Final = _schema("name value")
VERIFIED: Final = _schema(
    "index sound:bool runs:int versions:int files:int statistics:int keys:int rows_compared:int "
    "findings:texts not_compared:texts"
)
"""`files`: data files of whose rows anything was compared: statistics, keys, or the rows that an index stores. `sound`
is false, too, where none of those that were to be compared could be read."""
EXPLAINED: Final = _schema("scan index used:bool reason files:int total_files:int size_bytes:int total_bytes:int")
FORMATTED: Final = _schema("plan")
WEIGHED: Final = _schema(
    "table query candidate files:float files_low:float files_high:float size_bytes:float "
    "saved_bytes:float index_bytes:float build_cpu_seconds:float note"
)
RECOMMENDED: Final = _schema(
    "index recommended:bool kinds leaves_out size statement reason table leaves_out_bytes:float "
    "leaves_out_bytes_low:float leaves_out_bytes_high:float share:float share_low:float share_high:float "
    "helps_queries:float helps_queries_low:float helps_queries_high:float index_bytes:float "
    "index_bytes_low:float index_bytes_high:float build_cpu_seconds:float pays_after"
)
"""In front what a person looks for, where `show()` has room for it: `leaves_out` and `size` say two of the figures
behind in words. `share`: of what the workload reads of the table now. `low`, `high`: the truth lies between them with
90%, and where they are equal the number is exact. `reason`: why a candidate is not recommended, or, where no table is
named, which queries could not be read."""


def schema_of(statement: Statement) -> pa.Schema:
    """The columns that a statement gives."""
    match statement:
        case CreateIndex() | ChangeIndex():
            return CHANGED
        case ShowIndexes():
            return SHOWN
        case DescribeIndex(history=history):
            return History.schema() if history else DESCRIBED
        case VerifyIndex():
            return VERIFIED
        case ExplainIndexes(formatted=formatted):
            return FORMATTED if formatted else EXPLAINED
        case ExplainWhatIf():
            return WEIGHED
        case RecommendIndexes():
            return RECOMMENDED


@dataclass(frozen=True, slots=True, repr=False)
class StatementResult(Shown):
    """The rows that a statement returned, and the same for a person (`print` it, or let a notebook show it). `wrong`: a
    verification found something; `unproven`: it could compare nothing."""

    rows: pa.Table
    told: tuple[str | TextTable, ...]
    wrong: bool = False
    unproven: bool = False

    @property
    def brief(self) -> str:
        first = str(self.told[0]).partition("\n")[0] if self.told and isinstance(self.told[0], str) else ""
        return first or f"{counted(self.rows.num_rows, 'row')} of {', '.join(self.rows.column_names)}"

    @property
    def shown(self) -> Sequence[str | TextTable]:
        return self.told

    def to_arrow(self) -> pa.Table:
        """Return the rows; the columns of a statement never vary."""
        return self.rows

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data for machines."""
        rows: list[dict[str, Any]] = self.rows.to_pylist()
        return rows


def result(
    schema: pa.Schema, rows: Sequence[Mapping[str, object]], *told: str | TextTable, wrong: bool = False
) -> StatementResult:
    """Make a result from rows whose texts may be anything."""
    said = [{name: sayable(value) for name, value in row.items()} for row in rows]
    return StatementResult(pa.Table.from_pylist(said, schema=schema), told, wrong)


def changed(outcome: Outcome) -> StatementResult:
    """Return the result of a verb that changes an index."""
    row = {**outcome.to_json(), "kinds": [kind.name for kind in outcome.entry.kinds]}
    return result(CHANGED, [row], *outcome.shown)


def nothing(name: str, operation: str, state: str, note: str) -> StatementResult:
    """Return the result of a statement that had nothing to do."""
    row = {"index": name, "operation": operation, "changed": False, "state": state, "entry": 0, "kinds": []}
    row |= {"files": 0, "size_bytes": 0, "notes": [note]}
    return result(CHANGED, [row], f"{operation} of index {name!r}: nothing to do; {note}")


def verified(report: Verification) -> StatementResult:
    names = ("index", "sound", "runs", "versions", "statistics", "keys", "rows_compared")
    row = {
        **{name: getattr(report, name) for name in names},
        "files": len(report.compared),
        "findings": [str(finding) for finding in report.findings],
        "not_compared": [why + (f" ({count:,} times)" if count > 1 else "") for why, count in report.unchecked.items()],
    }
    told = result(VERIFIED, [row], *report.shown, wrong=bool(report.findings))
    return replace(told, unproven=report.unproven)


def indexes_shown(infos: IndexList, *, in_spark: bool = False, hint: str = "") -> StatementResult:
    """Return a row an index. `in_spark`: write options for Spark? `hint`: the text if there is no index."""
    if not infos:
        return result(SHOWN, [], "; ".join(str(part) for part in (*infos.shown, hint) if part))
    rows = [_shown_row(_as_spark_is_told(info) if in_spark else info) for info in infos]
    names = [name for name in SHOWN.names if name != "note" or any(row["note"] for row in rows)]
    table = TextTable(
        tuple(Column(name, right=name in ("files", "size")) for name in names),
        tuple(
            tuple(_cell(info.version_said if name == "version" else row[name]) for name in names)
            for info, row in zip(infos, rows, strict=True)
        ),
    )
    return result(SHOWN, rows, table, *infos.old_remarks)


def _as_spark_is_told(info: IndexInfo) -> IndexInfo:
    """Reword reader options for Spark."""
    built, without = ReadOptions.as_spark_says(info.built_with, info.built_without)
    return replace(info, built_with=built, built_without=without)


def _shown_row(info: IndexInfo) -> dict[str, object]:
    return {
        "name": info.name,
        "state": info.state_said,
        "fresh": None if info.deleted else info.fresh,
        "kinds": ", ".join(info.kinds) or None,
        "columns": info.columns_said or None,
        "files": info.files,
        "size": info.size_said,
        "version": info.newest_version,
        "updated": moment(info.changed_ms) if info.changed_ms else None,
        "note": _noted(info),
    }


def _noted(info: IndexInfo) -> str | None:
    if info.problem:
        return info.problem
    if info.other_options:
        built = info.options_said or f"built with other reader options: {', '.join(info.other_options)}"
        return f"{built}; name the table as in DESCRIBE INDEX, or create another"
    said = [used] if (used := info.options_said) else []
    if info.new_files:
        said.append(f"{counted(info.new_files, 'file')}, {human_bytes(info.new_bytes or 0)} behind")
        said += filter(None, [info.touched_said])
    if info.uncovered_files:
        said.append(f"{info.unread_said}: VERIFY INDEX says why")
    return "; ".join(said) or None


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def weighed(answer: WhatIf) -> list[dict[str, object]]:
    """A row a query and candidate, and one for the query as it is."""
    rows: list[dict[str, object]] = []
    for query in answer.queries:
        row: dict[str, object] = {"table": answer.table, "query": query.query}
        if query.now is None:
            rows.append({**row, "note": query.problem})
            continue
        now = query.now
        standing = {"candidate": "as it is", "saved_bytes": 0.0, "note": query.note or None}
        rows.append({**row, **standing, **_reads(now.files, now.size_bytes)})
        for effect in query.effects:
            cost = answer.cost(effect.candidate)
            size = None if cost.size_bytes is None else float(round(cost.size_bytes.expected))
            more = {
                "saved_bytes": float(round(effect.saved_of(now).expected)),
                "index_bytes": size,
                "build_cpu_seconds": cost.build_cpu_seconds,
                "note": cost.problem or effect.note or None,
            }
            of_effect = _reads(effect.reads.files, effect.reads.size_bytes)
            rows.append({**row, "candidate": effect.candidate, **of_effect, **more})
    return rows


def _reads(files: Any, size: Any) -> dict[str, object]:
    ends = {"files": files.expected, "files_low": files.low, "files_high": files.high}
    return {name: float(value) for name, value in {**ends, "size_bytes": round(size.expected)}.items()}


def _bounded(name: str, estimate: Estimate) -> dict[str, object]:
    ends = (("", estimate.expected), ("_low", estimate.low), ("_high", estimate.high))
    whole = name.endswith("_bytes")
    return {f"{name}{end}": float(round(value) if whole else value) for end, value in ends}


def recommended(answer: Recommendation) -> StatementResult:
    rows: list[dict[str, object]] = [
        {
            "table": index.table,
            "index": index.name,
            "recommended": True,
            "kinds": index.title,
            "leaves_out": f"{human_bytes(round(index.adds_bytes.expected))} ({percent(index.saved.expected)})",
            "size": human_bytes(round(index.size_bytes.expected)),
            **_bounded("leaves_out_bytes", index.adds_bytes),
            **_bounded("share", index.saved),
            **_bounded("helps_queries", index.helps_queries),
            **_bounded("index_bytes", index.size_bytes),
            "build_cpu_seconds": index.build_cpu_seconds,
            "pays_after": str(index.break_even),
            "statement": index.sql,
        }
        for index in answer.indexes
    ]
    rows += [
        {"table": table.table, "recommended": False, "kinds": passed.candidate, "reason": passed.reason}
        for table in answer.tables
        for passed in table.passed
    ]
    rows += [{"recommended": False, "reason": note} for note in answer.notes if isinstance(note, UnreadNote)]
    statements = [f"  {index.sql};" for index in answer.indexes]
    return result(RECOMMENDED, rows, *answer.advised, *(["", "to create them:", *statements] if statements else []))
