"""Recommends indexes for a workload and its tables: candidates of all tables compete for one budget."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence

from metaindex.advisor.hypothetical.answer import Cost
from metaindex.advisor.hypothetical.candidates import Candidate
from metaindex.advisor.hypothetical.weigh import Weighing
from metaindex.index import Kind

from .asked import LEAST, Picked, TableAsked
from .choosing import Budget, Choosable, Choosing, Some, Step, chosen
from .describing import described
from .evaluation import TableEvaluation
from .passed import advice_of
from .pieces import RecommendedIndex, TableAdvice
from .texts import title_of

Progress = Callable[[str, int, int], None]


def recommended(
    tables: Sequence[TableAsked], budget: Budget, days: float | None, progress: Progress | None
) -> tuple[tuple[RecommendedIndex, ...], tuple[TableAdvice, ...]]:
    """The indexes in their order, and what there is to say of each table. Raises what reading a table's list of files
    raises."""
    with tempfile.TemporaryDirectory(prefix="_metaindex-") as folder:
        cases = [_case(table, folder, progress) for table in tables]
        picked = _picked(cases, _steps(cases, budget, days))
        costs = [_costs(cases[index.case], index, folder) for index in picked]
        indexes = described(tables, cases, picked, costs, days)
        chosen_of = [
            frozenset(n for index in picked if index.case == at for n in index.some) for at in range(len(cases))
        ]
        left = _left(cases, chosen_of, budget)
        advice = [
            advice_of(table, case, some, left) for table, case, some in zip(tables, cases, chosen_of, strict=True)
        ]
    return indexes, tuple(advice)


def _case(table: TableAsked, folder: str, progress: Progress | None) -> TableEvaluation:
    def told(done: int, total: int) -> None:
        if progress is not None:
            progress(f"weighing indexes of {table.asked.path}", done, total)

    weighing = Weighing.of(table.asked, table.hand)
    return TableEvaluation.of(weighing, table.asked.candidates, folder, told, copies=table.copies)


def _steps(cases: Sequence[TableEvaluation], budget: Budget, days: float | None) -> list[tuple[int, Step]]:
    """Choose steps, each with its table. Candidates and questions are numbered through all tables."""
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


def _choosable(case: TableEvaluation, number: int, days: float | None) -> Choosable:
    cost = case.built[number].cost
    size = float("inf") if cost.size_bytes is None else cost.size_bytes.expected
    upkeep = cost.upkeep.size_bytes * days if cost.upkeep is not None and days is not None else 0.0
    return Choosable(size, cost.build_cpu_seconds or 0.0, upkeep, LEAST * case.unindexed_bytes)


def _picked(cases: Sequence[TableEvaluation], steps: Sequence[tuple[int, Step]]) -> list[Picked]:
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


def _united(kinds: Sequence[Kind], more: Sequence[Kind]) -> tuple[Kind, ...] | None:
    if len(kinds) != 1 or len(more) != 1:
        return None
    together = kinds[0].united(more[0])
    return None if together is None else (together,)


def _costs(case: TableEvaluation, picked: Picked, folder: str) -> list[Cost]:
    """Return the costs of the index. Candidates that became one, or have fewer columns now, are built once more, as
    shared parts count once."""
    if len(picked.some) > 1 or picked.some & case.narrowed:
        candidate = Candidate(title_of(picked.kinds), picked.kinds)
        together = case.weighing.built(candidate, folder, footers=False).cost
        if not together.problem:
            return [together]
    return [case.built[number].cost for number in sorted(picked.some)]


def _left(cases: Sequence[TableEvaluation], chosen_of: Sequence[Some], budget: Budget) -> Budget:
    """Return what the chosen ones leave of the budget."""
    costs = [case.built[number].cost for case, some in zip(cases, chosen_of, strict=True) for number in some]
    size = sum(cost.size_bytes.expected for cost in costs if cost.size_bytes is not None)
    return Budget(budget.size_bytes - size, budget.cpu_seconds - sum(cost.build_cpu_seconds or 0.0 for cost in costs))
