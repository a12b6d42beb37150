"""Mistakes of a first hour: the message names the cure, and the cure works."""

import re
import traceback
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.cli import main
from metaindex.core import MetaIndexError
from metaindex.expressions import ColumnRef, to_predicate
from metaindex.ops.hooks.after_commit import check_options
from metaindex.query import Handle
from metaindex.table import Table, handle_of
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.tables import settled


@pytest.fixture
def table(tmp_path: Path) -> mi.Table:
    for at in range(3):
        pq.write_table(pa.table({"user": [at], "id": [at], "city": ["Oslo"]}), tmp_path / f"{at}.parquet")
    return mi.open_table(str(tmp_path))


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("city = 'Oslo", "a quote, ', that is not closed"),
        ("city = 'O\\'slo", "a quote, ', that is not closed"),
        ('city = "Oslo', 'a quote, ", that is not closed'),
        ("`city = 1", "a quote, `, that is not closed"),
        ("WHERE user = 1", "write what stands behind WHERE, without the word"),
        ("select * from t where user = 1", "write what stands behind WHERE, without the rest"),
        ("city = Oslo", "a text stands in quotes"),
    ],
)
def test_a_mistyped_condition_says_what_to_write(table: mi.Table, condition: str, said: str) -> None:
    with pytest.raises(MetaIndexError) as caught:
        table.prune(condition)
    assert said in str(caught.value)


def test_quotes_inside_of_quotes_are_no_mistake() -> None:
    for fine in ("a = 'it\\'s'", "a = '\"'", 'a = "\'"', "`a'` = 1", "a = 'it''s'"):
        to_predicate(fine)


def test_a_date_against_a_text_is_refused_in_the_words_that_were_asked(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"day": "2026-01-11"}\n{"day": "2026-01-09"}\n')
    with pytest.raises(MetaIndexError) as caught:
        mi.open_table(str(tmp_path)).scan("day > DATE '2026-01-10'").to_arrow()
    assert "datetime.date(" not in str(caught.value)
    assert "DATE '2026-01-10'" in str(caught.value)
    assert "day is a column of texts" in str(caught.value)
    typed = mi.open_table(str(tmp_path), schema="day date")
    assert typed.scan("day > DATE '2026-01-10'").to_arrow().num_rows == 1


def test_an_index_is_not_credited_with_what_was_not_understood(table: mi.Table) -> None:
    table.create_index("i", mi.Values("user", "id", "city"), builder="local")
    assert ", by user;" in str(table.prune("user = 1 and foo(id) = 3"))
    assert ", by nothing it knows;" in str(table.prune("city LIKE '%x%'"))
    assert ", by id, user;" in str(table.prune("user = 1 and id = 1"))


