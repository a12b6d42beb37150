"""Queries that are alike but for their literals: some of them drawn, each as likely as any other, however many come.

Each query has a number by chance, and those with the smallest ones are kept: so many as are to be kept are drawn from
all, none twice. As long as few different ones came, it is known how often each did. The numbers follow from a fixed
seed: equal workloads have equal draws."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import field, replace
from random import Random
from typing import Final

from metaindex.core import MetaIndexError, dataclass, one_line
from metaindex.expressions import StatementReads
from metaindex.storage import without_user

from .template import QueryTemplate, Unread, Workload, shape_of_reads, shape_of_text
from .text_files import MOST_CHARACTERS

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


MOST_TEMPLATES: Final = 10_000
_TOO_MANY: Final = f"a workload has {MOST_TEMPLATES:,} templates at most; it has more; split it"
MOST_REASONS: Final = 100
"""That are told, of what could not be read."""
_MOST_SHAPES: Final = 20_000
_EXAMPLES: Final = 3
"""That are read at once; of the others those that are drawn, at the end."""
_SEED: Final = 17
_TRIES: Final = 8
"""Texts of a shape that are read in vain before the next one waits."""
_SHORT: Final = 120
_TEXT: Final = 2_000
_CHARACTERS: Final = 100_000
"""Of the texts of a template that are kept, but for the fewest that are."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A query that is read if it is drawn."""

    text: str
    read: Callable[[str], StatementReads] = field(compare=False, repr=False)


