"""Queries as they come, gathered into templates: a text is read by a parser once for its shape, and some more for
examples; what cannot be read is counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import field, replace
from typing import Final

from metaindex.expressions.errors import MetaIndexError
from metaindex.expressions.reads import StatementReads
from metaindex.expressions.records import dataclass
from metaindex.expressions.shown import one_line
from metaindex.formats.storage_errors import without_user

from .shape import shape_of_reads, shape_of_text
from .splitting import MOST_CHARACTERS
from .template import QueryTemplate, Unread, Workload

MOST_TEMPLATES: Final = 10_000
_TOO_MANY: Final = f"a workload has {MOST_TEMPLATES:,} templates at most; it has more; split it"
MOST_REASONS: Final = 100
"""That are told, of what could not be read."""
_MOST_SHAPES: Final = 20_000
_EXAMPLES: Final = 3
_LATER: Final = 1.6
"""An example is replaced by a later one each time that so many times as many were met, so that a long workload has one
of its beginning, one of its middle, and one of its end."""
_TRIES: Final = 8
"""Texts of a shape that are read in vain before the next one waits; from then on one is read as often as an example is
replaced."""
_SHORT: Final = 120
_TEXT: Final = 2_000


@dataclass(slots=True)
class _Met:
    """A template as far as it was seen."""

    text: str
    examples: list[StatementReads]
    seen: int = 0
    seconds: float | None = None
    texts: int = 0  # that were read for it
    times: int = 0  # that it was met
    next_at: int = 2 * _EXAMPLES
    turn: int = 0

    @property
    def is_full(self) -> bool:
        """Is there no need to read the next one?"""
        enough = len(self.examples) == _EXAMPLES or self.texts >= 4 * _EXAMPLES
        return enough and self.times + 1 < self.next_at

    def add(self, seen: int, seconds: float | None) -> None:
        self.times += 1
        self.seen += seen
        if seconds is not None:
            self.seconds = (self.seconds or 0.0) + seconds

    def example(self, reads: StatementReads) -> None:
        """One more, where it is another than those that there are. The first one stays."""
        later = self.times >= self.next_at
        if later:
            self.next_at = int(self.next_at * _LATER) + 1
        if reads in self.examples:
            return
        if len(self.examples) < _EXAMPLES:
            self.examples.append(reads)
        elif later:
            self.turn = self.turn % (_EXAMPLES - 1) + 1
            self.examples[self.turn] = reads


@dataclass(slots=True)
class _Failed:
    """A shape of which no text could be read: a literal may be why, and the next text has another."""

    reason: str
    times: int = 1
    next_at: int = _TRIES

    @property
    def is_due(self) -> bool:
        """Is the next one to be read?"""
        return self.times < _TRIES or self.times + 1 >= self.next_at

    def again(self, reason: str) -> None:
        """It was read in vain."""
        self.reason = reason
        self.times += 1
        if self.times >= self.next_at:
            self.next_at = int(self.times * _LATER) + 1


@dataclass(slots=True)
class Gathering:
    _met: dict[str, _Met] = field(default_factory=dict)
    _by_text: dict[str, _Met | _Failed] = field(default_factory=dict)
    _problems: dict[str, Unread] = field(default_factory=dict)

    def text(
        self, text: str, read: Callable[[str], StatementReads], *, seen: int = 1, seconds: float | None = None
    ) -> None:
        """A query by its text. `read`: the parser; it raises a MetaIndexError for what it cannot read."""
        if len(text) > MOST_CHARACTERS:
            self.problem(too_long(), text, seen)
            return
        shape = shape_of_text(text)
        known = self._by_text.get(shape)
        if isinstance(known, _Failed) and not known.is_due:
            known.times += 1
            self.problem(known.reason, text, seen)
            return
        if isinstance(known, _Met) and known.is_full:
            known.add(seen, seconds)
            return
        if len(self._by_text) >= _MOST_SHAPES:
            self._by_text.clear()
        try:
            reads = read(text)
        except MetaIndexError as error:
            if isinstance(known, _Failed):
                known.again(str(error))
            elif known is None:
                self._by_text[shape] = _Failed(str(error))
            self.problem(str(error), text, seen)
            return
        met = self.reads(reads, text, seen=seen, seconds=seconds)
        self._by_text[shape] = met if met is not None else _Failed(_TOO_MANY, _TRIES, sys.maxsize)

    def reads(self, reads: StatementReads, text: str, *, seen: int = 1, seconds: float | None = None) -> _Met | None:
        """A query by what it reads."""
        reads = _without_users(reads)
        shape = shape_of_reads(reads)
        met = self._met.get(shape)
        if met is None:
            if len(self._met) >= MOST_TEMPLATES:
                self.problem(_TOO_MANY, text, seen)
                return None
            met = self._met[shape] = _Met(_begun(" ".join(without_user(text).split()), _TEXT), [])
        met.texts += 1
        met.add(seen, seconds)
        met.example(reads)
        return met

    def problem(self, reason: str, example: str = "", seen: int = 1) -> None:
        """What could not be read, or not all of it."""
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
            first, *more = template.examples
            met = self.reads(first, template.text, seen=template.seen, seconds=template.seconds)
            for example in more if met is not None else ():
                self.reads(example, template.text, seen=0)
        for unread in workload.problems:
            self.problem(unread.reason, unread.example, unread.seen)

    def workload(self) -> Workload:
        templates = [QueryTemplate(met.text, tuple(met.examples), met.seen, met.seconds) for met in self._met.values()]
        templates.sort(key=lambda template: -template.seen)
        problems = sorted(self._problems.values(), key=lambda problem: -problem.seen)
        return Workload(tuple(templates), tuple(problems))


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
