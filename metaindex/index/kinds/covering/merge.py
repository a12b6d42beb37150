"""Merges the rows of a covering index of several runs, piece by piece: a bucket, or a stretch of the ranges. Sorted
streams in windows, so that a row group of each part is in memory.

Pieces are plain data but for the storage: whoever writes them (`pieces.WritesPieces`) may be threads of this process or
tasks on other machines. What they tell counts only if every piece was written once; and of every part every row was
read once, hashes to its bucket, stands behind the one before it, and was written once where its file stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import BuildError, DamagedIndexError, Vector, dataclass
from metaindex.index.kinds.kind import KeyRows
from metaindex.index.kinds.pieces import MergedPiece, WritesPieces, in_threads
from metaindex.index.kinds.row_sums import RowSum, sum_of_rows
from metaindex.index.kinds.served import ORDINAL, ROW, StoredPart, remove_strays, sizes_of, with_lineage
from metaindex.index.log.entry import CoveredKey, RunRef
from metaindex.index.store.kway import merged
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import ReadCount, RunReader, StoreCache
from metaindex.index.store.writer import RunSink

from .bounds import Stretch, stretches
from .layout import PARTITION, RowLayout, said_of
from .murmur3 import buckets_of
from .order import Ascending, in_spark_order
from .parts import (
    GROUP_BYTES,
    PART_BYTES,
    RANGE_BYTES,
    UNPACKED,
    PartWriter,
    range_bytes,
    read_groups,
    stored_parts,
    stretch_bytes,
)

STRETCH_BYTES = 256 << 20
"""Of parts, that a stretch of ranges is made of, at least."""

PART_NUMBERS = 10_000_000
"""Of each key of a run, as `keyed.part_number` has it."""


@dataclass(frozen=True, slots=True)
class MergeSource:
    """A run that rows are taken of. `ordinals`: the new one of each of its files; -1: nothing is taken of it."""

    run: RunRef
    ordinals: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Piece:
    """A bucket (None: of ranges), its parts by the number of their source, and which of their rows are in it."""

    bucket: int | None
    parts: tuple[tuple[int, PartInfo], ...]
    stretch: Stretch = Stretch()

    @property
    def size_bytes(self) -> int:
        """Size of the parts that are read for it."""
        return sum(part.size_bytes for _, part in self.parts)


@dataclass(frozen=True, slots=True)
class CoveringMerge:
    """The rows of one key, in pieces. `place`: its number among the covering keys of the run."""

    sink: RunSink
    key_id: int
    layout: RowLayout
    place: int
    sources: tuple[MergeSource, ...]
    pieces: tuple[Piece, ...]
    part_bytes: int  # from which on the next part begins

    @property
    def sizes(self) -> list[int]:
        """Return the pieces' sizes; see `pieces.RowMerge`."""
        return [piece.size_bytes for piece in self.pieces]

    def tidy(self, pieces: Sequence[MergedPiece]) -> None:
        """Remove stray parts; see `pieces.RowMerge`."""
        remove_strays(
            self.sink, PARTITION, {part.info.path for piece in pieces for part in piece.parts}, f"{self.place:03d}-"
        )

    def write(self, number: int, attempt: int = 0) -> MergedPiece:
        """Writes one piece, in parts of names that no other attempt has. DamagedIndexError where its parts are not what
        they should be."""
        piece, layout = self.pieces[number], self.layout
        tag = f"{attempt:06d}" if piece.bucket is not None else f"{number:06d}-{attempt:06d}"
        writer = PartWriter(
            self.sink,
            self.key_id,
            layout.stored,
            layout.placement,
            self.place,
            tag,
            piece.bucket,
            self.part_bytes,
            GROUP_BYTES if layout.curve is None else min(GROUP_BYTES, UNPACKED * self.part_bytes),
        )
        names = with_lineage(layout.stored).names
        streams = [_RunStream(self, piece, source) for source in sorted({source for source, _ in piece.parts})]
        keys = layout.placement.sorted_by
        ascending, written = Ascending(keys), RowSum()
        for window in merged([stream.tables() for stream in streams], keys):
            table = in_spark_order(window, keys)
            if ascending.broken(table):
                raise self._wrong(piece, "rows that are merged do not ascend")
            written += _sum_of(table)
            writer.add(table.select(names))
        parts = writer.close()
        taken = sum((stream.taken for stream in streams), RowSum())
        if taken != written or written.rows != sum(part.info.rows for part in parts):
            raise BuildError(
                f"every row that is read is merged once; of {taken.rows:,} rows {written.rows:,} were; nothing became"
                " visible; report this"
            )
        return MergedPiece(number, tuple(parts), sum(stream.read for stream in streams))

    def _wrong(self, piece: Piece, what: str) -> DamagedIndexError:
        where = f"bucket {piece.bucket}" if piece.bucket is not None else "a range"
        runs = ", ".join(self.sources[number].run.run for number in sorted({number for number, _ in piece.parts}))
        return DamagedIndexError.for_repair(
            f"rows of a covering index are sorted, each in the bucket that it hashes to; {where} of runs {runs}: {what}"
        )


