"""One door for the conditions of all engines, which imports none of them by itself."""

import subprocess
import sys

import duckdb
import polars as pl
import pyarrow.compute as pc
import pytest
from pyiceberg.expressions import EqualTo

from metaindex.core import ExpressionError
from metaindex.expressions import ColumnRef, Comparison, Constant, Literal, Op, col
from metaindex.expressions.engines import to_predicate

FIVE = Comparison(ColumnRef(("a",)), Op.EQ, Literal(5))


@pytest.mark.parametrize(
    "condition",
    [
        FIVE,
        col("a") == 5,
        "a = 5",
        pc.field("a") == 5,
        pl.col("a") == 5,
        EqualTo("a", 5),
        duckdb.ColumnExpression("a") == duckdb.ConstantExpression(5),
    ],
    ids=lambda condition: type(condition).__module__,
)
def test_every_engine_says_the_same(condition: object) -> None:
    assert to_predicate(condition) == FIVE


def test_true_asks_for_every_row() -> None:
    assert to_predicate(True) == Constant(True)


@pytest.mark.parametrize("condition", [None, 5, b"a = 5", ["a = 5"], object()])
def test_anything_else_is_refused_with_what_is_taken(condition: object) -> None:
    with pytest.raises(ExpressionError, match="SQL text"):
        to_predicate(condition)


@pytest.mark.slow
def test_no_engine_is_imported_before_it_is_needed() -> None:
    check = (
        "import sys, metaindex.expressions.engines as e, pyarrow.compute as pc; e.to_predicate(pc.field('a') == 5);"
        "print([n for n in ('pyspark', 'polars', 'duckdb', 'pyiceberg', 'sqlglot') if n in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
