"""Columns whose names hold dots, or look like ids, are told from fields of structs: an index of the one says nothing of
the other."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.formats import Field, Leaf

FILES = 4
KINDS: list[Any] = [
    mi.ColumnStats(),
    mi.Values("a.b"),
    mi.Values("`a.b`"),
    mi.Bloom("a.b", "`a.b`"),
    mi.ValueList("`a.b`"),
    mi.Values("`id:1`", "s.`id:1`"),
]


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_a_column_called_as_a_field_of_a_struct(tmp_path: Path, kind: Any) -> None:
    table = lake(tmp_path)
    table.create_index("some", kind, builder="local")
    dropped = 0
    for name, first in [("a.b", 0), ("`a.b`", 100), ("s.`id:1`", 200), ("`id:1`", 300)]:
        for number in range(FILES):
            kept = {Path(path).name for path in table.prune(f"{name} = {first + number}", indexes=["some"]).paths}
            assert f"{number}.parquet" in kept, (name, number)
            dropped += FILES - len(kept)
    assert dropped


def lake(folder: Path) -> mi.Table:
    for number in range(FILES):
        columns = {
            "a": [{"b": number}],
            "a.b": [100 + number],
            "s": [{"id:1": 200 + number}],
            "id:1": [300 + number],
        }
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table(columns), path)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return mi.open_table(str(folder))


@pytest.mark.parametrize(
    ("names", "stable"),
    [
        (("a", "b"), "a.b"),
        (("a.b",), "`a.b`"),
        (("a", "b.c"), "a.`b.c`"),
        (("a`.b",), "`a``.b`"),
        (("with blank",), "with blank"),
        (("id:1",), "`id:1`"),
        (("s", "id:1"), "s.`id:1`"),
    ],
)
def test_stable_names_of_columns_without_ids(names: tuple[str, ...], stable: str) -> None:
    assert Leaf(tuple(Field(name, pa.int64()) for name in names)).stable == stable
    assert Leaf(tuple(Field(name, pa.int64(), stable=name) for name in names)).stable == stable


def test_a_column_with_an_id_is_called_by_it() -> None:
    assert Leaf((Field("a.b", pa.int64(), stable="id:7"),)).stable == "id:7"


def test_a_search_tells_them_apart(tmp_path: Path) -> None:
    table = lake(tmp_path)
    table.create_index("both", mi.Values("a.b", "`a.b`", "`id:1`"), builder="local")
    for text, column in [("2", "a.b"), ("102", "`a.b`")]:
        found = table.search(text, exact=True)
        assert found.table.column("column").to_pylist() == [column]
        assert set(found.asked) == {"a.b", "`a.b`", "id:1"}
