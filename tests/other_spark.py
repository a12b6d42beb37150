"""A hundred tests on another Spark than the newest, in continuous integration: 3.5 or 4.0, by turns of commits.

    python -m tests.other_spark          the Spark of this commit's turn; `3.5` names it

Its packages and jars (some 450 MB) are fetched within `FETCH_SECONDS`. Where they are not, for the sake of a mirror,
that is said in a line and nothing has failed; what does not match its pin has.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from metaindex.spark.releases import NEWEST, RELEASES
from tests.rotation import VARIABLE, commit_of, share_of

ROOT: Final = Path(__file__).parents[1]
SPARKS: Final = tuple(release.name for release in RELEASES if release is not NEWEST)
FETCH_SECONDS: Final = 150
TAMPERED: Final = ("DO NOT MATCH THE HASHES", "must have the pinned SHA-256")
TESTS: Final = tuple((ROOT / "tests" / "other_spark_tests.txt").read_text("utf-8").split())
"""A hundred, or as many as the commit's share of those that rotate has: of every part of what another Spark does
(`tests/each_spark.py`), the ones that take a few seconds."""


def turn_of(commit: str) -> str:
    """The Spark that is tried at a commit."""
    (name,) = share_of(SPARKS, commit)
    return name


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
    commit = commit_of(ROOT)
    name = arguments[0] if arguments else turn_of(commit)
    if name not in SPARKS or len(arguments) > 1:
        sys.stderr.write(f"usage: python -m tests.other_spark [{'|'.join(SPARKS)}]\n")
        return 2
    until = time.monotonic() + FETCH_SECONDS
    spark = f".venv-spark{name.replace('.', '')}"
    for command in (
        ["make", f"{spark}/.packages-installed", f"SPARK={name}"],
        [f"{spark}/bin/python", "-m", "metaindex.spark", "jars"],
    ):
        why, mirror = fetched(command, max(1.0, until - time.monotonic()))
        if why is not None:
            done = "its tests are left out" if mirror else "a pin and what is fetched are to be the same"
            sys.stderr.write(f"other-spark: Spark {name} cannot be set up: {why}; {done}\n")
            return 0 if mirror else 1
    sys.stdout.write(f"other-spark: a hundred tests on Spark {name}, whose turn it is at {commit}\n")
    sys.stdout.flush()
    environ = {VARIABLE: commit, **os.environ}
    return subprocess.run(
        ["make", "test-spark", f"SPARK={name}", f"ARGS={' '.join(TESTS)}"], cwd=ROOT, env=environ, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
