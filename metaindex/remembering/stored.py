"""What is remembered, as bytes: `_remembered/<ms>-<random>.filters` beside the indexes of a table, never changed.

    magic      8 bytes    MIFILTR1
    sections, one a filter:
      key      16 bytes   see `key`
      files    u32        how many
      ids      16 bytes each, in ascending order, each once
      groups   u16 each   row groups of the file
      bits                of each file ceil(groups / 8) bytes, the first row group in the lowest bit: may a row match?
    digest     32 bytes   SHA-256 of all before it; with a seal key, HMAC-SHA256

Integers are little-endian. Nothing is unpacked: what a reader holds is as large as what it read.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import struct
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from metaindex.errors import DamagedIndexError
from metaindex.expressions.records import dataclass

from .key import KEY_BYTES

FOLDER: Final = "_remembered"
"""No index may be called so, and engines pass over it."""
MOST_BYTES: Final = 8 << 20
"""Of an object."""
MOST_SECTIONS: Final = 2_000
"""Of an object: each takes a reader some hundred bytes more than it has."""
MOST_GROUPS: Final = 4096
"""Of a file that is remembered."""

Ids = npt.NDArray[np.void]
ID: Final = np.dtype("V16")

_MAGIC: Final = b"MIFILTR1"
_NAME: Final = re.compile(r"(\d{14})-[0-9a-f]{16}\.filters\Z")
_HEAD: Final = struct.Struct(f"<{KEY_BYTES}sI")


@dataclass(frozen=True, slots=True)
class Noted:
    """One filter over one file: its row groups, packed, in which a row may match."""

    key: bytes
    file: bytes
    groups: int
    bits: bytes

    @classmethod
    def of(cls, key: bytes, file: bytes, may: npt.NDArray[np.bool_]) -> Noted:
        return cls(key, file, len(may), np.packbits(may, bitorder="little").tobytes())


@dataclass(frozen=True, slots=True)
class FilterSection:
    """What one object says of one filter: `ids` of files, ascending; of each its row groups, where its bits begin, and
    whether none of them is set."""

    key: bytes
    ids: Ids
    groups: npt.NDArray[np.uint16]
    starts: npt.NDArray[np.int64]
    bits: bytes
    empty: npt.NDArray[np.bool_]

    @property
    def size_bytes(self) -> int:
        return _HEAD.size + len(self.ids) * 18 + len(self.bits)

    def may(self, place: int) -> npt.NDArray[np.bool_]:
        """Of each row group of a file: may a row match?"""
        groups, start = int(self.groups[place]), int(self.starts[place])
        raw = np.frombuffer(self.bits, np.uint8, (groups + 7) // 8, start)
        return np.unpackbits(raw, count=groups, bitorder="little").astype(np.bool_)

    def noted(self) -> list[Noted]:
        ids = self.ids.tobytes()
        widths = (self.groups.astype(np.int64) + 7) // 8
        return [
            Noted(self.key, ids[16 * at : 16 * at + 16], int(groups), self.bits[start : start + width])
            for at, (groups, start, width) in enumerate(
                zip(self.groups.tolist(), self.starts.tolist(), widths.tolist(), strict=True)
            )
        ]


def sections(rows: Iterable[Noted]) -> list[FilterSection]:
    """By filter. Of a file that is said twice both are true: it has the bits that both have, where they count its row
    groups alike; else the one said last."""
    by_key: dict[bytes, dict[bytes, Noted]] = {}
    for row in rows:
        files = by_key.setdefault(row.key, {})
        before = files.get(row.file)
        if before is not None and before.groups == row.groups:
            both = bytes(a & b for a, b in zip(before.bits, row.bits, strict=True))
            row = Noted(row.key, row.file, row.groups, both)
        files[row.file] = row
    out = []
    for key, files in by_key.items():
        each = [files[file] for file in sorted(files)]
        ids = np.frombuffer(b"".join(row.file for row in each), ID)
        groups = np.array([row.groups for row in each], np.uint16)
        out.append(_section(key, ids, groups, b"".join(row.bits for row in each)))
    return out


def _section(key: bytes, ids: Ids, groups: npt.NDArray[np.uint16], bits: bytes) -> FilterSection:
    widths = (groups.astype(np.int64) + 7) // 8
    ends = np.cumsum(widths)
    starts = ends - widths
    total = np.concatenate(([0], np.cumsum(np.frombuffer(bits, np.uint8) != 0)))
    return FilterSection(key, ids, groups, starts, bits, total[ends] == total[starts])


def encoded(some: Sequence[FilterSection], secret: bytes | None) -> bytes:
    """An object of these."""
    parts = [_MAGIC]
    for each in some:
        parts += (_HEAD.pack(each.key, len(each.ids)), each.ids.tobytes())
        parts += (each.groups.astype("<u2").tobytes(), each.bits)
    data = b"".join(parts)
    return data + _digest(data, secret)


def decoded(data: bytes, where: str, secret: bytes | None) -> list[FilterSection]:
    """What an object says. DamagedIndexError for what is none, or is not sealed with the key where there is one."""
    if len(data) > MOST_BYTES or not data.startswith(_MAGIC) or len(data) < len(_MAGIC) + 32:
        raise _damaged(where, "is none")
    body, digest = data[:-32], data[-32:]
    if not hmac.compare_digest(digest, _digest(body, secret)):
        raise _damaged(where, "does not match its digest" if secret is None else "has not the seal of the key")
    out: list[FilterSection] = []
    at = len(_MAGIC)
    while at < len(body):
        if at + _HEAD.size > len(body):
            raise _damaged(where, "ends in the middle")
        key, count = _HEAD.unpack_from(body, at)
        at += _HEAD.size
        if not count or len(out) == MOST_SECTIONS:
            raise _damaged(where, "has more filters than an object has" if count else "has a filter of no file")
        if count * 18 > len(body) - at:
            raise _damaged(where, "counts more files than it has")
        ids = np.frombuffer(body, ID, count, at)
        groups = np.frombuffer(body, "<u2", count, at + 16 * count).astype(np.uint16)
        at += 18 * count
        width = int(((groups.astype(np.int64) + 7) // 8).sum())
        if width > len(body) - at or int(groups.max(initial=0)) > MOST_GROUPS:
            raise _damaged(where, "has fewer bits than it counts")
        out.append(_section(key, ids, groups, body[at : at + width]))
        at += width
    return out


def time_ms(path: str) -> int | None:
    """When the newest of it was written down; None for another name."""
    named = _NAME.match(path)
    return None if named is None else int(named[1])


def new_name(ms: int) -> str:
    return f"{ms:014d}-{secrets.token_hex(8)}.filters"


def _digest(data: bytes, secret: bytes | None) -> bytes:
    return hashlib.sha256(data).digest() if secret is None else hmac.digest(secret, data, "sha256")


def _damaged(where: str, why: str) -> DamagedIndexError:
    return DamagedIndexError(f"remembered filters are an object of this project; {where!r} {why}; remove it")
