"""A scan as a pyarrow Dataset: what DuckDB, Polars, pandas and others query, with columns and filters pushed down.

Each scan of the dataset asks the indexes about its filter, too, and reads only what may match both. Rows are read by
this project's readers (deletes applied, columns as the table's version has them), and the filter is applied to rows in
hand, by pyarrow's own meaning: a dataset of pyarrow's own drops row groups by footers that know nothing of NaN.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as fs

from metaindex.core import ExpressionError, MetaIndexError, ScanError, UnknownColumnError, first_line
from metaindex.expressions import names_read

from .plan import ScanPlan, narrowest
from .recorded_scan import batches

logger = logging.getLogger("metaindex")
Columns: TypeAlias = Sequence[str] | Mapping[str, pc.Expression] | None


class ScanDataset(ds.FileSystemDataset):  # type: ignore[misc]  # pyarrow has no types
    """`to_table`, `to_batches`, `scanner`, `head`, `take`, `count_rows` and `filter` are those of any dataset. What
    pyarrow does with a dataset's files without asking `scanner` (joins, sorting, unions of datasets) is refused: it
    would know nothing of deletes."""

    def __init__(self, scan: ScanPlan, condition: pc.Expression | None = None, engine: str = "dataset") -> None:
        batches(scan)  # what cannot be answered is refused here and not within an engine
        parquet, refusing = ds.ParquetFileFormat(), fs.PyFileSystem(_Refusing())
        super().__init__([parquet.make_fragment("no-file", filesystem=refusing)], scan.schema, parquet, refusing)
        self._scan = scan
        self._condition = condition
        self._engine = engine
        self._asking = threading.Lock()  # engines scan from several threads; a table is asked by one at a time

    def scanner(
        self,
        columns: Columns = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's word
        batch_size: int | None = None,
        **_hints: object,
    ) -> DatasetScanner:
        """The rows that pass the filter, as `columns`: names, or expressions by name. Hints about threads and reading
        ahead change no rows and are not taken."""
        condition = self._and(filter)
        scan = self._scan
        if condition is not None:
            with self._asking:
                scan = scan.narrowed(condition, replace(scan, coded=frozenset()).schema)
        if scan.noted is not None:
            scan.note(self._engine, list(columns) if columns is not None and not isinstance(columns, Mapping) else None)
        return DatasetScanner(scan, self.schema, columns, condition, batch_size)

    def to_table(self, columns: Columns = None, filter: pc.Expression | None = None, **hints: Any) -> pa.Table:  # noqa: A002
        return self.scanner(columns, filter, **hints).to_table()

    def to_batches(
        self,
        columns: Columns = None,
        filter: pc.Expression | None = None,  # noqa: A002
        **hints: Any,
    ) -> Iterator[pa.RecordBatch]:
        return self.scanner(columns, filter, **hints).to_batches()

    def head(self, num_rows: int, columns: Columns = None, **how: Any) -> pa.Table:
        return self.scanner(columns, **how).head(num_rows)

    def take(self, indices: pa.Array | Any, columns: Columns = None, **how: Any) -> pa.Table:
        return self.scanner(columns, **how).take(indices)

    def count_rows(self, filter: pc.Expression | None = None, **hints: Any) -> int:  # noqa: A002
        return self.scanner([], filter, **hints).count_rows()

    def filter(self, expression: pc.Expression) -> ScanDataset:
        return ScanDataset(self._scan, self._and(expression), self._engine)

    @property
    def files(self) -> NoReturn:
        raise ScanError(_FILES)

    def get_fragments(self, filter: pc.Expression | None = None) -> NoReturn:  # noqa: A002
        raise ScanError(_FILES)

    def replace_schema(self, schema: pa.Schema) -> NoReturn:
        raise ScanError(
            "a scan's dataset has the schema of the table's version; a new one was given; cast the columns in the query"
        )

    def __reduce__(self) -> NoReturn:
        raise ScanError(
            "a scan's dataset belongs to the process that opened the table; it was to be pickled; open the table in the"
            " other process"
        )

    def _and(self, condition: pc.Expression | None) -> pc.Expression | None:
        if condition is None or self._condition is None:
            return self._condition if condition is None else condition
        return self._condition & condition


@dataclass(frozen=True, slots=True)
class DatasetScanner:
    """A scanner with the calls of pyarrow's Scanner, returned by `ScanDataset.scanner`. Each call reads anew."""

    scan: ScanPlan
    dataset_schema: pa.Schema
    columns: Columns
    condition: pc.Expression | None
    batch_size: int | None

    @property
    def projected_schema(self) -> pa.Schema:
        if isinstance(self.columns, Mapping):
            return ds.Scanner.from_batches([], schema=self.dataset_schema, columns=self.columns).projected_schema
        names = self.dataset_schema.names if self.columns is None else self.columns
        return pa.schema([self.dataset_schema.field(_known(name, self.dataset_schema)) for name in names])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        schema = self.projected_schema
        test, scan = None, self._wide()
        if self.condition is not None:
            read = names_read(self.condition)
            names = self.dataset_schema.names if read is None else read
            test = _Condition(self.condition, tuple(_known(name, self.dataset_schema) for name in names))
            if scan.first is None:  # else the rows that come first are taken, and of those the ones that pass
                test, scan = None, replace(scan, passing=test)
        for batch in batches(scan):
            passed = batch if test is None else test.matching(batch)
            if not passed.num_rows:
                continue
            if isinstance(self.columns, Mapping):
                shown = (
                    ds.Scanner.from_batches([passed], schema=passed.schema, columns=self.columns)
                    .to_table()
                    .to_batches()
                )
            else:
                shown = [passed.select(schema.names)]
            for batch_ in shown:
                size = self.batch_size or batch_.num_rows
                yield from (batch_.slice(at, size) for at in range(0, batch_.num_rows, size))

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.projected_schema, _bare(self.to_batches()))

    def to_table(self) -> pa.Table:
        return pa.Table.from_batches(self.to_batches(), schema=self.projected_schema)

    def head(self, num_rows: int) -> pa.Table:
        taken, left = [], num_rows
        for batch in self.to_batches() if left > 0 else ():
            taken.append(batch.slice(0, left))
            left -= taken[-1].num_rows
            if not left:
                break
        return pa.Table.from_batches(taken, schema=self.projected_schema)

    def take(self, indices: pa.Array | Any) -> pa.Table:
        return self.to_table().take(indices)

    def count_rows(self) -> int:
        return sum(batch.num_rows for batch in self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def _wide(self) -> ScanPlan:
        """The scan of the columns that the result needs, and a filter behind it; at least one, or rows could not be
        counted."""
        names = self.dataset_schema.names
        expressions = [] if self.condition is None or self.scan.first is None else [self.condition]
        if isinstance(self.columns, Mapping):
            expressions += self.columns.values()
        asked = [set(names if self.columns is None else self.columns), *map(names_read, expressions)]
        needed = [name for name in names if any(some is None or name in some for some in asked)]
        return replace(self.scan, columns=tuple(needed or [narrowest(self.dataset_schema)]))


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition of an engine's, by pyarrow's own meaning."""

    expression: pc.Expression
    columns: Collection[str]

    def matching(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            return batch.filter(self.expression)
        except pa.ArrowException as error:  # of the condition: it would be taken for damage of the file
            raise ExpressionError(
                f"a filter can be computed of every row; pyarrow cannot compute this one ({first_line(error)}); change"
                " it"
            ) from error


def _bare(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches for an engine in C, which prints an error of ours with its whole traceback and those of its causes:
    without them. The log has them at its lowest level."""
    try:
        yield from batches
    except MetaIndexError as error:
        logger.debug("a scan ended with an error", exc_info=True)
        said = error
    else:
        return
    raise said.with_traceback(None) from None


class _Refusing(fs.FileSystemHandler):  # type: ignore[misc]  # pyarrow has no types
    """The file system of the one file that pyarrow takes for a scan's dataset; it refuses all that goes past
    `scanner`."""

    def _refuse(self, *_: object) -> NoReturn:
        raise ScanError(_FILES)

    copy_file = create_dir = delete_dir = delete_dir_contents = delete_file = delete_root_dir_contents = _refuse
    get_file_info = get_file_info_selector = move = _refuse
    open_append_stream = open_input_file = open_input_stream = open_output_stream = _refuse

    def get_type_name(self) -> str:
        return "metaindex"

    def normalize_path(self, path: str) -> str:
        return path


_FILES = (
    "a scan's dataset gives rows by scanner, to_table and to_batches, with deletes applied; its files were to be read"
    " without them; join, sort and write what .to_reader() or .to_table() gives, or take the files themselves from"
    " table.prune(...).paths"
)


def _known(name: str, schema: pa.Schema) -> str:
    if name not in schema.names:
        raise UnknownColumnError(
            f"a dataset's columns are named as they stand; there is no {name!r}; it has {', '.join(schema.names[:20])}"
        )
    return name
