"""Bloom filters keep what every kind that keys values promises."""

from metaindex.index.kinds.bloom.spec import Bloom
from metaindex.index.kinds.kind import KeyKind
from tests.index.contract.key_contract import KeyContract


class TestBloomFilters(KeyContract):
    def kind(self, columns: int) -> KeyKind:
        return Bloom(("c0", "c1", "c2")[:columns], fpp=0.2)
