"""Measures a table's clustering from its snapshot and indexes, and derives advice from a sample of it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa

from metaindex.core import ArgumentError, MetaIndexError, Vector, compute
from metaindex.expressions import physical_type
from metaindex.formats import At, Leaf, Snapshot
from metaindex.index import FileStatistics
from metaindex.query import FooterGroups, Handle, TimestampLike, VersionLike, names_of

from .clustering import RANGE, Clustering, ColumnClustering, FilesOf, Measured
from .layouts import (
    Advice,
    Curve,
    LayoutEffect,
    Rewrite,
    SampleColumns,
    SamplePartitions,
    Way,
    files_then,
    fractions_of,
    way_of,
)
from .overlap import Floats, numbers_of
from .sample import FEW_FILES, ColumnCosts, ReadLimit, Sampled, SampleRows, check_share, chosen, file_scan, read_sample

logger = logging.getLogger("metaindex")

_CONSIDERED = 6
"""Columns that advice is for, where the caller names none: the first ones of the table that vary inside files."""
_PAYS = 0.3
"""Advice is given where at least this share of the files that are read now would not be."""


def measure(
    handle: Handle,
    names: Sequence[str],
    bounds: FileStatistics,
    sample: float | None,
    most: int | None = None,
    part: float = 1.0,
) -> Clustering:
    """Measure the columns of these names, or all, or the first `most`. `sample`: share of the table's bytes to read for
    advice, 0 for none, None for a hundredth. Raises UnknownColumnError and UnsupportedFeatureError for columns that are
    none, or have no order."""
    check_share(sample)
    snapshot = bounds.snapshot
    leaves = _leaves(snapshot, names)[: None if names else most]
    files = FilesOf.of(snapshot)
    columns: list[ColumnClustering] = []
    kept: list[Measured] = []
    without: list[str] = []
    for facts in bounds.columns(leaves) if files.count else ():
        measured = Measured.of(facts, files)
        if not len(measured.ranges):
            without.append(".".join(facts.leaf.parts))
            continue
        columns.append(measured.summary(files))
        varies = not columns[-1].partition and columns[-1].constant_files < columns[-1].bounded_files
        if names or (len(kept) < _CONSIDERED and varies):
            kept.append(measured)
    table = snapshot.files.table
    inside = [measured for measured in kept if not measured.facts.leaf.field.partition]
    sampled, advice = _advise(handle, snapshot, files, inside, ReadLimit(sample, part), named=bool(names))
    return Clustering(
        table=handle.root(snapshot),
        format=snapshot.format,
        version=str(snapshot.version),
        files=files.count,
        size_bytes=snapshot.files.size_bytes,
        files_with_deletes=files.count - table.column("deletes").null_count,
        columns=tuple(columns),
        without_bounds=tuple(without if files.count else ()),
        notes=tuple(bounds.notes),
        sampled=sampled,
        advice=advice,
        named=bool(names),
    )


def _leaves(snapshot: Snapshot, names: Sequence[str]) -> list[Leaf]:
    """Return the columns by their names, a struct's name for all of its fields; by default all that have an order."""
    if not names:
        return [leaf for leaf in snapshot.schema.leaves() if physical_type(leaf.type) is not None]
    by_parts: dict[tuple[str, ...], Leaf] = {}
    for name in names:
        for leaf in _named(snapshot, name):
            by_parts.setdefault(leaf.parts, leaf)
    return list(by_parts.values())


def _named(snapshot: Snapshot, name: str) -> Iterator[Leaf]:
    if not isinstance(name, str):
        raise ArgumentError(f"a column is named by text, as in clustering('a', 's.b'); got {name!r}; name it")
    structs = [field for field in snapshot.schema.columns if ".".join(field.parts) == name and field.field.children]
    if not structs:
        yield snapshot.schema.indexable(name)
        return
    parts = structs[0].parts
    for leaf in snapshot.schema.leaves():
        if leaf.parts[: len(parts)] == parts and physical_type(leaf.type) is not None:
            yield leaf


