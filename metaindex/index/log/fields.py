"""The fields of a JSON object, taken one by one by name and type. What is missing, of another type or left over in the
end is a ValueError: ignoring it could lie. Pieces that all entries of a log repeat (schemas, columns, versions) are
parsed once, as a writer reads each entry several times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

from metaindex.core import BoundedCache

T = TypeVar("T")
_LEAST, _GREATEST = -(2**63), 2**63 - 1
MAX_FILES = 2**31 - 1
"""Of a run: ordinals have 32 bits."""


class Fields:
    """Reads the fields of a JSON object. `what` names the object in errors."""

    __slots__ = ("_left", "what")

    def __init__(self, value: object, what: str) -> None:
        self._left: dict[str, Any] = dict(_checked(value, dict, what))
        self.what = what

    def text(self, name: str) -> str:
        return self._one(name, str)  # type: ignore[no-any-return]

    def optional_text(self, name: str) -> str | None:
        return self.text(name) if name in self._left else None

    def flag(self, name: str) -> bool:
        return self._one(name, bool)  # type: ignore[no-any-return]

    def whole(self, name: str, least: int = _LEAST, greatest: int = _GREATEST) -> int:
        """Return an integer; of 64 bits, unless a limit is given."""
        value: int = self._one(name, int)
        if not least <= value <= greatest:
            raise ValueError(f"{self.what}: {name!r} is from {least} to {greatest}, not {str(value)[:40]}")
        return value

    def count(self, name: str, greatest: int = _GREATEST) -> int:
        """Return a number that is not negative."""
        return self.whole(name, 0, greatest)

    def id(self, name: str) -> int:
        """A hash of 64 bits, in decimal digits: JSON readers round larger numbers."""
        text = self.text(name)
        if (
            len(text) > 20
            or not (text.isascii() and text.removeprefix("-").isdecimal())
            or not _LEAST <= int(text) <= _GREATEST
        ):
            raise ValueError(f"{self.what}: {name!r} is a whole number of 64 bits in digits, not {text[:40]!r}")
        return int(text)

    def many(self, name: str) -> list[Any]:
        return self._one(name, list)  # type: ignore[no-any-return]

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(_checked(text, str, self.what, name) for text in self.many(name))

    def plain(self, name: str) -> Mapping[str, Any]:
        """An object of any fields."""
        return self._one(name, dict)  # type: ignore[no-any-return]

    def texts_by_name(self, name: str) -> Mapping[str, str]:
        """An object whose fields are texts."""
        texts = self.plain(name)
        for value in texts.values():
            _checked(value, str, self.what, name)
        return texts

    def inside(self, name: str) -> Fields:
        return Fields(self._take(name), name)

    def each(self, name: str) -> list[Fields]:
        what = f"one of {name!r}"
        return [Fields(item, what) for item in self.many(name)]

    def value(self, name: str) -> Any:
        """Return the value as it is: the caller checks its type."""
        return self._take(name)

    def has(self, name: str) -> bool:
        return name in self._left

    def is_null(self, name: str) -> bool:
        """Takes the field where it is there and null."""
        if name in self._left and self._left[name] is None:
            del self._left[name]
            return True
        return False

    def done(self) -> None:
        """Everything was asked for."""
        if self._left:
            raise ValueError(f"{self.what}: {sorted(self._left)[0][:40]!r} is not known")

    def _one(self, name: str, kind: type) -> Any:
        """Return the value, which must be of exactly this type."""
        value = self._left.pop(name, _MISSING)
        return value if type(value) is kind else _checked(self._there(name, value), kind, self.what, name)

    def _take(self, name: str) -> Any:
        return self._there(name, self._left.pop(name, _MISSING))

    def _there(self, name: str, value: Any) -> Any:
        if value is _MISSING:
            raise ValueError(f"{self.what}: {name!r} is missing")
        return value


class Member(NamedTuple):
    """The JSON of one attribute: `name`, where it is another than the attribute's. One with a `default` is left
    out where it has that value; one that is `derived` from others is written and not read."""

    read: Callable[[Fields, str], Any]
    write: Callable[[Any], Any] = lambda value: value
    name: str = ""
    default: Any = ...
    derived: bool = False

    def named(self, name: str) -> Member:
        return self._replace(name=name)

    def unless(self, default: object) -> Member:
        return self._replace(default=default)


TEXT, FLAG, WHOLE, COUNT = Member(Fields.text), Member(Fields.flag), Member(Fields.whole), Member(Fields.count)
ID = Member(Fields.id, str)
TEXTS, PLAIN, TEXTS_BY_NAME = Member(Fields.texts, list), Member(Fields.plain, dict), Member(Fields.texts_by_name, dict)


class Form(Generic[T]):
    """The JSON object of a class, by its attributes, in their order. `what` names the object in errors."""

    def __init__(self, make: Callable[..., T], what: str, **members: Member) -> None:
        self._make, self._what = make, what
        self._members = [(attribute, member.name or attribute, member) for attribute, member in members.items()]

    def to_json(self, value: T, **said: object) -> dict[str, Any]:
        """Return the object; what is `said` of an attribute stands for it."""
        out = {}
        for attribute, name, member in self._members:
            if attribute in said:
                out[name] = said[attribute]
            elif (own := getattr(value, attribute)) != member.default:
                out[name] = member.write(own)
        return out

    def taken(self, fields: Fields, **known: object) -> T:
        """Return the value, of which some attributes are `known`."""
        for attribute, name, member in self._members:
            if attribute not in known and not member.derived:
                there = member.default is ... or fields.has(name)
                known[attribute] = member.read(fields, name) if there else member.default
        fields.done()
        return self._make(**known)

    def read(self, value: object) -> T:
        return self.taken(Fields(value, self._what))

    @property
    def one(self) -> Member:
        """The member whose JSON is the value of a field."""
        return Member(lambda fields, name: self.read(fields.value(name)), self.to_json)

    @property
    def each(self) -> Member:
        """The member whose JSON is the items of a field."""
        return Member(
            lambda fields, name: tuple(self.taken(item) for item in fields.each(name)),
            lambda values: [self.to_json(value) for value in values],
        )


def _checked(value: Any, kind: type, what: str, name: str = "") -> Any:
    """The value, which is exactly of a type: a truth is no number here."""
    if type(value) is not kind:
        at = f"{what}: {name!r}" if name else what
        raise ValueError(f"{at} is a JSON {_NAMES[kind]}, not a {_NAMES.get(type(value), 'null')}")
    return value


_MISSING = object()
_NAMES = {dict: "object", list: "array", str: "text", bool: "truth", int: "whole number", float: "fraction"}


_HELD: Final = 32
_LONGEST: Final = 1 << 16


class Repeated(Generic[T]):
    """`make` of a JSON value, once for values that are alike. What it makes is immutable; what it raises is raised
    again. `held`: how many values; `longest`: characters of one, what is longer is made anew each time."""

    def __init__(self, make: Callable[[object], T], held: int = _HELD, longest: int = _LONGEST) -> None:
        self._make = make
        self._longest = longest
        self._held: BoundedCache[str, tuple[T]] = BoundedCache(held)

    def __call__(self, value: object) -> T:
        text = repr(value)  # tells apart what JSON tells apart: 1, 1.0, "1" and true
        held = self._held.find(text)
        if held is None:
            held = (self._make(value),)
            if len(text) <= self._longest:
                self._held.keep(text, held)
        return held[0]
