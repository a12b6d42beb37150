"""Iceberg tables, formats 1 to 3, without a JVM.

A table is named by its folder, by one of its metadata files, or by a pyiceberg catalog (`options["catalog"]`, with
`options["identifier"]` or the path as the name in it). The metadata file alone resolves versions; a snapshot reads its
manifest list and manifests; a diff reads those that the commits in between wrote, unless they changed deletes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import xxhash

from metaindex.core import Cure, MetaIndexError, NotATableError, StorageError, UnsupportedFeatureError
from metaindex.formats.format import At, Format, TableRef
from metaindex.formats.model import Base, Changes, Field, Schema, Snapshot, Version
from metaindex.storage import both_at, is_remote, parent_of

from .changes import changes_from_commits
from .configured import identifier_of
from .deletes import DeleteLoader
from .finding import HINT, METADATA_ENDS, Located, locate, newest_of
from .locations import Place, is_absolute, normal
from .manifests import DATA, Manifest, read_manifest_list, read_manifests
from .metadata import NO_SNAPSHOT, Selected, SnapshotInfo, TableMetadata, read_document, read_metadata, select
from .name_mapping import mapped_names, mapping_sign
from .schema import read_schema
from .snapshot import IcebergDetails, file_table, read_options
from .transforms import Transform

if TYPE_CHECKING:
    import polars as pl

    from metaindex.formats.glimpse import Glimpse


class IcebergFormat(Format):
    """Iceberg tables, by a path or in a catalog."""

    name = "iceberg"
    mark = "metadata"
    mark_files = ("version-hint.text", *METADATA_ENDS)
    rewritten_by = "procedure"
    partitions_in_files = True
    library = "pyiceberg"

    def __init__(self) -> None:
        self._located: Located | None = None  # as it was found last
        self._last: tuple[Located, TableMetadata] | None = None

    def detect(self, ref: TableRef) -> bool:
        """A catalog in the options, a metadata file as the path, or a version hint or metadata file below
        `metadata/`."""
        if ref.options.get("catalog") is not None or ref.path.endswith(METADATA_ENDS):
            return True
        try:
            self._located = locate(ref.storage, ref.path)
        except (NotATableError, StorageError):
            return False
        except MetaIndexError:
            return True  # damaged, and Iceberg's all the same
        return True

    def recognized(self, ref: TableRef, seen: Glimpse) -> bool | None:
        self.indexes_seen = seen.root.below("_metaindex")
        if ref.path.endswith(METADATA_ENDS):
            return None
        names = seen.metadata.objects
        if not (newest := newest_of(names)):
            return False if seen.metadata.whole and HINT not in names else None
        if HINT not in names and seen.metadata.whole:
            path = f"{ref.path.rstrip('/')}/metadata/{newest}"
            self._located = Located(path, replace(names[newest], path=path))
        return True

    def resolve(self, ref: TableRef, at: At) -> Version:
        metadata = self.current(ref)
        return version_of(metadata, select(metadata, at))

    def read_options(self, ref: TableRef) -> Mapping[str, object]:
        last = self._last  # of the version that was resolved last
        return read_options(self.current(ref) if last is None else last[1])

    def root(self, ref: TableRef) -> str | None:
        if "catalog" in ref.options:
            return None
        return parent_of(parent_of(ref.path)) if ref.path.endswith(".json") else ref.path

    def versions(self, ref: TableRef) -> Sequence[Version]:
        metadata = self.current(ref)
        ordered = sorted(metadata.snapshots.values(), key=lambda s: (s.sequence_number, s.timestamp_ms))
        return [version_of(metadata, select(metadata, At(version=snapshot_info.id))) for snapshot_info in ordered]

    def snapshot(self, ref: TableRef, at: At) -> Snapshot:
        metadata = self.current(ref)
        selected = select(metadata, at)
        place = _place(ref, metadata)
        snapshot = selected.snapshot
        manifests = [] if snapshot is None else read_manifest_list(ref.storage, place, metadata, snapshot)
        of_data = [m for m in manifests if m.content == DATA]
        of_deletes = [m for m in manifests if m.content != DATA]
        read = partial(read_manifests, ref.storage, place, metadata, snapshot_id=snapshot.id if snapshot else 0)
        data, deletes = both_at(ref.storage.root, partial(read, of_data), partial(read, of_deletes))
        return _assembled(ref, place, metadata, selected, of_data, data, deletes, data["spec_id"].unique().to_list())

    def changes(self, ref: TableRef, bases: Sequence[Base], target: At, to: Version | None = None) -> Changes | None:
        last = self._last
        known = to is not None and last is not None and version_of(last[1], select(last[1], target)) == to
        metadata = last[1] if known and last is not None else self.current(ref)
        selected, place = select(metadata, target), _place(ref, metadata)
        assembled = partial(_assembled, ref, place, metadata, selected)
        return changes_from_commits(ref, place, metadata, bases, selected.snapshot, _commit_of, assembled)

    def document(self, ref: TableRef) -> tuple[str, Mapping[str, Any]]:
        """Return the place of the current metadata file, and all of its JSON."""
        file = self.current(ref).file
        return file, read_document(ref.storage, file)

    def current(self, ref: TableRef) -> TableMetadata:
        """Read the current metadata file, but for one that the store says is as it was."""
        if ref.options.get("catalog") is not None:
            location = _in_catalog(ref)
            self._last = Located(location), read_metadata(ref.storage, location, self._last and self._last[1])
            return self._last[1]
        last, before = self._last, self._located
        guess = None if before is None or last is not None else before.path
        located, ahead = both_at(
            ref.storage.root,
            partial(locate, ref.storage, ref.path, before),
            partial(_read_ahead, ref, guess),
        )
        self._located = located
        if ahead is not None and located == before:  # it was there before it was read, and after
            self._last = last = located, ahead
        elif last is None or last[0] != located or located.info is None or not is_remote(ref.storage.root):
            self._last = last = located, read_metadata(ref.storage, located.path, last and last[1])
        return last[1]


def _read_ahead(ref: TableRef, guess: str | None) -> TableMetadata | None:
    """Read of a store the metadata file that will be found, mostly."""
    if guess is None or not is_remote(ref.storage.root):
        return None
    try:
        return read_metadata(ref.storage, guess)
    except MetaIndexError:
        return None


def version_of(metadata: TableMetadata, selected: Selected) -> Version:
    """The version of a snapshot as read with a schema. The fingerprint tells equal ids of two tables apart, and two
    schemas: "now" is read with the current one, which a rename changes without a new snapshot."""
    id_, commit = NO_SNAPSHOT, _hash(metadata.table_uuid or metadata.location)
    if selected.snapshot is not None:
        id_, commit = str(selected.snapshot.id), _commit_of(metadata, selected.snapshot)
    return Version(metadata.table_uuid, id_, f"{commit}-{selected.schema_id}", selected.schema_id)


def _commit_of(metadata: TableMetadata, snapshot: SnapshotInfo) -> str:
    source = snapshot.manifest_list or "\n".join(snapshot.manifests)
    mapping = mapping_sign(metadata)  # another one reads other columns from the same commit
    told = f"{metadata.table_uuid}\0{source}\0{snapshot.timestamp_ms}\0{snapshot.sequence_number}"
    return _hash(f"{told}\0{mapping}" if mapping else told)


def _hash(text: str) -> str:
    return xxhash.xxh64_hexdigest(text.encode())


def _assembled(
    ref: TableRef,
    place: Place,
    metadata: TableMetadata,
    selected: Selected,
    manifests: Sequence[Manifest],
    data: pl.DataFrame,
    deletes: pl.DataFrame,
    live_specs: Sequence[int],
) -> Snapshot:
    """The snapshot of these entries; `manifests`: those that state statistics of its files."""
    snapshot, mapping = selected.snapshot, mapping_sign(metadata)
    version = version_of(metadata, selected)
    schema = _schema(metadata, selected, live_specs)
    files, pairs = file_table(place, metadata, data, deletes, version.id)
    loader = DeleteLoader(ref.storage, place, metadata, schema, version.id)
    return Snapshot(
        table=place.root,
        format="iceberg",
        version=version,
        timestamp_ms=snapshot.timestamp_ms if snapshot is not None else metadata.last_updated_ms,
        schema=schema,
        files=files,
        details=IcebergDetails(
            ref.storage, place, metadata, tuple(manifests), snapshot.id if snapshot else 0, data, deletes, pairs, loader
        ),
        partition_columns=tuple(f.name for f in schema if f.partition),
        properties={**metadata.properties, "table_uuid": metadata.table_uuid},
        mapping=f"-{mapping}" if mapping else "",
    )


def _in_catalog(ref: TableRef) -> str:
    catalog = ref.options.get("catalog")
    identifier = ref.options.get("identifier") or ref.path
    load = getattr(catalog, "load_table", None)
    if load is None:
        raise UnsupportedFeatureError(
            f"{Cure('argument', 'catalog')} takes a pyiceberg catalog; got {type(catalog).__name__}; load it by"
            " pyiceberg.catalog.load_catalog"
        )
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    try:
        location = load(identifier_of(identifier)).metadata_location
    except (NoSuchTableError, NoSuchNamespaceError, ValueError) as refused:  # the last: an identifier of another shape
        raise NotATableError(f"the catalog has no table {identifier} ({refused}); check the identifier") from refused
    return _from_here(location)


def _from_here(location: str) -> str:
    """Catalogs of tests keep locations relative to the folder they are used in."""
    plain = normal(location)
    return plain if is_absolute(plain) else os.path.abspath(plain)


def _place(ref: TableRef, metadata: TableMetadata) -> Place:
    """Return the table's location: the one in its metadata, unless it was opened elsewhere and nothing is at
    that one."""
    claimed = metadata.location
    if ref.options.get("catalog") is not None:
        return Place.of(_from_here(claimed), claimed)
    folder, _, name = normal(metadata.file).rpartition("/metadata/")
    root = folder if folder and "/" not in name else normal(ref.path)
    if root == normal(claimed):
        return Place.of(claimed)
    witness = next((s.manifest_list for s in reversed(list(metadata.snapshots.values())) if s.manifest_list), None)
    if is_absolute(normal(claimed)) and witness is not None:
        with suppress(StorageError):
            ref.storage.head(normal(witness))
            return Place.of(claimed)
    return Place.of(root, claimed)


def _schema(metadata: TableMetadata, selected: Selected, live_specs: Sequence[int]) -> Schema:
    """The schema, with what partitions say of its columns.

    Files imported from Hive tables lack their partition columns, whose value the partition then gives. A column that
    every live file has an identity partition of is marked so; one that only some have is in the bytes of the others,
    and what a file without it shows is left unknown. A column whose hashes some live file is partitioned by is marked,
    too.
    """
    schema = read_schema(metadata.schemas[selected.schema_id], metadata.location, mapped_names(metadata))
    fields = [
        [(f.source_id, f.name, Transform.parse(f.transform).name) for f in metadata.specs[spec_id].fields]
        for spec_id in live_specs
    ]
    identities = [{source: name for source, name, kind in spec if kind == "identity"} for spec in fields]
    bucketed = {source for spec in fields for source, _, kind in spec if kind == "bucket"}
    if not any(identities) and not bucketed:
        return schema

    def marked(field: Field, top: bool) -> Field:
        if field.children:
            return replace(field, children=tuple(marked(child, False) for child in field.children))
        if field.field_id in bucketed:
            field = replace(field, bucketed=True)
        having = [names for names in identities if field.field_id in names]
        if not having:
            return field
        everywhere = len(having) == len(identities) and all(names[field.field_id] == field.name for names in having)
        return replace(field, partition=True) if top and everywhere else replace(field, default_known=False)

    return Schema(tuple(marked(field, True) for field in schema))
