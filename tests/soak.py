"""Tries to make an index lose something, for an hour, and prints what was tried: `make soak`, or `python -m
tests.soak [PIECE ...] [--quick] [--json FILE]`.

Every figure is counted by the tests while they run (`tests.figures`); a piece that was skipped or went wrong says so,
and the exit code is 0 only where nothing did. What pytest wrote is kept in `.cache/soak/`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from metaindex.core import Column, TextTable
from tests.processes import say

ROOT = Path(__file__).parents[1]
LOGS = ROOT / ".cache" / "soak"


@dataclass(frozen=True)
class Piece:
    """Some tests that try one kind of mishap. `processes`: their tests run side by side in so many; those that start
    many themselves run in one."""

    name: str
    says: str
    tests: tuple[str, ...]
    processes: int = 2
    marks: str = "not spark"


PIECES = (
    Piece("lives", "random lives of an index against a model of its log", ("tests/index/actions/test_model.py",)),
    Piece(
        "crashes",
        "death and failing storage at every storage call of every verb",
        ("tests/index/actions/test_crashes.py",),
    ),
    Piece("races", "every verb at every storage call of every other", ("tests/index/actions/test_races.py",)),
    Piece(
        "mishaps",
        "disks that fill up, lost permissions, wrong clocks, stores that fail, time out and lose answers",
        (
            "tests/index/actions/test_disk_faults.py",
            "tests/index/actions/test_mishaps.py",
            "tests/s3/test_faults.py::test_clocks_that_are_wrong_by_hours_decide_nothing",
            "tests/s3/test_faults.py::test_a_reader_that_holds_an_entry_reads_right_while_everything_is_optimized_and_cleaned",
            "tests/s3/test_faults.py",
        ),
    ),
    Piece("hammer", "processes on one index on a local disk, some killed", ("tests/index/actions/test_hammer.py",), 1),
    Piece("hammer-s3", "processes on one index on an S3 server, some killed", ("tests/s3/test_hammer.py",), 1),
    Piece(
        "histories",
        "random tables with hooks on, every version against a full read",
        ("tests/ops/hooks/test_histories.py",),
    ),
    Piece(
        "fuzz",
        "stored objects of an index changed at random, half of them with their seals made right, and the table asked",
        ("tests/query/pruning/test_fuzz.py",),
    ),
    Piece(
        "corpus",
        "random queries of Spark over tables in every format and state, and sessions with every setting, against those"
        " without the rule",
        ("tests/spark/optimizer/test_corpus.py", "tests/spark/optimizer/test_session_settings.py"),
        1,
        "spark",
    ),
    Piece(
        "texts",
        "random CSV and JSON files in odd dialects, read here and by Spark, and queries over them with an index",
        ("tests/query/readers/test_random_text.py",),
        1,
        "spark",
    ),
    Piece(
        "followed",
        "random histories written by Spark, with indexes of every kind that follow them, every version under the rule",
        ("tests/spark/optimizer/test_random_histories.py",),
        1,
        "spark",
    ),
)


@dataclass
class Result:
    """What became of a piece."""

    piece: Piece
    seconds: float
    ended_well: bool
    outcomes: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def wrong(self) -> int:
        """Tests that failed; one where pytest itself did."""
        return self.outcomes["failed"] or int(not self.ended_well)

    @property
    def figures(self) -> str:
        return ", ".join(f"{number:,} {what}" for what, number in self.counts.items()) or "-"

    def to_json(self) -> dict[str, object]:
        return {
            "piece": self.piece.name,
            "says": self.piece.says,
            "counts": self.counts,
            "tests": self.outcomes,
            "wrong": self.wrong,
            "seconds": round(self.seconds, 1),
        }


def run(piece: Piece, *, quick: bool) -> Result:
    LOGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, (LOGS / f"{piece.name}.log").open("w") as log:
        figures = Path(folder) / "figures"
        environment = {**os.environ, "METAINDEX_FIGURES": str(figures)}
        environment.pop("METAINDEX_FAST", None)
        environment |= {} if quick else {"METAINDEX_SOAK": "1"}
        words = [sys.executable, "-m", "pytest", "-q", "-rA", "-m", piece.marks, *piece.tests]
        if piece.processes > 1:
            words += ["-n", str(piece.processes)]
        started = time.monotonic()
        done = subprocess.run(words, check=False, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        result = Result(piece, time.monotonic() - started, done.returncode == 0)
        for line in figures.read_text().splitlines() if figures.exists() else []:
            said = json.loads(line)
            result.outcomes.update(said["outcomes"])
            result.counts.update(said["counts"])
    return result


def table(results: list[Result]) -> TextTable:
    """A row a piece."""
    columns = (
        Column("piece"),
        Column("tests", right=True),
        Column("skipped", right=True),
        Column("wrong", right=True),
        Column("minutes", right=True),
        Column("what was done"),
    )
    rows = tuple(
        (
            one.piece.name,
            f"{one.outcomes.total():,}",
            f"{one.outcomes['skipped']:,}",
            f"{one.wrong:,}",
            f"{one.seconds / 60:.1f}",
            one.figures,
        )
        for one in results
    )
    return TextTable(columns, rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pieces", nargs="*", choices=[*(piece.name for piece in PIECES), []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="as many as `make test` tries: shows that it runs")
    parser.add_argument("--json", dest="file", help="write the figures to this file, too")
    arguments = parser.parse_args()
    results = []
    for piece in PIECES:
        if not arguments.pieces or piece.name in arguments.pieces:
            say(f"soak: {piece.name}: {piece.says}")
            results.append(run(piece, quick=arguments.quick))
    say(f"\n{table(results)}\n")
    if arguments.file:
        Path(arguments.file).write_text(json.dumps([one.to_json() for one in results], indent=1) + "\n")
    wrong = [one.piece.name for one in results if one.wrong]
    skipped = [one.piece.name for one in results if one.outcomes["skipped"]]
    if skipped:
        say(f"soak: not all of this was tried: {', '.join(skipped)}; {LOGS} says why")
    say(f"soak: something went wrong: {', '.join(wrong)}; see {LOGS}" if wrong else "soak: nothing was lost")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
