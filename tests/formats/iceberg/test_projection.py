"""What partitions prove: as much as pyiceberg's planner by its inclusive projection, and never of a file whose rows
match."""

import datetime as dt
import decimal
import struct
import tempfile
import uuid
from pathlib import Path
from typing import Any

import mmh3
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metaindex.core import Mask
from metaindex.expressions import (
    ColumnRef,
    Comparison,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Predicate,
    StartsWith,
    may_match,
    to_iceberg,
)
from metaindex.formats.iceberg.buckets import murmur3
from metaindex.formats.model import Snapshot
from metaindex.query.pruning.sources import TableSources
from tests.evaluate import matches
from tests.formats.iceberg.handmade import HandManifest, HandTable, entry, optional
from tests.formats.iceberg.test_partitions import KINDS, as_written, snapshot_of

C = ColumnRef(("c",))
TRANSFORMS = {
    **{kind: transforms for kind, (_, _, transforms) in KINDS.items()},
    "int": ["identity", "truncate[7]", "bucket[3]", "void"],
    "long": ["identity", "truncate[10]", "bucket[5]"],
    "string": ["identity", "truncate[2]", "bucket[4]"],
    "date": ["identity", "day", "month", "year", "bucket[3]"],
    "timestamp": ["identity", "hour", "day", "month", "year", "bucket[3]"],
    "timestamptz": ["hour", "day", "bucket[3]"],
    "decimal(9, 2)": ["identity", "truncate[50]", "bucket[3]"],
    "decimal(25, 2)": ["identity", "bucket[3]"],
    "binary": ["identity", "truncate[2]", "bucket[3]"],
}


@given(st.binary(max_size=20))
@example(struct.pack("<q", 34))
@example(b"iceberg")
def test_the_hash_is_murmur3(data: bytes) -> None:
    assert murmur3(data) == mmh3.hash(data, signed=False)


@pytest.mark.parametrize(
    ("of", "value", "hashed"),
    [
        ("int32", 34, 2017239379),
        ("int64", 34, 2017239379),
        ("decimal", decimal.Decimal("14.20"), -500754589),
        ("date", dt.date(2017, 11, 16), -653330422),
        ("timestamp", dt.datetime(2017, 11, 16, 22, 31, 8), -2047944441),
        ("timestamp_ns", dt.datetime(2017, 11, 16, 22, 31, 8, 1), -1207196810),
        ("string", "iceberg", 1210000089),
        ("uuid", uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, 1488055340),
        ("binary", b"\x00\x01\x02\x03", -188683207),
    ],
)
def test_values_hash_as_in_the_specification(of: str, value: Any, hashed: int) -> None:
    import pyarrow as pa

    from metaindex.formats.iceberg.buckets import hashes_of

    types = {
        "int32": pa.int32(),
        "int64": pa.int64(),
        "decimal": pa.decimal128(9, 2),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "timestamp_ns": pa.timestamp("ns"),
        "string": pa.string(),
        "uuid": pa.binary(16),
        "binary": pa.binary(),
    }
    assert hashes_of([Literal(value)], types[of]) == [hashed % 2**32]


def may(snapshot: Snapshot, predicate: Predicate) -> Mask:
    tree = snapshot.schema.bound(predicate)
    return may_match(tree, TableSources.of(snapshot, tree.columns).with_claims)


def by_pyiceberg(kind: str, transform: str, predicate: Predicate, snapshot: Snapshot, partition: Any) -> bool | None:
    """May a file of the partition hold a row that matches, by pyiceberg's projection? None: it does not take the
    predicate."""
    from pydantic import TypeAdapter
    from pyiceberg.expressions.visitors import expression_evaluator, inclusive_projection
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import parse_transform
    from pyiceberg.typedef import Record
    from pyiceberg.types import IcebergType, NestedField

    schema = Schema(NestedField(1, "c", TypeAdapter(IcebergType).validate_python(kind), required=False))
    spec = PartitionSpec(PartitionField(1, 1000, parse_transform(transform), "p"))
    asked, rest = to_iceberg(predicate, snapshot.schema.arrow())
    if "Constant" not in type(rest).__name__:
        return None
    try:
        projected = inclusive_projection(schema, spec)(asked)
        return bool(
            expression_evaluator(Schema(*spec.partition_type(schema).fields), projected, True)(Record(partition))
        )
    except (NotImplementedError, ValueError, TypeError):
        return None


def internal(value: Any) -> Any:
    """As pyiceberg keeps partition values."""
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    return (value - dt.date(1970, 1, 1)).days if isinstance(value, dt.date) else value


def predicates(kind: str, some: Any) -> Any:
    literal = some.map(Literal)
    leaf = st.one_of(
        st.builds(Comparison, st.just(C), st.sampled_from(list(Op)), literal),
        st.builds(In, st.just(C), st.lists(literal, min_size=1, max_size=4).map(tuple)),
        st.just(IsNull(C)),
    )
    if kind == "string":
        leaf = st.one_of(leaf, st.builds(StartsWith, st.just(C), st.text("ab", max_size=3)))
    return st.one_of(leaf, leaf.map(Not))


