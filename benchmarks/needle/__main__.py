"""`python -m benchmarks.needle [--rows N] [--files N] [--turns N] [--parts local,spark,builds,scale,targets] [--folder
F] [--json FILE]`: the needle benchmark in other sizes, or parts of it."""

from __future__ import annotations

import argparse

from benchmarks.telling import add_options, folder_of, teller

from . import FILES, PARTS, ROWS, measure
from .lake import Lake


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.needle", description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--parts", default=",".join(PARTS))
    add_options(parser)
    arguments = parser.parse_args()
    folder, tell = folder_of(arguments), teller("needle", arguments)
    lake = Lake.of(folder, arguments.files, arguments.rows)
    measure(folder, lake, arguments.turns, arguments.parts.split(","), tell)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
