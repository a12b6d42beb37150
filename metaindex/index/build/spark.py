"""The PySpark builder: files are read, rows sorted, aggregated and written by Spark's tasks; the driver sees one line a
part.

    files -> createDataFrame (Arrow) -> tasks read footers and data (`spark_tasks.ReadTask`) -> rows, kept once
      -> range partition + sort -> tasks write their parts
      -> aggregate by (column, partition) -> sort -> tasks write those parts

Files of texts (CSV, JSON) are read and aggregated by Spark's own readers in the JVM (`spark_text`), whose parse rules
are the truth. Keys are built by the local builder's own code in tasks (`spark_keys`). Works on `local[*]` and on a
cluster that shares the table's and the index's storage; the workers get this project as an archive where it is not
installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import (
    BuildError,
    DamagedIndexError,
    MetaIndexError,
    MissingDependencyError,
    OutsideTableError,
    Progress,
    SparkDriver,
    first_line,
)
from metaindex.index.kinds.described import Level
from metaindex.index.kinds.fact_rows import aggregated_by_spark, partition_values
from metaindex.index.kinds.kind import PlannedKey
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.rows import PART_ROWS
from metaindex.index.store.writer import RunSink

from .collect import FactScan
from .protocol import BuildReport, BuildRequest
from .spark_tasks import FILE, FILE_ROWS, ReadTask, WriteTask, by_task, results, struct
from .spark_text import text_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from metaindex.index.kinds.pieces import MergedPiece, RowMerge
    from metaindex.index.kinds.row_plan import RowPlan

_OURS = {f"{error.__module__}.{error.__qualname__}: ": error for error in (DamagedIndexError, OutsideTableError)}
"""How a Python worker says what is no failure of Spark."""
_STEPS = 3
_ROWS_PER_RANGE = PART_ROWS * 6 // 10  # ranges are estimated from a sample: some come out larger


@dataclass(frozen=True, slots=True)
class SparkBuilder:
    """Builds on a Spark session. `files_per_task`: how many files one task reads. `task_bytes`: what a task that builds
    keys may hold in its Python worker (None: 128 MB; of tables beyond 500 GB a 4,000th of their size, up to 1 GB)."""

    spark: SparkSession
    files_per_task: int = 500
    task_bytes: int | None = None

    name = "spark"

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        """Build facts; see `protocol.Builder`."""
        say = progress or _silent
        with _on_spark(self.spark, request.only_spark):
            source = FactScan.of(request)
            files = self._files(request)
            if source.file_format in ("csv", "json"):
                rows = text_rows(self.spark, request, source, files)
            else:
                rows = files.mapInArrow(ReadTask(request.ref.storage, source).run, struct(FILE_ROWS))
            with SparkDriver.persisted(rows):
                say("statistics computed", 0, _STEPS)
                report = _report(rows)
                say("statistics computed", 1, _STEPS)
                columns = self._write(sink, FACT_ROWS.files, rows, len(request.files) * len(source.leaves))
                say("facts of files written", 2, _STEPS)
                aggregated = self._partitions(request, rows)
                count = request.partitions.num_rows * (len(source.leaves) + len(request.partition_leaves))
                partitions = self._write(sink, FACT_ROWS.partitions, aggregated, count)
                say("facts of partitions written", 3, _STEPS)
        return BuildReport((*columns, *partitions), *report)

    def keys(
        self, request: BuildRequest, plans: Sequence[PlannedKey], sink: RunSink, progress: Progress | None = None
    ) -> BuildReport:
        """Build keys; see `protocol.Builder`."""
        from .spark_keys import KeyJob, held_bytes_for, tasks_for

        with _on_spark(self.spark, request.only_spark):
            files = self._files(request, tasks_for(request, self.files_per_task))
            held = self.task_bytes or held_bytes_for(request)
            return KeyJob(self.spark, request, tuple(plans), sink, held).run(files, progress or _silent)

    def rows(
        self, request: BuildRequest, plans: Sequence[RowPlan], sink: RunSink, progress: Progress | None = None
    ) -> BuildReport:
        """Build rows; see `protocol.Builder`."""
        from .spark_rows import RowJob

        with _on_spark(self.spark, only_spark=True):
            return RowJob(self.spark, request, sink, self.files_per_task).run(plans, progress or _silent)

    def merge_rows(self, merge: RowMerge, progress: Progress | None = None) -> Sequence[MergedPiece]:
        """Merge rows; see `protocol.MergesRows`."""
        from .spark_rows import merge_on_spark

        with _on_spark(self.spark, only_spark=False):  # threads here merge them, too
            return merge_on_spark(self.spark, merge, progress or _silent)

    def _files(self, request: BuildRequest, tasks: int | None = None) -> DataFrame:
        """The files (FILE), spread over as many tasks as they need."""
        ord_of = pa.array(request.partition_ord)
        by_ord = request.partitions.sort_by("partition_ord").column("partition_id").combine_chunks()
        table = pa.Table.from_arrays(
            [
                pa.array(range(len(request.files)), pa.int32()),
                request.files.paths,
                request.files.table.column("size_bytes"),
                ord_of,
                by_ord.take(ord_of),
            ],
            schema=FILE,
        )
        frame = SparkDriver(self.spark).frame(table)
        if tasks is None:
            tasks = max(1, -(-len(request.files) // self.files_per_task))
        # Files of one partition lie side by side and often in size too: dealing them out evens the tasks.
        return frame.coalesce(1) if tasks == 1 else frame.repartition(tasks)

    def _write(self, sink: RunSink, level: Level, rows: DataFrame, count: int) -> tuple[PartInfo, ...]:
        """Sorts the rows over all tasks and has each write its range."""
        schema, order = level.schema, level.order
        ranges = max(1, -(-count // _ROWS_PER_RANGE))
        task = WriteTask(sink, level, ranges)
        rows = rows.select(*schema.names)
        rows = rows.repartitionByRange(ranges, *order) if ranges > 1 else rows.coalesce(1)
        written = results(rows.sortWithinPartitions(*order), by_task(task.run))
        parts = tuple(part for _, some in written for part in some)
        return parts or (sink.write(level.partition, schema.empty_table(), 0, level.columns),)

    def _partitions(self, request: BuildRequest, rows: DataFrame) -> DataFrame:
        """The rows of partitions: the aggregates of the files' rows, and the values of partition columns."""
        out = aggregated_by_spark(rows)
        if request.partition_leaves:
            values = [partition_values(request.partition_column(leaf)) for leaf in request.partition_leaves]
            out = out.unionByName(SparkDriver(self.spark).frame(pa.concat_tables(values)))
        return out


