"""What a first user mistypes: options that nobody has, and things that are no Spark session."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.ops.hooks.after_commit import check_options
from metaindex.query import Handle
from metaindex.table import Table, handle_of
from tests.tables import settled


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("hedaer", "header"), ("delimeter", "delimiter"), ("nullValues", "nullValue"), ("mulitLine", "multiLine")],
)
def test_an_option_that_is_nearly_one_is_refused(tmp_path: Path, slip: str, meant: str) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(mi.ArgumentError, match=f"{slip!r} is none; did you mean {meant!r}"):
        mi.open_table(tmp_path, format="csv", **{slip: "true"}).snapshot()


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


@pytest.mark.parametrize("given", [None, "spark", 7])
def test_what_is_no_session_is_named(tmp_path: Path, given: object) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    table = mi.open_table(tmp_path)
    with pytest.raises(mi.ArgumentError, match="Spark is given as a SparkSession; got"):
        table.scan("a = 1").to_spark(given)


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
