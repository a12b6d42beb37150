"""What Spark reads of one table, put in several ways, for queries that name now this column and now that one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import metaindex as mi
from benchmarks.processes import cpu_seconds
from benchmarks.spark import quiet_session
from benchmarks.telling import Figures
from metaindex.core import SparkDriver
from metaindex.spark.optimizer import executed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INDEXED, INCLUDED = ["day", "customer", "amount"], ["n", "city", "note"]
_CONF = {
    "spark.driver.memory": "4g",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.databricks.delta.optimize.zorder.mergeStrategy.minCubeSize.threshold": "1",
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
}


@dataclass(frozen=True)
class Peer:
    """A table, and the index that the rule may use; none: the rule is off."""

    table: str
    index: str | None = None


def run(folder: Path, rows: int, queries: int, files: int) -> Figures:
    """A line for each shape of query and peer, and for all of them."""
    with quiet_session("curve", _CONF) as spark:
        root = folder / f"curve-{rows}"
        seconds = _made(spark, root, rows, files)
        peers = {
            "plain": Peer("plain"),
            "sorted by day": Peer("sorted"),
            "Delta Z-order": Peer("zorder"),
            "Delta liquid clustering": Peer("liquid"),
            "CoveringRange(day)": Peer("plain", "range"),
            "CoveringCurve": Peer("plain", "curve"),
        }
        asked = list(_asked(spark, str(root / "plain"), queries))
        return [*_sizes(root, seconds), *_read(spark, root, peers, asked)]


def _made(spark: SparkSession, root: Path, rows: int, files: int) -> dict[str, float]:
    """CPU seconds that each took to make; nothing where they are there."""
    if (root / "made").exists():
        return {}
    shutil.rmtree(root, ignore_errors=True)
    frame = _frame(spark, rows)
    seconds: dict[str, float] = {}

    def make(name: str, frame: DataFrame) -> None:
        started = cpu_seconds()
        frame.write.format("delta").save(str(root / name))
        seconds[name] = cpu_seconds() - started

    make("plain", frame.repartition(files, "n"))
    plain = spark.read.format("delta").load(str(root / "plain"))
    size = mi.open_table(str(root / "plain")).snapshot().files.size_bytes // files
    make("sorted", plain.repartitionByRange(files, "day").sortWithinPartitions("day"))
    columns = ", ".join(INDEXED)
    conf = "spark.databricks.delta.optimize"
    with (
        SparkDriver(spark).setting(f"{conf}.maxFileSize", str(size)),
        SparkDriver(spark).setting(f"{conf}.minFileSize", str(size)),
    ):
        for name, clause in (("zorder", f"ZORDER BY ({columns})"), ("liquid", "")):
            make(name, plain)
            started = cpu_seconds()
            if name == "liquid":
                spark.sql(f"ALTER TABLE delta.`{root / name}` CLUSTER BY ({columns})")
            spark.sql(f"OPTIMIZE delta.`{root / name}` {clause or 'FULL'}").collect()
            seconds[name] = cpu_seconds() - started
    table = mi.open_table(str(root / "plain"), spark=spark)
    others = [name for name in INDEXED if name != "day"]
    for name, kind in (
        ("range", mi.CoveringRange(["day"], [*others, *INCLUDED])),
        ("curve", mi.CoveringCurve(INDEXED, INCLUDED)),
    ):
        started = cpu_seconds()
        table.create_index(name, kind, builder="spark")
        seconds[name] = cpu_seconds() - started
    (root / "made").touch()
    return seconds


def _frame(spark: SparkSession, rows: int) -> DataFrame:
    """Days that are even, customers that are skewed, amounts as such are."""
    return spark.range(0, rows, 1, 8).selectExpr(
        "date_add(date'2022-01-01', CAST(rand(1) * 1000 AS int)) AS day",
        "CAST(pow(rand(2), 3) * 200000 AS bigint) AS customer",
        "CAST(exp(randn(3) * 1.2 + 4) AS decimal(12,2)) AS amount",
        "CAST(rand(4) * 1000000 AS int) AS n",
        "concat('city ', CAST(rand(5) * 500 AS int)) AS city",
        "substring(sha2(CAST(id AS string), 256), 1, 24) AS note",
    )


def _asked(spark: SparkSession, plain: str, count: int) -> Iterator[tuple[str, str]]:
    """In turn, of values that the table has: the shape, and the condition."""
    sample = spark.read.format("delta").load(plain).select(*INDEXED).sample(0.02, seed=5).toArrow()
    ordered = {name: np.sort(sample[name].to_numpy(zero_copy_only=False)) for name in INDEXED}
    rng = np.random.default_rng(11)

    def between(name: str, share: float) -> str:
        values = ordered[name]
        first = int(rng.integers(0, int(len(values) * (1 - share))))
        low, high = values[first], values[first + int(len(values) * share)]
        return f"{name} BETWEEN {_literal(low)} AND {_literal(high)}"

    shapes = {
        "1% of day": [("day", 0.01)],
        "1% of customer": [("customer", 0.01)],
        "1% of amount": [("amount", 0.01)],
        "10% of day and customer": [("day", 0.1), ("customer", 0.1)],
        "10% of customer and amount": [("customer", 0.1), ("amount", 0.1)],
        "30% of each": [(name, 0.3) for name in INDEXED],
    }
    for number in range(count):
        shape = list(shapes)[number % len(shapes)]
        yield shape, " AND ".join(between(name, share) for name, share in shapes[shape])


def _literal(value: object) -> str:
    return f"date'{value}'" if isinstance(value, np.datetime64) else str(value)


def _sizes(root: Path, seconds: Mapping[str, float]) -> Figures:
    figures: Figures = []
    for name in ("plain", "sorted", "zorder", "liquid"):
        files = mi.open_table(str(root / name)).snapshot().files
        figures.append({"made": name, "files": len(files), "bytes": files.size_bytes, "CPU s": seconds.get(name, "")})
    for info in mi.open_table(str(root / "plain")).indexes():
        made = len(list(Path(info.location).rglob("covering/**/*.mix")))
        figures.append(
            {"made": info.name, "files": made, "bytes": info.size_bytes, "CPU s": seconds.get(info.name, "")}
        )
    return figures


def _read(spark: SparkSession, root: Path, peers: Mapping[str, Peer], asked: list[tuple[str, str]]) -> Figures:
    read: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for shape, where in asked:
        rows: dict[str, object] = {}
        for name, peer in peers.items():
            rows[name], found = _one(spark, str(root / peer.table), peer.index, where)
            for key in (shape, "all"):
                read.setdefault((key, name), []).append(found)
        assert len({repr(found) for found in rows.values()}) == 1, f"peers give other rows of {where}"
    by_z = {key: sum(tasks for tasks, _ in some) for (key, name), some in read.items() if name == "Delta Z-order"}
    figures: Figures = []
    for (shape, name), some in sorted(read.items(), key=lambda pair: (pair[0][0] != "all", pair[0][0])):
        tasks, files = (sum(numbers) / len(some) for numbers in zip(*some, strict=True))
        figures.append(
            {
                "queries": shape,
                "peer": name,
                "count": len(some),
                "MB of files": files / 1e6,
                "MB read": tasks / 1e6,
                "of Z-order": tasks * len(some) / by_z[shape],
            }
        )
    return figures


def _one(spark: SparkSession, path: str, index: str | None, where: str) -> tuple[object, tuple[int, int]]:
    """The rows; the bytes that tasks read, and those of the files that are read."""
    sql = f"SELECT count(*), sum(n), max(note), min(city) FROM delta.`{path}` WHERE {where}"
    if index is None:
        return _run(spark, sql)
    mi.enable(spark, rule=mi.RuleConfig(indexes=(index,)))
    try:
        return _run(spark, sql)
    finally:
        mi.disable(spark)


def _run(spark: SparkSession, sql: str) -> tuple[object, tuple[int, int]]:
    frame = spark.sql(sql)
    with SparkDriver(spark).tagged() as tag, executed.counted_bytes(spark):
        rows = frame.collect()
        read = sum(int(stage.inputBytes()) for stage in executed.stages(spark, tag))
    scans = executed.leaves(frame._jdf.queryExecution().executedPlan())
    sizes = [scan.metrics().apply("filesSize").value() for scan in scans if scan.metrics().contains("filesSize")]
    return rows, (read, sum(map(int, sizes)))
