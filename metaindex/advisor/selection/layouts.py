"""Columns for which another layout may help: those of queries that read most of what they read now whatever index there
would be, and which no index that there is spares much."""

from __future__ import annotations

from typing import Final

from metaindex.advisor.hypothetical.baseline import Baseline
from metaindex.advisor.hypothetical.candidates import asked_columns
from metaindex.core import Vector

from .evaluation import TableEvaluation

_HELPED: Final = 0.5
"""A query that is spared this share of its bytes is helped."""
_WORTH: Final = 0.1
"""Of the workload's bytes, what the others have to read to be spoken of."""
_MOST: Final = 2


def columns_left(case: TableEvaluation) -> list[str]:
    """Return the columns by which most is read in spite of all candidates together; none if that is little, or no other
    layout is possible."""
    snapshot = case.weighing.snapshot
    if len(snapshot.files) < 2:
        return []
    left: dict[str, float] = {}
    unhelped = 0.0
    helped = _helped_already(case)
    for number, query in enumerate(case.queries):
        rest = query.weight - case.spared_bytes(number, case.touched[number])
        if rest < (1 - _HELPED) * query.weight or helped[number]:
            continue
        asked = asked_columns([query.tree], snapshot.schema)
        names = dict.fromkeys((*asked.ranged, *asked.compared))
        unhelped += rest if names else 0.0
        for name in names:
            left[name] = left.get(name, 0.0) + rest
    if unhelped < _WORTH * case.read_bytes:
        return []
    return sorted(left, key=lambda name: (-left[name], name))[:_MOST]


def _helped_already(case: TableEvaluation) -> list[bool]:
    """Return for each query whether existing indexes spare it that much of what it would read without them."""
    standing = case.weighing.hand.standing
    if not standing.indexes:
        return [False] * len(case.queries)
    sizes = Vector(standing.snapshot.files.table.column("size_bytes")).numbers
    alone = Baseline(standing.snapshot).kept_each([query.tree for query in case.queries])
    nows = (case.now(number).reads.size_bytes.expected for number in range(len(case.queries)))
    return [now <= (1 - _HELPED) * float(sizes[mask].sum()) for now, mask in zip(nows, alone, strict=True)]
