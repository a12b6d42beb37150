"""Results as plain data, for machines: numbers, texts, lists and dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class SupportsJson(Protocol):
    """A result that says itself what machines read of it."""

    def to_json(self) -> object: ...


def plain(value: object, *names: str) -> Any:
    """Convert a value, and what it holds, to what JSON has; with `names` these attributes of it, in this order."""
    if names:
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, SupportsJson):
        return value.to_json()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple | list) else value


class Plain:
    """Gives a dataclass a `to_json` with each of its fields."""

    __slots__ = ()

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        fields = self.__dataclass_fields__  # type: ignore[attr-defined]  # of a dataclass
        return {name: plain(getattr(self, name)) for name in fields}
