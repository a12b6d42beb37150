"""What the reliability tests did, counted by themselves while they run: `python -m tests.soak` prints it, and the
README quotes it."""

import json
from collections import Counter
from pathlib import Path

import pytest

_counts: Counter[str] = Counter()


def count(what: str, number: int = 1) -> None:
    """So many more of something were done. `what` is a word in the plural, as people read it: "lives", "queries"."""
    _counts[what] += number


class Figures:
    """Appends one JSON line to a file when this process has run its tests: their outcomes and what they counted."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._outcomes: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":  # set-up and tear-down count where they go wrong
            self._outcomes[report.outcome] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.config.getoption("numprocesses", None):  # its workers say it
            return
        with self._file.open("a") as out:
            out.write(json.dumps({"outcomes": self._outcomes, "counts": _counts}) + "\n")
