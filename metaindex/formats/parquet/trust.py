"""Decides which values of a Parquet footer are trusted, column by column.

Every rule here is a wrong answer that a real system has given: signed order of byte arrays (PARQUET-686), INT96, NaN
among floats, and what single writers get wrong (`writers`). What is not believed is unknown, and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, IntFlag
from functools import partial
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from metaindex.expressions import Family, physical_type
from metaindex.formats.column_names import alike
from metaindex.formats.model import Leaf

from .schema import Coding, FileType, Node
from .writers import EVERY, Claim, Writer

Finder: TypeAlias = Callable[[Node], Sequence[Node]]
_Place: TypeAlias = tuple[Node, bool, bool, Sequence[Node]]  # `_descended`


class LeafPlace(NamedTuple):
    """Place of a leaf in a file: a column of it, by its number among the primitive ones and the names that lead to
    it; or one value in every row; or `unknown` says why neither is known."""

    column: int | None = None
    names: tuple[str, ...] = ()
    constant: pa.Array | None = None
    unknown: str = ""


class Doubt(Enum):
    """Why the bounds of a column of a file are not known from its footer; the value is the sentence."""

    UNREADABLE = "the footer could not be read"
    NO_STATISTICS = "the writer left out statistics of some row group"
    INT96 = "INT96 has no order that statistics could follow"
    NO_ORDER = "the footer does not say that bytes were compared in the order of their type"
    WRITER = "this writer's bounds of such columns are known to be wrong, or nobody has tried them"
    NAN = "a bound is NaN"
    CONTRADICTION = "the footer counts every value as NULL and says bounds of them"
    REVERSED = "the lower bound is greater than the upper one"
    OTHER_TYPE = "the file's type does not convert to the column's type without doubt"
    LEGACY_CALENDAR = "dates before 1582 or timestamps before 1900 were written in an older calendar"
    NOT_MAPPED = "the file does not hold the column, and what is shown instead is not known"
    AMBIGUOUS = "two columns of the file have this name when case is ignored"
    ENCRYPTED = "the column is encrypted in the file"


class Form(IntFlag):
    """Trait of a file's column that other readers are known to get wrong: Spark milliseconds that a table shows as
    microseconds, nanoseconds and unsigned numbers, all of them field ids that are not the table's."""

    MILLISECONDS = 1
    NANOSECONDS = 2
    UNSIGNED = 4
    FIELD_ID = 8

    @classmethod
    def of(cls, type_: pa.DataType, *, numbered: bool) -> Form:
        """Return the form of a leaf: the type of its values, and whether it or a struct around it has a field id."""
        unit = getattr(type_, "unit", "") if pa.types.is_temporal(type_) else ""
        units = {"ms": cls.MILLISECONDS, "ns": cls.NANOSECONDS}
        form = cls.UNSIGNED if pa.types.is_unsigned_integer(type_) else units.get(unit, cls(0))
        return form | cls.FIELD_ID if numbered else form


@dataclass(frozen=True, slots=True)
class Found:
    """The leaf is this column of the file. `doubt`: its bounds are not to be used (counts and sizes are)."""

    column: int
    type: FileType
    required: bool
    doubt: Doubt | None
    believed: Claim = EVERY  # of its statistics
    names: tuple[str, ...] = ()
    numbered: bool = False  # it, or a struct around it, has a field id

    def place(self, type_: pa.DataType) -> LeafPlace:
        """Return the column; with another doubt than of its type only bounds are unknown."""
        return LeafPlace(self.column, self.names, None, self.doubt.value if self.doubt is Doubt.OTHER_TYPE else "")


@dataclass(frozen=True, slots=True)
class AbsentLeaf:
    """No file of this layout holds the leaf; its rows show `default` (None is NULL) when that is known."""

    known: bool
    default: object
    doubt: Doubt | None = None

    def place(self, type_: pa.DataType) -> LeafPlace:
        """The default, where it is a value of the column's type."""
        try:
            constant = pa.array([self.default], type_) if self.known else None
        except (pa.ArrowException, TypeError, ValueError):
            constant = None
        return LeafPlace(None, (), constant, (self.doubt or Doubt.NOT_MAPPED).value)


def locate(leaf: Leaf, root: Node, writer: Writer, typed_order: bool) -> Found | AbsentLeaf:
    """Return the leaf's place in files of one schema by one writer."""
    by_id = leaf.field.field_id is not None
    if by_id and all(n.field_id is None for n in _all(root)):
        # Readers find the column by a name mapping or by its place then: its name here proves nothing.
        place = _by_mapping(leaf, root)
    else:
        place = _by_id(leaf, root) if by_id else _by_name(leaf, root)
    if not isinstance(place, tuple):
        return place
    node, required, whole, way = place
    if node.column is None or node.type is None:
        return AbsentLeaf(False, None, Doubt.OTHER_TYPE)
    claims = writer.believed(node.type, not whole)
    doubt = _doubt(node.type, leaf.type, claims, typed_order)
    names, numbered = tuple(each.name for each in way), any(each.field_id is not None for each in way)
    return Found(node.column, node.type, required, doubt, claims, names, numbered)


def _all(node: Node) -> list[Node]:
    return [node, *(below for child in node.children for below in _all(child))]


