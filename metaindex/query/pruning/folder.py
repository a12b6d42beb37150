"""The indexes beside a table: which there are, and which of them a query may use, with the reason for each that it may
not."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from metaindex.core import (
    DamagedIndexError,
    IndexExistsError,
    IndexNotFoundError,
    MetaIndexError,
    StoragePermissionError,
    StorageUnavailableError,
    record_index_left_out,
)
from metaindex.formats import FLAGS, TableRef, spelled
from metaindex.index import (
    CURE,
    IndexLogEntry,
    OpenIndex,
    OperationLog,
    State,
    StoreCache,
    appended_here,
    check_asked,
    index_storage,
    kind_from_spec,
    list_names,
    one_line,
)
from metaindex.storage import is_remote

from .result import IndexReport

logger = logging.getLogger("metaindex")
_AT_ONCE = 16


class IndexFolder:
    """The folder of a table's indexes."""

    def __init__(
        self,
        folder: str,
        table_format: str,
        storage_options: dict[str, str],
        cache: StoreCache,
        table: str = "",
        key: bytes | None = None,
    ) -> None:
        self._folder = folder
        self._table = table  # its root
        self._format = table_format
        self._options = storage_options
        self._cache = cache
        self._key = key
        self._logs: dict[str, OperationLog] = {}
        self._opened: dict[str, tuple[OpenIndex, TableRef, IndexLogEntry]] = {}
        """By name, as they were opened last: for which table, and from which entry."""

    def names(self) -> list[str]:
        """Names that may be indexes, sorted."""
        return list_names(self._folder, self._options)

    def log(self, name: str) -> OperationLog:
        """The operation log of an index, whether it exists or not."""
        check_asked(name)
        if name not in self._logs:
            storage = index_storage(self._folder, name, self._options, self._table)
            self._logs[name] = OperationLog(storage, name, self._key)
        return self._logs[name]

    def appended_here(self) -> int:
        """Return how many entries this process has written to the indexes of the folder."""
        return appended_here(self._folder)

    def missing(self, said: str, name: str) -> IndexNotFoundError:
        """The error of an index that is not there: a folder without a log counts for none."""
        names = self.names()
        there = [other for other in names if self._is_there(other)]
        no_log = name in names and not self.log(name).numbers()
        gone = f" (its folder at {self.log(name).storage.root} has no log)" if no_log else ""
        return IndexNotFoundError(f"{said}{gone}; there are: {', '.join(there) or 'none'}")

    def _is_there(self, name: str) -> bool:
        """Return whether the index exists; a vacuumed one has a log and does not."""
        try:
            latest = self.log(name).latest()
        except MetaIndexError:  # its log cannot be read
            return True
        return latest is not None and (latest.stable is not State.DOESNOTEXIST or bool(latest.under_way))

    def check_told_apart(self, name: str) -> None:
        """IndexExistsError where another index's name differs in capital letters alone: where a file system knows none,
        or a lake is copied to one, both would be one folder."""
        other = self.like(name)
        if other is not None:
            raise IndexExistsError(
                "names of indexes differ in more than capital letters, which some file systems do not know;"
                f" {name!r} is asked and {other!r} is there or was; choose another name, or that one"
            )

    def like(self, name: str) -> str | None:
        """The index whose name differs from this one, which is none, in capital letters alone."""
        names = self.names()
        return next(
            (
                other
                for other in (names if name not in names else ())
                if other.lower() == name.lower() and self.log(other).numbers()
            ),
            None,
        )

    def entries(self) -> list[IndexLogEntry]:
        """The latest entry of each index that has one that can be read."""
        return [entry for _, entry in self._latest(self.names()) if isinstance(entry, IndexLogEntry)]

    def readable(self, ref: TableRef, only: Iterable[str] | None) -> tuple[list[OpenIndex], list[IndexReport]]:
        """The indexes that a query of the table may use, and a report of each that it may not. IndexNotFoundError for a
        name in `only` that is no index; nothing else is raised."""
        wanted = set(only) if only is not None else None
        try:
            names = self.names()
        except MetaIndexError as error:
            return [], [IndexReport("(all)", False, f"the indexes cannot be listed: {error}")]
        if wanted is not None and (missing := wanted - set(names)):
            there = ", ".join(name for name in names if self._is_there(name))
            raise IndexNotFoundError(
                f"there is no index named {', '.join(sorted(missing))}; there are: {there or 'none'}"
            )
        indexes, refused = [], []
        for name, entry in self._latest([name for name in names if wanted is None or name in wanted]):
            try:
                if isinstance(entry, Exception):
                    raise entry
                if entry is None or entry.stable is State.DOESNOTEXIST:
                    if wanted is not None:  # nobody's vacuum ends the query of another
                        refused.append(
                            IndexReport(
                                name, False, "there is no index of this name now: it was vacuumed, or not created"
                            )
                        )
                    continue
                before = self._opened.get(name)
                same = before is not None and before[2] is entry and before[1] is ref  # it may be used, as before
                reason = None if same else self._why_not(entry, ref)
                if reason is None:
                    indexes.append(self._open(name, entry, ref))
                else:
                    refused.append(IndexReport(name, False, reason))
            except Exception as error:  # noqa: BLE001 - whatever is wrong with an index, the table is read without it
                reason = why(error)
                logger.warning("index %r is not used: %s", name, reason)
                record_index_left_out(self.log(name).storage.root)
                refused.append(IndexReport(name, False, reason))
        return indexes, refused

    def _open(self, name: str, entry: IndexLogEntry, ref: TableRef) -> OpenIndex:
        """An index for one query. What follows from the entry is worked out once, as long as it is the latest."""
        before = self._opened.get(name)
        storage = self.log(name).storage
        if before is not None and before[2] is entry:
            same = before[0]
            opened = OpenIndex(name, same.entry, storage, self._cache, left_out=same.left_out, _versions=same.versions)
            self._opened[name] = (opened, ref, entry)
            return opened
        opened = OpenIndex.of(name, entry, storage, self._cache)
        for reason in opened.left_out:
            logger.warning("of index %r a run is not used: %s", name, reason)
        self._opened[name] = (opened, ref, entry)
        # Another entry: what only the one before named is not asked again.
        self._cache.keep_only(
            {run.run for index, *_ in list(self._opened.values()) for run in index.entry.content.runs}
        )
        return opened

    def _latest(self, names: Sequence[str]) -> list[tuple[str, IndexLogEntry | Exception | None]]:
        """The latest entry of each index, or why it cannot be read; from a store side by side."""

        def latest(name: str) -> tuple[str, IndexLogEntry | Exception | None]:
            try:
                return name, self.log(name).latest()
            except Exception as error:  # noqa: BLE001 - the one guard of all that is decoded: see `readable`
                return name, error

        if len(names) < 2 or not is_remote(self._folder):
            return [latest(name) for name in names]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(len(names), _AT_ONCE)) as pool:
            return list(pool.map(latest, names))

    def _why_not(self, entry: IndexLogEntry, ref: TableRef) -> str | None:
        """Why the index may not be used for the table as it is opened, or None. Raises where the entry cannot be
        understood."""
        if not entry.readable:
            return f"it is {entry.state.value}" + ("" if entry.enabled else ", disabled")
        if entry.table.format != self._format:
            return f"it was built for a {entry.table.format} table"
        check(entry)
        other = other_options(entry.table.options, ref.options)
        return None if other is None else f"{other}; {options_cure(entry.table.options, ref.options)}"


