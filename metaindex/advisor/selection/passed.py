"""Remarks on each table: what is left to read, what was passed over and why, and what helps instead."""

from __future__ import annotations

from metaindex.advisor.clustering.advised import Advice
from metaindex.advisor.clustering.sample import Sampled
from metaindex.core import percent
from metaindex.query import human_bytes

from .asked import LEAST, TableAsked, adds_of
from .choosing import Budget, Some
from .evaluation import TableEvaluation, less
from .layouts import columns_left
from .pieces import PassedOver, TableAdvice
from .unused import unused_of


def advice_of(table: TableAsked, case: TableEvaluation, some: Some, left: Budget) -> TableAdvice:
    """`left`: of the budget."""
    weighing = case.weighing
    snapshot = weighing.snapshot
    numbers = range(len(case.queries))
    spared = [case.spared(number, some).size_bytes for number in numbers]
    nows = [case.now(number).reads.size_bytes for number in numbers]
    then = [less(now, saved) for now, saved in zip(nows, spared, strict=True)]
    layouts: tuple[Advice, ...] = ()
    notes = [*weighing.notes(case.built), *case.notes, *_why_nothing(case, some)]
    if columns := columns_left(case):
        layouts, read = table.layout(columns)
        notes += [read.said] if read.said else []
    trees = zip(table.asked.queries, weighing.trees, strict=True)
    return TableAdvice(
        table=table.asked.path,
        format=snapshot.format,
        version=str(snapshot.version),
        files=len(snapshot.files),
        size_bytes=snapshot.files.size_bytes,
        queries=sum(query.seen for query in table.asked.queries),
        reads_bytes=case.reads_bytes,
        then_bytes=case.total(then),
        saved=case.share(spared),
        refused=tuple((query.text, tree) for query, tree in trees if isinstance(tree, str)),
        passed=tuple(_passed(case, some, left)),
        unused=unused_of(case, table.sizes, table.helped),
        layouts=layouts,
        sampled=weighing.sampled if case.candidates else Sampled(),
        rate=weighing.rate,
        notes=tuple(notes),
    )


def _why_nothing(case: TableEvaluation, some: Some) -> list[str]:
    """Return why there is nothing to choose from."""
    if some or case.candidates:
        return []
    if not len(case.weighing.snapshot.files):
        return ["nothing is recommended: the table has no files"]
    if not case.weighing.asked.queries:
        return ["nothing is recommended: the workload asks nothing of it"]
    if not case.queries:
        return ["nothing is recommended: no query of the workload reads any file of it now"]
    return ["nothing is recommended: its queries have no condition that an index could answer"]


def _passed(case: TableEvaluation, some: Some, left: Budget) -> list[PassedOver]:
    return [
        PassedOver(candidate.name, _why_not(case, number, some, left))
        for number, candidate in enumerate(case.candidates)
        if number not in some
    ]


def _why_not(case: TableEvaluation, number: int, some: Some, left: Budget) -> str:
    cost = case.built[number].cost
    if cost.problem:
        return f"it cannot be built: {cost.problem}"
    if cost.size_bytes is None:
        return "not tried: no file was read"
    if not any(number in touching for touching in case.touched):
        return "no query of the workload can use it"
    alone = frozenset([number])
    adds = adds_of(case, alone, some).size_bytes.expected
    if adds >= LEAST * case.unindexed_bytes:
        if cost.size_bytes.expected > left.size_bytes or (cost.build_cpu_seconds or 0.0) > left.cpu_seconds:
            return f"no budget is left for it: {human_bytes(round(cost.size_bytes.expected))}"
        return f"its upkeep takes more than the {human_bytes(round(adds))} that it leaves out"
    beside = "beside those" if some else "of the workload's reads"
    share = percent(adds / case.read_bytes) if case.read_bytes else "nothing"
    return f"it leaves out {human_bytes(round(adds))} {beside} ({share})"
