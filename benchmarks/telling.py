"""What every benchmark is told on its command line, and how it tells its figures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

Figures = list[dict[str, object]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where tables are kept, and where figures go."""
    parser.add_argument("--folder", default=".cache/benchmarks", help="made-up tables are kept here and used again")
    parser.add_argument("--json", dest="lines", help="append one JSON line a figure to this file")


def folder_of(arguments: argparse.Namespace) -> Path:
    """Where tables are kept; it is there."""
    folder = Path(arguments.folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def teller(name: str, arguments: argparse.Namespace) -> Callable[[Figures], None]:
    """Shows figures of a benchmark, and appends them as JSON lines where that was asked."""

    def tell(figures: Figures) -> None:
        show(name, figures)
        if arguments.lines:
            with open(arguments.lines, "a") as out:
                out.writelines(json.dumps({"benchmark": name, **figure}) + "\n" for figure in figures)

    return tell


def show(name: str, figures: Figures) -> None:
    """A table for each stretch of figures that begin alike."""
    for _, some in groupby(figures, key=lambda figure: next(iter(figure))):
        table = list(some)
        heads = list(table[0])
        cells = [[_text(figure.get(head, "")) for head in heads] for figure in table]
        widths = [max(len(head), *(len(row[i]) for row in cells)) for i, head in enumerate(heads)]
        print(f"\n{name}")
        for row in (heads, ["-" * width for width in widths], *cells):
            print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    sys.stdout.flush()


def _text(value: object) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
