"""Text files mean what options and headers make of them: an index of other values than those asked for is of no use."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import IndexExistsError, UnsupportedFeatureError
from metaindex.formats.files.options import FilesOptions
from metaindex.formats.files.schema_text import parse_ddl, schema_said
from metaindex.formats.files.table import FilesFormat
from metaindex.formats.format import TableRef
from metaindex.formats.model import Version
from metaindex.table import handle_of
from tests.tables import settled


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "t"


def put(root: Path, name: str, text: str, at: float = 1.7e9) -> None:
    settled(root, {name: text})
    os.utime(root / name, (at, at))


def same_rows(table: mi.Table, condition: str, expression: pc.Expression) -> int:
    """What a scan gives by the indexes is what all rows give."""
    found = table.scan(condition).to_arrow()
    assert found.sort_by("a") == table.scan().to_arrow().filter(expression).sort_by("a")
    return found.num_rows


TEXT = "a STRING, b INT"
KINDS = (mi.ColumnStats(), mi.Values("b"), mi.Bloom("b"), mi.ValueList("b"))


@pytest.mark.parametrize("mode", ["incremental", "full"])
def test_a_refresh_with_other_options_is_refused(root: Path, mode: str) -> None:
    put(root, "0.csv", "x,5\ny,6\n")
    mi.open_table(root, header=False, schema=TEXT).create_index("i", *KINDS)
    put(root, "1.csv", "z,700\nq,7\n")
    for options in ({"header": True, "schema": TEXT}, {"header": False, "schema": TEXT, "sep": ";"}):
        with pytest.raises(UnsupportedFeatureError, match="built with other reader options"):
            mi.open_table(root, **options).refresh_index("i", mode=mode)
    table = mi.open_table(root, header=False, schema=TEXT)
    assert same_rows(table, "b = 700", pc.field("b") == 700) == 1
    mi.open_table(root, header=False, schema=TEXT).refresh_index("i", mode=mode)
    assert same_rows(table.reopened(), "b = 700", pc.field("b") == 700) == 1


def test_an_index_is_of_no_use_under_another_schema(root: Path) -> None:
    put(root, "0.csv", "1,5\n2,6\n")
    one = pa.schema([("a", pa.int32()), ("b", pa.int32())])
    mi.open_table(root, header=False, schema=one).create_index("i", *KINDS)
    other = mi.open_table(root, header=False, schema=pa.schema([("b", pa.int32()), ("a", pa.int32())]))
    assert same_rows(other, "b = 1", pc.field("b") == 1) == 1
    assert "other reader options (schema)" in str(other.prune("b = 1"))
    for same in (one, "a INT, b INT", "`a` integer ,b: int COMMENT 'so'"):
        assert mi.open_table(root, header=False, schema=same).prune("b = 1").kept_files == 0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_a_column_of_csv_is_a_place_whatever_the_first_file_calls_it(root: Path, kind: mi.ColumnStats) -> None:
    put(root, "1.csv", "a,b\n1,5\n2,6\n")
    mi.open_table(root).create_index("i", kind)
    assert mi.open_table(root).prune("b = 1").kept_files == 0
    put(root, "0.csv", "b,a\n70,80\n")  # the first file names the columns, of all files, as in Spark
    table = mi.open_table(root)
    assert same_rows(table, "b = 1", pc.field("b") == 1) == 1
    assert same_rows(table, "b = 5", pc.field("b") == 5) == 0
    table.refresh_index("i")
    assert same_rows(mi.open_table(root), "b = 1", pc.field("b") == 1) == 1
    assert mi.open_table(root).verify_index("i").sound
    table.refresh_index("i", mode="full")
    fresh = mi.open_table(root)
    assert (same_rows(fresh, "b = 1", pc.field("b") == 1), fresh.prune("b = 1").kept_files) == (1, 1)


def test_a_column_that_moved_is_another_one(root: Path) -> None:
    put(root, "1.csv", "a,b\n1,5\n")
    mi.open_table(root).create_index("i", *KINDS)
    put(root, "0.csv", "z,a,b\n3,4,5\n")
    table = mi.open_table(root)
    assert same_rows(table, "a = 5", pc.field("a") == 5) == 1
    assert same_rows(table, "b IS NULL", pc.is_null(pc.field("b"))) == 1


def test_files_of_tabs_and_of_commas_are_no_table_until_somebody_says_so(root: Path) -> None:
    put(root, "1.tsv", "a\tb\n1\t5\n")
    assert mi.open_table(root).scan().to_arrow().to_pylist() == [{"a": 1, "b": 5}]
    put(root, "2.csv", "a,b\n1,5\n")
    with pytest.raises(UnsupportedFeatureError, match=r"separated by one character.*'2\.csv'.*sep="):
        mi.open_table(root).scan()
    assert mi.open_table(root, glob="*.csv").scan().to_arrow().num_rows == 1


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_column_of_folders_is_not_the_one_in_files(root: Path, kind: str, built: bool) -> None:
    """Which of the two a column is, Spark's recursiveFileLookup says; their values may differ."""
    for folder, values in (("p=1", [7, 8]), ("p=2", [9, 1])):
        (root / folder).mkdir(parents=True)
        rows = pa.table({"a": [1, 2], "p": pa.array(values, pa.int32())})
        match kind:
            case "parquet":
                pq.write_table(rows, root / folder / "f.parquet")
            case "csv":
                pyarrow.csv.write_csv(rows, root / folder / "f.csv")
            case _:
                (root / folder / "f.json").write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))
        os.utime(root / folder / f"f.{kind}", (1.7e9, 1.7e9))
    mi.open_table(root, recursiveFileLookup=built).create_index("i", mi.ColumnStats())
    mi.open_table(root, recursiveFileLookup=built).create_index("p", mi.ValueList("p"))
    other = mi.open_table(root, recursiveFileLookup=not built)
    assert sum(same_rows(other, f"p = {value}", pc.field("p") == value) for value in (1, 2, 7, 8, 9)) == 4
    assert "other reader options (recursiveFileLookup)" in str(other.prune("p = 1"))
    with pytest.raises(UnsupportedFeatureError, match="built with other reader options"):
        other.refresh_index("i", mode="full")


