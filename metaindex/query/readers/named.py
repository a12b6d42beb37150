"""Files as an index lists them, in place of the table's own snapshot: enough to read them if readers need no more.

The table's log then need not be replayed for the three files that hold a value. Who needs more of the table (Spark, or
a file whose rows are deleted in part) loads its snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from metaindex.formats import Field, Format, Snapshot, TableRef
from metaindex.index import OpenIndex
from metaindex.query.pruning.result import PruneResult


def snapshot_of_kept(
    result: PruneResult, indexes: Iterable[OpenIndex], table_format: Format, ref: TableRef
) -> Snapshot | None:
    """The kept files of an answer that was given without the table's snapshot, as a snapshot of just them; None where
    more has to be known of them to read them: deletes, values of partitions, defaults that the recorded schema does not
    tell, how texts are read."""
    if result.files.table.column("deletes").null_count < len(result.files):
        return None
    if any(field.partition or not field.default_known for field in _fields(result.schema.fields)):
        return None
    recorded = next((i for i in indexes if i.versions.find(result.version) is not None), None)
    recorded_ = recorded.versions.find(result.version) if recorded is not None else None
    if recorded is None or recorded_ is None or recorded.entry.table.options.get("file_format") != "parquet":
        return None
    options: Mapping[str, object] = table_format.read_options(ref) or {"file_format": "parquet"}
    parquet = table_format.one_file_format or all(path.endswith(".parquet") for path in result.files.paths.to_pylist())
    if not parquet:
        return None  # a file may be of another format: the log tells
    when = recorded_.record.timestamp_ms
    return Snapshot.plain(result.table, result.format, result.version, when, result.schema, result.files, options)


def _fields(fields: Iterable[Field]) -> Iterable[Field]:
    for field in fields:
        yield field
        yield from _fields(field.children)
