"""Numbers, times and durations as a person writes them."""

from __future__ import annotations

import datetime as dt


def counted(number: int, noun: str) -> str:
    """1 run, 2 runs, 2 queries, 2 indexes."""
    if number == 1:
        return f"1 {noun}"
    many = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if noun.endswith("x") else f"{noun}s"
    return f"{number:,} {many}"


def percent(share: float) -> str:
    """A share; what is little is not nothing."""
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{share * 100:.1f}%" if share < 0.0995 else f"{share * 100:.0f}%"


def human_bytes(size: int) -> str:
    """Format a size for people; a KB is 1,000 bytes."""
    value = float(size)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def moment(ms: int, *, exact: bool = False) -> str:
    """A time in milliseconds since 1970 as people write it, `2026-11-22 21:34:00 UTC`; 0: there is none. `exact`: with
    thousandths if there are any, and 0 is 1970. Beyond all calendars the result is the number."""
    if not ms and not exact:
        return "-"
    try:
        time = dt.datetime.fromtimestamp(ms // 1000, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms since 1970"
    thousandths = f".{ms % 1000:03d}" if exact and ms % 1000 else ""
    return f"{time:%Y-%m-%d %H:%M:%S}{thousandths} UTC"


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
