"""What-if of covering indexes beside what comes: each is built by Spark, and each query is asked through the rule.
Bytes are those that the tasks of Spark read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import metaindex as mi
from benchmarks.spark import quiet_session
from metaindex.core import IndexExistsError, SparkDriver
from metaindex.index import Kind
from metaindex.spark.optimizer import executed

from . import lakes
from .subjects import Row, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Figures = list[dict[str, object]]
Pair = tuple[float, float, float, float, bool, bool]
"""Bytes expected, with their bounds, and read; was the index read, and was it expected to be?"""

CANDIDATES: Mapping[str, Kind] = {
    "by_customer": mi.Covering(["ss_customer_sk"], ["ss_net_profit"]),
    "by_item": mi.Covering(["ss_item_sk"], ["ss_quantity", "ss_net_profit"]),
    "by_day": mi.CoveringRange(["ss_sold_date_sk"], ["ss_net_profit", "ss_store_sk"]),
    "by_profit": mi.CoveringRange(["ss_net_profit"], ["ss_ticket_number"]),
    "curve": mi.CoveringCurve(["ss_sold_date_sk", "ss_customer_sk", "ss_item_sk"], ["ss_net_profit", "ss_quantity"]),
}


def _statements(row: Row) -> list[str]:
    day = row["ss_sold_date_sk"] or 2_451_500
    assert isinstance(day, int)
    return [
        f"SELECT sum(ss_net_profit) FROM {{}} WHERE ss_customer_sk = {row['ss_customer_sk'] or 77}",
        f"SELECT sum(ss_quantity) FROM {{}} WHERE ss_item_sk = {row['ss_item_sk']}",
        f"SELECT sum(ss_net_profit) FROM {{}} WHERE ss_item_sk IN ({row['ss_item_sk']}, 3, 1500)",
        f"SELECT sum(ss_net_profit) FROM {{}} WHERE ss_sold_date_sk BETWEEN {day} AND {day + 20}",
        f"SELECT sum(ss_net_profit) FROM {{}} WHERE ss_sold_date_sk >= {day} AND ss_item_sk < 1000",
        f"SELECT count(ss_ticket_number) FROM {{}} WHERE ss_net_profit > {6_000 + int(str(row['ss_item_sk'])) % 4_000}",
    ]


def beside_copies(folder: Path, scale: float, files: int, each: int, share: float) -> Figures:
    """A line a candidate, and one of all. `each`: queries of a form, three at most: a workload keeps no more
    literals of one."""
    root = lakes.sales(folder, scale, files, by_month=False)
    home = folder / f"copies-{scale:g}" / root.name
    lakes.copied(root, home)
    table = mi.open_table(str(home))
    texts = [text for form in zip(*map(_statements, rows_of(root, each, 11)), strict=True) for text in form]
    told = table.what_if([text.format(root.name) for text in texts], *CANDIDATES.values(), sample=share)
    read = told.sampled.size_bytes / told.size_bytes
    out: Figures = []
    every: list[Pair] = []
    with quiet_session("advise", {}) as spark:
        for (name, kind), cost in zip(CANDIDATES.items(), told.candidates, strict=True):
            with suppress(IndexExistsError):
                table.create_index(name, kind, builder="spark")
            size = {index.name: index.size_bytes for index in table.indexes()}[name]
            assert cost.size_bytes is not None, cost.problem
            pairs: list[Pair] = []
            for text, weighed in zip(texts, told.queries, strict=True):
                effect = weighed[cost.candidate]
                came, used = _read(spark, text.format(f"parquet.`{home}`"), name)
                expected = effect.instead_of_bytes > 0
                if used or expected:
                    reads = effect.reads.size_bytes
                    pairs.append((reads.low, reads.expected, reads.high, float(came), used, expected))
            out.append({"covering": name, **_figures(pairs), "size": cost.size_bytes.expected / size, "read": read})
            every += pairs
    return [*out, {"covering": "all", **_figures(every), "size": "", "read": read}]


def _figures(pairs: Sequence[Pair]) -> dict[str, object]:
    taken = [pair for pair in pairs if pair[4] and pair[5]]
    out: dict[str, object] = {"queries": len(pairs), "taken as told": len(taken) / max(len(pairs), 1)}
    if not taken:
        return out
    low, expected, high, came = (np.array([pair[at] for pair in taken], np.float64) for at in range(4))
    twice = np.maximum(expected, came) / np.minimum(expected, came) <= 2
    return {
        **out,
        "median error": float(np.median(np.abs(expected - came) / came)),
        "within 2x": float(twice.mean()),
        "in bounds": float(((low <= came * 1.02) & (came <= high * 1.02)).mean()),
        "expected over came": float(np.median(expected / came)),
    }


def _read(spark: SparkSession, sql: str, index: str) -> tuple[int, bool]:
    """Bytes that tasks read, and whether the index was read in the table's place."""
    mi.enable(spark, rule=mi.RuleConfig(indexes=(index,)))
    try:
        frame = spark.sql(sql)
        with SparkDriver(spark).tagged() as tag, executed.counted_bytes(spark):
            frame.collect()
            read = sum(int(stage.inputBytes()) for stage in executed.stages(spark, tag))
        leaves = executed.leaves(frame._jdf.queryExecution().executedPlan())
        return read, any(f"<metaindex {index}" in leaf.simpleString(8) for leaf in leaves)
    finally:
        mi.disable(spark)
