"""The rooms look one way, engines are imported where they are needed and nowhere else, and a look-up never loads
pandas."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
    "py4j": ("metaindex/spark/",),
    "delta": ("metaindex/spark/",),
    "pyiceberg": ("metaindex/expressions/engines/", "metaindex/formats/iceberg/", "metaindex/query/readers/"),
    "duckdb": ("metaindex/expressions/engines/", "metaindex/query/readers/"),
    "polars": ("metaindex/expressions/engines/", "metaindex/query/readers/"),
    "obstore": ("metaindex/storage/object_store.py",),
    "deltalake": (),
    "pandas": (),
    "opentelemetry": (),
}

ORDER: tuple[str, ...] = (
    "clients",
    "expressions",
    "local_paths",
    "formats",
    "errors",
    "config",
    "telemetry",
    "keys",
    "drawing",
    "spark",
    "text",
    "log",
    "store",
    "kinds",
    "pruning",
    "readers",
    "build",
    "actions",
    "verify",
    "views",
    "querylog",
    "advice",
    "answers",
    "joins",
    "workloads",
    "statements",
    "whatif",
    "selection",
    "report",
    "table",
    "running",
    "hooks",
    "lake",
    "doctor",
    "rule",
    "demo",
    "cli",
)
LEVEL = {name: level for level, name in enumerate(ORDER)}
TOP = frozenset({"__init__", "__main__"})  # the public face, which may import everything


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


@pytest.mark.parametrize("room", ["metaindex/expressions", "metaindex/formats", "metaindex"])
def test_relative_imports_stay_inside_their_room(room: str) -> None:
    assert sources(room)
    found = []
    for file in sources(room):
        depth = len(file.relative_to(ROOT / room).parts)
        found += [
            f"{file.relative_to(ROOT)}:{node.lineno}"
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.ImportFrom) and node.level > depth
        ]
    assert found == []


def test_inside_metaindex_imports_point_down() -> None:
    """One strict order: each folder, or module beside them, imports itself and what stands above it in `ORDER`."""
    found = []
    for file in sources("metaindex"):
        inside = file.relative_to(ROOT / "metaindex").with_suffix("").parts
        mine = LEVEL.get(inside[0])
        assert mine is not None or inside[0] in TOP, f"{inside[0]} has no level: give it one"
        if mine is not None:
            # A name that is no folder stands in the public face.
            above = {
                n for n in imported_parts(ast.parse(file.read_text()), inside) if LEVEL.get(n, LEVEL["table"]) > mine
            }
            found += [f"metaindex/{'/'.join(inside)}.py imports metaindex.{name}" for name in sorted(above)]
    assert found == []


def imported_parts(tree: ast.AST, inside: tuple[str, ...]) -> set[str]:
    """The first names below `metaindex` that a module imports, absolutely or relatively."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {
                part
                for alias in node.names
                for part in alias.name.split(".")[1:2]
                if alias.name.startswith("metaindex.")
            }
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            base = inside[: len(inside) - node.level]
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            found |= {base[0]} if base else set(names)
        elif node.module and node.module.split(".")[0] == "metaindex":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


def test_engines_are_imported_at_the_top_of_their_named_places_only() -> None:
    found = []
    for file in sources("metaindex"):
        place = file.relative_to(ROOT).as_posix()
        for name in imported(ast.parse(file.read_text()), top_only=True):
            engine = name.split(".")[0]
            if engine in ENGINES and not place.startswith(NAMED_PLACES[engine] or ("nowhere",)):
                found.append(f"{place} imports {engine}: do it inside the function that needs it")
    assert found == []


def loaded_after(code: str) -> set[str]:
    """The engines in a fresh process after the code ran."""
    report = "import sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()) & ENGINES


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
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_proving_files_out_loads_no_pandas() -> None:
    code = """
import numpy as np, pyarrow as pa
from metaindex.expressions import ArrowStatistics, ColumnBounds, ColumnRef, bind, col, may_match, must_match
from metaindex.core.vectors import from_bytes, from_vector
n = 1000
known = np.arange(n) % 7 > 0
numbers = from_vector(np.arange(n), known, pa.int64())
doubles = from_vector(np.arange(n) / 2, known, pa.float64())
texts = from_bytes([b"%04d" % i for i in range(n)])
rows = from_vector(np.full(n, 5), None, pa.int64())
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


def test_no_module_hides_a_name_of_the_public_face() -> None:
    """A module that is loaded later would stand where the function was."""
    names = {file.stem for file in (ROOT / "metaindex").glob("*.py")} | {
        file.parent.name for file in (ROOT / "metaindex").glob("*/__init__.py")
    }
    public = {"enable", "disable", "is_enabled", "explain", "open_table", "col", "workload"}
    assert names.isdisjoint(public | {"recommend"})
