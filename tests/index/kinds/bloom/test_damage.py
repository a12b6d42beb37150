"""A byte that is not what was written: either it is nothing that an answer comes from, or the look-up fails by name. No
file that holds a value is ever left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metaindex.core import DamagedIndexError, MetaIndexError
from metaindex.index.kinds.bloom import layout
from metaindex.index.kinds.bloom.reader import StoredFilters
from tests.hostile.changes import turned
from tests.index.contract.built_keys import Built
from tests.index.kinds.bloom.filters import KEY, hashes_of, holding, integers, write


@pytest.fixture(params=["rows", pytest.param("vectors", marks=pytest.mark.slow)])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Built:
    if request.param == "vectors":
        monkeypatch.setattr(layout, "WHOLE_BYTES", 0)
        monkeypatch.setattr("metaindex.index.kinds.bloom.blocks.PACKED_BELOW", 0)
    return write(tmp_path, {ordinal: integers(30 + ordinal % 2 * 60, ordinal) for ordinal in range(12)})


def asked(run: Built) -> list[tuple[int, np.ndarray]]:  # type: ignore[type-arg]
    return [(ordinal, hashes_of(integers(30 + ordinal % 2 * 60, ordinal))[:1]) for ordinal in range(12)]


def test_a_flipped_bit_anywhere_loses_no_file(run: Built) -> None:
    (part,) = run.parts
    path = Path(run.storage.uri(part.path))
    whole = path.read_bytes()
    expected = {ordinal: holding(run, one) for ordinal, one in asked(run)}
    refused = 0
    for at in range(0, len(whole), max(1, len(whole) // 200)):
        path.write_bytes(turned(whole, at, 1 << at % 8))
        for ordinal, one in asked(run)[at % 3 :: 3]:
            try:
                assert holding(run, one) == expected[ordinal]
            except DamagedIndexError as error:
                refused += 1
                assert "repair the index with repair_index()" in str(error)  # noqa: PT017 - or it is right
    assert refused > 50


def test_all_of_a_frame_is_checked(run: Built) -> None:
    filters = StoredFilters(run.run_reader(), KEY)
    by_vector = filters.directory.classes[0].by_vector
    frame = filters.frame(0, 0, 3 if by_vector else -1)
    path = Path(run.storage.uri(frame.part.path))
    whole = path.read_bytes()
    for at in range(frame.start, frame.start + frame.length, 7 if frame.length > 1000 else 1):
        path.write_bytes(turned(whole, at, 4))
        with pytest.raises(DamagedIndexError, match="do not have their check"):
            filters.read([frame])


def test_a_frame_in_the_place_of_another_is_refused(run: Built) -> None:
    filters = StoredFilters(run.run_reader(), KEY)
    number = next(n for n, one in enumerate(filters.directory.classes) if one.by_vector or one.rows > 1 or n)
    vector = 5 if filters.directory.classes[number].by_vector else -1
    one = filters.frame(number, 0, vector)
    for other in (replace(one, number=0), replace(one, vector=6), replace(one, row=1)):
        if other != one:
            with pytest.raises((DamagedIndexError, ValueError)):
                filters.read([replace(other, start=one.start, length=one.length)])


def test_missing_and_short_parts_are_damage(run: Built) -> None:
    (part,) = run.parts
    whole = run.storage.read(part.path)
    holding(run, asked(run)[0][1])
    run.storage.put(part.path, whole[:100])
    with pytest.raises(DamagedIndexError):
        holding(run, asked(run)[0][1])
    run.storage.delete(part.path)
    with pytest.raises(DamagedIndexError):
        holding(run, asked(run)[0][1])


def test_a_run_that_has_no_part_of_the_key_is_damaged(run: Built) -> None:
    with pytest.raises(DamagedIndexError, match="no part has the filters"):
        StoredFilters(run.run_reader(), KEY + 1)


DIRECTORIES = {
    "no_json": b"{",
    "a_number": b"7",
    "deep": b"[" * 100_000,
    "digits": b'{"version":' + b"9" * 5000 + b"}",
    "version_of_digits": b'{"version":' + b"9" * 4000 + b',"classes":[],"starts":[],"members":0,"member":""}',
    "members_of_digits": b'{"version":1,"classes":[],"starts":[],"members":' + b"9" * 4000 + b',"member":"AAAA"}',
    "more_members_than_files": b'{"version":1,"classes":[],"starts":[],"members":2000000000,"member":"AAAA"}',
    "blocks_of_digits": b'{"version":1,"classes":[[' + b"9" * 4000 + b',1]],"starts":[],"members":0,"member":""}',
    "blocks_of_texts": b'{"version":1,"classes":[["1",1]],"starts":[],"members":0,"member":""}',
    "a_class_of_three": b'{"version":1,"classes":[[1,1,1]],"starts":[],"members":0,"member":""}',
    "fractions": b'{"version":1,"classes":[],"starts":[[1.5,1e400]],"members":0,"member":""}',
    "no_base64": b'{"version":1,"classes":[],"starts":[],"members":1,"member":"!"}',
    "a_field_is_missing": b'{"version":1}',
}


@pytest.mark.parametrize("data", DIRECTORIES.values(), ids=list(DIRECTORIES))
def test_a_directory_that_a_stranger_wrote_is_damage(data: bytes) -> None:
    with pytest.raises(DamagedIndexError) as found:
        layout.directory_from(data, 9)
    assert len(str(found.value)) < 500


def test_a_newer_directory_is_refused_with_advice() -> None:
    data = layout.Directory().encoded().replace(b'"version":1', b'"version":2')
    with pytest.raises(MetaIndexError, match="upgrade metaindex"):
        layout.directory_from(data)
