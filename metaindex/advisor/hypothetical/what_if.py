"""What-if: the effect of candidates on queries, weighed on the snapshot and the indexes of a table."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from typing import Final

import numpy as np
import pyarrow as pa

from metaindex.advisor.clustering.sample import ReadLimit, Sampled, check_share, file_scan
from metaindex.advisor.workloads.table_queries import TableNames, TableQuery, of_table, typed
from metaindex.advisor.workloads.taking import path_in, workload
from metaindex.advisor.workloads.template import UnreadNote, Workload, is_frame
from metaindex.core import ArgumentError, Mask, MetaIndexError, Vector, counted, dataclass, one_line
from metaindex.expressions import Constant, Predicate, StatementReads
from metaindex.formats import At, Leaf, Schema, Snapshot
from metaindex.index import KINDS, AskedColumns, Kind, OpenIndex, Sandbox
from metaindex.query import FooterGroups, Handle, RowReading, Scan, TimestampLike, VersionLike, names_of

from .answer import Cost, Effect, QueryWeighed, Rate, Reads, Upkeep, WhatIf
from .baseline import Baseline, Rows
from .candidates import A_PART, AskedQuery, Candidate, following, named
from .copy import Copy, copied, read_of
from .cost import Weighed, Weight, build_seconds, rate_of, size_of, upkeep_of
from .effect import Now, idle, with_candidate
from .estimates import sum_of
from .redraws import Redraws
from .sampling import SampleContext, is_float, needs_of, sampled

logger = logging.getLogger("metaindex")

BEYOND: Final = (
    "it lies beyond the bounds of every file, so that any index skips all of them; ask with values that occur"
)
_REMEMBERED = 64
"""Sets of columns of which the row groups of sampled files are remembered."""
_MOST_FOOTERS = 10_000
"""Beside the sample, of files that queries read now; of more the sample speaks for statistics, too."""
_BY_SPARK: Final = (
    "Spark builds it, in more processor time than this, and reads it for queries that need no other columns; what it"
    " spares of shuffles and sorts below joins and groups is not counted"
)


@dataclass(slots=True)
class Built:
    """`index`: a trial over the files `rows`, which the walk may ask; `copies`: of a candidate that keeps rows."""

    cost: Cost
    rows: Rows = field(default_factory=lambda: np.zeros(0, np.int64))
    index: OpenIndex | None = None
    copies: tuple[Copy, ...] = ()


@dataclass(slots=True)
class Weighing:
    """A table as it was opened, with queries and candidates to weigh, and a sample over which candidates are built.
    `candidates`: none for those that follow from the queries, of which `copies` may keep rows; `others`: how many
    queries are of other tables alone. `nows`: what those that can be answered read now; `wanted`: the files that some
    query reads now."""

    handle: Handle
    queries: tuple[AskedQuery, ...]
    candidates: tuple[Candidate, ...]
    copies: bool
    left_out: tuple[str, ...]
    others: int
    wanted: Mask
    sight: SampleContext
    nows: dict[Predicate, Now]
    rate: Rate

    @classmethod
    def of(
        cls,
        handle: Handle,
        snapshot: Snapshot,
        queries: Workload | Sequence[object],
        candidates: tuple[Candidate, ...],
        allowed: ReadLimit,
        *,
        indexes: Iterable[str] | None = None,
        tables: Mapping[str, str | os.PathLike[str]] | None = None,
        copies: bool = True,
    ) -> Weighing:
        """Prepare to weigh. `queries`: a workload, or conditions, of which a wrong one is reported; `allowed`: to be
        read; `indexes`: that queries may use."""
        opened, refused = handle.open_indexes(indexes)
        notes = tuple(f"index {report.name} is left out: {report.reason}" for report in refused)
        others, zone, files = 0, handle.config.time_zone, snapshot.files
        if isinstance(queries, Workload):
            names = TableNames(handle.path, TableNames.paths_of(tables))
            chosen = of_table(queries, names, [field.name for field in snapshot.schema.fields])
            others = chosen.others
            asked = [asked_query(query, snapshot.schema, zone) for query in chosen.queries]
        else:
            asked = [
                AskedQuery(" ".join(str(query).split()), *_bound(query, snapshot.schema, zone)) for query in queries
            ]
        baseline = Baseline(snapshot, tuple(opened))
        known = dict.fromkeys(query.tree for query in asked if not query.problem)
        wanted = np.zeros(len(files), np.bool_)
        for tree in known:
            wanted |= baseline.kept(baseline.answer(tree))

        def scan(row: int, leaves: Sequence[Leaf]) -> Scan:
            return file_scan(handle, snapshot, row, leaves)

        footers = FooterGroups(handle.ref.storage, _REMEMBERED)
        shown = [parts for query in asked for parts in query.needs] if copies else []
        sampling = sampled(
            snapshot, wanted, allowed, needs_of(list(known), candidates, shown, snapshot.schema), footers
        )
        sight = SampleContext(baseline, sampling, footers, scan, Redraws(snapshot, scan))
        nows = {tree: Now.of(tree, sight) for tree in known}
        none = Rate(reason="it has no files")
        rate = rate_of(handle.table_format, handle.ref, snapshot) if len(files) else none
        reads = {tree: now.reads.size_bytes.expected for tree, now in nows.items()}
        queries_ = tuple(replace(query, weight=query.seen * reads.get(query.tree, 0.0)) for query in asked)
        return cls(handle, queries_, candidates, copies, notes, others, wanted, sight, nows, rate)

    @property
    def baseline(self) -> Baseline:
        return self.sight.standing

    @property
    def snapshot(self) -> Snapshot:
        return self.baseline.snapshot

    def reading(self, query: AskedQuery) -> RowReading | None:
        """Return what it takes to read one row by key of the sampled files that the query reads now."""
        sight, kept = self.sight, self.nows[query.tree].kept
        if not sight.grouped:
            return None
        paths = self.snapshot.files.paths.take(Vector.arrow(sight.sample[kept[sight.sample]])).to_pylist()
        needs = [parts[:1] if parts[1:] == (A_PART,) else parts for parts in query.needs]
        if {*needs} <= {ref.parts for ref in query.tree.columns}:  # a condition alone: whatever is shown of the row
            needs = []
        schema, of_files = self.snapshot.schema, int(kept.sum())
        return RowReading.of(sight.groups, paths, schema, query.tree, needs, of_files)

    def built(self, candidate: Candidate, folder: str, *, footers: bool = True) -> Built:
        """Build a candidate; any failure becomes its problem. `folder`: an own one, in which it stays as long as it is
        asked; `footers`: may those of all files be read?"""
        bench = Sandbox(self.handle.ref, self.snapshot, folder)
        try:
            rows = self.sight.sampling.of(candidate, self.snapshot.schema)
            if footers and len(rows) < len(self.snapshot.files):
                self._read_bounds(bench)
            return self._tried(bench, candidate, rows) if len(rows) else Built(Cost(candidate.name), rows)
        except MetaIndexError as error:
            return Built(Cost(candidate.name, problem=str(error)))
        except Exception as error:  # noqa: BLE001 - a candidate may be a stranger's kind, and read any file
            logger.warning("candidate %s is not weighed: %s", candidate.name, error)
            return Built(Cost(candidate.name, problem=str(error) or type(error).__name__))

    def _tried(self, bench: Sandbox, candidate: Candidate, rows: Rows) -> Built:
        """Build over the sample; if it is not the table, also over half of it. The smaller is built first: what the
        first build loads counts for nothing then."""
        ordered = bench.in_order(rows)
        portions = [ordered, ordered[::2]] if 1 < len(ordered) < len(self.snapshot.files) else [ordered]
        every = Weight.of(self.snapshot)
        copies: tuple[Copy, ...] = ()
        notes: tuple[str, ...] = (_BY_SPARK,)
        index = None
        if candidate.copies and len(candidate.kinds) > 1:
            raise ArgumentError(
                f"a covering index is a candidate of its own; {candidate.name} has other kinds, too; give them one by"
                " one"
            )
        if candidate.copies:
            copy = copied(bench, self.sight, candidate.copies[0], portions)
            copies, weighed, size, rows = (copy,), copy.trials, copy.size, ordered
        else:
            name = f"what if {candidate.name}"
            trials = [bench.tried(name, candidate.kinds, some) for some in reversed(portions)][::-1]
            weighed = tuple(
                Weighed(Weight.of(self.snapshot, some), one.part_bytes, one.footer_bytes, one.cpu_seconds)
                for one, some in zip(trials, portions, strict=True)
            )
            size, index = size_of(weighed, every), trials[0].index
            notes = tuple(f"a file of the sample is left uncovered: {note}" for note in trials[0].notes)
        seconds = build_seconds(weighed, every)
        upkeep = upkeep_of(size, seconds, self.rate, every)
        return Built(Cost(candidate.name, size, seconds, upkeep, notes=notes), rows, index, copies)

    def _read_bounds(self, bench: Sandbox) -> None:
        """Read the footers of the files that queries read now, once, if the sample is not all that may be read."""
        if self.sight.bounds is None and self.sight.sampling.limit:
            wanted = np.flatnonzero(self.wanted)
            self.sight.bounds = self.sight.once("bounds", lambda: _bounds_of(bench, list(self.nows), wanted))

    def beyond_bounds(self, built: Sequence[Built], folder: str) -> set[Predicate]:
        """Return the conditions that no file can satisfy by its bounds alone, where candidates skip all files: they say
        nothing of the candidates. `folder`: as of `built`."""
        sight, trees = self.sight, [tree for tree, now in self.nows.items() if now.kept.any()]
        indexes = [(one.index, one.rows) for one in built if one.index is not None]
        skipped = self._skipped(trees, indexes)
        facts = [(index, rows) for index, rows in indexes if not any(run.keys for run in index.entry.content.runs)]
        if skipped and not facts:
            self._read_bounds(Sandbox(self.handle.ref, self.snapshot, folder))
        bounds = [] if sight.bounds is None else [(sight.bounds, np.flatnonzero(self.wanted))]
        return self._skipped([tree for tree in trees if tree in skipped], [*bounds, *facts])

    def _skipped(self, trees: Sequence[Predicate], indexes: Iterable[tuple[OpenIndex, Rows]]) -> set[Predicate]:
        """Return the conditions for which one of the indexes skips all files that are read now, as far as it knows."""
        skipped = set()
        for index, rows in indexes if trees else ():
            for tree, kept in zip(trees, self.baseline.with_more(index).kept_each(trees), strict=True):
                known = rows[self.nows[tree].kept[rows]]
                skipped |= {tree} if len(known) and not kept[known].any() else set()
        return skipped

    @property
    def sampled(self) -> Sampled:
        """Return what was read for the answer."""
        files, sampling = self.snapshot.files, self.sight.sampling
        limit = sampling.limit
        if not len(sampling.rows):
            return Sampled(limit_bytes=limit, total_bytes=files.size_bytes, reason=sampling.reason)
        counts = Vector(files.table.take(sampling.rows).column("record_count")).array
        rows = 0 if counts.null_count else int(Vector(counts).numbers.sum())
        return Sampled(len(sampling.rows), sampling.size_bytes, rows, limit, files.size_bytes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes, also on what was read beside the sample."""
        if self.sight.bounds is None:
            return self.left_out
        files = counted(int(self.wanted.sum()), "file")
        return (*self.left_out, f"footers of {files} were read, too, beside the limit")


