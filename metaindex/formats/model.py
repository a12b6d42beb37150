"""Snapshots as columns: a table of files. A million files is an Arrow table, not a million objects; a `FileEntry` is a
view of one row.

Promises: a snapshot is immutable and complete (a reader that cannot give all of it raises); what it says of a column of
a file is true of the file's *physical* rows, or it says nothing; deletes belong to the snapshot, not to the file.
"""

from __future__ import annotations

import difflib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from enum import IntEnum
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from metaindex.core import (
    Cure,
    Mask,
    Shown,
    UnknownColumnError,
    UnsupportedFeatureError,
    Vector,
    counted,
    dataclass,
    human_bytes,
)
from metaindex.expressions import (
    ColumnBounds,
    ColumnRef,
    Predicate,
    PruningStatistics,
    parse_path,
    physical_type,
)

from .column_names import alike, told_apart

if TYPE_CHECKING:
    from pyroaring import BitMap64


class Trust(IntEnum):
    """Source of a statistic, weakest first."""

    NONE = 0  # nothing is known
    LOG = 1  # written into the table's log by some writer
    FOOTER = 2  # a Parquet footer, after the checks of `footers`
    COMPUTED = 3  # computed by us from the physical rows


@dataclass(frozen=True, slots=True)
class Version:
    """A table's version. Compared for equality only: `id` is the format's own (Delta number, Iceberg snapshot id,
    listing hash of plain files), `fingerprint` (of the commit's bytes, the snapshot's manifest list, the listing) tells
    the same id of a table that was made anew from this one. `table_uuid` is what the table calls itself at the version,
    "" where that is not known yet: to ask a Delta log for it costs a replay, which a version that is only resolved does
    without. `schema_id` is which of the table's schemas it is read with, where the id does not say so (Iceberg):
    `protocol.At.of` asks for exactly this version, schema included."""

    table_uuid: str = field(compare=False)
    id: str
    fingerprint: str
    schema_id: int | None = None

    def __str__(self) -> str:
        return self.id


