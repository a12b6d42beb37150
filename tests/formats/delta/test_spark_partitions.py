"""Partition texts that no writer writes, and what Spark shows of them."""

import datetime as dt
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from metaindex.core import FormatError, SparkDriver
from metaindex.formats.delta.schema import _PRIMITIVES
from tests.each_spark import needs
from tests.facts import Facts
from tests.formats.delta.hand import add, column, commit, leaf, metadata, protocol, remove, snapshot
from tests.formats.delta.test_casts import CASTS

NULL = "NULL"
_MORE = [
    (pa.float64(), ["NaN", "nan", "-0.0", "+NaN", "-nan", "0x.8p1f", "1e-400", "Infinityf"]),
    (pa.int32(), ["1.x", "--1", "1 2"]),
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A partition column of every type; file n holds row n, and the n-th text of every column."""
    names = {t: name for name, t in _PRIMITIVES.items()} | {  # the protocol's names, which come last there
        pa.decimal128(5, 2): "decimal(5,2)"
    }
    texts = {f"p{at}": (names[t], list(said)) for at, (t, said) in enumerate([*CASTS, *_MORE])}
    adds = []
    for n in range(max(len(said) for _, said in texts.values())):
        pq.write_table(pa.table({"id": pa.array([n], pa.int64())}), tmp_path / f"{n}.parquet")
        values = {name: said[n] if n < len(said) else None for name, (_, said) in texts.items()}
        adds.append(add(f"{n}.parquet", size=(tmp_path / f"{n}.parquet").stat().st_size, partitionValues=values))
    fields = [column("id"), *(column(name, type_) for name, (type_, _) in texts.items())]
    commit(tmp_path, 0, protocol(3, ["timestampNtz"]), metadata(*fields, partitions=list(texts)), *adds)
    return tmp_path


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_partition_texts_are_shown_as_spark_shows_them(facts: Facts, table: Path, zone: str) -> None:
    found = snapshot(table)
    paths = found.files.paths.to_pylist()
    order = pa.array([paths.index(f"{n}.parquet") for n in range(len(paths))])

    today = [str(dt.datetime.now(dt.UTC).date() + dt.timedelta(days)) for days in (-1, 0, 1)]

    def ask(spark: SparkSession) -> list[str]:
        with SparkDriver(spark).setting("spark.sql.session.timeZone", zone):
            theirs = SparkDriver.arrow_of(spark.read.format("delta").load(str(table))).sort_by("id")
        return [
            f"{name}[{n}]: {text}"
            for name in found.partition_columns
            for n, text in enumerate(texts(theirs.column(name).combine_chunks().cast(leaf(found, name).type)))
            if text != NULL and text[:10] not in today  # a clock alone is shown at the day of the query
        ]

    said = dict(line.split(": ", 1) for line in facts.said(f"in {zone}", ask))
    for name in found.partition_columns:
        shown = found.details.known_partition_values(leaf(found, name), zone)
        values, known = shown[0].take(order), pa.array(shown[1]).take(order).to_pylist()
        ours = {f"{name}[{n}]": text for n, text in enumerate(texts(values)) if known[n]}
        assert ours == {place: said.get(place, NULL) for place in ours}
        assert known.count(False) <= 2  # a time of today; a moment beyond the calendar, in a zone by name


def texts(values: pa.Array) -> list[str]:
    """Of each value, also of those that Python's calendar lacks."""
    held = zip(values.is_valid().to_pylist(), values.to_numpy(zero_copy_only=False), strict=True)
    return [NULL if not valid else repr(one) if isinstance(one, str | bytes) else str(one) for valid, one in held]


def odd_logs(root: Path) -> dict[str, Path]:
    """Logs of one file that no writer of today would write; some other one may have."""
    pq.write_table(pa.table({"id": pa.array([7], pa.int64())}), root / "f.parquet")
    size = (root / "f.parquet").stat().st_size
    plain, made = add("f.parquet", size=size), {}

    def log(name: str, *actions: Any) -> None:
        made[name] = root / name
        made[name].mkdir()
        (made[name] / "f.parquet").write_bytes((root / "f.parquet").read_bytes())
        commit(made[name], 0, *actions)

    def changed(action: dict[str, Any], **values: Any) -> dict[str, Any]:
        ((kind, body),) = action.items()
        return {kind: {**body, **values}}

    head = [protocol(), metadata()]
    log("metadata twice", *head, metadata(table_id="two"), plain)
    log("metadata again", *head, metadata(), plain)
    log("protocol twice", protocol(2), *head, plain)
    log("added twice", *head, plain, plain)
    log("added twice, other sizes", *head, plain, changed(plain, size=size + 1))
    log("added and removed", *head, plain, remove("f.parquet"))
    log("removed and added", *head, remove("f.parquet"), plain)
    log("size is a float", *head, changed(plain, size=float(size)))
    log("size is a text", *head, changed(plain, size=str(size)))
    log("size is absent", *head, changed(plain, size=None))
    log("time is a float", *head, changed(plain, modificationTime=1.6e12))
    log("time is a text", *head, changed(plain, modificationTime="x"))
    log("no partition values", *head, changed(plain, partitionValues=None))
    log("statistics are an object", *head, changed(plain, stats={"numRecords": 1}))
    log("statistics are nothing", *head, changed(plain, stats="garbage"))
    log(
        "configuration is no text",
        protocol(),
        changed(metadata(), configuration={"delta.appendOnly": False, "x": 5}),
        plain,
    )
    log(
        "no configuration",
        protocol(),
        changed(metadata(), configuration=None, partitionColumns=None, format=None),
        plain,
    )
    log(
        "reader features without need",
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2, "readerFeatures": ["what"]}},
        metadata(),
        plain,
    )
    log("no reader features", {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}}, metadata(), plain)
    log(
        "mapping by a strange mode", protocol(2), metadata(configuration={"delta.columnMapping.mode": "strange"}), plain
    )
    fields = [
        column(name, type_) for name, type_ in (("id", "long"), ("p", "integer"), ("q", "boolean"), ("r", "double"))
    ]
    log(
        "partition values are no texts",
        protocol(),
        metadata(*fields, partitions=["p", "q", "r"]),
        changed(plain, partitionValues={"p": 5, "q": True, "r": 1.5}),
    )
    log(
        "partition value is an object",
        protocol(),
        metadata(*fields, partitions=["p", "q", "r"]),
        changed(plain, partitionValues={"p": {}, "q": None, "r": None}),
    )
    return made


REFUSED_HERE = {"size is absent"}  # Spark leaves the file out


@needs("delta")
def test_what_spark_reads_of_odd_logs_is_read_as_spark_reads_it(facts: Facts, tmp_path: Path) -> None:
    import metaindex as mi

    def ask(spark: SparkSession, path: Path) -> list[str]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            return list(map(repr, SparkDriver.arrow_of(spark.read.format("delta").load(str(path))).to_pylist()))
        except (PySparkException, Py4JError) as error:
            return ["refused by " + type(error).__name__]

    differing = {}
    for name, path in odd_logs(tmp_path).items():
        theirs = facts.said(name, partial(ask, path=path))
        try:
            ours = list(map(repr, mi.open_table(str(path)).scan().to_arrow().to_pylist()))
        except FormatError as error:
            ours = [type(error).__name__]
        if not "".join(theirs).startswith("refused by") and ours != theirs and name not in REFUSED_HERE:
            differing[name] = (ours, theirs)
    assert not differing
