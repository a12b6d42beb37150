"""What not to believe of statistics, row by row of the list of wrong answers that other systems gave: real writers, and
footers changed by hand.

row  of what                                   tested here, or in
15   NOT LIKE, unknown NULLs                   expressions/test_lessons (15)
16   NaN bound                                 here; expressions (1, 16, 17); delta and iceberg test_statistics (nan)
17   NaN among values                          here, every writer
18   IN across bounds                          expressions (18)
19   row count 0                               expressions (19)
20   cut texts, surrogates                     here, every writer; expressions (20); iceberg test_statistics
21   32 characters and a mark                  here; delta test_statistics (cut texts)
22   milliseconds                              here, by Spark; delta test_statistics (milliseconds)
23   offsets without seconds                   here, by Spark; delta test_statistics (old times)
24   statistics written under deletes          here, by Spark; delta test_statistics (deletion vector, tight)
25   columns outside the indexed ones          here, by Spark; delta test_statistics (indexed ones)
26   added again under an old name             here
27   case of names                             here; expressions (27)
28   null-safe equality                        expressions (28)
29   infinities, zeros                         here, every writer; expressions (29)
30   literals of another type                  expressions (30)
31   collations                                expressions (31)
32   signed order                              here
33   decimals in bytes                         here; expressions (33)
34   INT96                                     here, by Spark and pyarrow
35   type at write time                        here; delta and iceberg test_statistics (widened)
36   counts of NULLs left out                  here; expressions (36)
37   bounds by their width                     iceberg test_statistics (width)
38   NOT IN with NULL                          expressions (38)
39   explicit null                             expressions (39); delta test_statistics (null)
40   partition coarser than the question       iceberg test_partitions; pruning test_no_false_skip
"""

import datetime as dt
import math
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaindex.formats.model import Snapshot
from metaindex.formats.parquet.trust import Doubt
from tests.formats import footer_surgery as surgery
from tests.formats.delta import hand
from tests.formats.footers_of import doubt, footers, one, said
from tests.formats.writers import TEXTS, WRITERS, holds, lies_within

# Every writer ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("texts", TEXTS)
def test_20_cut_texts_bound_the_whole_ones(writer: str, texts: str, tmp_path: Path) -> None:
    holds(writer, pa.array([*TEXTS[texts], None]), tmp_path)
    assert one(footers([tmp_path / "a.parquet"], pa.schema({"c": pa.string()})), "c").bounds.lower_exact == pa.array(
        [False]
    )


@pytest.mark.parametrize("writer", WRITERS)
def test_20_cut_bytes_bound_the_whole_ones(writer: str, tmp_path: Path) -> None:
    holds(writer, pa.array([b"\xff" * 5000, b"\x80", b"\x7f" * 70, b"\xff" * 64 + b"\x00", b"\xed\xa0\x80"]), tmp_path)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("t", [pa.float32(), pa.float64(), pa.float16()])
def test_16_17_29_nan_infinities_and_zeros_of_every_writer(writer: str, t: pa.DataType, tmp_path: Path) -> None:
    if t == pa.float16() and writer in ("duckdb", "deltalake"):
        pytest.skip("this writer has no half floats")
    nan, inf = math.nan, math.inf
    for values in ([nan], [nan, 1.0], [1.0, nan, None], [-0.0], [0.0], [0.0, -0.0], [inf], [-inf, inf, nan], [-inf]):
        (tmp_path / "a.parquet").unlink(missing_ok=True)
        numbers = pa.array(np.array([v for v in values if v is not None], t.to_pandas_dtype()), t)
        table = pa.table({"c": numbers})
        try:
            WRITERS[writer](table, tmp_path / "a.parquet")
        except pa.ArrowNotImplementedError:
            pytest.skip("this writer has no half floats")
        column = one(footers([tmp_path / "a.parquet"], table.schema), "c")
        lies_within(numbers, column.bounds)
        if any(v is not None and math.isnan(v) for v in values):
            assert column.bounds.nan_count[0].as_py() != 0
        # Whatever is said of zero, it says it of both.
        if column.bounds.lower is not None and values[0] == 0 and (low := column.bounds.lower[0].as_py()) is not None:
            assert low <= 0.0 <= column.bounds.upper[0].as_py()


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_32_unsigned_numbers_of_every_writer(writer: str, bits: int, tmp_path: Path) -> None:
    if writer in ("deltalake",):
        pytest.skip("Delta has no unsigned numbers")
    t = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[bits]
    if bits == 32 and writer == "pyarrow 1.0":
        t = pa.uint16()  # that version writes unsigned 32 bits as signed 64
    assert holds(writer, pa.array([0, 1, 2 ** (t.bit_width - 1), 2**t.bit_width - 1], t), tmp_path)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("precision", [5, 9, 18, 19, 38])
