"""Binding: the predicate as a table's schema understands it. Names become the schema's own, literals become what the
column's type makes of them.

Promise: the rows that match do not change, by Spark's rules of comparison. A literal is coerced where Spark's own
common type gives the same answer for every value of the column; where Spark would compare in another type and could
answer differently, the leaf becomes `Opaque` (kept, never wrong); plain nonsense (`name > 5`) is refused with the cure.

    column        literal            becomes (the whole table is `coerce.TABLE`)
    integer       3.0, '3', 3.00     3;  3.5 stays;  2^53 and beyond as float on a long: opaque
    float         3, 0.1 (decimal)   the nearest double, as Spark casts
    decimal       3                  3;  0.1 (float) is 0.1 up to 15 digits, else opaque
    string        b'..'              the text, if UTF-8
    date          '2024-02-30'       refused;  '2024-02-03': the day
    timestamp     day, text          midnight, the instant; without a zone: read in `time_zone` where the column has
                                     instants
                  an instant         for a column without zone: its time in `time_zone`, where clocks there never change
                                     (UTC)
    time          '10:30:00'         the time of day
    UUID          text of 36         the UUID; any other text: opaque (Spark shows a text)
    any           NULL               NULL

`s IS NULL` of a struct is that and `s.x IS NULL AND s.y IS NULL ...`, which files can be asked; of a list or map it
stays what it is.

A path into a list or map, and any other question about a column of a type without order (nested, duration, interval),
is opaque.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias, assert_never
from uuid import UUID

import pyarrow as pa

from metaindex.core import AmbiguousColumnError, Cure, ExpressionError, LiteralTypeError, UnknownColumnError

from .coercion import Coerced, coerce
from .literals import Literal
from .physical import Family, physical_type
from .tree import And, ColumnRef, Comparison, Constant, In, IsNan, IsNull, Leaf, Not, Opaque, Or, Predicate, StartsWith

SchemaLike: TypeAlias = (
    pa.Schema | Mapping[tuple[str, ...], pa.DataType] | Iterable[tuple[tuple[str, ...], pa.DataType]]
)

_MOST_FIELDS: Final = 32  # of a struct that is asked whether it is NULL; each may prove that it is not


def bind(
    p: Predicate, schema: SchemaLike, *, case_sensitive: bool = False, time_zone: str = "UTC", as_held: bool = False
) -> Predicate:
    """The predicate with the schema's names and types. `schema`: an Arrow schema, or path and type of every column
    (leaves or whole structs). Case is ignored as Spark does; a name written exactly as in the schema wins. `time_zone`:
    what literals without a zone mean for columns of instants. `as_held`: literals are of values as rows of ours hold
    them, where a UUID is its 16 bytes."""
    binder = _Binder(schema, case_sensitive, time_zone, as_held)
    bound = p.transform(binder.leaf)
    return _flattened(bound, binder.nulls_of_structs) if binder.nulls_of_structs else bound


class _Binder:
    def __init__(self, schema: SchemaLike, case_sensitive: bool, time_zone: str, as_held: bool) -> None:
        self._types = dict(_all_paths(schema))
        self._case_sensitive = case_sensitive
        self._time_zone = time_zone
        self._as_held = as_held
        self._folded: dict[tuple[str, ...], list[tuple[str, ...]]] | None = None
        self._resolved: dict[ColumnRef, tuple[ColumnRef, pa.DataType | None]] = {}
        self.nulls_of_structs: set[And] = set()
        self._plain: dict[ColumnRef, Callable[[object], bool]] = {}  # is a value the column's own as it stands?

    def leaf(self, leaf: Leaf) -> Predicate:
        match leaf:
            case Constant():
                return leaf
            case Opaque():
                return self._opaque(leaf)
            case Comparison():
                column, t = self._resolve(leaf.column)
                if t is None:
                    return _opaque(leaf, column)
                plain = self._plain.get(column)
                if plain is not None and plain(leaf.value.value):
                    return leaf if column is leaf.column else Comparison(column, leaf.op, leaf.value)
                value = self._coerced(column, t, leaf.value)
                return _opaque(leaf, column) if value is None else Comparison(column, leaf.op, value)
            case In():
                column, t = self._resolve(leaf.column)
                if t is None:
                    return _opaque(leaf, column)
                if _all_of(leaf.values, t):
                    return leaf if column == leaf.column else In(column, leaf.values)
                values = [self._coerced(column, t, value) for value in leaf.values]
                known = tuple(value for value in values if value is not None)
                return In(column, known) if len(known) == len(values) else _opaque(leaf, column)
            case IsNull():
                column, t = self._resolve(leaf.column)
                return IsNull(column) if t is not None else self._null_nested(leaf, column)
            case IsNan():
                column, t = self._resolve(leaf.column)
                number = t is not None and (Family.may_be_nan(t) or pa.types.is_integer(t) or pa.types.is_decimal(t))
                return IsNan(column) if number else _opaque(leaf, column)  # isnan('NaN') is true: Spark casts
            case StartsWith():
                column, t = self._resolve(leaf.column)
                text = t is not None and isinstance(coerce(Literal(leaf.prefix), t, self._time_zone), Literal)
                text = text and t is not None and Family.of(t) in (Family.TEXT, Family.BYTES)
                return StartsWith(column, leaf.prefix) if text else _opaque(leaf, column)
            case _:
                assert_never(leaf)

    def _opaque(self, leaf: Opaque) -> Opaque:
        """Bind an opaque condition. Its scalar stays only if the columns have the types that it was parsed with."""
        named = tuple(self._resolve(column)[0] for column in leaf.columns)
        if leaf.scalar is None:
            return Opaque(leaf.text, named, None, leaf.why)
        from .scalars.nodes import ColumnValue, inputs, renamed
        from .scalars.types import known_type

        columns = {value: ColumnValue(self._resolve(value.column)[0], value.type) for value in inputs(leaf.scalar)}
        for value in columns.values():
            t = self._types.get(value.column.parts)
            if t is not None and known_type(t) != value.type:
                return Opaque(leaf.text, named, None, f"column {value.column} is {t} there")
        return Opaque(leaf.text, named, renamed(leaf.scalar, lambda value: columns[value]), leaf.why)

    def _null_nested(self, leaf: IsNull, column: ColumnRef) -> Predicate:
        """A struct is NULL only in rows in which all of its fields are: a file in which one of them never is has none.
        That all fields are NULL does not say that the struct is, nor that a list has no elements that it is NULL."""
        if not self._is_nested(column.parts):
            return _opaque(leaf, column)
        fields = [ColumnRef(path) for path in self._below(column.parts)]
        own = IsNull(column)
        if not fields:
            return own
        null_of_any = And((*(IsNull(field) for field in fields[:_MOST_FIELDS]), own))
        self.nulls_of_structs.add(null_of_any)
        return null_of_any

    def _is_nested(self, parts: tuple[str, ...]) -> bool:
        """Return whether the column is a list, a map, or a struct with fields (one without is an unknown type)."""
        t = self._types.get(parts, pa.null())
        return t is None or (pa.types.is_nested(t) and not (pa.types.is_struct(t) and t.num_fields == 0))

    def _below(self, parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Columns with statistics inside a struct."""
        for path, t in self._types.items():
            inside = len(path) > len(parts) and path[: len(parts)] == parts
            if inside and t is not None and (physical_type(t) is not None or isinstance(t, pa.UuidType)):
                yield path

    def _coerced(self, column: ColumnRef, t: pa.DataType, lit: Literal) -> Literal | None:
        if self._as_held and isinstance(t, pa.UuidType) and isinstance(lit.value, bytes):
            return Literal(UUID(bytes=lit.value)) if len(lit.value) == 16 else None
        answer = coerce(lit, t, self._time_zone)
        match answer:
            case Literal():
                return answer
            case Coerced.UNKNOWN:
                return None
            case str():
                alone = " (a column by itself is a condition if it is boolean)" if lit.value is True else ""
                raise LiteralTypeError(
                    f"a literal is a value of its column's type; got {lit.value!r} for {column} ({t}){alone}; {answer}"
                )
            case _:
                assert_never(answer)

    def _resolve(self, column: ColumnRef) -> tuple[ColumnRef, pa.DataType | None]:
        """The column by the schema's spelling, and its type; None where bounds and literals have no meaning (nested, or
        inside a list or map)."""
        resolved = self._resolved.get(column)
        if resolved is None:
            resolved = self._resolved[column] = self._looked_up(column)
            if resolved[1] is not None and (pa.types.is_int64(resolved[1]) or pa.types.is_string(resolved[1])):
                self._plain[resolved[0]] = _is_long if pa.types.is_int64(resolved[1]) else _is_ascii
        return resolved

    def _looked_up(self, column: ColumnRef) -> tuple[ColumnRef, pa.DataType | None]:
        parts = column.parts
        if parts in self._types:
            parts_as_named = parts
        else:
            candidates = self._alike(parts)
            if len(candidates) > 1:
                raise AmbiguousColumnError(
                    f"a name fits one column; {column} fits {_names(candidates)} when case is ignored; write one of"
                    " them exactly"
                )
            if not candidates:
                return self._inside(column), None
            (parts_as_named,) = candidates
        t = self._types[parts_as_named]
        same = column if parts_as_named == parts else ColumnRef(parts_as_named)
        return same, t if t is not None and (physical_type(t) is not None or isinstance(t, pa.UuidType)) else None

    def _alike(self, parts: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Columns of a name but for case. Most names are written as in the schema: none is folded for those."""
        if self._folded is None:
            self._folded = {}
            for path in () if self._case_sensitive else self._types:
                self._folded.setdefault(_folded(path), []).append(path)
        return self._folded.get(_folded(parts), [])

    def _inside(self, column: ColumnRef) -> ColumnRef:
        """A path that goes into a list or map: its column is there, its elements have no statistics."""
        for length in range(len(column.parts) - 1, 0, -1):
            parts = column.parts[:length]
            for candidate in [parts] if parts in self._types else self._alike(parts):
                t = self._types[candidate]
                if t is not None and pa.types.is_nested(t) and not pa.types.is_struct(t):
                    return ColumnRef((*candidate, *column.parts[length:]))
        raise UnknownColumnError("a predicate names columns of the table", self._unknown(column)).of(column.name)

    def _unknown(self, column: ColumnRef) -> str:
        names = {ColumnRef(path).name.lower(): ColumnRef(path).in_sql for path in self._types}
        import difflib

        near = difflib.get_close_matches(column.name.lower(), list(names), n=3, cutoff=0.6)
        if near:
            return f"there is no {column}; did you mean {' or '.join(names[n] for n in near)}?"
        listed = [names[folded] for folded in sorted(names)]
        some = ", ".join(listed[:10]) + (", ..." if len(listed) > 10 else "")
        cure = Cure.of_columns(listed) or ("; a text stands in quotes" if len(column.parts) == 1 else "")
        return f"there is no {column}; there are: {some or 'no columns'}{cure}"


def _flattened(bound: Predicate, inner: set[And]) -> Predicate:
    """Flatten the ANDs that conditions on a struct became into the AND around them, each part once, so that binding is
    idempotent."""

    def conjoined(parts: list[Predicate]) -> Predicate:
        flat = (
            flat_part
            for part in parts
            for flat_part in (part.parts if isinstance(part, And) and part in inner else (part,))
        )
        return And(tuple(dict.fromkeys(flat)))

    return bound.fold(lambda leaf: leaf, Not, conjoined, lambda parts: Or(tuple(parts)))


def _folded(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in path)


def _names(paths: Iterable[tuple[str, ...]]) -> str:
    return " and ".join(ColumnRef(path).name for path in paths)


def _all_paths(schema: SchemaLike) -> Iterable[tuple[tuple[str, ...], pa.DataType | None]]:
    """Every path with its type, structs above given leaves included (their type is then not known)."""
    if isinstance(schema, pa.Schema):
        given: list[tuple[tuple[str, ...], pa.DataType]] = [((f.name,), f.type) for f in schema]
    elif isinstance(schema, Mapping):
        given = list(schema.items())
    else:
        given = [(tuple(path), t) for path, t in schema]
    paths: dict[tuple[str, ...], pa.DataType | None] = {}
    for path, t in given:  # grows on the way
        paths[path] = t
        if pa.types.is_struct(t):
            given += (((*path, child.name), child.type) for child in t)
    for path in list(paths):
        for length in range(1, len(path)):
            paths.setdefault(path[:length], None)
    return paths.items()


def _is_long(value: object) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _is_ascii(value: object) -> bool:
    return type(value) is str and value.isascii()


def _all_of(values: tuple[Literal, ...], t: pa.DataType) -> bool:
    """Return whether all values are of the column's own type and range, so that none needs coercion: a shortcut for
    long lists of integers and texts."""
    kinds = {type(lit.value) for lit in values}
    if kinds == {int} and pa.types.is_int64(t):
        return min(lit.value for lit in values) >= -(2**63) and max(lit.value for lit in values) < 2**63  # type: ignore[type-var, operator]
    return kinds == {str} and pa.types.is_string(t) and all(lit.value.isascii() for lit in values)  # type: ignore[union-attr]


def _opaque(leaf: Leaf, column: ColumnRef) -> Opaque:
    return Opaque(_text(leaf, column), (column,))


def _text(leaf: Leaf, column: ColumnRef) -> str:
    """Return the leaf for a message: as SQL if possible."""
    from .engines.sql_text import to_sql

    match leaf:
        case Opaque():
            return leaf.text
        case In() if len(leaf.values) > 5:
            return f"{_text(In(leaf.column, leaf.values[:5]), column).rstrip(')')}, ...)"
        case IsNan():
            return f"isnan({column})"
        case _:
            try:
                return to_sql(leaf)
            except ExpressionError:
                return f"a condition of {column} with a value that SQL has not"
