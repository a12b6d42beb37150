"""Matches delete files to data files, and loads what they delete.

    delete                          applies to a data file when
    deletion vector (Puffin)        it names the file, and is not older; it takes the place of all position delete files
                                    of the file
    position deletes, one file      the same (named by the entry, or by equal bounds of its path column)
    position deletes                same spec and partition, the path within its bounds, not older
    equality deletes                newer (strictly), and same spec and partition, or its spec is unpartitioned: then
                                    any file

"Older" is by data sequence number. The identity of a file's deletes is a hash of the sorted set, so equal identities
mean equal deleted rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metaindex.core import BoundedCache, CorruptTableError, UnsupportedFeatureError, Vector
from metaindex.formats.damage import as_damage, must_exist
from metaindex.formats.deletion_vectors import decode_framed
from metaindex.formats.model import Deletes, EqualityDelete, Leaf, Schema
from metaindex.storage import Storage

from .locations import Place
from .manifests import EQUALITY_DELETES, PATH_FIELD_ID, POSITION_DELETES
from .metadata import TableMetadata
from .schema import leaf_by_id, read_schema

if TYPE_CHECKING:
    import polars as pl
    from pyroaring import BitMap64

POSITION_FIELD_ID = 2147483545  # of `pos` in position delete files


def attach(data: pl.DataFrame, deletes: pl.DataFrame, unpartitioned_specs: Collection[int], table: str) -> pl.DataFrame:
    """Pairs (row of `data`, row of `deletes`): the deletes of each file."""
    import polars as pl

    if deletes.is_empty():
        return pl.DataFrame(schema={"file": pl.get_index_type(), "delete": pl.get_index_type()})
    files = data.select("location", "spec_id", "partition", "sequence_number").with_row_index("file")
    dels = deletes.with_row_index("delete").with_columns(
        pl.when(pl.col("referenced").is_not_null())
        .then(pl.col("referenced"))
        .when((pl.col("content") == POSITION_DELETES) & (pl.col("path_low") == pl.col("path_high")))
        .then(pl.col("path_low").cast(pl.String, strict=False))
        .alias("target")
    )
    vector = pl.col("file_format") == "puffin"
    position = pl.col("content") == POSITION_DELETES
    not_older = pl.col("sequence_number_right") >= pl.col("sequence_number")
    newer = pl.col("sequence_number_right") > pl.col("sequence_number")
    pair = ["file", "delete"]

    def by(rows: pl.DataFrame, left: list[str], right: list[str], rule: pl.Expr) -> pl.DataFrame:
        wanted = ["delete", "sequence_number", "path_low", "path_high", *right]
        return files.join(rows.select(list(dict.fromkeys(wanted))), left_on=left, right_on=right, how="inner").filter(
            rule
        )

    if dels.filter(vector & (~position | pl.col("target").is_null())).height:
        raise CorruptTableError(f"a deletion vector must name its data file; {table} has one that does not")
    vectors = by(dels.filter(vector), ["location"], ["target"], pl.lit(True))
    if vectors.filter(~not_older).height:
        raise CorruptTableError(f"a deletion vector must not be older than its data file; {table} has one that is")
    if vectors["file"].is_duplicated().any():
        twice = files["location"][int(vectors.filter(vectors["file"].is_duplicated())["file"][0])]
        raise CorruptTableError(f"a data file has at most one deletion vector; {table} has several for {twice}")
    named = by(dels.filter(~vector & position & pl.col("target").is_not_null()), ["location"], ["target"], not_older)
    path = pl.col("location").cast(pl.Binary)
    within = (pl.col("path_low").is_null() | (pl.col("path_low") <= path)) & (
        pl.col("path_high").is_null() | (path <= pl.col("path_high"))
    ) | (pl.col("path_low") > pl.col("path_high"))  # bounds out of order bound nothing
    place = ["spec_id", "partition"]
    partial = by(dels.filter(~vector & position & pl.col("target").is_null()), place, place, not_older & within)
    positions = pl.concat([named.select(pair), partial.select(pair)]).join(
        vectors.select("file"), on="file", how="anti"
    )

    equality = pl.col("content") == EQUALITY_DELETES
    everywhere = pl.col("spec_id").is_in(list(unpartitioned_specs))
    local = by(dels.filter(equality & ~everywhere), place, place, newer)
    anywhere = files.join(dels.filter(equality & everywhere).select("delete", "sequence_number"), how="cross").filter(
        newer
    )
    return pl.concat([vectors.select(pair), positions, local.select(pair), anywhere.select(pair)]).sort(pair)


def describe(pairs: pl.DataFrame, deletes: pl.DataFrame) -> pl.DataFrame:
    """Per file with deletes: (file, identity, deleted_count). The count is known where a deletion vector is all there
    is."""
    import polars as pl
    import xxhash

    known = deletes.select(
        pl.concat_str(pl.col("location"), pl.lit("\0"), pl.col("content_offset").cast(pl.String).fill_null("")).alias(
            "key"
        ),
        pl.when(pl.col("file_format") == "puffin").then(pl.col("record_count")).alias("count"),
    ).with_row_index("delete")
    grouped = (
        pairs.join(known, on="delete", how="left")
        .group_by("file", maintain_order=True)
        .agg(
            pl.col("key").sort().str.join("\n").alias("keys"),
            pl.when(pl.len() == 1).then(pl.col("count").first()).alias("deleted_count"),
        )
    )
    digests = [xxhash.xxh64_hexdigest(keys.encode()) for keys in grouped["keys"].to_list()]
    return grouped.select("file", pl.Series("identity", digests, dtype=pl.String), pl.col("deleted_count"))


@dataclass(slots=True)
class DeleteLoader:
    """Reads delete files when asked; what many data files share is read once."""

    storage: Storage
    place: Place
    metadata: TableMetadata
    schema: Schema
    version: str
    _tables: BoundedCache[str, pa.Table] = field(default_factory=lambda: BoundedCache(_KEPT_TABLES))
    _equality: dict[tuple[str, ...], tuple[EqualityDelete, ...]] = field(default_factory=dict)

    def load(self, location: str, rows: Sequence[Mapping[str, Any]]) -> Deletes:
        """The deletes of the data file at `location`, from its delete entries."""
        from pyroaring import BitMap64

        positions = BitMap64()
        equality = []
        for row in rows:
            if row["content"] == EQUALITY_DELETES:
                equality.append(row)
            elif row["file_format"] == "puffin":
                positions |= self._vector(row)
            else:
                positions |= self._positions(row, location)
        return Deletes(positions, self._by_value(equality))

    def _whose(self, row: Mapping[str, Any]) -> str:
        return f"{self.metadata.location} snapshot {self.version}: delete file {row['location']}"

    def _existing(self, row: Mapping[str, Any]) -> AbstractContextManager[None]:
        return must_exist(f"what metadata names must exist; {self._whose(row)} does not")

    def _vector(self, row: Mapping[str, Any]) -> BitMap64:
        offset, size = row["content_offset"], row["content_size"]
        if offset is None or size is None or offset < 0 or size < 0:
            raise CorruptTableError(
                f"a deletion vector must have an offset and a size; {self._whose(row)} has {offset} and {size}"
            )
        with self._existing(row):
            blob = self.storage.read(self.place.open(row["location"]), offset, size)
        return decode_framed(blob, self._whose(row), cardinality=row["record_count"])

    def _positions(self, row: Mapping[str, Any], location: str) -> BitMap64:
        import pyarrow.compute as pc
        from pyroaring import BitMap64

        table = self._table(row, (PATH_FIELD_ID, POSITION_FIELD_ID), ("file_path", "pos"))
        paths = table.column(0)
        mine = table.column(1).filter(pc.equal(paths, pa.scalar(location, paths.type)))
        if mine.null_count or pc.any(pc.less(mine, 0)).as_py():
            raise CorruptTableError(f"a deleted position must be 0 or more; {self._whose(row)} has another")
        return BitMap64(mine.to_numpy())

    def _by_value(self, rows: Sequence[Mapping[str, Any]]) -> tuple[EqualityDelete, ...]:
        key = tuple(sorted(row["location"] for row in rows))
        if key not in self._equality:
            self._equality = {key: self._merged(rows)}
        return self._equality[key]

    def _merged(self, rows: Sequence[Mapping[str, Any]]) -> tuple[EqualityDelete, ...]:
        """Merge the rows into one set for each set of columns."""
        by_ids: dict[tuple[int, ...], list[pa.Table]] = {}
        leaves: dict[tuple[int, ...], tuple[Leaf, ...]] = {}
        for row in rows:
            ids = tuple(sorted(row["equality_ids"] or ()))
            if not ids:
                raise CorruptTableError(f"equality deletes must name their columns; {self._whose(row)} names none")
            if ids not in leaves:
                leaves[ids] = tuple(self._leaf(i, row) for i in ids)
            columns = leaves[ids]
            names = tuple(leaf.field.source if len(leaf.path) == 1 else "" for leaf in columns)
            table = self._table(row, ids, names)
            arrays = [_chained(table.column(i), leaf, self._whose(row)) for i, leaf in enumerate(columns)]
            by_ids.setdefault(ids, []).append(pa.table(arrays, names=[".".join(leaf.parts) for leaf in columns]))
        return tuple(EqualityDelete(leaves[ids], pa.concat_tables(tables)) for ids, tables in by_ids.items())

    def _leaf(self, field_id: int, row: Mapping[str, Any]) -> Leaf:
        """The column as the version has it; a dropped one as an older schema had it: its deletes still hold."""
        leaf = leaf_by_id(self.schema, field_id)
        if leaf is not None:
            return leaf
        for content in reversed(list(self.metadata.schemas.values())):
            leaf = leaf_by_id(read_schema(content, self.metadata.location), field_id)
            if leaf is not None:
                return leaf
        raise CorruptTableError(
            f"equality deletes must name columns of the table; {self._whose(row)} names field {field_id}, which no"
            " schema has"
        )

    def _table(self, row: Mapping[str, Any], ids: tuple[int, ...], names: tuple[str, ...]) -> pa.Table:
        """The columns with these field ids, in this order (by name where the file carries no ids)."""
        import pyarrow.parquet as pq

        location = row["location"]
        if (held := self._tables.find(location)) is not None:
            return held
        if row["file_format"] != "parquet":
            raise UnsupportedFeatureError(
                f"delete files are read in Parquet and Puffin; {self._whose(row)} is {row['file_format']}; rewrite the"
                " deletes"
            )
        rule = f"a delete file must be whole and have its columns; {self._whose(row)} is not"
        where = self.place.open(location)
        with self._existing(row), as_damage(f"{rule} (", ")"), self.storage.open_input(where) as source:
            file = pq.ParquetFile(source, page_checksum_verification=True)
            picked = [_find(file.schema_arrow, i, name) for i, name in zip(ids, names, strict=True)]
            table = file.read(columns=[".".join(path) for path in picked])
        table = pa.table(
            [_narrowed(Vector(table.column(path[0])).array, path[1:]) for path in picked], names=[str(i) for i in ids]
        )
        return self._tables.keep(location, table)


_KEPT_TABLES = 8


def _find(schema: pa.Schema, field_id: int, name: str) -> tuple[str, ...]:
    def walk(fields: Any, above: tuple[str, ...]) -> tuple[str, ...] | None:
        for inner in fields:
            here = (*above, inner.name)
            if inner.metadata is not None and inner.metadata.get(b"PARQUET:field_id") == str(field_id).encode():
                return here
            if pa.types.is_struct(inner.type) and (below := walk(list(inner.type), here)):
                return below
        return None

    path = walk(schema, ())
    if path is not None:
        return path
    if name and name in schema.names:
        return (name,)
    raise KeyError(f"no column of field id {field_id}")


def _narrowed(values: pa.Array, path: tuple[str, ...]) -> pa.Array:
    """A struct with only the field at the end of the path, at every level."""
    import pyarrow.compute as pc

    if not path:
        return values
    inner = _narrowed(pc.struct_field(values, path[0]), path[1:])
    return pa.StructArray.from_arrays([inner], names=[path[0]], mask=values.is_null())


def _chained(column: pa.ChunkedArray, leaf: Leaf, whose: str) -> pa.Array:
    """The leaf by the names and the type that the version has; inside structs as they are nested in the file."""

    def at(values: pa.Array, depth: int) -> pa.Array:
        if depth == len(leaf.path) - 1:
            return _cast(values, leaf.type, whose)
        if not pa.types.is_struct(values.type) or values.type.num_fields != 1:
            raise CorruptTableError(
                f"equality deletes must be nested as the table is; {whose} has {values.type} for {'.'.join(leaf.parts)}"
            )
        inner = at(values.field(0), depth + 1)
        return pa.StructArray.from_arrays([inner], names=[leaf.path[depth + 1].name], mask=values.is_null())

    return at(Vector(column).array, 0)


def _cast(column: pa.Array, to: pa.DataType, whose: str) -> pa.Array:
    rule = f"equality deletes must fit the column's type {to}; {whose} has {column.type}"
    with as_damage(f"{rule} (", ")"):
        return column if column.type == to else column.cast(to)
