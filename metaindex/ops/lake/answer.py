"""A lake at a glance: a row a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from metaindex.advisor import Recommendation, Reported, Spared
from metaindex.core import (
    Column,
    MissingDependencyError,
    Plain,
    Progress,
    Shown,
    TextTable,
    counted,
    dataclass,
    duration,
    human_bytes,
    one_line,
    percent,
)
from metaindex.table import IndexInfo, IndexList, Table, sayable

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class LakeIndex(Plain):
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
        return self.info.deleted

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
        return {**told, **self._plain("behind_commits lag_ms helped queries unread"), "verified_ms": None}


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
class LakeTable(Plain):
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
        told = {**self.row(), **self._plain("indexes savings layout"), "report": self.report or None}
        return {**told, **self._plain("commands"), "seconds": round(self.seconds, 3)}

    def row(self) -> dict[str, object]:
        """Return the fields as a row of a table: no value is nested deeper than a list."""
        spared: Mapping[str, object] = {} if self.savings is None else self.savings.to_json()
        behind = "index_bytes fresh behind_commits behind_files behind_bytes lag_ms unread_files"
        return {
            **self._plain("name path format version committed_ms files size_bytes"),
            "indexes": [index.info.name for index in self.indexes],
            **self._plain(behind),
            **{name: spared.get(name) for name in ("queries", "helped", "bytes_read", "bytes_left_out")},
            **self._plain("unused"),
            "layout_column": None if self.layout is None else self.layout.column,
            "layout_share": None if self.layout is None else self.layout.share,
            **self._plain("advice problem"),
        }


_SHOWN = 60
"""Advice and problems in a table for people; the rest is in `to_json`."""
_COMMANDS = 20
"""Of those that the advice names, as many stand below the table."""


@dataclass(frozen=True, slots=True, repr=False)
class Lake(Shown, Plain):
    """A lake's tables, returned by `open_lake`. `tables` by their names, unreadable ones included; `notes`: what is
    left out, and why; `recommended`: for a workload, if one was given. Printed, it is a table for people."""

    place: str
    tables: tuple[LakeTable, ...]
    made_ms: int
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    recommended: Recommendation | None = None
    opens: Mapping[str, Callable[[], Table]] = field(default_factory=dict, repr=False, compare=False)
    writes: Callable[[Lake, object, object, bool, Progress | None], Reported] | None = field(
        default=None, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.tables)

    def __iter__(self) -> Iterator[LakeTable]:
        return iter(self.tables)

    def __getitem__(self, name: str) -> LakeTable:
        """Return a table's row by its name. Raises KeyError if there is none."""
        for table in self.tables:
            if table.name == name:
                return table
        some = ", ".join(table.name for table in self.tables[:10]) or "none"
        raise KeyError(f"a table of the lake is named as below its root, such as {some}; got {name!r}")

    def open(self, name: str) -> Table:
        """Open the table of this name. Raises KeyError if there is none, and what `open_table` raises."""
        self[name]
        return self.opens[name]()

    @property
    def brief(self) -> str:
        return f"{self.place}: {self.summary}"

    # -- sums ----------------------------------------------------------------------------------------------------------

    @property
    def problems(self) -> tuple[LakeTable, ...]:
        """Tables that cannot be read, or not wholly."""
        return tuple(table for table in self.tables if table.problem)

    @property
    def behind(self) -> tuple[LakeTable, ...]:
        """Tables with an index that does not stand at their version."""
        return tuple(table for table in self.tables if table.fresh is False)

    @property
    def unread(self) -> tuple[LakeTable, ...]:
        """Tables with files that an index could not read."""
        return tuple(table for table in self.tables if table.unread_files)

    @property
    def size_bytes(self) -> int:
        return sum(table.size_bytes or 0 for table in self.tables)

    @property
    def files(self) -> int:
        return sum(table.files or 0 for table in self.tables)

    @property
    def index_bytes(self) -> int:
        return sum(table.index_bytes for table in self.tables)

    @property
    def bytes_left_out(self) -> int:
        """Return the bytes that indexes left out of noted queries."""
        return sum(table.savings.bytes_left_out for table in self.tables if table.savings is not None)

    @property
    def summary(self) -> str:
        """The lake in a sentence."""
        indexed = sum(bool(table.indexes) for table in self.tables)
        parts = [counted(len(self.tables), "table"), counted(self.files, "file"), human_bytes(self.size_bytes)]
        parts.append(f"{indexed:,} with indexes ({human_bytes(self.index_bytes)})")
        parts += [f"{len(self.behind):,} behind"] if self.behind else []
        parts += [f"{len(self.unread):,} with unread files"] if self.unread else []
        parts += [f"{len(self.problems):,} with a problem"] if self.problems else []
        parts += [f"{human_bytes(self.bytes_left_out)} left out of noted queries"] if self.bytes_left_out else []
        return ", ".join(parts)

    # -- shown ---------------------------------------------------------------------------------------------------------

    @property
    def shown(self) -> Sequence[str | TextTable]:
        parts: list[str | TextTable] = [f"{self.place}: {self.summary}; told in {duration(round(self.seconds * 1000))}"]
        if self.tables:
            parts += ["", self.table]
            commands = [command for table in self.tables for command in table.commands]
            if commands:
                more = len(commands) - _COMMANDS
                parts += ["", "what to do:", *(f"  {one_line(command)}" for command in commands[:_COMMANDS])]
                parts += [f"  and {more:,} more, in to_json() and --json"] if more > 0 else []
            if any(_told(table) != _shortened(_told(table)) for table in self.tables):
                parts.append("what is cut off (...) stands whole in to_json(), --json, and in the page (--html)")
        if self.recommended is not None:
            parts += ["", *self.recommended.shown]
        return (*parts, *([""] if self.notes else []), *self.notes)

    @property
    def table(self) -> TextTable:
        """A row a table."""
        titles = ("table", "format", "files>", "size>", "indexes", "index size>", "behind", "left out>")
        columns = Column.named(*titles, "advice, or what is wrong")
        return TextTable(columns, tuple(map(_row, self.tables)))

    # -- for programs --------------------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Return a row for each table; `committed_ms` is in milliseconds since 1970, sizes bytes, unknowns NULL."""
        import pyarrow as pa

        rows = [{name: sayable(value) for name, value in table.row().items()} for table in self.tables]
        return pa.Table.from_pylist(rows, schema=_arrow_schema())

    def indexes_arrow(self) -> pa.Table:
        """Return a row for each index: `table`, and the fields of `LakeIndex.to_json`."""
        import pyarrow as pa

        rows = [
            {"table": table.name, **{name: sayable(value) for name, value in index.to_json().items()}}
            for table in self.tables
            for index in table.indexes
        ]
        return pa.Table.from_pylist(rows, schema=_index_schema())

    def to_pandas(self) -> Any:
        """Return `to_arrow` as a DataFrame of pandas. Raises MissingDependencyError without pandas."""
        try:
            return self.to_arrow().to_pandas()
        except ImportError as error:
            raise MissingDependencyError(
                "to_pandas needs pandas; it is not installed: pip install pandas, or use to_arrow()"
            ) from error

    def to_spark(self, spark: Any) -> Any:
        """`to_arrow` as a DataFrame of the session."""
        from metaindex.core import SparkDriver

        return SparkDriver(spark).frame(self.to_arrow())

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        rest = "files size_bytes index_bytes bytes_left_out tables recommended notes"
        return {**self._plain("lake=place made_ms"), "seconds": round(self.seconds, 3), **self._plain(rest)}

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        reports: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Reported:
        """Writes one HTML file that loads nothing: the tables in a table that can be sorted and filtered.

        `reports`: a folder for the page of each table that can be read (`Table.report`, without reading data), to which
        the page links. A page of ours at `path` is replaced, another file with `overwrite` alone. Raises
        ArgumentError, StorageError where it cannot be written."""
        assert self.writes is not None, "made by open_lake()"
        return self.writes(self, path, reports, overwrite, progress)


