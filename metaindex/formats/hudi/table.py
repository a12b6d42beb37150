"""The Hudi format: versions and snapshots of copy-on-write tables from their timeline, without a JVM.

A version is the table as of an instant that wrote: its id is that instant. The same id may have other files once an
instant that was begun before is completed; its fingerprint tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import (
    ArgumentError,
    CorruptTableError,
    ObjectNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from metaindex.expressions import ColumnBounds
from metaindex.formats.delta.partitions import partition_bounds, partition_texts, shown_values
from metaindex.formats.format import At, Format, TableRef
from metaindex.formats.model import FILE_SCHEMA, FileTable, Leaf, Schema, Snapshot, SnapshotDetails, Version

from .archive import read_archive
from .commits import Commit, Write, read_commit
from .live_files import Present, Replay, check_present, live_at
from .partitions import partition_values
from .properties import FOLDER, TableConfig, read_config
from .schema import check_written, parse_schema
from .timeline import Timeline, read_timeline

if TYPE_CHECKING:
    from metaindex.formats.glimpse import Glimpse

_T = TypeVar("_T")
_LISTINGS = 5  # tried before the last word


class HudiFormat(Format):
    """Hudi tables by path, those whose rows are the rows of their Parquet files."""

    name = "hudi"
    mark = FOLDER
    mark_files = ("hoodie.properties",)
    one_file_format = True
    named_by_path = True

    def detect(self, ref: TableRef) -> bool:
        """Return whether anything is in Hudi's folder: of a table that lost a part of it the files are not known."""
        return any(True for _ in ref.storage.list(FOLDER))

    def recognized(self, ref: TableRef, seen: Glimpse) -> bool | None:
        self.indexes_seen = seen.root.below("_metaindex")
        return True if seen.root.below(FOLDER) else False if seen.root.whole else None

    def read_options(self, ref: TableRef) -> Mapping[str, object]:
        return {"file_format": "parquet"}

    def root(self, ref: TableRef) -> str:
        return ref.path

    def resolve(self, ref: TableRef, at: At) -> Version:
        return _consistently(ref, lambda read: read.version(read.id_of(at)))

    def snapshot(self, ref: TableRef, at: At) -> Snapshot:
        return _consistently(ref, lambda read: read.snapshot(read.id_of(at)))

    def versions(self, ref: TableRef) -> Sequence[Version]:
        return _consistently(ref, lambda read: [read.version(id_) for id_ in read.readable()])


@dataclass(frozen=True, slots=True)
class HudiDetails(SnapshotDetails):
    """`SnapshotDetails` of Hudi: the values of partition columns."""

    texts: Mapping[str, pa.Array]  # of each partition column, one a file

    def partition_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        texts = self.texts.get(leaf.field.name) if len(leaf.path) == 1 else None
        return None if texts is None else partition_bounds(leaf, texts)

    def known_partition_values(self, leaf: Leaf, time_zone: str) -> tuple[pa.Array, npt.NDArray[np.bool_]] | None:
        texts = self.texts.get(leaf.field.name) if len(leaf.path) == 1 else None
        return None if texts is None else shown_values(leaf, texts, time_zone)

    def read_options(self) -> Mapping[str, object]:
        return {"file_format": "parquet"}


