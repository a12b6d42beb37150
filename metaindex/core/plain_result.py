"""Results as plain data, for machines: numbers, texts, lists and dicts."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, Protocol, runtime_checkable


@runtime_checkable
class SupportsJson(Protocol):
    """A result that says itself what machines read of it."""

    def to_json(self) -> object: ...


@runtime_checkable
class SupportsRows(Protocol):
    """An Arrow table, whose rows are read."""

    def to_pylist(self) -> list[Any]: ...


class Plain:
    """Gives a dataclass a `to_json`. `JSON`: its keys with blanks between them, `*` for each field; `key=a.b` where the
    value is not the attribute of that name."""

    __slots__ = ()
    JSON: ClassVar[str] = "*"

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return self._plain(self.JSON)

    def _plain(self, keys: str) -> dict[str, object]:
        """Return these keys, written as those of `JSON`."""
        fields = " ".join(self.__dataclass_fields__)  # type: ignore[attr-defined]  # of a dataclass
        each = (key.partition("=") for key in keys.replace("*", fields).split())
        return {key: _data(attrgetter(attribute or key)(self)) for key, _, attribute in each}


def _data(value: object) -> object:
    """Convert a value, and what it holds, to what JSON has."""
    if isinstance(value, SupportsJson):
        return value.to_json()
    if isinstance(value, SupportsRows):
        return value.to_pylist()
    if isinstance(value, Mapping):
        return {str(key): _data(each) for key, each in value.items()}
    return [_data(each) for each in value] if isinstance(value, tuple | list) else value
