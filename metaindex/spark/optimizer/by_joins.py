"""Scans that are narrowed once their query runs: files that an index proves to hold no key of a join's other side are
skipped (`RuntimeFilters.java`). Planning only says for which keys that is worth asking, and within which limits."""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.core import UnknownColumnError
from metaindex.expressions import ColumnRef, IsNull
from metaindex.query import Queries
from metaindex.table import Table, handle_of

from .request import SparkScan
from .scans import at_version
from .settings import RuleConfig


def known_columns(table: Table, scan: SparkScan, allowed: Sequence[str] | None) -> tuple[str, ...]:
    """The keys of which an index may know in which files they are."""
    return tuple(name for name in scan.joins if _is_known(name, table, scan, allowed))


def _is_known(name: str, table: Table, scan: SparkScan, allowed: Sequence[str] | None) -> bool:
    try:
        return handle_of(table).made(Queries).knows(at_version(IsNull(ColumnRef((name,))), scan), allowed)
    except UnknownColumnError:
        return False


def join_reply(columns: Sequence[str], rule: RuleConfig) -> dict[str, object]:
    """Return the rule's reply about a scan under joins (`RuntimeFilter.java`)."""
    return {
        "columns": list(columns),
        "queries": rule.join_queries,
        "keys": rule.join_keys,
        "seconds": rule.join_seconds,
        "side_bytes": rule.join_side_bytes,
        "scan_bytes": rule.join_scan_bytes,
    }
