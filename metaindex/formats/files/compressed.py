"""Compressed text files, recognized by their names' endings as in Hadoop: gzip, bzip2 and Zstandard, which Arrow
unpacks. Members may follow each other; anything else after the last one is damage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final, cast

import pyarrow as pa

from metaindex.core import CorruptTableError, StorageError, UnsupportedFeatureError, first_line

from . import only_spark

_CODECS: Final = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "zstd": "zstd"}
SUFFIXES: Final = (*_CODECS, *only_spark.SUFFIXES)
"""Of files that may be a table's."""
REFUSED: Final = ("lz4", "lzo", "xz", "zip", "passthrough")


def open_text(source: pa.NativeFile, path: str) -> IO[bytes]:
    """The unpacked text, to be read `whole`."""
    suffix = path.lower().rpartition(".")[2]
    if suffix in REFUSED or suffix in only_spark.SUFFIXES:
        raise UnsupportedFeatureError(not_unpacked(path))
    codec = _CODECS.get(suffix)
    return cast(IO[bytes], source if codec is None else pa.CompressedInputStream(source, codec))


@contextmanager
def whole(path: str) -> Iterator[None]:
    """CorruptTableError where reading shows that a file is damaged."""
    try:
        yield
    except StorageError:
        raise  # a store that does not answer is no damage
    except (OSError, pa.ArrowException) as error:
        raise CorruptTableError(
            f"a data file must be whole; cannot read {path!r}: {first_line(error)}; write it again, or remove it"
        ) from error


def not_unpacked(path: str) -> str:
    """The rule, the fact and the cure of a file that is not unpacked here."""
    suffix = path.lower().rpartition(".")[2]
    by_spark = f", {only_spark.by_spark()}" if suffix in only_spark.SUFFIXES else ""
    return (
        f"text files are read plain or compressed as {', '.join(_CODECS)}; {path!r} is {suffix}; compress it"
        f" anew{by_spark}"
    )
