"""The live rows of an index as plain Delta tables, for tools that know nothing of indexes: BI, notebooks, Trino.

    <target>/files         one row for each live file that the index covers
    <target>/column_stats  one row for each of them and each covered column, with their names; of partition columns, their value
    <target>/<...>/_delta_log/00000000000000000000.json   of one commit; parts are Parquet

What is read of the index is checked as for a query. An export is a copy of one moment: it goes into a folder where no table is, and a later one into another.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from expressions.errors import ArgumentError, ObjectExistsError
from expressions.physical import from_physical, physical_type
from expressions.records import dataclass
from expressions.statistics import Mask
from expressions.vectors import numbers
from formats.storage import Storage
from metaindex.log.entry import CoveredColumn, RunRef
from metaindex.log.types import type_from_text
from metaindex.pruning.open_index import OpenIndex
from metaindex.store.layout import PartInfo

_SUFFIX = {"int64": "int", "double": "double", "binary": "bytes"}
_STATES = pa.array(["unknown", "all null", "values"])

FILES = pa.schema(
    [
        ("path", pa.string()),
        ("partition", pa.string()),
        ("size_bytes", pa.int64()),
        ("modified_ms", pa.int64()),
        ("record_count", pa.int64()),
        ("run", pa.string()),
    ]
)
COLUMN_STATS = pa.schema(
    [
        ("path", pa.string()),
        ("partition", pa.string()),
        ("column", pa.string()),
        ("type", pa.string()),
        ("state", pa.string()),
        ("lower", pa.string()),
        ("upper", pa.string()),
        ("lower_exact", pa.bool_()),
        ("upper_exact", pa.bool_()),
        ("null_count", pa.int64()),
        ("nan_count", pa.int64()),
        ("value_count", pa.int64()),
        ("compressed_bytes", pa.int64()),
        ("run", pa.string()),
    ]
)
_DELTA = {pa.string(): "string", pa.int64(): "long", pa.bool_(): "boolean"}
_COUNTS = ["lower_exact", "upper_exact", "null_count", "nan_count", "value_count", "compressed_bytes"]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: rows by table, and the version of the indexed table whose live files they are (None: none is recorded, and all files of the runs are there)."""

    target: str
    rows: dict[str, int]
    version: str | None

    def __str__(self) -> str:
        said = ", ".join(f"{name} ({count:,} rows)" for name, count in self.rows.items())
        return f"exported to {self.target}: {said}" + (f", as of version {self.version}" if self.version else "")


def export(index: OpenIndex, target: Storage) -> Exported:
    """Writes the tables. ArgumentError where one is there already; DamagedIndexError where the index is."""
    newest = index.versions.newest()
    found = index.versions.resolve(newest.version) if newest is not None else None

    def live(run: RunRef) -> Mask:
        return np.ones(run.files, np.bool_) if found is None else found.live.mask(run)

    rows = {
        "files": _write(target, "files", FILES, _files(index, live)),
        "column_stats": _write(target, "column_stats", COLUMN_STATS, _column_stats(index, live)),
    }
    return Exported(target.root, rows, None if newest is None else newest.version.id)


def _files(index: OpenIndex, live: object) -> Iterator[pa.Table]:
    for run in index.entry.content.runs:
        if not run.listed_only:
            yield _files_of(index, run).filter(pa.array(live(run))).select(FILES.names)  # type: ignore[operator]


def _files_of(index: OpenIndex, run: RunRef) -> pa.Table:
    names = ["path", "partition", "size_bytes", "modified_ms", "record_count", "partition_ord"]
    table = index.rows(run, "files", np.arange(run.files), names)
    return table.append_column("run", pa.array([run.run] * run.files, pa.string()))


