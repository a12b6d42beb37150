"""Clients that were tried, and what each reads right.

A client names itself in `X-Client-Version` ("Apache Iceberg 1.12.0 (commit ...)", "PyIceberg 0.12.0") or `User-Agent`.
What nobody tried is not trusted: over Iceberg tables such a client plans by itself, and shown tables are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Final

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
    more_specs: bool = True
    """Whether its metadata may have partition specs that the table has not: never where it may write."""
    equality_deletes: bool = True
    vectors_by_offset: bool = True
    """Whether a deletion vector is read from any file at an offset; else it needs a Puffin file of its own."""
    reads_statistics: bool = True
    """Whether counts and bounds in tasks are of use to it: pyiceberg parses them, and lets the bounds go."""
    negates_lacking: bool = False
    """Whether it takes a negated condition for true of a file that lacks the column."""
    misread: frozenset[str] = frozenset()
    """Facts of data files that it refuses or reads wrong: milliseconds, unsigned, time, nanoseconds, decimal_partition,
    partition_values."""

    def __str__(self) -> str:
        return " ".join([self.name, ".".join(map(str, self.version))]).strip()


JAVA: Final = Client("iceberg-java", tried=True, misread=frozenset({"milliseconds", "unsigned", "time", "nanoseconds"}))
PYICEBERG: Final = Client(
    "pyiceberg",
    tried=True,
    spelling=Spelling.PHYSICAL,
    obeys_tables=False,
    null_partitions=False,
    equality_deletes=False,
    vectors_by_offset=False,
    reads_statistics=False,
    negates_lacking=True,
    misread=frozenset({"decimal_partition"}),
)
_KNOWN: Final = {"apache iceberg": JAVA, "pyiceberg": PYICEBERG, "duckdb": Client("duckdb")}
_NAMED: Final = rf"(?i)\s*({'|'.join(_KNOWN)})[ /]v?([0-9]{{1,4}}(?:\.[0-9]{{1,6}}){{0,3}})"
TRIED: Final[Mapping[str, Mapping[tuple[int, ...], frozenset[str]]]] = {
    "iceberg-java": {(1, 11): frozenset(), (1, 12): frozenset()},
    "pyiceberg": {(0, 11): frozenset({"partition_values"}), (0, 12): frozenset()},
}
"""Versions, without the last part, whose rows tests compare with the same client planning by itself, and what these
misread beyond other versions: pyiceberg 0.11 has NULL for a partition value of "", 0 or false that a file lacks. Spark
and Flink are `iceberg-java`; Polars comes as pyiceberg; DuckDB plans by itself."""
SERVER_PLANS: Final = {"scan-planning-mode": "server", "rest-scan-planning-enabled": "true"}
"""What a catalog's config says where it plans for its clients; pyiceberg 0.11 knows the second word alone."""


def client_of(headers: Mapping[str, str], *, trusted: bool = False) -> Client:
    """Return the client by its headers, whose names are in small letters. `trusted`: untried ones, too."""
    for header in ("x-client-version", "user-agent"):
        named = re.match(_NAMED, headers.get(header, ""))
        if named is not None:
            client = _KNOWN[named[1].lower()]
            version = tuple(map(int, named[2].split(".")))
            more = TRIED.get(client.name, {}).get(version[:2])
            misread = client.misread | (more or frozenset())
            return replace(client, version=version, tried=trusted or more is not None, misread=misread)
    return Client(tried=trusted)
