"""Many predicates asked at once are answered as each alone; what is remembered for one query changes nothing for
another."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import metaindex as mi
from metaindex.advisor.hypothetical.baseline import Baseline
from metaindex.formats import At
from metaindex.index import Kind, Sandbox
from metaindex.table import handle_of
from tests.advisor.hypothetical.test_what_if import CANDIDATES, filled, skewed

PREDICATES = [
    "id = 77",
    "id in (3, 200) and cat = 1",
    "name = 'n041' and cat = 1",
    "name = 'n042' and cat in (0, 2)",
    "(name = 'n001' and cat = 2) or (name = 'n011' and cat = 3)",
    "name is null or id between 100 and 130",
    "not (name = 'n041' and cat = 1)",
    "cat = 9",
    "true",
    "id = 77",
]


@pytest.mark.slow(but="delta")
@pytest.mark.parametrize("kinds", sorted(CANDIDATES))
@pytest.mark.parametrize("format_", ["delta", "parquet"])
def test_predicates_together_are_answered_as_each_alone(tmp_path: Path, format_: str, kinds: str) -> None:
    table = filled(tmp_path, format_)
    table.create_index("ids", mi.Values("id"), builder="local")
    table.create_index("pairs", mi.Values(("cat", "name")), builder="local")
    handle = handle_of(table)
    snapshot = handle.snapshot(At())
    opened, _ = handle.open_indexes(None)
    trees = [snapshot.schema.predicate(text, "UTC") for text in PREDICATES]
    with tempfile.TemporaryDirectory() as folder:
        bench = Sandbox(handle.ref, snapshot, folder)
        trial = bench.tried("candidate", list(CANDIDATES[kinds]), np.array([1, 3, 4]))
        for indexes in ((), tuple(opened), (trial.index,), (*opened, trial.index)):
            standing = Baseline(snapshot, indexes)
            alone = [standing.kept(standing.answer(tree)).tolist() for tree in trees]
            assert [mask.tolist() for mask in standing.kept_each(trees)] == alone
    assert Baseline(snapshot).kept_each([]) == []


def test_an_index_that_cannot_be_read_is_left_out_of_each(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta")
    table.create_index("ids", mi.Values("id"), builder="local")
    handle = handle_of(table)
    snapshot = handle.snapshot(At())
    opened, _ = handle.open_indexes(None)
    for part in (tmp_path / "lake" / "_metaindex").rglob("*.parquet"):
        part.write_bytes(b"no longer")
    trees = [snapshot.schema.predicate(text, "UTC") for text in ("id = 77", "cat = 9")]
    masks = Baseline(snapshot, tuple(opened)).kept_each(trees)
    assert [int(mask.sum()) for mask in masks] == [int(mask.sum()) for mask in Baseline(snapshot).kept_each(trees)]


SEVERAL: Sequence[Kind] = [mi.Values("id", "heavy"), mi.Bloom("some"), mi.CoveringRange("near", ["id"])]


@pytest.mark.slow
def test_a_query_is_told_the_same_beside_others(tmp_path: Path) -> None:
    table = skewed(tmp_path, 4)
    queries = ["id = 4001", "id = 100001", "heavy = 1", "heavy = 7", "near < 20", "near < 20 and id = 4001"]
    together = table.what_if(queries, *SEVERAL, sample=0.15)
    for query in queries:
        alone = table.what_if(query, *SEVERAL, sample=0.15)
        assert json.dumps(alone[query].to_json()) == json.dumps(together[query].to_json())
