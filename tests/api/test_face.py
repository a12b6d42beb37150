"""The public face: a class that delegates, above its reading half, and no name on it that is not for users."""

import builtins
import inspect
import re
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

import metaindex as mi
from metaindex.table import handle_of
from tests.tables import delta_lake


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
