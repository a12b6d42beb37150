"""A Delta table of tiny real files whose log is written by hand, so that anything can happen to it; and what is true of
each of its versions."""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.formats.delta.hand import add, checkpoint, column, commit, metadata, protocol, remove

ROWS = 10
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 1,
    "sizeInBytes": 40,
    "cardinality": 6,
}


@dataclass(frozen=True)
class File:
    """A file of the ids from `first` on."""

    path: str
    size: int
    first: int
    deletes: bool = False

    def add(self) -> dict[str, Any]:
        more = {"deletionVector": VECTOR} if self.deletes else {}
        return add(self.path, size=self.size, partitionValues={"p": self.path[2]}, **more)

    def remove(self) -> dict[str, Any]:
        more = {"deletionVector": VECTOR} if self.deletes else {}
        return remove(self.path, size=self.size, **more)

    def may_hold(self, number: int) -> bool:
        return self.first <= number < self.first + ROWS


@dataclass
class DeltaHistory:
    """`versions[n]` are the files of version n, by path."""

    root: Path
    versions: list[dict[str, File]] = field(default_factory=list)
    count: int = 0
    columns: int = 1
    lives: int = 0
    cleaned: int = 0  # versions below cannot be read any more

    def __post_init__(self) -> None:
        self.create()

    @property
    def live(self) -> dict[str, File]:
        return self.versions[-1]

    @property
    def readable(self) -> range:
        return range(self.cleaned, len(self.versions))

    def create(self) -> None:
        """The table, or another one in its place. Old data files may be overwritten: names are used again."""
        shutil.rmtree(self.root / "_delta_log", ignore_errors=True)
        self.versions, self.cleaned, self.columns = [], 0, 1
        self.lives += 1
        self.commit([protocol(3, ["deletionVectors"]), self._metadata()], {})
        self.append(2)

    def append(self, files: int) -> None:
        new = [self._write() for _ in range(files)]
        self.commit([f.add() for f in new], {**self.live, **{f.path: f for f in new}})

    def remove(self, which: int) -> None:
        if len(self.live) > 1:
            gone = list(self.live.values())[which % len(self.live)]
            self.commit([gone.remove()], {p: f for p, f in self.live.items() if f != gone})

    def drop_partition(self, which: int) -> None:
        gone = [f for f in self.live.values() if f.path[2] == str(which % 3)]
        if len(gone) < len(self.live):
            self.commit([f.remove() for f in gone], {p: f for p, f in self.live.items() if f not in gone})

    def delete_rows(self, which: int) -> None:
        old = list(self.live.values())[which % len(self.live)]
        new = File(old.path, old.size, old.first, not old.deletes)
        self.commit([new.add(), old.remove()], {**self.live, old.path: new})

    def statistics_again(self, which: int) -> None:
        file = list(self.live.values())[which % len(self.live)]
        self.commit([file.add()], dict(self.live))

    def restore(self, which: int) -> None:
        """Files of an older version again, as RESTORE commits them."""
        then = self.versions[self.readable[which % len(self.readable)]]
        if then:
            actions = [f.remove() for p, f in self.live.items() if then.get(p) != f]
            actions += [f.add() for p, f in then.items() if self.live.get(p) != f]
            self.commit(actions, dict(then))

    def new_column(self) -> None:
        self.columns += 1
        self.commit([self._metadata()], dict(self.live))

    def clean(self) -> None:
        """A checkpoint of now; every commit before it is removed."""
        number = len(self.versions) - 1
        actions = [protocol(3, ["deletionVectors"]), self._metadata(), *(f.add() for f in self.live.values())]
        checkpoint(self.root, f"{number:020d}.checkpoint.parquet", *actions)
        for version in range(number):
            (self.root / "_delta_log" / f"{version:020d}.json").unlink(missing_ok=True)
            (self.root / "_delta_log" / f"{version:020d}.checkpoint.parquet").unlink(missing_ok=True)
        self.cleaned = number

    def commit(self, actions: list[dict[str, Any]], files: dict[str, File]) -> None:
        told = {"commitInfo": {"timestamp": self.lives * 1000 + len(self.versions), "operation": "X"}}
        commit(self.root, len(self.versions), told, *actions)
        self.versions.append(files)

    def _write(self) -> File:
        number = self.count = self.count + 1
        path = f"p={number % 3}/f{number:03d}.parquet"
        first = number * ROWS
        rows = pa.table({"id": pa.array(range(first, first + ROWS), pa.int64())})
        for extra in range(1, self.columns):
            rows = rows.append_column(f"c{extra}", rows.column("id"))
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, self.root / path)
        return File(path, (self.root / path).stat().st_size, first)

    def _metadata(self) -> dict[str, Any]:
        extra = [column(f"c{i}") for i in range(1, self.columns)]
        return metadata(column("id"), *extra, column("p", "integer"), partitions=["p"], table_id=f"life {self.lives}")


def checksum(table: DeltaHistory, files: int) -> None:
    """The version checksum that some writers put beside a commit."""
    path = table.root / "_delta_log" / f"{len(table.versions) - 1:020d}.crc"
    path.write_text(json.dumps({"numFiles": files}))
