"""`python -m benchmarks.tpch [--scale N] [--format parquet|csv] [--turns N] [--parts bounds,queries,deleted]
[--queries Q6,Q17,"one order"] [--folder F] [--json FILE]`: TPC-H in other sizes, or parts of it."""

from __future__ import annotations

import argparse

from benchmarks.telling import add_options, folder_of, teller

from . import PARTS, measure


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.tpch", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--format", dest="table_format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--queries", default="", help="only these, in the parts bounds and queries")
    add_options(parser)
    arguments = parser.parse_args()
    tell = teller("tpch", arguments)
    parts = arguments.parts.split(",")
    only = [name for name in arguments.queries.split(",") if name]
    measure(folder_of(arguments), arguments.scale, arguments.table_format, arguments.turns, parts, only, tell)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
