"""What the local builder says of files is true of their rows: against the values themselves and against DuckDB."""

import datetime as dt
import functools
import json
import tempfile
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.expressions import Family, physical_type, to_physical
from metaindex.formats import TextReader, Trust
from metaindex.index.build.extremes import promoted
from metaindex.index.build.local import LocalBuilder
from metaindex.index.build.protocol import BuildRequest
from metaindex.index.keys import column_id, partition_id
from metaindex.index.kinds.states import BOUND_BYTES, StatState
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage
from tests.evaluate import compare_values
from tests.index.build.lake import Built, FolderDetails, build, fields_of, request_for, request_of, write
from tests.index.build.scenarios import SCENARIOS, scenario
from tests.strategies import TYPES, values
from tests.tables import settle

UNKNOWN, ALL_NULL, VALUES = (int(state) for state in StatState)
_DOMAINS = {pa.int64(): "int", pa.float64(): "double", pa.binary(): "bytes"}


def built(name: str, folder: Path) -> tuple[BuildRequest, Built]:
    request = scenario(name, folder)
    return request, build(LocalBuilder(), request, folder / "index")


def bounds_of(row: dict[str, object], type_: pa.DataType) -> tuple[object, object]:
    domain = _DOMAINS[physical_type(type_)]
    return row[f"lower_{domain}"], row[f"upper_{domain}"]


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_every_file_and_column_has_one_row_in_stored_order(name: str, tmp_path: Path) -> None:
    request, out = built(name, tmp_path)
    rows = out.column_stats.to_pylist()
    ids = [column_id(leaf.stable) for leaf in request.leaves]
    assert sorted((r["column_id"], r["ordinal"]) for r in rows) == sorted(
        (one, ordinal) for one in ids for ordinal in range(len(request.files))
    )
    keys = [
        (r["column_id"], r["partition_ord"], *(x for k in _DOMAINS.values() for x in (r[f"lower_{k}"] is not None,
            r[f"lower_{k}"] or (b"" if k == "bytes" else 0))), r["ordinal"])
        for r in rows
    ]  # fmt: skip
    assert keys == sorted(keys)
    by_partition = [(r["column_id"], r["partition_ord"]) for r in out.partition_stats.to_pylist()]
    covered = [*ids, *(column_id(leaf.stable) for leaf in request.partition_leaves)]
    assert by_partition == sorted((one, ord_) for one in covered for ord_ in range(request.partitions.num_rows))
    names = request.partitions.sort_by("partition_ord").column("partition").to_pylist()
    assert all(r["partition_id"] == partition_id(names[r["partition_ord"]]) for r in rows)


@st.composite
def files_of_a_column(draw: st.DrawFn) -> tuple[pa.DataType, list[list[object]], dict[str, object]]:
    type_ = draw(st.sampled_from([t for t in TYPES if not (pa.types.is_timestamp(t) and t.unit == "s")]))
    one = st.none() | values(type_) | values(type_)
    rows = draw(st.lists(st.lists(one, max_size=5), min_size=1, max_size=4))
    options = {
        "write_statistics": draw(st.sampled_from([True, True, False])),
        "row_group_size": draw(st.sampled_from([1, 2, 100])),
        "use_dictionary": draw(st.booleans()),
    }
    return type_, rows, options


@given(drawn=files_of_a_column(), nested=st.booleans())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_bounds_enclose_all_values_and_counts_are_theirs(
    drawn: tuple[pa.DataType, list[list[object]], dict[str, object]], nested: bool
) -> None:
    type_, rows_of_files, options = drawn
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        paths = []
        for i, rows in enumerate(rows_of_files):
            column = pa.array(rows, type_)
            if nested:
                column = pa.StructArray.from_arrays(
                    [column], ["c"], mask=pa.array([v is None and j % 2 == 0 for j, v in enumerate(rows)], pa.bool_())
                )
            paths.append(write(root, f"{i}.parquet", pa.table({"c": column}), **options))  # fmt: skip
        field = pa.field("c", type_)
        schema = pa.schema([pa.field("c", pa.struct([field])) if nested else field])
        request = request_for(root, fields_of(schema), paths)
        out = build(LocalBuilder(threads=1), request, root / "index")
        assert out.report.uncovered == ()
        order = functools.cmp_to_key(compare_values)
        for ordinal, rows in enumerate(rows_of_files):
            row = out.row(request, "c.c" if nested else "c", ordinal)
            nans = [v for v in rows if isinstance(v, float) and v != v]
            numbers = [v for v in rows if v is not None and not (isinstance(v, float) and v != v)]
            assert row["value_count"] == len(rows)
            assert row["null_count"] == sum(v is None for v in rows)
            assert row["nan_count"] == (len(nans) if Family.may_be_nan(type_) else 0)
            assert row["trust"] in (Trust.FOOTER, Trust.COMPUTED)
            lower, upper = bounds_of(row, type_)
            if not numbers:
                assert row["state"] == (VALUES if nans else ALL_NULL)
                assert (lower, upper) == (None, None)
                continue
            least, greatest = (
                to_physical(pa.array([pick(numbers, key=order)], type_), type_, upper=up)[0].as_py()  # type: ignore[operator]
                for pick, up in ((min, False), (max, True))
            )
            if row["state"] == UNKNOWN:
                assert isinstance(greatest, bytes)
                assert greatest.startswith(b"\xff" * BOUND_BYTES)
                continue
            assert row["state"] == VALUES
            assert lower <= least  # type: ignore[operator]
            assert upper >= greatest  # type: ignore[operator]
            for exact, bound, value in (("lower_exact", lower, least), ("upper_exact", upper, greatest)):
                assert not row[exact] or bound == value
                if not isinstance(value, bytes) or row["trust"] == Trust.COMPUTED:
                    assert row[exact] == (bound == value)


