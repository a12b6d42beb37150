"""The requests of the optimizer's rule (`MetaIndexRule.java`), as values; `reading` parses them once.

A request is a list of scans. Each says what is read (`source`), by which filters (conjuncts, as `spark_json` reads
them), which columns the query needs of it, and which joins and groups its partitioning would help.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from metaindex.core import TooLate, dataclass
from metaindex.expressions import CatalystNodes, Predicate, conjuncts, to_predicate
from metaindex.query import Direction, How

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

TEXT_FORMATS: Final[Mapping[str, str]] = {"CSVFileFormat": "csv", "JsonFileFormat": "json"}
"""Spark's classes, by the names of this project."""


class Filters:
    """The filters above a scan, parsed on first use: there may be thousands, and the time to answer is limited."""

    __slots__ = ("_nodes", "_read")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, nodes: list[Any]) -> None:
        self._nodes = nodes
        self._read: tuple[Predicate, ...] | None = None

    def __len__(self) -> int:
        return len(self._nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filters) and self._nodes == other._nodes

    @property
    def conditions(self) -> tuple[Predicate, ...]:
        """Return the filters as conjuncts."""
        if self._read is None:
            self._read = tuple(part for node in self._nodes for part in _conjuncts(node))
        return self._read


class SparkColumns:
    """Columns of files, as Spark reads them: a struct's type, made on first use."""

    __slots__ = ("_json", "_types", "names")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, names: Sequence[str], struct: Mapping[str, Any]) -> None:
        self.names, self._json = tuple(names), struct
        self._types: tuple[StructType, pa.Schema] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparkColumns) and self._json == other._json

    def notes(self, text: str) -> bool:
        """Return whether the text stands anywhere in it, such as in metadata of columns."""
        return text in self.text

    @property
    def text(self) -> str:
        """Return the columns as JSON."""
        return json.dumps(self._json)

    @property
    def types(self) -> tuple[StructType, pa.Schema]:
        """Spark's and Arrow's. PySparkException for a type that Arrow has not."""
        if self._types is None:
            from pyspark.sql.pandas.types import to_arrow_schema
            from pyspark.sql.types import StructType

            struct = StructType.fromJson(dict(self._json))
            self._types = struct, to_arrow_schema(struct)
        return self._types


@dataclass(frozen=True, slots=True)
class Session:
    """A session's settings of how files are read: its time zone, and what is set there of their format."""

    zone: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Delta:
    """A Delta table. `session`: None if the scan belongs to another one."""

    name: ClassVar[str] = "delta"
    version: str
    table: str  # its id
    session: Session | None
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Iceberg:
    """An Iceberg table. `version`: a snapshot; None if there is none yet. `ids`: of columns, and of the fields of
    structs, the path by the names of today, and the number. `inner`: of those that hold structs, by stable name, the
    fields inside, as `inner_fields` has them."""

    name: ClassVar[str] = "iceberg"
    version: str | None
    ids: tuple[tuple[tuple[str, ...], int], ...]
    inner: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Files:
    """Plain files. `format`: the class of Spark's; `catalog`: it says what the partitions hold, whatever folders are
    called."""

    name: ClassVar[str] = "files"
    version: ClassVar[None] = None
    format: str
    schema: SparkColumns
    partitions: SparkColumns
    session: Session | None
    options: Mapping[str, str]
    catalog: bool = False

    @property
    def text(self) -> str | None:
        """Return the format, if it is one of texts: Spark reads every byte, whatever columns are needed."""
        return TEXT_FORMATS.get(self.format)


