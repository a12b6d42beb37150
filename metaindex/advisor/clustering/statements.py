"""A rewrite of a table as the statement that its owner runs: Delta's OPTIMIZE, Iceberg's procedure, or for plain files
a sorted copy in a new folder. Names and texts are quoted as the engine reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from metaindex.core import ArgumentError, ExpressionError, dataclass
from metaindex.expressions import column_sql, name_sql, parse_path, quoted, text_python, text_sql, word
from metaindex.formats import Leaf, escape, format_named

from .layouts import Curve, in_zorder

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
        return way_of(self.format).statements(self, name)

    def otherwise(self, name: str | None = None) -> tuple[str, ...]:
        """Return another way to a similar layout; none if there is none."""
        return way_of(self.format).otherwise(self, name)


By = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to rewrite the tables of a format. `orders`: those in which rows can be written by some leaves; `end`: of a
    displayed statement; `title`: of the statements of `otherwise`. By default there is none: nothing is advised."""

    orders: Callable[[Sequence[Leaf], By], Sequence[tuple[By, Curve]]] = lambda leaves, by: ()
    statements: Callable[[Rewrite, str | None], tuple[str, ...]] = lambda rewrite, name: ()
    otherwise: Callable[[Rewrite, str | None], tuple[str, ...]] = lambda rewrite, name: ()
    title: str = ""
    end: str = ";"


def _optimize(rewrite: Rewrite, name: str | None) -> tuple[str, ...]:
    columns = ", ".join(map(column_sql, rewrite.columns))
    size = f"SET spark.databricks.delta.optimize.maxFileSize = {rewrite.file_bytes}"
    return as_written(size, f"OPTIMIZE {_by_path(rewrite, name)} ZORDER BY ({columns})")


def _cluster_by(rewrite: Rewrite, name: str | None) -> tuple[str, ...]:
    if rewrite.partitions:
        return ()
    table, columns = _by_path(rewrite, name), ", ".join(map(column_sql, rewrite.columns))
    return as_written(f"ALTER TABLE {table} CLUSTER BY ({columns})", f"OPTIMIZE {table} FULL")


def _by_path(rewrite: Rewrite, name: str | None) -> str:
    given = name or rewrite.name
    return name_sql(given) if given else f"{rewrite.format}.{quoted(rewrite.path)}"


def _rewrite_data_files(rewrite: Rewrite, name: str | None) -> tuple[str, ...]:
    catalog, table = _in_catalog(rewrite, name)
    inside = [column_sql(parts) for parts in rewrite.columns]
    order = f"zorder({', '.join(inside)})"
    if rewrite.curve == "sort":
        order = ", ".join(f"{column} ASC NULLS FIRST" for column in inside)
    return as_written(
        f"CALL {catalog}.system.rewrite_data_files(table => {text_sql(table)}, strategy => 'sort',"
        f" sort_order => {text_sql(order)},"
        f" options => map('rewrite-all', 'true', 'target-file-size-bytes', '{rewrite.file_bytes}'))"
    )


def _in_catalog(rewrite: Rewrite, name: str | None) -> tuple[str, str]:
    """Return the catalog and the table in it. A table that was opened by its path is named as its folders are."""
    if name is not None:
        parts = parse_path(name)
        if len(parts) < 2:
            raise ArgumentError(
                f"a table of Iceberg is named with its catalog, such as lake.db.flights; got {name!r}; put the"
                " catalog first"
            )
    else:
        parts = _parts(rewrite.name) if rewrite.name else ("catalog", *rewrite.path.rstrip("/").split("/")[-2:])
    return word(parts[0]), ".".join(map(word, parts[1:]))


def _sorted_copy(rewrite: Rewrite, name: str | None) -> tuple[str, ...]:
    """Return Python: Spark has no statement that keeps the folders of partitions."""
    by = [*((partition,) for partition in rewrite.partitions), *rewrite.columns]
    columns = ", ".join(text_python(column_sql(parts)) for parts in by)
    inside = ", ".join(text_python(partition) for partition in rewrite.partitions)
    write = f".write.partitionBy({inside})" if inside else ".write"
    return (
        f"spark.read.parquet({text_python(escape(rewrite.path))}).repartitionByRange({rewrite.files}, {columns})"
        f".sortWithinPartitions({columns}){write}.parquet({text_python(_copy(rewrite))})",
    )


def _copied_by_duckdb(rewrite: Rewrite, name: str | None) -> tuple[str, ...]:
    if rewrite.partitions or "\\" in rewrite.path:  # DuckDB's patterns cannot say it
        return ()
    source = text_sql(f"{_as_a_name(rewrite.path.rstrip('/'))}/**/*.parquet", doubled=True)
    ordered = ", ".join(column_sql(parts, '"') for parts in rewrite.columns)
    chosen = f"SELECT * FROM read_parquet({source}) ORDER BY {ordered}"  # noqa: S608 - shown, and quoted
    target = text_sql(_copy(rewrite), doubled=True)
    return (f"COPY ({chosen}) TO {target} (FORMAT parquet, FILE_SIZE_BYTES {rewrite.file_bytes})",)


def _copy(rewrite: Rewrite) -> str:
    return f"{rewrite.path.rstrip('/')}-sorted"


def _zordered(leaves: Sequence[Leaf], by: By) -> Sequence[tuple[By, Curve]]:
    if len(by) == 1:
        return [(by, "sort")]
    return [(by, "bits")] if all(in_zorder(leaves[place]) for place in by) else []


def _sorted(leaves: Sequence[Leaf], by: By) -> Sequence[tuple[By, Curve]]:
    return [(order, "sort") for order in dict.fromkeys((by, by[::-1]))] if len(by) < 3 else []


_WAYS: Mapping[str, Way] = {
    "optimize": Way(
        lambda leaves, by: [(by, "ranks")],
        _optimize,
        _cluster_by,
        "or, where new rows are to follow (a table that is clustered so refuses ZORDER):",
    ),
    "procedure": Way(_zordered, _rewrite_data_files),
    "copy": Way(_sorted, _sorted_copy, _copied_by_duckdb, "or in DuckDB:", end=""),
}


def way_of(table_format: str) -> Way:
    """Return the way to rewrite tables of a format, by its name."""
    return _WAYS.get(format_named(table_format).rewritten_by, Way())


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
