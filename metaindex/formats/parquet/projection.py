"""Columns of a Parquet file -> the table's columns.

A field is found by its id where the field has one and the file carries ids, else by its `source` name, at every depth.
Where it is not found it shows its default. Types are brought to the table's by a short list of conversions that keep
every value, those that Spark makes; any other pair is refused.

Inside lists and maps the table's fields are known by their Arrow type only, whose metadata may carry a field id
(`PARQUET:field_id`) or a physical name (`delta.columnMapping.physicalName`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Cure, ScanError
from metaindex.expressions import Family
from metaindex.formats.column_names import FIELD_ID, PHYSICAL_NAME, alike
from metaindex.formats.model import VARIANT, Field, Snapshot


@dataclass(frozen=True, slots=True)
class FileNames:
    """Naming of columns in a table's files."""

    ignore_case: bool  # Spark's own readers do; Iceberg does not
    mapped: bool  # the table's names are not those in files
    positional: bool  # a file without ids and names for it: the n-th column has id n, as Iceberg has it
    by_id: Mapping[int, tuple[str, ...]]  # Iceberg's name mapping: the names that a field may have in files without ids

    @classmethod
    def of(cls, snapshot: Snapshot) -> FileNames:
        text = snapshot.details.read_options().get("name_mapping")
        names = dict(names_by_id(json.loads(text))) if isinstance(text, str) else {}
        iceberg = snapshot.format == "iceberg"
        mapped = any(f.field_id is not None or (f.source and f.source != f.name) for f in snapshot.schema)
        return cls(
            ignore_case=not iceberg, mapped=mapped, positional=iceberg and not isinstance(text, str), by_id=names
        )