VARIANT = pa.struct([pa.field("metadata", pa.binary()), pa.field("value", pa.binary())])
NOTHING = pa.struct([])
"""Of columns that nothing can be proved about: a type without leaves."""
COLLATED = "collated"
"""`Field.logical` of a text whose `type` has no leaves: equal values differ in bytes (a collation, or CHAR)."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A column, or a field of a struct.

    `stable` is what never changes while the column is the same column: the field id as text where the format has one
    ("id:7"), else the name of the part. `source` is the path of the column inside data files (physical names), None
    where the files cannot hold it. `field_id` finds it in Parquet files by id where the format maps by id. `default` is
    what a file without the column shows: a literal, NULL, or unknown (`default_known=False`).
    """

    name: str
    type: pa.DataType
    nullable: bool = True
    stable: str = ""
    source: str = ""
    field_id: int | None = None
    partition: bool = False  # value comes from the partition, not from the file's bytes
    bucketed: bool = False  # files are partitioned by hashes of it: the table knows more of equality than any bounds
    default: object = None
    default_known: bool = True
    children: tuple[Field, ...] = ()  # of a struct; lists and maps have none (nothing inside them is indexed)
    comment: str = ""
    logical: str = ""  # the format's own name of a type that `type` does not tell: "uuid" of 16 bytes, COLLATED
    mapped: tuple[str, ...] | None = (
        None  # its names in files without field ids (Iceberg's name mapping); None: the table does not say
    )

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same column. Fields inside lists and maps are compared too: only the metadata of
        their Arrow types identifies them, which Arrow does not compare by default."""
        if not isinstance(other, Field):
            return NotImplemented
        return _said(self) == _said(other) and self.type.equals(other.type, check_metadata=True)

    def __hash__(self) -> int:
        return hash((self.name, self.stable, self.type))

    @property
    def asked(self) -> pa.DataType:
        """The type that predicates are bound to."""
        if self.children:
            return pa.struct([pa.field(c.name, c.asked, c.nullable) for c in self.children])
        return pa.uuid() if self.logical == "uuid" else self.type

    alike: ClassVar = staticmethod(alike)

    @property
    def collated(self) -> bool:
        """Return whether the column is a text of which equal values differ in bytes."""
        return self.logical == COLLATED

    @property
    def shown(self) -> Field:
        """The column as readers give it: nothing that compares bytes may speak of a collated text, yet it is a text."""
        if self.children:
            children = tuple(child.shown for child in self.children)
            return replace(
                self, children=children, type=pa.struct([pa.field(c.name, c.type, c.nullable) for c in children])
            )
        return replace(self, type=pa.string()) if self.collated else self


_said = attrgetter(*(member.name for member in fields(Field) if member.name != "type"))


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table at a version. Logical names; types in Arrow's terms."""

    fields: tuple[Field, ...]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    @property
    def names(self) -> list[str]:
        return [f.name for f in self.fields]

    @property
    def shown(self) -> Schema:
        """The columns as readers give them."""
        return Schema(tuple(member.shown for member in self.fields))

    def arrow(self) -> pa.Schema:
        """The schema as an Arrow schema (logical names)."""
        return pa.schema([pa.field(f.name, f.type, f.nullable) for f in self.fields])

    def asked(self) -> pa.Schema:
        """The schema as predicates see the columns: a UUID is a UUID, and no bytes."""
        return pa.schema([pa.field(f.name, f.asked, f.nullable) for f in self.fields])

    def predicate(self, condition: object, time_zone: str, *, seen: pa.Schema | None = None) -> Predicate:
        """Return a condition, in any engine's words, with the names and types of these columns; see `condition`."""
        from .condition import predicate_of

        return predicate_of(condition, self, time_zone, seen=seen)

    def bound(self, predicate: Predicate, time_zone: str = "UTC", *, as_held: bool = False) -> Predicate:
        """Return the predicate with the names and types of these columns. Binding what is bound changes nothing.
        `as_held`: as in `bind`."""
        from metaindex.expressions import bind

        return bind(predicate, self.named_types, time_zone=time_zone, as_held=as_held)

    @property
    def named_types(self) -> list[tuple[tuple[str, ...], pa.DataType]]:
        """The path and the type of every leaf, lists and maps included: predicates may name those, although nothing is
        known of them."""
        return [(leaf.parts, leaf.field.asked) for leaf in self.columns if not leaf.field.children]

    def leaves(self) -> list[Leaf]:
        """Yield every primitive leaf, including fields of structs, without lists and maps."""
        return list(self._leaves)

    def column(self, name: str, rule: str) -> Leaf:
        """Return the column that a dotted name means: exact case first, then the only one that fits when case is
        ignored. UnknownColumnError, with the near names, where there is none; `rule` says what may be named."""
        return _named(self.columns, name, rule)

    def indexable(self, name: str) -> Leaf:
        """Return the leaf that a dotted name means, which can be indexed; see `column`."""
        try:
            leaf = _named(self.leaves(), name, "a column is named that the table has, no struct, list or map")
        except UnknownColumnError:
            parts = parse_path(name)
            if any(leaf.parts == parts and leaf.field.collated for leaf in self.columns):
                raise UnknownColumnError(
                    f"an indexed column has values that are equal where their bytes are; {name!r} has not (a collation,"
                    " or CHAR); choose another column"
                ) from None
            raise
        if physical_type(leaf.type) is None:
            raise UnsupportedFeatureError(
                f"an indexed column has an order; {name!r} is {leaf.type}; choose another column"
            )
        return leaf

    @cached_property
    def columns(self) -> tuple[Leaf, ...]:
        """Every column that a row has: those of the table, and the fields of structs, of any type."""

        def walk(fields: tuple[Field, ...], above: tuple[Field, ...]) -> Iterator[Leaf]:
            for member in fields:
                yield Leaf((*above, member))
                yield from walk(member.children, (*above, member))

        return tuple(walk(self.fields, ()))

    @cached_property
    def _leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf for leaf in self.columns if not (leaf.field.children or pa.types.is_nested(leaf.type)))


