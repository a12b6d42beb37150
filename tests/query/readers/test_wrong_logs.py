"""A log whose bounds are wrong adds no row to a scan: what it says leaves files out, and is no filter."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import WriterProperties, write_deltalake

import metaindex as mi
from tests.query.readers.lake import rewritten


@pytest.mark.parametrize("indexed", [False, True])
def test_every_row_is_filtered(tmp_path: Path, indexed: bool) -> None:
    """Large enough that a filter is worth leaving out."""
    count = 2_200_000
    k = np.arange(count)
    plain = WriterProperties(compression="UNCOMPRESSED")
    write_deltalake(str(tmp_path), pa.table({"k": k, "v": k % 7}), writer_properties=plain)
    (log,) = (tmp_path / "_delta_log").glob("*.json")
    rewritten(log, "add", lambda said: said["minValues"].update(k=100), "stats")
    table = mi.open_table(str(tmp_path))
    assert table.snapshot().files.size_bytes > 16 << 20
    if indexed:
        table.create_index("stats", mi.ColumnStats(trust_log=True), builder="local")
    assert table.scan("k >= 100", ["k"]).to_arrow().num_rows == count - 100
    assert table.scan("k >= 100", ["v"]).to_arrow().num_rows == count - 100
