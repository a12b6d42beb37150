"""`python -m benchmarks.tpch [--scale N] [--format parquet|csv] [--turns N] [--parts bounds,queries,hybrid,overhead] [--folder F] [--json FILE]`: TPC-H in other sizes, or parts of it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.__main__ import show

from . import PARTS, Figures, measure


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.tpch", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--format", dest="table_format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--folder", default=".cache/benchmarks")
    parser.add_argument("--json", dest="lines", help="append one JSON line a figure to this file")
    arguments = parser.parse_args()
    folder = Path(arguments.folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)

    def tell(some: Figures) -> None:
        show("tpch", some)
        if arguments.lines:
            with open(arguments.lines, "a") as out:
                out.writelines(json.dumps({"benchmark": "tpch", **figure}) + "\n" for figure in some)

    measure(folder, arguments.scale, arguments.table_format, arguments.turns, arguments.parts.split(","), tell)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
