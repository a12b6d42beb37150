"""Options of plain files, and how the files are read under them.

Names are those of Spark's readers, case does not matter; `format`, `schema` and `glob` are ours. CSV files have a
header unless `header=False` says otherwise (Spark's own default is none: what is passed on to a reader always says it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from metaindex.core import ArgumentError, Cure, UnsupportedFeatureError
from metaindex.formats.names import PLAIN

from .compressed import REFUSED, SUFFIXES, not_unpacked
from .read_options import meant
from .schema_text import check_depth, parse_ddl

MOST_COLUMNS = 20_480  # of a line of CSV: Spark's maxColumns, where it is not said

_FORMAT_OF = {
    "parquet": "parquet",
    "parq": "parquet",
    "pq": "parquet",
    "csv": "csv",
    "tsv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
}
SUFFIXES_OF_DATA = tuple(f".{name}{packed}" for name in _FORMAT_OF for packed in ("", *(f".{end}" for end in SUFFIXES)))
"""Ends of the names of files that may be a plain table's."""

_FOREIGN = {"orc", "avro", "xlsx", "xml", "arrow", "feather"}


@dataclass(frozen=True, slots=True)
class FilesOptions:
    """`reader`: Spark's options by lower-case name, as text.

    `recursive` (Spark's recursiveFileLookup): True takes files at any depth and no partitions from folder names;
    False takes, where there are no partitions, the root's own files only, as Spark does by default. Unsaid: files at
    any depth, and partitions, as other engines do.
    """

    format: str | None = None
    schema: pa.Schema | None = None
    glob: str | None = None
    recursive: bool | None = None
    reader: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, object]) -> FilesOptions:
        format_ = schema = glob = recursive = None
        reader: dict[str, str] = {}
        for name, value in given.items():
            _check_name(name)
            match name.lower(), value:
                case (_, None):
                    pass
                case "format", str() if value.lower() in PLAIN:
                    format_ = value.lower()
                case "format", _:
                    raise UnsupportedFeatureError(
                        f"plain files are {', '.join(PLAIN)}; got {Cure('argument', 'format', value)}; name one"
                        " of these"
                    )
                case "schema", pa.Schema():
                    check_depth(value)
                    schema = value
                case "schema", str():
                    schema = parse_ddl(value)
                case "schema", _:
                    raise UnsupportedFeatureError(
                        f"{Cure('reader', 'schema')} is a pyarrow.Schema or text such as 'a INT, b STRING';"
                        f" got {type(value).__name__};"
                        " give one of these"
                    )
                case (("glob" | "pathglobfilter"), str()):
                    glob = value
                case "recursivefilelookup", _:
                    recursive = str(value).lower() == "true"
                case "delimiter", _:
                    reader["sep"] = str(value)
                case key, bool():
                    reader[key] = str(value).lower()
                case key, _:
                    reader[key] = str(value)
        return cls(format_, schema, glob, recursive, reader)

    @property
    def base_path(self) -> str | None:
        """Spark's basePath: the folder where partitions begin."""
        return self.reader.get("basepath")

    @property
    def telling(self) -> Mapping[str, str]:
        """The entries of `reader` that differ from the defaults. CSV files have a header by default; a `schema`
        excludes `inferSchema`."""
        inferred = set() if self.schema is None else {"inferschema"}
        return {name: value for name, value in self.with_inferred.items() if name not in inferred}

    @property
    def with_inferred(self) -> Mapping[str, str]:
        """The options as older versions stored them: including `inferSchema` beside a schema."""
        return {name: value for name, value in self.reader.items() if (name, value.lower()) != ("header", "true")}

    def read_options(self, file_format: str) -> dict[str, object]:
        """Plain data for readers: `file_format` and Spark's options."""
        reader = {name: value for name, value in self.reader.items() if name != "basepath"}
        if file_format == "csv":
            return {"file_format": "csv", "header": "true", **reader}
        return {"file_format": file_format, **reader}


def _check_name(name: str) -> None:
    """Raise ArgumentError for a name that is nearly that of an option: Spark accepts any name and ignores unknown ones,
    so that a typo silently changes what is read."""
    near = meant(name)
    if near is not None:
        raise ArgumentError(f"readers know options by name; {name!r} is none; did you mean {near!r}?")


def format_of(name: str) -> str | None:
    """The format that a file's name says; None where it says nothing. What is known and cannot be read is refused by
    name."""
    parts = name.lower().split(".")[1:]
    if not parts:
        return None
    last = parts[-1]
    if last in SUFFIXES or last in REFUSED:
        inner = _FORMAT_OF.get(parts[-2]) if len(parts) > 1 else None
        if inner in ("csv", "json") and last in REFUSED:
            raise UnsupportedFeatureError(not_unpacked(name))
        return inner if inner != "parquet" else None
    if last in _FOREIGN:
        raise UnsupportedFeatureError(f"plain files are Parquet, CSV or JSON lines; {name!r} is none; convert it first")
    return _FORMAT_OF.get(last)


def most_columns(reader: Mapping[str, str]) -> int:
    """Spark's maxColumns."""
    said = reader.get("maxcolumns", str(MOST_COLUMNS))
    if not said.isascii() or not said.isdecimal() or len(said) > 10 or not 0 < int(said) < 1 << 31:
        raise UnsupportedFeatureError(
            f"maxColumns is a number from 1 on; got {said[:80]!r}; name another, or leave it out"
        )
    return int(said)


def by_its_name(path: str, file_format: str) -> str:
    """The cure for a file that is not of the format as which it is read: the one that its name says; else empty."""
    try:
        named = format_of(path.rpartition("/")[2])
    except UnsupportedFeatureError:
        return ""
    return (
        f"its name says {_CALLED[named]}: say {Cure('argument', 'format', named)}"
        if named and named != file_format
        else ""
    )


_CALLED = {"parquet": "Parquet", "csv": "CSV", "json": "JSON"}