def _named(among: Sequence[Leaf], name: str, rule: str) -> Leaf:
    parts = parse_path(name)
    exact = [leaf for leaf in among if leaf.parts == parts]
    folded = [leaf for leaf in among if [p.lower() for p in leaf.parts] == [p.lower() for p in parts]]
    fitting = exact or folded
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UnknownColumnError(
            f"a column name fits one column; {name!r} fits {len(fitting)} when case is ignored; write it as the table"
            " does"
        )
    inside = [ColumnRef(leaf.parts).in_sql for leaf in among if leaf.parts[: len(parts)] == parts]
    if inside:
        raise UnknownColumnError(f"{rule}; {name!r} is a struct; name one of its fields: {', '.join(inside[:12])}")
    names = {".".join(leaf.parts): ColumnRef(leaf.parts).in_sql for leaf in among}  # with the backticks that one needs
    near = [names[plain] for plain in difflib.get_close_matches(name, list(names), 3, 0.5)]
    hint = f"near names: {', '.join(near)}" if near else f"columns: {', '.join([*names.values()][:12])}"
    if names.get(name, name) != name:
        hint = f"did you mean {names[name]}?"
    raise UnknownColumnError(f"{rule}; there is no {name!r}; {hint}{Cure.of_columns(list(names))}").of(name)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A primitive column by the fields that lead to it."""

    path: tuple[Field, ...]

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Logical name parts, as in a `ColumnRef`."""
        return tuple(f.name for f in self.path)

    @cached_property
    def stable(self) -> str:
        """The stable name: the id of the leaf where the format has ids, else the dotted path, in which a name that
        holds a dot (or looks like an id) stands between backticks."""
        last = self.path[-1]
        if last.stable.startswith("id:") and last.stable != last.name:
            return last.stable
        return ".".join(_part(f.stable or f.name) for f in self.path)

    @property
    def source(self) -> tuple[str, ...]:
        """Physical name parts inside data files."""
        return tuple(f.source or f.name for f in self.path)

    @property
    def field(self) -> Field:
        return self.path[-1]

    @property
    def type(self) -> pa.DataType:
        return self.path[-1].type

    @property
    def alone(self) -> Field:
        """Return the top-level field with nothing else inside it."""
        field = self.field
        for above in reversed(self.path[:-1]):
            field = replace(above, children=(field,), type=pa.struct([pa.field(field.name, field.type)]))
        return field

    @property
    def inner_fields(self) -> str:
        """Return what identifies the fields inside the column, in the order of its type, as a JSON list: ids, or names
        in files that are never reused. Empty if there are no fields, or names are all there is."""
        fields = [*_inside(self.field)] if self.stable.startswith("id:") else []
        return self.noted(fields) if all(fields) else ""

    @staticmethod
    def noted(fields: Iterable[str]) -> str:
        """Return identities of fields as `inner_fields` has them; empty if there are none."""
        listed = [*fields]
        return json.dumps(listed, separators=(",", ":")) if listed else ""


def _inside(field: Field) -> Iterator[str]:
    """Yield the identity of each field inside; "" for one identified by its name alone."""
    if not field.children:
        yield from told_apart(field.type)
    for child in field.children:
        yield child.stable if child.stable.startswith("id:") else ""
        yield from _inside(child)


def _part(name: str) -> str:
    """A part of a stable name: column `a.b` is not field b of struct a, nor is a column called id:3 the one with that
    id."""
    if "." not in name and "`" not in name and not name.startswith("id:"):
        return name
    return "`" + name.replace("`", "``") + "`"


FILE_SCHEMA = pa.schema(
    [
        # Relative to the table's root ('/'-separated, decoded), or an absolute URI/path where the log names a file
        # outside it.
        pa.field("path", pa.string(), nullable=False),
        pa.field("size_bytes", pa.int64(), nullable=False),
        pa.field("modified_ms", pa.int64()),  # of the file; null where the log does not say
        # Physical rows, deleted ones included, as the log claims them; null: unknown. 0 is what writers without
        # statistics say, too.
        pa.field("record_count", pa.int64()),
        # Canonical text of the partition tuple, "" when unpartitioned; hashed to partition_id.
        pa.field("partition", pa.string(), nullable=False),
        pa.field("deletes", pa.string()),  # identity of the deletes attached at this version; null: none
        pa.field("deleted_count", pa.int64()),  # rows deleted where known; null with deletes: unknown
        # Finer sign of the bytes: of plain files inode and change time in ns, or the object's etag; of Iceberg the data
        # sequence number and the snapshot that added the file.
        pa.field("etag", pa.string()),
    ]
)
"""The columns that every format gives. A format may append columns of its own behind them (their names start with its
name: `delta_dv_path`, `iceberg_spec_id`)."""

IDENTITY = ("path", "size_bytes", "modified_ms", "etag")
"""Of these the columns that say which bytes a file is, beside the table's id (docs/decisions/0017). Ids of files and
diffs go by them."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A live file: a view of one row, for people and tests."""

    path: str
    size_bytes: int
    modified_ms: int | None
    record_count: int | None
    partition: str
    deletes: str | None


