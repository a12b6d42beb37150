"""What works on which Spark: the tests that every Spark runs, by what they show, and the file in which runs say so.

    make test-spark SPARK=3.5 ARGS="$(.venv/bin/python -m tests.each_spark tests)"     the tests, on Spark 3.5
    METAINDEX_EACH_SPARK=1 make test-spark ...                                         writes what was seen
    .venv/bin/python -m tests.each_spark write                                 the table of docs/spark-reference.md anew

The table of the docs is drawn from that file, which `tests/docs/test_each_spark.py` makes sure of. The newest Spark
has no part in the file: it runs every test, and the others the promises (`tests/other_sparks.py`).
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from metaindex.core import SparkRelease
from metaindex.core.jvm.releases import NEWEST, RELEASES
from metaindex.spark.jars import JarGroup, jars_of
from metaindex.spark.pins import PINS

VARIABLE: Final = "METAINDEX_EACH_SPARK"
SPARKS: Final = tuple(release.name for release in RELEASES if release is not NEWEST)
"""But the newest."""
ROOT: Final = Path(__file__).parents[1]
SEEN: Final = Path(__file__).parent / "each_spark.json"
DOCS: Final = ROOT / "docs" / "spark-reference.md"
BEGIN: Final = "<!-- each Spark: drawn by tests/each_spark.py -->"
END: Final = "<!-- until here -->"

FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "a session with Delta and Iceberg; all Java compiles": (
        "tests/spark/test_session.py",
        "tests/spark/test_sources.py",
    ),
    "builds: statistics, values, blooms, lists": (
        "tests/index/build/test_spark_builder.py",
        "tests/index/build/test_spark_keys.py",
    ),
    "builds: covering indexes": (
        "tests/index/kinds/covering/test_covering_spark.py",
        "tests/index/kinds/covering/test_merge_spark.py",
    ),
    "`table.scan(...).to_spark(spark)`": (
        "tests/query/readers/test_spark_kept.py",
        "tests/query/readers/test_spark_scan.py",
    ),
    "the rule: data skipping": (
        "tests/spark/optimizer/test_skipping.py",
        "tests/spark/optimizer/test_corpus.py",
        "tests/spark/optimizer/test_pushed.py",
    ),
    "the rule: CSV and JSON": ("tests/spark/optimizer/test_text_scans.py",),
    "the rule: covering filters, joins and groups": (
        "tests/spark/optimizer/test_covering.py",
        "tests/spark/optimizer/test_covering_columns.py",
        "tests/spark/optimizer/test_along_a_curve.py",
    ),
    "the rule: hybrid scans, merged in order": ("tests/spark/optimizer/test_merged_scans.py",),
    "the rule: groups in their order, few groups": ("tests/spark/optimizer/test_few_groups.py",),
    "the rule: `ORDER BY ... LIMIT`, `LIMIT` and aggregates": (
        "tests/spark/optimizer/test_first_rows.py",
        "tests/spark/optimizer/test_different_values.py",
    ),
    "the rule: joins leave files out": (
        "tests/spark/optimizer/test_joins_skip.py",
        "tests/spark/optimizer/test_joins_cancelled.py",
        "tests/spark/optimizer/test_joins_grouped.py",
    ),
    "the rule: sources of inserts": ("tests/spark/optimizer/test_writes.py",),
    "statements in `spark.sql`": (
        "tests/spark/optimizer/test_statements.py",
        "tests/spark/optimizer/test_statement_parser.py",
        "tests/spark/optimizer/test_statement_tables.py",
    ),
    "`mi.explain`": ("tests/spark/optimizer/test_explain.py",),
    "hooks": ("tests/ops/hooks/test_spark_hooks.py",),
}


def tests() -> list[str]:
    return [file for files in FEATURES.values() for file in files]


def feature_of(nodeid: str) -> str | None:
    file = nodeid.partition("::")[0]
    return next((name for name, files in FEATURES.items() if file in files), None)


class Seen:
    """How many tests of each feature passed and failed in a run."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in FEATURES}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        feature = feature_of(report.nodeid)
        if feature is None or (report.when != "call" and report.outcome == "passed"):
            return
        if report.outcome == "skipped" and str(report.longrepr).rstrip("')").endswith("make soak"):
            return  # for the sake of its length, on every Spark
        self.counts[feature][report.outcome] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        release = SparkRelease.installed()
        if hasattr(session.config, "workerinput") or release is NEWEST:
            return
        seen = json.loads(SEEN.read_text()) if SEEN.exists() else {}
        counted = {name: dict(sorted(counts.items())) for name, counts in self.counts.items() if counts}
        name = name_of(release)
        before = seen.get(name, {}).get("features", {})
        seen[name] = {**versions(release), "features": {**before, **counted}}
        SEEN.write_text(json.dumps(dict(sorted(seen.items())), indent=1) + "\n")


def name_of(release: SparkRelease) -> str:
    """The release, with its Scala where that is not PyPI's."""
    other = f"{release.name}, Scala {SparkRelease.installed_scala(os.environ)}"
    return other if other in PINS["delta"] else release.name


def versions(release: SparkRelease) -> dict[str, str]:
    """Of the pinned jars, and of the pyspark that is installed."""
    from pyspark import __version__

    of: dict[JarGroup, str] = {}
    scala = ""
    for jar in jars_of(release, SparkRelease.installed_scala(os.environ)):
        _, artifact, version = jar.coordinate.split(":")
        if match := re.search(r"(delta-spark|iceberg-spark-runtime).*_(2\.1\d)$", artifact):
            of[jar.group], scala = version, match[2]
    return {"spark": __version__, "scala": scala, "delta": of[JarGroup.DELTA], "iceberg": of[JarGroup.ICEBERG]}


def table(seen: Mapping[str, Any]) -> str:
    """As Markdown."""
    names = sorted(seen)
    heads = [f"Spark {seen[name]['spark']}, Scala {seen[name]['scala']}" for name in names]
    formats = [f"Delta {seen[name]['delta']}, Iceberg {seen[name]['iceberg']}" for name in names]
    lines = ["", *heads], ["---"] * (len(names) + 1), ["", *formats]
    rows = [[feature, *(_told(seen[name]["features"].get(feature, {})) for name in names)] for feature in FEATURES]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (*lines, *rows))


def _told(counts: Mapping[str, int]) -> str:
    if not counts:
        return "not run"
    passed, lacks = counts.get("passed", 0), counts.get("skipped", 0)
    others = [f"{count} {name}" for name, count in counts.items() if name not in ("passed", "skipped")]
    said = f"{passed} tests" + (f", {lacks} of what it lacks" if lacks else "")
    return f"yes ({said})" if not others else f"in part ({passed} tests passed, {', '.join(others)})"


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get(VARIABLE):
        config.pluginmanager.register(Seen(), "metaindex each spark")


def main(arguments: list[str]) -> int:
    match arguments:
        case ["tests"]:
            sys.stdout.write(" ".join(tests()) + "\n")
        case ["write"]:
            before, _, rest = DOCS.read_text("utf-8").partition(BEGIN)
            after = rest.partition(END)[2]
            drawn = table(json.loads(SEEN.read_text()))
            DOCS.write_text(f"{before}{BEGIN}\n\n{drawn}\n\n{END}{after}", "utf-8")
        case _:
            sys.stderr.write("usage: python -m tests.each_spark tests|write\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
