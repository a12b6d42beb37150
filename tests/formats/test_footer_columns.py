"""Which column of a file is asked for, what is said of one that it does not hold, and of one that was written as
another type."""

import contextlib
import datetime as dt
import io
import math
import os
from decimal import Decimal
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import CorruptTableError, MetaIndexError
from metaindex.formats.model import Field, Schema
from metaindex.formats.parquet import chunks as footer_chunks
from metaindex.formats.parquet.bounds import RawColumn, aggregate
from metaindex.formats.parquet.chunks import Chunks, look
from metaindex.formats.parquet.file import FileSchema, Layouts
from metaindex.formats.parquet.footers import Footer, read_footers
from metaindex.formats.parquet.schema import Coding, Compact, FileType
from metaindex.formats.parquet.trust import Doubt, Found
from metaindex.storage import LocalStorage
from tests.examples import few
from tests.formats.encrypted import write_encrypted
from tests.formats.footer_surgery import BINARY, COLUMNS, I32, META_DATA, ROW_GROUPS, SCHEMA, Struct, change, statistics
from tests.formats.footers_of import doubt, footers, one, said, schema_of
from tests.formats.writers import WRITERS
from tests.histories.driver import RANDOM
from tests.hostile.changes import random_bytes
from tests.processes import python


@pytest.mark.parametrize(
    ("written", "asked", "expected"),
    [
        (pa.array([1, 2], pa.int32()), pa.int64(), (1, 2)),
        (pa.array([1, 2], pa.int64()), pa.float64(), (1.0, 2.0)),
        (pa.array([1.5, 2.5], pa.float32()), pa.float64(), (1.5, 2.5)),
        (pa.array([Decimal("1.10")], pa.decimal128(5, 2)), pa.decimal128(30, 4),
            (Decimal("1.1000"), Decimal("1.1000"))),
        (pa.array([dt.date(2020, 1, 2)]), pa.timestamp("us"), (dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 2))),
        (pa.array(["a", "b"]), pa.binary(), (b"a", b"b")),
        (pa.array([1500], pa.timestamp("ns")), pa.timestamp("us"), (dt.datetime(1970, 1, 1, 0, 0, 0, 1),
            dt.datetime(1970, 1, 1, 0, 0, 0, 2))),
    ],
)  # fmt: skip
def test_the_type_at_write_time_converts(
    tmp_path: Path, written: pa.Array, asked: pa.DataType, expected: tuple[object, object]
) -> None:
    pq.write_table(pa.table({"c": written}), tmp_path / "a.parquet")
    assert said(one(footers([tmp_path / "a.parquet"], pa.schema([("c", asked)])), "c"))[:2] == expected


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        (pa.array(["1", "2"]), pa.int64()),
        (pa.array([1, 2]), pa.string()),
        (pa.array([1.5]), pa.float32()),
        (pa.array([1], pa.timestamp("us")), pa.timestamp("us", "UTC")),
        (pa.array([Decimal("1.234")], pa.decimal128(5, 3)), pa.decimal128(5, 2)),
        (pa.array([True]), pa.int32()),
        (pa.array([{"x": 1}]), pa.int64()),
        (pa.array([[1]]), pa.int64()),
    ],
)
def test_a_type_that_does_not_convert_is_unknown(tmp_path: Path, written: pa.Array, asked: pa.DataType) -> None:
    pq.write_table(pa.table({"c": written}), tmp_path / "a.parquet")
    column = one(footers([tmp_path / "a.parquet"], pa.schema([("c", asked)])), "c")
    assert said(column)[:2] == (None, None)
    assert doubt(column) == Doubt.OTHER_TYPE.value


