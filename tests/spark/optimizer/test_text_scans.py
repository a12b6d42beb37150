"""CSV and JSON in a Spark plan: files are left out where Spark reads of them what the index was built from, and nowhere
else."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import ScanError, SparkDriver, UnsupportedFeatureError
from metaindex.formats import ReadOptions
from metaindex.spark.optimizer.request import Session
from metaindex.spark.optimizer.text_scans import usual_session
from tests.formats.files import test_text_limits as only_spark
from tests.spark.optimizer.lakes import ruled

FILES, ROWS = 8, 10
SCHEMA = "id BIGINT, k INT, name STRING, at TIMESTAMP, day DATE"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({}, {"HEADER": "False", "sep": ",", "inferSchema": "true", "path": "/x"}, True),
        ({"delimiter": ";"}, {"sep": ";", "MODE": "permissive", "multiLine": False}, True),
        ({"header": True}, {"header": "true", "pathGlobFilter": "*.csv"}, True),
        ({"header": True}, {}, False),
        ({"nullValue": "x"}, {"nullValue": "X"}, False),
        ({}, {"mode": "FAILFAST"}, False),
        ({}, {"preferDate": "false"}, False),
        ({}, {"somethingNew": "1"}, False),
        ({"charset": "UTF-8"}, {}, True),
        ({"dateFormat": "dd.MM.yyyy"}, {}, False),
    ],
)
def test_options_are_compared_by_what_they_say(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert (ReadOptions.of_spark("csv", one).rows == ReadOptions.of_spark("csv", other).rows) is same
    ours = ReadOptions.of({"header": False, "file_format": "csv", **one})
    assert (ours.rows == ReadOptions.of_spark("csv", other).rows) is same


def test_a_header_is_meant_here_where_spark_has_none() -> None:
    ours = ReadOptions.of({"file_format": "csv"}).rows
    assert ours != ReadOptions.of_spark("csv", {}).rows
    assert ours == ReadOptions.of_spark("csv", {"header": "TRUE"}).rows
    assert ReadOptions.of({"file_format": "json"}).rows == ReadOptions.of_spark("json", {}).rows == {}


def test_a_session_that_reads_otherwise_is_seen() -> None:
    def usual(**settings: str) -> bool:
        return usual_session(Session("UTC", {f"spark.sql.{name}": value for name, value in settings.items()}))

    assert usual()
    assert usual(**{"csv.filterPushdown.enabled": "false"})
    assert usual(**{"legacy.timeParserPolicy": "CORRECTED"})
    assert not usual_session(None)
    assert not usual(**{"legacy.timeParserPolicy": "LEGACY"})
    assert not usual(columnNameOfCorruptRecord="bad")
    assert not usual(**{"json.enablePartialResults": "false"})
    zones = [ReadOptions.of(options).zone("Asia/Tokyo") for options in ({"timeZone": "GMT"}, {})]
    assert zones == ["UTC", "Asia/Tokyo"]


def values(number: int) -> list[tuple[Any, ...]]:
    """Rows of a file. One id that is no number, and one line that is too short, in files of their own."""
    found: list[tuple[Any, ...]] = []
    for i in range(number * ROWS, number * ROWS + ROWS):
        at = f"2024-01-{1 + i // 4:02d} 12:00:00"
        found.append((i, i % 7, f"n{i}", at, at[:10]))
    if number == 5:
        found[3] = ("none", *found[3][1:])
    return found


def write_csv(folder: Path, header: bool = True, sep: str = ",", suffix: str = ".csv") -> str:
    folder.mkdir(parents=True)
    for number in range(FILES):
        lines = [sep.join(SCHEMA.replace(",", "").split()[::2])] if header else []
        lines += [sep.join(map(str, row)) for row in values(number)]
        if number == 6:
            lines.append("66")
        (folder / f"f{number}{suffix}").write_text("\n".join(lines) + "\n")
    return str(folder)


def write_json(folder: Path) -> str:
    folder.mkdir(parents=True)
    names = SCHEMA.replace(",", "").split()[::2]
    for number in range(FILES):
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in values(number)]
        if number == 6:
            lines.append('{"id": 66, "k": tru')
        (folder / f"f{number}.json").write_text("\n".join(lines) + "\n")
    return str(folder)


def indexed(path: str, **options: Any) -> None:
    table = mi.open_table(path, **options)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    table.create_index("names", mi.Values("name"), builder="local")


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    found = spark.newSession()
    with ruled(found):
        yield found


def read_files(frame: DataFrame) -> int:
    """From the metrics of the scans of an executed query."""
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    counted = [leaves.apply(i).metrics() for i in range(leaves.size())]
    return sum(int(one.apply("numFiles").value()) for one in counted if one.contains("numFiles"))


def answered(session: SparkSession, ask: Callable[[], DataFrame]) -> tuple[list[Row], int]:
    """The rows, which are those without the rule, and how many files were read for them."""
    query = ask()
    found = sorted(query.collect(), key=repr)
    session.conf.set("spark.metaindex.enabled", "false")
    assert found == sorted(ask().collect(), key=repr)
    session.conf.unset("spark.metaindex.enabled")
    return found, read_files(query)


def why_not(query: DataFrame) -> set[rule.Reason | None]:
    return {scan.reason for scan in mi.explain(query).scans}


# rows, and files at most: of the file with an id that is no number nothing is known about ids
CONDITIONS = [
    ("id = 21", 1, 2),
    ("id IS NULL", None, 2),
    ("name = 'n47'", 1, 1),
    ("at = timestamp'2024-01-03 12:00:00'", 4, 2),
    ("day > date'2024-01-19' AND k < 7", None, 2),
    ("id = 66", None, 2),
    ("k IS NULL AND id > 60", None, 1),
    ("id = 4711", 0, 1),
    ("id BETWEEN 8 AND 11 OR name = 'n70'", 5, 4),
]


@pytest.mark.spark
@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_only_files_that_can_match_are_read(session: SparkSession, tmp_path: Path, file_format: str) -> None:
    path = write_csv(tmp_path / "t") if file_format == "csv" else write_json(tmp_path / "t")
    options: dict[str, Any] = {"header": True} if file_format == "csv" else {}
    indexed(path, format=file_format, schema=SCHEMA, **options)
    for condition, rows, most in CONDITIONS:
        found, files = answered(
            session,
            lambda c=condition: (
                session.read.schema(SCHEMA)
                .options(**options)
                .format(file_format)
                .load(path)
                .where(c)
                .select("id", "name")
            ),
        )
        assert rows is None or len(found) == rows, condition
        assert files <= most, (condition, files)
    counts = rule.counts(session)
    assert (counts.failed, counts.bad_settings) == (0, 0), counts.last_error


@pytest.mark.spark
def test_what_is_read_otherwise_is_left_alone(session: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t")
    indexed(path, format="csv", header=True, schema=SCHEMA)
    corrupt = f"{SCHEMA}, _corrupt_record STRING"
    Reason = rule.Reason  # noqa: N806
    for schema, options, reason in [
        (SCHEMA, {}, Reason.READER_OPTIONS),
        (SCHEMA, {"header": "true", "mode": "DROPMALFORMED"}, Reason.READER_OPTIONS),
        (SCHEMA, {"header": "true", "nullValue": "n21"}, Reason.READER_OPTIONS),
        (SCHEMA, {"header": "true", "escape": '"'}, Reason.READER_OPTIONS),
        ("id INT, k INT, name STRING, at TIMESTAMP, day DATE", {"header": "true"}, Reason.OTHER_TYPES),
        ("k BIGINT, id INT, name STRING, at TIMESTAMP, day DATE", {"header": "true"}, Reason.OTHER_TYPES),
        ("id BIGINT, k INT", {"header": "true"}, Reason.OTHER_TYPES),
        (corrupt, {"header": "true"}, Reason.OTHER_TYPES),
    ]:
        frame = session.read.schema(schema).options(**options).csv(path).where("id = 21")
        assert why_not(frame) == {reason}, (schema, options)
        assert answered(session, lambda f=frame: f.select("id"))[1] == FILES
        if reason is Reason.OTHER_TYPES:
            (scan,) = mi.explain(frame).scans
            for verdict in scan.indexes:
                assert verdict.detail.startswith("the index has "), verdict
                assert verdict.detail.endswith("or create another index of the table as it is read here")
    plain = session.read.schema(SCHEMA).options(header=True).csv(path)
    for name, value in [
        ("spark.sql.legacy.timeParserPolicy", "LEGACY"),
        ("spark.sql.columnNameOfCorruptRecord", "name"),
    ]:
        session.conf.set(name, value)
        assert why_not(plain.where("id = 21")) == {Reason.READER_OPTIONS}, name
        session.conf.unset(name)
    assert why_not(plain.where("id = 21")) == {None}


@pytest.mark.spark
def test_texts_without_a_zone_are_of_the_sessions_zone(session: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t")
    indexed(path, format="csv", header=True, schema=SCHEMA)

    def ask(condition: str, **options: str) -> Callable[[], DataFrame]:
        return lambda: session.read.schema(SCHEMA).options(header=True, **options).csv(path).where(condition)

    with SparkDriver(session).setting("spark.sql.session.timeZone", "Asia/Tokyo"):
        moment = "at = timestamp'2024-01-03 12:00:00'"
        found, files = answered(session, ask(moment))
        assert (len(found), files) == (4, FILES)
        found, files = answered(session, ask(f"{moment} AND id = 9"))
        assert (len(found), files) == (1, 2)
        found, files = answered(session, ask("at = timestamp'2024-01-03 21:00:00'", timeZone="UTC"))
        assert (len(found), files) == (4, 2)


@pytest.mark.spark
def test_inferred_types_partitions_views_and_tabs(session: SparkSession, tmp_path: Path) -> None:
    """Types that both infer alike; partitions in folder names; SQL over a view; a separator that only the name of the
    files says."""
    rows = session.range(0, 80, 1, 4).selectExpr(
        "id", "id * 2 AS twice", "CAST(id AS string) AS text", "id DIV 20 AS p"
    )
    parted = str(tmp_path / "parted")
    rows.write.partitionBy("p").option("header", True).csv(parted)
    mi.open_table(parted, format="csv", header=True).create_index("stats", mi.ColumnStats(), builder="local")
    frame = session.read.options(header=True, inferSchema=True).csv(parted)
    assert answered(session, lambda: frame.where("twice = 46"))[1] == 1
    assert answered(session, lambda: frame.where("p = 3 AND id < 70"))[1] == 1
    lines = str(tmp_path / "lines")
    rows.write.json(lines)
    mi.open_table(lines, format="json").create_index("stats", mi.ColumnStats(), builder="local")
    session.read.json(lines).createOrReplaceTempView("texts_seen")
    assert answered(session, lambda: session.sql("SELECT text FROM texts_seen WHERE twice = 46"))[1] == 1
    tabs = write_csv(tmp_path / "tabs", sep="\t", suffix=".tsv")
    indexed(tabs, format="csv", header=True, schema=SCHEMA)
    broken = session.read.schema(SCHEMA).options(header=True).csv(tabs)
    assert why_not(broken.where("name = 'n21'")) == {rule.Reason.READER_OPTIONS}
    assert answered(session, lambda: broken.where("k IS NULL"))[1] == FILES
    assert rule.counts(session).failed == 0, rule.counts(session).last_error


@pytest.mark.spark
def test_fields_of_json_are_in_any_order(session: SparkSession, tmp_path: Path) -> None:
    """Spark infers them by name, other readers as they come; an index that was made without Spark is used, and so is
    one that the session makes beside it."""
    path = tmp_path / "t"
    path.mkdir()
    for number in range(FILES):
        rows = [
            {"user": {"id": i, "addr": {"zip": f"z{i}", "city": "c"}}, "tags": [{"b": i, "a": 1}], "at": i}
            for i in range(number * ROWS, number * ROWS + ROWS)
        ]
        (path / f"f{number}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    mi.open_table(path).create_index("find", mi.Values("user.id"), mi.ColumnStats(), builder="local")
    view = session.read.json(str(path))
    assert [field.name for field in view.schema["user"].dataType] == ["addr", "id"]
    assert answered(session, lambda: view.where("user.id = 21"))[1] == 1
    assert answered(session, lambda: view.where("at = 47").select("tags", "user"))[1] == 1
    said = "user STRUCT<id: BIGINT, addr: STRUCT<zip: STRING, city: STRING>>, at BIGINT"
    assert answered(session, lambda: session.read.schema(said).json(str(path)).where("user.id = 21"))[1] == FILES
    view.createOrReplaceTempView("in_any_order")
    session.sql("CREATE INDEX zips ON in_any_order USING values (user.addr.zip)").collect()
    assert answered(session, lambda: view.where("user.addr.zip = 'z21'"))[1] == 1


@pytest.mark.spark
def test_an_index_of_a_view_is_used_that_comes_after_another_reading(session: SparkSession, tmp_path: Path) -> None:
    """A query that found an index with other columns looks again; views of other columns each find their own."""
    path = write_csv(tmp_path / "t")
    mi.open_table(path, format="csv", header=True).create_index("guessed", mi.ColumnStats(), builder="local")
    texts = session.read.options(header=True).csv(path)
    typed = session.read.options(header=True).schema(SCHEMA).csv(path)
    session.conf.set("spark.metaindex.cache.expiryDurationInSeconds", "0")
    assert answered(session, lambda: texts.where("name = 'n47'"))[1] == FILES
    assert answered(session, lambda: typed.where("name = 'n47'"))[1] == FILES
    for view, name in ((texts, "texts"), (typed, "typed")):
        view.createOrReplaceTempView("later")
        session.sql(f"CREATE INDEX {name} ON later USING values (name)").collect()
    for view in (texts, typed, texts):
        assert answered(session, lambda read=view: read.where("name = 'n47'"))[1] == 1
    session.conf.unset("spark.metaindex.cache.expiryDurationInSeconds")
    assert rule.counts(session).failed == 0, rule.counts(session).last_error


@pytest.mark.spark
@pytest.mark.parametrize("names", [("q", "q2"), ("q2", "q")], ids=["fits first", "fits last"])
def test_of_indexes_that_differ_by_reader_options_each_says_so(
    session: SparkSession, tmp_path: Path, names: tuple[str, str]
) -> None:
    """The one that fits is used whatever the others are called; those that do not fit say which options differ."""
    fits, other = names
    path = write_csv(tmp_path / "t")
    for name, options in (
        (fits, {"header": True, "schema": SCHEMA}),
        (other, {"header": True}),
        ("sep", {"header": True, "schema": SCHEMA, "nullValue": "n21"}),
        ("gone", {"header": True}),
    ):
        mi.open_table(path, format="csv", **options).create_index(name, mi.ColumnStats(), builder="local")
    mi.open_table(path, format="csv", header=True).drop_index("gone")
    Reason = rule.Reason  # noqa: N806
    read = session.read.options(header=True)
    (scan,) = mi.explain(read.schema(SCHEMA).csv(path).where("id = 21")).scans
    told = {verdict.index: (verdict.reason, verdict.detail) for verdict in scan.indexes}
    assert told[fits][0] is None
    del told[fits]
    cure = "read the files so, or create another index"
    assert told == {
        other: (Reason.READER_OPTIONS, f"built with another schema; {cure}"),
        "sep": (Reason.READER_OPTIONS, f"built with nullvalue='n21'; {cure}"),
        "gone": (Reason.NOT_USABLE, "DELETED"),
    }
    (scan,) = mi.explain(read.schema(SCHEMA).option("escape", '"').csv(path).where("id = 21")).scans
    told = {verdict.index: (verdict.reason, verdict.detail) for verdict in scan.indexes}
    assert told == {
        fits: (Reason.READER_OPTIONS, f"built without escape; {cure}"),
        other: (Reason.READER_OPTIONS, f"built without escape; {cure}"),
        "sep": (Reason.READER_OPTIONS, f"built with nullvalue='n21' and without escape; {cure}"),
        "gone": (Reason.NOT_USABLE, "DELETED"),
    }


@pytest.mark.spark
@pytest.mark.parametrize("kind", only_spark.UNREAD)
def test_text_that_only_spark_reads_is_indexed_by_it_and_pruned(
    session: SparkSession, tmp_path: Path, kind: str
) -> None:
    suffix, data, options, _ = only_spark.UNREAD[kind]
    root = str(only_spark.written(tmp_path, suffix, data))
    file_format = suffix.partition(".")[0]
    if file_format == "csv":
        options = {**options, "header": False}
    table = mi.open_table(root, schema=only_spark.SCHEMA, spark=session, **options)
    with pytest.raises(UnsupportedFeatureError, match="column statistics or a covering index"):
        table.create_index("keys", mi.Values("id"), builder="spark")
    table.create_index("i", mi.ColumnStats(), builder="spark")
    pruned = table.prune("id = 11")
    assert (pruned.paths, pruned.total_files) == ([f"{root}/1.{suffix}"], only_spark.FILES)
    with pytest.raises((ScanError, UnsupportedFeatureError), match=r"builder='spark', or read with \.to_spark"):
        table.scan("id = 11").to_arrow()
    assert [row.id for row in table.scan("id = 11").to_spark(session).collect()] == [11]

    def ask() -> DataFrame:
        return session.read.schema(only_spark.SCHEMA).options(**options).format(file_format).load(root).where("id = 11")

    found, files = answered(session, ask)
    assert ([row.id for row in found], files) == ([11], 1)
    table.create_index("rows", mi.Covering("id", ["name"], buckets=2), builder="spark")
    assert answered(session, ask)[0] == found
    (scan,) = mi.explain(ask()).scans
    assert [verdict.index for verdict in scan.indexes if verdict.reason is None] == ["rows"]
