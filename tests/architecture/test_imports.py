"""Engines are imported where they are needed and nowhere else, and a look-up never loads
pandas."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, package, parsed, statements
from tests.processes import python

ENGINES = frozenset(
    {
        "pyspark",
        "delta",
        "py4j",
        "pyiceberg",
        "duckdb",
        "polars",
        "deltalake",
        "sqlglot",
        "pandas",
        "obstore",
        "opentelemetry",
    }
)
NAMED_PLACES: dict[str, tuple[str, ...]] = {
    # Modules that only the path of their engine loads may import it at their top.
    "sqlglot": ("metaindex/expressions/engines/", "metaindex/cli/"),
    "pyspark": (
        "metaindex/expressions/engines/",
        "metaindex/spark/",
        "metaindex/index/build/",
        "metaindex/query/readers/",
        "metaindex/spark/optimizer/",
    ),
    "py4j": ("metaindex/core/jvm/", "metaindex/spark/"),
    "delta": ("metaindex/spark/",),
    "pyiceberg": ("metaindex/expressions/engines/", "metaindex/formats/iceberg/", "metaindex/query/readers/"),
    "duckdb": ("metaindex/expressions/engines/", "metaindex/query/readers/"),
    "polars": ("metaindex/expressions/engines/", "metaindex/query/readers/"),
    "obstore": ("metaindex/storage/object_store.py",),
    "deltalake": (),
    "pandas": (),
    "opentelemetry": (),
}


def sources(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imported(tree: ast.AST, *, top_only: bool) -> Iterator[str]:
    """Absolute names of imported modules; `top_only`: those that loading the module loads."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
        if top_only and (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or _type_checking(node)):
            continue
        todo += ast.iter_child_nodes(node)


def _type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def test_engines_are_imported_at_the_top_of_their_named_places_only() -> None:
    found = []
    for place, text in package().items():
        for name in imported(parsed(text), top_only=True):
            engine = name.split(".")[0]
            if engine in ENGINES and not place.startswith(NAMED_PLACES[engine] or ("nowhere",)):
                found.append(f"{place} imports {engine}: do it inside the function that needs it")
    assert found == []


def loaded_after(code: str) -> set[str]:
    """The engines in a fresh process after the code ran."""
    report = "import sys; print(*{name.split('.')[0] for name in sys.modules})"
    return set(python("-c", f"{code}\n{report}", cwd=ROOT).splitlines()[-1].split()) & ENGINES


@pytest.mark.parametrize(
    "room", ["metaindex.expressions", "metaindex.expressions.engines", "metaindex.formats", "metaindex"]
)
def test_importing_a_room_loads_no_engine(room: str) -> None:
    assert loaded_after(f"import {room}") == set()


def test_importing_metaindex_loads_none_of_what_makes_a_start_slow() -> None:
    """The wrappers of all Arrow functions, the file systems of Arrow and `ssl` take longer than a look-up in a million
    files (docs/decisions/0008)."""
    slow = ["pyarrow.compute", "pyarrow.parquet", "pyarrow.fs", "ssl", "zoneinfo", "secrets"]
    code = f"import sys, metaindex; print([name for name in {slow} if name in sys.modules])"
    assert python("-c", code, cwd=ROOT).strip() == "[]"


def test_proving_files_out_loads_no_pandas() -> None:
    code = """
import numpy as np, pyarrow as pa
from metaindex.expressions import ArrowStatistics, ColumnBounds, ColumnRef, bind, col, may_match
from metaindex.expressions.skipping import must_match
from metaindex.core.vectors import Vector
n = 1000
known = np.arange(n) % 7 > 0
numbers = Vector.arrow(np.arange(n), known, pa.int64())
doubles = Vector.arrow(np.arange(n) / 2, known, pa.float64())
texts = Vector.arrow([b"%04d" % i for i in range(n)])
rows = Vector.arrow(np.full(n, 5), None, pa.int64())
columns = {
    ColumnRef((name,)): ColumnBounds(t, values, values, rows, rows, rows)
    for name, t, values in (("i", pa.int32(), numbers), ("d", pa.float64(), doubles), ("s", pa.string(), texts))
}
p = (col("i") > 3) & (col("d") <= 400.5) | col("s").isin([str(i) for i in range(40)]) | ~col("s").startswith("0")
p = p | col("i").isin(list(range(50))) | ~col("d").isin([1.5, 2.5]) | (col("s") == "0001")
p = bind(p, {("i",): pa.int32(), ("d",): pa.float64(), ("s",): pa.string()})
statistics = ArrowStatistics(n, columns)
assert len(may_match(p, statistics)) == len(must_match(p, statistics)) == n
"""
    assert loaded_after(code) == set()


def test_no_room_hides_a_name_of_the_public_face() -> None:
    """A module that is loaded later would stand where the function was."""
    import metaindex as mi

    rooms = {path.stem for path in (ROOT / "metaindex").iterdir()}
    assert rooms.isdisjoint(mi.__all__)


@pytest.mark.slow
def test_every_name_that_is_imported_anywhere_is_there() -> None:
    """Also inside functions, of tests that only `make test-all` runs."""
    places = {
        (node.module, alias.name): f"{file.relative_to(ROOT)}:{node.lineno}"
        for room in ("tests", "benchmarks", "metaindex")
        for file in sources(room)
        for node in statements(file.read_text())
        if isinstance(node, ast.ImportFrom) and not node.level and node.module
        for alias in node.names
        if node.module.split(".")[0] in ("metaindex", "tests", "benchmarks")
    }
    there = [name for name in places if hasattr(importlib.import_module(name[0]), name[1]) or find_spec(".".join(name))]
    assert [f"{places[name]}: {name}" for name in places.keys() - set(there)] == []