def test_an_absent_column_shows_what_the_table_shows_for_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "a.parquet")
    leaves = Schema(
        (
            Field("missing", pa.int64()),
            Field("seven", pa.int64(), default=7),
            Field("unknown", pa.int64(), default_known=False),
            Field("s", pa.struct([("x", pa.string())]), children=(Field("x", pa.string()),)),
        )
    ).leaves()
    missing, seven, unknown, nested = read_footers(LocalStorage(str(tmp_path)), ["a.parquet"], leaves).columns
    assert (said(missing), doubt(missing)) == ((None, None, 3), None)
    assert (said(seven), doubt(seven)) == ((7, 7, 0), None)
    assert (said(unknown), doubt(unknown)) == ((None, None, None), Doubt.NOT_MAPPED.value)
    assert said(nested) == (None, None, 3)
    assert [c.present.to_pylist() for c in (missing, unknown)] == [[False], [None]]


def test_a_default_inside_a_struct_is_null_where_the_struct_is(tmp_path: Path) -> None:
    pq.write_table(pa.table({"s": [{"y": 1}, None]}), tmp_path / "a.parquet")
    x, y = Field("x", pa.int64(), default=7), Field("y", pa.int64())
    leaves = Schema((Field("s", pa.struct([("x", pa.int64()), ("y", pa.int64())]), children=(x, y)),)).leaves()
    inside, _ = read_footers(LocalStorage(str(tmp_path)), ["a.parquet"], leaves).columns
    assert (said(inside), doubt(inside)) == ((None, None, None), Doubt.NOT_MAPPED.value)


def test_names_match_without_case_and_never_two(tmp_path: Path) -> None:
    pq.write_table(pa.table({"Abc": [1], "x": [2], "X": [3], "yY": [4], "Yy": [5]}), tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], pa.schema([(n, pa.int64()) for n in ("aBC", "x", "yy")]))
    assert said(one(statistics, "aBC"))[:2] == (1, 1)
    assert doubt(one(statistics, "x")) == Doubt.AMBIGUOUS.value  # Spark and our readers refuse it, too
    assert doubt(one(statistics, "yy")) == Doubt.AMBIGUOUS.value


def test_two_columns_of_one_name_are_ambiguous(tmp_path: Path) -> None:
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], pa.schema([("a", pa.int64())]))
    assert doubt(one(statistics, "a")) == Doubt.AMBIGUOUS.value


def test_a_name_that_holds_a_dot_is_not_a_path(tmp_path: Path) -> None:
    table = pa.table({"s.x": [1], "s": [{"x": 2}]})
    pq.write_table(table, tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], table.schema)
    assert [said(c)[:2] for c in statistics.columns] == [(1, 1), (2, 2)]


def test_field_ids_outweigh_names(tmp_path: Path) -> None:
    written = pa.schema(
        [
            pa.field("old", pa.int64(), metadata={"PARQUET:field_id": "1"}),
            pa.field("b", pa.int64(), metadata={"PARQUET:field_id": "2"}),
            pa.field(
                "s",
                pa.struct([pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "4"})]),
                metadata={"PARQUET:field_id": "3"},
            ),
        ]
    )
    pq.write_table(pa.Table.from_pydict({"old": [1], "b": [2], "s": [{"x": 3}]}, written), tmp_path / "a.parquet")
    inner = Field("renamed", pa.int64(), field_id=4)
    leaves = Schema(
        (
            Field("new", pa.int64(), field_id=1),
            Field(
                "old", pa.int64(), field_id=9
            ),  # added after "old" was renamed: not the column of that name in the file
            Field("t", pa.struct([("renamed", pa.int64())]), field_id=3, children=(inner,)),
        )
    ).leaves()
    new, old, nested = read_footers(LocalStorage(str(tmp_path)), ["a.parquet"], leaves).columns
    assert said(new) == (1, 1, 0)
    assert said(old) == (None, None, 1)
    assert said(nested) == (3, 3, 0)