def weigh(weighing: Weighing) -> WhatIf:
    """Weigh candidates. Raises nothing of a query or a candidate: its problem is reported, and the others go on."""
    snapshot = weighing.snapshot
    candidates = weighing.candidates or tuple(following(weighing.nows, snapshot.schema))
    with tempfile.TemporaryDirectory(prefix="_metaindex-") as folder:
        built = [weighing.built(candidate, folder) for candidate in candidates]
        effects = [() if query.problem else _effects(weighing, query, built) for query in weighing.queries]
        beyond = weighing.beyond_bounds(built, folder)
    queries = [
        QueryWeighed(
            query.text,
            None if query.problem else weighing.nows[query.tree].reads,
            of_query,
            query.problem,
            query.seen,
            query.stands,
            BEYOND if query.tree in beyond else "",
            None if query.problem else weighing.reading(query),
        )
        for query, of_query in zip(weighing.queries, effects, strict=True)
    ]
    return WhatIf(
        table=weighing.handle.path,
        format=snapshot.format,
        version=str(snapshot.version),
        files=len(snapshot.files),
        size_bytes=snapshot.files.size_bytes,
        queries=tuple(queries),
        candidates=tuple(one.cost for one in built),
        sampled=weighing.sampled,
        rate=weighing.rate,
        notes=weighing.notes,
    )


