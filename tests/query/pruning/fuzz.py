"""Changes stored objects of an index at random and asks the table: `python -m tests.query.pruning.fuzz FOLDER SEED
FIRST LAST`, run by `test_fuzz` as a child process, which can be waited for in vain and can die.

Every kind of object is changed: bytes turned, cut, put in, repeated, swapped with another object's; values of JSON
replaced by others, nested, repeated, left out; objects replaced by what is no file. In half of the mutations whatever
vouches for the object (the digest in the entry, the one in the manifest, the entry's own line) is made right again: the
object is then what a strange writer may have written.

    no exception          of any query, whatever was changed
    no wrong row          where what vouches for the object was left as it was
    an answer in time     the parent waits so long, and kills
"""

from __future__ import annotations

import copy
import faulthandler
import json
import os
import random
import resource
import shutil
import sys
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

import metaindex as mi
from metaindex.core import MetaIndexError
from metaindex.index import OperationLog
from metaindex.index.actions import records
from metaindex.index.actions.clean import trim
from metaindex.index.log import history
from metaindex.index.log.sealed import digest, seal, to_text
from tests.tables import FORMATS, Lake

INDEX = "all"
FILES, ROWS = 8, 6
PREDICATES = (
    "id = 23",
    "id >= 10 AND id < 20",
    "s = 'n0031'",
    "s IN ('n0002', 'n0040') OR f < 3",
    "id < 0",
    "s LIKE 'n001%'",
    "x IS NULL AND id > 30",
)
_MEMORY = 8 << 30
_DEEP = "@deep@"
_HUGE = "@huge@"
_MOST_PLACES = 100_000


def main() -> None:
    folder, seed, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    lake = FORMATS["delta"](folder) if not (folder / "lake").exists() else Lake(str(folder / "lake"), lambda _: None)
    if not (folder / "lake" / "_metaindex").exists():
        make(lake)
    fuzz = Fuzz(lake)
    for number in range(first, last):
        say({"begun": number})
        wrong = fuzz.one(random.Random(f"{seed} {number}"))
        say({"ended": number, "wrong": wrong, "what": fuzz.what, "resealed": fuzz.resealed})


def say(what: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def rows(number: int) -> pa.Table:
    ids = list(range(number * ROWS, number * ROWS + ROWS))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "s": [f"n{i:04d}" for i in ids],
            "f": [float(i) / 2 for i in ids],
            "x": pa.array([None if i % 3 else i for i in ids], pa.int32()),
        }
    )


def make(lake: Lake) -> None:
    """A table of some versions, and an index that has every kind of object: entries, a tombstone, manifests, parts of
    every kind, a segment of versions, bitmaps, a heartbeat."""
    history.MAX_INLINE, history.KEPT_INLINE, records.MAX_BITS = 5, 2, 8
    lake.append(rows(0))
    kinds = (mi.ColumnStats(), mi.Values("id"), mi.Values("s", by="value"), mi.Bloom("s"), mi.ValueList("x"))
    lake.open().create_index(INDEX, *kinds, builder="local")
    for number in range(1, FILES):
        lake.append(rows(number))
        if number == FILES // 2:
            DeltaTable(lake.path).delete("id >= 6 AND id < 12")
        lake.open().refresh_index(INDEX, builder="local")
    log = OperationLog(lake_storage(lake))
    assert trim(log, 4)
    latest = log.latest()
    assert latest is not None
    (index_folder(lake) / "_heartbeats").mkdir(exist_ok=True)
    (index_folder(lake) / "_heartbeats" / "nonce").write_bytes(b"")


def lake_storage(lake: Lake) -> Any:
    from metaindex.storage import storage_for

    return storage_for(str(index_folder(lake)))[0]


def index_folder(lake: Lake) -> Path:
    return Path(lake.path) / "_metaindex" / INDEX


