"""Data files read for their keys: what is certain of a file is in them, what is not makes it unkeyed, and every value
that pyarrow reads is found."""

import datetime as dt
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from metaindex.core import LiteralTypeError, StorageUnavailableError
from metaindex.expressions import Literal, physical_type
from metaindex.formats import Leaf
from metaindex.index.build.local import LocalBuilder
from metaindex.index.build.protocol import BuildReport, BuildRequest
from metaindex.index.kinds import registry
from metaindex.index.kinds.keyed import Hits
from metaindex.index.kinds.kind import KeyKind, key_plans
from metaindex.index.kinds.values.spec import ValueList, Values
from metaindex.index.log.entry import RunRef
from metaindex.index.log.sealed import digest
from metaindex.index.store.cache import StoreCache
from metaindex.index.store.layout import manifest_bytes, manifest_path
from metaindex.index.store.reader import ReadCount, RunReader
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage
from tests.index.build.lake import FolderDetails, fields_of, request_for, request_of, write
from tests.index.build.scenarios import scenario


@dataclass(frozen=True)
class KeyedRun:
    request: BuildRequest
    found: BuildReport
    reader: RunReader

    def hits(self, column: str, *values: object, place: int = 0) -> Hits:
        keys = [key for key in self.found.keys if ", ".join(c.name for c in key.columns) == column]
        types = [
            leaf.type
            for name in column.split(", ")
            for leaf in self.request.snapshot.schema.leaves()
            if ".".join(leaf.parts) == name
        ]
        one = registry.KINDS.key_reader(self.reader, keys[place], types)
        hits = one.null() if values == (None,) else one.among([tuple(map(Literal.of, values))])
        assert hits is not None
        return hits

    def files(self, column: str, *values: object) -> list[str]:
        """Names of the files that the key of a column (or columns) finds."""
        mask = self.hits(column, *values).mask(len(self.request.files))
        return [Path(path).name for path, kept in zip(self.request.files.paths.to_pylist(), mask, strict=True) if kept]

    def unkeyed(self, column: str) -> list[str]:
        key = next(key for key in self.found.keys if ", ".join(c.name for c in key.columns) == column)
        ordinals = []
        for part in self.reader.parts("unkeyed"):
            table = self.reader.read(part, range(len(self.reader.footer(part).rows)), ["key_id", "ordinal"])
            ordinals += table.filter(pc.equal(table.column("key_id"), key.key_id)).column("ordinal").to_pylist()
        assert len(ordinals) == key.unkeyed_files
        assert ordinals == sorted(ordinals)
        return [Path(self.request.files.paths[ordinal].as_py()).name for ordinal in ordinals]


def keyed(request: BuildRequest, index: Path, *kinds: KeyKind) -> KeyedRun:
    sink = RunSink(LocalStorage(str(index)), "run")
    found = LocalBuilder().keys(request, key_plans(kinds, request.snapshot.schema), sink)
    manifest = manifest_bytes(found.parts)
    sink.storage.put(manifest_path("run"), manifest)
    count = len(request.files)
    ref = RunRef("run", count, 1, 0, len(manifest), digest(manifest), "", (), 0, "local", 0, found.keys)
    return KeyedRun(request, found, RunReader(sink.storage, ref, StoreCache(), ReadCount()))


def column_of(table: pa.Table, leaf: Leaf) -> pa.Array:
    values = table.column(leaf.parts[0]).combine_chunks()
    return pc.struct_field(values, list(leaf.parts[1:])) if len(leaf.parts) > 1 else values


