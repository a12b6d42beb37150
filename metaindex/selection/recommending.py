"""From a workload and its tables to a recommendation: candidates of all tables compete for one budget."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from metaindex.advice.advised import Advice
from metaindex.advice.sample import Sampled
from metaindex.expressions.records import dataclass
from metaindex.kinds.kind import Kind
from metaindex.pruning.result import human_bytes
from metaindex.views.words import percent
from metaindex.whatif.answer import Cost, Upkeep
from metaindex.whatif.candidates import Candidate
from metaindex.whatif.posterior import Estimate
from metaindex.whatif.weigh import Asked, AtHand, Weighing

from .answer import BreakEven, PassedOver, RecommendedIndex, TableAdvice
from .choosing import NONE, Budget, Choosable, Choosing, Some, Step, chosen
from .judging import QuerySpared, TableCase, added, less
from .layouts import columns_left
from .texts import name_of, title_of
from .unused import unused_of

LEAST: Final = 0.005
"""Of what a workload reads of a table, what an index has to leave out."""

_Z: Final = 1.645
"""A normal number is within so many standard deviations with 90%."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class TableAsked:
    """A table and what the workload asks of it. `sql_name`: as SQL names it; `taken`: names of indexes that are used;
    `sizes`: bytes of the indexes that there are; `helped`: how many queries of the table's query log each of them
    helped, None without a log; `layout`: advice for queries on some columns, and what was read for it; `copies`: may
    indexes keep rows of the table?"""

    asked: Asked
    hand: AtHand
    sql_name: str
    taken: frozenset[str]
    sizes: Mapping[str, int]
    helped: Mapping[str, int] | None
    layout: Callable[[Sequence[str]], tuple[tuple[Advice, ...], Sampled]]
    copies: bool = True


@dataclass(frozen=True, slots=True)
class Picked:
    """One index of those chosen: numbers of candidates of its table, and what they are together."""

    case: int
    some: Some
    kinds: tuple[Kind, ...]


def recommended(
    tables: Sequence[TableAsked], budget: Budget, days: float | None, progress: Progress | None
) -> tuple[tuple[RecommendedIndex, ...], tuple[TableAdvice, ...]]:
    """The indexes in their order, and what there is to say of each table. Raises what reading a table's list of files
    raises."""
    with tempfile.TemporaryDirectory(prefix="metaindex-") as folder:
        cases = [_case(table, folder, progress) for table in tables]
        picked = _picked(cases, _steps(cases, budget, days))
        costs = [_costs(cases[index.case], index, folder) for index in picked]
        indexes = _indexes(tables, cases, picked, costs, days)
        chosen_of = [
            frozenset(n for index in picked if index.case == at for n in index.some) for at in range(len(cases))
        ]
        left = _left(cases, chosen_of, budget)
        advice = [_advice(table, case, some, left) for table, case, some in zip(tables, cases, chosen_of, strict=True)]
    return indexes, tuple(advice)


def _case(table: TableAsked, folder: str, progress: Progress | None) -> TableCase:
    def told(done: int, total: int) -> None:
        if progress is not None:
            progress(f"weighing indexes of {table.asked.path}", done, total)

    weighing = Weighing.of(table.asked, table.hand)
    return TableCase.of(weighing, table.asked.candidates, folder, told, copies=table.copies)


def _steps(cases: Sequence[TableCase], budget: Budget, days: float | None) -> list[tuple[int, Step]]:
    """What is chosen, each with the table that it is of. Numbers of candidates and questions go on from table to
    table."""
    starts = _starts([len(case.candidates) for case in cases])
    places = [(at, number) for at, case in enumerate(cases) for number in range(len(case.queries))]

    def moved(some: Some, by: int) -> Some:
        return frozenset(number + by for number in some)

    def spared(question: int, some: Some) -> float:
        at, number = places[question]
        return cases[at].spared_bytes(number, moved(some, -starts[at]))

    choosing = Choosing(
        candidates=[_choosable(case, number, days) for case in cases for number in range(len(case.candidates))],
        touched=[moved(cases[at].touched[number], starts[at]) for at, number in places],
        spared=spared,
        options=[moved(some, starts[at]) for at, case in enumerate(cases) for some in case.options()],
        budget=budget,
    )
    steps = []
    for step in chosen(choosing):
        at = max(at for at, start in enumerate(starts) if start <= min(step.taken))
        steps.append((at, Step(moved(step.taken, -starts[at]), step.gain)))
    return steps