def test_33_decimals_of_every_writer_and_width(writer: str, precision: int, tmp_path: Path) -> None:
    top = Decimal(f"{10 ** (precision - 2) - 1}.99")
    values = pa.array([Decimal("-1.00"), Decimal("0.01"), top, top.copy_negate(), None], pa.decimal128(precision, 2))
    assert holds(writer, values, tmp_path)


@pytest.mark.parametrize("writer", WRITERS)
def test_22_23_times_of_every_writer(writer: str, tmp_path: Path) -> None:
    moments = [
        dt.datetime(1850, 1, 1, 0, 53, 28, 1),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        dt.datetime(2020, 1, 1, 0, 0, 0, 123456),
    ]
    for t in (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.timestamp("ms")):
        if writer == "deltalake" and t.unit != "us":
            continue
        if writer == "pyarrow 1.0" and t.unit != "ms":
            continue  # it refuses to cut
        (tmp_path / "a.parquet").unlink(missing_ok=True)
        cut = [m.replace(microsecond=m.microsecond // 1000 * 1000) for m in moments] if t.unit == "ms" else moments
        holds(writer, pa.array(cut, t), tmp_path)


def test_34_int96_says_nothing_whatever_stands_in_the_footer(tmp_path: Path) -> None:
    table = pa.table({"c": pa.array([dt.datetime(1850, 1, 1), dt.datetime(2020, 1, 1)], pa.timestamp("us"))})
    pq.write_table(
        table.append_column("n", pa.array([1, 2])), tmp_path / "a.parquet", use_deprecated_int96_timestamps=True
    )
    assert said(one(footers([tmp_path / "a.parquet"], pa.schema({"n": pa.int64()})), "n")) == (1, 2, 0)

    def lie(footer: surgery.Struct) -> None:
        for column in (c for group in footer[surgery.ROW_GROUPS].values for c in group[surgery.COLUMNS].values):
            made = surgery.Struct({surgery.NULL_COUNT: (surgery.I64, 0)})
            for number in (surgery.OLD_MAX, surgery.OLD_MIN, surgery.MAX_VALUE, surgery.MIN_VALUE):
                made.put(number, surgery.BINARY, b"\1" * 12)
            column[surgery.META_DATA].put(surgery.STATISTICS, surgery.STRUCT, made)

    surgery.change(tmp_path / "a.parquet", lie)
    column = one(footers([tmp_path / "a.parquet"], table.schema), "c")
    assert said(column) == (None, None, 0)
    assert doubt(column) == Doubt.INT96.value


# Footers changed by hand ----------------------------------------------------------------------------------------------


def old_fields_only(footer: surgery.Struct) -> None:
    """As writers did before 2018: `min` and `max`, of whose order nothing is said."""
    footer.drop(surgery.COLUMN_ORDERS)
    for found in surgery.statistics(footer):
        found.move(surgery.MAX_VALUE, surgery.OLD_MAX)
        found.move(surgery.MIN_VALUE, surgery.OLD_MIN)
        found.drop(surgery.MAX_EXACT, surgery.MIN_EXACT)


def orders_left_out(footer: surgery.Struct) -> None:
    footer.drop(surgery.COLUMN_ORDERS)


def in_total_order(footer: surgery.Struct) -> None:
    """As writers of a newer format will: NaN has a place, zeros differ."""
    orders = footer[surgery.COLUMN_ORDERS]
    orders.values = [surgery.Struct({2: (surgery.STRUCT, surgery.Struct({}))}) for _ in orders.values]


def written_by(name: str) -> Callable[[surgery.Struct], None]:
    return lambda footer: footer.put(surgery.CREATED_BY, surgery.BINARY, name.encode())


def without_null_counts(footer: surgery.Struct) -> None:
    for found in surgery.statistics(footer):
        found.drop(surgery.NULL_COUNT)


def inexact(footer: surgery.Struct) -> None:
    for found in surgery.statistics(footer):
        found.put(surgery.MAX_EXACT, surgery.FALSE, False)
        found.put(surgery.MIN_EXACT, surgery.FALSE, False)


def swapped(footer: surgery.Struct) -> None:
    for found in surgery.statistics(footer):
        low, high = found.fields[surgery.MIN_VALUE], found.fields[surgery.MAX_VALUE]
        found.fields[surgery.MIN_VALUE], found.fields[surgery.MAX_VALUE] = high, low
        found.drop(surgery.OLD_MAX, surgery.OLD_MIN)


def all_counted_null(footer: surgery.Struct) -> None:
    for found in surgery.statistics(footer):
        found.put(surgery.NULL_COUNT, surgery.I64, 3)


EVERY = pa.table(
    {
        "text": ["az", "aé", "b"],
        "bytes": [b"\x7f", b"\x80", b"\xff"],
        "unsigned": pa.array([1, 2**31, 5], pa.uint32()),
        "wide": pa.array([Decimal("-1.00"), Decimal("1.00"), Decimal("0.00")], pa.decimal128(38, 2)),
        "half": pa.array(np.array([-1, 1, 0], np.float16)),
        "whole": [-1, 2, 3],
        "double": [-1.0, 0.0, 2.0],
        "day": pa.array([dt.date(1500, 1, 1), dt.date(2020, 1, 1), dt.date(2021, 1, 1)]),
        "time": pa.array(
            [dt.datetime(1850, 1, 1), dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)], pa.timestamp("us")
        ),
    }
)
MR = "parquet-mr version 1.8.1 (build 4aba4dae7bb0d4edbcf7923ae1339f28fd3f7fcf)"
FOUND_IN_BYTES = {"text", "bytes", "wide", "half"}


@pytest.mark.parametrize(
    ("operations", "silent"),
    [
        ([], set()),
        ([inexact], set()),
        ([orders_left_out], FOUND_IN_BYTES | {"unsigned"}),
        ([in_total_order], FOUND_IN_BYTES | {"unsigned"}),
        ([old_fields_only], FOUND_IN_BYTES | {"unsigned"}),
        ([old_fields_only, written_by(MR)], FOUND_IN_BYTES | {"unsigned"}),
        ([old_fields_only, written_by("impala version 2.2.0")], FOUND_IN_BYTES | {"unsigned"}),
        ([written_by(MR)], FOUND_IN_BYTES | {"unsigned", "day", "time"}),
        ([written_by("a stranger")], {"wide", "half"}),
        ([written_by("")], {"wide", "half"}),
        ([swapped], set(EVERY.column_names)),
        ([all_counted_null], None),
    ],
    ids=lambda v: " and ".join(getattr(o, "__name__", "") for o in v) if isinstance(v, list) else "",
)  # fmt: skip
def test_32_33_what_a_footer_says_is_believed_or_not_by_its_writer_and_order(
    operations: Sequence[Callable[[surgery.Struct], None]], silent: set[str] | None, tmp_path: Path
) -> None:
    pq.write_table(EVERY, tmp_path / "a.parquet")
    for operation in operations:
        surgery.change(tmp_path / "a.parquet", operation)
    statistics = footers([tmp_path / "a.parquet"], EVERY.schema)
    for name in EVERY.column_names:
        known = lies_within(EVERY[name].combine_chunks(), one(statistics, name).bounds)
        if silent is None:  # counted as NULL, every one of them, beside bounds: no "all NULL" may come of it
            assert said(one(statistics, name))[2] != 3, name
        elif name in silent:
            assert not known, name
            if operations in ([orders_left_out], [swapped]):
                doubted = Doubt.NO_ORDER if operations == [orders_left_out] else Doubt.REVERSED
                assert doubt(one(statistics, name)) in (doubted.value, Doubt.INT96.value), name
        elif not operations:
            assert known, name


def test_36_a_null_count_left_out_is_not_zero(tmp_path: Path) -> None:
    pq.write_table(EVERY, tmp_path / "a.parquet")
    surgery.change(tmp_path / "a.parquet", without_null_counts)
    statistics = footers([tmp_path / "a.parquet"], EVERY.schema)
    assert {said(column)[2] for column in statistics.columns} == {None}
    required = pa.schema([pa.field("whole", pa.int64(), nullable=False)])
    pq.write_table(EVERY.select(["whole"]).cast(required), tmp_path / "b.parquet")
    surgery.change(tmp_path / "b.parquet", without_null_counts)
    assert said(one(footers([tmp_path / "b.parquet"], required), "whole"))[2] == 0


def test_33_decimals_compared_as_unsigned_bytes_are_unknown(tmp_path: Path) -> None:
    table = EVERY.select(["wide"])
    pq.write_table(table, tmp_path / "a.parquet")

    def unsigned(footer: surgery.Struct) -> None:
        for found in surgery.statistics(footer):  # as unsigned bytes -1 is the greatest
            found.put(surgery.MIN_VALUE, surgery.BINARY, (0).to_bytes(16, "big"))
            found.put(surgery.MAX_VALUE, surgery.BINARY, (-100).to_bytes(16, "big", signed=True))

    surgery.change(tmp_path / "a.parquet", unsigned)
    column = one(footers([tmp_path / "a.parquet"], table.schema), "wide")
    assert said(column)[:2] == (None, None)
    assert doubt(column) == Doubt.REVERSED.value


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        (pa.array([-(2**31), 2**31 - 1], pa.int32()), pa.int64()),
        (pa.array([-128, 127], pa.int8()), pa.float64()),
        (pa.array([-5, 7], pa.int32()), pa.decimal128(12, 2)),
        (pa.array([0.1, -0.1], pa.float32()), pa.float64()),
        (pa.array([Decimal("-1.5"), Decimal("9.9")], pa.decimal128(2, 1)), pa.decimal128(38, 10)),
        (pa.array([dt.date(1850, 1, 1), dt.date(2020, 1, 1)]), pa.timestamp("us")),
        (pa.array([dt.datetime(1850, 1, 1), dt.datetime(2020, 1, 1)], pa.timestamp("ms")), pa.timestamp("us")),
        (pa.array([1, 2**32 - 1], pa.uint32()), pa.int64()),
        (pa.array([-1, 5], pa.int64()), pa.uint32()),
        (pa.array([300, 5], pa.int32()), pa.int8()),
        (pa.array([0.1, 1e300], pa.float64()), pa.float32()),
        (pa.array(["1", "2"]), pa.int32()),
    ],
)  # fmt: skip
def test_12_35_statistics_are_of_the_type_at_write_time(written: pa.Array, asked: pa.DataType, tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": written}), tmp_path / "a.parquet")
    column = one(footers([tmp_path / "a.parquet"], pa.schema({"c": asked})), "c")
    try:
        shown = written.cast(asked)
    except pa.ArrowInvalid:
        assert said(column)[:2] == (None, None)
        return
    lies_within(shown, column.bounds)


def test_35_a_uuid_shown_as_text_is_not_its_bytes(tmp_path: Path) -> None:
    values = [uuid.UUID(int=i).bytes for i in (1, 2**127, 2**128 - 1)]
    table = pa.table({"c": pa.array(values, pa.binary(16)), "u": pa.array(values, pa.uuid())})
    pq.write_table(table, tmp_path / "a.parquet")
    for column in footers([tmp_path / "a.parquet"], pa.schema({"c": pa.string(), "u": pa.string()})).columns:
        assert said(column)[:2] == (None, None)
    for column in footers([tmp_path / "a.parquet"], pa.schema({"c": pa.binary(16), "u": pa.binary(16)})).columns:
        assert said(column)[:2] == (values[0], values[2])


def test_27_a_column_is_found_without_regard_to_case_and_never_one_of_two(tmp_path: Path) -> None:
    for written, asked, known in [("Abc", "aBC", True), ("ABC", "abc", True), ("Straße", "STRASSE", None)]:
        pq.write_table(pa.table({written: [1, 2]}), tmp_path / "a.parquet")
        column = one(footers([tmp_path / "a.parquet"], pa.schema({asked: pa.int64()})), asked)
        if known is not None:
            assert (said(column)[:2] == (1, 2)) is known
        else:  # another name, by Spark's rule; then there is no such column: never the bounds of it
            assert said(column)[:2] in [(None, None), (1, 2)]


# Delta ----------------------------------------------------------------------------------------------------------------


def test_26_a_column_added_again_under_an_old_name_has_not_the_old_ones_statistics(tmp_path: Path) -> None:
    again = hand.column("c", "long", **{"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "col-7"})
    old = {
        "numRecords": 3,
        "minValues": {"c": 1, "col-1": 1},
        "maxValues": {"c": 2, "col-1": 2},
        "nullCount": {"c": 0, "col-1": 0},
    }
    new = {"numRecords": 3, "minValues": {"col-7": 50}, "maxValues": {"col-7": 60}, "nullCount": {"col-7": 0}}
    mapping = {"delta.columnMapping.mode": "name"}
    start = hand.protocol(2), hand.metadata(again, configuration=mapping)
    hand.commit(tmp_path, 0, *start, hand.add("old", stats=old), hand.add("new", stats=new))
    found = hand.snapshot(tmp_path)
    bounds = found.details.log_bounds(hand.leaf(found, "c"))
    assert dict(zip(found.files.paths.to_pylist(), bounds.lower.to_pylist(), strict=True)) == {"old": None, "new": 50}
    assert dict(zip(found.files.paths.to_pylist(), bounds.null_count.to_pylist(), strict=True)) == {
        "old": None,
        "new": 0,
    }


@pytest.mark.parametrize("texts", TEXTS)
def test_21_texts_of_deltalake_lie_within_what_its_log_says(texts: str, tmp_path: Path) -> None:
    from deltalake import write_deltalake

    values = pa.array(TEXTS[texts])
    write_deltalake(str(tmp_path / "t"), pa.table({"c": values}))
    found = hand.snapshot(tmp_path / "t")
    lies_within(values, found.details.log_bounds(hand.leaf(found, "c")))


def check_log(found: Snapshot, values: dict[str, dict[str, pa.Array]]) -> dict[str, list[bool]]:
    """`values`: of each file, by the end of its path, the physical rows. Which bounds are known, column by column."""
    known: dict[str, list[bool]] = {}
    for leaf in found.schema.leaves():
        bounds = found.details.log_bounds(leaf)
        for row, path in enumerate(found.files.paths.to_pylist()):
            held = values[path.rsplit("/", 1)[-1]][leaf.parts[0]]
            known.setdefault(leaf.parts[0], []).append(lies_within(held.cast(leaf.type), bounds, row))
            counted = None if bounds is None or bounds.null_count is None else bounds.null_count[row].as_py()
            assert counted in (None, held.null_count), (leaf.parts, path)
    return known
