"""Candidates among covering indexes to stand for a scan, and the reasons against the others.

The rules are those of the paper. An index may stand for a scan where it has every column that the query needs of it,
and a filter names its leading column (along a curve: an indexed one), or both sides of an equi-join are covered by
indexes on the join's keys, or a group's keys hold the columns of its buckets.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from metaindex.advisor import Offer, Restriction
from metaindex.core import BoundedCache
from metaindex.expressions import ColumnRef
from metaindex.formats import At, Resolved, Schema, Snapshot, Version
from metaindex.index import KINDS, OpenIndex, ServedKey, StoredPart
from metaindex.table import Table, handle_of

from . import scans, seen_parts
from .reasons import Reason
from .replaced import replaced
from .request import SparkScan
from .serving import Serving, serving, usable_runs
from .settings import RuleConfig

_held: Final[BoundedCache[tuple[object, ...], Serving]] = BoundedCache(16)
"""What indexes serve of versions, of all sessions: it follows from immutable things."""

_RunParts: TypeAlias = Sequence[tuple[int, StoredPart]]
"""With the numbers of their runs."""


@dataclass(frozen=True)
class CoverCandidate:
    """An index that may stand for a scan. `columns`: the scan's names of what it needs, and the index's."""

    offer: Offer
    serving: Serving
    key: ServedKey
    columns: Mapping[str, str]
    bucketed: tuple[str, ...]  # the scan's names of the bucket columns, where it needs them all
    parts: tuple[tuple[int, StoredPart], ...]  # that are to be read, with the numbers of their runs

    @property
    def name(self) -> str:
        return self.serving.index.name


@dataclass(slots=True)
class Offered:
    """The candidates for one scan, and the reason against every other covering index."""

    candidates: list[CoverCandidate] = field(default_factory=list)
    refused: dict[str, Reason] = field(default_factory=dict)
    damaged: dict[str, Exception] = field(default_factory=dict)


def offered(
    table: Table,
    scan: SparkScan,
    rule: RuleConfig,
    kept_bytes: int | None,
    broken: Collection[str] = (),
    cores: int | None = None,
) -> Offered:
    """Return the table's covering indexes for one scan of a request. `kept_bytes`: of the files that data skipping
    leaves, if it skips some; `broken`: runs that Spark could not read; `cores`: that work on a query. An index that
    raises when it is read is left out."""
    out = Offered()
    opened = [index for index in handle_of(table).open_indexes(None)[0] if rule.allows(index.name)]
    for index in opened:
        keys = {each.key.key_id: each for each in index.served_keys()}
        for key in keys.values():
            try:
                offer = _candidate(table, key, scan, rule, kept_bytes, broken, cores)
            except Exception as error:  # noqa: BLE001 - the other indexes are still offered
                out.damaged[index.name] = error
                offer = Reason.NOT_USABLE
            if isinstance(offer, Reason):
                out.refused.setdefault(index.name, offer)
            else:
                out.candidates.append(offer)
    return out


def as_they_are(candidate: CoverCandidate, root: str, rule: RuleConfig) -> CoverCandidate | Reason:
    """An index of plain files without the files that are others now than those that it has the rows of."""
    gone = replaced(candidate.serving.files, root)
    if not gone.any():
        return candidate
    served = candidate.serving.without(gone)
    if not served.runs:
        return Reason.NOTHING_SERVED
    left = {each.key.number for each in served.runs}
    stale = _stale(served, rule)
    return stale or replace(candidate, serving=served, parts=tuple(part for part in candidate.parts if part[0] in left))


def _by_run(parts: Sequence[tuple[int, StoredPart]]) -> dict[int, list[StoredPart]]:
    by_run: dict[int, list[StoredPart]] = {}
    for number, part in parts:
        by_run.setdefault(number, []).append(part)
    return by_run


def _rows_of_buckets(parts: Sequence[tuple[int, StoredPart]]) -> list[int]:
    """Return the rows of each bucket that has any."""
    rows_of_bucket: dict[int | None, int] = {}
    for _, part in parts:
        rows_of_bucket[part.bucket] = rows_of_bucket.get(part.bucket, 0) + part.info.rows
    return list(rows_of_bucket.values())


def _candidate(
    table: Table,
    key: ServedKey,
    scan: SparkScan,
    rule: RuleConfig,
    kept_bytes: int | None,
    broken: Collection[str],
    cores: int | None,
) -> CoverCandidate | Reason:
    use = _use(table, key, scan)
    if isinstance(use, Reason):
        return use
    served = _served(key, scan, use)
    if isinstance(served, Reason):
        return served
    if not served.runs:
        return Reason.NOTHING_SERVED
    stale = _stale(served, rule)
    if stale is not None:
        return stale
    if any(run.key.run.run in broken for run in served.runs):
        return Reason.NOT_USABLE
    every, parts = _parts(use, scan, served)
    offer = _offer(use, scan, served, every, parts, kept_bytes, cores or Offer.CORES)
    return CoverCandidate(offer, served, key, use.columns, offer.order, tuple(parts))


@dataclass(frozen=True, slots=True)
class _Use:
    """The use of an index that has a scan's columns. `columns`: the scan's names, and the index's; `inner`: see
    `usable_runs`; `indexed`: the index's names; `asked`: restrictions by the filters; `of_use`: see `ranking.Offer`."""

    key: ServedKey
    at: _AtVersion
    columns: Mapping[str, str]
    inner: Mapping[str, str]
    indexed: Sequence[str]
    asked: Mapping[str, Restriction]
    wants: scans.Wants
    of_use: bool

    @property
    def order(self) -> tuple[str, ...]:
        """Return the scan's names of the bucket columns, if it needs them all."""
        names = {stable: name for name, stable in self.columns.items()}
        return tuple(names[stable] for stable in self.indexed) if set(self.indexed) <= set(names) else ()


