"""The plan of a scan: which files of which snapshot, which columns, which rows. A value for readers; a user holds a
`scan`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import MetaIndexError, ScanError, UnknownColumnError
from metaindex.expressions import And, Constant, Opaque, Predicate
from metaindex.formats import Field, HeldFooters, Schema, Snapshot, TableRef
from metaindex.storage import Storage

from .first_rows import FirstRows
from .key_rows import KeyRows
from .read_budget import ANY, ReadBudget

if TYPE_CHECKING:
    from metaindex.query.pruning.result import PruneResult

Choose: TypeAlias = "Callable[[Predicate], tuple[npt.NDArray[np.int64], PruneResult]]"
T = TypeVar("T")

CODED = pa.dictionary(pa.int32(), pa.string())  # what a reader of Parquet makes of a text in its dictionary


class RowTest(Protocol):
    """A test of rows by some columns of them."""

    @property
    def columns(self) -> Collection[str]: ...

    def matching(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that pass."""
        ...


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ScanPlan:
    """`rows` are indices into `snapshot.files` (None: all of them). `predicate` is bound: names and literals are those
    of `snapshot.schema`; `predicate_text` is the user's own SQL, for an engine that reads it itself. `columns` are
    top-level names, in the order of the result (None: all); names are matched exactly first and without regard to case
    second. A field inside a struct is not a column: ask for the struct."""

    snapshot: Snapshot
    storage: Storage
    ref: TableRef
    rows: npt.NDArray[np.int64] | None = None
    predicate: Predicate | None = None
    predicate_text: str | None = None
    columns: tuple[str, ...] | None = None
    result: PruneResult | None = None  # what was kept and dropped, and why; None without a predicate
    time_zone: str = "UTC"  # of times without a zone in `predicate_text`, when files were chosen
    hint: Predicate | None = (
        None  # what the caller applies to the rows itself: files and row groups without a row for it may be left out
    )
    choose: Choose | None = field(default=None, repr=False)  # which files the indexes keep for another predicate
    load: Callable[[], Snapshot] | None = field(
        default=None, repr=False
    )  # where `snapshot` has just the files that an index kept: the table's own
    noted: Callable[[ScanPlan, str, Sequence[str] | None], None] | None = field(
        default=None, repr=False, compare=False
    )  # told of each reading: by which engine, and of which columns where those are not the scan's
    footers: HeldFooters | None = field(default=None, repr=False, compare=False)  # of files that were read before
    anew: Callable[[], Self | None] | None = field(
        default=None, repr=False, compare=False
    )  # where `snapshot` is what an index recorded: the question asked of the table itself; None: the index was right
    first: FirstRows | None = None  # only so many rows, of files in the order of `rows`
    keys: KeyRows | None = field(
        default=None, repr=False, compare=False
    )  # only rows that have these keys; what they say of files is in `hint`
    keys_told: str = ""  # for people
    passing: RowTest | None = field(default=None, repr=False, compare=False)  # what an engine asks of the rows itself
    coded: frozenset[str] = frozenset()  # columns of texts that an engine is given as dictionaries
    budget: ReadBudget = ANY

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled, it reads the same rows of the same files; footers that were read stay here."""
        here = {"noted", "footers", "passing"}
        return type(self), tuple(None if f.name in here else getattr(self, f.name) for f in fields(self))

    def __eq__(self, other: object) -> bool:
        """Return whether the same rows of the same files are read. By whom, through which storage, and at what cost
        does not count: a scan that was sent equals the one that stayed."""
        if not isinstance(other, ScanPlan) or other.__class__ is not self.__class__:
            return NotImplemented
        return self._asked() == other._asked() and self._files() == other._files()

    __hash__ = None  # type: ignore[assignment]  # as of the Arrow table that it has

    def _asked(self) -> tuple[object, ...]:
        of = self.snapshot
        options = {name: value for name, value in self.ref.options.items() if name != "catalog"}  # a connection
        place = (of.table, of.format, of.version, of.schema, self.ref.path, options)
        rows = (self.predicate, self.predicate_text, self.time_zone, self.hint, self.keys)
        return (*place, *rows, self.columns, self.first)

    def _files(self) -> pa.Table:
        files = self.snapshot.files.table
        return files if self.rows is None else files.take(pa.array(self.file_rows))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the result."""
        if not self.coded:
            return self._columns
        return tuple(replace(f, type=CODED) if f.name in self.coded else f for f in self._columns)

    @property
    def _columns(self) -> tuple[Field, ...]:
        if self.columns is None:
            return self.snapshot.schema.shown.fields
        if not self.columns:
            raise ScanError("a scan returns at least one column; columns is empty; name one, or pass None for all")
        fields = tuple(shown_field(self.snapshot.schema, name, self.snapshot.version) for name in self.columns)
        if len({f.name for f in fields}) < len(fields):
            raise ScanError(
                f"a column can be asked for once; columns are {', '.join(self.columns)}; leave out the repetition"
            )
        return fields

    @property
    def schema(self) -> pa.Schema:
        """The result's schema: the snapshot's types and logical names."""
        return pa.schema([pa.field(f.name, f.type, f.nullable) for f in self.fields])

    @property
    def file_rows(self) -> npt.NDArray[np.int64]:
        if self.rows is None:
            return np.arange(len(self.snapshot.files), dtype=np.int64)
        return np.asarray(self.rows, dtype=np.int64)

    def check_budget(self) -> None:
        """Raise TooCostlyError if its files have more bytes than may be read."""
        self.budget.after_rows(self.storage, self.snapshot.files, self.file_rows)

    def note(self, engine: str, columns: Sequence[str] | None = None) -> None:
        """Note in the query log that the scan is read now."""
        if self.noted is not None:
            self.noted(self, engine, columns)

    def whole(self) -> Self:
        """Return the scan with the table's own snapshot: if an index answered without it, `snapshot` is of the kept
        files, and knows no more of them than it takes to read them."""
        if self.load is None:
            return self
        snapshot = self.load()
        mine = self.snapshot.files.paths.take(pa.array(self.file_rows))
        rows = np.flatnonzero(pc.is_in(snapshot.files.paths, value_set=mine.combine_chunks()).to_numpy())
        agrees = len(rows) == len(mine) and snapshot.schema == self.snapshot.schema
        if not agrees and (own := self.by_table()) is not None:
            return own.whole()
        return replace(self, snapshot=snapshot, rows=rows, choose=None, load=None)

    @property
    def asked(self) -> Predicate | None:
        """Return the condition on useful rows: the predicate and the caller's hint."""
        known = tuple(p for p in (self.predicate, self.hint) if p is not None)
        return And(known) if len(known) > 1 else known[0] if known else None

    def narrowed(self, hint: object, seen: pa.Schema) -> Self:
        """Return the scan for an engine that itself applies `hint`, a condition of its own over the columns that it has
        `seen`: the indexes are asked again, and files without a row for it are not read. Parts of the hint that cannot
        be judged keep everything; no hint is an error. The first rows of a scan are not those of a narrower one."""
        if self.first is not None:
            return self
        try:
            known = self.snapshot.schema.predicate(hint, self.time_zone, seen=seen)
            if all(isinstance(leaf, Opaque | Constant) for leaf in known.leaves()):
                return self
            narrower = replace(self, hint=known if self.hint is None else And((self.hint, known)))
            if self.choose is None or narrower.asked is None:
                return narrower
            rows, result = self.choose(narrower.asked)
        except MetaIndexError:
            return self
        if self.rows is not None:
            rows = np.intersect1d(rows, self.rows, assume_unique=True)
        return replace(narrower, rows=rows, result=result)

    def by_table(self) -> Self | None:
        """Return the scan without what an index recorded of the version; None if the table agrees with the record, or
        nothing was recorded: then no index is at fault."""
        own = self.anew() if self.anew is not None else None
        return None if own is None else replace(own, columns=self.columns)

    def trying(self, read: Callable[[Self], T]) -> T:
        """Read the scan; if that fails because of an index's record, read by the table's own snapshot: an index fails
        no query."""
        try:
            return read(self)
        except Exception:
            if (own := self.by_table()) is None:
                raise
            return read(own)


