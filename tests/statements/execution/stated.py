"""Tables for statements without Spark, and their rows."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.statements.execution.results import schema_of
from metaindex.statements.grammar.parsing import parsed
from tests.index.contract.verbs_lake import Lake, rows
from tests.tables import settle, settled


def named(lake: Lake) -> str:
    """The table as a statement names it."""
    match lake.format:
        case "csv":
            return f"csv.`{lake.place()}` WITH (header = true, schema = 'user STRING, n BIGINT')"
        case "iceberg":
            return f"'{lake.place()}'"
        case format_:
            return f"{format_}.`{lake.place()}`"


def filled(folder: Path, format_: str) -> Lake:
    lake = Lake(folder, format_)
    lake.add([rows(0), rows(40), rows(80)])
    settle(Path(lake.location)) if format_ in ("parquet", "csv", "json") else None
    return lake


def told(statement: str, **how: Any) -> list[dict[str, Any]]:
    """The rows of a statement; they have the columns that it says before it is run."""
    found = mi.sql(statement, builder="local", **how)
    assert found.to_arrow().schema == schema_of(parsed(statement))
    assert str(found)
    return found.to_json()


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = settled(
        tmp_path / "it's a lake" / "ä b",
        {f"{part}.parquet": pa.table({"id": range(part * 10, part * 10 + 10), "N": ["x"] * 10}) for part in range(3)},
    )
    monkeypatch.chdir(root.parent)
    return root