def names_by_id(mapping: list[dict[str, Any]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the ids of a name mapping's fields, each with the names that it may have."""
    for entry in mapping:
        if "field-id" in entry:
            yield int(entry["field-id"]), tuple(entry.get("names", ()))
        yield from names_by_id(entry.get("fields") or [])


class Among:
    """Fields side by side, each found without a look at the others: there may be thousands."""

    def __init__(self, fields: Sequence[pa.Field], ignore_case: bool) -> None:
        self.fields, self._ignore_case = fields, ignore_case
        self._by_name: dict[str, list[int]] = {}
        self._by_id: dict[bytes | None, list[int]] = {}
        for at, field in enumerate(fields):
            self._by_name.setdefault(alike(field.name) if ignore_case else field.name, []).append(at)
            self._by_id.setdefault((field.metadata or {}).get(FIELD_ID), []).append(at)

    def named(self, names: Sequence[str]) -> list[int]:
        """The places of those that one of the names means."""
        wanted = dict.fromkeys(alike(name) if self._ignore_case else name for name in names)
        return sorted(at for name in wanted for at in self._by_name.get(name, ()))

    def with_id(self, number: int) -> list[int]:
        return self._by_id.get(str(number).encode(), [])


@dataclass(frozen=True, slots=True)
class Projection:
    """Finds the table's fields among those of one file. `where` names the file in errors."""

    where: str
    names: FileNames
    with_ids: bool  # the file carries field ids

    def among(self, fields: Sequence[pa.Field]) -> Among:
        """The fields of a file, or of a struct of it, to find some of the table's there."""
        return Among(fields, self.names.ignore_case)

    def find(self, wanted: Field, among: Among, *, top: bool = False) -> int | None:
        """The place of a field among a file's; None: the file does not have it."""
        if wanted.field_id is None:
            places = among.named((wanted.source or wanted.name,))
        elif self.with_ids:
            places = among.with_id(wanted.field_id)
        elif self.names.positional:
            if not top:
                raise ScanError.for_spark(
                    f"a field inside a struct is found by its id or by the table's name mapping; {self.where} has no"
                    f" ids and the table no mapping for {wanted.name!r}"
                )
            places = [wanted.field_id - 1] if 1 <= wanted.field_id <= len(among.fields) else []
        elif self.names.by_id:
            places = among.named(self.names.by_id.get(wanted.field_id, ()))
        else:
            places = among.named((wanted.source or wanted.name,))
        if len(places) > 1:
            names = ", ".join(among.fields[i].name for i in places)
            raise ScanError(
                f"a column must be one column of a file; {wanted.name!r} fits {names} of {self.where}; "
                "rewrite the file with one of them"
            )
        return places[0] if places else None

    def column(self, wanted: Field, values: pa.Array) -> pa.Array:
        """A file's column as the table's."""
        return self._struct(wanted, values) if wanted.children else self._value(wanted.type, values, wanted.name)

    def missing(self, wanted: Field, count: int) -> pa.Array:
        """Return the column that a file without it shows. Raises ScanError if its default is unknown."""
        if not wanted.default_known:
            raise ScanError(
                f"a file without a column shows the column's default; that of {wanted.name!r} is not known and"
                f" {self.where} lacks the column; leave it out of columns"
            )
        return constant(wanted.default, wanted.type, count)

    def _struct(self, wanted: Field, values: pa.Array) -> pa.Array:
        if not pa.types.is_struct(values.type):
            raise self._refused(wanted.name, values.type, wanted.type)
        fields = [values.type.field(i) for i in range(values.type.num_fields)]
        children, among = [], self.among(fields)
        for child in wanted.children:
            at = self.find(child, among)
            if at is None:
                # Where the struct itself is NULL its fields are, whatever their defaults.
                shown = replace(child, default_known=True) if child.default is not None else child
                children.append(self.missing(shown, len(values)))
            else:
                children.append(self.column(child, pc.struct_field(values, [at])))
        fields_shown = [pa.field(c.name, c.type, c.nullable) for c in wanted.children]
        return _structs(children, fields_shown, values).cast(wanted.type)

    def _value(self, target: pa.DataType, values: pa.Array, name: str) -> pa.Array:
        if values.type.equals(target) and not _has_fields(target):
            return values  # fields of one name may be others: they are found by their ids
        if pa.types.is_dictionary(target) and not pa.types.is_dictionary(values.type):
            return self._value(target.value_type, values, name).dictionary_encode().cast(target)
        if isinstance(values.type, pa.BaseExtensionType):
            return self._value(target, values.storage, name)
        if pa.types.is_dictionary(values.type):
            return self._value(target, values.dictionary_decode(), name)
        if pa.types.is_struct(target) and target.num_fields == 0:
            raise ScanError(
                f"column {name!r} has a type that Arrow readers do not know; leave it out of columns, or"
                f" {Cure('spark')}"
            )
        if target.equals(VARIANT) and pa.types.is_struct(values.type):
            return self._variant(values, name)
        if pa.types.is_struct(target) and pa.types.is_struct(values.type):
            return self._struct(self._field_of(pa.field(name, target)), values)
        if _is_list(target) and _is_list(values.type):
            plain = _unsliced(values)
            items = self._value(target.value_type, plain.values, f"{name}.element")
            kind = pa.LargeListArray if pa.types.is_large_list(values.type) else pa.ListArray
            made = kind.from_arrays(plain.offsets, items, mask=plain.is_null() if plain.null_count else None)
            return made.cast(target)
        if pa.types.is_map(target) and pa.types.is_map(values.type):
            plain = _unsliced(values)
            keys = self._value(target.key_type, plain.keys, f"{name}.key")
            items = self._value(target.item_type, plain.items, f"{name}.value")
            offsets = plain.offsets
            if (
                plain.null_count
            ):  # a null map is a null offset: from_arrays takes no mask in every pyarrow that we allow
                null = pa.concat_arrays([plain.is_null(), pa.array([False])])
                offsets = pc.if_else(null, pa.scalar(None, offsets.type), offsets)
            return pa.MapArray.from_arrays(offsets, keys, items).cast(target)
        convert = _conversion(values.type, target)
        if convert is None:
            raise self._refused(name, values.type, target)
        try:
            return convert(values)
        except pa.ArrowInvalid as error:
            raise ScanError(
                f"column {name!r} must hold values of {target}; {self.where} holds others ({error}); rewrite the file"
            ) from error

    def _variant(self, values: pa.Array, name: str) -> pa.Array:
        names = {values.type.field(i).name for i in range(values.type.num_fields)}
        if names != {"metadata", "value"}:
            raise ScanError.for_spark(
                f"variants are read where they are stored whole; column {name!r} of {self.where} is shredded"
            )
        return _structs(
            [pc.struct_field(values, n).cast(pa.binary()) for n in ("metadata", "value")], list(VARIANT), values
        )

    def _field_of(self, shown: pa.Field) -> Field:
        """A field inside a list or map, made from its Arrow type."""
        metadata = shown.metadata or {}
        field_id = metadata.get(FIELD_ID)
        source = metadata.get(PHYSICAL_NAME)
        children: tuple[Field, ...] = ()
        if pa.types.is_struct(shown.type):
            children = tuple(self._field_of(shown.type.field(i)) for i in range(shown.type.num_fields))
            for child in children:
                if self.names.mapped and child.field_id is None and not child.source:
                    raise ScanError(
                        "fields inside lists and maps of a table with mapped names are found by id or physical name;"
                        f" the table's schema has none for {child.name!r}; leave the column out of columns, or"
                        f" {Cure('spark')}"
                    )
        return Field(
            name=shown.name,
            type=shown.type,
            nullable=shown.nullable,
            source=source.decode() if source else "",
            field_id=int(field_id) if field_id else None,
            children=children,
        )

    def _refused(self, name: str, stored: pa.DataType, target: pa.DataType) -> ScanError:
        return ScanError(
            f"column {name!r} is {target} in the table; it is {stored} in {self.where}, which Spark does not read as"
            " such either; rewrite the file with the table's type"
        )


def carries_ids(fields: Iterable[pa.Field]) -> bool:
    """Return whether a field has an id, at any depth: that of a list's element decides for all columns, too."""
    return any(
        FIELD_ID in (f.metadata or {}) or carries_ids(f.type.field(at) for at in range(f.type.num_fields))
        for f in fields
    )


def constant(value: object, type_: pa.DataType, count: int) -> pa.Array:
    """Return an array with one value for every row."""
    if value is None:
        return pa.nulls(count, type_)
    if isinstance(value, pa.Scalar):
        return pa.repeat(value.cast(type_), count)
    return pa.repeat(pa.scalar(value, type_), count)


def _structs(children: list[pa.Array], fields: list[pa.Field], like: pa.Array) -> pa.Array:
    mask = like.is_null() if like.null_count else None
    return pa.StructArray.from_arrays(children, fields=[f.with_nullable(True) for f in fields], mask=mask)


def _unsliced(values: pa.Array) -> pa.Array:
    """Copy a slice into buffers of its own: the offset of a slice does not go with a mask."""
    if values.offset == 0:
        return values
    return pa.concat_arrays([values, values.slice(0, 0)])


def _has_fields(type_: pa.DataType) -> bool:
    """Structs, also in lists and maps."""
    return pa.types.is_struct(type_) or any(_has_fields(type_.field(i).type) for i in range(type_.num_fields))


def _is_list(t: pa.DataType) -> bool:
    return bool(pa.types.is_list(t) or pa.types.is_large_list(t))


def _with_room(decimal: pa.DataType) -> pa.DataType:
    """Return a type in which the product of a cast to a larger scale does not wrap around, as in 128 bits it may: what
    does not fit raises when it is cast from there."""
    return pa.decimal256(76, decimal.scale)


def _conversion(stored: pa.DataType, target: pa.DataType) -> Callable[[pa.Array], pa.Array] | None:
    """The function that brings values of one type to another without changing what they say, as Spark does; None where
    it reads no such pair."""
    is_ = pa.types
    fixed = is_.is_fixed_size_binary(stored)
    if stored.equals(target):
        return lambda values: values
    if is_.is_integer(stored) and is_.is_decimal(target):
        return lambda values: values.cast(pa.decimal128(38, 0)).cast(_with_room(target)).cast(target)
    if is_.is_decimal(stored) and is_.is_decimal(target) and stored.scale < target.scale:
        return lambda values: values.cast(_with_room(target)).cast(target)
    if fixed and stored.byte_width == 16 and Family.of(target) is Family.TEXT:
        return _uuid_text
    if is_.is_timestamp(stored) and is_.is_timestamp(target):
        return lambda values: _instants(values, target)
    casts = (
        is_.is_null(stored)
        or (is_.is_integer(stored) and is_.is_integer(target))  # checked: a value that does not fit raises
        or (is_.is_integer(stored) and is_.is_float64(target) and stored.bit_width <= 32)
        or (is_.is_duration(stored) and is_.is_int64(target))
        or (is_.is_floating(stored) and is_.is_floating(target) and stored.bit_width <= target.bit_width)
        or (is_.is_decimal(stored) and is_.is_decimal(target) and stored.scale >= target.scale)  # checked, too
        or (_is_bytes(stored) and _is_bytes(target))
        or (fixed and Family.of(target) is Family.BYTES)
        or (is_.is_date(stored) and (is_.is_date(target) or (is_.is_timestamp(target) and target.tz is None)))
        or (is_.is_time(stored) and is_.is_time(target))
    )
    return (lambda values: values.cast(target)) if casts else None


def _instants(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Read both kinds of timestamps as the number stored in the file; nanoseconds are truncated as Spark does, towards
    the past."""
    if values.type.unit == "ns" and target.unit == "us":
        values = pc.floor_temporal(values, unit="microsecond")
    plain = values.cast(pa.timestamp(values.type.unit)) if values.type.tz else values
    return plain.cast(pa.timestamp(target.unit)).cast(target)


def _uuid_text(values: pa.Array) -> pa.Array:
    from uuid import UUID

    return pa.array([None if v is None else str(UUID(bytes=v)) for v in values.to_pylist()], pa.string())


def _is_bytes(t: pa.DataType) -> bool:
    return Family.of(t) in (Family.TEXT, Family.BYTES) and not pa.types.is_fixed_size_binary(t)
