"""An answer is remembered as long as nothing that it follows from has changed: a handle that has answered before says
what a new one says."""

import tempfile
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import Config
from metaindex.expressions import Predicate, col
from metaindex.query.pruning.plan_cache import PlanCache, PlanCacheKey
from tests.examples import few


def commit(root: Path, *numbers: int, kind: pa.DataType | None = None, mode: str = "append") -> None:
    for number in numbers:
        values = pa.array([number * 10, number * 10 + 9], pa.int64()).cast(kind or pa.int64())
        data = pa.table({"k": values, "s": [f"v{number}", f"v{number} z"]})
        deltalake.write_deltalake(str(root), data, mode=mode, schema_mode="overwrite" if mode == "overwrite" else None)  # type: ignore[arg-type]


def indexed(root: Path, files: int = 4) -> mi.Table:
    commit(root, *range(files))
    table = mi.open_table(str(root))
    table.create_index("stats", mi.ColumnStats(), mi.Bloom("s"), builder="local")
    return table


QUESTION = (col("k") == 15) | (col("s") == "v3")


def test_the_same_question_costs_no_read(tmp_path: Path) -> None:
    table = indexed(tmp_path / "t")
    first, second = table.prune(QUESTION), table.prune((col("k") == 15) | (col("s") == "v3"))
    assert first.indexes[0].reads > 0
    assert (second.indexes[0].reads, second.indexes[0].bytes_read) == (0, 0)
    assert second.paths == first.paths
    assert second.dropped.paths.equals(first.dropped.paths)
    assert second.certain.paths.equals(first.certain.paths)
    assert [one.dropped_files for one in second.indexes] == [one.dropped_files for one in first.indexes]


def test_what_means_something_else_is_another_question(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = indexed(root)
    assert len(table.prune(col("k") == 15).paths) == 1
    assert table.prune(col("k") == 15, version=0).paths == []
    commit(root, 1)
    assert len(table.prune(col("k") == 15).paths) == 2
    table.refresh_index("stats", builder="local")
    again = table.prune(col("k") == 15)
    assert len(again.paths) == 2
    assert again.indexes[0].dropped_files == 3
    commit(root, 7, kind=pa.string(), mode="overwrite")
    with pytest.raises(mi.MetaIndexError):
        table.prune(col("k").startswith("7") & (col("nothing") == 1))
    assert len(table.prune(col("k").startswith("7")).paths) == 1
    assert table.prune(col("k").startswith("8")).paths == []


def used(table: mi.Table) -> bool:
    return any(one.used for one in table.prune(QUESTION).indexes if one.name == "stats")


def test_an_answer_of_which_an_index_failed_is_not_remembered(tmp_path: Path) -> None:
    table = indexed(tmp_path / "t")
    (part,) = (tmp_path / "t" / "_metaindex" / "stats" / "column_stats").glob("*/*.mix")
    sound = part.read_bytes()
    part.write_bytes(b"\0" * len(sound))
    assert not used(table)
    part.write_bytes(sound)
    assert used(table)


def test_an_index_that_is_switched_off_is_not_asked_from_memory(tmp_path: Path) -> None:
    table = indexed(tmp_path / "t")
    assert used(table)
    table.disable_index("stats")
    assert not used(table)
    table.enable_index("stats")
    assert used(table)
    table.drop_index("stats")
    assert not used(table)


def test_so_much_is_remembered_and_no_more(tmp_path: Path) -> None:
    table = indexed(tmp_path / "t")
    result = table.prune(QUESTION)
    few, none = PlanCache(100_000), PlanCache(0)

    def asked(number: int) -> PlanCacheKey:
        return PlanCacheKey(number, result.version, False, (), (), None)

    for number in range(100):
        few.keep(asked(number), result)
        none.keep(asked(number), result)
    there = [number for number in range(100) if few.find(asked(number)) is not None]
    assert there == list(range(100 - len(there), 100))
    assert 1 < len(there) < 20
    assert none.find(asked(99)) is None
    forgetful = mi.open_table(str(tmp_path / "t"), config=Config(cache_bytes=0))
    assert min(forgetful.prune(QUESTION).indexes[0].reads for _ in range(2)) > 0


def questions() -> st.SearchStrategy[Predicate | str]:
    key = st.integers(-1, 60)
    return st.one_of(
        key.map(lambda k: col("k") == k),
        key.map(lambda k: f"k >= {k}"),
        st.lists(key, min_size=9, max_size=12).map(
            lambda some: " OR ".join(f"(k = {k} AND s = 'v{k // 10}')" for k in some)
        ),
    )


@settings(max_examples=few(5, 25), deadline=None)
@given(st.data())
def test_a_handle_that_remembers_answers_as_a_new_one(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "t"
        table = indexed(root, 2)
        asked = data.draw(st.lists(questions(), min_size=1, max_size=3))
        for number in range(data.draw(st.integers(1, 4))):
            match data.draw(st.sampled_from(["commit", "refresh", "optimize", "overwrite", "nothing"])):
                case "commit":
                    commit(root, 2 + number)
                case "refresh":
                    table.refresh_index("stats", builder="local")
                case "optimize":
                    table.optimize_index("stats", mode="full")
                case "overwrite":
                    commit(root, 5 - number, mode="overwrite")
                case _:
                    pass
            for one in data.draw(st.lists(st.sampled_from(asked), min_size=1, max_size=3)):
                version = data.draw(st.sampled_from([None, 0, 1]))
                found, new = table.prune(one, version), mi.open_table(str(root)).prune(one, version)
                assert found.paths == new.paths
                assert found.version == new.version
                assert found.dropped.paths.equals(new.dropped.paths)
                assert [(r.name, r.used, r.dropped_files) for r in found.indexes] == [
                    (r.name, r.used, r.dropped_files) for r in new.indexes
                ]
