"""Predicates of many leaves: asked together they keep, drop and call certain what the walk does leaf by leaf; whatever
knows the columns, in runs of many parts and row groups, partitioned or not, stale or not."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.expressions import And, ColumnRef, Comparison, Literal, Op, Or, Predicate, col
from metaindex.query.pruning.result import PruneResult
from tests.tables import settle

FILES = 30
_PROFILE = settings.default.max_examples if settings.default is not None else 100
INDEXES = {
    "stats": [mi.ColumnStats()],
    "keys": [mi.Values("k"), mi.Bloom("s"), mi.ValueList("p")],
    "both": [mi.ColumnStats(), mi.Values("k", by="value"), mi.Bloom("s"), mi.Values("k", "s")],
}


def values(number: int) -> pa.Table:
    """Of file `number`: a key, a text, a double with NaN, each with NULLs."""
    k = [None if i == 3 else number * 5 + i for i in range(9)]
    s = [None if i == 4 else f"v{number * 5 + i}" for i in range(9)]
    d = [float("nan") if (number + i) % 4 == 0 else None if i == 5 else number + i / 8 for i in range(9)]
    return pa.table({"k": pa.array(k, pa.int64()), "s": pa.array(s), "d": pa.array(d, pa.float64())})


@pytest.fixture(scope="module", params=["stats", "keys", "both", "stats keys"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> mi.Table:
    """A lake in runs of small parts and row groups; files were added since the last refresh."""
    root = tmp_path_factory.mktemp("many") / "lake"

    def write(numbers: Sequence[int]) -> None:
        for number in numbers:
            place = root / f"p={number % 3}"
            place.mkdir(parents=True, exist_ok=True)
            pq.write_table(values(number), place / f"f{number:02d}.parquet", row_group_size=4)
        settle(root)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metaindex.index.store.writer.PART_ROWS", 16)
        patch.setattr("metaindex.index.store.writer.PART_ROWS", 16)
        patch.setattr("metaindex.index.store.writer.ROW_GROUP_ROWS", 4)
        write(range(FILES - 10))
        lake = mi.open_table(str(root))
        for name in request.param.split():
            lake.create_index(name, *INDEXES[name], builder="local")
        write(range(FILES - 10, FILES - 4))
        for name in request.param.split():
            lake.refresh_index(name, builder="local")
        write(range(FILES - 4, FILES))
    return mi.open_table(str(root))


NUMBERS = st.integers(-1, FILES * 5 + 10)
LEAVES: list[st.SearchStrategy[Predicate]] = [
    st.builds(Comparison, st.just(ColumnRef(("k",))), st.sampled_from(Op), NUMBERS.map(Literal)),
    st.builds(Comparison, st.just(ColumnRef(("s",))), st.sampled_from(Op), NUMBERS.map(lambda n: Literal(f"v{n}"))),
    st.builds(
        Comparison,
        st.just(ColumnRef(("d",))),
        st.sampled_from(Op),
        st.sampled_from([float("nan"), 3.5, 29.25, -1.0]).map(Literal),
    ),
    st.integers(0, 3).map(lambda n: col("p") == n),
    NUMBERS.map(lambda n: col("k").isin([n, n + 1, None])),
    st.just(col("d").is_null()),
    st.just(col("s").startswith("v1")),
]


def terms() -> st.SearchStrategy[Predicate]:
    """Alike, as programs write them, or each of its own shape."""
    leaf = st.one_of(LEAVES)
    alike = st.lists(st.sampled_from(LEAVES), min_size=2, max_size=3).map(lambda some: st.tuples(*some).map(And))
    every = st.one_of(
        alike.flatmap(lambda term: st.lists(term, min_size=5, max_size=20)),
        st.lists(st.lists(leaf, min_size=1, max_size=3).map(lambda some: And(tuple(some))), min_size=9, max_size=15),
    ).map(lambda some: Or(tuple(some)))
    return st.one_of(every, every.map(lambda p: ~p))


def told(result: PruneResult) -> object:
    certain = sorted(result.certain.paths.to_pylist())
    drops = [(one.name, one.used, one.columns, one.dropped_files, one.dropped_bytes) for one in result.indexes]
    return sorted(result.paths), certain, drops


@settings(
    max_examples={10: 3, 20: 7, 60: 20}.get(_PROFILE, _PROFILE // 10),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(p=terms())
@pytest.mark.parametrize("stale", [False, True])
@pytest.mark.slow
def test_they_are_answered_as_leaf_by_leaf(table: mi.Table, stale: bool, p: Predicate) -> None:
    version = None if stale else table.versions()[-2]
    found = told(table.prune(p, version))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metaindex.expressions.predicate_program._FEW", 1 << 30)
        assert told(table.reopened().prune(p, version)) == found  # a handle that remembers nothing