def merge_rows(
    key: CoveredKey,
    some: Sequence[KeyRows],
    sink: RunSink,
    number: Callable[[int], int],
    write: WritesPieces | None = None,
) -> tuple[dict[str, int | str], list[PartInfo]]:
    """Merge rows; see `StoredKind.merge`. `write`: by default threads of this process."""
    key = next((covered for _, covered, _ in some if RowLayout.of(covered).sizes.column_bytes), key)
    layout = RowLayout.of(key)  # of a run with rows: cut points of none mean nothing
    parts = [(at, part) for at, (reader, covered, _) in enumerate(some) for part in stored_parts(reader, covered)]
    sources = tuple(MergeSource(reader.run, ordinals) for reader, _, ordinals in some)
    merge = CoveringMerge(
        sink,
        key.key_id,
        layout,
        number(0) // PART_NUMBERS,
        sources,
        tuple(_pieces(parts, layout, len(sources))),
        _part_bytes(layout, sum(part.info.size_bytes for _, part in parts)),
    )
    pieces = sorted((write or in_threads)(merge), key=lambda piece: piece.number)
    _check(merge, pieces, sum(part.info.rows for _, part in parts))
    written = [part for piece in pieces for part in piece.parts]
    kept = {name: value for name, value in key.layout.items() if not name.startswith("bytes:")}
    return {**kept, **said_of(sizes_of(written))}, [part.info for part in written]


def _part_bytes(layout: RowLayout, size_bytes: int) -> int:
    """Return the size at which the next part begins, from the total size."""
    if layout.buckets:
        return PART_BYTES
    return range_bytes(size_bytes) if layout.curve is None else stretch_bytes(size_bytes)


def _check(merge: CoveringMerge, pieces: Sequence[MergedPiece], rows: int) -> None:
    if [piece.number for piece in pieces] != list(range(len(merge.pieces))):
        raise BuildError(
            f"every bucket is merged once; of {len(merge.pieces):,} {len(pieces):,} were told of; nothing became"
            " visible, try again"
        )
    read = sum(piece.read for piece in pieces)
    if read != rows:
        raise BuildError(
            f"every row of the runs that are merged is read once; of {rows:,} rows {read:,} were; nothing became"
            " visible, try again"
        )


def _pieces(parts: Sequence[tuple[int, StoredPart]], layout: RowLayout, sources: int) -> list[Piece]:
    """Return each bucket as a piece; for ranges, each stretch."""
    if layout.buckets:
        buckets: dict[int | None, list[tuple[int, PartInfo]]] = {}
        for source, part in parts:
            buckets.setdefault(part.bucket, []).append((source, part.info))
        return [
            Piece(bucket, tuple(some))
            for bucket, some in sorted(buckets.items(), key=lambda bucket_and_parts: bucket_and_parts[0] or 0)
        ]
    share = max(STRETCH_BYTES, 2 * RANGE_BYTES * sources)  # what is read for two stretches is less than half of a share
    cut = stretches([part.info for _, part in parts], share) if parts else []
    touched = [(stretch, tuple((at, part.info) for at, part in parts if stretch.touches(part.info))) for stretch in cut]
    return [Piece(None, some, stretch) for stretch, some in touched if some]


class _RunStream:
    """The rows of one run that are in a piece."""

    def __init__(self, merge: CoveringMerge, piece: Piece, source: int) -> None:
        self._merge, self._piece = merge, piece
        self._source = merge.sources[source]
        self._parts = [part for number, part in piece.parts if number == source]
        self.read = 0
        self.taken = RowSum()

    def tables(self) -> Iterator[pa.Table]:
        """Yield the tables of files that stay, with new ordinals and sort columns."""
        merge, layout = self._merge, self._merge.layout
        placement = layout.placement
        ascending = Ascending(placement.sorted_by)
        reader = RunReader(merge.sink.storage, self._source.run, StoreCache(), ReadCount())
        for part in self._parts:
            for group in range(len(reader.footer(part).rows)):
                table = read_groups(reader, part, layout.stored, [group])
                table = placement.sorting(self._piece.stretch.rows(part, table, placement.leading))
                if ascending.broken(table):
                    raise merge._wrong(self._piece, "they do not ascend")
                if self._piece.bucket is not None and table.num_rows:
                    indexed = [Vector(column).array for column in table.columns[: layout.indexed]]
                    if (buckets_of(indexed, layout.buckets) != self._piece.bucket).any():
                        raise merge._wrong(self._piece, "some hash to others")
                self.read += table.num_rows
                table = self._renumbered(table)
                self.taken += _sum_of(table)
                yield table

    def _renumbered(self, table: pa.Table) -> pa.Table:
        new = self._source.ordinals[table.column(ORDINAL).to_numpy()]
        at = table.schema.get_field_index(ORDINAL)
        table = table.set_column(at, table.schema.field(at), pa.array(new.astype(np.int32)))
        return table.filter(pc.greater_equal(table.column(ORDINAL), 0)) if (new < 0).any() else table


def _sum_of(table: pa.Table) -> RowSum:
    return sum_of_rows(table.column(ORDINAL).to_numpy(), table.column(ROW).to_numpy())
