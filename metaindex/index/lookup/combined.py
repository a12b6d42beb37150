"""Keys of several columns in the walk: a leaf is added that only the sources of such keys understand.

`a = 1 AND b IN (2, 3)` fixes both columns of the key (a, b) to one of two pairs. The walk joins what is known of `a`
and of `b`, and that a file may hold the 1 and the 2 in different rows; the key knows the pair. So an AND that fixes all
columns of a key gets one more part, "the row has one of these pairs", which follows from the others:

    a = 1 AND b IN (2, 3)    ->    a = 1 AND b IN (2, 3) AND some_null(#0)        #0: (1, 2), (1, 3)

A part that follows changes no row's answer where the AND is asked to be TRUE; where it is asked to be FALSE or NULL
(under NOT, and for the files of which every row matches) nothing is added. The leaf is IS NULL of a column that no
table has: every other source answers that it knows nothing of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod

from metaindex.core import counted, dataclass
from metaindex.expressions import And, ColumnRef, Comparison, In, IsNull, Literal, Op, Or, Predicate, gathered_form

Columns = tuple[ColumnRef, ...]

MOST_VALUES = 1_000
"""Combinations of values that one leaf asks for; more are not looked up together."""

_DEEPEST = 50  # ANDs and ORs in one another: below, nothing is added
_MARK = "\0key"


@dataclass(frozen=True, slots=True)
class Combination:
    """The question of an added leaf: may a row hold one of these values in these columns?"""

    columns: Columns
    values: tuple[tuple[Literal, ...], ...]

    def __str__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"({names}) together, {counted(len(self.values), 'combination')}"


def with_combinations(
    predicate: Predicate, keys: Collection[Columns], before: Mapping[ColumnRef, Combination] | None = None
) -> tuple[Predicate, Mapping[ColumnRef, Combination]]:
    """The predicate with leaves for the keys that its ANDs fix, and what each of those leaves asks. `keys`: the
    combined keys that some index has; `before`: what the leaves of other predicates ask, which stay as they are."""
    before = before or {}
    if not keys:
        return predicate, before
    combinations = dict(before)
    walked = _added(gathered_form(predicate), {}, sorted(keys), combinations, 0)
    return (walked, combinations) if len(combinations) > len(before) else (predicate, before)


_Fixed = Mapping[ColumnRef, tuple[Literal, ...]]


def _added(
    p: Predicate, above: _Fixed, keys: Sequence[Columns], combinations: dict[ColumnRef, Combination], depth: int
) -> Predicate:
    """`above`: what the ANDs around this part fix. What stands under NOT is left as it is."""
    if depth > _DEEPEST:
        return p
    match p:
        case Or():
            return Or(tuple(_added(part, above, keys, combinations, depth + 1) for part in p.parts))
        case And():
            here = dict(_fixed(p.parts))
            more = [_leaf(asked, combinations) for asked in _combinations(here, above, keys)]
            inside = {**above, **here}
            parts = [
                _added(part, inside, keys, combinations, depth + 1) if isinstance(part, Or) else part
                for part in p.parts
            ]
            return And((*parts, *more))
        case Comparison() | In():
            more = [_leaf(asked, combinations) for asked in _combinations(dict(_fixed((p,))), above, keys)]
            return And((p, *more)) if more else p
        case _:
            return p


def _fixed(parts: Sequence[Predicate]) -> Iterator[tuple[ColumnRef, tuple[Literal, ...]]]:
    for part in parts:
        match part:
            case Comparison(op=Op.EQ | Op.NULL_SAFE_EQ) if not part.value.is_null:
                yield part.column, (part.value,)
            case In() if values := tuple(value for value in part.values if not value.is_null):
                yield part.column, values


def _combinations(here: _Fixed, above: _Fixed, keys: Sequence[Columns]) -> Iterator[Combination]:
    """Yield a combination for each key whose columns are fixed here, wholly or together with those fixed above."""
    if not here:
        return
    both = {**above, **here}
    for key in keys:
        if all(column in both for column in key) and any(column in here for column in key):
            values = [both[column] for column in key]
            if prod(map(len, values)) <= MOST_VALUES:
                yield Combination(key, tuple(itertools.product(*values)))


def _leaf(asked: Combination, combinations: dict[ColumnRef, Combination]) -> IsNull:
    column = ColumnRef((_MARK, str(len(combinations))))
    combinations[column] = asked
    return IsNull(column)