def _starts(counts: Sequence[int]) -> list[int]:
    return [sum(counts[:at]) for at in range(len(counts))]


def _choosable(case: TableCase, number: int, days: float | None) -> Choosable:
    cost = case.built[number].cost
    size = float("inf") if cost.size_bytes is None else cost.size_bytes.expected
    upkeep = cost.upkeep.size_bytes * days if cost.upkeep is not None and days is not None else 0.0
    return Choosable(size, cost.build_cpu_seconds or 0.0, upkeep, LEAST * case.read_bytes)


def _picked(cases: Sequence[TableCase], steps: Sequence[tuple[int, Step]]) -> list[Picked]:
    """Indexes: candidates of one kind become one, which reads each file once and is asked once."""
    picked: list[Picked] = []
    for at, step in steps:
        for number in sorted(step.taken):
            kinds = cases[at].candidates[number].kinds
            for place, other in enumerate(picked):
                if other.case == at and (together := _united(other.kinds, kinds)) is not None:
                    picked[place] = Picked(at, other.some | {number}, together)
                    break
            else:
                picked.append(Picked(at, frozenset([number]), kinds))
    return picked


def _all_of(picked: Sequence[Picked], case: int) -> Some:
    return frozenset(number for index in picked if index.case == case for number in index.some)


def _united(kinds: Sequence[Kind], more: Sequence[Kind]) -> tuple[Kind, ...] | None:
    if len(kinds) != 1 or len(more) != 1:
        return None
    together = kinds[0].united(more[0])
    return None if together is None else (together,)


def _costs(case: TableCase, picked: Picked, folder: str) -> list[Cost]:
    """Of the index. Candidates that became one are built once more, as one: what each of them has is in it once. So is
    one that was built with more columns."""
    if len(picked.some) > 1 or picked.some & case.narrowed:
        candidate = Candidate(title_of(picked.kinds), picked.kinds)
        together = case.weighing.built(candidate, folder, footers=False).cost
        if not together.problem:
            return [together]
    return [case.built[number].cost for number in sorted(picked.some)]


def _indexes(
    tables: Sequence[TableAsked],
    cases: Sequence[TableCase],
    picked: Sequence[Picked],
    costs: Sequence[Sequence[Cost]],
    days: float | None,
) -> tuple[RecommendedIndex, ...]:
    taken = [set(table.taken) for table in tables]
    before = [NONE for _ in tables]
    every = [_all_of(picked, at) for at in range(len(tables))]
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
    case: TableCase,
    picked: Picked,
    costs: Sequence[Cost],
    name: str,
    before: Some,
    every: Some,
    days: float | None,
) -> RecommendedIndex:
    adds = _adds(case, picked.some, before)
    sizes = added([cost.size_bytes for cost in costs if cost.size_bytes is not None])
    cpu = [cost.build_cpu_seconds for cost in costs if cost.build_cpu_seconds is not None]
    kept_up = [cost.upkeep for cost in costs if cost.upkeep is not None]
    upkeep = None
    if kept_up:
        upkeep = Upkeep(sum(cost.size_bytes for cost in kept_up), sum(cost.cpu_seconds for cost in kept_up))
    helped = [at for at in range(len(case.queries)) if case.spared(at, picked.some).size_bytes.expected > 0]
    build = case.needed_bytes(picked.kinds) + sizes.expected
    return RecommendedIndex(
        table=table.asked.path,
        name=name,
        kinds=picked.kinds,
        sql_name=table.sql_name,
        adds_bytes=adds.size_bytes,
        adds_files=adds.files,
        read_bytes=case.read_bytes,
        queries=sum(query.asked.seen for query in case.queries),
        helps=sum(case.queries[at].asked.seen for at in helped),
        left_out=_left_out(case, helped, every),
        size_bytes=sizes,
        build_cpu_seconds=sum(cpu) if cpu else None,
        upkeep=upkeep,
        break_even=_break_even(adds.size_bytes.expected, build, upkeep, days),
        notes=tuple(dict.fromkeys(note for cost in costs for note in cost.notes)),
    )


