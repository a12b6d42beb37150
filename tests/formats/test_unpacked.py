"""What is packed is unpacked within bounds."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.formats.unpacked import FACTOR, LEAST_BYTES, deflated, zstandard

SIZE = 3 * LEAST_BYTES


def packed_zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return bytes(sink.getvalue())


def raw(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


FORMS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "gzip": (gzip.compress, lambda data: deflated(data, 31)),
    "deflate": (raw, lambda data: deflated(data, -15)),
    "zstd": (packed_zstd, zstandard),
}


@pytest.mark.parametrize("form", FORMS)
@given(data=st.binary(max_size=10_000))
def test_what_was_packed_comes_back(form: str, data: bytes) -> None:
    pack, unpack = FORMS[form]
    assert unpack(pack(data)) == data


@given(st.lists(st.binary(max_size=100), min_size=1, max_size=4))
def test_members_follow_each_other(members: list[bytes]) -> None:
    assert deflated(b"".join(map(gzip.compress, members)), 31) == b"".join(members)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.slow
def test_a_bomb_is_refused_before_it_is_unpacked(form: str) -> None:
    pack, unpack = FORMS[form]
    bomb = pack(bytes(SIZE))
    assert len(bomb) * FACTOR < SIZE
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="unpack to more than"):
            unpack(bomb)
        assert tracemalloc.get_traced_memory()[1] < 2.5 * LEAST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["gzip", "deflate"])
def test_what_is_cut_is_an_error(form: str) -> None:
    pack, unpack = FORMS[form]
    with pytest.raises((EOFError, zlib.error)):
        unpack(pack(b"x" * 1000)[:-9])
