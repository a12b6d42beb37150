"""Iceberg tables, served as they are: their own metadata, and tasks made of their manifests' entries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import BoundedCache, CorruptTableError, Mask, MetaIndexError
from metaindex.expressions import ColumnRef
from metaindex.formats import At, Field, Snapshot, TableRef
from metaindex.query import Handle

from .clients import Client, Spelling
from .partitions import EVALUATED
from .refusal import Refusal
from .served import Json, Loaded, Page, PartitionColumn

if TYPE_CHECKING:
    import polars as pl

_MOST_FIELDS: Final = 5
"""Fields of a spec of which some may be left out for a client that cannot read a value of theirs."""
_FEW: Final = 32
_CONTENT: Final = ("data", "position-deletes", "equality-deletes")
_OF_DELETES: Final = {
    "referenced": "referenced-data-file",
    "content_offset": "content-offset",
    "content_size": "content-size-in-bytes",
}
_COUNTS: Final = ("value_counts", "null_value_counts", "nan_value_counts")
_BOUNDS: Final = ("lower_bounds", "upper_bounds")
_TOLD: Final = ("table_uuid", "location", "schemas", "current_schema_id", "specs", "properties")
"""What metadata say of all snapshots."""


class IcebergTable:
    """`ServedTable` of an Iceberg table. One thread's at a time."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self._snapshots: BoundedCache[tuple[int | None, int | None], IcebergSnapshot] = BoundedCache(8)
        self._loaded: BoundedCache[str, tuple[Json, str]] = BoundedCache(1)

    def document(self) -> tuple[str, Json]:
        """Return the place of the metadata file as it is now, and its JSON."""
        return cast("Documented", self.handle.table_format).document(self.handle.ref)

    def load(self, client: Client) -> Loaded:
        """Return the table's metadata as it is now. Raises Refusal for a client that would read it wrong."""
        file, document = self.document()
        why_not = self._loaded.find(file)
        if why_not is None or why_not[0] != document:
            self._loaded.keep(file, why_not := (document, self.why_not()))
        unsure = client.obeys_tables and bool(_unsure(_schemas_of(document)))
        if unsure or not client.tried or why_not[1]:
            if client.tried and not client.obeys_tables:
                raise Refusal.unsupported(f"{client} plans every table of a catalog where it plans one; {why_not[1]}")
            return Loaded(document, {"scan-planning-mode": "client"}, file)
        if client.spelling is Spelling.PHYSICAL:
            document = {**document, "partition-specs": [*_specs_of(document), *_narrower(document)]}
        return Loaded(document, {"scan-planning-mode": "server"})

    def snapshot(self, snapshot_id: int | None, *, own_schema: bool) -> IcebergSnapshot:
        """Return a version. Raises VersionNotFoundError if it is gone."""
        now = cast("Documented", self.handle.table_format).current(self.handle.ref)
        wanted = now.current_snapshot_id if snapshot_id is None else snapshot_id
        key = wanted, None if own_schema else now.current_schema_id
        served = self._snapshots.find(key)
        if served is None or not served.is_of(now):
            at = At() if wanted is None else At(wanted, schema_id=key[1])
            # Not by the handle, which holds snapshots with the metadata that they were read with.
            snapshot = self.handle.table_format.snapshot(self.handle.ref, at)
            self.handle.confined(snapshot.files)
            served = IcebergSnapshot(snapshot)
            if served.details.place.moved:
                raise Refusal.unsupported(
                    f"files are read by the locations in a table's metadata; that of {self.handle.path} names"
                    f" {served.details.place.claimed}; serve it there, or rewrite its paths (rewrite_table_path)"
                )
            self._snapshots.keep(key, served)
        return served

    def why_not(self) -> str:
        """Return why the current version cannot be planned here; empty if it can."""
        try:
            served = self.snapshot(None, own_schema=False)
        except MetaIndexError as error:
            return str(error)
        for spec in served.details.metadata.specs.values():
            for field in spec.fields:
                if field.source_id is None or field.transform.partition("[")[0] not in EVALUATED:
                    return _not_evaluated(field)
                if _type_of(served.details.metadata, field.source_id) in ("float", "double"):
                    return f"partition field {field.name!r} is of floats, of which the protocol cannot spell NaN"
        return ""


