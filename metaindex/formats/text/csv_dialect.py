"""Dialect of a CSV file: the options of Spark's reader, and what ends its lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metaindex.core import ScanError, one_line
from metaindex.formats.files.options import MOST_COLUMNS, most_columns


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """The options of Spark's reader; `quote`, `escape` and `comment` may be empty: none."""

    sep: str = ","
    quote: str = '"'
    escape: str = "\\"
    comment: str = ""
    header: bool = False
    null_value: str = ""
    empty_value: str = ""
    trim_left: bool = False
    trim_right: bool = False
    max_columns: int = MOST_COLUMNS

    @classmethod
    def of(cls, given: Mapping[str, str]) -> CsvDialect:
        def single(name: str, default: str) -> str:
            value = {"\\t": "\t", "\\0": "\0", "\x00": ""}.get(given.get(name, default), given.get(name, default))
            if len(value) > 1 or not value.isascii() or value in ("\r", "\n"):
                raise ScanError.for_spark(
                    f"{name} of CSV files is one ASCII character; the table has '{one_line(value)}'"
                )
            return value

        sep = single("sep" if "sep" in given else "delimiter", ",")
        if not sep:
            raise ScanError("sep of CSV files is one character; it is empty; name one")
        quote, escape, comment = single("quote", '"'), single("escape", "\\"), single("comment", "")
        if sep in (quote, escape, comment) or (quote and quote == comment):
            told = [f"'{one_line(said)}'" for said in (sep, quote, escape, comment)]
            raise ScanError.for_spark(
                "a character of CSV files means one thing, but that quotes may be escaped by quotes; the table has sep"
                f" {told[0]}, quote {told[1]}, escape {told[2]} and comment {told[3]}"
            )
        return cls(
            sep=sep,
            quote=quote,
            escape=escape,
            comment=comment,
            header=given.get("header", "false").lower() == "true",
            null_value=given.get("nullvalue", ""),
            empty_value=given.get("emptyvalue", ""),
            trim_left=given.get("ignoreleadingwhitespace", "false").lower() == "true",
            trim_right=given.get("ignoretrailingwhitespace", "false").lower() == "true",
            max_columns=most_columns(given),
        )


def one_line_end(data: bytes, where: str) -> bytes:
    r"""A multiLine file with \n at the end of its lines. Spark takes the first line end of a file, in quotes or not,
    for the end of all its lines; the others are characters like any other."""
    at = data.find(b"\r")
    if at < 0 or 0 <= data.find(b"\n") < at:
        return data
    if at == len(data) - 1 or (at == 0 and data[1:2] != b"\n"):
        raise ScanError.for_spark(
            f"with multiLine the first line end says how all lines end; {where} begins with a \\r, or has but one, at"
            " its end"
        )
    end = b"\r\n" if data[at + 1 : at + 2] == b"\n" else b"\r"
    if data.count(b"\n") != (data.count(b"\r\n") if len(end) == 2 else 0):
        raise ScanError.for_spark(
            f"with multiLine the lines of a file end alike; {where} ends lines with {end!r} and with b'\\n'"
        )
    return data.replace(end, b"\n")
