"""Planning of a predicate of 3,000 terms of two columns, as programs write them, over 500 files: CPU of a handle that
remembers no answer, from text and from a tree, by each kind of index."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.expressions import to_predicate

TERMS, FILES, ROWS = 3_000, 500, 20
KINDS: dict[str, list[mi.Kind]] = {
    "statistics": [mi.ColumnStats()],
    "values, bloom": [mi.Values("a"), mi.Bloom("b")],
    "two columns as one": [mi.Values("a", "b")],
    "value lists": [mi.ValueList("a"), mi.ValueList("b")],
    "values, in order": [mi.Values("a", by="value")],
}
SHAPES: dict[str, Callable[[int], str]] = {
    "a = 1 AND b = 2": lambda n: f"a = {n} AND b = {n + n % 2}",
    "a >= 1 AND b < 2": lambda n: f"a >= {n} AND b < {n + n % 2}",
    "a = 1 AND s = 'x'": lambda n: f"a = {n} AND s = 'v{n + n % 2:06d}'",
}


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    files, terms = (20, 100) if quick else (FILES, TERMS)
    shutil.rmtree(folder / "terms", ignore_errors=True)
    out: list[dict[str, object]] = []
    for kind, kinds in KINDS.items():
        table = _table(folder / "terms" / kind.replace(" ", "_"), files, kinds)
        for shape, term in SHAPES.items():
            text = " OR ".join(f"({term(3 * n % (files * ROWS))})" for n in range(terms))
            table.reopened().prune(text)
            from_text = [_cpu(lambda: table.reopened().prune(text)) for _ in range(7)]  # noqa: B023
            trees = [to_predicate(text) for _ in range(7)]
            from_tree = [_cpu(lambda: table.reopened().prune(tree)) for tree in trees]  # noqa: B023
            out.append(
                {
                    "index": kind,
                    "terms": f"{terms:,} x {shape}",
                    "text, CPU ms": statistics.median(from_text) * 1000,
                    "least": min(from_text) * 1000,
                    "most": max(from_text) * 1000,
                    "tree, CPU ms": statistics.median(from_tree) * 1000,
                }
            )
    return out


def _cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _table(root: Path, files: int, kinds: list[mi.Kind]) -> mi.Table:
    root.mkdir(parents=True)
    for number in range(files):
        rows = range(number * ROWS, (number + 1) * ROWS)
        columns = {"a": pa.array(rows, pa.int64()), "b": pa.array(rows, pa.int64()), "s": [f"v{n:06d}" for n in rows]}
        pq.write_table(pa.table(columns), root / f"f{number:04d}.parquet")
    mi.open_table(str(root)).create_index("index", *kinds, builder="local")
    return mi.open_table(str(root))
