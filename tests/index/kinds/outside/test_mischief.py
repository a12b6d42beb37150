"""A kind of another package that raises, ends the process or says nonsense, wherever it is asked: queries answer all
the same, and verify tells of it."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.index.kinds import registry
from metaindex.index.verification.report import Verification
from tests.index.kinds.outside.installed import PACKAGE, lay_into

RAISED = {
    "leaves": "raise SystemExit('this package wants another Python')",
    "fails": "raise RuntimeError('boom')",
    "cannot say what": "raise Unspeakable",
    "gives": "return 1",
}
PLACES = {
    "when it is loaded": "",
    "of": "@classmethod\n    def of(cls, said): ",
    "senseless": "@classmethod\n    def senseless(cls, key): ",
    "reader": "@classmethod\n    def reader(cls, run, key, types): ",
    "said": "@classmethod\n    def said(cls, key): ",
    "check": "@classmethod\n    def check(cls, reader, key, unkeyed, records): ",
    "compared": "@classmethod\n    def compared(cls, *rest): ",
    "maker": "@classmethod\n    def maker(cls, key, kinds): ",
    "version": "version = 'x' #",
    "layout": "layout = None #",
    "turn": "turn = None #",
}
UNSPEAKABLE = """
class Unspeakable(Exception):
    def __str__(self): raise RuntimeError("nobody can say")
"""


ANSWERS = {
    "leaves": "raise SystemExit('no such place')",
    "numbers below the first file": "return replace(found, units=found.units - (4 << GROUP_BITS))",
    "numbers behind the last file": "return replace(found, units=found.units + (40 << GROUP_BITS))",
    "numbers in another order": "return replace(found, units=found.units[::-1])",
    "numbers that are none": "return replace(found, units=found.units / 1)",
    "numbers in a list": "return replace(found, units=found.units.tolist())",
    "numbers of fewer groups than none": "return replace(found, group_bits=-1)",
    "numbers of more groups than there are": "return replace(found, group_bits=200)",
    "one truth for all files": "return Hits(files=np.zeros(1, np.bool_))",
    "a bare truth": "return Hits(files=np.False_)",
    "truths of more files": "return Hits(files=np.zeros(5, np.bool_))",
    "truths that are numbers": "return Hits(files=np.zeros(4, np.int64))",
    "no truths and no numbers": "return Hits()",
    "no hits": "return found.units",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which the package is installed, and its module can be written over."""
    place = tmp_path / "packages"
    lay_into(place)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = dict(vars(registry.KINDS))
    yield place
    sys.modules.pop("hash_set", None)
    vars(registry.KINDS).update(found)


def loaded(package: Path) -> ModuleType:
    forgotten()
    importlib.invalidate_caches()
    return importlib.import_module("hash_set")


def changed(package: Path, changes: dict[str, str]) -> None:
    """The module says something else from now on."""
    text = (PACKAGE / "hash_set.py").read_text()
    for before, after in changes.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    (package / "hash_set.py").write_text(text)
    forgotten()


def forgotten() -> None:
    """As in a new process."""
    sys.modules.pop("hash_set", None)
    vars(registry.KINDS).update(_others={}, _places=None, _told=set())


def indexed(package: Path, folder: Path) -> Path:
    folder.mkdir()
    for number in range(4):
        rows = range(number * 10, number * 10 + 10)
        pq.write_table(pa.table({"id": rows, "s": [f"s{number}"] * 10}), folder / f"f{number}.parquet")
        os.utime(folder / f"f{number}.parquet", (1.6e9 + number, 1.6e9 + number))
    module = loaded(package)
    table = opened(folder)
    table.create_index("sets", module.HashSet("id"))
    table.create_index("both", module.HashSet("s"), mi.Values("s"))
    assert table.prune("id = 3").kept_files == 1
    return folder


def opened(folder: Path) -> mi.Table:
    return mi.open_table(folder, config=mi.Config(builder="local"))


def answered(folder: Path) -> Verification:
    """Everything that reads answers; the rows are right."""
    assert opened(folder).scan("id = 13").to_arrow().column("id").to_pylist() == [13]
    assert opened(folder).scan("s = 's2' AND id > 3").to_arrow().num_rows == 10
    answer = opened(folder).prune("id = 13 OR s = 's2'")
    for told in (answer, answer.leaves, answer.certain, opened(folder).explain("id = 13"), opened(folder).indexes()):
        assert str(told)
    assert str(opened(folder).history("sets"))
    assert len(opened(folder).locate("id = 13").files)
    return opened(folder).verify_index("both")


@pytest.mark.exhaustive(but="leaves-senseless")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what", RAISED)
@pytest.mark.slow
def test_queries_answer_whatever_it_does(package: Path, tmp_path: Path, place: str, what: str) -> None:
    folder = indexed(package, tmp_path / "t")
    deed, first, written = RAISED[what], "GROUP_BITS = 6\n", "\n\n\ndef written("
    changes = {first: f"{UNSPEAKABLE}\n{first}"}
    if PLACES[place]:
        changes[written] = f"\n\n    {PLACES[place]}{deed}{written}"  # ends the class
    elif what != "gives":
        changes[first] += f"\n{deed}\n"
    changed(package, changes)
    answered(folder)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.slow
def test_an_answer_that_cannot_be_hides_no_row(package: Path, tmp_path: Path, answer: str) -> None:
    folder = indexed(package, tmp_path / "t")
    grouped = pa.table({"id": range(1000, 1100), "s": ["g"] * 100})
    pq.write_table(grouped, folder / "grouped.parquet", row_group_size=10)
    os.utime(folder / "grouped.parquet", (1.6e9, 1.6e9))  # a file of this moment is waited for
    opened(folder).refresh_index("sets")
    end = ", group_bits=GROUP_BITS)\n"
    changes = {"import dataclass\n": "import dataclass, replace\n", "        return Hits(": "        found = Hits("}
    changed(package, changes | {end: f"{end}        {answer}\n"})
    for ids in ([13], [13, 1013], [13, 23, 1013, 1093], [13, 1013, *range(2000, 2020)]):
        for condition in (f"id IN ({', '.join(map(str, ids))})", " OR ".join(f"id = {one}" for one in ids)):
            found = opened(folder).scan(condition).to_arrow().column("id").to_pylist()
            assert sorted(found) == [one for one in ids if one < 2000]
            (told,) = (one for one in opened(folder).prune(condition).indexes if one.name == "sets")
            assert not told.used or len(ids) != 4  # a value alone has one number
    answered(folder)


def test_a_package_that_cannot_be_listed_hides_no_row(package: Path, tmp_path: Path) -> None:
    folder = indexed(package, tmp_path / "t")
    (package / "hash_set-0.0.1.dist-info" / "entry_points.txt").write_text("[metaindex.kinds]\nno entry\n= \n[\n")
    forgotten()
    answered(folder)
