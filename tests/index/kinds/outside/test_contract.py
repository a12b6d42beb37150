"""The kind of another package keeps what every kind promises, spilled or not, as docs/kinds.md says of its test."""

import importlib
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest

from metaindex.index.kinds import registry
from metaindex.index.kinds.keyed import Spill
from metaindex.index.kinds.kind import KeyKind
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage
from tests.index.contract.built_keys import TINY, feed, folder, plan_of
from tests.index.contract.key_contract import KeyContract
from tests.index.kinds.outside.installed import lay_into


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    place = tmp_path_factory.mktemp("packages") / "there"
    lay_into(place)
    found = dict(vars(registry.KINDS))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(place))
        patch.setattr(sys, "dont_write_bytecode", True)
        vars(registry.KINDS).update(_others={}, _places=None, _told=set())
        yield
    sys.modules.pop("hash_set", None)
    vars(registry.KINDS).update(found)


def hash_set(*keys: str | tuple[str, ...]) -> KeyKind:
    made: KeyKind = importlib.import_module("hash_set").HashSet(*keys)
    return made


class TestHashSet(KeyContract):
    def kind(self, columns: int) -> KeyKind:
        return hash_set("c0" if columns == 1 else tuple(f"c{i}" for i in range(columns)))


def test_what_does_not_fit_is_put_away_and_removed() -> None:
    with folder() as root:
        storage = LocalStorage(str(root))
        kind = plan_of(hash_set("c0"), [pa.int64()])
        collector = kind.kind.collector(kind, RunSink(storage, "run"), Spill(storage, "spill", TINY), 3)
        for ordinal in range(3):
            feed(collector, ordinal, [[(ordinal,)]], [pa.int64()])
            assert len(list(storage.list("spill"))) == ordinal + 1
        _, parts, _ = collector.close()
        assert not list(storage.list("spill"))
        assert sum(part.rows for part in parts) == 3
        assert len(parts) == 3, "a range holds no more than a collector"
