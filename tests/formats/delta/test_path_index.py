"""A few paths among many: what sixteen bits point at is what the paths say."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.formats.delta import path_index as module
from metaindex.formats.delta.path_index import find, path_index

MANY = [f"day={n % 7}/part-00000-{n * 2654435761 % 2**32:08x}-c000.snappy.parquet" for n in range(6000)]
PATHS = pa.chunked_array([MANY[:2500], MANY[2500:]])
INDEX = path_index(PATHS)


@given(st.lists(st.sampled_from(MANY) | st.text(max_size=3) | st.text(min_size=30, max_size=40), max_size=20))
def test_paths_are_found_where_they_stand(wanted: list[str]) -> None:
    assert INDEX is not None
    assert find(PATHS, INDEX, wanted).tolist() == [n for n, path in enumerate(MANY) if path in set(wanted)]


def test_few_paths_and_short_ones_have_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    assert path_index(PATHS.slice(0, 10)) is None
    monkeypatch.setattr(module, "_FEW", 1)
    assert path_index(pa.chunked_array([["short", *MANY]])) is None
    assert find(pa.chunked_array([["short", "other"]]), None, ["short"]).tolist() == [0]
    assert find(pa.chunked_array([["short", "other"]]), None, []).tolist() == []
