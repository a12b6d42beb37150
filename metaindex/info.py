"""What a person or a machine is told of an index."""

from __future__ import annotations

from expressions.errors import MetaIndexError
from expressions.records import dataclass
from formats.model import Version

from .log.liveness import held, suspected
from .log.operation_log import OperationLog
from .log.states import State
from .pruning.open_index import OpenIndex
from .store.reader import StoreCache


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """One index at a glance. `fresh`: the table's version now is recorded (None: not known). `under_way`: operations between begin and commit, who and
    since when; `suspected`: those of them whose writer gave no sign of life for minutes, so that `cancel` may be due. `problem`: why the index cannot be used."""

    name: str
    state: str
    enabled: bool = True
    kinds: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    fresh: bool | None = None
    files: int = 0
    runs: int = 0
    size_bytes: int = 0
    uncovered_files: int = 0
    entry: int = 0
    changed_ms: int = 0
    location: str = ""
    under_way: tuple[str, ...] = ()
    suspected: tuple[str, ...] = ()
    problem: str = ""

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def index_info(name: str, log: OperationLog, version: Version | None) -> IndexInfo:
    """Reads the latest entry; what goes wrong is told and not raised."""
    where = log.storage.uri("")
    try:
        entry = log.latest()
    except MetaIndexError as error:
        return IndexInfo(name, "DAMAGED", location=where, problem=str(error))
    if entry is None:
        return IndexInfo(name, State.DOESNOTEXIST.value, location=where)
    content = entry.content
    recorded = OpenIndex(name, entry, log.storage, StoreCache()).versions
    try:
        versions = tuple(record.version.id for record, _ in recorded.all())
    except MetaIndexError:
        versions = tuple(record.version.id for record in content.versions)
    columns = {column.name: None for run in content.runs for column in run.columns}
    return IndexInfo(
        name=name,
        state=entry.state.value,
        enabled=entry.enabled,
        kinds=tuple(kind.name for kind in entry.kinds),
        columns=tuple(columns),
        versions=versions,
        fresh=None if version is None else recorded.find(version) is not None,
        files=content.versions[-1].files if content.versions else sum(run.files for run in content.runs),
        runs=len(content.runs),
        size_bytes=sum(run.size_bytes for run in content.runs),
        uncovered_files=sum(run.uncovered_files for run in content.runs),
        entry=entry.id,
        changed_ms=entry.timestamp_ms,
        location=where,
        under_way=tuple(held(mark) for mark in entry.under_way),
        suspected=tuple(held(mark) for mark in entry.under_way if suspected(log.storage, mark)),
    )
