"""What the scans of a query have read when it was run, by Spark's own metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from metaindex.pruning.result import human_bytes


@dataclass(frozen=True, slots=True)
class ScanRead:
    """One scan of an executed plan. None where Spark does not count it: Iceberg counts files and bytes before a rule leaves any out; `splits` are then the pieces of files that were read."""

    scan: str
    files: int | None
    size_bytes: int | None
    rows: int | None
    splits: int | None = None

    def __str__(self) -> str:
        said = [
            f"{self.files:,} files" if self.files is not None else "",
            f"{self.splits:,} splits" if self.splits is not None else "",
            human_bytes(self.size_bytes) if self.size_bytes is not None else "",
            f"{self.rows:,} rows" if self.rows is not None else "",
        ]
        return f"{self.scan}: {', '.join(one for one in said if one) or 'not counted'}"


def run(execution: Any) -> tuple[ScanRead, ...]:
    """Runs a query execution of Spark's, throws its rows away, and tells what its scans read. Raises what Spark raises."""
    execution.toRdd().count()
    return tuple(found for leaf in _leaves(execution.executedPlan()) if (found := _read(leaf)) is not None)


def _leaves(plan: Any) -> Iterator[Any]:
    """Adaptive plans and their stages look like leaves; what was reused has been counted where it was made."""
    name = str(plan.getClass().getSimpleName())
    if name == "AdaptiveSparkPlanExec":
        yield from _leaves(plan.executedPlan())
        return
    if name.startswith("Reused"):
        return
    if name.endswith("QueryStageExec"):
        yield from _leaves(plan.plan())
        return
    below = [*_each(plan.children()), *_each(plan.subqueries())]
    if not below:
        yield plan
    for one in below:
        yield from _leaves(one)


def _each(found: Any) -> list[Any]:
    return [found.apply(i) for i in range(found.size())]


def _read(leaf: Any) -> ScanRead | None:
    metrics = leaf.metrics()

    def of(name: str) -> int | None:
        return int(metrics.apply(name).value()) if metrics.contains(name) else None

    files, splits = of("numFiles"), of("numSplits")
    if files is None and splits is None:
        return None
    return ScanRead(_first_words(leaf), files, of("filesSize"), of("numOutputRows"), splits if files is None else None)


def _first_words(leaf: Any) -> str:
    text = str(leaf.simpleString(8))
    return text.split("[", 1)[0].strip() if "[" in text else text
