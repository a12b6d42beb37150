"""Columns of a shown table as Iceberg has them: ids, types, and a mapping of the names in data files.

    column                              its id
    under Delta's column mapping        `delta.columnMapping.id`, which the files carry by name and by id alike
    any other                           a hash of its path inside data files, which it keeps in all versions, and for
                                        clients that loaded the table long ago

A column of a type that nobody compared with the client's own reader is refused by name. What some clients read and
others do not is a *fact*, by name; a client is refused if it misreads one (`Client.misread`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

import pyarrow as pa

from metaindex.core import dataclass
from metaindex.formats import Field, Schema
from metaindex.serve.refusal import Refusal
from metaindex.serve.served import Json

MILLISECONDS = "milliseconds"
UNSIGNED = "unsigned"
TIME = "time"
DECIMAL_PARTITION = "decimal_partition"
PARTITION_VALUES = "partition_values"

Path = tuple[str, ...]
ELEMENT, KEY, VALUE = "element", "key", "value"
_VARIANT = ["metadata", "value"]
_DEEPEST = 32  # levels of columns inside of columns


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or what is inside one: a struct's field, a list's element, a map's key or value. `path`: inside data
    files; `number`: the id that the table itself gives it."""

    path: Path
    name: str
    type: pa.DataType
    children: tuple[Column, ...] = ()
    number: int | None = None
    by_id: bool = False  # files are read by ids alone
    partition: bool = False

    def __iter__(self) -> Iterator[Column]:
        """Yield the column and all inside it."""
        yield self
        for child in self.children:
            yield from child

    def named(self) -> Iterator[tuple[str, Column]]:
        """Yield the column and all inside it by the names that Iceberg gives them, joined by dots."""
        return ((".".join(names), column) for names, column in self.placed())

    def placed(self, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Column]]:
        """Yield the column and all inside it with the names that lead there."""
        names = (*above, self.name)
        yield names, self
        for child in self.children:
            yield from child.placed(names)

    @property
    def facts(self) -> frozenset[str]:
        """Return what of the type not every client reads right."""
        return frozenset().union(*(_facts(column) for column in self))

    def field(self, ids: Mapping[Path, int]) -> Json:
        """Iceberg's JSON of the column. None is required: a file may lack any."""
        return {"id": ids[self.path], "name": self.name, "required": False, "type": self._type(ids)}

    def _type(self, ids: Mapping[Path, int]) -> object:
        said, inner = primitive(self.type), self.children
        if said is not None:
            return said
        if pa.types.is_struct(self.type):
            return {"type": "struct", "fields": [child.field(ids) for child in inner]}
        if pa.types.is_map(self.type):
            key, value = inner
            of_key = {"key-id": ids[key.path], "key": key._type(ids)}
            return {"type": "map", **of_key, **_said("value", value, ids)}
        return {"type": "list", **_said("element", inner[0], ids)}


def _said(word: str, inner: Column, ids: Mapping[Path, int]) -> Json:
    return {f"{word}-id": ids[inner.path], f"{word}-required": False, word: inner._type(ids)}


def primitive(type_: pa.DataType) -> str | None:
    """Return Iceberg's name of a type without others inside; None for any other, known or not."""
    is_ = pa.types
    if is_.is_dictionary(type_):
        return primitive(type_.value_type)
    if is_.is_decimal128(type_):
        return f"decimal({type_.precision}, {type_.scale})"
    if is_.is_timestamp(type_) and type_.unit in ("ms", "us"):
        return "timestamp" if type_.tz is None else "timestamptz"
    if is_.is_unsigned_integer(type_):
        return None if is_.is_uint64(type_) else "long"
    return _NAMES.get(type_)


_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.time64("us"): "time",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
}


def _facts(column: Column) -> Iterator[str]:
    type_ = column.type
    if pa.types.is_timestamp(type_) and type_.unit == "ms":
        yield MILLISECONDS
    if pa.types.is_unsigned_integer(type_):
        yield UNSIGNED
    if pa.types.is_time(type_):
        yield TIME
    if column.partition:
        yield PARTITION_VALUES
    if column.partition and pa.types.is_decimal(type_):
        yield DECIMAL_PARTITION


