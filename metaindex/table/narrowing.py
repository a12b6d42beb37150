"""Conditions for MERGE, UPDATE and DELETE by key."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metaindex.core import ArgumentError
from metaindex.query import Narrowed

from .face import Table, handle_of
from .opening import open_table

if TYPE_CHECKING:
    from metaindex.query import Named


def narrowed(
    source: object,
    on: Named,
    *,
    table: Table | str | os.PathLike[str] | None = None,
    target: str | None = "target",
    null_safe: bool = False,
    most_values: int = Narrowed.MOST_VALUES,
    most_ranges: int = Narrowed.MOST_RANGES,
) -> Narrowed:
    """A condition on the target of a MERGE (UPDATE, DELETE) by key that lets the format's statistics skip files.

        ON target.id = source.id AND {mi.narrowed(source, on=["id"], table="lake/orders")}

    It follows from the keys of `source` alone: every row that equals one of them satisfies it, whatever a commit in
    between adds, so that beside the equality it changes no clause's rows. Up to `most_values` keys are an IN list, more
    are at most `most_ranges` ranges; of columns that Delta generates from a key (CAST(ts AS DATE), YEAR(ts),
    SUBSTRING(c, 1, n)) their values are said, too.

    `source`: what `Table.scan` takes for `keys`; it must be the very rows that the command reads. `table`: the target,
    whose types the keys are checked against, and whose generated columns are known; without it the columns must have
    the types that they have in `source` (integers of any width are one). `target`: what the command calls the table;
    None: nothing stands before the columns. `null_safe`: for `<=>`, where a NULL of the source finds NULL.

    `str()` and `.sql` are Spark's SQL, `.deltalake` is for deltalake's predicates, `.column()` a Spark Column. Raises
    ArgumentError, UnknownColumnError; raises LiteralTypeError if keys and columns are of different families of types:
    cast the source then.
    """
    if table is None:
        return Narrowed.of(
            source, on, target=target, null_safe=null_safe, most_values=most_values, most_ranges=most_ranges
        )
    if not isinstance(table, Table | str | os.PathLike):
        raise ArgumentError(f"table= is a table, or its path; got {type(table).__name__}; open_table gives one")
    opened = table if isinstance(table, Table) else open_table(table)
    snapshot = opened.snapshot()
    of_format = getattr(snapshot.details, "schema", None)
    return Narrowed.of(
        source,
        on,
        schema=snapshot.schema,
        version=snapshot.version,
        generated=getattr(of_format, "generated", None),
        target=target,
        null_safe=null_safe,
        most_values=most_values,
        most_ranges=most_ranges,
        time_zone=handle_of(opened).config.time_zone,
    )
