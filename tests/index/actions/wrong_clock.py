"""A process whose clock is wrong by hours: `python -m tests.index.actions.wrong_clock HOURS TABLE INDEX_LOCATION`. It
does what it is told, a list of verbs a line, and says what came of it, a line each. "stall": begin a refresh and stand
still until killed."""

import json
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Clock:
    """A process that lives by this clock."""

    process: subprocess.Popen[str]

    def begin(self, *verbs: str) -> None:
        self.process.stdin.write(json.dumps(verbs) + "\n")
        self.process.stdin.flush()

    def says(self, *verbs: str) -> list[str]:
        """What the verbs said; AssertionError where one failed."""
        self.begin(*verbs)
        answer = json.loads(self.process.stdout.readline() or '{"failed": "the process ended"}')
        assert "said" in answer, answer["failed"]
        said: list[str] = answer["said"]
        return said


@contextmanager
def clock(hours: float, table: Path, location: str) -> Iterator[Clock]:
    words = [sys.executable, "-m", "tests.index.actions.wrong_clock", str(hours), str(table), location]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Clock(process)
        process.stdin.close()


def main(hours: str, path: str, location: str) -> None:
    off, seconds, nanoseconds = float(hours) * 3600, time.time, time.time_ns
    time.time = lambda: seconds() + off
    time.time_ns = lambda: nanoseconds() + int(off * 1e9)
    for line in sys.stdin:
        try:
            answer: object = {"said": [said for verb in json.loads(line) for said in _done(verb, path, location)]}
        except Exception:  # noqa: BLE001 - the test says what it is
            answer = {"failed": traceback.format_exc()}
        _tell(answer)


def _tell(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _done(verb: str, path: str, location: str) -> list[str]:
    """What it says."""
    # With the clock as it is set above: what is imported may look at it.
    from metaindex.index.build.local import LocalBuilder

    from .hammer import opened, run

    class Stalling(LocalBuilder):
        def facts(self, *arguments: object, **more: object) -> object:  # type: ignore[override]
            report = super().facts(*arguments, **more)  # type: ignore[arg-type]
            _tell({"said": ["stalled"]})
            time.sleep(600)
            return report

    table = opened(path, location)
    if verb == "stall":
        table.refresh_index("stats", builder=Stalling())
    elif verb == "look":
        (info,) = table.indexes(all=True)
        return [str(info.state)]
    elif verb == "clean within the retention":
        table.clean_index("stats")
    elif verb.startswith("find "):
        return [str(table.scan(f"id = {verb.removeprefix('find ')}").to_arrow().column("id").to_pylist())]
    else:
        run(table, verb)
    return []


if __name__ == "__main__":
    main(*sys.argv[1:])
