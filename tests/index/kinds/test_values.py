"""Values by hash, by value, and value lists: the contract of keys, and what each answers beside it."""

from metaindex.index.kinds.kind import KeyKind
from metaindex.index.kinds.values.spec import ValueList, Values
from tests.index.contract.key_contract import KeyContract

NAMES = ("c0", "c1", "c2")


class TestValuesByHash(KeyContract):
    def kind(self, columns: int) -> KeyKind:
        return Values(NAMES[:columns])


class TestValuesByValue(KeyContract):
    exact = True

    def kind(self, columns: int) -> KeyKind:
        return Values(NAMES[:columns], by="value")


class TestValueLists(KeyContract):
    exact = True

    def kind(self, columns: int) -> KeyKind:
        return ValueList(NAMES[:columns])


class TestValueListsOfFewValues(KeyContract):
    exact = True

    def kind(self, columns: int) -> KeyKind:
        return ValueList(NAMES[:columns], limit=2)
