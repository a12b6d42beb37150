"""What works on which Spark: the tests that every Spark runs, by what they show, and the file in which runs say so.

    make test-spark SPARK=3.5 ARGS="$(.venv/bin/python -m tests.each_spark tests)"     the tests, on Spark 3.5
    METAINDEX_EACH_SPARK=1 make test-spark ...                                         writes what was seen
    .venv/bin/python -m tests.each_spark write                                 the tables of the docs anew

The table of `docs/spark-reference.md` is drawn from that file, and the one of `docs/install.md` from the lines and pins
that there are, which `tests/docs/test_each_spark.py` makes sure of. The Spark of
`requirements/dev.txt` has no part in the file: it runs every test, and the others the promises
(`tests/other_sparks.py`). A test that fails for want of a format, of which nothing has been published for its Spark, is
skipped.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from metaindex.core import SparkRelease
from metaindex.core.jvm.releases import NEWEST as NEWEST
from metaindex.core.jvm.releases import RELEASES
from metaindex.spark.jars import JarGroup, awaited, is_pinned, jars_of
from metaindex.spark.pins import PINS

VARIABLE: Final = "METAINDEX_EACH_SPARK"
ROOT: Final = Path(__file__).parents[1]
PINNED: Final = SparkRelease.of(
    re.findall(r"^pyspark==(\S+)", (ROOT / "requirements" / "dev.txt").read_text(), re.MULTILINE)[0]
)
"""The newest that has every format: it runs all tests."""
SPARKS: Final = tuple(release.name for release in RELEASES if release is not PINNED)
"""All others."""
SEEN: Final = Path(__file__).parent / "each_spark.json"
NAMES: Final = tuple(sorted({*PINS["delta"], *(release.name for release in RELEASES)}))
"""Of the Sparks, and of their Scala where it is not PyPI's."""
UNKNOWN: Final = ("DATA_SOURCE_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE", "TABLE_OR_VIEW_NOT_FOUND")
"""Conditions of Spark's errors about a name whose format is not there."""
OF_DELTA: Final = ("'CONVERT'", "'OPTIMIZE'")
"""Where Spark's own grammar stops at a statement of Delta's."""
NONE: Final = "not yet"
"""The version of a format that has not been published for a Spark."""
DOCS: Final = ROOT / "docs" / "spark-reference.md"
INSTALL: Final = ROOT / "docs" / "install.md"
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
        if hasattr(session.config, "workerinput") or release is PINNED:
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
    return other if other in NAMES else release.name


def versions(release: SparkRelease) -> dict[str, str]:
    """Of the pinned jars, and of the pyspark that is installed."""
    from pyspark import __version__

    of: dict[JarGroup, str] = {}
    scala = SparkRelease.installed_scala(os.environ) or ""
    for jar in jars_of(release, scala):
        _, artifact, version = jar.coordinate.split(":")
        if artifact.startswith(("delta-spark_", "iceberg-spark-runtime-")):
            of[jar.group] = version
    formats = {str(group): of.get(group, NONE) for group in (JarGroup.DELTA, JarGroup.ICEBERG)}
    return {"spark": __version__, "scala": scala, **formats}


def table(seen: Mapping[str, Any]) -> str:
    """As Markdown."""
    names = sorted(seen)
    heads = [f"Spark {seen[name]['spark']}, Scala {seen[name]['scala']}" for name in names]
    formats = [f"Delta {seen[name]['delta']}, Iceberg {seen[name]['iceberg']}" for name in names]
    lines = ["", *heads], ["---"] * (len(names) + 1), ["", *formats]
    rows = [[feature, *(_told(seen[name]["features"].get(feature, {})) for name in names)] for feature in FEATURES]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (*lines, *rows))


def offered() -> str:
    """Each line of Spark with its Javas, and its formats or what is waited for, as Markdown."""
    groups = (JarGroup.DELTA, JarGroup.ICEBERG)
    lines = ["Spark", "Java", *(str(group).capitalize() for group in groups)], ["---"] * (2 + len(groups))
    rows = [
        [release.name, ", ".join(map(str, release.javas)), *(_format(group, release) for group in groups)]
        for release in reversed(RELEASES)
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (*lines, *rows))


