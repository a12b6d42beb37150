"""Tables of all five formats for questions to their metadata, and how many data files an answer opens."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import Schema
from hypothesis import strategies as st

import metaindex as mi
from metaindex.expressions import ColumnRef, Predicate, bind
from metaindex.storage import Storage
from metaindex.table import handle_of
from tests.expressions.engines.tables import understood
from tests.formats.delta.hand import add, commit, metadata, protocol, remove
from tests.formats.framed import inline_vector
from tests.strategies import predicates


class _Watched:
    """A storage whose opened files are told."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner
        self.opened: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def open_input(self, path: str) -> pa.NativeFile:
        self.opened.append(path)
        return self._inner.open_input(path)


@contextmanager
def opened_files(table: mi.Table) -> Iterator[list[str]]:
    """The data files that are opened inside, each as often as it is."""
    handle = handle_of(table)
    before = handle.ref
    watched = _Watched(before.storage)
    handle.ref = replace(before, storage=watched)  # type: ignore[arg-type]
    data: list[str] = []
    try:
        yield data
    finally:
        handle.ref = before
        data += [path for path in watched.opened if "_delta_log" not in path and not path.endswith(".avro")]


@dataclass
class HandDelta:
    """A Delta table of real files under a log by hand, with deletion vectors. `rows`: of each version, what is live."""

    root: Path
    schema: pa.Schema
    names: list[str] = field(default_factory=list)
    contents: list[pa.Table] = field(default_factory=list)
    deleted: dict[int, set[int]] = field(default_factory=dict)
    rows: list[list[dict[str, Any]]] = field(default_factory=list)
    stats: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root.mkdir()
        log = json.loads(Schema.from_arrow(self.schema).to_json())
        self._commit(protocol(3, ["deletionVectors", "timestampNtz"]), metadata(*log["fields"]))

    @classmethod
    def of(cls, root: Path, schema: pa.Schema, tables: Sequence[pa.Table], stats: Sequence[Any]) -> "HandDelta":
        lake = cls(root, schema)
        for content, said in zip(tables, stats, strict=True):
            lake.append(content, said)
        return lake

    def append(self, content: pa.Table, stats: Any = None) -> None:
        """A file more. `stats`: as they stand in the log."""
        self.names.append(f"f{len(self.names)}.parquet")
        self.contents.append(content)
        pq.write_table(content, self.root / self.names[-1], row_group_size=2)
        self.stats.append(stats)
        self._commit(self._add(len(self.names) - 1))

    def delete(self, number: int, rows: set[int]) -> None:
        """Rows of a file are deleted, too."""
        if rows:
            gone = remove(self.names[number], **self._vector(number))
            self.deleted[number] = self.deleted.get(number, set()) | rows
            self._commit(gone, self._add(number))

    def _add(self, number: int) -> dict[str, Any]:
        size = (self.root / self.names[number]).stat().st_size
        return add(self.names[number], self.stats[number], size, **self._vector(number))

    def _vector(self, number: int) -> dict[str, Any]:
        gone = self.deleted.get(number)
        return {"deletionVector": inline_vector(gone)} if gone else {}

    def _commit(self, *actions: dict[str, Any]) -> None:
        commit(self.root, len(self.rows), *actions)
        live = [
            row
            for number, content in enumerate(self.contents)
            for at, row in enumerate(content.to_pylist())
            if at not in self.deleted.get(number, set())
        ]
        self.rows.append(live)


def conditions(schema: pa.Schema, max_leaves: int) -> st.SearchStrategy[Predicate]:
    """Predicates that are understood whole: others are refused by every reader of rows here."""
    fields = {ColumnRef((f.name,)): f.type for f in schema}
    return predicates(fields, max_leaves=max_leaves).filter(lambda p: understood(bind(p, schema)))
