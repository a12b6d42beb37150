"""Looks at the footer of each data file before any client is told to read it.

Clients find the columns of a file by its field ids, or by names where it has none, and take its types as they are: a
file of other ids than the table's, or in milliseconds, is read wrong in silence. So a file is named to a client only
after its footer was looked at, once: what was found is held by the file's identity, and the verdict of one file is that
of all with the same columns. What is not known to be read right is refused, by the file's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from metaindex.core import BoundedCache, MetaIndexError, dataclass, first_line
from metaindex.formats import Field, FileTable, Footer, Layouts
from metaindex.serve.refusal import Refusal
from metaindex.storage import Storage, each_at

from .columns import ELEMENT, KEY, MILLISECONDS, TIME, UNSIGNED, VALUE, Column, Path, primitive

_HELD_BYTES = 32 << 20  # of what is known of files
_OVERHEAD = 400  # bytes of memory for a file, beside its path
_SCHEMAS = 64  # that are told apart before all are forgotten


class Element(Protocol):
    """A column or group of a file's schema, as its writer said it."""

    @property
    def name(self) -> str: ...
    @property
    def field_id(self) -> int | None: ...
    @property
    def repeated(self) -> bool: ...
    @property
    def children(self) -> Sequence[Element]: ...
    @property
    def type(self) -> FileType | None: ...


class FileType(Protocol):
    """The type of a file's values, and the physical type that holds them."""

    @property
    def arrow(self) -> pa.DataType: ...
    @property
    def physical(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Looked:
    """Findings in a footer. `odd`: why the file cannot be shown; `facts`: what not every client reads right; `lacks`:
    the columns that it does not hold."""

    rows: int = 0
    facts: frozenset[str] = frozenset()
    odd: str = ""
    lacks: frozenset[Path] = frozenset()


class LookedAt:
    """The footers of a table's files, for the columns of one version. For one thread."""

    def __init__(self, columns: Sequence[Column], *, in_log: bool) -> None:
        self._columns, self._in_log = columns, in_log
        self._layouts = Layouts(())
        self._verdicts: dict[bytes, Looked] = {}
        self._files: BoundedCache[tuple[object, ...], Looked] = BoundedCache(limit_bytes=_HELD_BYTES)

    def look(self, storage: Storage, files: FileTable) -> list[Looked]:
        """Return what the footers of files say, in their order; those that were not looked at are read, side by side
        where they lie in a store."""
        keys = list(zip(*(files.table.column(name).to_pylist() for name in FileTable.IDENTITY), strict=True))
        new = [key for key in dict.fromkeys(keys) if self._files.find(key) is None]
        read = dict(zip(new, each_at(storage.root, new, lambda key: _read(storage, *key[:2])), strict=True))
        fresh = {key: self._said(footer) for key, footer in read.items()}
        for key, looked in fresh.items():
            if not looked.odd.startswith(_UNREAD):
                self._files.keep(key, looked, _OVERHEAD + len(str(key[0])))
        return [fresh.get(key) or self._files.find(key) or Looked(odd=_UNREAD) for key in keys]

    def _said(self, footer: Footer | str) -> Looked:
        if isinstance(footer, str):
            return Looked(odd=f"{_UNREAD}: {footer}")
        try:
            schema = footer.schema_in(self._layouts)
        except MetaIndexError as error:
            return Looked(odd=first_line(error))
        verdict = self._verdicts.get(schema.prefix)
        if verdict is None:
            if len(self._verdicts) >= _SCHEMAS:
                self._layouts, self._verdicts = Layouts(()), {}
            verdict = self._verdicts[schema.prefix] = verdict_of(self._columns, schema.root, in_log=self._in_log)
        odd = verdict.odd
        if not odd and footer.in_older_calendar and any(pa.types.is_temporal(c.type) for c in _all(self._columns)):
            odd = "holds days or times of the calendar before 1582, which only Spark's own reader shifts"
        return replace(verdict, rows=footer.metadata.num_rows, odd=odd)


_UNREAD = "cannot be read"


def _read(storage: Storage, path: str, size: int) -> Footer | str:
    try:
        return Footer.read(lambda start, length: storage.read(path, start, length), size)
    except (MetaIndexError, pa.ArrowException, OSError) as error:
        return first_line(error)


def _all(columns: Sequence[Column]) -> Iterator[Column]:
    for top in columns:
        yield from top


class _Odd(Exception):
    """A file's columns are not known to be read right."""


def verdict_of(columns: Sequence[Column], root: Element, *, in_log: bool) -> Looked:
    """Return what is found of files with these columns. `in_log`: a log says the partition values, which files may
    hold, too; by a folder's name alone they need not agree."""
    try:
        _check_ids(columns, root)
        facts: set[str] = set()
        _compare(columns, root.children, facts, in_log=in_log)
    except _Odd as odd:
        return Looked(odd=str(odd))
    held = {path for path, _ in _by_path(root, ())}
    lacks = frozenset(column.path for column in _all(columns) if column.path not in held)
    return Looked(facts=frozenset(facts), lacks=lacks)


def _check_ids(columns: Sequence[Column], root: Element) -> None:
    """A file's ids are all the table's own, each on its column, or there are none: where one has an id, clients look
    for no name."""
    held = [element.field_id for element in _elements(root) if element.field_id is not None]
    own = {column.path: column.number for column in _all(columns) if column.number is not None}
    if not held:
        if any(column.by_id for column in columns):
            raise _Odd("has no field ids, by which alone the table finds its columns")
        return
    if not own:
        raise _Odd("has field ids of its own, by which clients would take one column for another")
    there = {path: element.field_id for path, element in _by_path(root, ())}
    for path, number in own.items():
        if path in there and there[path] != number:
            raise _Odd(f"has {'.'.join(path)!r} under field id {there[path]}; the table says {number}")
    numbers = {*own.values()}
    known = [number for number in held if number in numbers]
    if len(known) != len({number for path, number in there.items() if path in own}):
        raise _Odd("has a field id of the table on a column of another name")


def _elements(element: Element) -> Iterator[Element]:
    yield element
    for child in element.children:
        yield from _elements(child)


def _by_path(element: Element, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Element]]:
    """Yield structs' fields by their paths. Under column mapping, which has no lists and maps here, those are all."""
    for child in element.children:
        yield (*above, child.name), child
        yield from _by_path(child, (*above, child.name))