def _use(table: Table, key: ServedKey, scan: SparkScan) -> _Use | Reason:
    layout, stored = key.layout, key.key.columns
    if len(scan.needs) > len(stored):
        return Reason.NOT_COVERED
    at = _version(table, key.index, scan)
    if at is None:
        return Reason.NO_VERSION
    if not scans.of_this_table(scan, at.named):
        return Reason.OTHER_TABLE
    columns = scans.columns(at.schema, {column.stable for column in stored}, scan)
    if columns is None:
        return Reason.NOT_COVERED
    indexed = [column.stable for column in stored[: layout.indexed]]
    asked = scans.asked(at.schema, scan)
    wants = scans.wants(scan, columns, indexed) if layout.buckets else scans.Wants()
    first = indexed[0] in asked or (layout.bounded > 1 and scans.asks_of(at.schema, scan, indexed[: layout.bounded]))
    of_use = first or scans.for_columns_alone(scan)
    if not of_use and not wants.all:
        return Reason.NOT_ASKED
    if not scan.harmless:
        return Reason.MAY_FAIL
    if any(need.altered for need in scan.needs):
        return Reason.OTHER_TYPES
    inner = scans.inner(at.schema, scan, columns)
    if inner is None:
        return Reason.OTHER_FIELDS
    return _Use(key, at, columns, inner, indexed, asked, wants, of_use)


def _parts(use: _Use, scan: SparkScan, served: Serving) -> tuple[_RunParts, _RunParts]:
    """Return all served parts, and those to be read, which exist."""
    every = [(run.key.number, part) for run in served.runs for part in run.key.parts()]
    parts = every if use.key.layout.buckets else _in_range(every, use, scan)
    there, wanted = _by_run(every), _by_run(parts)
    for run in served.runs:
        seen_parts.check(run.key, there.get(run.key.number, []), wanted.get(run.key.number, []))
    return every, parts


def _offer(
    use: _Use, scan: SparkScan, served: Serving, every: _RunParts, parts: _RunParts, kept_bytes: int | None, cores: int
) -> Offer:
    wants, layout = use.wants, use.key.layout
    buckets = layout.buckets
    rows = sum(part.info.rows for _, part in every)
    share = Restriction.share_read(use.asked, use.indexed, buckets, layout.bounded, rows)
    if len(parts) < len(every):
        share = sum(part.info.size_bytes for _, part in parts) / sum(part.info.size_bytes for _, part in every)
    first = use.indexed[0]
    in_table = {first: int(Offer.KEY_SHARE * rows * use.key.value_bytes(first))} if use.key.packs_sorted else {}
    source, read, lacking = _prices(served, list(use.columns.values()), in_table, scan, kept_bytes, share)
    every_row = sum(part.info.rows for _, part in parts)
    few = wants.same and served.keys and every_row
    pruned = Offer.PRUNED if scan.pruned else 1.0
    of_buckets = _rows_of_buckets(parts)
    uneven, hot = Offer.bucket_costs(use.asked, use.indexed, of_buckets, buckets, read, cores, spread=wants.spread)
    return Offer(
        served.index.name,
        source * pruned,
        read - lacking * (1 - pruned),
        use.of_use,
        wants.all,
        buckets,
        use.order if buckets else (),
        lacking * pruned,
        0 if served.masked else served.deleted_rows,
        sent=Offer.share_sent(served.keys, every_row, served.total_bytes) if few else 1.0,
        left=min(1.0, served.keys / every_row) if few else 1.0,
        uneven=uneven,
        hot=hot,
        grouped_first=wants.after,
        unsorted=wants.unsorted,
        pruned=pruned,
    )


