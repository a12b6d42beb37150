"""The answer to "which files?": what is kept, what is proved out, by whom, at what cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property

import pyarrow as pa

from expressions.records import dataclass
from expressions.tree import Predicate
from formats.model import FileTable, Version


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one index (or the table's own log) did for a query. `reason` says why it was not used, or what it answered for."""

    name: str
    used: bool
    reason: str
    columns: tuple[str, ...] = ()
    dropped_files: int = 0  # by this index alone
    dropped_bytes: int = 0
    reads: int = 0
    bytes_read: int = 0
    seconds: float = 0.0  # to look up and answer


@dataclass(frozen=True)
class PruneResult:
    """Files to read, files proved out, files whose every row matches. A reader drops a file only if this proves it: what it does not name is read."""

    table: str
    format: str
    version: Version
    predicate: Predicate
    files: FileTable
    total_files: int
    total_bytes: int
    indexes: tuple[IndexReport, ...]
    seconds: float
    not_understood: tuple[str, ...] = ()  # parts of the predicate that no index can use
    _dropped: Callable[[], FileTable] = field(default=FileTable.empty, repr=False)
    _certain: Callable[[], pa.Array] = field(default=lambda: pa.array([], pa.bool_()), repr=False)

    @property
    def paths(self) -> list[str]:
        """What an engine opens: absolute local paths or URIs of the kept files."""
        root = self.table.rstrip("/")
        return [p if p.startswith("/") or "://" in p else f"{root}/{p}" for p in self.files.paths.to_pylist()]

    @cached_property
    def dropped(self) -> FileTable:
        """The files proved out. Loaded when asked for: it may be a million rows. DamagedIndexError where the index's list of files cannot be read then."""
        return self._dropped()

    @cached_property
    def certain(self) -> FileTable:
        """The kept files whose every *physical* row matches; deleted rows are the reader's business."""
        return self.files.filter(self._certain())

    def timed(self, seconds: float) -> PruneResult:
        """The same with the time that the caller saw."""
        return replace(self, seconds=seconds)

    @property
    def kept_files(self) -> int:
        return len(self.files)

    @property
    def kept_bytes(self) -> int:
        return self.files.size_bytes

    @property
    def dropped_files(self) -> int:
        return self.total_files - self.kept_files

    def __str__(self) -> str:
        lines = [
            f"{self.table} ({self.format}) at version {self.version}: read {self.kept_files:,} of {self.total_files:,} files, "
            f"{human_bytes(self.kept_bytes)} of {human_bytes(self.total_bytes)}, planned in {self.seconds * 1000:.1f} ms"
        ]
        for one in self.indexes:
            if one.used:
                lines.append(
                    f"  {one.name}: dropped {one.dropped_files:,} files, {human_bytes(one.dropped_bytes)}, by {', '.join(one.columns) or 'nothing it knows'}; "
                    f"{one.reads} reads, {human_bytes(one.bytes_read)}, {one.seconds * 1000:.1f} ms"
                    + (f" ({one.reason})" if one.reason else "")
                )
            else:
                lines.append(f"  {one.name}: not used: {one.reason}")
        lines.extend(f"  not understood, keeps every file: {text}" for text in self.not_understood)
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {
            "table": self.table,
            "format": self.format,
            "version": self.version.id,
            "total_files": self.total_files,
            "total_bytes": self.total_bytes,
            "kept_files": self.kept_files,
            "kept_bytes": self.kept_bytes,
            "dropped_files": self.dropped_files,
            "paths": self.paths,
            "seconds": self.seconds,
            "not_understood": list(self.not_understood),
            "indexes": [
                {
                    "name": i.name,
                    "used": i.used,
                    "reason": i.reason,
                    "columns": list(i.columns),
                    "dropped_files": i.dropped_files,
                    "dropped_bytes": i.dropped_bytes,
                    "seconds": i.seconds,
                    "reads": i.reads,
                    "bytes_read": i.bytes_read,
                }
                for i in self.indexes
            ],
        }


def human_bytes(size: int) -> str:
    value = float(size)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
