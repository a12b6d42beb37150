"""Casts of a column that change neither equality nor order, so that `CAST(a AS t) op v` says what `a op v` says.

An allow-list: int to a wider int, float to double, an integer to a decimal that holds it, a decimal to a wider one, a
type to itself. A narrowing cast, a cast from or to text and a cast that asks the session's zone never are.
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from metaindex.expressions import arrow_types
from metaindex.expressions.tree import ColumnRef

_RANK: Final = {"tinyint": 0, "smallint": 1, "int": 2, "bigint": 3, "float": 10, "double": 11}
_DIGITS: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_DECIMAL: Final = re.compile(r"decimal\(([0-9]{1,9}), ?(-?[0-9]{1,9})\)")
_SYNONYMS: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float"}


def loses_nothing(source: str, target: str) -> bool:
    """Return whether the cast preserves every value. Types are named as in Spark (`decimal(10,2)`)."""
    source, target = (_SYNONYMS.get(name, name) for name in (source.lower().strip(), target.lower().strip()))
    if source.replace(" ", "") == target.replace(" ", ""):
        return True
    low, high = _RANK.get(source), _RANK.get(target)
    if low is not None and high is not None:
        # An int is exact in a double, a bigint is not; float holds 24 bits.
        return low <= high if (low < 10) == (high < 10) else (source, target) in _EXACT_IN_FLOAT
    wide = _DECIMAL.fullmatch(target)
    if not wide:
        return False
    precision, scale = int(wide[1]), int(wide[2])
    if source in _DIGITS:
        return scale >= 0 and precision - scale >= _DIGITS[source]
    narrow = _DECIMAL.fullmatch(source)
    return narrow is not None and scale >= int(narrow[2]) and precision - scale >= int(narrow[1]) - int(narrow[2])


_EXACT_IN_FLOAT: Final = {
    ("tinyint", "float"),
    ("smallint", "float"),
    ("tinyint", "double"),
    ("smallint", "double"),
    ("int", "double"),
}


def keeps_values(schema: pa.Schema, column: ColumnRef, target: str | pa.DataType) -> bool:
    """Return whether casting the column of this schema to the type loses nothing; False without the column."""
    source = column.type_in(schema)
    wanted = target if isinstance(target, str) else _spark_name(target)
    given = None if source is None else _spark_name(source)
    return given is not None and wanted is not None and loses_nothing(given, wanted)


def is_text(known: pa.DataType) -> bool:
    """Return whether the type is text, or bytes that Spark takes for text."""
    inner = known.value_type if pa.types.is_dictionary(known) else known
    texts = pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)
    return bool(texts or pa.types.is_binary(inner) or pa.types.is_large_binary(inner) or pa.types.is_binary_view(inner))


def type_by_any_case(schema: pa.Schema, path: tuple[str, ...]) -> pa.DataType | None:
    """The type of the column that the name fits when case is ignored; None where none or several do."""
    exact = ColumnRef(path).type_in(schema)
    if exact is not None:
        return exact
    fields = list(schema)
    for n, part in enumerate(path):
        fitting = [field.type for field in fields if field.name.lower() == part.lower()]
        if len(fitting) != 1:
            return None
        if n + 1 == len(path):
            return fitting[0]
        fields = list(fitting[0]) if pa.types.is_struct(fitting[0]) else []
    return None


def is_bytes(known: pa.DataType) -> bool:
    """Any form of binary, in a dictionary too, and not of text."""
    return is_bytes(known.value_type) if pa.types.is_dictionary(known) else arrow_types.is_bytes(known)


is_uuid = arrow_types.is_uuid


_ARROW_NAMES: Final = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
}


def _spark_name(t: pa.DataType) -> str | None:
    if pa.types.is_decimal(t):
        return f"decimal({t.precision},{t.scale})"
    return _ARROW_NAMES.get(t)
