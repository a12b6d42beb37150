"""Plain files as Spark writes and sees them: partitions, schemas, hidden files, footers (INT96 and old calendars
included)."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
from metaindex.core import MetaIndexError
from metaindex.formats.files.table import FilesFormat
from metaindex.formats.format import At, TableRef
from metaindex.formats.model import Snapshot
from metaindex.formats.parquet.footers import read_footers
from metaindex.formats.parquet.trust import Doubt
from metaindex.storage import local_path, storage_for
from tests.facts import Facts
from tests.formats.files.test_roots import CASES, NAMES, REFUSED
from tests.formats.files.test_schemas import LARGE_JSON

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
RAW_VALUES = [
    "1", "-1", "+7", "007", "2147483648", "9223372036854775808", "1e3", "1E3", "1.0", "1.50", ".5", "5.", "1d", "0x1p3",
    "NaN",
    "Infinity", "true", "abc", "1_000", " 1", "2024-01-31", "2024-02-31", "2024-1-5", "2024-01-31 12%3A30%3A00",
    "2024-01-31 12%3A30%3A00.123", "2024-01-31 12%3A30%3A00.1", "2024-01-31T12%3A30%3A00", "a%2Fb", "100%25", "%zz",
    "%C3%A9", "é😀", HIVE_NULL, "99999999999999999999999999999999999999999",
]  # fmt: skip
LAYOUTS = [
    *([v] for v in RAW_VALUES),
    ["1", "3000000000"],
    ["1", "1.5"],
    ["3000000000", "1.5"],
    ["1", "9223372036854775808"],
    ["9223372036854775808", "1.5"],
    ["2024-01-31", "2024-01-31 00%3A00%3A01"],
    ["2024-01-31", "1"],
    ["1", "x", HIVE_NULL],
    ["1", HIVE_NULL],
    ["007", "x"],
    ["1.5", HIVE_NULL, "2"],
    ["true", "false"],
]  # fmt: skip


def now(path: Path, **options: object) -> Snapshot:
    storage, root = storage_for(path)
    return FilesFormat().snapshot(TableRef(storage, root, options), At())


def spark_type(t: pa.DataType) -> str:
    if pa.types.is_decimal(t):
        return f"decimal({t.precision},{t.scale})"
    names = {
        pa.int32(): "int",
        pa.int64(): "bigint",
        pa.float64(): "double",
        pa.string(): "string",
        pa.date32(): "date",
    }
    return names.get(t, "timestamp" if pa.types.is_timestamp(t) else str(t))


@pytest.mark.parametrize("raw", LAYOUTS, ids=lambda r: "_".join(r)[:40])
def test_partition_types_and_values_are_sparks(facts: Facts, tmp_path: Path, raw: list[str]) -> None:
    for number, value in enumerate(raw):
        (tmp_path / f"p={value}").mkdir()
        pq.write_table(pa.table({"n": [number]}), tmp_path / f"p={value}" / "0.parquet")

    def ask(spark: SparkSession) -> list[str]:
        frame = spark.read.parquet(str(tmp_path))
        rows = sorted(frame.selectExpr("n", "cast(p as string) p").collect())
        return [frame.schema["p"].dataType.simpleString(), *(repr(row["p"]) for row in rows)]

    spark_says, *shown = facts.said(", ".join(raw), ask)
    snapshot = now(tmp_path)
    field = snapshot.schema.fields[1]
    assert spark_type(field.type) == ("string" if spark_says == "void" else spark_says)
    ours = snapshot.details.partition_values(snapshot.schema.leaves()[1])
    if pa.types.is_timestamp(field.type) or pa.types.is_floating(field.type):
        return  # text forms differ; the values are compared by the bounds' users
    for path, value in zip(snapshot.files.paths.to_pylist(), ours.cast(pa.string()).to_pylist(), strict=True):
        number = pq.read_table(tmp_path / path, partitioning=None).column("n")[0].as_py()
        assert shown[number] == repr(value)


def test_what_spark_writes_with_partitions_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    texts = [
        "plain",
        "a/b",
        "a b",
        "a=b",
        "100%",
        "%41",
        "é😀",
        "x:y",
        "a+b",
        "{z}",
        "q?",
        "#",
        "a\\b",
        "tab\tx",
        "",
        None,
    ]
    made = spark.createDataFrame([(i, t) for i, t in enumerate(texts)], "n INT, p STRING")
    made.repartition(1).write.partitionBy("p").parquet(str(tmp_path / "t"))
    snapshot = now(tmp_path / "t")
    ours = snapshot.details.partition_values(snapshot.schema.leaves()[1])
    seen: dict[int, object] = {}
    for path, value in zip(snapshot.files.paths.to_pylist(), ours.to_pylist(), strict=True):
        for number in pq.read_table(tmp_path / "t" / path, partitioning=None).column("n").to_pylist():
            seen[number] = value
    back = {r["n"]: r["p"] for r in spark.read.parquet(str(tmp_path / "t")).collect()}
    assert seen == back


@pytest.mark.parametrize(
    "names",
    [
        ["a=1/0.parquet", "b=1/0.parquet"],
        ["a=1/0.parquet", "a=1/b=2/0.parquet"],
        ["x/a=1/0.parquet", "y/a=1/0.parquet"],
        ["a=1/a=2/0.parquet"],
    ],
)
def test_layouts_that_spark_refuses_are_refused(facts: Facts, tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [1]}), tmp_path / name)

    def ask(spark: SparkSession) -> list[str]:
        try:
            return [f"{spark.read.parquet(str(tmp_path)).count()} rows"]
        except Exception:  # noqa: BLE001  # a java.lang.AssertionError or an AnalysisException
            return ["refused"]

    assert facts.said(", ".join(names), ask) == ["refused"]
    with pytest.raises(MetaIndexError):
        now(tmp_path)


@pytest.mark.parametrize("recursive", [True, False])
def test_files_that_spark_reads_are_the_files(facts: Facts, tmp_path: Path, recursive: bool) -> None:
    names = [
        "0.parquet", "sub/1.parquet", "_p=1.parquet", "_metadata_x/2.parquet", "_SUCCESS", ".h.parquet",
        "_temporary/3.parquet",
        ".hidden/4.parquet", "_delta/5.parquet", "6.parquet._COPYING_", "sub/_7.parquet",
    ]  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [1]}), tmp_path / name)

    def ask(spark: SparkSession) -> list[str]:
        return seen(spark.read.parquet(str(tmp_path), recursiveFileLookup=recursive), tmp_path)

    ours = now(tmp_path, recursiveFileLookup=recursive).files.paths.to_pylist()
    assert facts.said("recursive" if recursive else "not recursive", ask) == sorted(ours)
    assert len(ours) == (4 if recursive else 2)


def test_patterns_lists_and_base_paths_are_read_as_spark_reads_them(facts: Facts, tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [1]}), tmp_path / name)

    def spark_says(paths: list[str], options: dict[str, object]) -> list[str]:
        """The columns, and the files."""

        def ask(spark: SparkSession) -> list[str]:
            given = {k: str(v) if k != "basePath" else f"{tmp_path}/{v}" for k, v in options.items()}
            try:
                frame = spark.read.options(**given).parquet(*[f"{tmp_path}/{path}" for path in paths])
                return [", ".join(frame.columns), *seen(frame, tmp_path)]
            except Exception:  # noqa: BLE001  # an AnalysisException, or Java's own
                return ["refused"]

        return facts.said(", ".join(paths) + "".join(f" with {k}={v}" for k, v in options.items()), ask)

    for paths, options, files, columns in CASES:
        assert spark_says(paths, options) == [", ".join(columns), *files], (paths, options)
    for paths, options in REFUSED:
        found = spark_says(paths, options)
        twice = len(set(found)) < len(found) or paths == ["g/**"]  # or as one star
        assert found == ["refused"] or twice, (paths, options)


def seen(frame: DataFrame, folder: Path) -> list[str]:
    """The files, each as often as it has rows."""
    paths = [Path(local_path(row[0])) for row in frame.selectExpr("_metadata.file_path").collect()]
    return sorted(str(path.relative_to(folder)) for path in paths)


def test_merged_schemas_are_sparks(facts: Facts, tmp_path: Path) -> None:
    tables = [
        {"a": pa.array([1], pa.int64()), "s": pa.array([{"x": 1}])},
        {"b": ["x"], "s": pa.array([{"y": 1.5}])},
        {"d": pa.array([1], pa.decimal128(5, 2))},
        {"d": pa.array([1], pa.decimal128(9, 2))},
    ]
    for number, columns in enumerate(tables):
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")

    def ask(spark: SparkSession) -> list[str]:
        try:
            return [f"{name} {t}" for name, t in spark.read.parquet(str(tmp_path), mergeSchema=True).dtypes]
        except Exception as error:  # noqa: BLE001  # a SparkException
            return ["refused" if "MERGE" in str(error) else str(error)]

    said = dict(line.split() for line in facts.said("columns of four files", ask))
    ours = now(tmp_path, mergeSchema=True).schema
    assert [f.name for f in ours] == list(said)
    assert str(ours.arrow().field("s").type) == "struct<x: int64, y: double>"
    assert said["s"] == "struct<x:bigint,y:double>"
    assert spark_type(ours.arrow().field("d").type) == said["d"] == "decimal(9,2)"
    pq.write_table(pa.table({"a": pa.array([1], pa.int32())}), tmp_path / "4.parquet")
    assert facts.said("int32 and int64", ask) == ["refused"]
    with pytest.raises(MetaIndexError, match="mergeSchema"):
        now(tmp_path, mergeSchema=True)


def footers_of(path: Path) -> dict[str, tuple[object, ...]]:
    snapshot = now(path)
    storage, _ = storage_for(path)
    found = read_footers(storage, snapshot.files.paths.to_pylist(), snapshot.schema.leaves())
    out: dict[str, tuple[object, ...]] = {}
    for column in found.columns:
        bounds = column.bounds
        said = (bounds.lower[0].as_py(), bounds.upper[0].as_py(), bounds.null_count[0].as_py(), column.doubt[0].as_py())
        out[".".join(column.leaf.parts)] = said
    return out


def test_footers_that_spark_writes(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(
        "SELECT CAST(id - 5 AS INT) i, CAST(id AS TINYINT) b, id * 3000000000 l, CONCAT('v', id) s, CAST(id AS"
        " DECIMAL(7, 2)) d7, "
        "CAST(id - 3 AS DECIMAL(18, 4)) d18, CAST(id - 3 AS DECIMAL(38, 10)) d38, DATE '2024-01-01' + CAST(id AS INT)"
        " day, "
        "TIMESTAMP '2024-01-01 00:00:00Z' t, TIMESTAMP_NTZ '2024-01-01 00:00:00' n, IF(id = 3, DOUBLE('NaN'), id / 2D)"
        " f, "
        "IF(id % 2 = 0, NULL, id) h, NAMED_STRUCT('x', id, 'y', CAST(NULL AS STRING)) st, CAST(CONCAT('v', id) AS"
        " BINARY) bin FROM range(10)"
    ).repartition(1).write.option("parquet.enable.dictionary", "false").parquet(str(tmp_path / "t"))
    got = footers_of(tmp_path / "t")
    day = (dt.date(2024, 1, 1) - dt.date(1970, 1, 1)).days
    assert got["i"] == (-5, 4, 0, None)
    assert got["b"] == (0, 9, 0, None)
    assert got["l"] == (0, 27_000_000_000, 0, None)
    assert got["s"] == (b"v0", b"v9", 0, None)
    assert got["d7"] == (0, 900, 0, None)
    assert got["d18"] == (-30000, 60000, 0, None)
    assert got["d38"][2:] == (0, None)
    assert got["day"] == (day, day + 9, 0, None)
    assert got["n"] == (day * 86_400_000_000, day * 86_400_000_000, 0, None)
    assert got["h"] == (1, 9, 5, None)
    assert got["st.x"] == (0, 9, 0, None)
    assert got["st.y"] == (None, None, 10, None)
    assert got["bin"] == (b"v0", b"v9", 0, None)
    assert got["f"][:2] in ((None, None), (0.0, 4.5))  # the writer leaves bounds out where a NaN is


def test_int96_and_old_calendars_that_spark_writes_are_unknown(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        "SELECT TIMESTAMP '1800-01-01 00:00:00Z' + MAKE_INTERVAL(id) t, DATE '1500-01-01' + CAST(id AS INT) d FROM"
        " range(3)"
    )
    settings = {
        "int96": {"spark.sql.parquet.outputTimestampType": "INT96"},
        "legacy": {
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
            "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
        },
        "now": {
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
            "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        },
    }
    for name, given in settings.items():
        for key, value in given.items():
            spark.conf.set(key, value)
        try:
            frame.repartition(1).write.parquet(str(tmp_path / name))
        finally:
            for key in given:
                spark.conf.unset(key)
    assert footers_of(tmp_path / "int96")["t"][3] == Doubt.INT96.value
    legacy = footers_of(tmp_path / "legacy")
    assert (legacy["t"][3], legacy["d"][3]) == (Doubt.LEGACY_CALENDAR.value,) * 2
    plain = footers_of(tmp_path / "now")
    assert (plain["t"][3], plain["d"][3]) == (None, None)
    assert plain["d"][0] == (dt.date(1500, 1, 1) - dt.date(1970, 1, 1)).days


@pytest.mark.parametrize("text", ["1,2\n3,4\n", "1,x\n,\n", "1.5,2024-01-01\n2,2024-01-02\n",
    "3000000000,true\n1,false\n", "12345678901234567890,2024-01-01 10:00:00\n1,2024-01-02\n",
    "1e3,NaN\n2,1\n"])  # fmt: skip
def test_csv_types_are_those_that_spark_infers(facts: Facts, tmp_path: Path, text: str) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "0.csv").write_text("a,b\n" + text)

    def ask(spark: SparkSession) -> list[str]:
        dtypes = spark.read.csv(str(tmp_path / "t"), header=True, inferSchema=True).dtypes
        return [f"{name} {t}" for name, t in dtypes]

    ours = {f.name: spark_type(f.type) for f in now(tmp_path / "t").schema}
    assert facts.said(repr(text), ask) == [f"{n} {'boolean' if t == 'bool' else t}" for n, t in ours.items()]


def test_integers_of_json_beyond_64_bits_are_what_spark_makes_of_them(facts: Facts, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(LARGE_JSON)
    ours = {f.name: f.type for f in now(tmp_path).schema.arrow()}
    types = {"s": f"struct<x:{spark_type(ours['s'].field(0).type)}>", "l": f"array<{spark_type(ours['l'].value_type)}>"}
    types = {name: types.get(name) or spark_type(ours[name]) for name in sorted(ours)}

    def ask_types(spark: SparkSession) -> list[str]:
        return [f"{name} {t}" for name, t in sorted(spark.read.json(str(tmp_path)).dtypes)]

    assert facts.said("types", ask_types) == [f"{name} {t}" for name, t in types.items()]

    def ask_rows(spark: SparkSession) -> list[str]:
        return [shown(row.asDict(recursive=True)) for row in spark.read.json(str(tmp_path)).collect()]

    def shown(row: dict[str, object]) -> str:
        return ", ".join(f"{name}: {row[name]!r}" for name in sorted(row))

    assert facts.said("rows", ask_rows) == list(map(shown, mi.open_table(str(tmp_path)).scan().to_arrow().to_pylist()))
