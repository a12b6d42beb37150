"""How many files four roads enter: `python -m tests.architecture.roads [--files]` runs each and counts.

* a file is *entered* where one of its functions is called between the road's first call and its answer; those of a
  first run, which loads modules, do not count;
* a *door* is a file that is entered by a call from another room;
* a *climb* is a call from a module into one whose room stands higher in `ROOMS` (`test_rooms.py`), each pair of
  modules once;
* a *rise* is where the next file to be entered for the first time stands in a higher room than the one before it: a
  reader who follows the road goes up again. Rooms that are in no order count as the highest."""

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import deltalake
import pyarrow as pa

import metaindex as mi
from metaindex.core import Config
from metaindex.spark import RuleConfig
from metaindex.spark.optimizer.request_handler import RequestHandler
from tests.architecture.test_rooms import ROOMS
from tests.spark.optimizer.test_requests import request

PACKAGE = Path(mi.__file__).parent


def _order() -> dict[str, int]:
    return {name: level for level, name in enumerate(ROOMS)}


def room(path: str) -> str:
    """Of a file, by its path below the package."""
    return path.partition("/")[0].removesuffix(".py")


@dataclass
class Walk:
    """`files` by their first entry; `calls`: (caller's file, entered file), each once."""

    files: list[str] = field(default_factory=list)
    calls: dict[tuple[str, str], None] = field(default_factory=dict)

    def entered(self, caller: str | None, path: str) -> None:
        if path not in self.files:
            self.files.append(path)
        if caller is not None and caller != path:
            self.calls[caller, path] = None

    def doors(self) -> set[str]:
        return {path for caller, path in self.calls if room(caller) != room(path)}

    def climbs(self, level: Mapping[str, int]) -> list[tuple[str, str]]:
        return [pair for pair in self.calls if _height(pair[1], level) > _height(pair[0], level)]

    def rises(self, level: Mapping[str, int]) -> list[tuple[str, str]]:
        pairs = zip(self.files, self.files[1:], strict=False)
        return [pair for pair in pairs if _height(pair[1], level) > _height(pair[0], level)]


def _height(path: str, level: Mapping[str, int]) -> int:
    return level.get(room(path), len(level))


def _of_ours(name: str, package: str = f"{PACKAGE}/") -> str | None:
    return name[len(package) :] if name.startswith(package) else None


@contextmanager
def walked() -> Iterator[Walk]:
    """What the block calls, in all threads that begin in it, too."""
    walk = Walk()

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or frame.f_code.co_name == "<module>":
            return
        path = _of_ours(frame.f_code.co_filename)
        if path is None:
            return
        above = frame.f_back
        while above is not None and _of_ours(above.f_code.co_filename) is None:
            above = above.f_back
        walk.entered(_of_ours(above.f_code.co_filename) if above is not None else None, path)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield walk
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def predicate(folder: Path) -> Walk:
    """`Table.prune(text)` of a Delta table with an index of statistics, to the files kept."""
    table = _indexed(folder)
    with walked() as walk:
        assert table.prune("k = 15").kept_files == 1
    return walk


def refresh(folder: Path) -> Walk:
    """`Table.refresh_index` after one commit, to the committed entry."""
    _indexed(folder)
    _commit(folder, 9)
    table = mi.open_table(str(folder))
    with walked() as walk:
        assert table.refresh_index("stats", builder="local").changed
    return walk


def spark_scan(folder: Path) -> Walk:
    """What Spark's optimizer asks of one scan, to the reply: the Python side, without a JVM."""
    _indexed(folder)
    asked = request(folder, [15])
    skipping = RequestHandler(Config(), {}, RuleConfig())
    with walked() as walk:
        assert skipping(asked)
    return walk


def create_index(folder: Path) -> Walk:
    """The text of CREATE INDEX, to the committed entry."""
    for number in range(3):
        _commit(folder, number)
    with walked() as walk:
        mi.sql(f"CREATE INDEX stats ON '{folder}' USING column_stats", builder="local")
    return walk


ROADS: Mapping[str, Callable[[Path], Walk]] = {
    "predicate": predicate,
    "refresh": refresh,
    "Spark scan": spark_scan,
    "CREATE INDEX": create_index,
}


def _commit(folder: Path, number: int) -> None:
    keys = range(number * 10, number * 10 + 10)
    rows = pa.table({"k": pa.array(keys, pa.int64()), "s": [f"v{key}" for key in keys]})
    deltalake.write_deltalake(str(folder), rows, mode="append")


def _indexed(folder: Path) -> mi.Table:
    for number in range(3):
        _commit(folder, number)
    mi.open_table(str(folder)).create_index("stats", mi.ColumnStats(), builder="local")
    return mi.open_table(str(folder))


def measured(name: str) -> Walk:
    """The road's second run, on a table of its own."""
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            walk = ROADS[name](Path(folder) / "t")
    return walk


def main(words: Sequence[str]) -> None:
    level = _order()
    for name in ROADS:
        walk = measured(name)
        rooms = len({room(path) for path in walk.files})
        climbs, rises = walk.climbs(level), walk.rises(level)
        files = f"{len(walk.files)} files in {rooms} rooms, {len(walk.doors())} doors"
        said = [f"{name}: {files}, {len(climbs)} climbs, {len(rises)} rises"]
        if "--files" in words:
            said += [f"  {number:3} {path}" for number, path in enumerate(walk.files, 1)]
            said += [f"  climb: {caller} -> {path}" for caller, path in climbs]
        sys.stdout.write("".join(f"{line}\n" for line in said))


if __name__ == "__main__":
    main(sys.argv[1:])
