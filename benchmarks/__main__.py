"""`python -m benchmarks [NAME ...] [--quick] [--shapes S ...] [--folder F] [--json FILE]`: each workload prints a
table, and JSON lines where asked.

prune    planning on made-up metadata: 1,000,000 files x 20 columns, unpartitioned and in 100,000 partitions, beside
         DuckDB over the same statistics
terms    planning of 3,000 terms of two columns over 500 files, by each kind of index
build    statistics of real Parquet files: local builder, Spark builder, and what merely opening the footers costs
refresh  a refresh after a commit, at 1,000 and at 1,000,000 files
optimize  16 runs of 1,000,000 files merged into one
scale    10,000,000 files x 5 columns of a real Delta log, unpartitioned and in 10,000 partitions: created, pruned cold,
         refreshed, optimized (half an hour, 7 GB of memory)
formats_files  listing 100,000 plain files, beside os.walk, pyarrow.fs and pyarrow.dataset
formats_iceberg  a snapshot of 100,000 files from Iceberg manifests, beside pyiceberg
formats_delta  snapshots and diffs of Delta logs of 100,000 and 1,000,000 files, beside deltalake
json     JSON logs, flat and nested, read as Spark reads them, beside pyarrow, DuckDB and Polars
serve    plans by `metaindex serve` beside pyiceberg's and Polars' own, over 2,000 files; 1, 8 and 64 clients at once
lake     1,000 tables of all formats beside 10,000 folders that are none, told by `mi.open_lake`: time, CPU, memory
hooks    what a hook adds to a commit: time that the writer waits, and CPU
install  from an empty virtual environment to the first pruned query, line by line, and what the install takes on disk
import   what `import metaindex` costs over `import pyarrow`
bloom    bloom filters across 1,000,000 files (made-up) beside the same unsliced, and those of 500 files x 10,000
         values: size, rate, building, look-ups
needle   exact look-ups among 5,000,000 rows in 500 files, beside Spark, DuckDB, Polars, native bloom filters and
         oracles; what building each kind costs
shapes   look-ups, a GROUP BY and a sum by each way to read a scan, over Parquet, Delta and Iceberg, beside engines told
         the right files and engines without an index: CPU; and a look-up in a store that answers 30 ms late
row_groups  what one row takes to read by the rows of a row group: estimates of `locate` and `what_if` beside measured
         CPU, and the constants behind them fitted anew
splits   one row of files with row groups of 122,880 to 4,000,000 rows through Spark, plain, told the file, told the row
         group, and by `mi.enable`: CPU of tasks
answers  the latest rows, any rows, counts, extremes and joins of 2,000,000 rows in 500 files, beside DuckDB, Polars,
         and Spark over three formats; files opened
tpch     TPC-H at scale factor 1 through Spark's own SQL: plain, with covering indexes, and beside bucketed, sorted and
         Z-ordered tables made by hand; all 22 queries; stale indexes
advise   what-if and recommend beside what comes: TPC-H, TPC-DS (fetches its generator), flights, needles
tpcds    all 99 queries of TPC-DS at scale factor 1 through Spark, rows by month, plain and with what is recommended
curve    rows along a Hilbert curve: which share of files which order leaves out; what Spark reads through a covering
         index along a curve, beside Delta's Z-order and liquid clustering, the table sorted, and an index in ranges
plans    planning of 1,000 unions and of an IN with 1,000,000 values under `mi.enable`, beside plain Spark: CPU
planning  a plain query's planning with and without `mi.enable`, on whatever Spark is installed
joins    a few customers by name, joined with their sales in 500 files, with and without files left out by their keys
hot      a table of which half the rows have one key, joined and grouped by it through a covering index

`needle`, `shapes` and `answers` run over three shapes of files: 1 MB with row groups of 2,500 rows (small), 30 MB and
122,880 (medium), 128 MB and 1,000,000 (large); the last two without Spark, builds and models.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from .shape import SHAPES
from .telling import add_options, folder_of, teller

NAMES = (
    "install",
    "import",
    "prune",
    "terms",
    "build",
    "refresh",
    "optimize",
    "scale",
    "formats_files",
    "formats_iceberg",
    "formats_delta",
    "json",
    "serve",
    "lake",
    "hooks",
    "bloom",
    "needle",
    "shapes",
    "row_groups",
    "splits",
    "answers",
    "tpch",
    "advise",
    "tpcds",
    "curve",
    "plans",
    "planning",
    "joins",
    "hot",
)
SHAPED = ("needle", "shapes", "answers")


def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="smaller tables: shows that it runs, measures nothing")
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=list(SHAPES), help="default: all")
    add_options(parser)
    arguments = parser.parse_args()
    folder = folder_of(arguments)
    for name in arguments.names or NAMES:
        module = name if name in ("advise", "needle", "tpch", "curve") else f"bench_{name}"
        run, tell = import_module(f"benchmarks.{module}").run, teller(name, arguments)
        if name not in SHAPED:
            tell(run(folder, arguments.quick))
        for shape in arguments.shapes if name in SHAPED else ():
            tell(run(folder, arguments.quick, SHAPES[shape]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
