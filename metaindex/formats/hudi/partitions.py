"""Partition values: texts of the folders, one for each partition column.

Spark reads a partition column from the path, whatever the file holds; so it is here. A path of which two readers may
read two things, or that spells a value in an unusual way, is refused.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from urllib.parse import unquote

import pyarrow as pa

from metaindex.core import UnsupportedFeatureError
from metaindex.formats.model import Schema

from .properties import TableConfig

_NULL = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"(0|-?[1-9]\d{0,18})\Z", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
_ENCODED = re.compile(r"(?:[^%]|%[0-7][0-9a-fA-F])*\Z")  # Hudi encodes no others, and reads each as one character


def partition_values(paths: Sequence[str], schema: Schema, config: TableConfig, table: str) -> list[pa.Array]:
    """Return of each partition column its text in each of these partitions. Raises UnsupportedFeatureError."""
    fields = [field for field in schema if field.partition]
    names = [field.name for field in fields]
    known: dict[str, list[str | None]] = {}
    for path in dict.fromkeys(paths):
        known[path] = texts = _texts(path, names, config, table)
        for field, text in zip(fields, texts, strict=True):
            if text is None and "COMPLEX" in config.generator:
                raise _refused(table, path, "by it some releases of Hudi read NULL and others what is in the file")
            if text is not None and not _is_plain(text, field.type):
                raise _refused(table, path, f"{text!r} is no usual way to write the {field.type} of {field.name!r}")
    return [pa.array([known[path][at] for path in paths], pa.string()) for at in range(len(fields))]


def _texts(path: str, names: Sequence[str], config: TableConfig, table: str) -> list[str | None]:
    if not names:
        if path:
            raise _refused(table, path, "the table has no partition columns")
        return []
    parts = path.split("/")
    if len(parts) != len(names):
        if len(names) > 1:
            raise _refused(table, path, f"the table has {len(names)} partition columns")
        parts = [path]  # of one column: all of it, which is how dates of three folders are written
    return [_value(part, name, path, config, table) for part, name in zip(parts, names, strict=True)]


def _value(part: str, name: str, path: str, config: TableConfig, table: str) -> str | None:
    if config.hive_style:
        if not part.startswith(f"{name}="):
            raise _refused(table, path, f"it should begin with {name + '='!r}")
        part = part[len(name) + 1 :]
    elif "=" in part:
        raise _refused(table, path, "it holds a '=', and the table names no columns in paths")
    if "%" in part:
        if not config.encoded or not _ENCODED.match(part):
            raise _refused(table, path, "it holds a '%', and the table does not encode paths so")
        part = unquote(part)
        if not part.isprintable():
            raise _refused(table, path, "it holds what is no text")
    if not part:
        raise _refused(table, path, f"it has no value of {name!r}")
    return None if part == _NULL else part


def _is_plain(text: str, type_: pa.DataType) -> bool:
    """Return whether a text is the one that the value is written as, so that every reader reads the value again."""
    is_ = pa.types
    if is_.is_string(type_):
        return True
    if is_.is_boolean(type_):
        return text in ("true", "false")
    if is_.is_integer(type_):
        return _WHOLE.match(text) is not None and -(1 << type_.bit_width - 1) <= int(text) < 1 << type_.bit_width - 1
    if is_.is_date(type_) and _DAY.match(text):
        try:
            dt.date.fromisoformat(text)
        except ValueError:
            return False
        return True
    return False


def _refused(table: str, path: str, why: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"the partition columns of a Hudi table are read from its paths; {table} has {path[:200]!r}: {why}; read it"
        " with Hudi"
    )
