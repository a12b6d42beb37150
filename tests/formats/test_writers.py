"""What is believed of footers, by who wrote them: golden files whose footers lie, and counts of NULLs by writer."""

import datetime as dt
import hashlib
import math
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.formats import Trust
from metaindex.formats.parquet.schema import Coding, FileType
from metaindex.formats.parquet.writers import EVERY, LIES, REVISION, TRIED, Claim, Kind, Range, Writer
from tests.formats import footer_surgery as surgery
from tests.formats.footers_of import footers, one, said
from tests.formats.writers import hold
from tests.formats.writers_found import PAGE, page, read

OLDER = ("NUMBER", "UNSCALED", "UNSIGNED", "BYTES")  # codings that were believed of every writer
REVISIONS = {1: "6ecb70fd17d0ca84"}
GOLDEN = sorted((Path(__file__).parents[1] / "writers" / "golden").glob("*.parquet"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_of_a_footer_that_lies_only_what_holds_is_believed(file: Path) -> None:
    rows, metadata = pq.read_table(file), pq.read_metadata(file)
    lies = 0
    statistics = footers([file], rows.schema)
    for at, name in enumerate(rows.column_names):
        values = (
            pc.cast(rows[name], rows[name].type.value_type) if pa.types.is_dictionary(rows[name].type) else rows[name]
        )
        groups = [metadata.row_group(group).column(at).statistics for group in range(metadata.num_row_groups)]
        least, greatest = pc.min_max(values).as_py().values()
        lies += sum(group.null_count for group in groups) != values.null_count
        lies += min(group.min for group in groups) > least or max(group.max for group in groups) < greatest
        hold(values, one(statistics, name).bounds, 0)
    assert lies, "a golden file is kept for what is wrong in it"


@pytest.mark.parametrize(
    ("created_by", "believed"),
    [
        ("parquet-cpp-arrow version 26.0.0", {0, 2, 4}),
        ("parquet-cpp-arrow version 5.0.0", {4}),
        ("parquet-mr version 1.9.0 (build 38262e2c80015d0935dad20f8e18f2d6f9fbd03c)", set()),
        ("parquet-mr version 1.13.1 (build db4183109d5b734ec5930d870cdae161e408ddba)", {0, 2, 4}),
        ("Polars", {0}),
        ("a stranger", set()),
        ("", set()),
    ],
)
def test_a_count_of_nulls_is_believed_by_its_writer(created_by: str, believed: set[int], tmp_path: Path) -> None:
    for nulls in (0, 2, 4):
        path = tmp_path / f"{nulls}.parquet"
        pq.write_table(pa.table({"n": pa.array([None] * nulls + [7] * (4 - nulls), pa.int32())}), path)
        surgery.change(path, lambda footer: footer.put(surgery.CREATED_BY, surgery.BINARY, created_by.encode()))
        known = said(one(footers([path], pa.schema({"n": pa.int32()})), "n"))[2]
        assert known == (nulls if nulls in believed else None)


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_of_an_index_by_older_rules_nothing_is_believed_that_they_got_wrong(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(file, tmp_path / "a.parquet")
    table = mi.open_table(tmp_path)
    with monkeypatch.context() as older:
        older.setattr(Writer, "believed", lambda _, type_, inside: EVERY if type_.coding.name in OLDER else Claim(0))
        older.setattr("metaindex.index.store.writer.RunSink.sealed.__kwdefaults__", {"trusted": 0})
        table.create_index("find", mi.ColumnStats(scan_floats=False), builder="local")
    stored = [table.statistics("find", name).column("trust").to_pylist() for name in pq.read_schema(file).names]
    assert [int(Trust.FOOTER)] in stored or file.stem.endswith("decimal")
    _agrees(table, pq.read_table(file))
    asked = f"{pq.read_schema(file).names[0]} IS NULL"
    for shown in (table.verify_index("find"), table.prune(asked), *table.indexes()):
        assert "refresh it with mode='full'" in str(shown)
    table.refresh_index("find", mode="full", builder="local")
    _agrees(table, pq.read_table(file))
    assert "refresh it" not in str(table.prune(asked))


def _agrees(table: mi.Table, rows: pa.Table) -> None:
    """Whether a value is there, how often, and how many there are."""
    for name in rows.column_names:
        values = rows[name].to_pylist()
        for value in {value for value in values if not isinstance(value, float) or math.isfinite(value)}:
            asked = f"{name} IS NULL" if value is None else f"{name} = {_literal(value)}"
            found = values.count(value)
            assert (table.scan(asked).to_arrow().num_rows, table.count(asked)) == (found, found), asked
        ((_, counted),) = table.aggregate(count=[name]).table.to_pylist()[0].items()
        assert counted == len(values) - values.count(None), name


def _literal(value: object) -> str:
    return (
        str(value)
        if isinstance(value, int | float | Decimal)
        else f"DATE '{value}'"
        if isinstance(value, dt.date)
        else f"'{value}'"
    )


def test_floats_in_total_order_are_believed_with_their_count_of_nan(tmp_path: Path) -> None:
    file = GOLDEN[0].parents[1] / "total-order.parquet"
    rows = pq.read_table(file)
    column = one(footers([file], rows.schema), "c")
    assert hold(rows["c"], column.bounds, 0) == 2
    assert column.bounds.nan_count.to_pylist() == [
        sum(math.isnan(value) for value in rows["c"].drop_null().to_pylist())
    ]
    assert column.needs_scan().to_pylist() == [False]
    stranger = tmp_path / "a.parquet"
    shutil.copy(file, stranger)
    surgery.change(stranger, lambda footer: footer.put(surgery.CREATED_BY, surgery.BINARY, b"a stranger"))
    column = one(footers([stranger], rows.schema), "c")
    assert hold(rows["c"], column.bounds, 0) == 2
    assert column.bounds.nan_count.to_pylist() == [None]


def test_a_table_that_believes_less_has_another_revision() -> None:
    told = hashlib.sha256(repr(LIES).encode()).hexdigest()[:16]
    assert REVISIONS[REVISION] == told, (
        f"where less is believed than before, raise REVISION and say in `reconsidered` of what; then note {told!r} here"
    )


TYPES = {
    Kind.WHOLE: FileType(pa.int64(), Coding.NUMBER, "INT64", 8),
    Kind.UNSIGNED: FileType(pa.uint64(), Coding.UNSIGNED, "INT64", 8),
    Kind.FLOAT: FileType(pa.float64(), Coding.NUMBER, "DOUBLE", 8),
    Kind.HALF: FileType(pa.float16(), Coding.HALF, "FIXED_LEN_BYTE_ARRAY", 2),
    Kind.DECIMAL_BYTES: FileType(pa.decimal128(38, 2), Coding.DECIMAL_BYTES, "FIXED_LEN_BYTE_ARRAY", 16),
    Kind.BYTES: FileType(pa.string(), Coding.BYTES, "BYTE_ARRAY", 0),
}
FOUND = [row for row in read()[0] if row.claim in Claim.__members__ and row.kind != "INT96"]


def test_what_a_writer_gets_wrong_is_not_believed() -> None:
    believed = []
    for row in FOUND:
        claims = Writer(row.writer, row.version, row.dictionaries).believed(TYPES[Kind[row.kind]], row.inside)
        cut = (row.claim, row.kind) == ("ATTAINED", "BYTES")  # texts may be cut, and are never said to be exact
        if row.lies and Claim[row.claim] in claims and not cut:
            believed.append(row)
    assert not believed


@pytest.mark.parametrize("tried", TRIED, ids=str)
def test_what_is_believed_of_a_writer_was_tried(tried: Range) -> None:
    rows = [row for row in FOUND if tried.holds(Writer(row.writer, row.version))]
    first, last = (pick((row.version for row in rows), default=None) for pick in (min, max))
    assert first is not None
    assert first[: len(tried.since)] == tried.since
    assert last is not None
    if last:
        *same, part = last[: len(tried.before)]
        assert (*same, part + 1) == tried.before, "the next one was not tried"
    for kind in TRIED[tried]:
        compared = Counter[str]()
        for row in rows:
            compared[row.claim] += row.compared if row.kind == kind.name else 0
        assert all(compared[claim] for claim in ("BOUNDS", "NO_NULL", "SOME_NULLS")), (kind, compared)


def test_the_page_of_the_docs_is_of_what_was_found() -> None:
    assert PAGE.read_text() == page(*read()), "python -m tests.writers draws it"
