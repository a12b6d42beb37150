"""Texts that are read once for several columns say of each what they say when it is asked alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.formats.delta.stats_json import read_leaves
from metaindex.formats.delta.stats_rows import Column
from tests.formats.delta.hand import add, checkpoint, column, commit, metadata, protocol, remove
from tests.processes import python

COLUMNS: dict[str, tuple[Column, st.SearchStrategy[Any]]] = {
    "long": ((("a",), pa.int64()), st.integers(-(2**63), 2**63 - 1)),
    "double": ((("b",), pa.float64()), st.floats(allow_nan=False, allow_infinity=False) | st.just("NaN")),
    "string": ((("c",), pa.string()), st.text(max_size=3)),
    "nested": ((("s", "x"), pa.int32()), st.integers(-5, 5)),
    "deeper": ((("s", "t", "y"), pa.string()), st.text(max_size=2)),
    "date": ((("d",), pa.date32()), st.dates().map(str)),
    "decimal": ((("m",), pa.decimal128(9, 2)), st.decimals(-1000, 1000, places=2).map(float)),
    "binary": ((("z",), pa.binary()), st.text(max_size=2)),
}
ODD = st.sampled_from([None, "1", True, 1.5, 10**30, [], {}])


def put(tree: dict[str, Any], source: tuple[str, ...], value: Any) -> None:
    for name in source[:-1]:
        tree = tree.setdefault(name, {})
    tree[source[-1]] = value


@st.composite
def texts(draw: st.DrawFn) -> str | None:
    kind = draw(st.sampled_from(["good"] * 8 + ["odd", "null", "damaged"]))
    if kind == "null":
        return None
    said: dict[str, Any] = {"numRecords": 3, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for (source, _), values in COLUMNS.values():
        for name in ("minValues", "maxValues"):
            if draw(st.integers(0, 5)):
                put(said[name], source, draw(ODD if kind == "odd" else values))
        put(said["nullCount"], source, draw(st.integers(0, 3)))
    if draw(st.booleans()):
        said["tightBounds"] = draw(st.booleans())
    text = json.dumps(said)
    return text[: len(text) // 2] if kind == "damaged" else text


@given(st.lists(texts(), max_size=6), st.lists(st.sampled_from(sorted(COLUMNS)), unique=True, max_size=8))
@settings(deadline=None)
def test_together_as_alone(written: list[str | None], names: list[str]) -> None:
    stats, columns = pa.array(written, pa.string()), [COLUMNS[name][0] for name in names]
    for found, one in zip(read_leaves(stats, columns), columns, strict=True):
        (alone,) = read_leaves(stats, [one])
        for part in ("lower", "upper", "null_count"):
            assert getattr(found, part).equals(getattr(alone, part)), (one, part)
        assert np.array_equal(found.loose, alone.loose)


def test_a_column_inside_of_another_is_read_alone() -> None:
    stats = pa.array(['{"minValues":{"s":{"x":1}},"maxValues":{"s":{"x":2}},"nullCount":{"s":{"x":0}}}'])
    outer, inner = read_leaves(stats, [(("s",), pa.int64()), (("s", "x"), pa.int64())])
    assert (outer.lower.to_pylist(), inner.lower.to_pylist()) == ([None], [1])


# Imports --------------------------------------------------------------------------------------------------------------


_ASKED = """
import sys
from metaindex.formats.model import Base
from metaindex.formats.format import At
from metaindex.formats.registry import open_ref
format_, ref = open_ref(sys.argv[1], "delta")
base = format_.snapshot(ref, At(version=1))
known = Base(base.version, base.schema, base.partition_columns)
assert len(format_.changes(ref, [known], At(version=2)).touched.files) == 1
assert len(format_.snapshot(ref, At()).files) == 3
print([name for name in ("pandas", "pyarrow.compute", "pyarrow.dataset", "polars") if name in sys.modules])
"""


@pytest.mark.slow
def test_a_snapshot_and_changes_load_little(tmp_path: Path) -> None:
    # Without blanks, as writers do.
    stats = '{"numRecords":3,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0}}'
    made = [add(f"p={n}/f{n}.parquet", stats=stats, partitionValues={"p": str(n)}) for n in range(4)]
    head = [protocol(), metadata(column("id"), column("p", "integer"), partitions=["p"])]
    commit(tmp_path, 0, *head, *made[:2])
    checkpoint(tmp_path, 0, *head, *made[:2])
    commit(tmp_path, 1, made[2], remove("p=0/f0.parquet"))
    commit(tmp_path, 2, made[3])
    assert python("-c", _ASKED, str(tmp_path)).strip() == "[]"
