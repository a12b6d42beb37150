"""Statistics that a run's keys give a walk: values, bloom filters, value lists, of one column or of several together.

A key answers for the files of its run that it keys; files of which it knows nothing are True. Where several kinds key a
column they are asked in the order of `EXACTNESS`, until one has answered for every file: a bloom filter adds nothing to
an inverted index.

Every answer is kept with the units it was made from, so that the row groups of a kept file can be asked for later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from metaindex.core import Mask, TooLate, dataclass
from metaindex.expressions import ColumnRef, Literal, ManyFiles, Question
from metaindex.index.kinds.keyed import Hits, KeyReader, ReadsRanges, SupportsBatchReads
from metaindex.index.kinds.registry import KINDS
from metaindex.index.log.entry import CoveredKey

from .combined import Columns, Combination


@dataclass(frozen=True, slots=True)
class AskedKey:
    """A key of a run whose columns a predicate names: how it is looked up, and its unkeyed files. Both are read by the
    first question."""

    key: CoveredKey
    columns: Columns
    open: Callable[[], KeyReader | None]  # None: the types it was built with do not answer for the types of now
    unkeyed_files: Callable[[], Mask]

    @property
    def kind(self) -> str:
        return self.key.kind

    @property
    def exact(self) -> bool:
        """Return whether, but for hash collisions, an answer leaves nothing for other sources to prove."""
        return KINDS.looked_up_rows(self.key).exact and not self.key.unkeyed_files


@dataclass(frozen=True)
class KeyAnswer:
    """The answer of one key: its hits in the files that it keys."""

    asked: AskedKey
    hits: Hits
    count: int

    @cached_property
    def files(self) -> Mask:
        """A truth for every file of the run, unkeyed ones True."""
        return self.mask()

    def mask(self) -> Mask:
        """Compute the mask of `files` without caching it."""
        files = self.hits.mask(self.count)
        return files | self.asked.unkeyed_files() if self.asked.key.unkeyed_files else files

    def in_file(self, ordinal: int, groups: int) -> Mask:
        """A truth for every row group of a file."""
        unkeyed = self.asked.key.unkeyed_files and self.asked.unkeyed_files()[ordinal]
        matching = None if unkeyed else self.hits.groups(ordinal, groups)
        return np.full(groups, self.files[ordinal], np.bool_) if matching is None else matching


class KeySource(ManyFiles):
    """PruningStatistics[Mask] over the files of one run, from its keys. A column without a key is True throughout.
    `only`: one kind of them."""

    def __init__(
        self,
        count: int,
        keys: Sequence[AskedKey],
        combinations: Mapping[ColumnRef, Combination],
        answers: dict[object, KeyAnswer | None] | None = None,
    ) -> None:
        super().__init__(count)
        self._all = tuple(keys)
        self._combinations = combinations
        self._keys: dict[Columns, list[AskedKey]] = {}
        for asked_key in sorted(keys, key=lambda key: (KINDS.looked_up_rows(key.key).turn, key.key.unkeyed_files)):
            self._keys.setdefault(asked_key.columns, []).append(asked_key)
        self._readers: dict[int, KeyReader | None] = {}
        self._answers: dict[object, KeyAnswer | None] = {} if answers is None else answers
        self._kept_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._all)

    @property
    def exact_columns(self) -> frozenset[ColumnRef]:
        """The columns that an exact key of their own answers for."""
        alone = (keys for keys in self._keys.values() if len(keys[0].columns) == 1)
        return frozenset(key.columns[0] for keys in alone for key in keys if key.exact)

    def by_kind(self) -> Mapping[str, KindSource]:
        return {
            kind: KindSource(self.count, [k for k in self._all if k.kind == kind], self._combinations, self._answers)
            for kind in dict.fromkeys(k.kind for k in self._all)
        }

    def keyed(self, column: ColumnRef, answers: Callable[[CoveredKey], bool]) -> Mask:
        """Return a mask of the files whose values of a column are keyed one by one, by a key that `answers`."""
        out = self.constant(False)
        for key in self._all:
            exact = KINDS.looked_up_rows(key.key).exact  # a filter may take a value for another
            if exact and column in key.columns and answers(key.key) and self._reader(key) is not None:
                out |= ~key.unkeyed_files() if key.key.unkeyed_files else True
        return out

    def answers(self, question: Question) -> list[KeyAnswer]:
        """Return the answers of the column's keys, exact ones first; those behind an exact one are not asked."""
        return self.answers_to([question])[0]

    def answers_to(self, questions: Sequence[Question]) -> list[list[KeyAnswer]]:
        """`answers` of each question."""
        answers: list[list[KeyAnswer]] = [[] for _ in questions]
        for columns, (places, some) in Question.grouped((self._columns_of(q), q) for q in questions).items():
            open_ = list(zip(places, some, strict=True))
            for key in self._keys.get(columns, ()):
                still = []
                for (place, question), answer in zip(open_, self._answers_of(key, [q for _, q in open_]), strict=True):
                    if answer is not None:
                        answers[place].append(answer)
                    if answer is None or not key.exact:
                        still.append((place, question))
                open_ = still
        return answers

    def _columns_of(self, question: Question) -> Columns:
        asked = self._combinations.get(question.column)
        return (question.column,) if asked is None else asked.columns

    def _ask(self, question: Question) -> Mask:
        out = self.constant(True)
        for answer in self.answers(question):
            out &= answer.files
        return out

    def many(self, questions: Sequence[Question]) -> Mask:
        out = np.ones((len(questions), self.count), np.bool_)
        for row, answers in zip(out, self.answers_to(questions), strict=True):
            for answer in answers:
                row &= answer.mask()
        return out

    def in_file(self, question: Question, position: int, groups: int) -> Mask:
        out = np.ones(groups, np.bool_)
        for answer in self.answers(question):
            out &= answer.in_file(position, groups)
        return out

    def _answers_of(self, asked_key: AskedKey, questions: Sequence[Question]) -> list[KeyAnswer | None]:
        """Return the key's answer to each question, if it has one. What is not kept yet is looked up together; the
        answer to one question alone is kept, those to many as long as that is little."""
        kept = [(asked_key.key.key_id, question) in self._answers for question in questions]
        out = [
            self._answers[asked_key.key.key_id, q] if there else None for q, there in zip(questions, kept, strict=True)
        ]
        reader = None if all(kept) else self._reader(asked_key)
        new = [place for place, there in enumerate(kept) if not there] if reader is not None else []
        if reader is None or not new:
            return out
        some = [questions[place] for place in new]
        told = self._held(asked_key, lambda: _look_up_many(reader, some, self._combinations))
        for place, question, hits in zip(new, some, told, strict=True):
            out[place] = answer = None if hits is None else KeyAnswer(asked_key, hits, self.count)
            self._kept_bytes += 0 if hits is None or len(questions) == 1 else hits.size_bytes
            if len(questions) == 1 or self._kept_bytes <= self.KEPT_BYTES:
                self._answers[asked_key.key.key_id, question] = answer
        return out

    def _held(self, asked_key: AskedKey, look_up: Callable[[], list[Hits | None]]) -> list[Hits | None]:
        """Ask a reader. If another package's raises anything, or returns impossible hits, raise DamagedIndexError."""
        if not KINDS.is_foreign(asked_key.kind):
            return look_up()

        def held() -> list[Hits | None]:
            answers = look_up()
            for hits in answers:
                if hits is not None:
                    hits.hold(self.count)
            return answers

        return KINDS.call(asked_key.kind, held)

    def _reader(self, asked_key: AskedKey) -> KeyReader | None:
        if asked_key.key.key_id not in self._readers:
            self._readers[asked_key.key.key_id] = asked_key.open()
        return self._readers[asked_key.key.key_id]


