"""The clients that were tried, and what each reads right.

A client names itself in `X-Client-Version` ("Apache Iceberg 1.12.0 (commit ...)", "PyIceberg 0.12.0") or `User-Agent`.
What nobody tried is not trusted: over Iceberg tables such a client plans by itself, and shown tables are refused.
"""

from __future__ import annotations

from enum import Enum

from metaindex.core import dataclass


class Spelling(Enum):
    """Spelling of partition values in tasks."""

    TYPED = "typed"
    """Iceberg's single-value JSON, by type: dates and times as ISO 8601, decimals as text, bytes as hexadecimal."""
    PHYSICAL = "physical"
    """As pyiceberg holds values inside: days and microseconds since 1970 as numbers; NULL cannot be written."""


@dataclass(frozen=True, slots=True)
class Client:
    """Engine that asks, and what it reads right."""

    name: str = "unknown"
    version: tuple[int, ...] = ()
    tried: bool = False
    """False: nobody compared its rows over this protocol."""
    spelling: Spelling = Spelling.TYPED
    obeys_tables: bool = True
    """Whether `scan-planning-mode: client` of one table is obeyed; else only that of the whole catalog is."""
    null_partitions: bool = True
    equality_deletes: bool = True
    vectors_by_offset: bool = True
    """Whether a deletion vector is read from any file at an offset; else it needs a Puffin file of its own."""
    misread: frozenset[str] = frozenset()
    """Facts of data files that it refuses or reads wrong: `Fact` names."""

    def __str__(self) -> str:
        return " ".join([self.name, ".".join(map(str, self.version))]).strip()
