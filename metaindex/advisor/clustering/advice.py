"""Advice to the owner of a table: a layout, what queries would read then, and the statement that makes it: Delta's
OPTIMIZE, Iceberg's procedure, or for plain files a sorted copy in a new folder. Names and texts are quoted as the
engine reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from metaindex.core import (
    ArgumentError,
    Column,
    ExpressionError,
    Shown,
    Tabular,
    TextTable,
    dataclass,
    one_line,
    percent,
    plain,
)
from metaindex.expressions import column_sql, parse_path, text_sql
from metaindex.formats import Format, Leaf, TableRef

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
    return column_sql(parse_path(given), bare=True) if given else f"{rewrite.format}.{column_sql((rewrite.path,))}"


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
    return column_sql(parts[:1], bare=True), column_sql(parts[1:], bare=True)


def _sorted_copy(rewrite: Rewrite, name: str | None) -> tuple[str, ...]:
    """Return Python: Spark has no statement that keeps the folders of partitions."""
    by = [*((partition,) for partition in rewrite.partitions), *rewrite.columns]
    columns = ", ".join(text_python(column_sql(parts)) for parts in by)
    inside = ", ".join(text_python(partition) for partition in rewrite.partitions)
    write = f".write.partitionBy({inside})" if inside else ".write"
    source = text_python(TableRef.literal(rewrite.path))
    return (
        f"spark.read.parquet({source}).repartitionByRange({rewrite.files}, {columns})"
        f".sortWithinPartitions({columns}){write}.parquet({text_python(_copy(rewrite))})",
    )


def _copied_by_duckdb(rewrite: Rewrite, name: str | None) -> tuple[str, ...]:
    if rewrite.partitions or "\\" in rewrite.path:  # DuckDB's patterns cannot say it
        return ()
    alone = re.sub(r"[*?\[]", lambda mark: f"[{mark[0]}]", rewrite.path.rstrip("/"))  # fits this path only
    source = text_sql(f"{alone}/**/*.parquet", doubled=True)
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
    return _WAYS.get(Format.named(table_format).rewritten_by, Way())


def text_python(text: str) -> str:
    """A text of Python, in double quotes: in one line, whatever is in it."""
    return '"' + one_line(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _parts(name: str) -> tuple[str, ...]:
    """Split a name in a catalog, as a lake writes it, or as pyiceberg takes it: there a backtick is a letter."""
    try:
        return parse_path(name)
    except ExpressionError:
        return tuple(name.split("."))


def as_written(*statements: str) -> tuple[str, ...]:
    """Statements that Spark runs as they are, whatever names have in them."""
    return (_AS_WRITTEN, *statements) if any("${" in statement for statement in statements) else statements


@dataclass(frozen=True, slots=True)
class LayoutEffect:
    """The files that a range over 1% of the rows reads by a column, averaged over its beginnings: now, and then, of as
    many files in all. `wanted`: the advice is for this column; for other columns it shows what they lose."""

    column: str
    wanted: bool
    files_now: float
    files_then: float

    @property
    def place(self) -> str:
        """Whom the layout is for, in a word or two."""
        return "for it" if self.wanted else "for others"


@dataclass(frozen=True, slots=True, repr=False)
class Advice(Shown):
    """A layout that leaves out more. Estimated from a sample; the table stays as it is until its owner runs `sql`."""

    columns: tuple[str, ...]
    effects: tuple[LayoutEffect, ...]
    files: int  # of the table, now and then
    rewrite: Rewrite

    @property
    def how(self) -> str:
        """Describe the layout in words."""
        names = ", ".join(self.columns)
        return f"sorted by {names}" if self.rewrite.curve == "sort" else f"in Z-order of {names}"

    @property
    def saving(self) -> float:
        """The share of the files that queries read now and then would not, on average over the wanted columns."""
        wanted = [effect for effect in self.effects if effect.wanted]
        now = sum(effect.files_now for effect in wanted)
        return 1 - sum(effect.files_then for effect in wanted) / now if now else 0.0

    def sql(self, name: str | None = None) -> str:
        """Return the statements to run in Spark, a line each (for plain files a line of Python). `name`: the table's in
        its catalog, such as `lake.db.flights`; default: its path (Iceberg: as its folders are named)."""
        return ";\n".join(self.rewrite.statements(name))

    @property
    def shown(self) -> Sequence[str | Tabular]:
        return self.described(None)

    def described(self, name: str | None) -> Sequence[str | Tabular]:
        """Return `shown` with the table's name in the statements."""
        titles = Column.named("column", "files now>", "files then>", "the layout is")
        reads = [(effect.files_now, effect.files_then) for effect in self.effects]
        rows = tuple(
            (effect.column, f"{now:,.1f}", f"{then:,.1f}", effect.place)
            for effect, (now, then) in zip(self.effects, reads, strict=True)
        )
        bars = enumerate(zip(*reads, strict=True), start=1)
        shares = tuple((at, tuple(read / max(self.files, 1) for read in some)) for at, some in bars)
        parts: list[str | Tabular] = [
            (
                f"advice: {self.how}: {percent(max(self.saving, 0.0))} fewer files; of {self.files:,} a range over 1%"
                " of the rows reads"
            ),
            TextTable(titles, rows, shares),
            *(f"  {statement}{way_of(self.rewrite.format).end}" for statement in self.rewrite.statements(name)),
        ]
        other = self.rewrite.otherwise(name)
        if other:
            parts.append(way_of(self.rewrite.format).title)
            parts += [f"  {statement};" for statement in other]
        return parts

    def to_json(self, name: str | None = None) -> dict[str, object]:
        """Plain data for machines."""
        return {
            "columns": list(self.columns),
            "how": "sort" if self.rewrite.curve == "sort" else "zorder",
            "files": self.files,
            "saving": self.saving,
            "effects": [plain(effect, *effect.__dataclass_fields__) for effect in self.effects],
            "statements": list(self.rewrite.statements(name)),
            "otherwise": list(self.rewrite.otherwise(name)),
        }
