"""One driver of random histories: things happen at random to a table, an index may follow it, and oracles say what must
be true afterwards.

A history takes every choice from its `random`. That of a seed repeats a history; Hypothesis' own (`RANDOM`) looks for
the shortest one that goes wrong. Either way the message of a failure ends with what happened.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from hypothesis import strategies as st

import metaindex as mi
from metaindex.index import Kind

RANDOM: st.SearchStrategy[Random] = st.randoms(use_true_random=False)
Oracle = Callable[[], object]


class History:
    """Things that can happen: `verbs` names their methods, the frequent ones several times."""

    verbs = ""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.statements: list[str] = []

    def happen(self, verb: str) -> None:
        self.statements.append(verb)
        getattr(self, verb)()


class Index(History):
    """An index that is refreshed and optimized between the things that happen to its table."""

    verbs = "refresh refresh refresh quick full optimize"
    refused: tuple[type[Exception], ...] = ()
    """What a verb may be answered with."""

    def __init__(self, history: History, opened: Callable[[], mi.Table], *kinds: Kind) -> None:
        super().__init__(history.random)
        self.statements = history.statements
        self.opened = opened
        opened().create_index("kept", *kinds, builder="local")

    def happen(self, verb: str) -> None:
        try:
            super().happen(verb)
        except self.refused as error:
            self.statements[-1] += f" (refused: {error})"

    def refresh(self, mode: Any = "incremental", **how: Any) -> None:
        self.opened().refresh_index("kept", mode, builder="local", **how)

    def quick(self) -> None:
        self.refresh("quick")

    def full(self) -> None:
        self.refresh("full")

    def optimize(self) -> None:
        self.opened().optimize_index("kept", self.random.choice(["full", "quick"]))

    def clean(self) -> None:
        self.opened().clean_index("kept", retention=0)


def run(steps: int, *histories: History, always: Sequence[Oracle] = (), oracles: Sequence[Oracle] = ()) -> None:
    """So many things happen; the `always` ones are asked after each of them."""
    every = [(one, verb) for one in histories for verb in one.verbs.split()]
    with told(histories[0]):
        for _ in range(steps):
            one, verb = histories[0].random.choice(every)
            one.happen(verb)
            for oracle in always:
                oracle()
        for oracle in oracles:
            oracle()


@contextmanager
def told(history: History) -> Iterator[None]:
    """A failure ends with what happened."""
    try:
        yield
    except Exception as error:
        error.add_note("\n".join(history.statements))
        raise
