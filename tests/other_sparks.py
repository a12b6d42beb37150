"""The promises (`tests/promises.txt`) on each Spark but the one of `requirements/dev.txt`.

    python -m tests.other_sparks          all of them; `3.5` names one

The packages and jars of each (some 450 MB) are fetched within `FETCH_SECONDS`. Where they are not, for the sake of a
mirror, that is said in a line and nothing has failed; what does not match its pin has.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.each_spark import SPARKS

ROOT: Final = Path(__file__).parents[1]
FETCH_SECONDS: Final = 150
TAMPERED: Final = ("DO NOT MATCH THE HASHES", "must have the pinned SHA-256")


def fetched(command: list[str], seconds: float, environ: Mapping[str, str] = os.environ) -> tuple[str | None, bool]:
    """Runs what fetches; why not, if it did not, and whether a mirror is to be blamed for that. It has ended, with all
    that it has started."""
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=told, stderr=told, start_new_session=True
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"not fetched within {FETCH_SECONDS} seconds", True
        told.seek(0)
        text = told.read()
    if code == 0:
        return None, True
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("make: ***")]
    return (lines or ["no word of it"])[-1], not any(sign in text for sign in TAMPERED)


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or not set(arguments) <= set(SPARKS):
        sys.stderr.write(f"usage: python -m tests.other_sparks [{'|'.join(SPARKS)}]\n")
        return 2
    return max(_run(name) for name in arguments or SPARKS)  # of one that fails the others are told, too


def _run(name: str) -> int:
    """The code that it ends with: 0 also where a mirror did not give what is needed."""
    until = time.monotonic() + FETCH_SECONDS
    spark = f".venv-spark{name.replace('.', '')}"
    for command in (
        ["make", f"{spark}/.packages-installed", f"SPARK={name}"],
        [f"{spark}/bin/python", "-m", "metaindex.spark", "jars"],
    ):
        why, mirror = fetched(command, max(1.0, until - time.monotonic()))
        if why is not None:
            done = "its tests are left out" if mirror else "a pin and what is fetched are to be the same"
            sys.stderr.write(f"other-sparks: Spark {name} cannot be set up: {why}; {done}\n")
            return 0 if mirror else 1
    sys.stdout.write(f"other-sparks: the promises on Spark {name}\n")
    sys.stdout.flush()
    command = ["make", "test-spark", f"SPARK={name}", "ARGS=-m promise"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
