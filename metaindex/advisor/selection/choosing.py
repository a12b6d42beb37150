"""The choice of the candidates that, within budgets, spare a workload the most bytes.

It is the knapsack of index selection, and what a candidate is worth depends on those chosen before it. Chosen is one
after another, each time what spares most per byte of its size (Extend: Schlosser, Kossmann, Boissier, ICDE 2019), with
what the others add asked anew after each step. Other sets may be better where a budget keeps something out: these are
looked for by a guess, from what is known of fewer candidates, and those that promise most are asked. What adds nothing
beside the others goes. A question is asked with the candidates that touch it alone, and with each set of them once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Final

from metaindex.core import dataclass

Some = frozenset[int]
"""Of the candidates, by their numbers."""

NONE: Final = frozenset[int]()
_ROUNDS: Final = 12
_MOST_ASKED: Final = 100
"""That are asked to better a choice, beside those of the choice itself and of guesses."""
_PROMISING: Final = 4
"""Sets that are asked in a round, of those by which a choice may be bettered."""


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

    def guess(self, question: int, some: Some) -> float:
        """Return the known gain; else assume that each candidate leaves out its share of what the others leave, from
        the best known set on."""
        touching = some & self.choosing.touched[question]
        known = self._known[question]
        if not touching or touching in known:
            return known[touching] if touching else 0.0
        most = self.of(question, self.choosing.touched[question])
        inside = [(spared, len(other), other) for other, spared in known.items() if other <= touching]
        spared, _, start = max(inside, key=lambda known_one: known_one[:2], default=(0.0, 0, NONE))
        left = max(most - spared, 0.0)
        for number in sorted(touching - start) if most else ():
            left *= 1.0 - min(max(known.get(frozenset([number]), 0.0) / most, 0.0), 1.0)
        return most - left

    def touches(self, some: Some) -> list[int]:
        """The questions that they may change."""
        return sorted({question for number in some for question in self._questions[number]})

    def total(self, some: Some, *, guessed: bool = False) -> float:
        of = self.guess if guessed else self.of
        return sum(of(question, some) for question in self.touches(some)) - self.upkeep(some)

    def gain(self, more: Some, beside: Some, *, guessed: bool = False) -> float:
        """Return what they add."""
        of = self.guess if guessed else self.of
        both = beside | more
        added = sum(of(question, both) - of(question, beside) for question in self.touches(more))
        return added - self.upkeep(more - beside)

    def most(self, more: Some, beside: Some) -> float:
        """Return an upper bound of what they add: no set spares a question more than all candidates that touch it."""
        touched = self.choosing.touched
        left = (self.of(question, touched[question]) - self.guess(question, beside) for question in self.touches(more))
        return sum(max(bytes_left, 0.0) for bytes_left in left) - self.upkeep(more - beside)

    def size(self, some: Some) -> float:
        return sum(self.choosing.candidates[number].size_bytes for number in sorted(some))

    def upkeep(self, some: Some) -> float:
        return sum(self.choosing.candidates[number].upkeep_bytes for number in sorted(some))

    def least(self, some: Some) -> float:
        return max((self.choosing.candidates[number].least for number in some), default=0.0)


@dataclass(frozen=True, slots=True)
class _Way:
    """The way to choose the next one: per byte of its size, or not; by evaluating, or by a guess."""

    by_size: bool = True
    guessed: bool = False

    def worth(self, ledger: _Ledger, gain: float, more: Some) -> float:
        return gain / max(ledger.size(more), 1.0) if self.by_size else gain


_ASKED: Final = (_Way(), _Way(by_size=False))
_GUESSED: Final = (_Way(guessed=True), _Way(by_size=False, guessed=True))


def _greedy(ledger: _Ledger, options: Sequence[Some], start: Some, way: _Way = _ASKED[0]) -> Some:
    """Add the best next option to `start`, as long as one adds enough and fits."""
    taken = start
    while (step := _next(ledger, options, taken, way)) is not None:
        taken |= step.taken
    return taken


def _next(ledger: _Ledger, options: Sequence[Some], taken: Some, way: _Way = _ASKED[0]) -> Step | None:
    """Return the best next step; options of the highest bound are evaluated first, so that most need not be."""
    open_ = [option - taken for option in options if not option <= taken and ledger.choosing.fits(taken | option)]
    hoped = [(way.worth(ledger, ledger.most(more, taken), more), more) for more in open_]
    best: Step | None = None
    best_worth = 0.0
    for hope, more in sorted(hoped, key=lambda pair: (-pair[0], sorted(pair[1]))):
        if hope <= best_worth:
            break
        gain = ledger.gain(more, taken, guessed=way.guessed)
        worth = way.worth(ledger, gain, more)
        if gain > 0 and gain >= ledger.least(more) and worth > best_worth:
            best, best_worth = Step(more, gain), worth
    return best


def _bettered(ledger: _Ledger, options: Sequence[Some], best: Some) -> Some:
    """Improve a choice: force one candidate in or out and choose the rest anew, first by guesses, of which the most
    promising are evaluated, then by evaluation, within a limit."""
    tried = {best}
    for _ in range(_ROUNDS):
        changes = dict.fromkeys(change for change in _changed(ledger, options, best, _GUESSED) if change not in tried)
        promises = [(ledger.total(change, guessed=True), change) for change in changes]
        promises.sort(key=lambda pair: (-pair[0], sorted(pair[1])))
        total = ledger.total(best)
        promising = [change for promise, change in promises[:_PROMISING] if promise > total]
        tried |= set(promising)
        better = max(promising, key=ledger.total, default=best)
        if ledger.total(better) > total:
            best = better
        elif not promising:
            break
    most = ledger.asked + _MOST_ASKED
    while ledger.asked < most:
        further = _until(_changed(ledger, options, best, _ASKED), lambda: ledger.asked >= most)
        better = max(further, key=ledger.total, default=best)
        if ledger.total(better) <= ledger.total(best) * (1 + 1e-9):
            break
        best = better
    return best


def _until(changes: Iterable[Some], over: Callable[[], bool]) -> Iterable[Some]:
    return itertools.takewhile(lambda _: not over(), changes)


def _changed(ledger: _Ledger, options: Sequence[Some], best: Some, ways: Sequence[_Way]) -> Iterable[Some]:
    for way in ways:
        yield _greedy(ledger, options, NONE, way)
        for option in options:
            others = [other for other in options if not other & option]
            if option <= best:
                yield _greedy(ledger, others, best - option, way)
            elif (room := _made_room(ledger, option, best, guessed=way.guessed)) is not None:
                yield _greedy(ledger, options, room, way)


def _made_room(ledger: _Ledger, option: Some, best: Some, *, guessed: bool) -> Some | None:
    """Add the option and remove those that spare least per byte beside it, as many as must go."""
    taken = best | option
    while not ledger.choosing.fits(taken):
        others = sorted(taken - option)
        if not others:
            return None

        def lost(number: int, taken: Some = taken) -> float:
            alone = frozenset([number])
            return ledger.gain(alone, taken - alone, guessed=guessed) / max(ledger.size(alone), 1.0)

        taken -= {min(others, key=lost)}
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
