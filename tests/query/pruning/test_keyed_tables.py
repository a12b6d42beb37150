"""The first promise for the kinds that key values, each alone and all at once: no dropped file and no row group that is
left out holds a matching row, at any version."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.index import Kind
from tests import strategies
from tests.examples import few
from tests.query.pruning.test_no_false_skip import check, drawn_lake

KINDS = ["bloom", "all", *(pytest.param(kind, marks=pytest.mark.exhaustive) for kind in ("hash", "value", "list"))]


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
@settings(max_examples=few(4, 15))
@given(data=st.data())
def test_dropped_files_and_row_groups_hold_no_matching_row(kind: str, data: st.DataObject) -> None:
    schema = data.draw(strategies.schemas())
    with drawn_lake(data, schema, 5, ["{}.parquet"]) as (table, expected):
        table.create_index("keys", *kinds(kind, schema), builder="local")
        for predicate in data.draw(st.lists(strategies.predicates(schema), min_size=4, max_size=6)):
            found = check(table, predicate, expected)
            if found is not None:
                located = table.locate(predicate, exact=True)
                assert sum(located.table.column("matches").to_pylist()) == found