def _bound(query: object, schema: Schema, time_zone: str) -> tuple[Predicate, str]:
    """Return the predicate, and "", or why it is none."""
    try:
        return schema.predicate(query, time_zone), ""
    except MetaIndexError as error:
        return Constant(None), str(error)


def _effects(weighing: Weighing, query: AskedQuery, built: Sequence[Built]) -> tuple[Effect, ...]:
    now = weighing.nows[query.tree]
    return tuple(_effect(weighing.sight, now, query, candidate) for candidate in built)


def _effect(sight: SampleContext, now: Now, query: AskedQuery, built: Built) -> Effect:
    tried_on = int(np.count_nonzero(now.kept[built.rows]))
    name = built.cost.candidate
    if built.cost.problem:
        return Effect(name, now.reads, 0, "it cannot be built")
    if built.copies:
        found = read_of(sight, now, query, built.copies[0])
        return Effect(name, found.reads or now.reads, tried_on, found.note, found.instead_of)
    if built.index is None:
        return Effect(name, now.reads, 0, sight.sampling.unjudged)
    reads, result = with_candidate(sight, now, [built.index], built.rows)
    idle = [report.reason for report in result.indexes if report.name == built.index.name and not report.used]
    if idle:
        return Effect(name, now.reads, tried_on, idle[0])
    if reads.files.exact or tried_on:
        return Effect(name, reads, tried_on)
    return Effect(name, reads, 0, sight.sampling.beside)


