"""The bits of split-block bloom filters, as https://github.com/apache/parquet-format/blob/master/BloomFilter.md defines
them.

A filter of z blocks takes a hash h to block `(h >> 32) * z >> 32`, and sets one bit in each of the block's eight 32-bit
words: bit `(low 32 bits of h * salt[i] mod 2^32) >> 27` of word i. A block is 32 bytes, little-endian, so that its bit
number `32 * i + bit` is also bit `number % 8` of byte `number // 8`.

**Sliced**, a block of n filters is 256 vectors of n bits, one for each bit number: a look-up needs 8 of them and not
all n blocks. A vector has one bit a file, the first file in the lowest bit. Below 256 files the vectors stand bit by
bit one behind the other (32 bytes a file, as before; of one file it is its block), from there on each begins at a byte.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

BLOCK_BITS = 256
BLOCK_BYTES = 32
PACKED_BELOW = 256
"""Files from which on vectors begin at bytes: 7 bits at their end are less than 3% of them."""

_SALT = np.array(
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], np.uint32
)
_HALF = np.uint64(32)
_FEW = 500
_AT_ONCE = 512  # eights of files whose blocks are turned together: they stay in the processor's cache


def block_of(hashes: Hashes, blocks: int) -> Ints:
    """The block of each hash in a filter of so many blocks."""
    return (((hashes >> _HALF) * np.uint64(blocks)) >> _HALF).astype(np.int64)


def bits_of(hashes: Hashes) -> Ints:
    """The eight bit numbers of each hash inside its block: a matrix, a row a hash. They do not depend on the number of
    blocks."""
    low = hashes.astype(np.uint32)
    return ((low[:, None] * _SALT) >> np.uint32(27)).astype(np.int64) + np.arange(0, BLOCK_BITS, 32)


def set_bits(words: npt.NDArray[np.uint32], hashes: Hashes, blocks: int, first: int = 0) -> None:
    """Sets the bits of ascending hashes in a stretch of a filter: `words` is a matrix of 8 words a block, that of block
    `first` first."""
    if not len(hashes):
        return
    block = block_of(hashes, blocks) - first
    starts = first_of_each(block)
    at = block[starts]
    low = hashes.astype(np.uint32)
    if len(hashes) <= _FEW:  # what the calls cost, and not the values
        every = np.uint32(1) << ((low[:, None] * _SALT) >> np.uint32(27))
        words[at] |= np.bitwise_or.reduceat(every, starts, axis=0)
        return
    for word, salt in enumerate(_SALT):
        masks = np.uint32(1) << ((low * salt) >> np.uint32(27))
        words[at, word] |= np.bitwise_or.reduceat(masks, starts)


def first_of_each(ascending: Ints) -> Ints:
    """Return the first position of each number."""
    changes = np.flatnonzero(ascending[1:] != ascending[:-1]) + 1
    return np.concatenate([np.zeros(min(len(ascending), 1), np.int64), changes])


def vector_bytes(files: int) -> int:
    """Bytes of a vector of so many files, from PACKED_BELOW on."""
    return -(-files // 8)


def sliced_bytes(files: int) -> int:
    """Bytes of a sliced block of so many filters."""
    return BLOCK_BYTES * files if files < PACKED_BELOW else BLOCK_BITS * vector_bytes(files)


def sliced(blocks: Bytes) -> Bytes:
    """Blocks of filters, [block, file, 32], as sliced blocks: a matrix, a row a block."""
    count, files, _ = blocks.shape
    eights = vector_bytes(files)
    if files % 8:
        padded = np.zeros((count, eights * 8, BLOCK_BYTES), np.uint8)
        padded[:, :files] = blocks
        blocks = padded
    of_eight = blocks.reshape(count, eights, 8, BLOCK_BYTES)
    rows = np.empty((count, BLOCK_BYTES, 8, eights), np.uint8)
    for start in range(0, eights, _AT_ONCE):
        some = of_eight[:, start : start + _AT_ONCE].transpose(0, 3, 1, 2)  # [block, byte, eight files, file]
        rows[..., start : start + _AT_ONCE] = _transposed(np.ascontiguousarray(some)).transpose(0, 1, 3, 2)
    if files < PACKED_BELOW and files % 8:
        bits = np.unpackbits(rows.reshape(-1, eights), axis=1, bitorder="little")[:, :files]
        return np.packbits(bits.reshape(count, -1), axis=1, bitorder="little")
    return rows.reshape(count, BLOCK_BITS * eights)


def unsliced(rows: Bytes, files: int) -> Bytes:
    """Sliced blocks, a row each, as blocks of filters: [block, file, 32]."""
    count, eights = len(rows), vector_bytes(files)
    if files < PACKED_BELOW and files % 8:
        rows = np.packbits(vectors(rows, files), axis=1, bitorder="little")
    of_bits = rows.reshape(count, BLOCK_BYTES, 8, eights)
    blocks = np.empty((count, eights, 8, BLOCK_BYTES), np.uint8)
    for start in range(0, eights, _AT_ONCE):
        some = of_bits[..., start : start + _AT_ONCE].transpose(0, 1, 3, 2)  # [block, byte, eight files, bit]
        blocks[:, start : start + _AT_ONCE] = _transposed(np.ascontiguousarray(some)).transpose(0, 2, 3, 1)
    return blocks.reshape(count, eights * 8, BLOCK_BYTES)[:, :files]


def vectors(rows: Bytes, files: int) -> Bytes:
    """Return the 256 vectors of each sliced block, in sequence, a row each: bytes of bits, or below PACKED_BELOW one
    byte, 0 or 1, per file."""
    if files < PACKED_BELOW:
        return np.unpackbits(rows, axis=1, bitorder="little").reshape(-1, files)
    return rows.reshape(-1, vector_bytes(files))


def files_of(vector: Bytes, files: int) -> npt.NDArray[np.bool_]:
    """A vector, as `vectors` gives it, as a truth a file."""
    return (
        vector.view(np.bool_)
        if files < PACKED_BELOW
        else np.unpackbits(vector, bitorder="little")[:files].view(np.bool_)
    )


def _transposed(eights: Bytes) -> Bytes:
    """The last axis, 8 bytes of 8 bits, as the matrix of bits turned over (Hacker's Delight, 7-3)."""
    words = eights.view("<u8")
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        moved = (words ^ (words >> np.uint64(shift))) & np.uint64(mask)
        words = words ^ moved ^ (moved << np.uint64(shift))
    return words.view(np.uint8).reshape(eights.shape)
