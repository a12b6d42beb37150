"""Processes that do the same at once. They wait for each other: what a process needs to start, a thousand times what it
races for, decides nothing."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[1]


def ready() -> None:
    """What the code of a racer calls where the race begins."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()


def raced(code: str, arguments: Sequence[Sequence[str]], meanwhile: Callable[[], object] = lambda: None) -> list[str]:
    """What processes say that run this code, one for each arguments, all let loose when the last is ready. `meanwhile`
    is done here, beside them. AssertionError where one fails."""
    command = [sys.executable, "-c", code]
    with ExitStack() as stack:
        racers = [
            stack.enter_context(
                subprocess.Popen([*command, *each], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for each in arguments
        ]
        for racer in racers:
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            racer.stdin.write("go\n")
            racer.stdin.flush()
        meanwhile()
        said = [racer.communicate(timeout=600)[0] for racer in racers]
        assert [racer.returncode for racer in racers] == [0] * len(racers)
    return said