def _format(group: JarGroup, release: SparkRelease) -> str:
    jars = (jar.coordinate for jar in jars_of(release) if jar.group == group)
    return next(
        (name.rpartition(":")[2] for name in jars if "-spark" in name), f"waits for `{awaited(group, release)}`"
    )


def drawn(page: Path, table: str) -> str:
    """The page with a table in the place of its own."""
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def _told(counts: Mapping[str, int]) -> str:
    if not counts:
        return "not run"
    passed, lacks = counts.get("passed", 0), counts.get("skipped", 0)
    others = [f"{count} {name}" for name, count in counts.items() if name not in ("passed", "skipped")]
    said = f"{passed} tests" + (f", {lacks} of what it lacks" if lacks else "")
    return f"yes ({said})" if not others else f"in part ({passed} tests passed, {', '.join(others)})"


def lacks(group: JarGroup | str) -> bool:
    """Has a format not been published for the Spark that runs?"""
    return not is_pinned(JarGroup(group), SparkRelease.installed())


def needs(group: JarGroup | str) -> pytest.MarkDecorator:
    """Skips a test of which no error says that a format is not there."""
    return pytest.mark.skipif(lacks(group), reason=f"{group} has not been published for it")


def published(*groups: str) -> list[Any]:
    """Parameters of a test: the formats, each skipped where `needs` skips it."""
    return [pytest.param(group, marks=needs(group)) for group in groups]


def lacked(error: BaseException | None) -> str | None:
    """The format which the Spark that runs lacks, if an error says that it is not there."""
    if error is None:
        return None
    for group in (JarGroup.DELTA, JarGroup.ICEBERG):
        if lacks(group) and any(group in said for said in _unknown(error)):
            return str(group)
    return lacked(error.__cause__ or error.__context__)


def _unknown(error: BaseException) -> set[str]:
    """What Spark does not know: first parts of names, packages of classes, words."""
    found: set[str] = set()
    java = getattr(error, "java_exception", None)
    while java is not None:
        kind = str(java.getClass().getName())
        if kind.startswith("org.codehaus."):  # Janino, which compiles our classes
            found |= set(re.findall(r'A class "org\.apache\.(?:spark\.sql\.)?([a-z]+)\.', str(java)))
        elif kind.startswith("org.apache.spark.Spark"):
            found |= _named(java)
        java = java.getCause()
    return found | (_named(error) if hasattr(error, "getCondition") else set())


def _named(error: Any) -> set[str]:
    if error.getCondition() == "PARSE_SYNTAX_ERROR" and error.getMessageParameters()["error"] in OF_DELTA:
        return {"delta"}
    if error.getCondition() not in UNKNOWN:
        return set()
    return {re.split(r"`?\.`?", str(value).strip("`"))[0] for value in dict(error.getMessageParameters()).values()}


class Lacked:
    """Skips what fails for want of a format."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        name = lacked(call.excinfo.value) if report.failed and call.excinfo is not None else None
        if name is not None:
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {name} has not been published for it")
        return report


def pytest_configure(config: pytest.Config) -> None:
    if SparkRelease.installed() is not PINNED:
        config.pluginmanager.register(Lacked(), "metaindex lacked")
    if os.environ.get(VARIABLE):
        config.pluginmanager.register(Seen(), "metaindex each spark")


def main(arguments: list[str]) -> int:
    match arguments:
        case ["tests"]:
            sys.stdout.write(" ".join(tests()) + "\n")
        case ["write"]:
            DOCS.write_text(drawn(DOCS, table(json.loads(SEEN.read_text()))), "utf-8")
            INSTALL.write_text(drawn(INSTALL, offered()), "utf-8")
        case _:
            sys.stderr.write("usage: python -m tests.each_spark tests|write\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
