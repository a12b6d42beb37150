"""A schema as Spark writes one in SQL: `a INT, b DECIMAL(10, 2), c STRUCT<x: BIGINT, y: ARRAY<STRING>> NOT NULL`. So an
index stores one that a user gives, and cannot be used with another."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa

from metaindex.core import UnsupportedFeatureError
from metaindex.formats.columns import with_inside

MOST_DEEP = 50

TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|('(?:[^'\\]|\\.|'')*+')|([<>(),:])|([^\s`<>(),:']+))")


def parse_ddl(text: str) -> pa.Schema:
    """The columns of a schema text. UnsupportedFeatureError, with the place, for what is none."""
    return pa.schema(_Reading(text).fields("", 0))


def check_depth(schema: pa.Schema) -> None:
    """UnsupportedFeatureError for columns that are nested deeper than a schema text may be."""
    for field in schema:
        level, deep = [field.type], 0
        while level and deep <= MOST_DEEP:
            level = [t.field(at).type for t in level for at in range(t.num_fields)]
            deep += 1
        if level:
            raise UnsupportedFeatureError(
                f"columns of text files are nested up to {MOST_DEEP} levels deep; {field.name!r} is deeper; read it as"
                " a string"
            )


class _Reading:
    """Token by token: (what it is, its text), with the end of the text as the last one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str, int]] = []
        self._at = at = 0
        end = len(text.rstrip())
        while at < end:
            token = _TOKEN.match(text, at)
            if token is None:
                raise _refused(text, at)
            kind = ("name", "text", "sign", "word")[(token.lastindex or 1) - 1]
            self._tokens.append((kind, token[token.lastindex or 1], at))
            at = token.end()
        self._tokens.append(("end", "", at))

    def fields(self, end: str, deep: int) -> list[pa.Field]:
        """Columns between commas, up to the sign `end` ("": the end of the text), which is taken."""
        out: list[pa.Field] = []
        while True:
            name = self._name()
            self._is(":")
            out.append(pa.field(name, self._type(deep)))
            if self._is("not"):
                self._must("null")
            if self._is("comment"):
                self._take("text")
            if self._is(end):
                return out
            self._must(",")
            if not end and self._is(""):  # a comma behind the last column
                return out

    def _type(self, deep: int) -> pa.DataType:
        if deep > MOST_DEEP:
            raise self._refuse()
        start = self._at
        match self._take("word").lower():
            case "array":
                self._must("<")
                of = self._type(deep + 1)
                self._must(">")
                return pa.list_(of)
            case "map":
                self._must("<")
                key = self._type(deep + 1)
                self._must(",")
                item = self._type(deep + 1)
                self._must(">")
                return pa.map_(key, item)
            case "struct":
                self._must("<")
                return pa.struct([] if self._is(">") else self.fields(">", deep + 1))
            case "decimal" | "dec" | "numeric":
                precision, scale = (*(self._numbers(2) if self._peek("(") else [10]), 0)[:2]
                if 1 <= precision <= 38 and scale <= precision:
                    return pa.decimal128(precision, scale)
            case "varchar" | "char":
                if self._numbers(1):
                    return pa.string()
            case name if name in TYPES:
                return TYPES[name]
        self._at = start
        raise self._refuse()

    def _numbers(self, most: int) -> list[int]:
        self._must("(")
        out = [self._number()]
        while len(out) < most and self._is(","):
            out.append(self._number())
        self._must(")")
        return out

    def _number(self) -> int:
        word = self._take("word")
        if not word.isascii() or not word.isdecimal() or len(word) > 9:
            self._at -= 1
            raise self._refuse()
        return int(word)

    def _name(self) -> str:
        if self._tokens[self._at][0] == "name":
            return self._take("name").replace("``", "`")
        return self._take("word")

    def _take(self, kind: str) -> str:
        found, text, _ = self._tokens[self._at]
        if found != kind:
            raise self._refuse()
        self._at += 1
        return text

    def _peek(self, text: str) -> bool:
        kind, found, _ = self._tokens[self._at]
        return kind in ("sign", "word", "end") and found.lower() == text

    def _is(self, text: str) -> bool:
        """Consume the text if it is next, and return whether it was."""
        here = self._peek(text)
        self._at += here and text != ""
        return here

    def _must(self, text: str) -> None:
        if not self._is(text):
            raise self._refuse()

    def _refuse(self) -> UnsupportedFeatureError:
        return _refused(self._text, self._tokens[self._at][2])


def _refused(text: str, at: int) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "a schema text lists columns with types of Spark's, 'a INT, b DECIMAL(10,2), c STRUCT<d: STRING>'; cannot read"
        f" {text[at : at + 40]!r}; write it so, or give a pyarrow.Schema"
    )


def merged_type(
    a: pa.DataType, b: pa.DataType, other: Callable[[pa.DataType, pa.DataType], pa.DataType]
) -> pa.DataType:
    """Return the type that holds both: structs by their fields, lists by their elements; `other`: of types that are
    neither."""
    if a == b:
        return a
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        fields = {field.name: field.type for field in a}
        for field in b:
            known = fields.get(field.name)
            fields[field.name] = field.type if known is None else merged_type(known, field.type, other)
        return pa.struct(list(fields.items()))
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(merged_type(a.value_type, b.value_type, other))
    return other(a, b)


def plain_type(t: pa.DataType) -> pa.DataType:
    """The type without what is only a way of storing it: dictionaries, large and view layouts, extensions."""
    is_ = pa.types
    if isinstance(t, pa.BaseExtensionType):
        return plain_type(t.storage_type)
    if is_.is_dictionary(t):
        return plain_type(t.value_type)
    if is_.is_large_string(t) or is_.is_string_view(t):
        return pa.string()
    if is_.is_large_binary(t) or is_.is_binary_view(t):
        return pa.binary()
    return with_inside(t, plain_type)


_WORDS = {t: word for word, t in reversed(TYPES.items())}


@lru_cache(maxsize=64)
def schema_said(schema: object) -> str:
    """Return one text for all schemas with the same columns, in the same order, with the same types: a schema text, or
    if there is none (a type that Spark lacks), one that `parse_ddl` refuses."""
    try:
        named = parse_ddl(schema) if isinstance(schema, str) else schema
    except UnsupportedFeatureError:
        return str(schema)
    if not isinstance(named, pa.Schema):
        return str(schema)
    plain = pa.schema([pa.field(field.name, plain_type(field.type)) for field in named])
    written = ", ".join(f"{_quoted(field.name)} {_written(field.type)}" for field in plain)
    try:
        known = not len(plain) or parse_ddl(written) == plain
    except UnsupportedFeatureError:
        known = False
    return written if known else f"? {written}"


def _written(t: pa.DataType) -> str:
    is_ = pa.types
    if t in _WORDS:
        return _WORDS[t]
    if is_.is_decimal128(t):
        return f"decimal({t.precision},{t.scale})"
    if is_.is_struct(t):
        fields = (t.field(at) for at in range(t.num_fields))
        return f"struct<{', '.join(f'{_quoted(field.name)}: {_written(field.type)}' for field in fields)}>"
    if is_.is_map(t):
        return f"map<{_written(t.key_type)}, {_written(t.item_type)}>"
    return f"array<{_written(t.value_type)}>" if is_.is_list(t) else str(t)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
