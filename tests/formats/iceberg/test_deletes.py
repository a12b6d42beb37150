"""Which deletes apply to which files, against the specification's rules written as plain loops; and what they
delete."""

import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from metaindex.formats.diff import Diff
from metaindex.formats.format import At
from tests.formats.iceberg.handmade import FORMAT, HandManifest, HandTable, entry, optional, table_ref
from tests.hostile.changes import turn

PARTITION = [{"name": "s", "type": optional("string"), "field-id": 1000}]
SPECS = [
    {"spec-id": 0, "fields": []},
    {"spec-id": 1, "fields": [{"name": "s", "field-id": 1000, "source-id": 2, "transform": "identity"}]},
    {"spec-id": 2, "fields": [{"name": "s", "field-id": 1000, "source-id": 2, "transform": "void"}]},
]
PATH_ID = 2147483546


def position_file(path: Path, rows: list[tuple[str, int]]) -> None:
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": "2147483546"}),
            pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": "2147483545"}),
        ]
    )
    pq.write_table(pa.table([[r[0] for r in rows], [r[1] for r in rows]], schema=schema), path)


def vector_blob(positions: list[int]) -> bytes:
    body = struct.pack("<i", 1681511377) + BitMap64(positions).serialize()
    return struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))


PARTITIONS: Any = st.sampled_from(
    [(0, None), (1, "a"), (1, "b"), (1, None), (1, "__HIVE_DEFAULT_PARTITION__"), (2, None)]
)
DATA: Any = st.tuples(PARTITIONS, st.integers(1, 5))
DELETES: Any = st.tuples(
    PARTITIONS,
    st.integers(1, 5),
    st.sampled_from(["equality", "positions", "within", "named", "bound"]),
    st.integers(0, 5),
    st.integers(0, 5),
)


def applies(data: tuple[Any, int], delete: tuple[Any, int, str, int, int], number: int, count: int) -> bool:
    """The rules of the specification, "Scan Planning"."""
    (data_place, data_sequence), (place, sequence, kind, low, high) = data, delete
    if kind == "equality":
        return sequence > data_sequence and (place[0] in (0, 2) or place == data_place)
    if sequence < data_sequence:
        return False
    if kind in ("named", "bound"):
        return low % count == number
    if kind == "within":
        low, high = low % count, high % count
        return place == data_place and (low <= number <= high or high < low)  # ends that changed places bound nothing
    return bool(place == data_place)