def test_nan_poisons_neither_the_file_nor_its_partition(tmp_path: Path) -> None:
    request, out = built("floats_of_one_kind", tmp_path)
    states = [out.row(request, "f", i)["state"] for i in range(6)]
    assert states == [VALUES, VALUES, ALL_NULL, ALL_NULL, VALUES, VALUES]
    found = [
        (r["state"], r["lower_double"], r["upper_double"], r["nan_count"]) for r in out.partition_stats.to_pylist()
    ]
    assert found == [(VALUES, None, None, 3), (ALL_NULL, None, None, 0), (VALUES, -0.0, 1.0, 1)]


def test_without_a_scan_of_floats_nan_is_unknown_and_bounds_stay(tmp_path: Path) -> None:
    request = replace(request_of(tmp_path, {"a.parquet": pa.table({"f": [1.0, float("nan"), 3.0]})}), scan_floats=False)
    out = build(LocalBuilder(), request, tmp_path / "index")
    row = out.row(request, "f")
    assert (row["state"], row["lower_double"], row["upper_double"], row["nan_count"]) == (VALUES, 1.0, 3.0, None)
    assert out.report.files_scanned == 0


def test_omitted_statistics_are_not_all_null(tmp_path: Path) -> None:
    request, out = built("without_statistics", tmp_path)
    row = out.row(request, "i")
    assert (row["state"], row["lower_int"], row["upper_int"], row["null_count"]) == (VALUES, 1, 3, 1)
    assert (row["lower_exact"], row["upper_exact"], row["trust"]) == (True, True, Trust.COMPUTED)
    text = out.row(request, "s")
    assert (text["lower_bytes"], text["upper_bytes"], text["upper_exact"]) == (b"a", b"b", True)


def test_int96_bounds_come_from_the_data(tmp_path: Path) -> None:
    request, out = built("old_timestamps", tmp_path)
    row = out.row(request, "t")
    moments = (dt.datetime(1900, 1, 1), dt.datetime(2262, 1, 1))
    micros = [int((moment - dt.datetime(1970, 1, 1)) / dt.timedelta(microseconds=1)) for moment in moments]
    assert [row["lower_int"], row["upper_int"]] == micros
    assert row["trust"] == Trust.COMPUTED


def test_absent_column_is_what_the_table_shows_for_it_and_one_of_another_type_unknown(tmp_path: Path) -> None:
    request, out = built("other_schemas", tmp_path)
    assert out.row(request, "given", 1)["state"] == UNKNOWN
    ids = out.row(request, "Id")
    assert (ids["lower_int"], ids["upper_int"]) == (1, 2)  # found without regard to case
    assert out.row(request, "added")["state"] == ALL_NULL
    given = out.row(request, "given")
    assert (given["lower_int"], given["upper_int"], given["lower_exact"], given["null_count"]) == (7, 7, True, 0)
    assert out.row(request, "lost")["state"] == UNKNOWN
    wide = out.row(request, "wide")
    assert (wide["lower_double"], wide["upper_double"], wide["nan_count"]) == (1.5, 1.5, 1)


def test_file_that_is_not_what_the_snapshot_says_is_unknown_and_told(tmp_path: Path) -> None:
    request, out = built("damaged_files", tmp_path)
    told = dict(out.report.uncovered)
    assert sorted(told) == ["cut.parquet", "gone.parquet", "other.orc", "page.parquet", "size.parquet"]
    assert out.report.uncovered_files == 5
    assert "ORC" in told["other.orc"]
    for ordinal, path in enumerate(request.files.paths.to_pylist()):
        for column in ("i", "f"):
            row = out.row(request, column, ordinal)
            if path == "good.parquet":
                assert (row["state"], row["value_count"]) == (VALUES, 1000)
            else:
                assert (row["state"], row["trust"]) == (UNKNOWN, Trust.NONE)
                assert all(row[name] is None for name in ("null_count", "value_count", "compressed_bytes"))
    assert {r["state"] for r in out.partition_stats.to_pylist()} == {UNKNOWN}


