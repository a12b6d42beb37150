"""Stored statistics of one column."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions import physical_type
from metaindex.index.keys import partition_id
from metaindex.index.kinds.facts import domain_of
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.store.kway import groups_holding
from metaindex.index.store.reader import RunReader

from .rows import STORED_AS
from .schemas import COLUMN_STATS


def of_column(run: RunReader, column: CoveredColumn, partition: str | None) -> pa.Table:
    """The rows of a column in every file (of one partition, by its text), by ordinal, with the bounds of its domain."""
    type_ = column.type
    suffix = STORED_AS[domain_of(type_)] if type_ is not None and physical_type(type_) is not None else "bytes"
    names = [n for n in COLUMN_STATS.names if not n.startswith(("lower_", "upper_")) or n.endswith(("exact", suffix))]
    tables = [pa.schema([COLUMN_STATS.field(n) for n in names]).empty_table()]
    wanted = {"column_id": column.column_id} | ({} if partition is None else {"partition_id": partition_id(partition)})
    for part in run.parts("column_stats"):
        footer = run.footer(part)
        held = [set(groups_holding(footer, name, [key])) for name, key in wanted.items()]
        groups = sorted(set.intersection(*held))
        if groups:
            tables.append(run.read(part, groups, names))
    table = pa.concat_tables(tables[1:] or tables)
    for name, key in wanted.items():
        table = table.filter(pc.equal(table.column(name), key))
    return table.sort_by("ordinal").rename_columns([n.removesuffix(f"_{suffix}") for n in names])