@settings(max_examples=settings.default.max_examples * 150 // 100, deadline=None)
@given(st.data())
def test_partitions_drop_what_pyiceberg_drops_and_no_match(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(TRANSFORMS)))
    transform = data.draw(st.sampled_from(TRANSFORMS[kind]))
    some = KINDS[kind][1]
    if kind in ("int", "long"):
        some = st.one_of(st.integers(-20, 20), some)
    if kind == "string":
        some = st.one_of(st.text("ab", max_size=4), some)
    values = data.draw(st.lists(st.one_of(st.none(), some), min_size=1, max_size=5))
    chosen = st.one_of(st.sampled_from([v for v in values if v is not None] or [data.draw(some)]), some)
    predicate = data.draw(predicates(kind, chosen))
    written = [as_written(kind, transform, one) for one in values]
    with tempfile.TemporaryDirectory() as folder:
        snapshot = snapshot_of(Path(folder), kind, transform, written)
        kept = may(snapshot, predicate)
    for n, value in enumerate(values):
        if matches(snapshot.schema.bound(predicate), {"c": value}) is True:
            assert kept[n], (transform, value, predicate)
        theirs = by_pyiceberg(kind, transform, predicate, snapshot, internal(written[n]))
        if theirs is False and not _rounded(transform, written[n]) and not _next_behind(written[n], predicate):
            assert not kept[n], (transform, value, predicate)


def _rounded(transform: str, value: Any) -> bool:
    """Java widens periods up to 1970 for old writers, as we do; pyiceberg does not. Nor does it think of the lowest
    numbers, which wrap round among the highest when they are cut."""
    if transform.startswith("truncate") and isinstance(value, int):
        width = int(transform[9:-1])
        return 2**31 - 1 - width < value < 2**31 or value > 2**63 - 1 - width
    return transform in ("year", "month", "day", "hour") and value is not None and internal(value) <= 0


def _next_behind(value: Any, predicate: Predicate) -> bool:
    """Our bound of bytes that were cut includes the first value behind them, as bounds have no open ends."""
    if not isinstance(value, bytes) or not (kept := value.rstrip(b"\xff")):
        return False
    behind = kept[:-1] + bytes([kept[-1] + 1])
    leaf = predicate.child if isinstance(predicate, Not) else predicate
    values = leaf.values if isinstance(leaf, In) else (leaf.value,) if isinstance(leaf, Comparison) else ()
    return any(one.value == behind for one in values)


BUCKET = {"name": "c_bucket", "field-id": 1000, "source-id": 1, "transform": "bucket[8]"}


def bucketed(root: Path, kinds: list[str], buckets: list[int | None]) -> Snapshot:
    """A column of type kinds[-1] that was each of the kinds, in one file a bucket."""
    schemas = [
        {"type": "struct", "schema-id": n, "fields": [{"id": 1, "name": "c", "required": False, "type": kind}]}
        for n, kind in enumerate(kinds)
    ]
    table = HandTable(
        root / "t", schemas=schemas, specs=[{"spec-id": 0, "fields": []}, {"spec-id": 1, "fields": [BUCKET]}]
    )
    partition = [{"name": "c_bucket", "type": optional("int"), "field-id": 1000}]
    entries = [entry(table.path(f"f{n}"), partition={"c_bucket": one}) for n, one in enumerate(buckets)]
    table.commit([HandManifest(entries, spec_id=1, partition=partition), HandManifest([entry(table.path("bare"))])])
    return table.snapshot()


@pytest.mark.parametrize(
    ("kinds", "value", "prunes"),
    [
        (["int", "long"], 34, True),
        (["decimal(9, 2)", "decimal(12, 2)"], decimal.Decimal("14.20"), True),
        (["decimal(9, 2)", "decimal(38,2)"], decimal.Decimal("14.20"), True),
        (["date", "timestamp"], dt.datetime(2017, 11, 16), False),
        (["int", "string"], "34", False),
    ],
)
def test_a_widened_column_keeps_its_buckets_where_the_hashes_are_the_same(
    tmp_path: Path, kinds: list[str], value: Any, prunes: bool
) -> None:
    kept = may(bucketed(tmp_path, kinds, [*range(8), None]), Comparison(C, Op.EQ, Literal(value)))
    assert kept[-1], "a file of another spec"
    assert np.count_nonzero(kept) == (2 if prunes else 9)


def test_only_the_buckets_of_the_values_are_kept(tmp_path: Path) -> None:
    snapshot = bucketed(tmp_path, ["string"], [*range(8), None])
    wanted = {(mmh3.hash(text) & 0x7FFFFFFF) % 8 for text in ("iceberg", "delta")}
    assert set(np.flatnonzero(may(snapshot, In(C, (Literal("iceberg"), Literal("delta")))))) == {*wanted, 9}
    assert may(snapshot, Not(In(C, (Literal("iceberg"),)))).sum() == 9  # rows of bucket NULL are no match
    assert set(np.flatnonzero(may(snapshot, IsNull(C)))) == {8, 9}
