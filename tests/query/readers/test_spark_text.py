"""Spark is asked again what `text_cases` says of it, and the same files are read by both."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from metaindex import open_table
from metaindex.core import ScanError, SparkDriver
from tests.facts import Facts
from tests.query.readers import text_whole_cases as whole
from tests.query.readers.test_text_scan import lake_of, plain, rows, shown
from tests.query.readers.text_cases import CSV, JSON, REFUSED_CSV, TYPED


def test_the_cases_are_what_spark_says(spark: SparkSession, tmp_path: Path) -> None:
    csv_cases, json_cases = CSV + REFUSED_CSV + whole.CSV + whole.REFUSED_CSV, JSON + whole.JSON + whole.REFUSED_JSON
    for file_format, cases in (("csv", csv_cases), ("json", json_cases)):
        for i, (data, schema, options, expected) in enumerate(cases):
            file = tmp_path / f"{i}.{file_format}"
            file.write_bytes(data.encode() if isinstance(data, str) else data)
            found = spark.read.schema(schema).options(**options).format(file_format).load(str(file)).collect()
            got = [tuple(v.asDict() if hasattr(v, "asDict") else plain(v) for v in row) for row in found]
            assert got == [tuple(plain(v) for v in row) for row in expected], (data, schema, options)


def test_the_values_are_what_spark_says(spark: SparkSession, tmp_path: Path) -> None:
    for i, (type_, cases) in enumerate(TYPED.items()):
        file = tmp_path / f"{i}.csv"
        file.write_text("".join(f"{text},{n}\n" for n, (text, _) in enumerate(cases) if "," not in text), newline="")
        found = spark.read.schema(f"a {type_}, k int").csv(str(file)).selectExpr("k", "CAST(a AS STRING)").collect()
        assert dict(found) == {n: e for n, (text, e) in enumerate(cases) if "," not in text}, type_


def test_the_patterns_are_what_spark_says(spark: SparkSession, tmp_path: Path) -> None:
    for i, (option, pattern, type_, cases) in enumerate(whole.PATTERNS):
        file = tmp_path / f"{i}.csv"
        file.write_text("".join(f'"{text}",{n}\n' for n, (text, _) in enumerate(cases)))
        frame = spark.read.schema(f"a {type_}, k int").options(**{option: pattern}).csv(str(file))
        assert dict(frame.selectExpr("k", "CAST(a AS STRING)").collect()) == {n: e for n, (_, e) in enumerate(cases)}, (
            pattern
        )


DIALECTS: list[dict[str, Any]] = [
    {},
    {"multiLine": True},
    {"escape": '"'},
    {"escape": '"', "multiLine": True},
    {"header": True, "multiLine": True},
    {"header": True, "comment": "b"},
    {"comment": "b", "multiLine": True},
    {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True},
    {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True, "multiLine": True},
    {"nullValue": "a", "emptyValue": "E", "multiLine": True},
    {"quote": "", "multiLine": True},
]


@pytest.mark.parametrize("options", DIALECTS, ids=str)
def test_random_csv_files_are_read_alike_or_refused(facts: Facts, tmp_path: Path, options: dict[str, Any]) -> None:
    choice = random.Random(11)
    parts = ["a", "b", ",", ",", '"', '""', '","', "\\", "\n", "\n", "\r\n", " ", "é", '"a",', "a,b\n"]
    weights = [4, 2, 6, 2, 3, 1, 1, 1, 4, 2, 1, 1, 1, 3, 3]
    schema = "x string, y string, z string"
    texts = ["".join(choice.choices(parts, weights, k=choice.randint(1, 12))) for _ in range(150)]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.csv").write_bytes(text.encode())

    def ask(spark: SparkSession) -> list[str]:
        frame = spark.read.schema(schema).options(**options).csv(str(tmp_path))
        said: dict[str, list[tuple[Any, ...]]] = {f"{number}.csv": [] for number in range(len(texts))}
        for name, *row in frame.selectExpr("_metadata.file_name", "x", "y", "z").collect():
            said[name].append(tuple(row))
        return [f"{text!r}: {rows}" for text, rows in zip(texts, said.values(), strict=True)]

    refused = 0
    for number, (text, said) in enumerate(zip(texts, facts.said(f"options {options}", ask), strict=True)):
        lake = lake_of(tmp_path, "csv", schema, options)
        lake.add(f"{number}.csv", text.encode())
        try:
            found = rows(lake)
        except ScanError:
            refused += 1
            continue
        assert f"{text!r}: {found}" == said, options
    assert refused < 120


def test_patterns_mean_the_same_in_json(facts: Facts, tmp_path: Path) -> None:
    for i, (option, pattern, type_, cases) in enumerate(whole.PATTERNS):
        folder = tmp_path / str(i)
        folder.mkdir()
        lines = [json.dumps({"a": text, "k": n}) for n, (text, _) in enumerate(cases)]
        (folder / "0.json").write_text("\n".join(lines))
        schema, options = f"a {type_}, k int", {option: pattern}

        def ask(spark: SparkSession, folder: Path = folder, schema: str = schema, options: Any = options) -> list[str]:
            frame = spark.read.schema(schema).options(**options).json(str(folder))
            return [repr(text) for _, text in sorted(frame.selectExpr("k", "CAST(a AS STRING)").collect())]

        said = facts.said(f"{i}: {type_} with {option}={pattern}", ask)
        for n, line in enumerate(lines):
            lake = lake_of(folder / "one", "json", schema, options)
            lake.add(f"{n}.json", line)
            try:
                column = lake.scan(columns=["a"]).to_arrow().column("a")
            except ScanError:
                continue
            assert repr(shown(column, type_)) == said[n], (line, pattern)


def test_files_that_spark_compresses_are_read(spark: SparkSession, tmp_path: Path) -> None:
    made = spark.range(3).selectExpr("id", "repeat(CAST(id AS STRING), 300000) s")
    expected = {(i, str(i) * 300_000) for i in range(3)}
    for codec in ("gzip", "bzip2"):
        folder = tmp_path / codec
        made.coalesce(1).write.option("compression", codec).csv(str(folder))
        found = open_table(str(folder), header=False, schema="id BIGINT, s STRING").scan().to_arrow()
        assert {(row["id"], row["s"]) for row in found.to_pylist()} == expected, codec


def test_files_of_all_types_are_read_alike(spark: SparkSession, tmp_path: Path) -> None:
    """Random files of regular and odd values, through the scan's Spark and Arrow readers."""
    choice = random.Random(7)
    names = [t for t in TYPED if t != "binary"]
    schema = ", ".join(f"c{i} {t}" for i, t in enumerate(names))
    lake = lake_of(tmp_path, "csv", schema, {"header": True, "nullValue": "NULL"})
    for file in range(3):
        lines = [",".join(f"c{i}" for i in range(len(names)))]
        for _ in range(200):
            cells = [choice.choice([t for t, _ in TYPED[name] if "," not in t] + ["", "NULL", '""']) for name in names]
            lines.append(",".join(cells[: choice.choice([len(cells), len(cells), 3])]))
        lake.add(f"{file} [x].csv", "\n".join(lines) + "\n")
    # Years beyond Python's calendar cannot be collected by either; they are compared as texts elsewhere.
    for row in lake.rows:
        path = tmp_path / str(row["path"])
        path.write_text(
            path.read_text()
            .replace("10000-01-01", "9000-01-01")
            .replace("-0001-01-01", "0003-01-01")
            .replace("0001-01-01", "0003-01-01")
        )
        row["size_bytes"] = path.stat().st_size
    with SparkDriver(spark).setting(
        "spark.sql.legacy.timeParserPolicy", "CORRECTED"
    ):  # Spark 3.5 refuses what it read otherwise once
        found = lake.scan().to_spark(spark).collect()
    expected = sorted((tuple(as_float(plain(v)) for v in row) for row in found), key=repr)
    assert sorted((tuple(as_float(v) for v in row) for row in rows(lake)), key=repr) == expected
    assert len(expected) == 600


def as_float(value: Any) -> Any:
    return float(value) if isinstance(value, float) else value


def test_texts_without_a_zone_are_utc_whatever_the_sessions_zone(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.csv").write_text("ts\n2024-01-01 00:00:00\n")
    schema = pa.schema([("ts", pa.timestamp("us", "UTC"))])
    scan = open_table(str(tmp_path / "t"), header=True, schema=schema).scan("ts = timestamp'2024-01-01 00:00:00Z'")
    with SparkDriver(spark).setting("spark.sql.session.timeZone", "America/New_York"):
        assert scan.to_spark(spark).count() == scan.to_arrow().num_rows == 1