_FILE_BYTES = 16
"""Of a run, what each of its files takes at least: an id of so many bytes that do not compress."""


def check(entry: IndexLogEntry) -> None:
    """Raises where its kinds cannot be understood, or a run counts more than its bytes can hold: what is read of it
    takes memory by these numbers."""
    for spec in entry.kinds:
        kind_from_spec(spec)
    for run in entry.content.runs:
        most = run.size_bytes // _FILE_BYTES
        counts = (run.files, run.partitions, run.uncovered_files, *(key.unkeyed_files for key in run.keys))
        if run.files > most or max(counts) > max(run.files, 1):
            raise DamagedIndexError(
                f"a run counts files that its bytes can hold; run {run.run!r} of {run.size_bytes:,} bytes counts"
                f" {max(counts):,}; refresh the index with mode='full'"
            )


def why(error: Exception) -> str:
    """Why an index is left out, in one line. What is no error of ours was raised by something that is stored."""
    return str(error) if isinstance(error, MetaIndexError) else f"it cannot be understood ({one_line(error)}); {CURE}"


def not_looked_at(error: BaseException | None) -> bool:
    """Return whether a storage that did not answer, or denied access, caused the error: the index may be right."""
    while error is not None:
        if isinstance(error, StoragePermissionError | StorageUnavailableError):
            return True
        error = error.__cause__
    return False


def plain_options(options: Mapping[str, object]) -> dict[str, object]:
    """Reader options that can be kept in a log entry. A schema is kept as its text, where a text says all of it; else
    as one that fits itself alone."""
    plain: dict[str, object] = {
        k: v for k, v in options.items() if isinstance(v, str | int | float | bool) and k != "format"
    }
    schema = options.get("schema")
    if schema is not None:
        plain["schema"] = _said(schema)
    return plain