@pytest.mark.parametrize("options", [{"SEP": ","}, {"delimiter": ","}, {"recursiveFileLookup": "false"}])
def test_what_means_the_same_is_the_same(tmp_path: Path, options: dict[str, object]) -> None:
    put(tmp_path / "t", "0.csv", "a,b\n1,5\n")
    said = {"sep": ","} if "recursiveFileLookup" not in options else {}
    mi.open_table(tmp_path / "t", header=True, **said).create_index("i", *KINDS)
    assert mi.open_table(tmp_path / "t", header="true", **options).prune("b = 1").kept_files == 0


FLAT = [pa.int8(), pa.uint8(), pa.string(), pa.large_string(), pa.float16(), pa.decimal128(5, 2), pa.date32()]
TIMES = [pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.time32("s")]
NESTED = [
    pa.list_(pa.int32()),
    pa.map_(pa.string(), pa.date64()),
    pa.struct([pa.field("x y", pa.int64(), nullable=False)]),
    pa.dictionary(pa.int32(), pa.string()),
]
TYPES = st.sampled_from([*FLAT, *TIMES, *NESTED])
SCHEMAS = st.lists(st.tuples(st.text(min_size=1, max_size=3), TYPES), min_size=1, max_size=3).map(pa.schema)


@given(SCHEMAS, SCHEMAS)
def test_schemas_are_said_alike_where_they_are_read_alike(one: pa.Schema, other: pa.Schema) -> None:
    from metaindex.formats.files.schema_text import plain_type

    plain = [[(field.name, plain_type(field.type)) for field in schema] for schema in (one, other)]
    assert (schema_said(one) == schema_said(other)) == (plain[0] == plain[1])
    assert schema_said(one.with_metadata({"k": "v"})) == schema_said(one)
    if not schema_said(one).startswith("?"):
        assert [(field.name, field.type) for field in parse_ddl(schema_said(one))] == plain[0]
        assert schema_said(schema_said(one)) == schema_said(one)


