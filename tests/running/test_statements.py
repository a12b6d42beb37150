"""Statements without Spark: every kind, on every format, through every verb; names, options and what is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.errors import IndexExistsError, IndexStateError
from metaindex.expressions.errors import UnsupportedFeatureError
from metaindex.kinds import registry
from metaindex.pruning.result import human_bytes
from metaindex.running.files import FileTables
from metaindex.running.results import schema_of
from metaindex.running.run import run
from metaindex.statements.parsing import parsed
from metaindex.views.words import moment
from tests.contract.verbs_lake import FORMATS, Lake, rows
from tests.kinds.null_files import NullFiles
from tests.kinds.test_verbs import installed
from tests.tables import settle

USING = {
    "column_stats": "USING column_stats",
    "column_stats of some": "USING minmax (n) OPTIONS (scan_floats = false)",
    "values": "(user, (user, n))",
    "values by value": "USING values (user) OPTIONS ('by' = 'value')",
    "bloom": "USING bloom (user) OPTIONS (fpp = '0.001')",
    "value_list": "USING value_list (user) OPTIONS (limit = 100)",
    "sums": "USING sums (n)",
    "sketches": "USING sketches (user, n) OPTIONS (entries = 256)",
    "several": "USING column_stats USING values (user) USING bloom_filter (n)",
}


def named(lake: Lake) -> str:
    """The table as a statement names it."""
    match lake.format:
        case "csv":
            return f"csv.`{lake.place()}` WITH (header = true, schema = 'user STRING, n BIGINT')"
        case "iceberg":
            return f"'{lake.place()}'"
        case format_:
            return f"{format_}.`{lake.place()}`"


def filled(folder: Path, format_: str) -> Lake:
    lake = Lake(folder, format_)
    lake.add([rows(0), rows(40), rows(80)])
    settle(Path(lake.location)) if format_ in ("parquet", "csv", "json") else None
    return lake


def told(statement: str, **how: Any) -> list[dict[str, Any]]:
    """The rows of a statement; they have the columns that it says before it is run."""
    found = mi.sql(statement, builder="local", **how)
    assert found.to_arrow().schema == schema_of(parsed(statement))
    assert str(found)
    return found.to_json()


@pytest.mark.parametrize(
    ("using", "compared"),
    [
        ("USING column_stats", {"files": 3, "statistics": 6, "keys": 0, "rows_compared": 0}),
        ("USING values (user)", {"files": 3, "statistics": 0, "keys": 3, "rows_compared": 0}),
        ("USING minmax (n) USING values (user)", {"files": 3, "statistics": 3, "keys": 3, "rows_compared": 0}),
    ],
)
def test_a_verification_says_of_how_many_files_it_compared_what(
    using: str, compared: dict[str, int], tmp_path: Path
) -> None:
    table = named(filled(tmp_path, "parquet"))
    told(f"CREATE INDEX a ON {table} {using}")
    (verified,) = told(f"VERIFY INDEX a ON {table} OPTIONS (files = all)")
    assert {name: verified[name] for name in compared} == compared


def test_every_kind_that_needs_no_spark_is_here() -> None:
    here = {kind.name for text in USING.values() for kind in parsed(f"CREATE INDEX a ON t {text}").kinds}  # type: ignore[union-attr]
    assert here == {kind.name for kind in registry.KINDS if not kind.needs_spark}


@pytest.mark.rotating(of=12)
@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", USING)
def test_an_index_lives_through_every_statement(name: str, format_: str, tmp_path: Path) -> None:
    lake = filled(tmp_path, format_)
    table = named(lake)
    create = f"CREATE INDEX IF NOT EXISTS `a.b` ON {table} {USING[name]}"
    (made,) = told(create)
    assert (made["operation"], made["changed"], made["state"], made["files"]) == ("create", True, "ACTIVE", 3)
    assert made["kinds"] == [kind.name for kind in parsed(create).kinds]  # type: ignore[union-attr]
    assert told(create)[0]["changed"] is False

    lake.add([rows(120)])
    if format_ in ("parquet", "csv", "json"):
        settle(Path(lake.location))
    table = named(lake)
    (shown,) = told(f"SHOW INDEXES ON {table}")
    assert (shown["fresh"], str(shown["note"])[:7]) == (False, "1 file,")
    assert told(f"REFRESH INDEX `a.b` ON {table}")[0]["files"] == 4
    assert told(f"OPTIMIZE INDEX `a.b` ON {table} FULL")[0]["state"] == "ACTIVE"
    assert told(f"VERIFY INDEX `a.b` ON {table} OPTIONS (files = all)")[0]["sound"] is True
    (shown,) = told(f"SHOW INDEXES ON {table}")
    assert (shown["name"], shown["fresh"], shown["files"], shown["note"]) == ("a.b", True, 4, None)
    said = {row["name"]: row["value"] for row in told(f"DESCRIBE INDEX `a.b` ON {table}")}
    assert said["runs"] == "1"
    again = parsed(said["statement"])
    assert (again.name, again.kinds) == ("a.b", parsed(create).kinds)  # type: ignore[union-attr]
    assert told(f"DESCRIBE INDEX HISTORY `a.b` ON {table}")[-1]["verb"] == "commit optimize"

    for verb in ("DISABLE", "ENABLE", "CLEAN", "ERASE", "REPAIR"):
        assert told(f"{verb} INDEX `a.b` ON {table}")[0]["state"] == "ACTIVE"
    assert told(f"DROP INDEX `a.b` ON {table}")[0]["state"] == "DELETED"
    assert told(f"DROP INDEX IF EXISTS `a.b` ON {table}")[0]["changed"] is False
    assert told(f"RESTORE INDEX `a.b` ON {table}")[0]["state"] == "ACTIVE"
    with pytest.raises(IndexStateError, match="; drop it first"):
        told(f"VACUUM INDEX `a.b` ON {table}")
    told(f"DROP INDEX `a.b` ON {table}")
    assert told(f"VACUUM INDEX `a.b` ON {table}")[0]["state"] == "DOESNOTEXIST"
    for verb in ("REFRESH", "OPTIMIZE", "DROP", "RESTORE", "VACUUM", "CANCEL", "ENABLE", "CLEAN", "ERASE", "REPAIR"):
        assert told(f"{verb} INDEX IF EXISTS `a.b` ON {table}")[0]["changed"] is False
    assert told(f"SHOW INDEXES ON {table}") == []
    with pytest.raises(mi.IndexNotFoundError, match=r"drop needs an index; .* there are: none"):
        told(f"DROP INDEX `a.b` ON {table}")


@pytest.mark.parametrize("format_", [format_ for format_ in FORMATS if format_ != "csv"])  # a query says no options
def test_a_query_is_explained_weighed_and_advised(format_: str, tmp_path: Path) -> None:
    lake = filled(tmp_path, format_)
    table = named(lake)
    query = "SELECT n FROM t WHERE user = 'user-41'"
    tables = {"t": lake.place()}
    told(f"CREATE INDEX find ON {table} (user)")
    (row,) = told(f"EXPLAIN INDEXES {query}", tables=tables)
    assert (row["index"], row["used"], row["files"], row["total_files"]) == ("find", True, 1, 3)
    assert "find: dropped 2 files" in told(f"EXPLAIN INDEXES FORMATTED {query}", tables=tables)[0]["plan"]
    weighed = told(f"EXPLAIN WHATIF {query} WITH INDEX USING bloom (n), INDEX ON t USING values (n)", tables=tables)
    assert [row["candidate"] for row in weighed] == ["as it is", "bloom_filters(n)", "values(n)"]
    assert told(f"EXPLAIN WHATIF {query}", tables=tables)
    log = tmp_path / "log.sql"
    log.write_text("SELECT * FROM t WHERE n = 43;")
    advised = told(f"RECOMMEND INDEXES ON t FROM '{log}' OPTIONS (copies = false, budget = '1MB')", tables=tables)
    assert advised
    for row in advised:
        assert row["recommended"] or row["reason"]
        if row["recommended"]:
            assert [kind.title for kind in parsed(row["statement"]).kinds] == [row["kinds"]]  # type: ignore[union-attr]
            assert re.fullmatch(r"[\d.]+ [KM]?B \(\d+%\)", row["leaves_out"]), row
            assert re.fullmatch(r"[\d.]+ [KM]?B", row["size"]), row
            for what in ("leaves_out_bytes", "share", "helps_queries", "index_bytes"):
                assert row[f"{what}_low"] <= row[what] <= row[f"{what}_high"]
    answer = mi.recommend(log, tables=tables, budget_bytes=1e6, copies=False)
    assert len(answer.indexes) == sum(row["recommended"] for row in advised)
    for row, index in zip(advised, answer.indexes, strict=False):  # of Delta none: its log answers
        assert (row["share_low"], row["share_high"]) == (index.saved.low, index.saved.high)
        assert (row["index_bytes_low"], row["index_bytes_high"]) == (index.size_bytes.low, index.size_bytes.high)
    assert answer.indexes or format_ in ("delta", "iceberg")


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("DELETE FROM t WHERE n = 1", "this one does not: 'DELETE FROM t WHERE n = 1'"),
        ("UPDATE t SET n = 1 WHERE n = 2", "this one does not: 'UPDATE"),
        ("INSERT INTO u SELECT * FROM t", "this one does not: 'INSERT"),
        ("MERGE INTO t USING u ON t.n = u.n WHEN MATCHED THEN DELETE", "this one does not: 'MERGE"),
        ("CREATE TABLE u AS SELECT * FROM t", "this one does not: 'CREATE"),
        ("n = 1", "this one does not: 'n = 1'"),
        ("/* a */ WITH x(n) AS (SELECT 1), y AS (SELECT (2)) DELETE FROM t", "this one has DELETE"),
        ("WITH x AS (SELECT 1) INSERT INTO u SELECT * FROM t", "this one has INSERT"),
        ("FROM t INSERT INTO u SELECT *", "this one has INSERT"),
    ],
)
def test_what_is_no_query_is_not_answered(tmp_path: Path, query: str, fact: str) -> None:
    """Spark's session refuses it in the same words."""
    lake = filled(tmp_path, "delta")
    for statement in (f"EXPLAIN INDEXES {query}", f"EXPLAIN WHATIF {query} WITH INDEX ON t USING bloom (n)"):
        with pytest.raises(mi.ArgumentError, match=re.escape(fact)):
            mi.sql(statement, tables={"t": lake.place(), "u": lake.place()})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT user AS delete FROM t WHERE n = 1",
        "-- DELETE\n(SELECT user FROM t WHERE (n = 1) AND (n < 3))",
        "WITH x(m) AS (SELECT n FROM t), y AS (SELECT 1) SELECT m FROM x WHERE (m = 1)",
    ],
)
def test_a_query_may_name_what_changes_a_table(tmp_path: Path, query: str) -> None:
    assert told(f"EXPLAIN INDEXES {query}", tables={"t": filled(tmp_path, "delta").place()})


