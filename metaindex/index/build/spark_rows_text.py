"""Rows of CSV and JSON files, to be read in the table's place: Spark's own reader is the truth of what they say, with
the snapshot's schema and options.

Files have no row numbers and no deletes. A file with a record that Spark could not parse is in doubt: what it shows of
such a record may depend on the columns that a query asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import BuildError, SparkDriver, first_line
from metaindex.expressions import column_sql
from metaindex.formats import Schema, TextReader
from metaindex.index.kinds.row_plan import RowPlan
from metaindex.index.kinds.served import NO_ROW, ORDINAL, ROW

from .collect import UNREADABLE, FactScan
from .protocol import BuildRequest
from .row_source import CommonValues
from .row_tasks import LATE_DOUBT, SAMPLE_ROWS, Ordinals
from .spark_tasks import FILE, struct
from .spark_text import CORRUPT, KEYED, CheckTask, text_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PATH, _NAMED = "_mi_path", "_mi_named"
_SAMPLE_FILES = 64
_LEAST_ROW_BYTES, _MOST_ROWS = 32, 4
"""By which a share of the rows is taken where nobody knows how many there are; and how many more there may be."""
_LOOKED_AT = 8 << 20
"""Bytes of a file that our reader looks at for the reason why Spark takes none of its rows."""


@dataclass(frozen=True)
class TextRows:
    """Rows of text files; see `spark_rows.RowsToStore`."""

    spark: SparkSession
    request: BuildRequest
    plan: RowPlan
    source: FactScan
    common: pa.Table  # by ordinal: the values of partition columns, p<place>
    known: Mapping[int, str]
    tallied: bool = False

    @classmethod
    def of(cls, spark: SparkSession, request: BuildRequest, plan: RowPlan) -> TextRows:
        source = FactScan.of(request)
        mode = next((str(value) for name, value in source.options if name.lower() == "mode"), "PERMISSIVE")
        if mode.upper() != "PERMISSIVE":
            raise BuildError(
                f"a covering index of texts is read in the mode PERMISSIVE; the table's is {mode}, by which the rows"
                " depend on the columns of a query; build another kind"
            )
        kinds, common = CommonValues.of(request, plan)
        columns, unknown = {}, np.zeros(len(request.files), np.bool_)
        for place, (values, given) in common.values.items():
            columns[f"p{place}"] = values.take(pa.array(kinds)).cast(plan.stored.field(place).type)
            unknown |= ~given.to_numpy(zero_copy_only=False)[kinds]
        known = dict.fromkeys(np.flatnonzero(unknown).tolist(), "the value of a partition column is not known")
        known |= _problems(spark, request)
        return cls(spark, request, plan, source, pa.table(columns), known)

    def frame(self, ordinals: Ordinals) -> DataFrame:
        """Return the rows (`spark_rows.RowsToStore`). A row of another file has no ordinal, which fails the build."""
        plan, rows = self.plan, self._rows(ordinals)
        if plan.travels == plan.travelling:
            return rows

        def placed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from (plan.placed(batch.cast(plan.travelling)) for batch in batches)

        return rows.mapInArrow(placed, struct(plan.travels))

    def _rows(self, ordinals: Ordinals) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

        storage, paths = self.request.ref.storage, self.request.files.paths.take(pa.array(ordinals)).to_pylist()
        uris = [storage.uri(path) for path in paths]
        frame = text_frame(self.spark, self.source, uris, self.source.fields)
        columns = []
        for place, leaf in enumerate(self.plan.columns):
            column = F.col(f"p{place}" if leaf.path[0].partition else column_sql(leaf.parts))
            columns.append(column.alias(f"c{place}"))
        row = F.when(F.col(CORRUPT).isNotNull(), LATE_DOUBT).otherwise(NO_ROW).cast("bigint").alias(ROW)
        named = F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "file:/")
        files = F.broadcast(self._named(frame, ordinals))
        frame = frame.withColumn(_NAMED, named)  # Spark 4.0 joins by no column that is of a file and not of its rows
        joined = frame.join(files, F.col(_NAMED) == F.col(_PATH), "left").select(*columns, ORDINAL, row)
        return joined.select(*self.plan.travelling.names)

    def sample(self, ordinals: Ordinals) -> pa.Table:
        """Sample rows; see `spark_rows.RowsToStore`."""
        schema = self.plan.travelling
        some = ordinals[np.linspace(0, len(ordinals) - 1, min(len(ordinals), _SAMPLE_FILES)).astype(np.int64)]
        size = int(pc.sum(self.request.files.table.column("size_bytes").take(pa.array(some))).as_py() or 0)
        share = min(1.0, SAMPLE_ROWS * _LEAST_ROW_BYTES / max(1, size))
        rows = self._rows(np.unique(some)).sample(share, seed=0).limit(_MOST_ROWS * SAMPLE_ROWS)
        return SparkDriver.arrow_of(rows).rename_columns(schema.names).cast(schema)

    def doubts(self, ordinals: Ordinals) -> dict[int, str]:
        """Return reasons for doubt (`spark_rows.RowsToStore`), the first file's with details if our reader has any."""
        why = dict.fromkeys(sorted(ordinals.tolist()), "it has records that Spark does not parse")
        for first in [*why][:1]:
            if said := self._said_of(self.request.files.paths[first].as_py()):
                why[first] += f": {said}"
        return why

    def _said_of(self, path: str) -> str:
        """Why our own reader takes no certain row from the beginning of the file; "" where it does."""
        fields, options = self.source.fields, dict(self.source.options)
        try:
            reader = TextReader(self.source.file_format, options, Schema(fields))
            if not reader.whole:  # of one text a beginning says nothing
                reader.try_beginning(self.request.ref.storage, path, fields, _LOOKED_AT)
        except UNREADABLE as error:
            return first_line(error)
        return ""

    def _named(self, frame: DataFrame, ordinals: Ordinals) -> DataFrame:
        """The ordinal and the common values of each file, by the path that Spark shows of it."""
        from .spark_text import our_key, spark_key

        storage, paths = self.request.ref.storage, self.request.files.paths
        ordinal_of = {our_key(storage.uri(paths[at].as_py())): at for at in ordinals.tolist()}
        shown = [re.sub("^file:/+", "file:/", uri) for uri in frame.inputFiles()]
        ordinals_shown = [ordinal_of.get(spark_key(uri)) for uri in shown]
        if None in ordinals_shown or len(set(ordinals_shown)) < len(ordinal_of):
            raise BuildError(
                f"Spark reads the files of the snapshot; it lists {len(shown):,} of {len(ordinal_of):,}, or others; try"
                " again"
            )
        numbers = pa.array(ordinals_shown, pa.int32())
        names = [_PATH, ORDINAL, *self.common.column_names]
        common = [column.combine_chunks().take(numbers) for column in self.common.columns]
        return SparkDriver(self.spark).frame(
            pa.Table.from_arrays([pa.array(shown, pa.string()), numbers, *common], names=names)
        )


def _problems(spark: SparkSession, request: BuildRequest) -> dict[int, str]:
    """Return files that differ from the snapshot, or that Spark ignores."""
    count = len(request.files)
    zeros = [pa.repeat(pa.scalar(0, field.type), count) for field in list(FILE)[3:]]
    files = pa.Table.from_arrays(
        [pa.array(range(count), pa.int32()), *(request.files.table.column(n) for n in ("path", "size_bytes")), *zeros],
        schema=FILE,
    )
    check = CheckTask(request.ref.storage)
    unreadable = SparkDriver(spark).frame(files).mapInArrow(check.run, struct(KEYED)).filter("problem IS NOT NULL")
    return {row["ordinal"]: row["problem"] for row in unreadable.select("ordinal", "problem").collect()}
