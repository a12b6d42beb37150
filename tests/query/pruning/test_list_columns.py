"""Predicates may name lists and maps: nothing is known of them, and the other parts still prune."""

from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from tests.tables import settled


@pytest.mark.parametrize("use_indexes", [True, False])
def test_a_list_in_a_predicate_is_kept_and_the_rest_prunes(tmp_path: Path, use_indexes: bool) -> None:
    root = tmp_path / "lake"
    files = {name: [{"s": {"x": x, "tags": ["u"]}, "l": [1, 2]}] for name, x in (("a", 1), ("b", 5))}
    settled(root, {f"{name}.parquet": pa.Table.from_pylist(rows) for name, rows in files.items()})
    mi.open_table(str(root)).create_index("stats", mi.ColumnStats(), builder="local")
    table = mi.open_table(str(root), config=mi.Config(use_indexes=use_indexes))
    for text in ("l IS NULL", "array_contains(l, 7)", "l[0] = 7", "s.tags IS NULL"):
        result = table.prune(text)
        assert result.kept_files == 2
        assert bool(result.not_understood) == ("7" in text)
        assert table.prune(f"({text}) AND s.x = 5").kept_files == (1 if use_indexes else 2)
