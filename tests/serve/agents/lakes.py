"""A lake of Delta, Iceberg and Parquet tables of the same rows, with indexes."""

from pathlib import Path

import pyarrow as pa

import metaindex as mi
from tests.tables import delta_lake, iceberg_lake, parquet_lake

FILES, ROWS = 6, 40
ONE = "name = 'n87'"
"""A condition that `values(name)` keeps one file for."""


def lake(root: Path) -> dict[str, str]:
    """Write it; the tables' paths, by the names that agents call them by."""
    paths = {}
    for format_, make in (("delta", delta_lake), ("iceberg", iceberg_lake), ("parquet", parquet_lake)):
        made = make(root / format_)
        for number in range(FILES):
            ids = range(number * ROWS, number * ROWS + ROWS)
            days = pa.array([number // 2] * ROWS, pa.int32())
            made.append(pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i}" for i in ids], "day": days}))
        made.open().create_index("find", mi.ColumnStats("id", "day"), mi.Values("name"), builder="local")
        paths[str(Path(made.path).relative_to(root))] = made.path
    return paths
