"""Manifest lists and manifests as columns: one row per entry, inherited fields filled in, whatever writer and format
version they come from.

    column                 type     of an entry
    status                 int32    0 existing, 1 added, 2 deleted
    snapshot_id            int64    that added or deleted it
    sequence_number        int64    data sequence number: which deletes apply
    content                int32    0 data, 1 position deletes, 2 equality deletes
    location, file_format, record_count, size_bytes, spec_id, first_row_id
    partition              string   canonical text of the partition tuple (`model.partition_text`)
    p<field id>            of spec  the value of each partition field, in physical types

and of delete files what attaches them: referenced, content_offset, content_size, equality_ids, path_low, path_high.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from metaindex.formats.damage import as_damage, must_exist, parse_json
from metaindex.storage import Storage, each_at

from .avro import AvroFile, read_avro
from .locations import Place
from .metadata import PartitionSpec, SnapshotInfo, TableMetadata, parse_spec
from .transforms import partition_texts

if TYPE_CHECKING:
    import polars as pl

DELETED = 2
ADDED = 1
DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
PATH_FIELD_ID = 2147483546  # of `file_path` in position delete files


@dataclass(frozen=True, slots=True)
class Manifest:
    """A row of a manifest list."""

    location: str
    length: int | None
    spec_id: int | None  # None: the manifest's own header says it
    content: int
    sequence_number: int
    added_snapshot_id: int | None
    live_files: int | None  # added and existing; None: the list does not say
    first_row_id: int | None


def read_manifest_list(
    storage: Storage, place: Place, metadata: TableMetadata, snapshot: SnapshotInfo
) -> list[Manifest]:
    """The manifests of a snapshot."""
    if snapshot.key_id is not None:
        raise UnsupportedFeatureError(
            f"encrypted Iceberg tables are not read; the manifest list of {metadata.location} snapshot {snapshot.id} is"
            " encrypted"
        )
    if snapshot.manifest_list is None:
        return [Manifest(location, None, None, DATA, 0, None, None, None) for location in snapshot.manifests]
    whose = f"{metadata.location} snapshot {snapshot.id}: manifest list {snapshot.manifest_list}"
    rows = read_avro(_read(storage, place, snapshot.manifest_list, whose), whose).rows
    with _as_specified(whose):
        return _listed(rows, whose)


def _listed(rows: pl.DataFrame, whose: str) -> list[Manifest]:
    out = []
    for row in rows.iter_rows(named=True):
        if row.get("key_metadata") is not None:
            raise UnsupportedFeatureError(f"encrypted Iceberg tables are not read; {whose} names an encrypted manifest")
        counts = (
            row.get("added_files_count", row.get("added_data_files_count")),
            row.get("existing_files_count", row.get("existing_data_files_count")),
        )
        out.append(
            Manifest(
                location=row["manifest_path"],
                length=row.get("manifest_length"),
                spec_id=row["partition_spec_id"],
                content=row.get("content") or DATA,
                sequence_number=row.get("sequence_number") or 0,
                added_snapshot_id=row.get("added_snapshot_id"),
                live_files=None if counts[0] is None or counts[1] is None else counts[0] + counts[1],
                first_row_id=row.get("first_row_id"),
            )
        )
    return out


def read_manifests(
    storage: Storage,
    place: Place,
    metadata: TableMetadata,
    manifests: Sequence[Manifest],
    *,
    snapshot_id: int,
    only_live: bool = True,
) -> pl.DataFrame:
    """Read the entries of all manifests, in their order. `snapshot_id` is for errors."""
    import polars as pl

    def entries_of(manifest: Manifest) -> pl.DataFrame:
        whose = f"{metadata.location} snapshot {snapshot_id}: manifest {manifest.location}"
        bounds = _PATH_BOUNDS if manifest.content == POSITION_DELETES else ()
        file = _open(storage, place, manifest, whose, (*_OF_ENTRY, *bounds))
        with _as_specified(whose):
            return _entries(file, manifest, metadata, whose, only_live)

    frames = each_at(storage.root, manifests, entries_of, of_disk=4)
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame(schema=_types())


def named_by(snapshot_id: int) -> pl.Expr:
    """Return the condition on the entries that tell what a commit did, in the manifests that it wrote. A deleted file
    is listed by the commit that deleted it alone, and its entry must have that commit's id; PyIceberg before 0.10
    leaves the id of the commit that added the file."""
    import polars as pl

    return (pl.col("status") == DELETED) | ((pl.col("status") == ADDED) & (pl.col("snapshot_id") == snapshot_id))


def read_statistics(
    storage: Storage,
    place: Place,
    metadata: TableMetadata,
    manifests: Sequence[Manifest],
    names: Sequence[str],
    *,
    snapshot_id: int,
) -> pl.DataFrame:
    """The maps `names` (`value_counts`, `lower_bounds` ...) as they stand in the live entries of data manifests, in the
    order of `read_manifests`."""
    import polars as pl

    def statistics_of(manifest: Manifest) -> pl.DataFrame:
        whose = f"{metadata.location} snapshot {snapshot_id}: manifest {manifest.location}"
        file = _open(storage, place, manifest, whose, ("status", *(f"data_file.{name}" for name in names)))
        with _as_specified(whose):
            return file.rows.filter(pl.col("status") != DELETED).select(statistics(name, file) for name in names)

    def statistics(name: str, file: AvroFile) -> pl.Expr:
        value = pl.Binary if name in ("lower_bounds", "upper_bounds") else pl.Int64
        inner = f"data_file.{name}"
        column = pl.col(inner) if inner in file.names else pl.lit(None)
        return column.cast(pl.List(pl.Struct({"key": pl.Int32, "value": value}))).alias(name)

    frames = each_at(storage.root, manifests, statistics_of, of_disk=4)
    return pl.concat(frames) if frames else pl.DataFrame()


def _as_specified(whose: str) -> AbstractContextManager[None]:
    from polars.exceptions import PanicException, PolarsError

    return as_damage(
        f"{whose} must have the fields of the specification (", "); restore it", PolarsError, PanicException
    )


def _read(storage: Storage, place: Place, location: str, whose: str) -> bytes:
    with must_exist(f"what metadata names must exist; {whose} does not (expired, or removed by hand)"):
        return storage.read(place.open(location))


def _open(storage: Storage, place: Place, manifest: Manifest, whose: str, only: Collection[str]) -> AvroFile:
    data = _read(storage, place, manifest.location, whose)
    if manifest.length is not None and len(data) < manifest.length:
        raise CorruptTableError(f"{whose} has {len(data)} of {manifest.length} bytes; restore it")
    return read_avro(data, whose, inline="data_file", only=only)


_OF_DATA_FILE = {
    "location": "file_path",
    "file_format": "file_format",
    "record_count": "record_count",
    "size_bytes": "file_size_in_bytes",
    "first_row_id": "first_row_id",
    "referenced": "referenced_data_file",
    "content_offset": "content_offset",
    "content_size": "content_size_in_bytes",
    "equality_ids": "equality_ids",
}
_COLUMNS = {
    "Int32": ("status", "content", "spec_id"),
    "Int64": (
        *("snapshot_id", "sequence_number", "record_count", "size_bytes", "first_row_id"),
        *("content_offset", "content_size"),
    ),
    "String": ("location", "file_format", "referenced", "partition"),
    "Binary": ("path_low", "path_high"),
}
"""By the names of their types in Polars, which is imported late."""


def _types() -> dict[str, Any]:
    import polars as pl

    types = {name: getattr(pl, kind) for kind, names in _COLUMNS.items() for name in names}
    return {**types, "equality_ids": pl.List(pl.Int32)}


_OF_ENTRY = (
    *("status", "snapshot_id", "sequence_number"),
    *(f"data_file.{name}" for name in ("content", "partition", "key_metadata", *_OF_DATA_FILE.values())),
)
_PATH_BOUNDS = ("data_file.lower_bounds", "data_file.upper_bounds")


def _entries(file: AvroFile, manifest: Manifest, metadata: TableMetadata, whose: str, only_live: bool) -> pl.DataFrame:
    import polars as pl

    rows = file.rows
    types = _types()

    def at(name: str) -> pl.Expr:
        return pl.col(name) if name in rows.columns else pl.lit(None)

    def within(name: str, to: str) -> pl.Expr:
        return at(f"data_file.{name}").cast(types[to]).alias(to)

    def outer(name: str) -> pl.Expr:
        return at(name).cast(types[name]).alias(name)

    def path_bound(name: str, to: str) -> pl.Expr:
        if name not in rows.columns:
            return pl.lit(None).cast(pl.Binary).alias(to)
        element = pl.element().struct
        of_path = pl.col(name).list.eval(element.field("value").filter(element.field("key") == PATH_FIELD_ID))
        return of_path.list.first().cast(pl.Binary).alias(to)

    spec = _spec_of(file, manifest, metadata, whose)
    columns = _partition_columns(file, spec, whose)
    frame = rows.select(
        pl.col("status").cast(pl.Int32),
        outer("snapshot_id").fill_null(pl.lit(manifest.added_snapshot_id, pl.Int64)),
        outer("sequence_number"),
        within("content", "content").fill_null(DATA),
        *(within(name, to) for to, name in _OF_DATA_FILE.items()),
        pl.lit(spec.id, pl.Int32).alias("spec_id"),
        path_bound("data_file.lower_bounds", "path_low"),
        path_bound("data_file.upper_bounds", "path_high"),
        *(
            pl.col("data_file.partition").struct.field(name).alias(f"p{field.field_id}")
            for name, field in zip(columns, spec.fields, strict=True)
        ),
        at("data_file.key_metadata").is_not_null().alias("encrypted"),
    )
    if frame["encrypted"].any():
        raise UnsupportedFeatureError(f"encrypted Iceberg files are not read; {whose} lists some")
    frame = _inherit(frame.drop("encrypted"), manifest, whose)
    names = ("status", "location", "record_count", "size_bytes")
    if frame.select(pl.any_horizontal(pl.col(name).is_null() for name in names).any()).item():
        raise CorruptTableError(
            f"an entry must have a status, a path, a size and a record count; {whose} has one without"
        )
    if only_live:
        frame = frame.filter(pl.col("status") != DELETED)
    several = len(metadata.specs) > 1
    text = partition_texts(frame, spec, metadata, prefix=f"{spec.id}:" if several else "")
    return frame.with_columns(text.alias("partition"), pl.col("file_format").str.to_lowercase())


def _spec_of(file: AvroFile, manifest: Manifest, metadata: TableMetadata, whose: str) -> PartitionSpec:
    """The spec that the list names; of a manifest that stands in no list, the one that its header names or, where that
    is left out, describes."""
    header = file.metadata
    spec_id = manifest.spec_id
    if spec_id is None and "partition-spec-id" in header:
        spec_id = int(header["partition-spec-id"])
    if spec_id is None and "partition-spec" in header:
        written = parse_spec(0, parse_json(header["partition-spec"])).fields
        said = [(f.source_id, f.transform) for f in written]
        alike = [spec for spec in metadata.specs.values() if [(f.source_id, f.transform) for f in spec.fields] == said]
        if not alike:
            raise CorruptTableError(
                f"{whose} is of a partition spec of {[f.name for f in written]}, which the metadata file"
                f" {metadata.file} does not list"
            )
        return alike[-1]
    spec_id = spec_id or 0
    if spec_id not in metadata.specs:
        raise CorruptTableError(
            f"{whose} is of partition spec {spec_id}, which the metadata file {metadata.file} does not list"
        )
    return metadata.specs[spec_id]


def _partition_columns(file: AvroFile, spec: PartitionSpec, whose: str) -> list[str]:
    """Names in the record of the spec's fields: by field id, else by position (old writers leave the ids out)."""
    record = _field(file.schema, "data_file", "partition")
    written = record["fields"] if record is not None else []
    by_id = {f.get("field-id"): f["name"] for f in written}
    if all(field.field_id in by_id for field in spec.fields):
        return [by_id[field.field_id] for field in spec.fields]
    if len(written) == len(spec.fields) and not any("field-id" in f for f in written):
        return [f["name"] for f in written]
    raise CorruptTableError(
        f"{whose} must hold the fields of partition spec {spec.id}; it has {[f['name'] for f in written]}"
    )