def _column_stats(index: OpenIndex, live: object) -> Iterator[pa.Table]:
    for run in index.entry.content.runs:
        if run.listed_only:
            continue
        files, mask = _files_of(index, run), live(run)  # type: ignore[operator]
        columns = {c.column_id: c for c in run.columns}
        reader = index.reader(run)
        for part in reader.parts("column_stats"):
            for table in _groups(index, run, part):
                yield from _by_column(table, table.column("ordinal"), files, mask, columns, run)
        first = np.cumsum(np.bincount(numbers(files.column("partition_ord")), minlength=run.partitions))
        for part in reader.parts("partition_stats"):
            for table in _groups(index, run, part):
                ords, ids = numbers(table.column("partition_ord")), numbers(table.column("column_id"))
                mine = [row for row, number in enumerate(ids) if columns[int(number)].partition]
                start = np.concatenate(([0], first))
                rows = [(row, file) for row in mine for file in range(start[ords[row]], start[ords[row] + 1])]
                if rows:
                    taken = table.take([row for row, _ in rows])
                    ordinals = pa.chunked_array([pa.array([file for _, file in rows], pa.int32())])
                    yield from _by_column(taken, ordinals, files, mask, columns, run)


def _groups(index: OpenIndex, run: RunRef, part: PartInfo) -> Iterator[pa.Table]:
    reader = index.reader(run)
    footer = reader.footer(part)
    for group in range(len(footer.rows)):
        yield reader.read(part, [group], list(footer.columns), keep=False)


def _by_column(
    table: pa.Table,
    ordinals: pa.ChunkedArray,
    files: pa.Table,
    live: Mask,
    columns: dict[int, CoveredColumn],
    run: RunRef,
) -> Iterator[pa.Table]:
    """Rows of statistics with the names of what they are of, column by column."""
    ids, kept = numbers(table.column("column_id")), live[numbers(ordinals)]
    for number in np.unique(ids):
        at = np.flatnonzero((ids == number) & kept)
        if not len(at):
            continue
        column, some = columns[int(number)], table.take(at)
        of = files.take(ordinals.take(at))
        texts = {end: _texts(some, end, column.type_text) for end in ("lower", "upper")}
        states = _STATES.take(some.column("state").combine_chunks().cast(pa.int32()))
        held = {
            "path": of.column("path"),
            "partition": of.column("partition"),
            "column": pa.array([column.name] * len(at), pa.string()),
            "type": pa.array([column.type_text] * len(at), pa.string()),
            "state": states,
            **texts,
            **{name: some.column(name) for name in _COUNTS},
            "run": of.column("run"),
        }
        yield pa.table([held[name] for name in COLUMN_STATS.names], schema=COLUMN_STATS)


def _texts(table: pa.Table, end: str, type_text: str) -> pa.Array:
    """Bounds as people read them."""
    t = type_from_text(type_text)
    domain = physical_type(t) if t is not None else None
    if t is None or domain is None:
        return pa.nulls(table.num_rows, pa.string())
    values = table.column(f"{end}_{_SUFFIX[str(domain)]}").to_pylist()
    shown = [from_physical(value, t) for value in values]
    return pa.array([None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in shown], pa.string())


def _write(target: Storage, name: str, schema: pa.Schema, tables: Iterator[pa.Table]) -> int:
    """One part and one commit. The log is put last: without it nothing is a table."""
    out, rows = pa.BufferOutputStream(), 0
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)
            rows += table.num_rows
    data, part = out.getvalue().to_pybytes(), f"part-00000-{uuid.uuid4()}-c000.zstd.parquet"
    target.put(f"{name}/{part}", data)
    now = time.time_ns() // 10**6
    fields = [{"name": f.name, "type": _DELTA[f.type], "nullable": True, "metadata": {}} for f in schema]
    actions: list[dict[str, object]] = [
        {"commitInfo": {"timestamp": now, "operation": "CREATE TABLE AS SELECT", "engineInfo": "metaindex"}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": str(uuid.uuid4()),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [],
                "configuration": {},
                "createdTime": now,
            }
        },
        {
            "add": {
                "path": part,
                "partitionValues": {},
                "size": len(data),
                "modificationTime": now,
                "dataChange": True,
                "stats": json.dumps({"numRecords": rows}),
            }
        },
    ]
    try:
        log = "".join(json.dumps(one) + "\n" for one in actions).encode()
        target.put_if_absent(f"{name}/_delta_log/{0:020d}.json", log)
    except ObjectExistsError as error:
        target.delete(f"{name}/{part}")
        raise ArgumentError(
            f"an export goes into a folder where no table is; {target.uri(name)} has one; remove it or name another folder"
        ) from error
    return rows
