"""An index opened for reading: its entry, and readers of its runs that share a cache and a count."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Cure, DamagedIndexError, Mask, MetaIndexError, Vector, Words, compute, counted, dataclass
from metaindex.expressions import ColumnRef
from metaindex.formats import FileTable, Schema, Snapshot
from metaindex.formats import Footer as DataFooter
from metaindex.index.keys import FileIdentities, file_ids, id_words, same_path
from metaindex.index.kinds.described import StoredColumn
from metaindex.index.kinds.registry import FACT_ROWS, KINDS, RowLayout
from metaindex.index.kinds.served import RowSizes, StoredPart
from metaindex.index.kinds.spark_types import spark_type, stored_type
from metaindex.index.kinds.states import StatState
from metaindex.index.log.entry import CoveredColumn, CoveredKey, IndexLogEntry, ObjectRef, RunRef
from metaindex.index.log.history import without_runs
from metaindex.index.log.sealed import CURE, one_line
from metaindex.index.log.versions import Versions
from metaindex.index.store.cache import Footer
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import ReadCount, RunReader, StoreCache
from metaindex.index.store.rows import FILES
from metaindex.storage import Storage, is_remote

Ordinals = npt.NDArray[np.int64]

ATTACHED = "attached"
"""Stands in `FileTable.deletes` where an index knows that deletes are attached and the table's log was not asked
which."""


_ROWS_AT_ONCE = 1 << 15  # as row groups have them
_FEW_FILES = 4_096
"""A run of so many is kept as it is listed: some hundred kilobytes, from which the rows of kept files are taken at
once."""

_DELETES = FileTable.SCHEMA.names.index("deletes")
_LISTED = [name for name in FileTable.SCHEMA.names if name not in ("deletes", "deleted_count")]
_HELD = [*_LISTED, "file_id"]
"""Of a run on a store, where each further column would be another wait."""


@dataclass(slots=True)
class OpenIndex:
    """An index opened for reading."""

    name: str
    entry: IndexLogEntry
    storage: Storage
    cache: StoreCache = field(default_factory=StoreCache)
    count: ReadCount = field(default_factory=ReadCount)
    left_out: tuple[str, ...] = ()  # why runs that the log names are not among those of `entry`
    _readers: dict[str, RunReader] = field(default_factory=dict)
    _versions: Versions | None = None

    @classmethod
    def of(cls, name: str, entry: IndexLogEntry, storage: Storage, cache: StoreCache | None = None) -> OpenIndex:
        """An index as far as it can be read here. `cache`: None for one look."""
        read, left_out = _understood(entry)
        return cls(name, read, storage, cache or StoreCache(), left_out=left_out)

    @staticmethod
    def why_not(error: Exception) -> str:
        """Return why an index is left out, in one line. An error that is not ours came of something stored."""
        ours = isinstance(error, MetaIndexError)
        return str(error) if ours else f"it cannot be understood ({one_line(error)}); {CURE}"

    def narrowed(self, name: str, stables: Collection[str]) -> OpenIndex:
        """Return the index with the statistics of these columns alone, by their stable names."""
        content = self.entry.content
        runs = [replace(run, columns=tuple(c for c in run.columns if c.stable in stables)) for run in content.runs]
        identity = " ".join((self.entry.index_uuid, *sorted(stables)))
        entry = replace(self.entry, name=name, index_uuid=identity, content=replace(content, runs=tuple(runs)))
        return OpenIndex.of(name, entry, self.storage, self.cache)

    @property
    def versions(self) -> Versions:
        """The table versions that the entry records."""
        if self._versions is None:
            self._versions = Versions(self.entry.content, self._object, self.cache.derived)
        return self._versions

    def _object(self, ref: ObjectRef) -> bytes:
        try:
            data = self.storage.read(ref.path, 0, ref.size_bytes)
        except MetaIndexError as error:
            raise DamagedIndexError.for_repair(
                f"an object that an entry names can be read; {ref.path} of index {self.name!r} cannot ({error})"
            ) from error
        self.count.add(len(data))
        return data

    def reader(self, run: RunRef) -> RunReader:
        if run.run not in self._readers:
            self._readers[run.run] = RunReader(self.storage, run, self.cache, self.count)
        return self._readers[run.run]

    def stored_columns(self, run: RunRef, refs: Sequence[ColumnRef], schema: Schema) -> dict[ColumnRef, StoredColumn]:
        """Return the predicate's columns that the run covers, found by stable name: a renamed column is the same, a
        dropped and re-added one is not."""
        covered = {c.stable: c for c in run.columns}
        leaves = {leaf.parts: leaf for leaf in schema.leaves()}
        out: dict[ColumnRef, StoredColumn] = {}
        for ref in refs:
            leaf = leaves.get(ref.parts)
            column = covered.get(leaf.stable) if leaf is not None else None
            stored = column.type if column is not None else None
            if leaf is None or column is None or stored is None:
                continue
            if stored == leaf.type or not self.of_text:
                out[ref] = StoredColumn(column.column_id, stored, leaf.type, column.partition)
        return out

    def column_rows(self, run: RunRef, column: CoveredColumn, partition: str | None = None) -> pa.Table:
        """Return the stored statistics of a column for every file of a run (of one partition, by its text), by
        `ordinal`."""
        return FACT_ROWS.of_column(self.reader(run), column, partition)

    def unkeyed_files(self, run: RunRef, key: CoveredKey) -> Mask:
        """Return a mask of the run's files of which the key knows nothing. Raises DamagedIndexError if their number is
        not the log entry's."""
        reader = self.reader(run)

        def read() -> Mask:
            out = np.zeros(run.files, np.bool_)
            for part in reader.parts("unkeyed"):
                first, last = part.first_key, part.last_key
                if first is not None and last is not None and not first <= key.key_id <= last:
                    continue
                ids = reader.footer(part).range("key_id")
                groups = [
                    g
                    for g in range(len(ids.known))
                    if not ids.known[g] or ids.least[g] <= key.key_id <= ids.greatest[g]
                ]
                if groups:
                    table = reader.read(part, groups, ["key_id", "ordinal"])
                    out[
                        Vector(table.column("ordinal")).numbers[Vector(table.column("key_id")).numbers == key.key_id]
                    ] = True
            if (found := int(np.count_nonzero(out))) != key.unkeyed_files:
                raise DamagedIndexError.for_repair(
                    f"run {run.run} of index {self.name!r} names {key.unkeyed_files} files of which a key knows"
                    f" nothing; {found} are there"
                )
            return out

        mask: Mask = reader.derived(f"unkeyed {key.kind} {key.key_id}", read)
        return mask

    def unknown_files(self, run: RunRef) -> Mask:
        """Return a mask of the run's files of which its keys, and the first of its columns, know nothing."""
        unknown = np.ones(run.files, np.bool_)
        column = next((column for column in run.columns if not column.partition), None)
        if column is not None:
            rows = self.column_rows(run, column)
            told = Vector(rows.column("state")).numbers != StatState.UNKNOWN
            told |= np.asarray(rows.column("value_count").is_valid())
            unknown[Vector(rows.column("ordinal")).numbers[told]] = False
        for key in run.keys:
            unknown &= self.unkeyed_files(run, key)
        return unknown

    def served_keys(self) -> list[ServedKey]:
        """Return the keys whose rows are read in the table's place, run by run."""
        runs = enumerate(self.entry.content.runs)
        return [ServedKey(self, number, run, key) for number, run in runs for key in KINDS.served_keys(run)]

    def covered_columns(self, run: RunRef | None = None) -> set[str]:
        """Return stable names of the columns of which statistics or a key of the run know; of any run where none is
        named."""
        runs = self.entry.content.runs if run is None else (run,)
        return {stable for each in runs for stable in KINDS.covered_columns(each)}

    @property
    def unasked_because(self) -> str:
        """Return why predicates do not use it, if its kinds answer other questions; "" otherwise."""
        if not self.entry.content.runs or self.covered_columns():
            return ""
        names = dict.fromkeys(kind.name for kind in self.entry.kinds)
        return f"an index of {' and '.join(names)} leaves no files out"

    @property
    def of_text(self) -> bool:
        """True if the files are text. Another type then reads other values (and NULLs) from the same bytes, so
        statistics do not carry over."""
        return self.entry.table.options.get("file_format") in ("csv", "json")

    def files_of(self, run: RunRef, ordinals: Ordinals, with_deletes: Mask) -> pa.Table:
        """FileTable.SCHEMA rows of the given files (ascending ordinals). Reads the row groups that hold them."""
        if run.files <= _FEW_FILES:
            every = self._every_file(run).select(_LISTED)
            rows = compute("take", every, Vector.arrow(ordinals.astype(np.int64), None, pa.int64()))
        else:
            rows = self.rows(run, "files", ordinals, _LISTED)
        attached: pa.Array = pa.nulls(len(ordinals), pa.string())
        deletes = with_deletes[ordinals]
        if deletes.any():
            attached = pa.array([ATTACHED if d else None for d in deletes], pa.string())
        columns = rows.columns
        columns[_DELETES:_DELETES] = [attached, pa.nulls(len(ordinals), pa.int64())]
        return pa.Table.from_arrays(columns, schema=FileTable.SCHEMA)

    def _every_file(self, run: RunRef) -> pa.RecordBatch | pa.Table:
        def read() -> pa.RecordBatch | pa.Table:
            names = _HELD if is_remote(self.storage.root) else _LISTED
            return _one_batch(self._read_rows(run, "files", np.arange(run.files), names))

        return self.reader(run).derived("files", read)

    def list_ahead(self, run: RunRef) -> None:
        """Read the files of a small run before it is known which are asked. Raises nothing: who needs them meets what
        is wrong."""
        if run.files <= _FEW_FILES:
            with suppress(Exception):
                self._every_file(run)

    def ids_ahead(self, run: RunRef) -> None:
        """Read where the ids of the files of a run are before some are looked up. Raises nothing, as above."""
        reader = self.reader(run)
        with suppress(Exception):
            reader.each(reader.parts("file_ids"), reader.footer)

    def rows(self, run: RunRef, kind: str, ordinals: Ordinals, names: list[str]) -> pa.Table:
        """Rows by position: the metadata partition is sorted by ordinal and has one row for each."""
        held = kind == "files" and is_remote(self.storage.root) and set(names).issubset(_HELD)
        if held and len(ordinals) > 0 and run.files <= _FEW_FILES:
            every = self._every_file(run).select(names)
            whole = pa.Table.from_batches([every]) if isinstance(every, pa.RecordBatch) else every
            return whole if len(ordinals) == run.files else whole.take(pa.array(ordinals))
        return self._read_rows(run, kind, ordinals, names)

    def _read_rows(self, run: RunRef, kind: str, ordinals: Ordinals, names: list[str]) -> pa.Table:
        reader = self.reader(run)
        asked: list[tuple[PartInfo, Ordinals, int]] = []
        start = 0
        for part in reader.parts(kind):
            low, high = np.searchsorted(ordinals, [start, start + part.rows])
            if low < high:
                asked.append((part, ordinals[low:high] - start, start))
            start += part.rows
        pieces = reader.each(asked, lambda part_: self._rows_of_part(reader, part_, names))
        if start != run.files:
            raise DamagedIndexError.for_repair(
                f"run {run.run} of index {self.name!r} has {run.files} files; its rows are {start}"
            )
        return _joined(pieces) if pieces else _no_rows(names)

    def _rows_of_part(self, reader: RunReader, asked: tuple[PartInfo, Ordinals, int], names: list[str]) -> pa.Table:
        """Read the rows `inside` of a part that begins at ordinal `start`."""
        part, inside, start = asked
        read = [*names, "ordinal"] if "ordinal" not in names else names
        picked = reader.rows_at(part, inside, read)
        if picked is None:
            picked = self._rows_of_groups(reader, part, inside, read)
        if not np.array_equal(Vector(picked.column("ordinal")).numbers, inside + start):
            raise DamagedIndexError.for_repair(
                f"`{part.kind}` has one row an ordinal, in order; run {reader.run.run} of index {self.name!r} has not"
            )
        return picked.select(names)

    @staticmethod
    def _rows_of_groups(reader: RunReader, part: PartInfo, inside: Ordinals, read: list[str]) -> pa.Table:
        """Read rows of a part with the row groups that hold them."""
        footer = reader.footer(part)
        ends = np.cumsum(footer.rows)
        group_of = np.searchsorted(ends, inside, side="right")  # ascending, as the ordinals are
        starts = np.flatnonzero(np.diff(group_of, prepend=-1))
        groups = group_of[starts]
        inside_group = inside - (ends[group_of] - footer.rows[group_of])
        keep = len(inside) * 8 <= part.rows  # who takes most of the rows would push everything else out of the cache
        taken = []
        step = max(1, _ROWS_AT_ONCE // int(footer.rows.max()))
        for first in range(0, len(groups), step):
            some = groups[first : first + step]
            table = reader.read(part, some.tolist(), read, keep=keep)
            low = starts[first]
            high = starts[first + len(some)] if first + len(some) < len(starts) else len(inside)
            counts = footer.rows[some]
            offsets = np.cumsum(counts) - counts
            wanted = inside_group[low:high] + offsets[np.searchsorted(some, group_of[low:high])]
            taken.append(compute("take", table, Vector.arrow(wanted.astype(np.int64), None, pa.int64())))
        return _joined(taken)

    def of_another_table(self, table_uuid: str) -> str | None:
        """Why nothing in the index is about a table that calls itself so, or None."""
        others = {run.table_uuid for run in self.entry.content.runs}
        if not others or table_uuid in others:
            return None
        known = ", ".join(sorted(uuid or "without an id" for uuid in others))
        with Words.about(self.name):
            return (
                f"it was built on another table ({known}) than the one that is here now"
                f" ({table_uuid or 'without an id'}); {Cure('full', 'it')}"
            )

    def identities(self, of: RunRef | Snapshot) -> FileIdentities:
        """Return the identities of all files of a run, by ordinal, or of a snapshot, by row."""
        if not isinstance(of, RunRef):
            return FileIdentities.of(of)
        table = self.rows(of, "files", np.arange(of.files), ["file_id"])
        return FileIdentities(of.table_uuid, Vector(table.column("file_id")).array)

    def locate(self, run: RunRef, files: FileIdentities) -> Ordinals:
        """The ordinal of each file in the run, -1 where the run does not have it: not at all, or as other bytes, or of
        another table."""
        out = np.full(len(files), -1, np.int64)
        if run.table_uuid != files.table_uuid:
            return out
        mine, ordinals = self._ids(run, files.ids)
        for ids in files.told if not KINDS.served_keys(run) else (files.ids,):
            asked = id_words(ids)
            for rows, here in _neighbours(mine, asked):
                same = mine[here, 1] == asked[rows, 1]
                out[rows[same]] = ordinals[here[same]]
        return out

    def locate_paths(self, run: RunRef, files: FileIdentities) -> tuple[Ordinals, Ordinals]:
        """Return matching rows of `files` and ordinals of the run that have the same path, whatever their bytes were.
        Empty for a run of another table."""
        matches: list[tuple[Ordinals, Ordinals]] = []
        if run.table_uuid == files.table_uuid:
            mine, ordinals = self._ids(run, files.ids)
            asked = id_words(files.ids)
            for rows, here in _neighbours(mine, asked):
                same = same_path(mine[here], asked[rows])
                matches.append((rows[same], ordinals[here[same]]))
        if not matches:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate([rows for rows, _ in matches]), np.concatenate([places for _, places in matches])

    def touched(self, files: FileTable) -> int:
        """Return how many of these files some run knows by path, size and time, and none as they are: by inode and time
        of change, which chmod, a hard link and a copy make other ones."""
        ids, told = file_ids(files), files.table.select(["size_bytes", "modified_ms"])
        alike, known = np.zeros(len(files), np.bool_), np.zeros(len(files), np.bool_)
        for run in self.entry.content.runs if len(files) else ():
            own = FileIdentities(run.table_uuid, ids)
            known |= self.locate(run, own) >= 0
            rows, at = self.locate_paths(run, own)
            if len(rows):
                ordinals, back = Vector.numbered(at)
                held = self.rows(run, "files", ordinals, told.column_names).take(pa.array(back))
                now = told.take(pa.array(rows))
                pairs = [(Vector(each.column(name)).numbers for each in (held, now)) for name in told.column_names]
                same = np.logical_and.reduce([one == other for one, other in pairs])
                alike[rows[same]] = True
        return int(np.count_nonzero(alike & ~known))

    def _ids(self, run: RunRef, asked: pa.FixedSizeBinaryArray) -> tuple[npt.NDArray[np.uint64], Ordinals]:
        """Return ids of the run in order, as words, and their ordinals: all that share a path with a requested one, and
        others."""
        reader = self.reader(run)
        parts = reader.parts("file_ids")
        if sum(part.rows for part in parts) != run.files:
            raise DamagedIndexError.for_repair(
                f"run {run.run} of index {self.name!r} has {run.files} files and another number of ids"
            )
        holding = [(part, _groups_with(reader.footer(part), asked)) for part in parts]
        tables = [reader.read(part, groups, ["file_id", "ordinal"]) for part, groups in holding if groups]
        if not tables:
            return np.empty((0, 2), np.uint64), np.zeros(0, np.int64)
        table = pa.concat_tables(tables)
        return id_words(Vector(table.column("file_id")).array), Vector(table.column("ordinal")).numbers.astype(np.int64)


@dataclass(frozen=True, slots=True)
class ServedKey:
    """A key of a run whose rows are read in the table's place. `number`: of the run, as a query names it."""

    index: OpenIndex
    number: int
    run: RunRef
    key: CoveredKey

    @property
    def layout(self) -> RowLayout:
        """Return how its rows are put."""
        return KINDS.served_rows(self.key).row_layout(self.key)

    @property
    def packs_sorted(self) -> bool:
        """Return whether sorted values of its first column take little."""
        return RowSizes.packs_sorted(self.layout.stored.field(0).type)

    def value_bytes(self, *names: str) -> int:
        """Return about how many bytes a value of each of these stored columns has in memory, added up."""
        stored = self.layout.stored
        return sum(RowSizes.of_value(stored.field(name).type) for name in names)

    def parts(self) -> list[StoredPart]:
        """Return its parts, in order of their bucket or range."""
        return KINDS.served_rows(self.key).parts(self.index.reader(self.run), self.key)

    def keyed(self) -> Mask:
        """Return a mask of the run's files whose rows it has."""
        return ~self.index.unkeyed_files(self.run, self.key)

    @staticmethod
    def spark_type(type_: pa.DataType) -> object:
        """Return the type of a stored column of this type, in the JSON of Spark's schemas; None where it is refused."""
        stored = stored_type(type_)
        return None if stored is None else spark_type(stored)


def _joined(tables: list[pa.Table]) -> pa.Table:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)


