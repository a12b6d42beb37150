"""Kinds whose rows are rows of the table, kept a second time: a query reads them in the table's place.

    RowKind     what a user asks for
    RowPlan     one of them that is to be built: its columns at a version, and how its rows are put
    ServedRows  the stored rows, for who reads them, proves them and tells of them

Rows stand in parts that Spark reads as they are, sorted by the indexed columns, which are the first: in buckets by
Spark's own hash of them, in ranges of their values, or along a curve through several of them. Each row ends in its
*lineage*: which file of the run it is of, and which row of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import StorageError, dataclass
from metaindex.expressions import ColumnRef, Predicate
from metaindex.formats import Leaf, Schema
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo, run_folder

from .kind import Kind, StoredKind

if TYPE_CHECKING:  # what builds is loaded by the verbs that build
    from pyspark.sql import DataFrame

    from metaindex.index.store.reader import RunReader
    from metaindex.index.store.writer import RunSink

    from .pieces import WrittenPart

ORDINAL, ROW = "_mi_ordinal", "_mi_row"
RUN = "_mi_run"
"""No column of a part: the rule numbers the runs that a scan reads by it."""
LINEAGE = (pa.field(ORDINAL, pa.int32()), pa.field(ROW, pa.int64()))
"""The last columns of a part: which file of the run a row is of, and which row of it. Files of texts have no row
numbers: -1."""

NO_ROW = -1


TEXT_BYTES = 20
"""Of a text whose length nobody knows (Spark's own estimate); four times as much for what is nested or binary."""


@dataclass(frozen=True, slots=True)
class RowSizes:
    """Sizes of a key's parts in a run. `column_bytes`: what each stored column takes, compressed, lineage too. `keys`:
    how many different values of the indexed columns follow on each other (what stands at the end of one part and the
    beginning of the next counts twice); 0: not known, which runs before this was counted do not tell."""

    column_bytes: Mapping[str, int]
    keys: int = 0

    @staticmethod
    def of_value(type_: pa.DataType) -> int:
        """Return about how many bytes a value of this type has in memory."""
        try:
            return max(1, int(type_.bit_width) // 8)
        except ValueError:
            text = pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_)
            return TEXT_BYTES if text else 4 * TEXT_BYTES

    @staticmethod
    def packs_sorted(type_: pa.DataType) -> bool:
        """Return whether sorted values of a stored type take little: they are integers, whose differences are small."""
        return bool(pa.types.is_signed_integer(type_) or pa.types.is_date32(type_) or pa.types.is_timestamp(type_))


NOT_COUNTED = RowSizes({})


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part as a reader finds it. `bucket`: None in ranges. `ORDINAL`, `ROW`: its last columns."""

    info: PartInfo
    bucket: int | None
    ORDINAL: ClassVar[str] = ORDINAL
    ROW: ClassVar[str] = ROW

    @property
    def path(self) -> str:
        return self.info.path


class RowLayout(Protocol):
    """Layout of a key's rows in a run."""

    @property
    def buckets(self) -> int:
        """0: rows are in ranges."""

    @property
    def indexed(self) -> int:
        """Number of indexed columns."""

    @property
    def bounded(self) -> int:
        """Number of the first indexed columns by whose bounds parts are skipped; 0 in buckets."""

    @property
    def schema_json(self) -> str:
        """The columns of a part as a StructType of Spark, lineage apart."""

    @property
    def stored(self) -> pa.Schema:
        """Stored columns as an Arrow schema."""

    @property
    def spark_types(self) -> Mapping[str, object]:
        """The type of each stored column by its name, as JSON of Spark's."""

    @property
    def inner(self) -> Mapping[str, str]:
        """Inner fields of struct columns, by stable name, if a table identifies fields by ids: see `inner_fields`."""

    @property
    def sizes(self) -> RowSizes: ...


class RowWriter(Protocol):
    """Writes what one task of Spark's is given."""

    def add(self, rows: pa.Table) -> None:
        """The next rows, as `RowPlan.spread` put them. BuildError where they are others, or in another order."""

    def close(self) -> list[WrittenPart]:
        """Return all parts; none if there were no rows."""


class RowPlan(Protocol):
    """Plan of a build: plain data, which travels to tasks."""

    @property
    def key_id(self) -> int: ...

    @property
    def partition(self) -> str:
        """The metadata partition that holds its rows: `CoveredKey.kind`."""

    @property
    def columns(self) -> tuple[Leaf, ...]:
        """The indexed ones first; each by the fields that lead to it."""

    @property
    def indexed(self) -> int:
        """Number of indexed columns."""

    @property
    def stored(self) -> pa.Schema:
        """The columns as they are stored, under their stable names; lineage apart."""

    @property
    def part_schema(self) -> pa.Schema:
        """All columns of a part."""

    @property
    def bounded(self) -> int:
        """Number of bounded columns; see `RowLayout`."""

    @property
    def travels(self) -> pa.Schema:
        """Columns sent from the task that reads a row to the one that writes it: `travelling`, and the one it is spread
        by."""

    def settled(self, earlier: Sequence[CoveredKey], size_bytes: int, sample: Callable[[RowPlan], pa.Table]) -> RowPlan:
        """Complete the plan from the rows. `earlier`: the keys of the index's other runs, the newest first, which it
        keeps to. `sample`: some rows of all files, `travelling` columns of the plan that it is given. `size_bytes`: as
        for `spread`."""

    def placed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows (`travelling`) as they travel."""

    def spread(self, rows: DataFrame, size_bytes: int) -> DataFrame:
        """Rows (`travels`) over tasks, sorted in each. `size_bytes`: of data files, in the columns that are stored."""

    def writer(self, sink: RunSink, task: int, attempt: int, size_bytes: int) -> RowWriter:
        """Return the writer of a task's rows, under names unique to the attempt. `size_bytes`: as for `spread`."""

    def tried(self, rows: pa.Table, sink: RunSink) -> RowSizes:
        """Return the sizes that some rows (`part_schema`, in any order) would have as a part, to evaluate an
        index that is not built."""

    def cut(self, rows: pa.Table, parts: int) -> list[StoredPart]:
        """Return so many unwritten parts of equal size for these rows, with bounds and numbers of rows."""

    def parts_at(self, size_bytes: float) -> int:
        """Return the number of parts of so many stored bytes."""

    def covered(self, sizes: RowSizes = NOT_COUNTED, unkeyed_files: int = 0) -> CoveredKey:
        """The key as the log entry names it."""


class ServedRows(StoredKind):
    """The stored rows. They answer nothing of files."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def row_layout(cls, key: CoveredKey) -> RowLayout:
        """Return the layout of a key."""

    @classmethod
    def lasting(cls, key: CoveredKey) -> str:
        """Return a note on values in the key's layout, which stay until a full refresh; empty if there are none."""
        return ""

    @classmethod
    @abstractmethod
    def parts(cls, reader: RunReader, key: CoveredKey) -> list[StoredPart]:
        """The parts of a key in a run, in order of their bucket or range. One read: the manifest (cached)."""

    @classmethod
    @abstractmethod
    def parts_left(
        cls,
        key: CoveredKey,
        parts: Sequence[StoredPart],
        conjuncts: Sequence[Predicate],
        names: Mapping[ColumnRef, str],
    ) -> list[StoredPart]:
        """Return the parts, not in buckets, that may hold matching rows. `names`: the stable names of columns, as the
        predicate names them. A part with unknown bounds is kept."""

    @classmethod
    @abstractmethod
    def rows_of(cls, reader: RunReader, key: CoveredKey, ordinals: npt.NDArray[np.intp]) -> pa.Table:
        """Return all rows of some files, with lineage."""

    @classmethod
    @abstractmethod
    def planned_again(cls, key: CoveredKey, schema: Schema) -> RowPlan | None:
        """The key as it would be built at a schema; None where it would store something else."""


class RowKind(Kind):
    """A kind that keeps rows of the table: of the indexed columns, by which they are sorted, and of included ones.
    Built by Spark."""

    __slots__ = ()
    needs_spark = True
    indexed: tuple[str, ...]
    included: tuple[str, ...]

    @property
    def title(self) -> str:
        included = f"; {', '.join(self.included)}" if self.included else ""
        return f"{self.name}({', '.join(self.indexed)}{included})"

    @classmethod
    @abstractmethod
    def rows(cls) -> type[ServedRows]:
        """The rows that it keeps."""

    @classmethod
    def stored(cls) -> Sequence[type[StoredKind]]:
        return (cls.rows(),)

    @abstractmethod
    def planned(self, schema: Schema, place: int) -> RowPlan:
        """Plan the build for a schema. `place`: its number among those of its run, so that the parts of each have names
        of their own. UnknownColumnError, with the near names, for a column that is not there; UnsupportedFeatureError
        for one whose type is not stored, or that is indexed and has no order."""

    def check_columns(self, schema: Schema) -> None:
        self.planned(schema, 0)

    def reads(self, schema: Schema) -> list[Leaf]:
        return [*self.planned(schema, 0).columns]

    @abstractmethod
    def buckets_at(self, size_bytes: float) -> int:
        """Return the number of buckets for rows of so many bytes; 0: in ranges."""

    @property
    def bounded(self) -> int:
        """Return how many indexed columns have bounds by which parts are skipped, without buckets."""
        return 1


def row_plans(kinds: Sequence[Kind], schema: Schema) -> list[RowPlan]:
    """Return the plans of the kinds for a schema, each once. Raises as `RowKind.planned`."""
    plans: dict[int, RowPlan] = {}
    for kind in kinds:
        if isinstance(kind, RowKind):
            plan = kind.planned(schema, len(plans))
            plans.setdefault(plan.key_id, plan)
    return list(plans.values())


def with_lineage(stored: pa.Schema) -> pa.Schema:
    """Return all columns of a part."""
    return pa.schema([*stored, *LINEAGE])


def travelling(plan: RowPlan) -> pa.Schema:
    """The stored columns and lineage under names that mean nothing to SQL."""
    fields = [pa.field(f"c{place}", column.type) for place, column in enumerate(plan.stored)]
    return with_lineage(pa.schema(fields))


def sizes_of(parts: Iterable[WrittenPart]) -> RowSizes:
    """Return the total sizes of the parts."""
    column_bytes: dict[str, int] = {}
    keys = 0
    for part in parts:
        keys += part.keys
        for name, size in part.column_bytes.items():
            column_bytes[name] = column_bytes.get(name, 0) + size
    return RowSizes(column_bytes, keys)


def remove_strays(sink: RunSink, partition: str, named: Collection[str], start: str = "") -> None:
    """Removes parts of the run in a partition (those whose names begin so) that are not named: of tasks that were run
    twice, and of tries that came to nothing. What a store does not remove now is for `clean`."""
    folder = run_folder(partition, sink.run)
    with suppress(StorageError):
        there = [info.path for info in sink.storage.list(folder)]
        for path in there:
            if path.startswith(f"{folder}/{start}") and path not in named:
                sink.storage.delete(path)