def _advise(
    handle: Handle,
    snapshot: Snapshot,
    files: FilesOf,
    wanted: list[Measured],
    allowed: ReadLimit,
    *,
    named: bool,
) -> tuple[Sampled, tuple[Advice, ...]]:
    """Return what was read, and advice for these columns."""
    total = snapshot.files.size_bytes
    if allowed.share == 0 or not files.count:
        return Sampled(total_bytes=total), ()
    read = Sampled(limit_bytes=allowed.of(total), total_bytes=total)
    reason = _no_sample(handle, snapshot, files, wanted)
    if reason:
        return replace(read, reason=reason), ()
    leaves = [measured.facts.leaf for measured in wanted]
    costs, needed = (
        ColumnCosts.of(snapshot, FooterGroups(handle.ref.storage)),
        frozenset(leaf.source for leaf in leaves),
    )
    one = costs.of_one(needed)
    limit = allowed.of(total, FEW_FILES * one)
    read = replace(read, limit_bytes=limit)
    rows = costs.fitting(needed, limit, lambda most, each: chosen(snapshot.files, most, takes=each))
    if not len(rows):
        return replace(read, reason=allowed.too_low(limit, total, one)), ()
    try:
        sample = read_sample(lambda row: file_scan(handle, snapshot, row, leaves), rows, leaves)
    except (MetaIndexError, OSError) as error:  # told, and the measures stand
        logger.warning("no advice is given: a file of the sample cannot be read: %s", error)
        return replace(read, reason=f"a file of the sample cannot be read: {error}"), ()
    read = Sampled(len(rows), costs.total(rows, needed), len(sample), limit, total)
    groups = (
        SamplePartitions.of(sample, Vector(snapshot.files.table.column("partition")).array) if len(sample) else None
    )
    if groups is None or not groups.enough:
        reason = "the rows that were read are too few, or no partition has several files"
        return replace(read, reason=reason), ()
    advice = _layouts(handle, snapshot, files, wanted, sample, groups, named=named)
    if advice:
        return read, advice
    return replace(read, reason=f"no order of these columns leaves out {_PAYS:.0%} more of the files"), ()


def _no_sample(handle: Handle, snapshot: Snapshot, files: FilesOf, wanted: list[Measured]) -> str:
    """Why nothing has to be read: no layout would help."""
    if files.count < 2:
        return "a table of one file has nothing to leave out"
    if not _is_one_folder(handle):
        return "a table of chosen files (patterns, several folders, a glob) is no folder that a statement could name"
    if snapshot.details.read_options().get("file_format", "parquet") != "parquet":
        return "CSV and JSON files have no bounds of their own: an index has them, and a CoveringRange index an order"
    return "" if wanted else "no column with bounds varies inside the files"


def _layouts(
    handle: Handle,
    snapshot: Snapshot,
    files: FilesOf,
    wanted: list[Measured],
    sample: SampleRows,
    groups: SamplePartitions,
    *,
    named: bool,
) -> tuple[Advice, ...]:
    """The layouts that pay, best first."""
    columns = SampleColumns.of(sample)
    whole = len(np.unique(sample.file)) == files.count and len(sample) >= float(np.nansum(files.rows))
    now = [_files_now(measured, values, sample, files) for measured, values in zip(wanted, sample.values, strict=True)]
    advice: list[Advice] = []
    for by, curve in _candidates([measured.facts.leaf for measured in wanted], way_of(snapshot.format)):
        then = files_then(columns, groups, by, curve, RANGE, whole=whole) * files.count
        effects = tuple(
            LayoutEffect(".".join(measured.facts.leaf.parts), named or at in by, now[at], float(then[at]))
            for at, measured in enumerate(wanted)
        )
        parts = tuple(wanted[at].facts.leaf.parts for at in by)
        size = max(int(files.sizes.mean()), 1)
        path, name = handle.root(snapshot), catalog_name(handle)
        partitions = snapshot.partition_columns
        rewrite = Rewrite(snapshot.format, path, name, parts, curve, size, files.count, partitions)
        advice.append(Advice(tuple(map(".".join, parts)), effects, files.count, rewrite))
    return _best(advice)


