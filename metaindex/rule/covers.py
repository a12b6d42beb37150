"""Covering indexes in place of scans: which may stand for which scan, which of them the ranker takes, and what the optimizer's rule is told of them.

The rules are those of the paper. An index may stand for a scan where it has every column that the query needs of it, and a filter names its leading column, or both sides of an equi-join are covered by
indexes on the join's keys, or a group's keys hold the columns of its buckets.
"""

from __future__ import annotations

import base64
import gzip
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expressions.engines.spark_json import from_spark_json
from expressions.references import conjuncts
from expressions.tree import ColumnRef
from formats.model import FileTable, Leaf, Schema, Snapshot
from formats.protocol import Resolved
from metaindex.asked import at_version
from metaindex.kinds.covering.parts import StoredPart, stored_parts
from metaindex.kinds.covering.plan import ORDINAL, PARTITION, ROW, CoveringLayout
from metaindex.log.entry import CoveredKey
from metaindex.pruning.open_index import OpenIndex
from metaindex.pruning.result import human_bytes
from metaindex.pruning.serving import Serving, serving, usable_runs

from .imagined import width
from .range_parts import parts_left
from .ranking import Asked, JoinOf, Offer, asked_of, choose, share_read
from .reasons import Reason
from .settings import RuleConfig

if TYPE_CHECKING:
    from metaindex.api import Table

_HELD: Final = 16
_held: OrderedDict[tuple[object, ...], Serving] = OrderedDict()
_held_lock = threading.Lock()
"""What indexes serve of versions, of all sessions: it follows from immutable things."""


@dataclass(frozen=True)
class Candidate:
    """An index that may stand for a scan. `columns`: the scan's names of what it needs, and the index's."""

    offer: Offer
    serving: Serving
    layout: CoveringLayout
    columns: Mapping[str, str]
    bucketed: tuple[str, ...]  # the scan's names of the bucket columns, where it needs them all
    parts: tuple[tuple[int, StoredPart], ...]  # that are to be read, with the numbers of their runs

    @property
    def name(self) -> str:
        return self.serving.index.name


@dataclass(frozen=True)
class Cover:
    """The index that stands for a scan. `partitioned`: a join or a group uses its buckets. `read_bytes`, `source_bytes`: predicted, of the needed columns."""

    candidate: Candidate
    partitioned: bool
    bucket_spec: bool

    @property
    def index(self) -> str:
        return self.candidate.name

    @property
    def read_bytes(self) -> int:
        return int(self.candidate.offer.read)

    @property
    def source_bytes(self) -> int:
        return int(self.candidate.offer.source)

    def __str__(self) -> str:
        served = self.candidate.serving
        lacks = served.total_files - len(served.files)
        parts = [
            f"index {self.index!r} stands for it at version {served.version}: about {human_bytes(self.read_bytes)} of its columns in place of {human_bytes(self.source_bytes)}"
        ]
        if self.partitioned:
            parts.append(f"in {self.candidate.layout.buckets} buckets of {', '.join(self.candidate.bucketed)}")
        if lacks:
            parts.append(f"{lacks:,} files that it lacks are read from the table")
        if served.deleted_rows:
            parts.append(f"{served.deleted_rows:,} deleted rows are left out")
        return "; ".join(parts)

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        served = self.candidate.serving
        return {
            "index": self.index,
            "version": str(served.version),
            "read_bytes": self.read_bytes,
            "source_bytes": self.source_bytes,
            "partitioned": self.partitioned,
            "buckets": self.candidate.layout.buckets,
            "files_served": len(served.files),
            "files_lacking": served.total_files - len(served.files),
            "deleted_rows": served.deleted_rows,
        }


@dataclass(slots=True)
class Offered:
    """What there is for one scan: candidates, and of every other covering index why not."""

    candidates: list[Candidate] = field(default_factory=list)
    refused: dict[str, Reason] = field(default_factory=dict)


