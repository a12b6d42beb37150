"""What a covering index holds, read by pyarrow from its parts and checked: the rows of every run, and those that it
serves at a version."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
from metaindex.core import SparkDriver
from metaindex.index.kinds.covering.layout import RowLayout
from metaindex.index.kinds.covering.parts import bucket_of, stored_parts
from metaindex.index.kinds.served import ORDINAL, ROW
from metaindex.index.log.entry import CoveredKey, RunRef
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.cache import StoreCache
from metaindex.table import handle_of

Rows = Counter[str]


def shown(rows: list[dict[str, Any]]) -> Rows:
    """Rows as texts: NaN is NaN, -0.0 is not 0.0, and the names of columns do not count."""
    return Counter(repr(list(row.values())) for row in rows)


def of_frame(frame: DataFrame) -> Rows:
    """What Spark shows."""
    return shown(SparkDriver.arrow_of(frame).to_pylist())


@dataclass
class Held:
    """An index as it is now."""

    table: mi.Table
    index: OpenIndex

    @classmethod
    def of(cls, table: mi.Table, name: str) -> "Held":
        entry = handle_of(table).indexes().log(name).latest()
        return cls(table, OpenIndex(name, entry, handle_of(table).indexes().log(name).storage, StoreCache()))

    @property
    def runs(self) -> tuple[RunRef, ...]:
        return self.index.entry.content.runs

    def keys(self, run: RunRef) -> list[CoveredKey]:
        return [key for key in run.keys if key.kind == "covering"]

    def key(self, place: int = 0) -> CoveredKey:
        return self.keys(self.runs[0])[place]

    def stored(self, run: RunRef, key_id: int) -> pa.Table:
        """All rows of a key in a run, with lineage, as the parts have them."""
        key = next(one for one in self.keys(run) if one.key_id == key_id)
        layout = RowLayout.of(key)
        tables = [layout.stored.append(pa.field(ORDINAL, pa.int32())).append(pa.field(ROW, pa.int64())).empty_table()]
        for part in stored_parts(self.index.reader(run), key):
            data = self.index.storage.read(part.path)
            file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
            assert file.schema_arrow.names == tables[0].schema.names
            tables.append(file.read().cast(tables[0].schema))
        sizes = {name.removeprefix("bytes:"): size for name, size in key.layout.items() if name.startswith("bytes:")}
        assert not sizes or list(sizes) == tables[0].schema.names
        return pa.concat_tables(tables)

    def physical(self, place: int = 0) -> Rows:
        """The rows of all runs, without lineage."""
        found: Rows = Counter()
        for run in self.runs:
            rows = self.stored(run, self.key(place).key_id)
            found += shown(rows.drop_columns([ORDINAL, ROW]).to_pylist())
        return found

    def served(self, version: str | None = None, place: int = 0) -> tuple[Rows, int]:
        """The rows of the files that it serves at a version, less those that are deleted then; and how many files of
        the version it does not serve."""
        snapshot = self.table.snapshot(version=version)
        found = self.index.versions.find(snapshot.version)
        assert found is not None, "the version is recorded"
        row_of = {path: row for row, path in enumerate(snapshot.files.paths.to_pylist())}
        out: Rows = Counter()
        left = len(snapshot.files)
        for run in self.runs:
            if run.run not in found.live.dead or not self.keys(run):
                continue
            key = next(one for one in self.keys(run) if one.key_id == self.key(place).key_id)
            live = found.live.mask(run) & ~self.index.unkeyed_files(run, key)
            files = self.index.rows(run, "files", np.arange(run.files), ["path"]).column("path").to_pylist()
            rows = self.stored(run, key.key_id)
            for ordinal in np.flatnonzero(live).tolist():
                left -= 1
                mine = rows.filter(pc.equal(rows.column(ORDINAL), ordinal))
                row = row_of[files[ordinal]]
                if snapshot.files.table.column("deletes")[row].is_valid:
                    deletes = snapshot.details.deletes(row)
                    assert not deletes.equality
                    gone = pa.array(list(deletes.positions), pa.int64())
                    mine = mine.filter(pc.invert(pc.is_in(mine.column(ROW), value_set=gone)))
                out += shown(mine.drop_columns([ORDINAL, ROW]).to_pylist())
        return out, left

    def check_buckets(self, spark: SparkSession) -> None:
        """Every row is in the bucket that Spark says, and Spark's reader of Parquet finds in the parts what pyarrow
        finds."""
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.types import StructType

        for run in self.runs:
            for key in self.keys(run):
                layout = RowLayout.of(key)
                parts = stored_parts(self.index.reader(run), key)
                if not parts:
                    continue
                paths = [self.index.storage.uri(part.path) for part in parts]
                frame = spark.read.schema(StructType.fromJson(json.loads(layout.schema_json))).parquet(*paths)
                assert of_frame(frame) == shown(self.stored(run, key.key_id).drop_columns([ORDINAL, ROW]).to_pylist())
                if not layout.buckets:
                    continue
                indexed = [F.col(f"`{name}`") for name in layout.stored.names[: layout.indexed]]
                hashed = frame.select(
                    F.col("_metadata.file_name").alias("name"),
                    F.pmod(F.hash(*indexed), F.lit(layout.buckets)).alias("b"),
                )
                for row in hashed.distinct().collect():
                    assert bucket_of(row["name"]) == row["b"]

    def check(self, spark: SparkSession) -> None:
        """Buckets, order, lineage and values."""
        self.check_buckets(spark)
        report = self.table.verify_index(self.index.name, files=None, versions="all")
        assert report.sound, str(report)


def objects(index: OpenIndex) -> set[str]:
    """Everything of its covering partition that is on storage."""
    return {info.path for info in index.storage.list("covering")}


def index_folder(table: mi.Table, name: str) -> Path:
    return Path(handle_of(table).indexes().log(name).storage.root)
