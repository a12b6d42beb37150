"""The fields of actions that a reader uses, and of which type each is. A line of the log is data from anywhere: a value
of another type is damage, named here, and no error deeper down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from metaindex.core import CorruptTableError

_INT32, _INT64 = 2**31, 2**63
_NOTHING: Mapping[str, str | None] = {}


def check_add(body: Any) -> None:
    """A file that is added; CorruptTableError where it is none."""
    _object(body, "an add action")
    _text(body, "path", needed=True)
    if _whole(body, "size") is None or body["size"] < 0:
        raise CorruptTableError("an add action has a size")
    for name in ("modificationTime", "baseRowId", "defaultRowCommitVersion"):
        if name in body:
            _whole(body, name)
    if type(body.get("stats")) is str:
        _text(body, "stats")
    _deletion_vector(body)


def check_remove(body: Any) -> None:
    _object(body, "a remove action")
    _text(body, "path", needed=True)
    _deletion_vector(body)


def partition_texts_of(body: Mapping[str, Any]) -> Mapping[str, str | None]:
    """The partition values of an add. What is no text is its JSON to the reader that Delta came with."""
    values = body.get("partitionValues")
    if values is None:
        return _NOTHING
    _object(values, "partitionValues")
    if all(value is None or type(value) is str for value in values.values()):
        for value in values.values():
            if value is not None and not value.isascii():
                _unicode(value, "a partition value")
        return values  # type: ignore[no-any-return]
    return {name: _scalar_text(value) for name, value in values.items()}


def statistics_of(body: Mapping[str, Any]) -> str | None:
    """The statistics of an add; an object is the text that it was read from."""
    return _scalar_text(body.get("stats"))


def texts(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts; empty where it is absent."""
    values = body.get(name)
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise CorruptTableError(f"{name} is a list of texts")
    return tuple(_unicode(value, name) for value in values)


def text_values(body: Mapping[str, Any], name: str) -> dict[str, str]:
    """A map of texts; empty where it is absent."""
    values = body.get(name)
    if values is None:
        return {}
    _object(values, name)
    scalar_texts = {key: _scalar_text(value) for key, value in values.items()}
    return {_unicode(key, name): value for key, value in scalar_texts.items() if value is not None}


def text_of(body: Mapping[str, Any], name: str) -> str:
    """A text; "" where it is absent."""
    _text(body, name)
    return body.get(name) or ""


def object_of(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A JSON object; empty where it is absent."""
    value = body.get(name)
    if value is None:
        return {}
    _object(value, name)
    return value  # type: ignore[no-any-return]


def _deletion_vector(body: Mapping[str, Any]) -> None:
    dv = body.get("deletionVector")
    if dv is None:
        return
    _object(dv, "a deletion vector")
    _text(dv, "storageType", needed=True)
    _text(dv, "pathOrInlineDv", needed=True)
    _whole(dv, "offset", limit=_INT32)
    if _whole(dv, "sizeInBytes", limit=_INT32) is None:
        raise CorruptTableError("a deletion vector has a sizeInBytes")
    _whole(dv, "cardinality")


def _object(value: Any, what: str) -> None:
    if not isinstance(value, dict):
        raise CorruptTableError(f"{what} is a JSON object")


def _whole(body: Mapping[str, Any], name: str, limit: int = _INT64) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if type(value) is not int or not -limit <= value < limit:
        raise CorruptTableError(f"{name} is a whole number of {limit.bit_length()} bits; this one is {value!r:.40}")
    return value


def _text(body: Mapping[str, Any], name: str, needed: bool = False) -> None:
    value = body.get(name)
    if value is None and not needed:
        return
    if type(value) is not str:
        raise CorruptTableError(f"{name} is a text; this one is {value!r:.40}")
    if not value.isascii():
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
        raise CorruptTableError(f"{what} is Unicode text; {text!r:.40} is not") from error
    return text
