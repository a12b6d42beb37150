"""What comes of a query with other values: drawn once for all queries that differ in these values alone, and asked once
of what stands and of each candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np

from metaindex.expressions.errors import MetaIndexError
from metaindex.expressions.records import dataclass
from metaindex.expressions.tree import Predicate
from metaindex.expressions.vectors import Matrix
from metaindex.formats.model import Leaf, Snapshot
from metaindex.readers.scan import Scan

from .asking import Standing
from .posterior import Drawn
from .redraw import Draw, Form, PredicateShape, draws, strange, values_of
from .trial import Rows

_DRAWS = 48
_MOST_DRAWS = 400
_TRIALS = 12_000
"""Draws times files that are asked of each: of few files more draws are asked, up to the most."""
_LEAST_DRAWS = 16
_STRANGE = 48
"""Queries for values that no row has."""
_ANSWERS = 2_000_000
"""Of draws over files that are in memory at a time; of more files fewer draws are asked."""

_Key = tuple[Form, bytes]


@dataclass(frozen=True, slots=True)
class Redrawn:
    """Draws of a query, and which of the sampled files `rows` are read for each: as things stand, of these where a row
    may be by its bounds, and with the candidate. `strange`: with the candidate, of queries for values that no row
    has."""

    draws: Sequence[Draw]
    rows: Rows
    values: int
    before: Matrix
    stands: Matrix
    kept: Matrix
    strange: Matrix | None = None

    @property
    def by_chance(self) -> Drawn | None:
        """Of files that have no such value, how many the candidate keeps all the same, of how many: by values that no
        row has, and where there are none by draws, in files where no row can be by its bounds."""
        if self.strange is not None:
            return Drawn(tuple(np.count_nonzero(self.strange, axis=1).tolist()), (len(self.rows),) * len(self.strange))
        without = self.before & ~self.stands
        trials = np.count_nonzero(without, axis=1)
        kept = np.count_nonzero(self.kept & without, axis=1)
        return Drawn(tuple(kept.tolist()), tuple(trials.tolist())) if trials.any() else None

    def told(self) -> Drawn | None:
        """Of the files but for those that the values of a draw are of; None where nothing could be drawn, or is in a
        file beside its own by the bounds."""
        at = {row: place for place, row in enumerate(self.rows.tolist())}
        others = self.stands.copy()
        for number, draw in enumerate(self.draws):
            others[number, [at[home] for home in draw.homes if home in at]] = False
        kept = np.count_nonzero(self.kept & others, axis=1)
        asked = np.count_nonzero(others, axis=1)
        return Drawn(tuple(kept.tolist()), tuple(asked.tolist()), self.values) if asked.any() else None

    def homes(self, many: int) -> list[tuple[Predicate, list[int]]]:
        """Of some draws the files that their values are of, as far as these are read."""
        of_draws = zip(self.draws[:many], self.kept, strict=False)
        return [
            (draw.tree, homes) for draw, mask in of_draws if (homes := sorted(draw.homes.intersection(self.rows[mask])))
        ]


@dataclass(slots=True)
class Redraws:
    """Remembers what was drawn and asked, of the sampled files alone."""

    snapshot: Snapshot
    scan: Callable[[int, Sequence[Leaf]], Scan]
    _values: dict[tuple[object, ...], list[list[object]]] = field(default_factory=dict)
    _draws: dict[_Key, list[Draw]] = field(default_factory=dict)
    _made: dict[Form, list[Draw]] = field(default_factory=dict)
    _kept: dict[tuple[_Key, tuple[str, ...]], Matrix] = field(default_factory=dict)

    def asked(
        self, tree: Predicate, rows: Rows, standing: Standing, places: Standing, more: Standing
    ) -> Redrawn | None:
        """`rows`: the sampled files that `standing` keeps of the query; `places`: with bounds of all files; `more`:
        with the candidate. None where there is nothing to draw."""
        shape = PredicateShape.of(tree, self.snapshot.schema)
        if shape is None or len(rows) < 2:
            return None
        key = (shape.form, rows.tobytes())
        if key not in self._draws:
            self._draws[key] = self._drawn(shape, rows)
        drawn = self._draws[key]
        before, stands, kept = (self._asked_of(each, key, drawn, rows) for each in (standing, places, more))
        made = self._strange(shape)
        chance = self._asked_of(more, ((shape.form, b"strange" + rows.tobytes())), made, rows) if made else None
        return Redrawn(drawn, rows, shape.values, before, stands, kept, chance)

    def _strange(self, shape: PredicateShape) -> list[Draw]:
        if shape.form not in self._made:
            self._made[shape.form] = strange(shape, self.snapshot.schema, _STRANGE)
        return self._made[shape.form]

    def _drawn(self, shape: PredicateShape, rows: Rows) -> list[Draw]:
        wanted = np.clip(_TRIALS // (len(rows) - 1), _DRAWS, _MOST_DRAWS)
        many = int(np.clip(_ANSWERS // (len(self.snapshot.files) + 1), _LEAST_DRAWS, wanted))
        try:
            return draws(shape, rows, self._read, self.snapshot.schema, many)
        except (MetaIndexError, OSError):
            return []  # the estimate is wider without

    def _read(self, row: int, leaves: Sequence[Leaf], many: int) -> list[list[object]]:
        key = (row, many, *(leaf.parts for leaf in leaves))
        if key not in self._values:
            self._values[key] = values_of(self.scan(row, leaves).to_arrow(), leaves, many)
        return self._values[key]

    def _asked_of(self, standing: Standing, key: _Key, drawn: Sequence[Draw], rows: Rows) -> Matrix:
        asked = (key, tuple(index.entry.index_uuid for index in standing.indexes))
        if asked not in self._kept:
            masks = standing.kept_each([draw.tree for draw in drawn])
            self._kept[asked] = np.array([mask[rows] for mask in masks], np.bool_).reshape(len(drawn), len(rows))
        return self._kept[asked]
