"""pyiceberg and Polars work through the proxy as they do with the catalog behind it: every read is compared."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import RESTError
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType

import metaindex as mi
from metaindex.serve import Server
from metaindex.serve.proxy.opening import Opener
from metaindex.serve.proxy.service import Proxy
from metaindex.serve.proxy.upstream import Upstream
from tests.serve.upstream import RestCatalog, rows

CONDITIONS = (
    "id = 7", "id in (3, 44, 1000)", "id > 20 and id < 33", "not (id = 7)", "name = 'user-0031'",
    "name like 'user-004%'", "region = 'eu'", "region != 'eu'", "region in ('us', 'ap') and id < 9", "id > 5000",
    "id >= 0",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _polars_plans_by_pyiceberg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")  # as it does without its plug-in, and warns


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[RestCatalog]:
    with RestCatalog(tmp_path / "behind") as catalog:
        yield catalog


def through(behind: RestCatalog, *, plan_all: bool) -> Any:
    """A server before the catalog, that is closed with its proxy."""
    opener = Opener([str(behind.root)], None, None)
    made = Proxy(Upstream(behind.uri), opener, plan_all=plan_all, opening_seconds=60)
    return closing(Server(made, "127.0.0.1", 0))


def catalog(uri: str) -> Any:
    return load_catalog("any", type="rest", uri=uri)


def same(over: Any, direct: Any, conditions: tuple[str, ...] = CONDITIONS) -> int:
    """Compare reads by both catalogs; return how many rows the table has."""
    there, here = over.load_table("n.t"), direct.load_table("n.t")
    assert there.metadata == here.metadata
    for condition in conditions:
        rows_there, rows_here = (table.scan(condition).to_arrow().sort_by("id") for table in (there, here))
        assert rows_there.equals(rows_here), condition
        # Alone it counts whole files where it believes a partition of NULL.
        assert there.scan(condition).count() in (len(rows_here), here.scan(condition).count())
    for snapshot in here.snapshots():
        how: dict[str, Any] = {"snapshot_id": snapshot.snapshot_id, "row_filter": "id < 30"}
        rows_there, rows_here = (table.scan(**how).to_arrow().sort_by("id") for table in (there, here))
        assert rows_there.equals(rows_here), snapshot
    count: int = there.scan().count()
    assert count == len(here.scan().to_arrow())
    return count


def test_a_table_is_written_and_read(behind: RestCatalog) -> None:
    with through(behind, plan_all=True) as server:
        over, direct = catalog(server.uri), catalog(behind.uri)
        over.create_namespace("n")
        table = over.create_table("n.t", rows(0, 1).schema)
        with table.update_spec() as spec:
            spec.add_field("region", IdentityTransform())
        for part in range(3):
            table.append(rows(part * 20, part * 20 + 20))
        assert same(over, direct) == 60
        mi.open_table(str(behind.root / "lake/n/t")).create_index("ids", mi.Values("id", "name"))
        assert same(over, direct) == 60
        table = over.load_table("n.t")
        table.delete("id = 7")  # by a plan of the proxy
        table.delete("region = 'us' and id < 20")
        table.overwrite(rows(500, 510), "id in (41, 44)")
        with table.update_schema() as schema:
            schema.rename_column("name", "called")
            schema.add_column("more", IntegerType())
        table.append(rows(900, 903).rename_columns(["id", "called", "region"]))
        changed = tuple(condition.replace("name", "called") for condition in (*CONDITIONS, "more is null"))
        assert same(over, direct, changed) == 60 - 1 - 6 - 2 + 10 + 3
        assert (len(list(over.load_table("n.t").scan("id = 31").plan_files()))) == 1
        assert behind.count("POST", "/plan") == 0
        over.drop_table("n.t")
        assert direct.list_tables("n") == []


def test_polars_reads_through_the_proxy(behind: RestCatalog) -> None:
    with through(behind, plan_all=True) as server:
        over, direct = catalog(server.uri), catalog(behind.uri)
        direct.create_namespace("n")
        table = direct.create_table("n.t", rows(0, 1).schema)
        for part in range(3):
            table.append(rows(part * 20, part * 20 + 20))
        for condition in (pl.col("id") == 7, pl.col("name") > "user-0050", pl.col("region").is_in(["eu"])):
            there, here = (
                pl.scan_iceberg(one.load_table("n.t")).filter(condition).collect().sort("id") for one in (over, direct)
            )
            assert there.equals(here)
            assert len(here)


@pytest.mark.parametrize("plan_all", [False, True])
def test_what_pyiceberg_cannot_be_told_is_refused_by_name_or_its_own(behind: RestCatalog, plan_all: bool) -> None:
    """NULL among partition values, which its protocol has no spelling of. The metadata that it may write is left as it
    is."""
    with through(behind, plan_all=plan_all) as server:
        over, direct = catalog(server.uri), catalog(behind.uri)
        direct.create_namespace("n")
        table = direct.create_table("n.t", rows(0, 1).schema)
        with table.update_spec() as spec:
            spec.add_field("region", IdentityTransform())
        nulls = pa.array([None] * 10, pa.string())
        table.append(rows(0, 10))
        table.append(rows(10, 20).set_column(2, "region", nulls))
        if not plan_all:
            assert same(over, direct) == 20
            return
        assert len(over.load_table("n.t").scan("region = 'eu'").to_arrow()) == 4
        with pytest.raises(RESTError, match="reads no NULL among partition values"):
            over.load_table("n.t").scan().to_arrow()
        over.load_table("n.t").append(rows(20, 30))
        assert over.load_table("n.t").metadata == direct.load_table("n.t").metadata
        assert len(direct.load_table("n.t").scan().to_arrow()) == 30


def test_a_table_that_cannot_be_opened_is_refused_by_name(behind: RestCatalog, tmp_path: Path) -> None:
    made = Proxy(Upstream(behind.uri), Opener([str(tmp_path / "x")], None, None), plan_all=True, opening_seconds=60)
    with Server(made, "127.0.0.1", 0) as server:
        over = catalog(server.uri)
        over.create_namespace("n")
        over.create_table("n.t", rows(0, 1).schema).append(rows(0, 10))  # writes go on
        with pytest.raises(RESTError, match="allow_locations="):
            over.load_table("n.t").scan("id = 7").to_arrow()
        alone = load_catalog("any", type="rest", uri=behind.uri)
        assert len(alone.load_table("n.t").scan("id = 7").to_arrow()) == 1