def test_layouts_that_differ_only_in_structure_are_told_apart(tmp_path: Path) -> None:
    required = pa.field("x", pa.int64(), nullable=True)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "flat.parquet")
    nested = pa.schema([pa.field("s", pa.struct([required]), nullable=False)])
    pq.write_table(pa.Table.from_pylist([{"s": {"x": 2}}], nested), tmp_path / "nested.parquet")
    paths = [tmp_path / "flat.parquet", tmp_path / "nested.parquet"]
    column = one(footers(paths, pa.schema([("x", pa.int64())])), "x")
    assert said(column, 0) == (1, 1, 0)
    assert said(column, 1) == (None, None, 1)


# Footers --------------------------------------------------------------------------------------------------------------


def test_statistics_left_out_are_unknown_and_never_all_null(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, None], "b": ["x", "y", None]})
    pq.write_table(table, tmp_path / "a.parquet", write_statistics=["a"])
    statistics = footers([tmp_path / "a.parquet"], table.schema)
    assert said(one(statistics, "a")) == (1, 2, 1)
    assert said(one(statistics, "b")) == (None, None, None)
    assert doubt(one(statistics, "b")) == Doubt.NO_STATISTICS.value
    assert one(statistics, "b").needs_scan().to_pylist() == [True]


def test_one_row_group_without_statistics_makes_the_file_unknown(tmp_path: Path) -> None:
    # Values too long for statistics are left out by this writer's limit for that row group alone.
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(path, pa.schema([("s", pa.string())])) as writer:
        writer.write_table(pa.table({"s": ["b", "c"]}))
        writer.write_table(pa.table({"s": ["a" * 100_000]}))
    statistics = footers([path], pa.schema([("s", pa.string())]))
    group = pq.read_metadata(path).row_group(1).column(0).statistics
    if group is None or not group.has_min_max:
        assert doubt(one(statistics, "s")) == Doubt.NO_STATISTICS.value
        assert said(one(statistics, "s"))[:2] == (None, None)
    else:
        assert said(one(statistics, "s"))[:2] == ("a" * 100_000, "c")


def test_row_groups_all_null_and_empty_files_lend_no_bounds(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int32())])
    with pq.ParquetWriter(tmp_path / "some.parquet", schema) as writer:
        writer.write_table(pa.table({"a": pa.array([None, None], pa.int32())}))
        writer.write_table(pa.table({"a": pa.array([5, None], pa.int32())}))
    pq.write_table(pa.table({"a": pa.array([None], pa.int32())}), tmp_path / "null.parquet")
    pq.write_table(schema.empty_table(), tmp_path / "empty.parquet")
    pq.ParquetWriter(tmp_path / "none.parquet", schema).close()  # no row group at all
    names = ["some", "null", "empty", "none"]
    column = one(footers([tmp_path / f"{n}.parquet" for n in names], schema), "a")
    assert [said(column, row) for row in range(4)] == [(5, 5, 3), (None, None, 1), (None, None, 0), (None, None, 0)]
    assert [doubt(column, row) for row in range(4)] == [None] * 4


def test_arrow_does_not_count_null_structs_around_a_dictionary(tmp_path: Path) -> None:
    words = pa.array(["a", "b", "c"]).dictionary_encode()
    table = pa.table(
        {
            "s": pa.StructArray.from_arrays([words], ["word"], mask=pa.array([False, True, False])),
            "none": pa.StructArray.from_arrays([pa.nulls(3, pa.string())], ["word"]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0).column(0).statistics.null_count == 0  # wrong
    found = footers([tmp_path / "a.parquet"], table.schema)
    assert said(one(found, "s.word"))[2] is None
    assert said(one(found, "none.word"))[2] == 3


def test_nan_leaves_bounds_of_the_numbers_and_an_unknown_count(tmp_path: Path) -> None:
    table = pa.table({"f": [1.0, math.nan, None], "g": [math.nan, math.nan, math.nan], "n": pa.nulls(3, pa.float64())})
    pq.write_table(table, tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], table.schema)
    assert said(one(statistics, "f")) == (1.0, 1.0, 1)
    assert said(one(statistics, "g"))[:2] == (None, None)
    assert doubt(one(statistics, "g")) is not None
    assert [one(statistics, c).needs_scan().to_pylist() for c in "fgn"] == [[True], [True], [False]]


def test_bounds_of_text_are_never_exact(tmp_path: Path) -> None:
    pq.write_table(pa.table({"s": ["a"], "n": [1]}), tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], pa.schema([("s", pa.string()), ("n", pa.int64())]))
    assert one(statistics, "s").bounds.lower_exact.to_pylist() == [False]
    assert one(statistics, "n").bounds.lower_exact.to_pylist() == [True]


