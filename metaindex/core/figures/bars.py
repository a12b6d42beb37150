"""Bars: full is what is read, the frame around it is the whole. They stand beside the number that they show, so that
whoever does not see them misses nothing.

Colours are attributes that a page's style replaces: in a notebook, which has none of ours, they do on light and on dark
ground.
"""

from __future__ import annotations

from .markup import Element, tag

ACCENT = "#2f7fb5"
"""Where no style says otherwise: 3 to 1 and more against white and against black."""

_WIDE, _HIGH = 100, 12


def filled(**attributes: object) -> Element:
    """A rectangle, or a path, of what is read."""
    return tag("path" if "d" in attributes else "rect", class_="full", fill=ACCENT, **attributes)


def bar(share: float, whole: float = 1.0) -> Element:
    """A share, between 0 and 1, of a frame that is itself a share of the room: what is little can still be seen."""
    whole = min(max(whole, 0.0), 1.0)
    width = min(max(share, 0.0), whole) * _WIDE
    width = max(width, 0.8) if share > 0 else 0.0
    frame = tag(
        "rect",
        class_="frame",
        fill="currentColor",
        fill_opacity=0.12,
        width=max(whole * _WIDE, 0.8) if whole > 0 else 0,
        height=_HIGH,
    )
    return tag(
        "svg",
        frame,
        filled(width=width, height=_HIGH) if width else None,
        class_="bar",
        viewBox=f"0 0 {_WIDE} {_HIGH}",
        width=_WIDE,
        height=_HIGH,
        preserveAspectRatio="none",
        aria_hidden="true",
    )
