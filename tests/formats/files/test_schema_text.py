"""Schemas as texts, nested types too: what is written is what is read, and what is none is refused where it stands."""

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from metaindex.core import MetaIndexError, UnsupportedFeatureError
from metaindex.formats.files.schema_text import MOST_DEEP, parse_ddl
from metaindex.table import open_table

PLAIN = {
    "BOOLEAN": pa.bool_(),
    "tinyint": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "bigint": pa.int64(),
    "FLOAT": pa.float32(),
    "double": pa.float64(),
    "STRING": pa.string(),
    "varchar(7)": pa.string(),
    "binary": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "DECIMAL": pa.decimal128(10, 0),
    "decimal(4)": pa.decimal128(4, 0),
    "decimal ( 38 , 6 )": pa.decimal128(38, 6),
}
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=6)

Written = tuple[str, pa.DataType]


def fields(types: st.SearchStrategy[Written]) -> st.SearchStrategy[list[tuple[str, Written]]]:
    return st.lists(st.tuples(NAMES, types), min_size=1, max_size=3, unique_by=lambda field: field[0])


def listed(parts: list[tuple[str, Written]], between: str) -> str:
    escaped = [(name.replace("`", "``"), text) for name, (text, _) in parts]
    return ", ".join(f"`{name}`{between}{text}" for name, text in escaped)


def struct(parts: list[tuple[str, Written]]) -> Written:
    return f"STRUCT<{listed(parts, ': ')}>", pa.struct([pa.field(name, t) for name, (_, t) in parts])


TYPES = st.recursive(
    st.sampled_from(list(PLAIN.items())),
    lambda inner: (
        inner.map(lambda of: (f"array<{of[0]}>", pa.list_(of[1])))
        | st.tuples(inner, inner).map(lambda two: (f"MAP<{two[0][0]}, {two[1][0]}>", pa.map_(two[0][1], two[1][1])))
        | fields(inner).map(struct)
    ),
    max_leaves=6,
)


@given(fields(TYPES), st.sampled_from([" ", ": "]))
def test_what_is_written_is_read(parts: list[tuple[str, Written]], between: str) -> None:
    assert parse_ddl(listed(parts, between)) == pa.schema([pa.field(name, t) for name, (_, t) in parts])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a INT NOT NULL COMMENT 'it''s, so', b struct<c: int NOT NULL COMMENT 'x>'>", ["a", "b"]),
        ("`a b` INT, c.d STRING,", ["a b", "c.d"]),
        ("not INT, comment STRING", ["not", "comment"]),
    ],
)
def test_what_stands_besides_names_and_types(text: str, names: list[str]) -> None:
    assert parse_ddl(text).names == names


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", "''"),
        ("a", "''"),
        ("a INT b INT", "' b INT'"),
        ("a INT,, b INT", "', b INT'"),
        ("a decimal(39, 2)", "' decimal(39, 2)'"),
        ("a decimal(5, 6)", "' decimal(5, 6)'"),
        ("a array<int", "''"),
        ("a map<int>", "'>'"),
        ("a varchar", "''"),
        ("a INT(3)", "'(3)'"),
        ("a variant", "' variant'"),
        ("a 'x'", "\" 'x'\""),
        ("a `", "' `'"),
        ("a " + "array<" * 60 + "int" + ">" * 60, "'array<array<"),
        ("a decimal(" + "9" * 5000 + ")", "'999"),
    ],
)
def test_what_is_no_schema_is_refused_where_it_stands(text: str, at: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        parse_ddl(text)
    assert f"cannot read {at}" in str(caught.value)
    assert len(str(caught.value)) < 300


@given(st.text(st.sampled_from("ab <>(),:`'1\\intarydecmlsuop"), max_size=40))
def test_any_text_is_a_schema_or_an_error_of_ours(text: str) -> None:
    with suppress(MetaIndexError):
        assert parse_ddl(text).names


def test_a_schema_is_no_deeper_than_a_text_may_be(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}\n')
    t = pa.int32()
    for _ in range(MOST_DEEP):
        t = pa.list_(t)
    open_table(tmp_path, schema=pa.schema([("a", t)]))
    for _ in range(3000):
        t = pa.list_(t)
    with pytest.raises(UnsupportedFeatureError, match="'a' is deeper"):
        open_table(tmp_path, schema=pa.schema([("a", t)]))


@pytest.mark.spark
def test_spark_reads_the_same_columns(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    from metaindex.formats.files.schema import plain_type

    quoted = "it is" if spark.version.startswith("3.5") else "it''s"  # a quote written twice is one from 4.0 on
    for text in (
        f"a INT, b DECIMAL(10,2) NOT NULL COMMENT '{quoted}', c STRUCT<d: STRING COMMENT 'x>', `e ``f`: ARRAY<"
        "MAP<STRING, DATE>>>",
        "ts TIMESTAMP, n TIMESTAMP_NTZ, t ARRAY<DEC>, s struct<not: int, comment: string>",
    ):
        theirs = to_arrow_schema(spark.read.schema(text).json(str(tmp_path)).schema)
        ours = parse_ddl(text)
        assert ours.names == theirs.names
        assert [plain_type(field.type) for field in theirs] == [field.type for field in ours]