def test_partition_column_has_its_value_as_bounds(tmp_path: Path) -> None:
    request, out = built("partition_columns", tmp_path)
    day = column_id(request.partition_leaves[0].stable)
    rows = [r for r in out.partition_stats.to_pylist() if r["column_id"] == day]
    shown = [(r["state"], r["lower_int"], r["upper_int"], r["lower_exact"], r["file_count"]) for r in rows]
    assert shown == [(VALUES, 3, 3, True, 2), (ALL_NULL, None, None, False, 1)]
    assert not [r for r in out.column_stats.to_pylist() if r["column_id"] == day]


def test_text_that_does_not_parse_makes_its_column_unknown_for_that_file(tmp_path: Path) -> None:
    request, out = built("csv_files", tmp_path)
    assert [path for path, _ in out.report.uncovered] == ["t/gone.csv"]
    bad = request.files.paths.to_pylist().index("t/d.csv")
    assert [out.row(request, name, bad)["state"] for name in ("i", "d", "f", "s")] == [UNKNOWN, UNKNOWN, VALUES, VALUES]
    good = out.row(request, "i", 0)
    assert (good["lower_int"], good["upper_int"], good["null_count"], good["value_count"]) == (-3, 1, 1, 3)
    assert out.row(request, "f", 0)["nan_count"] == 1
    assert out.row(request, "s", 1)["state"] == ALL_NULL  # an empty file
    assert out.row(request, "i", 4)["lower_int"] == -3  # gzip


def test_json_struct_fields_and_missing_fields(tmp_path: Path) -> None:
    request, out = built("json_files", tmp_path)
    x = out.row(request, "st.x")
    assert (x["lower_int"], x["upper_int"], x["null_count"], x["value_count"]) == (7, 7, 2, 3)
    assert out.row(request, "i", 1)["state"] == UNKNOWN
    assert out.row(request, "s", 1)["lower_bytes"] == b"b"


def test_option_that_the_text_reader_refuses_leaves_files_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    details = FolderDetails({"file_format": "csv", "mode": "FAILFAST"})
    request = request_for(tmp_path, fields_of(pa.schema([("i", pa.int64())])), ["a.csv"], details=details)
    out = build(LocalBuilder(), request, tmp_path / "index")
    assert out.row(request, "i")["state"] == UNKNOWN
    assert "failfast" in out.report.uncovered[0][1].lower()


def test_field_ids_find_renamed_columns_and_files_without_ids_are_unknown(tmp_path: Path) -> None:
    with_id = pa.schema([pa.field("old", pa.int64(), metadata={"PARQUET:field_id": "5"})])
    write(tmp_path, "a.parquet", pa.table({"old": [1, 2]}, schema=with_id), write_statistics=False)
    write(tmp_path, "b.parquet", pa.table({"new": [1, 2]}))
    field = replace(fields_of(pa.schema([("new", pa.int64())]))[0], field_id=5, stable="id:5")
    request = request_for(tmp_path, [field], ["a.parquet", "b.parquet"])
    out = build(LocalBuilder(), request, tmp_path / "index")
    assert out.row(request, "new", 0)["upper_int"] == 2
    assert out.row(request, "new", 1)["state"] == UNKNOWN


