"""Work of which some is done ahead in threads, while results are taken in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def in_turn(work: Callable[[A], B], items: Iterable[A], threads: int) -> Iterator[tuple[A, B]]:
    """Yield each item with its result, in the items' order; at most `threads` results are made ahead."""
    if threads <= 1:
        for item in items:
            yield item, work(item)
        return
    waiting: deque[tuple[A, Future[B]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) >= threads:
                    first, result = waiting.popleft()
                    yield first, result.result()
            while waiting:
                first, result = waiting.popleft()
                yield first, result.result()
        finally:
            for _, result in waiting:
                result.cancel()
