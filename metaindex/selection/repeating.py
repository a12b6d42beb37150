"""Which filters of a workload come again, and are answered by nothing?

Filters are the same by the key under which they would be remembered (`remembering/key.py`), so that what has none is
never told. Of the AND of several each part is looked at, too. One is told where some part of it leaves most of the
table to be read, by the table's own statistics, the indexes that there are and those that are chosen, and where most of
those files do not consist of matching rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

import numpy as np

from metaindex.expressions.errors import MetaIndexError
from metaindex.expressions.normalize import normalize
from metaindex.expressions.records import dataclass
from metaindex.expressions.references import columns, conjuncts, leaves
from metaindex.expressions.shown import one_line
from metaindex.expressions.tree import And, Constant, Leaf, Not, Opaque, Or, Predicate, fold
from metaindex.pruning.condition import predicate_of
from metaindex.querylog.texts import text_of
from metaindex.remembering.key import FilterMeaning
from metaindex.whatif.built import reads_with
from metaindex.whatif.copy import read_of
from metaindex.whatif.effect import Now
from metaindex.whatif.trial import Standing
from metaindex.workloads.shape import shown_predicate

from .asked import LEAST, TableAsked
from .askings import FilterAsking, asked_of, logged
from .choosing import Some
from .judging import TableCase
from .repeated import RepeatedFilter
from .unused import firsts

MOST_TOLD: Final = 10
_MOST_TRIED: Final = 40
"""Filters, and whole filters that they are parts of, that are asked of the table: those for which most was read."""
_MOST_PARTS: Final = 16
_HELPED: Final = 0.5
"""A filter that is spared this share of its bytes is answered, as where another layout is advised."""
_LONGEST: Final = 300
_CLOCK: Final = re.compile(r"\b(now|current_\w+|curdate|localtime\w*|getdate|sysdate|rand\w*|uuid)\b", re.IGNORECASE)
"""What has another value each time that it is asked."""


@dataclass(slots=True, eq=False)
class _Recurring:
    """A filter, and the askings that it is the whole of, or a part of."""

    predicate: Predicate
    hidden: bool
    several: list[tuple[FilterAsking, bool]] = field(default_factory=list)  # is it the whole?

    @property
    def size_bytes(self) -> float:
        return sum(float((asking.times * asking.size_bytes).sum()) for asking, _ in self.several)


def repeated_of(table: TableAsked, case: TableCase, some: Some) -> tuple[RepeatedFilter, ...]:
    """The filters for which most is read. `some`: the candidates that are chosen. None where they are remembered
    already, or cannot be."""
    if not table.may_remember or not len(case.weighing.snapshot.files):
        return ()
    askings = asked_of(case.weighing) if table.noted is None else logged(table.noted)
    looking = _Judged(table, case, some)
    met = _met(looking, askings)
    told: list[RepeatedFilter] = []
    for each in sorted(met, key=lambda each: -each.size_bytes)[:_MOST_TRIED]:
        if len(told) == MOST_TOLD:
            break
        each.several = [(asking, whole) for asking, whole in each.several if not looking.helped(asking)]
        if each.hidden or looking.unanswered(each.predicate):
            wholes = {looking.whole_key(asking) or id(asking) for asking, _ in each.several}
            repeated = _repeated(each, several=len(wholes) > 1, from_log=table.noted is not None)
            if repeated is None or repeated.size_bytes < LEAST * case.unindexed_bytes:
                continue
            if repeated.by_itself or looking.can_come_alone(each.predicate):
                told.append(repeated)
    return tuple(sorted(told, key=lambda each: (-each.size_bytes, each.filter)))


def _met(looking: _Judged, askings: Sequence[FilterAsking]) -> list[_Recurring]:
    """Those that may have come more than once."""
    met: dict[bytes, _Recurring] = {}
    for asking in askings:
        for key, predicate, is_whole in looking.filters(asking):
            met.setdefault(key, _Recurring(predicate, asking.hidden)).several.append((asking, is_whole))
    return [each for each in met.values() if sum(int(asking.times.sum()) for asking, _ in each.several) > 1]


def _repeated(met: _Recurring, *, several: bool, from_log: bool) -> RepeatedFilter | None:
    """`several`: is it part of several filters? Of one the whole is told."""
    if not met.several:
        return None
    askings = [asking for asking, _ in met.several]
    at, times, files, size_bytes, finds_out, spark = (
        np.concatenate([getattr(asking, name) for asking in askings])
        for name in ("at", "times", "files", "size_bytes", "finds_out", "spark")
    )
    whole = np.repeat([is_whole for _, is_whole in met.several], [len(asking.at) for asking in askings])
    order = np.lexsort((~whole, at))  # where nobody knows when, as if the whole filter came first
    times, files, size_bytes, spark = times[order].copy(), files[order], size_bytes[order], spark[order]
    every, by_spark = int(times.sum()), int(times[spark].sum())
    finds_out = finds_out[order]
    first = np.flatnonzero(finds_out & whole[order])
    if len(first):
        times[: first[0]] = 0
        times[first[0]] -= 1
    elif not several or not finds_out.any():
        return None  # no scan that was asked would find it out
    times[spark] = 0
    again = int(times.sum())
    if again < (1 if len(first) else 2):
        return None
    return RepeatedFilter(
        filter=_shown(met.predicate),
        times=every,
        again=again,
        files=round(float((times * files).sum())),
        size_bytes=round(float((times * size_bytes).sum())),
        by_itself=bool(len(first)),
        by_spark=by_spark if from_log else None,
        hidden=met.hidden,
    )


def _shown(predicate: Predicate) -> str:
    text = one_line(" ".join(shown_predicate(predicate).split()))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


class _Judged:
    """At one table, with what there is and what is chosen."""

    def __init__(self, table: TableAsked, case: TableCase, some: Some) -> None:
        snapshot = case.weighing.snapshot
        self._case, self._sight, self._schema = case, case.weighing.sight, snapshot.schema
        self._zone = table.asked.time_zone
        self._meaning = FilterMeaning(snapshot.table_uuid, snapshot.format, snapshot.schema, self._zone)
        self._alone = Standing(snapshot)
        self._indexed = bool(case.weighing.hand.standing.indexes)
        chosen = [case.built[number] for number in sorted(some)]
        self._chosen = [built for built in chosen if not built.copies]
        built = [index for built in case.built for indexes in built.indexes for index in indexes]
        self._with_all = case.weighing.hand.standing.with_more(*built)
        self._copies = [copy for built in chosen for copy in built.copies]
        self._names = {leaf.parts[0].lower() for leaf in snapshot.schema.leaves()}
        # Of queries that were given nobody knows whether Spark asks, which reads such an index in the table's place.
        standing = case.weighing.hand.standing.indexes if table.noted is None else ()
        self._served = {name for index in standing for name in firsts(index)}
        self._helped: dict[int, bool] = {}
        self._keys: dict[int, list[tuple[bytes, Predicate, bool]]] = {}

    def filters(self, asking: FilterAsking) -> list[tuple[bytes, Predicate, bool]]:
        """The whole filter and the parts of its AND that could be remembered, by their keys: is it the whole?"""
        known = self._keys.get(id(asking))
        if known is None:
            known = self._keys[id(asking)] = list(self._filters(asking))
        return known

    def whole_key(self, asking: FilterAsking) -> bytes | None:
        return next((key for key, _, whole in self.filters(asking) if whole), None)

    def _filters(self, asking: FilterAsking) -> Iterator[tuple[bytes, Predicate, bool]]:
        parts = conjuncts(asking.predicate)
        if not 0 < len(parts) <= _MOST_PARTS:
            return
        known = [bound for part in parts if (bound := self._bound(part, asking.hidden)) is not None]
        normal = normalize(And(tuple(known)))
        whole = self._key(normal, asking.hidden) if known and len(known) == len(parts) else None
        if whole is not None:
            yield whole, normal, True
        # What is bound may be an AND itself: parts are looked for as the whole has them.
        keys = {key: part for part in conjuncts(normal) if (key := self._key(part, asking.hidden)) is not None}
        yield from ((key, part, False) for key, part in keys.items() if key != whole)

    def _bound(self, part: Predicate, hidden: bool) -> Predicate | None:
        """With what the tree cannot say read anew, now that the columns are known. None for what nobody knows, or what
        is another filter each time."""
        if hidden:
            named = all(ref.parts[0].lower() in self._names for ref in columns(part))
            return part if named and columns(part) else None
        if any(isinstance(leaf, Opaque) and _CLOCK.search(leaf.text) for leaf in leaves(part)):
            return None

        def of_leaf(leaf: Leaf) -> Predicate:
            if not isinstance(leaf, Opaque) or leaf.scalar is not None:
                return leaf
            return predicate_of(leaf.text, self._schema, self._zone)

        try:
            read = fold(part, of_leaf, Not, lambda parts: And(tuple(parts)), lambda parts: Or(tuple(parts)))
            bound = normalize(predicate_of(read, self._schema, self._zone))
        except MetaIndexError:
            return None
        return None if isinstance(bound, Constant) else bound

    def _key(self, predicate: Predicate, hidden: bool) -> bytes | None:
        if hidden:
            return b"hidden " + text_of(predicate).encode()
        return self._meaning.key(predicate)

    def can_come_alone(self, predicate: Predicate) -> bool:
        """Would a scan with its text as the whole filter find it out? Of `c LIKE 'a%b'` the table's types make an AND
        with a prefix: such a scan says nothing of either part."""
        try:
            read = normalize(predicate_of(text_of(predicate), self._schema, self._zone))
        except MetaIndexError:
            return False
        return self._meaning.key(read) == self._meaning.key(predicate)

    def helped(self, asking: FilterAsking) -> bool:
        """Is it answered by an index as a whole?"""
        known = self._helped.get(id(asking))
        if known is None:
            enough = len(self._helped) >= _MOST_TRIED
            known = self._helped[id(asking)] = not asking.hidden and (enough or self._is_helped(asking))
        return known

    def _is_helped(self, asking: FilterAsking) -> bool:
        try:
            tree = predicate_of(asking.predicate, self._schema, self._zone)
            return self._is_answered(tree, asking.needs)
        except MetaIndexError:
            return True  # nothing is known of it

    def _is_answered(self, tree: Predicate, needs: frozenset[tuple[str, ...]]) -> bool:
        now = self._now(tree)
        size = now.reads.size_bytes.expected
        if self._indexed:
            kept = self._alone.kept(self._alone.answer(tree))
            if size <= (1 - _HELPED) * float(self._sight.sizes[kept].sum()):
                return True
        if not self._served.isdisjoint(ref.name.lower() for ref in columns(tree)):
            return True
        if any(read_of(self._sight, now, needs, copy).reads is not None for copy in self._copies):
            return True
        then = reads_with(self._sight, now, self._chosen) if self._chosen else now.reads
        return then.size_bytes.expected <= (1 - _HELPED) * size

    def unanswered(self, predicate: Predicate) -> bool:
        """Does some part of it leave most of the table to be read, in files of which not every row matches?"""
        try:
            return any(self._reads_most(part) for part in conjuncts(predicate))
        except MetaIndexError:
            return False

    def _reads_most(self, part: Predicate) -> bool:
        least = _HELPED * float(self._sight.sizes.sum())
        size = self._now(part).reads.size_bytes.expected
        if size < least or self._is_answered(part, frozenset()):
            return False
        # The candidates know of files that were looked at for them, as footers do.
        return size - self._with_all.answer(part).certain.size_bytes >= least

    def _now(self, tree: Predicate) -> Now:
        known = self._case.weighing.nows.get(tree)
        return Now.of(tree, self._sight) if known is None else known
