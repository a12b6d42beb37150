"""The needs of a table's indexes, and what upkeep is worth, found cheaply by latest entries and the table's log."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from metaindex.advisor import computed_savings
from metaindex.core import DamagedIndexError, MetaIndexError
from metaindex.formats import At, Version
from metaindex.index import IndexLogEntry, OpenIndex, Staleness, Target
from metaindex.ops.hooks.keep import IndexKey, in_namespaces, is_left_over, living_or_why, stands_at, unusable
from metaindex.query import TableQueryLog
from metaindex.table import Table, handle_of

from .asking import LakePlace, Problem

_DAY_MS: Final = 86_400_000
_SINCE_DAYS: Final = 30
_MOST_ROWS: Final = 100_000


@dataclass(frozen=True, slots=True)
class UpkeepNeed:
    """An index that is behind; of one that is not weighed no more is known. `new_bytes`: of files that came;
    `cost_bytes`: these, and what a refresh of so many writes by what the index takes now; `spared_bytes_a_day`: what
    noted queries of the last 30 days would be spared of the files that came, None if none is noted; `stale_share`: of
    the bytes of the table."""

    place: LakePlace
    namespace: str | None
    index: str
    new_bytes: int = 0
    cost_bytes: float = 0.0
    spared_bytes_a_day: float | None = None
    stale_share: float = 0.0

    @property
    def key(self) -> IndexKey:
        return self.namespace, self.index

    @property
    def rank(self) -> tuple[float, float]:
        """Return the rank, greatest first: by what is spared a day for a byte of upkeep, or else by staleness."""
        return (self.spared_bytes_a_day or 0.0) / max(self.cost_bytes, 1.0), self.stale_share


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as it was asked. `problem`: why it, or the list of its indexes, cannot be; `indexes`: that are followed;
    `damaged`: those of them that cannot be kept fresh, or that no query can use, and why; `sound`: entries of which no
    more need be looked at; `gone`: it is no table any more; `names`: of all its indexes."""

    version: str = ""
    indexes: int = 0
    needs: tuple[UpkeepNeed, ...] = ()
    damaged: tuple[tuple[IndexKey, str], ...] = ()
    sound: frozenset[tuple[IndexKey, int]] = frozenset()
    problem: str = ""
    seconds: float = 0.0
    gone: bool = False
    names: frozenset[str] = frozenset()


def needs_of(
    place: LakePlace,
    only: Collection[str] | None,
    sound: Collection[tuple[IndexKey, int]] = (),
    *,
    weigh: bool = True,
) -> TableState:
    """Return the needs of a table's indexes; raises nothing. `sound`: the previous answer; `weigh`: compute what a need
    is worth? That takes the table's files and its query log."""
    started = time.perf_counter()
    answer = place.answer(lambda: _asked(place, only, sound, weigh))
    state = TableState(problem=answer.why) if isinstance(answer, Problem) else answer or TableState(gone=True)
    return replace(state, seconds=time.perf_counter() - started)


def _asked(
    place: LakePlace, only: Collection[str] | None, sound: Collection[tuple[IndexKey, int]], weigh: bool
) -> TableState:
    table = place.open()
    handle = handle_of(table)
    there = [(member, name, entry) for member in in_namespaces(table) for name, entry in living_or_why(member)]
    names = frozenset(name for _, name, _ in there)
    members = [each for each in there if only is None or each[1] in only]
    if not members and weigh:  # of a table that is named its version is told all the same
        return TableState(names=names)
    version = handle.table_format.resolve(handle.ref, At())
    needs: list[UpkeepNeed] = []
    damaged: list[tuple[IndexKey, str]] = []
    looked_at = set()
    for member, name, entry in members:
        key = (member.config.namespace, name)
        if isinstance(entry, str):
            damaged.append((key, entry))
            continue
        # A text file means what its options make of it: so does a version of such files.
        built = Table(handle_of(member).as_built(entry))
        own = handle_of(built)
        now = version if own.ref is handle.ref else own.table_format.resolve(own.ref, At())
        try:
            if not stands_at(built, name, entry, now) or is_left_over(built, name, entry):
                need = _need(place, built, name, entry, now) if weigh else UpkeepNeed(place, key[0], name)
                needs.append(need)
                continue
            problem = "" if (key, entry.id) in sound else unusable(built, name, entry)
        except DamagedIndexError as error:  # the other indexes are brought up
            problem = str(error)
        if problem:
            damaged.append((key, problem))
        else:
            looked_at.add((key, entry.id))
    return TableState(version.id, len(members), tuple(needs), tuple(damaged), frozenset(looked_at), names=names)


def _need(place: LakePlace, table: Table, name: str, entry: IndexLogEntry, version: Version) -> UpkeepNeed:
    handle = handle_of(table)
    index = OpenIndex.of(name, entry, handle.log(name).storage)
    late = Staleness.of(index, Target(handle.table_format, handle.ref, At.of(version), version))
    newest = index.versions.newest()
    size = newest.size_bytes if newest is not None else 0
    stored = sum(run.size_bytes for run in entry.content.runs)
    written = stored * late.new_bytes / size if size else 0.0
    return UpkeepNeed(
        place,
        table.config.namespace,
        name,
        late.new_bytes,
        late.new_bytes + written,
        _spared(table, name, late.new_bytes),
        (late.new_bytes + late.gone_bytes) / max(size + late.new_bytes, 1),
    )


def _spared(table: Table, name: str, new_bytes: int) -> float | None:
    """Queries a day that the index helps, times what it leaves out of what these would read of the files that came."""
    handle = handle_of(table)
    try:
        queries = handle.made(TableQueryLog).read(dt.timedelta(days=_SINCE_DAYS), _MOST_ROWS)
        if not queries.rows.num_rows:
            return None
        told = computed_savings(handle.path, queries, (), {})
        spared = next((each.spared for each in told.indexes if each.name == name), None)
    except MetaIndexError:
        return None  # it is told where savings are asked for; freshness does not hang on it
    if spared is None:
        return 0.0
    read = spared.bytes_read + spared.bytes_left_out
    return spared.helped / _SINCE_DAYS * new_bytes * (spared.bytes_left_out / read if read else 0.0)
