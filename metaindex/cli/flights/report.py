"""The demo's progress and findings: text for people, plain data for machines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.cli.output import Output
from metaindex.core import Column, human_bytes

from .data import SCHEMA, DemoQuestion

if TYPE_CHECKING:
    from metaindex.table import Table


@dataclass(frozen=True, slots=True)
class AskedTwice:
    """One question at one version of a table, answered by a full read and with the index."""

    question: DemoQuestion
    rows: int
    all_files: int
    all_bytes: int
    all_seconds: float
    table_files: int  # kept by what the table alone can prove: partitions, and the statistics of its log
    kept_files: int
    kept_bytes: int
    seconds: float  # pruning included
    prune_seconds: float
    with_index: pa.Table
    without: pa.Table


def ask(table: Table, bare: Table, question: DemoQuestion, version: str | None = None) -> AskedTwice:
    """Answer a question twice by the same reader: from all files, and from those that the index keeps. `bare` is the
    table opened without its indexes."""
    started = time.perf_counter()
    scan = table.scan(question.sql, version=version)
    with_index = scan.to_arrow()
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    without = replace(scan, rows=None).to_arrow()
    all_seconds = time.perf_counter() - started
    result = table.prune(question.sql, version=version)
    return AskedTwice(
        question,
        with_index.num_rows,
        result.total_files,
        result.total_bytes,
        all_seconds,
        bare.prune(question.sql, version=version).kept_files,
        result.kept_files,
        result.kept_bytes,
        seconds,
        result.seconds,
        canonical(with_index),
        canonical(without),
    )


def canonical(answer: pa.Table) -> pa.Table:
    """Return the answer with the columns and types of SCHEMA, sorted by all columns: equal rows make equal tables."""
    plain = answer.select(SCHEMA.names).cast(SCHEMA).replace_schema_metadata(None)
    return plain.sort_by([(name, "ascending") for name in SCHEMA.names]).combine_chunks()


def difference(left: pa.Table, right: pa.Table) -> str:
    """Why two canonical answers are not equal; empty if they are."""
    if left.equals(right):
        return ""
    if left.num_rows != right.num_rows:
        return f"{left.num_rows:,} rows against {right.num_rows:,}"
    names = [name for name in left.column_names if not left.column(name).equals(right.column(name))]
    return f"{left.num_rows:,} rows, other values in {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class Check:
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
        line = f"[{time.monotonic() - self.started:5.1f} s] {text}"
        if self.out.json:
            self.out.say(line)
        else:
            self.out.write(line)

    def headline(self, text: str) -> None:
        self.out.write(f"\n{text}")

    def remark(self, text: str) -> None:
        self.out.write(text)

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
        self.out.write()
        self.out.table(
            Column.named(
                lake, "rows>", "files: all>", "log>", "index>", "bytes: all>", "index>", "time: all>", "index>", "equal"
            ),
            [
                [
                    twice.question.name,
                    f"{twice.rows:,}",
                    f"{twice.all_files:,}",
                    f"{twice.table_files:,}",
                    f"{twice.kept_files:,}",
                    human_bytes(twice.all_bytes),
                    human_bytes(twice.kept_bytes),
                    seconds(twice.all_seconds),
                    seconds(twice.seconds),
                    "NO" if self._broken(stage, lake, twice.question) else "yes",
                ]
                for twice in asked
            ],
        )

    def summary(self, stage: str) -> None:
        """Questions by formats: files read with the index, and how many times faster than reading all."""
        of_stage = [(lake, twice) for at, lake, twice in self.asked if at == stage]
        names = list(dict.fromkeys(lake for lake, _ in of_stage))
        questions = list(dict.fromkeys(twice.question for _, twice in of_stage))
        cells = {(lake, twice.question): twice for lake, twice in of_stage}
        self.out.table(
            Column.named("files read, times as fast", *(f"{name}>" for name in names)),
            [[q.name, *(_cell(cells.get((name, q))) for name in names)] for q in questions],
        )

    def to_json(self) -> dict[str, object]:
        return {
            **self.facts,
            "seconds": round(time.monotonic() - self.started, 3),
            "answers": [
                {
                    "stage": stage,
                    "format": lake,
                    "question": twice.question.name,
                    "condition": twice.question.sql,
                    "rows": twice.rows,
                    "files": {"all": twice.all_files, "table_alone": twice.table_files, "index": twice.kept_files},
                    "bytes": {"all": twice.all_bytes, "index": twice.kept_bytes},
                    "seconds": {"all": twice.all_seconds, "index": twice.seconds, "prune": twice.prune_seconds},
                }
                for stage, lake, twice in self.asked
            ],
            "comparisons": len(self.checks),
            "broken": [{name: getattr(check, name) for name in Check.__slots__} for check in self.broken],
        }

    def _broken(self, stage: str, lake: str, question: DemoQuestion) -> bool:
        return any((c.stage, c.lake, c.question) == (stage, lake, question.name) for c in self.broken)


def seconds(value: float) -> str:
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:.2f} s"


def _cell(twice: AskedTwice | None) -> str:
    if twice is None:
        return "-"
    factor = twice.all_seconds / max(twice.seconds, 1e-9)
    return f"{twice.kept_files} of {twice.all_files} {f'{factor:.0f}' if factor >= 0.95 else f'{factor:.1g}':>5}x"