def test_a_kind_is_given_once(table: mi.Table) -> None:
    with pytest.raises(mi.MetaIndexError, match="given twice; leave one out"):
        table.create_index("i", mi.Values("user"), mi.Values("user"), builder="local")
    with pytest.raises(
        mi.ArgumentError, match=r"bloom_filters of user was given with fpp=0.01 and with fpp=0.1; leave"
    ):
        table.create_index("i", mi.Bloom("user"), mi.Bloom("id", "user", fpp=0.1), builder="local")
    table.create_index(
        "i", mi.Values("user"), mi.Values("id"), mi.Bloom("user"), mi.Bloom("id", fpp=0.1), builder="local"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["remove", "t", "i"], "did you mean 'drop'?"),
        (["delete-index", "t", "i"], "did you mean 'drop'?"),
        (["RM", "t", "i"], "did you mean 'drop'?"),
        (["aggregate", "t"], "did you mean 'count --sum'?"),
        (["list", "t"], "did you mean 'indexes'?"),
        (["create", "t", "i", "--valeus", "user"], "did you mean '--values'?"),
        (["create", "t", "i", "--valeus=user"], "did you mean '--values'?"),
        (["prune", "t", "user", "=", "1"], "unrecognized arguments: = 1; what holds blanks stands in quotes"),
    ],
)
def test_a_mistyped_command_names_the_right_one(call: Call, words: list[str], said: str) -> None:
    answer = call(*words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1


NAMES = ["my col", "select", "Am\u00f6unt", "am\x1b[31mount", "a`b", "a-b", "1st", "a.b", "plain", "order"]


def named(tmp_path: Path) -> mi.Table:
    pq.write_table(pa.table({name: [1] for name in NAMES}), tmp_path / "a\x1b[32m.parquet")
    return mi.open_table(tmp_path)


def test_names_that_are_offered_can_be_written_as_they_are_shown(tmp_path: Path) -> None:
    with pytest.raises(mi.UnknownColumnError) as caught:
        named(tmp_path).prune("zzzzzz = 1")
    (shown,) = re.findall(r"there are: (.*); a text", str(caught.value))
    offered = [name for name in shown.split(", ") if "\\x1b" not in name]
    assert len(offered) == len(NAMES) - 1
    assert {to_predicate(f"{name} = 1") for name in offered} == {
        mi.col(ColumnRef((name,)).name) == 1 for name in NAMES if "\x1b" not in name
    }
    assert "plain" in offered


def test_a_name_in_an_error_steers_no_terminal(tmp_path: Path) -> None:
    table = named(tmp_path)
    Path(tmp_path, "a\x1b[32m.parquet").write_bytes(b"PAR1 no more")
    for ask in (
        lambda: table.prune("amount = 1"),
        lambda: mi.open_table(tmp_path).prune("plain = 1"),
        lambda: table.scan("plain = 1", columns=["am\x1b[31moun"]),
        lambda: table.create_index("x", mi.Values("am\x1b[31moun"), builder="local"),
        lambda: mi.open_table(f"{tmp_path}\x1b[2J\n"),
    ):
        with pytest.raises(MetaIndexError) as caught:
            ask()
        assert str(caught.value).isprintable()
        assert "".join(traceback.format_exception_only(caught.value)).rstrip("\n").isprintable()


def test_names_of_columns_that_are_given_in_python_are_offered_as_python_writes_them(tmp_path: Path) -> None:
    with pytest.raises(mi.UnknownColumnError, match="did you mean 'my col'"):
        named(tmp_path).scan("plain = 1", columns=["my_col"])


@pytest.mark.parametrize("written", ["utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("ending", ["json", "csv"])
def test_a_text_that_begins_as_utf16_or_utf32_is_told(tmp_path: Path, written: str, ending: str) -> None:
    text = {"json": '{"id": 1, "name": "\u00e4"}\n', "csv": "id,name\n1,\u00e4\n"}[ending]
    (tmp_path / f"0.{ending}").write_text(text, encoding=written)
    with pytest.raises(MetaIndexError, match=r"begins as UTF-16 or UTF-32: write it in UTF-8, or .*'spark'"):
        mi.open_table(tmp_path).scan("id = 1").to_arrow()


@pytest.mark.parametrize("files", [[], ["0.parquet"], ["_delta_log/.s3-optimization-0"]])
@pytest.mark.parametrize("said", [None, "delta", "iceberg", "parquet", "files"])
def test_a_log_without_commits_is_told_alike_whatever_the_format_is_said_to_be(
    tmp_path: Path, files: list[str], said: str | None
) -> None:
    (tmp_path / "_delta_log").mkdir()
    for name in files:
        pq.write_table(pa.table({"id": [1]}), tmp_path / name)
    with pytest.raises(MetaIndexError, match="holds no commit; restore the log, or remove _delta_log where") as told:
        mi.open_table(tmp_path, format=said).prune("id = 1")
    assert "format" not in str(told.value)


def test_without_the_folder_of_the_log_it_is_a_table_of_plain_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "0.parquet")
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log").rmdir()
    assert mi.open_table(tmp_path).prune("id = 1").total_files == 1


def test_a_file_that_vanished_behind_a_scan_is_no_matter_of_a_new_one(table: mi.Table) -> None:
    scan = table.scan("id >= 0")
    Path(table.path, "1.parquet").unlink()
    with pytest.raises(MetaIndexError, match="scan anew"):
        scan.to_arrow()
    assert sorted(table.scan("id >= 0").to_arrow()["id"].to_pylist()) == [0, 2]


# Slips ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "cure"),
    [
        ("foo", 1, "leave it out, or name one that there is, such as header, sep, "),
        ("skip_rows", 2, "leave it out, or name one"),
        ("options", {"header": "false"}, "say each option as an argument of its own: header=True"),
        ("storage_option", {"region": "x"}, "did you mean 'storage_options'?"),
        ("seperator", ";", "did you mean 'sep'?"),
        ("cataloge", None, "did you mean 'catalog'?"),
        ("versionAsOf", 3, "say version= where the table is asked"),
        ("timestamp", "2026-01-01", "say timestamp= where the table is asked"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_option_that_nobody_knows_is_refused(
    tmp_path: Path, name: str, value: object, cure: str, ending: str
) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    if ending == "csv":
        (tmp_path / "a.parquet").unlink()
        (tmp_path / "a.csv").write_text("1,2\n3,4\n")  # asked by itself for a header
    with pytest.raises(mi.ArgumentError) as told:
        mi.open_table(tmp_path, **{name: value})
    assert str(told.value).startswith(f"readers know options by name; {name!r} is none; {cure}")


def test_an_index_that_recorded_an_option_that_nobody_knows_goes_on(tmp_path: Path) -> None:
    """It was taken once, and told nobody anything."""
    path = settled(tmp_path / "t", {f"{at}.parquet": pa.table({"a": [at]}) for at in range(3)})
    Table(Handle.open(path, foo=1, recursiveFileLookup=True)).create_index("i", mi.Values("a"), builder="local")
    assert "foo" in handle_of(mi.open_table(path)).entries()[0].table.options
    settled(path, {"4.parquet": pa.table({"a": [4]})})
    table = mi.open_table(path)
    assert table.refresh_index("i").changed
    assert table.verify_index("i").sound
    pruned = mi.open_table(path, recursiveFileLookup=True).prune("a = 4")
    assert (pruned.kept_files, pruned.total_files) == (1, 4)


@pytest.mark.parametrize(
    "name", ["header", "HEADER", "escape", "charToEscapeQuoteEscaping", "x.own", "fs.s3a.endpoint"]
)
def test_options_of_spark_and_of_others_pass(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    mi.open_table(tmp_path, format="csv", **{name: "|" if name == "escape" else "true"}).snapshot()


@pytest.mark.parametrize(
    ("name", "cure"),
    [("synchronous", "there are builder, "), ("index", "did you mean 'indexes'"), ("header", "there are")],
)
def test_a_hook_refuses_options_that_it_has_not(name: str, cure: str) -> None:
    check_options(["indexes", "builder", "storage_options", "config"])
    with pytest.raises(mi.ArgumentError, match=f"{name!r} is none; {cure}"):
        check_options([name])


def test_an_index_is_created_on_a_frame(tmp_path: Path) -> None:
    with pytest.raises(mi.ArgumentError, match="begins with a DataFrame of Spark; got str"):
        mi.create_index("stats", mi.ColumnStats())


@pytest.mark.parametrize("predicate", [None, "user_id = 1"])
@pytest.mark.parametrize("first", [{}, {"limit": 1}, {"limit": 1, "order_by": ["user_id"]}])
def test_a_scan_says_at_once_that_a_column_is_not_there(
    tmp_path: Path, predicate: str | None, first: dict[str, object]
) -> None:
    pq.write_table(pa.table({"user_id": [1]}), tmp_path / "a.parquet")
    with pytest.raises(mi.UnknownColumnError, match=r"there is no 'usr_id'; did you mean 'user_id'\?"):
        mi.open_table(tmp_path).scan(predicate, columns=["usr_id"], **first)


def test_what_verify_finds_comes_with_its_cure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"a": [1, 2, 3]}))
    table = mi.open_table(tmp_path / "t")
    table.create_index("k", mi.Values("a"), builder="local")
    assert "repair" not in str(table.verify_index("k"))
    for part in (tmp_path / "t").rglob("values/**/*.mix"):
        part.unlink()
    assert "  repair_index('k') builds anew what is wrong" in str(table.verify_index("k"))
    assert main(["verify", str(tmp_path / "t"), "k"]) != 0
    assert f"  `metaindex repair {tmp_path / 't'} k` builds anew what is wrong" in capsys.readouterr().out
    table.repair_index("k")
    assert table.verify_index("k").sound
