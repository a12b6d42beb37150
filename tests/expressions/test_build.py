"""Predicates built in Python: what operators make, and what is refused before it can mean something else."""

import pytest

from metaindex.core import ExpressionError, LiteralTypeError
from metaindex.expressions import And, ColumnRef, Comparison, In, IsNan, IsNull, Literal, Not, Op, Or, StartsWith, col

A = ColumnRef(("a",))


@pytest.mark.parametrize(
    ("built", "op"),
    [
        (col("a") == 5, Op.EQ),
        (col("a") != 5, Op.NE),
        (col("a") < 5, Op.LT),
        (col("a") <= 5, Op.LE),
        (col("a") > 5, Op.GT),
        (col("a") >= 5, Op.GE),
        (col("a").eq_null_safe(5), Op.NULL_SAFE_EQ),
    ],
)
def test_operators_make_comparisons(built: object, op: Op) -> None:
    assert built == Comparison(A, op, Literal(5))


def test_methods_make_the_other_leaves() -> None:
    assert col("a").isin([1, None]) == In(A, (Literal(1), Literal(None)))
    assert col("a").is_null() == IsNull(A)
    assert col("a").is_not_null() == Not(IsNull(A))
    assert col("a").is_nan() == IsNan(A)
    assert col("a").startswith("p") == StartsWith(A, "p")
    assert col("a").between(1, 2) == And((Comparison(A, Op.GE, Literal(1)), Comparison(A, Op.LE, Literal(2))))


def test_and_or_flatten_and_not_wraps() -> None:
    x, y, z = col("a") > 1, col("b") > 2, col("c") > 3
    assert x & y & z == And((x, y, z))
    assert x & (y & z) == And((x, y, z))
    assert x | y | z == Or((x, y, z))
    assert x & (y | z) == And((x, Or((y, z))))
    assert ~x == Not(x)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("a.`b.c`", ("a", "b.c")),
        ("`a``b`", ("a`b",)),
        ("``", ("",)),
        ("with blank", ("with blank",)),
    ],
)
def test_paths_are_dotted_and_backticks_quote(path: str, parts: tuple[str, ...]) -> None:
    assert col(path).ref == ColumnRef(parts)
    assert col(col(path).ref.name).ref == ColumnRef(parts)  # names read back


def test_several_arguments_are_the_parts_as_they_are() -> None:
    assert col("a.b", "c").ref == ColumnRef(("a.b", "c"))


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "`a", "a`b", "`a`b"])
def test_bad_paths_are_refused(path: str) -> None:
    with pytest.raises(ExpressionError, match="backticks"):
        col(path)


def test_and_or_not_and_chains_of_python_are_refused() -> None:
    with pytest.raises(TypeError, match=r"\(a > 1\) & \(b < 2\)"):
        _ = (col("a") > 1) and (col("b") < 2)
    with pytest.raises(TypeError, match="&"):
        _ = not (col("a") > 1)
    with pytest.raises(TypeError, match="chained"):
        _ = 1 < col("a") < 5
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(col("a"))


def test_forgotten_parentheses_are_refused() -> None:
    with pytest.raises(TypeError):
        _ = col("a") > 1 & col("b")  # type: ignore[operator]
    with pytest.raises(TypeError, match="parentheses"):
        _ = (col("a") > 1) & True  # type: ignore[operator]


def test_wrong_operands_are_refused_with_the_cure() -> None:
    with pytest.raises(LiteralTypeError, match="constant"):
        col("a") == col("b")  # noqa: B015
    with pytest.raises(ExpressionError, match=r"isin\(\['abc'\]\)"):
        col("a").isin("abc")
    with pytest.raises(ExpressionError, match="prefix is text"):
        col("a").startswith(b"a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unhashable"):
        {col("a"): 1}
