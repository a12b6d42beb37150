"""A small table of each format, with rows added and rows deleted by the format's own writer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import IntegerType

import metaindex as mi

FORMATS = ("delta", "iceberg", "parquet")
SCHEMA = pa.schema([("user", pa.string()), ("n", pa.int64())])


def rows(first: int, count: int = 40) -> pa.Table:
    """Every fifth user is NULL."""
    users = [None if n % 5 == 0 else f"user-{n}" for n in range(first, first + count)]
    return pa.table([users, range(first, first + count)], schema=SCHEMA)


@dataclass
class Lake:
    root: Path
    format: str
    wide: bool = False

    @property
    def location(self) -> str:
        return str(self.root / "table")

    def add(self, some: Sequence[pa.Table]) -> None:
        """One file each."""
        for table in some:
            if self.wide:
                table = table.append_column("extra", pa.array([1] * table.num_rows, pa.int32()))
            match self.format:
                case "delta":
                    deltalake.write_deltalake(self.location, table, mode="append", schema_mode="merge")
                case "iceberg":
                    self._iceberg().append(table)
                case _:
                    Path(self.location).mkdir(exist_ok=True)
                    pq.write_table(table, f"{self.location}/{table.column('n')[0]}.parquet", row_group_size=10)

    def delete(self, below: int) -> None:
        match self.format:
            case "delta":
                deltalake.DeltaTable(self.location).delete(f"n < {below}")
            case "iceberg":
                self._iceberg().delete(f"n < {below}")
            case _:
                for path in Path(self.location).glob("*.parquet"):
                    left = pq.read_table(path)
                    left = left.filter(pc.greater_equal(left.column("n"), below))
                    path.unlink()
                    pq.write_table(left, path.with_stem(f"{path.stem}_left"), row_group_size=10)

    def widen(self) -> None:
        """Files have one more column from now on; plain ones have not, whose tables would need `mergeSchema`."""
        self.wide = self.format != "parquet"
        if self.format == "iceberg":
            with self._iceberg().update_schema() as change:
                change.add_column("extra", IntegerType())

    def there(self) -> pa.Table:
        """All rows, as the format's own reader shows them."""
        match self.format:
            case "delta":
                table = deltalake.DeltaTable(self.location).to_pyarrow_table()
            case "iceberg":
                table = self._iceberg().scan().to_arrow()
            case _:
                table = pa.concat_tables([pq.read_table(path) for path in Path(self.location).glob("*.parquet")])
        return table.select(SCHEMA.names).cast(SCHEMA).sort_by("n")

    def open(self, **how: Any) -> mi.Table:
        return mi.open_table(self.place(), **how)

    def place(self) -> str:
        return str(self._iceberg().metadata_location) if self.format == "iceberg" else self.location

    def _iceberg(self) -> Any:
        catalog = SqlCatalog("lake", uri=f"sqlite:///{self.root}/catalog.db", warehouse=f"file://{self.root}")
        catalog.create_namespace_if_not_exists("db")
        return catalog.create_table_if_not_exists("db.table", SCHEMA, location=f"file://{self.location}")