class IcebergSnapshot:
    """`ServedSnapshot` of an Iceberg snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.details = cast("_Details", snapshot.details)
        self._statistics: pl.DataFrame | None = None

    @property
    def id(self) -> int:
        """The snapshot's id in the table's metadata; 0 for a table without snapshots."""
        return self.details.snapshot_id

    def is_of(self, now: _Metadata) -> bool:
        """Return whether the metadata say of this snapshot what they said when it was read: a table that was made anew
        may have its ids, and one whose columns were renamed has other names."""
        read = self.details.metadata
        alike = read is now or all(getattr(read, name) == getattr(now, name) for name in _TOLD)
        return alike and read.snapshots.get(self.id) == now.snapshots.get(self.id)

    @cached_property
    def unsure(self) -> frozenset[str]:
        """Return the names, as `Field.alike` has them, by which a client may mean another column than the current
        schema has."""
        return _unsure(self.details.metadata.schemas.values())

    def partitions(self) -> Sequence[PartitionColumn]:
        """Return the fields of all partition specs whose column the schema has."""
        return self._partitions

    @cached_property
    def _partitions(self) -> tuple[PartitionColumn, ...]:
        return tuple(self._made_of_columns())

    def _made_of_columns(self) -> Iterator[PartitionColumn]:
        data, specs = self.details.data, self.details.metadata.specs
        spec_ids = data["spec_id"].to_numpy()
        columns = {leaf.field.field_id: leaf for leaf in self.snapshot.schema.leaves()}
        for spec_id in np.unique(spec_ids).tolist():
            known: Mask = spec_ids == spec_id
            for field in specs[spec_id].fields:
                leaf = columns.get(field.source_id)
                if field.transform.partition("[")[0] not in EVALUATED:
                    raise Refusal.unsupported(_not_evaluated(field))
                if leaf is None or field.transform == "void":
                    continue
                if field.transform == "identity":
                    typed = self.snapshot.details.known_partition_values(leaf, "UTC")
                    if typed is None:
                        raise Refusal(f"values of a partition column are of its type; those of {field.name!r} are not")
                    yield PartitionColumn(ColumnRef(leaf.parts), "identity", typed[0], known & typed[1])
                else:
                    values = data[f"p{field.field_id}"].to_arrow()
                    plain = values.cast(pa.string()) if pa.types.is_large_string(values.type) else values
                    yield PartitionColumn(ColumnRef(leaf.parts), field.transform, plain, known)

    def tasks(
        self,
        files: npt.NDArray[np.int64],
        client: Client,
        statistics: Sequence[str] | None = None,
        asked: object = None,
    ) -> Page:
        """Return the tasks of these files. Raises Refusal for deletes and values that a client cannot read."""
        spelled = _Spelled(self.details.metadata, client)
        rows = _rows(self.details.data, files)
        tasks: list[dict[str, object]] = [{"data-file": _content(row, spelled)} for row in rows]
        if statistics is not None:
            self._add_statistics(files, tasks, statistics)
        deletes, order = self._attached(files), dict[int, int]()
        for task, attached in zip(tasks, deletes, strict=True):
            if attached:
                task["delete-file-references"] = [order.setdefault(delete, len(order)) for delete in attached]
        entries = _rows(self.details.delete_entries, list(order))
        if not client.equality_deletes and any(entry["content"] == 2 for entry in entries):
            raise Refusal(
                f"{client} does not read equality deletes; {self.snapshot.table} has some at this snapshot; compact it"
                " (rewrite_data_files), or read it with Spark"
            )
        return Page(tasks, [_content(entry, spelled) for entry in entries])

    def _attached(self, files: npt.NDArray[np.int64]) -> list[list[int]]:
        of, deletes = self._pairs
        low, high = np.searchsorted(of, files, "left"), np.searchsorted(of, files, "right")
        return [deletes[start:end].tolist() for start, end in zip(low.tolist(), high.tolist(), strict=True)]

    @cached_property
    def _pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        of = self.details.pairs["file"].to_numpy().astype(np.int64)
        order = np.argsort(of, kind="stable")
        return of[order], self.details.pairs["delete"].to_numpy().astype(np.int64)[order]

    def _add_statistics(
        self, files: npt.NDArray[np.int64], tasks: Sequence[dict[str, object]], columns: Sequence[str]
    ) -> None:
        """Add counts and bounds of columns as the manifests state them."""
        ids = {
            f.field_id for leaf in self.snapshot.schema.columns if ".".join(leaf.parts) in columns for f in leaf.path
        }
        if self._statistics is None:
            self._statistics = self.details.stated([*_COUNTS, *_BOUNDS])
        for task, row in zip(tasks, self._statistics[files].iter_rows(named=True), strict=True):
            file = cast("dict[str, object]", task["data-file"])
            for name, pairs in row.items():
                kept = [
                    (pair["key"], pair["value"])
                    for pair in pairs or ()
                    if pair["key"] in ids and pair["value"] is not None
                ]
                if kept:
                    values = [value.hex() if isinstance(value, bytes) else value for _, value in kept]
                    file[name.replace("_", "-")] = {"keys": [key for key, _ in kept], "values": values}


def _rows(frame: pl.DataFrame, places: Sequence[int] | npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return some rows. A few are read one by one, for which Polars wakes none of its threads."""
    if len(places) <= _FEW:
        return [frame.row(int(place), named=True) for place in places]
    return frame[places].to_dicts()


