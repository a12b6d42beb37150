"""Which files, and which of their columns, are read: within the limit, and of as many files as that allows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.advisor.clustering.sample import ReadLimit
from metaindex.advisor.hypothetical.candidates import named
from metaindex.advisor.hypothetical.sampling import needs_of, sampled
from metaindex.formats import At
from metaindex.query import FooterGroups
from metaindex.table import handle_of
from tests.tables import settle

FILES = 40


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> mi.Table:
    """A narrow column beside a wide one, files of two sizes."""
    root = tmp_path_factory.mktemp("lake")
    rng = np.random.default_rng(3)
    for number in range(FILES):
        rows = 300 if number % 2 else 900
        noise = [rng.bytes(60).hex() for _ in range(rows)]
        columns = {"id": rng.integers(0, 5_000, rows), "part": rng.integers(0, 9, rows), "x": rng.random(rows)}
        pq.write_table(pa.table({**columns, "note": noise}), root / f"{number:02d}.parquet")
    settle(root)
    return mi.open_table(str(root))


CANDIDATES = {
    "key": [mi.Values("id")],
    "wide": [mi.Values("note")],
    "copy": [mi.Values("id"), mi.CoveringRange(["id"], ["note"])],
    "floats": [mi.ColumnStats(), mi.Bloom("part")],
    "statistics": [mi.ColumnStats("id")],
}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(CANDIDATES)), st.floats(0.001, 0.6), st.integers(0, 2**FILES - 1))
@pytest.mark.slow
def test_no_more_is_read_than_the_limit(table: mi.Table, name: str, share: float, wanted: int) -> None:
    handle = handle_of(table)
    snapshot = handle.snapshot(At())
    candidates = named(CANDIDATES[name])
    trees = [snapshot.schema.predicate("id = 7 and x > 3", "UTC")]
    needs = needs_of(trees, candidates, [], snapshot.schema)
    footers = FooterGroups(handle.ref.storage)
    limit = int(share * snapshot.files.size_bytes)
    mask = np.array([bool(wanted >> at & 1) for at in range(FILES)])
    found = sampled(snapshot, mask, ReadLimit(share), needs, footers)
    assert set(found.wide) <= set(found.rows) <= set(range(FILES))
    taken = 0
    assert needs.narrow is not None
    assert needs.wide is not None
    for row in found.rows.tolist():
        chunks = footers.chunk_bytes(snapshot.files.paths[row].as_py())
        columns = needs.wide if row in found.wide else needs.narrow
        taken += sum(chunks[".".join(column)] for column in columns)
    assert taken == found.size_bytes <= limit


def test_a_narrow_column_is_read_of_many_files(table: mi.Table) -> None:
    by_key, by_text = (table.what_if("id = 7", CANDIDATES[name], sample=0.05).sampled for name in ("key", "wide"))
    assert by_text.files <= 6
    assert by_key.files == FILES
    assert 0 < by_key.size_bytes <= by_key.limit_bytes
    exact = table.what_if("id = 7", mi.Values("id"), sample=0.05).queries[0].effects[0].reads
    assert exact.files.exact  # all files of it were read


def test_values_of_a_list_are_weighed_one_by_one(table: mi.Table) -> None:
    """One that is in no file, and one that is in all, as only each for itself tells."""
    found = table.what_if(["part in (3, 400)", "part = 3", "part in (400, 500)"], mi.ValueList("part"), sample=0.0005)
    both, alone, neither = (query.effects[0].reads.files for query in found.queries)
    assert 0 < found.sampled.files < FILES
    assert both.low <= FILES <= both.high
    assert both.expected == pytest.approx(alone.expected, rel=0.2)
    assert neither.expected < 4


def test_bounds_of_floats_are_told_by_footers_where_the_sample_has_no_nan(tmp_path: Path) -> None:
    for number in range(FILES):
        values = [float(number), number + 0.5, None] if number % 9 or not number else [float(number), float("nan"), 1.0]
        pq.write_table(pa.table({"x": values * 40}), tmp_path / f"{number:02d}.parquet")
    settle(tmp_path)
    table = mi.open_table(str(tmp_path))
    found = table.what_if(["x < 3", "x > 36"], mi.ColumnStats("x"), sample=0.2)
    below, above = (query.effects[0].reads.files for query in found.queries)
    truth = [sum(1 for n in range(FILES) if n < 3 or (n % 9 == 0 and n)), 3 + sum(1 for n in (9, 18, 27, 36))]
    assert below.low <= truth[0] <= below.high
    assert above.low <= truth[1] <= above.high
