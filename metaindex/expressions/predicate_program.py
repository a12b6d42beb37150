"""The walk for predicates of many leaves: taken once with nobody asked, so that it is known what it asks and how the
answers are joined; then every question is asked together with its like.

`(k = 1 AND s = 'a') OR (k = 2 AND s = 'b') OR ...` asks two columns three thousand questions. A source that is asked
one by one finds the same statistics for each; one that is asked for all of them (`many`) finds them once and compares
them as a matrix. The walk is `skipping`'s own, over symbols in place of answers, so that what is proved cannot differ:
a step is

    ask       question n            constant      the same for every file
    all, any  of two steps before

What no step needs is not asked: `a = 5 OR f(b)` keeps every file whatever is known of `a`. Answers come a piece at a
time (`questions.PIECE_BYTES`), as a matrix of all would not fit for tables of many files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from metaindex.core import Mask, dataclass

from .skipping import may_fail, may_match
from .statistics import Asks, PruningStatistics, Question
from .tree import And, Not, Or, Predicate

_FEW = 8  # leaves up to which a walk is taken as it stands
_TRUE, _FALSE = 0, 1  # the first two steps
_ASK, _ALL, _ANY, _CONSTANT = range(4)


@dataclass(frozen=True, slots=True)
class PredicateProgram:
    """Program of a predicate's walk: the questions in the order in which their answers are needed, and how answers
    combine. `program`: kind and two numbers, of a question or of steps before."""

    questions: tuple[Question, ...]
    program: tuple[tuple[int, int, int], ...]
    uses: tuple[int, ...]  # of each step's answer

    @staticmethod
    def pays(p: Predicate) -> bool:
        """Return whether the predicate is large enough to ask all its leaves together: a look-up of one value is over
        sooner than questions are gathered."""
        return isinstance(p, And | Or | Not) and len(p.leaves()) > _FEW

    @classmethod
    def may_match(cls, p: Predicate) -> PredicateProgram:
        """Taken once for a tree, which never changes: every run and both ways to the files walk the same one."""
        if not isinstance(p, And | Or | Not):
            return cls._of(may_match, p)
        kept: PredicateProgram | None = vars(p).get("_may_match")
        if kept is None:
            kept = cls._of(may_match, p)
            object.__setattr__(p, "_may_match", kept)
        return kept

    @classmethod
    def may_fail(cls, p: Predicate) -> PredicateProgram:
        return cls._of(may_fail, p)

    @classmethod
    def _of(cls, walk: Callable[[Predicate, PruningStatistics[int]], int], p: Predicate) -> PredicateProgram:
        taken = _Taken()
        root = walk(p, taken)
        needed = [False] * len(taken.program)
        needed[root] = True
        for number in range(root, -1, -1):
            kind, left, right = taken.program[number]
            if needed[number] and kind in (_ALL, _ANY):
                needed[left] = needed[right] = True
        questions: list[Question] = []
        program: list[tuple[int, int, int]] = []
        places: dict[int, int] = {}
        for number, (kind, left, right) in enumerate(taken.program):
            if not needed[number]:
                continue
            places[number] = len(program)
            if kind == _ASK:
                program.append((kind, len(questions), 0))
                questions.append(taken.questions[left])
            else:
                program.append((kind, left if kind == _CONSTANT else places[left], right and places[right]))
        uses = [0] * len(program)
        for kind, left, right in program:
            if kind in (_ALL, _ANY):
                uses[left] += 1
                uses[right] += 1
        return cls(tuple(questions), tuple(program), tuple(uses))

    @classmethod
    def must_match(cls, p: Predicate, source: PruningStatistics[Mask], count: int) -> Mask:
        """Return a mask of the files, of so many, in which every row matches."""
        return ~(cls.may_fail(p).over(source, count) if cls.pays(p) else may_fail(p, source))

    def evaluation(self, count: int) -> BatchEvaluation:
        """Begin an evaluation over so many files."""
        return BatchEvaluation(self, count)

    def over(self, source: PruningStatistics[Mask], count: int) -> Mask:
        """Return the walk's answer over a source of so many files."""
        walked = self.evaluation(count)
        for batch in Question.batches(self.questions, count):
            walked.take(Question.ask_all(batch, source))
        return walked.answer()


class BatchEvaluation:
    """The steps, as far as the answers to the questions are there."""

    def __init__(self, steps: PredicateProgram, count: int) -> None:
        self._steps, self._count = steps, count
        self._uses = list(steps.uses)
        self._found: list[Mask | None] = [None] * len(steps.program)
        self._at = 0
        self._asked = 0

    def take(self, answers: Mask) -> None:
        """The answers to the next questions, a row each, which may be changed here."""
        first, self._asked = self._asked, self._asked + len(answers)
        program, masks = self._steps.program, self._found
        for at in range(self._at, len(program)):
            kind, left, right = program[at]
            if kind == _ASK:
                if left >= self._asked:
                    self._at = at
                    return
                masks[at] = answers[left - first]
            elif kind == _CONSTANT:
                masks[at] = np.full(self._count, bool(left), np.bool_)
            else:
                masks[at] = self._joined(kind, left, right)
        self._at = len(program)

    def answer(self) -> Mask:
        if self._at < len(self._steps.program):  # nothing is asked
            self.take(np.empty((0, self._count), np.bool_))
        mask = self._found[-1]
        assert mask is not None
        return mask

    def _joined(self, kind: int, left: int, right: int) -> Mask:
        mask, other = self._last(left), self._last(right)
        join = np.logical_and if kind == _ALL else np.logical_or
        if self._found[left] is None:
            return join(mask, other, out=mask)
        return join(mask, other, out=other if self._found[right] is None else None)

    def _last(self, step: int) -> Mask:
        """The answer of a step; forgotten where no other needs it, so that it may be changed."""
        mask = self._found[step]
        assert mask is not None
        self._uses[step] -= 1
        if not self._uses[step]:
            self._found[step] = None
        return mask


class _Taken(Asks):
    """`PruningStatistics` whose answers are steps. A question that was asked before is the step that it was; what is
    the same for every file is settled at once."""

    def __init__(self) -> None:
        self.program: list[tuple[int, int, int]] = [(_CONSTANT, 1, 0), (_CONSTANT, 0, 0)]
        self.questions: list[Question] = []
        self._steps: dict[Question, int] = {}

    def constant(self, value: bool) -> int:
        return _TRUE if value else _FALSE

    def all_of(self, parts: Sequence[int]) -> int:
        return self._joined(_ALL, parts, _TRUE, _FALSE)

    def any_of(self, parts: Sequence[int]) -> int:
        return self._joined(_ANY, parts, _FALSE, _TRUE)

    def _ask(self, question: Question) -> int:
        step = self._steps.get(question)
        if step is None:
            step = self._steps[question] = self._step(_ASK, len(self.questions))
            self.questions.append(question)
        return step

    def _joined(self, kind: int, parts: Sequence[int], neutral: int, ruling: int) -> int:
        so_far = neutral
        for part in parts:
            if part == ruling:
                return ruling
            if part in (neutral, so_far):
                continue
            so_far = part if so_far == neutral else self._step(kind, so_far, part)
        return so_far

    def _step(self, kind: int, left: int, right: int = 0) -> int:
        self.program.append((kind, left, right))
        return len(self.program) - 1