def test_a_file_that_cannot_be_read_is_told_and_touches_no_other(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2]})
    for name in ("good", "cut", "junk", "resized"):
        pq.write_table(table, tmp_path / name)
    whole = (tmp_path / "good").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-20])
    (tmp_path / "junk").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "broken").write_bytes(whole[:-60] + b"\xff" * 52 + whole[-8:])
    names = ["cut", "good", "junk", "missing", "resized", "broken", "good"]
    sizes = [len(whole)] * len(names)
    sizes[0], sizes[2], sizes[4] = len(whole) - 20, 8, len(whole) + 1
    leaves = schema_of(table.schema).leaves()
    statistics = read_footers(LocalStorage(str(tmp_path)), names, leaves, sizes=sizes)
    failures = statistics.failures.to_pylist()
    assert [f is None for f in failures] == [False, True, False, False, False, False, True]
    assert all(name in (failure or name) for name, failure in zip(names, failures, strict=True))
    column = one(statistics, "a")
    assert [said(column, r) for r in (1, 6)] == [(1, 2, 0)] * 2
    assert said(column, 0) == (None, None, None)
    assert doubt(column, 3) == Doubt.UNREADABLE.value
    assert column.bounds.row_count.to_pylist() == [None, 2, None, None, None, None, 2]


def test_every_truncation_is_a_failure_or_the_truth(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "s": ["x", "y"]}), tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    schema = schema_of(pa.schema([("a", pa.int64()), ("s", pa.string())])).leaves()
    for length in range(0, len(whole), 7):
        (tmp_path / "cut").write_bytes(whole[:length])
        assert read_footers(LocalStorage(str(tmp_path)), ["cut"], schema).failures[0].is_valid


@pytest.mark.slow
def test_a_footer_larger_than_the_first_read_is_read_whole(tmp_path: Path) -> None:
    table = pa.table({f"column_{n}": [n] for n in range(2000)})
    pq.write_table(table, tmp_path / "wide.parquet")
    assert said(footers([tmp_path / "wide.parquet"], table.schema).columns[1999])[:2] == (1999, 1999)


