"""Delta tables and folders of Parquet files as Iceberg tables, read only.

There are no manifests: such a table is planned here, or refused by name, and never handed to a client to plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import BoundedCache, Cure, ObjectNotFoundError, ScanError, VersionNotFoundError, first_line
from metaindex.expressions import ColumnRef
from metaindex.formats import At, Field, Schema, Snapshot, Version
from metaindex.query import Handle, refuse_replaced
from metaindex.serve.clients import Client
from metaindex.serve.filters import Filter
from metaindex.serve.refusal import Refusal
from metaindex.serve.served import Json, Loaded, Page, PartitionColumn

from .columns import Column, Path, columns_of
from .lacking import may_match_lacking
from .layouts import Looked, LookedAt, refuse
from .metadata import Described, number_of
from .partitions import Constants
from .statistics import add_statistics
from .vectors import Stored, Vectors

_VERSIONS = 20
"""Versions of a table with a log that clients see as snapshots."""
_HELD = 4  # versions of which footers and partition values are held


class ShownTable:
    """A `ServedTable` over a table that is none of Iceberg's. `vectors`: where Puffin files are written; None: clients
    that need them are refused over tables with deletion vectors."""

    def __init__(self, handle: Handle, vectors: Vectors | None) -> None:
        self._handle, self._vectors = handle, vectors
        self._described: BoundedCache[Version, Described] = BoundedCache(1)
        self._held: BoundedCache[int, ShownSnapshot] = BoundedCache(_HELD)
        self._known: list[tuple[Column, ...]] = []  # the columns of the versions that were loaded last

    @property
    def handle(self) -> Handle:
        return self._handle

    def load(self, client: Client) -> Loaded:
        now = self._handle.snapshot(At())
        described = self._describe(now)
        held = self._hold(now, described)  # a folder can change before its plan
        held.refuse(client)
        return Loaded(described.metadata, {"scan-planning-mode": "server"})

    def snapshot(self, snapshot_id: int | None, *, own_schema: bool) -> ShownSnapshot:
        held = None if snapshot_id is None else self._held.find(snapshot_id)
        if held is None or self._handle.table_format.has_log:  # which may have been made anew, with the same numbers
            now = self._handle.snapshot(At())
            described = self._describe(now)
            number = self._number(now) if snapshot_id is None else snapshot_id
            known = now if number == self._number(now) else described.versions.get(number)
            if held is None or known is None or held.snapshot.version != known.version:
                held = self._hold(now if known is now else self._older(number, described), described)
        unsure = frozenset() if own_schema else _unsure([*self._known, held.columns])
        return held.without(unsure) if unsure else held

    def _describe(self, now: Snapshot) -> Described:
        described = self._described.find(now.version)
        if described is None:
            handle = self._handle
            headers = handle.table_format.without_files(handle.ref, now, _VERSIONS)
            described = Described.of(now, headers, self._number, handle.config.time_zone)
            self._described.keep(now.version, described)
        self._known = [*described.columns.values()]
        return described

    def _hold(self, snapshot: Snapshot, described: Described) -> ShownSnapshot:
        number = self._number(snapshot)
        held = self._held.find(number)
        if held is None or held.snapshot.version != snapshot.version:
            columns = columns_of(snapshot.schema, snapshot.table)
            held = ShownSnapshot(self._handle, number, snapshot, columns, described, self._vectors)
            self._held.keep(number, held)
        return held

    def _older(self, number: int, described: Described) -> Snapshot:
        handle, known = self._handle, described.versions.values()
        logged = handle.table_format.has_log
        versions = [each.version for each in known] if logged else handle.table_format.versions(handle.ref)
        for version in versions:
            if number_of(version, numbered=handle.table_format.numbered) == number:
                with suppress(VersionNotFoundError):
                    snapshot = handle.snapshot(At.of(version))
                    if snapshot.version == version:
                        return snapshot
        raise Refusal(
            f"a shown table is read at one of its newest {_VERSIONS} versions; {handle.path} shows none of snapshot id"
            f" {number}; load the table again, or read an older version by metaindex itself"
        )

    def _number(self, snapshot: Snapshot) -> int:
        return number_of(snapshot.version, numbered=self._handle.table_format.numbered)


def _unsure(versions: Iterable[Sequence[Column]]) -> frozenset[str]:
    """Return the columns that hold a name, their own or a field's, that another column had in some version, or the same
    of another type: a client that knows older columns means those."""
    meant: dict[str, tuple[object, str]] = {}
    unsure: set[str] = set()
    for columns in versions:
        for top in columns:
            for name, each in top.named():
                said = (each.path, str(each.type) if not each.children else "")
                if meant.setdefault(Field.alike(name), said) != said:
                    unsure.add(Field.alike(top.name))
    return frozenset(unsure)


class ShownSnapshot:
    """A `ServedSnapshot` of a shown table."""

    def __init__(
        self,
        handle: Handle,
        number: int,
        snapshot: Snapshot,
        columns: tuple[Column, ...],
        described: Described,
        vectors: Vectors | None,
    ) -> None:
        self.id, self.snapshot, self.columns = number, snapshot, columns
        self._handle, self._vectors = handle, vectors
        self._specs, self._ids = described.specs, described.ids
        self._constants = Constants.of(snapshot, columns, handle.config.time_zone)
        self._footers = LookedAt(columns, in_log=handle.table_format.has_log)

    def without(self, names: frozenset[str]) -> ShownSnapshot:
        """Return the version for filters by names that may mean other columns than these: no file is skipped by what a
        filter says of them."""
        fields = tuple(field for field in self.snapshot.schema if Field.alike(field.name) not in names)
        view = copy(self)
        view.snapshot = replace(self.snapshot, schema=Schema(fields))
        return view

    def partitions(self) -> Sequence[PartitionColumn]:
        of = self._constants
        return [
            PartitionColumn(ColumnRef((column.name,)), "identity", values, known)
            for column, values, known in zip(of.columns, of.values, of.known, strict=True)
        ]

    def refuse(self, client: Client, facts: frozenset[str] = frozenset()) -> None:
        """Raise Refusal for a client that nobody tried, or that reads a column, or one of the facts of files, wrong."""
        table = self.snapshot.table
        if not client.tried:
            raise Refusal(
                f"a table is shown to clients that were tried; {client} was not, and {table} has no metadata to plan"
                f" from; use a client that was, or say {Cure('argument', 'trust_clients')}"
            )
        for column in self.columns:
            if wrong := sorted(column.facts & client.misread):
                raise Refusal(
                    f"a table is shown to clients that read all its columns right; {client} does not so {column.name!r}"
                    f" of {table} ({wrong[0].replace('_', ' ')}); use another client, or metaindex itself"
                )
        if wrong := sorted(facts & client.misread):
            raise Refusal(
                f"a table is shown to clients that read all its files right; {client} does not so a file of {table}"
                f" that holds {wrong[0].replace('_', ' ')}; use another client, or metaindex itself"
            )

    def tasks(
        self,
        files: npt.NDArray[np.int64],
        client: Client,
        statistics: Sequence[str] | None = None,
        asked: Filter | None = None,
    ) -> Page:
        self.refuse(client)
        chosen, table = self.snapshot.files.take(pa.array(files, pa.int64())), self.snapshot.table
        paths = chosen.paths.to_pylist()
        looked = self._footers.look(self._handle.ref.storage, chosen)
        for path, each in zip(paths, looked, strict=True):
            refuse(each, path, table)
        self.refuse(client, frozenset().union(*(each.facts for each in looked)))
        if asked is not None and client.negates_lacking:
            matching = self._matching(files, looked, asked, client)
            if not all(matching):
                return self.tasks(files[np.array(matching, np.bool_)], client, statistics, asked)
        try:
            refuse_replaced(self._handle.ref.storage, self.snapshot, files.tolist())
        except (ScanError, ObjectNotFoundError) as error:
            raise Refusal(f"{first_line(error)}; load the table anew") from error
        constants = self._constants.spelt(files, client.spelling, self._specs, table)
        sizes, deletes = (chosen.table.column(name).to_pylist() for name in ("size_bytes", "deletes"))
        tasks: list[Json] = []
        delete_files: list[Json] = []
        for row, path, size, vector, each, constant in zip(
            files.tolist(), paths, sizes, deletes, looked, constants, strict=True
        ):
            uri = self.snapshot.uri(path)
            file = {"content": "data", "file-path": uri, "file-format": "parquet", "file-size-in-bytes": size}
            task: dict[str, object] = {"data-file": {**file, "record-count": each.rows, **constant}}
            if vector is not None:
                task["delete-file-references"] = [len(delete_files)]
                delete_files.append({**self._vector(row, uri, vector, client), **constant})
            tasks.append(task)
        if statistics is not None:
            stated = [column for column in self.columns if column.name in statistics and column.path in self._ids]
            add_statistics(
                self._handle.ref.storage, self.snapshot, chosen, tasks, {c: self._ids[c.path] for c in stated}
            )
        return Page(tasks, delete_files)

    def _matching(
        self, files: npt.NDArray[np.int64], looked: Sequence[Looked], asked: Filter, client: Client
    ) -> list[bool]:
        """Return which files may match where they lack columns. Raises Refusal where the client would find rows that do
        not."""
        named = {column.path: ColumnRef(names) for top in self.columns for names, column in top.placed()}
        constant = self._constants.given(files)
        judged: dict[frozenset[Path], bool | None] = {}
        matching = []
        for each, given in zip(looked, constant, strict=True):
            lacks = each.lacks - given
            if lacks not in judged:
                judged[lacks] = may_match_lacking(asked, {named[path] for path in lacks})
            if (may := judged[lacks]) is None:
                raise Refusal(
                    f"{client} takes a negated condition on a column for true of files that lack it; some of"
                    f" {self.snapshot.table} lack one of the filter; write the condition as an AND with IS NOT NULL, or"
                    " read the table by metaindex itself"
                )
            matching.append(may)
        return matching

    def _vector(self, row: int, uri: str, identity: str, client: Client) -> Json:
        details = self.snapshot.details
        place = details.stored_vector(row) if client.vectors_by_offset else None
        if place is not None:
            path, offset, length = place
            if self._handle.ref.confines is not None:
                self._handle.ref.confines.check([path])
            stored = Stored(self.snapshot.uri(path), offset + length, offset, length)
        elif self._vectors is None:
            raise Refusal(
                f"deletion vectors are shown to {client} as Puffin files in a folder that it can read; {uri} of"
                f" {self.snapshot.table} has one, and the server no such folder; say {Cure('argument', 'cache')}"
            )
        else:
            stored = self._vectors.puffin(uri, identity, lambda: details.deletes(row).positions)
        count = self.snapshot.files.table.column("deleted_count")[row].as_py()
        return {
            "content": "position-deletes",
            "file-path": stored.uri,
            "file-format": "puffin",
            "file-size-in-bytes": stored.size_bytes,
            "record-count": len(details.deletes(row).positions) if count is None else count,
            "referenced-data-file": uri,
            "content-offset": stored.offset,
            "content-size-in-bytes": stored.length,
        }
