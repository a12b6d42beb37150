"""Results as plain data, for machines: numbers, texts, lists and dicts."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, Protocol, runtime_checkable


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
    """Gives a dataclass a `to_json`. `JSON`: its keys with blanks between them, `*` for each field; `key=a.b` where the
    value is not the attribute of that name."""

    __slots__ = ()
    JSON: ClassVar[str] = "*"

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        fields = " ".join(self.__dataclass_fields__)  # type: ignore[attr-defined]  # of a dataclass
        keys = (key.partition("=") for key in self.JSON.replace("*", fields).split())
        return {key: plain(attrgetter(attribute or key)(self)) for key, _, attribute in keys}
