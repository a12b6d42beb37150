"""A reader of indexes, written from docs/storage and docs/reading.md alone: it imports nothing of metaindex, and no
more than pyarrow and xxhash of others.

It is slow and small on purpose. `keep` says which live files a question keeps, `rows` gives
rows of covering indexes; whatever is damaged, newer or not
understood proves nothing.

    lies         entries, runs, parts: what may be read at all
    values       types, and literals in their domain
    statistics   what they prove
    keys         hashes, keys in bytes, units
    filters      bloom filters
    answer       a question: which files?
    rows         a question: which rows?
"""

from __future__ import annotations

from .answer import keep
from .filters import bits_of, block_of
from .keys import hashed, key_bytes
from .rows import rows
from .values import typed

__all__ = ["bits_of", "block_of", "hashed", "keep", "key_bytes", "rows", "typed"]
