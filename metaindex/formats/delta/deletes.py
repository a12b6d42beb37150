"""The deletion vector of one file: inline in the log, in a file of the table, or in a file somewhere else."""

from __future__ import annotations

import uuid

from pyroaring import BitMap64

from metaindex.core import CorruptTableError
from metaindex.formats.damage import as_damage, must_exist
from metaindex.formats.deletion_vectors import decode_blob, decode_framed, decode_z85
from metaindex.storage import Storage

from .paths import decoded

_ID_LENGTH = 20  # a UUID in base 85
_FRAME = 8  # bytes around a stored vector: its length and its checksum
_HEADER = 1  # a deletion vector file begins with its format's version


def read_positions(
    storage: Storage, where: str, kind: str, path: str, offset: int | None, size: int, cardinality: int | None
) -> BitMap64:
    """Positions of the rows deleted. The five last are the descriptor's fields."""
    stored = stored_frame(where, kind, path, offset, size)
    if stored is None:
        blob = decode_z85(path, where)
        if len(blob) < size:
            raise CorruptTableError(f"{where}: an inline deletion vector of {size} bytes holds {len(blob)}")
        return decode_blob(blob[:size], where, cardinality)
    file, start, length = stored
    with must_exist(f"{where}: the deletion vector file {file} is not there; was the table vacuumed?"):
        frame = storage.read(file, start, length)
    return decode_framed(frame, f"{where}, {file}", size, cardinality)


def stored_frame(where: str, kind: str, path: str, offset: int | None, size: int) -> tuple[str, int, int] | None:
    """Return the file, the offset and the length of a framed vector; None for one in the log."""
    match kind:
        case "i":
            return None
        case "u":
            file = relative_file(path, where)
        case "p":
            file = _below(path, where)
        case _:
            raise CorruptTableError(f"{where}: deletion vectors are stored as i, u or p; this one as {kind!r}")
    start = _HEADER if offset is None else offset
    if start < 0 or size < 0:
        raise CorruptTableError(f"{where}: a deletion vector has an offset and a size; this one {start} and {size}")
    return file, start, size + _FRAME


def relative_file(text: str, where: str) -> str:
    """`prefix` and a UUID in base 85, as a path below the table."""
    prefix, coded = text[:-_ID_LENGTH], text[-_ID_LENGTH:]
    if len(coded) != _ID_LENGTH:
        raise CorruptTableError(f"{where}: a deletion vector file is named by a UUID in base 85; {text!r} is none")
    name = f"deletion_vector_{uuid.UUID(bytes=decode_z85(coded, where))}.bin"
    return _below(f"{prefix}/{name}", where) if prefix else name


def _below(path: str, where: str) -> str:
    with as_damage(f"{where}: ", ""):
        return decoded(path)
