"""Plain files as a table format: a folder (or one file) of Parquet, CSV or JSON lines, with Hive partitions.

A version is a listing: its id is a hash of every file's path, size, time and etag, so that a file replaced in place
is another version. There are no deletes and no log. Older versions are the listings that were remembered (`history`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from expressions.errors import NotATableError, StorageError, UnsupportedFeatureError, VersionNotFoundError
from expressions.physical import column_domain_has_nan, physical_type, to_physical
from expressions.statistics import ColumnBounds
from formats.model import FILE_SCHEMA, Deletes, Diff, FileTable, Leaf, Schema, Snapshot, Version, partition_text
from formats.protocol import At, TableRef

from .history import find, recall, remembered
from .listing import Listing, first_file, list_files
from .options import FilesOptions, format_of
from .partitions import Partitions, read_partitions
from .schema import read_schema, with_partitions

FILES_SCHEMA = FILE_SCHEMA.append(pa.field("files_racy", pa.bool_(), nullable=False))
"""`files_racy`: changed so shortly before the listing that it may change again under the same identity. Not to be
covered by an index yet."""

_DAY_MICROS = 86_400_000_000


class FilesFormat:
    """Folders of plain files. `name` is what the registry knows; "parquet", "csv" and "json" are options of it."""

    name = "files"

    def detect(self, ref: TableRef) -> bool:
        found = first_file(ref.storage)
        return found is not None and (_options(ref).format is not None or _format_of_file(ref, found) is not None)

    def resolve(self, ref: TableRef, at: At) -> Version:
        if at.version is None and at.timestamp_ms is None:
            return _version(ref, _listing(ref, _options(ref)))
        now = self._now_if_asked(ref, at)
        return _version(ref, now) if now is not None else version_named(ref, find(ref, at).id)

    def snapshot(self, ref: TableRef, at: At) -> Snapshot:
        options = _options(ref)
        if at.version is None and at.timestamp_ms is None:
            return _now(ref, options, _listing(ref, options))
        listing = self._now_if_asked(ref, at)
        return _now(ref, options, listing) if listing is not None else _then(ref, options, at)

    def diff(self, ref: TableRef, base: Snapshot, target: At) -> Diff | None:
        return None  # there is no log; listings are compared

    def versions(self, ref: TableRef) -> Sequence[Version]:
        kept = [version_named(ref, k.id) for k in remembered(ref)]
        try:
            now = _version(ref, _listing(ref, _options(ref)))
        except NotATableError:
            return kept
        return kept if kept and kept[-1] == now else [*kept, now]

    def _now_if_asked(self, ref: TableRef, at: At) -> Listing | None:
        """The present listing where it is the version asked: by its id, or by a time that is not before it was
        taken."""
        try:
            listing = _listing(ref, _options(ref))
        except NotATableError:
            return None
        if at.version is not None:
            return listing if str(at.version) == listing.fingerprint() else None
        asked = at.timestamp_ms if at.timestamp_ms is not None else -1
        if asked >= listing.taken_ns // 1_000_000:
            return listing
        # An unbroken stretch: the last listing kept until then is what is there now.
        try:
            return listing if find(ref, at).id == listing.fingerprint() else None
        except VersionNotFoundError:
            return None


@dataclass(frozen=True, slots=True)
class FilesDetails:
    """What plain files say beyond their listing: partition values from folder names."""

    parts: Partitions
    folder: pa.Array  # of each file: row of `parts`
    options: Mapping[str, object]

    def log_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        return None

    def partition_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        """Exact; save that a timestamp's text is an instant only in some time zone, so that its bounds are a day
        wide on both sides."""
        values = self.partition_values(leaf)
        if values is None:
            return None
        t = values.type
        if physical_type(t) is None:
            return None
        lower, upper = (to_physical(values, t, upper=upper) for upper in (False, True))
        known = pc.is_valid(lower)
        if pa.types.is_timestamp(t) and t.tz is not None:
            exact = pa.array(np.zeros(len(values), np.bool_))
            lower, upper = pc.subtract(lower, _DAY_MICROS), pc.add(upper, _DAY_MICROS)
        else:
            exact = known
        zero_or_unknown = pc.if_else(pc.is_valid(values), 0, pa.scalar(None, pa.int64()))
        nan = None
        if column_domain_has_nan(t):
            nan = pc.if_else(pc.or_(known, pc.is_null(values)), 0, pa.scalar(None, pa.int64()))
        return ColumnBounds(t, lower, upper, zero_or_unknown, nan, None, exact, exact)

    def partition_values(self, leaf: Leaf) -> pa.Array | None:
        """The typed value of a partition column for each file; None: it is no partition column."""
        if len(leaf.path) > 1 or not leaf.field.partition:
            return None
        name = leaf.field.source or leaf.field.name
        return self.parts.values[self.parts.names.index(name)].take(self.folder) if name in self.parts.names else None

    def deletes(self, row: int) -> Deletes:
        from pyroaring import BitMap64

        return Deletes(BitMap64())

    def read_options(self) -> Mapping[str, object]:
        return dict(self.options)


def _options(ref: TableRef) -> FilesOptions:
    return FilesOptions.of(ref.options)


def version_named(ref: TableRef, id_: str) -> Version:
    """The version that has this id, were it there: nothing is listed. The same listing read with another schema or other reader options is another version."""
    options = _options(ref)
    if options.schema is None and not options.reader:
        return Version("", id_, id_)
    said = [f"{f.name} {f.type}" for f in options.schema] if options.schema is not None else []
    text = "\0".join([*said, "", *(f"{k}={v}" for k, v in sorted(options.reader.items()))])
    return Version("", id_, f"{id_}-{xxhash.xxh64_hexdigest(text.encode())}")


def _version(ref: TableRef, listing: Listing) -> Version:
    return version_named(ref, listing.fingerprint())


def _listing(ref: TableRef, options: FilesOptions) -> Listing:
    listing = list_files(ref.storage, options.glob)
    if options.recursive is False and not any("=" in folder for folder in listing.folders):
        listing = listing.in_root()
    if not len(listing):
        raise NotATableError(
            f"a table of plain files has data files; {ref.path!r} has none (names that begin with '_' or '.' and empty files are hidden"
            f"{f', glob={options.glob!r} holds back others' if options.glob else ''}); check the path, or write a file first"
        )
    return listing


def _now(ref: TableRef, options: FilesOptions, listing: Listing) -> Snapshot:
    file_format = options.format or _one_format(ref, listing)
    parts = _partitions(listing.folders, options)
    schema = read_schema(ref.storage, listing, file_format, options, parts)
    files = _file_table(listing, parts)
    folder = pa.array(listing.folder, pa.int64())
    timestamp = listing.taken_ns // 1_000_000
    return _snapshot(ref, options, _version(ref, listing), timestamp, schema, file_format, files, parts, folder)


def _then(ref: TableRef, options: FilesOptions, at: At) -> Snapshot:
    kept = find(ref, at)
    recalled = recall(ref, kept)
    folders: dict[str, int] = {}
    single = recalled.files.table.num_rows == 1 and recalled.files.paths[0].as_py() == ref.storage.root
    folder = [
        folders.setdefault("" if single else p[: p.rfind("/") + 1], len(folders))
        for p in recalled.files.paths.to_pylist()
    ]
    parts = _partitions(list(folders), options)
    schema = with_partitions(options.schema or recalled.data_schema, parts)
    file_format = options.format or recalled.file_format
    ordinals = pa.array(folder, pa.int64())
    version = version_named(ref, kept.id)
    return _snapshot(ref, options, version, kept.timestamp_ms, schema, file_format, recalled.files, parts, ordinals)


def _partitions(folders: Sequence[str], options: FilesOptions) -> Partitions:
    return read_partitions([""] * len(folders) if options.recursive else folders, options.schema)


def _snapshot(
    ref: TableRef,
    options: FilesOptions,
    version: Version,
    timestamp_ms: int,
    schema: Schema,
    file_format: str,
    files: FileTable,
    parts: Partitions,
    folder: pa.Array,
) -> Snapshot:
    reading = options.read_options(file_format)
    if (
        file_format == "csv"
        and "sep" not in reading
        and str(files.paths[0]).lower().rpartition("/")[2].find(".tsv") >= 0
    ):
        reading["sep"] = "\t"
    return Snapshot(
        ref.storage.root,
        FilesFormat.name,
        version,
        timestamp_ms,
        schema,
        files,
        FilesDetails(parts, folder, reading),
        tuple(f.name for f in schema if f.partition),
    )


def _file_table(listing: Listing, parts: Partitions) -> FileTable:
    count = len(listing)
    text = pa.array([partition_text(parts.names, parts.texts(i)) for i in range(len(listing.folders))], pa.string())
    unknown = pa.nulls(count, pa.int64())
    columns = {
        "path": pa.array(listing.paths, pa.string()),
        "size_bytes": pa.array(listing.sizes, pa.int64()),
        "modified_ms": pc.floor(pc.divide(pa.array(listing.modified_ns, pa.int64()), 1_000_000)),
        "record_count": unknown,
        "partition": text.take(pa.array(listing.folder, pa.int64())),
        "deletes": pa.nulls(count, pa.string()),
        "deleted_count": unknown,
        "etag": pa.array(listing.etags, pa.string()),
        "files_racy": listing.racy(),
    }
    columns["modified_ms"] = columns["modified_ms"].cast(pa.int64())
    return FileTable(pa.Table.from_arrays([columns[name] for name in FILES_SCHEMA.names], schema=FILES_SCHEMA))


def _one_format(ref: TableRef, listing: Listing) -> str:
    """The one format that all files' names say; a name that says nothing is looked into."""
    seen: Counter[str | None] = Counter()
    example: dict[str | None, str] = {}
    by_ending: dict[str, str | None] = {}
    for path in listing.paths:
        name = path.rpartition("/")[2]
        ending = name.partition(".")[2] if name.count(".") <= 2 else ".".join(name.split(".")[-2:])
        if ending not in by_ending or not ending:
            by_ending[ending] = _format_of_file(ref, path)
        found = by_ending[ending]
        seen[found] += 1
        example.setdefault(found, path)
    if len(seen) == 1 and None not in seen:
        return str(next(iter(seen)))
    said = ", ".join(
        f"{count} {kind or 'of no known kind'} (as {example[kind]!r})" for kind, count in seen.most_common()
    )
    raise UnsupportedFeatureError(
        f"the files of a table are of one format; {ref.path!r} has {said}; choose with glob= or format=, or move the others away"
    )


def _format_of_file(ref: TableRef, path: str) -> str | None:
    name = path.rpartition("/")[2]
    said = format_of(name)
    if said is not None or "." in name.strip("."):
        return said
    try:
        return "parquet" if ref.storage.read(path, 0, 4) == b"PAR1" else None
    except StorageError:
        return None
