"""Reads data files for their keys: every file once for all keys, row group by row group, and into each key's collector
what is certain of it.

    of a file                                                        its keys
    a column is there, of a type whose values the table shows        its values
    it is not there, and what readers show instead is known          NULL, or the default, in every row group
    a partition column                                               the partition's value, in every row group
    it is not there, and the kind takes every row                    unkeyed: the row groups would count as rows
    none of these, or a value has no canonical form                  unkeyed, those that have the column
    the file cannot be read whole, or is not the one listed          unkeyed, all; and told

A store that does not answer says nothing of a file: the build fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from metaindex.core import Progress, ScanError, StorageUnavailableError, first_line
from metaindex.formats import Field, Leaf
from metaindex.index.build.collect import UNREADABLE, foreign_format, readable
from metaindex.index.build.extremes import ColumnScan
from metaindex.index.build.key_file import KeyFile, Opener
from metaindex.index.build.key_parquet import ParquetOpener
from metaindex.index.build.protocol import BuildRequest
from metaindex.index.kinds.canonical import UnkeyedValuesError
from metaindex.index.kinds.keyed import TakesRows, add_groups
from metaindex.index.kinds.kind import PlannedKey
from metaindex.storage import Storage


@dataclass(frozen=True, slots=True)
class KeyScan:
    """Reading of data files for keys: plain data, which travels to Spark tasks. `partitions`: each partition column's
    value (by stable name) in each partition of the run, and in which it is known."""

    plans: tuple[PlannedKey, ...]
    file_format: str
    options: tuple[tuple[str, object], ...]
    fields: tuple[Field, ...]  # the table's columns that stand in the files, in order
    partitions: Mapping[str, tuple[pa.Array, pa.Array]]
    facts: tuple[Leaf, ...] = ()  # columns that are scanned in the same pass, where that needs the data (`KeyReport`)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The columns of all keys that are read from the files, each once."""
        by_name = {leaf.stable: leaf for plan in self.plans for leaf in plan.leaves if not leaf.field.partition}
        return tuple(by_name.values())

    @classmethod
    def of(cls, request: BuildRequest, plans: Sequence[PlannedKey], facts: tuple[Leaf, ...] = ()) -> KeyScan:
        columns = {leaf.stable: leaf for plan in plans for leaf in plan.leaves if leaf.field.partition}
        constants = {stable: request.partition_constants(leaf) for stable, leaf in columns.items()}
        return cls(tuple(plans), *request.reading, constants, facts)


@dataclass(slots=True)
class KeyReport:
    """Files that could not be keyed: the reasons by ordinal, the files that could not be read at all, and how many were
    opened. `scans`: of `KeyScan.facts`, by path, where they were scanned."""

    problems: dict[int, str] = field(default_factory=dict)
    unread: set[int] = field(default_factory=set)
    files_scanned: int = 0
    scans: dict[str, list[ColumnScan]] = field(default_factory=dict)


def scan_keys(
    storage: Storage,
    source: KeyScan,
    files: pa.Table,
    collectors: Sequence[TakesRows],
    threads: int = 1,
    progress: Progress | None = None,
) -> KeyReport:
    """Reads the files (`path`, `size_bytes`, `ordinal`, `partition_ord`) into the collectors, one a plan. `threads`:
    files that are fetched at a time."""
    report, opener = KeyReport(), _opener(source)
    rows = zip(
        *(files.column(name).to_pylist() for name in ("path", "size_bytes", "ordinal", "partition_ord")), strict=True
    )

    def load(row: tuple[str, int, int, int]) -> KeyFile | str:
        if isinstance(opener, str):
            return opener
        return readable(row[0], lambda: opener.open(storage, row[0], row[1], ahead=threads > 1))

    for done, ((path, _, ordinal, partition), file) in enumerate(in_turn(load, rows, threads)):
        if isinstance(file, str):
            problem: str | None = file
            _leave_out(collectors, ordinal)
            report.unread.add(ordinal)
        else:
            with closing(file):
                problem, unread = _file(source, collectors, file, path, ordinal, _constants(source, partition))
            if unread:
                report.unread.add(ordinal)
            if file.scans is not None:
                report.scans[path] = file.scans
            report.files_scanned += 1
        if problem is not None:
            foreign = foreign_format(path)
            report.problems[ordinal] = problem if foreign is None else f"{foreign} data files are not read for keys"
        if progress is not None:
            progress("files read for keys", done + 1, files.num_rows)
    return report


def _opener(source: KeyScan) -> Opener | str:
    """Return an opener of the data files, or the reason why none can be read."""
    match source.file_format:
        case "parquet":
            return ParquetOpener(source.leaves)
        case "csv" | "json":
            # Only tables of texts load the text reader.
            from .key_text import TextOpener

            try:
                return TextOpener.of(
                    source.file_format, dict(source.options), source.fields, source.leaves, source.facts
                )
            except ScanError as error:
                return str(error)
        case other:
            return f"data files of format {other!r} are not read for keys"


