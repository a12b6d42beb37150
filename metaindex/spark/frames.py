"""The table behind a Spark DataFrame, as Hyperspace's `createIndex(df, config)` takes it: one table as it is now, with
nothing but a choice of columns on top."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from metaindex.core import ArgumentError, CorruptTableError, MetaIndexError, UnsupportedFeatureError
from metaindex.query import Handle
from metaindex.table import Table, open_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from metaindex.index import Kind, Outcome

_PLAIN = ("Project", "SubqueryAlias", "View", "LogicalRelation", "DataSourceV2Relation")
_FORMATS = {"ParquetFileFormat": "parquet", "CSVFileFormat": "csv", "JsonFileFormat": "json"}


def create_index(frame: DataFrame, name: str, *kinds: Kind, **how: Any) -> Outcome:
    """Create an index on the table that the DataFrame reads: `mi.create_index(spark.table("flights"), "by_day",
    mi.Covering(["day"], ["dest"]))`. Columns are the table's.

    `how`: as for `Table.create_index`. Raises UnsupportedFeatureError if the DataFrame reads more than one table or an
    older version, filters or computes.
    """
    return table_of(frame).create_index(name, *kinds, **how)


AsRead = Callable[[Table, Any], Table]
"""Gives a table of CSV or JSON files, opened as a relation of Spark's reads them, as it is to be used."""


def table_of(
    frame: DataFrame,
    *,
    others: Callable[[Any], None] | None = None,
    as_read: AsRead = lambda table, _: table,
    **how: Any,
) -> Table:
    """Return the table that a DataFrame reads. Raises like `create_index`. `how`: as for `open_table`; `others`: is
    called with a table of a catalog that is none of ours, before it is refused."""
    if not hasattr(frame, "_jdf") and "pyspark" not in type(frame).__module__:
        raise ArgumentError(
            f"mi.create_index begins with a DataFrame of Spark; got {type(frame).__name__}; or write"
            " mi.open_table(path).create_index(name, ...)"
        )
    if not hasattr(frame, "_jdf"):
        raise UnsupportedFeatureError(
            "the table behind a DataFrame is found in Spark's own plan; a Spark Connect session has no way to it; use"
            " mi.open_table(path).create_index(...)"
        )
    plan = frame._jdf.queryExecution().analyzed()
    leaves = plan.collectLeaves()
    if other := [name for name in _names(plan) if name not in _PLAIN]:
        raise _refused(f"this one has {other[0]}")
    if leaves.size() != 1:
        raise _refused(f"this one reads {leaves.size()}")
    return _table_of_leaf(leaves.apply(0), frame.sparkSession, others, as_read, how)