def _adds(case: TableCase, some: Some, before: Some) -> QuerySpared:
    """Over the workload, beside those before."""
    files, sizes, times = [], [], []
    for number, query in enumerate(case.queries):
        if some & case.touched[number]:
            was, then = case.spared(number, before), case.spared(number, before | some)
            files.append(less(then.files, was.files))
            sizes.append(less(then.size_bytes, was.size_bytes))
            times.append(query.asked.seen)
    return QuerySpared(added(sizes, times), added(files, times))


def _left_out(case: TableCase, helped: Sequence[int], every: Some) -> Estimate:
    """Of the table's bytes, the share that these queries do not read, on average over how often they are asked. Where
    queries stand for others with other literals, those may differ as much as they do."""
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
    return Estimate(max(low - apart, 0.0), min(expected, 1.0), min(high + apart, 1.0))


def _break_even(spared: float, build: float, upkeep: Upkeep | None, days: float | None) -> BreakEven:
    """`spared`, and `build`: bytes of a run of the workload, and of the build."""
    if days is None or not days:
        return BreakEven(build / spared if spared > 0 else None)
    a_day = spared / days - (upkeep.size_bytes if upkeep is not None else 0.0)
    return BreakEven(build / a_day / days, build / a_day) if a_day > 0 else BreakEven(None)


def _left(cases: Sequence[TableCase], chosen_of: Sequence[Some], budget: Budget) -> Budget:
    """Of the budget, what the chosen ones leave."""
    costs = [case.built[number].cost for case, some in zip(cases, chosen_of, strict=True) for number in some]
    size = sum(cost.size_bytes.expected for cost in costs if cost.size_bytes is not None)
    return Budget(budget.size_bytes - size, budget.cpu_seconds - sum(cost.build_cpu_seconds or 0.0 for cost in costs))


def _advice(table: TableAsked, case: TableCase, some: Some, left: Budget) -> TableAdvice:
    weighing = case.weighing
    snapshot = weighing.snapshot
    times = [float(query.asked.seen) for query in case.queries]
    spared = added([case.spared(number, some).size_bytes for number in range(len(times))], times)
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
        read_bytes=case.read_bytes,
        then_bytes=less(Estimate.exactly(case.read_bytes), spared),
        refused=tuple((query.text, tree) for query, tree in trees if isinstance(tree, str)),
        passed=tuple(_passed(case, some, left)),
        unused=unused_of(case, table.sizes, table.helped),
        layouts=layouts,
        sampled=weighing.sampled if case.candidates else Sampled(),
        rate=weighing.rate,
        notes=tuple(notes),
    )


def _why_nothing(case: TableCase, some: Some) -> list[str]:
    """Where there is nothing to choose from."""
    if some or case.candidates:
        return []
    if not len(case.weighing.snapshot.files):
        return ["nothing is recommended: the table has no files"]
    if not case.weighing.asked.queries:
        return ["nothing is recommended: the workload asks nothing of it"]
    if not case.queries:
        return ["nothing is recommended: no query of the workload reads any file of it now"]
    return ["nothing is recommended: its queries have no condition that an index could answer"]


def _passed(case: TableCase, some: Some, left: Budget) -> list[PassedOver]:
    return [
        PassedOver(candidate.name, _why_not(case, number, some, left))
        for number, candidate in enumerate(case.candidates)
        if number not in some
    ]


def _why_not(case: TableCase, number: int, some: Some, left: Budget) -> str:
    cost = case.built[number].cost
    if cost.problem:
        return f"it cannot be built: {cost.problem}"
    if cost.size_bytes is None:
        return "not tried: no file was read"
    if not any(number in touching for touching in case.touched):
        return "no query of the workload can use it"
    alone = frozenset([number])
    adds = _adds(case, alone, some).size_bytes.expected
    if adds >= LEAST * case.read_bytes:
        if cost.size_bytes.expected > left.size_bytes or (cost.build_cpu_seconds or 0.0) > left.cpu_seconds:
            return f"no budget is left for it: {human_bytes(round(cost.size_bytes.expected))}"
        return f"its upkeep takes more than the {human_bytes(round(adds))} that it leaves out"
    beside = "beside those" if some else "of the workload's reads"
    share = percent(adds / case.read_bytes) if case.read_bytes else "nothing"
    return f"it leaves out {human_bytes(round(adds))} {beside} ({share})"
