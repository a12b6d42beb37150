"""Descriptions of the picked indexes: what each adds, what it takes, and when it pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from metaindex.advisor.hypothetical.answer import Cost, Upkeep
from metaindex.advisor.hypothetical.posterior import Estimate

from .asked import Picked, TableAsked, adds_of, all_of, each_adds
from .choosing import NONE, Some
from .evaluation import TableEvaluation, added
from .pieces import BreakEven, RecommendedIndex
from .texts import name_of

_Z: Final = 1.645
"""A normal number is within so many standard deviations with 90%."""


def described(
    tables: Sequence[TableAsked],
    cases: Sequence[TableEvaluation],
    picked: Sequence[Picked],
    costs: Sequence[Sequence[Cost]],
    days: float | None,
) -> tuple[RecommendedIndex, ...]:
    """Describe the picked indexes in their order, each with what it adds beside those before it."""
    taken = [set(table.taken) for table in tables]
    before = [NONE for _ in tables]
    every = [all_of(picked, at) for at in range(len(tables))]
    indexes = []
    for index, of_index in zip(picked, costs, strict=True):
        name = name_of(index.kinds, taken[index.case])
        taken[index.case].add(name)
        table, case = tables[index.case], cases[index.case]
        indexes.append(_index(table, case, index, of_index, name, before[index.case], every[index.case], days))
        before[index.case] |= index.some
    return tuple(indexes)


def _index(
    table: TableAsked,
    case: TableEvaluation,
    picked: Picked,
    costs: Sequence[Cost],
    name: str,
    before: Some,
    every: Some,
    days: float | None,
) -> RecommendedIndex:
    adds = adds_of(case, picked.some, before)
    shares = case.share([of.size_bytes for of in each_adds(case, picked.some, before)])
    sizes = added([cost.size_bytes for cost in costs if cost.size_bytes is not None])
    cpu = [cost.build_cpu_seconds for cost in costs if cost.build_cpu_seconds is not None]
    kept_up = [cost.upkeep for cost in costs if cost.upkeep is not None]
    upkeep = None
    if kept_up:
        upkeep = Upkeep(sum(cost.size_bytes for cost in kept_up), sum(cost.cpu_seconds for cost in kept_up))
    helped = [at for at in range(len(case.queries)) if case.spared(at, picked.some).size_bytes.expected > 0]
    whole = [1.0] * len(case.queries)
    helps = case.total([Estimate.exactly(float(at in helped)) for at in range(len(case.queries))], whole)
    build = case.needed_bytes(picked.kinds) + sizes.expected
    return RecommendedIndex(
        table=table.asked.path,
        name=name,
        kinds=picked.kinds,
        sql_name=table.sql_name,
        adds_bytes=adds.size_bytes,
        adds_files=adds.files,
        saved=shares,
        reads_bytes=case.reads_bytes,
        queries=case.seen,
        helps_queries=helps,
        left_out=_left_out(case, helped, every),
        size_bytes=sizes,
        build_cpu_seconds=sum(cpu) if cpu else None,
        upkeep=upkeep,
        break_even=_break_even(adds.size_bytes, build, upkeep, days),
        notes=tuple(dict.fromkeys(note for cost in costs for note in cost.notes)),
        options=table.options,
    )


def _left_out(case: TableEvaluation, helped: Sequence[int], every: Some) -> Estimate:
    """Estimate the share of the table's bytes that these queries do not read, on average over how often they are asked.
    Queries that stand for others with other literals widen the bounds."""
    total = float(case.weighing.snapshot.files.size_bytes)
    times = np.array([case.queries[at].asked.seen for at in helped], np.float64)
    if not len(times) or not total:
        return Estimate.exactly(0.0)
    now = np.array([total - case.now(at).reads.size_bytes.expected for at in helped])
    spared = [case.spared(at, every).size_bytes for at in helped]
    each = [(now + np.array([getattr(size, end) for size in spared])) / total for end in ("low", "expected", "high")]
    low, expected, high = (float(np.average(shares, weights=times)) for shares in each)
    apart = 0.0
    if times.max() > 1:
        apart = _Z * float(np.sqrt(np.average((each[1] - expected) ** 2, weights=times)))
    share = Estimate(max(low - apart, 0.0), min(expected, 1.0), min(high + apart, 1.0))
    ones, parts = [0.0] * len(case.queries), [0.0] * len(case.queries)
    for at, part in zip(helped, each[1].tolist(), strict=True):
        ones[at], parts[at] = 1.0, part
    return case.share_by(share, parts, ones)


def _break_even(spared: Estimate, build: float, upkeep: Upkeep | None, days: float | None) -> BreakEven:
    """`spared`, and `build`: bytes of a run of the workload, and of the build."""
    soonest, expected, latest = (_runs(end, build, upkeep, days) for end in (spared.high, spared.expected, spared.low))
    of_days = None if expected is None or not days else expected * days
    return BreakEven(expected, of_days, soonest, latest, soonest != latest)


def _runs(spared: float, build: float, upkeep: Upkeep | None, days: float | None) -> float | None:
    if days is None or not days:
        return build / spared if spared > 0 else None
    a_day = spared / days - (upkeep.size_bytes if upkeep is not None else 0.0)
    return build / a_day / days if a_day > 0 else None
