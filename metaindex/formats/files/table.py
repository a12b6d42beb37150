"""Plain files as a table format: a folder, a file, or several of them, of Parquet, CSV or JSON lines, with Hive
partitions.

A version is a listing: its id is a hash of every file's path, size, time and etag, so that a file replaced in place
is another version. There are no deletes and no log. Older versions are the listings that were remembered (`history`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from metaindex.core import (
    CorruptTableError,
    Cure,
    EmptyFilesError,
    MetaIndexError,
    NotATableError,
    ScanError,
    StorageError,
    UnsupportedFeatureError,
    Vector,
    VersionNotFoundError,
)
from metaindex.expressions import ColumnBounds, Family, physical_type, to_physical
from metaindex.formats.columns import long_strings, numbers, strings
from metaindex.formats.format import At, Format, Resolved, TableRef
from metaindex.formats.glimpse import page_of
from metaindex.formats.model import (
    FILE_SCHEMA,
    FileTable,
    Leaf,
    Schema,
    Snapshot,
    SnapshotDetails,
    Version,
    partition_text,
)

from .compressed import REFUSED, SUFFIXES, not_unpacked, unread_file
from .history import KeptListing, Recalled, find, forget, home_of, recall, remember, remembered
from .listing import Listing, starts_of
from .options import FilesOptions, format_of
from .partitions import Partitions, read_partitions
from .read_options import ReadOptions
from .schema import UntoldColumns, data_schema, needs_header, with_partitions
from .schema_text import schema_said
from .walk import Passed, list_files, some_files

FILES_SCHEMA = FILE_SCHEMA.append(pa.field("files_racy", pa.bool_(), nullable=False))
"""`files_racy`: changed so shortly before the listing that it may change again under the same identity. Not to be
covered by an index yet."""

_DAY_MICROS = 86_400_000_000
_LOOKED_AT = 32  # files behind one of no format, by their names, that tell whether there is a table
_TRIED = 4  # files that may tell the columns in the place of a damaged one
_MOST_SAID = 1000  # characters of a schema in an error
_REMEMBERED = 20_000  # files of a listing that is kept for the next one: some megabytes


class FilesFormat(Format):
    """Folders of plain files. `name` is what the registry knows; "parquet", "csv" and "json" are options of it."""

    name = "files"
    has_log = False
    reader_options = True
    one_file_format = True
    rewritten_by = "copy"
    named_by_path = True
    shown_as_iceberg = True
    remember = staticmethod(remember)
    forget = staticmethod(forget)

    def __init__(self) -> None:
        self._last: tuple[Listing, str] | None = None  # listed last, and its fingerprint
        self._of_folder = False  # as it was found

    def detect(self, ref: TableRef, passed: Passed | None = None) -> bool:
        """Return whether there is a table: one data file among others suffices, and opening such a folder refuses the
        others by name. `passed`: is told what lies there beside data."""
        files = some_files(ref.storage, ref.patterns, passed)
        first = next(files, None)
        self._of_folder = first is not None and first != ref.storage.root
        if first is None or _options(ref).format is not None or _format_of_file(ref, first) is not None:
            return first is not None
        return any(format_of(path.rpartition("/")[2]) for path in islice(files, _LOOKED_AT))

    def see_indexes(self, ref: TableRef) -> None:
        """Look which indexes lie beside a table on a store, as a guess."""
        with suppress(StorageError):
            self.indexes_seen = page_of(ref.storage, home_of(ref)).objects

    def resolve(self, ref: TableRef, at: At) -> Version:
        return self.resolved(ref, at).version

    def snapshot(self, ref: TableRef, at: At) -> Snapshot:
        return self.resolved(ref, at).load()

    def resolved(self, ref: TableRef, at: At) -> Resolved:
        """A version that is kept is not looked for in the folder."""
        options = _options(ref)
        if at.version is None and (at.timestamp_ms is None or at.timestamp_ms >= time.time_ns() // 1_000_000):
            return self._present(ref, options)
        try:
            kept = find(ref, at)
        except VersionNotFoundError:
            with suppress(NotATableError):
                present = self._present(ref, options) if at.version is not None else None
                if present is not None and present.version.id == str(at.version):
                    return present  # although it was not kept
            raise
        return Resolved(version_named(ref, kept.id), lambda: _then(ref, options, kept))

    def versions(self, ref: TableRef) -> Sequence[Version]:
        kept = [version_named(ref, k.id) for k in remembered(ref)]
        try:
            now = self._present(ref, _options(ref)).version
        except NotATableError:
            return kept
        return kept if kept and kept[-1] == now else [*kept, now]

    def version_named(self, ref: TableRef, id_: str) -> Version:
        return version_named(ref, id_)

    def is_named(self, ref: TableRef, version: Version) -> bool:
        """Return whether this is the version with its id. An older index may have another id for it: one made with an
        explicit default header, or with `inferSchema` beside a schema."""
        options = _options(ref)
        readers = (options.telling, options.with_inferred, options.reader)
        return version in (_named(options.schema, reader, version.id) for reader in readers)

    def options_kept(
        self, ref: TableRef, options: Mapping[str, object], snapshot: Callable[[], Snapshot]
    ) -> dict[str, object]:
        """Leave out a header that is found by default. If the first row of a file looks like data the header is kept:
        who does not give it is not answered by the index then."""
        if options["file_format"] != "csv" or ReadOptions.of(ref.options).meant.get("header") != "true":
            return dict(options)
        others = {name: value for name, value in options.items() if name.lower() != "header"}
        return {**others, "header": True} if needs_header(ref, snapshot()) else others

    def check_indexable(self, snapshot: Snapshot, *, by_spark: bool) -> None:
        options = snapshot.details.read_options()
        if options["file_format"] not in ("csv", "json"):
            return
        from metaindex.formats.text.reader import TextReader

        if not by_spark and (path := unread_file(snapshot.files.paths)) is not None:
            raise UnsupportedFeatureError(not_unpacked(path))
        try:
            TextReader(str(options["file_format"]), options, snapshot.schema, by_spark=by_spark)
        except ScanError as error:
            fact, *spark = error.args
            cures = ["open the table without it, or leave it as it is, without an index"] if spark else []
            raise UnsupportedFeatureError(
                f"an index is built of files that can be read here; of these none can; {fact}", *cures
            ) from error

    def root(self, ref: TableRef) -> str:
        return ref.storage.root

    def commits_since(self, ref: TableRef, now: Version) -> Callable[[str], int | None]:
        return lambda id_: None

    def called(self, file_format: str) -> str:
        return file_format

    def _present(self, ref: TableRef, options: FilesOptions) -> Resolved:
        listing = _listing(ref, options, self._of_folder)
        version = version_named(ref, self._fingerprint(listing))
        return Resolved(version, lambda: _now(ref, options, listing, version))

    def _fingerprint(self, listing: Listing) -> str:
        """Folders mostly hold what they held before: to see that takes a tenth of what a hash of it does."""
        last = self._last
        if last is not None and listing.same_files(last[0]):
            return last[1]
        fingerprint = listing.fingerprint()
        self._last = (listing, fingerprint) if len(listing) <= _REMEMBERED else None
        return fingerprint


@dataclass(frozen=True, slots=True)
class FilesDetails(SnapshotDetails):
    """Details of plain files beyond their listing: partition values from folder names."""

    parts: Partitions
    folder: pa.Array  # of each file: row of `parts`
    options: Mapping[str, object]
    bases: frozenset[str] = frozenset({""})  # the folders below which partitions were looked for

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
        if Family.may_be_nan(t):
            nan = pc.if_else(pc.or_(known, pc.is_null(values)), 0, pa.scalar(None, pa.int64()))
        return ColumnBounds(t, lower, upper, zero_or_unknown, nan, None, exact, exact)

    def partition_values(self, leaf: Leaf) -> pa.Array | None:
        """The typed value of a partition column for each file; None: it is no partition column."""
        if len(leaf.path) > 1 or not leaf.field.partition:
            return None
        name = leaf.field.source or leaf.field.name
        return self.parts.values[self.parts.names.index(name)].take(self.folder) if name in self.parts.names else None

    def read_options(self) -> Mapping[str, object]:
        return dict(self.options)


def _options(ref: TableRef) -> FilesOptions:
    return FilesOptions.of(ref.options)


def version_named(ref: TableRef, id_: str) -> Version:
    """Return the version that has this id, without a listing. The same listing read with another schema or other reader
    options is another version; an explicit default header makes none."""
    options = _options(ref)
    return _named(options.schema, options.telling, id_)


def _named(schema: pa.Schema | None, reader: Mapping[str, str], id_: str) -> Version:
    if schema is None and not reader:
        return Version("", id_, id_)
    said = [f"{f.name} {f.type}" for f in schema] if schema is not None else []
    text = "\0".join([*said, "", *(f"{k}={v}" for k, v in sorted(reader.items()))])
    return Version("", id_, f"{id_}-{xxhash.xxh64_hexdigest(text.encode())}")


def _listing(ref: TableRef, options: FilesOptions, of_folder: bool) -> Listing:
    passed, storage, based = Passed(), ref.storage, options.base_path is not None
    listing = list_files(storage, options.glob, ref.patterns, based, passed, of_folder=of_folder)
    inside = zip(listing.folders, listing.starts, strict=True)
    if options.recursive is False and not any("=" in folder[start:] for folder, start in inside):
        listing = listing.in_roots()
    if not len(listing):
        empty = "" if ref.patterns or options.glob else passed.empty
        held = Cure("reader", "glob", options.glob)
        raise (EmptyFilesError if empty else NotATableError)(
            f"a table of plain files has data files; {ref.path!r} has none (names that begin with '_' or '.' and empty"
            f" files{f' such as {empty!r}' if empty else ''} are hidden"
            f"{f', {held} holds back others' if options.glob else ''}); check the path, or write a file"
            " first"
        )
    return listing


def _now(ref: TableRef, options: FilesOptions, listing: Listing, version: Version) -> Snapshot:
    file_format = options.format or _one_format(ref, listing.paths)
    parts = _partitions(listing.folders, listing.bases, options)
    data = _data_schema(ref, options, listing, file_format)
    recalled = Recalled(
        listing.taken_ns // 1_000_000, file_format, data, _file_table(listing, parts), frozenset(listing.bases)
    )
    return _snapshot(ref, options, version, recalled, parts, numbers(listing.folder))


def _data_schema(ref: TableRef, options: FilesOptions, listing: Listing, file_format: str) -> pa.Schema:
    """The columns of the data files. Where a damaged file of Parquet should tell them, the error says those of one of
    the others, to be named."""
    try:
        return data_schema(ref.storage, listing.paths, listing.modified_ns, file_format, options)
    except UntoldColumns as error:
        for path in listing.paths[:_TRIED]:
            try:
                said = schema_said(data_schema(ref.storage, [path], [0], file_format, options))
            except MetaIndexError:
                continue
            if len(said) <= _MOST_SAID and not said.startswith("?") and "'" not in said:
                cure = f"write it again, remove it, or {Cure('columns', said)}, as {path!r} has them"
                raise CorruptTableError(error.args[0], cure).without("schema", said) from error
        raise


def _then(ref: TableRef, options: FilesOptions, kept: KeptListing) -> Snapshot:
    recalled = recall(ref, kept)
    paths = recalled.files.paths.to_pylist()
    folders: dict[str, int] = {}
    single = len(paths) == 1 and paths[0] == ref.storage.root
    folder = [folders.setdefault("" if single else p[: p.rfind("/") + 1], len(folders)) for p in paths]
    parts = _partitions(list(folders), recalled.bases, options)
    if options.format is not None:
        recalled = replace(recalled, file_format=options.format)
    if recalled.data_schema is None:
        times = recalled.files.table.column("modified_ms").to_pylist()
        recalled = replace(recalled, data_schema=data_schema(ref.storage, paths, times, recalled.file_format, options))
    return _snapshot(ref, options, version_named(ref, kept.id), recalled, parts, numbers(folder))


def _partitions(folders: Sequence[str], bases: frozenset[str], options: FilesOptions) -> Partitions:
    if options.recursive:
        return read_partitions([""] * len(folders), options.schema)
    return read_partitions(folders, options.schema, starts_of(folders, bases))


def _snapshot(
    ref: TableRef, options: FilesOptions, version: Version, recalled: Recalled, parts: Partitions, folder: pa.Array
) -> Snapshot:
    assert recalled.data_schema is not None  # read where it was not kept
    schema = with_partitions(recalled.data_schema, parts, recalled.file_format)
    if recalled.file_format == "csv" and options.schema is None:
        _refuse_partitions_amid(schema)
    reading = options.read_options(recalled.file_format)
    if recalled.file_format == "csv" and "sep" not in reading and _by_tabs(recalled.files):
        reading["sep"] = "\t"
    if parts.names and recalled.bases != {""}:
        reading["basepath"] = ref.storage.uri(parts.base)
    return Snapshot(
        ref.storage.root,
        FilesFormat.name,
        version,
        recalled.timestamp_ms,
        schema,
        recalled.files,
        FilesDetails(parts, folder, reading, recalled.bases),
        tuple(f.name for f in schema if f.partition),
    )


def _refuse_partitions_amid(schema: Schema) -> None:
    """Refuse partition columns that files hold before others: CSV columns are found by place without them."""
    columns = list(schema)
    last = max((at for at, field in enumerate(columns) if not field.partition), default=-1)
    amid = [field.name for field in columns[: max(last, 0)] if field.partition]
    if amid:
        raise UnsupportedFeatureError(
            f"columns of CSV files are found by their places; {amid[0]!r} is a partition, by the folders' names, and"
            " stands in the files before other columns, too; say"
            f" {Cure('reader', 'recursiveFileLookup', True)}, which reads it from the files"
        ).without("recursiveFileLookup", True)


def _by_tabs(files: FileTable) -> bool:
    """Return whether a CSV table without a separator option has tabs, by the names of all its files."""
    named = pc.match_substring_regex(files.paths, r"(?i)\.tsv(\.[^/]*)?$")
    some = bool(pc.any(named).as_py())
    if some and not pc.all(named).as_py():
        raise UnsupportedFeatureError(
            "the columns of all files of a CSV table are separated by one character; some files are called .tsv, others"
            f" are not, as {files.paths.filter(pc.invert(named))[0].as_py()!r}; say which by"
            f" {Cure('reader', 'sep')}, or by {Cure('also', 'glob')} which files are meant"
        )
    return some


def _file_table(listing: Listing, parts: Partitions) -> FileTable:
    count = len(listing)
    text = strings([partition_text(parts.names, parts.texts(i)) for i in range(len(listing.folders))])
    unknown = pa.nulls(count, pa.int64())
    columns = {
        "path": long_strings(listing.paths),
        "size_bytes": numbers(listing.sizes),
        "modified_ms": Vector.arrow(np.array(listing.modified_ns, np.int64) // 1_000_000, None, pa.int64()),
        "record_count": unknown,
        "partition": pa.chunked_array([text]).take(numbers(listing.folder)),
        "deletes": pa.nulls(count, pa.string()),
        "deleted_count": unknown,
        "etag": listing.etag(),
        "files_racy": listing.racy(),
    }
    return FileTable(pa.Table.from_arrays([columns[name] for name in FILES_SCHEMA.names], schema=FILES_SCHEMA))


def _one_format(ref: TableRef, paths: Sequence[str]) -> str:
    """The one format that all files' names say; a name that says nothing is looked into."""
    seen: Counter[str | None] = Counter()
    example: dict[str | None, str] = {}
    rest = list(reversed(paths))
    while rest and None not in seen:
        # Files mostly end alike: those that end as the next one are of its format.
        ending = _ending(rest[-1])
        alike = [path for path in rest if path.endswith(ending)] if ending else [rest.pop()]
        if ending:
            rest = [path for path in rest if not path.endswith(ending)]
        file_format = _format_of_file(ref, alike[-1])
        seen[file_format] += len(alike)
        example.setdefault(file_format, alike[-1])
    if len(seen) == 1 and None not in seen:
        return str(next(iter(seen)))
    said = ", ".join(
        f"{count} {kind or 'of no known kind'} (as {example[kind]!r})" for kind, count in seen.most_common()
    )
    choose = f"choose with {Cure('reader', 'glob')}"
    named = f"say {Cure('argument', 'format')}"
    cure = f"{named}, or {choose}" if len(seen) == 1 else f"{choose}, or move the others away"
    raise UnsupportedFeatureError(f"the files of a table are of one format; {ref.path!r} has {said}; {cure}")


def _ending(path: str) -> str:
    """Return the part of a file's name that tells its format: the last suffix, and one before a compression."""
    parts = path.rpartition("/")[2].split(".")[1:]
    kept = parts[-2:] if parts and parts[-1].lower() in (*SUFFIXES, *REFUSED) else parts[-1:]
    return "".join(f".{part}" for part in kept)


def _format_of_file(ref: TableRef, path: str) -> str | None:
    name = path.rpartition("/")[2]
    said = format_of(name)
    if said is not None or "." in name.strip("."):
        return said
    try:
        return "parquet" if ref.storage.read(path, 0, 4) == b"PAR1" else None
    except StorageError:
        return None
