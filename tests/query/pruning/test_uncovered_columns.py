"""A column that no index covers is asked of the table itself: an index on another column never makes an answer
wider."""

from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.table import handle_of


@pytest.fixture
def root(tmp_path: Path) -> str:
    root = str(tmp_path / "t")
    for n in range(4):
        deltalake.write_deltalake(root, pa.table({"a": [n], "b": [n], "p": [n % 2]}), mode="append", partition_by=["p"])
    mi.open_table(root).create_index("on_a", mi.ColumnStats("a"), builder="local")
    return root


@pytest.mark.parametrize(
    ("predicate", "kept"), [("b = 2", 1), ("p = 1", 2), ("a >= 0 AND b = 2", 1), ("a = 2", 1), ("a = 1 OR b = 2", 2)]
)
def test_an_index_on_another_column_changes_no_answer(root: str, predicate: str, kept: int) -> None:
    table = mi.open_table(root)
    assert len(table.prune(predicate).paths) == kept
    assert len(table.prune(predicate, indexes=[]).paths) == kept


def test_where_the_log_is_gone_the_index_answers_alone(root: str, caplog: pytest.LogCaptureFixture) -> None:
    table = mi.open_table(root)
    version = table.snapshot().version.id
    for log in Path(root, "_delta_log").glob("*0[01].json"):
        log.unlink()
    assert len(mi.open_table(root).prune("b = 2", version=version).paths) == 4
    assert "reads more" in caplog.text
    assert len(mi.open_table(root).prune("a = 2", version=version).paths) == 1


@pytest.mark.parametrize("damaged", [False, True])
def test_a_commit_while_the_query_is_planned_is_in_the_answer_and_its_version_or_in_neither(
    root: str, damaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = mi.open_table(root)
    if damaged:
        for part in Path(root, "_metaindex", "on_a", "column_stats").rglob("*.mix"):
            part.write_bytes(b"damage")
    format_ = type(handle_of(table).table_format)
    resolve = format_.resolve

    def resolve_then_commit(*arguments: object) -> object:
        found = resolve(*arguments)  # type: ignore[arg-type]
        deltalake.write_deltalake(root, pa.table({"a": [9], "b": [9], "p": [1]}), mode="append", partition_by=["p"])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(format_, "resolve", resolve_then_commit)
        result = table.prune("a >= 0" if damaged else "b >= 0")
    again = mi.open_table(root).prune("b >= 0", version=result.version.id)
    assert sorted(result.paths) == sorted(again.paths)
    assert result.total_files == again.total_files


def test_where_the_log_is_gone_and_the_index_is_damaged_the_tables_error_is_told(root: str) -> None:
    table = mi.open_table(root)
    version = table.snapshot().version.id
    for log in Path(root, "_delta_log").glob("*0[01].json"):
        log.unlink()
    for part in Path(root, "_metaindex", "on_a", "files").rglob("*.mix"):
        part.write_bytes(b"damage")
    with pytest.raises(mi.MetaIndexError, match="its log was cleaned"):
        mi.open_table(root).prune("b = 2", version=version)
