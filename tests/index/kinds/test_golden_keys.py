"""Keys as they were written when their format was settled stay readable, and are written the same today, row by row.

`golden/` has keys that are hashes or bytes, `golden_integers/` those by value of columns whose keys are integers.
Regenerate the second after a change of the format, with a new name: `python -m tests.index.kinds.test_golden_keys`
"""

import datetime as dt
import json
import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from metaindex.core import DamagedIndexError
from metaindex.expressions import Literal
from metaindex.index.build.merging import keys_together
from metaindex.index.kinds import registry
from metaindex.index.kinds.kind import KeyKind
from metaindex.index.kinds.values.rows import Layout
from metaindex.index.kinds.values.spec import ValueList, Values
from metaindex.index.log.codec import _KEY, _key_from_json
from metaindex.index.store.layout import PartInfo, manifest_path
from metaindex.storage import LocalStorage
from tests.index.contract.built_keys import Built, File, merged, on_disk, written

GOLDEN = Path(__file__).parent / "golden"
INTEGERS = Path(__file__).parent / "golden_integers"
TYPES: dict[str, pa.DataType] = {
    "int": pa.int32(),
    "float": pa.float64(),
    "decimal": pa.decimal128(20, 2),
    "day": pa.date32(),
    "at": pa.timestamp("us", "UTC"),
    "text": pa.string(),
}
VALUES: dict[str, list[object]] = {
    "int": [-1, 0, 42, 2**31 - 1],
    "float": [float("nan"), -0.0, 1.5, float("inf")],
    "decimal": [Decimal("-1.50"), Decimal(42), Decimal("0.01"), Decimal(10) ** 17],
    "day": [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)],
    "at": [dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)] * 2,
    "text": ["", "é😀", "x" * 300, "a\0b"],
}
KINDS: dict[str, KeyKind] = {
    "values": Values("c0"),
    "value_keys": Values("c0", by="value"),
    "value_lists": ValueList("c0", limit=3),
}


def files(column: str) -> list[File]:
    """Three files: each value in a row group of its own, each but the first and NULL, and one of nothing but the
    first."""
    some = VALUES[column]
    return [[[(value,)] for value in some], [[(value,) for value in some[1:]], [(None,)]], [[(some[0],)]]]


CASES = [(kind, column) for kind in KINDS for column in TYPES]
OF_INTEGERS = [(kind, column) for kind in ("value_keys", "value_lists") for column in ("int", "day", "at")]
EVERY = [(INTEGERS if case in OF_INTEGERS else GOLDEN, *case) for case in CASES]


def opened(root: Path) -> Built:
    said = json.loads((root / "key.json").read_text())
    storage = LocalStorage(str(root))
    parts = [PartInfo(**part) for part in json.loads((root / manifest_path("run")).read_text())["parts"]]
    return on_disk(storage, "run", _key_from_json(said["key"]), parts, said["unkeyed"], 3)


@pytest.mark.parametrize(("golden", "kind", "column"), EVERY)
def test_old_keys_answer(golden: Path, kind: str, column: str, tmp_path: Path) -> None:
    shutil.copytree(golden / kind / column, tmp_path / "old")
    built = opened(tmp_path / "old")
    assert Layout.of(built.key.layout).integers == (golden == INTEGERS)
    reader = built.reader([TYPES[column]])
    for value in VALUES[column]:
        hits = reader.among([(Literal.of(value),)])
        kept = [a or ordinal in built.unkeyed for ordinal, a in enumerate(hits.mask(3).tolist())]
        there = [any(_same(row[0], value) for group in file for row in group) for file in files(column)]
        assert all(a or not b for a, b in zip(kept, there, strict=True))
        if not built.unkeyed:
            assert kept == there


@pytest.mark.parametrize(("kind", "column"), CASES)
def test_keys_are_written_as_they_were(kind: str, column: str, tmp_path: Path) -> None:
    golden = INTEGERS if (kind, column) in OF_INTEGERS else GOLDEN
    shutil.copytree(golden / kind / column, tmp_path / "old")
    old, new = opened(tmp_path / "old"), written(tmp_path / "new", KINDS[kind], files(column), [TYPES[column]])
    assert old.key == new.key
    assert old.unkeyed == new.unkeyed
    assert old.rows() == new.rows()


@pytest.mark.parametrize("kind", ["value_keys", "value_lists"])
@pytest.mark.parametrize(("column", "said"), [("int", {}), ("text", {"key": "int64"})])
def test_keys_of_another_form_than_their_column_s_are_damage(
    kind: str, column: str, said: dict[str, str], tmp_path: Path
) -> None:
    """Integers stand in a column of their own: bytes in their place are no form that a release ever wrote."""
    shutil.copytree((INTEGERS if column == "int" else GOLDEN) / kind / column, tmp_path / "old")
    built = opened(tmp_path / "old")
    layout = {name: value for name, value in built.key.layout.items() if name != "key"} | said
    other = replace(built, key=replace(built.key, layout=layout))
    with pytest.raises(DamagedIndexError, match="another form"):
        other.reader([TYPES[column]])
    with pytest.raises(DamagedIndexError, match="another form"):
        merged(tmp_path / "again", [(other, [0, 1, 2])], 3)


def test_a_form_of_tomorrow_is_not_asked_and_not_merged(tmp_path: Path) -> None:
    shutil.copytree(INTEGERS / "value_keys" / "int", tmp_path / "old")
    built = opened(tmp_path / "old")
    tomorrow = replace(built.key, layout={**built.key.layout, "key": "int128"})
    assert registry.KINDS.key_reader(built.run_reader(), tomorrow, [TYPES["int"]]) is None
    assert keys_together((built.key,), (built.key,)) is not None
    assert keys_together((built.key,), (tomorrow,)) is None
    assert keys_together((tomorrow,), (built.key,)) is None


def _same(a: object, b: object) -> bool:
    return a == b or (a != a and b != b)


def regenerate() -> None:
    shutil.rmtree(INTEGERS, ignore_errors=True)
    for kind, column in OF_INTEGERS:
        root = INTEGERS / kind / column
        built = written(root, KINDS[kind], files(column), [TYPES[column]])
        key = _KEY.to_json(built.key)
        (root / "key.json").write_text(json.dumps({"key": key, "unkeyed": built.unkeyed}, indent=1) + "\n")


if __name__ == "__main__":
    regenerate()
