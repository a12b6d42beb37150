"""What a verb cannot take is said in one line of ours: the rule and the fact. Nothing is done, and no raw TypeError,
AttributeError or ValueError of Python's comes out."""

import datetime as dt
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.core import ArgumentError, first_line
from metaindex.table import handle_of


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> mi.Table:
    root = tmp_path_factory.mktemp("lake") / "t"
    write_deltalake(str(root), pa.table({"a": [1, 2, 3], "s": ["x", "y", "z"]}))
    found = mi.open_table(str(root))
    found.create_index("k", mi.ColumnStats(), builder="local")
    return found


ANY: Any = mi  # what types forbid is what is tried here
ANY_EXPRESSION: Any = pc.field("a")

OPENING: list[Any] = [b"/tmp", None, 5, [], [5], "", [""], [b"/tmp"], dt.date(2026, 1, 1)]

CALLS: dict[str, Callable[[Any], object]] = {
    "a time before the table": lambda t: t.snapshot(timestamp=dt.date(2020, 1, 1)),
    "no time": lambda t: t.snapshot(timestamp="soon"),
    "half a millisecond": lambda t: t.snapshot(timestamp=1.5),
    "half a version": lambda t: t.snapshot(version=1.5),
    "a list of versions": lambda t: t.snapshot(version=[1]),
    "a truth for a version": lambda t: t.snapshot(version=True),
    "a class for a kind": lambda t: t.create_index("n", mi.ColumnStats, builder="local"),
    "a column for a kind": lambda t: t.create_index("n", "a", builder="local"),
    "no kind": lambda t: t.create_index("n", builder="local"),
    "a folder for a name": lambda t: t.create_index("a/b", mi.ColumnStats(), builder="local"),
    "None for a name": lambda t: t.create_index(None, mi.ColumnStats(), builder="local"),
    "a number for a name": lambda t: t.create_index(5, mi.ColumnStats(), builder="local"),
    "an unknown builder": lambda t: t.create_index("n", mi.ColumnStats(), builder="nope"),
    "a number for a builder": lambda t: t.create_index("n", mi.ColumnStats(), builder=5),
    "refresh of None": lambda t: t.refresh_index(None, builder="local"),
    "refresh of a list": lambda t: t.refresh_index(["k"], builder="local"),
    "history of a mapping": lambda t: t.history({}),
    "verify of a list": lambda t: t.verify_index([None]),
    "an expression for a mode": lambda t: t.refresh_index("k", mode=pc.field("a"), builder="local"),
    "an expression for how to optimize": lambda t: t.optimize_index("k", mode=pc.field("a")),
    "an expression for how values are kept": lambda t: mi.Values("a", by=ANY_EXPRESSION),
    "a text for a mark": lambda t: mi.ColumnStats(scan_floats="x"),
    "a number for a mark": lambda t: mi.ColumnStats(trust_log=1),
    "no predicate for places": lambda t: t.locate(None),
    "no predicate for exact places": lambda t: t.locate(None, exact=True),
    "half a character in a key": lambda t: mi.Config(seal_key="0123456789abcdef\ud800"),
    "an unknown mode": lambda t: t.refresh_index("k", "nope", builder="local"),
    "refresh of none": lambda t: t.refresh_index("nope", builder="local"),
    "refresh below a number": lambda t: t.refresh_index("k", under=5, builder="local"),
    "erase of none": lambda t: t.erase_index("nope"),
    "delete of none": lambda t: t.drop_index("nope"),
    "optimize in no mode": lambda t: t.optimize_index("k", mode="x"),
    "verify of some files": lambda t: t.verify_index("k", files="x"),
    "verify of less than none": lambda t: t.verify_index("k", files=-1),
    "a number for columns": lambda t: t.scan("a = 1", columns=5),
    "a number for a column": lambda t: t.scan("a = 1", columns=[5]),
    "a number for indexes": lambda t: t.prune("a = 1", indexes=5),
    "a number for an index": lambda t: t.scan("a = 1", indexes=[5]),
    "indexes of an explanation": lambda t: t.explain("a = 1", indexes=5),
    "indexes of a look-up": lambda t: t.locate("a = 1", indexes=5),
    "indexes of a search": lambda t: t.search("x", indexes=5),
    "a number for a predicate": lambda t: t.prune(5),
    "a list for a predicate": lambda t: t.prune(["a"]),
    "an empty predicate": lambda t: t.prune(""),
    "a text for a retention": lambda t: t.clean_index("k", "a"),
    "an endless retention": lambda t: t.clean_index("k", float("inf")),
    "a retention that is no number": lambda t: t.clean_index("k", float("nan")),
    "a retention below nothing": lambda t: t.clean_index("k", -1),
    "the last -1 entries": lambda t: t.history("k", last=-1),
    "the last 0 entries": lambda t: t.history("k", last=0),
    "the last x entries": lambda t: t.history("k", last="x"),
    "in a number": lambda t: t.prune(ANY.col("a").isin(5)),
    "in a text": lambda t: t.prune(ANY.col("s").isin("xy")),
    "an option of no format": lambda t: mi.open_table(t.path, foo=1),
    "a number for a format": lambda t: mi.open_table(t.path, format=5),
    "a number for a configuration": lambda t: mi.open_table(t.path, config=5),
    "a text for storage options": lambda t: mi.open_table(t.path, storage_options="x"),
    "a text for a connection": lambda t: t.scan("a = 1").to_duckdb("x"),
    "a text for a DeltaTable": lambda t: t.scan("a = 1").to_deltalake("x"),
    "a text for a pyiceberg table": lambda t: t.scan("a = 1").to_pyiceberg("x"),
    "a text for a Spark session": lambda t: t.scan("a = 1").to_spark("x"),
    "no path for a place of indexes": lambda t: ANY.Config(index_location="\0"),
    "no path to confine to": lambda t: ANY.Config(confine_to=("a\0",)),
    "a number for a session": lambda t: ANY.enable(5),
    "a filter": lambda t: t.scan(filter="a = 1"),
    "another name of a count": lambda t: t.count(predicates="a = 1"),
    "a condition twice": lambda t: t.prune("a = 1", where="a = 1"),
    "a path for a handle": lambda t: mi.Table(t.path),
    "a text for trust": lambda t: mi.open_table(t.path, trust_index="yes"),
    "a key of a number": lambda t: ANY.Values(5),
    "a key of nothing": lambda t: ANY.Values([]),
    "no key": lambda t: ANY.Values(),
    "a text for a share": lambda t: ANY.Bloom("a", fpp="x"),
    "a share of 2": lambda t: ANY.Bloom("a", fpp=2),
    "covering a number": lambda t: ANY.Covering(5),
    "a text for buckets": lambda t: ANY.Covering("a", buckets="x"),
    "seconds below nothing": lambda t: ANY.Config(settle_seconds=-1),
    "a text for seconds": lambda t: ANY.Config(settle_seconds="x"),
    "a number for a namespace": lambda t: ANY.Config(namespace=5),
    "no text for a place of indexes": lambda t: ANY.Config(index_location=""),
    "bytes for a place of indexes": lambda t: ANY.Config(index_location=b"x"),
    "a number for a name of an index": lambda t: t.indexes(5),
    "a list for a name of an index": lambda t: t.indexes(["k"]),
    "indexes of none": lambda t: t.indexes("nope"),
    "indexes for no session": lambda t: t.indexes().to_spark(None),
    "statistics of a number": lambda t: t.statistics(5, "a"),
    "statistics of a numbered partition": lambda t: t.statistics("k", "a", 5),
    "verify of no versions": lambda t: t.verify_index("k", versions="newes"),
    "verify of a number for predicates": lambda t: t.verify_index("k", predicates=5),
    "a truth for progress": lambda t: t.create_index("n", mi.Values("a"), builder="local", progress=True),
    "a number for a text": lambda t: t.search(5),
    "a column for a condition": lambda t: t.prune(mi.col("a")),
    "a number for candidates": lambda t: t.recommend("a = 1", candidates=5),
    "a text for names of tables": lambda t: t.recommend("a = 1", tables="x"),
    "a list for names of tables": lambda t: t.what_if(["SELECT a FROM t WHERE a = 1"], tables=["x"]),
    "a mapping for a configuration": lambda t: t.reopened({"namespace": "x"}),
    "a number for days of a report": lambda t: t.report("/nowhere/page.html", since=7),
    "a text for tables of a report": lambda t: t.report("/nowhere/page.html", tables="x"),
    "a long name for a report": lambda t: t.report("a" * 5000),
    "a zero byte for a report": lambda t: t.report("a\0b"),
    "half a character for a report": lambda t: t.report("a\ud800"),
    "a number for tables of a statement": lambda t: ANY.sql("SHOW INDEXES ON a", tables=3),
    "a number for a path of a statement": lambda t: ANY.sql("SHOW INDEXES ON a", tables={"a": 3}),
    "a text for bytes": lambda t: ANY.Config(cache_bytes="x"),
    "a builder that is none": lambda t: ANY.Config(builder="x"),
}