def _field(record: Any, *names: str) -> Any:
    """The record in these fields, one inside the other; None where there is none."""
    for name in names:
        kind = next((f["type"] for f in record["fields"] if f["name"] == name), None)
        record = next(branch for branch in kind if isinstance(branch, dict)) if isinstance(kind, list) else kind
    return record


def _inherit(frame: pl.DataFrame, manifest: Manifest, whose: str) -> pl.DataFrame:
    """Sequence numbers and row ids that an entry leaves to its manifest: a manifest is written before its commit knows
    them."""
    import polars as pl

    added_or_old = (pl.col("status") == ADDED) | (manifest.sequence_number == 0)
    frame = frame.with_columns(
        pl.when(pl.col("sequence_number").is_null() & added_or_old)
        .then(manifest.sequence_number)
        .otherwise(pl.col("sequence_number"))
        .alias("sequence_number")
    )
    if frame.select((pl.col("sequence_number").is_null() & (pl.col("status") != DELETED)).any()).item():
        raise CorruptTableError(
            f"only added entries may leave out their sequence number; {whose} has an existing one without"
        )
    if manifest.first_row_id is None or manifest.content != DATA:
        return frame
    needs = pl.col("first_row_id").is_null() & (pl.col("status") != DELETED)
    taken = pl.when(needs).then(pl.col("record_count")).otherwise(0)
    start = manifest.first_row_id + taken.cum_sum() - taken
    return frame.with_columns(pl.when(needs).then(start).otherwise(pl.col("first_row_id")).alias("first_row_id"))