@settings(max_examples=settings.default.max_examples * 40 // 100, deadline=None)
@example([((1, "a"), 3), ((1, "a"), 2)], [((1, "a"), 3, "equality", 0, 0)], False)  # of their own commit, and before
@example([((0, None), 3), ((0, None), 2)], [((0, None), 3, "equality", 0, 0)], False)
@example([((0, None), 1), ((0, None), 1)], [((0, None), 2, "within", 1, 0)], False)  # ClickHouse#118181
@example([((1, "a"), 3), ((1, "a"), 4)], [((1, "a"), 3, "positions", 0, 0)], False)
@given(st.lists(DATA, min_size=1, max_size=6), st.lists(DELETES, max_size=6), st.booleans())
def test_deletes_attach_as_the_specification_says(data: list[Any], deletes: list[Any], old_table: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = HandTable(Path(folder) / "t", specs=SPECS)
        paths = [table.path(f"data/f{n}.parquet") for n in range(len(data))]

        def place(where: tuple[int, str | None]) -> dict[str, Any]:
            return {"partition": {"s": where[1]} if where[0] else {}}

        def manifest(spec: int, content: int, entries: list[Any]) -> HandManifest:
            return HandManifest(entries, content=content, spec_id=spec, sequence=6, partition=PARTITION if spec else ())

        manifests = [
            manifest(
                spec,
                0,
                [
                    entry(paths[n], sequence=seq, **place(where))
                    for n, (where, seq) in enumerate(data)
                    if where[0] == spec
                ],
            )
            for spec in (0, 1, 2)
        ]
        for spec in (0, 1, 2):
            entries = []
            for n, (where, seq, kind, low, high) in enumerate(deletes):
                if where[0] != spec:
                    continue
                more: dict[str, Any] = {"content": 2, "equality_ids": [1]} if kind == "equality" else {"content": 1}
                low, high = low % len(data), high % len(data)
                if kind == "named":
                    more["referenced_data_file"] = paths[low]
                elif kind in ("bound", "within"):
                    high = low if kind == "bound" else high
                    more |= {
                        "lower_bounds": {PATH_ID: paths[low].encode()},
                        "upper_bounds": {PATH_ID: paths[high].encode()},
                    }
                entries.append(entry(f"d{n}.parquet", sequence=seq, **more, **place(where)))
            manifests.append(manifest(spec, 1, entries))
        table.commit(manifests)
        snapshot = table.snapshot()
        by_path = {snapshot.uri(e.path): row for row, e in enumerate(snapshot.files.entries())}
        assert sorted(by_path) == sorted(paths)
        identities: dict[frozenset[str], str | None] = {}
        for n, one in enumerate(data):
            row = by_path[paths[n]]
            wanted = frozenset(
                f"d{k}.parquet" for k, d in enumerate(deletes) if applies(one, _within_one(d, len(data)), n, len(data))
            )
            pairs = snapshot.details.pairs
            rows = pairs.filter(pairs["file"] == row)["delete"].to_list()
            assert frozenset(snapshot.details.delete_entries["location"][k] for k in rows) == wanted
            identity = snapshot.files.entry(row).deletes
            assert (identity is None) == (not wanted)
            assert identities.setdefault(wanted, identity) == identity
        assert len(set(identities.values())) == len(identities)


def _within_one(delete: Any, count: int) -> Any:
    """Bounds of one path name that path, whatever partition."""
    where, seq, kind, low, high = delete
    return (where, seq, "bound" if kind == "within" and low % count == high % count else kind, low, high)


@pytest.fixture
def table(tmp_path: Path) -> HandTable:
    made = HandTable(tmp_path / "t", format_version=3)
    (made.root / "data").mkdir(parents=True)
    return made


def with_deletes(table: HandTable, *deletes: dict[str, Any]) -> HandTable:
    data = [entry(table.path(f"data/f{n}.parquet"), sequence=1) for n in range(2)]
    table.commit([HandManifest(data, sequence=1), HandManifest(deletes, content=1, sequence=2)])
    return table


def test_position_deletes_give_the_rows_of_their_file_only(table: HandTable) -> None:
    position_file(
        table.root / "d.parquet",
        [(table.path("data/f0.parquet"), 3), (table.path("data/f1.parquet"), 5), (table.path("data/f1.parquet"), 7)],
    )
    snapshot = with_deletes(table, entry(table.path("d.parquet"), content=1)).snapshot()
    assert [list(snapshot.details.deletes(n).positions) for n in (0, 1)] == [[3], [5, 7]]
    assert [snapshot.files.table.column("deleted_count")[n].as_py() for n in (0, 1)] == [None, None]


def vector_entry(
    table: HandTable, positions: list[int], *, target: str = "data/f0.parquet", **more: Any
) -> dict[str, Any]:
    blob = vector_blob(positions)
    (table.root / "dv.puffin").write_bytes(b"PFA1" + blob)
    return entry(
        table.path("dv.puffin"),
        **{
            "content": 1,
            "file_format": "PUFFIN",
            "referenced_data_file": table.path(target),
            "content_offset": 4,
            "content_size_in_bytes": len(blob),
            "record_count": len(positions),
            **more,
        },
    )


def test_a_deletion_vector_takes_the_place_of_position_deletes(table: HandTable) -> None:
    position_file(table.root / "d.parquet", [(table.path("data/f0.parquet"), 3)])
    snapshot = with_deletes(
        table, entry(table.path("d.parquet"), content=1), vector_entry(table, [1, 2**33])
    ).snapshot()
    assert list(snapshot.details.deletes(0).positions) == [1, 2**33]
    assert snapshot.files.table.column("deleted_count").to_pylist() == [2, None]


def test_two_deletion_vectors_of_one_file_are_refused(table: HandTable) -> None:
    one = vector_entry(table, [1])
    with pytest.raises(CorruptTableError, match="several"):
        with_deletes(table, one, one).snapshot()


def test_a_deletion_vector_older_than_its_file_is_refused(table: HandTable) -> None:
    with pytest.raises(CorruptTableError, match="older"):
        with_deletes(table, {**vector_entry(table, [1]), "sequence_number": 0}).snapshot()


def test_a_deletion_vector_with_a_wrong_count_or_checksum_is_refused(table: HandTable) -> None:
    snapshot = with_deletes(table, vector_entry(table, [1, 2], record_count=3)).snapshot()
    with pytest.raises(CorruptTableError, match="deletion vector 2"):
        snapshot.details.deletes(0)
    turn((table.root / "dv.puffin"), -1)
    with pytest.raises(CorruptTableError):
        snapshot.details.deletes(0)


def test_equality_deletes_are_read_by_field_id_and_joined(table: HandTable) -> None:
    for n, values in enumerate((["x"], [None, "y"])):
        schema = pa.schema([pa.field("old_name", pa.string(), metadata={"PARQUET:field_id": "2"})])
        pq.write_table(pa.table([values], schema=schema), table.root / f"e{n}.parquet")
    snapshot = with_deletes(
        table, *(entry(table.path(f"e{n}.parquet"), content=2, equality_ids=[2]) for n in range(2))
    ).snapshot()
    (deletes,) = snapshot.details.deletes(0).equality
    assert [leaf.parts for leaf in deletes.columns] == [("s",)]
    assert sorted(deletes.rows.column(0).to_pylist(), key=str) == [None, "x", "y"]
    assert not snapshot.details.deletes(0).positions


def test_equality_deletes_of_a_dropped_column_still_hold(table: HandTable) -> None:
    fields: Any = table.schemas[0]["fields"]
    table.schemas.append({"type": "struct", "schema-id": 1, "fields": fields[:1]})
    schema = pa.schema([pa.field("s", pa.string(), metadata={"PARQUET:field_id": "2"})])
    pq.write_table(pa.table([["x"]], schema=schema), table.root / "e.parquet")
    snapshot = with_deletes(table, entry(table.path("e.parquet"), content=2, equality_ids=[2])).snapshot()
    assert snapshot.schema.names == ["id"]
    assert snapshot.details.deletes(1).equality[0].columns[0].stable == "id:2"


def test_equality_deletes_fit_a_widened_column(table: HandTable) -> None:
    schema = pa.schema([pa.field("id", pa.int32(), metadata={"PARQUET:field_id": "1"})])
    pq.write_table(pa.table([[7]], schema=schema), table.root / "e.parquet")
    snapshot = with_deletes(table, entry(table.path("e.parquet"), content=2, equality_ids=[1])).snapshot()
    assert snapshot.details.deletes(0).equality[0].rows.schema.types == [pa.int64()]


def test_a_negative_position_is_refused(table: HandTable) -> None:
    position_file(table.root / "d.parquet", [(table.path("data/f0.parquet"), -1)])
    snapshot = with_deletes(table, entry(table.path("d.parquet"), content=1)).snapshot()
    with pytest.raises(CorruptTableError, match="0 or more"):
        snapshot.details.deletes(0)


def test_deletes_in_other_formats_are_refused_by_name(table: HandTable) -> None:
    snapshot = with_deletes(table, entry(table.path("d.orc"), content=1, file_format="ORC")).snapshot()
    with pytest.raises(UnsupportedFeatureError, match="orc"):
        snapshot.details.deletes(0)


def test_a_missing_or_truncated_delete_file_is_named(table: HandTable) -> None:
    snapshot = with_deletes(table, entry(table.path("d.parquet"), content=1)).snapshot()
    with pytest.raises(CorruptTableError, match=r"snapshot 1: delete file .*d\.parquet"):
        snapshot.details.deletes(0)
    (table.root / "d.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(CorruptTableError, match=r"d\.parquet"):
        snapshot.details.deletes(0)


def test_snapshots_say_which_files_got_new_deletes(table: HandTable) -> None:
    data = [entry(table.path(f"data/f{n}.parquet"), sequence=1, snapshot=1) for n in range(3)]
    first = table.commit([HandManifest(data, sequence=1)])
    old = HandManifest(data, sequence=1)
    table.commit(
        [
            old,
            HandManifest([vector_entry(table, [4], target="data/f1.parquet")], content=1, sequence=2, added_snapshot=2),
        ],
        parent=first,
    )
    ref = table_ref(table.write())
    base, target = (FORMAT.snapshot(ref, At(version=n)) for n in (1, 2))
    assert FORMAT.diff(ref, base, At(version=2)) is None, "the commits do not say which files a delete is of"
    diff = Diff.between(base, target)
    assert (len(diff.appended), len(diff.deleted)) == (0, 0)
    assert diff.deletes_changed.table.equals(target.files.table.slice(1, 1))


@pytest.mark.parametrize("kind", ["position", "equality"])
def test_a_flipped_byte_in_a_delete_file_is_named(table: HandTable, kind: str) -> None:
    """Where the writer put checksums beside its pages, as Java's does."""
    path = table.root / "d.parquet"
    if kind == "position":
        position_file(path, [(table.path("data/f0.parquet"), 3)])
    else:
        schema = pa.schema([pa.field("s", pa.string(), metadata={"PARQUET:field_id": "2"})])
        pq.write_table(pa.table([["x" * 50]], schema=schema), path)
    pq.write_table(
        pq.read_table(path),
        path,
        write_page_checksum=True,
        write_statistics=False,
        use_dictionary=False,
        compression="none",
    )
    more: dict[str, Any] = {"content": 1} if kind == "position" else {"content": 2, "equality_ids": [2]}
    whole = with_deletes(table, entry(table.path("d.parquet"), **more)).snapshot().details.deletes(0)
    assert len(whole.positions) + sum(one.rows.num_rows for one in whole.equality) == 1
    data = bytearray(path.read_bytes())
    data[data.index(b"xxx" if kind == "equality" else b"data/f0") + 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(CorruptTableError, match=r"/t snapshot 1: delete file .*/d\.parquet"):
        table.snapshot().details.deletes(0)