@pytest.mark.parametrize("name", ["every_type", "without_statistics", "old_timestamps", "floats_of_one_kind"])
def test_every_value_that_pyarrow_reads_is_found_and_nothing_else(name: str, tmp_path: Path) -> None:
    request = scenario(name, tmp_path)
    leaves = [leaf for leaf in request.leaves if physical_type(leaf.type) is not None]
    names = [".".join(leaf.parts) for leaf in leaves]
    run = keyed(request, tmp_path / "index", ValueList(*names), Values(*names), Values(*names, by="value"))
    root, paths = Path(request.ref.path), request.files.paths.to_pylist()
    tables = [pq.ParquetFile(root / path, coerce_int96_timestamp_unit="us").read() for path in paths]
    known = {column: [Path(path).name not in run.unkeyed(column) for path in paths] for column in names}
    for leaf, column in zip(leaves, names, strict=True):
        held = [column_of(table, leaf) for table in tables]
        plain = (int, float, str, bytes, Decimal, dt.datetime, dt.date)
        for value in {shown for array in held for shown in array.to_pylist() if isinstance(shown, plain)}:
            try:
                Literal.of(value)
            except LiteralTypeError:
                continue  # nanoseconds
            expected = np.array([_holds(array, value) for array in held])[known[column]]
            for place in range(3):
                mask = run.hits(column, value, place=place).mask(len(paths))
                assert mask[known[column]].tolist() == expected.tolist(), (column, value)
        if all(known[column]):
            assert run.hits(column, None).mask(len(held)).tolist() == [array.null_count > 0 for array in held]


def _holds(array: pa.Array, value: object) -> bool:
    return any(one == value or (one != one and value != value) for one in array.to_pylist())


def test_nanoseconds_that_are_no_whole_microseconds_are_unkeyed(tmp_path: Path) -> None:
    run = keyed(scenario("every_type", tmp_path), tmp_path / "index", Values("ns", "ms"))
    assert run.unkeyed("ns") == ["one %41.parquet", "two+é.parquet"]
    assert run.unkeyed("ms") == []
    assert "microseconds" in run.found.uncovered[0][1]


def test_columns_that_files_lack_have_another_type_or_another_case(tmp_path: Path) -> None:
    request = scenario("other_schemas", tmp_path)
    run = keyed(request, tmp_path / "index", ValueList("Id", "added", "wide", "given", "lost"))
    assert run.files("Id", 2) == ["1.parquet"]
    assert run.files("Id", 5) == ["2.parquet"]
    assert run.files("added", None) == ["1.parquet", "2.parquet"]
    assert run.files("wide", 1.5) == ["1.parquet"]
    assert run.files("wide", float("nan")) == ["1.parquet"]
    assert run.files("given", 7) == ["1.parquet"]  # the default
    assert run.unkeyed("given") == ["2.parquet"]
    assert run.unkeyed("lost") == ["1.parquet", "2.parquet"]
    assert run.unkeyed("wide") == run.unkeyed("Id") == []


def test_files_that_cannot_be_read_are_unkeyed_and_told(tmp_path: Path) -> None:
    run = keyed(scenario("damaged_files", tmp_path), tmp_path / "index", Values("i", "f", ("i", "f")))
    bad = ["cut.parquet", "gone.parquet", "other.orc", "page.parquet", "size.parquet"]
    for column in ("i", "f", "i, f"):
        assert run.unkeyed(column) == bad
    assert run.files("i", 5) == ["good.parquet"]
    assert run.files("i, f", 5, 5.0) == ["good.parquet"]
    assert [Path(path).name for path, _ in run.found.uncovered] == bad
    assert run.found.uncovered_files == 5
    assert dict(run.found.uncovered)["other.orc"] == "ORC data files are not read for keys"


def test_a_partition_column_is_in_every_file_of_its_partition(tmp_path: Path) -> None:
    run = keyed(scenario("partition_columns", tmp_path), tmp_path / "index", ValueList("day", ("day", "i")))
    assert run.files("day", 3) == ["a.parquet", "b.parquet"]
    assert run.files("day", 4) == []
    assert run.files("day", None) == ["c.parquet"]
    assert run.files("day, i", 3, 2) == ["a.parquet", "b.parquet"]
    assert run.unkeyed("day") == []


def test_a_partition_whose_value_is_not_known_is_unkeyed(tmp_path: Path) -> None:
    request = scenario("partition_columns", tmp_path)
    unknown = replace(request.snapshot, details=FolderDetails())
    run = keyed(replace(request, snapshot=unknown), tmp_path / "index", ValueList("day"))
    assert run.unkeyed("day") == ["a.parquet", "b.parquet"]
    assert run.files("day", None) == ["c.parquet"]


