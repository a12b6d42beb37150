"""The requests of the optimizer's rule (`MetaIndexRule.java`), as values whose types and bounds were checked when their
text was read: once. Raises ArgumentError for what is no such text; the plan is left as it was then.

A request is a list of scans. Each says what is read (`source`), by which filters (conjuncts, as `spark_json` reads
them), which columns the query needs of it, and which joins and groups its partitioning would help.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from metaindex.core import ArgumentError, BoundedCache, TooLate, dataclass, first_line
from metaindex.expressions import CatalystNodes, Predicate, conjuncts, to_predicate
from metaindex.formats import Leaf
from metaindex.query import Direction, How

if TYPE_CHECKING:
    import pyarrow as pa

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
    """Columns of files, as Spark reads them: their types in Arrow are made on first use."""

    __slots__ = ("_json", "_types", "names")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, names: Sequence[str], struct: Mapping[str, Any]) -> None:
        self.names, self._json = tuple(names), struct
        self._types: pa.Schema | None = None

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
    def types(self) -> pa.Schema:
        """Arrow's types of the columns. One that Arrow has not, or nobody knows here, is like no other, for itself."""
        import pyarrow as pa

        if self._types is None:
            self._types = pa.schema(_arrow_type(self._json))
        return self._types

    @property
    def fields(self) -> Sequence[Mapping[str, Any]]:
        """Return Spark's types of the columns, as JSON."""
        return self._json["fields"]  # type: ignore[no-any-return]


def _arrow_type(said: Any) -> pa.DataType:
    """Return Arrow's type of a type of Spark's, as JSON."""
    import pyarrow as pa

    match said:
        case {"type": "struct"}:
            return pa.struct([pa.field(f["name"], _arrow_type(f["type"]), f["nullable"]) for f in said["fields"]])
        case {"type": "array"}:
            return pa.list_(pa.field("element", _arrow_type(said["elementType"]), said["containsNull"]))
        case {"type": "map"}:
            value = pa.field("value", _arrow_type(said["valueType"]), said["valueContainsNull"])
            return pa.map_(pa.field("key", _arrow_type(said["keyType"]), False), value)
        case {"type": "udt"}:  # without the class that it names, which PySpark would import
            return _arrow_type(said["sqlType"])
        case str():
            return _plain_type(said)
    return _like_no_other()


@cache
def _plain_type(said: str) -> pa.DataType:
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    if said == "timestamp":  # PySpark wants to be told its zone from 4.2 on
        return pa.timestamp("us", "UTC")
    struct = {"type": "struct", "fields": [{"name": "t", "type": said, "nullable": True, "metadata": {}}]}
    try:
        return to_arrow_schema(StructType.fromJson(struct)).field(0).type
    except (PySparkException, ValueError, KeyError, AssertionError):
        return _like_no_other()


def _like_no_other() -> pa.DataType:
    """No column of files has it: what is compared with it differs."""
    import pyarrow as pa

    return pa.month_day_nano_interval()


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

    @property
    def tells_apart(self) -> bool:
        """Return whether different values are asked for: shown, or counted."""
        return not self.measures or any(how is How.COUNT_DISTINCT for how, _ in self.measures)


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


_HELD_LENGTH = 8 << 20  # characters of requests
_SHOWN: Final = 60  # characters of what is wrong
_Found = TypeVar("_Found")
_Value = TypeVar("_Value", str, bool, int, float, list[Any], dict[str, Any])


class Requests:
    """The last requests as they were read: the same query is planned again and again, and its filters may be long. What
    is read of them later stays with them."""

    def __init__(self) -> None:
        self._held: BoundedCache[str, Request] = BoundedCache(limit_bytes=_HELD_LENGTH)

    def read(self, text: str) -> Request:
        """Read a request. Raises ArgumentError for a text that is none."""
        return self._held.find(text) or self._held.keep(text, read_request(text), len(text))