def tables_in(frame: DataFrame, *, as_read: AsRead, **how: Any) -> list[Table]:
    """Return the tables that a query reads and that can have an index, each as often as it is read."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    tables = []
    for at in range(leaves.size()):
        with suppress(UnsupportedFeatureError):
            tables.append(_table_of_leaf(leaves.apply(at), frame.sparkSession, None, as_read, how))
    return tables


def _table_of_leaf(
    leaf: Any, spark: SparkSession, others: Callable[[Any], None] | None, as_read: AsRead, how: Mapping[str, Any]
) -> Table:
    if leaf.getClass().getSimpleName() == "DataSourceV2Relation":
        table = leaf.table()
        if table.getClass().getSimpleName() != "SparkTable":
            if others is not None:
                others(table)
            raise _refused(f"this one reads {table.getClass().getName()}")
        if _is_metadata(table.table()):
            raise _refused(f"this one reads {table.name()}, a metadata table of Iceberg's")
        now = table.table().currentSnapshot()  # what a plain read is pinned to when it is analyzed
        if table.snapshotId() not in (None, None if now is None else now.snapshotId()) or table.branch() not in (
            None,
            "main",
        ):
            raise _refused("this one reads an older snapshot or a branch")
        return open_table(_path(str(table.table().location())), format="iceberg", spark=spark, **how)
    if leaf.getClass().getSimpleName() != "LogicalRelation":
        raise _refused(f"this one reads {leaf.getClass().getSimpleName()}")
    relation = leaf.relation()
    if not has_files(relation):
        raise _refused(f"this one reads {relation.getClass().getName()}")
    files = relation.location()
    roots = [_path(str(files.rootPaths().apply(at))) for at in range(files.rootPaths().size())]
    if is_of_delta(leaf):
        if files.isTimeTravelQuery():
            raise _refused("this one reads an older version")
        return open_table(roots[0], format="delta", spark=spark, **how)
    kind = _FORMATS.get(relation.fileFormat().getClass().getSimpleName())
    if kind is None:
        raise _refused(f"this one reads {relation.fileFormat()}")
    options = {option._1(): option._2() for option in each_of(relation.options().toSeq())}
    for key in ("path", "paths", "serialization.format"):
        options.pop(key, None)
    if kind == "csv":
        options.setdefault("header", "false")  # which is Spark's default, and not `open_table`'s
    if kind != "parquet":
        options["schema"] = relation.schema().toDDL()
    place = roots[0] if len(roots) == 1 else roots
    table = Table(Handle.open(place, format=kind, spark=spark, **how, **options))
    if kind != "parquet":
        return as_read(table, relation)
    if _tells_its_columns(table):
        return table
    options["schema"] = relation.schema().toDDL()
    return Table(Handle.open(place, format=kind, spark=spark, **how, **options))


def _tells_its_columns(table: Table) -> bool:
    """Return whether the files that define the columns are readable. A schema given to Spark needs none of them."""
    try:
        table.snapshot()
    except CorruptTableError:
        return False
    except MetaIndexError:
        pass  # the verb tells
    return True


def is_of_delta(leaf: Any) -> bool:
    """Return whether a leaf of a plan is a Delta table."""
    if leaf.getClass().getSimpleName() != "LogicalRelation" or not has_files(leaf.relation()):
        return False
    return bool(leaf.relation().location().getClass().getSimpleName() == "TahoeLogFileIndex")


def has_files(relation: Any) -> bool:
    """Return whether a relation of a plan is of files."""
    classes = (relation.getClass(), relation.getClass().getSuperclass())  # Delta's is one of its own
    return "HadoopFsRelation" in [class_.getSimpleName() for class_ in classes if class_ is not None]


def _is_metadata(table: Any) -> bool:
    """Return whether it is a metadata table of Iceberg (files, snapshots ...), which has its table's location."""
    kind = table.getClass()
    while kind is not None and kind.getName() != "org.apache.iceberg.BaseMetadataTable":
        kind = kind.getSuperclass()
    return kind is not None


def _names(plan: Any) -> list[str]:
    """Return the names of all nodes, and of what computes columns."""
    if plan.getClass().getSimpleName() == "Project":
        every = each_of(plan.projectList())
        if other := [str(each.getClass().getSimpleName()) for each in every if not _is_column(each)]:
            return other
    below = [name for child in each_of(plan.children()) for name in _names(child)]
    return [str(plan.getClass().getSimpleName()), *below]


def _is_column(expression: Any) -> bool:
    """A column as it is; a view names each again, as of the type that it has."""
    kind = expression.getClass().getSimpleName()
    if kind != "Alias":
        return bool(kind == "AttributeReference")
    child = expression.child()
    if child.getClass().getSimpleName() in ("Cast", "UpCast") and child.dataType().equals(child.child().dataType()):
        child = child.child()
    return bool(child.getClass().getSimpleName() == "AttributeReference" and child.name() == expression.name())


def each_of(sequence: Any) -> list[Any]:
    """Return a sequence of Scala as a list."""
    return [sequence.apply(at) for at in range(sequence.size())]


def _path(uri: str) -> str:
    return uri.removeprefix("file://").removeprefix("file:") if uri.startswith("file:") else uri


def _refused(fact: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"an index is of one table as it is now; a DataFrame, or a view, of it may leave out columns and nothing more;"
        f" {fact}; name the table itself (in Python mi.open_table(path))"
    )
