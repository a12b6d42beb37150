"""The knobs of the rule: one value in Python, the same in the session's configuration, which wins; a bad one raises in
Python and is counted in the session."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.spark.optimizer.settings import KNOBS, RuleConfig
from tests.spark.optimizer.lakes import ruled

DOCS = Path(__file__).parents[3] / "docs" / "spark-reference.md"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("enabled", "FALSE", False),
        ("hybrid_scan", " false ", False),
        ("max_appended_ratio", "0.5", 0.5),
        ("max_deleted_ratio", "0", 0.0),
        ("use_bucket_spec", "true", True),
        ("top_k", "false", False),
        ("limit", "false", False),
        ("aggregates", "False", False),
        ("joins", "false", False),
        ("join_queries", "true", True),
        ("join_keys", " 100 ", 100),
        ("join_seconds", "0.5", 0.5),
        ("join_side_bytes", "0", 0),
        ("join_scan_bytes", "1048576", 1048576),
        ("timeout_seconds", "2.5", 2.5),
        ("cache_expiry_seconds", "0", 0.0),
        ("indexes", "a, b,,c ", ("a", "b", "c")),
        ("disabled_indexes", "", ()),
        ("hint", "a", ("a",)),
        ("display_mode", "HTML", "html"),
        ("highlight_begin", "<<", "<<"),
    ],
)
def test_the_session_says_what_python_says(name: str, text: str, value: object) -> None:
    found, bad = RuleConfig().with_conf({KNOBS[name].conf: text})
    assert (found, bad) == (RuleConfig(**{name: value}), [])


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("enabled", "yes", "yes"),
        ("hybrid_scan", "", None),
        ("max_appended_ratio", "1.01", 1.01),
        ("max_deleted_ratio", "nan", float("nan")),
        ("join_keys", "0", 0),
        ("join_keys", "100001", 100001),
        ("join_seconds", "0", 0),
        ("join_side_bytes", "1.5", 1.5),
        ("timeout_seconds", "-1", -1),
        ("timeout_seconds", "inf", float("inf")),
        ("cache_expiry_seconds", "soon", "soon"),
        ("display_mode", "pdf", "pdf"),
    ],
)
def test_a_bad_value_raises_in_python_and_is_left_out_of_the_session(name: str, text: str, value: object) -> None:
    default = RuleConfig(highlight_begin="<")
    found, bad = default.with_conf({KNOBS[name].conf: text})
    assert found == default
    assert [KNOBS[name].conf in one for one in bad] == [True]
    with pytest.raises(ValueError, match=rf"^{name} of a rule .*; got .*; give one"):
        RuleConfig(**{name: value})


def test_a_name_that_is_no_setting_is_told() -> None:
    assert RuleConfig().with_conf({"spark.metaindex.hybridscan.enable": "false"}) == (
        RuleConfig(),
        ["spark.metaindex.hybridscan.enable is no setting of metaindex"],
    )


def test_the_page_lists_every_knob_with_its_default() -> None:
    rows = re.findall(r"^\| `(spark\.metaindex\.[\w.]+)` \| `(\w+)` \| ([^|]*) \|", DOCS.read_text(), re.MULTILINE)
    defaults = RuleConfig()
    said = [(conf, name, default.strip().strip("`")) for conf, name, default in rows]

    def shown(value: object) -> str:
        return (
            str(value).lower()
            if isinstance(value, bool)
            else f"{value:g}"
            if isinstance(value, float)
            else str(value or "none")
        )

    assert said == [(KNOBS[f.name].conf, f.name, shown(getattr(defaults, f.name))) for f in fields(RuleConfig)]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two indexes: of k, and of id."""
    path = str(tmp_path_factory.mktemp("settings") / "t")
    spark.range(0, 400, 1, 4).selectExpr("id", "id DIV 100 AS k", "CAST(id AS string) AS text").write.parquet(path)
    table = mi.open_table(path)
    table.create_index("of_k", mi.ColumnStats("k"), builder="local")
    table.create_index("of_id", mi.ColumnStats("id"), builder="local")
    return path


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Of its own: what it is told, the others are not."""
    found = spark.newSession()
    with ruled(found):
        yield found


def kept(session: SparkSession, path: str, condition: str = "id = 210 AND k < 9") -> int:
    """Files that remain by the indexes; 4 where nothing is left out."""
    plan = session.read.parquet(path).where(condition)._jdf.queryExecution().executedPlan().toString()
    found = re.search(r"<metaindex .*?: (\d+)/4 files>", plan)
    return int(found[1]) if found else 4


@pytest.mark.spark
def test_a_session_is_told_while_it_runs(session: SparkSession, lake: str) -> None:
    assert kept(session, lake) == 1
    session.conf.set("spark.metaindex.enabled", "false")
    plans = rule.counts(session).plans
    assert kept(session, lake) == 4
    assert rule.counts(session).plans == plans
    session.sql("SET spark.metaindex.enabled=true")
    assert kept(session, lake) == 1
    session.conf.set("spark.metaindex.disabledIndexes", "of_id")
    assert kept(session, lake) == 4
    assert kept(session, lake, "k = 2 AND id < 1000") == 1
    session.conf.set("spark.metaindex.indexes", "of_id")
    told = mi.explain(session.read.parquet(lake).where("id = 210"))
    assert [scan.reason for scan in told.scans] == [rule.Reason.NOT_ALLOWED]
    session.conf.unset("spark.metaindex.disabledIndexes")
    assert kept(session, lake) == 1
    assert kept(session, lake, "k = 2 AND id < 1000") == 4
    assert rule.counts(session).bad_settings == 0


@pytest.mark.spark
def test_what_python_says_is_the_default_of_the_session(session: SparkSession, lake: str) -> None:
    rule.enable(session, rule=mi.RuleConfig(enabled=False))
    assert kept(session, lake) == 4
    assert [scan.reason for scan in mi.explain(session.read.parquet(lake).where("id = 210")).scans] == [
        rule.Reason.DISABLED
    ]
    session.conf.set("spark.metaindex.enabled", "true")
    assert kept(session, lake) == 1


@pytest.mark.spark
def test_a_bad_setting_of_a_session_is_counted_and_no_query_fails(session: SparkSession, lake: str) -> None:
    session.conf.set("spark.metaindex.timeoutSeconds", "never")
    assert kept(session, lake) == 1
    assert kept(session, lake) == 1
    counts = rule.counts(session)
    assert (counts.bad_settings, counts.failed) == (1, 0)
    assert "spark.metaindex.timeoutSeconds" in counts.last_error


@pytest.mark.spark
def test_a_hint_holds_for_a_block(session: SparkSession, lake: str) -> None:
    with mi.hint(session, "of_k"):
        assert kept(session, lake) == 4
        assert kept(session, lake, "k = 2 AND id < 1000") == 1
        with mi.hint(session, "of_k", "of_id"):
            assert kept(session, lake) == 1
        assert kept(session, lake) == 4
        with mi.hint(session, "nothing_like_it"):
            assert kept(session, lake, "k = 2") == 4
    assert kept(session, lake) == 1
    assert session.conf.get("spark.metaindex.hint", None) is None
    with pytest.raises(ValueError, match="a hint names indexes"), mi.hint(session):
        pass
    assert rule.counts(session).failed == 0


@pytest.mark.spark
def test_a_hint_of_sql_is_not_heard(session: SparkSession, lake: str) -> None:
    """Spark takes hints that it does not know out of a query before any rule of its optimizer sees it;
    `docs/spark-reference.md` says so."""
    plan = session.sql(f"SELECT /*+ METAINDEX(of_k) */ id FROM parquet.`{lake}` WHERE id = 210")
    assert "1/4 files" in plan._jdf.queryExecution().executedPlan().toString()


def test_spark_connect_is_told_what_to_do_instead() -> None:
    """Of a session of Spark Connect that cannot be asked; `tests/spark/test_connect.py` has those that can."""
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(
        mi.MetaIndexError, match=r"asks the server of a Spark Connect session .* table\.scan\(predicate\)\.to_arrow\(\)"
    ):
        mi.enable(session)
    assert not mi.is_enabled(session)
    mi.disable(session)
    with pytest.raises(mi.MetaIndexError, match="are not sent to it"):
        mi.enable(session, rule=mi.RuleConfig())


def test_settings_of_the_jar_are_none_of_the_rule() -> None:
    conf = {"spark.metaindex.python": "python3", "spark.metaindex.startSeconds": "3", "spark.metaindex.state": "on"}
    assert mi.RuleConfig().with_conf(conf) == (mi.RuleConfig(), [])
    _, bad = mi.RuleConfig().with_conf({"spark.metaindex.pythons": "python3"})
    assert bad == ["spark.metaindex.pythons is no setting of metaindex"]
