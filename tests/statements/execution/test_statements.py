"""Statements without Spark: every kind, on every format, through every verb; what cannot be done is said."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import IndexStateError
from metaindex.index.kinds import registry
from metaindex.statements.grammar.parsing import parsed
from tests.index.contract.verbs_lake import FORMATS, rows
from tests.statements.execution.stated import filled, named, told
from tests.statements.execution.stated import plain as plain  # the fixture
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
    here = {kind.name for text in USING.values() for kind in parsed(f"CREATE INDEX a ON t {text}").kinds}
    assert here == {kind.name for kind in registry.KINDS if not kind.needs_spark}


@pytest.mark.exhaustive(but="column_stats-delta")
@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", USING)
def test_an_index_lives_through_every_statement(name: str, format_: str, tmp_path: Path) -> None:
    lake = filled(tmp_path, format_)
    table = named(lake)
    create = f"CREATE INDEX IF NOT EXISTS `a.b` ON {table} {USING[name]}"
    (made,) = told(create)
    assert (made["operation"], made["changed"], made["state"], made["files"]) == ("create", True, "ACTIVE", 3)
    assert made["kinds"] == [kind.name for kind in parsed(create).kinds]
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
    assert (again.name, again.kinds) == ("a.b", parsed(create).kinds)
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
            "can have an index; of this one that cannot be told: a statement of a workload reads tables; it names none;"
            " write SELECT ... FROM",
        ),
        ("EXPLAIN INDEXES SELECT FROM WHERE", "cannot be told"),
        ("EXPLAIN WHATIF SELECT * FROM 'ä b' WITH INDEX ON t USING values (id)", "does not read"),
        ("RECOMMEND INDEXES ON 'ä b' FROM 'nowhere.sql'", "'nowhere.sql' is no such name; say what it means: tables="),
        ("RECOMMEND INDEXES ON 'ä b' FROM nowhere", "nowhere.sql is not; mend the path"),
        ("RECOMMEND INDEXES ON 'ä b'", "none are given, and none are noted; name their file"),
        ("RECOMMEND INDEXES ON 'ä b' FROM wrong", "none can be read"),
        ("SHOW INDEXES ON 'ä b' WITH (Trust_Index = true)", "'Trust_Index' is no option of a reader; leave it out"),
        ("SHOW INDEXES ON 'ä b' WITH (catalog = mine)", "'catalog' is no option of a reader"),
        ("RECOMMEND INDEXES ON 'ä b' OPTIONS (budget = much)", "is a size"),
    ],
)
def test_what_cannot_be_done_is_said(plain: Path, statement: str, said: str) -> None:
    other, wrong = plain.parent / "other", plain.parent.parent / "wrong.sql"
    shutil.copytree(plain, other)
    wrong.write_text("SELECT FROM WHERE;")
    with pytest.raises(mi.MetaIndexError, match=said):
        mi.sql(statement, builder="local", tables={"t": other, "wrong": wrong, "nowhere": "nowhere.sql"})


def test_a_text_names_no_file_of_queries_and_nothing_of_one_is_told(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever passes a text on is not who wrote it."""
    secret = tmp_path / "secret.txt"
    secret.write_text("password=hunter2 : do not tell\nSELECT * FROM t WHERE id = 5\n")
    monkeypatch.chdir(tmp_path)
    for path in (secret, secret.name, f"file:{secret}", "/proc/self/environ", "/etc/passwd"):
        with pytest.raises(mi.ArgumentError, match=r"is no such name; say what it means: tables=") as told:
            mi.sql(f"RECOMMEND INDEXES ON t FROM '{path}'", tables={"t": plain})
        assert "hunter2" not in str(told.value)


# Slips ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    root = tmp_path / "t"
    root.mkdir()
    for at in range(3):
        rows = {
            "id": [at, at + 10],
            "city": ["Oslo", "Rome"],
            "user": [{"id": at, "my name": "x", "at": {"x": 1}}] * 2,
            "tags": [["a"]] * 2,
            "day": [1, 2],
        }
        pq.write_table(pa.table(rows), root / f"{at}.parquet")
    return root


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT idd FROM {} WHERE id = 3", "there is no idd; did you mean id?"),
        ("SELECT t.idd, city FROM {} t", "there is no idd; did you mean id?"),
        ("SELECT count(idd) FROM {} GROUP BY city", "there is no idd"),
        ("SELECT id FROM {} ORDER BY ctiy", "there is no ctiy; did you mean city?"),
        ("SELECT user.nme FROM {} WHERE id = 3", "there is no user.nme"),
        (
            "SELECT * FROM {} WHERE user = 3",
            "user is a struct; compare a field of it: user.id, user.`my name`,",
        ),
        ("SELECT * FROM {} WHERE id = 1 AND USER.AT IN (1, 2)", "is a struct; compare a field of it: user.at.x"),
    ],
)
def test_what_a_query_names_is_looked_for(path: Path, query: str, said: str) -> None:
    with pytest.raises(mi.MetaIndexError) as told:
        mi.sql("EXPLAIN INDEXES " + query.format(f"'{path}'"))
    assert said in str(told.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id AS x, x + 1 AS y FROM {} WHERE id = 1 ORDER BY y",
        "SELECT city c, count(*) n FROM {} GROUP BY c HAVING n > 1",
        "SELECT ID, User.`MY name`, day FROM {} WHERE user.id = 1",
        "SELECT transform(tags, y -> concat(y, 'b')), tags[0] FROM {}",
        "SELECT tag FROM {} LATERAL VIEW explode(tags) e AS tag",
        "SELECT name, val FROM {} UNPIVOT (val FOR name IN (id, user))",
        "SELECT grouping__id, filename, rowid, current_catalog FROM {} GROUP BY ROLLUP (id)",
        "SELECT _metadata.file_path FROM {}",
        "SELECT id, row_number() OVER (PARTITION BY city ORDER BY day) r FROM {} QUALIFY r = 1",
        "WITH w AS (SELECT id AS k, city FROM {}) SELECT k FROM w WHERE k = 3",
        "SELECT extract(DAY FROM current_date()), interval 3 day FROM {}",
        "SELECT id FROM {} WHERE user IS NOT NULL",
    ],
)
def test_names_of_a_querys_own_are_no_columns(path: Path, query: str) -> None:
    assert mi.sql("EXPLAIN INDEXES " + query.format(f"'{path}'")).to_json()[0]["total_files"] == 3


def test_a_struct_that_is_compared_is_told_by_every_verb(path: Path) -> None:
    table = mi.open_table(path)
    for ask in (table.prune, table.explain, table.count, table.locate, table.scan):
        with pytest.raises(mi.LiteralTypeError, match="user is a struct; compare a field of it: user"):
            ask("id = 1 AND user = 3")
    assert table.prune("tags = 'x'").kept_files == 3
    assert table.prune("user IS NULL").total_files == 3
    assert table.prune("user.id = 2").total_files == 3


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SHOW INDEXES ON parqet.`{}`", "'parqet' is none; write parquet.`{}`"),
        ("VERIFY INDEX i ON '{}' OPTIONS (files = al)", "the option files is a whole number, or all; got 'al'"),
        ("VERIFY INDEX i ON '{}' OPTIONS (files = true)", "the option files is a whole number, or all; got True"),
    ],
)
def test_a_slip_is_told_with_what_to_write(path: Path, statement: str, said: str) -> None:
    with pytest.raises(mi.ArgumentError) as told:
        mi.sql(statement.format(path))
    assert said.format(path) in str(told.value)
