"""What a user asks for: the kinds of an index, as frozen values, and their form in the log (a name and a version, never
a class path)."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from expressions.build import parse_path
from expressions.errors import ArgumentError, UnknownColumnError, UnsupportedFeatureError
from expressions.physical import physical_type
from expressions.records import dataclass
from formats.model import Leaf, Schema
from metaindex.errors import DamagedIndexError
from metaindex.log.entry import KindSpec

from .covering.spec import Covering as Covering
from .covering.spec import CoveringRange as CoveringRange


@dataclass(frozen=True, slots=True, init=False)
class ColumnStats:
    """Least and greatest value, counts of values, NULLs and NaNs, sizes: of every file (`column_stats`) and of every
    partition (`partition_stats`), RFC-27.

    `ColumnStats()` covers all primitive columns, fields of structs included; `ColumnStats("dep_time", "payload.user")`
    only those. `scan_floats=False` does not read float columns to count NaN: cheaper to build, and `>`, `>=`, `!=` then
    keep every file. `trust_log=True` takes the statistics that a writer put into the table's log (Delta's `stats`,
    Iceberg's metrics) where they say enough, and opens only the other files: a refresh after a commit then reads
    nothing twice. Bounds of texts are as short as the log's; sizes of columns are not known; with float columns it
    takes `scan_floats=False`.
    """

    columns: tuple[str, ...]
    scan_floats: bool
    trust_log: bool

    def __init__(self, *columns: str, scan_floats: bool = True, trust_log: bool = False) -> None:
        for column in columns:
            if not isinstance(column, str):
                raise ArgumentError(f"columns are named one by one, as in ColumnStats('a', 'b'); got {column!r}")
        for mark, value in (("scan_floats", scan_floats), ("trust_log", trust_log)):
            if not isinstance(value, bool):
                raise ArgumentError(f"ColumnStats({mark}=...) is True or False; got {value!r}")
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "scan_floats", scan_floats)
        object.__setattr__(self, "trust_log", trust_log)

    name = "column_stats"
    version = 1

    def spec(self) -> KindSpec:
        properties: dict[str, object] = {"columns": list(self.columns), "scan_floats": self.scan_floats}
        if self.trust_log:
            properties["trust_log"] = True
        return KindSpec(self.name, self.version, properties)

    def leaves(self, schema: Schema) -> list[Leaf]:
        """The columns to cover at a schema. UnknownColumnError, with the near names, for one that is not there;
        UnsupportedFeatureError for one that has no order."""
        if not self.columns:
            return [leaf for leaf in schema.leaves() if physical_type(leaf.type) is not None]
        return [find_leaf(schema, name) for name in self.columns]


class _Keyed:
    """What the kinds that key values have in common: their keys, each one column or several together."""

    name: ClassVar[str]
    keys: tuple[tuple[str, ...], ...]

    def planned(self, schema: Schema) -> list[tuple[Leaf, ...]]:
        """The columns of each key at a schema. UnknownColumnError, with the near names, for one that is not there;
        UnsupportedFeatureError for one whose values are not keyed."""
        return [tuple(find_leaf(schema, name) for name in key) for key in self.keys]


def _keys(kind: str, keys: Sequence[str | Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Keys as they are written in a constructor: names, and tuples of names for combined keys."""
    out: dict[tuple[str, ...], None] = {}
    for key in keys:
        names = tuple(key) if isinstance(key, list | tuple) else (key,)
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ArgumentError(
                f"a key is a column, or a tuple of different columns, as in {kind}('a') or {kind}(('a', 'b')); got {key!r}"
            )
        out[names] = None
    if not out:
        raise ArgumentError(f"{kind} keys at least one column; none was given; name it, as in {kind}('user_id')")
    return tuple(out)


@dataclass(frozen=True, slots=True, init=False)
class Values(_Keyed):
    """The inverted index: value -> files and, in Parquet, row groups (the EDBT paper). `Values("a", "b")` keys two
    columns, `Values(("a", "b"))` both as one key.

    `by="hash"` keeps a hash of each value: smallest, answers `=` and `IN`; a collision reads a file in vain.
    `by="value"` keeps the values themselves, in order: ranges and prefixes as well.
    """

    keys: tuple[tuple[str, ...], ...]
    by: str

    def __init__(self, *keys: str | Sequence[str], by: Literal["hash", "value"] = "hash") -> None:
        if not isinstance(by, str) or by not in ("hash", "value"):
            raise ArgumentError(f"values are kept by 'hash' or by 'value'; got {by!r}")
        object.__setattr__(self, "keys", _keys("Values", keys))
        object.__setattr__(self, "by", by)

    name = "values"
    version = 1

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {"keys": [list(key) for key in self.keys], "by": self.by})


@dataclass(frozen=True, slots=True, init=False)
class Bloom(_Keyed):
    """Split-block bloom filters of the Parquet specification, one a file and key, stored across the files of a run.
    `fpp`: the share of files without the value that are read in vain."""

    keys: tuple[tuple[str, ...], ...]
    fpp: float

    def __init__(self, *keys: str | Sequence[str], fpp: float = 0.01) -> None:
        if not isinstance(fpp, int | float) or not 1e-6 <= fpp <= 0.5:
            raise ArgumentError(f"fpp is between 0.000001 and 0.5; got {fpp!r}")
        object.__setattr__(self, "keys", _keys("Bloom", keys))
        object.__setattr__(self, "fpp", float(fpp))

    name = "bloom_filters"
    version = 1

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {"keys": [list(key) for key in self.keys], "fpp": self.fpp})


