"""Concurrent questions to stores that may not answer: each with its own timeout, answered in the order in which the
answers come.

A question that is not answered in its time is left behind: its thread goes on waiting, and another takes its place.
Threads are added while questions wait for answers and the processor has nothing to do; where it has, more of them would
only take memory. A store that left some questions in a row unanswered is not asked the others.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from metaindex.core import Words, dataclass

MOST_THREADS: Final = 128
_IN_A_ROW: Final = 16
_TICK_SECONDS: Final = 0.25
_IDLE: Final = 0.5
"""Of a processor: what is used of it while threads wait for stores."""

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Why there is no answer."""

    why: str


@dataclass(slots=True)
class _Running:
    number: int
    since: float


class SideBySide(Generic[A]):
    """Asks `ask(number)` for each of `stores` (the store of each question, by its number). `ask` raises nothing."""

    def __init__(self, stores: Sequence[str], ask: Callable[[int], A], *, threads: int, timeout_seconds: float) -> None:
        self._stores, self._ask, self._timeout = stores, ask, timeout_seconds
        self._threads = threads
        self._todo: deque[int] = deque(range(len(stores)))
        self._answers: queue.SimpleQueue[tuple[int, A | Unanswered]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: dict[int, _Running] = {}  # by worker
        self._workers = 0
        self._in_a_row: Counter[str] = Counter()

    def answers(self) -> Iterator[tuple[int, A | Unanswered]]:
        """Yield the answer to each question once."""
        try:
            yield from self._given()
        finally:
            with self._lock:
                self._todo.clear()  # whoever asked has gone

    def _given(self) -> Iterator[tuple[int, A | Unanswered]]:
        left = len(self._stores)
        self._start(min(self._threads, left))
        spent, looked = time.process_time(), time.monotonic()
        given: set[int] = set()
        while len(given) < left:
            answers: list[tuple[int, A | Unanswered]] = []
            try:
                answers.append(self._answers.get(timeout=_TICK_SECONDS))
            except queue.Empty:
                pass
            else:
                self._in_a_row[self._stores[answers[0][0]]] = 0
            now = time.monotonic()
            if now - looked >= _TICK_SECONDS:
                if (time.process_time() - spent) / (now - looked) < _IDLE:
                    self._grow()
                answers += [*self._late(now), *self._hopeless()]
                spent, looked = time.process_time(), now
            for number, answer in answers:
                if number not in given:  # else it came after its time
                    given.add(number)
                    yield number, answer

    def _start(self, many: int) -> None:
        """Fewer where the system gives no more threads; the first has to be had (RuntimeError)."""
        for _ in range(many):
            with self._lock:
                self._workers += 1
                worker = self._workers
            name = f"metaindex lake {worker}"
            try:
                threading.Thread(target=Words.kept(self._work), args=(worker,), name=name, daemon=True).start()
            except RuntimeError:
                if not self._running:
                    raise
                return

    def _work(self, worker: int) -> None:
        while True:
            with self._lock:
                if not self._todo:
                    self._running.pop(worker, None)
                    return
                number = self._todo.popleft()
                mine = _Running(number, time.monotonic())
                self._running[worker] = mine
            answer = self._ask(number)
            with self._lock:
                if self._running.get(worker) is not mine:  # left behind: another has its place
                    return
            self._answers.put((number, answer))

    def _late(self, now: float) -> list[tuple[int, Unanswered]]:
        with self._lock:
            late = [(worker, run) for worker, run in self._running.items() if now - run.since > self._timeout]
            for worker, _ in late:
                del self._running[worker]
        self._start(len(late))
        for _, run in late:
            self._in_a_row[self._stores[run.number]] += 1
        why = f"no answer within {self._timeout:g} seconds; look again later, or allow more time"
        return [(run.number, Unanswered(why)) for _, run in late]

    def _hopeless(self) -> list[tuple[int, Unanswered]]:
        """Questions to stores that do not answer."""
        silent = {store for store, many in self._in_a_row.items() if many >= _IN_A_ROW}
        if not silent:
            return []
        with self._lock:
            out = [number for number in self._todo if self._stores[number] in silent]
            self._todo = deque(number for number in self._todo if self._stores[number] not in silent)
        why = f"not asked: its store left {_IN_A_ROW} questions in a row without an answer; look again later"
        return [(number, Unanswered(why)) for number in out]

    def _grow(self) -> None:
        """Twice as many, as long as there is something to ask."""
        with self._lock:
            more = min(len(self._running), len(self._todo), MOST_THREADS - len(self._running))
        self._start(more)
