"""A rewrite of a table as the statement that its owner runs: Delta's OPTIMIZE, Iceberg's procedure, or for plain files
a sorted copy in a new folder. Names and texts are quoted as the engine reads them."""

from __future__ import annotations

import re

from metaindex.core import ArgumentError, ExpressionError, dataclass
from metaindex.expressions import column_sql, name_sql, parse_path, quoted, text_python, text_sql, word
from metaindex.formats import escape

from .layouts import Curve

_AS_WRITTEN = "SET spark.sql.variable.substitute = false"
"""Spark takes `${env:HOME}` for the variable wherever it stands in a statement, and in the texts that a procedure is
given: no escape is kept to the end."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """`path`: of the table, as an engine opens it; `name`: in its catalog, "" where it was opened by path. `columns`:
    by their parts. `file_bytes`: of a file, as they are now; `files`: how many there are."""

    format: str
    path: str
    name: str
    columns: tuple[tuple[str, ...], ...]
    curve: Curve
    file_bytes: int
    files: int
    partitions: tuple[str, ...] = ()

    def statements(self, name: str | None = None) -> tuple[str, ...]:
        """Return what to run in Spark, in this order: SQL, for plain files Python. `name`: the table's in its catalog;
        for Iceberg the catalog comes first (`lake.db.flights`)."""
        match self.format:
            case "delta":
                columns = ", ".join(map(column_sql, self.columns))
                size = f"SET spark.databricks.delta.optimize.maxFileSize = {self.file_bytes}"
                return as_written(size, f"OPTIMIZE {self._delta(name)} ZORDER BY ({columns})")
            case "iceberg":
                return as_written(self._iceberg(name))
            case _:
                return (self._sorted_copy(),)

    def otherwise(self, name: str | None = None) -> tuple[str, ...]:
        """Return another way to a similar layout; none if there is none."""
        columns = ", ".join(map(column_sql, self.columns))
        match self.format:
            case "delta" if not self.partitions:
                table = self._delta(name)
                return as_written(f"ALTER TABLE {table} CLUSTER BY ({columns})", f"OPTIMIZE {table} FULL")
            case "files" if not self.partitions and "\\" not in self.path:  # DuckDB's patterns cannot say it
                source = text_sql(f"{_as_a_name(self.path.rstrip('/'))}/**/*.parquet", doubled=True)
                target = text_sql(self._copy, doubled=True)
                ordered = ", ".join(column_sql(parts, '"') for parts in self.columns)
                chosen = f"SELECT * FROM read_parquet({source}) ORDER BY {ordered}"  # noqa: S608 - shown, and quoted
                return (f"COPY ({chosen}) TO {target} (FORMAT parquet, FILE_SIZE_BYTES {self.file_bytes})",)
            case _:
                return ()

    @property
    def _copy(self) -> str:
        return f"{self.path.rstrip('/')}-sorted"

    def _delta(self, name: str | None) -> str:
        given = name or self.name
        return name_sql(given) if given else f"delta.{quoted(self.path)}"

    def _iceberg(self, name: str | None) -> str:
        catalog, table = self._named(name)
        inside = [column_sql(parts) for parts in self.columns]
        order = ", ".join(inside) if self.curve == "sort" else f"zorder({', '.join(inside)})"
        if self.curve == "sort":
            order = ", ".join(f"{column} ASC NULLS FIRST" for column in inside)
        return (
            f"CALL {catalog}.system.rewrite_data_files(table => {text_sql(table)}, strategy => 'sort',"
            f" sort_order => {text_sql(order)},"
            f" options => map('rewrite-all', 'true', 'target-file-size-bytes', '{self.file_bytes}'))"
        )

    def _named(self, name: str | None) -> tuple[str, str]:
        """The catalog and the table in it. A table that was opened by its path is named as its folders are."""
        if name is not None:
            parts = parse_path(name)
            if len(parts) < 2:
                raise ArgumentError(
                    f"a table of Iceberg is named with its catalog, such as lake.db.flights; got {name!r}; put the"
                    " catalog first"
                )
        else:
            parts = _parts(self.name) if self.name else ("catalog", *self.path.rstrip("/").split("/")[-2:])
        return word(parts[0]), ".".join(map(word, parts[1:]))

    def _sorted_copy(self) -> str:
        """Python: Spark has no statement that keeps the folders of partitions."""
        by = [*((partition,) for partition in self.partitions), *self.columns]
        columns = ", ".join(text_python(column_sql(parts)) for parts in by)
        inside = ", ".join(text_python(partition) for partition in self.partitions)
        write = f".write.partitionBy({inside})" if inside else ".write"
        return (
            f"spark.read.parquet({text_python(escape(self.path))}).repartitionByRange({self.files}, {columns})"
            f".sortWithinPartitions({columns}){write}.parquet({text_python(self._copy)})"
        )


def _parts(name: str) -> tuple[str, ...]:
    """Split a name in a catalog, as a lake writes it, or as pyiceberg takes it: there a backtick is a letter."""
    try:
        return parse_path(name)
    except ExpressionError:
        return tuple(name.split("."))


def as_written(*statements: str) -> tuple[str, ...]:
    """Statements that Spark runs as they are, whatever names have in them."""
    return (_AS_WRITTEN, *statements) if any("${" in statement for statement in statements) else statements


def _as_a_name(path: str) -> str:
    """A pattern of DuckDB that fits this path alone."""
    return re.sub(r"[*?\[]", lambda mark: f"[{mark[0]}]", path)