def _one_batch(table: pa.Table) -> pa.RecordBatch | pa.Table:
    """Return the table as one batch if possible: rows are taken from it faster."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if len(batches) == 1 else table


def _groups_with(footer: Footer, ids: pa.FixedSizeBinaryArray) -> list[int]:
    """The row groups that can hold one of the ids. They are sorted, and few of many are read where few ids are
    asked."""
    ranges = footer.range("file_id")
    count = len(footer.rows)
    if len(ids) >= 4 * count or not ranges.known.all():
        return list(range(count))
    # The last group that starts at or below an id, by the id's first 8 bytes, and those before it while they reach as
    # far.
    first = np.array([int.from_bytes(least[:8], "big") for least in ranges.least], np.uint64)
    last = np.array([int.from_bytes(greatest[:8], "big") for greatest in ranges.greatest], np.uint64)
    asked = Vector.distinct(id_words(ids)[:, 0])
    low = np.searchsorted(last, asked, side="left")
    high = np.searchsorted(first, asked, side="right")
    return sorted({group for a, b in zip(low.tolist(), high.tolist(), strict=True) for group in range(a, b)})


def _neighbours(mine: npt.NDArray[np.uint64], asked: npt.NDArray[np.uint64]) -> Iterator[tuple[Ordinals, Ordinals]]:
    """Pairs (row of `asked`, place in `mine`) that agree in the first word, by which `mine` is sorted: of each row one
    place after another, as far as they agree."""
    rows = np.arange(len(asked))
    places = np.searchsorted(mine[:, 0], asked[:, 0])
    while len(rows):
        inside = places < len(mine)
        rows, places = rows[inside], places[inside]
        alike = mine[places, 0] == asked[rows, 0]
        rows, places = rows[alike], places[alike]
        if len(rows):
            yield rows, places
        places = places + 1


def _no_rows(names: list[str]) -> pa.Table:
    return pa.Table.from_batches([], schema=pa.schema([FILES.field(n) for n in names]))


_AGED = "from when more Parquet writers were trusted: NULL counts, and bounds that some of them get wrong, are not used"


def _understood(entry: IndexLogEntry) -> tuple[IndexLogEntry, tuple[str, ...]]:
    """The entry for readers: without runs that need unknown features, and without keys of kinds unknown here; and the
    reason of each. What is dropped proves nothing, and its files are kept; versions with files of such a run are not
    recorded, for this reader."""
    runs = entry.content.runs
    foreign = {run.run: why for run in runs if (why := run.unknown) is not None}
    keys = {run.run: why for run in runs if run.run not in foreign and (why := _unknown_keys(run)) is not None}
    aged = sum(bool(run.columns) and run.trusted < DataFooter.REVISION for run in runs if run.run not in foreign)
    text = entry.table.options.get("file_format") in ("csv", "json")
    older: tuple[str, ...] = ()
    if aged and not text:
        older = (f"{counted(aged, 'run')} {_AGED}; {Cure('full', 'it')}, which reads the files again",)
    if not foreign and not keys:
        return entry, older
    content = without_runs(entry.content, frozenset(foreign)) if foreign else entry.content
    content = replace(content, runs=tuple(_known(run) if run.run in keys else run for run in content.runs))
    return replace(entry, content=content), (*foreign.values(), *keys.values(), *older)


def _known(run: RunRef) -> RunRef:
    return replace(run, keys=tuple(key for key in run.keys if KINDS.readable(key)))


def _unknown_keys(run: RunRef) -> str | None:
    newer = dict.fromkeys(why for key in run.keys if (why := KINDS.unknown(key)) is not None)
    if newer:
        return (
            f"run {run.run!r} has keys of a newer metaindex, which are not asked: one must know {', '.join(newer)};"
            " upgrade metaindex, or install the package that brings the kind"
        )
    wrong = dict.fromkeys(why for key in run.keys if (why := KINDS.senseless(key)) is not None)
    if wrong:
        return f"run {run.run!r} has keys that are not asked: {', '.join(wrong)}; recreate the index"
    return None