def test_an_index_of_other_reader_options_says_so_among_the_indexes(root: Path) -> None:
    """Where nobody says how the files are read each index is told of as it was built; else it says what differs."""
    put(root, "1.csv", "a,b\n1,5\n")
    mi.open_table(root, header=True, schema="a BIGINT, b BIGINT").create_index("said", *KINDS)
    mi.open_table(root, header=True).create_index("plain", *KINDS)
    told = {info.name: (info.fresh, info.other_options) for info in mi.open_table(root).indexes()}
    assert told == {"said": (True, ()), "plain": (True, ())}
    waits = mi.open_table(root).indexes()
    schema = "schema='`a` bigint, `b` bigint'"
    assert [(info.built_with, info.built_without) for info in waits] == [((), ()), ((schema,), ())]
    assert f"said: used by queries that say {schema}" in str(waits)
    assert "plain: " not in str(waits)
    asked = mi.open_table(root, header=True).indexes()
    told = {info.name: (info.fresh, info.other_options) for info in asked}
    assert told == {"said": (None, ("schema",)), "plain": (True, ())}
    assert "built with other reader options: schema" in str(asked)
    assert "built with other reader options: schema" in str(asked["said"])
    assert asked["said"].to_json()["other_options"] == ["schema"]
    asked = mi.open_table(root, escape='"').indexes()
    assert (asked["said"].built_with, asked["said"].built_without) == ((schema,), ("escape",))
    assert f"said: built with {schema} and without escape, which is said here" in str(asked)
    assert "plain: built without escape, which is said here" in str(asked)
    assert "options   built without escape, which is said here" in str(asked["plain"])


def test_a_schema_and_that_it_was_inferred_are_one_thing_to_leave_out(root: Path) -> None:
    """As views of Spark have both."""
    put(root, "1.csv", "a,b\n1,5\n")
    mi.open_table(root, escape="x").create_index("plain", *KINDS)
    asked = mi.open_table(root, escape="x", schema="a BIGINT, b BIGINT", inferSchema="true").indexes()
    assert asked["plain"].built_without == ("inferSchema",)
    assert "plain: built without inferSchema, which is said here" in str(asked)
    mi.open_table(root, schema="a BIGINT", inferSchema="true").create_index("said", mi.ColumnStats())
    told = mi.open_table(root, escape="x").indexes()["said"]
    assert told.built_with == ("inferSchema=True", "schema='`a` bigint'")
    assert "said: built with schema='`a` bigint' and without escape" in str(mi.open_table(root, escape="x").indexes())


def test_an_index_of_a_schema_that_spark_inferred_is_had_by_what_its_first_message_says(root: Path) -> None:
    for at in range(3):
        put(root, f"{at}.csv", f"a,b\n{at},5\n")
    spark_says = {"header": "true", "inferschema": "true", "schema": "a INT, b INT"}
    mi.open_table(root, format="csv", **spark_says).create_index("i", mi.Values("a"), builder="local")
    (report,) = mi.open_table(root, header=True).prune("a = 1").indexes
    said = "schema='`a` int, `b` int'"
    assert report.reason == (
        f"it was built with other reader options (schema); open the table with {said}, or create another index"
    )
    assert f"i: used by queries that say {said}" in str(mi.open_table(root).indexes())
    table = mi.open_table(root, schema="`a` int, `b` int")
    assert table.prune("a = 1").kept_files == 1
    assert table.indexes()["i"].fresh
    put(root, "3.csv", "a,b\n3,5\n")
    assert table.refresh_index("i").changed
    assert mi.open_table(root, format="csv", **spark_says).indexes()["i"].fresh
    assert mi.open_table(root, schema="a INT, b STRING").prune("a = 1").kept_files == 4


def test_options_are_spelled_as_they_are_documented(root: Path) -> None:
    """Spark keeps their names in small letters; a cure is found by the name, and can be pasted then."""
    put(root, "1.csv", "a,b\n1,5\n")
    options = {"inferschema": "true", "nullvalue": "true", "timestampformat": "yyyy-MM-dd"}
    mi.open_table(root, **options).create_index("i", *KINDS)
    (told,) = mi.open_table(root).indexes()
    assert told.built_with == ("inferSchema=True", "nullValue='true'", "timestampFormat='yyyy-MM-dd'")


SAID = ({}, {"header": True}, {"header": "TRUE"}, {"HEADER": "true"})


