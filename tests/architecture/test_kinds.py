"""No module outside the kinds knows one by its name: a new kind needs no change anywhere else."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pyarrow as pa

from metaindex.index import KINDS, kinds
from metaindex.index.kinds.keyed import UNKEYED
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.kinds.served import LINEAGE
from metaindex.index.store import rows as of_no_kind
from tests.architecture.sources import nodes, package

DONE = KINDS
ROWS = [rows for kind in DONE for rows in kind.stored()]
CLASSES = {kind.__name__ for kind in DONE} | {rows.__name__ for rows in (*ROWS, FACT_ROWS)}
SCHEMAS = {"COLUMN_STATS", "PARTITION_STATS"}
PARTITIONS = {rows.partition for rows in ROWS} - {"values"}  # a word of every day, too
PARTITIONS |= {FACT_ROWS.files.partition, FACT_ROWS.partitions.partition}
NAMES = {kind.name for kind in DONE} | PARTITIONS
ROOMS = {kind.__module__.split(".")[3] for kind in DONE}
FACES = {"metaindex/__init__.py", "metaindex/index/__init__.py"}
TEXT = "metaindex/formats/text/"  # its `Values` are those of a line
SAID = {
    ("metaindex/spark/optimizer/explaining.py", "covering"),  # a name of the public JSON
    ("metaindex/spark/optimizer/trial.py", "ColumnStats"),  # the index of the tiny table
}


def named(text: str) -> Iterator[str]:
    """The kinds that a module names, by class, partition or room."""
    for node in nodes(text):
        match node:
            case ast.Name(id=name) if name in CLASSES | SCHEMAS:
                yield name
            case ast.Constant(value=str(word)) if word in PARTITIONS:
                yield word
            case ast.Compare(left=ast.Attribute(attr="kind"), comparators=[ast.Constant(value="values")]):
                yield "values"
            case ast.ImportFrom(module=str(module), names=names):
                parts = module.split(".")
                if "kinds" in parts and ROOMS & {*parts, *(alias.name for alias in names)}:
                    yield module
            case _:
                pass


def test_nothing_outside_the_kinds_names_one() -> None:
    assert {"values", "bloom", "column_stats", "covering"} <= ROOMS
    assert {"Values", "Bloom", "ValueList", "HashRows", "ColumnStats", "ColumnStatsRows"} <= CLASSES
    assert {"Covering", "CoveringRange", "CoveringCurve", "CoveredRows"} <= CLASSES
    assert {"column_stats", "partition_stats", "bloom_filters", "covering"} <= PARTITIONS
    found = []
    for place, text in package().items():
        if not place.startswith(("metaindex/index/kinds/", TEXT)) and place not in FACES:
            found += [f"{place} names {name}" for name in named(text) if (place, name) not in SAID]
    assert found == []


def test_a_kind_stands_in_its_own_room_or_in_the_registry() -> None:
    found = []
    for place, text in package().items():
        _, inside, file = place.partition("metaindex/index/kinds/")
        if inside and file.partition("/")[0] not in ROOMS and not file.endswith("registry.py"):
            found += [f"{file} names {name}" for name in named(text) if name in CLASSES | PARTITIONS]
    assert found == []


def guessed(text: str) -> Iterator[int]:
    """The lines at which a `match` tells kinds apart and takes any other for one of them."""
    for node in nodes(text):
        if isinstance(node, ast.Match):
            patterns = [pattern for case in node.cases for pattern in ast.walk(case.pattern)]
            if any(_of_a_kind(pattern) for pattern in patterns):
                yield from (case.pattern.lineno for case in node.cases if _any(case.pattern))


def _of_a_kind(pattern: ast.AST) -> bool:
    match pattern:
        case ast.MatchClass(cls=ast.Name(id=name)):
            return name in CLASSES
        case ast.MatchValue(value=ast.Constant(value=str(text))):
            return text in NAMES
        case _:
            return False


def _any(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def test_no_match_guesses_a_kind() -> None:
    found = []
    for place, text in package().items():
        found += [f"{place}:{line}" for line in guessed(text) if not place.startswith(TEXT)]
    assert found == []


def test_a_guess_is_seen() -> None:
    text = (
        "match kind:\n    case Values():\n        pass\n    case _:\n        pass\n"
        "match key.kind:\n    case 'covering':\n        pass\n    case other:\n        pass\n"
        "match kind:\n    case Bloom():\n        pass\n    case Values():\n        pass\n"
        "match text:\n    case 'csv':\n        pass\n    case _:\n        pass\n"
    )
    assert list(guessed(text)) == [4, 9]


def columns_of_kinds() -> set[str]:
    """The names of all columns that some kind stores, and no other rows have."""
    names = {field.name for field in LINEAGE}
    for module in pkgutil.walk_packages(kinds.__path__, "metaindex.index.kinds."):
        names |= {name for schema in _schemas(importlib.import_module(module.name)) for name in schema.names}
    return names - {name for schema in _schemas(of_no_kind) for name in schema.names} - {*UNKEYED.names}


def _schemas(module: ModuleType) -> list[pa.Schema]:
    return [value for value in vars(module).values() if isinstance(value, pa.Schema)]


def test_the_store_names_no_column_of_a_kind() -> None:
    columns = columns_of_kinds()
    assert {"column_id", "lower_int", "entry", "key", "key_int", "unit", "bits", "_mi_ordinal"} <= columns
    found = []
    for place, text in package().items():
        if place.startswith("metaindex/index/store/"):
            constants = [node for node in nodes(text) if isinstance(node, ast.Constant)]
            found += [f"{place}:{node.lineno} names {node.value}" for node in constants if node.value in columns]
    assert found == []


def test_the_checks_see_a_name() -> None:
    text = (
        "from metaindex.index.kinds.bloom.reader import BloomReader\n"
        "from .column_stats.schemas import COLUMN_STATS\n"
        "from metaindex.index.kinds import covering\n"
        "def f(key):\n    return isinstance(key, Values) or key.kind == 'values' or key == 'value_lists'\n"
        "def g(part):\n    return COLUMN_STATS if part.kind == 'partition_stats' else isinstance(part, ColumnStats)\n"
        "def h(kind):\n    return isinstance(kind, Covering | CoveringRange)\n"
    )
    found = ["COLUMN_STATS", "ColumnStats", "Covering", "CoveringRange", "Values"]
    found += ["metaindex.index.kinds", "metaindex.index.kinds.bloom.reader"]
    assert sorted(named(text)) == [*found, "partition_stats", "value_lists", "values"]