def _not_evaluated(field: _Field) -> str:
    return f"partition values are evaluated exactly; field {field.name!r} has the unknown transform {field.transform!r}"


# JSON of a file -------------------------------------------------------------------------------------------------------


def _content(entry: Mapping[str, Any], spelled: _Spelled) -> dict[str, object]:
    spec_id, values = spelled.partition(entry)
    content = {
        "spec-id": spec_id,
        "content": _CONTENT[entry.get("content") or 0],
        "file-path": entry["location"],
        "file-format": entry["file_format"].lower(),
        "partition": values,
        "file-size-in-bytes": entry["size_bytes"],
        "record-count": entry["record_count"],
    }
    if entry.get("content"):
        content |= {key: entry[name] for name, key in _OF_DELETES.items() if entry.get(name) is not None}
        if entry.get("equality_ids") is not None:
            content["equality-ids"] = list(entry["equality_ids"])
    elif entry.get("first_row_id") is not None:
        content["first-row-id"] = entry["first_row_id"]
    return content


class _Spelled:
    """Partition values as one client reads them."""

    def __init__(self, metadata: _Metadata, client: Client) -> None:
        self._metadata, self._client = metadata, client
        self._types = {
            spec_id: [_result_type(metadata, field) for field in spec.fields]
            for spec_id, spec in metadata.specs.items()
        }

    def partition(self, entry: Mapping[str, Any]) -> tuple[int, list[object]]:
        """Return a spec, and its values. Where the client cannot read a value, it is of a spec without that field: the
        file's own column has it, but for NULL, which a column that a file lacks is as well."""
        spec_id = entry["spec_id"]
        fields = self._metadata.specs[spec_id].fields
        types = self._types[spec_id]
        raw = [entry.get(f"p{field.field_id}") for field in fields]
        if self._client.spelling is Spelling.TYPED:
            return spec_id, [
                None if value is None or of is None else _typed(value, of) for value, of in zip(raw, types, strict=True)
            ]
        values = [
            None if value is None or of is None else _physical(value, of) for value, of in zip(raw, types, strict=True)
        ]
        left_out = sum(1 << place for place, value in enumerate(values) if value is None)
        if not left_out:
            return spec_id, values
        unspelled = [
            field.name
            for field, value, said in zip(fields, raw, values, strict=True)
            if value is not None and said is None
        ]
        if not self._client.more_specs:
            raise Refusal(
                f"{self._client} reads no NULL among partition values; {self._metadata.location} has one in a file that"
                " the scan needs; plan it by the client, through the catalog itself"
            )
        if len(fields) > _MOST_FIELDS or (unspelled and "schema.name-mapping.default" in self._metadata.properties):
            raise Refusal(
                f"{self._client} reads partition values that are numbers or text, and no NULL in more than"
                f" {_MOST_FIELDS} fields; {self._metadata.location} has others in {', '.join(unspelled) or 'some'}"
            )
        return narrower_id(spec_id, left_out), [value for value in values if value is not None]


def narrower_id(spec_id: int, left_out: int) -> int:
    """Return the id of a spec without the fields whose bits are set. It is the same in every process, and stays so when
    the table gets another spec."""
    return 1_000_000 + (spec_id << _MOST_FIELDS) + left_out


def _specs_of(document: Json) -> list[Any]:
    specs = document.get("partition-specs")
    if isinstance(specs, list):
        return specs
    return [{"spec-id": 0, "fields": document.get("partition-spec") or []}]  # of format 1


def _schemas_of(document: Json) -> Iterable[Mapping[str, Any]]:
    schemas = document.get("schemas") or [document["schema"]]
    return cast("Iterable[Mapping[str, Any]]", schemas)


