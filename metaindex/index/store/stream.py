"""The rows of a run, in order and a few row groups at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from .footer import Footer
from .reader import RunReader

MOST_ROWS = 1 << 19
"""Of all streams together."""
_SMALL_PART_ROWS = 1 << 14


def stream(
    source: RunReader, kind: str, schema: pa.Schema, leading: int | None, among: int, most: int = MOST_ROWS
) -> Iterator[pa.Table]:
    """Stream these columns of a metadata partition; with a value, only the rows that have it in the column that they
    are sorted by first, which is then the first of the schema. `among`: how many streams share the memory. Small parts
    hold many such values and stay in the cache."""
    names = schema.names
    rows_at_once = most // max(among, 1)
    for part in source.parts(kind):
        if leading is not None and (
            part.first_key is None or part.last_key is None or not part.first_key <= leading <= part.last_key
        ):
            continue
        footer = source.footer(part)
        groups = list(range(len(footer.rows)))
        at_once = max(1, rows_at_once // max(int(footer.rows.max(initial=1)), 1))
        if leading is not None:
            ids = footer.range(names[0])
            groups = [g for g in groups if not ids.known[g] or ids.least[g] <= leading <= ids.greatest[g]]
        for start in range(0, len(groups), at_once):
            table = source.read(part, groups[start : start + at_once], names, keep=part.rows <= _SMALL_PART_ROWS)
            if leading is not None:
                table = table.filter(pc.equal(table.column(names[0]), leading))
            yield table.cast(schema)


def groups_holding(footer: Footer, column: str, keys: Sequence[int] | Sequence[bytes]) -> list[int]:
    """Row groups whose range holds one of the keys."""
    ranges = footer.range(column)
    return [
        group
        for group in range(len(footer.rows))
        if not ranges.known[group] or any(ranges.least[group] <= key <= ranges.greatest[group] for key in keys)
    ]
