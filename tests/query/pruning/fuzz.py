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

import faulthandler
import json
import random
import resource
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

import metaindex as mi
from metaindex.core import MetaIndexError
from metaindex.index.actions import records
from metaindex.index.actions.clean import trim
from metaindex.index.log import history
from metaindex.index.log.sealed import digest, seal, to_text
from metaindex.table import handle_of
from tests.hostile.changes import STRANGE, as_bytes, random_bytes, random_json
from tests.hostile.driver import Change, Content
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
    log = handle_of(lake.open()).indexes().log(INDEX)
    assert trim(log, 4)
    assert log.latest() is not None
    (index_folder(lake) / "_heartbeats").mkdir(exist_ok=True)
    (index_folder(lake) / "_heartbeats" / "nonce").write_bytes(b"")


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
        with Change(name, {self.root / path: data for path, data in self._changed(chance, name).items()}).made():
            return self._ask(chance)

    def _name(self, chance: random.Random) -> str:
        """Entries as often as parts: of those there are more."""
        kind = chance.choice([*self.kinds, "_log", "_manifests", "_versions"])
        return self.entry if kind == "_log" and chance.random() < 0.9 else chance.choice(self.kinds[kind])

    def _changed(self, chance: random.Random, name: str) -> dict[str, Content]:
        if chance.random() < 0.02:
            strange = chance.choice([None, *STRANGE.values()])
            self.what += f": {strange.__name__ if strange else 'removed'}"
            return {name: strange}
        resealed = chance.random() < 0.5
        data = self.objects[name]
        if name.startswith("_") and data and chance.random() < (0.95 if resealed else 0.4):
            value = json.loads(data.split(b"\n")[0] if name == self.entry or is_entry(name) else data)
            value, said = random_json(chance, value)
            new = as_bytes(value)
            if is_entry(name) and not resealed and not isinstance(value, bytes):
                new += b"\n" + data.partition(b"\n")[2]
        else:
            new, said = random_bytes(chance, data, lambda: chance.choice(sorted(self.objects.items())))
        self.what += f": {said}" + (": as it was" if new == data else "")
        self.resealed = resealed
        return self._resealed(name, new) if resealed else {name: new}

    def _resealed(self, name: str, data: bytes) -> dict[str, Content]:
        """The object, and whatever vouches for it as it is now."""
        kind = kind_of(name)
        if is_entry(name):
            text = data.split(b"\n")[0]
            return {name: text + b"\n" + to_text({"sha256": digest(text)}) + b"\n"}
        changed: dict[str, Content] = {name: data}
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
            changed[name] = data = to_text(manifest)
        if name.startswith("_manifests"):
            for one in entry["content"]["runs"]:
                if one["run"] == Path(name).stem:
                    one |= {"manifest_bytes": len(data), "manifest_digest": digest(data)}
        else:
            self._renamed(entry, name, data, changed)
        changed[self.entry] = seal(entry, None)
        return changed

    def _renamed(self, value: Any, name: str, data: bytes, changed: dict[str, Content]) -> None:
        """Size and digest of a version object, wherever it is named; of the segments that name it, too."""
        for segment in self.kinds["_versions"]:
            if segment != name and name.encode() in self.objects[segment]:
                held = json.loads(self.objects[segment])
                correct(held, name, data)
                changed[segment] = made = to_text(held)
                correct(value, segment, made)
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


ASKED = (*["scan"] * 4, *["prune"] * 3, *["indexes"] * 2, "explain", "locate", "history", "verify")


def kind_of(name: str) -> str:
    return "_tombstone" if "tombstone" in name else name.split("/")[0]


def is_entry(name: str) -> bool:
    return name.startswith("_log/") and "tombstone" not in name


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


if __name__ == "__main__":
    main()
