"""A query log lies in a lake that others write: what is no file of it is refused by name, no reader filled up."""

import datetime as dt
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.formats.parquet.schema import varint
from metaindex.query.query_log import files
from metaindex.query.query_log.files import ID, new_name
from metaindex.query.query_log.reading import logged
from metaindex.query.query_log.row import SCHEMA
from metaindex.storage import ObjectInfo, Storage
from tests.formats.encrypted import write_encrypted
from tests.query.query_log.lake import START_MS, folder_of, noted, numbers, row, storage_of, written
from tests.tables import delta_lake

ABOUT = {b"metaindex.query_log": b"1"}
STORED = pa.schema([pa.field(ID, pa.binary(16)), *SCHEMA])


@pytest.fixture
def table(tmp_path: Path) -> mi.Table:
    table = noted(delta_lake(tmp_path))
    written(storage_of(table), range(3))
    return table


def _rows(count: int, **columns: object) -> pa.Table:
    values = {
        ID: [number.to_bytes(16, "big") for number in range(count)],
        "at": [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)] * count,
        **columns,
    }
    none: list[object] = [None] * count
    arrays = [pa.array(cast("list[object]", values.get(field.name, none)), field.type) for field in STORED]
    return pa.table(arrays, schema=STORED)


def _parquet(table: pa.Table, about: dict[bytes, bytes] | None = None) -> Callable[[Path], None]:
    return lambda path: pq.write_table(table.replace_schema_metadata(ABOUT if about is None else about), path)


def _repeated(rows: Callable[[], pa.Table]) -> Callable[[Path], None]:
    """Rows that take much memory are made when they are written, not in each process that imports this file."""

    def written_to(path: Path) -> None:
        _parquet(rows())(path)

    return written_to


def _bytes(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None  # type: ignore[func-returns-value]


def _cut(path: Path) -> None:
    _parquet(_rows(2))(path)
    path.write_bytes(path.read_bytes()[:-40] + b"PAR1")


def _turned(path: Path) -> None:
    _parquet(_rows(2))(path)
    data = bytearray(path.read_bytes())
    data[8:60] = b"\xff" * 52
    path.write_bytes(data)


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(files.MOST_BYTES + 1)


def _by_another_writer(path: Path) -> None:
    _parquet(_rows(2))(path)
    path.write_bytes(path.read_bytes().replace(b"parquet-cpp-arrow", b"parquet-mr version"[:17]))


def _claiming(
    *, size_bytes: int = 910, values: int = 1, encoding: int = 0, packed: int = 910, kind: int | None = 0
) -> Callable[[Path], None]:
    """The first page of a text has a header that says so; its footer is as it was."""

    def make(path: Path) -> None:
        table = _rows(1, predicate=["x" * 900]).replace_schema_metadata(ABOUT)
        pq.write_table(table, path, compression="none", use_dictionary=False)
        chunk = pq.read_metadata(path).row_group(0).column(STORED.get_field_index("predicate"))
        start, end = chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size
        data = path.read_bytes()
        body = data[end - 910 : end]  # levels in 6 bytes, and a text behind the 4 of its length
        told = b"".join([b"\x2c", *map(_i32, (values, encoding, 3, 3)), b"\0"])
        header = b"".join(map(_i32, (kind or 0, size_bytes, packed))) + told
        other = end - start - len(header) - len(body) - 4  # a field that nobody knows
        header += b"\xa8" + bytes([other & 127 | 128, other >> 7]) + b"x" * other + b"\0"
        path.write_bytes(data[:start] + (header if kind is not None else b"\xff" * len(header)) + body + data[end:])

    return make


def _i32(value: int) -> bytes:
    return b"\x15" + varint(value << 1 ^ value >> 31)


HOSTILE: dict[str, Callable[[Path], None]] = {
    "nothing in it": _bytes(b""),
    "no Parquet": _bytes(b"PAR1" * 100),
    "cut": _cut,
    "turned bytes": _turned,
    "too large": _large,
    "no metadata": _parquet(_rows(1), {}),
    "a newer format": _parquet(_rows(1), {b"metaindex.query_log": b"2"}),
    "another format": _parquet(_rows(1), {b"metaindex.query_log": b"\xff"}),
    "other columns": _parquet(pa.table({"a": [1]})),
    "another type": _parquet(_rows(1).set_column(5, "join_keys", pa.array([None], pa.list_(pa.int64())))),
    "no id": _parquet(_rows(1, **{ID: [None]})),
    "no time": _parquet(_rows(1, at=[None])),
    "a time beyond all days": _parquet(_rows(1, at=[1 << 62])),
    "a time before all days": _parquet(_rows(1, at=[-(1 << 62)])),
    "a duration that is no number": _parquet(_rows(2, milliseconds=[1.0, float("nan")])),
    "a duration without an end": _parquet(_rows(1, milliseconds=[float("inf")])),
    "files below none": _parquet(_rows(1, files_read=[-1])),
    "more bytes than there are": _parquet(_rows(1, bytes_left_out=[1 << 62])),
    "texts longer than any": _parquet(_rows(1, predicate=["x" * (1 << 18)])),
    "texts that a dictionary makes small": _repeated(lambda: _rows(10_000, predicate=["x" * (1 << 16)] * 10_000)),
    "encrypted columns": lambda path: write_encrypted(path, _rows(2).replace_schema_metadata(ABOUT), "predicate"),
    "another writer's": _by_another_writer,
    "pages larger than the footer says": _claiming(size_bytes=(1 << 31) - 1),
    "pages of more values than the footer says": _claiming(values=(1 << 31) - 1),
    "pages of no size": _claiming(size_bytes=-1),
    "pages of texts told by those before them": _claiming(encoding=7),
    "pages without an end": _claiming(packed=(1 << 31) - 1),
    "pages of another kind": _claiming(kind=3),
    "pages without a header": _claiming(kind=None),
    "lists that a dictionary makes small": _repeated(lambda: _rows(500, columns=[["x" * (1 << 16)] * 20] * 500)),
}


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=[pytest.mark.slow] if "dictionary" in name else [])
        for name, make in HOSTILE.items()
    ],
)
def test_what_is_no_file_of_the_log_is_refused_by_name(
    make: Callable[[Path], None], table: mi.Table, caplog: pytest.LogCaptureFixture
) -> None:
    name = new_name(START_MS + 1)
    make(folder_of(table) / name)
    with caplog.at_level(logging.WARNING, "metaindex"):
        assert numbers(table.query_log()) == [0, 1, 2]
    assert sum(name in each.getMessage() for each in caplog.records) == 1
    assert name in "".join(logged(storage_of(table)).summary("t").notes)
    written(storage_of(table), range(3, 5), START_MS + 1)
    cleaned = table.clean_query_log()
    assert (folder_of(table) / name).exists() == (cleaned.removed == 0)
    assert numbers(table.query_log()) in ([0, 1, 2, 3, 4], [])