@pytest.mark.exhaustive(but="{}")
@pytest.mark.parametrize("said", SAID, ids=str)
@pytest.mark.parametrize("built", SAID, ids=str)
def test_a_header_is_meant_where_nothing_is_said(root: Path, built: dict[str, object], said: dict[str, object]) -> None:
    for part in range(2):
        put(root, f"{part}.csv", f"a,b\n{part},5\nx,{part + 6}\n")
    mi.open_table(root, **built).create_index("i", *KINDS, builder="local")
    table = mi.open_table(root, **said)
    (info,) = table.indexes()
    assert (info.other_options, info.fresh, info.new_files) == ((), True, 0)
    assert table.prune("b = 7").kept_files == 1
    assert same_rows(table, "b = 7", pc.field("b") == 7) == 1
    put(root, "2.csv", "a,b\nz,700\n")
    assert mi.open_table(root, **said).refresh_index("i", builder="local").changed
    assert mi.open_table(root, **built).indexes()["i"].fresh is True
    assert mi.open_table(root, header=False).indexes()["i"].other_options == ("header",)
    other = mi.open_table(root, header=False, schema=TEXT)
    assert other.prune("b = 9").kept_files == 3
    assert "other reader options" in other.prune("b = 9").indexes[-1].reason


def test_a_header_that_does_not_go_without_saying_has_to_be_said(root: Path) -> None:
    """The first row looks like data: without an index such a table is refused, and with one it is read as that says."""
    put(root, "0.csv", "1,5\n2,6\n3,7\n")
    mi.open_table(root, header=True).create_index("i", *KINDS[:1], mi.Values("5"), builder="local")
    table = mi.open_table(root, header=True)
    for opened in (mi.open_table(root), mi.open_table(root, config=mi.Config(use_indexes=False))):
        assert opened.scan().to_arrow() == table.scan().to_arrow()
    assert mi.open_table(root).prune("`5` = 9").kept_files == 0
    (info,) = table.indexes()
    assert (info.other_options, info.fresh) == ((), True)
    assert table.prune("`5` = 9").kept_files == 0
    table.drop_index("i")
    with pytest.raises(UnsupportedFeatureError, match="looks like data"):
        mi.open_table(root).scan()


@pytest.mark.parametrize(
    "options",
    [
        {"nullValue": "1"},
        {"glob": "0*"},
        {"comment": "3"},
        {"header": False},
        {"schema": "a INT"},
        {"format": "json", "multiLine": True},
    ],
    ids=str,
)
def test_an_index_changes_no_rows_that_are_read_without_it(root: Path, options: dict[str, object]) -> None:
    """Neither one of other options, nor its end or damage: who says no option reads what there is without an index."""
    ending, texts = ("json", ('{"a":1}\n{"a":2}\n', '{"a":3}\n'))
    if "format" not in options:
        ending, texts = "csv", ("a,b\n1,2\n", "a,b\n3,4\n")
    for number, text in enumerate(texts):
        put(root, f"{number}.{ending}", text)
    before = mi.open_table(root).scan().to_arrow()
    mi.open_table(root, **options).create_index("i", mi.ColumnStats(), builder="local")

    def same() -> bool:
        off = mi.open_table(root, config=mi.Config(use_indexes=False))
        return before == mi.open_table(root).scan().to_arrow() == off.scan().to_arrow()

    assert same()
    for change in ("disable_index", "enable_index", "drop_index", "restore_index"):
        getattr(mi.open_table(root), change)("i")
        assert same(), change
    for entry in (Path(mi.open_table(root).indexes()["i"].location) / "_log").iterdir():
        entry.write_bytes(b"damage")
    assert same()


def test_an_index_that_chooses_files_lends_no_option(root: Path) -> None:
    for number in range(2):
        put(root, f"{number}.csv", "1,5\n2,6\n")
    mi.open_table(root, header=False, glob="0*").create_index("i", mi.ColumnStats(), builder="local")
    with pytest.raises(UnsupportedFeatureError, match="looks like data"):
        mi.open_table(root).scan()