def _best(advice: list[Advice]) -> tuple[Advice, ...]:
    """Return, of the advice that pays, the one that leaves the fewest files to read for all columns together (of equals
    the one by fewer columns), and the best by a single column."""
    paying = sorted(
        (advice_ for advice_ in advice if advice_.saving >= _PAYS), key=lambda a: (round(_left(a), 2), len(a.columns))
    )
    alone = [advice_ for advice_ in paying[1:] if len(advice_.columns) == 1 < len(paying[0].columns)]
    return tuple(paying[:1] + alone[:1])


def _left(advice: Advice) -> float:
    """Return what queries on any of the columns would read, as a share of what they read now: losses count, too."""
    return sum(effect.files_then for effect in advice.effects) / max(
        sum(effect.files_now for effect in advice.effects), 1e-9
    )


def _candidates(leaves: Sequence[Leaf], way: Way) -> Iterator[tuple[tuple[int, ...], Curve]]:
    """Yield each column alone; two or three along a curve, if the format has one, else one behind the other."""
    for size in (1, 2, 3):
        for by in combinations(range(len(leaves)), size):
            if size == 3 and len(leaves) > 4 and by != (0, 1, 2):
                continue
            yield from way.orders(leaves, by)


def _files_now(measured: Measured, values: pa.Array, sample: SampleRows, files: FilesOf) -> float:
    """Return what a range reads of the files as they are, with rows between bounds placed as in the sample."""
    unknown = float((~measured.bounded & ~measured.empty).sum())
    return measured.reads(_fractions(measured, values, sample)).by_range(np.ones(len(measured.ranges)), RANGE) + unknown


def _fractions(measured: Measured, values: pa.Array, sample: SampleRows) -> Floats:
    kept = Vector.arrow(measured.bounded)
    facts = measured.facts.facts
    bounds = [compute("filter", Vector(facts.column(side)).array, kept) for side in ("lower", "upper")]
    valid = np.asarray(values.is_valid()) & measured.bounded[sample.file]
    low, high, seen = numbers_of([*bounds, compute("filter", values, Vector.arrow(valid))])
    place = (np.cumsum(measured.bounded) - 1)[sample.file[valid]]
    return fractions_of(seen, low[place], high[place], len(measured.ranges))


_CHOOSING = {"glob", "pathglobfilter", "recursivefilelookup", "basepath", "modifiedbefore", "modifiedafter"}
"""Options that choose among plain files."""


def clustering(
    handle: Handle,
    columns: Sequence[str],
    *,
    version: VersionLike,
    timestamp: TimestampLike,
    sample: float | None,
    indexes: Iterable[str] | None,
    part: float = 1.0,
) -> Clustering:
    """Implement `Table.clustering`. `part`: of what `sample` says, what may be read."""
    handle = handle.as_indexed()
    bounds = bounds_of(handle, handle.snapshot(At.asked(version, timestamp)), indexes)
    return measure(handle, columns, bounds, sample, part=part)


def known_clustering(handle: Handle, snapshot: Snapshot, most: int) -> tuple[ColumnClustering, ...]:
    """Measure the first columns by what the log and the indexes hold of every file; no file is opened."""
    bounds = FileStatistics(snapshot, handle.open_indexes(None)[0])
    return measure(handle, (), bounds, 0.0, most).columns


def bounds_of(handle: Handle, snapshot: Snapshot, indexes: Iterable[str] | None) -> FileStatistics:
    opened, refused = handle.open_indexes(names_of(indexes, "indexes"))
    notes = [f"index {report.name} is left out: {report.reason}" for report in refused]
    return FileStatistics(snapshot, opened, notes, storage=handle.ref.storage)


def catalog_name(handle: Handle) -> str:
    """Return the name of a table that a catalog opened, with the catalog's own name, as SQL writes it."""
    catalog = handle.ref.options.get("catalog")
    if catalog is None:
        return ""
    name = getattr(catalog, "name", None)
    return f"{name or 'catalog'}.{handle.ref.path}"


def _is_one_folder(handle: Handle) -> bool:
    """Return whether all files below the table's path are the table: plain files can be chosen among others."""
    chosen = {name.lower() for name in handle.ref.options} & _CHOOSING
    return not (handle.ref.patterns or chosen)