def _row(table: LakeTable) -> tuple[str, ...]:
    return (
        _cut_in_the_middle(table.name),
        table.format or "?",
        "-" if table.files is None else f"{table.files:,}",
        "-" if table.size_bytes is None else human_bytes(table.size_bytes),
        ", ".join(index.said for index in table.indexes) or "-",
        human_bytes(table.index_bytes) if table.indexes else "-",
        behind_in_words(table),
        left_out_in_words(table),
        _shortened(_told(table)),
    )


def _told(table: LakeTable) -> str:
    """The commands of its advice stand below the table."""
    return table.problem or "; ".join(_without_commands(table))


def _without_commands(table: LakeTable) -> Iterator[str]:
    for advice in table.advice:
        yield next((advice.partition(end)[0] for end in map(": {}".format, table.commands) if end in advice), advice)


def behind_in_words(table: LakeTable) -> str:
    """Describe how far the worst of its indexes is behind."""
    if table.fresh is None:
        return "-"
    unread = [f"{counted(table.unread_files, 'file')} unread"] if table.unread_files else []
    if table.fresh:
        return ", ".join(["no", *unread])
    parts = []
    if table.behind_commits:
        parts.append(counted(table.behind_commits, "commit"))
    if table.behind_files:
        parts.append(f"{counted(table.behind_files, 'file')}, {human_bytes(table.behind_bytes or 0)}")
    if table.lag_ms:
        parts.append(duration(table.lag_ms))
    return ", ".join([*(parts or ["yes"]), *unread])


def left_out_in_words(table: LakeTable) -> str:
    """Describe what indexes left out of noted queries."""
    saved = table.savings
    if saved is None:
        return "-"
    total = saved.bytes_read + saved.bytes_left_out
    return human_bytes(saved.bytes_left_out) + (f" ({percent(saved.bytes_left_out / total)})" if total else "")


def _cut_in_the_middle(name: str) -> str:
    """Shorten a long name, which would push columns out of sight; beginning and end tell it from others."""
    return name if len(name) <= _SHOWN else f"{name[: _SHOWN // 2 - 1]}...{name[-(_SHOWN // 2 - 2) :]}"


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _arrow_schema() -> pa.Schema:
    import pyarrow as pa

    texts = ("name", "path", "format", "version", "layout_column", "problem")
    lists = ("indexes", "unused", "advice")
    types = {
        **dict.fromkeys(texts, pa.string()),
        **dict.fromkeys(lists, pa.list_(pa.string())),
        "fresh": pa.bool_(),
        "layout_share": pa.float64(),
    }
    return pa.schema([pa.field(name, types.get(name, pa.int64())) for name in LakeTable("", "").row()])


def _index_schema() -> pa.Schema:
    import pyarrow as pa

    from .answer import LakeIndex

    told = IndexList().to_arrow().schema
    own = {"table": pa.string(), "unread": pa.string()}
    names = ("table", *LakeIndex(IndexInfo("", "")).to_json())
    return pa.schema(
        [told.field(name) if name in told.names else pa.field(name, own.get(name, pa.int64())) for name in names]
    )