def columns_of(schema: Schema, table: str) -> tuple[Column, ...]:
    """Return the columns of a version. Raises Refusal, by the column's name, for one that is not shown."""
    columns = tuple(_column(field, (), table) for field in schema)
    numbered = [column.number is not None for top in columns for column in top]
    if any(numbered) and not all(numbered):
        inner = next(column for top in columns for column in top if column.number is None)
        raise _refused(table, ".".join(inner.path), "under column mapping, whose files give what is inside no id")
    names = [name for top in columns for name, _ in top.named()]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise _refused(table, twice, "what two columns are called once dots join the names of fields")
    return columns


def _column(field: Field, above: Path, table: str) -> Column:
    path = (*above, field.source or field.name)
    if field.collated:
        raise _refused(table, field.name, "compared by a collation, or as CHAR")
    number = int(field.stable[3:]) if field.stable != field.name and field.stable.startswith("id:") else None
    if field.children:
        children = tuple(_column(child, path, table) for child in field.children)
    else:
        children = _inside(field.type, path, table, known=False)
    return Column(path, field.name, field.type, children, number, field.field_id is not None, field.partition)


def _inside(type_: pa.DataType, path: Path, table: str, *, known: bool = True) -> tuple[Column, ...]:
    """Return the columns inside a type. `known`: a struct of this type is one, and not what a format has in place of
    types that it does not know."""

    def inner(name: str, of: pa.DataType) -> Column:
        below = (*path, name)
        return Column(below, name, of, _inside(of, below, table))

    is_ = pa.types
    if primitive(type_) is not None:
        return ()
    if is_.is_map(type_):
        return inner(KEY, type_.key_type), inner(VALUE, type_.item_type)
    if is_.is_list(type_) or is_.is_large_list(type_):
        return (inner(ELEMENT, type_.value_type),)
    if not is_.is_struct(type_):
        raise _refused(table, ".".join(path), f"of type {type_}")
    if not known or not type_.num_fields or [field.name for field in type_] == _VARIANT or len(path) > _DEEPEST:
        raise _refused(table, ".".join(path), "variant, of a type that is not known, or too deep")
    return tuple(inner(field.name, field.type) for field in type_)


def _refused(table: str, name: str, said: str) -> Refusal:
    return Refusal(
        f"a shown table has columns that clients were seen to read right; {name!r} of {table} is {said}; read the table"
        " by metaindex itself"
    )


def ids_of(versions: Sequence[Iterable[Column]]) -> tuple[dict[Path, int], int]:
    """Return the id of each path, and of how many versions, from the first (the newest) on: of those in which no path
    has two ids of the table's own, and no such id two paths."""
    ids: dict[Path, int] = {}
    taken: dict[int, Path] = {}
    fitting = 0
    for columns in versions:
        own = {each.path: each.number for top in columns for each in top if each.number is not None}
        if any(ids.get(path, n) != n or taken.get(n, path) != path for path, n in own.items()) or len(
            {*own.values()}
        ) < len(own):
            break
        ids |= own
        taken |= {number: path for path, number in own.items()}
        fitting += 1
    used = {*ids.values()}
    for columns in versions[:fitting]:
        for top in columns:
            for each in top:
                if each.path not in ids:
                    free = next(number for number in count(_hashed(each.path)) if number not in used)
                    ids[each.path] = free
                    used.add(free)
    return ids, fitting


def _hashed(path: Path) -> int:
    """Return an id that is far from Delta's own, which count from 1, and below those that Iceberg keeps for itself."""
    digest = hashlib.sha256("\0".join(path).encode()).digest()
    return (1 << 24) + int.from_bytes(digest[:4], "big") % (1 << 30)


def name_mapping(versions: Iterable[Iterable[Column]], ids: Mapping[Path, int]) -> str:
    """Return Iceberg's name mapping, as JSON: by it files without ids are read."""
    below: dict[Path, dict[Path, None]] = {}
    for columns in versions:
        for top in columns:
            for each in top:
                below.setdefault(each.path[:-1], {})[each.path] = None

    def said(above: Path) -> list[Json]:
        return [
            {"field-id": ids[path], "names": [path[-1]], **({"fields": said(path)} if path in below else {})}
            for path in below.get(above, ())
        ]

    return json.dumps(said(()))