def test_a_table_that_lacks_an_option_is_read_with_those_of_its_indexes(root: Path) -> None:
    """Whether the indexes are used or not, and where they have one reading: two that differ leave the default."""
    put(root, "0.csv", "a;b\n1;5\n2;6\n")
    put(root, "1.csv", "a;b\n3;7\n")
    before = mi.open_table(root, schema="a STRING")
    mi.open_table(root, sep=";").create_index("i", *KINDS, builder="local")
    said, unsaid = mi.open_table(root, sep=";"), mi.open_table(root)
    assert unsaid.scan().to_arrow() == said.scan().to_arrow()
    assert (unsaid.prune("b = 9").kept_files, unsaid.count("b = 7")) == (0, 1)
    bare = mi.open_table(root, config=mi.Config(use_indexes=False))
    assert (bare.count("b = 7"), bare.prune("b = 9").kept_files) == (1, 2)
    assert before.count("a = '3;7'") == mi.open_table(root, schema="a STRING").count("a = '3;7'") == 1
    mi.open_table(root, sep=";", escape="x").create_index("j", mi.ColumnStats(), builder="local")
    with pytest.raises(UnsupportedFeatureError, match="say delimiter=';'"):
        mi.open_table(root).scan()
    mi.open_table(root).drop_index("j")
    assert mi.open_table(root).count("b = 7") == 1
    put(root, "2.csv", "a;b\n9;9\n")
    assert [mi.open_table(root, trust_index=trust).count("b = 9") for trust in (True, False)] == [0, 1]


@pytest.mark.parametrize("stored", [{"catalog": "x", "identifier": "a.b"}, {"basePath": "/etc"}, {"basePath": "\0"}])
def test_an_index_whose_stored_options_open_nothing_is_listed_beside_the_others(
    tmp_path: Path, root: Path, stored: dict[str, str]
) -> None:
    put(root, "0.csv", "a,b\n1,5\n")
    for name in ("bad", "good"):
        mi.open_table(root).create_index(name, *KINDS, builder="local")
    for log in (tmp_path / "_metaindex" / "t" / "bad" / "_log").iterdir():
        entry = json.loads(log.read_text().splitlines()[0])
        entry["source"]["options"] |= stored
        text = json.dumps(entry).encode()
        log.write_bytes(text + b'\n{"sha256": "%s"}\n' % hashlib.sha256(text).hexdigest().encode())
    infos = mi.open_table(root).indexes()
    assert [(info.name, info.state, bool(info.problem)) for info in infos] == [
        ("bad", "UNREADABLE", True),
        ("good", "ACTIVE", False),
    ]
    assert "reader options" in infos["bad"].problem
    assert (mi.open_table(root).count("a = 1"), mi.open_table(root).prune("a = 9").kept_files) == (1, 0)


def _as_before(ref: TableRef, id_: str) -> Version:
    options = FilesOptions.of(ref.options)
    text = "\0".join(["", *(f"{k}={v}" for k, v in sorted(options.reader.items()))])
    return Version("", id_, f"{id_}-{xxhash.xxh64_hexdigest(text.encode())}" if options.reader else id_)


@pytest.mark.parametrize("more", [{}, {"sep": ";"}], ids=str)
def test_an_index_of_a_said_header_that_is_older_is_stale_once(
    root: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, object]
) -> None:
    """A header that was said made another version, and stood in the entry."""
    sep = more.get("sep", ",")
    for part in range(2):
        put(root, f"{part}.csv", f"a{sep}b\n{part}{sep}5\nx{sep}{part + 6}\n")
    with monkeypatch.context() as before:
        before.setattr("metaindex.formats.files.table.version_named", _as_before)
        before.setattr("metaindex.formats.files.table.needs_header", lambda *_: True)
        made = mi.open_table(root, header=True, **more).create_index("i", *KINDS, builder="local")
    assert made.entry.table.options["header"] is True
    (record,) = made.entry.content.versions
    table = mi.open_table(root, header=True, **more)
    assert FilesFormat().is_named(handle_of(table).ref, record.version)
    assert not FilesFormat().is_named(handle_of(mi.open_table(root, header=False, **more)).ref, record.version)
    (info,) = table.indexes()
    assert (info.other_options, info.fresh, info.new_files) == ((), False, 0)
    assert table.prune("b = 7").kept_files == 1
    assert same_rows(table, "b = 7", pc.field("b") == 7) == 1
    assert mi.open_table(root, **more).prune("b = 7").kept_files == 2  # nobody knows that it goes without saying
    assert mi.open_table(root, header=True, **more).refresh_index("i", builder="local").changed
    assert mi.open_table(root, header=True, **more).indexes()["i"].fresh is True
    assert not mi.open_table(root, header=True, **more).refresh_index("i", builder="local").changed
    assert mi.open_table(root, header=True, **more).verify_index("i", files=None).sound