def test_what_is_recommended_is_said_as_statements_that_can_be_pasted(tmp_path: Path) -> None:
    place = tmp_path / "texts"
    place.mkdir()
    for number in range(12):
        (place / f"{number}.csv").write_text(f"{number};n21\n" * 40)
    settle(place)
    (tmp_path / "log.sql").write_text("SELECT * FROM texts WHERE a = 4")
    given = "header = false, delimiter = ';', schema = 'a INT, b STRING', nullValue = 'n21'"
    answer = mi.sql(f"RECOMMEND INDEXES ON csv.`{place}` WITH ({given}) FROM '{tmp_path}/log.sql'")
    shown = [str(part) for part in answer.shown]
    lines = shown[shown.index("to create them:") + 1 :]
    statements = [row["statement"] for row in answer.to_json() if row["recommended"]]
    assert lines == [f"  {statement};" for statement in statements] != []
    assert not any("mi." in line or "--create" in line for line in shown)
    for line in lines:
        mi.sql(line.strip().rstrip(";"))
    (row, *_) = told(f"SHOW INDEXES ON csv.`{place}` WITH ({given})")
    assert (row["fresh"], row["note"] and "built" in row["note"]) == (True, None)
    query = f"SELECT * FROM csv.`{place}` WITH ({given}) WHERE a = 4"
    assert any(row["used"] for row in told(f"EXPLAIN INDEXES {query}"))


