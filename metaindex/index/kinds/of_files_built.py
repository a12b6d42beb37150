"""Builds, merges and compares the rows of kinds that keep one of every file (`of_files`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from metaindex.core import Vector, arrow_array, dataclass
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.rows import Columns
from metaindex.index.store.writer import RunSink

from .canonical import UnkeyedValuesError
from .keyed import Gathered, KeyPlan, Spill, Units
from .kind import KeyRows, MergeInto
from .stored_rows import stored_rows

COLUMNS = Columns(ascending=frozenset({"ordinal"}), ranged=frozenset({"key_id", "ordinal"}))
_PART_BYTES = 64 << 20
_MOST_ROWS = 1 << 18
_SHORT_BYTES = 64


class OfFile(Protocol):
    """Takes the values of one file."""

    def add(self, values: pa.Array) -> None:
        """Add rows. Raises UnkeyedValuesError, or an error of Arrow, for unsupported values."""

    def row(self) -> Mapping[str, object]:
        """Return the result: a value for each column of the schema except the first two."""


class MakesRows(Protocol):
    """Kind that makes rows of files: their columns, their approximate size, what its keys state, and the collector of a
    file's values."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def row_bytes(self) -> int: ...

    @property
    def said_layout(self) -> dict[str, int | str]: ...

    def of_file(self, type_: pa.DataType) -> OfFile: ...


