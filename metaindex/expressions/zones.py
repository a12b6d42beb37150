"""Zones, by their names in texts and settings."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Callable
from typing import Final

_OFFSET: Final = re.compile(r"([+-])([0-9]{2})(?::([0-9]{2}))?")
_UTC: Final = frozenset({"UTC", "Z", "GMT", "Etc/UTC", "Etc/GMT", "+00:00", "-00:00"})


def fixed_offset(zone: str) -> dt.timedelta | None:
    """Return a time zone's offset to UTC if it never changes; None if it does."""
    if zone in _UTC:
        return dt.timedelta(0)
    offset = _OFFSET.fullmatch(zone)
    if offset is None:
        return None
    ahead = dt.timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
    if ahead > dt.timedelta(hours=18) or int(offset[3] or 0) > 59:
        return None
    return -ahead if offset[1] == "-" else ahead


def zone_of(name: str) -> dt.tzinfo | None:
    """None for a zone that is not known."""
    fixed = fixed_offset(name)
    if fixed is not None:
        return dt.timezone(fixed)
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def later_in_zone(moment: dt.datetime, step: Callable[[dt.datetime], dt.datetime], zone: dt.tzinfo) -> dt.datetime:
    """The instant at which clocks of the zone show what `step` makes of what they show at this one. A time that they
    skip moves on by what they skip; of two that are alike it is the one with the offset of before, else the first."""
    local = moment.astimezone(zone)
    naive = step(local.replace(tzinfo=None))
    both = [naive.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
    same = [later for later in both if later.utcoffset() == local.utcoffset()]
    shown = all(later.astimezone(dt.UTC).astimezone(zone).replace(tzinfo=None) == naive for later in both)
    return (same[0] if same and shown else both[0]).astimezone(dt.UTC)
