"""Keys of merged runs answer as before; what was taken out of them is gone; and runs whose keys do not go together stay
apart."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.index.actions.optimize import ON_REFRESH, full_groups, quick_groups
from metaindex.index.build.merging import keys_together
from metaindex.index.keys import key_id
from metaindex.index.kinds.kind import Kind
from metaindex.index.log.entry import CoveredColumn, CoveredKey, RunRef
from tests import strategies
from tests.index.actions.index_bytes import everything
from tests.index.actions.test_erase import commit, expire
from tests.index.actions.test_erase import root as root  # a Delta table of three versions, with an index of statistics
from tests.index.actions.test_erase import write as write_secret
from tests.query.pruning.test_no_false_skip import arrow_schema
from tests.tables import settle

FEW = bool(os.environ.get("METAINDEX_FAST"))


def kinds(*keys: str | tuple[str, ...]) -> list[Kind]:
    return [mi.Values(*keys), mi.Values(*keys, by="value"), mi.ValueList(*keys, limit=2), mi.Bloom(*keys, fpp=0.1)]


def answers(path: Path, predicates: list[object], versions: Sequence[str | None]) -> list[object]:
    table = mi.open_table(str(path))
    return [sorted(table.prune(predicate, version=version).paths) for version in versions for predicate in predicates]


@pytest.mark.exhaustive
@settings(max_examples=2 if FEW else 15)
@given(st.data())
@pytest.mark.slow
def test_merged_keys_answer_as_before(data: st.DataObject) -> None:
    schema = data.draw(strategies.schemas())
    columns = [".".join(column.parts) for column in schema]
    keys = [*columns, *([tuple(columns[:2])] if len(columns) > 1 else [])]
    files = st.lists(st.lists(strategies.rows(schema), max_size=4), min_size=1, max_size=3)
    batches = data.draw(st.lists(files, min_size=2, max_size=4))
    removed = data.draw(st.lists(st.integers(0, 8), max_size=2))
    predicates: list[object] = list(data.draw(st.lists(strategies.predicates(schema), min_size=3, max_size=5)))
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        lake.mkdir()
        number = 0
        for batch in batches:
            for rows in batch:
                table = pa.Table.from_pylist([{"row": number, **row} for row in rows], arrow_schema(schema))
                pq.write_table(table, lake / f"{number}.parquet", row_group_size=data.draw(st.integers(1, 3)))
                number += 1
            settle(lake)
            one = mi.open_table(str(lake))
            if one.indexes():
                one.refresh_index("keys", builder="local")
            else:
                one.create_index("keys", *kinds(*keys), builder="local")
        for one_removed in removed:
            (lake / f"{one_removed}.parquet").unlink(missing_ok=True)
        if any(lake.iterdir()):
            mi.open_table(str(lake)).refresh_index("keys", builder="local")
        versions = mi.open_table(str(lake)).indexes()[0].versions
        before = answers(lake, predicates, versions)
        mi.open_table(str(lake)).optimize_index("keys", mode="full")
        assert answers(lake, predicates, versions) == before
        sound_of_one_run(lake)
        now = [None]  # not the last that was recorded: of the files of an earlier version again that one is it
        before = answers(lake, predicates, now)
        mi.open_table(str(lake)).erase_index("keys")
        assert answers(lake, predicates, now) == before
        sound_of_one_run(lake)


def sound_of_one_run(lake: Path, **options: object) -> None:
    table = mi.open_table(str(lake), **options)
    assert table.indexes()[0].runs == 1
    found = table.verify_index("keys", files=None)
    assert found.sound, str(found)


@pytest.mark.parametrize("number", [pytest.param(n, marks=pytest.mark.slow) if n % 2 else n for n in range(4)])
def test_values_of_files_that_left_and_of_rows_under_vectors_are_erased(root: Path, number: int) -> None:
    kind = kinds("name")[number]
    kind = mi.ValueList("name") if isinstance(kind, mi.ValueList) else kind
    mi.open_table(str(root)).drop_index("stats")
    mi.open_table(str(root)).vacuum_index("stats")
    mi.open_table(str(root)).create_index("keys", kind, builder="local", version=0)
    for _ in range(2):
        mi.open_table(str(root)).refresh_index("keys", builder="local")
    expire(root)
    assert mi.open_table(str(root)).erase_index("keys").changed
    left = everything(root / "_metaindex")
    assert "barbara" not in left
    assert "carlos" not in left
    table = mi.open_table(str(root))
    assert table.prune("name = 'carlos-5'").kept_files == 1  # nothing is said of its file
    assert table.prune("name = 'alice-5'").kept_files == 2
    assert table.prune("name = 'edith-5'").kept_files == 2
    assert table.verify_index("keys", files=None).sound
    commit(root, 3, write_secret(root, "b"))
    mi.open_table(str(root)).refresh_index("keys", builder="local")
    assert mi.open_table(str(root)).prune("name = 'barbara-5'").kept_files == 2


def _key(number: int, type_text: str, kind: str = "values") -> CoveredKey:
    layout = {"hash_bits": 40, "unit_bits": 4, "group_bits": 0, "groups": 1}
    return CoveredKey(kind, key_id(kind, [f"a{number}"]), (CoveredColumn(f"a{number}", 7, "a", type_text),), layout)


def test_runs_whose_keys_do_not_go_together_stay_apart() -> None:
    one = _key(1, "int32")
    assert keys_together((one,), (_key(1, "int64"),)) == (_key(1, "int64"),)
    assert keys_together((_key(1, "int64"),), (one,)) == (_key(1, "int64"),)
    assert keys_together((one,), ()) is None
    assert keys_together((one,), (_key(2, "int32"),)) is None
    assert keys_together((one,), (_key(1, "string"),)) is None
    assert keys_together((one,), (_key(1, "a type of tomorrow"),)) is None
    assert keys_together((_key(1, "int32", "tomorrow"),), (_key(1, "int32", "tomorrow"),)) is None
    date, day = _key(1, "date32[day]", "value_keys"), _key(1, "timestamp[us]", "value_keys")
    assert keys_together((date,), (day,)) is None  # days and microseconds are other bytes
    assert keys_together((_key(1, "date32[day]"),), (_key(1, "timestamp[us]"),)) is not None
    assert keys_together((one, _key(2, "int32")), (_key(2, "int32"), one)) == (one, _key(2, "int32"))


def test_a_refresh_leaves_large_runs_to_optimize() -> None:
    runs = [RunRef(str(n), 10, 1, 50 << 20, 0, "", "", (), 0, "local", 0, (_key(1, "int32"),)) for n in range(8)]
    assert quick_groups(runs, ON_REFRESH) == []
    assert quick_groups([replace(run, size_bytes=10 << 20) for run in runs], ON_REFRESH) != []
    assert len(full_groups(runs)) == 1


def test_full_groups_keep_them_apart() -> None:
    def run(name: str, *keys: CoveredKey) -> RunRef:
        return RunRef(name, 1, 1, 0, 0, "", "", (), 0, "local", 0, keys)

    groups = full_groups([run("a", _key(1, "int32")), run("b", _key(1, "string")), run("c", _key(1, "int64"))])
    assert [[one.run for one in group] for group in groups] == [["a", "c"]]