_SHOWN = 20
"""Files, and columns, that are shown of all."""


@dataclass(frozen=True, slots=True, repr=False)
class FileTable(Shown):
    """Live files as columns: FILE_SCHEMA, one row a file, no two rows with the same path."""

    SCHEMA: ClassVar[pa.Schema] = FILE_SCHEMA
    IDENTITY: ClassVar[tuple[str, ...]] = IDENTITY

    table: pa.Table

    def _printed(self) -> str:
        paths = [f"  {path}" for path in self.paths.slice(0, _SHOWN).to_pylist()]
        more = [f"  ... and {len(self) - _SHOWN:,} more (.paths)"] if len(self) > _SHOWN else []
        return "\n".join([f"{counted(len(self), 'file')}, {human_bytes(self.size_bytes)}", *paths, *more])

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def paths(self) -> pa.ChunkedArray:
        return self.table.column("path")

    @property
    def size_bytes(self) -> int:
        return sum(int(Vector(chunk).numbers.sum()) for chunk in self.table.column("size_bytes").chunks)

    @property
    def with_deletes(self) -> Mask:
        """Return a mask of the files to which deletes are attached."""
        return Vector(self.table.column("deletes")).present

    def take(self, rows: pa.Array) -> FileTable:
        return FileTable(self.table.take(rows))

    def filter(self, mask: pa.Array) -> FileTable:
        return FileTable(self.table.filter(mask))

    def entry(self, row: int) -> FileEntry:
        r = self.table.slice(row, 1)
        return FileEntry(*(r.column(name)[0].as_py() for name in FileEntry.__dataclass_fields__))

    def entries(self) -> Iterator[FileEntry]:
        """Row by row: for people and tests."""
        return (self.entry(row) for row in range(len(self)))

    @classmethod
    def empty(cls) -> FileTable:
        return cls(FILE_SCHEMA.empty_table())


