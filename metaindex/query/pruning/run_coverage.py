"""Coverage of a predicate's columns by a run: statistics under their stored types, and keys of one or several of
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import DamagedIndexError, Mask, Vector, counted, dataclass
from metaindex.expressions import (
    And,
    ColumnRef,
    Comparison,
    In,
    IsNan,
    IsNull,
    Not,
    Op,
    Or,
    Predicate,
    StartsWith,
    columns,
    gathered_form,
)
from metaindex.formats import Leaf, Schema
from metaindex.index import CoveredKey, KeyReader, OpenIndex, RunRef, StoredColumn, looked_up

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
        named = tuple(dict.fromkeys(ref for predicate in predicates for ref in columns(predicate)))
        leaves = {leaf.stable: leaf for leaf in schema.leaves()}
        keys = {
            of_key
            for index in indexes
            for run in index.entry.content.runs
            for key in looked_up(run)
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


@dataclass(frozen=True, slots=True)
class RunCoverage:
    """The columns and keys of one run that a predicate can use. `key_columns`: those of its keys that are asked."""

    stored: dict[ColumnRef, StoredColumn]
    keys: KeySource
    key_columns: frozenset[ColumnRef]

    def __bool__(self) -> bool:
        return bool(self.stored) or bool(self.key_columns)

    @property
    def columns(self) -> set[ColumnRef]:
        return set(self.stored) | self.key_columns

    def answered(self, asked: BoundPredicate) -> frozenset[ColumnRef]:
        """The columns about which an exact key answers everything that is asked."""
        return asked.only_equal & self.keys.exact_columns

    @classmethod
    def of(cls, index: OpenIndex, run: RunRef, asked: BoundPredicate) -> RunCoverage:
        stored = index.stored_columns(run, asked.columns, asked.schema) if run.columns else {}
        keys = _asked_keys(index, run, asked) if looked_up(run) else []
        named = frozenset(column for key in keys for column in key.columns)
        return cls(stored, KeySource(run.files, keys, asked.combinations), named)


def known_runs(index: OpenIndex, asked: BoundPredicate) -> list[tuple[RunRef, RunCoverage]]:
    """The runs that know something of what is asked."""
    pairs = ((run, RunCoverage.of(index, run, asked)) for run in index.entry.content.runs)
    return [(run, known) for run, known in pairs if known]


def lacking(index: OpenIndex, asked: BoundPredicate, files: int, of: int) -> str:
    """Return the reason that an index, which knows the asked columns in other files, does not cover these; empty if it
    lacks no file. Only a full refresh reads files again that were read before the index had the column."""
    if not files:
        return ""
    known = {run.run for run, _ in known_runs(index, asked)}
    without = any(run.run not in known and (run.columns or run.keys) for run in index.entry.content.runs)
    return f"it lacks {files:,} of {counted(of, 'file')}; refresh it" + (" with mode='full'" if without else "")


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
                otherwise.update(columns(node))
    return frozenset(equal), frozenset(otherwise)


def _asked_keys(index: OpenIndex, run: RunRef, asked: BoundPredicate) -> list[AskedKey]:
    leaves = asked.leaves
    alone = set(asked.columns)
    together = {combination.columns for combination in asked.combinations.values()}
    keys = []
    for key in looked_up(run):
        columns_ = _columns(key, leaves)
        if columns_ is None or not (columns_ in together if len(columns_) > 1 else columns_[0] in alone):
            continue
        types = [leaves[column.stable].type for column in key.columns]
        if index.of_text and types != [column.type for column in key.columns]:
            continue  # of text files, another type reads other values from the same bytes
        keys.append(_asked_key(index, run, key, columns_, types))
    return keys


def _asked_key(index: OpenIndex, run: RunRef, key: CoveredKey, columns_: Columns, types: list[pa.DataType]) -> AskedKey:
    def opened() -> KeyReader | None:
        from metaindex.index import key_reader

        return key_reader(index.reader(run), key, types)

    return AskedKey(key, columns_, opened, lambda: unkeyed_files(index, run, key))


def unkeyed_files(index: OpenIndex, run: RunRef, key: CoveredKey) -> Mask:
    """Return a mask of the run's files of which the key knows nothing. Raises DamagedIndexError if their number is not
    the log entry's."""
    reader = index.reader(run)

    def read() -> Mask:
        out = np.zeros(run.files, np.bool_)
        for part in reader.parts("unkeyed"):
            first, last = part.first_key, part.last_key
            if first is not None and last is not None and not first <= key.key_id <= last:
                continue
            ids = reader.footer(part).range("key_id")
            groups = [
                g for g in range(len(ids.known)) if not ids.known[g] or ids.least[g] <= key.key_id <= ids.greatest[g]
            ]
            if groups:
                table = reader.read(part, groups, ["key_id", "ordinal"])
                here = Vector(table.column("key_id")).numbers == key.key_id
                out[Vector(table.column("ordinal")).numbers[here]] = True
        if int(np.count_nonzero(out)) != key.unkeyed_files:
            raise DamagedIndexError(
                f"run {run.run} of index {index.name!r} names {key.unkeyed_files} files of which a key knows nothing; "
                f"{int(np.count_nonzero(out))} are there; refresh with mode='full'"
            )
        return out

    mask: Mask = reader.derived(f"unkeyed {key.kind} {key.key_id}", read)
    return mask


def _columns(key: CoveredKey, leaves: dict[str, Leaf]) -> Columns | None:
    """The key's columns by their names at the version; None if one is not there."""
    if not all(column.stable in leaves for column in key.columns):
        return None
    return tuple(ColumnRef(leaves[column.stable].parts) for column in key.columns)
