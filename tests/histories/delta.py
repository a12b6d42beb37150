"""A Delta table to which `deltalake` does random things."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from typing import Literal

import deltalake
import pyarrow as pa

import metaindex as mi
from tests.histories.driver import History


class DeltaLakeHistory(History):
    """`rows(first, count)` are those of a file."""

    rows: Callable[[int, int], pa.Table]

    def __init__(self, path: Path | str, random: Random) -> None:
        super().__init__(random)
        self.path = str(path)
        self.number = 0  # of files appended
        self.append()

    @property
    def table(self) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(self.path)

    def open(self) -> mi.Table:
        return mi.open_table(self.path)

    def write(self, table: pa.Table, mode: Literal["append", "overwrite"]) -> None:
        deltalake.write_deltalake(self.path, table, mode=mode)

    def committing(self, table: deltalake.DeltaTable) -> AbstractContextManager[object]:
        """Around each commit that is no write."""
        return nullcontext()

    # What happens -----------------------------------------------------------------------------------------------------

    def append(self, mode: Literal["append", "overwrite"] = "append") -> None:
        self.write(type(self).rows(self.number * 10, self.random.randint(4, 10)), mode)
        self.number += 1

    def overwrite(self) -> None:
        self.append("overwrite")

    def delete(self) -> None:
        first = self.random.randrange(self.number) * 10
        with self.committing(table := self.table):
            table.delete(f"id >= {first} AND id < {first + 4}")

    def compact(self) -> None:
        with self.committing(table := self.table):
            table.optimize.compact()

    def restore(self) -> None:
        with self.committing(table := self.table):
            if table.version():
                table.restore(self.random.randrange(table.version()))

    def add(self) -> None:
        self.table.alter.add_columns(
            deltalake.Field(f"c{len(self.statements)}", deltalake.schema.PrimitiveType("integer"))
        )

    def checkpoint(self) -> None:
        self.table.create_checkpoint()

    def vacuum(self) -> None:
        """Older versions lose files, their logs do not."""
        self.table.vacuum(0, enforce_retention_duration=False)