@dataclass(frozen=True, slots=True, init=False)
class ValueList(_Keyed):
    """The distinct values of every file, exactly, as long as they are at most `limit`; of a file with more nothing is
    known. Answers `=`, `IN`, `NOT IN`, `!=`, NULL, ranges, prefixes."""

    keys: tuple[tuple[str, ...], ...]
    limit: int

    def __init__(self, *keys: str | Sequence[str], limit: int = 1000) -> None:
        if not isinstance(limit, int) or not 1 <= limit <= 1_000_000:
            raise ArgumentError(f"limit is a number of values from 1 to 1,000,000; got {limit!r}")
        object.__setattr__(self, "keys", _keys("ValueList", keys))
        object.__setattr__(self, "limit", limit)

    name = "value_lists"
    version = 1

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {"keys": [list(key) for key in self.keys], "limit": self.limit})


def check_kinds(kinds: Sequence[object]) -> None:
    """ArgumentError unless there is at least one kind, and nothing else."""
    if not kinds:
        raise ArgumentError("an index has at least one kind; none was given; for example mi.ColumnStats()")
    for kind in kinds:
        if isinstance(kind, type) or not hasattr(kind, "spec"):
            said = f"the class {kind.__name__}" if isinstance(kind, type) else repr(kind)
            raise ArgumentError(
                f"an index is made of kinds, as in mi.ColumnStats() or mi.Values('user_id'); got {said}"
            )


Keyed = Values | Bloom | ValueList
"""The kinds that key values."""

Kind = ColumnStats | Keyed | Covering | CoveringRange
"""The union of all kinds."""


def kind_from_spec(spec: KindSpec) -> Kind:
    """The kind that a log entry names. DamagedIndexError, with advice, for a kind or a version that is not known
    here."""
    newest = {kind.name: kind.version for kind in (ColumnStats, Values, Bloom, ValueList, Covering, CoveringRange)}
    if spec.version > newest.get(spec.name, 0):
        raise DamagedIndexError(
            f"this metaindex knows the index kinds {', '.join(f'{name} up to version {version}' for name, version in newest.items())}; "
            f"the index has {spec.name} version {spec.version}; upgrade metaindex"
        )
    try:
        return _kind(spec.name, dict(spec.properties))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedIndexError(
            f"an index kind has the properties that it was asked with; {spec.name} has not ({type(error).__name__}: {str(error)[:200]}); recreate the index"
        ) from error


def _kind(name: str, said: dict[str, Any]) -> Kind:
    match name:
        case Values.name:
            return Values(*said["keys"], by=said["by"])
        case Bloom.name:
            return Bloom(*said["keys"], fpp=said["fpp"])
        case ValueList.name:
            return ValueList(*said["keys"], limit=said["limit"])
        case Covering.name:
            return Covering(said["indexed"], said["included"], said["buckets"])
        case CoveringRange.name:
            return CoveringRange(said["indexed"], said["included"])
        case _:
            marks = {mark: bool(said.get(mark, mark == "scan_floats")) for mark in ("scan_floats", "trust_log")}
            return ColumnStats(*said.get("columns", []), **marks)


def find_leaf(schema: Schema, name: str) -> Leaf:
    """The leaf that a dotted name means, which can be indexed: see `named`."""
    found = named(schema.leaves(), name, "an indexed column is a primitive column of the table")
    if physical_type(found.type) is None:
        raise UnsupportedFeatureError(
            f"an indexed column has an order; {name!r} is {found.type}; choose another column"
        )
    return found


def named(among: Sequence[Leaf], name: str, rule: str) -> Leaf:
    """The column that a dotted name means: exact case first, then the only one that fits when case is ignored.
    UnknownColumnError, with the near names, where there is none; `rule` says what may be named."""
    parts = parse_path(name)
    exact = [leaf for leaf in among if leaf.parts == parts]
    folded = [leaf for leaf in among if [p.lower() for p in leaf.parts] == [p.lower() for p in parts]]
    found = exact or folded
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownColumnError(
            f"a column name fits one column; {name!r} fits {len(found)} when case is ignored; write it as the table does"
        )
    names = [".".join(leaf.parts) for leaf in among]
    near = difflib.get_close_matches(name, names, 3, 0.5)
    hint = f"near names: {', '.join(near)}" if near else f"columns: {', '.join(names[:12])}"
    raise UnknownColumnError(f"{rule}; there is no {name!r}; {hint}")


def leaves_of(kinds: Sequence[Kind], schema: Schema) -> list[Leaf]:
    """Every column whose statistics some kind keeps, once."""
    out: dict[str, Leaf] = {}
    for kind in kinds:
        if isinstance(kind, ColumnStats):
            for leaf in kind.leaves(schema):
                out.setdefault(leaf.stable, leaf)
    return list(out.values())
