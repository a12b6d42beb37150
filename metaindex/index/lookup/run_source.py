"""Coverage of a predicate's columns by a run: statistics under their stored types, and keys of one or several of them;
and the answers that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, dataclass
from metaindex.expressions import (
    And,
    ColumnRef,
    Comparison,
    In,
    IsNan,
    IsNull,
    ManyFiles,
    Not,
    Op,
    Or,
    Predicate,
    PredicateProgram,
    PruningStatistics,
    Question,
    StartsWith,
    gathered_form,
    may_match,
)
from metaindex.formats import FileTable, Format, Leaf, Schema
from metaindex.index.kinds.described import StoredColumn
from metaindex.index.kinds.keyed import KeyReader
from metaindex.index.kinds.registry import FACT_ROWS, KINDS
from metaindex.index.lacking import Lacking
from metaindex.index.log.entry import CoveredKey, RunRef
from metaindex.index.open_index import OpenIndex

from .combined import Columns, Combination, with_combinations
from .key_source import AskedKey, KeySource


@dataclass(frozen=True, slots=True)
class BoundPredicate:
    """A predicate that is bound to the schema of a version, ready for the walk. `walked` has the leaves of combined
    keys besides, which `combinations` explains."""

    predicate: Predicate
    schema: Schema
    columns: tuple[ColumnRef, ...]
    walked: Predicate
    combinations: dict[ColumnRef, Combination]
    leaves: dict[str, Leaf]  # of the schema, by stable name
    compared: frozenset[ColumnRef]  # columns of which is asked whether they equal some value
    only_equal: frozenset[ColumnRef]  # those of which nothing else is asked

    @classmethod
    def of(cls, predicate: Predicate, schema: Schema, indexes: Sequence[OpenIndex]) -> BoundPredicate:
        return cls.of_each([predicate], schema, indexes)[0]

    @classmethod
    def of_each(
        cls, predicates: Sequence[Predicate], schema: Schema, indexes: Sequence[OpenIndex]
    ) -> list[BoundPredicate]:
        """Bind several predicates, each with the columns and combinations of all: the same sources serve them."""
        named = tuple(dict.fromkeys(ref for predicate in predicates for ref in predicate.columns))
        leaves = {leaf.stable: leaf for leaf in schema.leaves()}
        keys = {
            of_key
            for index in indexes
            for run in index.entry.content.runs
            for key in KINDS.looked_up(run)
            if len(key.columns) > 1 and (of_key := _columns(key, leaves)) is not None and set(of_key) <= set(named)
        }
        combinations: Mapping[ColumnRef, Combination] = {}
        walks = []
        for predicate in predicates:
            walked, combinations = with_combinations(predicate, keys, combinations)
            walks.append(walked)
        together = dict(combinations)
        asked = []
        for predicate, walked in zip(predicates, walks, strict=True):
            compared, otherwise = _compared(predicate)
            asked.append(cls(predicate, schema, named, walked, together, leaves, compared, compared - otherwise))
        return asked

    def lacking(
        self, index: OpenIndex, files: int, of: int, unknown: Callable[[], FileTable], at_ms: int | None = None
    ) -> Lacking | None:
        """Return what an index, which knows the asked columns in other files, does not cover; None if it lacks no file.
        Only a full refresh reads files again that were read before the index had the column. `unknown`: these files;
        `at_ms`: the time of a version that it has not recorded."""
        if not files:
            return None
        known = {run.run.run for run in RunCoverage.of_index(index, self)}
        without = any(run.run not in known and (run.columns or run.keys) for run in index.entry.content.runs)
        touched = 0 if Format.named(index.entry.table.format).has_log else index.touched(unknown())
        newest = index.versions.newest()
        past = at_ms is not None and newest is not None and at_ms < newest.timestamp_ms
        return Lacking(index.name, files, of, touched, without, past)

    def answered_by_table(self, indexes: Sequence[OpenIndex]) -> bool:
        """Return whether the table itself answers some part better than any index: a column that none covers, or
        equality of a column whose hashes partition the files. Its partitions and log are then asked, too: an index
        never makes an answer much wider."""
        runs = [run for index in indexes for run in index.entry.content.runs]
        covered = {c.stable for run in runs for c in run.columns}
        keys = (key for run in runs for key in KINDS.looked_up(run) if self.answered_by(key))
        covered |= {column.stable for key in keys for column in key.columns}
        named = {ref.parts for ref in self.columns}
        compared = {ref.parts for ref in self.compared}
        return any(
            (leaf.parts in named and leaf.stable not in covered) or (leaf.field.bucketed and leaf.parts in compared)
            for leaf in self.leaves.values()
        )

    def answered_by(self, key: CoveredKey) -> bool:
        """Return whether a key can answer about its columns: one of hashes answers equality alone, one of several
        columns only if all are fixed."""
        together = {columns for combination in self.combinations.values() for columns in combination.columns}
        equal = {leaf.stable for leaf in self.leaves.values() if ColumnRef(leaf.parts) in self.only_equal}
        fixed = {leaf.stable for leaf in self.leaves.values() if ColumnRef(leaf.parts) in together}
        names = {column.stable for column in key.columns}
        return names <= fixed if len(names) > 1 else not KINDS.looked_up_rows(key).equality_only or names <= equal


class RunSource(ManyFiles):
    """The files of one run: a partition column is answered by partition, any other column by its keys, and by the
    file's statistics where no exact key has answered."""

    def __init__(self, known: RunCoverage, scope: Mask | None = None) -> None:
        super().__init__(known.run.files)
        self.columns = known.columns
        self._asked = known.asked
        self._statistics = FACT_ROWS.source(known.index.reader(known.run), known.stored, scope)
        self._keys = known.keys

    def _ask(self, question: Question) -> Mask:
        answers = self._keys.answers(question)
        exact = any(answer.asked.exact for answer in answers)
        out = self.constant(True) if exact else question.ask(self._statistics)
        for answer in answers:
            out = out & answer.files  # not in place: a source keeps what it answered
        return out

    def many(self, questions: Sequence[Question]) -> Mask:
        """A row a question: as `_ask`."""
        if not self._keys:
            return self._statistics.many(questions)
        out = np.ones((len(questions), self.count), np.bool_)
        of_questions = self._keys.answers_to(questions)
        others = [place for place, told in enumerate(of_questions) if not any(answer.asked.exact for answer in told)]
        if others:
            out[others] = self._statistics.many([questions[place] for place in others])
        for row, key_answers in zip(out, of_questions, strict=True):
            for answer in key_answers:
                row &= answer.mask()
        return out

    def apart(self, column: ColumnRef) -> Iterable[ManyFiles]:
        return (self,) if not self._keys or column in self._keys.exact_columns else (self._keys, self._statistics)

    def knows(self, column: ColumnRef) -> Mask:
        keyed = self._keys.keyed(column, self._asked.answered_by)
        return keyed if np.all(keyed) else keyed | self._statistics.knows(column)  # which are read for it

    def in_file(self, question: Question, position: int, groups: int) -> Mask:
        answers = self._keys.answers(question)
        out = np.ones(groups, np.bool_)
        for answer in answers:
            out &= answer.in_file(position, groups)
        if not any(answer.asked.exact for answer in answers):
            out &= question.ask(self._statistics)[position]
        return out

    def by_kind(self) -> Mapping[str, PruningStatistics[Mask]]:
        return {FACT_ROWS.name: self._statistics, **self._keys.by_kind()}