def read_request(text: str) -> Request:
    """Raises ArgumentError for a text that is none."""
    node = _loaded(text)
    explained = _of(node, "explained", bool, False)
    settings, broken = _texts_by_name(node, "settings"), _texts_by_name(node, "broken", {})
    running = _of(node, "running", float) if "running" in node else None
    return Request(settings, broken, _scans(node), explained, _limit(node), running)


def read_survey(text: str) -> PlanScans:
    """Raises ArgumentError for a text that is none."""
    return _survey(_loaded(text))


def read_surveys(text: str) -> tuple[PlanScans, ...]:
    """Read the surveys of a query, and of its subqueries. Raises ArgumentError for a text that is none."""
    return _each({"surveys": _loaded(text)}, "surveys", _survey)


def _survey(node: Any) -> PlanScans:
    if isinstance(node, dict) and "refused" in node:
        return PlanScans(_of(node, "refused", str), (), ())
    passed = _each(node, "passed", _passed)
    return PlanScans(None, _scans(node), passed, _limit(node))


def _limit(node: Any) -> int | None:
    limit = _of(node, "limit", int, -1)
    return limit if limit >= 0 else None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ArgumentError(
            f"a request of the rule is JSON; {first_line(error)}; call metaindex.enable(spark) again"
        ) from None


def _scans(node: Any) -> tuple[SparkScan, ...]:
    return _each(node, "scans", _scan)


def _scan(node: Any) -> SparkScan:
    size = _of(node, "bytes", int)
    return SparkScan(
        _filled(node, "root"),
        _source(node),
        Filters(_of(node, "filters", list)),
        _each(node, "needs", _need),
        _each(node, "wants", _want),
        _of(node, "gathered", bool),
        _of(node, "harmless", bool),
        _of(node, "pruned", bool),
        size if size >= 0 else None,
        _texts(node["order"], "order") if "order" in node else (),
        _first(node["first"]) if "first" in node else None,
        _aggregate(node["aggregate"]) if "aggregate" in node else None,
        _of(node, "any", bool, False),
        _texts(node["joins"], "joins") if "joins" in node else (),
        _listed(node),
    )


def _passed(node: Any) -> PassedScan:
    return PassedScan(_of(node, "scan", str), _of(node, "why", str), _listed(node))


def _listed(node: Any) -> tuple[int, int] | None:
    if "listed" not in node:
        return None
    counted = _of(node, "listed", list)
    if len(counted) != 2 or not all(type(count) is int and count >= 0 for count in counted):
        raise _wrong("listed", counted)
    files, size = counted
    return files, size


def _first(node: Any) -> FirstAsked:
    rows = _of(node, "rows", int)
    if rows < 0:
        raise _wrong("rows", rows)
    direction = Direction(_of(node, "descending", bool), _of(node, "nulls_first", bool))
    return FirstAsked(_of(node, "column", str), direction, rows)


def _aggregate(node: Any) -> AggregateAsked:
    keys = _of(node, "keys", list)
    return AggregateAsked(_texts(keys, "keys") if keys else (), _each(node, "measures", _measure))


def _measure(node: Any) -> tuple[How, str | None]:
    how = _of(node, "how", str)
    if how not in _MEASURES:
        raise _wrong("how", how)
    if "column" not in node and how != How.COUNT.value:
        raise _wrong("column", None)
    return _MEASURES[how], _of(node, "column", str) if "column" in node else None


_MEASURES: Final = {how.value: how for how in (How.COUNT, How.MIN, How.MAX, How.SUM, How.COUNT_DISTINCT)}


def _source(node: Any) -> Delta | Iceberg | Files:
    kind = _of(node, "kind", str)
    make = _SOURCES.get(kind)
    if make is None:
        raise _wrong("kind", kind)
    return make(node)


def _delta(node: Any) -> Delta:
    return Delta(_filled(node, "version"), _of(node, "table", str), _session(node), _texts_by_name(node, "options"))


