"""A small table of each format, with rows added and rows deleted by the format's own writer (of files: pyarrow's)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.json as pajson
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import IntegerType

import metaindex as mi

FORMATS = ("delta", "iceberg", "parquet", "csv", "json")
SCHEMA = pa.schema([("user", pa.string()), ("n", pa.int64())])


def rows(first: int, count: int = 40) -> pa.Table:
    """Every fifth user is NULL, but for every second file, which has none."""
    no_nulls = first // count % 2
    users = [None if n % 5 == 0 and not no_nulls else f"user-{n}" for n in range(first, first + count)]
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
                    self._write(table, Path(f"{self.location}/{table.column('n')[0]}.{self.format}"))

    def delete(self, below: int) -> None:
        match self.format:
            case "delta":
                deltalake.DeltaTable(self.location).delete(f"n < {below}")
            case "iceberg":
                self._iceberg().delete(f"n < {below}")
            case _:
                for path in self._files():
                    left = self._read(path)
                    left = left.filter(pc.greater_equal(left.column("n"), below))
                    path.unlink()
                    self._write(left, path.with_stem(f"{path.stem}_left"))

    def widen(self) -> None:
        """Files have one more column from now on; those of Parquet and CSV have not, whose tables have the columns of
        one file."""
        self.wide = self.format not in ("parquet", "csv")
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
                table = pa.concat_tables([self._read(path).select(SCHEMA.names) for path in self._files()])
        return table.select(SCHEMA.names).cast(SCHEMA).sort_by("n")

    def open(self, **how: Any) -> mi.Table:
        return mi.open_table(self.place(), **self._options(), **how)

    def place(self) -> str:
        return str(self._iceberg().metadata_location) if self.format == "iceberg" else self.location

    @property
    def of_text(self) -> bool:
        """Are its files lines of text?"""
        return self.format in ("csv", "json")

    def _options(self) -> dict[str, Any]:
        match self.format:
            case "csv":
                return {"format": "csv", "header": True, "schema": SCHEMA}
            case "json":
                return {"format": "json"}
            case _:
                return {}

    def _files(self) -> list[Path]:
        return sorted(Path(self.location).glob(f"*.{self.format}"))

    def _write(self, table: pa.Table, path: Path) -> None:
        match self.format:
            case "csv":
                pacsv.write_csv(table, path)
            case "json":
                path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
            case _:
                pq.write_table(table, path, row_group_size=10)

    def _read(self, path: Path) -> pa.Table:
        """With the columns of SCHEMA at least."""
        match self.format:
            case "csv":
                types = pacsv.ConvertOptions(column_types=SCHEMA, null_values=[""], strings_can_be_null=True)
                return pacsv.read_csv(path, convert_options=types)
            case "json":
                return pajson.read_json(path, parse_options=pajson.ParseOptions(explicit_schema=SCHEMA))
            case _:
                return pq.read_table(path)

    def _iceberg(self) -> Any:
        catalog = SqlCatalog("lake", uri=f"sqlite:///{self.root}/catalog.db", warehouse=f"file://{self.root}")
        catalog.create_namespace_if_not_exists("db")
        return catalog.create_table_if_not_exists("db.table", SCHEMA, location=f"file://{self.location}")