def offered(table: Table, scan: Mapping[str, Any], rule: RuleConfig, kept_bytes: int | None) -> Offered:
    """The table's covering indexes for one scan of a request. `kept_bytes`: of the files that data skipping leaves, where it leaves some out. Raises what reading an index raises."""
    out = Offered()
    opened = [index for index in table._open_indexes(None)[0] if rule.allows(index.name)]
    for index in opened:
        keys = {key.key_id: key for run in index.entry.content.runs for key in run.keys if key.kind == PARTITION}
        for key in keys.values():
            found = _candidate(table, index, key, scan, rule, kept_bytes)
            if isinstance(found, Reason):
                out.refused.setdefault(index.name, found)
            else:
                out.candidates.append(found)
    return out


def _candidate(
    table: Table, index: OpenIndex, key: CoveredKey, scan: Mapping[str, Any], rule: RuleConfig, kept_bytes: int | None
) -> Candidate | Reason:
    layout = CoveringLayout.of(key)
    if len(scan["needs"]) > len(key.columns):
        return Reason.NOT_COVERED
    at = _version(table, index, scan)
    if at is None:
        return Reason.NO_VERSION
    columns = _columns(at.schema, key, scan)
    if columns is None:
        return Reason.NOT_COVERED
    indexed = [one.stable for one in key.columns[: layout.indexed]]
    asked = _asked(at.schema, scan)
    wants = _wants(scan, columns, indexed) if layout.buckets else frozenset()
    if indexed[0] not in asked and not wants:
        return Reason.NOT_ASKED
    if not scan["harmless"]:
        return Reason.MAY_FAIL
    if any(one.get("altered") for one in scan["needs"]):
        return Reason.OTHER_TYPES
    served = _served(index, key, scan, at, columns)
    if served is None:
        return Reason.OTHER_TYPES
    if not served.runs:
        return Reason.NOTHING_SERVED
    stale = _stale(served, rule)
    if stale is not None:
        return stale
    every = [(one.number, part) for one in served.runs for part in stored_parts(index.reader(one.run), one.key)]
    parts = every if layout.buckets else _in_range(every, at.schema, layout, indexed[0], scan)
    share = share_read(asked, indexed, layout.buckets)
    if len(parts) < len(every):
        share = sum(part.info.size_bytes for _, part in parts) / sum(part.info.size_bytes for _, part in every)
    names = {stable: name for name, stable in columns.items()}
    order = tuple(names[one] for one in indexed) if set(indexed) <= set(names) and layout.buckets else ()
    source, read = _prices(served, list(columns.values()), scan, kept_bytes, share)
    offer = Offer(index.name, source, read, indexed[0] in asked, wants, layout.buckets, order)
    return Candidate(offer, served, layout, columns, order, tuple(parts))


@dataclass(frozen=True, slots=True)
class _At:
    """The version that a scan reads, and its columns. `loaded`: its snapshot, where the index has not recorded it."""

    resolved: Resolved
    loaded: Snapshot | None
    schema: Schema


def _version(table: Table, index: OpenIndex, scan: Mapping[str, Any]) -> _At | None:
    """The one that Spark has pinned; of plain files the newest listing that the index recorded: Spark's own list is compared with it file by file. None where there is none yet."""
    newest = index.versions.newest()
    if newest is None or scan.get("version") == "null":
        return None
    at = at_version(newest.version.id if scan["kind"] == "files" else scan["version"], None)
    resolved = table._resolved(at, [index])
    recorded = index.versions.find(resolved.version)
    if recorded is not None:
        return _At(resolved, None, recorded.schema)
    loaded = table._loaded(resolved)
    return _At(resolved, loaded, loaded.schema)


