"""Selects parts of a key's sources that go into the merged run unchanged: algorithm 2 of the EDBT paper, as far as
files keep their numbers (docs/decisions/0014).

A part is carried over where no other source has a row in its range, every unit in it is what it would be written as,
and it is not so small that carrying it again and again would leave a run of small parts. Whether another source has
rows in a range is told by the bounds of its row groups, whether units stay by looking at each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from metaindex.core import dataclass
from metaindex.index.kinds.keyed import Units
from metaindex.index.store.layout import PartInfo

from .asked import Key
from .stored import StoredKeys

Stays = Callable[[Units], bool]
"""Are these units of a source, all of them, those of the merged run?"""


@dataclass(frozen=True, slots=True)
class Carried:
    """A source's part that is carried over whole, and its least key: its bounds enclose no other row."""

    stored: StoredKeys
    part: PartInfo
    least: Key


def carried_parts(sources: Sequence[tuple[StoredKeys, Stays]], least_rows: int) -> list[Carried]:
    """Return the carried parts in the order of their keys. `least_rows`: smaller ones are merged again."""
    out = []
    for at, (stored, stays) in enumerate(sources):
        others = [other for number, (other, _) in enumerate(sources) if number != at]
        parts = stored.parts()
        alone = [
            part.rows >= least_rows
            and not any(_reaches(other, part, low, high) for other in others)
            and stays(stored.units(part, stored.row_groups(part), keep=False))
            for part, low, high in zip(parts.parts, parts.least, parts.greatest, strict=True)
        ]
        _keep_apart(alone, [bool(parts.greatest[i] == parts.least[i + 1]) for i in range(len(parts.parts) - 1)])
        out += [
            Carried(stored, part, low) for part, low, mine in zip(parts.parts, parts.least, alone, strict=True) if mine
        ]
    # Those of one key that fills several parts stay in their order: such parts are of one source.
    return sorted(out, key=lambda carried: carried.least)


def _reaches(other: StoredKeys, part: PartInfo, low: Key, high: Key) -> bool:
    """Return whether a source may have rows between the bounds of a part."""
    parts = other.parts()
    first, last = np.searchsorted(parts.greatest, low), np.searchsorted(parts.least, high, side="right")
    for neighbour in parts.parts[int(first) : int(last)]:
        nulls = part.least == "" and neighbour.least == ""  # both begin with NULL, or with the empty text
        if nulls or len(other.groups(neighbour).between(low, high)):
            return True
    return False


def _keep_apart(alone: list[bool], shares: Sequence[bool]) -> None:
    """Carry both or neither of two neighbours that share a key: its rows are in the order of their units."""
    for order in (range(len(shares)), reversed(range(len(shares)))):
        for at in order:
            if shares[at] and not (alone[at] and alone[at + 1]):
                alone[at] = alone[at + 1] = False
