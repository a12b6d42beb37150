"""Two answers compared, and one question measured."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from .data import SCHEMA
from .questions import DemoQuestion

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