def test_an_index_of_other_options_is_told_of_with_the_cure(root: Path) -> None:
    put(root, "0.csv", "a;b\nx;5\n")
    mi.open_table(root, sep=";", schema=TEXT).create_index("i", mi.Values("b"), builder="local")
    table = mi.open_table(root, schema=TEXT, escape="x")
    (report,) = table.prune("b = 1").indexes[-1:]
    assert report.reason.endswith(
        "(escape, sep); open the table with sep=';' and without escape, or create another index"
    )
    assert "other reader options: no query of the table as it is opened uses such an index" in str(table.indexes())
    with pytest.raises(
        UnsupportedFeatureError, match="the table with sep=';' and without escape, or without any"
    ) as refused:
        table.refresh_index("i")
    assert str(refused.value).endswith("create another index (by the same name: drop this one and vacuum it before)")
    assert "or create another index" not in str(mi.open_table(root, sep=";", schema=TEXT).prune("b = 1"))
    other = mi.open_table(root, sep=";", header=True, schema="a STRING, c INT")
    assert "open the table with schema='`a` string, `b` int', or create" in str(other.prune("c = 1"))


def test_once_a_file_looks_like_data_an_index_is_refreshed_with_a_header_that_is_said(root: Path) -> None:
    """Who says nothing is refused until then."""
    put(root, "0.csv", "a,b\n1,5\n2,6\n")
    mi.open_table(root).create_index("i", mi.ColumnStats(), builder="local")
    put(root, "1.csv", "3,7\n4,8\n", at=1.71e9)
    with pytest.raises(UnsupportedFeatureError, match="looks like data"):
        mi.open_table(root).prune("b = 9")
    assert mi.open_table(root, header=True).prune("b = 9").kept_files == 1
    refreshed = mi.open_table(root, header=True).refresh_index("i", builder="local")
    assert refreshed.entry.table.options["header"] is True
    assert mi.open_table(root, header=True).prune("b = 9").kept_files == 0
    for trust in (False, True):
        assert mi.open_table(root, trust_index=trust).prune("b = 9").kept_files == 0
    assert mi.open_table(root).scan("b = 8").to_arrow().to_pylist() == [{"a": 4, "b": 8}]
    put(root, "2.csv", "a,b\n1,5\n2,6\n", at=1.71e9)
    assert mi.open_table(root, header=True).refresh_index("i", builder="local").changed
    assert mi.open_table(root, header=True).indexes()["i"].fresh is True


def test_an_index_of_a_said_header_follows_files_whose_names_are_values_too(root: Path) -> None:
    put(root, "0.csv", "kind,name\none,u\ntwo,v\n")
    made = mi.open_table(root, header=True).create_index("v", mi.Values("kind"), builder="local")
    assert "header" not in made.entry.table.options
    put(root, "1.csv", "kind,name\nname,name\nx,name\n", at=1.71e9)
    assert mi.open_table(root, header=True).refresh_index("v", builder="local").changed
    table = mi.open_table(root, header=True)
    assert (table.prune("kind = 'x'").kept_files, table.indexes()["v"].fresh) == (1, True)


def test_a_header_of_which_nothing_is_said_is_none(root: Path) -> None:
    put(root, "0.csv", "a,b\n1,5\n2,6\n")
    mi.open_table(root).create_index("i", mi.ColumnStats(), builder="local")
    put(root, "1.csv", "a,b\n3,7\n", at=1.71e9)
    assert mi.open_table(root, header=None).refresh_index("i", builder="local").changed
    assert mi.open_table(root).indexes()["i"].fresh is True


