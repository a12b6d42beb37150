"""Statements without Spark: every kind, on every format, through every verb; what cannot be done is said."""

import shutil
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.core import IndexStateError
from metaindex.index.kinds import registry
from metaindex.statements.grammar.parsing import parsed
from tests.contract.verbs_lake import FORMATS, rows
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
