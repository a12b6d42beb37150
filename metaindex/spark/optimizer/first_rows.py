"""The first rows of an order, in a Spark query (`ORDER BY ... LIMIT`): which files stand behind them. And some rows
(`LIMIT`): which files give them for certain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metaindex.query import PruneResult, Sorted

from .reasons import Reason
from .request import FirstAsked
from .whole_files import Rows, WholeFiles

_TRIES = 3


@dataclass(frozen=True, slots=True)
class FirstFound:
    """The proof for the first rows. `out`: files dropped beside the filters'; `proof`: those whose rows come first."""

    asked: FirstAsked
    known: WholeFiles
    out: Rows
    proof: Rows
    result: PruneResult
    indexes: tuple[str, ...]

    def __str__(self) -> str:
        way = " DESC" if self.asked.direction.descending else ""
        return f"the first {self.asked.rows:,} by {self.asked.column}{way}"

    def reply(self, before: str) -> dict[str, object]:
        """Return the reply. `before`: label of the filters' answer."""
        label = ", ".join(part for part in (before, str(self)) if part)
        return {"label": label, "dropped": self.known.told(self.out), "proof": self.known.proof(self.proof)}


def first_rows(asked: FirstAsked, known: WholeFiles) -> FirstFound | Reason:
    """Prove by an index's statistics of whole files a threshold that so many live rows reach."""
    leaf = known.leaf(asked.column)
    if isinstance(leaf, Reason):
        return leaf
    if asked.rows < 1:
        return Reason.NO_THRESHOLD
    (told,) = known.bounds.columns([leaf])
    column = Sorted.of(told, asked.direction)
    best, live, certain = column.best(), known.live, known.certain
    for _ in range(_TRIES):
        threshold = column.threshold(asked.rows, live, known.deleted, certain)
        if threshold is None:
            return Reason.NO_THRESHOLD
        changed = threshold.proof[known.changed(threshold.proof)]
        if not len(changed):
            break
        certain = certain.copy()
        certain[changed] = False
    else:
        return Reason.CHANGED
    out = np.flatnonzero(best.behind(threshold.place) & known.kept)
    out = out[~known.changed(out)]
    if not len(out):
        return Reason.NOTHING_BEHIND
    mask = np.zeros(len(known.kept), np.bool_)
    mask[out] = True
    by = tuple(source.removeprefix("index ") for source in told.sources if source.startswith("index "))
    return FirstFound(asked, known, out, threshold.proof, known.without(mask), by)


@dataclass(frozen=True, slots=True)
class CertainFirst:
    """`certain`: files that are read before the others. Nothing is left out for it."""

    known: WholeFiles
    certain: Rows
    result: PruneResult
    indexes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "some rows, of certain files first"

    def reply(self, before: str) -> dict[str, object]:
        """Return the reply. `before`: label of the filters' answer."""
        return {"label": before, "files": self.known.told(self.certain)}


def certain_first(known: WholeFiles) -> CertainFirst | Reason:
    """Return the certain files if some of the files are, and some are not. An empty one is not."""
    live = known.live
    certain = known.certain & ~(live.known & (live.values == 0))
    rows = np.flatnonzero(certain)
    if not len(rows) or len(rows) == int(np.count_nonzero(known.kept)):
        return Reason.NOTHING_CERTAIN
    return CertainFirst(known, rows, known.result)
