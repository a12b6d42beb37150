"""Kinds that keep facts of columns (`facts`): of every file, and of every partition, what is known of the values of
each column that they cover. `RunRef.columns` says which columns those are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, dataclass
from metaindex.expressions import ColumnBounds
from metaindex.formats import Leaf, Schema
from metaindex.index.store.rows import Columns

from .kind import Kind

if TYPE_CHECKING:
    from metaindex.index.store.layout import PartInfo

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


class FactKind(Kind):
    """A kind that keeps facts of columns. `scan_floats`: float columns are read to count NaN. `trust_log`: what the
    table's log states of a file is taken where it is enough."""

    __slots__ = ()
    keeps_facts = True
    scan_floats: bool
    trust_log: bool

    def check_columns(self, schema: Schema) -> None:
        self.leaves(schema)

    def reads(self, schema: Schema) -> list[Leaf]:
        inside = [leaf for leaf in self.leaves(schema) if not any(level.partition for level in leaf.path)]
        return [leaf for leaf in inside if not self.footers_tell(leaf)]

    @abstractmethod
    def leaves(self, schema: Schema) -> list[Leaf]: ...


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