@dataclass(frozen=True, slots=True)
class RunCoverage:
    """The columns and keys of one run that a predicate can use. `key_columns`: those of its keys that are asked."""

    index: OpenIndex
    run: RunRef
    asked: BoundPredicate
    stored: dict[ColumnRef, StoredColumn]
    keys: KeySource
    key_columns: frozenset[ColumnRef]

    @classmethod
    def of(cls, index: OpenIndex, run: RunRef, asked: BoundPredicate) -> RunCoverage:
        stored = index.stored_columns(run, asked.columns, asked.schema) if run.columns else {}
        keys = _asked_keys(index, run, asked) if KINDS.looked_up(run) else []
        named = frozenset(column for key in keys for column in key.columns)
        return cls(index, run, asked, stored, KeySource(run.files, keys, asked.combinations), named)

    @classmethod
    def of_index(cls, index: OpenIndex, asked: BoundPredicate) -> list[RunCoverage]:
        """Return the runs of an index that know something of what is asked."""
        runs = (cls.of(index, run, asked) for run in index.entry.content.runs)
        return [known for known in runs if known.columns]

    @property
    def columns(self) -> set[ColumnRef]:
        return set(self.stored) | self.key_columns

    def whole(self) -> RunSource:
        """Return the answers about all files of the run."""
        return RunSource(self)

    def narrowed(self) -> RunSource:
        """Partitions first (RFC-27): a source that looks only into those that may match.

        It answers False for a file outside them, where its partition column answers or has no answer either, as its
        partition did. Every question is of the kind "may some row ...?" and the walk only joins them with AND and OR,
        so what it answers for a file outside is at most what it answered for its partition: no. A column whose equality
        an exact key answers is left out: its partitions' bounds would be read to learn less.
        """
        answered = self.asked.only_equal & self.keys.exact_columns
        stored = {ref: column for ref, column in self.stored.items() if ref not in answered}
        if self.run.partitions > 1 and stored:
            partitions = FACT_ROWS.partition_source(self.index.reader(self.run), stored)
            predicate, count = self.asked.predicate, self.run.partitions
            if PredicateProgram.pays(predicate):
                scope = PredicateProgram.may_match(predicate).over(partitions, count)
            else:
                scope = may_match(predicate, partitions)
            if not scope.all():
                return RunSource(self, scope)
        return self.whole()


