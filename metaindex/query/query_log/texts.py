"""A predicate as the query log has it: its normal form as SQL text that `engines.sql.parse` reads back, with its values
kept, hashed or left out."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from itertools import count
from typing import Any, Final

from metaindex.core import ExpressionError
from metaindex.expressions import (
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Leaf,
    Literal,
    Opaque,
    Predicate,
    StartsWith,
    normalize,
    to_predicate,
    to_sql,
)

UNREAD: Final = "metaindex_unread"
"""What stands, as a function of its columns, for a part that nobody understood, or whose values may not be told."""

MOST_TEXT: Final = 64 << 10
_MASKED: Final = re.compile(r"#[0-9a-f]{24}|\?[1-9][0-9]*")
_Mask = Callable[[Any], str]


def text_of(predicate: Predicate, literals: str = "kept", key: bytes = b"") -> str:
    """The text; of a very long one what `UNREAD` says of its columns."""
    normal = normalize(predicate)
    mask = _mask(literals, key)
    text = normal.fold(lambda leaf: _leaf(leaf, mask), lambda child: f"(NOT {child})", _all_of, _any_of)
    if len(text) > MOST_TEXT:
        text = _unread(normal.columns)
        text = text if len(text) <= MOST_TEXT else _unread(())
    return text


def _mask(literals: str, key: bytes) -> _Mask | None:
    if literals == "kept":
        return None
    if literals == "hashed":
        return lambda value: f"#{hmac.new(key, _canonical(value), hashlib.sha256).hexdigest()[:24]}"
    numbers = count(1)  # each another one: `x >= ?` and `x <= ?` are not `x = ?`
    return lambda value: f"?{next(numbers)}"


def is_masked(predicate: Predicate) -> bool:
    """Return whether all values of a condition are masked; False for a condition without values."""
    values: list[object] = []
    for leaf in predicate.leaves():
        match leaf:
            case Comparison():
                values.append(leaf.value.value)
            case In():
                values.extend(value.value for value in leaf.values)
            case StartsWith():
                values.append(leaf.prefix)
            case Opaque() | IsNull() | IsNan() | Constant():
                pass
    told = [value for value in values if value is not None]
    return bool(told) and all(isinstance(value, str) and _MASKED.fullmatch(value) for value in told)


def _all_of(parts: list[str]) -> str:
    return f"({' AND '.join(parts)})" if parts else "TRUE"


def _any_of(parts: list[str]) -> str:
    return f"({' OR '.join(parts)})" if parts else "FALSE"


def _leaf(leaf: Leaf, mask: _Mask | None) -> str:
    match leaf:
        case Opaque():
            return _opaque(leaf) if mask is None else _unread(leaf.columns)
        case Comparison() if mask is not None:
            leaf = Comparison(leaf.column, leaf.op, _masked(leaf.value, mask))
        case In() if mask is not None:
            leaf = In(leaf.column, tuple(_masked(value, mask) for value in leaf.values))
        case StartsWith() if mask is not None:
            leaf = StartsWith(leaf.column, mask(leaf.prefix))
        case Comparison() | In() | StartsWith() | IsNull() | IsNan() | Constant():
            pass
    try:
        return to_sql(leaf)
    except ExpressionError:  # a value that no text can say
        return _unread(leaf.columns)


def _masked(value: Literal, mask: _Mask) -> Literal:
    return value if value.is_null else Literal(mask(value.value))


def _canonical(value: Any) -> bytes:
    """Equal numbers are equal, whatever their types."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        try:
            number = Decimal(value)
            text = str(int(number)) if number == number.to_integral_value() and abs(number) < 10**40 else str(number)
        except (ArithmeticError, ValueError):  # NaN and infinities
            text = str(value)
        return f"number:{text}".encode()
    shown = value.hex() if isinstance(value, bytes) else str(value)
    return f"{Literal(value).kind}:{shown}".encode("utf-8", "surrogatepass")


def _opaque(leaf: Opaque) -> str:
    """Return its own text, if that parses to the same again."""
    text = leaf.text
    return f"({text})" if 0 < len(text) <= MOST_TEXT and _reads_back(text, leaf.columns) else _unread(leaf.columns)


@lru_cache(1024)
def _reads_back(text: str, named: tuple[ColumnRef, ...]) -> bool:
    try:
        read = to_predicate(f"({text})")
    except Exception:  # noqa: BLE001 - a text of another engine's
        return False
    return isinstance(read, Opaque) and set(read.columns) == set(named)


def _unread(named: tuple[ColumnRef, ...]) -> str:
    return f"{UNREAD}({', '.join(_quoted(column) for column in named)})"


def _quoted(column: ColumnRef) -> str:
    return ".".join("`" + sayable(part).replace("`", "``") + "`" for part in column.parts)


def sayable(text: str) -> str:
    """Return the text with what UTF-8 cannot encode escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


_PARTS: Final = re.compile(
    r"(?P<name>`[^`]*+(?:`|\Z))"
    r"|(?:\b(?:DATE|TIMESTAMP_NTZ|TIMESTAMP|TIME|X) ?)?'(?:[^'\\]|\\.)*+(?:'|\\?\Z)"
    r"|-?\b\d[\w.]*+(?:(?<=[eE])[-+]\d+\w*)?",
    re.DOTALL,
)
_LIST: Final = re.compile(r"\?(?:, \?)++")


def template_of(text: str) -> str:
    """Return what conditions that differ only in values have in common, by patterns: the text may be anybody's."""
    plain = _PARTS.sub(lambda part: part[0] if part["name"] else "?", text)
    return _LIST.sub("...", plain).replace("double(?)", "?")
