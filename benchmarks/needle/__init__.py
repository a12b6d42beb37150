"""A needle in a haystack: exact look-ups among 5,000,000 rows of 100 bytes, in 500 files or in fewer and larger ones
(`Shape`), beside those who could do it otherwise and beside oracles that are told where the rows are.

Look-ups: each is `SELECT * WHERE column = value`, all rows of all columns, and finds exactly the rows that are there or
the benchmark fails. All are asked in turns, in one process; wall times as median with the 10th and 90th percentile, CPU
of all processes that work for it. Without a JVM two threads each; through Spark two cores, in a warm session.

Builds: CPU and sizes of each kind over the same table, beside scans of the column that is keyed. Scale: the model of
docs/scale.md beside measurements at three sizes. Targets: what was to be reached.

`python -m benchmarks needle`, or `python -m benchmarks.needle --rows 20000000` for other sizes and parts.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi
from benchmarks.shape import SHAPES, Shape

from .lake import Lake
from .timing import Peer, figures, in_turns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES, ROWS, ROW_BYTES = 500, 5_000_000, 100
BEFORE = 300
"""Look-ups that a handle which is kept has answered before: some footers of data files are in memory then, as DuckDB
has all of them after its first query."""
INDEX = "needle"
PARTS = ("local", "spark", "builds", "scale", "targets")


Figures = list[dict[str, object]]


def run(folder: Path, quick: bool, shape: Shape) -> Figures:
    files, each = shape.files_of(ROWS, ROW_BYTES, quick)
    parts = PARTS if shape == SHAPES["small"] else ("local",)
    return measure(folder, Lake.of(folder, files, files * each, shape.group_rows), 1 if quick else 7, parts)


def measure(
    folder: Path,
    lake: Lake,
    turns: int,
    parts: Sequence[str],
    tell: Callable[[Figures], None] = lambda some: None,
) -> Figures:
    """The figures of the parts asked; `tell` gets them as they come. `turns`: of every peer and sort of needle."""
    lake.prepare()
    _index(lake)
    found: Figures = []

    def add(some: Figures) -> None:
        found.extend(some)
        tell(some)

    with _session(any(part in parts for part in ("spark", "builds"))) as spark:
        if peers := _peers(lake, spark, parts):
            for some in _look_ups(lake, peers, turns):
                add(some)
        if "builds" in parts:
            from .builds import builds

            add(builds(lake, spark, max(1, turns // 2)))
    if "scale" in parts:
        from .scale import scale

        add(scale(folder, lake.files < FILES))
    if "targets" in parts:
        from .targets import targets

        add(targets(found))
    return found


def _look_ups(lake: Lake, peers: Sequence[Peer], turns: int) -> Iterator[Figures]:
    count = max(10, turns * 5)
    needles = lake.needles(count + BEFORE)
    others = {sort: some[count:] for sort, some in needles.items()}
    needles = {sort: some[:count] for sort, some in needles.items()}
    in_turns(peers, needles["string in 1 to 5 files"], 3)  # what is loaded and compiled once
    for peer in peers:
        for needle in others["string in 1 to 5 files"] if peer.held else ():
            peer.find(needle)
    for sort, some in needles.items():
        yield figures(sort, peers, in_turns(peers, some, turns))
    yield list(_absent(lake))


def _absent(lake: Lake) -> Iterator[dict[str, object]]:
    """Files that values which no row has leave to be read: those whose hashes collide."""
    table = mi.open_table(str(lake.delta))
    for sort, column, values in lake.absent(1000):
        kept = [len(table.prune(f"{column} = {value!r}").files) for value in values]
        yield {"absent": sort, "look-ups": len(kept), "files": lake.files, "files kept in all": sum(kept)}


def _peers(lake: Lake, spark: SparkSession | None, parts: Sequence[str]) -> list[Peer]:
    out: list[Peer] = []
    if "local" in parts:
        from .local_peers import local_peers, our_peers

        out += local_peers(lake) + our_peers(lake)
    if "spark" in parts and spark is not None:
        from .spark_peers import our_spark_peers, spark_peers

        out += spark_peers(lake, spark) + our_spark_peers(lake, spark)
    return out


def _index(lake: Lake) -> None:
    """The inverted index by hash of the three keys, on each form that metaindex reads, and no other; kept for the next
    run."""
    for other in (lake.folder / "_metaindex" / lake.parquet.name).glob("*"):
        if other.name != INDEX:
            shutil.rmtree(other)
    for root in (lake.parquet, lake.delta, lake.iceberg):
        table = mi.open_table(str(root))
        if INDEX not in [one.name for one in table.indexes()]:
            print(f"indexing {root.name}", file=sys.stderr)
            table.create_index(INDEX, mi.Values("record_id", "event_id", "account_id"), builder="local")


@contextmanager
def _session(wanted: bool) -> Iterator[SparkSession | None]:
    if not wanted:
        yield None
        return
    from .spark_peers import session

    with session() as spark:
        yield spark
