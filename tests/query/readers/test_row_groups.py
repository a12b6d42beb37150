"""Row groups are left out by what the footer says of them: no row is lost by it, and only what may match is read."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import CorruptTableError
from metaindex.formats import Field, HeldFooters, OpenedFile, Schema
from metaindex.query.readers import row_groups
from metaindex.query.readers.row_groups import RowGroups
from tests.evaluate import matches
from tests.expressions.engines.tables import arrow_schema, bound, table_of
from tests.formats.encrypted import write_encrypted
from tests.formats.footer_surgery import BINARY, COLUMNS, I64, META_DATA, ROW_GROUPS, Struct, change
from tests.query.readers.lake import Lake, fields_of
from tests.query.readers.lake import bound as parsed
from tests.strategies import TYPES, predicates, rows, schemas
from tests.tables import settle


@pytest.fixture(autouse=True, scope="module")
def of_any_size() -> Iterator[None]:
    """Small files are read whole; these tests are about small files that are not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_groups, "SMALL_BYTES", 0)
        yield


@settings(max_examples=settings.default.max_examples * 60 // 100)
@given(data=st.data())
def test_no_row_is_lost_or_gained_by_leaving_row_groups_out(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    schema = data.draw(schemas([t for t in TYPES if t != pa.timestamp("s")]))
    known = arrow_schema(schema)
    predicate = bound(data.draw(predicates(schema)), known)
    table_rows = data.draw(st.lists(rows(schema), min_size=1, max_size=12))
    numbered = table_of(table_rows, known).append_column("row number", pa.array(range(len(table_rows)), pa.int64()))
    lake = Lake(tmp_path_factory.mktemp("t"), Schema(fields_of(numbered.schema)))
    at = lake.add("f.parquet", numbered, row_group_size=data.draw(st.integers(1, 4)))
    gone = data.draw(st.sets(st.integers(0, len(table_rows) - 1), max_size=4))
    if gone:
        lake.delete(at, sorted(gone))
    found = replace(lake.scan(), predicate=predicate).to_arrow()["row number"].to_pylist()
    assert found == [n for n, row in enumerate(table_rows) if matches(predicate, row) is True and n not in gone]


def runs(path: Path, where: str, schema: pa.Schema, fields: tuple[Field, ...] | None = None) -> list[range]:
    known = Schema(fields or fields_of(schema))
    with pa.OSFile(str(path)) as source:
        return RowGroups(parsed(where, known), known).open(source)[1]


def test_only_row_groups_that_may_match_are_read(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    table = pa.table({"a": np.arange(1000), "p": np.arange(1000), "s": [f"k{i:03}" for i in range(1000)]})
    pq.write_table(table, path, row_group_size=100)
    assert runs(path, "a = 250", table.schema) == [range(2, 3)]
    assert runs(path, "a < 150 OR s >= 'k888'", table.schema) == [range(0, 2), range(8, 10)]
    assert runs(path, "a = 5000", table.schema) == []
    # The partition says what the column's values are, whatever the file holds under its name.
    fields = tuple(replace(f, partition=f.name == "p") for f in fields_of(table.schema))
    assert runs(path, "p = 5000", table.schema, fields) == [range(0, 10)]
    assert runs(path, "a = 250 AND p = 5000", table.schema, fields) == [range(2, 3)]


def test_a_small_file_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": np.arange(1000)}), path, row_group_size=100)
    monkeypatch.setattr(row_groups, "SMALL_BYTES", path.stat().st_size)
    assert runs(path, "a = 250", pa.schema({"a": pa.int64()})) == [range(0, 10)]


def test_positions_count_from_the_files_first_row(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"a": pa.int64()}))))
    row = lake.add("f.parquet", pa.table({"a": np.arange(1000)}), row_group_size=100)
    lake.delete(row, [5, 250, 251, 999])
    assert [r["a"] for r in lake.read("a IN (5, 6, 249, 250, 251, 252, 998, 999)")] == [6, 249, 252, 998]


def test_a_footer_that_cannot_be_read_is_the_readers_to_refuse(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"a": pa.int64()}))))
    lake.add("f.parquet", pa.table({"a": np.arange(1000)}), row_group_size=100)
    path = tmp_path / "f.parquet"
    whole = path.read_bytes()
    for damaged in (whole[:-20], b"", whole[:-8] + b"\xff\xff\xff\x7fPAR1", b"PAR1" * 5):
        path.write_bytes(damaged)
        with pytest.raises(CorruptTableError, match=r"f\.parquet"):
            lake.read("a = 7")


def test_a_default_inside_a_struct_does_not_hide_null_structs(tmp_path: Path) -> None:
    x, y = Field("x", pa.int64(), source="x", default=7), Field("y", pa.int64(), source="y")
    inside = pa.struct([("x", pa.int64()), ("y", pa.int64())])
    lake = Lake(tmp_path, Schema((Field("s", inside, source="s", children=(x, y)),)))
    lake.add("f.parquet", pa.table({"s": [{"y": 1}, None]}))
    assert lake.read("s.x IS NULL") == [{"s": None}]
    assert lake.read("s.x = 7") == [{"s": {"x": 7, "y": 1}}]