@dataclass(frozen=True, slots=True)
class _AtVersion:
    """The version that a scan reads, and its columns. `named`: with the table's id. `loaded`: its snapshot, where the
    index has not recorded it."""

    resolved: Resolved
    named: Version
    loaded: Snapshot | None
    schema: Schema


def _version(table: Table, index: OpenIndex, scan: SparkScan) -> _AtVersion | None:
    """Return the version that Spark has pinned; for plain files the newest listing that the index recorded: Spark's own
    list is compared with it file by file. None if there is none yet."""
    newest = index.versions.newest()
    pinned = newest.version.id if newest is not None and scan.plain else scan.source.version
    if newest is None or pinned is None:
        return None
    at = At.asked(pinned)
    resolved = handle_of(table).resolved(at, [index])
    recorded = index.versions.find(resolved.version)
    if recorded is not None:
        return _AtVersion(resolved, recorded.record.version, None, recorded.schema)
    loaded = handle_of(table).loaded(resolved)
    return _AtVersion(resolved, loaded.version, loaded, loaded.schema)


def _served(key: ServedKey, scan: SparkScan, use: _Use) -> Serving | Reason:
    """Return what the index serves of the version, by runs that have the columns as Spark reads them."""
    types, at = {use.columns[need.name]: need.type for need in scan.needs}, use.at
    entry = key.index.entry
    said = str((sorted(types.items()), sorted(use.inner.items())))
    name = (entry.index_uuid, entry.id, entry.nonce, key.key.key_id, at.resolved.version, said)
    held = _held.find(name)
    if held is not None:
        return held
    runs = usable_runs(key, types, use.inner)
    if not runs:
        return Reason.OTHER_FIELDS if usable_runs(key, types, {}) else Reason.OTHER_TYPES
    return _held.keep(name, serving(key.index, runs, at.resolved, at.loaded))


def _in_range(parts: Sequence[tuple[int, StoredPart]], use: _Use, scan: SparkScan) -> list[tuple[int, StoredPart]]:
    """Return the parts of an index without buckets that the filters leave."""
    if not scan.conditions:
        return list(parts)
    names = {ColumnRef(path): stable for path, stable in scans.named(use.at.schema, scan).items()}
    key = use.key.key
    left = KINDS.served_rows(key).parts_left(key, [part for _, part in parts], scan.conditions, names)
    kept = {part.path for part in left}
    return [(number, part) for number, part in parts if part.path in kept] or list(parts[:1])


def _stale(served: Serving, rule: RuleConfig) -> Reason | None:
    """The limits of a hybrid scan, in the paper's words: appended bytes in those of the table, deleted bytes in those
    of the index."""
    appended = served.total_bytes - served.served_bytes
    if not rule.hybrid_scan and (not served.whole or served.dead_bytes or served.deleted):
        return Reason.NO_HYBRID_SCAN
    if appended > rule.max_appended_ratio * served.total_bytes:
        return Reason.TOO_MUCH_APPENDED
    if served.dead_bytes > rule.max_deleted_ratio * (served.dead_bytes + served.served_bytes):
        return Reason.TOO_MUCH_DELETED
    return None


def _prices(
    served: Serving,
    stables: Sequence[str],
    in_table: Mapping[str, int],
    scan: SparkScan,
    kept_bytes: int | None,
    share: float,
) -> tuple[float, float, float]:
    """Return the prices of the scan, of the index with the files that it lacks, and of these alone, for the needed
    columns. `in_table`: what columns take there at least, which are smaller in the index."""
    sizes = served.column_bytes
    needed = float(sum(sizes.get(stable, 0) for stable in stables))
    there = float(sum(max(sizes.get(stable, 0), in_table.get(stable, 0)) for stable in stables))
    in_index = max(1, served.served_bytes + served.dead_bytes)
    every = served.total_bytes if scan.text else there * served.total_bytes / in_index
    listed = served.total_bytes if scan.bytes is None else scan.bytes
    kept = min(listed, served.total_bytes if kept_bytes is None else kept_bytes)
    source = every * kept / max(1, served.total_bytes)
    lineage: tuple[str, ...] = (
        (StoredPart.ORDINAL,) if not served.deleted and any(len(run.dead) for run in served.runs) else ()
    )
    lineage = (StoredPart.ORDINAL, StoredPart.ROW) if served.deleted else lineage
    read = share * (needed + sum(sizes.get(column, 0) for column in lineage))
    lacking = every * min(served.total_bytes - served.served_bytes, kept) / max(1, served.total_bytes)
    return source, read + lacking, lacking
