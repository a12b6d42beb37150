"""SHOW INDEXES and DESCRIBE INDEX without Spark: what a person sees of indexes and of how their files are read."""

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import UnsupportedFeatureError, human_bytes, moment
from metaindex.statements.execution.files import FileTables
from metaindex.statements.execution.run import run
from metaindex.statements.grammar.parsing import parsed
from tests.statements.execution.stated import plain as plain  # the fixture
from tests.statements.execution.stated import told
from tests.tables import settled


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
    assert told_of >= {name for name, value in infos["some"].to_json().items() if value not in (None, "", [])}
    for entry in (tmp_path / "t").rglob("all/_log/*.json"):
        entry.write_text("{")
    damaged, _ = told(f"SHOW INDEXES ON '{path}'")
    assert (damaged["state"], damaged["fresh"], damaged["updated"]) == ("DAMAGED", None, None)
    assert "a log entry is a line of JSON" in damaged["note"]


def test_an_index_of_other_reader_options_is_shown_with_them(tmp_path: Path) -> None:
    settled(tmp_path / "t", {"a.csv": "a;b\n1;2\n"})
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
    path = settled(tmp_path / "t", {f"{part}.csv": f'id,note\n{part},"say ""hi"", you"\n' for part in range(2)})
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
    path = settled(tmp_path / "t's", {"a.csv": 'id,note\n1,"a ""b"""\n2,c\n'})
    table = mi.open_table(path, **options)
    table.create_index("i", mi.Values("note"), builder="local")
    place = str(path).replace("'", "''")
    facts = {row["name"]: row["value"] for row in told(f"DESCRIBE INDEX i ON '{place}'")}
    (other,) = told(facts["statement"].replace("`i`", "`j`"))
    assert (other["files"], table.prune("note = 'c'").kept_files) == (1, 1)
    assert {info.name: info.other_options for info in table.indexes()} == {"i": (), "j": ()}
    assert [info.uncovered_files for info in table.indexes()] == [0, 0]


# Names of tables ------------------------------------------------------------------------------------------------------


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


def test_a_catalog_knows_names_of_several_parts(plain: Path) -> None:
    asked = []

    def opens(path: str, format_: str | None, options: Any) -> mi.Table:
        asked.append((path, format_, dict(options)))
        return mi.open_table(plain)

    run(parsed("SHOW INDEXES ON a.b.`c d` WITH ('x.y' = 1)"), FileTables(opens, catalog=True))
    run(parsed("SHOW INDEXES ON a.`b.c``d`"), FileTables(opens, catalog=True))
    assert asked == [("a.b.c d", None, {"x.y": 1}), ("a.`b.c``d`", None, {})]
