"""The kind of a key is made again from what a log entry says: whatever that is, what is wrong is an error of ours."""

from typing import Any

import pytest

import metaindex as mi
from metaindex.index.kinds.kind import KeyKind
from metaindex.index.kinds.registry import KINDS
from metaindex.index.log.entry import CoveredColumn, CoveredKey, KindSpec
from metaindex.index.log.versions import from_text
from metaindex.table import IndexInfo, IndexList

COLUMNS = (CoveredColumn("a", 1, "a", "int64", False), CoveredColumn("b", 2, "b", "int64", False))


def key_of(kind: KeyKind) -> CoveredKey:
    return CoveredKey(kind.rows.partition, 1, COLUMNS)


@pytest.mark.parametrize(
    "kind", [mi.Values("x"), mi.Values("x", by="value"), mi.Bloom("x", fpp=0.1), mi.ValueList("x", limit=7)], ids=str
)
def test_the_kind_of_a_key_has_its_columns(kind: KeyKind) -> None:
    key = key_of(kind)
    made = KINDS.maker_of(key, [mi.ColumnStats().spec(), kind.spec()])
    assert made.keys == (("a", "b"),)
    assert made.rows is kind.rows
    assert made.spec().properties | {"keys": 0} == kind.spec().properties | {"keys": 0}


@pytest.mark.parametrize("kind", [mi.Bloom("x"), mi.ValueList("x")], ids=str)
@pytest.mark.parametrize("change", [{"keys": 3}, {"keys": None}, {"fpp": "x", "limit": "x"}, None], ids=str)
def test_properties_that_make_no_kind_are_damage(kind: KeyKind, change: dict[str, Any] | None) -> None:
    key, spec = key_of(kind), kind.spec()
    broken = [] if change is None else [KindSpec(spec.name, 1, {**spec.properties, **change})]
    try:
        made = KINDS.maker_of(key, broken)
    except mi.DamagedIndexError:
        return
    assert made.keys == (("a", "b"),)  # its own keys are not asked of the entry


def test_a_bitmap_of_nothing_is_damage() -> None:
    with pytest.raises(mi.DamagedIndexError, match="roaring"):
        from_text("")


def test_halves_of_characters_are_told() -> None:
    told = IndexList([IndexInfo("i", "ACTIVE", kinds=("va\ud800ues",), problem="\udfff")]).to_arrow().to_pylist()
    assert (told[0]["kinds"], told[0]["problem"]) == (["va\\ud800ues"], "\\udfff")
