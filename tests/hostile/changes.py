"""What may become of an object: its bytes turned, cut, emptied, doubled; a value of its JSON of another type, too
large, nested beyond any stack or left out; and what is no file in its place. All of them one after the other, or one at
random.
"""

import copy
import gzip
import json
import os
import random
import socket
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from metaindex.index.log.sealed import to_text

DEEP: Final = 100_000
ABSENT: Final = "@absent@"
_DEEP, _HUGE = "@deep@", "@huge@"
_MOST_PLACES = 100_000
_VALUES: tuple[Any, ...] = (None, -1, 2**70, "x", [], {}, True, 1.5, [[]], "\ud800")
ATOMS: tuple[object, ...] = (
    None, True, False, 0, 1, -1, 7, 2**31 - 1, 2**31, 2**32, 2**62, 2**63, -(2**63) - 1, 10**30, 0.5, -1e308, "", "x",
    "/etc/passwd", "../../x", "0",
    "-1", "AAAA", "OjAAAAEAAAAAAAAAEAAAAP//", [], {}, [1], ["x"], {"x": 1}, "column_stats", "values", "bloom_filters",
    "covering", "ACTIVE", "int64", "string",
    "decimal128(999999, 3)", "x" * 100_000, list(range(10_000)),
)  # fmt: skip


# Bytes ----------------------------------------------------------------------------------------------------------------


def turned(data: bytes, at: float, by: int = 1) -> bytes:
    """With the bits of `by` turned over in one byte; a fraction is one of the length."""
    out = bytearray(data)
    out[int(len(out) * at) if isinstance(at, float) else at] ^= by
    return bytes(out)


def turn(path: Path, at: float, by: int = 1) -> None:
    path.write_bytes(turned(path.read_bytes(), at, by))


