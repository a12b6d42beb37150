"""Moments as people read them."""

from __future__ import annotations

import datetime as dt


def utc_text(ms: int) -> str:
    """Return `2026-11-22 21:34:00 UTC`, of milliseconds since 1970; with thousandths if there are any. Beyond all
    calendars the result is the number."""
    try:
        time = dt.datetime.fromtimestamp(ms // 1000, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms since 1970"
    thousandths = f".{ms % 1000:03d}" if ms % 1000 else ""
    return f"{time:%Y-%m-%d %H:%M:%S}{thousandths} UTC"