def shown_field(schema: Schema, name: str, version: object) -> Field:
    """The top-level column that a name means: as it stands first, without regard to case second. Raises ScanError for
    one of several, or inside another; UnknownColumnError."""
    fields = schema.shown.fields
    exact = [f for f in fields if f.name == name]
    fitting = exact or [f for f in fields if f.name.lower() == name.lower()]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        both = ", ".join(f.name for f in fitting)
        raise ScanError(
            f"a column's name must fit one column; {name!r} fits {both}; write it as it stands in the table"
        )
    top = name.split(".", 1)[0]
    if top != name and any(f.name.lower() == top.lower() for f in fields):
        raise ScanError(
            f"columns of a scan, an order and an aggregate are top-level ones; {name!r} is inside one; return"
            f" {top!r} and take the field from its rows"
        )
    near = difflib.get_close_matches(name, [f.name for f in fields], n=3)
    cure = (
        f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {', '.join(f.name for f in fields[:20])}"
    )
    raise UnknownColumnError(f"columns must exist in the table's version {version}; there is no {name!r}; {cure}")


def narrowest(schema: pa.Schema) -> str:
    """Return a column that is cheap to read, for counting rows."""
    if not len(schema):
        raise ScanError("rows are counted by a column; the table has none; check that its files have a line or a row")

    def width(field: pa.Field) -> int:
        try:
            return int(field.type.bit_width)
        except ValueError:  # a text, a list ...
            return 1 << 20

    return str(min(schema, key=width).name)
