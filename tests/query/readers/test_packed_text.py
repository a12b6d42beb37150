"""Compressed CSV and JSON files: members that follow each other, what is torn, what stands behind the end."""

import bz2
import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import CorruptTableError, ScanError
from metaindex.formats.files.compressed import open_text
from tests.query.readers.test_text_scan import lake_of, rows

PACKED: dict[str, Any] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda b: pa.Codec("zstd").compress(b, asbytes=True),
}


@pytest.mark.parametrize("ending", PACKED)
def test_compressed_files_are_told_by_their_ending(tmp_path: Path, ending: str) -> None:
    lake = lake_of(tmp_path, "csv", "a int, b string", {"header": True})
    lake.add(f"f.csv{ending}", PACKED[ending](b"a,b\n" + b"".join(b"%d,x\n" % i for i in range(1000))))
    assert lake.scan("a >= 998").to_arrow().to_pylist() == [{"a": 998, "b": "x"}, {"a": 999, "b": "x"}]


@pytest.mark.parametrize("ending", PACKED)
def test_one_compressed_stream_may_follow_another(tmp_path: Path, ending: str) -> None:
    """As Hadoop's codecs, and so Spark, read them."""
    lake = lake_of(tmp_path, "csv", "a int, b string")
    lake.add(f"f.csv{ending}", PACKED[ending](b"1,x\n2,y\n") + PACKED[ending](b"3,z\n"))
    assert rows(lake) == [(1, "x"), (2, "y"), (3, "z")]


@pytest.mark.parametrize("ending", [one for one in PACKED if one])
@pytest.mark.parametrize("kept", [3, 20, -3])
def test_a_torn_file_is_an_error_that_names_it(tmp_path: Path, ending: str, kept: int) -> None:
    lake = lake_of(tmp_path, "csv", "a int, b string")
    lake.add(f"f.csv{ending}", PACKED[ending](b"".join(b"%d,x\n" % (i * 7919) for i in range(1000)))[:kept])
    with pytest.raises(CorruptTableError, match=r"f\.csv"):
        lake.read()


@pytest.mark.parametrize("ending", [one for one in PACKED if one])
@pytest.mark.parametrize("padded", [b"", b"1,x\n2,y\n"], ids=["padding", "padding and a stream"])
@pytest.mark.parametrize("padding", [b"\0", b"\0" * 4, b"\0" * 100_000, b"x", b"garbage " * 5], ids=len)
def test_what_stands_behind_the_end_of_a_compressed_file(
    tmp_path: Path, ending: str, padded: bytes, padding: bytes
) -> None:
    """An error; Spark passes over zeros behind bzip2, and else fails, too."""
    lake = lake_of(tmp_path, "csv", "a int, b string")
    end = padding + (PACKED[ending](padded) if padded else b"")
    lake.add(f"f.csv{ending}", PACKED[ending](b"1,x\n2,y\n") + end)
    with pytest.raises(CorruptTableError, match=r"f\.csv"):
        lake.read()


@given(
    st.lists(st.binary(max_size=200).map(lambda data: data * 300), max_size=4),
    st.sampled_from([".gz", ".bz2", ".zst"]),
    st.integers(1, 70_000),
)
def test_what_was_packed_in_members_comes_back(members: list[bytes], ending: str, size: int) -> None:
    """Of bzip2, Arrow takes two empty members in a row for damage."""
    members = [member for member in members if member or ending != ".bz2"]
    stream = open_text(pa.PythonFile(io.BytesIO(b"".join(map(PACKED[ending], members))), mode="r"), f"f{ending}")
    assert b"".join(iter(lambda: stream.read(size), b"")) == b"".join(members)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
@pytest.mark.slow
def test_a_bomb_is_unpacked_in_pieces(tmp_path: Path, ending: str) -> None:
    with open_text(pa.PythonFile(io.BytesIO(PACKED[ending](bytes(1 << 28))), mode="r"), f"f{ending}") as stream:
        before = pa.total_allocated_bytes()
        assert len(stream.read(1000)) == 1000
        assert pa.total_allocated_bytes() - before < 1 << 26


def test_numbers_of_a_packed_file_that_is_read_whole_are_no_texts(tmp_path: Path) -> None:
    """Spark shows 1.5 for 1.50 there: it cannot go back to the bytes."""
    lake = lake_of(tmp_path, "json", "a string, b int", {"multiLine": True})
    lake.add("f.json.gz", gzip.compress(b'{"a":1.50,"b":1}'))
    with pytest.raises(ScanError, match=r"f\.json\.gz.*to_spark"):
        lake.read()
    plain_file = lake_of(tmp_path / "plain", "json", "a string, b int", {"multiLine": True})
    plain_file.add("f.json", '{"a":1.50,"b":1}')
    assert rows(plain_file) == [("1.50", 1)]