def test_a_kind_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(NullFiles, tmp_path / "packages", monkeypatch)
    lake = filled(tmp_path, "delta")
    (made,) = told(f"CREATE INDEX a ON {named(lake)} USING null_files (user)")
    assert made["kinds"] == ["null_files"]


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "it's a lake" / "ä b"
    root.mkdir(parents=True)
    for part in range(3):
        pq.write_table(pa.table({"id": range(part * 10, part * 10 + 10), "N": ["x"] * 10}), root / f"{part}.parquet")
    settle(root)
    monkeypatch.chdir(root.parent)
    return root


@pytest.mark.parametrize(
    "name", ["'{root}'", "parquet.`{root}`", "`{root}`", "`ä b`", '"ä b"', "/* c */ 'ä b' -- c\n", "T.É", "`t`.`é`"]
)
def test_a_table_by_its_names(plain: Path, name: str) -> None:
    quoted = name.format(root=plain) if "`" in name else name.format(root=str(plain).replace("'", "''"))
    shown = mi.sql(f"CREATE INDEX a ON {quoted} (id)", builder="local", tables={"t.é": plain})
    assert shown.to_json()[0]["files"] == 3
    assert (plain.parent / "_metaindex" / "ä b" / "a").is_dir()


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("a.b", mi.ArgumentError, "write the path between quotes"),
        ("other.`ä b`", mi.ArgumentError, "is a name"),
        ("'nowhere'", mi.NotATableError, "does not exist"),
        ("delta.`ä b`", mi.NotATableError, "no table of format delta"),
        ("'ä b\0'", mi.MetaIndexError, "."),
    ],
)
def test_what_is_no_table_is_refused(plain: Path, name: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        mi.sql(f"CREATE INDEX a ON {name} (id)", builder="local")
    assert not (plain.parent / "_metaindex").exists()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE INDEX a ON 'ä b' (idd)", "near names: id"),
        ("CREATE INDEX `a/b` ON 'ä b' (id)", "choose another"),
        ("CREATE INDEX a ON 'ä b' (id) OPTIONS (builder = spork)", "local or spark"),
        ("CREATE INDEX a ON 'ä b' (id) OPTIONS (history = 3)", "true or false"),
        ("CREATE INDEX a ON 'ä b' VERSION AS OF 7 (id)", "version"),
        ("REFRESH INDEX a ON 'ä b' WHERE id = 1", "no"),
        ("VERIFY INDEX a ON 'ä b' OPTIONS (files = many)", "is a whole number, or all"),
        ("EXPLAIN INDEXES id = 1", "SELECT ... FROM"),
        (
            "EXPLAIN INDEXES SELECT 1",
            "can have an index; of this one that cannot be told: it names none; write SELECT ... FROM",
        ),
        ("EXPLAIN INDEXES SELECT FROM WHERE", "cannot be told"),
        ("EXPLAIN WHATIF SELECT * FROM 'ä b' WITH INDEX ON t USING values (id)", "does not read"),
        ("RECOMMEND INDEXES ON 'ä b' FROM 'nowhere.sql'", "nowhere.sql"),
        ("RECOMMEND INDEXES ON 'ä b'", "none are given, and none are noted; name their file"),
        ("RECOMMEND INDEXES ON 'ä b' FROM '{wrong}'", "none can be read"),
        ("RECOMMEND INDEXES ON 'ä b' OPTIONS (budget = much)", "is a size"),
    ],
)
def test_what_cannot_be_done_is_said(plain: Path, statement: str, said: str) -> None:
    other, wrong = plain.parent / "other", plain.parent.parent / "wrong.sql"
    shutil.copytree(plain, other)
    wrong.write_text("SELECT FROM WHERE;")
    with pytest.raises(mi.MetaIndexError, match=said):
        mi.sql(statement.replace("{wrong}", str(wrong).replace("'", "''")), builder="local", tables={"t": other})


