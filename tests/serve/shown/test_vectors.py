"""Puffin files of deletion vectors: read by pyiceberg's own reader, written once, bounded."""

import os
from pathlib import Path

from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap64

from metaindex.serve.shown.vectors import Stored, Vectors

POSITIONS = BitMap64([0, 5, 70_000, 1 << 33])


def written(vectors: Vectors, number: int) -> Stored:
    return vectors.puffin(f"/lake/{number}.parquet", "dv", lambda: POSITIONS)


def held(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*.puffin"))


def test_a_reader_finds_the_positions(tmp_path: Path) -> None:
    stored = written(Vectors(str(tmp_path), "lake"), 1)
    data = Path(stored.uri).read_bytes()
    (vector,) = deletion_vectors_from_puffin_file(PuffinFile(data))
    assert vector.referenced_data_file == "/lake/1.parquet"
    assert sorted(vector.to_vector().to_pylist()) == sorted(POSITIONS)
    assert len(data) == stored.size_bytes
    assert data[stored.offset : stored.offset + 4] == (stored.length - 8).to_bytes(4, "big")


def test_a_vector_is_written_once_by_all_servers(tmp_path: Path) -> None:
    first = written(Vectors(str(tmp_path), "lake"), 1)
    os.utime(first.uri, ns=(1, 1))
    asked = []
    vectors = Vectors(str(tmp_path), "lake")
    for _ in range(2):
        assert vectors.puffin("/lake/1.parquet", "dv", lambda: asked.append(1) or POSITIONS) == first  # type: ignore[func-returns-value]
    assert (len(asked), os.stat(first.uri).st_mtime_ns) == (1, 1)


def test_a_file_of_other_content_is_written_again(tmp_path: Path) -> None:
    first = written(Vectors(str(tmp_path), "lake"), 1)
    Path(first.uri).write_bytes(b"somebody else's")
    assert written(Vectors(str(tmp_path), "lake"), 1) == first
    assert len(Path(first.uri).read_bytes()) == first.size_bytes


def test_what_was_not_asked_for_longest_goes_first(tmp_path: Path) -> None:
    size = written(Vectors(str(tmp_path / "one"), "lake"), 0).size_bytes
    vectors = Vectors(str(tmp_path / "few"), "lake", limit_bytes=3 * size)
    names = [Path(written(vectors, number).uri).name for number in (0, 1, 2)]
    written(vectors, 0)
    names.append(Path(written(vectors, 3).uri).name)
    assert held(tmp_path / "few") == sorted([names[0], names[2], names[3]])
    again = Vectors(str(tmp_path / "few"), "lake", limit_bytes=2 * size)
    written(again, 3)
    assert len(held(tmp_path / "few")) == 2


def test_tables_have_folders_of_their_own(tmp_path: Path) -> None:
    for table in ("a", "b"):
        written(Vectors(str(tmp_path), table), 1)
    assert len({path.parent for path in tmp_path.rglob("*.puffin")}) == 2
