"""Round trips to a store: how many requests of an operation stood in a row, each waiting for the answer of the one
before."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .proxy import Proxy, Request

_LOOKS = 40
_LOOK_SECONDS = 0.004
"""A round is over when so many looks, one after the other, saw no new request and no thread at work: on a busy machine
whoever is to ask waits for a processor, however long."""


def _busy() -> bool:
    """Return whether another thread of this process, which asks and counts, is at work or waits for a processor."""
    me = str(threading.get_native_id())
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has ended
            if task.name != me and (task / "stat").read_text().rpartition(")")[2].split()[0] in "RD":
                return True
    return False


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
            if len(mine) > 1:  # the first one looks
                self._changed.wait_for(lambda: mine is not self.asked[-1])
                return
            seen, looks = 0, 0
            while looks < _LOOKS:
                self._changed.wait(_LOOK_SECONDS)
                looks, seen = looks + 1 if seen == len(mine) and not _busy() else 0, len(mine)
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
