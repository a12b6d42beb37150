"""Plans of one table: prune with the indexes, evaluate partition values exactly, send tasks in pages.

A page beyond the first is named by a token that holds all of it: the table, the snapshot, the filter, and which files.
Nothing is kept here, so any process answers it, and an index that changed in between changes no page. A token grants
nothing that a plan would not, so it is not signed: it is read as any request is, and checked against the table and the
snapshot.

Whatever goes wrong with an index, the plan is made of the table's own metadata within the same answer.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash
from pyroaring import BitMap

from metaindex.core import TELEMETRY, BoundedCache, Cure, MetaIndexError, TooLate, dataclass
from metaindex.expressions import Constant, Predicate
from metaindex.formats import FileTable, Schema, Snapshot, Version
from metaindex.query import Pruner

from .clients import Client, Spelling
from .filters import Filter, read_filter, text_of
from .partitions import may_match
from .refusal import Refusal
from .served import Page, ServedSnapshot, ServedTable

logger = logging.getLogger("metaindex")

MOST_TASKS: Final = 1000
"""Tasks of a page."""
_PAGE_BYTES: Final = 4 << 20
_TASK_BYTES: Final = 400
_MOST_FILTER: Final = 8 << 20  # each task repeats it
_MOST_REPEATED: Final = 16 << 20  # bytes of a filter in all tokens of a plan
_FEW: Final = 8  # files for the first rows of a table, at first, and how many times as many then
_MOST_TOKEN: Final = 16 << 20
_COMPACT = json.JSONEncoder(separators=(",", ":")).encode
Files = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scan:
    """A request for a plan. `filter`: its JSON; None for all rows."""

    snapshot_id: int | None = None
    filter: object = None
    select: tuple[str, ...] = ()
    case_sensitive: bool = True
    own_schema: bool = False
    most_rows: int | None = None
    statistics: tuple[str, ...] | None = None

    @classmethod
    def read(cls, body: object) -> Scan:
        """Read a request's body. Raises Refusal."""
        if not isinstance(body, dict):
            raise Refusal("a request for a plan is a JSON object; got something else")
        if body.get("start-snapshot-id") is not None or body.get("end-snapshot-id") is not None:
            raise Refusal.unsupported(
                "plans are of one snapshot; the request names two; read the changes without this catalog"
            )
        select, statistics = _names(body, "select"), _names(body, "stats-fields")
        said = None if body.get("filter") is True else body.get("filter")  # Java says so of no filter
        if said is None:
            statistics = statistics or select
        return cls(
            _number(body, "snapshot-id"),
            said,
            select,
            _flag(body, "case-sensitive", default=True),
            _flag(body, "use-snapshot-schema", default=False),
            _number(body, "min-rows-requested"),
            statistics or None,
        )


def _number(body: Mapping[str, object], name: str) -> int | None:
    value = body.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value.bit_length() > 64):
        raise Refusal(f"{name} is a whole number of 64 bits; got another value")
    return value


def _flag(body: Mapping[str, object], name: str, *, default: bool) -> bool:
    value = body.get(name)
    if not isinstance(value, bool | None):
        raise Refusal(f"{name} is true or false; got another value")
    return default if value is None else value


