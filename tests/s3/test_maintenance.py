"""optimize, clean and erase on a real S3 server, whose clock tells seconds only."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaindex import ColumnStats
from metaindex.index.actions.removal import on_storage
from metaindex.storage import storage_for

from .server import S3Server
from .test_tables import MAKERS, ids, rows

pytestmark = pytest.mark.slow


def test_runs_are_merged_and_what_is_out_of_use_is_removed(s3: S3Server, bucket: str, tmp_path: Path) -> None:
    lake = next(MAKERS["delta"](s3, bucket, tmp_path))
    lake.append(rows(0))
    lake.open().create_index("main", ColumnStats(), builder="local")
    for first in (10, 20):
        lake.append(rows(first))
        lake.open().refresh_index("main", builder="local")
    storage = storage_for(f"{lake.path}/_metaindex/main")[0]
    versions = lake.open().indexes()[0].versions

    assert "3 runs merged into 1" in str(lake.open().optimize_index("main", mode="full"))
    held = set(on_storage(storage).runs)
    assert len(held) == 4
    lake.open().clean_index("main")
    assert set(on_storage(storage).runs) == held
    lake.open().erase_index("main")

    assert len(on_storage(storage).runs) == 1
    assert [len(lake.open().prune("id = 15", version=v).files) for v in versions] == [0, 1, 1]
    assert ids(lake.open(), "id >= 5") == list(range(5, 30))
    assert lake.open().indexes()[0].fresh
