"""What an opened table keeps of its indexes is bounded by what is in use, however often they are refreshed."""

from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.index.store.cache import _OBJECTS, StoreCache
from metaindex.table import handle_of
from tests.tables import FORMATS

REFRESHES = 12


def held(cache: StoreCache) -> tuple[int, int, int]:
    return len(cache.manifests), len(cache.footers), len(cache.derived)


@pytest.mark.slow
def test_many_refreshes_leave_no_more_behind_than_one(tmp_path: Path) -> None:
    lake = FORMATS["delta"](tmp_path)
    lake.append(pa.table({"id": pa.array(range(10), pa.int64()), "s": [f"n{i}" for i in range(10)]}))
    lake.append(pa.table({"id": pa.array(range(10, 20), pa.int64()), "s": [f"n{i}" for i in range(10)]}))
    table = lake.open()
    table.create_index("a", mi.ColumnStats(), mi.Values("id"), builder="local")
    table.create_index("b", mi.Bloom("s"), mi.ValueList("id"), builder="local")
    sizes = []
    for _ in range(REFRESHES):
        table.refresh_index("a", mode="full", builder="local")
        table.refresh_index("b", mode="full", builder="local")
        for predicate in ("id = 3", "s = 'n4'", "id > 12 AND s < 'n7'"):
            assert table.scan(predicate).to_arrow().num_rows
        sizes.append(held(handle_of(table).indexes().cache))
    assert sizes[0][0] == 2
    assert max(sizes[1:]) <= sizes[0]
    assert sizes[-1] == sizes[0]


def test_of_version_objects_the_last_ones_stay() -> None:
    cache = StoreCache()
    for number in range(3 * _OBJECTS):
        cache.derived[(f"_versions/r{number}/segment.json", "segment")] = number
    cache.derived[("live", "files")] = cache.derived[("dead", "files")] = 1
    cache.keep_only({"live"})
    assert ("live", "files") in cache.derived
    assert ("dead", "files") not in cache.derived
    assert [v for (path, _), v in cache.derived.items() if "/" in path] == list(range(2 * _OBJECTS, 3 * _OBJECTS))
