"""Conditions as Spark prints them, read back: what is read is what was printed, or it is told that it cannot be."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.advisor.workloads.eventlog.spark_text import (
    PrintedColumns,
    Unclear,
    conjuncts_of,
    fields_of,
    leaves_of,
    printed_columns,
    printed_parts,
    printed_predicate,
)
from metaindex.expressions import (
    And,
    ColumnRef,
    Comparison,
    In,
    IsNan,
    IsNull,
    Literal,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    col,
    normalize,
    to_predicate,
)

TYPES = fields_of(
    "struct<id:bigint,k:int,name:string,d:date,ts:timestamp,dc:decimal(10,2),x:double,"
    "s:struct<a:bigint,b:string>,f:boolean,two words:string,bin:binary>"
)
PRINTED = PrintedColumns(TYPES, "[IsNotNull(name), In(name, [n1,n2,n3]), In(id, [1])]", "UTC")

SAID = {
    "(name#1 = n5)": "name = 'n5'",
    "(name#1 = O'Hare (NY) AND more, x)": "name = 'O\\'Hare (NY) AND more, x'",
    "(name#1 = )": "name = ''",
    "(two words#9 = a)": "`two words` = 'a'",
    "id#2L INSET 1, 2, 3": "id IN (1, 2, 3)",
    "id#2L IN (1,2,null)": "id IN (1, 2, NULL)",
    "name#1 INSET n1, n2, n3": "name IN ('n1', 'n2', 'n3')",
    "name#335 IN (n1,n 2,n3)": "name IN ('n1', 'n 2', 'n3')",
    "(d#3 >= 2024-01-05)": "d >= DATE '2024-01-05'",
    "(ts#4 < 2024-01-03 10:00:00)": "ts < TIMESTAMP '2024-01-03 10:00:00'",
    "(dc#5 > 3.50)": "dc > 3.50",
    "(5 < k#6)": "k > 5",
    "(cast(k#6 as bigint) = 5)": "k = 5",
    "(bin#6 = 0x0AFF)": "bin = X'0AFF'",
    "NOT (f#7 <=> true)": "NOT (f <=> TRUE)",
    "((s#8.b = z) OR (isnotnull(s#8.a) AND NOT f#7))": "s.b = 'z' OR (s.a IS NOT NULL AND f != TRUE)",
    "StartsWith(name#1, ab, c)": "name LIKE 'ab, c%'",
    "name#1 LIKE ab%": "name LIKE 'ab%'",
    "(isnan(x#9) OR (x#9 > 1.0E10))": "isnan(x) OR x > 1e10",
    "(id#2L INSET 1, 2 AND (k#6 = 4))": "id IN (1, 2) AND k = 4",
}


@pytest.mark.parametrize("text", SAID)
def test_what_spark_prints(text: str) -> None:
    assert normalize(printed_predicate(text, PRINTED)) == normalize(to_predicate(SAID[text]))


def test_a_column_of_unknown_type_has_its_value_as_a_text() -> None:
    assert printed_predicate("(p#3 = 3)", PRINTED) == (col("p") == "3")
    assert printed_predicate("(p#3L = 3)", PRINTED) == (col("p") == 3)


UNCLEAR = (
    "(id#0L > 10...",
    "id#325L INSET 352, 301, ... 75 more fields",
    "(name#1 = *********(redacted))",
    "name#1 IN (n1,n, 2,n3)",
    "name#1 INSET n1, n2, n3, x",
    "name#1 IN (a,null)",
    "(name#1 = a#3.b c)",
    "((name#1 = a) AND (b) AND (k#6 = 3))",
    "(name#1 = a) OR (true)",
    "(name#1 = a(b)",
    "(" * 300 + "f#7" + " AND f#7)" * 300,
    "(1 = 1)",
)


@pytest.mark.parametrize("text", UNCLEAR)
def test_what_can_be_read_in_two_ways_is_told(text: str) -> None:
    with pytest.raises(Unclear):
        printed_predicate(text, PRINTED)


def test_functions_are_told_by_their_columns_and_alike_for_all_values() -> None:
    first, other = (printed_predicate(f"(upper(name#{n}) = N{n})", PRINTED) for n in (1, 22))
    assert isinstance(first, Opaque)
    assert first.columns == (ColumnRef(("name",)),)
    assert first.text == "upper(name) = 'N1'"
    assert isinstance(other, Opaque)
    within = printed_predicate("((length(name#1) > 3) OR f#7)", PRINTED)
    assert within == Or(
        (Opaque("length(name) > '3'", (ColumnRef(("name",)),)), Comparison(ColumnRef(("f",)), Op.EQ, Literal(True)))
    )


def test_what_a_subquery_gives_is_not_told() -> None:
    read = printed_predicate("(id#2L = Subquery subquery#12, [id=#34])", PRINTED)
    assert isinstance(read, Opaque)
    assert read.columns == (ColumnRef(("id",)),)


def test_lists_and_conjunctions_are_taken_apart() -> None:
    assert [*printed_parts("[isnotnull(a#1), id#2L INSET 1, 2, (b#3 = x, y), true]")] == [
        "isnotnull(a#1)",
        "id#2L INSET 1, 2",
        "(b#3 = x, y)",
        "true",
    ]
    assert [*printed_parts("[isnotnull(a#1), (b#3 = xxx...")] == ["isnotnull(a#1)", "(b#3 = xxx..."]
    assert [*printed_parts("[(a#1 = 1), (b#3 = x")] == ["(a#1 = 1)", "(b#3 = x..."]
    assert [*printed_parts("[]")] == [*printed_parts("")] == []
    assert [*conjuncts_of("((a#1 IN (x,y) AND (b#2 = c AND d)) AND (e#3 OR f#4))")] == [
        "a#1 IN (x,y)",
        "(b#2 = c AND d)",
        "(e#3 OR f#4)",
    ]
    assert printed_columns("((f(a#1, b#2L) > c) AND a#1)") == ("a", "b")


def test_types_of_the_catalog() -> None:
    cut = fields_of("struct<a:bigint,s:struct<b:array<int>,c:decimal(10,2)>,d:str...")
    assert cut == {"a": "bigint", "s": "struct<b:array<int>,c:decimal(10,2)>"}
    assert [*leaves_of("s", cut["s"])] == [("s", "b"), ("s", "c")]
    assert fields_of("struct<>") == fields_of("nonsense") == {}
    assert [*leaves_of("s", "struct<x:" * 3_000)]


# -- what was printed is read, or told --------------------------------------------------------------------------------

_TEXTS = st.text("ab ,()'=<>%.#1NULAD", max_size=8) | st.sampled_from([" AND ", "a) AND (b", "x OR y", "null", "..."])
_VALUES: dict[str, st.SearchStrategy[object]] = {
    "id": st.integers(-5, 2**62),
    "name": _TEXTS,
    "x": st.floats(allow_nan=False),
}
_COLUMNS = st.sampled_from([*_VALUES])
_OPS = st.sampled_from([Op.EQ, Op.LT, Op.GE, Op.NULL_SAFE_EQ])


@st.composite
def _leaves(draw: st.DrawFn) -> tuple[Predicate, str]:
    name = draw(_COLUMNS)
    ref, shown = ColumnRef((name,)), f"{name}#7{'L' if name == 'id' else ''}"
    match draw(st.integers(0, 3)):
        case 0:
            op, value = draw(_OPS), draw(_VALUES[name])
            return Comparison(ref, op, Literal(value)), f"({shown} {op.value} {_java(value)})"  # type: ignore[arg-type]
        case 1:
            return IsNull(ref), f"isnull({shown})"
        case 2 if name == "name":
            prefix = draw(_TEXTS)
            return StartsWith(ref, prefix), f"StartsWith({shown}, {prefix})"
        case 2 if name == "x":
            return IsNan(ref), f"isnan({shown})"
        case _:
            values = draw(st.lists(_VALUES[name], min_size=1, max_size=4))
            listed = ",".join(map(_java, values))
            return In(ref, tuple(Literal(value) for value in values)), f"{shown} IN ({listed})"  # type: ignore[arg-type]


def _java(value: object) -> str:
    """As the JVM prints it."""
    return str(value).replace("e", "E").replace("inf", "Infinity") if isinstance(value, float) else str(value)


_TREES = st.recursive(
    _leaves(),
    lambda inner: st.tuples(st.sampled_from(["AND", "OR", "NOT"]), inner, inner).map(
        lambda parts: (
            (Not(parts[1][0]), f"NOT {parts[1][1]}")
            if parts[0] == "NOT"
            else (
                (And if parts[0] == "AND" else Or)((parts[1][0], parts[2][0])),
                f"({parts[1][1]} {parts[0]} {parts[2][1]})",
            )
        )
    ),
    max_leaves=6,
)


@given(_TREES)
def test_what_is_read_is_what_was_printed(tree: tuple[Predicate, str]) -> None:
    truth, text = tree
    try:
        read = printed_predicate(text, PRINTED)
    except Unclear:
        return
    if not _has(read, Opaque) and not _commas_in_lists(truth):
        assert normalize(read) == normalize(truth), text


def _has(predicate: Predicate, kind: type[Opaque]) -> bool:
    return bool(predicate.fold(lambda leaf: isinstance(leaf, kind), lambda child: child, any, any))


def _commas_in_lists(predicate: Predicate) -> bool:
    """Nobody can tell such a list of texts."""
    return bool(
        predicate.fold(
            lambda leaf: isinstance(leaf, In) and any("," in str(value.value) for value in leaf.values),
            lambda child: child,
            any,
            any,
        )
    )


@given(st.text("ab#1L()[], =<>ANDORNTINSETLKE.%'\0", max_size=60))
def test_any_text_is_read_or_told(text: str) -> None:
    for part in printed_parts(text):
        for inner in conjuncts_of(part):
            with suppress(Unclear):
                printed_predicate(inner, PRINTED)
