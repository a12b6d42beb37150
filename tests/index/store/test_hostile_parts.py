"""Footers of parts that a stranger wrote, digests and all: no query ends its process or loses a row; the index is left
out with its reason where its footers cannot be used."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import DamagedIndexError
from metaindex.formats import StatedColumn
from metaindex.index.log.entry import RunRef
from metaindex.index.log.sealed import digest, seal
from metaindex.index.store.cache import StoreCache
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import ReadCount, RunReader
from metaindex.index.store.rows import PART_ROWS
from metaindex.storage import LocalStorage
from tests.formats.footer_surgery import (
    BINARY,
    COLUMN_ORDERS,
    COLUMNS,
    I32,
    I64,
    LIST,
    META_DATA,
    NULL_COUNT,
    ROW_GROUPS,
    ROWS,
    STATISTICS,
    STRUCT,
    Items,
    Struct,
    change,
    written,
)
from tests.processes import python
from tests.tables import FORMATS

CODEC, VALUES, UNPACKED, PACKED, DATA_PAGE, DICTIONARY_PAGE, SIZES, GEOMETRY = 4, 5, 6, 7, 9, 11, 16, 17
BOUNDS = (1, 2, 5, 6)
QUERIES = {"id = 23": 1, "s = 's7'": 4, "id IS NULL": 1, "id > 37": 1, "s IN ('s3', 'none')": 4}

ASKED = """
import json, sys
import metaindex as mi
queries = json.loads(sys.argv[1])
for folder in sys.argv[2:]:
    print(folder, flush=True)
    table = mi.open_table(folder)
    for query, rows in queries.items():
        found = table.scan(query).to_arrow()
        assert found.num_rows == rows, (folder, query, found.num_rows)
        table.prune(query)
        table.explain(query)
        table.locate(query)
    print(json.dumps([one.used for one in table.prune("id = 23").indexes]), flush=True)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a table with an index of all kinds that look values up."""
    folder = tmp_path_factory.mktemp("whole")
    lake = FORMATS["delta"](folder)
    for number in range(4):
        ids = [*range(number * 10, number * 10 + 9), None if number == 3 else number * 10 + 9]
        lake.append(pa.table({"id": pa.array(ids, pa.int64()), "s": [f"s{at}" for at in range(10)]}))
    kinds = (
        *(mi.ColumnStats("id", "s"), mi.Values("id"), mi.Values("id", by="value"), mi.Values("s", by="value")),
        *(mi.Bloom("id"), mi.ValueList("s")),
    )
    lake.open().create_index("all", *kinds, builder="local")
    return Path(lake.path)


def copied(whole: Path, folder: Path) -> Path:
    shutil.copytree(whole, folder)
    return folder


def parts(table: Path) -> Iterator[Path]:
    yield from sorted((table / "_metaindex" / "all").glob("*/*/*.mix"))


def resealed(table: Path) -> None:
    """Whoever can write parts can write their manifest and the log."""
    index = table / "_metaindex" / "all"
    newest = max(path for path in (index / "_log").iterdir() if path.name[0].isdigit())
    entry = json.loads(newest.read_bytes().split(b"\n")[0])
    for run in entry["content"]["runs"]:
        path = index / "_manifests" / f"{run['run']}.json"
        manifest = json.loads(path.read_bytes())
        for part in manifest["parts"]:
            data = (index / part["path"]).read_bytes()
            before = part["footer_bytes"] + len(data) - part["size_bytes"]
            part |= {"size_bytes": len(data), "footer_bytes": before, "footer_digest": digest(data[-before:])}
        text = json.dumps(manifest).encode()
        path.write_bytes(text)
        run |= {"manifest_bytes": len(text), "manifest_digest": digest(text)}
    newest.write_bytes(seal(entry, None))


def of_chunks(harm: Callable[[Struct], object]) -> Callable[[Struct], None]:
    """Harm the metadata of every chunk."""

    def operate(footer: Struct) -> None:
        for group in footer[ROW_GROUPS].values:
            for column in group[COLUMNS].values:
                harm(column[META_DATA])

    return operate


def of_statistics(harm: Callable[[Struct], object]) -> Callable[[Struct], None]:
    return of_chunks(lambda chunk: harm(chunk[STATISTICS]) if STATISTICS in chunk.fields else None)


def histogram(chunk: Struct) -> None:
    chunk.put(SIZES, STRUCT, Struct({3: (LIST, Items(I64, [1, 2, 3, 4]))}))


def encrypted(footer: Struct) -> None:
    for group in footer[ROW_GROUPS].values:
        for column in group[COLUMNS].values:
            column.put(8, STRUCT, Struct({1: (STRUCT, Struct({}))}))


def fewer_columns(footer: Struct) -> None:
    for group in footer[ROW_GROUPS].values:
        group[COLUMNS].values.pop()


def more_columns(footer: Struct) -> None:
    for group in footer[ROW_GROUPS].values:
        group[COLUMNS].values.append(group[COLUMNS].values[0])


def rows(count: int) -> Callable[[Struct], None]:
    def operate(footer: Struct) -> None:
        footer.put(ROWS, I64, count)
        for group in footer[ROW_GROUPS].values:
            group.put(3, I64, count)

    return operate


HARM: dict[str, Callable[[Struct], object]] = {
    "codec_99": of_chunks(lambda chunk: chunk.put(CODEC, I32, 99)),
    "codec_negative": of_chunks(lambda chunk: chunk.put(CODEC, I32, -1)),
    "histogram": of_chunks(histogram),
    "no_geometry": of_chunks(lambda chunk: chunk.put(GEOMETRY, STRUCT, Struct({1: (STRUCT, Struct({}))}))),
    "short_bounds": of_statistics(lambda said: [said.put(at, BINARY, b"\1") for at in BOUNDS]),
    "empty_bounds": of_statistics(lambda said: [said.put(at, BINARY, b"") for at in BOUNDS]),
    "one_bound": of_statistics(lambda said: said.drop(*BOUNDS[1:])),
    "nulls_without_end": of_statistics(lambda said: said.put(NULL_COUNT, I64, 2**63 - 1)),
    "nulls_negative": of_statistics(lambda said: said.put(NULL_COUNT, I64, -(2**63))),
    "no_statistics": of_chunks(lambda chunk: chunk.drop(STATISTICS)),
    "another_type": of_chunks(lambda chunk: chunk.put(1, I32, 3)),
    "type_99": of_chunks(lambda chunk: chunk.put(1, I32, 99)),
    "encodings": of_chunks(lambda chunk: chunk.put(2, LIST, Items(I32, [99, -1]))),
    "size_beyond": of_chunks(lambda chunk: chunk.put(PACKED, I64, 2**62)),
    "size_negative": of_chunks(lambda chunk: chunk.put(PACKED, I64, -5)),
    "page_beyond": of_chunks(lambda chunk: chunk.put(DATA_PAGE, I64, 2**62)),
    "page_negative": of_chunks(lambda chunk: chunk.put(DATA_PAGE, I64, -(2**62))),
    "dictionary_beyond": of_chunks(lambda chunk: chunk.put(DICTIONARY_PAGE, I64, 2**62)),
    "values_negative": of_chunks(lambda chunk: chunk.put(VALUES, I64, -1)),
    "values_without_end": of_chunks(lambda chunk: chunk.put(VALUES, I64, 2**62)),
    "unpacked_negative": of_chunks(lambda chunk: chunk.put(UNPACKED, I64, -1)),
    "encrypted": encrypted,
    "fewer_columns": fewer_columns,
    "more_columns": more_columns,
    "no_row_groups": lambda footer: footer[ROW_GROUPS].values.clear(),
    "no_orders": lambda footer: footer.drop(COLUMN_ORDERS),
    "rows_without_end": rows(2**31 - 1),
    "rows_negative": rows(-5),
}


def asked(*tables: Path) -> dict[str, bool]:
    """Ask a process about tables, and return of each whether its index was used."""
    lines = python("-c", ASKED, json.dumps(QUERIES), *tables).splitlines()
    return {Path(table).name: json.loads(used)[-1] for table, used in zip(lines[::2], lines[1::2], strict=True)}


def test_no_footer_of_a_stranger_ends_the_process(whole: Path, tmp_path: Path) -> None:
    tables = [copied(whole, tmp_path / "unharmed"), *(copied(whole, tmp_path / name) for name in HARM)]
    for name, table in zip(HARM, tables[1:], strict=True):
        for part in parts(table):
            change(part, HARM[name])
        resealed(table)
    used = asked(*tables)
    assert used["unharmed"]
    for name in ("short_bounds", "empty_bounds", "codec_99", "fewer_columns", "rows_negative", "size_beyond"):
        assert not used[name], name


def test_nor_do_random_bytes_in_footers(whole: Path, tmp_path: Path) -> None:
    random = Random(7)
    tables = [copied(whole, tmp_path / str(number)) for number in range(40)]
    for table in tables:
        for part in parts(table):
            data = bytearray(part.read_bytes())
            size = int.from_bytes(data[-8:-4], "little")
            for _ in range(random.randint(1, 3)):
                data[random.randrange(len(data) - 8 - size, len(data) - 8)] = random.randrange(256)
            part.write_bytes(data)
        resealed(table)
    try_all = ASKED.replace("assert found.num_rows == rows", "assert found.num_rows <= 40")
    python("-c", try_all, json.dumps(QUERIES), *tables)


ZEROS = 512 << 20


def bomb(compressed: bytes, kind: int, about: int) -> bytes:
    """A page that says to unpack to so many bytes; `kind` of page, `about`: which field says how many values."""
    values = Struct({1: (I32, 1), 2: (I32, 0), 3: (I32, 3), 4: (I32, 3)} if kind == 0 else {1: (I32, 1), 2: (I32, 0)})
    header = Struct({1: (I32, kind), 2: (I32, ZEROS), 3: (I32, len(compressed)), about: (STRUCT, values)})
    return written(header) + compressed


@pytest.mark.parametrize(("kind", "about"), [(0, 5), (2, 7)], ids=["data", "dictionary"])
def test_a_page_that_unpacks_to_half_a_gigabyte_is_not_unpacked(kind: int, about: int) -> None:
    page = bomb(pa.compress(bytes(1 << 10), "zstd", asbytes=True), kind, about)
    with pytest.raises(ValueError, match="unpack to more than"):
        StatedColumn.hold_pages(page, 0, len(page))
    with pytest.raises(ValueError, match="behind the end"):
        StatedColumn.hold_pages(page, 0, len(page) - 1)


def test_a_dictionary_has_no_more_values_than_bytes() -> None:
    header = Struct({1: (I32, 2), 2: (I32, 8), 3: (I32, 0), 7: (STRUCT, Struct({1: (I32, 2**31 - 1), 2: (I32, 0)}))})
    page = written(header)
    with pytest.raises(ValueError, match="other bytes than its values"):
        StatedColumn.hold_pages(page, 0, len(page))


def test_a_row_group_of_more_rows_than_any_is_refused(tmp_path: Path) -> None:
    """Pages by run lengths hold any number of rows in a few bytes."""
    many = pa.table({"ordinal": pa.array(np.zeros(PART_ROWS + 1, np.int32))})
    (tmp_path / "files").mkdir()
    pq.write_table(many, tmp_path / "files" / "a.mix", row_group_size=2 * PART_ROWS)
    data = (tmp_path / "files" / "a.mix").read_bytes()
    size = 8 + int.from_bytes(data[-8:-4], "little")
    part = PartInfo("files", "files/a.mix", many.num_rows, len(data), size, digest(data[-size:]))
    run = RunRef("r", 1, 1, 0, 0, "", "", (), 0, "")
    with pytest.raises(DamagedIndexError, match="a row group has more than"):
        RunReader(LocalStorage(str(tmp_path)), run, StoreCache(), ReadCount()).read(part, [0], ["ordinal"])


NUMBERS = st.integers(-(2**31), 2**31 - 1)
COLUMNS_OF = {
    "i": (pa.int32(), NUMBERS),
    "l": (pa.int64(), NUMBERS),
    "d": (pa.float64(), st.floats(allow_nan=False)),
    "b": (pa.bool_(), st.booleans()),
    "f": (pa.binary(16), st.binary(min_size=16, max_size=16)),
    # the path of a column, as it stands in the footer, too
    "t": (pa.binary(), st.binary(max_size=300) | st.sampled_from([b"\x19\x18\x01t", b"\x19\x18\x01i\x15\x02"])),
}


@given(
    st.fixed_dictionaries(
        {n: st.lists(st.none() | some, min_size=6, max_size=6) for n, (_, some) in COLUMNS_OF.items()}
    ),
    st.sampled_from(["none", "zstd", "snappy"]),
    st.booleans(),
)
def test_a_column_is_stated_as_arrow_reads_it(values: dict[str, list[object]], codec: str, coded: bool) -> None:
    table = pa.table({name: pa.array(values[name], type_) for name, (type_, _) in COLUMNS_OF.items()})
    out = pa.BufferOutputStream()
    pq.write_table(table, out, row_group_size=2, compression=codec, use_dictionary=coded, write_page_index=True)
    data = out.getvalue().to_pybytes()
    metadata = pq.read_metadata(pa.BufferReader(data))
    footer = data[-8 - metadata.serialized_size : -8]
    for place in range(metadata.num_columns):
        stated = StatedColumn.of(footer, metadata.schema.column(place), place, metadata.num_row_groups)
        found = list(zip(*stated.statistics(), strict=True))
        for group in range(metadata.num_row_groups):
            chunk = metadata.row_group(group).column(place)
            said = chunk.statistics
            bounds = (said.min_raw, said.max_raw) if said.has_min_max else (None, None)
            assert found[group] == (said.null_count, *bounds)
            start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
            assert stated.span(group) == (start, start + chunk.total_compressed_size)
            assert (stated.codec(group), stated.size(group)) == (chunk.compression, chunk.total_compressed_size)
            stated.hold(group, data)
            assert data[stated.offset_index(group)] == 0x19  # a list
