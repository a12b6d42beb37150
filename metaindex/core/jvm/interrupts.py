"""Ctrl-C during a call into the JVM raises KeyboardInterrupt, and no error of the JVM.

py4j lets an interrupt through, and shuts the connection on which the answer was waited for. PySpark's own code, and
ours, asks again on its way out; the next connection may be shut with the first, and then an error of py4j comes out, in
whose chain the interrupt stands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

_TRIES = 5
"""Connections that one interrupt breaks are two or three."""


class interrupts_first:  # noqa: N801 - a block, as `suppress` is one
    """Context in which an interrupt takes precedence over the errors that it causes: the block is left by it, and not
    by them. Code that handles an error of py4j has this inside its `try`."""

    def __enter__(self) -> None:
        self._handled = sys.exc_info()[1]  # was raised before: who builds again after an interrupt is not interrupted

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        interrupt = None if error is None else interrupt_of(error, self._handled)
        if interrupt is not None and interrupt is not error:
            raise type(interrupt)(*interrupt.args) from error


def interrupt_of(error: BaseException, handled: BaseException | None = None) -> BaseException | None:
    """Return the interrupt, or the requested end of the process, during which the error arose; None if there was none.
    `handled`: the chain from there on is older."""
    ahead, seen = [error], {id(handled)}
    while ahead:
        link = ahead.pop()
        if id(link) in seen:  # who raises one anew may make a circle
            continue
        if isinstance(link, (KeyboardInterrupt, SystemExit)):
            return link
        seen.add(id(link))
        ahead += [other for other in (link.__cause__, link.__context__) if other is not None]
    return None


def surely(call: Callable[[], object]) -> None:
    """Calls the JVM to put something back: again, where the connection is one that an interrupt broke. The error of
    the last try."""
    from py4j.protocol import Py4JError, Py4JJavaError

    for left in reversed(range(_TRIES)):
        try:
            call()
        except Py4JJavaError:  # it answered
            raise
        except (Py4JError, OSError):
            if not left:
                raise
        else:
            return