_MOST_TOLD = 10
"""Reasons why something of a workload could not be read."""


def weighed(
    handle: Handle,
    queries: object,
    candidates: Sequence[Kind | Sequence[Kind]],
    *,
    version: VersionLike,
    timestamp: TimestampLike,
    sample: float | None,
    indexes: Iterable[str] | None,
    tables: Mapping[str, str | os.PathLike[str]] | None = None,
) -> WhatIf:
    """Implement `Table.what_if`."""
    handle = handle.as_indexed()
    check_workplace(handle)
    if _are_statements(queries):
        queries = workload(queries, time_zone=handle.config.time_zone)
    elif tables is not None and not isinstance(queries, Workload):
        raise ArgumentError(
            "tables= names tables as the SQL of a workload does; conditions alone name none; give statements, or leave"
            " tables= out"
        )
    several = tuple(queries) if isinstance(queries, list | tuple) else (queries,)
    if not several or queries is None:
        raise ArgumentError("what-if weighs at least one query; none was given; name a condition, as behind WHERE")
    check_share(sample)
    snapshot = handle.snapshot(At.asked(version, timestamp))
    weighing = Weighing.of(
        handle,
        snapshot,
        queries if isinstance(queries, Workload) else several,
        tuple(named(candidates)),
        ReadLimit(sample),
        indexes=names_of(indexes, "indexes"),
        tables=tables,
    )
    if isinstance(queries, Workload):
        weighing.left_out = (*weighing.left_out, *_left_out(queries, weighing.others))
    return weigh(weighing)


def check_workplace(handle: Handle) -> None:
    """Raise ArgumentError if candidates would be built among the files of the table, as with a folder for temporary
    files there: Python's is the current folder if no other can be written."""
    handle.check_outside(tempfile.gettempdir(), "temporary files are written (TMPDIR says where)")


def _are_statements(queries: object) -> bool:
    """Return whether a file of queries, a SQL statement, or a DataFrame is among them."""
    several = queries if isinstance(queries, list | tuple) else (queries,)
    return any(
        path_in(query) is not None or is_frame(query) or (isinstance(query, str) and StatementReads.begins(query))
        for query in several
    )


def asked_query(query: TableQuery, schema: Schema, time_zone: str) -> AskedQuery:
    """`columns` by the names of the table; one that it does not have is none."""
    types = {tuple(part.lower() for part in leaf.parts): leaf.type for leaf in schema.leaves()}
    keys = query.joined, query.grouped, query.ordered
    predicate = typed(query.predicate, types, time_zone)
    wanted = query.columns if query.columns is not None else frozenset((field.name,) for field in schema)
    needs = _needs([*wanted, *(ref.parts for ref in predicate.columns)], schema)
    text = query.text
    if not predicate.columns:  # what tells it from others are its keys alone
        used = zip(("joined", "grouped", "sorted"), keys, strict=True)
        text = ", ".join((text, *(f"{how} by {', '.join(names)}" for how, names in used if names)))
    return AskedQuery(text, *_bound(predicate, schema, time_zone), query.seen, needs, *keys, query.stands)