def _constants(source: KeyScan, partition: int) -> dict[str, pa.Array | None]:
    """Return each partition column's value, which all rows of the file share; None if it is unknown."""
    return {
        stable: values.slice(partition, 1) if known[partition].as_py() else None
        for stable, (values, known) in source.partitions.items()
    }


def _leave_out(collectors: Sequence[TakesRows], ordinal: int) -> None:
    for collector in collectors:
        collector.begin(ordinal, 1)
        collector.fail()


def _file(
    source: KeyScan,
    collectors: Sequence[TakesRows],
    file: KeyFile,
    path: str,
    ordinal: int,
    constants: Mapping[str, pa.Array | None],
) -> tuple[str | None, bool]:
    """Read one file into the collectors that can be sure of it. Return the problem, if any, and whether it is that the
    file cannot be read."""
    told: dict[str, list[str]] = {}  # of which keys, by why
    live: dict[int, TakesRows] = {}
    for place, (plan, collector) in enumerate(zip(source.plans, collectors, strict=True)):
        collector.begin(ordinal, max(1, file.groups))
        why = _why_not(plan, file, constants)
        if why is None:
            live[place] = collector
        else:
            collector.fail()
            told.setdefault(why[1], []).append(why[0])
    try:
        wanted = {leaf.stable for place in live for leaf in source.plans[place].leaves} & file.present
        for groups, columns in file.batches(wanted):
            for place, collector in list(live.items()):
                try:
                    add_groups(collector, *_rows(source.plans[place], groups, columns, file, constants))
                except (UnkeyedValuesError, pa.ArrowException) as error:
                    live.pop(place).fail()
                    told.setdefault(first_line(error), []).append(_name(source.plans[place]))
        for place in list(live):
            unfit = next(
                (file.unfit[leaf.stable] for leaf in source.plans[place].leaves if leaf.stable in file.unfit), None
            )
            if unfit is not None:
                live.pop(place).fail()
                told.setdefault(unfit, []).append(_name(source.plans[place]))
    except StorageUnavailableError:
        raise
    except UNREADABLE as error:
        for collector in live.values():
            collector.fail()
        return f"cannot read {path!r}: {first_line(error)}", True
    for collector in live.values():
        collector.end()
    return "; ".join(f"{', '.join(dict.fromkeys(names))}: {why}" for why, names in told.items()) or None, False


def _why_not(plan: PlannedKey, file: KeyFile, constants: Mapping[str, pa.Array | None]) -> tuple[str, str] | None:
    """A column of the key, and why nothing is sure of it."""
    for leaf in plan.leaves:
        if plan.kind.rows.takes_every_row and leaf.stable not in file.present:
            return ".".join(leaf.parts), "the file does not have the column, and one row would speak for many"
        if leaf.stable in file.unknown:
            return ".".join(leaf.parts), file.unknown[leaf.stable]
        if leaf.field.partition and constants.get(leaf.stable) is None:
            return ".".join(leaf.parts), "the value of the partition is not known"
    return None


def _rows(
    plan: PlannedKey,
    groups: Sequence[tuple[int, int]],
    columns: Mapping[str, pa.Array],
    file: KeyFile,
    constants: Mapping[str, pa.Array | None],
) -> tuple[Sequence[tuple[int, int]], list[pa.Array]]:
    """The arrays of a key, as long as each other, and the row groups that they are of. Where no part of the key is in
    the file, one row speaks for all of a row group."""
    arrays: list[pa.Array | None] = [columns.get(leaf.stable) for leaf in plan.leaves]
    rows = next((len(array) for array in arrays if array is not None), None)
    if rows is None:
        groups, rows = [(group, 1) for group, _ in groups], len(groups)
    out = []
    for leaf, values in zip(plan.leaves, arrays, strict=True):
        if values is None:
            constant = constants.get(leaf.stable) if leaf.field.partition else file.constants[leaf.stable]
            assert constant is not None
            values = pa.repeat(constant[0], rows)
        out.append(values)
    return groups, out


def _name(plan: PlannedKey) -> str:
    return ", ".join(".".join(leaf.parts) for leaf in plan.leaves)


A = TypeVar("A")
B = TypeVar("B")


def in_turn(work: Callable[[A], B], items: Iterable[A], threads: int) -> Iterator[tuple[A, B]]:
    """Yield each item with its result, in the items' order; at most `threads` results are made ahead."""
    if threads <= 1:
        for item in items:
            yield item, work(item)
        return
    waiting: deque[tuple[A, Future[B]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) >= threads:
                    first, result = waiting.popleft()
                    yield first, result.result()
            while waiting:
                first, result = waiting.popleft()
                yield first, result.result()
        finally:
            for _, result in waiting:
                result.cancel()
