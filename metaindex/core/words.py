"""Numbers, times and values as a person writes them."""

from __future__ import annotations

from metaindex.core.shown import counted as counted
from metaindex.core.times import utc_text


def cell(value: object) -> str:
    """A value in a table: NULL is not an empty text."""
    if value is None:
        return "NULL"
    return value.hex() if isinstance(value, bytes) else str(value)


def percent(share: float) -> str:
    """A share; what is little is not nothing."""
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{share * 100:.1f}%" if share < 0.0995 else f"{share * 100:.0f}%"


def moment(ms: int) -> str:
    """A time in milliseconds since 1970, as people write it, to the second; 0: there is none."""
    return utc_text(ms // 1000 * 1000) if ms else "-"


def duration(ms: int | None) -> str:
    """Return a duration in the unit that suits it."""
    if ms is None:
        return "-"
    if ms < 1000:
        return f"{ms} ms"
    seconds = ms / 1000
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} days"
