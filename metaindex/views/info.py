"""What a person or a machine is told of the indexes of a table: one by one, or all as a table for people, JSON, Arrow
or Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from metaindex.errors import DamagedIndexError
from metaindex.expressions.errors import MetaIndexError
from metaindex.expressions.records import dataclass
from metaindex.expressions.shown import Shown, Tabular
from metaindex.formats.model import Version
from metaindex.kinds.registry import asked, stored_kind
from metaindex.log.entry import CoveredKey, IndexLogEntry
from metaindex.log.liveness import held, suspected
from metaindex.log.operation_log import OperationLog
from metaindex.log.states import State
from metaindex.pruning.folder import check, not_looked_at, why
from metaindex.pruning.open_index import OpenIndex
from metaindex.store.reader import StoreCache

if TYPE_CHECKING:
    import pyarrow as pa

    from .staleness import Staleness


@dataclass(frozen=True, slots=True, repr=False)
class IndexInfo(Shown):
    """One index at a glance; sizes in bytes, times in milliseconds since 1970. None: not known, or not asked.

    * `fresh`: the version asked (default: the table's newest) is recorded.
    * `columns`: those of which it has statistics; `keys`: what it keys, by kind, as in `values(user_id)`.
    * `versions`: recorded ones, oldest first; `newest_version` was recorded last, and was committed to the table at
      `newest_ms`.
    * `new_files`, `new_bytes`: staleness. Files of the version asked that the index does not cover; every query reads
      them. `gone_files`, `gone_bytes`: counted at its newest version and not in the table any more; they cost a query
      nothing.
    * `files` at the newest version, `uncovered_files` that no builder could make sense of; `runs` and their
      `size_bytes`; `stored_bytes` on storage, with what `clean` would remove.
    * `under_way`: operations between begin and commit, who and since when; `suspected`: those whose writer gave no sign
      of life for minutes: `cancel` may be due.
    * `state`: of its log; DAMAGED where no entry makes sense, UNREADABLE where the storage does not let us look.
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
    uncovered_files: int = 0
    entry: int = 0
    changed_ms: int = 0
    location: str = ""
    under_way: tuple[str, ...] = ()
    suspected: tuple[str, ...] = ()
    problem: str = ""

    def __str__(self) -> str:
        """As `metaindex indexes TABLE NAME` says it."""
        from .tables import index_text

        return index_text(self)

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class IndexList(Shown, list[IndexInfo]):
    """The indexes of a table. Printed, they are a table for people."""

    @property
    def shown(self) -> Sequence[str | Tabular]:
        from .tables import indexes_table

        return (indexes_table(self) if self else "no index",)

    def to_arrow(self) -> pa.Table:
        """One row an index, the fields of `IndexInfo` as columns."""
        import pyarrow as pa

        rows = [{name: _sayable(value) for name, value in info.to_json().items()} for info in self]
        return pa.Table.from_pylist(rows, schema=_arrow_schema())

    def to_spark(self, spark: Any) -> Any:
        """The same as a DataFrame of the session."""
        return spark.createDataFrame(self.to_arrow())

    def to_json(self) -> list[dict[str, object]]:
        """Plain data for machines."""
        return [info.to_json() for info in self]


def _sayable(value: object) -> object:
    """Without halves of characters, which a damaged entry may name and Arrow does not take."""
    if isinstance(value, tuple):
        return tuple(map(_sayable, value))
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _arrow_schema() -> pa.Schema:
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


def index_info(
    name: str, log: OperationLog, version: Version | None, behind: Callable[[OpenIndex], Staleness] | None = None
) -> IndexInfo:
    """Reads the latest entry; what goes wrong is told and not raised. With `behind`, what that says of staleness, and
    what lies on storage."""
    where = log.storage.uri("")
    try:
        entry = log.latest()
        if entry is None:
            return IndexInfo(name, State.DOESNOTEXIST.value, location=where)
        return _told(name, log, entry, version, behind)
    except Exception as error:  # noqa: BLE001 - whatever is stored: the other indexes are told of
        state = "UNREADABLE" if not_looked_at(error) else "DAMAGED"
        return IndexInfo(name, state, location=where, problem=why(error))


def _told(
    name: str,
    log: OperationLog,
    entry: IndexLogEntry,
    version: Version | None,
    behind: Callable[[OpenIndex], Staleness] | None,
) -> IndexInfo:
    where, content = log.storage.uri(""), entry.content
    index = OpenIndex.of(name, entry, log.storage, StoreCache())
    recorded = index.versions
    problem = "; ".join(index.left_out)
    try:
        versions = tuple(record.version.id for record, _ in recorded.all())
    except MetaIndexError as error:
        versions, problem = tuple(record.version.id for record in content.versions), str(error)
    late = stored = None
    try:
        check(entry)
    except Exception as error:  # noqa: BLE001 - it is told why no query uses it
        problem, behind = why(error), None
    if behind is not None:
        try:
            late = behind(index) if version is not None and entry.stable is State.ACTIVE else None
            stored = sum(info.size_bytes for info in log.storage.list(""))
        except Exception as error:  # noqa: BLE001 - the entry itself can be told of
            problem = why(error)
    columns = {column.name: None for run in content.runs for column in run.columns}
    newest = recorded.newest()
    return IndexInfo(
        name=name,
        state=entry.state.value,
        enabled=entry.enabled,
        kinds=tuple(kind.name for kind in entry.kinds),
        columns=tuple(columns),
        keys=tuple(dict.fromkeys(_said(key) for run in content.runs for key in run.keys)),
        versions=versions,
        newest_version=newest.version.id if newest is not None else None,
        newest_ms=newest.timestamp_ms if newest is not None else None,
        fresh=None if version is None else recorded.find(version) is not None,
        new_files=late.new_files if late is not None else None,
        new_bytes=late.new_bytes if late is not None else None,
        gone_files=late.gone_files if late is not None else None,
        gone_bytes=late.gone_bytes if late is not None else None,
        files=newest.files if newest is not None else sum(run.files for run in content.runs),
        runs=len(content.runs),
        size_bytes=sum(run.size_bytes for run in content.runs),
        stored_bytes=stored,
        uncovered_files=sum(run.uncovered_files for run in content.runs),
        entry=entry.id,
        changed_ms=entry.timestamp_ms,
        location=where,
        under_way=tuple(held(mark) for mark in entry.under_way),
        suspected=tuple(held(mark) for mark in entry.under_way if suspected(log.storage, mark)),
        problem=problem,
    )


def _said(key: CoveredKey) -> str:
    rows = stored_kind(key.kind)
    try:
        return asked(key.kind, partial(rows.said, key)) if rows is not None else key.kind
    except DamagedIndexError:  # its class cannot say it; the index can be told of all the same
        return key.kind
