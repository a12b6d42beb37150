"""`python -m benchmarks [NAME ...] [--quick] [--folder F] [--json FILE]`: each workload prints a table, and JSON lines where asked.

prune    planning on made-up metadata: 1,000,000 files x 20 columns, unpartitioned and in 100,000 partitions, beside DuckDB over the same statistics
build    statistics of real Parquet files: local builder, Spark builder, and what merely opening the footers costs
refresh  a refresh after a commit, at 1,000 and at 1,000,000 files
optimize  16 runs of 1,000,000 files merged into one
scale    10,000,000 files x 5 columns of a real Delta log, unpartitioned and in 10,000 partitions: created, pruned cold, refreshed, optimized (half an hour, 7 GB of memory)
formats_files  listing 100,000 plain files, beside os.walk, pyarrow.fs and pyarrow.dataset
formats_iceberg  a snapshot of 100,000 files from Iceberg manifests, beside pyiceberg
formats_delta  snapshots and diffs of Delta logs of 100,000 and 1,000,000 files, beside deltalake
hooks    what a hook adds to a commit: time that the writer waits, and CPU
import   what `import metaindex` costs over `import pyarrow`
bloom    bloom filters across 1,000,000 files (made-up) beside the same unsliced, and those of 500 files x 10,000 values: size, rate, building, look-ups
needle   exact look-ups among 5,000,000 rows in 500 files, beside Spark, DuckDB, Polars, native bloom filters and oracles; what building each kind costs
engines  the WHERE of DuckDB's, Polars' and pyarrow's own queries over a scan of 2,000,000 rows in 100 files: pushed to the indexes, held back, and by the engine's own scan
tpch     TPC-H at scale factor 1 through Spark's own SQL: plain, with covering indexes, and beside bucketed, sorted and Z-ordered tables made by hand; all 22 queries; stale indexes
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from itertools import groupby
from pathlib import Path

NAMES = (
    "import",
    "prune",
    "build",
    "refresh",
    "optimize",
    "scale",
    "formats_files",
    "formats_iceberg",
    "formats_delta",
    "hooks",
    "bloom",
    "needle",
    "engines",
    "tpch",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="smaller tables: shows that it runs, measures nothing")
    parser.add_argument("--folder", default=".cache/benchmarks", help="made-up tables are kept here and used again")
    parser.add_argument("--json", dest="lines", help="append one JSON line a figure to this file")
    arguments = parser.parse_args()
    folder = Path(arguments.folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or NAMES:
        module = name if name in ("needle", "tpch") else f"bench_{name}"
        figures = import_module(f"benchmarks.{module}").run(folder, arguments.quick)
        show(name, figures)
        if arguments.lines:
            with open(arguments.lines, "a") as out:
                out.writelines(json.dumps({"benchmark": name, **figure}) + "\n" for figure in figures)
    return 0


def show(name: str, figures: list[dict[str, object]]) -> None:
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


if __name__ == "__main__":
    raise SystemExit(main())
