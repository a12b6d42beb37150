"""The choice of the candidates that, within budgets, spare a workload the most bytes.

It is the knapsack of index selection, and what a candidate is worth depends on those chosen before it. Candidates are
chosen one after another, each time the one that spares most per byte of its size (Extend: Schlosser, Kossmann,
Boissier, ICDE 2019), with what the others add evaluated anew after each step. Other sets may be better where a budget
excludes a candidate: a limited number of them is evaluated. What adds nothing beside the others is removed. A question
is evaluated with the candidates that touch it alone, and with each set of them once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Final

from metaindex.core import dataclass

Some = frozenset[int]
"""Of the candidates, by their numbers."""

NONE: Final = frozenset[int]()
_MOST_ASKED: Final = 200
"""Evaluations to improve a choice, beside those of the choice itself."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of all chosen indexes together: bytes, and processor seconds to build them."""

    size_bytes: float = float("inf")
    cpu_seconds: float = float("inf")


@dataclass(frozen=True, slots=True)
class Choosable:
    """A candidate by its cost. `upkeep_bytes`: written for it over the time of the workload; `least`: what it has to
    spare, in bytes, to be worth its while."""

    size_bytes: float
    cpu_seconds: float
    upkeep_bytes: float = 0.0
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class Choosing:
    """`touched`: of each question the candidates that may change it; `spared`: the bytes that a question is spared with
    some of these, as often as it is asked; `options`: candidates that are taken together, as each alone may be worth
    nothing."""

    candidates: Sequence[Choosable]
    touched: Sequence[Some]
    spared: Callable[[int, Some], float]
    options: Sequence[Some]
    budget: Budget = field(default_factory=Budget)

    def fits(self, some: Some) -> bool:
        """Return whether the budget is enough for them."""
        size = sum(self.candidates[number].size_bytes for number in some)
        seconds = sum(self.candidates[number].cpu_seconds for number in some)
        return size <= self.budget.size_bytes and seconds <= self.budget.cpu_seconds


@dataclass(frozen=True, slots=True)
class Step:
    """One choice: what was taken beside those before, and the bytes that it spares, less those of its upkeep."""

    taken: Some
    gain: float


def chosen(choosing: Choosing) -> list[Step]:
    """Choose within the budget; returned in the order in which they are best built: what spares most per byte first."""
    ledger = _Ledger(choosing)
    every = list(dict.fromkeys(choosing.options))
    best = _greedy(ledger, every, NONE)
    if any(not choosing.fits(best | option) for option in every):
        best = _bettered(ledger, every, best)
    best = _without_idle(ledger, best)
    return _in_order(ledger, [option for option in every if option <= best], best)


class _Ledger:
    """Evaluations of what each set of candidates spares each question, cached."""

    def __init__(self, choosing: Choosing) -> None:
        self.choosing = choosing
        self._known: list[dict[Some, float]] = [{} for _ in choosing.touched]
        self.asked = 0
        self._questions: dict[int, list[int]] = {number: [] for number in range(len(choosing.candidates))}
        for question, some in enumerate(choosing.touched):
            for number in some:
                self._questions[number].append(question)

    def of(self, question: int, some: Some) -> float:
        touching = some & self.choosing.touched[question]
        if not touching:
            return 0.0
        known = self._known[question]
        if touching not in known:
            known[touching] = self.choosing.spared(question, touching)
            self.asked += 1
        return known[touching]

    def touches(self, some: Some) -> list[int]:
        """The questions that they may change."""
        return sorted({question for number in some for question in self._questions[number]})

    def total(self, some: Some) -> float:
        return self.gain(some, NONE)

    def gain(self, more: Some, beside: Some) -> float:
        """Return what they add."""
        both = beside | more
        added = sum(self.of(question, both) - self.of(question, beside) for question in self.touches(more))
        return added - self.upkeep(more - beside)

    def most(self, more: Some, beside: Some) -> float:
        """Return an upper bound of what they add: no set spares a question more than all candidates that touch it."""
        touched = self.choosing.touched
        left = (self.of(question, touched[question]) - self.of(question, beside) for question in self.touches(more))
        return sum(max(bytes_left, 0.0) for bytes_left in left) - self.upkeep(more - beside)

    def size(self, some: Some) -> float:
        return sum(self.choosing.candidates[number].size_bytes for number in sorted(some))

    def upkeep(self, some: Some) -> float:
        return sum(self.choosing.candidates[number].upkeep_bytes for number in sorted(some))

    def least(self, some: Some) -> float:
        return max((self.choosing.candidates[number].least for number in some), default=0.0)

    def worth(self, gain: float, more: Some, *, by_size: bool) -> float:
        return gain / max(self.size(more), 1.0) if by_size else gain


