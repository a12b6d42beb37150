"""The facts of one table of a lake."""

from __future__ import annotations

from collections.abc import Mapping

from metaindex.advisor import Spared
from metaindex.core import Plain, dataclass, plain
from metaindex.index import State
from metaindex.table import IndexInfo


@dataclass(frozen=True, slots=True)
class LakeIndex:
    """An index of a table. `info` is as `Table.indexes` tells it, but its `uncovered_files` are those that the table
    still has; `behind_commits`: commits of the table that it has not recorded, `lag_ms`: how much older the newest
    commit that it has recorded is than the table's newest. None: not known. `helped`: noted queries that it helped,
    None if none is noted; `queries`: of these, so many came since it was created, or all where it helped some.
    `unread`: the first file of the table that it could not read."""

    info: IndexInfo
    behind_commits: int | None = None
    lag_ms: int | None = None
    helped: int | None = None
    unread: str = ""
    queries: int | None = None

    @property
    def asked(self) -> bool:
        """True if queries use it: not if it is deleted, disabled, of other reader options, or unreadable."""
        return self.info.enabled and self.info.new_files is not None

    @property
    def deleted(self) -> bool:
        """Return whether it waits to be restored or vacuumed: nothing else can be done about it."""
        return self.info.state == State.DELETED.value

    @property
    def said(self) -> str:
        """Its name, and whether it is deleted, or of the table as that is read."""
        if self.deleted:
            return f"{self.info.name} ({self.info.state})"
        return f"{self.info.name} (other reader options)" if self.info.other_options else self.info.name

    @property
    def size_bytes(self) -> int:
        """Return the size on storage, as far as it is known."""
        return self.info.size_bytes if self.info.stored_bytes is None else self.info.stored_bytes

    def to_json(self) -> dict[str, object]:
        """Plain data for machines. `verified_ms` is null: no verification is recorded anywhere."""
        told = {name: value for name, value in self.info.to_json().items() if name not in ("columns", "versions")}
        return {**told, **plain(self, "behind_commits", "lag_ms", "helped", "queries", "unread"), "verified_ms": None}


@dataclass(frozen=True, slots=True)
class LakeLayout(Plain):
    """The layout of a table's files, from bounds that cost no reading of files. `column`: the one that tells them apart
    best; `share`: of the files, those that one value of it reads on average; `depth`: how many files overlap at the
    worst point of a file's range, on average; `columns`: so many were measured."""

    column: str
    share: float
    depth: float
    columns: int


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A table at a glance; sizes in bytes, times in milliseconds since 1970 (UTC). None: not known.

    * `name`: below the root of the lake, or in its catalog, where a part that a dot or a backtick is in stands between
      backticks; `path`: what `open_table` takes, together with the catalog where there is one.
    * `format`: delta, iceberg, parquet, csv or json; empty where nobody could look.
    * `indexes`: of every kind and state; a fact of all (`behind_files` and its like) is that of the worst of those that
      are in use.
    * `savings`: of the queries that were noted in the time asked for; None: none is.
    * `layout`: None where no bounds are at hand without opening files.
    * `advice`: what the table's owner may do, the most urgent first; `commands`: those of it that can be pasted.
    * `problem`: why the table, or a part of what is told of it, cannot be read.
    * `report`: a page of the table, where one was made.
    """

    name: str
    path: str
    format: str = ""
    version: str | None = None
    committed_ms: int | None = None
    files: int | None = None
    size_bytes: int | None = None
    indexes: tuple[LakeIndex, ...] = ()
    savings: Spared | None = None
    unused: tuple[str, ...] = ()
    layout: LakeLayout | None = None
    advice: tuple[str, ...] = ()
    problem: str = ""
    seconds: float = 0.0
    report: str = ""
    commands: tuple[str, ...] = ()

    @property
    def in_use(self) -> tuple[LakeIndex, ...]:
        """Indexes that queries may ask."""
        return tuple(index for index in self.indexes if index.asked)

    @property
    def fresh(self) -> bool | None:
        """True if all indexes in use are at the table's version. None: there is none, or it is unknown."""
        return all(index.info.fresh for index in self.in_use) if self.in_use else None

    @property
    def behind_commits(self) -> int | None:
        return self._worst([index.behind_commits for index in self.in_use])

    @property
    def behind_files(self) -> int | None:
        return self._worst([index.info.new_files for index in self.in_use])

    @property
    def behind_bytes(self) -> int | None:
        return self._worst([index.info.new_bytes for index in self.in_use])

    @property
    def unread_files(self) -> int | None:
        """Files that the index of which that is most could not read: every query that asks it reads them."""
        return self._worst([index.info.uncovered_files for index in self.in_use])

    @property
    def lag_ms(self) -> int | None:
        return self._worst([index.lag_ms for index in self.in_use])

    @property
    def index_bytes(self) -> int:
        return sum(index.size_bytes for index in self.indexes)

    @staticmethod
    def _worst(values: list[int | None]) -> int | None:
        return max((value for value in values if value is not None), default=None)

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        told = {**self.row(), **plain(self, "indexes", "savings", "layout")}
        return {**told, "report": self.report or None, **plain(self, "commands"), "seconds": round(self.seconds, 3)}

    def row(self) -> dict[str, object]:
        """Return the fields as a row of a table: no value is nested deeper than a list."""
        spared: Mapping[str, object] = {} if self.savings is None else self.savings.to_json()
        about = ("name", "path", "format", "version", "committed_ms", "files", "size_bytes")
        behind = ("index_bytes", "fresh", "behind_commits", "behind_files", "behind_bytes", "lag_ms", "unread_files")
        return {
            **plain(self, *about),
            "indexes": [index.info.name for index in self.indexes],
            **plain(self, *behind),
            **{name: spared.get(name) for name in ("queries", "helped", "bytes_read", "bytes_left_out")},
            **plain(self, "unused"),
            "layout_column": None if self.layout is None else self.layout.column,
            "layout_share": None if self.layout is None else self.layout.share,
            **plain(self, "advice", "problem"),
        }
