"""Kinds that keep facts of columns (`facts`): of every file, and of every partition, what is known of the values of
each column that they cover. `RunRef.columns` says which columns those are.

    FactKind   what a user asks for
    FactRows   the stored rows, on two levels: how they are written, merged, asked, checked and told of
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, dataclass
from metaindex.expressions import ColumnBounds, ColumnRef, PruningStatistics, Question, physical_type
from metaindex.formats import Leaf, Schema
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.store.rows import Columns

from .kind import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metaindex.index.store.layout import PartInfo
    from metaindex.index.store.reader import RunReader
    from metaindex.index.store.writer import RunSink

Ordinals = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Level:
    """The rows of one metadata partition. `order`: the columns by which they are sorted, NULL first; `columns`: how
    they are written."""

    partition: str
    schema: pa.Schema
    order: tuple[str, ...]
    columns: Columns


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A predicate's column in a run: its id, its type at write time and its type at the queried version."""

    column_id: int
    stored: pa.DataType
    current: pa.DataType
    partition: bool = False  # its values are those of partitions


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A column whose value is the partition's, in the files of a run by ordinal. `bounds`: of the files of the
    snapshot, of which they are `rows`. `no_value`: the value is NULL. `partitions`: `store.rows.PARTITIONS`."""

    leaf: Leaf
    bounds: ColumnBounds | None
    rows: npt.NDArray[np.int64]
    no_value: Mask
    partition_ord: Ordinals
    record_count: pa.ChunkedArray
    partitions: pa.Table


@dataclass(slots=True)
class MergedFiles:
    """Files of a merged run, by ordinal, and its partitions, by number. `ordinals`: by source, the new ordinal of each
    of its files, -1 if it is dropped."""

    ordinals: list[Ordinals]
    partition_ord: Ordinals
    records: pa.Array
    partitions: pa.Table
    digest: str
    parts: list[PartInfo]


class FactWriter(Protocol):
    """Takes the columns of a run one by one, by ascending column id. Then `close`, once."""

    def write(self, leaf: Leaf, facts: pa.Table) -> None:
        """The next column, by its facts in every file."""

    def write_values(self, column: PartitionColumn) -> None:
        """The next column, whose values are those of partitions."""

    def close(self) -> list[PartInfo]:
        """Return all parts."""


class FactSource(PruningStatistics[Mask], Protocol):
    """Answers to a walk, and to many questions at once."""

    def many(self, questions: Sequence[Question]) -> Mask:
        """A row a question."""


class FactRows(ABC):
    """The stored rows of facts; all of it is said of the class."""

    __slots__ = ()
    name: ClassVar[str]
    files: ClassVar[Level]
    partitions: ClassVar[Level]

    @classmethod
    @abstractmethod
    def writer(cls, sink: RunSink, partition_ord: Ordinals, partition_ids: pa.Array) -> FactWriter:
        """Return the writer of a run's rows. `partition_ord`: by file; `partition_ids`: by partition number."""

    @classmethod
    @abstractmethod
    def few(
        cls,
        sink: RunSink,
        partition_ord: Ordinals,
        partition_ids: pa.Array,
        leaves: Sequence[Leaf],
        facts: list[pa.Table],
    ) -> FactWriter:
        """Return a writer for few files and columns (`facts.MOST_ROWS`), given all of their facts."""

    @classmethod
    @abstractmethod
    def rows(
        cls, leaf: Leaf, facts: pa.Table, ordinals: pa.Array, partition_ord: pa.Array, partition_ids: pa.Array
    ) -> pa.Table:
        """The rows of some files (`files.schema`), in their order: for who sorts and writes them himself."""

    @classmethod
    @abstractmethod
    def values(cls, column: PartitionColumn) -> pa.Table:
        """The rows of partitions (`partitions.schema`) of a column whose values they say."""

    @classmethod
    @abstractmethod
    def aggregated(cls, rows: DataFrame) -> DataFrame:
        """Aggregate rows of files to those of partitions, by Spark."""

    @classmethod
    @abstractmethod
    def source(cls, run: RunReader, columns: Mapping[ColumnRef, StoredColumn], scope: Mask | None) -> FactSource:
        """Answers about the files of a run; a column that it does not know is True throughout. `scope`: the partitions
        that may hold matching rows; the answer for a file of any other is False, as its partition's was."""

    @classmethod
    @abstractmethod
    def partition_source(cls, run: RunReader, columns: Mapping[ColumnRef, StoredColumn]) -> FactSource:
        """Like `source`, with each partition treated as one file."""

    @classmethod
    @abstractmethod
    def together(cls, a: Sequence[CoveredColumn], b: Sequence[CoveredColumn]) -> tuple[CoveredColumn, ...] | None:
        """The columns of a run merged of two that cover these; None where the runs stay apart."""

    @classmethod
    @abstractmethod
    def merge(
        cls,
        columns: Sequence[CoveredColumn],
        sources: Sequence[RunReader],
        files: MergedFiles,
        blank: Mapping[str, Mask],
        sink: RunSink,
    ) -> list[PartInfo]:
        """Write the rows of several runs as those of one. `blank`: by run, the files without facts."""

    @classmethod
    @abstractmethod
    def check(cls, run: RunReader, partition_ord: Ordinals) -> Iterator[int]:
        """Reads all rows of a run back, and says after each column how many are done. Raises Mismatch, or what reading
        raises, where something is wrong. `partition_ord`: of each file, as the files themselves say."""

    @classmethod
    @abstractmethod
    def wrong(
        cls, run: RunReader, column: CoveredColumn, type_: pa.DataType, ordinals: Ordinals, truth: pa.Table
    ) -> Iterator[tuple[int, str]]:
        """Yield the files whose stored rows contradict their facts, the `truth`, and the difference."""

    @classmethod
    @abstractmethod
    def of_column(cls, run: RunReader, column: CoveredColumn, partition: str | None) -> pa.Table:
        """Return the stored rows of a column for every file (of one partition, by its text), by `ordinal`."""


class FactKind(Kind):
    """A kind that keeps facts of columns. `scan_floats`: float columns are read to count NaN. `trust_log`: what the
    table's log states of a file is taken where it is enough."""

    __slots__ = ()
    scan_floats: bool
    trust_log: bool

    @classmethod
    @abstractmethod
    def facts(cls) -> type[FactRows]:
        """The rows that it keeps."""

    @abstractmethod
    def narrowed(self, columns: Sequence[str]) -> FactKind:
        """Return the kind limited to these columns."""

    @abstractmethod
    def leaves(self, schema: Schema) -> list[Leaf]:
        """The columns to cover at a schema. UnknownColumnError, with the near names, for one that is not there;
        UnsupportedFeatureError for one that has no order."""


def footers_tell(leaf: Leaf) -> bool:
    """Return whether Parquet footers tell all facts of the column. They do not tell NaN of floats."""
    return (
        physical_type(leaf.type) is not None
        and not pa.types.is_floating(leaf.type)
        and not any(level.partition for level in leaf.path)
    )


def fact_kinds(kinds: Sequence[Kind]) -> list[FactKind]:
    """Return the kinds that keep facts of columns."""
    return [kind for kind in kinds if isinstance(kind, FactKind)]


def leaves_of(kinds: Sequence[Kind], schema: Schema) -> list[Leaf]:
    """Every column of which some kind keeps facts, once."""
    out: dict[str, Leaf] = {}
    for kind in fact_kinds(kinds):
        for leaf in kind.leaves(schema):
            out.setdefault(leaf.stable, leaf)
    return list(out.values())
