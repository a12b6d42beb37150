"""One driver of hostile input: objects are changed, something is asked in time, an oracle judges what came of it, and
the objects are put back.

What is asked may take the process with it, or its memory: `told` asks in a child, of which nothing is left.
"""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import metaindex as mi

_ROOT = Path(__file__).parents[2]
_MOST_BYTES = 1 << 30
Content = bytes | None | Callable[[Path], None]
"""Of an object: its bytes, none where it is removed, or what makes something else of it."""


@dataclass(frozen=True)
class Change:
    """What becomes of some objects."""

    name: str
    objects: Mapping[Path, Content]

    @contextmanager
    def made(self) -> Iterator[None]:
        before = {path: path.read_bytes() if path.is_file() else None for path in self.objects}
        try:
            for path, content in self.objects.items():
                put(path, content)
            yield
        finally:
            for path, content in before.items():
                put(path, content)


def put(path: Path, content: Content) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        content(path)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Whoever waits longer is woken, and fails."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"not answered in {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def answer(ask: Callable[[], object], seconds: int) -> object:
    """What is answered, or the error."""
    try:
        with at_most(seconds):
            return ask()
    except mi.MetaIndexError as error:
        return error
    except Exception as error:  # noqa: BLE001 - what is sought
        return error


def told(module: str, *words: object) -> Any:
    """What a child says at its end, which has taken less memory than a bound."""
    command = [sys.executable, "-m", module, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout)
    assert said.pop("peak_bytes") < _MOST_BYTES
    return said