def test_a_name_of_an_index_with_other_options_is_freed_first(root: Path) -> None:
    """A refresh would be refused, with a cure that leads back to create."""
    put(root, "0.csv", 'a,b\n"x ""y""",5\n')
    said: dict[str, Any] = {"schema": TEXT, "header": True}
    statement = f"ON csv.`{root}` WITH (header = true, escape = '\"', schema = '{TEXT}')"
    free = f"DROP INDEX i ON csv.`{root}` and VACUUM INDEX i ON csv.`{root}`"
    mi.open_table(root, **said).create_index("i", mi.Values("b"), builder="local")
    table = mi.open_table(root, **said, escape='"')
    with pytest.raises(IndexExistsError, match="other reader options; drop it and vacuum it, or choose another name"):
        table.create_index("i", mi.Values("b"))
    with pytest.raises(IndexExistsError, match=re.escape(f"options; {free}, or choose another name")):
        mi.sql(f"CREATE INDEX i {statement} USING values (b)")
    with pytest.raises(UnsupportedFeatureError, match=re.escape(f"(by the same name: {free} before)")):
        mi.sql(f"REFRESH INDEX i {statement}")
    (row,) = mi.sql(f"CREATE INDEX IF NOT EXISTS i {statement} USING values (b)").to_json()
    assert row["notes"][0] == "it exists, of the same kinds"
    assert f"do not use it; {free}, or choose another name" in row["notes"][1]
    with pytest.raises(IndexExistsError, match="'i' is ACTIVE; refresh it"):
        mi.open_table(root, **said).create_index("i", mi.Values("b"))
    table.drop_index("i")
    with pytest.raises(
        IndexExistsError, match="'i' is DELETED, and was built with other reader options; vacuum it, or"
    ):
        table.create_index("i", mi.Values("b"))
    table.vacuum_index("i")
    assert table.create_index("i", mi.Values("b"), builder="local").entry.content.versions[-1].files == 1


@pytest.mark.parametrize(
    ("name", "text", "options", "told"),
    [
        ("0.csv", "a,b\nx,5\n", {"mode": "DROPMALFORMED"}, "csv files are read with mode 'permissive'"),
        ("0.csv", "a,b\nx,5\n", {"timestampFormat": "QQQ"}, "dates and times are read by patterns of fixed width"),
        ("0.json", '{"a":"x","b":5}\n', {"mode": "FAILFAST"}, "json files are read with mode 'permissive'"),
        ("0.json", '{"a":"x","b":5}\n', {"allowComments": True}, "json files are read with allowcomments 'false'"),
        ("0.csv", "a,b\nx,5\n", {"x.colour": "x"}, "'x.colour' ('x') is not known; mend its name"),
    ],
)
def test_files_of_which_none_can_be_indexed_have_no_index(
    root: Path, name: str, text: str, options: dict[str, Any], told: str
) -> None:
    """It would leave no file out, and no query would use it."""
    put(root, name, text)
    table = mi.open_table(root, **options)
    with pytest.raises(UnsupportedFeatureError, match=re.escape(told)) as refused:
        table.create_index("i", mi.Values("b"), builder="local")
    assert str(refused.value).startswith("an index is built of files that can be read here; of these none can; ")
    assert str(refused.value).endswith(
        ("; open the table without it, or leave it as it is, without an index", ", or read with .to_spark(spark)")
    )
    assert not table.indexes(all=True)


@pytest.mark.parametrize("built", [{}, {"delimiter": ","}])
def test_a_comma_that_is_said_is_another_reading_where_tabs_go_without_saying(
    tmp_path: Path, built: dict[str, str]
) -> None:
    """Files called .tsv: an index of the one reading is none of the other, as long as it lives."""
    settled(tmp_path, {f"p{number}.tsv": f"id,n\n{number}\t{number},x{number}\n" for number in range(3)})
    schema = "id STRING, n STRING"
    mi.open_table(tmp_path, schema=schema, **built).create_index("i", mi.ColumnStats(), builder="local")
    asked = ("id = '1\t1'", "id = '1'", "n = 'x1'", "n = '1,x1'")
    unsaid, said = mi.open_table(tmp_path, schema=schema), mi.open_table(tmp_path, schema=schema, delimiter=",")
    assert [unsaid.count(each) for each in asked] == [0, 1, 0, 1]
    assert [said.count(each) for each in asked] == [1, 0, 1, 0]
    settled(tmp_path, {"p9.tsv": "id,n\n9\t9,x9\n"})
    mi.hooks.after_commit(str(tmp_path), mode="synchronous", builder="local")
    assert (unsaid.count("n = '9,x9'"), said.count("n = 'x9'")) == (1, 1)
