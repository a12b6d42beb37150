"""The key of a filter: a hash of all that decides for which rows of a file it is TRUE.

Two filters share a key only where they mean the same: it is made of the normal form of the *bound* predicate, its parts
in the order of their own texts; each literal with its kind; each column with what finds it in files (its field id, or
its name there), its type, its default, and whether the partition gives it; the table's id and format; the zone in which
texts of partitions are read; and `MEANING`. A filter that means the same and is said otherwise has another key, and is
read again: that costs a reading, no row.

What the tree cannot say has a key where its meaning is known (`Opaque.scalar`); its rows are found by DuckDB, whose
version then belongs to the key. A part of which nobody knows the meaning has none.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from metaindex.expressions.column_ref import ColumnRef
from metaindex.expressions.literals import Literal, kind
from metaindex.expressions.normalize import normalize
from metaindex.expressions.records import dataclass
from metaindex.expressions.references import columns, leaves
from metaindex.expressions.scalars.nodes import ColumnValue, Fixed, FunctionCall, Scalar
from metaindex.expressions.tree import (
    And,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Leaf,
    Opaque,
    Predicate,
    StartsWith,
    fold,
)
from metaindex.formats.model import Field, Schema

MEANING: Final = 1
"""Raised where a reader finds other rows for the same predicate than before."""

KEY_BYTES: Final = 16
MOST_VALUES: Final = 1_000
"""Literals and leaves of a filter that is remembered."""
_MOST_PARTS: Final = 64
"""Of an AND that are looked for by themselves, too."""


@dataclass(frozen=True, slots=True)
class FilterMeaning:
    """What a filter's key depends on beside the filter. `secret`: a key of the user's, by which hashes are made; empty:
    anybody who has a hash could try values out."""

    table_uuid: str
    format: str
    schema: Schema
    time_zone: str
    secret: bytes = b""

    def key(self, predicate: Predicate) -> bytes | None:
        """Of a whole filter. None for one that is not remembered."""
        return self._of(normalize(predicate))

    def keys(self, predicate: Predicate) -> tuple[bytes, ...]:
        """Of the filter, and of each part of its AND: a row that matches it matches them all."""
        normal = normalize(predicate)
        parts = normal.parts if isinstance(normal, And) and len(normal.parts) <= _MOST_PARTS else ()
        made = (self._of(part) for part in (normal, *parts))
        return tuple(key for key in made if key is not None)

    def _of(self, normal: Predicate) -> bytes | None:
        told = leaves(normal)
        if _size(told) > MOST_VALUES or not columns(normal):
            return None
        if any(isinstance(leaf, Opaque) and leaf.scalar is None for leaf in told):
            return None
        engine = _duckdb() if any(isinstance(leaf, Opaque) for leaf in told) else b""
        try:
            said = fold(
                normal,
                self._leaf,
                lambda part: _hashed(b"not", part),
                lambda parts: _hashed(b"and", *sorted(set(parts))),
                lambda parts: _hashed(b"or", *sorted(set(parts))),
            )
        except LookupError:  # a column that the schema has not
            return None
        about = (str(MEANING), self.table_uuid, self.format, self.time_zone)
        data = _joined(*(_text(text) for text in about), engine, said)
        secret = hashlib.blake2b(self.secret).digest() if self.secret else b""
        return hashlib.blake2b(data, digest_size=KEY_BYTES, key=secret).digest()

    def _leaf(self, leaf: Leaf) -> bytes:
        match leaf:
            case Comparison():
                return _joined(b"compare", self._column(leaf.column), _text(leaf.op.value), _literal(leaf.value))
            case In():
                return _joined(b"in", self._column(leaf.column), *sorted({_literal(value) for value in leaf.values}))
            case IsNull():
                return _joined(b"null", self._column(leaf.column))
            case IsNan():
                return _joined(b"nan", self._column(leaf.column))
            case StartsWith():
                return _joined(b"prefix", self._column(leaf.column), _text(leaf.prefix))
            case Constant():
                return _joined(b"constant", _text(str(leaf.value)))
            case Opaque():
                assert leaf.scalar is not None, "told before"
                return _joined(b"scalar", self._scalar(leaf.scalar))
            case _:
                assert_never(leaf)

    def _scalar(self, scalar: Scalar) -> bytes:
        match scalar:
            case ColumnValue():
                return _joined(b"column", self._column(scalar.column), _text(str(scalar.type)))
            case Fixed():
                return _joined(b"fixed", _literal(scalar.value), _text(str(scalar.type)))
            case FunctionCall():
                inside = (self._scalar(part) for part in scalar.arguments)
                return _joined(b"call", _text(scalar.function), _text(str(scalar.type)), *inside)
            case _:
                assert_never(scalar)

    def _column(self, column: ColumnRef) -> bytes:
        """What finds the column in files, and makes its values of what stands there. LookupError."""
        return _joined(*(_identity(field, last) for field, last in _path(self.schema, column)))


def _path(schema: Schema, column: ColumnRef) -> Iterator[tuple[Field, bool]]:
    among: Sequence[Field] = schema.fields
    for depth, name in enumerate(column.parts, 1):
        field = next(iter([field for field in among if field.name == name]), None)
        if field is None:
            raise LookupError(name)
        yield field, depth == len(column.parts)
        among = field.children


def _identity(field: Field, last: bool) -> bytes:
    finds = ("name", field.source or field.name) if field.field_id is None else ("id", str(field.field_id))
    shown = (
        field.logical,
        repr(field.default),
        str(field.default_known),
        str(field.partition),
        repr(field.mapped),
        field.stable,
        # Of a struct only the field is read; of what is read the type decides what the file's bytes become.
        repr(_named(field)) if last else "",
    )
    return _joined(*(_text(text) for text in (*finds, *shown)))


def _named(field: Field) -> tuple[object, ...]:
    """The type, with what finds the fields inside."""
    metadata = getattr(field.type, "metadata", None)
    return (str(field.type), str(metadata), tuple((c.field_id, c.source, c.stable, _named(c)) for c in field.children))


def _literal(literal: Literal) -> bytes:
    value = literal.value
    if isinstance(value, bytes):
        return _joined(b"binary", value)
    shown = value.hex() if isinstance(value, float) else str(value)
    return _joined(_text(kind(value)), _text(shown))


def _size(told: Sequence[Leaf]) -> int:
    return sum(1 + (len(leaf.values) if isinstance(leaf, In) else 0) for leaf in told)


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _joined(*parts: bytes) -> bytes:
    """Each with its length before it: no two lists of parts are joined to the same."""
    return b"".join(part for each in parts for part in (len(each).to_bytes(8, "big"), each)) + len(parts).to_bytes(
        8, "big"
    )


def _hashed(*parts: bytes) -> bytes:
    """Of a node with others inside: a deep tree is said once, not once a level."""
    return hashlib.blake2b(_joined(*parts), digest_size=32).digest()


@functools.cache
def _duckdb() -> bytes:
    try:
        return b"duckdb " + importlib.metadata.version("duckdb").encode()
    except importlib.metadata.PackageNotFoundError:
        return b"duckdb"
