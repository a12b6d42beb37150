"""A process whose clock is wrong by hours: `python -m tests.actions.wrong_clock HOURS TABLE INDEX_LOCATION VERB...`.
"stall": begin a refresh and stand still until killed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start(hours: float, table: Path, location: str, *verbs: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tests.actions.wrong_clock", str(hours), str(table), location, *verbs]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def says(hours: float, table: Path, location: str, *verbs: str) -> str:
    """What the process wrote; AssertionError where it failed."""
    with start(hours, table, location, *verbs) as process:
        out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return out


def main(hours: str, path: str, location: str, *verbs: str) -> None:
    off, seconds, nanoseconds = float(hours) * 3600, time.time, time.time_ns
    time.time = lambda: seconds() + off
    time.time_ns = lambda: nanoseconds() + int(off * 1e9)
    from metaindex.build.local import LocalBuilder

    from .hammer import opened, run

    class Stalling(LocalBuilder):
        def facts(self, *arguments: object, **more: object) -> object:  # type: ignore[override]
            report = super().facts(*arguments, **more)  # type: ignore[arg-type]
            sys.stdout.write("stalled\n")
            sys.stdout.flush()
            time.sleep(600)
            return report

    for verb in verbs:
        table = opened(path, location)
        if verb == "stall":
            table.refresh_index("stats", builder=Stalling())
        elif verb == "look":
            (info,) = table.indexes(all=True)
            sys.stdout.write(f"{info.state} {'suspected' if info.suspected else 'trusted'}\n")
        elif verb == "clean within the retention":
            table.clean_index("stats")
        elif verb.startswith("find "):
            number = int(verb.removeprefix("find "))
            sys.stdout.write(f"{table.scan(f'id = {number}').to_arrow().column('id').to_pylist()}\n")
        else:
            run(table, verb)


if __name__ == "__main__":
    main(*sys.argv[1:])
