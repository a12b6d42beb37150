"""Are the columns of a CSV file separated by commas? Where nobody has said so, a file that another mark separates is
not taken for one of one column, or for one of rows that are left out as they are too long.

What tells: by commas the first lines are of one column, or not of as many as each other; by a semicolon, tab or bar all
of them are of as many columns as the first line, and that of two or more. What stands in quotes is no mark. A file
whose lines are of as many columns by commas, of two or more, is never refused, whatever its texts hold."""

from __future__ import annotations

import csv
import re
from itertools import islice
from typing import Final

from metaindex.expressions.errors import UnsupportedFeatureError
from metaindex.expressions.shown import counted

from .header import SAMPLED

_MARKS: Final = {";": "semicolon", "\t": "tab", "|": "bar"}
_MOST_CHARS: Final = 1 << 20
"""That are looked at."""
_LINE: Final = re.compile(r"[^\r\n]+")


def check_separator(path: str, text: str, quote: str) -> None:
    """UnsupportedFeatureError, with the choice, where another mark separates the columns. `text`: the beginning of the
    file without its comments, with all of its last line."""
    first = _LINE.search(text)
    if first is None or not any(mark in first[0] for mark in _MARKS):
        return
    lines = _lines(text)
    if len(lines) < 2 or (quote and any(line.count(quote) % 2 for line in lines)):
        return  # a value that goes over lines, or quotes that are escaped otherwise
    by_comma = _by_comma(lines, quote)
    if not by_comma or (len(by_comma) == 1 and by_comma != {1}):
        return
    for mark, name in _MARKS.items():
        widths = {_outside(line, quote).count(mark) + 1 for line in lines}
        if len(widths) != 1 or widths == {1}:
            continue
        said = "\\t" if mark == "\t" else mark
        by_commas = "no comma between columns" if by_comma == {1} else "not all as many commas"
        raise UnsupportedFeatureError(
            "columns of CSV files are separated by commas where delimiter= does not say otherwise; each line of"
            f" {path!r} that was looked at has {counted(widths.pop() - 1, name)} and {by_commas}; say"
            f" delimiter='{said}' where that separates them, delimiter=',' where"
            + (" a line is one column" if by_comma == {1} else " commas do")
        )


def _lines(text: str) -> list[str]:
    """The first ones that hold something, each whole."""
    lines = [line[0] for line in islice(_LINE.finditer(text, 0, _MOST_CHARS), SAMPLED + 1)]
    if len(text) > _MOST_CHARS and len(lines) <= SAMPLED:
        del lines[-1]  # it may go on
    return [line for line in lines if line.strip()]


def _by_comma(lines: list[str], quote: str) -> set[int]:
    """How many columns the lines have; none where that cannot be told."""
    rows = csv.reader(lines, quotechar=quote or None, quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE)
    try:
        return {len(row) for row in rows}
    except csv.Error:
        return set()


def _outside(line: str, quote: str) -> str:
    """What stands outside of quotes, by whatever marks the line is parted."""
    return "".join(line.split(quote)[::2]) if quote else line
