"""`python -m benchmarks.versus CHECKOUT [--pieces planning,refresh,needle,tpch,tpch22] [--turns N] [--scale X]
[--only WORD] [--quick]`: has anything become slower since an older checkout (`git worktree add CHECKOUT COMMIT`)?

Each checkout has a process of its own with its own tables and indexes, in this environment; every question is asked of
one and then of the other, the other way round in the next turn. The ratio is now over before, turn by turn: its median
and its quartiles. `slower` says that three of four turns were slower. Questions that no index has a part in (plain,
oracle) say how far two equal ones lie apart.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.telling import Figures, add_options, folder_of, teller

PIECES = ("planning", "refresh", "needle", "tpch", "tpch22")
_HERE = Path(__file__).resolve()


class Worker:
    """One checkout's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.questions: list[str] = self._said()

    def ask(self, question: str) -> dict[str, object]:
        assert self._process.stdin is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        took: dict[str, object] = self._said()
        return took

    def _said(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"versus: a worker ended with {self._process.wait()}; what it said stands above")
        return json.loads(line)


@contextmanager
def working(checkout: Path, piece: str, folder: Path, quick: bool, scale: float) -> Iterator[Worker]:
    folder.mkdir(parents=True, exist_ok=True)
    program = [sys.executable, "-P", str(_HERE.with_name("worker.py"))]
    process = subprocess.Popen(
        [*program, piece, str(folder), "quick" if quick else "whole", str(scale)],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": ""},  # nothing is compiled twice
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Worker(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def compare(
    piece: str, before: Path, folder: Path, turns: int, *, quick: bool = False, scale: float = 1.0, only: str = ""
) -> Figures:
    """A line for each question and each time that was taken for it."""
    found: dict[str, list[dict[str, dict[str, object]]]] = {}
    with ExitStack() as stack:
        sides = {
            side: stack.enter_context(working(checkout, piece, folder / side, quick, scale))
            for side, checkout in (("before", before), ("now", _HERE.parents[2]))
        }
        for turn in range(turns + 1):  # the first one warms up
            for question in sides["now"].questions:
                if question not in sides["before"].questions or only not in question:
                    continue
                order = list(sides.items())
                took = {side: worker.ask(question) for side, worker in (order if turn % 2 else reversed(order))}
                assert took["before"].get("answer") == took["now"].get("answer"), f"{question}: answers differ"
                if turn:
                    found.setdefault(question, []).append(took)
                with (folder / f"{piece}.jsonl").open("a") as raw:  # each turn, should the run be broken off
                    print(json.dumps({"turn": turn, "question": question, **took}), file=raw)
            print(f"versus: {piece}, turn {turn} of {turns}", file=sys.stderr, flush=True)
    return [line for question, taken in found.items() for line in _lines(piece, question, taken)]


def _lines(piece: str, question: str, taken: list[dict[str, dict[str, object]]]) -> Figures:
    out: Figures = []
    for what in taken[0]["now"]:
        if what.endswith(" ms"):
            pairs = [(float(str(one["before"][what])), float(str(one["now"][what]))) for one in taken]
            ratios = [now / max(before, 1e-6) for before, now in pairs]
            low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
            out.append(
                {
                    piece: question,
                    "time": what,
                    "before": statistics.median(before for before, _ in pairs),
                    "now": statistics.median(now for _, now in pairs),
                    "now over before": middle,
                    "quartiles": f"{low:.2f} to {high:.2f}",
                    "slower": "yes" if low > 1 else "",
                }
            )
    return out


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.versus", description=__doc__)
    parser.add_argument("checkout", type=lambda said: Path(said).resolve(), help="of the older commit")
    parser.add_argument("--pieces", default=",".join(PIECES))
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="scale factor of TPC-H; share of 5,000,000 needles and 1,000,000 files"
    )
    parser.add_argument("--only", default="", help="questions that have these words")
    parser.add_argument("--quick", action="store_true", help="smaller tables: shows that it runs, measures nothing")
    add_options(parser)
    said = parser.parse_args()
    folder = folder_of(said) / "versus"
    tell = teller("versus", said)
    for piece in said.pieces.split(","):
        tell(compare(piece, said.checkout, folder, said.turns, quick=said.quick, scale=said.scale, only=said.only))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