class KindSource(KeySource):
    """The keys of one kind, for a report: it counts how often they were asked, and how often they answered."""

    asked = answered = 0

    @property
    def tally(self) -> tuple[int, int]:
        return self.asked, self.answered

    def _answers_of(self, asked_key: AskedKey, questions: Sequence[Question]) -> list[KeyAnswer | None]:
        answers = super()._answers_of(asked_key, questions)
        self.asked += len(answers)
        self.answered += sum(answer is not None for answer in answers)
        return answers


def _look_up_many(
    reader: KeyReader, questions: Sequence[Question], combinations: Mapping[ColumnRef, Combination]
) -> list[Hits | None]:
    """`_look_up` of each. Those that ask whether values are there are one question to a reader that takes many, and so
    are those of ranges."""
    asked = [_values(question, combinations.get(question.column)) for question in questions]
    listed = [values for values in asked if values is not None]
    among = iter(reader.among_each(listed)) if len(listed) > 1 and isinstance(reader, SupportsBatchReads) else None
    ranges = [question.arguments[0] for question in questions if _is_range(question, combinations)]
    inside = reader.between_each(ranges) if len(ranges) > 1 and isinstance(reader, ReadsRanges) else None
    between = None if inside is None else iter(inside)
    hits: list[Hits | None] = []
    for question, values in zip(questions, asked, strict=True):
        if values is not None and among is not None:
            hits.append(next(among))
        elif between is not None and _is_range(question, combinations):
            hits.append(next(between))
        else:
            TooLate.check()
            hits.append(_look_up(reader, question, combinations.get(question.column)))
    return hits


def _is_range(question: Question, combinations: Mapping[ColumnRef, Combination]) -> bool:
    return question.name == "some_between" and question.column not in combinations


def _values(question: Question, combination: Combination | None) -> Sequence[Sequence[Literal]] | None:
    """Return the values to look up, if the question is for values."""
    if combination is not None:
        return combination.values if question.name == "some_null" else None
    return list(zip(question.arguments[0], strict=True)) if question.name == "some_among" else None


def _look_up(reader: KeyReader, question: Question, combination: Combination | None) -> Hits | None:
    """The leaf of a combination asks `some_null`; nothing is known of any other question about it."""
    if combination is not None:
        return reader.among(combination.values) if question.name == "some_null" else None
    match question.name:
        case "some_among":
            return reader.among(list(zip(question.arguments[0], strict=True)))
        case "some_between":
            return reader.between(question.arguments[0])
        case "some_other":
            return reader.other(question.arguments[0])
        case "some_null":
            return reader.null()
        case "some_value":
            return reader.value()
        case "some_nan":
            return reader.nan()
        case _:
            return None
