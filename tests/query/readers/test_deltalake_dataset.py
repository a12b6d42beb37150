"""The dataset of kept files that deltalake's users know: the rows of deltalake's own full scan, or a refusal."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

import metaindex as mi
from metaindex.core import ScanError
from tests.formats.delta.hand import add, column, commit, metadata, protocol
from tests.query.readers.test_formats_scan import same_rows, written_delta
from tests.tables import parquet_lake

WHERE = ["id = 17", "s IS NULL OR p = 'a b'", "day >= DATE '2020-01-02' AND NOT (id <= 5)", "p IS NULL AND d > 3.2",
    "p LIKE 'x%'", "id IN (3, 4, 35)"]  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written_delta(str(tmp_path_factory.mktemp("delta") / "t a"))


@pytest.mark.slow
def test_every_version_is_deltalakes_own_full_scan(root: str) -> None:
    opened = mi.open_table(root)
    for version in range(4):
        table = DeltaTable(root, version=version)
        scan = opened.scan(version=version)
        whole = pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all())
        whole = whole.select(scan.schema.names).cast(scan.schema)
        same_rows(scan.to_deltalake(table).to_table(), whole)
        same_rows(scan.to_dataset().to_table(), whole)
        assert sorted(f.path for f in scan.to_deltalake().get_fragments()) == sorted(
            f.path for f in table.to_pyarrow_dataset().get_fragments()
        )


@pytest.mark.parametrize("where", WHERE)
def test_the_predicate_is_the_datasets_filter(root: str, where: str) -> None:
    opened = mi.open_table(root)
    for version in (1, 3):
        scan = opened.scan(where, version=version)
        same_rows(scan.to_deltalake().to_table(), scan.to_arrow())
        assert len(scan.file_rows) < len(opened.scan(version=version).file_rows)


def test_refusals(root: str, tmp_path: Path) -> None:
    opened = mi.open_table(root)
    with pytest.raises(ScanError, match=r"the version that its table has loaded; that is 3, the scan's 1"):
        opened.scan(version=1).to_deltalake(DeltaTable(root))
    with pytest.raises(ScanError, match="know nothing of NaN"):
        opened.scan("f > 2").to_deltalake()
    with pytest.raises(ScanError, match="choose them where it is read"):
        opened.scan(columns=["id"]).to_deltalake()
    lake = parquet_lake(tmp_path)
    lake.append(pa.table({"a": [1]}))
    with pytest.raises(ScanError, match="is of a Delta table"):
        lake.open().scan().to_deltalake()


def test_texts_stored_as_views_are_refused_where_they_are_compared(tmp_path: Path) -> None:
    """delta-rs stores them so in the files that a DELETE rewrites."""
    path = str(tmp_path)
    write_deltalake(path, pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]}))
    DeltaTable(path).delete("id = 3")
    opened = mi.open_table(path)
    for where in ("s = 'a'", "s IN ('a', 'x')", "s < 'b'"):
        with pytest.raises(ScanError, match=r"views of s; read with \.to_dataset\(\)"):
            opened.scan(where).to_deltalake()
        assert opened.scan(where).to_dataset().to_table().num_rows == 1
    assert opened.scan("id = 1").to_deltalake().to_table().to_pylist() == [{"id": 1, "s": "a"}]
    assert opened.scan().to_deltalake().to_table().num_rows == 2


def test_deleted_rows_and_mapped_columns_are_refused(tmp_path: Path) -> None:
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 40,
        "cardinality": 6}  # fmt: skip
    deleted = tmp_path / "deleted"
    commit(
        deleted, 0, protocol(3, ["deletionVectors"]), metadata(column("id")), add("a.parquet", deletionVector=vector)
    )
    with pytest.raises(ScanError, match="has deleted rows"):
        mi.open_table(str(deleted)).scan().to_deltalake()
    mapped = tmp_path / "mapped"
    physical = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"}
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    described = metadata(column("id", **physical), configuration=configuration)
    commit(mapped, 0, protocol(3, ["columnMapping"]), described, add("a.parquet"))
    with pytest.raises(ScanError, match="are mapped"):
        mi.open_table(str(mapped)).scan().to_deltalake()
