"""Objects that the JVM may call back over py4j, guarded by a token.

PySpark's callback server listens on a port of the driver's host and asks nobody who he is: whoever can reach it may
call any method of whatever was handed to the JVM. So what is handed over here has one method, which does nothing
without a token that the Java side was given with it; no attribute of it can be read or set from there, the token least
of all.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import threading
from collections.abc import Callable
from typing import Any, Final

from metaindex.core.bounded import BoundedCache

logger = logging.getLogger("metaindex")

_MOST_BEGUN: Final = 64


class _Closed:
    """Nothing can be asked of it but what the JVM calls: a call over py4j is `getattr(this, name)(...)` with a name
    that the caller chooses."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name in (
            "apply",
            "Java",
            "__class__",
        ):  # the last is asked by `isinstance`; called, it makes another that answers no more than this one
            return object.__getattribute__(self, name)
        raise AttributeError("there is nothing else")


def guarded(answer: Callable[[str], str], proof: str, in_pieces: bool) -> tuple[str, Any]:
    """`SparkDriver.java_function`."""
    token = secrets.token_hex(32)
    pieces = _Pieces()

    class Function(_Closed):
        def apply(self, said: object) -> str:
            told = _told(said, token)
            if told is None:
                return ""
            if in_pieces and told.startswith("+"):
                return proof + pieces.take(told)
            request = pieces.joined(told) if in_pieces else told
            return proof + (answer(request) if request is not None else "")

        class Java:
            implements = ("java.util.function.Function",)

    return token, Function()


class _Pieces:
    r"""Assembles long requests, which arrive in pieces: `+number\npiece`, and the last one `=number count\npiece`,
    with the count of those before. Of requests whose last piece never comes, a few are kept."""

    def __init__(self) -> None:
        self._begun: BoundedCache[str, list[str]] = BoundedCache(_MOST_BEGUN)
        self._lock = threading.Lock()

    def take(self, told: str) -> str:
        """Says that a piece was taken."""
        number, _, piece = told[1:].partition("\n")
        with self._lock:
            (self._begun.find(number) or self._begun.keep(number, [])).append(piece)
        return "+"

    def joined(self, told: str) -> str | None:
        """The whole request, with its last piece; None where another is missing."""
        if not told.startswith("="):
            return told
        said, _, piece = told[1:].partition("\n")
        number, _, count = said.partition(" ")
        with self._lock:
            before = self._begun.take(number) or []
        if str(len(before)) != count:
            logger.warning("a request of the session's JVM lacks a piece, and was not answered")
            return None
        return "".join([*before, piece])


def _told(said: object, token: str) -> str | None:
    """Return the request after the token; None, with a warning, if the token is wrong."""
    given, _, rest = said.partition("\n") if isinstance(said, str) else ("", "", "")
    if hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode()):
        return rest
    logger.warning("somebody else than the session's JVM asked over its callback port, and was not answered")
    return None
