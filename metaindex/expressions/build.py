"""Building predicates in Python: `(col("a") > 3) & ~col("payload.user").is_null()`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from metaindex.core import ExpressionError, dataclass

from .literals import Literal
from .tree import And, ColumnRef, Comparison, In, IsNan, IsNull, Op, Predicate, StartsWith


def col(*path: str) -> ColumnBuilder:
    """A column. One argument is a dotted path, where backticks keep a dot inside a name (``col("a.`b.c`")``); several
    are the parts as they are."""
    if not path or not all(isinstance(part, str) for part in path):
        raise ExpressionError(f"a column is named by text; got {path!r}; write col('a'), col('a.b') or col('a', 'b')")
    return ColumnBuilder(ColumnRef(parse_path(path[0]) if len(path) == 1 else path))


def parse_path(text: str) -> tuple[str, ...]:
    """Return the parts of a dotted path; backticks quote a part, a doubled backtick inside is one."""
    parts: list[str] = []
    at, end = 0, len(text)
    while True:
        if text.startswith("`", at):
            part, at = _quoted_part(text, at + 1)
        else:
            stop = text.find(".", at)
            part, at = (text[at:], end) if stop < 0 else (text[at:stop], stop)
            if not part or "`" in part:
                raise _bad_path(text)
        parts.append(part)
        if at == end:
            return tuple(parts)
        if text[at] != ".":
            raise _bad_path(text)
        at += 1


def _quoted_part(text: str, at: int) -> tuple[str, int]:
    part = ""
    while True:
        stop = text.find("`", at)
        if stop < 0:
            raise _bad_path(text)
        part += text[at:stop]
        if not text.startswith("``", stop):
            return part, stop + 1
        part += "`"
        at = stop + 2


def _bad_path(text: str) -> ExpressionError:
    return ExpressionError(
        f"a column path is parts joined by dots; {text!r} is not; quote odd names by backticks, or give parts: col('a',"
        " 'b')"
    )


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBuilder:
    """A column that comparison operators turn into predicates. A NULL literal is compared as SQL does: only
    `eq_null_safe` and `is_null` find NULLs."""

    ref: ColumnRef

    __hash__ = None  # type: ignore[assignment]  # == builds a predicate, so a builder is no key

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare(Op.EQ, value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare(Op.NE, value)

    def __lt__(self, value: object) -> Predicate:
        return self._compare(Op.LT, value)

    def __le__(self, value: object) -> Predicate:
        return self._compare(Op.LE, value)

    def __gt__(self, value: object) -> Predicate:
        return self._compare(Op.GT, value)

    def __ge__(self, value: object) -> Predicate:
        return self._compare(Op.GE, value)

    def eq_null_safe(self, value: object) -> Predicate:
        """`<=>`: equal, or both NULL."""
        return self._compare(Op.NULL_SAFE_EQ, value)

    def isin(self, values: Iterable[object]) -> Predicate:
        """`column IN (values)`; the empty list matches nothing."""
        if isinstance(values, str | bytes):
            raise ExpressionError(f"isin takes a list of values; got {values!r}; write isin([{values!r}])")
        if hasattr(values, "to_pylist"):  # of pyarrow, whose scalars are no literals
            values = values.to_pylist()
        if not isinstance(values, Iterable):
            raise ExpressionError(f"isin takes a list of values; got {values!r}; write isin([{values!r}])")
        return In(self.ref, tuple(Literal.of(value) for value in values))

    def is_null(self) -> Predicate:
        return IsNull(self.ref)

    def is_not_null(self) -> Predicate:
        return ~IsNull(self.ref)

    def is_nan(self) -> Predicate:
        return IsNan(self.ref)

    def startswith(self, prefix: str) -> Predicate:
        if not isinstance(prefix, str):
            raise ExpressionError(f"a prefix is text; got {type(prefix).__name__}; for bytes compare with >= and <")
        return StartsWith(self.ref, prefix)

    def between(self, low: object, high: object) -> Predicate:
        """`low <= column <= high`: both ends are included."""
        return And((self._compare(Op.GE, low), self._compare(Op.LE, high)))

    def _compare(self, op: Op, value: object) -> Predicate:
        return Comparison(self.ref, op, Literal.of(value))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"a column is neither true nor false; got {self.ref}; write col('x') == True, and & | ~ for and, or, not"
        )
