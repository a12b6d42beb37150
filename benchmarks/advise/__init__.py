"""What-if and recommend beside what comes, on TPC-H, TPC-DS (as generated, and with the rows of a month together),
flights and needles.

truth     bytes that a query reads with a candidate, from a hundredth of the table, beside those that it reads once the
          candidate is really built; the same of sizes
whole     the 99 queries of TPC-DS over all of its tables: what recommending takes, and what is read for it
copies    the same of covering indexes, built by Spark, in queries through Spark (of store_sales)
choice    what is recommended under a budget, beside the best of all subsets of a dozen candidates and sets by hand

`python -m benchmarks advise`, or `python -m benchmarks.advise --only flights` for some of the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from .choice import beside_best
from .copies import beside_copies
from .subjects import subjects
from .truth import beside_truth
from .whole import over_all

Figures = list[dict[str, object]]
PARTS = ("truth", "copies", "choice", "whole")


def run(folder: Path, quick: bool) -> Figures:
    return measure(folder, quick, PARTS, "")


def measure(
    folder: Path, quick: bool, parts: Sequence[str], only: str, tell: Callable[[Figures], None] = lambda some: None
) -> Figures:
    """The figures of the parts asked, of tables whose names have `only` in them; `tell` gets them as they come."""
    found: Figures = []

    def add(some: Figures) -> None:
        tell(some)
        found.extend(some)

    for subject in subjects(folder / "advise", quick, only):
        each, share = (1, 0.2) if quick else (5, 0.01)
        if "truth" in parts:
            add(beside_truth(subject, each, share))
        if "choice" in parts:
            add(beside_best(subject, each, share, 1 if quick else 3))
    if "copies" in parts and not quick:
        add(beside_copies(folder / "advise", 1.0, 400, 3, 0.01))
    if "whole" in parts and not quick:
        add(over_all(folder / "advise", 1.0))
    return found
