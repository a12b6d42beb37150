"""Descriptions of the indexes of a table, for people and machines: one by one, or all as a table, JSON, Arrow or
Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from metaindex.core import (
    IndexNotFoundError,
    MetaIndexError,
    Plain,
    Shown,
    TextTable,
    counted,
    dataclass,
    human_bytes,
    moment,
    one_line,
)
from metaindex.formats import At, ReadOptions, Snapshot, Version
from metaindex.index import KINDS, IndexFolder, IndexLogEntry, Lacking, OpenIndex

if TYPE_CHECKING:
    import pyarrow as pa

    from metaindex.core import TextTable


_GONE = "DOESNOTEXIST"
_NAMED = 5
"""Columns that a line names."""
_OLD = (
    "runs that were merged or replaced; queries that began before may read them still, and clean removes them after its"
    " retention"
)
_OTHER = (
    "no query of the table as it is opened uses such an index; open the table with those that it was built with, which"
    " a query says (prune), or create another index"
)
_KEPT = (
    "and no query leaves out what the table has of them: where they cannot be read now, scan and count end with an"
    " error, Spark reads them as it does; verify says why, and what helps"
)


@dataclass(frozen=True, slots=True, repr=False)
class IndexInfo(Shown, Plain):
    """An index at a glance; sizes in bytes, times in milliseconds since 1970. None: not known, or not asked.

    * `fresh`: the version asked (default: the table's newest) is recorded.
    * `columns`: those that it knows, be it by `statistics` (of these columns) or by `keys`: what it keys, by kind, as
      in `values(user_id)`, and `values(user_id, day)` where they are a composite key.
    * `versions`: recorded ones, oldest first; `newest_version` was recorded last, and was committed to the table at
      `newest_ms`.
    * `new_files`, `new_bytes`: staleness. Files of the version asked that the index does not cover; every query reads
      them. `touched_files` of them are so by inode and time of change alone: a refresh by identity takes them over.
      `gone_files`, `gone_bytes`: counted at its newest version, and gone from the table; they cost a query nothing.
    * `files` at the newest version, `uncovered_files` that no builder could make sense of; `runs` and their
      `size_bytes`; `stored_bytes` on storage, its log too. `old_bytes` of these are of runs that were merged or
      replaced: no new query reads them, and `clean` removes them once they are out of use for its retention.
    * `under_way`: operations between begin and commit, who and since when; `suspected`: those whose writer gave no sign
      of life for minutes: `cancel` may be due.
    * `other_options`: reader options that it was built with otherwise than the table is opened here: no query of the
      table as it is opened uses it, and `fresh` is None.
    * `built_with`, `built_without`: of reader options that differ, those that it was built with, as Python says them,
      and the names of those that are said of the table and it was built without. Where no other option is said
      `other_options` is empty, and queries use it that say those of `built_with`.
    * `state`: of its log; DAMAGED where no entry makes sense, UNREADABLE where the storage does not let us look,
      or the table cannot be read with the index's reader options.
    * `problem`: why the index, or what is told of it, cannot be read.
    """

    name: str
    state: str
    enabled: bool = True
    kinds: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    newest_version: str | None = None
    newest_ms: int | None = None
    fresh: bool | None = None
    new_files: int | None = None
    new_bytes: int | None = None
    gone_files: int | None = None
    gone_bytes: int | None = None
    files: int = 0
    runs: int = 0
    size_bytes: int = 0
    stored_bytes: int | None = None
    old_bytes: int | None = None
    uncovered_files: int = 0
    entry: int = 0
    changed_ms: int = 0
    location: str = ""
    under_way: tuple[str, ...] = ()
    suspected: tuple[str, ...] = ()
    problem: str = ""
    other_options: tuple[str, ...] = ()
    built_with: tuple[str, ...] = ()
    built_without: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    touched_files: int | None = None

    @property
    def brief(self) -> str:
        kinds = f", {', '.join(self.kinds)}" if self.kinds else ""
        return f"{self.name}: {self.state_said}{kinds}, {counted(self.files, 'file')}, {human_bytes(self._size)}"

    @property
    def exists(self) -> bool:
        """Return whether there is an index: not if it was vacuumed."""
        return self.state != _GONE

    @property
    def deleted(self) -> bool:
        """Return whether it waits to be restored or vacuumed."""
        return self.state == "DELETED"

    @property
    def state_said(self) -> str:
        """Its state, and what is wrong with it."""
        return (
            self.state + (", its writer seems dead" if self.suspected else "") + ("" if self.enabled else ", disabled")
        )

    @property
    def touched_said(self) -> str:
        """Say which files are new by inode and time of change alone, and what helps; empty if none is."""
        if not self.touched_files or self.new_files is None:
            return ""
        of = max(self.files - (self.gone_files or 0), 0) + self.new_files
        return str(Lacking(self.name, self.new_files, of, self.touched_files))

    @property
    def fresh_said(self) -> str:
        """Say whether the version asked is recorded; "-" for a deleted index."""
        if self.deleted:
            return "-"
        if self.other_options:
            return f"- (built with other reader options: {', '.join(self.other_options)})"
        return {True: "yes", False: "no", None: "-"}[self.fresh]

    @property
    def options_said(self) -> str:
        """Describe the reader options of queries that use the index, or how it was built otherwise; empty if equal."""
        if not self.other_options:
            used = self.enabled and not self.deleted and self.built_with
            return f"used by queries that say {ReadOptions.said_once(self.built_with)}" if used else ""
        here = ", which is said here" if len(self.built_without) == 1 else ", which are said here"
        built = ReadOptions.in_words(self.built_with, self.built_without)
        return f"built {built}" + (here if self.built_without else "") if built else ""

    @property
    def unread_said(self) -> str:
        """Say which files of its runs no builder could read, be they part of the table still or not. Why is recorded
        nowhere."""
        return f"{counted(self.uncovered_files, 'file')} could not be read when indexed"

    @property
    def columns_said(self) -> str:
        """Name the columns, those of a composite key in brackets; the first of many."""
        columns = list(dict.fromkeys((*self.statistics, *map(self._key_said, self.keys))))
        more = len(columns) - _NAMED
        return ", ".join(columns[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")

    def _key_said(self, key: str) -> str:
        kind, _, rest = key.partition("(")
        if kind not in self.kinds or not rest.endswith(")"):
            return key
        return f"({rest}" if ", " in rest else rest[:-1]

    @property
    def size_said(self) -> str:
        """Return the size on storage, as far as it is known; what `clean` removes is separate."""
        old = self.old_bytes or 0
        return human_bytes(self._size - old) + (f" + {human_bytes(old)} old" if old else "")

    @property
    def version_said(self) -> str:
        """Return the newest version. Listings of plain files and Iceberg snapshots have long names, which are cut here;
        `index_text` shows them whole."""
        version = self.newest_version or "-"
        return version if len(version) <= 12 else version[:9] + "..."

    @property
    def _size(self) -> int:
        return self.size_bytes if self.stored_bytes is None else self.stored_bytes

    @classmethod
    def of(
        cls,
        name: str,
        folder: IndexFolder,
        version: Version | None,
        at: At | None = None,
        looked: Callable[[OpenIndex], Snapshot | None] = lambda index: None,
        options: ReadOptions | None = None,
        opened: ReadOptions | None = None,
    ) -> IndexInfo:
        """Describe an index by its latest entry; errors are told in it, not raised. With `at`, which names the version,
        its staleness, and its size on storage: `looked` is called before, and returns the snapshot if there is one.
        With `options`, whether it is of the table as these read it, and how it was built otherwise than the table is
        `opened` (default: with these)."""
        log = folder.log(name)
        where = log.storage.uri("")
        try:
            entry = log.latest()
            if entry is None:
                return IndexInfo(name, _GONE, location=where)
            built = ReadOptions.of(entry.table.options)
            other = () if options is None else built.differing(options)
            told = _told(name, folder, entry, None if other else version, at, looked, other)
            if options is None:
                return told
            with_, without = built.apart(options if opened is None else opened)
            return replace(told, built_with=with_, built_without=without)
        except Exception as error:  # noqa: BLE001 - whatever is stored: the other indexes are told of
            state = "UNREADABLE" if IndexFolder.not_looked_at(error) else "DAMAGED"
            return IndexInfo(name, state, location=where, problem=OpenIndex.why_not(error))

    def _printed(self) -> str:
        """Return the output of `metaindex indexes TABLE NAME`."""
        return index_text(self)


class IndexList(Shown, list[IndexInfo]):
    """The indexes of a table, by place or name. Printed, they are a table for people."""

    @overload
    def __getitem__(self, at: SupportsIndex | str) -> IndexInfo: ...
    @overload
    def __getitem__(self, at: slice) -> list[IndexInfo]: ...
    def __getitem__(self, at: SupportsIndex | slice | str) -> IndexInfo | list[IndexInfo]:
        """Return the index of a name, or by its position. Raises IndexNotFoundError for a name that is none."""
        if not isinstance(at, str):
            return super().__getitem__(at)
        for info in self:
            if info.name == at:
                return info
        known = ", ".join(map(repr, (info.name for info in self))) or "none"
        raise IndexNotFoundError(f"an index is asked for by its name; there is no {at!r}; there are: {known}")

    @property
    def brief(self) -> str:
        names = ", ".join(info.name for info in self)
        return f"{counted(len(self), 'index')}: {names}" if self else "no index"

    @property
    def shown(self) -> Sequence[str | TextTable]:
        return (indexes_table(self), *indexes_remarks(self)) if self else ("no index",)

    @property
    def old_remarks(self) -> list[str]:
        """Explain "old", if some size is so called."""
        return [f"old: {_OLD}"] if any(info.old_bytes for info in self) else []

    def to_arrow(self) -> pa.Table:
        """Return a row for each index, with the fields of `IndexInfo` as columns."""
        import pyarrow as pa

        rows = [{name: sayable(value) for name, value in info.to_json().items()} for info in self]
        return pa.Table.from_pylist(rows, schema=info_schema())

    def to_spark(self, spark: Any) -> Any:
        """Return the rows as a DataFrame of the session."""
        from metaindex.core import SparkDriver

        return SparkDriver(spark).frame(self.to_arrow())

    def to_json(self) -> list[dict[str, object]]:
        """Plain data for machines."""
        return [info.to_json() for info in self]


def indexes_table(infos: Sequence[IndexInfo]) -> TextTable:
    """A row an index; the problem of those that have one."""
    from metaindex.core import Column, TextTable  # which `import metaindex` does without

    with_problem = any(info.problem for info in infos)
    columns = (
        Column("index"),
        Column("state"),
        Column("fresh"),
        Column("kinds"),
        Column("columns"),
        Column("files", right=True),
        Column("versions"),
        Column("runs", right=True),
        Column("size", right=True),
        Column("changed"),
        *((Column("problem"),) if with_problem else ()),
    )
    sizes = [info._size for info in infos]
    bars = ((8, tuple(size / max([*sizes, 1]) for size in sizes)),)
    return TextTable(columns, tuple(_row(info, with_problem) for info in infos), bars)


def indexes_remarks(infos: Sequence[IndexInfo]) -> list[str]:
    """Return the remarks below the table."""
    touched = [f"{info.name}: {said}" for info in infos if (said := info.touched_said)]
    unread = [f"{info.name}: {info.unread_said}, {_KEPT}" for info in infos if info.uncovered_files]
    built = [f"{info.name}: {said}" for info in infos if (said := info.options_said)]
    other = [f"other reader options: {_OTHER}"] if any(info.other_options for info in infos) else []
    return touched + unread + built + other + IndexList(infos).old_remarks


def index_text(info: IndexInfo) -> str:
    """Describe one index, a fact a line."""
    facts = {
        "index": info.name,
        "state": info.state_said,
        "fresh": info.fresh_said,
        "options": info.options_said,
        "kinds": ", ".join(info.kinds) or "-",
        "files": f"{info.files:,}" + (f"; {info.unread_said}, {_KEPT}" if info.uncovered_files else ""),
        "behind": "" if info.new_files is None else _behind_in_words(info),
        "newest": (
            f"version {info.newest_version}, committed {moment(info.newest_ms or 0)}" if info.newest_version else ""
        ),
        "size": (
            f"{human_bytes(info.size_bytes)} in {counted(info.runs, 'run')}"
            + ("" if info.stored_bytes is None else f"; {human_bytes(info.stored_bytes)} on storage, with its log")
            + (f"; {human_bytes(info.old_bytes)} of that is of old {_OLD}" if info.old_bytes else "")
        ),
        "changed": f"{moment(info.changed_ms)} (log entry {info.entry})",
        "location": info.location,
        "under way": "; ".join(info.under_way),
        "suspected": "; ".join(info.suspected) + (" seems dead: cancel ends it" if info.suspected else ""),
        "problem": info.problem,
        "columns": ", ".join(info.columns),
        "keys": ", ".join(info.keys),
        "versions": ", ".join(info.versions),
    }
    return "\n".join(f"{name:<10}{one_line(value)}" for name, value in facts.items() if value)


def _row(info: IndexInfo, with_problem: bool) -> tuple[str, ...]:
    cells = (
        info.name,
        info.state_said,
        info.fresh_said + _behind(info),
        ", ".join(info.kinds) or "-",
        info.columns_said or "-",
        f"{info.files:,}",
        f"{len(info.versions):,}" + (f", newest {info.version_said}" if info.newest_version else ""),
        f"{info.runs:,}",
        info.size_said,
        moment(info.changed_ms),
    )
    return (*cells, info.problem) if with_problem else cells


def _behind(info: IndexInfo) -> str:
    return f" ({counted(info.new_files, 'file')}, {human_bytes(info.new_bytes or 0)} behind)" if info.new_files else ""


def _behind_in_words(info: IndexInfo) -> str:
    new = (
        f"{counted(info.new_files or 0, 'file')} of the table, {human_bytes(info.new_bytes or 0)}, not covered and"
        " always read"
        if info.new_files
        else "nothing"
    )
    gone = f"; {counted(info.gone_files or 0, 'file')}, {human_bytes(info.gone_bytes or 0)}, gone from it"
    return new + (gone if info.gone_files else "") + (f"; {info.touched_said}" if info.touched_files else "")


def sayable(value: object) -> object:
    """Escape lone surrogates, which a damaged entry may hold and Arrow does not take."""
    if isinstance(value, tuple | list):
        return tuple(map(sayable, value))
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def info_schema() -> pa.Schema:
    """Return the schema of `IndexList.to_arrow`."""
    import pyarrow as pa

    types = {
        "str": pa.string(),
        "bool": pa.bool_(),
        "int": pa.int64(),
        "tuple[str, ...]": pa.list_(pa.string()),
    }
    fields = IndexInfo.__dataclass_fields__.values()
    return pa.schema(
        [pa.field(f.name, types[str(f.type).removesuffix(" | None")], "None" in str(f.type)) for f in fields]
    )


def _told(
    name: str,
    folder: IndexFolder,
    entry: IndexLogEntry,
    version: Version | None,
    at: At | None,
    looked: Callable[[OpenIndex], Snapshot | None],
    other_options: tuple[str, ...],
) -> IndexInfo:
    log, content = folder.log(name), entry.content
    where = log.storage.uri("")
    index = OpenIndex.of(name, entry, log.storage)
    recorded = index.versions
    problem = "; ".join(index.left_out)
    try:
        versions = tuple(record.version.id for record, _ in recorded.all())
    except MetaIndexError as error:
        versions, problem = tuple(record.version.id for record in content.versions), str(error)
    late, stored, old = None, None, None
    try:
        IndexFolder.check(entry)
    except Exception as error:  # noqa: BLE001 - it is told why no query uses it
        problem, at = OpenIndex.why_not(error), None
    if at is not None:
        try:
            if version is not None and entry.active:
                late = folder.staleness(index, at, version, looked(index))
            stored, old = log.stored_bytes(entry)
        except Exception as error:  # noqa: BLE001 - the entry itself can be told of
            problem = OpenIndex.why_not(error)
    # A column has the name of the newest run, whatever older ones call it.
    own = {column.stable: column.name for run in content.runs for column in run.columns}
    keys = {(key.kind, *(c.stable for c in key.columns)): key for run in content.runs for key in run.keys}
    keyed = {column.name: None for key in keys.values() for column in key.columns}
    statistics = dict.fromkeys(own.values())
    newest = recorded.newest()
    return IndexInfo(
        name=name,
        state=entry.state.value,
        enabled=entry.enabled,
        kinds=tuple(kind.name for kind in entry.kinds),
        columns=tuple(statistics | keyed),
        statistics=tuple(statistics),
        keys=tuple(dict.fromkeys(map(KINDS.said, keys.values()))),
        versions=versions,
        newest_version=newest.version.id if newest is not None else None,
        newest_ms=newest.timestamp_ms if newest is not None else None,
        fresh=None if version is None else recorded.find(version) is not None,
        new_files=late.new_files if late is not None else None,
        new_bytes=late.new_bytes if late is not None else None,
        gone_files=late.gone_files if late is not None else None,
        gone_bytes=late.gone_bytes if late is not None else None,
        touched_files=late.touched_files if late is not None else None,
        files=newest.files if newest is not None else sum(run.files for run in content.runs),
        runs=len(content.runs),
        size_bytes=sum(run.size_bytes for run in content.runs),
        stored_bytes=stored,
        old_bytes=old,
        uncovered_files=sum(run.uncovered_files for run in content.runs),
        entry=entry.id,
        changed_ms=entry.timestamp_ms,
        location=where,
        under_way=tuple(str(mark) for mark in entry.under_way),
        suspected=tuple(str(mark) for mark in entry.under_way if log.suspected(mark)),
        problem=problem,
        other_options=other_options,
    )