@pytest.mark.parametrize(
    "where", ["k = 3", "k IN (3, 5)", "k <=> 3", "k = 3 AND n > 40", "k = 3 OR n = 7", "NOT k = 3", "k = NULL", "k > 8"]
)
def test_what_is_worked_out_once_for_all_files_is_what_the_walk_says_of_each(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_groups, "SMALL_BYTES", 1 << 20)  # keys alone
    root = tmp_path / "t"
    root.mkdir()
    for file in range(6):
        numbers = np.arange(file * 20, file * 20 + 20)
        table = pa.table({"n": numbers, "k": (numbers * (file + 1)) // 5 % 11})
        pq.write_table(table, root / f"{file}.parquet", row_group_size=5 + file)
    opened = mi.open_table(str(root), config=mi.Config(settle_seconds=0))
    opened.create_index("i", mi.Values("k"), mi.Values("n", by="value"), builder="local")
    scan = opened.scan(where)
    result = scan.result
    chosen = RowGroups(scan.asked, scan.snapshot.schema, result, apart=True)
    for path in result.files.paths.to_pylist():
        with scan.storage.open_input(path) as source:
            file, runs = chosen.open(source, path)
            assert [one.start for one in runs] == result.row_groups(path, file.footer.metadata.num_row_groups)


def test_an_answer_to_another_predicate_says_nothing_of_row_groups(tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(1000)})
    pq.write_table(table, tmp_path / "f.parquet", row_group_size=100)
    settle(tmp_path)
    opened = mi.open_table(str(tmp_path))
    opened.create_index("i", mi.Values("a"), builder="local")
    result = opened.prune("a = 250")
    assert result.knows_row_groups
    schema = Schema(fields_of(table.schema))
    for where, left in (("a = 250", range(2, 3)), ("a = 750", range(7, 8))):
        with pa.OSFile(str(tmp_path / "f.parquet")) as source:
            predicate = result.predicate if where == "a = 250" else parsed(where, schema)
            assert RowGroups(predicate, schema, result).open(source, "f.parquet")[1] == [left]


def spans_of(path: Path) -> list[tuple[int, int]] | None:
    with suppress(*OpenedFile.DOUBTS), pa.OSFile(str(path)) as source:
        return HeldFooters(0).open(source, None, gather=False, stated=True).group_spans(source)
    return None


def of_groups(path: Path, sizes: list[int]) -> Path:
    first = 0
    with pq.ParquetWriter(path, pa.schema({"a": pa.int64(), "s": pa.string()})) as out:
        for size in sizes:
            ids = range(first, first := first + size)
            out.write_table(pa.table({"a": ids, "s": [f"{i:>9}" for i in ids]}), row_group_size=max(1, size))
    return path


@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=9))
def test_row_groups_stand_one_behind_another(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]) -> None:
    path = of_groups(tmp_path_factory.mktemp("t") / "f.parquet", sizes)
    spans = spans_of(path)
    assert spans is not None
    assert [start for start, _ in spans] == [4, *(end for _, end in spans[:-1])]
    groups = map(pq.read_metadata(path).row_group, range(len(sizes)))
    stored = [sum(group.column(at).total_compressed_size for at in range(2)) for group in groups]
    assert [end - start for start, end in spans] == stored


FIRST_PAGE, COMPRESSED = 9, 7  # of a column
FILE_PATH, STORED = 1, 6  # of a column, of a row group


def _group(at: int, change_: Callable[[Struct], None]) -> Callable[[Struct], None]:
    return lambda footer: change_(footer[ROW_GROUPS].values[at])


def _columns(group: Struct) -> list[Struct]:
    return [column[META_DATA] for column in group[COLUMNS].values]


@pytest.mark.parametrize(
    "operate",
    [
        _group(0, lambda group: group.put(STORED, I64, 10**6)),
        _group(0, lambda group: group.put(STORED, I64, -(10**6))),
        _group(1, lambda group: group[COLUMNS].values[1].put(FILE_PATH, BINARY, b"elsewhere")),
        _group(1, lambda group: _columns(group)[0].put(FIRST_PAGE, I64, 4)),
        _group(1, lambda group: _columns(group)[0].put(COMPRESSED, I64, 10**6)),
        _group(2, lambda group: _columns(group)[1].put(COMPRESSED, I64, 10**6)),
        _group(2, lambda group: group[COLUMNS].values.reverse()),
        lambda footer: footer[ROW_GROUPS].values.reverse(),
    ],
    ids=["too long", "negative", "elsewhere", "at one place", "over the next", "over the end", "columns", "order"],
)
def test_a_footer_of_another_layout_tells_no_places(tmp_path: Path, operate: Callable[[Struct], None]) -> None:
    path = of_groups(tmp_path / "f.parquet", [50, 60, 70])
    assert spans_of(path) is not None
    change(path, operate)
    assert spans_of(path) is None


def test_encrypted_columns_and_long_footers_tell_no_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_encrypted(tmp_path / "e.parquet", pa.table({"a": range(9), "s": range(9)}), "s")
    assert spans_of(tmp_path / "e.parquet") is None
    path = of_groups(tmp_path / "f.parquet", [50, 60, 70])
    monkeypatch.setattr("metaindex.formats.parquet.opened._MOST_CHUNKS", 5)
    assert spans_of(path) is None
