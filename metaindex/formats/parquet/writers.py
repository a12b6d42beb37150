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

from .schema import Coding, FileType

_Version = tuple[int, ...]


class Claim(Flag):
    """A claim of the statistics of a column in a row group. Of NULLs: that there is none, some, nothing else."""

    BOUNDS = auto()  # they enclose every value
    ATTAINED = auto()  # each bound is a value, where its type is not cut
    NO_NULL = auto()
    SOME_NULLS = auto()
    ALL_NULL = auto()


_NULLS = Claim.NO_NULL | Claim.SOME_NULLS | Claim.ALL_NULL
_TOO_FEW = Claim.NO_NULL | Claim.SOME_NULLS  # NULLs are counted: where all are, that is right
_TOO_MANY = Claim.SOME_NULLS | Claim.ALL_NULL
EVERY = ~Claim(0)

_NUMBERS = frozenset({Coding.NUMBER, Coding.UNSCALED, Coding.UNSIGNED})
_BYTES = frozenset({Coding.BYTES})
_BIG_ENDIAN = frozenset({Coding.DECIMAL_BYTES, Coding.HALF})


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
    """A statistic that is wrong. `codings`: of which columns (None: of all). `dictionary`: only of files that may hold
    Arrow's dictionaries. `inside`: only below a struct that may be NULL."""

    versions: Range
    claim: Claim
    source: str
    codings: frozenset[Coding] | None = None
    dictionary: bool = False
    inside: bool = False

    def told_by(self, writer: Writer, type_: FileType, inside: bool) -> bool:
        of = self.codings is None or type_.coding in self.codings
        so = (writer.dictionaries or not self.dictionary) and (inside or not self.inside)
        return of and so and self.versions.holds(writer)


_UNSAID: _Version = (0,)  # below any version that is said
_ANY: _Version = (10**9,)

TRIED = (
    Range("parquet-cpp", (), _ANY),
    Range("parquet-cpp-arrow", (), (27,)),
    Range("parquet-mr", (), (2,)),
    Range("DuckDB", (), (3,)),
    Range("Polars", (), (3,)),
    Range("Polars (python)", (), (3,)),
    Range("parquet-rs", (50,), (60,)),
    Range("delta-rs", (1,), (2,)),
)

LIES = (
    Lie(Range("parquet-cpp", (), _ANY), _TOO_FEW, "PARQUET-2067"),
    Lie(Range("parquet-cpp", (), _ANY), Claim.BOUNDS | _NULLS, "apache/arrow#15042", _BYTES, dictionary=True),
    Lie(Range("parquet-cpp", (), _ANY), Claim.BOUNDS, "PARQUET-1655", _BIG_ENDIAN),
    Lie(Range("parquet-cpp-arrow", (), (5,)), Claim.BOUNDS, "PARQUET-1655", _BIG_ENDIAN),
    Lie(Range("parquet-cpp-arrow", (), (6,)), _TOO_FEW, "PARQUET-2067"),
    Lie(
        Range("parquet-cpp-arrow", (), (11,)), Claim.BOUNDS | _NULLS, "apache/arrow#15042", _BYTES, dictionary=True
    ),
    Lie(Range("parquet-cpp-arrow", (), _ANY), _TOO_FEW, "tests.writers", _BYTES, dictionary=True, inside=True),
    Lie(Range("parquet-mr", (), (1, 10)), Claim.BOUNDS, "PARQUET-251", _BYTES | _BIG_ENDIAN),
    Lie(Range("parquet-mr", (), (1, 10)), _NULLS, "PARQUET-1217"),
    Lie(Range("DuckDB", (), (1,)), Claim.BOUNDS, "not tried", _BIG_ENDIAN),
    Lie(Range("Polars", (), _UNSAID), Claim.BOUNDS, "pola-rs/polars#29347", _BIG_ENDIAN),
    Lie(Range("Polars", (), _UNSAID), _TOO_MANY, "pola-rs/polars#29321"),
)  # fmt: skip


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
        if not any(tried.holds(self) for tried in TRIED):
            return Claim(0) if type_.coding in _BIG_ENDIAN else Claim.BOUNDS
        claims = EVERY
        for lie in LIES:
            if lie.told_by(self, type_, inside):
                claims &= ~lie.claim
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
