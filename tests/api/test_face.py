"""The public face: a class that delegates, above its reading half, and no name on it that is not for users."""

import builtins
import inspect
import re
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

import metaindex as mi
from metaindex.query import TableReader
from metaindex.table import handle_of
from tests.tables import delta_lake

NAMES = [
    "aggregate",
    "cancel_index",
    "clean_index",
    "clean_query_log",
    "clustering",
    "config",
    "count",
    "create_index",
    "delete_index",  # the name before 0.1.0
    "diff",
    "disable_index",
    "drop_index",
    "enable_index",
    "erase_index",
    "explain",
    "format",
    "history",
    "indexes",
    "locate",
    "namespaces",
    "optimize_index",
    "path",
    "prune",
    "query_log",
    "recommend",
    "refresh_index",
    "reopened",
    "repair_index",
    "report",
    "restore_index",
    "savings",
    "scan",
    "schema",
    "search",
    "snapshot",
    "statistics",
    "touched",
    "vacuum_index",
    "verify_index",
    "versions",
    "what_if",
]


def test_a_table_has_the_names_that_users_need_and_no_others() -> None:
    assert sorted(name for name in dir(mi.Table) if not name.startswith("_")) == NAMES
    assert mi.Table.__bases__ == (TableReader,)
    assert TableReader.__bases__ == (object,)


def test_each_says_what_it_does() -> None:
    told = {name: inspect.getdoc(getattr(mi.Table, name)) for name in NAMES if name not in ("path", "config")}
    assert [name for name, doc in told.items() if not doc] == []


def test_the_schema_is_that_of_now(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"a": [1]}))
    table = mi.open_table(tmp_path)
    assert table.schema == pa.schema([("a", pa.int64())])
    write_deltalake(str(tmp_path), pa.table({"a": [1], "b": ["x"]}), mode="append", schema_mode="merge")
    assert table.schema.names == ["a", "b"]


def test_a_handle_of_its_own_knows_nothing_of_the_other(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    lake.append(pa.table({"a": [1]}))
    table = mi.open_table(lake.path)
    other = table.reopened(mi.Config(use_indexes=False))
    assert (table.config.use_indexes, other.config.use_indexes) == (True, False)
    assert handle_of(table) is not handle_of(other)
    assert handle_of(table).indexes().cache is not handle_of(other).indexes().cache
    assert repr(other) == f"<delta table at {table.path}>"


def test_every_error_that_the_face_names_can_be_caught_by_its_name() -> None:
    named = set()
    for name in mi.__all__:
        thing = getattr(mi, name)
        things = [thing, *(member for key, member in inspect.getmembers(thing) if not key.startswith("_"))]
        named |= {word for one in things for word in re.findall(r"\b[A-Z]\w+Error\b", inspect.getdoc(one) or "")}
    assert len(named) > 8
    assert {word for word in named if not hasattr(mi, word) and not hasattr(builtins, word)} == set()
