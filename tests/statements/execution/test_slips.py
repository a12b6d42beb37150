"""What a newcomer writes in queries of statements: a name or a value that the table has no place for is told."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi


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
    told = mi.sql("EXPLAIN INDEXES " + query.format(f"'{path}'"))
    assert told.to_json()[0]["total_files"] == 3


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