def _names(body: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = body.get(name) or []
    if not isinstance(value, list) or not all(isinstance(column, str) for column in value):
        raise Refusal(f"{name} is a list of column names; got another value")
    return tuple(value)


class Plans:
    """Plans of one table, one at a time: what they read is CPU-bound and cached."""

    def __init__(self, name: Sequence[str], table: ServedTable, *, index_seconds: float = 2.0) -> None:
        """`name`: the namespace's parts, then the table's. `index_seconds`: how long indexes may take to answer."""
        self.name, self.table = list(name), table
        self.lock = threading.Lock()
        self._seconds = index_seconds
        self._places: BoundedCache[Version, tuple[FileTable, _Places]] = BoundedCache(8)
        self._helped = ""  # indexes of the plan that is made

    def plan(self, scan: Scan, client: Client) -> bytes:
        """Return the answer to a request for a plan. Raises Refusal, and what the table raises."""
        _check_tried(client)
        scan = scan if client.reads_statistics else replace(scan, statistics=None)
        size = _page_size(scan)
        with self.lock:
            started, self._helped = time.perf_counter(), ""
            served = self.table.snapshot(scan.snapshot_id, own_schema=scan.own_schema)
            asked = _asked(served, scan, client)
            files = self._files(served, asked, client)
            files, page = self._first_page(served, files, size, scan, client, asked)
            _check_tokens(scan, len(files), size)
            places = self._places_of(served.snapshot) if len(files) > size else None
            helped, every, kept = self._helped, len(served.snapshot.files), len(files)
        seconds = time.perf_counter() - started
        logger.info(  # no value of the filter: they may be private
            "plan of %r at snapshot %d for %s: %d of %d files, %.1f ms; %s",
            *(".".join(self.name), served.id, client, kept, every, seconds * 1000),
            f"by {helped}" if helped else "by no index",
        )
        TELEMETRY.query(
            served.snapshot.table,
            client.name,
            seconds,
            files=(kept, every - kept),
            size_bytes=(None, None),
            index_used=bool(helped),
        )
        tokens = (
            []
            if places is None
            else [self._token(scan, served, places, files[at : at + size]) for at in range(size, len(files), size)]
        )
        residual = _residual(scan, served.snapshot.schema, client)
        return _answer(
            page,
            residual,
            {"status": "completed", "plan-id": uuid4().hex, **({"plan-tasks": tokens} if tokens else {})},
        )

    def page(self, token: str, client: Client) -> bytes:
        """Return the tasks that a token of a plan names. Raises Refusal for one that is not of this table."""
        _check_tried(client)
        said = _opened(token)
        scan = Scan(
            said["snapshot"],
            said["filter"],
            case_sensitive=said["cased"],
            own_schema=said["own"],
            statistics=None if said["statistics"] is None else tuple(said["statistics"]),
        )
        if said["table"] != self.name:
            raise _no_such_page("it is of another table")
        if len(said["ranks"]) > _page_size(scan):
            raise _no_such_page("it names more files than a page has")
        with self.lock:
            served = self.table.snapshot(scan.snapshot_id, own_schema=scan.own_schema)
            places = self._places_of(served.snapshot)
            if said["files"] != places.sign:
                raise _no_such_page("the snapshot has other files now")
            asked = _asked(served, scan, client) if client.negates_lacking else None
            page = served.tasks(places.files(said["ranks"]), client, scan.statistics, asked)
        return _answer(page, _residual(scan, served.snapshot.schema, client), {})

    def _first_page(
        self, served: ServedSnapshot, files: Files, size: int, scan: Scan, client: Client, asked: Filter | None
    ) -> tuple[Files, Page]:
        """Return the files and the first page of a plan. For the first rows of a table, they are a few files that have
        so many."""
        most = None if scan.filter is not None else scan.most_rows
        few = size if most is None else min(_FEW, size)
        while True:
            page = served.tasks(files[:few], client, scan.statistics, asked)
            enough = None if most is None else _enough(page, most)
            if enough is not None:
                return files[:enough], replace(page, tasks=page.tasks[:enough])
            if few == size or few >= len(files):
                return files, page
            few = min(few * _FEW, size)

    def _files(self, served: ServedSnapshot, asked: Filter | None, client: Client) -> Files:
        """Return the files that a plan names, in the order of the snapshot."""
        snapshot = served.snapshot
        if asked is None or not len(snapshot.files):
            return np.arange(len(snapshot.files), dtype=np.int64)
        files = self._pruned(snapshot, asked, client)
        return files[may_match(asked, served.partitions(), files)]

    def _pruned(self, snapshot: Snapshot, asked: Filter, client: Client) -> Files:
        """Return the files that the indexes do not prove to be without a match; without them, if they fail or take too
        long, those that the table's own metadata does not."""
        every = np.arange(len(snapshot.files), dtype=np.int64)
        zone = self.table.handle.config.time_zone
        predicate = asked.for_pruning(snapshot.schema, zone, lacking=client.negates_lacking)
        if isinstance(predicate, Constant):
            return every
        until = time.monotonic() + self._seconds
        for indexes in (None, ()):
            try:
                with TooLate.after(until if indexes is None else None):
                    return self._kept(snapshot, predicate, indexes)
            except (Exception, TooLate) as error:  # noqa: BLE001 - no client falls back by itself
                why = str(error) or f"they took longer than {self._seconds:g} s"
                logger.warning("a plan is made without %s: %s", "indexes" if indexes is None else "pruning", why)
        return every

    def _kept(self, snapshot: Snapshot, predicate: Predicate, indexes: Sequence[str] | None) -> Files:
        pruner = Pruner(*self.table.handle.open_indexes(indexes))
        result = pruner.over(snapshot, predicate)
        whole = result.kept_files == len(snapshot.files)
        kept = np.arange(result.kept_files) if whole else self._places_of(snapshot).of(result.files.paths)
        self._helped = ", ".join(report.name for report in result.indexes if report.helped)
        return kept

    def _places_of(self, snapshot: Snapshot) -> _Places:
        known = self._places.find(snapshot.version)
        if known is None or known[0] is not snapshot.files:
            self._places.keep(snapshot.version, known := (snapshot.files, _Places(snapshot.files.paths)))
        return known[1]

    def _token(self, scan: Scan, served: ServedSnapshot, places: _Places, files: Files) -> str:
        ranks = BitMap(places.ranks[files].tolist())
        ranks.run_optimize()
        said = {
            "table": self.name,
            "snapshot": served.id,
            "own": scan.own_schema,
            "cased": scan.case_sensitive,
            "filter": scan.filter,
            "statistics": scan.statistics,
            "files": places.sign,
            "ranks": base64.b64encode(ranks.serialize()).decode(),
        }
        packed = zlib.compress(_COMPACT(said).encode(), 6)
        return base64.urlsafe_b64encode(xxhash.xxh64_digest(packed) + packed).decode()


class _Places:
    """Places of a snapshot's files by path. Ranks are by the hash of the path: the same in every process, in whatever
    order it lists the files."""

    def __init__(self, paths: pa.ChunkedArray) -> None:
        self._paths = paths = paths.combine_chunks()
        hashes = _hashes(paths)
        self._order = np.lexsort((np.arange(len(hashes)), hashes))
        self._sorted = hashes[self._order]
        if len(hashes) and (self._sorted[1:] == self._sorted[:-1]).any():
            self._order = np.array(sorted(range(len(paths)), key=paths.to_pylist().__getitem__), np.int64)
            self._sorted = self._sorted[:0]
        self.ranks = np.empty(len(self._order), np.int64)
        self.ranks[self._order] = np.arange(len(self._order))
        self.sign = f"{len(paths)}-{xxhash.xxh64_hexdigest(np.sort(hashes).tobytes())}"

    def of(self, paths: pa.ChunkedArray) -> Files:
        """Return the places of paths, in the order of the snapshot. Raises MetaIndexError for one that is not there."""
        places: Files
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, _hashes(paths)), len(self._sorted) - 1)
            places = self._order[at]
        else:
            known = {path: place for place, path in enumerate(self._paths.to_pylist())}
            places = np.array([known.get(path, 0) for path in paths.to_pylist()], np.int64)
        if not self._paths.take(pa.array(places)).equals(paths.combine_chunks()):
            raise MetaIndexError("an index answers with files of the snapshot; it named another; refresh it")
        return np.sort(places)

    def files(self, ranks: Files) -> Files:
        """Return the places of ranks, which ascend. Raises Refusal for one beyond the files."""
        if len(ranks) and ranks[-1] >= len(self._order):
            raise _no_such_page("it names files beyond the snapshot's")
        return np.sort(self._order[ranks])