@dataclass(frozen=True, slots=True)
class EqualityDelete:
    """Rows whose values in `columns` (logical stable leaves) equal a row of `rows` (null equals null) are deleted. A
    leaf inside a struct stands in `rows` inside that struct, with nothing else in it: as Iceberg compares, a struct
    that is NULL is not one whose field is."""

    columns: tuple[Leaf, ...]
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Deletes:
    """Deletes of one file at one version: row positions, and rows by value."""

    positions: BitMap64
    equality: tuple[EqualityDelete, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedPositions:
    """Row positions of one file: those deleted at the target and not at the base, and those restored since."""

    deleted: BitMap64
    restored: BitMap64

    @classmethod
    def between(cls, before: BitMap64, after: BitMap64) -> ChangedPositions:
        """Compare the deleted positions before and after."""
        return cls(deleted=after - before, restored=before - after)


class SnapshotDetails(ABC):
    """Details of a snapshot's files that only the format knows, loaded on demand."""

    __slots__ = ()

    def log_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        """Return the bounds that the log states for the files (aligned with `files`), repaired for known faults of
        writers and never those written under deletes that made them untrue of the physical rows; None: the log says
        nothing of this column."""
        return None

    def many_log_bounds(self, leaves: Sequence[Leaf]) -> list[ColumnBounds | None]:
        """Return the `log_bounds` of each, read together if that is cheaper."""
        return [self.log_bounds(leaf) for leaf in leaves]

    def partition_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        """Return the bounds that follow from the files' partition values: exact for an identity partition column,
        inclusive for a transform of the column; None: no partition field is made from this column. Their counts are of
        one row, as all rows of a file have the value."""
        return None

    def partition_hashes(self, leaves: Mapping[ColumnRef, Leaf]) -> PruningStatistics[Mask] | None:
        """Return what partition values that are hashes prove of the files (aligned with `files`) about these columns;
        None: nothing."""
        return None

    def partition_values(self, leaf: Leaf) -> pa.Array | None:
        """Return the typed value of a partition column in each file, where each is known; None: there are none."""
        return None

    def known_partition_values(self, leaf: Leaf, time_zone: str) -> tuple[pa.Array, Mask] | None:
        """Return the value of a partition column in each file, and in which it is known; a time without a zone is one
        of `time_zone`. None: there are none."""
        return None

    def initial_default(self, field_id: int) -> tuple[bool, object] | None:
        """Return whether the value of a column that a file lacks is known, and the value, from the schemas alone; None:
        fields have none."""
        return None

    def null_lists(self, leaf: Leaf) -> ColumnBounds | None:
        """Return which files have no NULL in this list or map itself: a count of 0, and nothing else."""
        return None

    def deletes(self, row: int) -> Deletes:
        """Return the deletes attached to file `row` (positions and equality); only called if `files.deletes` is not
        null."""
        raise AssertionError("a format whose files have deletes reads them")

    def stored_vector(self, row: int) -> tuple[str, int, int] | None:
        """Return where the deletion vector of file `row` stands, framed (`deletion_vectors`): the path of its file, its
        offset and its length there. None: in no file, or there is none."""
        return None

    @abstractmethod
    def read_options(self) -> Mapping[str, object]:
        """Return how the data files are read: {"file_format": "parquet" | "csv" | "json", and for CSV and JSON the
        reader's options}."""


@dataclass(frozen=True, slots=True)
class _PlainDetails(SnapshotDetails):
    options: Mapping[str, object]

    def read_options(self) -> Mapping[str, object]:
        return self.options


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot(Shown):
    """The live files of a table at a version."""

    table: str  # root: absolute local path or URI
    format: str  # "delta" | "iceberg" | "files"
    version: Version
    timestamp_ms: int
    schema: Schema
    files: FileTable
    details: SnapshotDetails = field(compare=False)  # what was read of the log, which says the same
    partition_columns: tuple[str, ...] = ()  # logical names of columns with a partition value per file, identity only
    properties: Mapping[str, str] = field(default_factory=dict)
    mapping: str = ""  # what every `etag` ends with because the table maps columns of files by name (Iceberg)

    @classmethod
    def plain(
        cls,
        table: str,
        table_format: str,
        version: Version,
        timestamp_ms: int,
        schema: Schema,
        files: FileTable,
        read_options: Mapping[str, object],
    ) -> Snapshot:
        """Return a snapshot of files without deletes whose columns all stand in the files."""
        return cls(table, table_format, version, timestamp_ms, schema, files, _PlainDetails(read_options))

    def _printed(self) -> str:
        columns = [f"{field.name} ({field.type})" for field in self.schema]
        more = f" and {len(columns) - _SHOWN:,} more (.schema)" if len(columns) > _SHOWN else ""
        return (
            f"{self.table} ({self.format}) at version {self.version}: {counted(len(self.files), 'file')},"
            f" {human_bytes(self.files.size_bytes)} (.files)\n  columns: {', '.join(columns[:_SHOWN])}{more}"
        )

    @property
    def table_uuid(self) -> str:
        """Id of the table from its own metadata, "" if it has none (plain files)."""
        return self.version.table_uuid

    def described(self, path: str) -> str:
        """Return a data file as errors name it."""
        return f"data file {self.uri(path)} of {self.format} table {self.table} at version {self.version}"

    def uri(self, path: str) -> str:
        """Return what an engine opens for a path of `files`."""
        if path.startswith("/") or "://" in path:
            return path
        return f"{self.table.rstrip('/')}/{path}"


@dataclass(frozen=True, slots=True)
class Base:
    """A version with known files, and what reading the log from there on needs."""

    version: Version
    schema: Schema
    partition_columns: tuple[str, ...] = ()  # `Snapshot.partition_columns`


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes from `base` to the version of `touched`.

    `touched.files` are the files named that are live at the target; some may have been live at the base already (their
    deletes changed, their statistics were written again). `gone` (path, size_bytes, and deletes where the log says with
    which ones a file was taken out) are the others that were named; some may never have been live at the base. The
    files of the target are those of the base, without the `gone` ones, and with the touched ones; that must make
    `files` of them, where the log says how many there are.
    """

    base: Version
    touched: Snapshot  # of the target, but its `files` are not all of the table's
    gone: FileTable
    files: int | None = None


def partition_text(names: Sequence[str], values: Sequence[str | None]) -> str:
    """The canonical text of a partition tuple: Hive style, names and values percent-encoded, NULL as
    `__HIVE_DEFAULT_PARTITION__`; a value that reads so has its first letter encoded."""
    from urllib.parse import quote

    null = "__HIVE_DEFAULT_PARTITION__"
    return "/".join(
        f"{quote(n, safe='')}={null if v is None else quote(v, safe='') if v != null else '%5F' + null[1:]}"
        for n, v in zip(names, values, strict=True)
    )
