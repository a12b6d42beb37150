"""Decides what may be requested from Arrow about a footer's row groups: its accessors end the process if a footer
contradicts itself, or a column is encrypted.

Every column of every row group is walked before the first is asked. A column of a known form costs some microseconds
(three patterns and a loop over its statistics); any other is read as Thrift, field by field, which is also what the
patterns are tested against.

    the footer says                                      answer
    a column is encrypted, with whatever key             named in `encrypted`: nothing of it is asked
    a bound shorter than a value of the column           named in `unstated`: its statistics are not asked
    another physical type than the schema's              CorruptTableError
    histograms of other levels than the schema's         CorruptTableError
    a field twice, fewer columns, what is no Thrift      CorruptTableError
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from metaindex.formats.damage import as_damage

from .schema import Compact, Kinds, Node, Struct, varint

_ROW_GROUPS = 4
_COMPRESSED = 6  # of a row group
_CREATED_BY = 6
_TEXT, _LIST, _STRUCT = 8, 9, 12
_BOUNDS = (1, 2, 5, 6)  # max and min, as of old and of today
_CODECS = range(8)  # of another, Arrow ends the process that asks for its name
_I32, _I64 = 5, 6
_MAX_VALUE, _MIN_VALUE, _NANS = 5, 6, 9
_SIZED: Kinds = {1: _I64, 2: _LIST, 3: _LIST}
_STATED: Kinds = dict.fromkeys(_BOUNDS, _TEXT)
_DATA: Kinds = {1: _I32, 2: _LIST, 3: _LIST, 4: _I32, 8: _LIST, 12: _STATED, 13: _LIST, 16: _SIZED}
_CHUNK: Kinds = {3: _DATA, 8: _STRUCT}


@dataclass(frozen=True, slots=True)
class FloatsStated:
    """Statistics of floats in total order. `lower` and `upper` as Arrow has them of other floats: numbers, bytes of
    those of 16 bits."""

    lower: float | bytes | None
    upper: float | bytes | None
    nans: int | None

    @classmethod
    def of(cls, said: Struct, form: LeafForm) -> FloatsStated:
        def bound(number: int) -> float | bytes | None:
            data = said.get(number)
            if not isinstance(data, bytes) or len(data) != form.width:
                return None
            return data if form.width == 2 else float(struct.unpack("<f" if form.width == 4 else "<d", data)[0])

        nans = said.get(_NANS)
        return cls(bound(_MIN_VALUE), bound(_MAX_VALUE), nans if isinstance(nans, int) else None)


@dataclass(frozen=True, slots=True)
class Chunks:
    """Columns of one file that are not requested from Arrow: those encrypted or of an unknown codec, by ordinal, and
    the (row group, column) pairs whose statistics are unusable."""

    encrypted: frozenset[int] = frozenset()
    unstated: frozenset[tuple[int, int]] = frozenset()
    floats: Mapping[tuple[int, int], FloatsStated] = field(default_factory=dict)  # in total order: unknown to Arrow


@dataclass(frozen=True, slots=True)
class LeafForm:
    """Form of a column in the schema, to which its row groups must agree. `width`: bytes of a value, 0 where
    they vary."""

    physical: int
    width: int
    definition: int
    repetition: int
    path: bytes  # as Thrift's list of texts, behind the byte that begins it

    @property
    def texts(self) -> bool:
        return self.physical == 6

    @property
    def floats(self) -> bool:
        return self.physical in (4, 5) or (self.physical == 7 and self.width == 2)


def forms_of(root: Node) -> tuple[LeafForm, ...]:
    """The columns of a schema, in order."""

    def walk(node: Node, path: tuple[bytes, ...], definition: int, repetition: int) -> Iterator[LeafForm]:
        for child in node.children:
            here = (*path, child.name.encode())
            levels = (definition + (child.optional or child.repeated), repetition + child.repeated)
            if child.type is not None:
                yield LeafForm(child.type.number, child.type.width, *levels, path_texts(here))
            else:
                yield from walk(child, here, *levels)

    return tuple(walk(root, (), 0, 0))


def look(
    footer: bytes,
    start: int,
    forms: tuple[LeafForm, ...],
    ending: bytes = b"",
    total: bool = False,
    rests: list[int] | None = None,
) -> Chunks:
    """`start`: where the schema ends in the footer; `ending`: what a footer of this writer and schema ends with, in
    which nothing is to be looked at. `total`: floats are in total order, which has counts of NaN. `rests`: gets where
    each row group goes on behind its columns."""
    walk = Compact(footer, start)
    encrypted: set[int] = set()
    unstated: set[tuple[int, int]] = set()
    floats: dict[tuple[int, int], FloatsStated] = {}
    known = len(footer) - len(ending) - 1 if ending and footer.endswith(ending) else -1

    def ends(number: int) -> bool:
        return walk.at == known and footer[known] == _CREATED_BY - number << 4 | _TEXT

    with as_damage("the row groups in the Parquet footer cannot be read (", "): the file is damaged"):
        for number, kind in _fields(walk, 2, ends):
            if number == _ROW_GROUPS and kind == _LIST:
                for group in range(walk.items(_STRUCT)):
                    _row_group(walk, group, forms, encrypted, unstated, floats if total else None)
                    if rests is not None:
                        rests.append(walk.at)
                    _rest(walk)
            else:
                _of(dict, walk.value(kind))
    return Chunks(frozenset(encrypted), frozenset(unstated), floats) if encrypted or unstated or floats else _NOTHING


_NOTHING = Chunks()


def _row_group(
    walk: Compact,
    group: int,
    forms: tuple[LeafForm, ...],
    encrypted: set[int],
    unstated: set[tuple[int, int]],
    floats: dict[tuple[int, int], FloatsStated] | None,
) -> None:
    if walk.field(0) != (1, _LIST) or walk.items(_STRUCT) != len(forms):
        raise ValueError("a row group of other columns than the schema's")
    for column, form in enumerate(forms):
        start = walk.at
        total = floats is not None and form.floats
        read = None if total else _known_form(walk, form)
        if read is None:
            walk.at = start
            chunk = walk.struct(_CHUNK)
            read = _any_form(chunk, form)
            if floats is not None and total and read == _PLAIN:
                floats[group, column] = FloatsStated.of(chunk[3].get(12, {}), form)
        if read:
            if read == _UNREADABLE:
                encrypted.add(column)
            else:
                unstated.add((group, column))


def _rest(walk: Compact) -> None:
    """Walk over what stands behind the columns of a row group."""
    if (rest := _GROUP_REST(walk.data, walk.at)) is not None:
        walk.at = rest.end()
        return
    for _, kind in _fields(walk, 1):
        _of(dict, walk.value(kind))


def stored_bytes(footer: bytes, rest: int) -> int | None:
    """Return how large a row group is as the footer has it, besides its columns. `rest`: of `look`."""
    walk = Compact(footer, rest)
    said = {number: walk.value(kind) for number, kind in _fields(walk, 1)}
    size = said.get(_COMPRESSED)
    return size if isinstance(size, int) else None


def _fields(walk: Compact, number: int, end: Callable[[int], bool] = lambda number: False) -> Iterator[tuple[int, int]]:
    """Yield the fields behind one up to the struct's end, or where `end` says so; ValueError for one that is said
    twice."""
    seen = {number}
    while not end(number):
        number, kind = walk.field(number)
        if not kind:
            return
        if number in seen:
            raise ValueError("a field that is said twice")
        seen.add(number)
        yield number, kind


_PLAIN, _UNSTATED, _UNREADABLE = range(3)


def _any_form(chunk: Struct, form: LeafForm) -> int:
    """The answer for one column of one row group, from all that Thrift says of it."""
    if 8 in chunk or chunk[3].get(4) not in _CODECS:
        return _UNREADABLE
    data: Struct = chunk[3]
    if data[1] != form.physical:
        raise ValueError("a column of another physical type than the schema's")
    levels: Struct = data.get(16, {})
    for number, most in ((2, form.repetition), (3, form.definition)):
        histogram = levels.get(number)
        if histogram and len(histogram) != most + 1:
            raise ValueError("a histogram of other levels than the schema's")
    if 1 in levels and not form.texts:
        raise ValueError("bytes of texts in a column of numbers")
    for where, number, what in (
        (data, 2, int),
        (data, 3, bytes),
        (data, 8, dict),
        (data, 13, dict),
        (levels, 2, int),
        (levels, 3, int),
    ):
        _of(what, where.get(number))
    _of(int, data.get(17, {}).get(2))
    said: Struct = data.get(12, {})
    short = any(len(said[number]) < form.width for number in _BOUNDS if number in said)
    return _UNSTATED if short else _PLAIN


def _of(what: type, value: Any) -> None:
    """Arrow reads the elements of a list as what they should be, whatever the list says that they are."""
    if isinstance(value, list) and any(type(item) is not what for item in value):
        raise ValueError("a list of other things")


def _known_form(walk: Compact, form: LeafForm) -> int | None:
    """Like `_any_form`, by patterns of common writers; None if they do not match, and the walk may then be anywhere."""
    data = walk.data
    head = _HEAD(data, walk.at)
    if head is None or head[1] != _TYPES[form.physical]:
        return None
    at = head.end()
    if not data.startswith(form.path, at):
        return None
    sizes = _SIZES(data, at + len(form.path))
    if sizes is None:
        return None
    at = sizes.end()
    answer = _PLAIN
    number = 0
    width = form.width
    while what := data[at]:
        if what < 16:
            return None
        number += what >> 4
        kind = what & 15
        at += 1
        if kind == _TEXT:
            size = data[at]
            at += 1
            if size > 127:
                return None
            at += size
            if size < width and number in _BOUNDS:
                answer = _UNSTATED
        elif number in _BOUNDS:
            return None
        elif 4 <= kind <= 6:
            for _ in range(10):
                at += 1
                if data[at - 1] < 128:
                    break
            else:
                return None
        elif not 1 <= kind <= 2:
            return None
    rest = _rest_of(form.repetition, form.definition, form.texts)(data, at + 1)
    if rest is None:
        return None
    walk.at = rest.end()
    return answer


_V = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_TYPES = [bytes([2 * number]) for number in range(8)]


def _list(kind: int, element: bytes, sizes: range = range(15)) -> bytes:
    return b"(?:" + b"|".join(re.escape(bytes([n << 4 | kind])) + element * n for n in sizes) + b")"


# A column up to its path: file offset, metadata, physical type, encodings. From its codec to its statistics. What
# follows a row group's columns.
_HEAD = re.compile(rb"\x26" + _V + rb"\x1c\x15([\x00-\x7f])\x19" + _list(5, _V) + rb"\x19", re.DOTALL).match
_SIZES = re.compile(
    rb"\x15[\x00\x02\x04\x06\x08\x0a\x0c\x0e]" + (rb"\x16" + _V) * 3 + rb"\x26" + _V
    + rb"(?:\x3c|\x16" + _V + rb"(?:\x2c|\x16" + _V + rb"\x1c)|\x26" + _V + rb"\x1c)",
    re.DOTALL,
).match  # fmt: skip
_GROUP_REST = re.compile(
    (rb"\x16" + _V) * 2 + rb"(?:\x26" + _V + rb"(?:\x16" + _V + rb")?(?:\x14" + _V + rb")?)?\x00", re.DOTALL
).match


@lru_cache(maxsize=256)
def _rest_of(repetition: int, definition: int, texts: bool) -> Any:
    """Behind the statistics: encodings of pages, the bloom filter, sizes with levels that are as the schema's, the page
    indexes."""
    first = rb"\x16" + _V if texts else None
    two, three = (_list(6, _V, range(0, most + 2, most + 1)) for most in (repetition, definition))
    behind_two = rb"(?:\x19" + three + rb")?"
    behind_one = rb"(?:\x19" + two + behind_two + rb"|\x29" + three + rb")?"
    sizes = [rb"\x29" + two + behind_two, rb"\x39" + three, rb""]
    if first is not None:
        sizes.insert(0, first + behind_one)
    sized = rb"(?:" + rb"|".join(sizes) + rb")\x00\x00"
    behind_15 = rb"(?:\x1c" + sized + rb"|\x00)"
    behind_14 = rb"(?:\x15" + _V + behind_15 + rb"|\x2c" + sized + rb"|\x00)"
    behind_13 = rb"(?:\x16" + _V + behind_14 + rb"|\x3c" + sized + rb"|\x00)"
    pages = _list(_STRUCT, (rb"\x15" + _V) * 3 + rb"\x00")
    behind_12 = rb"(?:\x19" + pages + behind_13 + rb"|\x26" + _V + behind_14 + rb"|\x4c" + sized + rb"|\x00)"
    columns = rb"(?:\x16" + _V + rb"\x15" + _V + rb")"
    indexes = rb"(?:" + columns + columns + rb"?|\x36" + _V + rb"\x15" + _V + rb")?\x00"
    return re.compile(behind_12 + indexes, re.DOTALL).match


def path_texts(path: tuple[bytes, ...]) -> bytes:
    """Return a column's path as Thrift writes it, behind the byte that begins the field."""
    head = bytes([len(path) << 4 | _TEXT]) if len(path) < 15 else bytes([0xF0 | _TEXT]) + varint(len(path))
    return head + b"".join(varint(len(part)) + part for part in path)
