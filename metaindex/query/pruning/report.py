"""Reports of an index's part in an answer, and sizes for people."""

from __future__ import annotations

from typing import Final

from metaindex.core import dataclass

LOG: Final = "the table's log"


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

    @property
    def helped(self) -> bool:
        """Return whether it is an index that left files out."""
        return self.used and self.dropped_files > 0 and self.name != LOG
