"""CSV and JSON lines as Spark reads them in its PERMISSIVE mode: text in, the table's columns out.

An option that is not honoured here is refused by name, unless it has no say in what is read.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
from collections.abc import Iterator, Mapping
from typing import IO, cast

import pyarrow as pa

from expressions.errors import CorruptTableError
from formats.model import Field, Schema
from metaindex.errors import ScanError

from .csv_rows import CsvDialect, CsvRows
from .json_rows import JsonRows
from .values import Values

_BLOCK_BYTES = 16 * 1024 * 1024
_Part = tuple[int, int, list[pa.Array]]

# Options with the only value that is honoured; an option with another value is refused.
_FIXED = {
    "mode": "permissive",
    "multiline": "false",
    "enforceschema": "true",
    "columnnameofcorruptrecord": "_corrupt_record",
    "locale": "en-us",
    "dateformat": "yyyy-mm-dd",
    "unescapedquotehandling": "stop_at_delimiter",
    "primitivesasstring": "false",
    "allowcomments": "false",
    "allowunquotedfieldnames": "false",
    "allowsinglequotes": "true",
    "allownonnumericnumbers": "true",
    "allownumericleadingzeros": "false",
    "allowbackslashescapinganycharacter": "false",
    "allowunquotedcontrolchars": "false",
}
# Honoured by the dialect and the values, or without a say in the rows of a file once the schema is known.
_KNOWN = {
    *("file_format", "sep", "delimiter", "quote", "escape", "header", "nullvalue", "emptyvalue", "nanvalue", "positiveinf", "negativeinf", "encoding"),
    *("charset", "ignoreleadingwhitespace", "ignoretrailingwhitespace", "timezone", "comment", "lineSep".lower(), "compression"),
    *("inferschema", "samplingratio", "prefersdate", "prefersdecimal", "dropfieldifallnull", "maxcolumns", "maxcharspercolumn", "path", "basepath"),
    *("recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter", "ignorecorruptfiles", "ignoremissingfiles", "mergeschema", "partitions"),
    *("schema", "datetimerebasemode", "columnpruning", "infertimestampntz", "partition_types", "partition_columns"),
}  # fmt: skip


class TextReader:
    """Reads the CSV or JSON files of one snapshot."""

    def __init__(self, file_format: str, options: Mapping[str, object], schema: Schema) -> None:
        given = {
            k.lower(): str(v) if not isinstance(v, bool) else str(v).lower()
            for k, v in options.items()
            if v is not None
        }
        for name, value in given.items():
            if name in _FIXED:
                if value.lower() != _FIXED[name]:
                    raise ScanError(
                        f"{file_format} files are read with {name} {_FIXED[name]!r}; the table has {value!r}; read with .to_spark(spark)"
                    )
            elif name not in _KNOWN:
                raise ScanError(
                    f"an option of {file_format} files is honoured or refused; {name!r} ({value!r}) is not known; read with .to_spark(spark)"
                )
        if any(f.name == "_corrupt_record" for f in schema):
            raise ScanError(
                "the corrupt records of a table are shown by Spark only; its schema has the column '_corrupt_record'; read with .to_spark(spark)"
            )
        self._encoding = _encoding(given.get("encoding", given.get("charset", "utf-8")))
        if given.get("linesep", "\n") not in ("\n",):
            raise ScanError(
                f"lines end with \\n, \\r or \\r\\n; the table has lineSep {given['linesep']!r}; read with .to_spark(spark)"
            )
        values = Values(
            json=file_format == "json",
            zone=given.get("timezone", "UTC"),
            nan=given.get("nanvalue", "NaN"),
            positive_inf=given.get("positiveinf", "Inf"),
            negative_inf=given.get("negativeinf", "-Inf"),
            strict_dates="dateformat" in given,
            timestamp_format=given.get("timestampformat"),
        )
        self._rows: CsvRows | JsonRows
        in_file = tuple(f for f in schema if not f.partition)
        if file_format == "csv":
            self._rows = CsvRows(CsvDialect.of(given), in_file, values)
        else:
            self._rows = JsonRows(values)

    def read(self, source: pa.NativeFile, path: str, fields: tuple[Field, ...], where: str) -> Iterator[_Part]:
        first = 0
        head = True
        for block in _blocks(_decompressed(source, path, where), where):
            if head and block.startswith(codecs.BOM_UTF8):
                block = block[3:]
            if self._encoding != "utf-8":
                block = block.decode(self._encoding, "replace").encode()
            count, arrays, head = self._rows.parse(block, fields, where, head)
            if count:
                yield first, count, arrays
            first += count


def _encoding(name: str) -> str:
    try:
        known = codecs.lookup(name).name
        plain = bytes(range(128)).decode(known) == "".join(map(chr, range(128)))
    except (LookupError, UnicodeError):
        plain = False
    if not plain or known in ("utf-7", "utf-8-sig"):
        raise ScanError(
            f"text files are read in UTF-8 and in encodings of one byte that hold ASCII; the table has {name!r}; read with .to_spark(spark)"
        )
    return known


def _decompressed(source: pa.NativeFile, path: str, where: str) -> IO[bytes]:
    """By the file's ending, as Hadoop does."""
    name = path.lower()
    for suffix in (".deflate", ".snappy", ".lz4", ".lzo", ".passthrough"):
        if name.endswith(suffix):
            raise ScanError(
                f"text files may be plain, gz, bz2 or zst; {where} is {suffix[1:]}; read with .to_spark(spark)"
            )
    if name.endswith(".gz"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=cast(IO[bytes], source)))
    if name.endswith(".bz2"):
        return cast(IO[bytes], bz2.BZ2File(cast(IO[bytes], source)))
    if name.endswith((".zst", ".zstd")):
        return cast(IO[bytes], pa.CompressedInputStream(source, "zstd"))
    return cast(IO[bytes], source)


def _blocks(stream: IO[bytes], where: str) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time. A file with no \\n in it is one block."""
    rest: list[bytes] = []
    try:
        while piece := stream.read(_BLOCK_BYTES):
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join((*rest, piece[:cut]))
                rest = [piece[cut:]] if cut < len(piece) else []
            else:
                rest.append(piece)
    except (OSError, EOFError) as error:
        raise CorruptTableError(
            f"a data file must be whole; {where} cannot be unpacked ({error}); restore it, or remove it from the table"
        ) from error
    if rest:
        yield b"".join(rest)