@dataclass(slots=True)
class _Met:
    """A template as far as it was seen."""

    text: str
    first: StatementReads
    draws: Draws = field(default_factory=Draws)
    known: dict[str, StatementReads | None] = field(default_factory=dict)  # of texts that were read, None in vain
    different: set[StatementReads] = field(default_factory=set)  # up to so many as are read at once
    seen: int = 0
    seconds: float | None = None
    texts: int = 0  # that were read for it
    most: int = MOST_LITERALS  # of its queries that are kept

    def room_beside(self, templates: int, text: str = "") -> int:
        """Return how many of its queries are kept, beside so many templates: fewer of long ones."""
        of_these = max(_CHARACTERS // max(len(text), 1), LEAST_LITERALS)
        self.most = min(self.most, room(templates), of_these)
        return self.most

    @property
    def is_full(self) -> bool:
        """Return whether the next one need not be read at once."""
        return len(self.different) == _EXAMPLES or self.texts >= 4 * _EXAMPLES

    def add(self, seen: int, seconds: float | None) -> None:
        self.seen += seen
        if seconds is not None:
            self.seconds = (self.seconds or 0.0) + seconds

    def read(self, reads: StatementReads) -> None:
        """Count a query that was read."""
        self.texts += 1
        if len(self.different) < _EXAMPLES:
            self.different.add(reads)


@dataclass(slots=True)
class _Failed:
    """A shape of which no text could be read: a literal may be why, and the next text has another. After some tries
    the next text is read each time that twice as many were met."""

    reason: str
    times: int = 1
    for_good: bool = False

    @property
    def is_due(self) -> bool:
        """Return whether the next one should be read."""
        return not self.for_good and (self.times < _TRIES or self.times.bit_count() == 1)


@dataclass(slots=True)
class Gathering:
    _met: dict[str, _Met] = field(default_factory=dict)
    _by_text: dict[str, _Met | _Failed] = field(default_factory=dict)
    _problems: dict[str, Unread] = field(default_factory=dict)
    _random: Random = field(default_factory=lambda: Random(_SEED))  # noqa: S311 - it draws, and hides nothing

    def text(
        self, text: str, read: Callable[[str], StatementReads], *, seen: int = 1, seconds: float | None = None
    ) -> None:
        """A query by its text. `read`: the parser; it raises a MetaIndexError for what it cannot read."""
        if len(text) > MOST_CHARACTERS:
            self.problem(too_long(), text, seen)
            return
        shape = shape_of_text(text)
        known = self._by_text.get(shape)
        if isinstance(known, _Failed):
            known.times += 1
            if not known.is_due:
                self.problem(known.reason, text, seen)
                return
        if isinstance(known, _Met) and known.is_full:
            known.add(seen, seconds)
            known.draws.add(_Text(text, read), seen, known.room_beside(len(self._met), text), self._random)
            return
        if len(self._by_text) >= _MOST_SHAPES:
            self._by_text.clear()
        try:
            reads = read(text)
        except MetaIndexError as error:
            if not isinstance(known, _Met):
                self._by_text[shape] = _Failed(str(error), known.times if known is not None else 1)
            self.problem(str(error), text, seen)
            return
        met = self._took(reads, text, seen, seconds)
        if met is not None:
            if len(text) <= _TEXT:  # a long one is read again, if it is drawn
                met.known[text] = _without_users(reads)
            met.draws.add(_Text(text, read), seen, met.room_beside(len(self._met), text), self._random)
        self._by_text[shape] = met if met is not None else _Failed(_TOO_MANY, for_good=True)

    def reads(self, reads: StatementReads, text: str, *, seen: int = 1, seconds: float | None = None) -> None:
        """A query by what it reads."""
        met = self._took(reads, text, seen, seconds)
        if met is not None:
            met.draws.add(_without_users(reads), seen, met.room_beside(len(self._met)), self._random)

    def _took(self, reads: StatementReads, text: str, seen: int, seconds: float | None) -> _Met | None:
        """Return the template for which the query is counted; None if there are too many."""
        reads = _without_users(reads)
        shape = shape_of_reads(reads)
        met = self._met.get(shape)
        if met is None:
            if len(self._met) >= MOST_TEMPLATES:
                self.problem(_TOO_MANY, text, seen)
                return None
            met = self._met[shape] = _Met(_begun(" ".join(without_user(text).split()), _TEXT), reads)
        met.add(seen, seconds)
        met.read(reads)
        return met

    def problem(self, reason: str, example: str = "", seen: int = 1) -> None:
        """Note a query that could not be read, or not all of it."""
        reason, example = without_user(reason), without_user(example[: 10 * _SHORT])
        known = self._problems.get(reason)
        if known is None and len(self._problems) >= MOST_REASONS:
            reason = "other reasons"
            known = self._problems.get(reason)
        count = seen + (0 if known is None else known.seen)
        shown = _begun(one_line(" ".join(example.split())), _SHORT) if known is None else known.example
        self._problems[reason] = Unread(reason, count, shown)

    def merge(self, workload: Workload) -> None:
        """The templates and problems of another workload."""
        for template in workload.templates:
            if template.counts:
                seconds = template.seconds
                for example, seen in zip(template.examples, template.counts, strict=True):
                    self.reads(example, template.text, seen=seen, seconds=seconds)
                    seconds = None
            elif (met := self._took(template.examples[0], template.text, template.seen, template.seconds)) is not None:
                drawn = [template.examples[place] for place in template.drawn]
                met.draws.add_drawn(drawn, template.seen, met.room_beside(len(self._met)), self._random)
        for unread in workload.problems:
            self.problem(unread.reason, unread.example, unread.seen)

    def workload(self) -> Workload:
        templates = [template for met in self._met.values() if (template := self._template(met)) is not None]
        templates.sort(key=lambda template: -template.seen)
        problems = sorted(self._problems.values(), key=lambda problem: -problem.seen)
        return Workload(tuple(templates), tuple(problems))

    def _template(self, met: _Met) -> QueryTemplate | None:
        """Make the template, with the drawn queries, or all that came; None if none of them can be read."""
        most, counts = met.room_beside(len(self._met)), met.draws.counts
        every = counts is not None and len(counts) <= most
        times: dict[StatementReads, int] = {} if every else {met.first: 0}
        drawn: list[StatementReads] = []
        for query in counts or () if every else met.draws.drawn(most):
            count = counts[query] if every and counts is not None else 1
            if (reads := self._read(met, query, count)) is not None:
                drawn.append(reads)
                times[reads] = times.get(reads, 0) + count
        if every and not times:
            return None
        examples = tuple(times)
        if every:
            return QueryTemplate(met.text, examples, met.seen, met.seconds, counts=tuple(times.values()))
        places = {reads: place for place, reads in enumerate(examples)}
        return QueryTemplate(met.text, examples, met.seen, met.seconds, tuple(places[reads] for reads in drawn) or (0,))

    def _read(self, met: _Met, query: Hashable, count: int) -> StatementReads | None:
        """Read a drawn query. None if it cannot be read, which is reported once."""
        if not isinstance(query, _Text):
            assert isinstance(query, StatementReads), "texts and what they read are drawn"
            return query
        if query.text not in met.known:
            try:
                met.known[query.text] = _without_users(query.read(query.text))
            except MetaIndexError as error:
                met.known[query.text] = None
                met.seen -= count
                self.problem(str(error), query.text, count)
        return met.known[query.text]


def _without_users(reads: StatementReads) -> StatementReads:
    """Tables by their places, as everybody may read them."""
    if not any("@" in read.table for read in reads.tables):
        return reads
    return replace(
        reads,
        tables=tuple(replace(read, table=without_user(read.table)) for read in reads.tables),
        joins=tuple(
            replace(join, left_table=without_user(join.left_table), right_table=without_user(join.right_table))
            for join in reads.joins
        ),
    )


def too_long() -> str:
    return f"a statement has {MOST_CHARACTERS:,} characters at most; it has more; leave it out"


def _begun(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
