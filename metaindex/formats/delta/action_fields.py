"""The fields of actions that a reader uses, and of which type each is. A line of the log is data from anywhere: a value
of another type is a ValueError, to which whoever reads the file adds its name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

_Kinds: TypeAlias = Mapping[str, "type[str] | int | _Kinds"]  # texts, whole numbers of so many bits, objects
_VECTOR: _Kinds = {"storageType": str, "pathOrInlineDv": str, "offset": 32, "sizeInBytes": 32, "cardinality": 64}
_REMOVE: _Kinds = {"path": str, "deletionVector": _VECTOR}
_ADD: _Kinds = {
    **_REMOVE,
    **dict.fromkeys(("size", "modificationTime", "baseRowId", "defaultRowCommitVersion"), 64),
}
_NEEDED = frozenset({"path", "size", "storageType", "pathOrInlineDv", "sizeInBytes"})


def check_add(body: Any) -> None:
    """A file that is added; ValueError where it is none."""
    _check(body, "an add action", _ADD)
    if body["size"] < 0:
        raise ValueError("an add action has a size")
    if type(body.get("stats")) is str:
        _unicode(body["stats"], "stats")


def check_remove(body: Any) -> None:
    _check(body, "a remove action", _REMOVE)


def partition_texts_of(body: Mapping[str, Any]) -> Mapping[str, str | None]:
    """The partition values of an add. What is no text is its JSON to the reader that Delta came with."""
    return {name: _scalar_text(value) for name, value in object_of(body, "partitionValues").items()}


def statistics_of(body: Mapping[str, Any]) -> str | None:
    """The statistics of an add; an object is the text that it was read from."""
    return _scalar_text(body.get("stats"))


def texts(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts; empty where it is absent."""
    values = [] if body.get(name) is None else body[name]
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is a list of texts")
    return tuple(_unicode(value, name) for value in values)


def text_values(body: Mapping[str, Any], name: str) -> dict[str, str]:
    """A map of texts; empty where it is absent."""
    scalar_texts = {key: _scalar_text(value) for key, value in object_of(body, name).items()}
    return {_unicode(key, name): value for key, value in scalar_texts.items() if value is not None}


def text_of(body: Mapping[str, Any], name: str) -> str:
    """A text; "" where it is absent."""
    _check(body, "an action", {name: str}, needed=frozenset())
    return body.get(name) or ""


def object_of(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A JSON object; empty where it is absent."""
    value: Any = {} if body.get(name) is None else body[name]
    _check(value, name, {})
    return value  # type: ignore[no-any-return]


def _check(body: Any, what: str, kinds: _Kinds, needed: frozenset[str] = _NEEDED) -> None:
    if not isinstance(body, dict):
        raise ValueError(f"{what} is a JSON object")
    for name, kind in kinds.items():
        value = body.get(name)
        if value is None:
            if name in needed:
                raise ValueError(f"{what} has a {name}")
        elif isinstance(kind, int):
            if type(value) is not int or not -(1 << kind - 1) <= value < 1 << kind - 1:
                raise ValueError(f"{name} is a whole number of {kind} bits; this one is {value!r:.40}")
        elif isinstance(kind, Mapping):
            _check(value, "a deletion vector", kind)
        elif type(value) is not str:
            raise ValueError(f"{name} is a text; this one is {value!r:.40}")
        else:
            _unicode(value, name)


def _scalar_text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case str():
            return _unicode(value, "a value")
        case bool():
            return "true" if value else "false"
        case _:
            return json.dumps(value, separators=(",", ":"))


def _unicode(text: str, what: str) -> str:
    """JSON can escape half a surrogate pair; no text of ours holds one."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} is Unicode text; {text!r:.40} is not") from error
    return text