def _served(
    index: OpenIndex, key: CoveredKey, scan: Mapping[str, Any], at: _At, columns: Mapping[str, str]
) -> Serving | None:
    """What the index serves of the version; None where no run has the columns as the types that Spark reads them with."""
    types = {columns[one["name"]]: one["type"] for one in scan["needs"]}
    entry = index.entry
    name = (entry.index_uuid, entry.id, entry.nonce, key.key_id, at.resolved.version, str(sorted(types.items())))
    with _held_lock:
        if name in _held:
            _held.move_to_end(name)
            return _held[name]
    runs = usable_runs(index, key.key_id, types)
    if not runs:
        return None
    found = serving(index, runs, at.resolved, at.loaded)
    with _held_lock:
        _held[name] = found
        while len(_held) > _HELD:
            _held.popitem(last=False)
    return found


def _in_range(
    parts: Sequence[tuple[int, StoredPart]],
    schema: Schema,
    layout: CoveringLayout,
    leading: str,
    scan: Mapping[str, Any],
) -> list[tuple[int, StoredPart]]:
    """Of an index in ranges, the parts that the filters leave."""
    names: dict[str, tuple[str, ...]] = {stable: (name,) for name, stable in _stables(schema, scan).items()}
    names |= {one.stable: one.parts for one in schema.leaves() if one.stable not in names}
    conditions = [part for one in scan["filters"] for part in conjuncts(from_spark_json(one))]
    if leading not in names or not conditions:
        return list(parts)
    left = parts_left([part for _, part in parts], conditions, ColumnRef(names[leading]), layout.stored.field(0).type)
    kept = {part.path for part in left}
    return [(number, part) for number, part in parts if part.path in kept] or list(parts[:1])


def _stables(schema: Schema, scan: Mapping[str, Any]) -> dict[str, str]:
    """The stable name of each column by its name. Iceberg reads a version with the names of today, so its scan says which column is which."""
    if "ids" in scan:
        return {name: f"id:{number}" for name, number in scan["ids"].items()}
    return {one.name: Leaf((one,)).stable for one in schema.fields}


def _columns(schema: Schema, key: CoveredKey, scan: Mapping[str, Any]) -> dict[str, str] | None:
    """Of each column (or field of a struct, whose path is said then) that the query needs, by its name, the index's; None where one is not there."""
    stables = _stables(schema, scan)
    inside = (
        {leaf.parts: leaf.stable for leaf in schema.leaves()} if any("path" in one for one in scan["needs"]) else {}
    )
    stored = {one.stable for one in key.columns}
    found = {}
    for one in scan["needs"]:
        if "id" in one:
            found[one["name"]] = f"id:{one['id']}"
        else:
            found[one["name"]] = inside.get(tuple(one["path"]), "") if "path" in one else stables.get(one["name"], "")
    every = set(found.values())
    return found if every <= stored and len(every) == len(scan["needs"]) else None


def _asked(schema: Schema, scan: Mapping[str, Any]) -> dict[str, Asked]:
    """What the filters say, by stable name. Spark writes a column as the query does; where cases differ the only column that fits is meant."""
    stables = {leaf.parts: leaf.stable for leaf in schema.leaves()}
    stables |= {(name,): stable for name, stable in _stables(schema, scan).items()}
    folded: dict[tuple[str, ...], set[str]] = {}
    for parts, stable in stables.items():
        folded.setdefault(tuple(part.lower() for part in parts), set()).add(stable)
    conditions = [part for one in scan["filters"] for part in conjuncts(from_spark_json(one))]
    found = {}
    for ref, asked in asked_of(conditions).items():
        fits = folded.get(tuple(part.lower() for part in ref.parts), set())
        if ref.parts in stables or len(fits) == 1:
            found[stables.get(ref.parts, next(iter(fits)))] = asked
    return found


def _wants(scan: Mapping[str, Any], columns: Mapping[str, str], indexed: Sequence[str]) -> frozenset[Any]:
    """The joins whose keys are the indexed columns, and None for a group whose keys hold them."""
    found: set[Any] = set()
    for want in scan["wants"]:
        if "group" in want:
            if set(indexed) <= {columns.get(name) for name in want["group"]}:
                found.add(None)
        elif not want["small"] and sorted(columns.get(name, "") for name in want["keys"]) == sorted(indexed):
            found.add((want["join"], want["side"]))
    return frozenset(found)