def test_no_files_and_no_leaves_are_fine(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a")
    storage = LocalStorage(str(tmp_path))
    assert len(read_footers(storage, [], schema_of(pa.schema([("a", pa.int64())])).leaves()).failures) == 0
    assert read_footers(storage, ["a"], []).failures.to_pylist() == [None]


def test_many_files_over_threads_keep_their_order(tmp_path: Path) -> None:
    paths = []
    for n in range(300):
        paths.append(tmp_path / f"{n}.parquet")
        column = {"a": [n, None]} if n % 3 else {"b": ["x"], "a": [n]}
        pq.write_table(pa.table(column), paths[-1])
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    many, single = footers(paths, schema, threads=4), footers(paths, schema, threads=1)
    assert one(many, "a").bounds.lower.to_pylist() == list(range(300))
    for left, right in zip(many.columns, single.columns, strict=True):
        assert left.doubt.to_pylist() == right.doubt.to_pylist()
        assert left.bounds.null_count == right.bounds.null_count


@pytest.mark.parametrize(
    ("nulls", "values", "known"),
    [
        (3, 10, True),
        (10, 10, True),
        (0, 10, True),
        (None, 10, False),
        (-1, 10, False),
        (11, 10, False),  # more than there are values
        (3, 9, False),  # the values are not those of the rows
        (3, 11, False),
        (9, 9, False),  # all of them, and one row more
    ],
)
def test_a_count_of_nulls_that_cannot_be_is_not_known(nulls: int | None, values: int, known: bool) -> None:
    found = Found(0, FileType(pa.int64(), Coding.NUMBER, "INT64", 8), False, None)
    raw = RawColumn(found, [None], [None], [nulls], [values], [80], [80])
    said = aggregate(raw, np.array([1]), np.array([10]), np.array([False]), pa.int64())
    assert said.nulls.to_pylist() == [nulls if known else None]


# Chunks ---------------------------------------------------------------------------------------------------------------


TABLE = pa.table(
    {
        "i": pa.array([1, 2, None, 4], pa.int64()),
        "j": pa.array([1, 2, 3, 4], pa.int32()),
        "t": ["x", "y", "z", None],
        "s": [{"x": 1, "y": 2.5}] * 4,
        "b": [True, False, None, True],
        "d": [Decimal("1.50")] * 4,
        "w": [dt.datetime(2020, 1, 1)] * 4,
        "l": [[1], [], None, [2, 3]],
    }
)


def parts(data: bytes) -> tuple[bytes, FileSchema]:
    footer = Footer.read(lambda start, length: data[start : start + length], len(data)).raw
    return footer, Layouts(()).schema_of(footer)


def asked(data: bytes) -> Chunks:
    footer, schema = parts(data)
    return look(footer, len(schema.prefix), schema.forms)


def bytes_of(table: pa.Table, **how: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **how)
    return out.getvalue()


def test_encrypted_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_encrypted(path, TABLE, "j", "s.y")
    assert asked(path.read_bytes()) == Chunks(frozenset({1, 4}))


@pytest.mark.parametrize("codec", [-1, 8, 99])
def test_a_column_of_an_unknown_codec_is_asked_of_nobody(tmp_path: Path, codec: int) -> None:
    """Arrow ends the process that asks it for the codec's name."""
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)

    def harm(footer: Struct) -> None:
        for group in footer[ROW_GROUPS].values:
            group[COLUMNS].values[1][META_DATA].put(4, I32, codec)

    change(path, harm)
    assert asked(path.read_bytes()) == Chunks(frozenset({1}))


def test_an_encrypted_column_is_unknown_and_the_others_are_told(tmp_path: Path) -> None:
    write_encrypted(tmp_path / "a.parquet", TABLE, "j")
    pq.write_table(TABLE, tmp_path / "b.parquet")
    found = footers([tmp_path / "a.parquet", tmp_path / "b.parquet"], TABLE.schema)
    assert found.failures.to_pylist() == [None, None]
    hidden = one(found, "j")
    assert said(hidden) == (None, None, None)
    assert said(hidden, 1) == (1, 4, 0)
    assert hidden.doubt.to_pylist() == ["the column is encrypted in the file", None]
    assert hidden.present.to_pylist() == [None, True]
    assert said(one(found, "i")) == said(one(found, "i"), 1) == (1, 4, 1)


def test_an_encrypted_footer_is_a_failure_of_its_file(tmp_path: Path) -> None:
    write_encrypted(tmp_path / "a.parquet", TABLE, "j", plaintext_footer=False)
    (why,) = footers([tmp_path / "a.parquet"], TABLE.schema).failures.to_pylist()
    assert "encrypted" in why


