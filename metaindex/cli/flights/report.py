"""The demo's progress and findings: text for people, plain data for machines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.cli.output import Output
from metaindex.core import Column, Plain, human_bytes, percent

from .data import SCHEMA, DemoQuestion

if TYPE_CHECKING:
    from metaindex.query import PruneResult
    from metaindex.table import Table


@dataclass(frozen=True, slots=True)
class AskedTwice:
    """One question at one version of a table, answered by a full read and with the index. `pruned`: with the index;
    `table_files`: kept by what the table alone can prove, its partitions and the statistics of its log; `seconds`: with
    the index, pruning included."""

    question: DemoQuestion
    pruned: PruneResult
    table_files: int
    all_seconds: float
    seconds: float
    with_index: pa.Table
    without: pa.Table

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        pruned = self.pruned
        return {
            "question": self.question.name,
            "condition": self.question.sql,
            "rows": self.with_index.num_rows,
            "files": {"all": pruned.total_files, "table_alone": self.table_files, "index": pruned.kept_files},
            "bytes": {"all": pruned.total_bytes, "index": pruned.kept_bytes},
            "seconds": {"all": self.all_seconds, "index": self.seconds, "prune": pruned.seconds},
        }


def ask(
    table: Table, bare: Table, question: DemoQuestion, version: str | None = None, schema: pa.Schema = SCHEMA
) -> AskedTwice:
    """Answer a question twice by the same reader: from all files, and from those that the index keeps. `bare` is the
    table opened without its indexes."""
    started = time.perf_counter()
    scan = table.scan(question.sql, version=version)
    with_index = scan.to_arrow()
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    without = replace(scan, rows=None).to_arrow()
    all_seconds = time.perf_counter() - started
    pruned, own = (opened.prune(question.sql, version=version) for opened in (table, bare))
    answers = (canonical(rows, schema) for rows in (with_index, without))
    return AskedTwice(question, pruned, own.kept_files, all_seconds, seconds, *answers)


def canonical(answer: pa.Table, schema: pa.Schema = SCHEMA) -> pa.Table:
    """Return the answer with the columns and types of a schema, sorted by all columns: equal rows make equal tables."""
    plain = answer.select(schema.names).cast(schema).replace_schema_metadata(None)
    return plain.sort_by([(name, "ascending") for name in schema.names]).combine_chunks()


def difference(left: pa.Table, right: pa.Table) -> str:
    """Why two canonical answers are not equal; empty if they are."""
    if left.equals(right):
        return ""
    if left.num_rows != right.num_rows:
        return f"{left.num_rows:,} rows against {right.num_rows:,}"
    names = [name for name in left.column_names if not left.column(name).equals(right.column(name))]
    return f"{left.num_rows:,} rows, other values in {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class Check(Plain):
    """A comparison: which answers, and how they differ (empty: they are equal)."""

    stage: str
    lake: str
    question: str
    against: str
    difference: str


@dataclass(slots=True)
class Report:
    """Collects; `step` says the time since the start."""

    out: Output
    started: float = field(default_factory=time.monotonic)
    checks: list[Check] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    asked: list[tuple[str, str, AskedTwice]] = field(default_factory=list)

    def step(self, text: str) -> None:
        tell = self.out.say if self.out.json else self.out.write
        tell(f"[{time.monotonic() - self.started:5.1f} s] {text}")

    def check(self, stage: str, lake: str, question: DemoQuestion, against: str, difference: str) -> None:
        self.checks.append(Check(stage, lake, question.name, against, difference))
        if difference:
            self.step(f"DIFFERS: {stage}, {lake}, {question.name!r}, against {against}: {difference}")

    @property
    def broken(self) -> list[Check]:
        return [check for check in self.checks if check.difference]

    def legend(self, questions: Sequence[DemoQuestion]) -> None:
        self.out.table(Column.named("question", "condition"), [[q.name, q.sql] for q in questions])

    def results(self, stage: str, lake: str, asked: Sequence[AskedTwice]) -> None:
        """Print the results for a table of one format, with and without the index side by side."""
        self.asked += [(stage, lake, twice) for twice in asked]
        wrong = {check.question for check in self.broken if (check.stage, check.lake) == (stage, lake)}
        rows = [
            [
                twice.question.name,
                *(f"{count:,}" for count in (twice.with_index.num_rows, pruned.total_files, twice.table_files)),
                f"{pruned.kept_files:,}",
                *(human_bytes(size) for size in (pruned.total_bytes, pruned.kept_bytes)),
                "NO" if twice.question.name in wrong else "yes",
            ]
            for twice in asked
            for pruned in [twice.pruned]
        ]
        titles = ("rows>", "files: all>", "log>", "index>", "bytes: all>", "index>", "equal")
        self.out.write()
        self.out.table(Column.named(lake, *titles), rows)

    def summary(self, stage: str) -> None:
        """Questions by formats: files read with the index, and their share of the bytes. Times are in the JSON: of a
        busy machine they say little."""
        of_stage = [(lake, twice) for at, lake, twice in self.asked if at == stage]
        names = list(dict.fromkeys(lake for lake, _ in of_stage))
        questions = list(dict.fromkeys(twice.question for _, twice in of_stage))
        cells = {(lake, one.question): cell(one.pruned) for lake, one in of_stage}
        self.out.table(
            Column.named("files read, of the bytes", *(f"{name}>" for name in names)),
            [[q.name, *(cells.get((name, q), "-") for name in names)] for q in questions],
        )

    def to_json(self) -> dict[str, object]:
        return {
            **self.facts,
            "seconds": round(time.monotonic() - self.started, 3),
            "answers": [{"stage": stage, "format": lake, **twice.to_json()} for stage, lake, twice in self.asked],
            "comparisons": len(self.checks),
            "broken": [check.to_json() for check in self.broken],
        }


def seconds(value: float) -> str:
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:.2f} s"


def cell(pruned: PruneResult) -> str:
    """Return how many files are read with the index, and their share of the bytes."""
    share = percent(pruned.kept_bytes / max(pruned.total_bytes, 1))
    return f"{pruned.kept_files:,} of {pruned.total_files:,} {share:>5}"