def _greedy(ledger: _Ledger, options: Sequence[Some], start: Some, *, by_size: bool = True) -> Some:
    """Add the best next option to `start`, as long as one adds enough and fits."""
    taken = start
    while (step := _next(ledger, options, taken, by_size=by_size)) is not None:
        taken |= step.taken
    return taken


def _next(ledger: _Ledger, options: Sequence[Some], taken: Some, *, by_size: bool = True) -> Step | None:
    """Return the best next step; options of the highest bound are evaluated first, so that most need not be."""
    open_ = [option - taken for option in options if not option <= taken and ledger.choosing.fits(taken | option)]
    hoped = [(ledger.worth(ledger.most(more, taken), more, by_size=by_size), more) for more in open_]
    best: Step | None = None
    best_worth = 0.0
    for hope, more in sorted(hoped, key=lambda pair: (-pair[0], sorted(pair[1]))):
        if hope <= best_worth:
            break
        gain = ledger.gain(more, taken)
        worth = ledger.worth(gain, more, by_size=by_size)
        if gain > 0 and gain >= ledger.least(more) and worth > best_worth:
            best, best_worth = Step(more, gain), worth
    return best


def _bettered(ledger: _Ledger, options: Sequence[Some], best: Some) -> Some:
    """Improve a choice: force one candidate in or out and choose the rest anew, within a limit of evaluations."""
    most = ledger.asked + _MOST_ASKED
    while ledger.asked < most:
        better = best
        for change in _changed(ledger, options, best):
            better = max(better, change, key=ledger.total)
            if ledger.asked >= most:
                break
        if ledger.total(better) <= ledger.total(best) * (1 + 1e-9):
            break
        best = better
    return best


def _changed(ledger: _Ledger, options: Sequence[Some], best: Some) -> Iterator[Some]:
    for by_size in (True, False):
        yield _greedy(ledger, options, NONE, by_size=by_size)
        for option in options:
            if option <= best:
                others = [other for other in options if not other & option]
                yield _greedy(ledger, others, best - option, by_size=by_size)
            elif (room := _made_room(ledger, option, best)) is not None:
                yield _greedy(ledger, options, room, by_size=by_size)


def _made_room(ledger: _Ledger, option: Some, best: Some) -> Some | None:
    """Add the option and remove those that spare least per byte beside it, as many as must go."""
    taken = best | option
    while not ledger.choosing.fits(taken):
        others = [frozenset([number]) for number in sorted(taken - option)]
        if not others:
            return None
        lost = [ledger.worth(ledger.gain(alone, taken - alone), alone, by_size=True) for alone in others]
        taken -= others[lost.index(min(lost))]
    return taken


def _without_idle(ledger: _Ledger, best: Some) -> Some:
    """Remove those that add too little beside the others, the largest first."""
    for number in sorted(best, key=lambda number: (-ledger.choosing.candidates[number].size_bytes, number)):
        alone = frozenset([number])
        gain = ledger.gain(alone, best - alone)
        if gain <= 0 or gain < ledger.least(alone):
            best -= alone
    return best


def _in_order(ledger: _Ledger, options: Sequence[Some], best: Some) -> list[Step]:
    steps: list[Step] = []
    taken = NONE
    while (step := _next(ledger, options, taken)) is not None:
        steps.append(step)
        taken |= step.taken
    if taken != best:  # of no use but together
        steps.append(Step(best - taken, ledger.gain(best - taken, taken)))
    return steps