def test_if_not_exists_takes_the_same_kinds_only(plain: Path) -> None:
    table = mi.open_table(plain)
    kinds = (mi.Values("id"), mi.ColumnStats("id", "N"))
    assert table.create_index("a", *kinds, builder="local", if_not_exists=True).changed
    assert not table.create_index("a", *reversed(kinds), builder="local", if_not_exists=True).changed
    assert not table.create_index(  # names as the table has them
        "a", mi.ColumnStats("ID", "n"), mi.Values("Id"), builder="local", if_not_exists=True
    ).changed
    for others in (
        kinds[:1],
        (*kinds, mi.Bloom("id")),
        (mi.Values("id", by="value"), kinds[1]),
        (mi.Values("N"), kinds[1]),
        (kinds[0], mi.ColumnStats("id", "N", scan_floats=False)),
    ):
        with pytest.raises(IndexExistsError, match="is asked"):
            table.create_index("a", *others, builder="local", if_not_exists=True)
    with pytest.raises(IndexExistsError, match="is ACTIVE"):
        table.create_index("a", *kinds, builder="local")
    table.delete_index("a")
    with pytest.raises(IndexExistsError, match="is DELETED"):
        table.create_index("a", *kinds, builder="local", if_not_exists=True)


def test_if_not_exists_takes_an_index_whose_name_differs_in_capital_letters(plain: Path) -> None:
    mi.open_table(plain).create_index("find", mi.Values("id"), builder="local")
    quoted = str(plain).replace("'", "''")
    create = f"CREATE INDEX IF NOT EXISTS FIND ON '{quoted}' USING values"
    (there,) = told(f"{create} (id)")
    assert (there["index"], there["changed"]) == ("find", False)
    with pytest.raises(IndexExistsError, match="'find' has"):
        told(f"{create} (N)")
    with pytest.raises(IndexExistsError, match="capital letters"):
        mi.open_table(plain).create_index("FIND", mi.Values("id"), builder="local")
    mi.open_table(plain).delete_index("find")
    with pytest.raises(IndexExistsError, match="capital letters"):
        told(f"{create} (id)")


