"""The first promise for the kinds that key values, each alone and all at once: no dropped file and no row group that is
left out holds a matching row, at any version."""

import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import ScanError
from metaindex.index import Kind
from tests import strategies
from tests.evaluate import matches
from tests.query.pruning.test_no_false_skip import arrow_schema
from tests.tables import settle

KINDS = ["bloom", "all", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("hash", "value", "list"))]


def kinds(name: str, schema: strategies.Schema) -> list[Kind]:
    """Keys over every column alone, and over the first two together."""
    columns = [".".join(column.parts) for column in schema]
    keys = [*columns, *([tuple(columns[:2])] if len(columns) > 1 else [])]
    found: dict[str, Kind] = {
        "hash": mi.Values(*keys),
        "value": mi.Values(*keys, by="value"),
        "bloom": mi.Bloom(*keys, fpp=0.3),
        "list": mi.ValueList(*keys, limit=2),
    }
    return [mi.ColumnStats(), *found.values()] if name == "all" else [found[name]]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=3 if os.environ.get("METAINDEX_FAST") else 15)
@given(data=st.data())
def test_dropped_files_and_row_groups_hold_no_matching_row(kind: str, data: st.DataObject) -> None:
    schema = data.draw(strategies.schemas())
    files = data.draw(st.lists(st.lists(strategies.rows(schema), max_size=5), min_size=1, max_size=5))
    groups = data.draw(st.sampled_from([1, 2, 1000]))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "lake"
        root.mkdir()
        number = 0
        expected: list[tuple[str, int, strategies.Row]] = []
        for place, rows in enumerate(files):
            path = root / f"{place}.parquet"
            numbered = [{"row": number + i, **row} for i, row in enumerate(rows)]
            number += len(rows)
            pq.write_table(pa.Table.from_pylist(numbered, arrow_schema(schema)), path, row_group_size=groups)
            expected += [(str(path), row["row"], row) for row in numbered]
        settle(root)
        table = mi.open_table(str(root))
        table.create_index("keys", *kinds(kind, schema), builder="local")
        for predicate in data.draw(st.lists(strategies.predicates(schema), min_size=4, max_size=6)):
            result = table.prune(predicate)
            wanted = [(path, row) for path, row, values in expected if matches(predicate, values) is True]
            assert {path for path, _ in wanted} <= set(result.paths)
            certain = {f"{root}/{p}" for p in result.certain.paths.to_pylist()}
            assert {row for path, row, _ in expected if path in certain} <= {row for _, row in wanted}
            try:
                scanned = table.scan(predicate, columns=["row"]).to_arrow()
            except ScanError:  # a literal that the column cannot be compared with is refused, not guessed at
                continue
            assert sorted(scanned.column("row").to_pylist()) == sorted(row for _, row in wanted)
            located = table.locate(predicate, exact=True)
            assert sum(located.table.column("matches").to_pylist()) == len(wanted)