def _iceberg(node: Any) -> Iceberg:
    version = _filled(node, "version")
    columns = _each(node, "ids", _numbered)
    inner = tuple(
        (f"id:{number}", Leaf.noted(f"id:{field}" for field in inside)) for _, number, inside in columns if inside
    )
    return Iceberg(None if version == "null" else version, tuple((path, number) for path, number, _ in columns), inner)


def _files(node: Any) -> Files:
    return Files(
        _of(node, "format", str),
        _columns(_of(node, "schema", dict)),
        _columns(_of(node, "partitions", dict)),
        _session(node),
        _texts_by_name(node, "options"),
        _of(node, "catalog", bool),
    )


def _columns(struct: dict[str, Any]) -> SparkColumns:
    return SparkColumns(_each(struct, "fields", lambda field: _of(field, "name", str)), struct)


_SOURCES: Final[Mapping[str, Callable[[Any], Delta | Iceberg | Files]]] = {
    Delta.name: _delta,
    Iceberg.name: _iceberg,
    Files.name: _files,
}


def _session(node: Any) -> Session | None:
    said = node.get("session", ...)
    return None if said is None else Session(_of(said, "zone", str), _texts_by_name(said, "set"))


def _numbered(node: Any) -> tuple[tuple[str, ...], int, tuple[int, ...]]:
    """The path of a column or a field, its number, and those of the fields inside."""
    if not isinstance(node, list) or len(node) != 3 or type(node[1]) is not int or not node[0]:
        raise _wrong("ids", node)
    if not isinstance(node[2], list) or any(type(number) is not int for number in node[2]):
        raise _wrong("ids", node)
    return _texts(node[0], "ids"), node[1], tuple(node[2])


def _need(node: Any) -> Need:
    name = _of(node, "name", str)
    path = _texts(node["path"], "path") if "path" in node else (name,)
    number = _of(node, "id", int) if "id" in node else None
    if not isinstance(node.get("type"), str | dict):
        raise _wrong("type", node.get("type"))
    return Need(name, path, node["type"], number, _of(node, "altered", bool, False))


def _want(node: Any) -> Group | JoinSide:
    if isinstance(node, dict) and "group" in node:
        return Group(_texts(node["group"], "group"), _of(node, "whole", bool, False))
    join, side = _of(node, "join", int), _of(node, "side", int)
    if join < 0 or side not in (0, 1):
        raise _wrong("join", node)
    keys = _texts(_of(node, "keys", list), "keys")
    small, partial, sent = _of(node, "small", bool), _of(node, "partial", bool, False), _of(node, "sent", bool, False)
    return JoinSide(join, side, keys, small, partial, sent)


def _each(node: Any, name: str, make: Callable[[Any], _Found]) -> tuple[_Found, ...]:
    return tuple(make(item) for item in _of(node, name, list))


def _texts(node: Any, name: str) -> tuple[str, ...]:
    """Read a list of at least one text."""
    if not isinstance(node, list) or not node or not all(isinstance(text, str) for text in node):
        raise _wrong(name, node)
    return tuple(node)


def _texts_by_name(node: Any, name: str, default: dict[str, str] | None = None) -> dict[str, str]:
    texts: dict[str, str] = _of(node, name, dict, default)
    if not all(isinstance(text, str) for text in texts.values()):
        raise _wrong(name, texts)
    return texts


def _filled(node: Any, name: str) -> str:
    text = _of(node, name, str)
    if not text:
        raise _wrong(name, text)
    return text


def _of(node: Any, name: str, type_: type[_Value], default: _Value | None = None) -> _Value:
    """Read a value of a type from an object: `true` is no number."""
    value = node.get(name, default) if isinstance(node, dict) else None
    if type(value) is not type_:
        raise _wrong(name, value)
    return value


def _wrong(name: str, value: object) -> ArgumentError:
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
    return ArgumentError(
        f"{name!r} of a request is as this version of metaindex asks it; got {shown}; call metaindex.enable(spark)"
        " again"
    )
