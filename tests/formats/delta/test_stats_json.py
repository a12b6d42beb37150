"""Texts that are read once for several columns say of each what they say when it is asked alone."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.formats.delta.leaf_statistics import Column
from metaindex.formats.delta.stats_json import read_leaves

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
    for found, column in zip(read_leaves(stats, columns), columns, strict=True):
        (alone,) = read_leaves(stats, [column])
        for part in ("lower", "upper", "null_count"):
            assert getattr(found, part).equals(getattr(alone, part)), (column, part)
        assert np.array_equal(found.loose, alone.loose)


def test_a_column_inside_of_another_is_read_alone() -> None:
    stats = pa.array(['{"minValues":{"s":{"x":1}},"maxValues":{"s":{"x":2}},"nullCount":{"s":{"x":0}}}'])
    outer, inner = read_leaves(stats, [(("s",), pa.int64()), (("s", "x"), pa.int64())])
    assert (outer.lower.to_pylist(), inner.lower.to_pylist()) == ([None], [1])
