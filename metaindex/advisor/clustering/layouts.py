"""Another layout, its effect, and the statement that makes it: Delta's OPTIMIZE, Iceberg's procedure, or for plain
files a sorted copy in a new folder. For the effect the rows of a sample are put in that order in memory, cut into as
many files as the table has, and measured like the files of now. Nothing is written.

A rewrite works inside partitions and keeps the number of files, so the rows of a partition are sorted among themselves.
Rows lie at their ranks: of a sorted sample, how many rows are below says the same as the value.

    sort     by the first column, rows with the same value by the next
    zorder   Delta: the bits of each column's rank among a thousand ranges, taken in turn
             Iceberg: the bits of the values themselves, taken in turn
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import (
    ArgumentError,
    Column,
    ExpressionError,
    Plain,
    Shown,
    TextTable,
    Vector,
    compute,
    dataclass,
    one_line,
    percent,
)
from metaindex.expressions import Family, column_sql, parse_path, text_sql
from metaindex.formats import Format, Leaf, TableRef

from .overlap import Floats, Ints, Numbers, OverlapReads, Ranges, RowPlaces, even_fractions, numbers_of
from .sample import SampleRows

Words = npt.NDArray[np.uint64]
Curve = Literal["sort", "ranks", "bits"]
"""How rows are ordered by several columns."""

_RANGES = 1000  # of a column in Delta's Z-order: spark.databricks.io.skipping.mdc.rangeId.max
_LEAST = 16
"""Rows of the sample that a file then needs at least, to say what its bounds would be."""


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """The columns of a sample, ready to be sorted. `ranks`: of each row its value's number among the distinct ones, -1
    for NULL; `bits`: as unsigned numbers of the same order."""

    ranks: tuple[Ints, ...]
    bits: tuple[Words, ...]

    @classmethod
    def of(cls, sample: SampleRows) -> SampleColumns:
        made = [_prepared(values) for values in sample.values]
        return cls(tuple(ranks for ranks, _ in made), tuple(bits for _, bits in made))


@dataclass(frozen=True, slots=True)
class SamplePartitions:
    """The partitions that the sample has rows of: of each row its partition, of each partition the files that the table
    has in it."""

    of_row: Ints
    files: Ints

    @classmethod
    def of(cls, sample: SampleRows, partitions: pa.Array) -> SamplePartitions:
        """`partitions`: of each file of the table, as text."""
        codes = Vector(compute("dictionary_encode", partitions).indices).items(np.int32).astype(np.int64)
        there, of_row = np.unique(codes[sample.file], return_inverse=True)
        return cls(of_row, np.bincount(codes)[there])

    @property
    def enough(self) -> bool:
        """Return whether some partition has rows for more than one file: a single file has no other layout."""
        return bool((np.minimum(self.files, np.bincount(self.of_row) // _LEAST) > 1).any())


def files_then(
    columns: SampleColumns, groups: SamplePartitions, by: Sequence[int], curve: Curve, share: float, *, whole: bool
) -> Floats:
    """The share of the files that a range over this share of the rows reads of each column, once the rows are ordered
    by the columns `by`. `whole`: the sample is the table."""
    order = _order(columns, groups, by, curve)
    rows_of = np.bincount(groups.of_row)
    pieces = np.maximum(np.minimum(groups.files, rows_of // _LEAST), 1)
    starts, weights, rows_in = _cut(rows_of, pieces, groups.files)
    shares_ = []
    for ranks in columns.ranks:
        there = ranks >= 0
        if not there.any():
            shares_.append(0.0)
            continue
        ordered = ranks[order]
        most = int(ranks.max()) + 1
        lower = np.minimum.reduceat(np.where(ordered < 0, most, ordered), starts)
        upper = np.maximum.reduceat(ordered, starts)
        some = upper >= 0
        low, high = lower[some].astype(np.float64), upper[some].astype(np.float64)
        ranges = Ranges(*((low, high) if whole else _widened(low, high, rows_in[some], most)))
        # Each partition counts by its files, whatever share of its rows the sample has.
        of_row = (groups.files / rows_of)[groups.of_row][there]
        reads = OverlapReads(ranges, RowPlaces.at(ranks[there].astype(np.float64), of_row))
        shares_.append(reads.by_range(weights[some], share) / float(groups.files.sum()))
    shares: Floats = np.clip(np.array(shares_, np.float64), 0.0, 1.0)
    return shares


def fractions_of(values: Numbers, lower: Numbers, upper: Numbers, count: int) -> Floats:
    """Return where between the bounds of its file a row lies, by the sample: the middles of equal portions. `lower` and
    `upper`: of the file of each row, as numbers of the same order; `count`: files that will be asked."""
    wide = upper > lower
    even = even_fractions(count)
    if np.count_nonzero(wide) < _LEAST:
        return even
    span = upper[wide].astype(np.float64) - lower[wide].astype(np.float64)
    inside = np.clip((values[wide].astype(np.float64) - lower[wide].astype(np.float64)) / span, 0.0, 1.0)
    finite = inside[np.isfinite(inside)]
    return np.asarray(np.quantile(finite, even)) if len(finite) >= _LEAST else even


def _prepared(values: pa.Array) -> tuple[Ints, Words]:
    valid = Vector(values).present
    kept = compute("filter", values, Vector.arrow(valid))
    (known,) = numbers_of([kept])
    ranks = np.full(len(values), -1, np.int64)
    ranks[valid] = np.unique(known, return_inverse=True)[1]
    bits = np.zeros(len(values), np.uint64)
    bits[valid] = _bits(kept, known)
    return ranks, bits


def _bits(values: pa.Array, known: Numbers) -> Words:
    """64 bits whose order as unsigned numbers is that of the values: of texts the first eight bytes."""
    if pa.types.is_binary(values.type):
        padded = [text[:8].ljust(8, b"\0") for text in values.to_pylist()]
        return np.frombuffer(b"".join(padded), ">u8").astype(np.uint64)
    bits = np.ascontiguousarray(known).view(np.uint64)
    top = np.uint64(1 << 63)
    if known.dtype.kind == "f":
        return np.where(bits & top, ~bits, bits | top)
    return bits ^ top


def _order(columns: SampleColumns, groups: SamplePartitions, by: Sequence[int], curve: Curve) -> Ints:
    """The rows, partition by partition, in the order of the layout."""
    keys: Sequence[Words | Ints]
    if curve == "sort":
        keys = [columns.ranks[place] for place in by]
    elif curve == "bits":
        keys = _interleaved([columns.bits[place] for place in by], 64)
    else:
        # Rows that are the same to the curve lie as chance will have it, and not as they lie now.
        chance = np.random.default_rng(0).permutation(len(groups.of_row))
        width = int(_RANGES - 1).bit_length()
        keys = [*_interleaved([_ranges(columns.ranks[place]) for place in by], width), chance]
    return np.lexsort([*reversed(keys), groups.of_row]).astype(np.int64)


def _ranges(ranks: Ints) -> Words:
    """Return for each row the number of its range, of a thousand with as many rows each; NULL comes first."""
    order = np.sort(ranks)
    return (np.searchsorted(order, ranks, side="left") * _RANGES // max(len(ranks), 1)).astype(np.uint64)


def _interleaved(words: Sequence[Words], width: int) -> list[Words]:
    """The bits of all words in turn, the highest first, 64 in each of the words that come out."""
    out: list[Words] = []
    filled = 64
    for bit in range(width - 1, -1, -1):
        for word in words:
            if filled == 64:
                out.append(np.zeros(len(words[0]), np.uint64))
                filled = 0
            out[-1] = (out[-1] << np.uint64(1)) | ((word >> np.uint64(bit)) & np.uint64(1))
            filled += 1
    return out


def _cut(rows: Ints, pieces: Ints, files: Ints) -> tuple[Ints, Floats, Ints]:
    """Return where each new file begins among the sorted rows, how many files of the table it stands for, and how many
    rows of the sample it has."""
    ends = np.cumsum(rows)
    starts = [
        end - count + np.arange(number) * count // number
        for end, count, number in zip(ends.tolist(), rows.tolist(), pieces.tolist(), strict=True)
    ]
    first = np.concatenate(starts).astype(np.int64)
    return first, np.repeat(files / pieces, pieces), np.diff(first, append=int(ends[-1]))


def _widened(lower: Floats, upper: Floats, rows: Ints, most: int) -> tuple[Floats, Floats]:
    """Bounds as all rows of a file would have them: those of some rows lie inside of them, by one part of as many as
    there are rows."""
    more = (upper - lower) / np.maximum(rows - 1, 1)
    return np.maximum(lower - more, 0.0), np.minimum(upper + more, float(most - 1))


def in_zorder(leaf: Leaf) -> bool:
    """Return whether Iceberg has an order of bytes for the type."""
    return Family.of(leaf.type) not in (Family.DECIMAL, Family.WIDE_DECIMAL, Family.UINT64, Family.TIME)


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
class LayoutEffect(Plain):
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
    def shown(self) -> Sequence[str | TextTable]:
        return self.described(None)

    def described(self, name: str | None) -> Sequence[str | TextTable]:
        """Return `shown` with the table's name in the statements."""
        titles = Column.named("column", "files now>", "files then>", "the layout is")
        reads = [(effect.files_now, effect.files_then) for effect in self.effects]
        rows = tuple(
            (effect.column, f"{now:,.1f}", f"{then:,.1f}", effect.place)
            for effect, (now, then) in zip(self.effects, reads, strict=True)
        )
        bars = enumerate(zip(*reads, strict=True), start=1)
        shares = tuple((at, tuple(read / max(self.files, 1) for read in some)) for at, some in bars)
        parts: list[str | TextTable] = [
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
            "effects": [effect.to_json() for effect in self.effects],
            "statements": list(self.rewrite.statements(name)),
            "otherwise": list(self.rewrite.otherwise(name)),
        }