@pytest.mark.parametrize("path", OPENING, ids=repr)
def test_what_names_no_table_is_an_error_of_ours(path: Any) -> None:
    with pytest.raises(mi.MetaIndexError) as caught:
        mi.open_table(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_what_a_verb_cannot_take_is_an_error_of_ours(table: mi.Table, call: Callable[[Any], object]) -> None:
    before = [entry.id for entry in handle_of(table).entries()]
    with pytest.raises(mi.MetaIndexError) as caught:
        call(table)
    assert str(caught.value).strip()
    assert "\n" not in str(caught.value)
    assert [entry.id for entry in handle_of(table).entries()] == before


def test_a_wrong_argument_is_what_python_calls_it_too() -> None:
    assert issubclass(ArgumentError, ValueError)
    assert issubclass(ArgumentError, TypeError)


def test_one_name_is_a_list_of_one(table: mi.Table) -> None:
    assert table.scan("a = 1", columns="a", indexes="k").to_arrow().column_names == ["a"]


def test_indexes_are_asked_for_by_name(table: mi.Table) -> None:
    assert [info.name for info in table.indexes("k")] == ["k"]
    assert [info.name for info in table.indexes("k", "k")] == ["k"]
    with pytest.raises(mi.IndexNotFoundError, match="there is no index named 'nope'; there are: k"):
        table.indexes("k", "nope")


def test_one_predicate_is_a_list_of_one(table: mi.Table) -> None:
    assert table.verify_index("k", predicates="a = 1").sound


def test_one_candidate_is_a_list_of_one(table: mi.Table) -> None:
    told = [str(table.recommend("a = 1", candidates=given)) for given in (ANY.Values("a"), [mi.Values("a")])]
    assert told[0] == told[1]


def test_values_of_arrow_are_values(table: mi.Table) -> None:
    assert table.scan(mi.col("a").isin(pa.array([1, 3]))).to_arrow()["a"].to_pylist() == [1, 3]


def test_a_date_is_its_first_moment(table: mi.Table) -> None:
    tomorrow = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=1)
    assert table.snapshot(timestamp=tomorrow).version == table.snapshot().version


