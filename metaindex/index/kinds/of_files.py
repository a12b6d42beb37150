"""Kinds that keep one row of every file: what its values come to. No value is looked up in them, so they leave no file
out; what is known of files answers for them (`answers/`).

A class says its schema, whose first columns are `key_id` and `ordinal`, and makes what takes the values of a file
(`of_files_built.OfFile`). Of a file whose values cannot be taken there is no row: it is unkeyed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import ArgumentError, Mask, UnsupportedFeatureError, Vector
from metaindex.expressions import Literal
from metaindex.formats import Leaf, Schema
from metaindex.index.log.entry import CoveredKey

from .exact_sums import can_be_summed
from .keyed import EqualityReader, Gathered, Hits, KeyPlan, Spill
from .kind import KeyCheck, KeyRows, Merged, MergeInto, Mismatch, PlannedKey, WholeKind, keys_of
from .theta.sketch import can_be_sketched

if TYPE_CHECKING:  # what writes, and what reads parts, is loaded by the verbs that need it
    from metaindex.index.store.reader import RunReader
    from metaindex.index.store.writer import RunSink

    from .command import KindCommand
    from .keyed import KeyCollector, KeyFinisher
    from .kind import Kind
    from .of_files_built import OfFile


class FileAggregate(Enum):
    """Aggregates of a file's values in the rows."""

    SUM = auto()
    DISTINCT_VALUES = auto()

    def takes(self, type_: pa.DataType) -> bool:
        """Return whether there are aggregates of values of this type. Integers and decimals have sums: the order in
        which floats are added changes theirs."""
        return can_be_summed(type_) if self is FileAggregate.SUM else can_be_sketched(type_)


class OfFilesKind(WholeKind):
    """A kind with a row a file and key; each key is one column."""

    __slots__ = ()
    schema: ClassVar[pa.Schema]
    tells: ClassVar[FileAggregate]
    finds_values = False
    unkeyed_because: ClassVar[str] = "values that cannot be taken"
    taken: ClassVar[str] = "columns whose values they can take"  # for people
    takes_every_row: ClassVar[bool] = True

    @classmethod
    def command(cls) -> KindCommand[Kind] | None:
        from .command import Keys

        return Keys.named(cls.name, cls.__doc__, cls, Keys.ONE_EACH)

    @abstractmethod
    def of_file(self, type_: pa.DataType) -> OfFile:
        """Return a collector of a file's values, for a column of this type."""

    @classmethod
    @abstractmethod
    def made_by(cls, key: CoveredKey) -> OfFilesKind:
        """Return the kind that made the stored rows."""

    @classmethod
    @abstractmethod
    def wrong_row(cls, row: Mapping[str, Any]) -> str | None:
        """Return why a stored row is invalid, or None."""

    @property
    @abstractmethod
    def row_bytes(self) -> int:
        """Approximate largest size of a row."""

    @property
    def said_layout(self) -> dict[str, int | str]:
        """The layout of its keys."""
        return {}

    def planned(self, schema: Schema) -> list[tuple[Leaf, ...]]:
        keys = super().planned(schema)
        for (leaf,) in keys:
            if len(leaf.path) > 1 or leaf.field.partition:
                place = "is of a partition" if leaf.field.partition else "is a field of a struct"
                raise UnsupportedFeatureError(
                    f"{self.name} are of columns that stand in the files, at the top; {'.'.join(leaf.parts)!r} {place};"
                    " choose another column"
                )
            if not self.tells.takes(leaf.type):
                raise UnsupportedFeatureError(
                    f"{self.name} are of {self.taken}; {'.'.join(leaf.parts)!r} is {leaf.type}; choose another column"
                )
        return keys

    def collector(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> KeyCollector:
        from .of_files_built import OfFilesCollector

        return OfFilesCollector(self, plan, sink, spill, files)

    def finisher(
        self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]
    ) -> KeyFinisher:
        from .of_files_built import OfFilesFinisher

        return OfFilesFinisher(self, plan, sink, spill, files, tuple(gathered))

    @classmethod
    def reader(cls, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> NothingFound:
        return NothingFound()

    @classmethod
    def merge(cls, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto) -> Merged:
        from .of_files_built import merged

        return dict(key.layout), list(merged(cls.schema, cls.made_by(key).row_bytes, key, some, into))

    @classmethod
    def check(cls, reader: RunReader, key: CoveredKey, unkeyed: Mask, records: pa.ChunkedArray) -> None:
        from .stored_rows import named, stored_rows

        seen = np.zeros(len(unkeyed), np.bool_)
        last = -1
        for table in stored_rows(reader, key):
            if table.schema.names != cls.schema.names:
                raise Mismatch(f"{named(key)} has other columns than its kind", key.kind)
            ordinals = Vector(table.column("ordinal")).numbers.astype(np.int64)
            if len(ordinals) and (ordinals[0] <= last or (np.diff(ordinals) <= 0).any()):
                raise Mismatch(f"the rows of {named(key)} do not ascend by file", key.kind)
            if len(ordinals) and ordinals[-1] >= len(unkeyed):
                raise Mismatch(f"rows of {named(key)} are of files that the run does not have", key.kind)
            seen[ordinals] = True
            last = int(ordinals[-1]) if len(ordinals) else last
            for row in table.to_pylist():
                if (why := cls.wrong_row(row)) is not None:
                    raise Mismatch(f"a row of {named(key)} {why}", key.kind)
        if (seen == unkeyed).any():
            raise Mismatch(f"{named(key)} has a row for each file of which it is said to know, and no other", key.kind)

    @classmethod
    def compared(
        cls, reader: RunReader, key: CoveredKey, plan: PlannedKey, ordinals: npt.NDArray[np.intp], spill: Spill
    ) -> KeyCheck:
        from .of_files_built import OfFilesCheck

        return OfFilesCheck(cls.made_by(key), plan, reader, key)


def of_key(reader: RunReader, key: CoveredKey, names: Sequence[str]) -> pa.Table:
    """Return these columns of all rows of a key, in the order of their files."""
    tables = []
    for part in reader.parts(key.kind):
        if part.first_key == key.key_id:
            groups = range(len(reader.footer(part).rows))
            tables.append(reader.read(part, groups, names, keep=False))
    if not tables:
        return pa.table({name: pa.array([], pa.int64()) for name in names})
    return pa.concat_tables(tables).combine_chunks()


class NothingFound(EqualityReader):
    """Look-up without answers: an aggregate of a file does not tell which values it has."""

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        return None


def one_column_each(kind: str, keys: Sequence[str | Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Keys of one column each, as a constructor gets them. ArgumentError for anything else."""
    named_keys = keys_of(kind, keys)
    for key in named_keys:
        if len(key) > 1:
            raise ArgumentError(f"{kind} are of one column each, as in {kind}('a', 'b'); got {key!r}")
    return named_keys