def test_a_page_as_its_header_says_is_read(table: mi.Table) -> None:
    _claiming()(folder_of(table) / new_name(START_MS + 1))
    assert "x" * 900 in table.query_log().column("predicate").to_pylist()


class _Held:
    """A store of one object."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, path: str) -> bytes:
        return self.data


WHOLE = files.encoded([row(number) for number in range(50)], mi.QueryLog())


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_whatever_bytes_are_changed_a_file_is_read_or_refused(changed: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for at, byte in changed:
        data[-1 - at] = byte
    info = ObjectInfo(new_name(START_MS), len(data), 0)
    with suppress(mi.DamagedIndexError, mi.ForeignIndexError):
        files.read(cast("Storage", _Held(bytes(data))), info)


def test_rows_that_no_sum_holds_are_told(table: mi.Table) -> None:
    most = 1 << 53
    rows = _rows(3_000, bytes_left_out=[most] * 3_000, bytes_read=[0] * 3_000, indexes=[["i"]] * 3_000)
    _parquet(rows)(folder_of(table) / new_name(START_MS + 2))
    assert table.savings().total.bytes_left_out >= 3_000 * most
    assert str(table.savings())
    assert sum(each.bytes_left_out for each in logged(storage_of(table)).summary("t").templates) >= 3_000 * most


def test_of_very_many_templates_the_first_are_shown(table: mi.Table) -> None:
    texts = [f"`column {number}` = 1" for number in range(1_500)]
    _parquet(_rows(1_500, predicate=texts))(folder_of(table) / new_name(START_MS + 2))
    told = logged(storage_of(table)).summary("t")
    assert len(told.templates) == 1_501
    assert len(str(told).splitlines()) < 1_010
    assert "501 more" in str(told)


def test_names_of_indexes_that_nobody_has_are_bounded(table: mi.Table) -> None:
    """One row may name a million of them: a table as large as its square was made."""
    names = [f"index {number}" for number in range(200_000)]
    _parquet(_rows(3, indexes=[names, ["stats", "gone"], ["gone"]]))(folder_of(table) / new_name(START_MS + 2))
    told = table.savings()
    assert told["stats"].spared.helped == 1
    assert told["gone"].spared.helped == 2
    assert len(told.indexes) == 101
    assert "199,901 more names" in str(told)


def test_other_files_there_are_nobodys(table: mi.Table) -> None:
    for name in ("notes.txt", "1-2.queries", new_name(1).upper(), f"{new_name(1)}.bak"):
        (folder_of(table) / name).write_bytes(b"x")
    (folder_of(table) / "below").mkdir()
    (folder_of(table) / "below" / new_name(1)).write_bytes(b"x")
    before = sorted(path.name for path in folder_of(table).iterdir() if not path.name.startswith("017"))
    assert numbers(table.query_log()) == [0, 1, 2]
    table.reopened(mi.Config(query_log=mi.QueryLog(keep_days=0))).clean_query_log()
    assert [name for name in before if not (folder_of(table) / name).exists()] == []
    assert table.query_log().num_rows == 0


def _link(path: Path) -> None:
    other = path.parents[1] / "other"
    other.write_bytes(b"x")
    path.symlink_to(other)


def _closed(path: Path) -> None:
    _parquet(_rows(1))(path)
    path.chmod(0)


NO_FILES = {"a link": _link, "a link to nothing": lambda path: path.symlink_to("nothing"), "a pipe": os.mkfifo}
NO_FILES |= {} if os.getuid() == 0 else {"a file that is closed": _closed}


@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES)
def test_what_is_no_plain_file_is_left_out_by_its_name(
    make: Callable[[Path], None], table: mi.Table, caplog: pytest.LogCaptureFixture
) -> None:
    name = new_name(START_MS)
    make(folder_of(table) / name)
    with caplog.at_level(logging.WARNING, "metaindex"):
        assert numbers(table.query_log()) == [0, 1, 2]
    assert sum(name in each.getMessage() for each in caplog.records) == 1
    written(storage_of(table), range(3, 5), START_MS + 1)
    cleaned = table.reopened(mi.Config(query_log=mi.QueryLog(keep_days=100_000))).clean_query_log()
    assert cleaned.merged == 2
    assert [name in why for why in cleaned.left] == [True]
    assert numbers(table.query_log()) == [0, 1, 2, 3, 4]
    assert os.path.lexists(folder_of(table) / name)
    assert "helped" in str(table.savings())


def test_values_of_others_do_not_steer_a_terminal(table: mi.Table) -> None:
    hostile = "\x1b[31m<script>alert(1)</script>\n"
    _parquet(_rows(1, predicate=[hostile], engine=[hostile]))(folder_of(table) / new_name(START_MS + 2))
    told = logged(storage_of(table)).summary("t")
    assert "\x1b" not in repr(told)
    assert "<script>" not in told._repr_html_()
    assert "\x1b" not in str(told)


def test_the_newest_rows_are_read_where_there_are_too_many(table: mi.Table) -> None:
    for day in range(1, 6):
        written(storage_of(table), range(day * 10, day * 10 + 3), START_MS + day * 1000)
    told = logged(storage_of(table), most_rows=7)
    assert numbers(told.rows) == [30, 31, 32, 40, 41, 42, 50, 51, 52]
    assert told.older == 3
    assert numbers(logged(storage_of(table), START_MS + 4000).rows) == [40, 41, 42, 50, 51, 52]


def test_since_is_how_far_back(table: mi.Table) -> None:
    table.prune("id = 1")
    assert table.query_log(dt.timedelta(hours=1)).num_rows == 1
    with pytest.raises(mi.ArgumentError):
        table.query_log(5)  # type: ignore[arg-type]


def test_a_summary_groups_queries_by_what_they_have_in_common(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    for number in range(5):
        table.prune(f"id = {number}")
    table.prune("id > -1")
    table.scan().to_arrow()
    told = logged(storage_of(table)).summary(table.path)
    assert told.queries < 7  # what waits is not there yet
    table.query_log()
    told = logged(storage_of(table)).summary(table.path)
    first, *others = told.templates
    assert (first.text, first.queries, first.helped, first.files_read, first.files_left_out) == (
        "(`id` = ?)",
        5,
        5,
        5,
        5,
    )
    assert [(each.text, each.queries, each.helped, each.files_read) for each in others] == [
        ("(`id` > ?)", 1, 0, 2),
        ("every row", 1, 0, 2),
    ]
    assert "(`id` = ?)" in str(told)
    assert told.to_json()["queries"] == 7
    assert "nothing" not in str(logged(storage_of(noted(delta_lake(tmp_path / "other")))).summary("t"))
