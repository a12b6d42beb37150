"""A statement is printed and read back as the same; a text that is none is an error that points at the place."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import StatementError
from metaindex.expressions import ColumnRef
from metaindex.index import Kind
from metaindex.statements.grammar.parsing import is_ours, parsed, slip, split
from metaindex.statements.grammar.tokens import pointed
from metaindex.statements.grammar.tree import (
    NOW,
    AskedVersion,
    CandidateIndex,
    ChangeIndex,
    CreateIndex,
    DescribeIndex,
    ExplainIndexes,
    ExplainWhatIf,
    RecommendIndexes,
    ShowIndexes,
    Statement,
    TableName,
    VerifyIndex,
)
from metaindex.statements.grammar.verbs import FORMS, VERBS
from tests.statements.grammar.printing import printed

_ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
WORDS = st.sampled_from(
    ["t", "on", "USING", "index", "a b", "ä", "o'x", "`", ".", "/data/x y", "--", "/*", '"', "\\", "\n"]
)
NAMES = st.one_of(WORDS, _ANY)
COLUMNS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: ColumnRef(tuple(parts)).name)
KEYS = st.one_of(COLUMNS, st.lists(COLUMNS, min_size=2, max_size=3, unique=True).map(tuple))
VALUES = st.one_of(
    NAMES, st.booleans(), st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False, width=32)
)
TABLES = st.builds(
    TableName,
    parts=st.lists(NAMES, min_size=1, max_size=3).map(tuple),
    options=st.dictionaries(NAMES, VALUES, max_size=2).map(lambda said: tuple(said.items())),
) | st.builds(TableName, path=NAMES)
QUERIED = st.builds(TableName, parts=st.lists(NAMES, min_size=1, max_size=3).map(tuple)) | st.builds(
    TableName, path=NAMES
)
ASKED = st.one_of(
    st.just(AskedVersion()),
    st.builds(AskedVersion, version=st.one_of(st.integers(0, 10**17), NAMES)),
    st.builds(AskedVersion, timestamp=NAMES),
)
SETS = st.lists(COLUMNS, min_size=2, max_size=5, unique=True)
SEVERAL_KEYS = st.lists(KEYS, min_size=1, max_size=3, unique=True)
KINDS: st.SearchStrategy[Kind] = st.one_of(
    st.builds(
        lambda names, scan, trust: mi.ColumnStats(*names, scan_floats=scan, trust_log=trust),
        st.lists(COLUMNS, max_size=3),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(lambda keys, by: mi.Values(*keys, by=by), SEVERAL_KEYS, st.sampled_from(["hash", "value"])),
    st.builds(lambda keys, fpp: mi.Bloom(*keys, fpp=fpp), SEVERAL_KEYS, st.floats(1e-6, 0.5)),
    st.builds(lambda keys, limit: mi.ValueList(*keys, limit=limit), SEVERAL_KEYS, st.integers(1, 1_000_000)),
    st.builds(lambda names, n: mi.Covering(names[:1], names[1:], buckets=n), SETS, st.none() | st.integers(1, 1000)),
    st.builds(lambda names: mi.CoveringRange(names[:2], names[2:]), SETS),
    st.builds(lambda names: mi.CoveringCurve(names[:2], names[2:]), SETS),
)


SEVERAL = st.lists(KINDS, min_size=1, max_size=2, unique=True).map(tuple)
QUERIES = st.sampled_from(
    [
        "SELECT * FROM t WHERE a = 'x;y'",
        "WITH index AS (SELECT 1) SELECT * FROM index",
        "SELECT /*+ BROADCAST(t) */ `WITH INDEX` FROM db.t -- WITH INDEX USING\n WHERE b IN (SELECT c FROM (SELECT 1))",
        "FROM t |> WHERE a < 3",
        "SELECT $$ FROM t@v1 WHERE a <=> 2 AND name = 1e-3D",
    ]
)


def options(first: str) -> st.SearchStrategy[tuple[tuple[str, object], ...]]:
    known = [name for words, form in FORMS.items() if words[0] == first for name in form.options]
    if not known:
        return st.just(())
    return st.dictionaries(st.sampled_from(known), VALUES, max_size=2).map(lambda said: tuple(said.items()))


CHANGED = {*VERBS} - {"create", "verify", "recommend", "whatif"}
CHANGES = st.sampled_from([words[0] for words in FORMS if words[0].lower() in CHANGED]).flatmap(
    lambda verb: st.builds(
        ChangeIndex,
        st.just(verb.lower()),
        NAMES,
        TABLES,
        mode=st.sampled_from(["", *VERBS[verb.lower()].modes]),
        if_exists=st.booleans(),
        hours=st.none() | st.integers(0, 1000) if verb == "CLEAN" else st.none(),
        options=options(verb),
        at=ASKED if verb == "REFRESH" else st.just(NOW),
        where=st.sampled_from(["", "day = 'it''s;' AND p > 3", "OPTIONS (a) = 2"] if verb == "REFRESH" else [""]),
    )
)
CANDIDATES = st.lists(st.builds(CandidateIndex, SEVERAL, st.none() | TABLES), max_size=2).map(tuple)
STATEMENTS: st.SearchStrategy[Statement] = st.one_of(
    st.builds(CreateIndex, NAMES, TABLES, SEVERAL, st.booleans(), ASKED, options("CREATE")),
    CHANGES,
    st.builds(ShowIndexes, TABLES, ASKED),
    st.builds(DescribeIndex, NAMES, TABLES, st.booleans()),
    st.builds(VerifyIndex, NAMES, TABLES, options("VERIFY")),
    st.builds(ExplainIndexes, QUERIES, st.booleans()),
    st.builds(ExplainWhatIf, QUERIES, CANDIDATES, st.just((("sample", 0.5),)) | st.just(())),
    st.builds(
        RecommendIndexes, st.lists(TABLES, min_size=1, max_size=3).map(tuple), st.none() | QUERIED, options("RECOMMEND")
    ),
)


@given(STATEMENTS, st.sampled_from(["", " ;", "\n;; -- end"]))
def test_what_is_printed_is_read_as_the_same(statement: Statement, end: str) -> None:
    text = printed(statement) + end
    assert parsed(text) == statement
    assert is_ours(text)
    assert [parsed(part) for part in split(f"{text}\n;{text}")] == [statement, statement]


SAME = {
    "create index a on t": "CREATE INDEX a ON t USING column_stats",
    "CREATE INDEX a ON TABLE t (b, c)": "CREATE INDEX a ON t USING values (b, c)",
    "/* x /* y */ */ CREATE -- z\n\tINDEX `a` ON t USING minmax (b)": "CREATE INDEX a ON t USING column_stats (b)",
    "CREATE INDEX a ON t USING Bloom (b) OPTIONS ('FPP' = '.1')": "CREATE INDEX a ON t USING bloom(b)OPTIONS(fpp=.1)",
    "CREATE INDEX a ON t USING set(b)": "CREATE INDEX a ON t USING value_list (b)",
    "CREATE INDEX a ON t (b) OPTIONS (by = value)": "CREATE INDEX a ON t (b) OPTIONS (`by` = 'value')",
    "CREATE INDEX a ON t USING column_stats USING values (b)": "CREATE INDEX a ON t USING minmax USING values (b);",
    "SHOW INDEX FROM t": "SHOW INDEXES ON t",
    "SHOW INDEXES IN TABLE t": "SHOW INDEXES ON t",
    "DESC INDEX a ON t": "DESCRIBE INDEX a ON t",
    "UNDROP INDEX a ON t": "RESTORE INDEX a ON t",
    "DROP INDEX a ON delta.`/x``y`": "DROP INDEX `a` ON `delta`.`/x``y`",
    r"DROP INDEX a ON 'it\'s\u00e4\\n'": "DROP INDEX a ON 'it''sä\\\\n'",
    r"DROP INDEX a ON r'a\b'": r"DROP INDEX a ON 'a\\b'",
    'DROP INDEX "a b" ON "t"': "DROP INDEX `a b` ON t",
}


@pytest.mark.parametrize("text", SAME)
def test_other_words_say_the_same(text: str) -> None:
    assert parsed(text) == parsed(SAME[text])


WRONG = {
    "CREATE INDEX": (1, 13, "expected an index's name"),
    "CREATE INDEX a": (1, 15, "expected ON"),
    "CREATE INDEX a\nON": (2, 3, "expected a table's name"),
    "CREATE INDEX a ON t USING blom (b)": (1, 27, "did you mean bloom?"),
    "CREATE INDEX my-index ON t": (1, 16, "write it in backticks"),
    "CREATE INDEX a ON /data/t": (1, 19, "there is /"),
    "CREATE INDEX a ON lake/t": (1, 23, "write the path in quotes: 'lake/t'"),
    "CREATE INDEX a ON t (b c)": (1, 24, "expected , or )"),
    "CREATE INDEX a ON t (b DESC)": (1, 24, "expected , or )"),
    "CREATE INDEX a ON t ()": (1, 22, "expected a column"),
    "CREATE INDEX a ON t USING covering": (1, 35, "expected ( and columns"),
    "CREATE INDEX a ON t USING bloom (b) OPTIONS (fp = 1)": (1, 46, "did you mean fpp?"),
    "CREATE INDEX a ON t USING bloom (b) OPTIONS (fpp = 1, fpp = 2)": (1, 55, "given twice"),
    "CREATE INDEX a ON t USING bloom (b) OPTIONS (fpp = 7)": (1, 52, "fpp is between"),
    "CREATE INDEX a ON t USING bloom (b) INCLUDE (c)": (1, 27, "INCLUDE is of kinds that keep rows"),
    "CREATE INDEX a ON t USING covering ((b, c))": (1, 27, "needs no brackets"),
    "CREATE INDEX a ON t USING values (b) USING values (b)": (1, 21, "given twice"),
    "CREATE INDEX a ON t (b) WHERE c = 1": (1, 25, "expected the end of the statement"),
    "CREATE INDEX `` ON t": (1, 14, "is empty"),
    "CREATE INDEX a ON ''": (1, 19, "the path is empty"),
    "DROP INDEX a\nON 'x": (2, 4, "nothing closes it"),
    "DROP INDEX a ON `x": (1, 17, "nothing closes it"),
    "DROP INDEX a ON t /* x": (1, 19, "nothing closes it"),
    "DROP INDEX IF a ON t": (1, 15, "expected EXISTS"),
    "DROP INDEX a ON t OPTIONS (b = 1)": (1, 19, "expected the end of the statement"),
    "DROP INDEX a ON t; DROP INDEX b ON t": (1, 20, "expected the end of the statement"),
    "CLEAN INDEX a ON t RETAIN x HOURS": (1, 27, "is a number"),
    "VERIFY INDEX a ON t OPTIONS (b = 1)": (1, 30, "there is no option 'b'"),
    "EXPLAIN INDEXES": (1, 16, "expected a query"),
    "EXPLAIN WHATIF ;": (1, 16, "expected a query"),
    "EXPLAIN WHATIF SELECT 1 FROM t WITH INDEX ON t": (1, 47, "expected USING, or columns"),
    "SHOW INDEXES": (1, 13, "expected ON"),
    "SELECT 1": (
        1,
        1,
        "SELECT is for tables, whose rows scan(), `metaindex scan` and Spark read; there are CREATE INDEX",
    ),
    "": (1, 1, "there are CREATE INDEX"),
}


@pytest.mark.parametrize("text", WRONG)
def test_an_error_points_at_the_place(text: str) -> None:
    line, column, said = WRONG[text]
    with pytest.raises(StatementError, match=re.escape(said)) as raised:
        parsed(text)
    assert str(raised.value).startswith(f"line {line}, column {column}: ")
    assert "\n" not in str(raised.value)
    shown, carets = pointed(raised.value).split("\n")
    assert shown == text.split("\n")[line - 1]
    assert carets.index("^") == column - 1


def test_an_error_tells_of_the_one_clause_that_is_wrong() -> None:
    """And of none where it is no matter of grammar."""
    said = {
        "CREATE INDEX a FOR t": "it is written CREATE INDEX [IF NOT EXISTS] name ON [TABLE] table",
        "REFRESH INDEX a ON t OPTIONS (builder 'x')": "it is written OPTIONS (key = value, ...)",
        "CREATE INDEX a ON t USING values": (
            "it is written USING kind (columns) [INCLUDE (columns)] [OPTIONS (key = value, ...)]"
        ),
        "CLEAN INDEX a ON t NOW": "it is written CLEAN INDEX [IF EXISTS] name ON table [RETAIN n HOURS]",
    }
    for text, written in said.items():
        with pytest.raises(StatementError, match=re.escape(written) + r"\Z"):
            parsed(text)
    for text in (
        "CREATE INDEX a ON t USING values (b) OPTIONS (history = true, by = 'valu')",
        "CREATE INDEX a ON t USING blom (b)",
    ):
        with pytest.raises(StatementError) as raised:
            parsed(text)
        assert "it is written" not in str(raised.value)
    with pytest.raises(StatementError) as raised:
        parsed("CREATE INDEX a ON t USING values (b) OPTIONS (history = true, by = 'valu')")
    assert raised.value.text[raised.value.at : raised.value.end] == "'valu'"


SPARKS = [
    "DESCRIBE index column",
    "DESC index",
    "DESCRIBE TABLE index",
    "REFRESH TABLE t",
    "REFRESH index",
    "OPTIMIZE index WHERE a = 1",
    "OPTIMIZE index ZORDER BY (a)",
    "VACUUM index RETAIN 1 HOURS",
    "RESTORE index TO VERSION AS OF 1",
    "EXPLAIN SELECT 1",
    "EXPLAIN CREATE INDEX a ON t (b)",
    "SHOW TABLES",
    "SELECT index FROM create",
    "WITH index AS (SELECT 1) TABLE index",
    "ANALYZE TABLE index COMPUTE STATISTICS",
    "DROP TABLE index",
    "CREATE TABLE index (on INT)",
    "VACUUM INDEX 'x",
    "-- CREATE INDEX a ON t",
    "CREATE",
    "",
]


@pytest.mark.parametrize("text", SPARKS)
def test_a_statement_of_spark_or_delta_is_not_ours(text: str) -> None:
    assert not is_ours(text)


WORDS_AND_SIGNS = ["CREATE INDEX", "a", "ON", "(", ")", ",", "'", "`", "USING", "values", ".", "/*", "\\"]


@given(_ANY | st.lists(st.sampled_from(WORDS_AND_SIGNS)).map(" ".join))
def test_whatever_the_text_nothing_but_our_error_is_raised(text: str) -> None:
    for statement in (text, f"CREATE INDEX a ON t {text}", f"EXPLAIN WHATIF {text}"):
        is_ours(statement)
        try:
            parsed(statement)
        except StatementError as error:
            wrong = error
        else:
            continue
        assert 0 <= wrong.at <= len(statement)
        assert pointed(wrong)


@pytest.mark.slow
def test_hostile_texts_take_no_time() -> None:
    for text in (
        "'" * 30_000,
        "(" * 30_000,
        "/*" * 30_000,
        "CREATE INDEX a ON t (" + "(" * 30_000,
        "-- \n" * 30_000,
    ):
        for statement in (text, f"CREATE INDEX a ON t {text}", f"EXPLAIN WHATIF SELECT {text}"):
            is_ours(statement)
            with pytest.raises(StatementError):
                parsed(statement + " '")
    with pytest.raises(StatementError, match="1,000,000 characters at most"):
        parsed("CREATE INDEX a ON t " + " " * 1_000_000)
    name = "x\x1b[31m"
    with pytest.raises(StatementError) as raised:
        parsed(f"CREATE INDEX a ON t {name}")
    assert "\x1b" not in pointed(raised.value) + str(raised.value)


# Slips ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("CREATE INDEX j ON big/pq USING values (id)", "; write the path in quotes: 'big/pq'"),
        ("SHOW INDEXES ON big/pq;", "; write the path in quotes: 'big/pq'"),
        ("SHOW INDEXES ON s3://b/t", "; write the path in quotes: 's3://b/t'"),
        ("SHOW INDEXES ON /data/t", "; write the path in quotes: '/data/t'"),
        ("SHOW INDEXES ON delta./data/t", "; write the path in backticks: `/data/t`"),
        ("SHOW INDEXES ON delta.'/data/a t'", "; write the path in backticks: `/data/a t`"),
        ("SHOW INDEXES ON ./t", "; write the path in quotes: './t'"),
        ("SHOW INDEXES ON parquet.big/pq", "; write the path in backticks: `big/pq`"),
        ("CREATE INDEX a-b ON t", "has '-' in it, as a-...; write it in backticks, or double quotes"),
        ("DROP INDEX 'i' ON t", "there is 'i'; write it without quotes: i; it is written DROP INDEX"),
        ("CREATE INDEX j ON t USING values (id) OPTION (by = value)", "; did you mean OPTIONS?"),
        ("CREATE INDEX j ON t USING values (id) INCLUDES (city)", "; did you mean INCLUDE?"),
        ("REFRESH INDEX i ON t FUL", "; did you mean FULL?"),
        ("CREATE INDEX j ON t USNG values (id)", "; did you mean USING?"),
        (
            "RECOMMEND INDEXES ON t FROM ./q.sql",
            "; write the path in quotes: './q.sql'; it is written RECOMMEND INDEXES",
        ),
        ("CLEAN INDEX i ON t RETAIN 3", "CLEAN INDEX [IF EXISTS] name ON table [RETAIN n HOURS]"),
        ("EXPLAIN WHATIF SELECT * FROM t WITH INDEX values (id)", "expected USING, or columns; there is values"),
        (
            "CREATE INDEX j ON csv.`x` OPTIONS (Header = true) USING values (id)",
            "there is no option 'header'; how files are read stands behind the table: WITH (header = ...)",
        ),
        ("OPTIMIZE INDEX i ON t OPTIONS (mode = full)", "there is no option 'mode'; there are builder: local or spark"),
        ("SHOW INDEXES sales", "expected ON; there is sales; write SHOW INDEXES ON sales; it is written SHOW"),
        ("SHOW INDEXES 'a b' VERSION AS OF 3", "; write SHOW INDEXES ON 'a b'; it is written"),
        ("CREATE INDEX fast sales(name)", "there is sales; write CREATE INDEX fast ON sales; it is written"),
        ("RECOMMEND INDEXES sales", "; write RECOMMEND INDEXES ON sales; it is written"),
        ("CREATE INDEX ON sales (name)", "there is ON; its name is missing: CREATE INDEX name ON sales; it is written"),
        ("REFRESH INDEX IF EXISTS ON sales", "its name is missing: REFRESH INDEX IF EXISTS name ON sales; it is"),
        ("DROP INDEX ON", "its name is missing: DROP INDEX name ON table; it is written"),
        ("DELETE INDEX stats ON sales", "DELETE INDEX; it is written DROP INDEX [IF EXISTS] name ON table"),
        ("remove index stats ON sales", "REMOVE INDEX; it is written DROP INDEX [IF EXISTS] name ON table"),
        ("ALTER INDEX x ON t REBUILD", "ALTER INDEX; it is written REFRESH INDEX [IF EXISTS] name ON table"),
    ],
)
def test_a_slip_is_told_with_what_to_write(text: str, cure: str) -> None:
    with pytest.raises(StatementError) as told:
        parsed(text)
    assert cure in str(told.value)


def test_a_query_with_a_table_that_is_called_index_is_one() -> None:
    query = "WITH index AS (SELECT 1 AS id) SELECT * FROM index"
    assert parsed(f"EXPLAIN WHATIF {query}").query == query


def test_an_index_may_be_called_on() -> None:
    assert parsed("CREATE INDEX on ON t") == parsed("CREATE INDEX `on` ON t")


def test_a_forgotten_name_is_told_of_statements_that_others_begin_so_too() -> None:
    """Where nobody else could parse them."""
    assert "its name is missing: REFRESH INDEX name ON sales" in str(slip("REFRESH INDEX ON sales"))
    for text in ("REFRESH INDEX sales", "REFRESH INDEX on ON sales", "OPTIMIZE INDEX", "DESCRIBE INDEX ON"):
        assert slip(text) is None
    assert slip("DROP INDEX ON t") is None