def _stale(served: Serving, rule: RuleConfig) -> Reason | None:
    """The limits of a hybrid scan, in the paper's words: appended bytes in those of the table, deleted bytes in those of the index."""
    appended = served.total_bytes - served.served_bytes
    if not rule.hybrid_scan and (not served.whole or served.dead_bytes or served.deleted):
        return Reason.NO_HYBRID_SCAN
    if appended > rule.max_appended_ratio * served.total_bytes:
        return Reason.TOO_MUCH_APPENDED
    if served.dead_bytes > rule.max_deleted_ratio * (served.dead_bytes + served.served_bytes):
        return Reason.TOO_MUCH_DELETED
    return None


def _prices(
    served: Serving, stables: Sequence[str], scan: Mapping[str, Any], kept_bytes: int | None, share: float
) -> tuple[float, float]:
    """Of the scan and of the index, for the needed columns."""
    sizes = served.column_bytes
    needed = float(sum(sizes.get(one, 0) for one in stables))
    in_index = max(1, served.served_bytes + served.dead_bytes)
    every = needed * served.total_bytes / in_index
    listed = scan["bytes"] if scan["bytes"] >= 0 else served.total_bytes
    kept = min(listed, served.total_bytes if kept_bytes is None else kept_bytes)
    source = every * kept / max(1, served.total_bytes)
    lineage: tuple[str, ...] = (ORDINAL,) if not served.deleted and any(len(one.dead) for one in served.runs) else ()
    lineage = (ORDINAL, ROW) if served.deleted else lineage
    read = share * (needed + sum(sizes.get(one, 0) for one in lineage))
    lacking = min(served.total_bytes - served.served_bytes, kept)
    return source, read + every * lacking / max(1, served.total_bytes)


def ranked(scans: Sequence[Mapping[str, Any]], offers: Sequence[Offered], rule: RuleConfig) -> list[Cover | None]:
    """The index that stands for each scan, if one does. Of the others it is noted in `offers` that they cost more."""
    sides: dict[int, dict[int, tuple[int, tuple[str, ...]]]] = {}
    for number, scan in enumerate(scans):
        for want in scan["wants"]:
            if "join" in want:
                sides.setdefault(want["join"], {})[want["side"]] = number, tuple(want["keys"])
    joins = [
        JoinOf(join, (both[0][0], both[1][0]), (both[0][1], both[1][1]))
        for join, both in sides.items()
        if len(both) == 2 and len(set(both[0][1])) == len(both[0][1])
    ]
    chosen = choose([[one.offer for one in some.candidates] for some in offers], joins)
    covers: list[Cover | None] = []
    for some, scan, taken in zip(offers, scans, chosen, strict=True):
        cover = None
        for one in some.candidates:
            if taken is not None and one.offer is taken[0]:
                asked = (
                    _asked(one.serving.schema, scan).get(one.columns.get(one.bucketed[0], "")) if one.bucketed else None
                )
                fixed = len(one.bucketed) == 1 and asked is not None and asked.equal > 0
                spec = bool(one.bucketed) and (taken[1] or fixed or rule.use_bucket_spec)
                cover = Cover(one, taken[1] and bool(one.bucketed), spec)
            else:
                some.refused.setdefault(one.name, Reason.COSTS_MORE)
        if cover is not None:
            some.refused.pop(cover.index, None)
        covers.append(cover)
    return covers


# What the rule is told --------------------------------------------------------------------------------------------