def test_field_ids_find_renamed_columns_and_files_without_ids_are_unkeyed(tmp_path: Path) -> None:
    with_id = pa.schema([pa.field("old", pa.int64(), metadata={"PARQUET:field_id": "5"})])
    write(tmp_path, "a.parquet", pa.table({"old": [1, 2]}, schema=with_id))
    write(tmp_path, "b.parquet", pa.table({"new": [1, 2]}))
    field = replace(fields_of(pa.schema([("new", pa.int64())]))[0], field_id=5, stable="id:5")
    run = keyed(request_for(tmp_path, [field], ["a.parquet", "b.parquet"]), tmp_path / "index", Values("new"))
    assert run.files("new", 2) == ["a.parquet"]
    assert run.unkeyed("new") == ["b.parquet"]


def test_values_that_readers_show_as_others_are_unkeyed(tmp_path: Path) -> None:
    """int64 shown as double: 2^53 + 1 would be another number. Texts shown as dates. Two columns of one name."""
    day = pa.array([dt.date(2020, 1, 2)])
    twice = pa.table([[1.0], [2.0]], names=["F", "f"]).append_column("d", day)
    files = {
        "b.parquet": pa.table({"f": [1.0, 2.0], "d": [dt.date(2020, 1, 1)] * 2}),
        "a.parquet": pa.table({"f": [1, 2], "d": ["x", "y"]}),
        "c.parquet": twice,
        "d.parquet": twice.rename_columns(["F", "F", "d"]),
    }
    for path, table in files.items():
        write(tmp_path, path, table)
    run = keyed(
        request_for(tmp_path, fields_of(files["b.parquet"].schema), sorted(files)), tmp_path / "index", Values("f", "d")
    )
    assert run.unkeyed("f") == ["a.parquet", "c.parquet", "d.parquet"]
    assert run.unkeyed("d") == ["a.parquet"]
    assert run.files("f", 2.0) == ["b.parquet"]


def test_texts_that_do_not_parse_make_their_column_unkeyed_for_that_file(tmp_path: Path) -> None:
    request = scenario("csv_files", tmp_path)
    run = keyed(request, tmp_path / "index", ValueList("i", "d", "f", "s", "day"), Values(("i", "s")))
    assert run.unkeyed("i") == ["d.csv", "gone.csv"]
    assert run.unkeyed("s") == ["gone.csv"]
    assert run.files("s", "é😀") == ["a %20.csv", "d.csv", "e.csv.gz"]
    assert run.files("i", -3) == ["a %20.csv", "e.csv.gz"]
    assert run.files("i", None) == ["a %20.csv", "e.csv.gz"]
    assert run.files("f", float("nan")) == ["a %20.csv", "d.csv", "e.csv.gz"]
    assert run.files("day", dt.date(1969, 12, 31)) == ["a %20.csv", "d.csv", "e.csv.gz"]
    assert run.files("i, s", 1, "a, b") == ["a %20.csv", "e.csv.gz"]
    assert run.unkeyed("i, s") == ["d.csv", "gone.csv"]


def test_json_struct_fields_and_missing_fields(tmp_path: Path) -> None:
    run = keyed(scenario("json_files", tmp_path), tmp_path / "index", ValueList("st.x", "i", "s"))
    assert run.files("st.x", 7) == ["a.json"]
    assert run.files("st.x", None) == ["a.json", "b%20.json"]
    assert run.unkeyed("i") == ["b%20.json"]
    assert run.files("s", "b") == ["b%20.json"]


def test_an_option_that_the_text_reader_refuses_leaves_files_unkeyed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    details = FolderDetails({"file_format": "csv", "mode": "FAILFAST"})
    request = request_for(tmp_path, fields_of(pa.schema([("i", pa.int64())])), ["a.csv"], details=details)
    run = keyed(request, tmp_path / "index", Values("i"))
    assert run.unkeyed("i") == ["a.csv"]
    assert "failfast" in run.found.uncovered[0][1].lower()


def test_a_default_stands_in_every_row_group_beside_columns_that_are_there(tmp_path: Path) -> None:
    path = write(tmp_path, "a.parquet", pa.table({"i": list(range(30))}), row_group_size=10)
    fields = list(fields_of(pa.schema([("i", pa.int64()), ("given", pa.string())])))
    fields[1] = replace(fields[1], default="x")
    run = keyed(request_for(tmp_path, fields, [path]), tmp_path / "index", Values("i", "given", ("given", "i")))
    given, both = run.hits("given", "x").groups(0, 3), run.hits("given, i", "x", 25).groups(0, 3)
    assert given.tolist() == [True] * 3
    assert both.tolist() == [False, False, True]


