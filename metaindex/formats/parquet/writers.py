"""Decides which statistics of a Parquet footer are believed, by who wrote it: tables of what was tried, and what lies.

`python -m tests.writers` writes adversarial columns with every writer that it can get, and compares each statistic with
the rows. A version inside TRIED is believed but for what LIES says of it. Of any other writer or version nothing is
known: its bounds are believed where the format leaves one way to make them (see `Writer.believed`); a count of NULLs,
or that a bound is attained, never is.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Flag, auto
from functools import lru_cache

import pyarrow as pa

from metaindex.expressions import Family

from .schema import Coding, FileType

_Version = tuple[int, ...]


class Claim(Flag):
    """A claim of the statistics of a column in a row group. Of NULLs: that there is none, some, nothing else."""

    BOUNDS = auto()  # they enclose every value
    ATTAINED = auto()  # each bound is a value, where its type is not cut
    NO_NULL = auto()
    SOME_NULLS = auto()
    ALL_NULL = auto()
    NANS = auto()  # how many values are NaN


_NULLS = Claim.NO_NULL | Claim.SOME_NULLS | Claim.ALL_NULL
_TOO_FEW = Claim.NO_NULL | Claim.SOME_NULLS  # NULLs are counted: where all are, that is right
_TOO_MANY = Claim.SOME_NULLS | Claim.ALL_NULL
_ENDS = Claim.BOUNDS | Claim.ATTAINED
EVERY = ~Claim(0)


class Kind(Flag):
    """A kind of columns, by how their statistics are made."""

    WHOLE = auto()  # signed integers, and what they stand for: dates, times, decimals; booleans
    UNSIGNED = auto()
    FLOAT = auto()
    HALF = auto()
    DECIMAL_BYTES = auto()
    BYTES = auto()

    @classmethod
    def of(cls, type_: FileType) -> Kind:
        floats = pa.types.is_floating(type_.arrow)
        match type_.coding:
            case Coding.NUMBER | Coding.UNSCALED | Coding.NONE:
                return cls.FLOAT if floats else cls.WHOLE
            case other:
                return cls[other.name]


_BIG_ENDIAN = Kind.DECIMAL_BYTES | Kind.HALF


@dataclass(frozen=True, slots=True)
class Range:
    """Versions of a writer, by `created_by`: `since` and below `before`. () is a version that is not said, which is
    less than any."""

    writer: str
    since: _Version
    before: _Version

    def holds(self, writer: Writer) -> bool:
        return self.writer == writer.name and self.since <= writer.version < self.before


@dataclass(frozen=True, slots=True)
class Lie:
    """Claims that are wrong. `dictionary`: only in files that may hold Arrow's dictionaries. `inside`: only below a
    struct that may be NULL."""

    of: Range
    claims: Claim
    kinds: Kind
    source: str
    dictionary: bool = False
    inside: bool = False

    def told_by(self, writer: Writer, kind: Kind, inside: bool) -> bool:
        so = (writer.dictionaries or not self.dictionary) and (inside or not self.inside)
        return so and kind in self.kinds and self.of.holds(writer)


_SAID: _Version = (0,)  # below any version that is said
_EVER: _Version = (10**9,)
_ANY = ~Kind(0)
_ARROW, _OLD_ARROW, _MR = "parquet-cpp-arrow", "parquet-cpp", "parquet-mr"

TRIED: Mapping[Range, Kind] = {
    Range(_OLD_ARROW, (1, 5, 1), (1, 5, 2)): ~Kind.HALF,
    Range(_ARROW, (4,), (15,)): ~Kind.HALF,
    Range(_ARROW, (15,), (27,)): _ANY,
    Range(_MR, (1, 8), (1, 14)): ~Kind.HALF,
    Range(_MR, (1, 14), (1, 18)): _ANY,
    Range("DuckDB", (), (2, 1)): ~Kind.HALF,
    Range("Polars", (), _SAID): _ANY,
    Range("Polars", (2,), (2, 2)): _ANY,
    Range("datafusion", (43,), (55,)): _ANY,
    Range("delta-rs", (1, 5), (1, 7)): ~Kind.HALF & ~Kind.UNSIGNED,
    Range("fastparquet-python", (2022, 12), (2026, 10)): Kind.WHOLE | Kind.FLOAT,
    Range("parquet-go", (18, 8), (18, 9)): ~Kind.HALF,
    Range("parquet-rs", (50,), (60,)): ~Kind.HALF & ~Kind.UNSIGNED,
    Range("parquet-rs", (60,), (61,)): _ANY,
}

LIES = (
    Lie(Range(_OLD_ARROW, (), (9,)), _TOO_FEW, _ANY, "PARQUET-2067"),
    Lie(Range(_OLD_ARROW, (), (9,)), _ENDS, _BIG_ENDIAN, "PARQUET-1655"),
    Lie(Range(_OLD_ARROW, (), (9,)), _ENDS | _NULLS, Kind.BYTES, "apache/arrow#15042", dictionary=True),
    Lie(Range(_ARROW, (), (5,)), _ENDS, _BIG_ENDIAN, "PARQUET-1655"),
    Lie(Range(_ARROW, (), (6,)), _TOO_FEW, _ANY, "PARQUET-2067"),
    Lie(Range(_ARROW, (), (11,)), _ENDS | _NULLS, Kind.BYTES, "apache/arrow#15042", dictionary=True),
    Lie(Range(_ARROW, (), _EVER), _TOO_FEW, Kind.BYTES, "tests.writers", dictionary=True, inside=True),
    Lie(Range(_MR, (), (1, 10)), _ENDS, Kind.BYTES | _BIG_ENDIAN, "PARQUET-251"),
    Lie(Range(_MR, (), (1, 10)), _NULLS, _ANY, "PARQUET-1217"),
    Lie(Range("DuckDB", (), _SAID), _TOO_MANY, _ANY, "tests.writers"),
    Lie(Range("parquet-go", (), _EVER), _ENDS, Kind.BYTES, "tests.writers"),
    Lie(Range("Polars", (), _SAID), _ENDS, ~Kind.WHOLE, "tests.writers, pola-rs/polars#29347"),
    Lie(Range("Polars", (), _SAID), _TOO_MANY | Claim.ATTAINED, _ANY, "pola-rs/polars#29321, #26667"),
    Lie(Range("Polars", (), _SAID), _NULLS, Kind.DECIMAL_BYTES, "tests.writers"),
    Lie(Range("Polars", _SAID, (2, 1)), _ENDS, Kind.FLOAT, "tests.writers"),
)


REVISION = 1
"""Of these tables: raised with every change by which less is believed. Facts of an older one are used but for what
`reconsidered` says, and but for all counts of NULLs and that a bound is attained."""


def reconsidered(type_: pa.DataType, since: int) -> bool:
    """Return whether bounds of such a column that revision `since` believed may not be believed today: 1 added
    dictionaries of Arrow's, and all but signed whole numbers of Polars."""
    unsigned = pa.types.is_unsigned_integer(type_)
    return since < 1 and (unsigned or Family.may_be_nan(type_) or Family.of(type_) in (Family.TEXT, Family.BYTES))