def other_options(stored: Mapping[str, object], asked: Mapping[str, object]) -> str | None:
    """Why an index that was built under `stored` is of other values, or None: see `differing_options`."""
    differing = [spelled(name) for name in differing_readings(stored, asked)]
    told = [name for name in differing if name != "inferSchema" or "schema" not in differing]
    return f"it was built with other reader options ({', '.join(told)})" if told else None


def differing_readings(stored: Mapping[str, object], asked: Mapping[str, object]) -> list[str]:
    """Return those `differing_options` that change what is read: if both have the same schema, it does not matter
    whether Spark inferred it."""
    differing = differing_options(stored, asked)
    alike = "schema" in stored and "schema" not in differing
    return [name for name in differing if not (alike and name == "inferschema")]


def differing_options(stored: Mapping[str, object], asked: Mapping[str, object]) -> list[str]:
    """Text files mean what the reader's options make of them: an index built under other options is of other values. Of
    Parquet files those count that say which columns folders have: a file may hold another value of such a column."""
    built, now = _meant(stored), _meant(plain_options(asked))
    if stored.get("file_format") not in ("csv", "json"):
        built, now = ({name: said[name] for name in _FOLDERS & said.keys()} for said in (built, now))
    elif now.get("header") == "true" and "header" not in built:
        del now["header"]  # the index keeps none where one is meant without saying
    differing = sorted(name for name in built.keys() | now.keys() if built.get(name) != now.get(name))
    return differing + (["format"] if says_other_format(stored, asked) else [])


ANEW: Final = "drop it and vacuum it"
SAME_NAME: Final = "(by the same name: drop this one and vacuum it before)"
"""The ways to build an index anew by its name; `running.cures` says them as statements are."""


def options_cure(stored: Mapping[str, object], asked: Mapping[str, object], *, otherwise: str = "") -> str:
    """Return the cure for an index built with other options than those asked. `otherwise`: an alternative."""
    return f"open the table {options_in_words(*built_otherwise(stored, asked))}, {otherwise}or create another index"


def built_otherwise(stored: Mapping[str, object], asked: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """The differing options that an index was built with, as Python says them, and the names of those without: a schema
    that came of inferSchema goes with it, as nobody said that."""
    said = {_name(name): (name, value) for name, value in {**stored, "format": stored.get("file_format", "")}.items()}
    differing = differing_readings(stored, asked)
    with_ = [_argument(*said[name]) for name in differing if name in said]
    without = [spelled(name) for name in differing if name not in said]
    return with_, [name for name in without if name != "schema" or "inferSchema" not in without]


def options_in_words(with_: Sequence[str], without: Sequence[str]) -> str:
    """Word options, as in "with sep=';' and without escape"."""
    parts = {"with": said_once(with_), "without": without}
    return " and ".join(f"{word} {', '.join(names)}" for word, names in parts.items() if names)


def said_once(with_: Sequence[str]) -> list[str]:
    """Drop `inferSchema` from options that include a schema: either says the same."""
    schema = any(said.startswith("schema=") for said in with_)
    return [said for said in with_ if not (schema and said.startswith("inferSchema="))]


def _argument(name: str, value: object) -> str:
    """Write an option in Python; Spark keeps names in small letters. A schema that is long or not text is left out."""
    text = str(value)
    name = spelled(name)
    if name.lower() == "schema" and (text.startswith("?") or len(text) > _MOST_SCHEMA):
        return "the schema of the index"
    flag = isinstance(value, bool) or (name in FLAGS and text.lower() in ("true", "false"))
    return f"{name}={text.capitalize() if flag else repr(text)}"


def says_other_format(stored: Mapping[str, object], asked: Mapping[str, object]) -> bool:
    """Return whether the table is opened as plain files of another format than the one the index was built for."""
    said = asked.get("format")
    return bool(said) and bool(stored.get("file_format")) and said != stored["file_format"]


_FOLDERS = frozenset({"recursivefilelookup", "basepath"})
_MOST_SCHEMA = 100


def _meant(options: Mapping[str, object]) -> dict[str, str]:
    """The options by one name and as one text each; what is not said or says nothing else is left out."""
    said: dict[str, str] = {}
    for name, value in options.items():
        key = _name(name)
        text = _said(value) if key == "schema" else str(value).lower() if isinstance(value, bool) else str(value)
        if key != "file_format" and (key, text.lower()) != ("recursivefilelookup", "false"):
            said[key] = text.lower() if key in ("recursivefilelookup", "header") else text
    return said


def _name(option: str) -> str:
    return "sep" if option.lower() == "delimiter" else option.lower()


def _said(schema: object) -> str:
    from metaindex.formats import schema_said  # few tables are of texts

    return schema_said(schema)
