"""How many examples a costly property has, one that writes a table or an index for each of them."""

import os


def few(commit: int, whole: int) -> int:
    """Return how many at a commit, and how many in `make test-all`, for a mutant and in a soak."""
    return whole if os.environ.get("METAINDEX_WHOLE") or os.environ.get("METAINDEX_SOAK") else commit