def _hashes(paths: pa.Array) -> npt.NDArray[np.uint64]:
    return np.fromiter(map(xxhash.xxh64_intdigest, paths.cast(pa.binary()).to_pylist()), np.uint64, len(paths))


def _enough(page: Page, most_rows: int) -> int | None:
    """Return how many files of a page have so many rows, by the counts that the client reads by: those of a log may be
    claims. Files with deletes are not counted. None if all have too few."""
    files = [cast(Mapping[str, int], task["data-file"]) for task in page.tasks]
    deleted = [bool(task.get("delete-file-references")) for task in page.tasks]
    rows = [0 if some else file["record-count"] for file, some in zip(files, deleted, strict=True)]
    enough = int(np.searchsorted(np.cumsum(rows), max(most_rows, 0))) + 1
    return enough if enough <= len(rows) else None


def _asked(served: ServedSnapshot, scan: Scan, client: Client) -> Filter | None:
    """Return the filter of a request, None for all rows. Raises Refusal for a client that counts from tasks where it
    may mean other columns by the names of its filter."""
    if scan.filter is None:
        return None
    unsure: frozenset[str] = frozenset() if scan.own_schema else getattr(served, "unsure", frozenset())
    if unsure and client.obeys_tables:
        raise Refusal.unsupported(
            f"a filter names columns by names that stand for one column; {sorted(unsure)[0]!r} was another one before;"
            " load the table anew"
        )
    return read_filter(scan.filter, served.snapshot.schema, case_sensitive=scan.case_sensitive, unsure=unsure)


