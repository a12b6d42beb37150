"""User's specification of the distinct values of every file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from metaindex.core import ArgumentError, dataclass
from metaindex.index.kinds.kind import KeyKind, Kind, WholeKind, keys_of, kind_missing
from metaindex.index.log.entry import CoveredKey, KindSpec

from .spec import ValueRows

if TYPE_CHECKING:
    from metaindex.index.kinds.command import KindCommand
    from metaindex.index.kinds.keyed import Gathered, KeyCollector, KeyFinisher, KeyPlan, Spill
    from metaindex.index.store.writer import RunSink


@dataclass(frozen=True, slots=True, init=False)
class ValueList(ValueRows, WholeKind):
    """The distinct values of every file, exactly, as long as they are at most `limit`; of a file with more nothing is
    known. Answers `=`, `IN`, `NOT IN`, `!=`, NULL, ranges, prefixes."""

    keys: tuple[tuple[str, ...], ...]
    limit: int

    def __init__(self, *keys: str | Sequence[str], limit: int = 1000) -> None:
        if not isinstance(limit, int) or not 1 <= limit <= 1_000_000:
            raise ArgumentError(
                f"limit is a number of values from 1 to 1,000,000; got {limit!r}; leave it out for 1,000"
            )
        object.__setattr__(self, "keys", keys_of("ValueList", keys))
        object.__setattr__(self, "limit", limit)

    name = partition = "value_lists"
    words = ("value_list", "set", "value_set")
    turn = 2
    unkeyed_because = "too many values"

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {"keys": [list(key) for key in self.keys], "limit": self.limit})

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(*said["keys"], limit=said["limit"])

    @classmethod
    def command(cls) -> KindCommand[Self]:
        from metaindex.index.kinds.command import Keys

        return Keys(
            cls,
            "--value-list",
            "value lists: for columns with few values (a country, a state)",
            "the distinct values of this column in each file, or of several columns as one (a,b); can be repeated",
            limit={
                "type": int,
                "metavar": "N",
                "help": "of a file with more distinct values nothing is kept, and it is read; 1 to 1,000,000; default:"
                " 1000",
            },
        )

    @classmethod
    def maker(cls, key: CoveredKey, kinds: Iterable[Kind]) -> KeyKind:
        """Return the kind with the largest limit in the index: the same columns may be listed twice."""
        limits = [kind.limit for kind in kinds if isinstance(kind, cls)]
        if not limits:
            raise kind_missing(cls.name)
        return cls([column.name for column in key.columns], limit=max(limits))

    @classmethod
    def said(cls, key: CoveredKey) -> str:
        return f"{key.kind}({', '.join(column.name for column in key.columns)})"

    def collector(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> KeyCollector:
        from .by_value import ListCollector

        return ListCollector(plan, sink, spill, files, self.limit)

    def finisher(
        self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]
    ) -> KeyFinisher:
        from .by_value import ValueFinisher

        return ValueFinisher(plan, sink, spill, files, gathered)
