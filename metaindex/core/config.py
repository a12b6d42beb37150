"""Every knob, with its unit and default. One frozen value; pass it to `open_table`."""

from __future__ import annotations

import os
from dataclasses import field
from types import UnionType
from typing import Final, Literal, get_args

from metaindex.core.cures import Cure
from metaindex.core.expression_errors import ArgumentError
from metaindex.core.records import dataclass

Literals = Literal["kept", "hashed", "left out"]

_KNOBS: Final[dict[str, tuple[type | UnionType, str]]] = {
    "index_location": (str | os.PathLike | None, "a folder or URI, or None"),
    "namespace": (str | None, "a name, or None"),
    "local_bytes": (int, "a number of bytes from 0 on"),
    "cache_bytes": (int, "a number of bytes from 0 on"),
    "most_read_bytes": (int | None, "a number of bytes from 0 on, or None"),
    "settle_seconds": (int | float, "a number of seconds from 0 on"),
    "time_zone": (str, "a zone's name, as in 'Europe/Paris'"),
    "use_indexes": (bool, "True or False"),
    "single_writer": (bool, "True or False"),
    "confine": (bool, "True or False"),
    "confine_to": (tuple, "a tuple of folders or URIs"),
}


@dataclass(frozen=True, slots=True)
class QueryLog:
    """Settings of the query log, which records a table's queries beside its indexes (`Table.query_log`,
    `Table.savings`). Raises ArgumentError for an invalid value.

    * `literals`: the values in conditions are "kept" as they are, "hashed" (equal values stay equal), or "left out".
    * `salt`: a secret of 16 bytes or more by which values are hashed; None: that of the environment variable
      METAINDEX_QUERY_LOG_SALT. Hashing without one is refused: who has the log could try values out. Never shown.
    * `flush_rows`, `flush_seconds`: rows wait in the process until there are so many, or the first of them waits so
      long; a file is written then, by another thread.
    * `keep_days`, `keep_bytes`: what `clean` leaves of the log.
    """

    literals: Literals = "kept"
    salt: str | bytes | None = field(default=None, repr=False)
    flush_rows: int = 1_000
    flush_seconds: float = 30.0
    keep_days: float = 90.0
    keep_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        if self.literals not in get_args(Literals):
            raise ArgumentError(
                f"QueryLog(literals=...) is 'kept', 'hashed' or 'left out'; got {self.literals!r}; give one of these"
            )
        for name, least in (("flush_rows", 1), ("flush_seconds", 0), ("keep_days", 0), ("keep_bytes", 0)):
            value, whole = getattr(self, name), name in ("flush_rows", "keep_bytes")
            right = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            if not (right and least <= value < 1e15):
                raise ArgumentError(f"QueryLog({name}=...) is a number from {least} on; got {value!r}; give one")
        if self.salt is not None or self.literals == "hashed":
            self.key()

    @staticmethod
    def spelled(text: str) -> str:
        """Return a word for `literals`, or off, of whoever writes it in an option, a variable or a conf."""
        word = text.strip().lower().replace("-", " ")
        return {"true": "kept", "false": "off"}.get(word, word)

    def key(self) -> bytes:
        """Secret key by which values are hashed; empty if none is needed."""
        salt = _secret(self.salt, "METAINDEX_QUERY_LOG_SALT", "QueryLog(salt=...)")
        if salt is None and self.literals == "hashed":
            raise ArgumentError(
                "hashed literals need a salt, as whoever reads the log could try values out; none is given; set"
                f" {Cure('setting', 'QueryLog(salt=...)', 'METAINDEX_QUERY_LOG_SALT')}, a secret of 16 bytes or more"
            )
        return salt or b""


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of metaindex for one table.

    * `index_location`: folder (path or URI) that holds the indexes; None: beside the table, see `store.layout`. It lies
      outside of the table, or in a folder of it whose name begins with `_`.
    * `namespace`: a name of its own for a set of indexes, of a team say: they lie beside the others, and only who names
      the namespace sees them. None: the common one.
    * `builder`: "spark" (the PySpark pipeline), "local" (in this process, no JVM), or "default": the size of the files
      that are to be read decides. Up to `local_bytes` are read in this process; more by the Spark session that the
      table was opened with, or that runs in this process, and here where there is none. Covering indexes need Spark:
      for them one is started, and that is logged.
    * `local_bytes`: of files; see `builder`.
    * `cache_bytes`: decoded index columns kept in memory by an opened table, and a quarter as much for footers of data
      files. All tables of a process together keep no more than the largest of their `cache_bytes`.
    * `most_read_bytes`: a query that would open data files with more bytes than this is refused before it opens one
      (TooCostlyError says what it would open); a scan with a limit, before the file that would exceed it; one that
      unpacks to a hundred times as much, where it does (ScanError). Engines that read files by themselves are given
      none. Logs, indexes and deletes do not count, nor what advice reads, which has its `sample`. None: no limit.
    * `settle_seconds`: how long create and refresh wait, once, for plain files that were written a moment ago: a file
      younger than 2 seconds is not believed to keep its identity, and stays uncovered.
    * `time_zone`: of dates and times without a zone in predicates over columns of instants.
    * `use_indexes`: False answers every query from the table alone.
    * `seal_key`: a secret of 16 bytes or more (text or bytes) by which log entries are sealed and checked; None: that
      of the environment variable METAINDEX_SEAL_KEY, where it is set. An index without the seal of this key is left out
      of queries. It is never shown. `docs/operation-log.md` says what it covers.
    * `single_writer`: no other process ever writes these indexes. Allows stores of which it is not known whether
      put-if-absent has one winner (`docs/guides/s3.md`).
    * `query_log`: a `QueryLog` (True: as it is by default) notes each query beside the indexes; False: none; None: as
      the environment variable METAINDEX_QUERY_LOG says (kept, hashed or left out), and none where it is not set.
    * `confine`: a file of the table that lies outside of its root is refused, by builds and queries alike
      (OutsideTableError), links looked through: for who indexes tables that others write.
    * `confine_to`: the same, with other folders (paths, or URIs of the table's store) in which files may lie, too.
    """

    index_location: str | os.PathLike[str] | None = None
    namespace: str | None = None
    builder: Literal["spark", "local", "default"] = "default"
    local_bytes: int = 1 << 30
    cache_bytes: int = 128 << 20
    settle_seconds: float = 2.0
    time_zone: str = "UTC"
    use_indexes: bool = True
    single_writer: bool = False
    confine: bool = False
    confine_to: tuple[str, ...] = ()
    query_log: QueryLog | bool | None = None
    seal_key: str | bytes | None = field(default=None, repr=False)
    most_read_bytes: int | None = None

    def __post_init__(self) -> None:
        for name, (types, rule) in _KNOBS.items():
            value = getattr(self, name)
            finite = not isinstance(value, int | float) or 0 <= value < float("inf")
            if not (isinstance(value, types) and finite):
                raise ArgumentError(f"Config({name}=...) is {rule}; got {value!r}")
        if not all(isinstance(place, str) and place and "\0" not in place for place in self.confine_to):
            raise ArgumentError(f"Config(confine_to=...) is a tuple of folders or URIs; got {self.confine_to!r}")
        if self.index_location is not None:
            object.__setattr__(self, "index_location", _place(self.index_location))
        _ = self.sealing_key
        if not isinstance(self.query_log, QueryLog | bool | None):
            raise ArgumentError(f"Config(query_log=...) is a QueryLog, True, False or None; got {self.query_log!r}")
        if self.builder not in ("spark", "local", "default"):
            raise ArgumentError(f"Config(builder=...) is 'spark', 'local' or 'default'; got {self.builder!r}")

    @property
    def query_log_settings(self) -> QueryLog | None:
        """Settings of the query log: the ones given, else those of the environment variable METAINDEX_QUERY_LOG (kept,
        hashed, left-out). None: queries are not logged. Raises ArgumentError for any other value of it."""
        given = self.query_log
        if isinstance(given, QueryLog):
            return given
        if given is not None:
            return QueryLog() if given else None
        word = QueryLog.spelled(os.environ.get("METAINDEX_QUERY_LOG", ""))
        if word not in ("", "off", *get_args(Literals)):
            raise ArgumentError(
                f"the environment variable METAINDEX_QUERY_LOG is kept, hashed, left-out or off; got {word!r}; set one"
                " of these, or unset it"
            )
        return None if word in ("", "off") else QueryLog(word)  # type: ignore[arg-type]

    @property
    def sealing_key(self) -> bytes | None:
        """The key that is given, else that of the environment. ArgumentError, which does not show it, where it is
        none."""
        return _secret(self.seal_key, "METAINDEX_SEAL_KEY", "Config(seal_key=...)")


def _place(location: str | os.PathLike[str]) -> str:
    """A folder stays where it is when the process goes elsewhere."""
    text = os.fspath(location)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ArgumentError(f"Config(index_location=...) is a folder or URI, or None; got {location!r}")
    return text if "://" in text or text.startswith("file:/") else os.path.abspath(os.path.expanduser(text))


def _secret(given: str | bytes | None, variable: str, setting: str) -> bytes | None:
    secret = os.environ.get(variable) or None if given is None else given
    if secret is None:
        return None
    try:
        data = secret.encode("utf-8", "surrogateescape") if isinstance(secret, str) else secret
    except UnicodeEncodeError:
        # Its own words show a part of the key.
        raise ArgumentError(f"{setting} has characters that are no text (half of a pair); give bytes") from None
    if not isinstance(data, bytes) or len(data) < _KEY_BYTES:
        what = f"{len(data)} bytes" if isinstance(data, bytes) else f"a {type(data).__name__}"
        raise ArgumentError(
            f"{setting} or {variable} is a secret of {_KEY_BYTES} bytes or more, as text or bytes; got {what}"
        )
    return data


_KEY_BYTES = 16
