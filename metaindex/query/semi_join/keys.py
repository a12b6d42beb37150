"""Keys of a scan: distinct, as values of the table's columns, with the rows they match and what they say of files."""

from __future__ import annotations

from dataclasses import field

import pyarrow as pa

from metaindex.core import dataclass
from metaindex.expressions import as_column
from metaindex.formats import Field, Schema
from metaindex.query.readers.key_rows import KeyRows
from metaindex.query.readers.plan import shown_field

from .condition import KeyCondition, condition_of
from .sources import Pairs, key_table


@dataclass(frozen=True, slots=True)
class BoundKeys:
    """Keys as values of the columns of a version. `rows`: which rows have them."""

    fields: tuple[Field, ...]
    values: tuple[pa.Array, ...]
    rows: KeyRows
    condition: KeyCondition

    def __str__(self) -> str:
        names = ", ".join(f.name for f in self.fields)
        many = self.rows.count
        return f"{many:,} key{'' if many == 1 else 's'} of {names}, asked {self.condition.told}"


@dataclass(frozen=True, slots=True)
class JoinKeys:
    """The keys of another table. `given`: those without a NULL, in columns named as the table's."""

    pairs: Pairs
    given: pa.Table
    time_zone: str
    _bound: list[tuple[Schema, BoundKeys]] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def of(cls, source: object, on: object, time_zone: str) -> JoinKeys:
        """ArgumentError for what is no table, or no columns; UnknownColumnError for those that the keys have not."""
        pairs = Pairs.of(on)
        rows = key_table(source, pairs)
        return cls(pairs, rows.drop_null(), time_zone)

    def bound(self, schema: Schema, version: object) -> BoundKeys:
        """Bind the keys to the version's columns. Raises UnknownColumnError, ScanError for a name that is none of its
        columns, LiteralTypeError for keys that do not go with their column."""
        for known, kept in self._bound:
            if known == schema:
                return kept
        fields = tuple(shown_field(schema, name, version) for name in self.pairs.table)
        asked = {f.name: f.asked for f in schema.fields}
        types = [asked[f.name] for f in fields]
        columns = [
            as_column(column, t, f.name, self.time_zone)
            for column, t, f in zip(self.given.columns, types, fields, strict=True)
        ]
        names = [f.name for f in fields]
        there = pa.table(columns, names=[str(at) for at in range(len(names))]).drop_null().combine_chunks()
        values = tuple(_one(column) for column in there.columns)
        made = BoundKeys(fields, values, KeyRows.of(names, values), condition_of(names, values, types))
        self._bound[:] = [(schema, made)]
        return made


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)])
