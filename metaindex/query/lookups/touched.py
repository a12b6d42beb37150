"""The files that a MERGE by these keys would rewrite: those that hold a row with one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import Plain, Shown, dataclass, human_bytes
from metaindex.formats import Version
from metaindex.query.readers.arrow import matching_rows
from metaindex.query.readers.scan import Scan

if TYPE_CHECKING:
    from metaindex.query.queries import Asked, Queries

TOUCHED = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size_bytes", pa.int64(), nullable=False),
        pa.field("matches", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True, repr=False)
class Touched(Shown, Plain):
    """`table` has a row for each file: its path, as an engine opens it, its size, and the live rows that have a key
    (null where they were not counted: it may have none then)."""

    JSON = "table=place version=version.id exact files=table total_files total_bytes"
    place: str
    version: Version
    exact: bool
    table: pa.Table
    total_files: int
    total_bytes: int
    keys: str

    @property
    def paths(self) -> list[str]:
        paths: list[str] = self.table.column("path").to_pylist()
        return paths

    @property
    def files(self) -> int:
        return int(self.table.num_rows)

    @property
    def size_bytes(self) -> int:
        return sum(self.table.column("size_bytes").to_pylist())

    @property
    def rows(self) -> int | None:
        """Live rows with a key; None if they were not counted."""
        return sum(self.table.column("matches").to_pylist()) if self.exact else None

    def _printed(self) -> str:
        what = f"{self.rows:,} rows match" if self.exact else "candidates: exact=True reads them"
        return (
            f"{self.place} at version {self.version}: {self.files:,} of {self.total_files:,} files,"
            f" {human_bytes(self.size_bytes)} of {human_bytes(self.total_bytes)}, would be rewritten; {what}\n"
            f"  rows with one of {self.keys}"
        )


def _counted(scan: Scan, *, exact: bool) -> Touched:
    """Return the touched files of a scan with keys."""
    result = scan.result
    assert result is not None, "a scan with keys has asked for its files"
    counts: dict[int, int] = {}
    if exact:
        for row, _, matches in matching_rows(scan):
            counts[row] = counts.get(row, 0) + matches
    files = scan.snapshot.files.table
    rows = [row for row in scan.file_rows.tolist() if not exact or counts.get(row)]
    paths = [scan.snapshot.uri(path) for path in files.column("path").take(rows).to_pylist()] if rows else []
    sizes = files.column("size_bytes").take(rows).to_pylist() if rows else []
    table = pa.table(
        [paths, sizes, [counts[row] if exact else None for row in rows]],
        schema=TOUCHED,
    )
    return Touched(
        scan.snapshot.table, scan.snapshot.version, exact, table, result.total_files, result.total_bytes, scan.keys_told
    )


def touched(queries: Queries, asked: Asked, *, exact: bool) -> Touched:
    """Implement `Table.touched`."""
    scan = queries.scan(asked)
    names = [f.name for f in scan.snapshot.schema.shown.fields]
    wanted = [name for name in names if scan.keys is not None and name in scan.keys.columns]
    return _counted(replace(scan, columns=tuple(wanted)), exact=exact)