@dataclass(frozen=True, slots=True)
class _Read:
    """A table by one listing of its timeline."""

    ref: TableRef
    config: TableConfig
    timeline: Timeline

    @classmethod
    def of(cls, ref: TableRef) -> _Read:
        config = read_config(ref.storage, ref.path)
        return cls(ref, config, read_timeline(ref.storage, ref.path, config))

    def id_of(self, at: At) -> str:
        """Return the instant of the version that is asked for. Raises VersionNotFoundError."""
        completed = self.timeline.completed
        newest = max(completed, default="")
        if at.timestamp_ms is not None:
            if at.version is not None:
                raise ArgumentError("ask for a version or for a time, not for both")
            by_then = [id_ for id_, time in self.timeline.times().items() if time <= at.timestamp_ms]
            if not by_then:
                raise VersionNotFoundError(
                    f"{self.ref.path} has no version of that time or before; its newest is {newest!r}"
                )
            return by_then[-1]
        if at.version is None:
            if not newest:
                raise VersionNotFoundError(
                    f"a version of a Hudi table is a completed instant that wrote; {self.ref.path} has none; write it"
                )
            return newest
        if str(at.version) not in completed:
            raise VersionNotFoundError(
                f"versions of a Hudi table are the completed instants of its timeline; {self.ref.path} has no"
                f" {str(at.version)[:80]!r}; the newest is {newest!r}"
            )
        return str(at.version)

    def version(self, id_: str) -> Version:
        return Version("", id_, self.timeline.fingerprint(self.ref.storage, id_))

    def commits(self) -> list[Commit]:
        """Return all instants that wrote, by their ids, the archived ones too: only all of them tell whether a file is
        missing."""
        storage, table = self.ref.storage, self.ref.path
        active = {id_: read_commit(storage, table, instant) for id_, instant in self.timeline.completed.items()}
        whole = read_archive(storage, table, self.config) | active
        return [whole[id_] for id_ in sorted(whole)]

    def snapshot(self, id_: str) -> Snapshot:
        table, storage = self.ref.path, self.ref.storage
        instants = self.commits()
        commits = [commit for commit in instants if commit.instant.begun <= id_]
        present = Present.listed(storage, table)
        live = self.live(id_, commits, present)
        schema = self.schema(id_, commits)
        self.check_written(live, schema)
        # Spark reads older versions with the newest columns: where their types read otherwise, it shows other values.
        check_written(schema, self.schema(id_, instants), id_, f"version of Hudi table {table}")
        names = tuple(field.name for field in schema if field.partition)
        values = partition_values([write.partition for write in live], schema, self.config, table)
        files = _files(live, present, partition_texts(names, values, len(live)))
        return Snapshot(
            table=table,
            format="hudi",
            version=self.version(id_),
            timestamp_ms=self.timeline.times()[id_],
            schema=schema,
            files=FileTable(files),
            details=HudiDetails(dict(zip(names, values, strict=True))),
            partition_columns=names,
            properties=dict(self.config.values),
        )

    def live(self, id_: str, commits: Sequence[Commit], present: Present) -> list[Write]:
        table = self.ref.path
        live = live_at(table, commits)
        present.check(table, self.timeline, commits)
        check_present(table, id_, live, present, newest=id_ == max(self.timeline.completed))
        return live

    def schema(self, id_: str, commits: Sequence[Commit]) -> Schema:
        """Return the columns as the last instant that said them wrote them, or those that the table was made with."""
        said = [commit for commit in commits if commit.schema]
        where = f"Hudi table {self.ref.path} as of {id_}"
        last = max(said, key=lambda commit: commit.instant.order, default=None)
        if last is not None and last.schema != said[-1].schema:
            raise UnsupportedFeatureError(
                f"the columns of a table are those of its last instant; {where} has {last.instant.begun}, which was"
                f" completed last, and {said[-1].instant.begun}, which was begun last, with others; write once more"
            )
        text = said[-1].schema if said else self.config.values.get("hoodie.table.create.schema", "")
        if not text:
            raise UnsupportedFeatureError(f"the columns of a table are in its commits; {where} has them in none")
        return parse_schema(text, where, self.config)

    def check_written(self, live: Sequence[Write], schema: Schema) -> None:
        """Raise UnsupportedFeatureError for a live file whose columns have types that are read otherwise."""
        parsed: dict[str, Schema] = {}
        for write in live:
            if write.schema in parsed:
                continue
            where = f"Hudi table {self.ref.path}"
            if not write.schema:
                raise UnsupportedFeatureError(
                    f"each commit has the schema that it wrote with; {where} has none for {write.path!r}; read it with"
                    " Hudi"
                )
            parsed[write.schema] = parse_schema(write.schema, where, self.config)
            check_written(parsed[write.schema], schema, write.path, where)

    def readable(self) -> list[str]:
        """Return the ids of the versions of which every file is there, oldest first."""
        table, storage = self.ref.path, self.ref.storage
        commits, completed = self.commits(), self.timeline.completed
        present = Present.listed(storage, table)
        present.check(table, self.timeline, commits)
        in_order = sorted(commits, key=lambda commit: commit.instant.order)
        if in_order != commits:  # no version is the one before and one instant more
            return [
                id_
                for id_ in completed
                if present.holds(live_at(table, [c for c in commits if c.instant.begun <= id_]))
            ]
        out, replay = [], Replay(table)
        for commit in in_order:
            replay.apply(commit)
            if commit.instant.begun in completed and present.holds(replay.live.values()):
                out.append(commit.instant.begun)
        return out


def _consistently(ref: TableRef, make: Callable[[_Read], _T]) -> _T:
    """The timeline may change between its listing and its reading, by a writer, its cleaner or a rollback: then another
    listing shows something else."""
    read = _Read.of(ref)
    for _ in range(_LISTINGS):
        try:
            return make(read)
        except (CorruptTableError, VersionNotFoundError, ObjectNotFoundError):
            again = _Read.of(ref)
            if again.timeline == read.timeline:
                raise
            read = again
    return make(read)


def _files(live: Sequence[Write], present: Present, partitions: pa.Array) -> pa.Table:
    count = len(live)
    columns = {
        "path": pa.array([write.path for write in live], pa.string()),
        "size_bytes": pa.array([present.sizes[write.path] for write in live], pa.int64()),
        "partition": partitions,
    }
    return pa.Table.from_arrays(
        [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in FILE_SCHEMA], schema=FILE_SCHEMA
    )
