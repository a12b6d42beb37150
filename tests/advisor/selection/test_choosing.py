"""The choice against brute force over all sets of candidates, on random questions of AND and OR."""

import itertools
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.advisor.selection.choosing import Budget, Choosable, Choosing, Some, chosen


def question(rng: random.Random, touched: Some, files: int) -> Callable[[Some], float]:
    """Of some files each candidate keeps a few. All that are asked are ANDed, or two halves of them ORed."""
    weight = rng.choice([1, 1, 10, 100])
    numbers = sorted(touched)
    rng.shuffle(numbers)
    kept = {
        number: frozenset(f for f in range(files) if rng.random() < rng.choice([0.05, 0.3, 0.8])) for number in numbers
    }
    half = numbers[: len(numbers) // 2] if rng.random() < 0.5 else []
    rest = [number for number in numbers if number not in half]

    def left(some: list[int], asked: Some) -> frozenset[int]:
        return frozenset(range(files)).intersection(*(kept[number] for number in some if number in asked))

    def spared(asked: Some) -> float:
        both = left(rest, asked)
        return weight * (files - len(both | left(half, asked) if half else both))

    return spared


def case(rng: random.Random) -> Choosing:
    count = rng.randint(1, 9)
    candidates = [
        Choosable(rng.choice([1, 10, 100, 1000]) * rng.uniform(0.5, 2), rng.uniform(0, 5)) for _ in range(count)
    ]
    files = rng.choice([5, 20, 60])
    touched = [frozenset(rng.sample(range(count), rng.randint(0, min(5, count)))) for _ in range(rng.randint(1, 12))]
    questions = [question(rng, some, files) for some in touched]
    options = [frozenset([number]) for number in range(count)]
    options += [frozenset(pair) for some in touched for pair in itertools.combinations(sorted(some), 2)]
    total = sum(candidate.size_bytes for candidate in candidates)
    seconds = rng.choice([float("inf"), sum(candidate.cpu_seconds for candidate in candidates) * rng.random()])
    budget = Budget(total * rng.uniform(0.02, 1), seconds)
    return Choosing(candidates, touched, lambda number, some: questions[number](some), options, budget)


def total(choosing: Choosing, some: Some) -> float:
    return sum(choosing.spared(number, some & touched) for number, touched in enumerate(choosing.touched))


def best(choosing: Choosing) -> float:
    every = range(len(choosing.candidates))
    subsets = (frozenset(some) for size in range(len(every) + 1) for some in itertools.combinations(every, size))
    return max(total(choosing, some) for some in subsets if choosing.fits(some))


@given(st.integers(0, 2**32))
def test_it_spares_what_the_best_set_spares(seed: int) -> None:
    choosing = case(random.Random(seed))
    steps = chosen(choosing)
    taken = frozenset(number for step in steps for number in step.taken)
    assert choosing.fits(taken)
    assert sum(len(step.taken) for step in steps) == len(taken)
    assert sum(step.gain for step in steps) == pytest.approx(total(choosing, taken))
    assert total(choosing, taken) >= 0.95 * best(choosing)
    assert chosen(choosing) == steps


def test_what_adds_nothing_beside_the_others_is_not_taken() -> None:
    small, large = Choosable(1, 0), Choosable(10, 0)
    spared = {frozenset([0]): 90.0, frozenset([1]): 100.0, frozenset([0, 1]): 100.0}
    choosing = Choosing(
        [small, large], [frozenset([0, 1])], lambda _, some: spared[some], list(map(frozenset, [[0], [1]]))
    )
    assert [step.taken for step in chosen(choosing)] == [frozenset([1])]


def test_upkeep_and_the_least_that_counts() -> None:
    def only(candidate: Choosable) -> list[Some]:
        choosing = Choosing([candidate], [frozenset([0])], lambda _, some: 100.0 * len(some), [frozenset([0])])
        return [step.taken for step in chosen(choosing)]

    assert only(Choosable(10, 0, upkeep_bytes=99, least=0.5)) == [frozenset([0])]
    assert only(Choosable(10, 0, upkeep_bytes=100)) == []
    assert only(Choosable(10, 0, upkeep_bytes=99, least=2)) == []


def test_questions_are_asked_once_with_each_set_that_touches_them() -> None:
    asked: list[tuple[int, Some]] = []

    def spared(number: int, some: Some) -> float:
        asked.append((number, some))
        return float(len(some))

    candidates = [Choosable(1, 0)] * 6
    touched = [frozenset([number]) for number in range(6)]
    chosen(Choosing(candidates, touched, spared, touched, Budget(3)))
    assert len(asked) == len(set(asked)) == 6
