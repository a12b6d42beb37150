"""What a snapshot and the changes since its neighbour load: pyarrow.compute and pandas take longer than the work."""

from pathlib import Path

import pytest

from tests.formats.delta.hand import add, checkpoint, column, commit, metadata, protocol, remove
from tests.processes import python

_ASKED = """
import sys
from metaindex.formats.model import Base
from metaindex.formats.format import At
from metaindex.formats.registry import open_ref
format_, ref = open_ref(sys.argv[1], "delta")
base = format_.snapshot(ref, At(version=1))
known = Base(base.version, base.schema, base.partition_columns)
assert len(format_.changes(ref, [known], At(version=2)).touched.files) == 1
assert len(format_.snapshot(ref, At()).files) == 3
print([name for name in ("pandas", "pyarrow.compute", "pyarrow.dataset", "polars") if name in sys.modules])
"""


@pytest.mark.slow
def test_a_snapshot_and_changes_load_little(tmp_path: Path) -> None:
    # Without blanks, as writers do.
    stats = '{"numRecords":3,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0}}'
    made = [add(f"p={n}/f{n}.parquet", stats=stats, partitionValues={"p": str(n)}) for n in range(4)]
    head = [protocol(), metadata(column("id"), column("p", "integer"), partitions=["p"])]
    commit(tmp_path, 0, *head, *made[:2])
    checkpoint(tmp_path, 0, *head, *made[:2])
    commit(tmp_path, 1, made[2], remove("p=0/f0.parquet"))
    commit(tmp_path, 2, made[3])
    out = python("-c", _ASKED, str(tmp_path))
    assert out.strip() == "[]"
