"""An entry's object: two lines of JSON. The first is the entry, the second says what the first must be.

    {"format_version": 3, "id": 7, ...}
    {"sha256": "<hex of the first line's bytes>"}

So any reader can check it: `head -1`, without its newline, is the text. The digest finds damage. With a key
(`Config(seal_key=...)`) the second line has `hmac_sha256`, too, which only who has the key can make:
docs/operation-log.md says what that covers.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from metaindex.core import DamagedIndexError, ForeignIndexError, first_line

from .fields import Fields

MAX_BYTES = 64 << 20
"""Of an entry, of a version object, of a manifest: many times what any index needs. What is larger is not read."""


def digest(data: bytes | memoryview) -> str:
    """The digest by which one object names the bytes of another."""
    return hashlib.sha256(data).hexdigest()


def to_text(value: object) -> bytes:
    """JSON in one line of UTF-8. Names that are no Unicode (a file system's) are escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False).encode()


def from_text(text: bytes) -> object:
    """Parse JSON. Raises ValueError or RecursionError if it is invalid or repeats a name."""
    return json.loads(text.decode(), object_pairs_hook=_once, parse_constant=_no_number)


def seal(value: object, key: bytes | None) -> bytes:
    """The two lines."""
    text = to_text(value)
    said = {"sha256": digest(text)}
    if key is not None:
        said["hmac_sha256"] = _keyed(text, key)
    return text + b"\n" + to_text(said) + b"\n"


def is_sealed(data: bytes) -> bool:
    """Return whether the object states that it was sealed with a key."""
    return b'"hmac_sha256"' in data[data.find(b"\n") :]


def unseal(data: bytes, where: str, key: bytes | None) -> Any:
    """The JSON value of the first line. DamagedIndexError where it is not what the second line says; ForeignIndexError
    where there is a key, and the seal is missing or of another one."""
    text, _, second = data.partition(b"\n")
    try:
        if not second.endswith(b"\n") or len(second) > 1024:
            raise ValueError("it has not two lines")
        said = Fields(from_text(second[:-1]), "the second line")
        expected, sealed = said.text("sha256"), said.optional_text("hmac_sha256")
        said.done()
    except (ValueError, RecursionError) as error:
        raise DamagedIndexError(
            f"a log entry is a line of JSON and a line with its digest; {where} is not ({one_line(error)}); {CURE}"
        ) from error
    if not hmac.compare_digest(digest(text), expected):
        raise DamagedIndexError(f"a log entry matches its digest; {where} does not; {CURE}")
    if key is not None and (sealed is None or not hmac.compare_digest(_keyed(text, key), sealed)):
        what = "has none" if sealed is None else "was sealed with another key"
        raise ForeignIndexError(
            f"with a seal key, a log entry has the seal of that key; {where} {what}; give its key, or delete and vacuum"
            " the index as it was sealed and create it anew with this one"
        )
    try:
        return from_text(text)
    except (ValueError, RecursionError) as error:
        raise DamagedIndexError(f"a log entry is a line of JSON; {where} is not ({one_line(error)}); {CURE}") from error


CURE = "repair the index: that mends it, or says which folder to remove before it is created anew"


def one_line(error: BaseException) -> str:
    """Return the message of an error as a one-line reason."""
    return first_line(error, named=True)


def _keyed(text: bytes, key: bytes) -> str:
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("an object has each field once")
    return fields


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is no number of JSON")
