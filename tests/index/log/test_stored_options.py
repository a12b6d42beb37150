"""Reader options that somebody wrote into an index are believed by no query that names none."""

import json
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.index.log.sealed import seal
from tests.tables import settled


@pytest.mark.parametrize("name", ["path", "storage_options", "schema", "trust_index", "config", ""])
def test_an_option_that_somebody_wrote_into_an_index_keeps_no_table_from_being_read(tmp_path: Path, name: str) -> None:
    root = settled(tmp_path / "t", {"0.csv": "a,b\n1,2\n"})
    mi.open_table(root).create_index("i", mi.ColumnStats(), builder="local")
    log = Path(mi.open_table(root).indexes()["i"].location) / "_log"
    newest = max(log.glob("*.json"))
    entry = json.loads(newest.read_bytes().split(b"\n")[0])
    entry["source"]["options"] = {"file_format": "csv", name: "/x("}
    newest.write_bytes(seal(entry, None))
    assert mi.open_table(root).scan().to_arrow().num_rows == 1
    assert mi.open_table(root).drop_index("i").changed
