"""Lineage of rows of the table that are kept a second time, the parts that they stand in, and sizes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from metaindex.core import StorageError, dataclass
from metaindex.index.store.layout import PartInfo, run_folder

if TYPE_CHECKING:  # what builds is loaded by the verbs that build
    from metaindex.index.store.writer import RunSink

    from .pieces import WrittenPart

ORDINAL, ROW = "_mi_ordinal", "_mi_row"
RUN = "_mi_run"
"""No column of a part: the rule numbers the runs that a scan reads by it."""
LINEAGE = (pa.field(ORDINAL, pa.int32()), pa.field(ROW, pa.int64()))
"""The last columns of a part: which file of the run a row is of, and which row of it. Files of texts have no row
numbers: -1."""

NO_ROW = -1


TEXT_BYTES = 20
"""Of a text whose length nobody knows (Spark's own estimate); four times as much for what is nested or binary."""


@dataclass(frozen=True, slots=True)
class RowSizes:
    """Sizes of a key's parts in a run. `column_bytes`: what each stored column takes, compressed, lineage too. `keys`:
    how many different values of the indexed columns follow on each other (what stands at the end of one part and the
    beginning of the next counts twice); 0: not known, which runs before this was counted do not tell."""

    column_bytes: Mapping[str, int]
    keys: int = 0

    @staticmethod
    def of_value(type_: pa.DataType) -> int:
        """Return about how many bytes a value of this type has in memory."""
        try:
            return max(1, int(type_.bit_width) // 8)
        except ValueError:
            text = pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_)
            return TEXT_BYTES if text else 4 * TEXT_BYTES

    @staticmethod
    def packs_sorted(type_: pa.DataType) -> bool:
        """Return whether sorted values of a stored type take little: they are integers, whose differences are small."""
        return bool(pa.types.is_signed_integer(type_) or pa.types.is_date32(type_) or pa.types.is_timestamp(type_))


NOT_COUNTED = RowSizes({})


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part as a reader finds it. `bucket`: None in ranges. `ORDINAL`, `ROW`: its last columns."""

    info: PartInfo
    bucket: int | None
    ORDINAL: ClassVar[str] = ORDINAL
    ROW: ClassVar[str] = ROW

    @property
    def path(self) -> str:
        return self.info.path


def with_lineage(stored: pa.Schema) -> pa.Schema:
    """Return all columns of a part."""
    return pa.schema([*stored, *LINEAGE])


def sizes_of(parts: Iterable[WrittenPart]) -> RowSizes:
    """Return the total sizes of the parts."""
    column_bytes: dict[str, int] = {}
    keys = 0
    for part in parts:
        keys += part.keys
        for name, size in part.column_bytes.items():
            column_bytes[name] = column_bytes.get(name, 0) + size
    return RowSizes(column_bytes, keys)


def remove_strays(sink: RunSink, partition: str, named: Collection[str], start: str = "") -> None:
    """Removes parts of the run in a partition (those whose names begin so) that are not named: of tasks that were run
    twice, and of tries that came to nothing. What a store does not remove now is for `clean`."""
    folder = run_folder(partition, sink.run)
    with suppress(StorageError):
        there = [info.path for info in sink.storage.list(folder)]
        for path in there:
            if path.startswith(f"{folder}/{start}") and path not in named:
                sink.storage.delete(path)
