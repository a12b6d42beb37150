"""Changes one critical line at a time in a copy of the project, and says whether its tests notice: `make mutants`, or
`python -m tests.mutants [NAME ...] [--list]`.

The exit code is 0 only where every mutant was killed. A test run that ends in an error of its own (a file that is not
there, no test found) counts as survived.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from metaindex.core import Column, TextTable
from tests.processes import say

from .written import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
FAILED = 1  # pytest's exit code where tests were run and some failed
_LIMIT_SECONDS = 1800


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of names: only these mutants")
    parser.add_argument("--list", action="store_true", help="only name them, and what each would do to a user")
    asked = parser.parse_args()
    chosen = [one for one in MUTANTS if not asked.names or any(name in one.name for name in asked.names)]
    if asked.list:
        say(str(TextTable((Column("mutant"), Column("says")), tuple((one.name, one.says) for one in chosen))))
        return 0
    survived = []
    with tempfile.TemporaryDirectory(prefix="metaindex-mutants-") as folder:
        copy = copied(Path(folder) / "project")
        for number, mutant in enumerate(chosen, 1):
            started = time.perf_counter()
            killed = is_killed(mutant, copy)
            seconds = time.perf_counter() - started
            verdict = "killed" if killed else "SURVIVED"
            say(f"[{number:>2} of {len(chosen)}] {verdict:8} {seconds:5.0f} s  {mutant.name}")
            if not killed:
                survived.append(mutant)
    say(f"{len(chosen) - len(survived)} of {len(chosen)} mutants were killed")
    for mutant in survived:
        say(f"survived: {mutant.name} ({mutant.file}): {mutant.says}")
    return 1 if survived else 0


def copied(place: Path) -> Path:
    """The project's files as they stand here, tracked or new."""
    told = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in told.stdout.splitlines():
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return place


def is_killed(mutant: Mutant, copy: Path) -> bool:
    """Do the mutant's tests fail on it? The copy is afterwards as it was."""
    file = copy / mutant.file
    text = file.read_text()
    if text.count(mutant.before) != 1:
        raise SystemExit(f"a mutant's line stands once in its file; that of {mutant.name!r} does not in {mutant.file}")
    file.write_text(text.replace(mutant.before, mutant.after))
    try:
        return run(mutant.tests, copy) == FAILED
    finally:
        file.write_text(text)


def run(tests: tuple[str, ...], copy: Path) -> int:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-m",
        "not spark and not s3",
        *tests,
    ]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "METAINDEX_WHOLE": "1"}
    try:
        return subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=_LIMIT_SECONDS, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return FAILED  # a test that hangs on it has noticed


if __name__ == "__main__":
    sys.exit(main())
