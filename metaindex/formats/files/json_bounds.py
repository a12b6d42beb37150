"""Limits on the columns of JSON lines that Arrow reads at a time: it recurses as deep as a text is nested, and keeps a
place in every row for every name, so that a few megabytes would end the process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from metaindex.formats.text.encodings import line_end

from .options import MOST_COLUMNS

MOST_LEVELS = 200
_BRACKETS = 1 << 20  # looked at together: they are held ten times
PIECE_BYTES = 32 << 10  # names times rows of so much text are no more than 100 MB
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}\r\n"))
_LARGE = re.compile(rb"(?<![0-9.eE+])(?:9[2-9][0-9]{17}|[0-9]{20,38})(?![0-9.eE])")
_TEXT = re.compile(rb'"(?:[^"\\\r\n]|\\.)*+"')


def pieces(text: bytes) -> Iterator[bytes]:
    """Whole lines, all of them together `text`; ValueError where some are nested too deep or name too many columns."""
    if levels(text, MOST_LEVELS) > MOST_LEVELS:
        raise ValueError(f"it is nested deeper than {MOST_LEVELS} levels")
    at = 0
    while at < len(text):
        end = at + PIECE_BYTES
        if end < len(text):
            end = max(text.rfind(b"\n", at, end), text.rfind(b"\r", at, end)) + 1 or line_end(text, end)
        piece = text[at:end]
        at = end
        if len(piece) > PIECE_BYTES and _has_many_names(piece):
            raise ValueError(f"it has more than {MOST_COLUMNS:,} names")
        if piece.strip():
            yield piece


def _has_many_names(text: bytes) -> bool:
    """About: a name is what stands between the last two quotes before a colon."""
    some = text.translate(None, b" \t\r\n").replace(b"\\\\", b"--").replace(b'\\"', b"''")
    names: set[bytes] = set()
    at = 0
    while (colon := some.find(b'":', at)) >= 0:
        names.add(some[some.rfind(b'"', at, colon) + 1 : colon])
        at = colon + 2
        if len(names) > MOST_COLUMNS:
            return True
    return False


def large_integers(piece: bytes) -> list[dict[str, Any]] | None:
    """The objects of lines among whose values may be integers beyond 64 bits, which Spark keeps as decimals of up to 38
    digits; None where there are none."""
    if _LARGE.search(piece) is None:
        return None
    try:
        rows = [json.loads(line, parse_int=_whole_number) for line in re.split(rb"[\r\n]+", piece) if line.strip()]
    except (ValueError, RecursionError):
        return None  # more than one object on a line
    return [row for row in rows if isinstance(row, dict)]


def _whole_number(text: str) -> int | float:
    return int(text) if len(text.lstrip("-")) <= 38 else float(text)


def levels(text: bytes, most: int) -> int:
    """The most brackets that are open at once, in any line. Up to `most` those inside texts count, too: that is sooner
    known."""
    deepest = _levels(text)
    return deepest if deepest <= most else _levels(_TEXT.sub(b"", text))


def _levels(text: bytes) -> int:
    left = np.frombuffer(text.translate(None, _NO_BRACKETS), np.uint8)
    deepest = depth = 0
    for start in range(0, len(left), _BRACKETS):
        some = left[start : start + _BRACKETS]
        ends = (some == ord("\n")) | (some == ord("\r"))
        steps = np.where((some == ord("[")) | (some == ord("{")), 1, -1)
        steps[ends] = 0
        depths = np.cumsum(steps) + depth
        before = np.concatenate((np.zeros(1, np.int64), depths[ends]))  # what a line begins with
        depths -= before[np.cumsum(ends)]
        deepest, depth = max(deepest, int(depths.max())), int(depths[-1])
    return deepest
