"""Every index kind that is known here: those of metaindex, and those that installed packages bring.

A package brings one by an entry point of the group `metaindex.kinds` that names its class:

    [project.entry-points."metaindex.kinds"]
    hash_set = "hash_set:HashSet"

Entry points are looked at only when a name is asked for that metaindex itself does not know, and for the options of
`metaindex create`; again where a package was installed or removed since.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from metaindex.core import ArgumentError, Cure, DamagedIndexError, MetaIndexError, first_line
from metaindex.expressions import column_sql
from metaindex.index.log.entry import CoveredKey, KindSpec, RunRef
from metaindex.index.log.sealed import one_line
from metaindex.index.store.rows import OWN

from .bloom.spec import Bloom
from .canonical import answers_for
from .column_stats.spec import ColumnStats
from .column_stats.stored import ColumnStatsRows
from .covering.layout import RowLayout as RowLayout
from .covering.spec import CoveredRows, Covering, CoveringCurve, CoveringRange
from .covering.spec import RowKind as RowKind
from .kind import KeyKind, Kind, LayoutRule, LookedUpRows, Mismatch, StoredKind, WholeKind
from .sketches.spec import Sketches
from .sums.spec import Sums
from .values.spec import ValueList, Values
from .written import Key, Options, Using

if TYPE_CHECKING:  # what writes is loaded by the verbs that write
    import pyarrow as pa

    from metaindex.formats import Schema
    from metaindex.index.store.reader import RunReader

    from .command import KindCommand
    from .keyed import KeyReader
    from .row_plan import RowPlan

GROUP = "metaindex.kinds"
FACT_ROWS = ColumnStatsRows
"""The rows of the columns that a run covers (`RunRef.columns`): of one kind."""

_MOST_BITS = 64
"""Of a number that a layout says."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_LOGGER = logging.getLogger("metaindex")
_SAID = {"version": int, "layout": LayoutRule, "turn": int, "exact": bool}
_SAID |= {
    "equality_only": bool,
    "finds_values": bool,
    "takes_every_row": bool,
    "carries_types": bool,
    "unkeyed_because": str,
    "needs_spark": bool,
}
"""What a class says of itself, and is taken at its word."""

_T = TypeVar("_T")


