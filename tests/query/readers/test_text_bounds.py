"""A line of a text file is bounded, unpacked: what has a longer one stays uncovered, and the writer's process its
memory."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.core import ScanError
from metaindex.formats.text import reader

_ROOT = Path(__file__).parents[3]
_BUILD = """
import resource, sys
import metaindex as mi
from tests.processes import peak_bytes
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
table = mi.open_table(sys.argv[1], header="true", schema="a INT, s STRING")
table.create_index("ix", mi.ColumnStats(), builder="local")
print(table.indexes()[0].uncovered_files, table.prune("a = 7").kept_files, peak_bytes() >> 20)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "lake"
    root.mkdir()
    (root / "small.csv").write_text("a,s\n1,x\n")
    with gzip.open(root / "x.csv.gz", "wb", 1) as out:
        out.write(b"a,s\n7,")
        for _ in range(300):
            out.write(b"A" * (1 << 20))
        out.write(b"\n")
    for path in root.iterdir():
        os.utime(path, (1_600_000_000, 1_600_000_000))
    return root


@pytest.mark.slow
def test_a_field_of_300_megabytes_leaves_its_file_uncovered_and_the_builder_small(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, str(folder)], capture_output=True, text=True, check=True, cwd=_ROOT
    )
    uncovered, kept, megabytes = map(int, done.stdout.split())
    assert (uncovered, kept) == (1, 1)
    assert megabytes < 1200


@pytest.mark.parametrize("options", [{}, {"multiLine": "true"}])
def test_a_reader_refuses_it_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]) -> None:
    monkeypatch.setattr(reader, "_MOST_LINE_BYTES", 1 << 22)
    monkeypatch.setattr(reader, "_MOST_WHOLE_BYTES", 1 << 22)
    root = tmp_path / "lake"
    root.mkdir()
    (root / "x.csv").write_text('1,"' + "A" * (3 * reader._BLOCK_BYTES) + '"\n')
    table = mi.open_table(str(root), format="csv", schema="a INT, s STRING", **options)
    with pytest.raises(ScanError, match=r"at most 4,194,304 bytes, unpacked; .*x\.csv"):
        table.scan("a = 1").to_arrow()