def test_a_renamed_column_is_the_same_one(tmp_path: Path) -> None:
    lake = filled(tmp_path, "iceberg")
    lake.open().create_index("a", mi.Values("user"), builder="local")
    with lake._iceberg().update_schema() as change:
        change.rename_column("user", "who")
    table = lake.open()
    assert not table.create_index("a", mi.Values("who"), builder="local", if_not_exists=True).changed
    with pytest.raises(IndexExistsError):
        table.create_index("a", mi.Values("n"), builder="local", if_not_exists=True)


def test_another_writer_may_make_it_meanwhile(plain: Path) -> None:
    """Both begin; whoever comes second finds it made."""
    table, other = mi.open_table(plain), mi.open_table(plain)

    class Late:
        """Tells progress: the other writer is done while this one still builds."""

        done = False

        def __call__(self, *_: object) -> None:
            if not self.done:
                self.done = True
                other.create_index("a", mi.Values("id"), builder="local")

    from metaindex.build.local import LocalBuilder

    late = Late()

    class Slow(LocalBuilder):
        def facts(self, *given: Any, **named_: Any) -> Any:
            late()
            return super().facts(*given, **named_)

        def keys(self, *given: Any, **named_: Any) -> Any:
            late()
            return super().keys(*given, **named_)

    outcome = table.create_index("a", mi.Values("id"), builder=Slow(), if_not_exists=True)
    assert late.done
    assert not outcome.changed
    assert [info.state for info in table.indexes()] == ["ACTIVE"]