@pytest.mark.parametrize("asked", [1_577_836_800_000, "2020-01-01", dt.date(2020, 1, 1)], ids=repr)
def test_times_are_said_as_people_write_them(table: mi.Table, asked: Any) -> None:
    with pytest.raises(mi.MetaIndexError, match="as old as 2020-01-01 00:00:00 UTC;"):
        table.snapshot(timestamp=asked)


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    with pytest.raises(mi.MetaIndexError, match="is an empty folder"):
        mi.open_table(tmp_path)
    with pytest.raises(mi.MetaIndexError, match="does not exist"):
        mi.open_table(tmp_path / "none")


@pytest.mark.parametrize("option", [{"sep": "||"}, {"sep": ""}, {"quote": "''"}, {"header": "maybe"}], ids=str)
def test_a_dialect_that_no_file_has_is_refused(tmp_path: Path, option: dict[str, str]) -> None:
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    with pytest.raises(mi.MetaIndexError, match="of CSV files is"):
        mi.open_table(tmp_path, format="csv", **option).snapshot()


def test_an_index_that_was_removed_by_hand_is_not_said_to_be_there(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"a": [1]}))
    table = mi.open_table(tmp_path)
    for name in ("gone", "there"):
        table.create_index(name, mi.ColumnStats(), builder="local")
    shutil.rmtree(tmp_path / "_metaindex" / "gone" / "_log")
    for verb in (table.history, table.refresh_index, table.verify_index):
        with pytest.raises(mi.MetaIndexError, match=r"'gone' \(its folder at .* has no log\); there are: there$"):
            verb("gone")
    assert table.scan("a = 1").to_arrow().num_rows == 1


