"""Histories of real Parquet files under metadata made by hand, with deletes of every kind; and a model of them in plain
loops.

Spark reads equality deletes and writes none, so its opinion on them is to be had only of tables like these.
"""

import json
import struct
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from pyroaring import BitMap64

from tests.formats.iceberg.handmade import HandManifest, HandTable, entry
from tests.formats.iceberg.written_rows import (
    ARROW,
    EQUALITY,
    FIELDS,
    FX,
    ID,
    PARTITIONS,
    PATH_ID,
    POSITION_ID,
    SPECS,
    ST,
    STRUCT,
    VALUES,
    WIDER,
    B,
    D,
    K,
    Row,
    S,
    X,
    Y,
    by_name,
    cut,
    partition,
    same,
    vector_blob,
    with_id,
)
from tests.histories.driver import RANDOM, History, run


@dataclass
class DataFile:
    """One file of the model: its rows by field id, and what was deleted of it."""

    path: str
    rows: list[Row]
    sequence: int
    place: tuple[int, Any]
    entry: dict[str, Any]
    vector: dict[str, Any] | None = None
    positions: set[int] = field(default_factory=set)  # by position delete files
    in_vector: set[int] = field(default_factory=set)


@dataclass
class WrittenHistory(History):
    """A table that is written step by step; `expected` holds the rows of each snapshot, by the model."""

    verbs = "append append positions values values vector evolve remove"
    root: Path
    version: int
    random: Random
    statements: list[str] = field(default_factory=list)
    files: list[DataFile] = field(default_factory=list)
    equality: list[tuple[int, tuple[int, Any] | None, tuple[int, ...], list[Row]]] = field(default_factory=list)
    deletes: list[tuple[int, HandManifest]] = field(default_factory=list)
    expected: dict[int, list[Row]] = field(default_factory=dict)
    gone: list[DataFile] = field(default_factory=list)  # removed by the snapshot under way
    rows: int = 0
    fields: dict[int, tuple[str, Any]] = field(default_factory=lambda: {**FIELDS, ST: ("st", STRUCT)})
    defaults: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.table = HandTable(self.root, self.version, schemas=[], specs=SPECS)
        for folder in ("data", "metadata"):
            (self.root / folder).mkdir(parents=True)
        self._new_schema()

    def run(self, steps: int) -> Self:
        """Each step is a snapshot, those of the schema aside."""
        self._append(0, 0, 3)
        self._commit()
        run(steps, self)
        self.table.write()
        return self

    def happen(self, verb: str) -> None:
        self.statements.append(verb)
        a, b, c = (self.random.randint(0, 60) for _ in range(3))
        match verb:
            case "append":
                self._append(a, b, c)
            case "positions":
                if b % 3 == 0:  # in one commit with the file whose rows it deletes
                    self._append(a, b, c)
                self._delete_positions(-1 if b % 3 == 0 else a, b, c)
            case "values":
                if b % 3 == 0:  # which rows of the same commit survive
                    self._append(a, b, c)
                self._delete_values(a, -1 if b % 3 == 0 else b, c)
            case "vector" if self.version == 3:
                self._vector(a, b)
            case "evolve":
                self._evolve(a)
                return
            case _:
                self._remove(a)
        self._commit()

    def shown(self, version: int) -> list[dict[str, Any]]:
        """The rows of a snapshot under the names that its schema gives them."""
        schema = self.table.schemas[self.table.snapshots[version - 1]["schema-id"]]
        return [{one["name"]: self._value(row, one) for one in schema["fields"]} for row in self.expected[version]]

    def _value(self, row: Row, one: Mapping[str, Any]) -> Any:
        if isinstance(one["type"], dict):
            return None if row[ST] is None else {"x": row[X], "y": row[Y]}
        return row.get(one["id"], one.get("initial-default"))

    # Steps ------------------------------------------------------------------------------------------------------------

    @property
    def _sequence(self) -> int:
        return len(self.table.snapshots) + 1

    def _append(self, a: int, b: int, c: int) -> None:
        spec = b % 3
        rows = []
        for n in range(1 + a % 4):
            row: Row = {i: options[(c + n * 7 + i * (b + 1)) % len(options)] for i, options in VALUES.items()}
            row |= {ID: self.rows, ST: None if (c + n) % 5 == 0 else True}
            if row[ST] is None:
                row |= {X: None, Y: None}
            for i in self.fields:
                if i > FX:
                    row[i] = [None, 7, 8][(c + n) % 3]
            if spec == 1:
                row[S] = VALUES[S][c % 4]
            if spec == 2:
                row[K] = VALUES[K][c % 4]
            self.rows += 1
            rows.append({i: v for i, v in row.items() if i in self.fields or i in (X, Y, ST)})
        place = (spec, None if spec == 0 else rows[0].get(S) if spec == 1 else cut(rows[0].get(K)))
        if spec and (S if spec == 1 else K) not in self.fields:
            place = (0, None)
        name = f"f{len(self.expected)}-{len(self.files)}-{self.rows}"
        location = self.table.path(f"data/{name}.parquet")
        size = self._write(location, rows, list(self.fields))
        made = entry(
            location,
            sequence=self._sequence,
            snapshot=self._sequence,
            record_count=len(rows),
            file_size_in_bytes=size,
            partition=partition(place),
        )
        self.files.append(DataFile(location, rows, self._sequence, place, made))

    def _delete_positions(self, a: int, b: int, c: int) -> None:
        """One delete file for one or several data files of one partition; in V3 as it was before the upgrade."""
        if not self.files:
            return
        first = self.files[a % len(self.files)]
        chosen = [first]
        if c % 3:
            chosen = [one for one in self.files if one.place == first.place]
        pairs = sorted({(one.path, (b + n) % len(one.rows)) for n, one in enumerate(chosen)})
        more: dict[str, Any] = {}
        if len(chosen) == 1 and b % 2:
            more["referenced_data_file"] = first.path
        if c % 2:
            more |= {
                "lower_bounds": {PATH_ID: pairs[0][0].encode()},
                "upper_bounds": {PATH_ID: pairs[-1][0].encode()},
            }
        schema = pa.schema([with_id("file_path", pa.string(), PATH_ID), with_id("pos", pa.int64(), POSITION_ID)])
        made = pa.table([[p for p, _ in pairs], [n for _, n in pairs]], schema=schema)
        self._add_deletes(made, first.place, content=1, **more)
        for one in chosen:
            one.positions |= {n for path, n in pairs if path == one.path}

    def _delete_values(self, a: int, b: int, c: int) -> None:
        ids = EQUALITY[a % len(EQUALITY)]
        if any(i not in self.fields and i not in (X, Y) for i in ids):
            ids = (ID,)
        live = [row for one in self.files for row in one.rows]
        if not live:
            return
        picked = [live[(b + n * 3) % len(live)] for n in range(1 + c % 3)]
        rows: list[Row] = [{ST: row[ST], **{i: row.get(i, self.defaults.get(i)) for i in ids}} for row in picked]
        place = None if c % 2 else self.files[c % len(self.files)].place
        where = (0, None) if place is None else place
        schema = self._arrow(ids, nested=bool(b % 2) or any(i in (X, Y) for i in ids))
        made = pa.Table.from_pylist([by_name(row, schema) for row in rows], schema=schema)
        self._add_deletes(made, where, content=2, equality_ids=list(ids))
        self.equality.append((self._sequence, None if where[0] == 0 else where, ids, rows))

    def _vector(self, a: int, b: int) -> None:
        if not self.files:
            return
        one = self.files[a % len(self.files)]
        one.in_vector |= one.positions | {b % len(one.rows)}
        body = struct.pack("<i", 1681511377) + BitMap64(one.in_vector).serialize()
        blob = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
        location = self.table.path(f"data/dv{self._sequence}.puffin")
        footer = json.dumps(
            {"blobs": [vector_blob(one.path, len(blob), len(one.in_vector))], "properties": {}}
        ).encode()
        tail = b"PFA1" + footer + struct.pack("<i", len(footer)) + bytes(4) + b"PFA1"
        Path(location).write_bytes(b"PFA1" + b"junk" + blob + tail)
        one.vector = entry(
            location,
            sequence=self._sequence,
            snapshot=self._sequence,
            content=1,
            file_format="PUFFIN",
            referenced_data_file=one.path,
            content_offset=8,
            content_size_in_bytes=len(blob),
            record_count=len(one.in_vector),
            file_size_in_bytes=Path(location).stat().st_size,
            partition=partition(one.place),
        )

    def _remove(self, a: int) -> None:
        if len(self.files) > 1:
            self.gone.append(self.files.pop(a % len(self.files)))

    def _evolve(self, a: int) -> None:
        match a % 4:
            case 0:
                i = list(WIDER)[a // 4 % 3]
                if i in self.fields:
                    self.fields[i] = (self.fields[i][0], WIDER[i])
            case 1:
                i = [K, S, D][a // 4 % 3]
                if i in self.fields:
                    self.fields[i] = (f"renamed{len(self.table.schemas)}", self.fields[i][1])
            case 2:
                i = [B, FX][a // 4 % 2]
                self.fields.pop(i, None)
            case _:
                i = 20 + len(self.table.schemas)
                name = "b" if all(known != "b" for known, _ in self.fields.values()) else f"extra{i}"
                self.fields[i] = (name, "long")
                if self.version == 3:
                    self.defaults[i] = 7
        self._new_schema()

    # Files ------------------------------------------------------------------------------------------------------------

    def _new_schema(self) -> None:
        shown = []
        for i, (name, kind) in self.fields.items():
            default = {"initial-default": self.defaults[i]} if i in self.defaults else {}
            shown.append({"id": i, "name": name, "required": False, "type": kind, **default})
        self.table.schemas.append({"type": "struct", "schema-id": len(self.table.schemas), "fields": shown})

    def _arrow(self, ids: Sequence[int], *, nested: bool = True) -> pa.Schema:
        """The columns with these ids, those of the struct inside it."""
        out = [with_id(self.fields[i][0], ARROW[self.fields[i][1]], i) for i in ids if i not in (X, Y, ST)]
        inside = [(X, "x", pa.int32()), (Y, "y", pa.string())]
        wanted = inside if ST in ids else [one for one in inside if one[0] in ids]
        if wanted:
            out.append(with_id("st", pa.struct([with_id(name, kind, i) for i, name, kind in wanted]), ST))
        return pa.schema(out)

    def _write(self, location: str, rows: Sequence[Row], ids: Sequence[int]) -> int:
        schema = self._arrow(ids)
        pq.write_table(pa.Table.from_pylist([by_name(row, schema) for row in rows], schema=schema), location)
        return Path(location).stat().st_size

    def _add_deletes(self, made: pa.Table, place: tuple[int, Any], **more: Any) -> None:
        location = self.table.path(f"data/d{self._sequence}.parquet")
        pq.write_table(made, location)
        one = entry(
            location,
            sequence=self._sequence,
            snapshot=self._sequence,
            record_count=made.num_rows,
            file_size_in_bytes=Path(location).stat().st_size,
            partition=partition(place),
            **more,
        )
        self.deletes.append((place[0], self._manifest(place[0], 1, [one])))

    def _manifest(self, spec: int, content: int, entries: Sequence[dict[str, Any]]) -> HandManifest:
        return HandManifest(
            entries,
            content=content,
            sequence=self._sequence,
            added_snapshot=self._sequence,
            spec_id=spec,
            partition=PARTITIONS[spec],
            first_row_id=0 if self.version == 3 and content == 0 else None,
        )

    def _commit(self) -> None:
        manifests = [one for _, one in self.deletes]
        for spec in PARTITIONS:
            entries = [self._as_now(one.entry) for one in self.files if one.place[0] == spec]
            entries += [
                {**one.entry, "status": 2, "snapshot_id": self._sequence} for one in self.gone if one.place[0] == spec
            ]
            for content, listed in (
                (0, entries),
                (1, [one.vector for one in self.files if one.place[0] == spec and one.vector is not None]),
            ):
                if listed:
                    manifests.append(self._manifest(spec, content, listed))
        lineage = {"first-row-id": 0, "added-rows": self.rows} if self.version == 3 else {}
        number = self.table.commit(manifests, parent=len(self.table.snapshots) or None, **lineage)
        self.expected[number] = list(self._live())
        self.gone = []

    def _as_now(self, made: dict[str, Any]) -> dict[str, Any]:
        """As a writer that rewrites the manifest puts the entry: what other commits added is existing."""
        return made if made["snapshot_id"] == self._sequence else {**made, "status": 0}

    def _live(self) -> Iterator[Row]:
        for one in self.files:
            gone = one.in_vector if one.vector is not None else one.positions
            for n, row in enumerate(one.rows):
                if n not in gone and not any(self._deletes(delete, one, row) for delete in self.equality):
                    yield row

    def _deletes(self, delete: tuple[int, Any, tuple[int, ...], list[Row]], one: DataFile, row: Row) -> bool:
        sequence, place, ids, rows = delete
        if sequence <= one.sequence or (place is not None and place != one.place):
            return False
        inside = X in ids or Y in ids
        return any(
            all(same(row.get(i, self.defaults.get(i)), other[i]) for i in ids)
            and not (inside and (row[ST] is None) != (other[ST] is None))  # Iceberg compares structs
            for other in rows
        )


@dataclass(frozen=True)
class Drawn:
    """A history to come."""

    version: int
    steps: int
    random: Random

    @contextmanager
    def written(self) -> Iterator[WrittenHistory]:
        with tempfile.TemporaryDirectory() as folder:
            yield WrittenHistory(Path(folder) / "t", self.version, self.random).run(self.steps)


def histories(steps: int = 6) -> st.SearchStrategy[Drawn]:
    """Of formats 2 and 3, with at most so many steps."""
    return st.builds(Drawn, st.sampled_from([2, 3]), st.integers(0, steps), RANDOM)
