"""SQL text into predicates: what is read, what stays opaque, what is refused."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from metaindex.core import ExpressionError
from metaindex.expressions.column_ref import ColumnRef
from metaindex.expressions.engines.sql import parse
from metaindex.expressions.literals import Literal
from metaindex.expressions.tree import And, Comparison, Constant, In, IsNan, IsNull, Not, Op, Opaque, Or, StartsWith

A = ColumnRef(("a",))
UTC = dt.UTC


def compare(op: Op, value: object, column: ColumnRef = A) -> Comparison:
    return Comparison(column, op, Literal(value))  # type: ignore[arg-type]


READ = [
    ("a = 5", compare(Op.EQ, 5)),
    ("a == 5", compare(Op.EQ, 5)),
    ("5 < a", compare(Op.GT, 5)),
    ("5 >= a", compare(Op.LE, 5)),
    ("a <> 5", compare(Op.NE, 5)),
    ("(a) != (5)", compare(Op.NE, 5)),
    ("a = -5", compare(Op.EQ, -5)),
    ("a = - -5", compare(Op.EQ, 5)),
    ("a = -9223372036854775808L", compare(Op.EQ, -(2**63))),
    ("a = 99999999999999999999", compare(Op.EQ, 99999999999999999999)),
    ("a = 1.10", compare(Op.EQ, Decimal("1.10"))),
    ("a = .5", compare(Op.EQ, Decimal("0.5"))),
    ("a = 1e3", compare(Op.EQ, 1000.0)),
    ("a = 1.0D", compare(Op.EQ, 1.0)),
    ("a = 0.1F", compare(Op.EQ, 0.10000000149011612)),
    ("a = 1.5BD", compare(Op.EQ, Decimal("1.5"))),
    ("a = -2Y", compare(Op.EQ, -2)),
    (f"a = -0.{'12345678' * 4}", compare(Op.EQ, Decimal(f"-0.{'12345678' * 4}"))),
    ("a = double('NaN')", compare(Op.EQ, math.nan)),
    ("a < cast('-inf' as double)", compare(Op.LT, -math.inf)),
    ("a = 'it''s'", compare(Op.EQ, "it's")),
    (r"a = 'it\'s \\ \n'", compare(Op.EQ, "it's \\ \n")),
    (r"a = r'it\s'", compare(Op.EQ, r"it\s")),
    ('a = "text"', compare(Op.EQ, "text")),
    ("a = '\U0001f600'", compare(Op.EQ, "\U0001f600")),
    ("a = X'0aF'", compare(Op.EQ, b"\x00\xaf")),
    ("a = DATE '2020-01-31'", compare(Op.EQ, dt.date(2020, 1, 31))),
    ("a = CAST('2020-1-3' AS DATE)", compare(Op.EQ, dt.date(2020, 1, 3))),
    ("a = TIMESTAMP '2020-01-01 02:03:04.5'", compare(Op.EQ, dt.datetime(2020, 1, 1, 2, 3, 4, 500000, UTC))),
    ("a = TIMESTAMP '2020-01-01T00:00:00+02:00'", compare(Op.EQ, dt.datetime(2019, 12, 31, 22, tzinfo=UTC))),
    ("a = TIMESTAMP '2020-07-01 00:00:00 Europe/Berlin'", compare(Op.EQ, dt.datetime(2020, 6, 30, 22, tzinfo=UTC))),
    ("a = TIMESTAMP_NTZ '2020-01-01 00:00:00'", compare(Op.EQ, dt.datetime(2020, 1, 1))),
    ("a = NULL", compare(Op.EQ, None)),
    ("a <=> NULL", compare(Op.NULL_SAFE_EQ, None)),
    ("a IS NOT DISTINCT FROM 3", compare(Op.NULL_SAFE_EQ, 3)),
    ("a IS DISTINCT FROM 3", Not(compare(Op.NULL_SAFE_EQ, 3))),
    ("a BETWEEN 1 AND 3", And((compare(Op.GE, 1), compare(Op.LE, 3)))),
    ("a NOT BETWEEN 1 AND 3", Not(And((compare(Op.GE, 1), compare(Op.LE, 3))))),
    ("a IN (1, NULL)", In(A, (Literal(1), Literal(None)))),
    ("a NOT IN ('x')", Not(In(A, (Literal("x"),)))),
    ("a IS NULL", IsNull(A)),
    ("a IS NOT NULL", Not(IsNull(A))),
    ("isnotnull(a)", Not(IsNull(A))),
    ("isnan(a)", IsNan(A)),
    ("a LIKE 'p%'", StartsWith(A, "p")),
    ("a LIKE 'p%%'", StartsWith(A, "p")),
    ("a LIKE '%'", StartsWith(A, "")),
    ("a NOT LIKE 'p%'", Not(StartsWith(A, "p"))),
    (r"a LIKE 'p\\_x%'", StartsWith(A, "p_x")),
    (r"a LIKE 'p\_x%'", StartsWith(A, "p_x")),
    ("a LIKE 'p#%%' ESCAPE '#'", StartsWith(A, "p%")),
    ("a LIKE 'p'", compare(Op.EQ, "p")),
    ("startswith(a, 'p')", StartsWith(A, "p")),
    ("a", compare(Op.EQ, True)),
    ("NOT a", Not(compare(Op.EQ, True))),
    ("!a", Not(compare(Op.EQ, True))),
    ("a IS TRUE", compare(Op.NULL_SAFE_EQ, True)),
    ("a IS NOT FALSE", Not(compare(Op.NULL_SAFE_EQ, False))),
    ("TRUE", Constant(True)),
    ("NULL", Constant(None)),
    ("1 = 1", Constant(True)),
    ("'b' < 'a'", Constant(False)),
    ("a.b.c = 1", compare(Op.EQ, 1, ColumnRef(("a", "b", "c")))),
    ("a.b.c.d.e = 1", compare(Op.EQ, 1, ColumnRef(("a", "b", "c", "d", "e")))),
    ("`a.b`.`c``d` = 1", compare(Op.EQ, 1, ColumnRef(("a.b", "c`d")))),
    ("a = 1 -- why", compare(Op.EQ, 1)),
    ("a = 1 OR a = 2 AND a = 3", Or((compare(Op.EQ, 1), And((compare(Op.EQ, 2), compare(Op.EQ, 3)))))),
]


@pytest.mark.parametrize(("text", "expected"), READ, ids=[text for text, _ in READ])
def test_readable_text_becomes_nodes(text: str, expected: object) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a + 1 = 3",
        "a = b",
        "a = 1 = true",
        "abs(a) = 1",
        "a IN (SELECT 1)",
        "a LIKE '%x'",
        "a LIKE 'x_'",
        "a LIKE ANY ('x%', 'y%')",
        "a ILIKE 'x%'",
        "a RLIKE 'x'",
        "a = current_date()",
        "a = DATE 'today'",
        "a = DATE '2020-02-30'",
        "a = TIMESTAMP '2020-01-01 00:00:00.1234567'",
        "a = TIMESTAMP_NTZ '2020-01-01 00:00:00+01:00'",
        "a = INTERVAL 3 DAYS",
        "a[0] = 1",
        "a['k'] = 1",
        "CAST(a AS BIGINT) = 1",
        "a = CAST(1.5 AS DECIMAL(2, 0))",
        "a = CAST(300 AS TINYINT)",
        "a IN (1, 'x')",
        "(a, b) = (1, 2)",
        "exists(a, x -> x > 1)",
        "CASE WHEN a = 1 THEN TRUE END",
        "a BETWEEN 1 AND b",
        "(a = 1) IS NULL",
        "a = 0x1F",
        "a LIKE 'x\\\\'",
    ],
)
def test_text_that_the_tree_cannot_say_is_opaque(text: str) -> None:
    found = parse(text)
    assert isinstance(found, Opaque)
    assert A in found.columns
    assert all(column.parts[0] in "ab" for column in found.columns)


def test_an_opaque_part_leaves_its_neighbours_readable() -> None:
    found = parse("a = 1 AND abs(b) = 2 AND NOT (a LIKE '%z' OR a IS NULL)")
    assert isinstance(found, And)
    assert found.parts[0] == compare(Op.EQ, 1)
    assert found.parts[1] == Opaque("ABS(b) = 2", (ColumnRef(("b",)),))
    assert found.parts[2] == Not(Or((Opaque("a LIKE '%z'", (A,)), IsNull(A))))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "TRUE"),
        ("a =", "a >>>=<<<"),
        ("a = 1 b", "column 7"),
        ("select 1", "one SQL expression"),
        ("a = 1; drop table x", "semicolon"),
        ("a = 'x", "one SQL expression"),
        ("(a = 1", "line 1"),
        ("a = 1\nand or b = 2", "line 2"),
        ("(" * 3000 + "a" + ")" * 3000, "too deeply"),
    ],
)
def test_text_that_does_not_parse_is_a_one_line_error_that_says_where(text: str, says: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_long_lists_are_no_deep_trees() -> None:
    found = parse(" OR ".join(f"a = {i}" for i in range(3000)))
    assert isinstance(found, Or)
    assert len(found.parts) == 3000


def test_the_session_zone_gives_a_timestamp_its_instant() -> None:
    found = parse("a = TIMESTAMP '2020-07-01 00:00:00'", timezone="America/New_York")
    assert found == compare(Op.EQ, dt.datetime(2020, 7, 1, 4, tzinfo=UTC))


def test_a_cast_that_loses_nothing_is_seen_through_when_the_schema_is_known() -> None:
    schema = pa.schema({"a": pa.int32(), "s": pa.struct({"f": pa.float32()}), "d": pa.decimal128(10, 2)})
    f, d = ColumnRef(("s", "f")), ColumnRef(("d",))
    assert parse("CAST(a AS BIGINT) = 1", schema=schema) == compare(Op.EQ, 1)
    assert parse("CAST(s.f AS DOUBLE) = 1.5D", schema=schema) == compare(Op.EQ, 1.5, f)
    assert parse("CAST(d AS DECIMAL(12, 3)) = 1", schema=schema) == compare(Op.EQ, 1, d)
    for narrowing in (
        "CAST(a AS SMALLINT) = 1",
        "CAST(d AS DECIMAL(10, 3)) = 1",
        "CAST(a AS FLOAT) = 1",
        "CAST(a AS STRING) = '1'",
    ):
        assert isinstance(parse(narrowing, schema=schema), Opaque)


def test_duckdb_text_keeps_its_own_meaning() -> None:
    assert parse("a = TIMESTAMP '2020-01-01 00:00:00'", "duckdb") == compare(Op.EQ, dt.datetime(2020, 1, 1))
    assert parse("\"x y\" = 'it''s'", "duckdb") == compare(Op.EQ, "it's", ColumnRef(("x y",)))
    assert parse(r"a LIKE 'p\%'", "duckdb") == StartsWith(A, "p\\")
    assert parse(r"a LIKE 'p\%' ESCAPE '\'", "duckdb") == compare(Op.EQ, "p%")


@pytest.mark.parametrize("type_", [pa.int32(), pa.float64(), pa.date32(), pa.timestamp("us"), pa.decimal128(9, 2)])
@pytest.mark.parametrize("text", ["a LIKE '01'", "a NOT LIKE '01'", "a LIKE '2020-01-01'", "a LIKE '01' ESCAPE '!'"])
def test_like_matches_the_text_of_what_is_no_text(type_: pa.DataType, text: str) -> None:
    """Spark casts: 1 is not LIKE '01', a moment not LIKE its day. As `=` this lost the rows of NOT LIKE."""
    found = parse(text, schema=pa.schema({"a": type_}))
    assert all(isinstance(leaf, Opaque) for leaf in found.leaves())
    for known in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        read = parse(text, schema=pa.schema({"a": known}))
        assert not any(isinstance(leaf, Opaque) for leaf in read.leaves())


@pytest.mark.parametrize(
    "base", ["named_struct('a', i)", "struct(i AS a)", "f(x)", "max(x)", "(f(x))", "arr[0]", "m['k']"]
)
@pytest.mark.parametrize(
    "rest", [".a = 1", ".a IN (1, 2)", ".a IS NULL", ".a.b >= 1", ".a LIKE 'x%'", ".a <=> 1", ".a"]
)
def test_a_field_of_what_is_no_column_is_no_column(base: str, rest: str) -> None:
    found = parse(base + rest)
    assert isinstance(found, Opaque)
    assert isinstance(parse(f"1 = {base}.a"), Opaque)
    assert isinstance(parse(f"NOT {base}{rest}"), Not)
    assert ColumnRef(("a",)) not in found.columns
    assert ColumnRef(("a", "b")) not in found.columns


@pytest.mark.parametrize("text", ["a.b.c.d.e.f = 1", "(a).b.c.d.e.f = 1", "((a.b.c).d.e).f = 1"])
def test_a_field_of_a_column_is_one(text: str) -> None:
    assert parse(text) == Comparison(ColumnRef(("a", "b", "c", "d", "e", "f")), Op.EQ, Literal(1))


LAX = (
    "i = 1;", "i = 1 ;", ";", "i = 1; j = 2", "; i = 1", "i = 1;;", "i IN (1;)", "abs(i;) = 1", "(i = 1;)",
    "i = 1 AND j = 2;",
    "i = 1,", ", i = 1", "i IN (1,)", "i IN (,1)", "i IN (1,,2)", "i IN (,)", "i NOT IN (1,)", "i in (1, 2, )",
    "i IN (1\n,\n)", "(i, j) IN ((1, 2),)",
    "(i, j,) IN ((1, 2))", "i = (1,)", "coalesce(i,) = 1", "coalesce(,i) = 1", "coalesce(i,,j) = 1", "f(x,).a = 1",
    "array(1,)[0] = i", "CAST(i AS decimal(10,)) = 1",
    "s LIKE ANY ('a',)", "s LIKE ANY ()", "()", "i IN ()", "i NOT IN ( )", "i = ()", "i IN 1", "i IN NULL", "i IN j",
    "i IN [1]", "i IN [1, 2]", "i = [1]", "[a] = 1", "NOT [a]",
    "i ISNULL", "i NOTNULL", "i NOT NULL", "a.b NOT NULL", "`a b` ISNULL", "f(i) NOTNULL", "`a` = 1;",
)  # fmt: skip


@pytest.mark.parametrize("text", LAX)
def test_what_spark_refuses_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"^a condition must be one SQL expression, as Spark reads it; [^\n]*$"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "s = ';'", "s = ',)'", "s IN (',', ';')", "`a;b` = 1", "`a,` = 1", "i = 1 -- end;", "i = 1 /* ; , ) */",
        "s = 'i IN (1,)'", "f() = i", "current_date() = d", "i IN (1)",
        "i IN ((1), (2))", "a[0] = 1", "date[0] = 1", "array(1, 2)[0] = i", "m['k'] = 1", "POSITION('a' IN s) = 1",
        "position('a' in s) > 0 AND i IN (1)", "isnull(i)", "isnotnull(i)", "i IS NOT NULL",
        "NOT i IS NULL", "i = NULL", "NOT NULL", "i IN (SELECT 1)", "f(i) OVER () = 1", "s = '[1]'",
    ],
)  # fmt: skip
def test_what_only_looks_like_it_is_read(text: str) -> None:
    assert parse(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "\"name\" = 'a'",
        "'a' <> \"Name\"",
        '"id" = 5',
        "id > 3 AND NOT (\"name\" IN ('a', 'b') OR id = 1)",
        "\"name\" LIKE 'a%'",
        '"id" BETWEEN 1 AND 3',
        "lower(\"name\") = 'a'",
        '"name" = "id"',
        '"at.city" IS NOT NULL',
    ],
)
def test_a_name_in_double_quotes_is_refused_where_it_stands_for_a_text(text: str) -> None:
    schema = pa.schema({"id": pa.int64(), "name": pa.string(), "at": pa.struct({"city": pa.string()})})
    with pytest.raises(ExpressionError, match=r"write `.*` for the column, or '") as caught:
        parse(text, schema=schema)
    assert "\n" not in str(caught.value)
    parse(text)  # without columns nobody knows


@pytest.mark.parametrize(
    "text",
    ['name = "id"', "\"x\" = 'a'", "'name' = 'a'", "name = '\"name\"'", '`name` = "a"', 'concat(name, "id") = "name"'],
)
def test_other_texts_in_double_quotes_are_texts(text: str) -> None:
    parse(text, schema=pa.schema({"id": pa.int64(), "name": pa.string()}))
