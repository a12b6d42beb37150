"""A builder of covering indexes without a JVM, for tests of what comes after the build: the project's own tasks, with
its own form of Spark's hash between them. All rows are in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Progress, Vector
from metaindex.index.build.local import LocalBuilder
from metaindex.index.build.protocol import BuildReport, BuildRequest
from metaindex.index.build.row_source import RowSource
from metaindex.index.build.row_tasks import ROW_FILE, Doubts, ReadRows, RowTaskReport, SampledRows, WriteRows
from metaindex.index.build.spark_rows import BuiltRows, built_rows, check_written, doubted, key_build_of
from metaindex.index.build.spark_tasks import unpickled
from metaindex.index.kinds.covering.murmur3 import buckets_of
from metaindex.index.kinds.covering.order import in_spark_order
from metaindex.index.kinds.covering.spark import BUCKET, RANGE
from metaindex.index.kinds.row_plan import RowPlan
from metaindex.index.store.writer import RunSink

RANGE_BYTES = 64 << 20
"""Of a range of a curve, as a plan counts them."""


@dataclass(frozen=True, slots=True)
class ArrowBuilder(LocalBuilder):
    """`ranges`: into how many the rows of a range index are cut. A faulty builder reads, hashes or sorts in another
    way."""

    ranges: int = 3
    source: type[RowSource] = RowSource
    hashes: Callable[[Sequence[pa.Array], int], npt.NDArray[np.int32]] = buckets_of
    sorts: Callable[[pa.Table, list[str]], pa.Table] = in_spark_order

    name = "arrow"

    def rows(
        self, request: BuildRequest, plans: Sequence[RowPlan], sink: RunSink, progress: Progress | None = None
    ) -> BuildReport:
        return key_build_of([self._one(request, plan, sink) for plan in plans], request, sink)

    def _one(self, request: BuildRequest, asked_for: RowPlan, sink: RunSink) -> BuiltRows:
        plan = asked_for.settled(request.earlier, self.ranges * RANGE_BYTES, lambda some: self._all(request, some))
        kinds, source = self.source.of(request, plan)
        files, count = _files(request, kinds), len(request.files)
        why: dict[int, str] = {}
        for attempt in range(2):
            asked = files.filter(pa.array([ordinal not in why for ordinal in range(count)]))
            written = self._write(request, plan, source, asked, sink, attempt)
            early, late = doubted(written)
            for one in np.concatenate([early, late]).tolist():
                told = Doubts(request.ref.storage, source).run(iter(files.slice(one, 1).to_batches()))
                why |= {ordinal: str(said) for ordinal, said in unpickled(pa.Table.from_batches(told).to_pylist())}
            if not len(late):
                break
        check_written(written, np.setdiff1d(asked.column("ordinal").to_numpy(), early))
        parts = [part for one in written for part in one.parts]
        return built_rows(plan, parts, why)

    def _all(self, request: BuildRequest, plan: RowPlan) -> pa.Table:
        """The sample: all rows."""
        kinds, source = self.source.of(request, plan)
        task = SampledRows(request.ref.storage, source, 1 << 20, 1)
        batches = task.run(iter(_files(request, kinds).to_batches()))
        return pa.Table.from_batches(batches, schema=plan.travelling)

    def _write(
        self, request: BuildRequest, plan: RowPlan, source: RowSource, files: pa.Table, sink: RunSink, attempt: int
    ) -> list[RowTaskReport]:
        batches = list(ReadRows(request.ref.storage, source).run(iter(files.to_batches())))
        if not batches:
            return []
        table, keys = pa.Table.from_batches(batches), [f"key{place}" for place in range(len(plan.placement.sorted_by))]
        sorting = plan.placement.sorting(table.select(plan.travelling.names)).select(plan.placement.sorted_by)
        for key, column in zip(keys, sorting.columns, strict=True):
            table = table.append_column(key, column)
        table = self.sorts(table, keys)
        sorting, table = table.select(keys), table.drop_columns(keys)
        if plan.buckets:
            places = self.hashes([Vector(column).array for column in table.columns[: plan.indexed]], plan.buckets)
            table = table.append_column(BUCKET, pa.array(places))
        else:
            names = [repr(row) for row in sorting.to_pylist()]
            cuts = np.array([i > 0 and name != names[i - 1] for i, name in enumerate(names)]).cumsum()
            places = cuts * self.ranges // (int(cuts[-1]) + 1)
        if RANGE in table.column_names:
            places = table.column(RANGE).to_numpy()
        out: list[RowTaskReport] = []
        for place in np.unique(places).tolist():
            some = iter(table.filter(pa.array(places == place)).to_batches(1000))
            found = pa.Table.from_batches(list(WriteRows(sink, plan, 0).run(some, place, attempt)))
            out += [one for _, one in unpickled(found.to_pylist()) if isinstance(one, RowTaskReport)]
        return out


def _files(request: BuildRequest, kinds: npt.NDArray[np.int32]) -> pa.Table:
    """As tasks are told of them: ROW_FILE."""
    table, count = request.files.table, len(request.files)
    modified = table.column("modified_ms") if request.snapshot.format == "files" else pa.nulls(count, pa.int64())
    columns = [pa.array(np.arange(count, dtype=np.int32)), table.column("path"), table.column("size_bytes")]
    columns += [modified, table.column("record_count"), pa.array(kinds)]
    return pa.Table.from_arrays(columns, schema=ROW_FILE)