def _needs(named_columns: Iterable[tuple[str, ...]], schema: Schema) -> frozenset[tuple[str, ...]]:
    """Return the columns that a scan of such a query needs, as the rule of Spark's optimizer counts them
    (`Fields.java`): a field of a struct by itself, the whole column if it is named anywhere. Of what is named inside
    lists and maps, of a struct in a struct, and of a field that is required in a struct that may be NULL, Spark reads a
    part of the column, unless the whole is read anyway."""
    every = {_folded(leaf.parts): leaf for leaf in schema.columns}
    needs: set[tuple[str, ...]] = set()
    for path in map(_folded, named_columns):
        inner = next((every[path[:end]] for end in range(len(path), 0, -1) if path[:end] in every), None)
        if inner is None or (len(inner.parts) < len(path) and inner.field.children):
            continue
        behind = len(inner.parts) < len(path) and _has_struct(inner.type)
        inside = len(inner.parts) > 1 and bool(inner.field.children)
        required = not all(field.nullable for field in inner.path[1:])
        needs.add((inner.parts[0], A_PART) if behind or inside or required else inner.parts)
    parted = {parts[0] for parts in needs if parts[1:] == (A_PART,)}
    whole = {parts[0] for parts in needs if len(parts) == 1}
    return frozenset(
        parts
        for parts in needs
        if len(parts) == 1 or (parts[0] not in whole and (parts[0] not in parted or parts[1:] == (A_PART,)))
    )


def _has_struct(type_: pa.DataType) -> bool:
    """Return whether a list or map holds a struct, of which a field can be read alone."""
    if pa.types.is_struct(type_):
        return True
    if pa.types.is_map(type_):
        return _has_struct(type_.key_type) or _has_struct(type_.item_type)
    return pa.types.is_nested(type_) and any(_has_struct(type_.field(at).type) for at in range(type_.num_fields))


def _folded(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


def _left_out(queries: Workload, others: int) -> Iterator[str]:
    if others:
        yield f"of the workload {others:,} of {queries.seen:,} queries are of other tables"
    yield from unread(queries)


def unread(queries: Workload) -> Iterator[str]:
    """Yield what could not be read of a workload."""
    for problem in queries.problems[:_MOST_TOLD]:
        yield UnreadNote(f"of the workload not read: {one_line(str(problem))}")
    if len(queries.problems) > _MOST_TOLD:
        more = len(queries.problems) - _MOST_TOLD
        yield UnreadNote(f"of the workload not read for {more:,} more reasons; its problems have all")


def _bounds_of(bench: Sandbox, trees: Sequence[Predicate], wanted: Rows) -> OpenIndex | None:
    """Return the footers' statistics of the queries' columns in the files that they read now; None if there are none,
    or too many. Footers do not count NaN: floats are taken as if there were none, which the sample checks."""
    if bench.snapshot.details.read_options().get("file_format", "parquet") != "parquet":
        return None
    leaves = {leaf.parts: leaf for leaf in bench.snapshot.schema.leaves()}
    refs = {ref.name: leaf for tree in trees for ref in tree.columns if (leaf := leaves.get(ref.parts)) is not None}
    names = tuple(name for name, leaf in refs.items() if Kind.footers_tell(leaf) or is_float(leaf))
    floats = frozenset(leaf.parts[0] for leaf in refs.values() if is_float(leaf))
    facts = [kind for each in KINDS if each.keeps_facts for kind in each.suggested(AskedColumns(names))]
    if not names or not 0 < len(wanted) <= _MOST_FOOTERS:
        return None
    try:
        trial = bench.tried("bounds", facts, wanted, scans=False, without_nan=floats)
    except (MetaIndexError, OSError) as error:
        logger.warning("what-if does without bounds of footers: %s", error)
        return None
    return None if trial.unread_files else trial.index


def reads_with(sight: SampleContext, now: Now, several: Sequence[Built]) -> Reads:
    """Return what the query reads with all of them together, without those that keep rows."""
    sampled = [built.index for built in several if built.index is not None]
    rows = min((built.rows for built in several if built.index is not None), key=len, default=sight.sample)
    return with_candidate(sight, now, sampled, rows)[0] if sampled else now.reads


def asks(sight: SampleContext, now: Now, built: Built) -> bool:
    """Return whether the candidate answers some part of the query."""
    if built.index is None:
        return False
    return not idle(sight.standing.with_more(built.index).answer(now.tree), [built.index])


def narrowed(built: Built, name: str, stables: AbstractSet[str], share: float) -> Built:
    """`stables`: of the columns that stay, which are a `share` of all; its cost is this share, too."""
    cost, index = built.cost, built.index
    size, seconds, upkeep = cost.size_bytes, cost.build_cpu_seconds, cost.upkeep
    return Built(
        replace(
            cost,
            candidate=name,
            size_bytes=None if size is None else sum_of([size], [share]),
            build_cpu_seconds=None if seconds is None else seconds * share,
            upkeep=None if upkeep is None else Upkeep(upkeep.size_bytes * share, upkeep.cpu_seconds * share),
        ),
        built.rows,
        None if index is None else index.narrowed(index.name, stables),
    )