def _compare(columns: Sequence[Column], elements: Sequence[Element], facts: set[str], *, in_log: bool) -> None:
    by_name: dict[str, list[Element]] = {}
    for element in elements:
        by_name.setdefault(Field.alike(element.name), []).append(element)
    for column in columns:
        name = column.path[-1]
        called = by_name.get(Field.alike(name), [])
        if not called:
            continue
        if column.partition and not in_log:
            raise _Odd(f"holds the partition column {name!r} itself")
        if len(called) > 1 or called[0].name != name:
            raise _Odd(f"has {called[0].name!r} for {name!r}: clients tell small from capital letters")
        _fit(column, called[0], facts)


def _fit(column: Column, element: Element, facts: set[str]) -> None:
    is_, type_ = pa.types, column.type
    if element.repeated:
        raise _shaped(column)
    if not column.children:
        if element.type is None:
            raise _shaped(column)
        facts |= _leaf(column, element.type)
    elif is_.is_struct(type_):
        if not element.children:
            raise _shaped(column)
        _compare(column.children, element.children, facts, in_log=False)
    else:
        for inner, entry in zip(column.children, _entries(column, element), strict=True):
            _fit(inner, entry, facts)


def _entries(column: Column, element: Element) -> Sequence[Element]:
    """Return the elements inside a list or map of the shape that all current writers give it."""
    is_map = pa.types.is_map(column.type)
    repeated = element.children[0] if len(element.children) == 1 else None
    if repeated is None or not repeated.repeated or repeated.name not in (_OF_MAP if is_map else ("list",)):
        raise _shaped(column)
    names = [child.name for child in repeated.children]
    if names not in ([[KEY, VALUE]] if is_map else [[ELEMENT], ["item"]]):
        raise _shaped(column)
    return repeated.children


_OF_MAP = ("key_value", "entries")


def _shaped(column: Column) -> _Odd:
    return _Odd(f"has {'.'.join(column.path)!r} in a shape that is not the one of its type, {column.type}")


def _leaf(column: Column, stored: FileType) -> frozenset[str]:
    """Return the facts of a file's values. Raises _Odd for a type whose values are not, or were not seen to be, read as
    the column's."""
    is_, type_, held = pa.types, column.type, stored.arrow
    if is_.is_dictionary(type_):
        type_ = type_.value_type
    if stored.physical == "INT96":
        if is_.is_timestamp(type_) and type_.tz is not None:
            return frozenset()
    elif is_.is_timestamp(type_):
        if is_.is_timestamp(held) and held.unit in ("ms", "us") and (held.tz is None) == (type_.tz is None):
            return frozenset([MILLISECONDS] if held.unit == "ms" else [])
    elif is_.is_unsigned_integer(held):
        if is_.is_unsigned_integer(type_) and held.bit_width == 32:
            return frozenset([UNSIGNED])
    elif is_.is_time(type_):
        if held == type_:
            return frozenset([TIME])
    elif stored.physical in _HELD_IN.get(_kind(type_), ()) and _same(type_, held):
        return frozenset()
    raise _Odd(f"has {'.'.join(column.path)!r} as {held} ({stored.physical}); the table says {column.type}")


_HELD_IN: Mapping[str, tuple[str, ...]] = {
    "boolean": ("BOOLEAN",),
    "int": ("INT32",),
    "long": ("INT64", "INT32"),
    "float": ("FLOAT",),
    "double": ("DOUBLE", "FLOAT"),
    "date": ("INT32",),
    "decimal": ("INT32", "INT64", "FIXED_LEN_BYTE_ARRAY"),
    "string": ("BYTE_ARRAY",),
    "binary": ("BYTE_ARRAY",),
}


def _kind(type_: pa.DataType) -> str:
    return (primitive(type_) or "").partition("(")[0]


def _same(type_: pa.DataType, held: pa.DataType) -> bool:
    """Return whether values held as one type are those of the other, in what stores both."""
    is_ = pa.types
    if is_.is_integer(type_):
        return bool(is_.is_integer(held))
    if is_.is_floating(type_):
        return bool(is_.is_floating(held))
    if is_.is_large_string(type_) or is_.is_large_binary(type_):
        type_ = pa.string() if is_.is_large_string(type_) else pa.binary()
    return bool(held == type_)


def refuse(looked: Looked, path: str, table: str) -> None:
    """Raise Refusal for a file that cannot be shown."""
    if looked.odd:
        raise Refusal(
            f"a shown table has files that clients were seen to read right; {path!r} of {table} {looked.odd}; write the"
            " file again, or read the table by metaindex itself"
        )
