"""Reports of an index's part in an answer, and sizes for people."""

from __future__ import annotations

from metaindex.core import dataclass


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The part of one index (or the table's own log) in a query. `reason` says why it was not used, or what it answered
    for."""

    name: str
    used: bool
    reason: str
    columns: tuple[str, ...] = ()
    dropped_files: int = 0  # by this index alone
    dropped_bytes: int = 0
    reads: int = 0
    bytes_read: int = 0
    seconds: float = 0.0  # to look up and answer
    left_out: bool = False  # for what is wrong with it, which `reason` says


def human_bytes(size: int) -> str:
    """Format a size for people; a KB is 1,000 bytes."""
    value = float(size)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