def test_values_of_megabytes_and_of_every_length_around_the_cut(tmp_path: Path) -> None:
    texts = ["x" * n for n in (0, 1, 246, 247, 248, 249, 254, 255, 256, 257, 3_000_000)] + ["x" * 3_000_000 + "y"]
    files = {f"{at:02d}.parquet": pa.table({"s": [text, None]}) for at, text in enumerate(texts)}
    request = request_of(tmp_path, files)
    run = keyed(request, tmp_path / "index", ValueList("s"), Values("s"), Values("s", by="value"))
    for at, text in enumerate(texts):
        for place in range(3):
            assert np.flatnonzero(run.hits("s", text, place=place).mask(len(texts))).tolist() == [at]
    assert sum(part.size_bytes for part in run.found.parts) < 50_000


def test_more_distinct_values_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(7)
    drawn = [generator.integers(0, 3000, 2000) for _ in range(6)]
    tables = [pa.table({"i": numbers, "s": [f"user-{n % 2500}" for n in numbers]}) for numbers in drawn]
    request = request_of(tmp_path, {f"{n}.parquet": t for n, t in enumerate(tables)}, row_group_size=500)
    kinds = (Values("i", "s", ("i", "s")), Values("i", "s", by="value"), ValueList("i", limit=5000))
    whole = keyed(request, tmp_path / "a", *kinds)
    monkeypatch.setattr("metaindex.index.build.key_build.MEMORY_BYTES", 1_000_000)
    spilled = keyed(request, tmp_path / "b", *kinds)
    _same_rows(whole, spilled)
    assert len(spilled.found.parts) > len(whole.found.parts)


def _same_rows(whole: KeyedRun, other: KeyedRun) -> None:
    assert whole.found.keys == other.found.keys
    for key in whole.found.keys:
        assert _rows(whole, key.kind, key.key_id) == _rows(other, key.kind, key.key_id)


def _rows(run: KeyedRun, kind: str, key_id: int) -> pa.Table:
    parts = [part for part in run.found.parts if part.kind == kind and part.first_key == key_id]
    reader = run.reader
    tables = [reader.read(p, range(len(reader.footer(p).rows)), list(reader.footer(p).columns)) for p in parts]
    return pa.concat_tables(tables).combine_chunks()


def test_row_groups_read_in_pieces_are_as_whole_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{number % 400:05d}" * 20 for number in range(3000)]
    request = request_of(tmp_path, {"a.parquet": pa.table({"s": texts})}, row_group_size=1000)
    kinds = (Values("s"), Values("s", by="value"), ValueList("s"))
    whole = keyed(request, tmp_path / "a", *kinds)
    monkeypatch.setattr("metaindex.index.build.key_parquet._LARGE_GROUP", 10_000)
    _same_rows(whole, keyed(request, tmp_path / "b", *kinds))


class Silent(LocalStorage):
    def open_input(self, path: str) -> pa.NativeFile:
        raise StorageUnavailableError("the store does not answer")


def test_a_store_that_does_not_answer_fails_the_build(tmp_path: Path) -> None:
    request = request_of(tmp_path, {"a.parquet": pa.table({"i": [1]})})
    silent = replace(request, ref=replace(request.ref, storage=Silent(request.ref.storage.root)))
    keyed(request, tmp_path / "answering", Values("i"))
    with pytest.raises(StorageUnavailableError):
        keyed(silent, tmp_path / "index", Values("i"))


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_change_nothing(tmp_path: Path, threads: int) -> None:
    request = scenario("damaged_files", tmp_path)
    sink = RunSink(LocalStorage(str(tmp_path / "i")), "run")
    found = LocalBuilder(threads=threads).keys(request, key_plans([Values("i")], request.snapshot.schema), sink)
    assert found.uncovered_files == 5
    assert [part.rows for part in found.parts] == [1000, 5]
