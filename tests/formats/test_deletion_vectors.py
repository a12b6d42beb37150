"""Deletion vectors: what was encoded comes back, and damage is an error."""

import struct
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from metaindex.formats.deletion_vectors import decode_blob, decode_framed, decode_z85
from tests.formats.framed import encode_framed

POSITIONS = st.sets(st.one_of(st.integers(0, 300), st.integers(0, 2**40)), max_size=60)


@given(POSITIONS)
def test_positions_come_back(positions: set[int]) -> None:
    frame = encode_framed(BitMap64(positions))
    assert set(decode_framed(frame, "here", len(frame) - 8, len(positions))) == positions


@given(POSITIONS, st.data())
def test_any_changed_byte_is_an_error(positions: set[int], data: st.DataObject) -> None:
    frame = bytearray(encode_framed(BitMap64(positions)))
    at = data.draw(st.integers(0, len(frame) - 1))
    frame[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CorruptTableError, match="here"):
        decode_framed(bytes(frame), "here")


@given(POSITIONS, st.data())
def test_a_cut_one_is_an_error(positions: set[int], data: st.DataObject) -> None:
    frame = encode_framed(BitMap64(positions))
    with pytest.raises(CorruptTableError):
        decode_framed(frame[: data.draw(st.integers(0, len(frame) - 1))], "here")


@given(st.binary(max_size=80))
def test_a_blob_of_any_bytes_is_positions_or_an_error(tail: bytes) -> None:
    with suppress(CorruptTableError):
        decode_blob(struct.pack("<i", 1681511377) + tail, "here")


def test_a_wrong_checksum_length_or_count_is_said() -> None:
    frame = encode_framed(BitMap64([1, 2, 3]))
    with pytest.raises(CorruptTableError, match="checksum"):
        decode_framed(frame[:-1] + bytes([frame[-1] ^ 1]), "here")
    with pytest.raises(CorruptTableError, match="says"):
        decode_framed(frame, "here", size=5)
    with pytest.raises(CorruptTableError, match="4 rows"):
        decode_framed(frame, "here", cardinality=4)


def test_other_encodings_are_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="native"):
        decode_blob(struct.pack("<i", 1681511376) + bytes(20), "here")
    with pytest.raises(CorruptTableError):
        decode_blob(bytes(20), "here")


def test_base_85_of_the_protocols_example() -> None:
    # "Hello World" of ZeroMQ's specification of the encoding.
    assert decode_z85("HelloWorld", "here") == bytes([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B])
    for wrong in ("Hell", "Hell~", "#####é", "#####"):
        with pytest.raises(CorruptTableError):
            decode_z85(wrong, "here")


def test_the_frame_is_the_one_of_both_formats() -> None:
    frame = encode_framed(BitMap64([7]))
    assert frame[4:8] == bytes([0xD1, 0xD3, 0x39, 0x64])
    assert struct.unpack(">I", frame[-4:])[0] == zlib.crc32(frame[4:-4])