DAMAGES: Final[dict[str, Callable[[bytes], bytes | None]]] = {
    "removed": lambda data: None,
    "truncated": lambda data: data[: len(data) // 2],
    "emptied": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "flipped_early": lambda data: turned(data, 0.2, 0xFF),
    "flipped": lambda data: turned(data, 0.37, 0x10),
    "flipped_late": lambda data: turned(data, 0.9, 0xFF),
}


def of_bytes(whole: bytes) -> Iterator[tuple[str, bytes | None]]:
    yield "removed", None
    for keep in (0, 1, 4, len(whole) // 3, len(whole) // 2, len(whole) - 20, len(whole) - 1):
        if 0 <= keep < len(whole):
            yield f"cut to {keep}", whole[:keep]
    for at in range(0, len(whole), max(1, len(whole) // 12)):
        yield f"bit turned at {at}", turned(whole, at, 1 << at % 8)
    yield "doubled", whole * 2
    yield "of zeros", bytes(len(whole))
    yield "of other bytes", bytes(range(256)) * 4
    yield "deep lists", b"[" * DEEP
    yield "deep objects", b'{"a":' * DEEP
    yield "deep and closed", b"[" * DEEP + b"]" * DEEP
    yield "deep gzip", gzip.compress(b"[" * DEEP)


def random_bytes(chance: random.Random, data: bytes, others: Callable[[], tuple[str, bytes]]) -> tuple[bytes, str]:
    """Other bytes, and how they came to be. `others` gives an object of another name."""
    at, size = chance.randrange(len(data) + 1), chance.choice([1, 2, 8, 64, 1000])
    out = bytearray(data)
    match chance.randrange(9):
        case 0 | 1 if data:
            out[at % len(data)] ^= 1 << chance.randrange(8)
            said = "a bit turned"
        case 2 if data:
            out[at % len(data)] = chance.randrange(256)
            said = "a byte set"
        case 3:
            del out[at : at + size]
            said = f"{size} bytes cut out"
        case 4:
            out[at:at] = chance.randbytes(size)
            said = f"{size} bytes put in"
        case 5:
            out[at:at] = out[at : at + size]
            said = f"{size} bytes repeated"
        case 6:
            del out[at:]
            said = "cut off"
        case 7:
            name, other = others()
            out = bytearray(other)
            said = f"{name} in its place"
        case _:
            out[at : at + size] = bytes(len(out[at : at + size]))
            said = f"{size} bytes of nothing"
    return bytes(out), f"{said} at {at}"


# JSON -----------------------------------------------------------------------------------------------------------------


def of_json(whole: bytes, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Every change of one value, of one document or of one a line."""
    if suffix not in (".json", ".crc", "") or whole[:1] not in (b"{", b"["):
        return
    try:
        lines = [json.loads(whole)]
    except ValueError:
        lines = [json.loads(line) for line in whole.splitlines()]
    for way in [w for w in places(lines) if len(w) > 1]:
        for value in (*_VALUES, ABSENT):
            if value != ABSENT or isinstance(inside(lines, way[:-1]), dict):
                changed = replaced(copy.deepcopy(lines), way, value)
                said = "left out" if value == ABSENT else repr(value)
                yield f"{'.'.join(map(str, way))} {said}", "\n".join(map(json.dumps, changed)).encode()
    deep = json.dumps(lines[0])
    yield "deep inside", (deep[:-1] + ',"zzz":' + "[" * DEEP + "]" * DEEP + "}").encode()


def random_json(chance: random.Random, value: Any) -> tuple[Any, str]:
    """The JSON value, changed in some places, and in which; as bytes where what it holds twice is no value."""
    said = ""
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        ways = places(value)
        way = chance.choice(ways)
        new = _random_value(chance, value, ways, way)
        said += f": {'.'.join(map(str, way))} = {str(new)[:40]}"
        value = replaced(value, way, new)
    if chance.random() < 0.05 and isinstance(value, dict):
        return b'{"format_version": 3, ' + to_text(value)[1:], f"{said}: a field twice"
    return value, said


def _random_value(chance: random.Random, value: object, ways: list[tuple[Any, ...]], way: tuple[Any, ...]) -> object:
    held = inside(value, way)
    match chance.randrange(8):
        case 0:
            return ABSENT
        case 1 | 2:
            return copy.deepcopy(chance.choice(ATOMS))  # one of them may be put into another
        case 3:
            return copy.deepcopy(inside(value, chance.choice(ways)))
        case 4 if isinstance(held, list):
            return held * min(chance.choice([0, 2, 300]), _MOST_PLACES // len(places(held)))
        case 4 if isinstance(held, dict):
            return {**held, chance.choice(["surprise", "", "run"]): chance.choice(ATOMS)}
        case 5 if isinstance(held, int):
            return held + chance.choice([-1, 1, 7, -held, 10**6, 2**31, 2**32])
        case 6 if isinstance(held, str) and held:
            at = chance.randrange(len(held))
            return held[:at] + chance.choice(["", "x", "/", "..", "\ud800", "A", held]) + held[at + 1 :]
        case 7:
            return chance.choice([_DEEP, _HUGE, [held], {"x": held}])
        case _:
            return copy.deepcopy(chance.choice(ATOMS))  # one of them may be put into another


def as_bytes(changed: Any) -> bytes:
    """A JSON value that was changed at random."""
    if isinstance(changed, bytes):
        return changed
    try:
        text = to_text(changed)
    except ValueError:
        try:
            text = json.dumps(changed).encode()
        except ValueError:  # repeated lists share what they hold: put into itself, it has no end
            text = b"[]"
    text = text.replace(f'"{_DEEP}"'.encode(), b"[" * 50_000 + b"]" * 50_000)
    return text.replace(f'"{_HUGE}"'.encode(), b"9" * 100_000)


def places(value: object) -> list[tuple[Any, ...]]:
    """The way to a value and to the values inside, the outer ones first, and no more than so many: what was repeated
    and put into itself has more than memory can hold."""
    found: list[tuple[Any, ...]] = []
    left: deque[tuple[object, tuple[Any, ...]]] = deque([(value, ())])
    while left and len(found) < _MOST_PLACES:
        one, way = left.popleft()
        found.append(way)
        names = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        left.extend((inner, (*way, name)) for name, inner in islice(names, _MOST_PLACES - len(found)))
    return found


def inside(value: Any, way: tuple[Any, ...]) -> Any:
    for step in way:
        value = value[step]
    return value


def replaced(value: Any, way: tuple[Any, ...], new: object) -> Any:
    if not way:
        return None if new == ABSENT else new
    above = inside(value, way[:-1])
    if new == ABSENT:
        del above[way[-1]]
    else:
        above[way[-1]] = new
    return value


# What is no file ------------------------------------------------------------------------------------------------------


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def nowhere(path: Path) -> None:
    path.symlink_to(path)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(200 << 30)


def socket_(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(path.parent)  # its path may be longer than the name of a socket
        try:
            one.bind(path.name)
        finally:
            os.chdir(here)


def full_folder(path: Path) -> None:
    path.mkdir()
    (path / "x").write_bytes(b"x")


def deep(path: Path) -> None:
    path.write_bytes(b"[" * 100_000)


STRANGE: Final = {one.__name__: one for one in (pipe, endless, nowhere, socket_, sparse, full_folder, deep)}
