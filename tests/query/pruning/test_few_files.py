"""When the table's own log is asked beside the indexes: for what no index answers, and where they keep more than a few
files (docs/decisions/0010)."""

from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.formats import open_ref
from metaindex.index import Kind

FILES = 8


@pytest.fixture
def root(tmp_path: Path) -> str:
    root = str(tmp_path / "t")
    for n in range(FILES):
        rows = pa.table({"a": [n, n + 100], "b": [n, n], "c": [n % 2, n % 2]})
        deltalake.write_deltalake(root, rows, mode="append")
    return root


def kept(root: str, kind: Kind, predicate: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, bool]:
    """How many files are kept, and whether the table's log was replayed."""
    mi.open_table(root).create_index("find", kind, builder="local")
    replayed = []
    table_format = type(open_ref(root)[0])
    snapshot = table_format.snapshot
    monkeypatch.setattr(table_format, "snapshot", lambda *args: replayed.append(1) or snapshot(*args))  # type: ignore[func-returns-value]
    return mi.open_table(root).prune(predicate).kept_files, bool(replayed)


@pytest.mark.parametrize(
    ("kind", "predicate", "found"),
    [
        (mi.Values("a"), "a = 3", (1, False)),
        # The log would drop the one file that is kept: it is read unless it is long.
        (mi.Values("a"), "a = 103 AND b = 7", (0, True)),
        (mi.Values("a"), "a >= 0 AND b = 7", (1, True)),  # hashes answer no range
        (mi.Values("a"), "b = 7", (1, True)),
        (mi.Values(("a", "c")), "a = 3", (4, True)),  # nothing is fixed together: the log's bounds answer
        (mi.Values(("a", "c")), "a = 103 AND c = 1", (1, False)),
        (mi.ColumnStats("a"), "a >= 0 AND a < 4", (4, False)),
        (mi.ColumnStats("a"), "a >= 0 AND b = 7", (1, True)),
    ],
)
def test_the_log_is_asked_where_it_is_worth_it(
    root: str, kind: Kind, predicate: str, found: tuple[int, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept(root, kind, predicate, monkeypatch) == found
