"""`python -m benchmarks.advise [--quick] [--parts truth] [--only NAME] [--folder F] [--json FILE]`: some of the tables,
or parts of it."""

from __future__ import annotations

import argparse

from benchmarks.telling import add_options, folder_of, teller

from . import PARTS, measure


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.advise", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller tables: shows that it runs, measures nothing")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--only", default="", help="tables whose names have this in them")
    add_options(parser)
    arguments = parser.parse_args()
    tell = teller("advise", arguments)
    measure(folder_of(arguments), arguments.quick, arguments.parts.split(","), arguments.only, tell)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
