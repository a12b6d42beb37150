"""What a user asks for: the kinds of an index, as frozen values, and their form in the log (a name and a version, never a class path)."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from expressions.build import parse_path
from expressions.errors import UnknownColumnError, UnsupportedFeatureError
from expressions.physical import physical_type
from expressions.records import dataclass
from formats.model import Leaf, Schema
from metaindex.errors import DamagedIndexError
from metaindex.log.entry import KindSpec


@dataclass(frozen=True, slots=True, init=False)
class ColumnStats:
    """Least and greatest value, counts of values, NULLs and NaNs, sizes: of every file (`column_stats`) and of every partition (`partition_stats`), RFC-27.

    `ColumnStats()` covers all primitive columns, fields of structs included; `ColumnStats("dep_time", "payload.user")` only those.
    `scan_floats=False` does not read float columns to count NaN: cheaper to build, and `>`, `>=`, `!=` then keep every file.
    `trust_log=True` takes the statistics that a writer put into the table's log (Delta's `stats`, Iceberg's metrics) where they say enough, and opens only the other files: a
    refresh after a commit then reads nothing twice. Bounds of texts are as short as the log's; sizes of columns are not known; with float columns it takes `scan_floats=False`.
    """

    columns: tuple[str, ...]
    scan_floats: bool
    trust_log: bool

    def __init__(self, *columns: str, scan_floats: bool = True, trust_log: bool = False) -> None:
        for column in columns:
            if not isinstance(column, str):
                raise TypeError(f"columns are named one by one, as in ColumnStats('a', 'b'); got {column!r}")
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
        """The columns to cover at a schema. UnknownColumnError, with the near names, for one that is not there; UnsupportedFeatureError for one that has no order."""
        if not self.columns:
            return [leaf for leaf in schema.leaves() if physical_type(leaf.type) is not None]
        return [find_leaf(schema, name) for name in self.columns]


Kind = ColumnStats
"""The union of all kinds."""


def kind_from_spec(spec: KindSpec) -> Kind:
    """The kind that a log entry names. DamagedIndexError, with advice, for a kind or a version that is not known here."""
    if spec.name == ColumnStats.name and spec.version <= ColumnStats.version:
        columns = spec.properties.get("columns", [])
        assert isinstance(columns, list)
        said = {name: bool(spec.properties.get(name, name == "scan_floats")) for name in ("scan_floats", "trust_log")}
        return ColumnStats(*columns, **said)
    raise DamagedIndexError(
        f"this metaindex knows the index kind column_stats up to version {ColumnStats.version}; the index has {spec.name} version {spec.version}; upgrade metaindex"
    )


def find_leaf(schema: Schema, name: str) -> Leaf:
    """The leaf that a dotted name means: exact case first, then the only one that fits when case is ignored."""
    parts = parse_path(name)
    leaves = schema.leaves()
    exact = [leaf for leaf in leaves if leaf.parts == parts]
    folded = [leaf for leaf in leaves if [p.lower() for p in leaf.parts] == [p.lower() for p in parts]]
    found = exact or folded
    if len(found) == 1:
        if physical_type(found[0].type) is None:
            raise UnsupportedFeatureError(
                f"an indexed column has an order; {name!r} is {found[0].type}; choose another column"
            )
        return found[0]
    if found:
        raise UnknownColumnError(
            f"a column name fits one column; {name!r} fits {len(found)} when case is ignored; write it as the table does"
        )
    names = [".".join(leaf.parts) for leaf in leaves]
    near = difflib.get_close_matches(name, names, 3, 0.5)
    hint = f"near names: {', '.join(near)}" if near else f"columns: {', '.join(names[:12])}"
    raise UnknownColumnError(f"an indexed column is a primitive column of the table; there is no {name!r}; {hint}")


def leaves_of(kinds: Sequence[Kind], schema: Schema) -> list[Leaf]:
    """Every column that some kind covers, once."""
    out: dict[str, Leaf] = {}
    for kind in kinds:
        for leaf in kind.leaves(schema):
            out.setdefault(leaf.stable, leaf)
    return list(out.values())