def told(
    cover: Cover, scan: Mapping[str, Any], root: str, normal: Callable[[FileTable, str], pa.ChunkedArray]
) -> dict[str, object]:
    """The reply about one scan (`Covering.java`). `normal`: one spelling of a file for every engine."""
    one, served = cover.candidate, cover.candidate.serving
    reply: dict[str, object] = {
        "label": f"{cover.index}: covering",
        "columns": dict(one.columns),
        "buckets": one.layout.buckets if cover.bucket_spec else 0,
        "bucketed": list(one.bucketed),
        "bucketed_as": [one.columns[name] for name in one.bucketed],
        "partitioned": cover.partitioned,
        "bytes": _size(one, scan),
        "parts": _packed(_parts(one, str(scan["root"]))),
        "dead": _dead(served),
    }
    if scan["kind"] != "delta" or not served.whole:
        reply["served"] = _files(served, normal, root, by_time=scan["kind"] == "files")
    if served.deleted:
        reply |= _deleted(served)
    return reply


def _size(one: Candidate, scan: Mapping[str, Any]) -> int:
    """What Spark is told of the index's size, by which it decides whether to send it to every task: what its rows take in memory, and no more than it takes the table for."""
    needed = sum(one.serving.column_bytes.get(name, 0) for name in one.columns.values())
    stored = one.layout.stored
    rows = sum(part.info.rows for _, part in one.parts)
    held = rows * (8 + sum(width(stored.field(name).type) for name in one.columns.values()))
    return max(1, needed, min(held, scan["bytes"]) if scan["bytes"] >= 0 else held)


def _parts(one: Candidate, root: str) -> list[str]:
    """Number of the run, what Spark opens, and size of each part."""
    scheme = re.match(r"s3[an]?://", root)
    out = []
    for number, part in sorted(one.parts, key=lambda each: each[0]):
        uri = one.serving.index.storage.uri(part.path)
        if scheme is not None:
            uri = re.sub(r"^s3[an]?://", scheme[0], uri)
        out += [str(number), uri, str(part.info.size_bytes)]
    return out


@lru_cache(_HELD)
def _dead(served: Serving) -> str:
    """Number of the run and ordinal of each file whose rows the index has and that is not served."""
    rows = [(str(one.number), str(ordinal)) for one in served.runs for ordinal in one.dead.tolist()]
    return _packed([text for row in rows for text in row])


@lru_cache(_HELD)
def _files(served: Serving, normal: Callable[[FileTable, str], pa.ChunkedArray], root: str, *, by_time: bool) -> str:
    """Path, identity, number of the run and ordinal of each served file."""
    paths = normal(served.files, root)
    identity = served.files.table.column("size_bytes").cast(pa.string())
    if by_time:
        times = served.files.table.column("modified_ms").cast(pa.string())
        identity = pc.binary_join_element_wise(identity, times, ":").fill_null("unknown")
    runs = [str(one.number) for one in served.runs for _ in one.served]
    ordinals = np.concatenate([one.served for one in served.runs]).tolist()
    rows = zip(paths.to_pylist(), identity.to_pylist(), runs, ordinals, strict=True)
    return _packed([text for path, sign, run, ordinal in rows for text in (path, sign, run, str(ordinal))])


@lru_cache(_HELD)
def _deleted(served: Serving) -> dict[str, object]:
    """Deleted rows as numbers: run, ordinal and position side by side in 63 bits."""
    row_bits = max(int(max(positions)) for _, _, positions in served.deleted).bit_length()
    file_bits = max(ordinal for _, ordinal, _ in served.deleted).bit_length()
    file_bits = max(file_bits, max(one.run.files for one in served.runs).bit_length())
    run_bits = max(one.number for one in served.runs).bit_length()
    row_bits = max(row_bits, 40)  # rows behind the last deleted one must not run into the ordinal
    if row_bits + file_bits + run_bits > 62:
        raise OverflowError("places of deleted rows do not fit into 62 bits")
    places = [
        str((run << (row_bits + file_bits)) | (ordinal << row_bits) | int(row))
        for run, ordinal, positions in served.deleted
        for row in positions
    ]
    return {"deleted": _packed(places), "run_shift": row_bits + file_bits, "file_shift": row_bits}


def _packed(texts: Sequence[str]) -> str:
    """See `Reply.unpacked`."""
    return base64.b64encode(gzip.compress("\0".join(texts).encode("utf-8", "surrogatepass"), 1)).decode()
