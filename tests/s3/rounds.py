"""Round trips to a store: how many requests of an operation stood in a row, each waiting for the answer of the one
before."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .proxy import Proxy, Request

_LOOKS = 60
_LOOK_SECONDS = 0.004
"""A round is over when so many looks, one after the other, saw no new request: on a busy machine each takes longer, as
whoever is to ask does."""


class Rounds:
    """Holds every request until no other comes, and answers all of them at once: what one round asks depended on no
    answer of the same round. `asked` are the requests of each."""

    def __init__(self) -> None:
        self.asked: list[list[Request]] = [[]]
        self._changed = threading.Condition()

    @classmethod
    @contextmanager
    def of(cls, proxy: Proxy) -> Iterator["Rounds"]:
        """What passes the proxy inside."""
        rounds = cls()
        proxy.reset()
        proxy.fault = rounds
        try:
            yield rounds
        finally:
            proxy.reset()

    def __call__(self, request: Request) -> None:
        with self._changed:
            mine = self.asked[-1]
            mine.append(request)
            seen, looks = 0, 0
            while mine is self.asked[-1]:
                looks, seen = looks + 1 if seen == len(mine) else 0, len(mine)
                if looks < _LOOKS:
                    self._changed.wait(_LOOK_SECONDS)
                else:
                    self.asked.append([])
                    self._changed.notify_all()

    @property
    def trips(self) -> int:
        return sum(bool(some) for some in self.asked)

    @property
    def requests(self) -> int:
        return sum(map(len, self.asked))

    def __str__(self) -> str:
        return "\n".join(f"{n}: " + "\n   ".join(map(str, some)) for n, some in enumerate(self.asked, 1) if some)
