"""A schema as Spark writes one in SQL: `a INT, b DECIMAL(10, 2), c STRUCT<x: BIGINT, y: ARRAY<STRING>> NOT NULL`."""

from __future__ import annotations

import re

import pyarrow as pa

from metaindex.core import UnsupportedFeatureError

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