@dataclass(frozen=True, slots=True)
class Need:
    """A column that the query reads, or a field of a struct: by its path, and in Iceberg a field's number. `type`: the
    JSON of Spark's; `altered`: Spark shows other values than the files hold, or compares them by another rule."""

    name: str
    path: tuple[str, ...]
    type: object = ""
    id: int | None = None
    altered: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The keys of a group that are columns of the scan, or (`whole`: it is given every row) of a window."""

    keys: tuple[str, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class JoinSide:
    """A side of an equi-join. `small`: Spark sends a side to every task, and shuffles nothing; `sent`: it is this one;
    `partial`: it is enough that rows are partitioned by some of the keys."""

    join: int
    side: int
    keys: tuple[str, ...]
    small: bool = False
    partial: bool = False
    sent: bool = False


@dataclass(frozen=True, slots=True)
class FirstAsked:
    """The first so many of a scan's filtered rows by a column, which are all that the plan takes; ties may fall either
    way."""

    column: str
    direction: Direction
    rows: int


@dataclass(frozen=True, slots=True)
class AggregateAsked:
    """The aggregate that is all the plan takes of a scan's filtered rows: answers (what, and of which column; None: of
    rows) by groups, which are made of these columns."""

    keys: tuple[str, ...]
    measures: tuple[tuple[How, str | None], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return its columns, each once."""
        return tuple(dict.fromkeys((*self.keys, *(name for _, name in self.measures if name is not None))))


@dataclass(frozen=True, slots=True)
class SparkScan:
    """A scan of a query, whose wants stand in the order in which the plan comes upon them from below. `gathered`: the
    order of its rows is never seen; `harmless`: no filter fails on a row that the scan would not have read; `pruned`:
    Spark prunes partitions once the query runs; `bytes`: of the files that it lists, if that is known; `order`: columns
    by which the plan sorts all rows, some with " DESC" behind them. `first`, `aggregate`: all that the plan takes of
    its rows; `any`: it takes some, whichever come first. `joins`: columns that are keys of joins, whose other sides may
    exclude rows of it; `listed`: for explanations, how many files and bytes it lists, if those are all."""

    root: str
    source: Delta | Iceberg | Files
    filters: Filters
    needs: tuple[Need, ...] = ()
    wants: tuple[Group | JoinSide, ...] = ()
    gathered: bool = False
    harmless: bool = True
    pruned: bool = False
    bytes: int | None = None
    order: tuple[str, ...] = ()
    first: FirstAsked | None = None
    aggregate: AggregateAsked | None = None
    any: bool = False
    joins: tuple[str, ...] = ()
    listed: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"{self.source.name} {self.root}"

    @property
    def conditions(self) -> tuple[Predicate, ...]:
        return self.filters.conditions

    @property
    def plain(self) -> bool:
        """Return whether it reads files that no log keeps."""
        return isinstance(self.source, Files)

    @property
    def text(self) -> str | None:
        """Return the format, if it is CSV or JSON."""
        return self.source.text if isinstance(self.source, Files) else None


@dataclass(frozen=True, slots=True)
class Request:
    """`settings`: the session's, of ours; `broken`: of runs of covering indexes that its queries failed to read, the
    part. `explained`: the plan is not to be run; `limit`: of its rows. `running`: the scan runs, and its filters are
    the keys of joins; it waits so many seconds for the answer."""

    settings: Mapping[str, str]
    broken: Mapping[str, str]
    scans: tuple[SparkScan, ...]
    explained: bool = False
    limit: int | None = None
    running: float | None = None


@dataclass(frozen=True, slots=True)
class PassedScan:
    """A scan that nothing is asked about, and why. `listed`: as of `SparkScan`."""

    scan: str
    why: str
    listed: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class PlanScans:
    """The rule's requests about a plan (`MetaIndexRule.survey`, `asked`): scans, and the reasons of those that are
    passed over; or why nothing is asked about the plan at all."""

    refused: str | None
    scans: tuple[SparkScan, ...]
    passed: tuple[PassedScan, ...]
    limit: int | None = None


def _conjuncts(condition: Any) -> tuple[Predicate, ...]:
    TooLate.check()
    return conjuncts(to_predicate(CatalystNodes(condition)))
