"""Tables that are broken or hostile, made of real ones by systematic change of one object of their metadata.

Every object is cut, emptied, removed, replaced by its neighbours and by an object of another table, has bytes turned,
is nested beyond any stack; every value of those that are JSON is replaced by values of other types and by numbers that
are too large, and every field is left out.
"""

from __future__ import annotations

import copy
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

DEEP = 100_000
_VALUES: tuple[Any, ...] = (None, -1, 2**70, "x", [], {}, True, 1.5, [[]], "\ud800")


@dataclass(frozen=True)
class RealTable:
    """A table to be changed. `metadata`: the objects that say what it is; `own`: its rows as the format's own reader
    gives them; `foreign`: an object of another table, by suffix."""

    root: Path
    metadata: tuple[Path, ...]
    own: Callable[[], pa.Table]
    foreign: dict[str, bytes]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """One object of a table, and what becomes of it (None: it is removed)."""

    name: str
    path: Path
    data: bytes | None


def changes(table: RealTable, *, every: int = 1) -> Iterator[Change]:
    """`every`: of the changes of single values in JSON, one of so many, always the same."""
    for path in table.metadata:
        whole = path.read_bytes()
        name = path.relative_to(table.root).as_posix()
        for change, data in _of_bytes(whole):
            yield Change(f"{name} {change}", path, data)
        for other in table.metadata:
            if other != path and other.suffix == path.suffix:
                yield Change(f"{name} replaced by {other.name}", path, other.read_bytes())
        if path.suffix in table.foreign:
            yield Change(f"{name} of another table", path, table.foreign[path.suffix])
        for change, data in _of_json(whole, path.suffix):
            if zlib.crc32(f"{name} {change}".encode()) % every == 0:
                yield Change(f"{name} {change}", path, data)


def _of_bytes(whole: bytes) -> Iterator[tuple[str, bytes | None]]:
    yield "removed", None
    for keep in (0, 1, 4, len(whole) // 3, len(whole) // 2, len(whole) - 20, len(whole) - 1):
        if 0 <= keep < len(whole):
            yield f"cut to {keep}", whole[:keep]
    for at in range(0, len(whole), max(1, len(whole) // 12)):
        yield f"bit turned at {at}", whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
    yield "doubled", whole * 2
    yield "of zeros", bytes(len(whole))
    yield "of other bytes", bytes(range(256)) * 4
    yield "deep lists", b"[" * DEEP
    yield "deep objects", b'{"a":' * DEEP
    yield "deep and closed", b"[" * DEEP + b"]" * DEEP
    yield "deep gzip", gzip.compress(b"[" * DEEP)


def _of_json(whole: bytes, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Of one document, or of one a line."""
    if suffix not in (".json", ".crc", "") or whole[:1] not in (b"{", b"["):
        return
    try:
        lines = [json.loads(whole)]
    except ValueError:
        lines = [json.loads(line) for line in whole.splitlines()]
    for way in [w for w in _ways(lines) if len(w) > 1]:
        for value in (*_VALUES, _ABSENT):
            changed = copy.deepcopy(lines)
            holder: Any = changed
            for key in way[:-1]:
                holder = holder[key]
            if value is not _ABSENT:
                holder[way[-1]] = value
            elif isinstance(holder, dict):
                del holder[way[-1]]
            else:
                continue
            said = "left out" if value is _ABSENT else repr(value)
            yield f"{'.'.join(map(str, way))} {said}", "\n".join(map(json.dumps, changed)).encode()
    deep = json.dumps(lines[0])
    yield "deep inside", (deep[:-1] + ',"zzz":' + "[" * DEEP + "]" * DEEP + "}").encode()


_ABSENT = object()


def _ways(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [above, *(way for key, one in inside for way in _ways(one, (*above, key)))]
