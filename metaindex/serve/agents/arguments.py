"""The arguments of tools: what an agent may say, as JSON Schema tells it, checked here again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from metaindex.core import ArgumentError, dataclass

MOST_TEXT: Final = 8_000
"""Characters of a condition."""
MOST_NAMES: Final = 32
"""Names, or conditions, in a list."""
MOST_ROWS: Final = 1_000
_SHORT: Final = 1_000
Kind = Literal["name", "text", "number", "truth", "names", "texts"]
_SAID: Final[Mapping[Kind, str]] = {
    "name": f"a text of 1 to {_SHORT} characters",
    "text": f"a text of 1 to {MOST_TEXT} characters",
    "number": "a whole number from 0 on",
    "truth": "true or false",
    "names": f"a list of at most {MOST_NAMES} texts",
    "texts": f"a list of at most {MOST_NAMES} texts",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a tool. `most`: of a number."""

    name: str
    kind: Kind
    about: str
    required: bool = False
    most: int | None = None

    @property
    def schema(self) -> dict[str, object]:
        """Return its JSON Schema."""
        longest = MOST_TEXT if self.kind in ("text", "texts") else _SHORT
        text: dict[str, object] = {"type": "string", "minLength": 1, "maxLength": longest}
        match self.kind:
            case "name" | "text":
                said = text
            case "number":
                said = {"type": "integer", "minimum": 0, **({} if self.most is None else {"maximum": self.most})}
            case "truth":
                said = {"type": "boolean"}
            case "names" | "texts":
                least = 1 if self.required else 0
                said = {"type": "array", "items": text, "minItems": least, "maxItems": MOST_NAMES}
        return {**said, "description": self.about}

    def checked(self, value: object) -> object:
        """Return a value that the tool takes. Raises ArgumentError."""
        if not self._fits(value):
            most = f" to {self.most:,}" if self.most is not None else ""
            raise ArgumentError(f"{self.name} is {_SAID[self.kind]}{most}; got {_shown(value)}; {self.about}")
        return value

    def _fits(self, value: object) -> bool:
        match self.kind:
            case "name" | "text":
                return _is_text(value, MOST_TEXT if self.kind == "text" else _SHORT)
            case "number":
                whole = isinstance(value, int) and not isinstance(value, bool)
                return whole and value >= 0 and (self.most is None or value <= self.most)  # type: ignore[operator]
            case "truth":
                return isinstance(value, bool)
            case "names" | "texts":
                longest = MOST_TEXT if self.kind == "texts" else _SHORT
                several = isinstance(value, list) and self.required <= len(value) <= MOST_NAMES
                return several and all(_is_text(each, longest) for each in value)  # type: ignore[attr-defined]


def _is_text(value: object, longest: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= longest and "\0" not in value


def _shown(value: object) -> str:
    if isinstance(value, str) and len(value) > 60:
        return f"one of {len(value):,} characters"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    return repr(value)[:60]


def checked(parameters: Sequence[Parameter], given: object) -> dict[str, object]:
    """Return the arguments that were given, by their names. Raises ArgumentError for one that is unknown, missing, or
    of another type."""
    known = {parameter.name: parameter for parameter in parameters}
    listed = ", ".join(known)
    if not isinstance(given, Mapping):
        raise ArgumentError(f"arguments are an object of names and values; got {_shown(given)}; there are {listed}")
    for name in given:
        if name not in known:
            raise ArgumentError(f"arguments are named; {str(name)[:60]!r} is none; there are {listed or 'none'}")
    for parameter in parameters:
        if parameter.required and given.get(parameter.name) is None:
            raise ArgumentError(f"{parameter.name} is needed; it was not given; {parameter.about}")
    return {name: known[name].checked(value) for name, value in given.items() if value is not None}
