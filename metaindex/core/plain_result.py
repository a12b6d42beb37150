"""Results as plain data, for machines: numbers, texts, lists and dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class SupportsJson(Protocol):
    """A result that says itself what machines read of it."""

    def to_json(self) -> object: ...


def plain(value: object) -> object:
    """Convert a value, and what it holds, to what JSON has."""
    if isinstance(value, SupportsJson):
        return value.to_json()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple | list) else value


def named(result: object, *names: str) -> dict[str, object]:
    """Convert these attributes of a result, in this order."""
    return {name: plain(getattr(result, name)) for name in names}


class Plain:
    """Gives a dataclass a `to_json` with each of its fields."""

    __slots__ = ()

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return named(self, *self.__dataclass_fields__)  # type: ignore[attr-defined]  # of a dataclass