def _report(rows: DataFrame) -> tuple[tuple[tuple[str, str], ...], int, int]:
    """Return the dropped files (the first hundred, with reasons), their number, and how many were scanned."""
    from pyspark.sql import functions as F  # noqa: N812

    once = rows.filter("first")
    left_out, scanned = once.agg(F.count("problem"), F.count_if("scanned")).head()
    if not left_out:
        return (), 0, int(scanned)
    shown = once.filter("problem IS NOT NULL").orderBy("ordinal").select("path", "problem").limit(100).collect()
    return tuple((row["path"], row["problem"]) for row in shown), int(left_out), int(scanned)


def _silent(what: str, done: int, total: int) -> None:
    pass


@contextmanager
def _on_spark(spark: SparkSession, only_spark: bool) -> Iterator[None]:
    """Check the workers, and end jobs with the block. Spark's errors become one line; its own trace stays chained.
    `only_spark`: no other builder can build the index."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from .spark_workers import ship

    if find_spec("pandas") is None:  # Spark asks for it before it gives tasks Arrow
        raise MissingDependencyError.lacking("a build by Spark", "pandas")
    try:
        with SparkDriver.interrupts_first():
            ship(spark, only_spark)
            with SparkDriver(spark).tagged():
                yield
    except MetaIndexError:
        raise
    except (Py4JError, PySparkException) as error:
        line = _one_line(error)
        for said, ours in _OURS.items():
            if line.startswith(said):
                raise ours(line.removeprefix(said)) from error
        elsewhere = "" if only_spark else " or build without Spark"
        raise BuildError(
            f"an index is built whole or not at all; Spark failed: {line[:300]}; "
            f"nothing became visible, try again{elsewhere}"
        ) from error


def _one_line(error: Exception) -> str:
    """The line that says most: a Python worker's last line, else what Spark says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [
        line for line in lines if line.split(":")[0].endswith(("Error", "Exception")) and not line.startswith("at ")
    ]
    chosen = next((line for line in reversed(named) if not line.startswith(("org.apache", "py4j", "Caused"))), None)
    return chosen or first_line(error)
