"""Columns for which another layout may help: those of queries that read most of what they read now, whatever index
there is."""

from __future__ import annotations

from typing import Final

from metaindex.whatif.candidates import asked_columns

from .judging import TableCase

_HELPED: Final = 0.5
"""A query that is spared this share of its bytes is helped."""
_WORTH: Final = 0.1
"""Of the workload's bytes, what the others have to read to be spoken of."""
_MOST: Final = 2


def columns_left(case: TableCase) -> list[str]:
    """Those by which most is read in spite of all candidates together; none where that is little, or there is nothing
    to lay out anew."""
    snapshot = case.weighing.snapshot
    if len(snapshot.files) < 2:
        return []
    left: dict[str, float] = {}
    unhelped = 0.0
    for number, query in enumerate(case.queries):
        rest = query.weight - case.spared_bytes(number, case.touched[number])
        if rest < (1 - _HELPED) * query.weight:
            continue
        asked = asked_columns([query.tree], snapshot.schema)
        names = dict.fromkeys((*asked.ranged, *asked.compared))
        unhelped += rest if names else 0.0
        for name in names:
            left[name] = left.get(name, 0.0) + rest
    if unhelped < _WORTH * case.read_bytes:
        return []
    return sorted(left, key=lambda name: (-left[name], name))[:_MOST]