def _unsure(schemas: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names that have stood for different columns, in small or capital letters. A request names columns, not
    schemas: a client whose metadata are older may mean another one."""
    known: dict[str, int] = {}
    unsure: set[str] = set()
    todo: list[tuple[str, Mapping[str, Any]]] = [("", schema) for schema in schemas]
    try:
        while todo:
            above, struct = todo.pop()
            for field in struct.get("fields", ()):
                name = f"{above}{field['name']}"
                if known.setdefault(Field.alike(name), field["id"]) != field["id"]:
                    unsure.add(Field.alike(name))
                if isinstance(field["type"], dict):
                    todo.append((f"{name}.", field["type"]))
    except (KeyError, TypeError, AttributeError):
        raise CorruptTableError(
            "a field of an Iceberg schema has an id, a name and a type; one of this table has not; restore its metadata"
        ) from None
    return frozenset(unsure)


def _narrower(document: Json) -> Iterator[Json]:
    """Yield each spec without some of its fields."""
    for spec in _specs_of(document):
        fields = spec["fields"]
        for left_out in range(1, 1 << len(fields)) if 0 < len(fields) <= _MOST_FIELDS else ():
            kept = [field for place, field in enumerate(fields) if not left_out >> place & 1]
            yield {"spec-id": narrower_id(int(spec["spec-id"]), left_out), "fields": kept}


def _type_of(metadata: _Metadata, field_id: int | None) -> str | None:
    """Return the primitive type of a column in the current schema; None if it was dropped."""
    todo: list[Any] = [metadata.schemas[metadata.current_schema_id]]
    while todo:
        for field in todo.pop().get("fields", ()):
            if field["id"] == field_id:
                return field["type"] if isinstance(field["type"], str) else None
            if isinstance(field["type"], dict):
                todo.append(field["type"])
    return None


def _result_type(metadata: _Metadata, field: _Field) -> str | None:
    """Return the type of a partition value; None for those that are never spelled."""
    name = field.transform.partition("[")[0]
    if name == "void":
        return None
    return {"bucket": "int", "year": "int", "month": "int", "hour": "int", "day": "date"}.get(name) or _type_of(
        metadata, field.source_id
    )


def _typed(value: Any, of: str) -> object:
    """Return a value as Java reads it: Iceberg's single-value JSON."""
    if of == "date":
        return str(np.datetime64(int(value), "D"))
    if of in ("timestamp", "timestamptz"):
        return str(np.datetime64(int(value), "us")) + ("+00:00" if of == "timestamptz" else "")
    if of in ("timestamp_ns", "timestamptz_ns"):
        return str(np.datetime64(int(value), "ns")) + ("+00:00" if of == "timestamptz_ns" else "")
    if of == "time":
        return str(np.datetime64(int(value), "us")).partition("T")[2]
    if of.startswith("decimal"):
        unscaled, scale = int.from_bytes(value, "big", signed=True), int(of.rstrip(") ").rpartition(",")[2])
        digits = f"{abs(unscaled):0{scale + 1}d}"
        return ("-" if unscaled < 0 else "") + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)
    if of == "uuid":
        text = bytes(value).hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        raise Refusal("a partition value is a finite number; this table has NaN or an infinity in one")
    return value


def _physical(value: Any, of: str) -> object:
    """Return a value as pyiceberg holds it; None for those that JSON cannot give it."""
    numbers = ("int", "long", "date", "time", "timestamp", "timestamptz")
    return value if of in numbers or (of in ("string", "boolean") and isinstance(value, str | bool)) else None


# The library's own snapshot of Iceberg, as it is read here ------------------------------------------------------------


class _Field(Protocol):
    name: str
    field_id: int
    source_id: int | None
    transform: str


class _Spec(Protocol):
    fields: tuple[_Field, ...]


class _Metadata(Protocol):
    location: str
    current_schema_id: int
    current_snapshot_id: int | None
    schemas: Mapping[int, Mapping[str, Any]]
    specs: Mapping[int, _Spec]
    snapshots: Mapping[int, object]
    properties: Mapping[str, str]


class _Place(Protocol):
    @property
    def moved(self) -> bool: ...
    @property
    def claimed(self) -> str: ...


class _Details(Protocol):
    place: _Place
    metadata: _Metadata
    snapshot_id: int
    data: pl.DataFrame
    delete_entries: pl.DataFrame
    pairs: pl.DataFrame

    def stated(self, names: Sequence[str]) -> pl.DataFrame: ...


@runtime_checkable
class Documented(Protocol):
    """Format whose tables have metadata that clients read themselves."""

    def document(self, ref: TableRef) -> tuple[str, Json]:
        """Return the place of the current metadata file, and its JSON."""

    def current(self, ref: TableRef) -> _Metadata:
        """Return the content of the current metadata file."""