def test_an_error_inside_duckdb_begins_with_our_line_and_has_no_causes(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"a": [1]}))
    con = duckdb.connect()
    rows = mi.open_table(tmp_path).scan().to_duckdb(con)
    for file in tmp_path.glob("*.parquet"):
        file.unlink()
    with pytest.raises(duckdb.Error, match="a scan reads every file of the version or none") as caught:
        rows.fetchall()
    assert "direct cause" not in str(caught.value)
    assert str(caught.value).count("\n") < 6


def test_a_foreign_error_without_words_is_said_by_its_name() -> None:
    assert first_line(ValueError()) == "ValueError"
    assert first_line(ValueError("\n\none\ntwo")) == "one"


def test_a_key_that_is_no_text_is_not_shown() -> None:
    with pytest.raises(ArgumentError) as caught:
        mi.Config(seal_key="a secret of ours\ud800")
    assert caught.value.__suppress_context__
    assert "secret of" not in str(caught.value)
    assert "d800" not in repr(caught.value)


def test_without_a_predicate_every_file_is_kept(table: mi.Table) -> None:
    assert table.prune().kept_files == table.prune(None).kept_files == table.prune("TRUE").kept_files == 1
    assert "read 1 of 1" in str(table.explain())
    assert table.count() == 3


def test_a_column_with_a_dot_in_its_name_is_named_with_its_backticks(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"x.y": [1]}))
    table = mi.open_table(tmp_path / "t")
    with pytest.raises(mi.UnknownColumnError, match=r"there is no 'x\.y'; did you mean `x\.y`\?"):
        table.create_index("i", mi.Values("x.y"))
    with pytest.raises(mi.UnknownColumnError, match=r"near names: `x\.y`"):
        table.create_index("i", mi.Values("x.z"))
    assert table.create_index("i", mi.Values("`x.y`")).changed


@pytest.mark.parametrize("condition", ["a > 1", None])
def test_where_names_the_condition(table: mi.Table, condition: str | None) -> None:
    assert table.count(where=condition) == table.count(condition)
    assert table.scan(where=condition).to_arrow() == table.scan(condition).to_arrow()
    assert table.prune(where=condition).paths == table.prune(condition).paths
    assert str(table.explain(where="a > 1").result.predicate) == str(table.explain("a > 1").result.predicate)


def test_an_argument_that_there_is_not_is_answered_with_those_that_there_are(table: mi.Table) -> None:
    with pytest.raises(
        mi.ArgumentError, match=r"'filter' is none; name a condition with where=; there are predicate, "
    ):
        table.scan(filter="a = 1")  # type: ignore[call-arg]