class OfFilesCollector:
    """Collects rows of whole files, and spills those beyond its memory limit; see `KeyCollector`."""

    def __init__(self, kind: MakesRows, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> None:
        self._kind, self._plan, self._sink, self._spill, self._files = kind, plan, sink, spill, files
        self._open: OfFile | None = None
        self._held: list[dict[str, object]] = []
        self._away: list[str] = []
        self._unkeyed: list[int] = []
        self._entries, self._ordinal = 0, -1

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal, self._open = ordinal, self._kind.of_file(self._plan.leaves[0].type)

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        assert self._open is not None
        self._open.add(_alone(values))

    def add_groups(self, groups: Sequence[tuple[int, int]], values: Sequence[pa.Array]) -> None:
        """Add row groups as if they were one; see `AddsGroups`."""
        self.add(0, values)

    def end(self) -> None:
        assert self._open is not None
        self._held.append({"key_id": self._plan.key_id, "ordinal": self._ordinal, **self._open.row()})
        self._entries += 1
        self._open = None
        if len(self._held) * self._kind.row_bytes > self._spill.limit_bytes:
            self._put_away()

    def fail(self) -> None:
        self._unkeyed.append(self._ordinal)
        self._open = None

    def close(self) -> tuple[CoveredKey, list[PartInfo], Units]:
        finisher = OfFilesFinisher(self._kind, self._plan, self._sink, self._spill, self._files, (self.hand_over(),))
        parts = [part for number in range(finisher.ranges) for part in finisher.write(number)]
        for path in self._away:
            self._spill.storage.delete(path)
        key, unkeyed = finisher.covered()
        return key, parts, unkeyed

    def hand_over(self) -> Gathered:
        if self._held:
            self._put_away()
        return Gathered(tuple(self._away), self._entries, tuple(self._unkeyed))

    def _put_away(self) -> None:
        table = pa.Table.from_pylist(self._held, schema=self._kind.schema)
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
        self._away.append(self._spill.fresh(self._kind.name))
        self._spill.storage.put(self._away[-1], out.getvalue().to_pybytes())
        self._held.clear()


@dataclass(frozen=True)
class OfFilesFinisher:
    """Writes ranges of files, as many as a part may have rows; see `KeyFinisher`."""

    kind: MakesRows
    plan: KeyPlan
    sink: RunSink
    spill: Spill
    files: int
    gathered: tuple[Gathered, ...] = field(default=())

    @property
    def ranges(self) -> int:
        return -(-self.files // _part_rows(self.kind.row_bytes)) if any(share.entries for share in self.gathered) else 0

    def write(self, number: int) -> list[PartInfo]:
        first = number * _part_rows(self.kind.row_bytes)
        last = min(self.files, first + _part_rows(self.kind.row_bytes))
        some = []
        for path in (path for share in self.gathered for path in share.spills):
            with pa.ipc.open_stream(pa.py_buffer(self.spill.storage.read(path))) as opened:
                table = opened.read_all()
            ordinals = Vector(table.column("ordinal")).numbers
            some.append(table.filter(pa.array((ordinals >= first) & (ordinals < last))))
        return _written(self.kind.name, some, self.sink, self.plan.number(number))

    def covered(self) -> tuple[CoveredKey, Units]:
        unkeyed = np.array(sorted(ordinal for share in self.gathered for ordinal in share.unkeyed), np.int64)
        return self.plan.covered(self.kind.said_layout, len(unkeyed)), unkeyed


class OfFilesCheck:
    """Computes each file's row again; see `checks.KeyCheck`. Short forms of the results are held, and the stored rows
    stream past: all of them may exceed memory."""

    def __init__(self, kind: MakesRows, plan: KeyPlan, reader: RunReader, key: CoveredKey) -> None:
        self._kind, self._plan, self._reader, self._key = kind, plan, reader, key
        self._open: OfFile | None = None
        self._ordinal = -1
        self._truth: dict[int, dict[str, object]] = {}
        self.failed: list[int] = []

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal, self._open = ordinal, self._kind.of_file(self._plan.leaves[0].type)

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        assert self._open is not None
        self._open.add(_alone(values))

    def end(self) -> None:
        assert self._open is not None
        self._truth[self._ordinal] = {name: _short(value) for name, value in self._open.row().items()}

    def fail(self) -> None:
        self.failed.append(self._ordinal)

    def wrong(self, ordinals: Sequence[int]) -> Iterator[tuple[int, str]]:
        waiting = {ordinal: self._truth[ordinal] for ordinal in ordinals}
        for table in stored_rows(self._reader, self._key):
            places = table.column("ordinal").to_pylist()
            for at in (at for at, ordinal in enumerate(places) if ordinal in waiting):
                (stored,) = table.slice(at, 1).to_pylist()
                truth = waiting.pop(places[at])
                other = [name for name, value in truth.items() if _short(stored[name]) != value]
                if other:
                    yield places[at], f"its rows come to another {', '.join(other)} than the index says"
        for ordinal in waiting:
            yield ordinal, "the index has no row of it"


def _short(value: object) -> object:
    return xxhash.xxh3_128_digest(value) if isinstance(value, bytes) and len(value) > _SHORT_BYTES else value


def _alone(values: Sequence[pa.Array]) -> pa.Array:
    if len(values) != 1:
        raise UnkeyedValuesError("what a file's values come to is of one column")
    (column,) = values
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _part_rows(row_bytes: int) -> int:
    return max(1, min(_MOST_ROWS, _PART_BYTES // row_bytes))


def _written(name: str, tables: Sequence[pa.Table], sink: RunSink, number: int) -> list[PartInfo]:
    rows = pa.concat_tables(tables).sort_by("ordinal") if tables else None
    if rows is None or not rows.num_rows:
        return []
    return [sink.write(name, rows.combine_chunks(), number, COLUMNS)]


def merged(
    schema: pa.Schema, row_bytes: int, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto
) -> Iterator[PartInfo]:
    """Part by part: what is read of each run again are the row groups whose files go into the part."""
    files = max((int(places.max(initial=-1)) + 1 for _, _, places in some), default=0)
    step, number = _part_rows(row_bytes), 0
    for first in range(0, files, step):
        tables = [
            table
            for run, old, places in some
            for table in _of_range(schema, run, old, places, first, min(files, first + step))
        ]
        for part in _written(
            key.kind, [_as(table, schema, key.key_id) for table in tables], into.sink, into.number(number)
        ):
            number += 1
            yield part


def _of_range(
    schema: pa.Schema, run: RunReader, old: CoveredKey, places: npt.NDArray[np.int64], first: int, last: int
) -> Iterator[pa.Table]:
    """Return rows of the files whose new ordinals are in a range, with these ordinals."""
    names = schema.names
    for part in run.parts(old.kind):
        if part.first_key != old.key_id:
            continue
        for group in range(len(run.footer(part).rows)):
            ordinals = Vector(run.read(part, [group], ["ordinal"], keep=False).column("ordinal")).numbers
            new = places[ordinals.astype(np.int64)]
            at = np.flatnonzero((new >= first) & (new < last))
            if len(at):
                rows = run.read(part, [group], names, keep=False).take(arrow_array(at, None, pa.int64()))
                ordinals = arrow_array(new[at].astype(np.int32), None, pa.int32())
                yield rows.set_column(names.index("ordinal"), schema.field("ordinal"), ordinals)


def _as(table: pa.Table, schema: pa.Schema, key_id: int) -> pa.Table:
    ids = pa.repeat(pa.scalar(key_id, pa.int64()), table.num_rows)
    arrays = [ids if f.name == "key_id" else table.column(f.name).cast(f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
