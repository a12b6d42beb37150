"""The reads of a query's scans when it ran, by Spark's own metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from metaindex.core import Plain, SparkDriver, human_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VECTORED: Final = "parquet.hadoop.vectored.io.enabled"


@dataclass(frozen=True, slots=True)
class ScanRead(Plain):
    """The reads of one scan of an executed plan. None if Spark does not count it: Iceberg counts files and bytes before
    a rule drops any; `splits` are then the pieces of files that were read. `joins`: which keys of joins skipped how
    many of its files once it ran, or why none."""

    scan: str
    files: int | None
    size_bytes: int | None
    rows: int | None
    splits: int | None = None
    joins: str = ""

    def __str__(self) -> str:
        said = [
            f"{self.files:,} files" if self.files is not None else "",
            f"{self.splits:,} splits" if self.splits is not None else "",
            human_bytes(self.size_bytes) if self.size_bytes is not None else "",
            f"{self.rows:,} rows" if self.rows is not None else "",
            self.joins,
        ]
        return f"{self.scan}: {', '.join(part for part in said if part) or 'not counted'}"


def run(session: SparkSession, execution: Any) -> tuple[tuple[ScanRead, ...], int, tuple[str, ...]]:
    """Runs a query execution of Spark's, throws its rows away, and tells what its scans read, the bytes that its tasks
    read in all: of the needed columns, row groups and footers alone, and none that came out of a cache, and the scans
    that an adaptive plan dropped as it ran. Raises what Spark raises."""
    planned = _scans(execution.executedPlan())
    with SparkDriver(session).tagged() as tag, counted_bytes(session):
        execution.toRdd().count()
        read = sum(int(stage.inputBytes()) for stage in stages(session, tag))
    ran = execution.executedPlan()
    return reads(ran), read, tuple(sorted((planned - _scans(ran)).elements()))


def reads(plan: Any) -> tuple[ScanRead, ...]:
    """Return what the scans of an executed plan have read."""
    return tuple(scan_read for leaf in leaves(plan) if (scan_read := _read(leaf)) is not None)


def counted_bytes(session: SparkSession) -> AbstractContextManager[None]:
    """Parquet is read in the tasks' own threads: what others read for them (vectored reads, the default) is in no
    metric of Spark's."""
    return SparkDriver(session).setting(_VECTORED, "false")


def stages(session: SparkSession, tag: str) -> Iterator[Any]:
    """Yield what Spark noted of each stage (`StageData`) of the jobs with the tag."""
    from py4j.protocol import Py4JJavaError

    sc: Any = session.sparkContext._jsc.sc()
    sc.listenerBus().waitUntilEmpty()  # notes of the last tasks are on their way
    store = sc.statusStore()
    for stage in SparkDriver(session).stage_ids(tag):
        try:
            with SparkDriver.interrupts_first():
                yield store.lastStageAttempt(stage)
        except Py4JJavaError:
            continue  # a stage that was skipped, its rows are there from an earlier job, has no attempt


def _scans(plan: Any) -> Counter[str]:
    """Count the scans of each kind that a plan has outside of its subqueries; a reused one counts wherever it is."""
    return Counter(_first_words(leaf) for leaf in leaves(plan, once=False) if _is_scan(leaf))


def leaves(plan: Any, *, once: bool = True) -> Iterator[Any]:
    """Yield the scans of an executed plan, those of its subqueries too. Adaptive plans and their stages look like
    leaves; what was reused has been counted where it was made. `once=False`: it counts again, and subqueries do not."""
    name = str(plan.getClass().getSimpleName())
    if name == "AdaptiveSparkPlanExec":
        yield from leaves(plan.executedPlan(), once=once)
        return
    if name.startswith("Reused"):
        if not once:
            yield from leaves(plan.child(), once=once)
        return
    if name.endswith("QueryStageExec"):
        yield from leaves(plan.plan(), once=once)
        return
    children = _each(plan.children())
    if not children:
        yield plan
    for child in (*children, *(_each(plan.subqueries()) if once else ())):
        yield from leaves(child, once=once)


def _each(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


def _is_scan(leaf: Any) -> bool:
    metrics = leaf.metrics()
    return bool(metrics.contains("numFiles") or metrics.contains("numSplits"))


def _read(leaf: Any) -> ScanRead | None:
    metrics = leaf.metrics()

    def of(name: str) -> int | None:
        return int(metrics.apply(name).value()) if metrics.contains(name) else None

    files, splits = of("numFiles"), of("numSplits")
    if files is None and splits is None:
        return None
    pieces = splits if files is None else None
    return ScanRead(_first_words(leaf), files, of("filesSize"), of("numOutputRows"), pieces, _by_joins(leaf))


def _by_joins(leaf: Any) -> str:
    """Describe what the rule's own list of files, or scan of Iceberg, skipped in a scan that ran; "" for any other."""
    name = str(leaf.getClass().getSimpleName())
    if name not in ("FileSourceScanExec", "CheckedScan", "BatchScanExec"):
        return ""
    held = leaf.scan() if name == "BatchScanExec" else leaf.relation().location()
    return (
        str(held.said())
        if str(held.getClass().getName()).startswith(("metaindex.RuntimeFilter", "metaindex.Filtered"))
        else ""
    )


def _first_words(leaf: Any) -> str:
    text = str(leaf.simpleString(8))
    return text.split("[", 1)[0].strip() if "[" in text else text
