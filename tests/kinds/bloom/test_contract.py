"""Bloom filters keep what every kind that keys values promises."""

from __future__ import annotations

from metaindex.kinds.specs import Bloom, Keyed
from tests.contract.key_contract import KeyContract


class TestBloomFilters(KeyContract):
    def kind(self, columns: int) -> Keyed:
        return Bloom(("c0", "c1", "c2")[:columns], fpp=0.2)