def _check_tried(client: Client) -> None:
    if not client.tried:
        raise Refusal.unsupported(
            f"plans are made for clients that were tried; {client} was not; let it plan by itself, or start the"
            f" server with {Cure('argument', 'trust_clients')}"
        )


# Answers and tokens ---------------------------------------------------------------------------------------------------


def _page_size(scan: Scan) -> int:
    """Return how many tasks a page has. Raises Refusal for a filter that is too long to be repeated by each."""
    size = len(json.dumps(scan.filter))
    if size > _MOST_FILTER:
        raise Refusal(f"a filter has at most {_MOST_FILTER:,} bytes of JSON; this one has {size:,}")
    return max(1, min(MOST_TASKS, _PAGE_BYTES // (_TASK_BYTES + size)))


def _check_tokens(scan: Scan, files: int, size: int) -> None:
    """Raise Refusal if the tokens of a plan, each of which repeats the filter, would be too long together."""
    repeated = -(-max(files - size, 0) // size) * len(json.dumps([scan.filter, scan.statistics]))
    if repeated > _MOST_REPEATED:
        raise Refusal.unsupported(
            f"the pages of a plan repeat at most {_MOST_REPEATED:,} bytes of its filter and stats-fields; these have"
            f" {repeated:,} over {files:,} files; ask with a shorter filter, or read the table without this catalog"
        )


def _residual(scan: Scan, schema: Schema, client: Client) -> str:
    """Return the whole filter as text: some clients fail, or count whole files, without it."""
    if scan.filter is None:
        return "true"
    return text_of(scan.filter, schema if client.spelling is Spelling.TYPED else None)


def _answer(page: Page, residual: str, more: Mapping[str, object]) -> bytes:
    end = f',"residual-filter":{residual}}}'
    parts = [json.dumps(name) + ":" + json.dumps(value) for name, value in more.items()]
    if page.delete_files:
        parts.append('"delete-files":' + json.dumps(page.delete_files))
    tasks = ",".join(_COMPACT(task)[:-1] + end for task in page.tasks)
    return ("{" + ",".join([*parts, f'"file-scan-tasks":[{tasks}]']) + "}").encode()


def _opened(token: str) -> dict[str, Any]:
    """Return what a token says. Raises Refusal for one that is damaged or made up."""
    try:
        raw = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
        unpacked = zlib.decompressobj()
        text = unpacked.decompress(raw[8:], _MOST_TOKEN) if xxhash.xxh64_digest(raw[8:]) == raw[:8] else b""
        said: Any = json.loads(text) if unpacked.eof else None
        match said:
            case {
                "table": list(), "snapshot": int(), "own": bool(), "cased": bool(), "filter": _,
                "statistics": list() | None, "files": str(), "ranks": str(ranks),
            }:  # fmt: skip
                return {**said, "ranks": _numbers(BitMap.deserialize(base64.b64decode(ranks, validate=True)))}
    except (ValueError, IndexError, binascii.Error, zlib.error, RecursionError, OverflowError) as error:
        logger.debug("a token cannot be read: %s", error)
    raise _no_such_page("it was not made here, or is damaged")


def _numbers(ranks: BitMap) -> Files:
    if len(ranks) > MOST_TASKS:  # before memory is taken: a few bytes name billions
        raise _no_such_page("it names more files than a page has")
    return np.fromiter(ranks, np.int64, len(ranks))


def _no_such_page(why: str) -> Refusal:
    return Refusal(
        f"a page of a plan is named by a token of this table; {why}; plan anew",
        status=404,
        kind="NoSuchPlanTaskException",
    )
