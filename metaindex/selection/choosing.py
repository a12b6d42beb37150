"""The choice: which of several candidates, within budgets, spare a workload the most bytes?

It is the knapsack of index selection, and what a candidate is worth depends on those chosen before it. Chosen is one
after another, each time what spares most per byte of its size (Extend: Schlosser, Kossmann, Boissier, ICDE 2019), with
what the others add asked anew after each step; and once more by what spares most at all. The better of both is then
changed by one candidate at a time as long as that helps, where a budget kept something out; what adds nothing beside
the others goes. A question is asked with the candidates that touch it, and with each set of them once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Final

from metaindex.expressions.records import dataclass

Some = frozenset[int]
"""Of the candidates, by their numbers."""

NONE: Final = frozenset[int]()
_MOST_ASKED: Final = 3_000
"""Sets of candidates that are asked of questions to better a choice, beside those of the choice itself."""
_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True)
class Budget:
    """What all chosen indexes may have together: bytes, and processor seconds to build them."""

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
        """Is the budget enough for them?"""
        size = sum(self.candidates[number].size_bytes for number in some)
        seconds = sum(self.candidates[number].cpu_seconds for number in some)
        return size <= self.budget.size_bytes and seconds <= self.budget.cpu_seconds


@dataclass(frozen=True, slots=True)
class Step:
    """What was taken beside those before, and the bytes that it spares, less those of its upkeep."""

    taken: Some
    gain: float


def chosen(choosing: Choosing) -> list[Step]:
    """In the order in which they are best built: what spares most per byte first."""
    ledger = _Ledger(choosing)
    every = list(dict.fromkeys(choosing.options))
    tries = [_greedy(ledger, every, NONE, by_size=by_size) for by_size in (True, False)]
    best = max(tries, key=lambda some: (ledger.total(some), -ledger.size(some)))
    if any(not choosing.fits(best | option) for option in every):
        best = _bettered(ledger, every, best)
    best = _without_idle(ledger, best)
    return _in_order(ledger, [option for option in every if option <= best], best)


class _Ledger:
    """What each question is spared by each set of candidates, asked once."""

    def __init__(self, choosing: Choosing) -> None:
        self.choosing = choosing
        self._known: dict[tuple[int, Some], float] = {}
        self._questions: dict[int, list[int]] = {number: [] for number in range(len(choosing.candidates))}
        for question, some in enumerate(choosing.touched):
            for number in some:
                self._questions[number].append(question)

    @property
    def asked(self) -> int:
        return len(self._known)

    def of(self, question: int, some: Some) -> float:
        touching = some & self.choosing.touched[question]
        if not touching:
            return 0.0
        key = question, touching
        if key not in self._known:
            self._known[key] = self.choosing.spared(question, touching)
        return self._known[key]

    def touches(self, some: Some) -> list[int]:
        """The questions that they may change."""
        return sorted({question for number in some for question in self._questions[number]})

    def total(self, some: Some) -> float:
        return sum(self.of(question, some) for question in self.touches(some)) - self.upkeep(some)

    def gain(self, more: Some, beside: Some) -> float:
        """What they add."""
        with_more = beside | more
        added = sum(self.of(question, with_more) - self.of(question, beside) for question in self.touches(more))
        return added - self.upkeep(more - beside)

    def most(self, more: Some, beside: Some) -> float:
        """What they can add at most: no set of candidates spares a question more than all that touch it."""
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


def _greedy(ledger: _Ledger, options: Sequence[Some], start: Some, *, by_size: bool) -> Some:
    """From `start` on, the best next one as long as one adds enough and fits."""
    taken = start
    while (step := _next(ledger, options, taken, by_size=by_size)) is not None:
        taken |= step.taken
    return taken


def _next(ledger: _Ledger, options: Sequence[Some], taken: Some, *, by_size: bool) -> Step | None:
    """Those that can be worth most are asked first, so that most need not be."""
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
    """Each time one candidate is forced in or kept out, and the rest chosen anew."""
    most = ledger.asked + _MOST_ASKED
    for _ in range(_ROUNDS):
        changed = max(_changed(ledger, options, best, most), key=ledger.total, default=best)
        if ledger.total(changed) <= ledger.total(best) * (1 + 1e-9):
            break
        best = changed
    return best


def _changed(ledger: _Ledger, options: Sequence[Some], best: Some, most: int) -> Iterable[Some]:
    for option in options:
        if ledger.asked > most:
            return
        if option <= best:
            others = [other for other in options if not other & option]
            yield from (_greedy(ledger, others, best - option, by_size=by_size) for by_size in (True, False))
        elif (room := _made_room(ledger, option, best)) is not None:
            yield from (_greedy(ledger, options, room, by_size=by_size) for by_size in (True, False))


def _made_room(ledger: _Ledger, option: Some, best: Some) -> Some | None:
    """With the option, and without those that spare least per byte beside it, as many as must go."""
    taken = best | option
    while not ledger.choosing.fits(taken):
        others = sorted(taken - option)
        if not others:
            return None

        def lost(number: int, taken: Some = taken) -> float:
            alone = frozenset([number])
            return ledger.worth(ledger.gain(alone, taken - alone), alone, by_size=True)

        taken -= {min(others, key=lost)}
    return taken


def _without_idle(ledger: _Ledger, best: Some) -> Some:
    """Without those that add too little beside the others, the largest first."""
    for number in sorted(best, key=lambda number: (-ledger.choosing.candidates[number].size_bytes, number)):
        alone = frozenset([number])
        gain = ledger.gain(alone, best - alone)
        if gain <= 0 or gain < ledger.least(alone):
            best -= alone
    return best


def _in_order(ledger: _Ledger, options: Sequence[Some], best: Some) -> list[Step]:
    steps: list[Step] = []
    taken = NONE
    while (step := _next(ledger, options, taken, by_size=True)) is not None:
        steps.append(step)
        taken |= step.taken
    if taken != best:  # of no use but together
        steps.append(Step(best - taken, ledger.gain(best - taken, taken)))
    return steps
