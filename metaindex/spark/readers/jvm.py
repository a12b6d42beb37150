"""The driver's JVM in few calls: a call through py4j costs a tenth of a millisecond, so lists of files cross as one
text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import ScanError, SparkDriver, Vector, interrupts_first
from metaindex.formats import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INSTANCES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()  # by gateway, of which a JVM has one
_SEPARATOR = "\0"  # no store has it in a name


def java_list(jvm: Any, texts: Sequence[str]) -> Any:
    """A java.util.List of the texts, in one call where Spark has what that needs."""
    if not texts or "" in texts or any(_SEPARATOR in text for text in texts):
        return list(texts)
    from py4j.protocol import Py4JError

    try:
        with interrupts_first():
            return jvm.com.google.common.base.Splitter.on(_SEPARATOR).splitToList(_SEPARATOR.join(texts))
    except Py4JError:  # Spark 3.5 has an older Guava without it
        return list(texts)


def compiled(spark: SparkSession, name: str) -> Any:
    """The one instance a JVM of the class of `java/<name>.java`."""
    from py4j.protocol import Py4JJavaError

    known = _INSTANCES.setdefault(SparkDriver(spark).gateway, {})
    try:
        with interrupts_first():
            if name not in known:
                known[name] = SparkDriver(spark).room_classes(__package__).new(name)
            return known[name]
    except Py4JJavaError as error:
        raise ScanError(
            f"Spark reads the kept files by the format's own jars, as metaindex knows them; {name}.java does not fit"
            " those of this session; start it with metaindex.spark.spark_session, or with the jars that it takes"
            f" ({error.java_exception})"
        ) from error


def counts(*values: int | npt.NDArray[np.integer[Any]]) -> bytes:
    """Numbers of 4 bytes, as Columns.java reads them."""
    return b"".join(np.asarray(value).astype(">i4").tobytes() for value in values)


def numbers(column: pa.Array | pa.ChunkedArray) -> bytes:
    """Encode a column of whole numbers, as Columns.java reads them."""
    values = Vector(column).array.cast(pa.int64())
    valid = Vector(values).valid
    integers = Vector(values).items(np.int64)
    return (integers if valid is None else np.where(valid, integers, np.iinfo(np.int64).min)).astype(">i8").tobytes()


def texts(column: pa.Array | pa.ChunkedArray) -> bytes:
    """Encode a column of strings, as Columns.java reads them."""
    values = Vector(column).array.cast(pa.string())
    valid = Vector(values).valid
    filled = values.fill_null("")
    offsets = np.frombuffer(filled.buffers()[1], np.int32, len(filled) + 1, filled.offset * 4)
    data = filled.buffers()[2]
    lengths = np.diff(offsets)
    said = b"" if data is None else data[int(offsets[0]) : int(offsets[-1])].to_pybytes()
    return counts(lengths if valid is None else np.where(valid, lengths, -1)) + said


def refuse_unlisted(snapshot: Snapshot, paths: Sequence[str]) -> None:
    if paths:
        raise ScanError(
            f"Spark must see the files that were kept; it does not list {snapshot.described(paths[0])}; open the table"
            " again"
        )
