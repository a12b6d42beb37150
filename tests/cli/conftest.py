"""A small table of plain files for the command line, and how to call it."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaindex.cli import main
from tests.tables import settle

LONG = "x" * 200


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """All of stdout is one JSON value, or this fails."""
        return json.loads(self.out)


Call = Callable[..., Answer]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*words: object) -> Answer:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


def write_table(root: Path) -> Path:
    """Six files in two months; ids 100-104, 110-114, 120-124 and the same from 200 on."""
    for month in (1, 2):
        folder = root / f"month={month}"
        folder.mkdir(parents=True)
        for part in range(3):
            first = month * 100 + part * 10
            rows = {
                "id": list(range(first, first + 5)),
                "name": [None, "a", "line\nbreak", "ü😀", LONG],
                "v": [1.0, float("nan"), None, float("inf"), float(first)],
            }
            pq.write_table(pa.table(rows), folder / f"part-{part}.parquet")
    settle(root)
    return root


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table with an index `stats`, for tests that change nothing."""
    root = write_table(tmp_path_factory.mktemp("cli") / "events")
    from metaindex import ColumnStats, open_table

    open_table(str(root)).create_index("stats", ColumnStats(), builder="local")
    return root


@pytest.fixture
def lines() -> Callable[[str], list[str]]:
    return lambda text: io.StringIO(text).read().splitlines()
