"""Tells whether Spark wrote a Parquet file's days and times in the calendar that was used before 1582. Its own reader
shifts them back, others do not: no bound holds for both.

The keys of the footer decide, whoever wrote it: a file that another program rewrote keeps them, and Spark goes by them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

GREGORIAN_DAY: Final = -141_427
"""1582-10-15."""
GREGORIAN_MICROS: Final = -2_208_988_800_000_000
"""1900-01-01: from here on zones agree too."""
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_VERSION = b"org.apache.spark.version"
_MARKS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_SINCE = (3, 0)  # the calendar of today
_INT96_SINCE = (3, 1)


def in_older_calendar(keys: Mapping[bytes, bytes] | None, *, int96: bool = False) -> bool:
    """Return whether Spark shifts the file's values. `keys`: of its footer. `int96`: for 96-bit timestamps."""
    said = keys or {}
    if any(mark in said for mark in _MARKS):
        return True
    if _VERSION not in said:
        return False
    version = re.match(rb"(\d{1,9})\.(\d{1,9})", said[_VERSION])
    return version is None or (int(version[1]), int(version[2])) < (_INT96_SINCE if int96 else _SINCE)


def read_in_older_calendar(metadata: Any) -> bool:
    """Return whether Spark's reader, and ours, shifts dates or times of a file (pyarrow's FileMetaData)."""
    keys, schema = metadata.metadata, metadata.schema
    if in_older_calendar(keys):
        return True
    # Spark 3.0 still wrote timestamps of 96 bits so.
    return in_older_calendar(keys, int96=True) and any(
        schema.column(i).physical_type == "INT96" for i in range(len(schema))
    )


def may_be_in_older_calendar(metadata: Any, *, int96: bool = False) -> bool:
    """Return whether dates may be in the older calendar. True as well if the writer is Spark and its version is missing
    (pyarrow's FileMetaData): a session's setting decides then."""
    keys = metadata.metadata or {}
    unsaid = _VERSION not in keys and created_by(metadata).startswith("parquet-mr")
    return unsaid or in_older_calendar(keys, int96=int96)


def created_by(metadata: Any) -> str:
    """The writer that a footer names (pyarrow's FileMetaData); none where what it says is no text."""
    try:
        return metadata.created_by or ""
    except UnicodeDecodeError:
        return ""


def predates(values: pa.Array) -> bool:
    """Return whether one of the values is of the time in which the calendars differ; no other types do."""
    import pyarrow.compute as pc

    if pa.types.is_date32(values.type):
        early = pc.less(values.view(pa.int32()), GREGORIAN_DAY)
    elif pa.types.is_timestamp(values.type):
        # As numbers: a zone changes how an instant is shown, not what it is.
        early = pc.less(values.view(pa.int64()), GREGORIAN_MICROS // 10**6 * _PER_SECOND[values.type.unit])
    else:
        return False
    return bool(pc.any(early).as_py())