@dataclass
class Fuzz:
    lake: Lake
    what: str = ""
    resealed: bool = False
    objects: dict[str, bytes] = field(default_factory=dict)
    expected: dict[tuple[str, int], list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = index_folder(self.lake)
        for path in sorted(self.root.rglob("*")):
            if path.is_file():
                self.objects[str(path.relative_to(self.root))] = path.read_bytes()
        self.kinds: dict[str, list[str]] = {}
        for name in self.objects:
            self.kinds.setdefault(kind_of(name), []).append(name)
        self.entry = max(name for name in self.kinds["_log"])
        bare = self.lake.open(config=mi.Config(use_indexes=False))
        self.versions = [int(version.id) for version in bare.versions()]
        for predicate in PREDICATES:
            for version in self.versions:
                found = bare.scan(predicate, ["id"], version).to_arrow()
                self.expected[(predicate, version)] = sorted(found.column("id").to_pylist())

    def one(self, chance: random.Random) -> str:
        """What went wrong, or nothing."""
        name = self._name(chance)
        self.what, self.resealed = name, False
        changed = self._changed(chance, name)
        try:
            for path, data in changed.items():
                place(self.root / path, data)
            return self._ask(chance)
        finally:
            for path in changed:
                place(self.root / path, self.objects.get(path))

    def _name(self, chance: random.Random) -> str:
        """Entries as often as parts: of those there are more."""
        kind = chance.choice([*self.kinds, "_log", "_manifests", "_versions"])
        return self.entry if kind == "_log" and chance.random() < 0.9 else chance.choice(self.kinds[kind])

    def _changed(self, chance: random.Random, name: str) -> dict[str, Any]:
        """What is put where: bytes, or a function that makes what is no file."""
        if chance.random() < 0.02:
            strange = chance.choice(STRANGE)
            self.what += f": {strange.__name__}"
            return {name: strange}
        resealed = chance.random() < 0.5
        data = self.objects[name]
        if name.startswith("_") and data and chance.random() < (0.95 if resealed else 0.4):
            new = as_bytes(name, self._json(chance, name, data), None if resealed else data)
        else:
            new = self._bytes(chance, data)
        if new == data:
            self.what += ": as it was"
        self.resealed = resealed
        return self._resealed(name, new) if resealed else {name: new}

    def _bytes(self, chance: random.Random, data: bytes) -> bytes:
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
                other = chance.choice(sorted(self.objects))
                out = bytearray(self.objects[other])
                said = f"{other} in its place"
            case _:
                out[at : at + size] = bytes(len(out[at : at + size]))
                said = f"{size} bytes of nothing"
        self.what += f": {said} at {at}"
        return bytes(out)

    def _json(self, chance: random.Random, name: str, data: bytes) -> Any:
        """The JSON value, changed in some places; as bytes where what it holds twice is no value."""
        value = json.loads(data.split(b"\n")[0] if name == self.entry or is_entry(name) else data)
        for _ in range(chance.choice([1, 1, 1, 2, 5])):
            ways = places(value)
            way = chance.choice(ways)
            new = self._new(chance, value, ways, way)
            self.what += f": {'.'.join(map(str, way))} = {str(new)[:40]}"
            value = replaced(value, way, new)
        if chance.random() < 0.05 and isinstance(value, dict):
            self.what += ": a field twice"
            text = to_text(value)
            return b'{"format_version": 3, ' + text[1:]
        return value

    def _new(self, chance: random.Random, value: object, ways: list[tuple[Any, ...]], way: tuple[Any, ...]) -> object:
        held = inside(value, way)
        match chance.randrange(8):
            case 0:
                return GONE
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

    def _resealed(self, name: str, data: bytes) -> dict[str, Any]:
        """The object, and whatever vouches for it as it is now."""
        kind = kind_of(name)
        if is_entry(name):
            text = data.split(b"\n")[0]
            return {name: text + b"\n" + to_text({"sha256": digest(text)}) + b"\n"}
        changed: dict[str, Any] = {name: data}
        if kind in ("_log", "_heartbeats"):
            return changed
        entry = json.loads(self.objects[self.entry].split(b"\n")[0])
        if not name.startswith("_"):
            run = name.split("/")[1].removeprefix("run=")
            manifest = json.loads(self.objects[f"_manifests/{run}.json"])
            for part in manifest["parts"]:
                if part["path"] == name:
                    footer = min(int.from_bytes(data[-8:-4], "little") + 8, len(data))
                    part |= {
                        "size_bytes": len(data),
                        "footer_bytes": footer,
                        "footer_digest": digest(data[len(data) - footer :]),
                    }
            name = f"_manifests/{run}.json"
            data = changed[name] = to_text(manifest)
        if name.startswith("_manifests"):
            for one in entry["content"]["runs"]:
                if one["run"] == Path(name).stem:
                    one |= {"manifest_bytes": len(data), "manifest_digest": digest(data)}
        else:
            self._renamed(entry, name, data, changed)
        changed[self.entry] = seal(entry, None)
        return changed

    def _renamed(self, value: Any, name: str, data: bytes, changed: dict[str, Any]) -> None:
        """Size and digest of a version object, wherever it is named; of the segments that name it, too."""
        for segment in self.kinds["_versions"]:
            if segment != name and name.encode() in self.objects[segment]:
                held = json.loads(self.objects[segment])
                correct(held, name, data)
                changed[segment] = to_text(held)
                correct(value, segment, changed[segment])
        correct(value, name, data)

    def _ask(self, chance: random.Random) -> str:
        predicate, version = chance.choice(PREDICATES), chance.choice([self.versions[-1], chance.choice(self.versions)])
        asked = None if version == self.versions[-1] else version
        way = chance.choice(ASKED)
        self.what += f" ({way} {predicate!r} at {version})"
        try:
            table = self.lake.open()
            match way:
                case "scan":
                    found = table.scan(predicate, ["id"], asked).to_arrow()
                    got = sorted(found.column("id").to_pylist())
                    if got != self.expected[(predicate, version)] and not self.resealed:
                        return f"rows: {got} and not {self.expected[(predicate, version)]}"
                case "prune":
                    result = table.prune(predicate, asked)
                    str(result)
                    result.to_json()
                    len(result.certain)
                    with suppress(MetaIndexError):
                        len(result.dropped)
                case "explain":
                    told = table.explain(predicate, asked)
                    str(told)
                    told.to_json()
                case "locate":
                    table.locate(predicate, asked, exact=chance.random() < 0.3).to_json()
                case "indexes":
                    infos = table.indexes()
                    str(infos)
                    infos.to_arrow()
                    [str(info) for info in infos]
                case "verify":
                    with suppress(MetaIndexError):
                        str(table.verify_index(INDEX))
                case _:
                    with suppress(MetaIndexError):
                        str(table.history(INDEX))
        except Exception:  # noqa: BLE001 - what is looked for
            return traceback.format_exc()
        return ""


ASKED = (
    "scan",
    "scan",
    "scan",
    "scan",
    "prune",
    "prune",
    "prune",
    "explain",
    "locate",
    "indexes",
    "indexes",
    "history",
    "verify",
)
GONE = "@gone@"
ATOMS: tuple[object, ...] = (
    None, True, False, 0, 1, -1, 7, 2**31 - 1, 2**31, 2**32, 2**62, 2**63, -(2**63) - 1, 10**30, 0.5, -1e308, "", "x",
    "/etc/passwd", "../../x", "0",
    "-1", "AAAA", "OjAAAAEAAAAAAAAAEAAAAP//", [], {}, [1], ["x"], {"x": 1}, "column_stats", "values", "bloom_filters",
    "covering", "ACTIVE", "int64", "string",
    "decimal128(999999, 3)", "x" * 100_000, list(range(10_000)),
)  # fmt: skip


def kind_of(name: str) -> str:
    return "_tombstone" if "tombstone" in name else name.split("/")[0]


def is_entry(name: str) -> bool:
    return name.startswith("_log/") and "tombstone" not in name


def as_bytes(name: str, changed: Any, before: bytes | None) -> bytes:
    """A JSON value as the bytes of its object; with `before`, an entry keeps the second line that it had."""
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
    text = text.replace(f'"{_HUGE}"'.encode(), b"9" * 100_000)
    if is_entry(name) and before is not None:
        return text + b"\n" + before.partition(b"\n")[2]
    return text


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
        return None if new == GONE else new
    above = inside(value, way[:-1])
    if new == GONE:
        del above[way[-1]]
    else:
        above[way[-1]] = new
    return value


def correct(value: Any, name: str, data: bytes) -> None:
    """Wherever a JSON value names the object."""
    if isinstance(value, dict):
        if value.get("path") == name and "digest" in value:
            value |= {"size_bytes": len(data), "digest": digest(data)}
        for one in value.values():
            correct(one, name, data)
    elif isinstance(value, list):
        for one in value:
            correct(one, name, data)


def place(path: Path, data: bytes | Callable[[Path], None] | None) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if isinstance(data, bytes):
        path.write_bytes(data)
    elif data is not None:
        data(path)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def nowhere(path: Path) -> None:
    path.symlink_to(path)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(200 << 30)


def missing(path: Path) -> None:
    return


def full_folder(path: Path) -> None:
    path.mkdir()
    (path / "x").write_bytes(b"x")


STRANGE = (pipe, endless, nowhere, sparse, missing, full_folder)

if __name__ == "__main__":
    main()