def test_indexes_are_shown_in_few_columns_and_described_in_full(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    names = [f"c{number}" for number in range(9)]
    for part in range(2):
        deltalake.write_deltalake(path, pa.table({name: [part] for name in names}), mode="append")
    table = mi.open_table(path)
    table.create_index("all", mi.ColumnStats(), builder="local")
    table.create_index("some", mi.ColumnStats("c1"), mi.Bloom("c2"), mi.Values(("c1", "c3")), builder="local")
    table.disable_index("some")
    infos = table.indexes()
    assert told(f"SHOW INDEXES ON '{path}'") == [
        {
            "name": "all",
            "state": "ACTIVE",
            "fresh": True,
            "kinds": "column_stats",
            "columns": "c0, c1, c2, c3, c4 and 4 more",
            "files": 2,
            "size": human_bytes(infos["all"].stored_bytes or 0),
            "version": "1",
            "updated": moment(infos["all"].changed_ms),
            "note": None,
        },
        {
            "name": "some",
            "state": "ACTIVE, disabled",
            "fresh": True,
            "kinds": "column_stats, bloom_filters, values",
            "columns": "c1, c2, (c1, c3)",
            "files": 2,
            "size": human_bytes(infos["some"].stored_bytes or 0),
            "version": "1",
            "updated": moment(infos["some"].changed_ms),
            "note": None,
        },
    ]
    assert max(map(len, str(mi.sql(f"SHOW INDEXES ON '{path}'")).splitlines())) <= 150
    told_of = {row["name"] for row in told(f"DESCRIBE INDEX some ON '{path}'")}
    assert told_of >= {name for name, value in infos["some"].to_json().items() if value not in (None, "", ())}
    for entry in (tmp_path / "t").rglob("all/_log/*.json"):
        entry.write_text("{")
    damaged, _ = told(f"SHOW INDEXES ON '{path}'")
    assert (damaged["state"], damaged["fresh"], damaged["updated"]) == ("DAMAGED", None, None)
    assert "a log entry is a line of JSON" in damaged["note"]


def test_an_index_of_other_reader_options_is_shown_with_them(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.csv").write_text("a;b\n1;2\n")
    settle(tmp_path / "t")
    told(f"CREATE INDEX i ON csv.`{tmp_path / 't'}` WITH (header = true, sep = ';') USING column_stats (a)")
    (shown,) = told(f"SHOW INDEXES ON csv.`{tmp_path / 't'}` WITH (header = true)")
    cure = "name the table as in DESCRIBE INDEX, or create another"
    named = f"csv.`{tmp_path / 't'}` WITH (header = true, sep = ';')"
    assert (shown["fresh"], shown["note"]) == (None, f"built with {named}; {cure}")
    assert f"built with {named}; {cure}" in str(mi.sql(f"SHOW INDEXES ON csv.`{tmp_path / 't'}` WITH (header = true)"))
    facts = {
        row["name"]: row["value"] for row in told(f"DESCRIBE INDEX i ON csv.`{tmp_path / 't'}` WITH (header = true)")
    }
    (other,) = told(facts["statement"].replace("`i`", "`j`"))
    assert (other["files"], other["notes"]) == (1, ["1 file and 1 column indexed by the local builder"])
    with pytest.raises(
        UnsupportedFeatureError, match=r"open the table with csv\.`.*` WITH \(header = true, sep = ';'\), or"
    ):
        told(f"REFRESH INDEX i ON csv.`{tmp_path / 't'}` WITH (header = true)")


def test_files_that_cannot_be_read_are_told_of_with_the_reason_and_the_cure(tmp_path: Path) -> None:
    """RFC 4180 doubles a quote inside a quoted value; Spark escapes it, unless it is told otherwise."""
    path = tmp_path / "t"
    path.mkdir()
    for part in range(2):
        (path / f"{part}.csv").write_text(f'id,note\n{part},"say ""hi"", you"\n')
    settle(path)
    made = mi.sql(f"CREATE INDEX i ON csv.`{path}` USING column_stats USING values (note)", builder="local")
    (row,) = made.to_json()
    assert row["notes"][0] == "0 of 2 files, 2 columns and 1 key indexed by the local builder"
    assert row["notes"][1].startswith("2 files could not be read, and no query leaves them out: ")
    assert "a quote inside a quoted value must be escaped" in row["notes"][1]
    assert all(note in str(made) for note in row["notes"])
    (shown,) = told(f"SHOW INDEXES ON '{path}'")
    assert shown["note"] == "2 files could not be read when indexed: VERIFY INDEX says why"
    indexes = mi.open_table(path).indexes()
    assert "i: 2 files could not be read when indexed, " in str(indexes)
    assert "files     2; 2 files could not be read when indexed, " in str(indexes["i"])
    told(f"CREATE INDEX j ON csv.`{path}` WITH (escape = '\"') USING values (note)")
    (_, shown) = told(f"SHOW INDEXES ON '{path}'")
    assert shown["note"] == f"used by queries that say '{path}' WITH (escape = '\"')"
    (_, shown) = told(f"SHOW INDEXES ON csv.`{path}` WITH (escape = '\"')")
    assert (shown["fresh"], shown["note"]) == (True, None)


@pytest.mark.parametrize(
    "options", [{"escape": '"'}, {"sep": ",", "schema": "id BIGINT, note STRING", "escape": '"', "header": True}]
)
def test_the_statement_of_an_index_says_how_its_files_are_read(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "t's"
    path.mkdir()
    (path / "a.csv").write_text('id,note\n1,"a ""b"""\n2,c\n')
    settle(path)
    table = mi.open_table(path, **options)
    table.create_index("i", mi.Values("note"), builder="local")
    place = str(path).replace("'", "''")
    facts = {row["name"]: row["value"] for row in told(f"DESCRIBE INDEX i ON '{place}'")}
    (other,) = told(facts["statement"].replace("`i`", "`j`"))
    assert (other["files"], table.prune("note = 'c'").kept_files) == (1, 1)
    assert {info.name: info.other_options for info in table.indexes()} == {"i": (), "j": ()}
    assert [info.uncovered_files for info in table.indexes()] == [0, 0]


def test_a_version_is_indexed_where_it_is_asked(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for part in range(3):
        deltalake.write_deltalake(path, pa.table({"id": [part]}), mode="append")
    assert told(f"CREATE INDEX a ON delta.`{path}` VERSION AS OF 1 USING values (id)")[0]["files"] == 2
    assert told(f"SHOW INDEXES ON delta.`{path}` VERSION AS OF 1")[0]["fresh"] is True
    assert told(f"REFRESH INDEX a ON delta.`{path}` VERSION AS OF 2")[0]["files"] == 3


def test_a_catalog_knows_names_of_several_parts(plain: Path) -> None:
    asked = []

    def opens(path: str, format_: str | None, options: Any) -> mi.Table:
        asked.append((path, format_, dict(options)))
        return mi.open_table(plain)

    run(parsed("SHOW INDEXES ON a.b.`c d` WITH ('x.y' = 1)"), FileTables(opens, catalog=True))
    run(parsed("SHOW INDEXES ON a.`b.c``d`"), FileTables(opens, catalog=True))
    assert asked == [("a.b.c d", None, {"x.y": 1}), ("a.`b.c``d`", None, {})]


def test_a_path_between_quotes_is_a_path_in_queries_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever dots it has, and whatever stands beside it: `json.lines` is a table of a format without quotes."""
    monkeypatch.chdir(tmp_path)
    for name, count in (("json.lines", 1), ("lines", 2), ("t.v1", 3), ("par quet.v1 ü", 4), ("json.d/x", 5)):
        for number in range(count):
            (tmp_path / name).mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"id": [number]}), tmp_path / name / f"{number}.parquet")
        told(f"CREATE INDEX i ON '{name}'")
        (row,) = told(f"EXPLAIN INDEXES SELECT * FROM '{name}' WHERE id = 0")
        assert (Path(str(row["scan"])).name, row["total_files"]) == (Path(name).name, count), row
        (row,) = told(f"EXPLAIN INDEXES WITH q AS (SELECT * FROM '{name}') SELECT * FROM q WHERE id = 0")
        assert row["total_files"] == count
        (row,) = told(f"EXPLAIN INDEXES SELECT * FROM './{name}' WHERE id = 0")
        assert row["total_files"] == count


def test_a_query_says_how_its_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As SHOW INDEXES and DESCRIBE INDEX say that an index is used, and as Spark reads it."""
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        (tmp_path / "c").mkdir(exist_ok=True)
        (tmp_path / "c" / f"{number}.csv").write_text(f"{number},x\n{number + 10},y\n")
    settle(tmp_path / "c")
    told("CREATE INDEX i ON 'c' WITH (header = false)")
    for name in ("'c' WITH (header = false)", "csv.`c` WITH ('header' = 'false')", "csv.c with(header=false)"):
        for query in (
            f"SELECT * FROM {name} WHERE _c0 = 1",
            f"WITH q AS (SELECT * FROM {name}) SELECT * FROM q WHERE _c0 = 1",
            f"SELECT a.* FROM {name} a JOIN {name} b ON a._c0 = b._c0 WHERE a._c0 = 1 AND b._c0 = 1",
        ):
            rows_ = told(f"EXPLAIN INDEXES {query}")
            assert {(row["files"], row["total_files"], row["index"]) for row in rows_} == {(2, 3, "i")}, (query, rows_)
        told_rows = told(f"EXPLAIN WHATIF SELECT * FROM {name} WHERE _c0 = 1 WITH INDEX USING values (_c0)")
        assert [row["candidate"] for row in told_rows] == ["as it is", "values(_c0)"]
    for query, said in (
        ("SELECT * FROM 'c' WITH (header = false) a JOIN 'c' b ON a._c0 = b._c0", "several options"),
        ("SELECT * FROM 'c' WITH (header = )", "expected a value"),
        ("SELECT * FROM 'c' WITH (header = false, header = true)", "given twice"),
        ("SELECT * FROM 'c' WITH (headr = false)", "headr"),
    ):
        with pytest.raises(mi.MetaIndexError, match=said):
            told(f"EXPLAIN INDEXES {query}")
