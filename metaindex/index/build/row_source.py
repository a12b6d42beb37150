"""The physical rows of data files in Parquet, deleted ones too, as they are stored to be read in the table's place:
read by the project's own reader, as the table shows them.

Plain data, so that it travels to a Spark task. What files have in common (values of partition columns, defaults that a
partition gives) is worked out once, by kinds of files: those of one partition and one partition spec are of one kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ObjectNotFoundError, ScanError
from metaindex.formats import Field, Format, ParquetRows, PartitionValues
from metaindex.index.kinds.row_plan import RowPlan
from metaindex.storage import Storage

from .protocol import BuildRequest


@dataclass(frozen=True, slots=True)
class DataFile:
    """Data file to be read. `modified_ms`: of plain files, which may be replaced in place; `rows`: if the table's log
    has their number; `kind`: see the module."""

    path: str
    size_bytes: int
    modified_ms: int | None
    rows: int | None
    kind: int


@dataclass(frozen=True, slots=True)
class CommonValues:
    """Values shared by a kind of files: each partition column's value (by its place in the plan) and whether it is
    known; and the fields whose default differs from the table's."""

    values: Mapping[int, tuple[pa.Array, pa.Array]]
    fields: Mapping[tuple[int, int], Field]  # by kind and place
    needed: bool  # a partition column without a known value is a doubt; else it stands in the file

    @classmethod
    def of(cls, request: BuildRequest, plan: RowPlan) -> tuple[npt.NDArray[np.int32], CommonValues]:
        """And the kind of each file of the request."""
        tops = [leaf.path[0] for leaf in plan.columns]
        asked = [place for place, top in enumerate(tops) if top.partition or not _defaults_known(top)]
        inside = Format.named(request.snapshot.format).partitions_in_files
        if not asked:
            return np.zeros(len(request.files), np.int32), cls({}, {}, not inside)
        kinds, rows = _kinds(request)
        partitions = PartitionValues(request.snapshot)
        values: dict[int, tuple[pa.Array, pa.Array]] = {}
        fields: dict[tuple[int, int], Field] = {}
        for place in asked:
            column = tops[place]
            if column.partition:
                scalars = [partitions.known(column, row) for row in rows]
                known = pa.array([value is not None for value in scalars])
                some = [pa.nulls(1, column.type) if v is None else pa.repeat(v.cast(column.type), 1) for v in scalars]
                values[place] = (pa.concat_arrays(some) if some else pa.nulls(0, column.type), known)
            pruned = plan.columns[place].alone
            for kind, row in enumerate(rows):
                shown = partitions.missing(pruned, row)
                if shown is not pruned:
                    fields[kind, place] = shown
        return kinds, cls(values, fields, not inside)


@dataclass(frozen=True, slots=True)
class RowSource:
    """Reader of rows: a plan, the names in files, and shared values."""

    plan: RowPlan
    rows: ParquetRows
    common: CommonValues

    @classmethod
    def of(cls, request: BuildRequest, plan: RowPlan) -> tuple[npt.NDArray[np.int32], RowSource]:
        """And the kind of each file of the request."""
        kinds, common = CommonValues.of(request, plan)
        return kinds, cls(plan, ParquetRows.of(request.snapshot), common)

    def read(self, storage: Storage, file: DataFile) -> Iterator[tuple[int, list[pa.Array]]]:
        """Batches of all rows: the place of the first in the file, and the stored columns. Raises what
        `collect.UNREADABLE` names where some are in doubt; rows that were given before count for nothing then."""
        with _opened(storage, file) as source:
            given: dict[int, pa.Scalar] = {}
            for place, (values, known) in self.common.values.items():
                if known[file.kind].as_py():
                    given[place] = values[file.kind]
                elif self.common.needed:
                    name = ".".join(self.plan.columns[place].parts)
                    raise ScanError(f"a partition column has one known value per file; that of {name!r} is not known")
            wanted = [place for place in range(len(self.plan.columns)) if place not in given]
            fields = tuple(self._field(file.kind, place) for place in wanted)
            total = 0
            for first, count, arrays in self.rows.read(source, fields, file.path):
                total += count
                shown = dict(zip(wanted, arrays, strict=True))
                yield (
                    first,
                    [self._stored(place, shown.get(place), given, count) for place in range(len(self.plan.columns))],
                )
            if file.rows is not None and file.rows != total:
                raise ScanError(f"the table's log says {file.rows} rows of {file.path!r}; it has {total}")

    def _field(self, kind: int, place: int) -> Field:
        return self.common.fields.get((kind, place)) or self.plan.columns[place].alone

    def _stored(self, place: int, values: pa.Array | None, given: Mapping[int, pa.Scalar], count: int) -> pa.Array:
        leaf, target = self.plan.columns[place], self.plan.stored.field(place).type
        if values is None:
            values = ParquetRows.constant(given[place], leaf.path[0].type, count)
        if depth := len(leaf.path) - 1:
            values = pc.struct_field(values, indices=[0] * depth)
        return values if values.type.equals(target) else values.cast(target)


def _opened(storage: Storage, file: DataFile) -> pa.NativeFile:
    try:
        source = storage.open_input(file.path)
    except ObjectNotFoundError as error:
        raise ScanError(f"a data file of the version is there; {file.path!r} is not") from error
    try:
        if source.size() != file.size_bytes:
            raise ScanError(f"the snapshot says {file.size_bytes} bytes of {file.path!r}, the file has {source.size()}")
        if file.modified_ms is not None:
            modified = storage.head(file.path).modified_ns // 1_000_000
            if modified != file.modified_ms:
                raise ScanError(f"{file.path!r} was replaced since it was listed")
    except BaseException:
        source.close()
        raise
    return source


def _defaults_known(field: Field) -> bool:
    return field.default_known and all(_defaults_known(child) for child in field.children)


def _kinds(request: BuildRequest) -> tuple[npt.NDArray[np.int32], Sequence[int]]:
    """The kind of each file, and of each kind one file's row in the snapshot."""
    table = request.snapshot.files.table
    key = request.partition_ord.astype(np.int64)
    if "iceberg_spec_id" in table.column_names:
        specs = table.column("iceberg_spec_id").take(pa.array(request.snapshot_rows)).to_numpy().astype(np.int64)
        key = key * (int(specs.max(initial=0)) + 1) + specs
    _, first, kinds = np.unique(key, return_index=True, return_inverse=True)
    return kinds.astype(np.int32), request.snapshot_rows[first].tolist()
