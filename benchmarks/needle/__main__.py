"""`python -m benchmarks.needle [--rows N] [--files N] [--turns N] [--parts local,spark,builds,scale,targets] [--folder F] [--json FILE]`: the needle benchmark in other sizes, or parts of it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.__main__ import show

from . import FILES, PARTS, ROWS, Figures, measure


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.needle", description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--folder", default=".cache/benchmarks")
    parser.add_argument("--json", dest="lines", help="append one JSON line a figure to this file")
    arguments = parser.parse_args()
    folder = Path(arguments.folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)

    def tell(some: Figures) -> None:
        show("needle", some)
        if arguments.lines:
            with open(arguments.lines, "a") as out:
                out.writelines(json.dumps({"benchmark": "needle", **figure}) + "\n" for figure in some)

    measure(folder, arguments.files, arguments.rows, arguments.turns, arguments.parts.split(","), tell)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
