"""Where the kinds that key values are found: what collects, finishes, reads and merges their rows. Each is loaded when
it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from metaindex.log.entry import CoveredKey
from metaindex.log.types import type_from_text

from .canonical import answers_for
from .layouts import readable
from .specs import Bloom, ValueList, Values

if TYPE_CHECKING:  # what writes is loaded by the verbs that write
    import pyarrow as pa

    from metaindex.store.reader import RunReader
    from metaindex.store.writer import RunSink

    from .keyed import Gathered, KeyCollector, KeyFinisher, KeyPlan, KeyReader, Spill


def collector(plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> KeyCollector:
    """What builds a key of a run of so many files."""
    return _writing(plan)[0](plan, sink, spill, files)


def finisher(plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]) -> KeyFinisher:
    """What writes a key of which several collectors gathered a share each."""
    return _writing(plan)[1](plan, sink, spill, files, gathered)


def reader(run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> KeyReader | None:
    """What looks up a key of a run. `types`: those of its columns now; literals are compared as with them. None where
    values of the types at write time cannot answer for them, or where the rows are in a form that this metaindex does
    not know."""
    stored = [type_from_text(column.type_text) for column in key.columns]
    if any(old is None or not answers_for(old, now) for old, now in zip(stored, types, strict=True)):
        return None
    make = _reading(key) if readable(key) else None
    return None if make is None else make(run, key, types)


_Collect = Callable[["KeyPlan", "RunSink", "Spill", int], "KeyCollector"]
_Finish = Callable[["KeyPlan", "RunSink", "Spill", int, "Sequence[Gathered]"], "KeyFinisher"]
_Read = Callable[["RunReader", CoveredKey, "Sequence[pa.DataType]"], "KeyReader"]


def _writing(plan: KeyPlan) -> tuple[_Collect, _Finish]:
    match plan.kind:
        case Values(by="hash"):
            from .values.by_hash import HashCollector, HashFinisher

            return HashCollector, HashFinisher
        case Values():
            from .values.by_value import ValueCollector, ValueFinisher

            return ValueCollector, ValueFinisher
        case ValueList():
            from .values.by_value import ListCollector, ValueFinisher

            return ListCollector, ValueFinisher
        case Bloom():
            from .bloom.collector import BloomCollector, BloomFinisher

            return BloomCollector, BloomFinisher.of


def _reading(key: CoveredKey) -> _Read | None:
    match key.kind:
        case "values":
            from .values.hash_reader import HashReader

            return HashReader
        case "value_keys" | "value_lists":
            from .values.key_reader import KeyValueReader

            return KeyValueReader
        case "bloom_filters":
            from .bloom.reader import BloomReader

            return BloomReader
        case _:
            return None
