"""Cures of statements are said as statements are."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.cli import main
from metaindex.core import Cure, MetaIndexError
from metaindex.statements.execution.words import StatementWords
from metaindex.statements.grammar.parsing import parsed
from metaindex.statements.grammar.tree import ShowIndexes, TableName
from tests.cli.test_errors import ROOT, _raised
from tests.tables import settle, settled

CSV = StatementWords(TableName(("csv", "/data/q")), "i")


def _said(cure: Cure, words: StatementWords = CSV) -> str:
    with words.spoken():
        return str(cure)


@pytest.mark.parametrize(
    ("cure", "told"),
    [
        (Cure("naming"), "tables={'name': 'path'} names a table by its path"),
        (Cure("unchecked"), "not_compared"),
        (Cure("versions"), "DESCRIBE INDEX i ON csv.`/data/q` has those of an index"),
        (Cure("argument", "days"), "OPTIONS (days = ...)"),
        (Cure("argument", "copies", False), "OPTIONS (copies = false)"),
        (Cure("reader", "escape", '"'), "csv.`/data/q` WITH (escape = '\"')"),
        (Cure("spark"), "read it with Spark"),
        (Cure("also", "quote", "'"), "WITH (quote = '\\'')"),
        (Cure("reader", "escape", "\\"), "csv.`/data/q` WITH (escape = '\\\\')"),
        (Cure("columns"), "name the columns with csv.`/data/q` WITH (schema = ...)"),
        (Cure("also", "header", True), "WITH (header = true)"),
        (
            Cure("readers", ("inferSchema", True), ("nullValue", "x")),
            "csv.`/data/q` WITH (inferSchema = true, nullValue = 'x')",
        ),
        (Cure("repair", "i"), "REPAIR INDEX i ON csv.`/data/q`"),
        (Cure("full"), "REFRESH INDEX i ON csv.`/data/q` FULL"),
        (Cure("mend"), "REPAIR INDEX i ON csv.`/data/q`"),
        (Cure("argument", "history", True), "OPTIONS (history = true)"),
        (Cure("argument", "mode", "full"), "FULL"),
        (Cure("argument", "builder", "local"), "OPTIONS (builder = 'local')"),
        (Cure("argument", "format", "delta"), "delta.`/data/q`"),
        (Cure("argument", "format"), "the format before the path"),
        (Cure("argument", "where"), "WHERE"),
        (Cure("argument", "under"), "OPTIONS (under = ...)"),
        (Cure("argument", "mode"), "the mode"),
        (Cure("indexes"), "list them by SHOW INDEXES ON csv.`/data/q`"),
        (Cure("anew"), "DROP INDEX i ON csv.`/data/q` and VACUUM INDEX i ON csv.`/data/q`"),
    ],
)
def test_a_cure_is_said_in_words_of_statements(cure: Cure, told: str) -> None:
    assert _said(cure) == told


def test_who_is_in_spark_is_not_sent_there() -> None:
    session = StatementWords(TableName(("csv", "/data/q")), in_spark=True)
    assert _said(Cure("spark"), session) == "leave it so, as Spark reads it"
    config = Cure("setting", "Config(query_log=True)")
    assert _said(config, session) == "mi.enable(spark, config=mi.Config(query_log=True))"
    assert _said(config) == "Config(query_log=True)"


def test_a_cure_with_the_table_is_a_table_of_a_statement() -> None:
    """It can be pasted: what was said of the files already stands there, too."""
    table = TableName((), "/data/o'q", (("header", True), ("Escape", "x"), ("a b", "c")))
    told = _said(Cure("reader", "escape", '"'), StatementWords(table))
    assert parsed(f"SHOW INDEXES ON {told}") == ShowIndexes(
        TableName((), "/data/o'q", (("header", True), ("a b", "c"), ("escape", '"')))
    )


def test_how_a_table_of_a_catalog_is_read_is_said_where_it_is_created() -> None:
    asked = StatementWords(TableName(("db", "t")), takes_options=False)
    assert _said(Cure("reader", "escape", '"'), asked) == "OPTIONS (escape = '\"') where the table or view is created"
    assert _said(Cure("also", "schema"), asked) == "OPTIONS (schema = ...)"
    assert _said(Cure("argument", "format", "delta"), asked) == "delta.`path`"
    assert _said(Cure("reader", "sep"), StatementWords()) == "WITH (sep = ...)"


_OF_PYTHON = re.compile(
    r"(?<![\w/{=-])(?:format|schema|header|encoding|multiLine|glob|sep|delimiter|mode|builder|basePath|maxColumns"
    r"|where|under|recursiveFileLookup)=(?![=\w{])|(?:format|mode|builder|encoding)='|\bindexes\(\)|to_spark\("
)


_OPTIONS = re.compile(r"--(?!json\b)[a-z][a-z-]*|(?<!mi\.)\bConfig\(|\btables=")
"""What other faces alone are told."""
_NOT_ASKED = (
    *("advisor/report/", "cli/", "ops/hooks/", "core/config.py", "query/arguments.py", "statements/"),
    *("index/kinds/column_stats/command.py", "index/kinds/command.py", "spark/"),
)
"""Rooms that no statement comes to, and what a configuration and the arguments of Python say of themselves."""


@pytest.mark.slow
def test_no_error_that_can_be_read_in_the_source_is_in_the_words_of_one_face() -> None:
    raised = [(name, text) for name, text in [*_raised(), *_raised_of_tables()] if not name.startswith(_NOT_ASKED)]
    assert len(raised) > 300
    said = {(name, text.replace("aws s3 cp --recursive", "")) for name, text in raised}
    left = {(name, text) for name, text in said if _OF_PYTHON.search(text) or _OPTIONS.search(text)}
    assert not left, left


def _raised_of_tables() -> Iterator[tuple[str, str]]:
    """What verbs of tables note, beside errors: parts of answers that statements show."""
    for name in (
        "advisor/selection/recommend.py",
        "index/verification/report.py",
        "advisor/selection/answer.py",
        "statements/execution/run.py",
    ):
        for part in ast.walk(ast.parse((ROOT / name).read_text())):
            if isinstance(part, ast.JoinedStr):
                yield name, "".join(str(v.value) if isinstance(v, ast.Constant) else "'it'" for v in part.values)


def test_statements_say_their_own_cures(tmp_path: Path) -> None:
    path = settled(tmp_path / "q", {"0.csv": 'id,note\n1,"say ""hi"", you"\n'})
    cure = f"such as csv.`{path}` WITH (escape = '\"'), or read it with Spark"
    made = mi.sql(f"CREATE INDEX i ON csv.`{path}` USING values (note)", builder="local")
    assert cure in made.to_json()[0]["notes"][1]
    assert cure in str(made)
    verified = mi.sql(f"VERIFY INDEX i ON csv.`{path}` OPTIONS (files = all)")
    assert cure in verified.to_json()[0]["not_compared"][0]
    assert cure in str(verified)


def test_an_error_of_a_statement_keeps_its_kind(tmp_path: Path) -> None:
    path = settled(tmp_path / "q", {"0.csv": "1,2\n3,4\n"})
    with pytest.raises(MetaIndexError) as raised:
        mi.sql(f"CREATE INDEX i ON '{path}' USING values (note)", builder="local")
    with pytest.raises(type(raised.value), match="say header=False where it is"):
        mi.open_table(path).create_index("i", mi.Values("note"), builder="local")
    assert f"say '{path}' WITH (header = false) where it is" in str(raised.value)


@pytest.mark.parametrize("form", ["EXPLAIN INDEXES {}", "EXPLAIN WHATIF {} WITH INDEX USING values (id)"])
def test_a_cure_of_a_query_can_be_pasted_into_it(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = settled(tmp_path / "q", {"0.csv": "id;note\n1;x\n2;y\n"})
    with pytest.raises(MetaIndexError) as told:
        mi.sql(form.format(f"SELECT * FROM '{path}' WHERE id = 1"))
    cure = f"'{path}' WITH (delimiter = ';')"
    assert f"say {cure} where that separates them" in str(told.value)
    assert main(["sql", form.format(f"SELECT * FROM '{path}' WHERE id = 1")]) == 1
    said = capsys.readouterr().err
    assert f"say {cure} where that separates them" in said
    assert "--option" not in said
    assert mi.sql(form.format(f"SELECT * FROM {cure} WHERE id = 1")).rows.num_rows


@pytest.mark.slow
def test_a_name_of_other_queries_is_given_as_the_cure_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = settled(tmp_path / "q", {f"{at}.csv": f"id,note\n{at}1,x\n{at}2,y\n" for at in range(4)})
    log = str(tmp_path / "log.sql")
    Path(log).write_text("SELECT note FROM db.t WHERE id = 1; SELECT * FROM q WHERE id = 11")
    asked = f"RECOMMEND INDEXES ON '{path}' FROM '{log}' OPTIONS (copies = false)"
    assert "db.t (1); tables={'name': 'path'} names a table by its path" in str(mi.sql(asked, tables={log: log}))
    assert "db.t (1)" not in str(mi.sql(asked, tables={"db.t": path, log: log}))
    assert main(["sql", asked]) == 0
    assert "db.t (1); --table NAME=PATH names a table by its path" in capsys.readouterr().out
    assert main(["sql", asked, "--table", f"db.t={path}"]) == 0
    assert "db.t (1)" not in capsys.readouterr().out


@pytest.mark.slow
def test_what_wants_spark_is_recommended_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "q"
    path.mkdir()
    for at in range(6):
        rows = ({"id": at * 100 + n, "user": {"id": n}, "payload": "x" * 50} for n in range(100))
        (path / f"{at}.json").write_text("\n".join(map(json.dumps, rows)))
    settle(path)
    (tmp_path / "log.sql").write_text("SELECT id, payload FROM q WHERE user.id = 5")
    asked, tables = f"RECOMMEND INDEXES ON '{path}' FROM log", {"log": tmp_path / "log.sql"}
    told = str(mi.sql(asked, tables=tables))
    assert "covering_user_id: built by Spark, and of use to its queries alone; OPTIONS (copies = false) recomm" in told
    without = mi.sql(f"{asked} OPTIONS (copies = false)", tables=tables)
    assert "by Spark" not in str(without)
    assert not any("covering" in str(row["kinds"]) for row in without.to_json())
    assert main(["recommend", str(path), "--queries", str(tmp_path / "log.sql")]) == 0
    assert "of use to its queries alone; --no-copies recommends what every engine uses" in capsys.readouterr().out


def test_a_dropped_index_says_how_it_comes_back_and_how_it_goes(tmp_path: Path) -> None:
    path = settled(tmp_path / "q", {"0.csv": "id,note\n1,x\n2,y\n"})
    mi.sql(f"CREATE INDEX `a.b` ON '{path}' WITH (header = true) USING values (id)", builder="local")
    dropped = mi.sql(f"DROP INDEX `a.b` ON '{path}' WITH (header = true)")
    (row,) = dropped.to_json()
    back, gone = f"RESTORE INDEX `a.b` ON '{path}'", f"VACUUM INDEX `a.b` ON '{path}'"
    note = f"no query uses it any more; {back} brings it back, {gone} removes its files for good"
    assert (row["operation"], row["state"], row["notes"]) == ("drop", "DELETED", [note])
    assert str(dropped) == f"drop of index 'a.b': done, DELETED (entry 4); {note}"
    assert mi.sql(back).to_json()[0]["state"] == "ACTIVE"
    mi.sql(f"DROP INDEX `a.b` ON '{path}'")
    assert mi.sql(gone).to_json()[0]["state"] == "DOESNOTEXIST"
