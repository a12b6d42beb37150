"""What the end of a process leaves behind: a refresh that is done, or an index that is stale, and nothing worse."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.ops import hooks

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]

WRITES = """
import sys, pyarrow as pa
from metaindex import hooks
hooks.deltalake.write_deltalake(sys.argv[1], pa.table({"id": [7]}), mode="append")
"""

STUCK = """
import sys, time, deltalake, pyarrow as pa
from pathlib import Path
from metaindex import hooks
from metaindex.index.build.local import LocalBuilder

class Stuck:
    name = "stuck"
    def facts(self, request, sink, progress=None):
        report = LocalBuilder().facts(request, sink, progress)
        Path(sys.argv[1] + ".building").touch()
        time.sleep(600)
        return report

deltalake.write_deltalake(sys.argv[1], pa.table({"id": [7]}), mode="append")
hooks.after_commit(sys.argv[1], builder=Stuck())
print("committed", flush=True)
time.sleep(600)
"""


def lake(tmp_path: Path) -> tuple[str, mi.Table]:
    path = str(tmp_path / "lake")
    deltalake.write_deltalake(path, pa.table({"id": [1, 2]}))
    table = mi.open_table(path)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    return path, table


def test_a_process_that_ends_at_once_has_its_refresh_done(tmp_path: Path) -> None:
    path, table = lake(tmp_path)
    done = subprocess.run([sys.executable, "-c", WRITES, path], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert table.indexes()[0].fresh


def test_a_process_killed_in_mid_refresh_leaves_a_stale_index_that_the_next_hook_brings_up(tmp_path: Path) -> None:
    path, table = lake(tmp_path)
    with subprocess.Popen([sys.executable, "-c", STUCK, path], cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "committed\n"  # the writer does not wait for the refresh
        while not os.path.exists(path + ".building"):
            assert writer.poll() is None
            time.sleep(0.02)
        writer.send_signal(signal.SIGKILL)
    assert writer.returncode == -signal.SIGKILL
    (info,) = table.indexes()
    assert (info.state, info.fresh) == ("REFRESHING", False)
    assert table.prune("id = 7").kept_files == 1
    assert table.scan("id >= 2").to_arrow().column("id").to_pylist() == [2, 7]
    (kept,) = hooks.after_commit(path, mode="synchronous")
    assert kept.changed
    assert table.indexes()[0].fresh
    table.cancel_index("stats")
    (info,) = table.indexes()
    assert (info.state, info.fresh) == ("ACTIVE", True)
    assert table.prune("id = 7").kept_files == 1