@pytest.mark.parametrize("writer", sorted(WRITERS))
def test_what_writers_write_is_of_a_known_form(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each column of each row group of such files costs ten times as much."""
    path = tmp_path / "a.parquet"
    WRITERS[writer](TABLE, path)
    known = footer_chunks._known_form
    answers = []

    def counted(walk: Compact, form: footer_chunks.LeafForm) -> int | None:
        answers.append(known(walk, form))
        return answers[-1]

    monkeypatch.setattr(footer_chunks, "_known_form", counted)
    assert asked(path.read_bytes()) == Chunks()
    assert answers
    assert set(answers) == {0}


def _of_another_type(footer: Struct) -> None:
    footer[ROW_GROUPS].values[0][COLUMNS].values[0][META_DATA].put(1, I32, 1)


def _of_no_type(footer: Struct) -> None:
    footer[SCHEMA].values[1].put(1, I32, 39)


def _with_a_column_too_few(footer: Struct) -> None:
    footer[ROW_GROUPS].values[0][COLUMNS].values.pop()


def _with_other_levels(footer: Struct) -> None:
    footer[ROW_GROUPS].values[0][COLUMNS].values[0][META_DATA][16][3].values.append(0)


def _with_a_bound_that_is_a_number(footer: Struct) -> None:
    statistics(footer)[0].put(6, I32, 1)


@pytest.mark.parametrize(
    "damage",
    [
        _of_another_type,
        _of_no_type,
        _with_a_column_too_few,
        _with_other_levels,
        _with_a_bound_that_is_a_number,
    ],
)
def test_a_footer_that_contradicts_itself_is_a_failure(damage: object, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    change(path, damage)
    found = footers([path], TABLE.schema)
    (why,) = found.failures.to_pylist()
    assert "damaged" in why
    assert said(one(found, "i")) == (None, None, None)


def test_a_bound_that_is_cut_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)

    def cut(footer: Struct) -> None:
        stated = statistics(footer)[0]
        stated.put(6, BINARY, stated[6][:3])

    change(path, cut)
    assert asked(path.read_bytes()) == Chunks(unstated=frozenset({(0, 0)}))
    found = footers([path], TABLE.schema)
    assert said(one(found, "i")) == (None, None, None)
    assert said(one(found, "j")) == (1, 4, 0)


WHOLE = [
    bytes_of(TABLE, row_group_size=2),
    bytes_of(TABLE, row_group_size=3, store_schema=False, write_page_index=True),
]


def mutated(random: Random, whole: bytes) -> bytes:
    """A file whose footer was changed at random."""
    size = int.from_bytes(whole[-8:-4], "little")
    footer = whole[-8 - size : -8]
    for _ in range(random.randint(1, 3)):
        footer = random_bytes(random, footer, lambda: ("the whole", whole))[0]
    return whole[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _answer(data: bytes) -> Chunks | str:
    try:
        return asked(data)
    except MetaIndexError as error:
        return type(error).__name__


@given(RANDOM, st.sampled_from(WHOLE))
def test_patterns_say_what_thrift_says(random: Random, whole: bytes) -> None:
    data = mutated(random, whole)
    fast = _answer(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(footer_chunks, "_known_form", lambda walk, form: None)
        assert _answer(data) == fast


@pytest.mark.slow
def test_no_footer_ends_the_process() -> None:
    """In a process of its own, which is what would end: footers changed at random, their statistics asked."""
    count = few(300, 3000)
    code = f"import tests.formats.{Path(__file__).stem} as it; it.survive({count})"
    python("-c", code, cwd=Path(__file__).parents[2])


def survive(count: int) -> None:
    """Raises what is no error of ours and none of Arrow."""

    random = Random(7)
    leaves = tuple(schema_of(TABLE.schema).leaves())
    for _ in range(count):
        data = mutated(random, WHOLE[0])
        with contextlib.suppress(MetaIndexError, pa.ArrowException):
            Footer.read(lambda start, length, of=data: of[start : start + length], len(data)).columns(Layouts(leaves))
    os._exit(0)


def test_a_long_number_is_refused_at_once() -> None:
    with pytest.raises(CorruptTableError, match="damaged"):
        Layouts(()).schema_of(b"\x15" + b"\x80" * 5_000_000 + b"\x00")
