"""No module outside the kinds knows one by its name: a new kind needs no change anywhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from metaindex.kinds.described import FactKind
from metaindex.kinds.kind import KeyKind
from metaindex.kinds.registry import FACT_ROWS, KINDS

ROOT = Path(__file__).parents[2]
DONE = [kind for kind in KINDS if issubclass(kind, KeyKind | FactKind)]  # all but covering indexes
ROWS = [rows for kind in DONE for rows in kind.stored()]
CLASSES = {kind.__name__ for kind in DONE} | {rows.__name__ for rows in (*ROWS, FACT_ROWS)}
SCHEMAS = {"COLUMN_STATS", "PARTITION_STATS"}
PARTITIONS = {rows.partition for rows in ROWS} - {"values"}  # a word of every day, too
PARTITIONS |= {FACT_ROWS.files.partition, FACT_ROWS.partitions.partition}
ROOMS = {"values", "bloom", "column_stats"}
FACE = "metaindex/__init__.py"
SHARED = "metaindex/rule/range_parts.py"  # ranges of covering parts are written in the order of values
TEXT = "metaindex/text/"  # its `Values` are those of a line


def named(file: Path) -> Iterator[str]:
    """The kinds that a module names, by class, partition or room."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Name(id=name) if name in CLASSES | SCHEMAS:
                yield name
            case ast.Constant(value=str(text)) if text in PARTITIONS:
                yield text
            case ast.Compare(left=ast.Attribute(attr="kind"), comparators=[ast.Constant(value="values")]):
                yield "values"
            case ast.ImportFrom(module=str(module), names=names):
                parts = module.split(".")
                if "kinds" in parts and ROOMS & {*parts, *(alias.name for alias in names)}:
                    yield module
            case _:
                pass


def test_nothing_outside_the_kinds_names_one() -> None:
    assert {"Values", "Bloom", "ValueList", "HashRows", "ColumnStats", "ColumnStatsRows"} <= CLASSES
    assert {"column_stats", "partition_stats", "bloom_filters"} <= PARTITIONS
    found = []
    for file in sorted((ROOT / "metaindex").rglob("*.py")):
        place = file.relative_to(ROOT).as_posix()
        if not place.startswith(("metaindex/kinds/", TEXT)) and place not in (FACE, SHARED):
            found += [f"{place} names {name}" for name in named(file)]
    assert found == []


def test_a_kind_stands_in_its_own_room_or_in_the_registry() -> None:
    found = []
    for file in sorted((ROOT / "metaindex/kinds").rglob("*.py")):
        inside = file.relative_to(ROOT / "metaindex/kinds")
        if inside.parts[0] not in ROOMS and inside.name != "registry.py":
            found += [f"{inside} names {name}" for name in named(file) if name in CLASSES | PARTITIONS]
    assert found == []


def test_the_checks_see_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "from metaindex.kinds.bloom.reader import BloomReader\n"
        "from .column_stats.schemas import COLUMN_STATS\n"
        "def f(key):\n    return isinstance(key, Values) or key.kind == 'values' or key == 'value_lists'\n"
        "def g(part):\n    return COLUMN_STATS if part.kind == 'partition_stats' else isinstance(part, ColumnStats)\n"
    )
    found = ["COLUMN_STATS", "ColumnStats", "Values", "metaindex.kinds.bloom.reader"]
    assert sorted(named(tmp_path / "a.py")) == [*found, "partition_stats", "value_lists", "values"]