def _compared(predicate: Predicate) -> tuple[frozenset[ColumnRef], frozenset[ColumnRef]]:
    """Return the columns compared for equality, and those of which something else is asked. Cached in the tree, like
    its steps."""
    if not isinstance(predicate, And | Or | Not):
        return _compared_in(predicate)
    compared: tuple[frozenset[ColumnRef], frozenset[ColumnRef]] | None = vars(predicate).get("_compared")
    if compared is None:
        compared = _compared_in(predicate)
        object.__setattr__(predicate, "_compared", compared)
    return compared


def _compared_in(predicate: Predicate) -> tuple[frozenset[ColumnRef], frozenset[ColumnRef]]:
    equal: set[ColumnRef] = set()
    otherwise: set[ColumnRef] = set()
    todo = [gathered_form(predicate)]
    while todo:
        match node := todo.pop():
            case And() | Or():
                todo += node.parts
            case Comparison(op=Op.EQ | Op.NULL_SAFE_EQ) | In():
                equal.add(node.column)
            case Comparison() | IsNull() | IsNan() | StartsWith():
                otherwise.add(node.column)
            case _:
                otherwise.update(node.columns)
    return frozenset(equal), frozenset(otherwise)


def _asked_keys(index: OpenIndex, run: RunRef, asked: BoundPredicate) -> list[AskedKey]:
    leaves = asked.leaves
    alone = set(asked.columns)
    together = {combination.columns for combination in asked.combinations.values()}
    keys = []
    for key in KINDS.looked_up(run):
        columns_ = _columns(key, leaves)
        if columns_ is None or not (columns_ in together if len(columns_) > 1 else columns_[0] in alone):
            continue
        types = [leaves[column.stable].type for column in key.columns]
        if index.of_text and types != [column.type for column in key.columns]:
            continue  # of text files, another type reads other values from the same bytes
        opened = partial(_opened, index, run, key, types)
        keys.append(AskedKey(key, columns_, opened, partial(index.unkeyed_files, run, key)))
    return keys


def _opened(index: OpenIndex, run: RunRef, key: CoveredKey, types: Sequence[pa.DataType]) -> KeyReader | None:
    return KINDS.key_reader(index.reader(run), key, types)


def _columns(key: CoveredKey, leaves: dict[str, Leaf]) -> Columns | None:
    """The key's columns by their names at the version; None if one is not there."""
    if not all(column.stable in leaves for column in key.columns):
        return None
    return tuple(ColumnRef(leaves[column.stable].parts) for column in key.columns)
