"""Are the columns of a CSV file separated by commas? Where nobody has said so, a file whose every line has another mark
equally often, and no comma, is not taken for one of one column: its first row would be the name of a text."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from metaindex.expressions.errors import UnsupportedFeatureError
from metaindex.expressions.shown import counted

from .header import SAMPLED

_MARKS: Final = {";": "semicolon", "\t": "tab", "|": "bar"}


def check_separator(path: str, texts: pa.Table, *, header: bool) -> None:
    """UnsupportedFeatureError, with the choice, where lines of one column look like several. `texts`: the rows, in
    columns that are called what the first line says, where that is a `header`."""
    if texts.num_columns != 1:
        return
    lines = texts.column(0).slice(0, SAMPLED).drop_null().to_pylist()
    lines += [texts.column_names[0]] if header else []
    if len(lines) < 2:
        return
    for mark, name in _MARKS.items():
        counts = {line.count(mark) for line in lines}
        if len(counts) == 1 and counts != {0}:
            said = "\\t" if mark == "\t" else mark
            raise UnsupportedFeatureError(
                "columns of CSV files are separated by commas where delimiter= does not say otherwise; each line of"
                f" {path!r} that was looked at has {counted(counts.pop(), name)} and no comma between columns; say"
                f" delimiter='{said}' where that separates them, delimiter=',' where a line is one column"
            )