@dataclass(frozen=True, slots=True)
class Writer:
    """The writer of a file: application and version by its `created_by` (() where none is said). `dictionaries`:
    columns may have been dictionaries of Arrow's when they were written."""

    name: str
    version: _Version
    dictionaries: bool = True

    @classmethod
    def of(cls, created_by: str, keys: Callable[[], Mapping[bytes, bytes] | None]) -> Writer:
        """`keys`: of the footer, whose schema of Arrow's tells dictionaries; where it is missing there may be some."""
        name, version = _named(created_by)
        arrow = name.startswith("parquet-cpp")
        said = (keys() or {}).get(b"ARROW:schema") if arrow else None
        return cls(name, version, arrow and (said is None or _holds_dictionaries(said)))

    @lru_cache(maxsize=1024)  # noqa: B019 - of a few
    def believed(self, type_: FileType, inside: bool) -> Claim:
        """Return what is believed of a column; `inside`: a struct around it may be NULL. Of who was not tried: bounds
        of numbers, and of bytes that the footer says to be in the order of their type, as these have no second one."""
        kind = Kind.of(type_)
        claims = EVERY
        if not any(kind in kinds and tried.holds(self) for tried, kinds in TRIED.items()):
            claims = Claim(0) if kind in _BIG_ENDIAN else Claim.BOUNDS
        for lie in LIES:
            if lie.told_by(self, kind, inside):
                claims &= ~lie.claims
        return claims


@lru_cache(maxsize=256)
def _named(created_by: str) -> tuple[str, _Version]:
    match = re.match(
        r"\s*(.*?)\s+(?:\(\w+\)\s+)?version\s+(?:[a-z]+-|v)?(\d{1,9})(?!\d)(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?", created_by
    )
    if match is None:
        return created_by.split(" ")[0] if created_by else "", ()
    return match[1], tuple(int(part or 0) for part in match.groups()[1:])


@lru_cache(maxsize=64)
def _holds_dictionaries(said: bytes) -> bool:
    def within(type_: pa.DataType) -> bool:
        type_ = getattr(type_, "storage_type", type_)
        fields = (type_.field(at).type for at in range(type_.num_fields))
        return pa.types.is_dictionary(type_) or any(within(field) for field in fields)

    try:
        return any(within(type_) for type_ in pa.ipc.read_schema(pa.BufferReader(base64.b64decode(said))).types)
    except (pa.ArrowException, ValueError, OSError):
        return True
