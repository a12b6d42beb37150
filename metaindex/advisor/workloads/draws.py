"""Queries that are alike but for their literals: some of them drawn, each as likely as any other, however many come.

Each query has a number by chance, and those with the smallest ones are kept: so many as are to be kept are drawn from
all, none twice. As long as few different ones came, it is known how often each did. The numbers follow from a fixed
seed: equal workloads have equal draws.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from random import Random
from typing import Final

from metaindex.core import dataclass

MOST_LITERALS: Final = 24
"""Queries of a template that are kept, and asked: of more different ones they stand for the others."""
LEAST_LITERALS: Final = 3
_ALL_LITERALS: Final = 48
"""Of all templates together, as far as each may have the least: what asking takes is bounded."""


def room(templates: int) -> int:
    """Return how many queries are kept of each of so many templates."""
    return min(max(_ALL_LITERALS // max(templates, 1), LEAST_LITERALS), MOST_LITERALS)


@dataclass(slots=True)
class Draws:
    """`counts`: how often each came; None if there are too many to count."""

    counts: dict[Hashable, int] | None = field(default_factory=dict)
    _kept: list[tuple[float, int, Hashable]] = field(default_factory=list)  # the largest number first
    _added: int = 0
    _known_to: float = math.inf  # numbers behind it are not known of all

    def add(self, query: Hashable, seen: int, most: int, random: Random) -> None:
        """A query that came so many times. `most`: that are kept, never more than before."""
        if self.counts is not None:
            self.counts[query] = self.counts.get(query, 0) + seen
            self._forget(most)
        self._keep(zip(_smallest(seen, random), [query] * min(seen, most), strict=False), most)

    def add_drawn(self, queries: Sequence[Hashable], seen: int, most: int, random: Random) -> None:
        """Add those that were drawn from so many that came."""
        self.counts = None
        numbered = list(zip(_smallest(seen, random), queries, strict=False))
        if numbered and len(queries) < seen:
            self._known_to = min(self._known_to, numbered[-1][0])
        self._keep(iter(numbered), most)

    def drawn(self, most: int) -> list[Hashable]:
        """Return at most so many, in the order of their numbers: a prefix is a random draw, too."""
        ordered = sorted((-number, -place, query) for number, place, query in self._kept)
        return [query for number, _, query in ordered if number <= self._known_to][:most]

    def _forget(self, most: int) -> None:
        if self.counts is not None and len(self.counts) > most:
            self.counts = None

    def _keep(self, numbered: Iterator[tuple[float, Hashable]], most: int) -> None:
        for number, query in numbered:
            if len(self._kept) >= most and number >= -self._kept[0][0]:
                break
            self._added += 1
            heapq.heappush(self._kept, (-number, -self._added, query))
            while len(self._kept) > most:
                heapq.heappop(self._kept)


def _smallest(many: int, random: Random) -> Iterator[float]:
    """The numbers of so many queries, the smallest first: each lies behind the last one by what the smallest of the
    others does (they are spread exponentially)."""
    number = 0.0
    for left in range(many, 0, -1):
        number -= math.log(1.0 - random.random()) / left
        yield number