def test_form_is_what_other_readers_take_for_something_else(tmp_path: Path) -> None:
    millis, nanos, unsigned, field_id = 1, 2, 4, 8  # as docs/storage/statistics.md has them
    numbered = {"PARQUET:field_id": "7"}
    forms = {
        "plain": (pa.int64(), 0),
        "us": (pa.timestamp("us", "UTC"), 0),
        "ms": (pa.timestamp("ms"), millis),
        "clock": (pa.time32("ms"), millis),
        "ns": (pa.timestamp("ns", "UTC"), nanos),
        "fine": (pa.time64("ns"), nanos),
        **{str(type_): (type_, unsigned) for type_ in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
        "id": (pa.int32(), field_id),
        "id_ms": (pa.timestamp("ms"), field_id | millis),
    }
    inner = pa.struct([pa.field("x", pa.int64())])
    types = {name: type_ for name, (type_, _) in forms.items()} | {"id_s": inner, "gone": pa.int64()}
    schema = pa.schema([pa.field(n, t, metadata=numbered if n.startswith("id") else None) for n, t in types.items()])
    columns = [pa.array([{"x": 1} if type_ == inner else 0, None], type_) for type_ in types.values()]
    write(tmp_path, "a.parquet", pa.table(columns, schema=schema))
    write(
        tmp_path, "b.parquet", pa.table({"us": pa.array([0], pa.timestamp("us", "UTC"))})
    )  # of the others all is NULL
    (tmp_path / "c.parquet").write_bytes(b"PAR1 no footer PAR1")
    request = request_for(tmp_path, fields_of(schema), ["a.parquet", "b.parquet", "c.parquet"])
    out = build(LocalBuilder(), request, tmp_path / "index")
    expected = {name: form for name, (_, form) in forms.items()} | {"id_s.x": field_id, "gone": 0}
    shown = {leaf.stable: [out.row(request, leaf.stable, i)["form"] for i in range(3)] for leaf in request.leaves}
    assert shown == {name: [form, 0, None] for name, form in expected.items()}


def test_progress_is_told_and_ends_whole(tmp_path: Path) -> None:
    request = scenario("every_type", tmp_path)
    told: list[tuple[str, int, int]] = []
    LocalBuilder().facts(request, RunSink(LocalStorage(str(tmp_path / "i")), "r"), lambda *a: told.append(a))
    assert ("files read", 3, 3) in told
    assert told[-1][1] == told[-1][2]


@pytest.mark.parametrize("file_format", ["json", "parquet"])
def test_each_pass_of_a_build_reports_each_file(tmp_path: Path, file_format: str) -> None:
    for number in range(5):
        rows = {"id": number, "x": number / 2}
        if file_format == "json":
            (tmp_path / f"{number}.json").write_text(json.dumps(rows) + "\n")
        else:
            write(tmp_path, f"{number}.parquet", pa.Table.from_pylist([rows]))
    settle(tmp_path)
    told: list[tuple[str, int, int]] = []
    kinds = mi.ColumnStats("x"), mi.Values("id")
    mi.open_table(tmp_path).create_index("i", *kinds, builder="local", progress=lambda *said: told.append(said))
    for what in ("files read", "files read for keys"):
        assert {said for said in told if said[0] == what} == {(what, done, 5) for done in range(1, 6)}


@pytest.mark.parametrize("file_format", ["json", "csv"])
def test_a_file_of_texts_is_parsed_once_for_all_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_format: str
) -> None:
    """With NULLs, with a text that is no value of its column, and with one that is refused."""
    for number in range(3):
        rows = [{"id": n if n % 3 else None, "day": "2024-02-30", "at": "2024-01-02T03:04:05Z"} for n in range(9)]
        if number == 2:
            rows[4] |= {"at": "2024-01-02 03:04:05 Europe/Berlin", "id": "x"}
        text = {
            "json": "".join(json.dumps(row) + "\n" for row in rows),
            "csv": "".join(f"{row['id'] or ''},{row['day']},{row['at']}\n" for row in rows),
        }
        (tmp_path / f"{number}.{file_format}").write_text(text[file_format])
    settle(tmp_path)
    parsed, read = Counter[str](), TextReader.read

    def counted(reader: TextReader, source: Any, path: str, *rest: Any) -> Any:
        parsed[path] += 1
        return read(reader, source, path, *rest)

    monkeypatch.setattr(TextReader, "read", counted)
    table = mi.open_table(tmp_path, format=file_format, header=False, schema="id BIGINT, day DATE, at TIMESTAMP")
    parsed.clear()
    kinds = mi.ColumnStats(), mi.Values("id"), mi.Bloom("day"), mi.Values("at")
    table.create_index("i", *kinds, builder="local")
    assert parsed == {f"{number}.{file_format}": 1 for number in range(3)}
    assert table.prune("id = 3").files.paths.to_pylist() == [f"2.{file_format}"]


def test_an_extreme_that_does_not_fit_its_decimal_column_is_none() -> None:
    """In 128 bits the product of Arrow's cast wraps around to a number that fits."""
    written, shown = pa.decimal128(38, 0), pa.decimal128(38, 18)
    assert promoted(pa.array([Decimal(15)], written), shown) == pa.array([Decimal(15)], shown)
    with pytest.raises(pa.ArrowInvalid):
        promoted(pa.array([Decimal(2469135780246913578024)], written), shown)


def test_parts_are_cut_and_named_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.index.store.writer.PART_ROWS", 10)
    _, out = built("every_type", tmp_path)
    parts = [part for part in out.report.parts if part.kind == "column_stats"]
    assert all(5 <= part.rows <= 10 for part in parts[:-1])
    keys = [(part.first_key, part.last_key) for part in parts]
    assert keys == sorted(keys)  # type: ignore[type-var]
    assert all(last < first for (_, last), (first, _) in pairwise(keys))  # type: ignore[operator]  # no column in two
    assert json.dumps(parts[0].path)