class KindRegistry:
    """The kinds of metaindex, in the order in which a person reads of them, and those of other packages, as they were
    found last: they are looked for again where a name is unknown and a folder of packages has changed since. A package
    may be installed while the process runs."""

    def __init__(self, kinds: Sequence[type[Kind]]) -> None:
        self._kinds = tuple(kinds)
        self._own = {kind.name: kind for kind in kinds}
        self._by_word = {word: kind for kind in reversed(kinds) for word in (*kind.words, kind.name)}
        self._rows = {rows.partition: rows for kind in kinds for rows in kind.stored()}
        levels = (FACT_ROWS.files.partition, FACT_ROWS.partitions.partition)
        self._taken = frozenset({*self._own, *self._rows, *OWN, *levels, "spills"})
        self._served = frozenset(partition for partition, rows in self._rows.items() if issubclass(rows, CoveredRows))
        self._others: Mapping[str, type[WholeKind]] = {}
        self._places: object = None
        self._told: set[tuple[str, str]] = set()

    def __iter__(self) -> Iterator[type[Kind]]:
        return iter(self._kinds)

    def others(self) -> Mapping[str, type[WholeKind]]:
        """Return the kinds of installed packages, by name. One that cannot be loaded, or whose name is taken, is
        ignored with a warning: no query depends on it."""
        places = _places()
        if places != self._places:  # threads may look at the same time: they find the same
            self._others, self._places = self._find_others(), places
        return self._others

    def commands(self) -> list[KindCommand[Kind]]:
        """Return the options of `metaindex create` that describe kinds, of installed packages too."""
        return [command for kind in (*self, *self.others().values()) if (command := kind.command()) is not None]

    def _other(self, name: str) -> type[WholeKind] | None:
        return self._others.get(name) or self.others().get(name)

    def _find_others(self) -> Mapping[str, type[WholeKind]]:
        import importlib
        from importlib.metadata import entry_points

        importlib.invalidate_caches()
        known: dict[str, type[WholeKind]] = {}
        try:
            points = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
        except Exception as error:  # noqa: BLE001 - one damaged package among all that are installed
            _LOGGER.warning("index kinds of other packages are not known: they cannot be listed (%s)", one_line(error))
            return known
        for point in points:
            try:
                kind = point.load()
                why = self._unfit(kind, known)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's package, whatever is wrong with it
                kind, why = None, f"it cannot be loaded ({first_line(error)})"
            if why is None:
                known[kind.name] = kind
            elif (point.value, why) not in self._told:
                self._told.add((point.value, why))
                _LOGGER.warning("the index kind %r of entry point %r is left out: %s", point.name, point.value, why)
        return known

    def _unfit(self, kind: object, known: Mapping[str, object]) -> str | None:
        """Why a stranger's class is no kind that can be added, or None."""
        if not (isinstance(kind, type) and issubclass(kind, WholeKind)):
            return "it is no subclass of metaindex.index.kinds.kind.WholeKind"
        missing = sorted(getattr(kind, "__abstractmethods__", ()))
        missing += (
            ["spec"] if kind.spec is KeyKind.spec and not is_dataclass(kind) else []
        )  # of fields alone it is made
        if missing:
            return f"it does not say {', '.join(missing)}"
        if not _NAME.fullmatch(getattr(kind, "name", "")) or kind.name != kind.partition:
            return "its name, which is that of its partition, is not made of small letters, digits and _"
        if kind.name in self._taken or kind.name in known:
            return f"the name {kind.name!r} is taken"
        if wrong := [name for name, type_ in _SAID.items() if not isinstance(getattr(kind, name), type_)]:
            return f"its {wrong[0]} is no {_SAID[wrong[0]].__name__}"
        return None

    def is_foreign(self, name: str) -> bool:
        """Return whether the kind of this name (or partition) belongs to another package."""
        return name not in self._own and name not in self._rows

    def call(self, name: str, ask: Callable[[], _T]) -> _T:
        """Call a kind. Another package's may raise anything, even an exit of the process: DamagedIndexError then."""
        if not self.is_foreign(name):
            return ask()
        try:
            return ask()
        except (MetaIndexError, Mismatch):
            raise
        except (Exception, SystemExit) as error:
            raise DamagedIndexError(
                f"a kind of another package raises nothing of its own; {name} raised {one_line(error)}; mend or upgrade"
                " that package"
            ) from error

    def named(self, name: str) -> type[Kind] | None:
        """The kind of a name, or None."""
        return self._own.get(name) or self._other(name)

    def worded(self, word: str, *, columns: bool = False) -> type[Kind] | None:
        """Return the kind that a word behind USING names, or None. "" is a USING without a name, of `columns` or of
        none."""
        if not word:
            return WITHOUT_NAME[columns]
        small = word.lower()
        return self._by_word.get(small) or self.named(small)

    def words(self) -> list[str]:
        """Return one word for each kind, the plainest."""
        return [*((kind.words or (kind.name,))[0] for kind in self), *self.others()]

    @staticmethod
    def options_of(kind: type[Kind]) -> dict[str, object]:
        """Return the kind's options with their defaults."""
        return Using.options_of(kind)

    def using(self, kind: Kind) -> Using:
        """Return the parts of a kind as a statement writes it, without options that say what is meant without them."""
        return Using.of(kind, self.call)

    def made(self, kind: type[Kind], keys: Sequence[Key], included: Sequence[str], options: Options) -> Kind:
        """Return the kind of these parts. ArgumentError for what it cannot be."""
        return Using(kind, tuple(keys), tuple(included), options).made(self.call)

    def create_text(self, name: str, table: str, kinds: Sequence[Kind]) -> str:
        """Write the statement that creates an index. `table`: as it is written."""
        said = " ".join(self.using(kind).text() for kind in kinds)
        return f"CREATE INDEX {column_sql((name,))} ON {table} {said}"

    def stored(self, partition: str) -> type[StoredKind] | None:
        """The rows of a metadata partition, or None where no kind that is known has any there."""
        return self._rows.get(partition) or self._other(partition)

    def said(self, key: CoveredKey) -> str:
        """Return a key for a person: of one that its class cannot tell of, the kind's name."""
        rows = self.stored(key.kind)
        try:
            return self.call(key.kind, partial(rows.said, key)) if rows is not None else key.kind
        except DamagedIndexError:
            return key.kind

    def rows_of(self, key: CoveredKey) -> type[StoredKind]:
        """The rows of a key that is `readable`."""
        kind = self.stored(key.kind)
        assert kind is not None, "keys that are not known are not asked"
        return kind

    def looked_up_rows(self, key: CoveredKey) -> type[LookedUpRows]:
        """The rows of a key that is `readable`, and one of `keyed`."""
        rows = self.rows_of(key)
        assert issubclass(rows, LookedUpRows), "rows of the table are not looked up"
        return rows

    def served_rows(self, key: CoveredKey) -> type[CoveredRows]:
        """The rows of a key that is one of `served_keys`."""
        rows = self.rows_of(key)
        assert issubclass(rows, CoveredRows), "no query reads what is looked up in the table's place"
        return rows

    def maker_of(self, key: CoveredKey, kinds: Sequence[KindSpec]) -> KeyKind:
        """The kind that made a key that is `readable`, for its columns' names as they were. `kinds`: of the index.
        DamagedIndexError where none of them did."""
        return self.looked_up_rows(key).maker(key, (self.of(spec) for spec in kinds if spec.name == key.kind))

    def keyed(self, run: RunRef) -> tuple[CoveredKey, ...]:
        """Return the keys of a run whose rows are about its files. A key of an unknown kind counts as one."""
        return tuple(key for key in run.keys if key.kind not in self._served)

    def looked_up(self, run: RunRef) -> tuple[CoveredKey, ...]:
        """Return those `keyed` keys that find the files of a value. Other keys answer no predicate, so the table's own
        log is used for their columns as without an index. A key of an unknown kind is included."""
        return tuple(key for key in self.keyed(run) if self._finds_values(key.kind))

    def _finds_values(self, partition: str) -> bool:
        rows = self.stored(partition)
        return rows is None or not issubclass(rows, LookedUpRows) or rows.finds_values

    def served_keys(self, run: RunRef) -> tuple[CoveredKey, ...]:
        """The keys of a run whose rows are rows of the table, which are read in its place."""
        return tuple(key for key in run.keys if key.kind in self._served)

    def lasting(self, run: RunRef) -> list[str]:
        """Return notes on values in the layouts of a run, which an erase leaves there."""
        told = ((self.rows_of(key), key) for key in self.served_keys(run))
        said = (rows.lasting(key) for rows, key in told if issubclass(rows, CoveredRows))
        return [each for each in dict.fromkeys(said) if each]

    @staticmethod
    def row_plans(kinds: Sequence[Kind], schema: Schema) -> list[RowPlan]:
        """Return the plans of the kinds that keep rows, each once. Raises as `RowKind.planned`."""
        plans: dict[int, RowPlan] = {}
        for kind in kinds:
            if isinstance(kind, RowKind):
                plan = kind.planned(schema, len(plans))
                plans.setdefault(plan.key_id, plan)
        return list(plans.values())

    def serves_rows(self, name: str) -> bool:
        """Return whether rows of this kind are read in the table's place."""
        kind = self.named(name)
        return kind is not None and issubclass(kind, RowKind)

    def covered_columns(self, run: RunRef) -> set[str]:
        """Stable names of the columns of which statistics or a key know."""
        return {c.stable for c in (*run.columns, *(c for key in self.looked_up(run) for c in key.columns))}

    def unknown(self, key: CoveredKey) -> str | None:
        """Return what is unknown about the key, or None: no query uses an unknown key, no merge takes it, and the run's
        other keys work as ever."""
        rows = self.stored(key.kind)
        return f"the kind {key.kind[:80]!r}" if rows is None else rows.layout.unknown(key)

    def senseless(self, key: CoveredKey) -> str | None:
        """Return why a known key is inconsistent, or None. Whoever seals an entry may have written anything: read as it
        stands, such a key would look for values where they are not, and prove files out."""
        rows = self.stored(key.kind)
        if rows is None:
            return None
        if any(isinstance(said, int) and said.bit_length() > _MOST_BITS for said in key.layout.values()):
            return f"a layout with a number of more than {_MOST_BITS} bits"
        try:
            why = self.call(key.kind, partial(rows.senseless, key))
            return why if isinstance(why, str | None) else f"a key that cannot be judged ({type(why).__name__})"
        except DamagedIndexError as error:
            return f"a key that cannot be judged ({error})"

    def readable(self, key: CoveredKey) -> bool:
        """Return whether the key is known and consistent."""
        return self.unknown(key) is None and self.senseless(key) is None

    def key_reader(self, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> KeyReader | None:
        """Return the reader of a run's key. `types`: those of its columns now; literals are compared as with them. None
        where values of the types at write time cannot answer for them, or where the rows are in a form that this
        metaindex does not know."""
        stored = [column.type for column in key.columns]
        if any(old is None or not answers_for(old, now) for old, now in zip(stored, types, strict=True)):
            return None
        rows = self.stored(key.kind) if self.readable(key) else None
        if rows is None or not issubclass(rows, LookedUpRows):
            return None
        return self.call(key.kind, partial(rows.reader, run, key, types))

    def check(self, some: Sequence[object]) -> None:
        """ArgumentError unless there is at least one kind and nothing else, and all of them can be of one index."""
        if not some:
            raise ArgumentError(
                f"an index has at least one kind; none was given; for example {Cure('kind', 'ColumnStats')}"
            )
        for kind in some:
            if not isinstance(kind, Kind):
                said = f"the class {kind.__name__}" if isinstance(kind, type) else repr(kind)
                raise ArgumentError(
                    f"an index is made of kinds, as in {Cure('kind', 'ColumnStats')} or"
                    f" {Cure('kind', 'Values', 'user_id')}; got {said}"
                )
            if self.named(kind.name) is not type(kind):
                raise ArgumentError(
                    f"a kind of another package is found by its entry point in {GROUP!r}, so that every process can"
                    f" read the index; {type(kind).__name__} is not; install its package"
                )
        twice = [kind for at, kind in enumerate(some) if kind in some[:at]]
        if twice:
            raise ArgumentError(f"an index has each kind of a column once; {twice[0]!r} was given twice; leave one out")
        self._check_options(some)

    def _check_options(self, some: Sequence[object]) -> None:
        """ArgumentError where kinds ask for the same rows with different options: one of them would not be made."""
        options: dict[tuple[str, tuple[str, ...]], Mapping[str, object]] = {}
        for kind in some:
            if isinstance(kind, KeyKind):
                said = {name: value for name, value in kind.spec().properties.items() if name != "keys"}
                for key in kind.keys:
                    before = options.setdefault((kind.rows.partition, key), said)
                    if before != said:
                        raise ArgumentError(
                            f"an index has each kind of a column once; {kind.name} of {', '.join(key)} was given with"
                            f" {_told(before)} and with {_told(said)}; leave one out"
                        )

    def of(self, spec: KindSpec) -> Kind:
        """The kind that a log entry names. DamagedIndexError, with advice, for a kind or a version that is not known
        here."""
        kind = self.named(spec.name)
        if kind is None or spec.version > kind.version:
            known, cure = "not known here", "install the package that brings it, or upgrade metaindex"
            if kind is not None:
                brings = "the package that brings it" if self.is_foreign(spec.name) else "metaindex"
                known, cure = f"known up to version {kind.version}", f"upgrade {brings}"
            raise DamagedIndexError(
                f"an index is read by the kinds that it was built with; {spec.name[:80]!r} version {spec.version} is"
                f" {known}; {cure}"
            )
        try:
            return self.call(spec.name, partial(kind.of, dict(spec.properties)))
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedIndexError(
                f"an index kind has the properties that it was asked with; {spec.name} has not "
                f"({type(error).__name__}: {str(error)[:200]}); recreate the index"
            ) from error


def _places() -> object:
    """The folders of packages with the times at which something came into them or went."""

    def changed(place: str) -> int:
        try:
            return os.stat(place or ".").st_mtime_ns
        except OSError:
            return 0

    return [(place, changed(place)) for place in sys.path]


def _told(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items()) or "no options"


KINDS = KindRegistry(
    (ColumnStats, Values, Bloom, ValueList, Covering, CoveringRange, CoveringCurve, Sums, Sketches),
)
WITHOUT_NAME: tuple[type[Kind], type[Kind]] = (ColumnStats, Values)
"""What CREATE INDEX makes where it names no kind: of no column, and of some, whose values are to be found then."""
