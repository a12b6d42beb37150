"""Keys over the life of a table: columns renamed, widened, dropped and added again under the same name, rows deleted,
old versions, refresh and optimize in between. At every version, each kind alone and all at once keep every row that a
full read finds."""

import os
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.types import DoubleType, LongType, StringType

import metaindex as mi
from metaindex.expressions import And, ColumnRef, Comparison, Literal, Op, Or, Predicate
from metaindex.index import Kind
from tests.answers import one_answer
from tests.histories.driver import Index, run
from tests.histories.iceberg import IcebergHistory

SOAK = bool(os.environ.get("METAINDEX_SOAK"))
KINDS = ("hash", "value", "bloom", "list", "all")
NAN = float("nan")


def kinds(name: str) -> list[Kind]:
    keys = ("user", "word", "x", ("user", "word"))
    found: dict[str, Kind] = {
        "hash": mi.Values(*keys),
        "value": mi.Values(*keys, by="value"),
        "bloom": mi.Bloom(*keys, fpp=0.2),
        "list": mi.ValueList(*keys, limit=3),
    }
    return [mi.ColumnStats(), *found.values()] if name == "all" else [found[name]]


def rows(dice: random.Random, schema: pa.Schema) -> pa.Table:
    """Skewed: most rows are of one user; NULL and NaN among them."""
    count = dice.randint(1, 6)
    made = {
        "user": lambda: dice.choice([None, 1, 1, 1, 1, 2, dice.randint(3, 9)]),
        "word": lambda: dice.choice([None, "", "a", "ab", "é", "z" * 300]),
        "x": lambda: dice.choice([None, NAN, 0.0, -0.0, 1.5, 2.0]),
        "day": lambda: dice.choice([None, 1, 2]),
    }
    arrays = []
    for f in schema:
        kind = next(k for k in made if f.name.startswith(k))
        values = [made[kind]() for _ in range(count)]
        if pa.types.is_string(f.type):
            values = [None if v is None else str(v) for v in values]
        arrays.append(pa.array(values, f.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def leaf(dice: random.Random, schema: pa.Schema) -> Predicate:
    field = schema.field(dice.randrange(len(schema)))
    column = ColumnRef((field.name,))
    if pa.types.is_string(field.type):
        value: object = dice.choice(["", "a", "ab", "z" * 300, "1", "none"])
    elif pa.types.is_floating(field.type):
        value = dice.choice([0.0, 1.5, 2.0, NAN])
    else:
        value = dice.choice([1, 2, 5, 99])
    op = dice.choice([Op.EQ, Op.EQ, Op.EQ, Op.NE, Op.GT, Op.LE, Op.NULL_SAFE_EQ])
    return Comparison(column, op, Literal(value))  # type: ignore[arg-type]


def predicate(dice: random.Random, schema: pa.Schema) -> Predicate:
    parts = tuple(leaf(dice, schema) for _ in range(dice.choice([1, 2, 2, 3])))
    if len(parts) == 1:
        return parts[0]
    return dice.choice([And, Or])(parts)  # type: ignore[no-any-return]


class Keyed(IcebergHistory):
    """Columns of any name and type of now, by the beginnings of their names."""

    verbs = "append append append rename widen again delete"

    def __init__(self, folder: Path, dice: random.Random) -> None:
        fields = [("user", pa.int32()), ("word", pa.string()), ("x", pa.float32()), ("day", pa.int32())]
        super().__init__(folder, dice, pa.schema(fields))
        for _ in range(3):
            self.append()

    def rows(self) -> pa.Table:
        return rows(self.random, self.schema)

    def condition(self) -> str:
        name = next(n for n in self.schema.names if n.startswith("user"))
        return f"{name} = '1'" if pa.types.is_string(self.schema.field(name).type) else f"{name} = 1"

    def rename(self, *names: str) -> None:
        super().rename(*self.schema.names)

    def widen(self) -> None:
        for f in self.schema:
            if f.type in (pa.int32(), pa.float32()):
                with self.table.update_schema() as update:
                    update.update_column(f.name, LongType() if f.type == pa.int32() else DoubleType())
                return

    def again(self) -> None:
        """A column is dropped, and another added under its name."""
        name = self.random.choice(self.schema.names)
        with self.table.update_schema(allow_incompatible_changes=True) as update:
            update.delete_column(name)
        types = {"w": StringType(), "u": StringType(), "x": DoubleType()}
        with self.table.update_schema() as update:
            update.add_column(name, types.get(name[0], LongType()))


class Keys(Index):
    verbs = "refresh refresh optimize"
    refused = (mi.UnknownColumnError,)  # a column of a key was dropped: what is indexed stays


@pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
@pytest.mark.parametrize("seed", range(20) if SOAK else range(1))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_every_version_of_a_table_that_changes(kind: str, seed: int, tmp_path: Path) -> None:
    history = Keyed(tmp_path, random.Random(f"{seed} {kind}"))
    index = Keys(history, history.open, *kinds(kind))
    run(30 if SOAK else 8, history, index, oracles=[lambda: check_versions(history)])


def check_versions(history: Keyed) -> None:
    table = history.open()
    for version in [*(v.id for v in table.versions()), None]:
        check(table, version, history.random)


def check(table: mi.Table, version: str | None, dice: random.Random) -> None:
    whole = table.scan(version=version)
    schema = whole.schema
    everything = whole.to_arrow()
    for _ in range(8 if SOAK else 2):
        asked = predicate(dice, schema)
        expected = table.scan(asked, version=version, indexes=[]).to_arrow()
        found = one_answer(table, asked, version)
        assert in_order(found) == in_order(expected), (asked, version)
        assert expected.num_rows <= everything.num_rows
        located = table.locate(asked, version=version, exact=True).table
        assert sum(located.column("matches").to_pylist()) == expected.num_rows
        groups = table.locate(asked, version=version).table
        assert set(located.column("path").to_pylist()) <= set(groups.column("path").to_pylist())


def in_order(table: pa.Table) -> list[str]:
    return sorted(
        repr([None if isinstance(v, float) and np.isnan(v) else v for v in row.values()]) for row in table.to_pylist()
    )