def _by_id(leaf: Leaf, root: Node) -> _Place | AbsentLeaf:
    """Find the leaf by the ids on the way to it. Where its own stands elsewhere, or twice, nothing is claimed; nor
    where it would stand beside fields without ids, which some readers find by their names all the same."""
    held = [node.field_id for node in _all(root)]
    if held.count(leaf.field.field_id) > 1:
        return AbsentLeaf(False, None, Doubt.AMBIGUOUS)

    def absent(at: int, beside: Sequence[Node]) -> AbsentLeaf:
        if leaf.field.field_id in held:
            return AbsentLeaf(False, None, Doubt.OTHER_TYPE)
        numbered = all(node.field_id is not None for node in beside)
        return _absent(leaf, at) if numbered else AbsentLeaf(False, None, Doubt.NOT_MAPPED)

    return _descended(root, [partial(_with_id, number=field.field_id) for field in leaf.path], absent)


def _with_id(node: Node, number: int | None) -> Sequence[Node]:
    return [child for child in node.children if child.field_id == number]


def _by_name(leaf: Leaf, root: Node) -> _Place | AbsentLeaf:
    finders = [partial(_alike, name=alike(part)) for part in leaf.source]
    return _descended(root, finders, lambda at, _: _absent(leaf, at))


def _alike(node: Node, name: str) -> Sequence[Node]:
    return node.by_name.get(name, ())


def _by_mapping(leaf: Leaf, root: Node) -> _Place | AbsentLeaf:
    """Find the leaf by the names that the table's mapping gives each field. Nothing is claimed about a leaf that is not
    found: the next mapping may find it."""
    finders: list[Finder] = []
    for field in leaf.path:
        if field.mapped is None:
            return AbsentLeaf(False, None, Doubt.NOT_MAPPED)
        finders.append(partial(_named, names=field.mapped))
    return _descended(root, finders, lambda *_: AbsentLeaf(False, None, Doubt.NOT_MAPPED))


def _named(node: Node, names: Sequence[str]) -> Sequence[Node]:
    return [child for child in node.children if child.name in names]


def _descended(
    root: Node, finders: Sequence[Finder], absent: Callable[[int, Sequence[Node]], AbsentLeaf]
) -> _Place | AbsentLeaf:
    """The node, whether it is never NULL, whether no struct around it is, and all nodes on the way, itself too.
    `absent`: what is known where the field at a depth is not among those beside it."""
    node, required, whole, way = root, True, True, list[Node]()
    for depth, find in enumerate(finders):
        if node.column is not None:
            return AbsentLeaf(False, None, Doubt.OTHER_TYPE)  # a struct is asked for where the file has a value
        matches = find(node)
        if not matches:
            return absent(depth, node.children)
        if len(matches) > 1:
            return AbsentLeaf(False, None, Doubt.AMBIGUOUS)
        node = matches[0]
        way.append(node)
        whole, required = required, required and not node.optional
        if node.repeated:
            return AbsentLeaf(False, None, Doubt.OTHER_TYPE)
    return node, required, whole, way


def _absent(leaf: Leaf, depth: int) -> AbsentLeaf:
    """Return what a file without field `depth` of the path shows: that field's default. A struct's default says nothing
    about its fields, and a field with a default is NULL if the struct around it is."""
    field = leaf.path[depth]
    if not field.default_known or (field.default is not None and len(leaf.path) > 1):
        return AbsentLeaf(False, None, Doubt.NOT_MAPPED)
    return AbsentLeaf(True, field.default)


def _doubt(file: FileType, table: pa.DataType, believed: Claim, typed_order: bool) -> Doubt | None:
    if file.physical == "INT96":
        return Doubt.INT96
    if file.coding is Coding.NONE:
        return None if pa.types.is_null(file.arrow) else Doubt.OTHER_TYPE
    if not converts(file.arrow, table) or (file.physical == "FIXED_LEN_BYTE_ARRAY" and Family.of(table) is Family.TEXT):
        return Doubt.OTHER_TYPE  # a UUID is shown as text that is not its bytes
    if file.coding not in (Coding.NUMBER, Coding.UNSCALED) and not typed_order:
        return Doubt.NO_ORDER
    return None if Claim.BOUNDS in believed else Doubt.WRITER


def converts(file: pa.DataType, table: pa.DataType) -> bool:
    """Return whether every reader shows a value of the file's type as the same value of the table's type (or its
    rounding, in order). The type at write time decides."""
    is_ = pa.types
    while is_.is_dictionary(table):
        table = table.value_type
    if physical_type(table) is None:
        return False
    return bool(
        (is_.is_integer(file) and (is_.is_integer(table) or is_.is_float64(table) or is_.is_decimal(table)))
        or (is_.is_floating(file) and is_.is_floating(table) and table.bit_width >= file.bit_width)
        or (is_.is_timestamp(file) and is_.is_timestamp(table) and (file.tz is None) == (table.tz is None))
        or (is_.is_decimal(file) and is_.is_decimal(table) and table.scale >= file.scale)
        or (is_.is_date(file) and (is_.is_date(table) or (is_.is_timestamp(table) and table.tz is None)))
        or (is_.is_time(file) and is_.is_time(table))
        or (is_.is_boolean(file) and is_.is_boolean(table))
        or all(Family.of(t) in (Family.TEXT, Family.BYTES) for t in (file, table))
    )
