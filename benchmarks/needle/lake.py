"""The table of the needle benchmark, in four forms over the same rows: Parquet, Parquet with native bloom filters,
Delta, Iceberg. About 100 bytes a row on disk.

    record_id   int64, in one row each
    event_id    32 hexadecimal digits, each in 1 to 5 rows somewhere in the table: in 1 to 5 files, but for chance
    account_id  int64, skewed: most rows are of few accounts, most accounts have few rows
    at, amount, country, note   what else a row carries

No column is in any order, so least and greatest values leave no file out. Rows are made by number, so what a query must
find is known without reading.
"""

from __future__ import annotations

import base64
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

ACCOUNTS = 200_000
_SKEW = 6  # the exponent that crowds rows into the first accounts
_COUNTRIES = ["DE", "FR", "GB", "IT", "JP", "NL", "PL", "SE", "US", "ZA"]
SCHEMA = pa.schema(
    [
        pa.field("record_id", pa.int64()),
        pa.field("event_id", pa.string()),
        pa.field("account_id", pa.int64()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("amount", pa.float64()),
        pa.field("country", pa.string()),
        pa.field("note", pa.string()),
    ]
)
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Needle:
    """A value to be found, and where it is: how many rows, in which row groups of which files (by number)."""

    column: str
    value: str | int
    rows: int
    places: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def sql(self) -> str:
        return f"{self.column} = {self.value!r}"


@dataclass(frozen=True)
class Lake:
    """The forms lie in folders of `folder`. Nothing is written before `prepare`."""

    folder: Path
    files: int = 500
    rows: int = 5_000_000
    group_rows: int = 2_500

    @classmethod
    def of(cls, folder: Path, files: int, rows: int, group_rows: int = 2_500) -> Lake:
        """The lake in its place among the tables that are kept."""
        return cls(folder / f"needle-{files}-{rows}-{group_rows}", files, rows, group_rows)

    @property
    def parquet(self) -> Path:
        return self.folder / "parquet"

    @property
    def with_bloom(self) -> Path:
        return self.folder / "parquet_bloom"

    @property
    def delta(self) -> Path:
        return self.folder / "delta"

    @property
    def iceberg(self) -> Path:
        return self.folder / "warehouse" / "needle" / "lake"

    @property
    def file_rows(self) -> int:
        return self.rows // self.files

    @property
    def groups(self) -> int:
        """Row groups of a file."""
        return -(-self.file_rows // self.group_rows)

    def name(self, file: int) -> str:
        return f"part-{file:05d}.parquet"

    def paths(self, root: Path) -> list[str]:
        return [str(root / self.name(file)) for file in range(self.files)]

    @cached_property
    def size_bytes(self) -> int:
        return sum(os.path.getsize(path) for path in self.paths(self.parquet))

    # -- what the rows hold --------------------------------------------------------------------------------------------

    @cached_property
    def events(self) -> Numbers:
        """The number of the event of every row."""
        generator = np.random.default_rng(11)
        counts = generator.integers(1, 6, self.rows // 2)
        return generator.permutation(np.repeat(np.arange(len(counts)), counts)[: self.rows])

    @cached_property
    def accounts(self) -> Numbers:
        """The account of every row."""
        shares = np.random.default_rng(12).random(self.rows)
        return (shares**_SKEW * ACCOUNTS).astype(np.int64)

    def needles(self, count: int) -> dict[str, list[Needle]]:
        """Values of each sort: unique numbers, strings in 1 to 5 files, accounts of few rows, and strings that no row
        has."""
        generator = np.random.default_rng(13)
        rows = generator.choice(self.rows, count, replace=False)
        records = [
            self._needle("record_id", int(value), [row]) for row, value in zip(rows, _records(rows), strict=True)
        ]
        asked = generator.choice(self.rows // 6, count, replace=False)
        numbers = np.bincount(self.accounts, minlength=ACCOUNTS)
        few = generator.choice(np.flatnonzero((numbers >= 3) & (numbers <= 12)), count, replace=False)
        absent = texts(np.arange(count), 2).to_pylist()
        return {
            "unique long": records,
            "string in 1 to 5 files": self._found("event_id", self.events, asked, texts(asked, 1).to_pylist()),
            "account of few rows": self._found("account_id", self.accounts, few, few.tolist()),
            "absent string": [Needle("event_id", value, 0, ()) for value in absent],
        }

    def absent(self, count: int) -> list[tuple[str, str, list[object]]]:
        """Values that no row has: strings, longs, accounts."""
        return [
            ("strings", "event_id", texts(np.arange(count), 2).to_pylist()),
            ("longs", "record_id", self.records(np.arange(self.rows, self.rows + count))),
            ("accounts", "account_id", list(range(ACCOUNTS, ACCOUNTS + count))),
        ]

    def records(self, rows: Numbers) -> list[int]:
        """The unique longs of some rows; those of rows behind the last are in none."""
        found: list[int] = _records(rows).tolist()
        return found

    def _found(self, column: str, of: Numbers, asked: Numbers, values: Sequence[str | int]) -> list[Needle]:
        rows = np.flatnonzero(np.isin(of, asked))
        return [self._needle(column, v, rows[of[rows] == one].tolist()) for one, v in zip(asked, values, strict=True)]

    def _needle(self, column: str, value: str | int, rows: Sequence[int]) -> Needle:
        places: dict[int, set[int]] = {}
        for row in rows:
            places.setdefault(int(row) // self.file_rows, set()).add(int(row) % self.file_rows // self.group_rows)
        return Needle(column, value, len(rows), tuple((f, tuple(sorted(places[f]))) for f in sorted(places)))

    # -- writing -------------------------------------------------------------------------------------------------------

    def prepare_parquet(self) -> None:
        """Writes the plain form, where it is not there yet."""
        if not self.parquet.exists():
            self._write(self.parquet, bloom=False)

    def prepare(self) -> None:
        """Writes the forms that are not there yet."""
        self.prepare_parquet()
        if not self.with_bloom.exists():
            self._write(self.with_bloom, bloom=True)
        if not (self.delta / "_delta_log").exists():
            self._link(self.delta)
            import deltalake

            deltalake.convert_to_deltalake(str(self.delta))
        if not (self.iceberg / "metadata").exists():
            self._write_iceberg()

    def _write(self, root: Path, bloom: bool) -> None:
        print(f"writing {self.rows:,} rows in {self.files:,} files: {root.name}", file=sys.stderr)
        draft = root.with_name(root.name + ".draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        filters = {key: {"ndv": self.group_rows, "fpp": 0.01} for key in ("record_id", "event_id", "account_id")}
        for file in range(self.files):
            table = self.table(file)
            pq.write_table(
                table,
                draft / self.name(file),
                row_group_size=self.group_rows,
                use_dictionary=["account_id", "country"],
                bloom_filter_options=filters if bloom else None,
            )
        # A plain file younger than its listing is not relied on: these are a minute old.
        then = time.time_ns() - 60 * 10**9
        for path in draft.iterdir():
            os.utime(path, ns=(then, then))
        draft.rename(root)

    def table(self, file: int) -> pa.Table:
        """The rows of one file."""
        numbers = np.arange(file * self.file_rows, (file + 1) * self.file_rows)
        generator = np.random.default_rng(1_000_000 + file)
        count = len(numbers)
        columns = [
            pa.array(_records(numbers)),
            texts(self.events[numbers], 1),
            pa.array(self.accounts[numbers]),
            pa.array(1_700_000_000_000_000 + generator.integers(0, 10**13, count), pa.timestamp("us", "UTC")),
            pa.array(np.round(generator.gamma(2.0, 40.0, count), 2)),
            pa.array(_COUNTRIES).take(pa.array(generator.integers(0, len(_COUNTRIES), count))),
            _notes(generator, count),
        ]
        return pa.Table.from_arrays(columns, schema=SCHEMA)

    def _link(self, root: Path) -> None:
        """The same files under another folder."""
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        for file in range(self.files):
            os.link(self.parquet / self.name(file), root / self.name(file))

    def _write_iceberg(self) -> None:
        """The same rows in the same order in as many files, with field ids: files that are merely added to a table have
        none."""
        from pyiceberg.catalog.sql import SqlCatalog

        print("writing Iceberg", file=sys.stderr)
        warehouse = self.iceberg.parent.parent
        shutil.rmtree(warehouse, ignore_errors=True)
        warehouse.mkdir(parents=True)
        catalog = SqlCatalog("needle", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}")
        catalog.create_namespace("needle")
        rows = pa.concat_tables([self.table(file) for file in range(self.files)])
        properties = {
            "write.target-file-size-bytes": str(-(-rows.nbytes // self.files)),
            "write.parquet.row-group-limit": str(self.group_rows),
            "write.parquet.compression-codec": "snappy",
        }
        table = catalog.create_table("needle.lake", SCHEMA, location=f"file://{self.iceberg}", properties=properties)
        table.append(rows)

    def iceberg_metadata(self) -> str:
        """The newest metadata file."""
        return str(max((self.iceberg / "metadata").glob("*.metadata.json")))


def texts(numbers: Numbers, salt: int) -> pa.Array:
    """32 hexadecimal digits for each number: others for another salt."""
    words = np.stack([_mixed(numbers, salt * 2), _mixed(numbers, salt * 2 + 1)], axis=1)
    digits = pa.py_buffer(words.tobytes().hex().encode())
    offsets = np.arange(len(numbers) + 1, dtype=np.int32) * 32
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), digits)


def _records(rows: Numbers) -> Numbers:
    """A number of its own for each row, in no order."""
    return _mixed(rows, 0).view(np.int64)


def _notes(generator: np.random.Generator, count: int) -> pa.Array:
    data = pa.py_buffer(base64.b64encode(generator.bytes(count * 30)))
    return pa.StringArray.from_buffers(count, pa.py_buffer(np.arange(count + 1, dtype=np.int32) * 40), data)


def _mixed(numbers: Numbers, salt: int) -> npt.NDArray[np.uint64]:
    """splitmix64: another number for every number."""
    z = (numbers.astype(np.uint64) + np.uint64(salt << 40)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
