"""pyiceberg with indexes that follow: the methods of its tables that commit, and `after_commit` behind them.

from metaindex.hooks import pyiceberg as hooked

hooked.append(table, rows)
with hooked.transaction(table) as tx:      # one refresh for all of it
    tx.append(rows)
    tx.delete("year = 2020")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metaindex.index import Written

from .after_commit import Mode, after_commit


def append(table: Any, df: Any, *args: Any, hook: Mode = "background", **options: Any) -> None:
    """`table.append`, and the indexes follow. In which float columns of an Arrow table there is no NaN is seen in
    memory: a refresh need not read them for that."""
    with table.transaction() as tx:  # as `table.append` does
        before = tx.table_metadata.current_snapshot_id
        tx.append(df, *args, **options)
        made = tx.table_metadata.current_snapshot()
    after_commit(table, mode=hook, written=_written(before, made, df))


def overwrite(table: Any, df: Any, *args: Any, hook: Mode = "background", **options: Any) -> None:
    """`table.overwrite`, and the indexes follow."""
    table.overwrite(df, *args, **options)
    after_commit(table, mode=hook)


def delete(table: Any, *args: Any, hook: Mode = "background", **options: Any) -> None:
    """`table.delete`, and the indexes follow."""
    table.delete(*args, **options)
    after_commit(table, mode=hook)


def upsert(table: Any, df: Any, *args: Any, hook: Mode = "background", **options: Any) -> Any:
    """`table.upsert`, and the indexes follow. Returns what it returns."""
    done = table.upsert(df, *args, **options)
    after_commit(table, mode=hook)
    return done


def add_files(table: Any, file_paths: list[str], *args: Any, hook: Mode = "background", **options: Any) -> None:
    """`table.add_files`, and the indexes follow."""
    table.add_files(file_paths, *args, **options)
    after_commit(table, mode=hook)


@contextmanager
def transaction(table: Any, *, hook: Mode = "background") -> Iterator[Any]:
    """`table.transaction()`; the indexes follow once it is committed."""
    with table.transaction() as tx:
        yield tx
    after_commit(table, mode=hook)


def _written(before: int | None, made: Any, df: Any) -> Written | None:
    """Return the commit, if all its rows are in memory and it is one snapshot more. This writer gave `made` its id:
    nobody else's has it."""
    import pyarrow as pa

    if not isinstance(df, pa.Table) or before is None or made is None or made.parent_snapshot_id != before:
        return None
    return Written.of(str(before), str(made.snapshot_id), df)
