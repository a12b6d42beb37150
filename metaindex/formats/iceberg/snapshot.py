"""The files of one Iceberg snapshot, and what can be asked of them later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import UnsupportedFeatureError
from metaindex.expressions import ColumnBounds, ColumnRef
from metaindex.formats.model import FILE_SCHEMA, Deletes, FileTable, Leaf, SnapshotDetails
from metaindex.storage import Storage

from .buckets import BucketStatistics, buckets_of
from .deletes import DeleteLoader, attach, describe
from .locations import Place
from .manifests import Manifest, read_statistics
from .metadata import TableMetadata
from .name_mapping import NAME_MAPPING, mapping_sign, mapping_text
from .partition_bounds import identity_values, partition_bounds
from .schema import leaf_by_id, read_schema
from .statistics import ManifestStatistics
from .transforms import source_types

if TYPE_CHECKING:
    import polars as pl

_OWN = pa.schema(
    {
        "iceberg_spec_id": pa.int32(),
        "iceberg_sequence_number": pa.int64(),
        "iceberg_file_format": pa.string(),
        "iceberg_first_row_id": pa.int64(),
    }
)
ICEBERG_FILE_SCHEMA = pa.schema([*FILE_SCHEMA, *_OWN])
"""What an Iceberg `FileTable` holds: the common columns, then the file's partition spec, data sequence number, format
and first row id (V3)."""


def file_table(
    place: Place, metadata: TableMetadata, data: pl.DataFrame, deletes: pl.DataFrame, version: str
) -> tuple[FileTable, pl.DataFrame]:
    """Live data entries as a FileTable, with their deletes; and the pairs (file, delete)."""
    import polars as pl

    unpartitioned = [spec.id for spec in metadata.specs.values() if spec.unpartitioned]
    pairs = attach(data, deletes, unpartitioned, f"{metadata.location} snapshot {version}")
    attached = describe(pairs, deletes)
    frame = (
        data.with_row_index("file")
        .join(attached, on="file", how="left", maintain_order="left")
        .select(
            pl.Series("path", place.paths(data["location"])),
            "size_bytes",
            pl.lit(None, pl.Int64).alias("modified_ms"),
            "record_count",
            "partition",
            pl.col("identity").alias("deletes"),
            "deleted_count",
            sign_of_entry(metadata).alias("etag"),
            *(pl.col(name.removeprefix("iceberg_")).alias(name) for name in _OWN.names),
        )
    )
    twice = frame["path"].is_duplicated()
    if twice.any():
        raise UnsupportedFeatureError(
            f"a data file may be in a snapshot once; {metadata.location} snapshot {version} lists"
            f" {frame['path'].filter(twice)[0]} twice"
        )
    return FileTable(frame.to_arrow().cast(ICEBERG_FILE_SCHEMA).combine_chunks()), pairs


def sign_of_entry(metadata: TableMetadata) -> pl.Expr:
    """Return what distinguishes files of the same path and size: the data sequence number, and the adding snapshot. V1
    numbers no commits: there the snapshot alone does. Both survive rewritten manifests and an upgrade of the table. If
    a name mapping may find columns, its sign is part of it, too."""
    import polars as pl

    told = [pl.col("sequence_number"), pl.col("snapshot_id")]
    sign = mapping_sign(metadata)
    return pl.concat_str(*told, *([pl.lit(sign)] if sign else []), separator="-", ignore_nulls=True)


@dataclass(slots=True)
class IcebergDetails(SnapshotDetails):
    """`SnapshotDetails` of an Iceberg snapshot. Column statistics are decoded from the manifests when first asked
    for."""

    storage: Storage
    place: Place
    metadata: TableMetadata
    data_manifests: tuple[Manifest, ...]
    snapshot_id: int
    data: pl.DataFrame  # live data entries, a row a file; `entry`: which of the manifests', where these have more
    delete_entries: pl.DataFrame
    pairs: pl.DataFrame  # (file, delete) rows of the two
    loader: DeleteLoader
    _statistics: ManifestStatistics | None = field(default=None)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the decoded statistics, which another process decodes on demand."""
        return IcebergDetails, tuple(getattr(self, f.name) for f in fields(self) if f.name != "_statistics")

    @property
    def statistics(self) -> ManifestStatistics:
        if self._statistics is None:
            imported = NAME_MAPPING in self.metadata.properties
            rows = self.data["record_count"].to_numpy().astype(np.int64)
            self._statistics = ManifestStatistics(self.stated, rows, imported=imported)
        return self._statistics

    def stated(self, names: Sequence[str]) -> pl.DataFrame:
        """Return maps of statistics (`value_counts`, `lower_bounds` ...) as the manifests have them, a row a file."""
        whole = read_statistics(
            self.storage, self.place, self.metadata, self.data_manifests, names, snapshot_id=self.snapshot_id
        )
        return whole[self.data["entry"].to_list()] if "entry" in self.data.columns else whole

    def log_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        return self.statistics.bounds(leaf)

    def partition_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        return partition_bounds(self.data, self.metadata.specs, leaf)

    def known_partition_values(self, leaf: Leaf, time_zone: str) -> tuple[pa.Array, npt.NDArray[np.bool_]] | None:
        return identity_values(self.data, self.metadata.specs, leaf)

    def initial_default(self, field_id: int) -> tuple[bool, object]:
        """Return whether the value of a column that a file lacks is known, and the value, from the schemas alone,
        whatever their partitions hold. It never changes."""
        for content in [self.metadata.schemas[self.metadata.current_schema_id], *self.metadata.schemas.values()]:
            leaf = leaf_by_id(read_schema(content, self.metadata.location), field_id)
            if leaf is not None:
                return leaf.field.default_known, leaf.field.default
        return False, None

    def partition_hashes(self, leaves: Mapping[ColumnRef, Leaf]) -> BucketStatistics | None:
        types = {i: {str(kind) for kind in kinds} for i, kinds in source_types(self.metadata).items()}
        pairs = {
            ref: (leaf.type, buckets_of(self.data, self.metadata.specs, types, leaf)) for ref, leaf in leaves.items()
        }
        known = {ref: pair for ref, pair in pairs.items() if pair[1]}
        return BucketStatistics(self.data.height, known) if known else None

    def deletes(self, row: int) -> Deletes:
        import polars as pl

        attached = self.pairs.filter(pl.col("file") == row)["delete"]
        entries = self.delete_entries[attached.to_list()] if attached.len() else self.delete_entries.head(0)
        return self.loader.load(self.data["location"][row], entries.to_dicts())

    def read_options(self) -> Mapping[str, object]:
        """Files of other formats than Parquet are listed in `iceberg_file_format` and cannot be read."""
        return read_options(self.metadata)


def read_options(metadata: TableMetadata) -> Mapping[str, object]:
    """Parquet columns are found by field id; files that carry none (imported ones) by the names of `name_mapping`
    (Iceberg's JSON), None where the table has none."""
    return {"file_format": "parquet", "columns_by": "field_id", "name_mapping": mapping_text(metadata)}
